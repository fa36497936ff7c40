//! Playing a seed of the directory's worlds from beginning to end, and what came of it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rejoin_core::id::{GameId, QueueId};
use rejoin_directory::mark::{self, Mark};
use rejoin_directory::planted::{self, Bug};
use rejoin_directory::search::SearchRequest;
use rejoin_directory::{Answer, Command, Refusal, Target};

use super::world::{FLEETS, World};
use crate::check::Violation;

/// Simulated time in which everything must come to its end once faults have stopped.
const CALM_US: u64 = 500_000_000;

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Which seed.
    pub seed: u64,
    /// Events.
    pub steps: u64,
    /// Times the directory died.
    pub crashes: u64,
    /// Answers.
    pub answers: u64,
    /// Games, seats and placements in the books.
    pub games: u64,
    /// Seats in the books.
    pub seats: u64,
    /// Placements in the books.
    pub placements: u64,
    /// Pages of searches that were compared with brute force.
    pub pages: u64,
    /// Games on those pages.
    pub listed: u64,
    /// Seats that were compared with the books.
    pub seats_compared: u64,
    /// Commits.
    pub commits: u64,
    /// Simulated microseconds.
    pub simulated_us: u64,
    /// The hash of everything that happened.
    pub trace: [u8; 32],
    /// What was broken.
    pub violations: Vec<Violation>,
    /// Marks and how often each was hit.
    pub marks: Vec<(Mark, u64)>,
    /// What went wrong on the disk, and how often.
    pub struck: BTreeMap<&'static str, u64>,
    /// What happened, in words.
    pub story: Vec<String>,
}

/// Plays one seed, with a bug if one is to be caught.
#[must_use]
pub fn play(seed: u64, with_story: bool, bug: Option<Bug>) -> Report {
    planted::arm(bug);
    let _ = mark::take();
    let mut world = World::new(seed);
    world.story = with_story.then(Vec::new);
    let played = catch_unwind(AssertUnwindSafe(|| play_world(&mut world)));
    if let Err(panic) = played {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default();
        world.books.fail("no-panic", text);
    }
    planted::arm(None);
    Report {
        seed,
        steps: world.steps,
        crashes: world.crashes,
        answers: world.answers,
        games: world.books.games.len() as u64,
        seats: world.books.visits.len() as u64,
        placements: world.books.placements.len() as u64,
        pages: world.inspector.pages,
        listed: world.inspector.listed,
        seats_compared: world.inspector.seats,
        commits: world.disk.commits,
        simulated_us: world.now,
        trace: *world.trace.finalize().as_bytes(),
        violations: std::mem::take(&mut world.books.found),
        marks: mark::take(),
        struck: std::mem::take(&mut world.disk.struck),
        story: world.story.take().unwrap_or_default(),
    }
}

fn play_world(world: &mut World) {
    world.begin();
    let end = world.now + world.knobs.lasts_us;
    while world.now < end && world.books.found.is_empty() && world.step() {}
    world.calm();
    let end = world.now + CALM_US;
    // Games that go on without players are ended by hand when all others have had their time.
    let sweep = world.now + CALM_US / 2;
    while world.now < sweep && world.books.found.is_empty() && world.step() {}
    if world.books.found.is_empty() {
        let live = world.live_games();
        world.check_attempts(&live);
        for game in live {
            world.ask_own(Command::Terminate(game));
        }
    }
    while world.now < end && world.books.found.is_empty() && world.step() {}
    if world.books.found.is_empty() {
        world.check_end();
    }
}

impl World {
    /// Games that are not over, of all fleets.
    fn live_games(&mut self) -> Vec<GameId> {
        let mut live = Vec::new();
        for fleet in FLEETS {
            let mut after = None;
            loop {
                let target = Target::Fleet((*fleet).to_owned());
                let list = Command::ListGames { target, after, limit: 8 };
                let Some(Ok(Answer::Games(games))) = self.ask_own(list) else { break };
                let Some(last) = games.last() else { break };
                after = Some(last.id);
                games.iter().for_each(|game| self.books.game_told(game));
                let alive = games.iter().filter(|game| !game.status.is_over());
                live.extend(alive.map(|game| game.id));
            }
        }
        live
    }

    /// All has come to its end, and nothing is left behind.
    fn check_end(&mut self) {
        for game in self.live_games() {
            let view = self.ask_own(Command::DescribeGame(game));
            self.books.fail("leaked", format!("{game:?} has not ended: {view:?}"));
        }
        let hosts: Vec<_> = self.processes.iter().map(|process| process.host).collect();
        for host in hosts {
            match self.ask_own(Command::DescribeHost(host)) {
                Some(Ok(Answer::Host(view))) if !view.games.is_empty() => {
                    let text = format!("{} still has {:?}", view.registration.name, view.games);
                    self.books.fail("leaked", text);
                }
                _ => {}
            }
        }
        let placements: Vec<(QueueId, String)> = self.books.placements.keys().cloned().collect();
        for (queue, placement) in placements {
            let name = super::world::QUEUES.iter().find(|name| QueueId::of(name) == queue);
            let queue = name.copied().unwrap_or_default().to_owned();
            let describe = Command::DescribePlacement { queue, placement: placement.clone() };
            match self.ask_own(describe) {
                Some(Ok(Answer::Placement(view))) if view.end.is_none() => {
                    self.books.fail("leaked", format!("placement {placement} has not ended"));
                }
                Some(Ok(_) | Err(Refusal::NotFound(_))) => {}
                other => self.books.fail("answered", format!("{placement}: {other:?}")),
            }
        }
        let request = SearchRequest {
            target: Target::Fleet(FLEETS[0].to_owned()),
            location: None,
            filter: String::new(),
            sort: String::new(),
            limit: 8,
            cursor: String::new(),
        };
        if let Some(Ok(Answer::Page(page))) = self.ask_own(Command::Search(request))
            && page.games.is_empty()
            && self.follower.id.is_some()
            && !self.follower.known.is_empty()
        {
            let text = format!("a follower still has {:?}", self.follower.known);
            self.books.fail("news-true", text);
        }
    }
}
