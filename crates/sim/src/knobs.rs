//! What a seed decides before anything happens: every limit and time-out, who plays, and which
//! faults there are. Narrow limits are drawn as often as wide ones, because rules break at their
//! edges.

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin_core::budget::{Quota, Rate};
use rejoin_core::exchange::Hold;
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::{Admission, Duplicates, HubConfig, ZoneKind};
use rejoin_core::stream::OutboxLimits;
use rejoin_core::zone::{Durability, ZoneConfig};
use rejoin_directory::DirectoryConfig;
use rejoin_testkit::parts::rng::Rng;

use crate::access::Access;

/// How often each fault strikes, in events of its kind a thousand steps.
#[derive(Clone, Debug)]
pub struct Faults {
    /// A connection is cut at any byte.
    pub cut: u64,
    /// One end of a cut connection is not told.
    pub half_open: u64,
    /// The server crashes.
    pub crash: u64,
    /// The server crashes between two outputs of one input.
    pub crash_mid: u64,
    /// The server stands still and wakes up later.
    pub stall: u64,
    /// A client stands still.
    pub freeze: u64,
    /// A client forgets its streams.
    pub reload: u64,
    /// A client connects again while its connection lives.
    pub twin: u64,
    /// Game code panics.
    pub panic: u64,
    /// The administrator does something.
    pub meddle: u64,
    /// The disk answers nothing for a while.
    pub disk_stall: u64,
    /// The disk is full for a while.
    pub disk_full: u64,
    /// A sync fails, and the server ends for it.
    pub sync_fails: u64,
    /// A row rots while the server is down, in a thousand crashes.
    pub rot: u64,
    /// The server dies in the middle of its start, in a thousand starts.
    pub crash_in_start: u64,
    /// The store cannot tell what became of a commit, in a thousand commits.
    pub unknown: u64,
    /// Another process opens scopes of the one that runs.
    pub overtaken: u64,
    /// A process that is given up is only paused, in a thousand crashes.
    pub paused: u64,
    /// The engine's apply fails or is interrupted, in a thousand applies.
    pub apply_fails: u64,
    /// The server crashes after a certain commit of an operation that has several; `aim.rs` weighs it.
    pub aimed: u64,
}

/// All that a seed decides in advance.
#[derive(Clone, Debug)]
pub struct Knobs {
    /// Players.
    pub players: u64,
    /// How many of them share their identity with the one before.
    pub twins: u64,
    /// Hostile connections at a time.
    pub hostiles: u64,
    /// Simulated time with faults.
    pub trouble: Duration,
    /// The longest way of a frame, in microseconds.
    pub latency_us: u64,
    /// The longest commit.
    pub commit_us: u64,
    /// The longest way between two machines of the server.
    pub mailbox_us: u64,
    /// Time between two wishes of a player.
    pub wish_us: u64,
    /// The real engine is under the store.
    pub engine: bool,
    /// The faults.
    pub faults: Faults,
    /// The hub's settings.
    pub hub: HubConfig,
    /// The directory's settings, in worlds that have one.
    pub directory: Option<DirectoryConfig>,
    /// Accounts, transports and addresses.
    pub access: Access,
}

fn ms(rng: &mut Rng, from: u64, to: u64) -> Duration {
    Duration::from_millis(rng.range(from, to))
}

impl Knobs {
    /// Draws everything.
    #[must_use]
    pub fn draw(rng: &mut Rng) -> Self {
        let mut hub = hub(rng);
        let mut fault = |most: u64| if rng.per_mille(700) { rng.below(most + 1) } else { 0 };
        let faults = Faults {
            cut: fault(12),
            half_open: fault(500),
            crash: fault(3),
            crash_mid: fault(2),
            stall: fault(2),
            freeze: fault(4),
            reload: fault(3),
            twin: fault(4),
            panic: fault(12),
            meddle: fault(6),
            disk_stall: fault(4),
            disk_full: fault(4),
            sync_fails: fault(4),
            rot: fault(600),
            crash_in_start: fault(700),
            unknown: fault(20),
            overtaken: fault(2),
            paused: fault(500),
            apply_fails: fault(300),
            aimed: fault(10),
        };
        let engine = rng.per_mille(550);
        let directory = rng.per_mille(400).then(|| crate::bureau::config(rng));
        let access = Access::draw(&mut rng.fork(), &mut hub);
        Self {
            players: rng.range(2, 7),
            twins: rng.below(3),
            hostiles: rng.below(3),
            trouble: ms(rng, 8_000, 40_000),
            latency_us: *rng.pick(&[500, 5_000, 40_000, 150_000]),
            commit_us: *rng.pick(&[10, 3_000, 20_000, 200_000]),
            mailbox_us: *rng.pick(&[1, 100, 5_000]),
            wish_us: *rng.pick(&[10_000, 50_000, 200_000]),
            engine,
            faults,
            hub,
            directory,
            access,
        }
    }
}

