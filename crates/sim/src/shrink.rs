//! Making a failing seed smaller. The world is drawn again from the same seed with one kind of
//! fault, one player or one part of its time taken away, for as long as the same promise still
//! breaks; what is left is the shortest story that shows the bug.

use crate::run::{Options, Report, play_with};
use crate::world::World;

/// What can be taken from a world.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Less {
    /// No connection is cut.
    Cuts,
    /// Both ends of a cut are told.
    HalfOpen,
    /// No crash between events.
    Crashes,
    /// No crash between two outputs.
    MidCrashes,
    /// The server never stands still.
    Stalls,
    /// The disk never stands still.
    DiskStalls,
    /// There is always room.
    FullDisks,
    /// No sync fails.
    FailedSyncs,
    /// Nothing rots.
    Rot,
    /// No start is interrupted.
    Stumbles,
    /// The store can always tell what became of a commit.
    Unknowns,
    /// No other process opens scopes.
    Overtaking,
    /// A process that is given up is gone.
    Pauses,
    /// Every apply of the engine succeeds.
    FailedApplies,
    /// No crash is aimed at a commit.
    AimedCrashes,
    /// No client stands still.
    Freezes,
    /// No client forgets.
    Reloads,
    /// No client dials twice.
    Twins,
    /// No game code panics.
    Panics,
    /// Nobody meddles.
    Meddling,
    /// Nobody is hostile.
    Hostiles,
    /// The last player stays away.
    Player,
    /// Half the time.
    Time,
}

const ALL: [Less; 23] = [
    Less::Time,
    Less::Hostiles,
    Less::Meddling,
    Less::Panics,
    Less::Reloads,
    Less::Twins,
    Less::Freezes,
    Less::Stalls,
    Less::DiskStalls,
    Less::FullDisks,
    Less::FailedSyncs,
    Less::Rot,
    Less::Stumbles,
    Less::Unknowns,
    Less::Overtaking,
    Less::Pauses,
    Less::FailedApplies,
    Less::AimedCrashes,
    Less::MidCrashes,
    Less::HalfOpen,
    Less::Crashes,
    Less::Cuts,
    Less::Player,
];

/// A failing story, as short as it could be made.
#[derive(Clone, Debug, Default)]
pub struct Script {
    /// What is left of the world.
    pub summary: String,
    story: Vec<String>,
}

impl Script {
    /// The end of the story.
    pub fn last_lines(&self, most: usize) -> impl Iterator<Item = &String> {
        self.story.iter().skip(self.story.len().saturating_sub(most))
    }
}

/// Makes the failing story of a seed as short as it can be made.
#[must_use]
pub fn shrink(seed: u64) -> Script {
    let mut taken: Vec<Less> = Vec::new();
    let mut best = attempt(seed, &taken);
    let Some(checker) = best.violations.first().map(|violation| violation.checker) else {
        return Script {
            summary: "nothing: the seed does not fail again".to_owned(),
            story: vec![],
        };
    };
    let mut smaller = true;
    while smaller {
        smaller = false;
        for less in ALL {
            if taken.contains(&less) && !matches!(less, Less::Player | Less::Time) {
                continue;
            }
            taken.push(less);
            let report = attempt(seed, &taken);
            let same = report.violations.first().is_some_and(|v| v.checker == checker);
            if same && report.steps < best.steps {
                best = report;
                smaller = true;
            } else {
                taken.pop();
            }
        }
    }
    let names: Vec<String> = taken.iter().map(|less| format!("{less:?}")).collect();
    let names = if names.is_empty() { "nothing".to_owned() } else { names.join(", ") };
    let summary = format!("{} events ({checker}), without {names}", best.steps);
    Script { summary, story: best.story }
}

fn attempt(seed: u64, taken: &[Less]) -> Report {
    play_with(seed, Options { story: true, ..Options::default() }, |world| {
        for less in taken {
            take(world, *less);
        }
    })
}

fn take(world: &mut World, less: Less) {
    let knobs = &mut world.knobs;
    let faults = &mut knobs.faults;
    match less {
        Less::Cuts => faults.cut = 0,
        Less::HalfOpen => faults.half_open = 0,
        Less::Crashes => faults.crash = 0,
        Less::MidCrashes => faults.crash_mid = 0,
        Less::Stalls => faults.stall = 0,
        Less::DiskStalls => faults.disk_stall = 0,
        Less::FullDisks => faults.disk_full = 0,
        Less::FailedSyncs => faults.sync_fails = 0,
        Less::Rot => faults.rot = 0,
        Less::Stumbles => faults.crash_in_start = 0,
        Less::Unknowns => faults.unknown = 0,
        Less::Overtaking => faults.overtaken = 0,
        Less::Pauses => faults.paused = 0,
        Less::FailedApplies => faults.apply_fails = 0,
        Less::AimedCrashes => faults.aimed = 0,
        Less::Freezes => faults.freeze = 0,
        Less::Reloads => faults.reload = 0,
        Less::Twins => faults.twin = 0,
        Less::Panics => faults.panic = 0,
        Less::Meddling => faults.meddle = 0,
        Less::Hostiles => world.hostiles.clear(),
        Less::Player if world.players.len() > 1 => drop(world.players.pop()),
        Less::Player => {}
        Less::Time => knobs.trouble /= 2,
    }
}
