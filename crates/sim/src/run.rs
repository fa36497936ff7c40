//! Playing a seed from beginning to end, and what came of it.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

use rejoin_core::mark::{self, Mark};
use rejoin_core::planted::{self, Bug};

use crate::check::Violation;
use crate::world::World;

/// What cannot be is a violation here, also in a release build: it panics, and `no-panic` tells of it.
const _: () = assert!(rejoin_core::never::STOPS);

/// Simulated time that everybody has to come back once faults have stopped.
const RECOVERY_US: u64 = 90_000_000;
/// Simulated time between two nudges while they do.
const NUDGE_US: u64 = 1_000_000;

/// Nudges at which everybody must be seen with nothing left to say: each asks for a report, so that the
/// last report tells of all that was said.
const SETTLED_NUDGES: u32 = 4;

/// How a run is played.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// A bug that is armed.
    pub bug: Option<Bug>,
    /// Tell the story.
    pub story: bool,
}

/// What came of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Which seed.
    pub seed: u64,
    /// Events.
    pub steps: u64,
    /// Frames carried.
    pub frames: u64,
    /// Frames that were compressed.
    pub compressed: u64,
    /// Notes heard by honest players.
    pub heard: u64,
    /// Reports that were right.
    pub reports: u64,
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
    /// What went wrong on disks and when the server crashed, and how often.
    pub struck: BTreeMap<&'static str, u64>,
    /// What happened, in words.
    pub story: Vec<String>,
}

/// Plays one seed.
#[must_use]
pub fn play(seed: u64, options: Options) -> Report {
    play_with(seed, options, |_| {})
}

/// Plays one seed in a world that was changed beforehand.
pub fn play_with(seed: u64, options: Options, change: impl FnOnce(&mut World)) -> Report {
    planted::arm(options.bug);
    let _ = mark::take();
    let mut world = World::new(seed);
    change(&mut world);
    if options.story {
        world.story = Some(Vec::new());
    }
    let played = catch_unwind(AssertUnwindSafe(|| play_world(&mut world)));
    if let Err(panic) = played {
        let text = panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_default();
        world.watch.fail("no-panic", text);
    }
    planted::arm(None);
    Report {
        seed,
        steps: world.steps,
        frames: world.frames,
        compressed: world.compressed,
        heard: world.players.iter().map(|player| player.books.heard).sum(),
        reports: world.players.iter().map(|player| player.books.reports).sum(),
        commits: world.node.disk.commits,
        simulated_us: world.now,
        trace: *world.trace.finalize().as_bytes(),
        violations: std::mem::take(&mut world.watch.found),
        marks: mark::take(),
        struck: std::mem::take(&mut world.node.disk.struck),
        story: world.story.take().unwrap_or_default(),
    }
}

fn play_world(world: &mut World) {
    world.begin();
    while !world.quiet && world.watch.found.is_empty() && world.step() {}
    let start = world.now;
    let (mut end, mut nudge_at, mut left) = (start + RECOVERY_US, start, world.unsaid());
    let mut settled = 0;
    while world.watch.found.is_empty() {
        if world.now >= end {
            // Who had much to say over a slow link has it for as long as it becomes less.
            let before = std::mem::replace(&mut left, world.unsaid());
            if left >= before {
                break;
            }
            end = world.now + RECOVERY_US;
        }
        if world.now >= nudge_at {
            settled = if world.is_settled() { settled + 1 } else { 0 };
            if settled >= SETTLED_NUDGES && nudge_at > start + 10 * NUDGE_US {
                break;
            }
            world.nudge();
            nudge_at = world.now + NUDGE_US;
        }
        if !world.step() {
            break;
        }
    }
    if world.watch.found.is_empty() {
        world.check_back();
        world.check_places();
        world.check_seats();
        world.check_ended();
    }
}
