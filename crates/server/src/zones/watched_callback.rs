//! The callback that runs on one thread of zones, as the watchdog sees it: its deadline, and the thread's
//! zones, parked where the watchdog can take them over. One atomic decides whether a callback came back
//! in time, so that its thread and the watchdog can never both go on with the zones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rejoin_core::id::SessionId;
use rejoin_core::time::Time;

use super::zone_set::ZoneSet;

/// No game code runs.
const IDLE: u64 = 0;
/// Game code runs and is waited for as long as it takes.
const FOR_EVER: u64 = u64::MAX - 1;
/// The thread was given up.
const WRITTEN_OFF: u64 = u64::MAX;

/// Shared by one worker thread, which sets it, and the watchdog, which reads it.
#[derive(Default)]
pub(super) struct WatchedCallback {
    /// The instant from which the running callback counts as stuck, or one of the constants above.
    until: AtomicU64,
    /// Whose frame runs, and its number; 0 for none.
    session: AtomicU64,
    number: AtomicU64,
    /// Locked by the thread twice for each batch of a zone; by the watchdog only if the thread is stuck.
    zones: Mutex<Option<Box<ZoneSet>>>,
}

/// What was taken over from a thread that hangs: its zones, and whose frame it was.
pub(super) type TakenOver = (Box<ZoneSet>, Option<(SessionId, u64)>);

/// Game code that has begun to run.
#[must_use]
pub(super) struct Begun(u64);

impl WatchedCallback {
    /// Leaves the zones where the watchdog can take them over. Game code runs only between this and
    /// [`unpark`](Self::unpark).
    pub(super) fn park(&self, zones: Box<ZoneSet>) {
        *self.zones.lock().unwrap_or_else(PoisonError::into_inner) = Some(zones);
    }

    /// Takes the zones back; none if the watchdog has taken them over.
    pub(super) fn unpark(&self) -> Option<Box<ZoneSet>> {
        self.zones.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Game code runs from here on.
    pub(super) fn begin(
        &self,
        now: Time,
        budget: Duration,
        culprit: Option<(SessionId, u64)>,
    ) -> Begun {
        let (session, number) = culprit.map_or((0, 0), |(session, number)| (session.0, number));
        self.session.store(session, Ordering::Relaxed);
        self.number.store(number, Ordering::Relaxed);
        let until = if budget.is_zero() { FOR_EVER } else { now.after(budget).0.min(FOR_EVER) };
        self.until.store(until, Ordering::Release);
        Begun(until)
    }

    /// It is back. False: too late, the thread was given up and must touch nothing any more.
    #[must_use]
    pub(super) fn end(&self, begun: &Begun) -> bool {
        self.until.compare_exchange(begun.0, IDLE, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The instant from which the running callback counts as stuck; also tells one callback from the next.
    pub(super) fn until(&self) -> u64 {
        self.until.load(Ordering::Acquire)
    }

    /// Gives the thread up if the running callback is over its budget. `kept_back` is added to the budget:
    /// the time for which the whole process did not run.
    pub(super) fn write_off(&self, now: Time, kept_back: Duration) -> Option<TakenOver> {
        let until = self.until.load(Ordering::Acquire);
        if until == IDLE || until >= FOR_EVER || Time(until).after(kept_back) > now {
            return None;
        }
        let session = SessionId(self.session.load(Ordering::Relaxed));
        let number = self.number.load(Ordering::Relaxed);
        let given_up =
            self.until.compare_exchange(until, WRITTEN_OFF, Ordering::AcqRel, Ordering::Acquire);
        given_up.ok()?;
        Some((self.unpark()?, (number > 0).then_some((session, number))))
    }
}
