//! The clocks of a machine whose driver may stand still. The driver hands in instants of its own clock,
//! *real time*. *Service time* stands still while the process could not run: after a stall everybody has as
//! much time left as before it. *Hold time* also stands still while the store is full, because whoever
//! comes back waits for a commit, and what a player sends is not acknowledged. Instants that a machine
//! keeps are of one of these three; a stall and a full store change a number here and nothing else.

use std::time::Duration;

use crate::time::{Time, WallTime, micros};

/// What time it is.
#[derive(Debug, Default)]
pub(crate) struct ServiceClock {
    /// The last instant that was handed in.
    real: Time,
    /// How long the process could not run, all in all.
    stalled: Duration,
    /// How long the store was full, all in all and in service time, but for the present time.
    full: Duration,
    /// Since when the store is full.
    full_since: Option<Time>,
}

impl ServiceClock {
    /// Takes an instant of the driver's; gives how long the process could not run before it.
    ///
    /// It could not run if a deadline had come, and nothing was handed in for longer than `stall` after
    /// that: a driver that runs hands in something whenever a deadline comes. All the time since something
    /// was last handed in counts as lost. `next` is the first deadline, in service time.
    ///
    /// Time never goes back here, whatever is handed in.
    pub(crate) fn advance(
        &mut self,
        real: Time,
        next: Option<Time>,
        stall: Duration,
    ) -> Option<Duration> {
        let before = self.real;
        self.real = real.max(before);
        let due = self.to_real(next?).max(before);
        let is_stalled = self.real.since(due) > stall;
        let late = is_stalled.then(|| self.real.since(before))?;
        self.stalled += late;
        Some(late)
    }

    /// Real time. Budgets go by it: what was sent while the process stood still was sent over all that time.
    pub(crate) fn real(&self) -> Time {
        self.real
    }

    /// The present service time, which a stall does not advance.
    pub(crate) fn now(&self) -> Time {
        before(self.real, self.stalled)
    }

    /// The present hold time, which neither a stall nor a full store advances.
    pub(crate) fn hold(&self) -> Time {
        before(self.full_since.unwrap_or_else(|| self.now()), self.full)
    }

    /// The store is full, or has room again.
    pub(crate) fn set_full(&mut self, is_full: bool) {
        let now = self.now();
        match (self.full_since, is_full) {
            (None, true) => self.full_since = Some(now),
            (Some(since), false) => {
                self.full += now.since(since);
                self.full_since = None;
            }
            (None, false) | (Some(_), true) => {}
        }
    }

    pub(crate) fn is_full(&self) -> bool {
        self.full_since.is_some()
    }

    /// The instant of the driver's clock at which service time is so.
    pub(crate) fn to_real(&self, service: Time) -> Time {
        service.after(self.stalled)
    }

    /// The instant in service time at which hold time is so; none while it stands still.
    pub(crate) fn hold_to_service(&self, hold: Time) -> Option<Time> {
        (!self.is_full()).then(|| hold.after(self.full))
    }
}

fn before(time: Time, while_: Duration) -> Time {
    Time(time.0.saturating_sub(micros(while_)))
}

/// The wall clock, as far as it is known: a reading now and then, and service time in between.
#[derive(Debug)]
pub(crate) struct WallClock {
    /// The last reading, and the service time at which it was taken.
    read: WallTime,
    read_at: Time,
}

/// How far the wall clock may be set back without being believed.
const WALL_STEP_MAX: Duration = Duration::from_secs(300);

impl WallClock {
    pub(crate) fn new(read_at: Time, read: WallTime) -> Self {
        Self { read, read_at }
    }

    /// The wall time at this service time.
    pub(crate) fn at(&self, now: Time) -> WallTime {
        self.read.after(now.since(self.read_at))
    }

    /// The process could not run for so long: service time stood still, and the wall clock did not.
    pub(crate) fn went_on(&mut self, late: Duration) {
        self.read = self.read.after(late);
    }

    /// Takes a reading. Gives by how much it lies behind, where it is believed in spite of that: the clock was
    /// wrong before, or is now. Kept ahead of the real time it would end every ban at once; set back, a ban lasts
    /// too long at worst. A small step back is waited out: what has ended by this clock stays over.
    pub(crate) fn set(&mut self, now: Time, reading: WallTime) -> Option<Duration> {
        let known = self.at(now);
        let behind = Duration::from_millis(known.0.saturating_sub(reading.0));
        let is_small = behind <= WALL_STEP_MAX;
        *self = Self::new(now, if is_small { reading.max(known) } else { reading });
        (!is_small).then_some(behind)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STALL: Duration = Duration::from_secs(1);

    fn at(ms: u64) -> Time {
        Time::from_millis(ms)
    }

    #[test]
    fn service_time_stands_still_while_the_process_does() {
        let mut clock = ServiceClock::default();
        assert_eq!(clock.advance(at(5_000), None, STALL), None, "nothing was due");
        assert_eq!(clock.advance(at(9_000), Some(at(8_500)), STALL), None, "half a second late");
        let late = clock.advance(at(20_000), Some(at(9_500)), STALL);
        assert_eq!(late, Some(Duration::from_secs(11)));
        assert_eq!((clock.real(), clock.now()), (at(20_000), at(9_000)));
        assert_eq!(clock.to_real(at(9_500)), at(20_500), "what was left then is left now");
        assert_eq!(clock.advance(at(3_000), None, STALL), None);
        assert_eq!(clock.real(), at(20_000), "time does not go back");
    }

    #[test]
    fn hold_time_stands_still_while_the_store_is_full_too() {
        let mut clock = ServiceClock::default();
        clock.advance(at(1_000), None, STALL);
        clock.set_full(true);
        clock.set_full(true);
        clock.advance(at(5_000), None, STALL);
        assert_eq!((clock.hold(), clock.now()), (at(1_000), at(5_000)));
        assert_eq!(clock.hold_to_service(at(2_000)), None);
        clock.set_full(false);
        clock.set_full(false);
        assert_eq!(clock.hold(), at(1_000));
        assert_eq!(clock.hold_to_service(at(2_000)), Some(at(6_000)));
        // A stall while it is full counts once.
        clock.set_full(true);
        clock.advance(at(15_000), Some(at(6_000)), STALL);
        clock.advance(at(16_000), None, STALL);
        clock.set_full(false);
        assert_eq!((clock.now(), clock.hold()), (at(6_000), at(1_000)));
    }
}
