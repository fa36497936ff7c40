//! Judges holds from outside: when the hub first shows a session as held, what its place promises,
//! and how long the server could really have taken its player back when the hold ended. Time in
//! which the process was down, stood still or had no room on its disk is no part of a hold.

use std::time::Duration;

use rejoin_core::event::EndCause;
use rejoin_core::exchange::Hold;
use rejoin_core::guard::GuardConfig;
use rejoin_core::id::{PlayerId, SessionId, ZoneId};
use rejoin_core::session::{Place, Presence, SessionCore};
use rejoin_core::wire::v1::hello;

use crate::bureau::KIND;
use crate::world::World;

/// Clocks are read to the microsecond, and a deadline comes with the next event behind it.
const SLACK_US: u64 = 2_000;
/// How much longer than promised a hold may take to end: the wake that ends it may be put off by
/// a stall that is too short to count.
const LATE_US: u64 = 5_000_000;
/// Holds stand still for a barred address for this long at most.
const BARRED_US: u64 = 60_000_000;

/// A session that is held.
#[derive(Clone, Copy, Debug)]
pub struct Holding {
    /// Since when, in world time.
    since: u64,
    /// How much outage there had been then.
    outage: u64,
    /// How long it is held at least; none: its zone may end the hold at any time.
    least: Option<u64>,
    /// The longest hold of a place it has been in while it was held.
    longest: u64,
    /// It waits for the end of a match.
    waits_for_match: bool,
    /// Its player was told to wait: it may be held until then, in time without outages.
    told_until: u64,
}

/// Time in which the server could take nobody back.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outage {
    /// All that is over.
    past: u64,
    /// Stalls that may be too short for the hub to count.
    pub doubtful: u64,
    /// How long the store had no room, but for the present time.
    full: u64,
    /// Since when the store has no room.
    full_since: Option<u64>,
}

impl Outage {
    /// The process stood still. A stall counts from the hub's next pulse on, so one of up to twice
    /// `counts_from` may not count.
    pub fn stood_still(&mut self, gap: u64, counts_from: Duration) {
        if self.full_since.is_some() {
            // That time is counted already.
        } else if gap > 2 * micros(counts_from) {
            self.past += gap;
        } else {
            self.doubtful += gap;
        }
    }

