//! What a seed decides in advance.

use std::time::Duration;

use rejoin_directory::DirectoryConfig;
use rejoin_testkit::parts::rng::Rng;

/// The settings of a world.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// How the directory runs.
    pub config: DirectoryConfig,
    /// Clients.
    pub clients: usize,
    /// Processes that run Games.
    pub processes: usize,
    /// Games that a process runs at a time, unless it runs one in its life.
    pub games_max: u32,
    /// The slowest commit.
    pub commit_us: u64,
    /// Between two faults, about; none: a world without.
    pub fault_every_us: u64,
    /// How often in a thousand the directory dies between the commits of a queue and of a Game.
    pub aimed_crashes: u64,
    /// How often in a thousand a process does not do what it should.
    pub malice: u64,
    /// The real engine is below.
    pub has_engine: bool,
    /// How long faults go on.
    pub lasts_us: u64,
}

impl Knobs {
    /// Draws a world.
    pub fn draw(rng: &mut Rng) -> Self {
        let secs = Duration::from_secs;
        let config = DirectoryConfig {
            seat_hold: secs(rng.range(5, 60)),
            claim_limit: secs(rng.range(2, 15)),
            activation_limit: secs(rng.range(5, 40)),
            update_limit: secs(rng.range(2, 10)),
            destroy_limit: secs(rng.range(2, 15)),
            empty_limit: secs(rng.range(20, 120)),
            retention: secs(rng.range(200, 900)),
            health_every: secs(10),
            health_limit: secs(30),
            away_limit: secs(rng.range(5, 40)),
            attempts_max: rng.range(1, 4) as u32,
            seats_kept_max: rng.range(2, 40) as usize,
            open_seats_max: *rng.pick(&[3, 8, 2_000]),
            placements_kept_max: 1_000,
            uncommitted_max: rng.range(2, 32) as usize,
            page_max: 8,
            search_work_max: *rng.pick(&[4, 16, 1_000]),
            news_max: rng.range(2, 64) as usize,
            news_limit: secs(rng.range(2, 20)),
            ..DirectoryConfig::default()
        };
        Self {
            config,
            clients: rng.range(2, 8) as usize,
            processes: rng.range(1, 5) as usize,
            games_max: *rng.pick(&[3, 3, 12]),
            commit_us: *rng.pick(&[1, 2_000, 40_000, 800_000]),
            fault_every_us: *rng.pick(&[300_000, 2_000_000, 10_000_000, 60_000_000]),
            aimed_crashes: *rng.pick(&[0, 100, 500]),
            malice: *rng.pick(&[0, 60, 250]),
            has_engine: rng.per_mille(125),
            lasts_us: rng.range(60, 600) * 1_000_000,
        }
    }
}