fn hub(rng: &mut Rng) -> HubConfig {
    let heartbeat = ms(rng, 300, 2_000);
    let generous = rng.per_mille(600);
    let duplicates = *rng.pick(&[
        Duplicates::TakeOver,
        Duplicates::TakeOver,
        Duplicates::TakeOver,
        Duplicates::RejectNew,
        Duplicates::Allow(2),
    ]);
    HubConfig {
        server_names: vec!["sim".to_owned()],
        anonymous: rng.per_mille(900),
        secrets: rng.per_mille(900),
        duplicates,
        admission: if rng.per_mille(300) {
            Admission::Ask(ms(rng, 100, 1_000))
        } else {
            Admission::Open
        },
        end_on_retired_token: rng.per_mille(100),
        hold: Hold::Timed(ms(rng, 3_000, 12_000)),
        handshake: ms(rng, 1_000, 3_000),
        heartbeat,
        silence: heartbeat * 5 / 2 + Duration::from_millis(400),
        idle: if rng.per_mille(150) { ms(rng, 1_000, 4_000) } else { Duration::from_secs(1_800) },
        progress: ms(rng, 1_500, 6_000),
        lifetime: if rng.per_mille(80) { ms(rng, 5_000, 30_000) } else { Duration::ZERO },
        stall: ms(rng, 200, 1_500),
        sessions_max: if rng.per_mille(80) { rng.range(2, 6) as usize } else { 1_000 },
        guests_max: 1_000,
        messages: if generous {
            Rate { per_second: 2_000, burst: 4_000 }
        } else {
            Rate { per_second: 60, burst: 120 }
        },
        bytes: if generous {
            Rate { per_second: 4 << 20, burst: 8 << 20 }
        } else {
            Rate { per_second: 64 << 10, burst: 256 << 10 }
        },
        guard: guard(rng),
        returns_per_second: if rng.per_mille(200) { rng.range(2, 6) as u32 } else { 1_000 },
        window_frames: rng.range(4, 64) as u32,
        window_bytes: 64 << 10,
        outbox: OutboxLimits {
            frames_max: rng.range(8, 400) as usize,
            bytes_max: rng.range(2_000, 200_000) as usize,
            legs_max: rng.range(3, 16) as usize,
        },
        faults_max: rng.range(1, 3) as u32,
        faults_within: ms(rng, 500, 5_000),
        seat_limit: ms(rng, 200, 4_000),
        retry_after: ms(rng, 50, 300),
        id_block: rng.range(4, 64),
        kinds: kinds(rng),
        ..HubConfig::default()
    }
}

/// Either so that nobody who is honest meets it, or so that even they do.
fn guard(rng: &mut Rng) -> GuardConfig {
    if rng.per_mille(600) {
        return GuardConfig::default();
    }
    GuardConfig {
        sever_after: ms(rng, 100, 1_000),
        address_logins: Rate { per_second: rng.range(1, 3) as u32, burst: rng.range(1, 4) as u32 },
        session_resumes: Rate { per_second: rng.range(1, 3) as u32, burst: rng.range(1, 4) as u32 },
        address_failures: Quota { most: rng.range(1, 3) as u32, within: ms(rng, 500, 3_000) },
        address_violations: Quota { most: rng.range(2, 4) as u32, within: ms(rng, 500, 3_000) },
        address_connects: Rate { per_second: 10, burst: 20 },
        addresses_max: rng.range(1, 8) as usize,
        address_opens: Quota { most: 4, within: Duration::from_secs(1) },
        ..GuardConfig::default()
    }
}

fn kinds(rng: &mut Rng) -> BTreeMap<String, ZoneKind> {
    let all = [
        ("cells", Durability::Full),
        ("whole", Durability::Full),
        ("session", Durability::Session),
        ("memory", Durability::Memory),
        ("hard", Durability::Full),
        ("match", Durability::Full),
    ];
    all.into_iter()
        .map(|(name, durability)| {
            let config = zone(rng, name, durability);
            let client_may_create = name != "hard" || rng.per_mille(800);
            (name.to_owned(), ZoneKind { config, client_may_create })
        })
        .collect()
}

fn zone(rng: &mut Rng, name: &str, durability: Durability) -> ZoneConfig {
    let tight = rng.per_mille(400);
    let while_ = ms(rng, 3_000, 10_000);
    ZoneConfig {
        durability,
        tick: if rng.per_mille(900) { Some(ms(rng, 20, 200)) } else { None },
        catch_up_ticks_max: rng.range(1, 5) as u32,
        hold: match name {
            "match" => Hold::UntilMatchEnds(while_),
            "memory" if rng.per_mille(200) => Hold::None,
            _ => Hold::Timed(while_),
        },
        members_max: if rng.per_mille(150) { rng.range(1, 3) as usize } else { 1_000 },
        ring_frames_max: if tight { rng.range(4, 60) as usize } else { 4_000 },
        ring_bytes_max: if tight { rng.range(2_000, 20_000) as usize } else { 4 << 20 },
        outbox_frames_max: if tight { rng.range(4, 40) as usize } else { 1_000 },
        outbox_bytes_max: if tight { rng.range(1_000, 20_000) as usize } else { 256 << 10 },
        latest_keys_max: if tight { rng.range(1, 8) as usize } else { 64 },
        window_frames: if tight { rng.range(2, 32) as usize } else { 512 },
        progress: ms(rng, 1_500, 6_000),
        ack_delay: ms(rng, 1, 50),
        held_outputs_max: {
            // Drawn for a setting that is gone. Without it every seed would be another world.
            let _ = rng.range(1, 3);
            if tight { rng.range(8, 200) as usize } else { 65_536 }
        },
        save_every: ms(rng, 100, 4_000),
        cuts_per_compaction: rng.range(1, 12) as u32,
        calls_max: rng.range(1, 4) as usize,
        roster_max: if rng.per_mille(100) { rng.range(2, 4) as usize } else { 4_000 },
        ..ZoneConfig::default()
    }
}