    /// The machines were told that there is no room, or room again.
    pub fn store_full(&mut self, now: u64, is_full: bool) {
        match (is_full, self.full_since) {
            (true, None) => self.full_since = Some(now),
            (false, Some(since)) => {
                self.past += now - since;
                self.full += now - since;
                self.full_since = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    /// The process ended: a new one knows nothing of a full disk.
    pub fn ended(&mut self, now: u64) {
        self.store_full(now, false);
    }

    /// World time without all that stood still, also what the hub may not have counted.
    pub fn serving(&self, now: u64) -> u64 {
        now.saturating_sub(self.until(now) + self.doubtful)
    }

    /// World time in which the store had room.
    pub fn with_room(&self, now: u64) -> u64 {
        now - self.full - self.full_since.map_or(0, |since| now - since)
    }

    fn until(&self, now: u64) -> u64 {
        self.past + self.full_since.map_or(0, |since| now - since)
    }
}

/// A session as a judge of holds and endings sees it.
pub(crate) struct Seen {
    pub id: SessionId,
    pub presence: Presence,
    pub ending: Option<EndCause>,
    /// Its player, and the one that its key or secret would be alone.
    pub players: [PlayerId; 2],
    zone: Option<ZoneId>,
    /// It is on its way into that zone, and not inside.
    is_joining: bool,
    hold: Hold,
}

impl Seen {
    pub(crate) fn of((id, session): (SessionId, &SessionCore)) -> Self {
        Self {
            id,
            presence: session.presence(),
            ending: session.ending(),
            players: [session.player(), session.credential()],
            zone: session.zone(),
            is_joining: matches!(session.place(), Place::Joining(_)),
            hold: session.hold(),
        }
    }
}

impl World {
    /// Looks at all sessions after an input of the hub.
    pub fn check_sessions(&mut self) {
        let Some(hub) = self.node.hub.as_ref() else { return };
        let is_ready = hub.is_ready();
        let all: Vec<Seen> = hub.sessions().map(Seen::of).collect();
        for seen in &all {
            let is_new = self.check_ending(seen);
            if is_new && is_ready && !self.node.is_stopping {
                self.check_hold(seen);
            }
        }
        let known = |id: &u64| all.binary_search_by_key(id, |seen| seen.id.0).is_ok();
        self.watch.holdings.retain(|id, _| known(id));
    }

    /// No hold goes over from one process to the next: each begins anew.
    pub fn forget_holds(&mut self) {
        self.watch.holdings.clear();
        self.watch.outage.ended(self.now);
    }

    fn check_hold(&mut self, seen: &Seen) {
        let (now, id) = (self.now, seen.id.0);
        let place = self.hold_of(seen);
        let outage = self.watch.outage.until(now);
        let held = self.watch.holdings.get(&id).copied();
        let before = self.watch.places.insert(id, place);
        let served = |held: &Holding| (now - held.since) - (outage - held.outage);
        match (seen.ending, seen.presence) {
            (Some(EndCause::HoldEnded), _) => {
                self.watch.holdings.remove(&id);
                match held {
                    // A place without a hold ends the session in the very step of its drop, and
                    // may be left in that step.
                    None if place == Hold::None || before == Some(Hold::None) => {}
                    None => {
                        let text = format!("session {id} was not held when its hold ended");
                        self.watch.fail("hold-kept", text);
                    }
                    Some(held) => {
                        let served = served(&held);
                        if let Some(least) = held.least.filter(|it| served + SLACK_US < *it) {
                            let text = format!("session {id} was held {served} us of {least}");
                            self.watch.fail("hold-kept", text);
                        }
                    }
                }
            }
            (None, Presence::Away(until)) => {
                let mut held = held
                    .filter(|held| held.waits_for_match == until.is_none())
                    .unwrap_or(Holding {
                        since: now,
                        outage,
                        least: Some(u64::MAX),
                        longest: 0,
                        waits_for_match: until.is_none(),
                        told_until: 0,
                    });
                let timed = match place {
                    Hold::Timed(while_) => Some(micros(while_)),
                    Hold::UntilMatchEnds(_) | Hold::None => None,
                };
                held.least = held.least.zip(timed).map(|(least, timed)| least.min(timed));
                held.longest = self.longest_hold();
                self.watch.holdings.insert(id, held);
                let most = 2 * held.longest + self.longest_bar() + LATE_US;
                let served = served(&held);
                let is_told = self.watch.outage.serving(now) <= held.told_until + LATE_US;
                let most = most + self.watch.outage.doubtful;
                if !held.waits_for_match && !is_told && served > most {
                    let text = format!("session {id} is held for {served} us, {most} may be");
                    self.watch.fail("hold-ends", text);
                }
            }
            _ => drop(self.watch.holdings.remove(&id)),
        }
    }

    /// How a session is held where it is: the simulator's own reading of the settings.
    fn hold_of(&self, seen: &Seen) -> Hold {
        let Some(zone) = seen.zone else { return seen.hold };
        let named = |kind: &str| ["z0", "z1"].iter().any(|name| ZoneId::of(kind, name) == zone);
        let kinds = &self.knobs.hub.kinds;
        let kind = kinds.iter().find(|(kind, _)| named(kind)).map(|(_, kind)| kind);
        match kind.or_else(|| kinds.get(KIND)).map_or(seen.hold, |kind| kind.config.hold) {
            // A zone without a hold ends only those it has let in.
            Hold::None if seen.is_joining => seen.hold,
            hold => hold,
        }
    }

    /// A resume is told to come again: its session is held for that much longer, and a whole hold more at
    /// most.
    pub(crate) fn note_told(&mut self, id: u64, wait_ms: u32) {
        let purpose = self.links.get(&id).and_then(|link| link.hello.as_ref()?.purpose.as_ref());
        let Some(hello::Purpose::Resume(resume)) = purpose else { return };
        let until = self.watch.outage.serving(self.now) + u64::from(wait_ms) * 1_000;
        let until = until + self.longest_hold();
        if let Some(held) = self.watch.holdings.get_mut(&resume.session) {
            held.told_until = held.told_until.max(until);
        }
    }

    fn longest_hold(&self) -> u64 {
        let kinds = self.knobs.hub.kinds.values().map(|kind| kind.config.hold);
        let timed = kinds.chain([self.knobs.hub.hold]).filter_map(|hold| match hold {
            Hold::Timed(while_) | Hold::UntilMatchEnds(while_) => Some(micros(while_)),
            Hold::None => None,
        });
        // What an administrator may set: see `meddle`.
        timed.max().unwrap_or(0).max(9_000_000)
    }

    fn longest_bar(&self) -> u64 {
        let is_strict = self.knobs.hub.guard != GuardConfig::default();
        if is_strict { BARRED_US } else { 0 }
    }
}

fn micros(duration: Duration) -> u64 {
    duration.as_micros() as u64
}
