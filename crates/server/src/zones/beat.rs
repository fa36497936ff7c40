//! What a thread of zones shows while game code runs on it: until when that may take, and the crew,
//! put where the watchdog can take it over. One atomic decides whether a callback came back in time,
//! so that its thread and the watchdog can never both go on with its zones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rejoin_core::id::SessionId;
use rejoin_core::time::Time;

use super::crew::Crew;

/// No game code runs.
const IDLE: u64 = 0;
/// Game code runs and is waited for as long as it takes.
const FOR_EVER: u64 = u64::MAX - 1;
/// The thread was given up.
const WRITTEN_OFF: u64 = u64::MAX;

/// Shared by one thread and the watchdog.
#[derive(Default)]
pub(super) struct Beat {
    /// The instant at which what runs now is stuck.
    until: AtomicU64,
    /// Whose frame runs, and its number; 0 for none.
    session: AtomicU64,
    number: AtomicU64,
    /// Locked twice for each batch of a zone, by nobody else unless the thread is stuck.
    crew: Mutex<Option<Box<Crew>>>,
}

/// What was taken over from a thread that hangs: its zones, and whose frame it was.
pub(super) type TakenOver = (Box<Crew>, Option<(SessionId, u64)>);

/// Game code that has begun to run.
#[must_use]
pub(super) struct Begun(u64);

impl Beat {
    /// Leaves the crew where it can be taken over. Game code runs only in between.
    pub(super) fn park(&self, crew: Box<Crew>) {
        *self.crew.lock().unwrap_or_else(PoisonError::into_inner) = Some(crew);
    }

    /// Takes the crew back; none if it was taken over.
    pub(super) fn unpark(&self) -> Option<Box<Crew>> {
        self.crew.lock().unwrap_or_else(PoisonError::into_inner).take()
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

    /// The instant at which what runs now is stuck: it tells one callback from the next.
    pub(super) fn until(&self) -> u64 {
        self.until.load(Ordering::Acquire)
    }

    /// Gives the thread up if what runs on it is over its budget, and over the time that it was kept
    /// back beside.
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
