//! What must hold, whatever happens. Each promise has one checker with a name; GUARANTEES.md tells
//! which promise it holds. The first violation ends a run.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_core::exchange::Hold;

use crate::causes::Reasons;
use crate::holds::{Holding, Outage};
use crate::ladder::Streams;

/// A promise that was broken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Violation {
    /// Which checker saw it.
    pub checker: &'static str,
    /// What it saw.
    pub text: String,
}

/// Every checker and what it holds.
pub const CHECKERS: &[(&str, &str)] = &[
    ("upstream-once", "each message of a client is applied once, in order, or refused"),
    ("downstream-once", "each message of a zone is heard once, in order"),
    ("heard-all", "when a report comes, all that the game had said before it has been heard"),
    ("latest-order", "a latest value comes never before its place, and never goes back"),
    ("latest-final", "at rest every member has the newest latest values, and no cleared one"),
    ("ladder-honest", "a rung says what happened: nothing lost is Replayed, what is lost is named"),
    ("single-voice", "a connection that was taken over is told nothing any more"),
    ("no-lockout", "no crash and no lost Welcome keeps a player out of a session that lives"),
    ("hold-kept", "no hold ends before the server could have taken the player back for all of it"),
    ("hold-ends", "a session that is held and has no match to wait for ends with its hold"),
    ("cause-true", "a session ends only for a cause that is there, and that cause is told"),
    ("not-blamed", "no honest client is closed for breaking the protocol"),
    ("one-place", "a session is in the zone that has it as a member, and in no other"),
    ("comes-back", "once faults stop, everybody is back and everything sent is acknowledged"),
    ("banned-out", "once a ban is told to be done, no session of its player goes on"),
    ("bounded", "no queue grows beyond its limit"),
    ("seat-held", "a Game's zone has whoever has a seat there in use, and nobody else"),
    ("match-data", "what is kept for a player in a match is what was set"),
    ("owners-true", "objects are owned as set, handed over and taken, over any crash"),
    ("timers-once", "a timer rings once, not before its time, and over any crash"),
    ("jobs-once", "the result of a job comes once, over any crash"),
    ("store-kept", "what is acknowledged stays in the store, and no former owner writes to it"),
    ("one-batch", "a scope has at most one batch at the store"),
    ("client-sane", "no client ever sees a frame that breaks the protocol"),
    ("secrets-plain", "no compressed frame holds a token, a secret, a password or a signature"),
    (
        "old-password-out",
        "no proof of a replaced password or a deleted account lets in or links a key",
    ),
    ("account-true", "an account is one player, and locked or deleted it has no session"),
    ("callback-once", "a disconnect callback runs once a drop, for a session that was given it"),
    ("no-panic", "nothing but game code ever panics"),
    ("goes-to-sleep", "who is woken does what is due: nobody wakes for ever at one instant"),
    ("same-trace", "the same seed gives the same trace"),
];

/// How often in a row a machine may wake, do what is due, and have more due at the same instant.
const IN_VAIN_MAX: u32 = 10;

/// Who can be woken.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Sleeper {
    /// The server's hub.
    Hub,
    /// The directory.
    Directory,
    /// A zone, by its number.
    Zone(u64),
    /// A player's client, by its place.
    Player(usize),
}

/// What onlookers remember to judge by.
#[derive(Debug, Default)]
pub struct Watch {
    /// The highest epoch welcomed, by session.
    pub epochs: BTreeMap<u64, u64>,
    /// Sessions that are held, and how that went so far.
    pub holdings: BTreeMap<u64, Holding>,
    /// How a session would be held where it was seen last.
    pub places: BTreeMap<u64, Hold>,
    /// How long the server could take nobody back so far.
    pub outage: Outage,
    /// Why sessions may end.
    pub reasons: Reasons,
    /// What clients said about their streams, and what they were sent.
    pub positions: BTreeMap<u64, Streams>,
    /// Sessions that have been in a zone that forgets on a crash.
    pub volatile: BTreeSet<u64>,
    /// Who woke last and had as much to do as before, since when, and how often in a row.
    pub restless: Option<(Sleeper, u64, u32)>,
    /// Violations found so far.
    pub found: Vec<Violation>,
}

impl Watch {
    /// A promise was broken.
    pub fn fail(&mut self, checker: &'static str, text: String) {
        debug_assert!(CHECKERS.iter().any(|(name, _)| *name == checker));
        self.found.push(Violation { checker, text });
    }

    /// Somebody has woken and done what was due; whether something is due at once again.
    pub fn woken(&mut self, now: u64, sleeper: Sleeper, again: bool) {
        let before = self.restless.filter(|(who, since, _)| (*who, *since) == (sleeper, now));
        let count = 1 + before.map_or(0, |(.., count)| count);
        self.restless = again.then_some((sleeper, now, count));
        if again && count > IN_VAIN_MAX {
            self.fail("goes-to-sleep", format!("{sleeper:?} was woken {count} times at {now} us"));
        }
    }
}
