//! The last events, numbered, for readers that come and go. The journal is bounded; a reader holds
//! nothing but its position, so a slow one costs nothing and learns how many it missed.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rejoin_core::event::Event;
use rejoin_core::time::WallTime;
use tokio::sync::watch;

/// An event with its number; numbers grow by one from one.
#[derive(Debug)]
pub(crate) struct Numbered {
    pub(crate) id: u64,
    pub(crate) at: WallTime,
    pub(crate) event: Event,
}

/// What a reader gets.
#[derive(Debug)]
pub(crate) struct Pages {
    /// Events between its position and the first one it gets that are not kept any more.
    pub(crate) lost: u64,
    pub(crate) events: Vec<Arc<Numbered>>,
}

/// Which run of the server an event is of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Incarnation(pub(crate) u64);

impl Incarnation {
    /// Drawn anew for each run.
    pub(crate) fn from_seed(seed: &[u8; 32]) -> Self {
        Self(seed.iter().take(8).fold(0, |sum, byte| sum << 8 | u64::from(*byte)))
    }
}

impl fmt::Display for Incarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// A position as readers keep it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Cursor {
    /// Before everything that is kept.
    Start,
    /// Behind this event of this incarnation.
    Behind(Incarnation, u64),
}

impl Cursor {
    pub(crate) fn parse(text: &str) -> Option<Self> {
        if text == "0" {
            return Some(Self::Start);
        }
        let (incarnation, id) = text.split_once('-')?;
        let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
        let well_formed = incarnation.len() == 16
            && incarnation.bytes().all(is_hex)
            && id.bytes().all(|byte| byte.is_ascii_digit());
        let incarnation = u64::from_str_radix(incarnation, 16).ok().filter(|_| well_formed)?;
        Some(Self::Behind(Incarnation(incarnation), id.parse().ok()?))
    }
}

/// The last events with their numbers, shared by the writers and all readers.
#[derive(Debug)]
pub(crate) struct EventJournal {
    pub(crate) incarnation: Incarnation,
    kept: Mutex<VecDeque<Arc<Numbered>>>,
    kept_max: usize,
    newest: watch::Sender<u64>,
}

impl EventJournal {
    pub(crate) fn new(incarnation: Incarnation, kept_max: usize) -> Self {
        let kept = Mutex::new(VecDeque::new());
        Self { incarnation, kept, kept_max: kept_max.max(1), newest: watch::channel(0).0 }
    }

    /// Writes an event down. `notify` runs under the journal's lock, so that all listeners get events in
    /// the order of the journal. It must not block.
    pub(crate) fn write(&self, at: WallTime, event: Event, notify: impl FnOnce(&Event)) {
        let mut kept = self.kept();
        let id = *self.newest.borrow() + 1;
        notify(&event);
        if kept.len() >= self.kept_max {
            kept.pop_front();
        }
        kept.push_back(Arc::new(Numbered { id, at, event }));
        self.newest.send_replace(id);
    }

    /// What follows a number, `count` events at most.
    pub(crate) fn after(&self, id: u64, count: usize) -> Pages {
        let kept = self.kept();
        let first = kept.front().map_or(0, |first| first.id);
        let lost = first.saturating_sub(id.saturating_add(1));
        let skip = usize::try_from((id + 1).saturating_sub(first)).unwrap_or(usize::MAX);
        Pages { lost, events: kept.iter().skip(skip).take(count).cloned().collect() }
    }

    /// The number of the newest event, and word of newer ones.
    pub(crate) fn newest(&self) -> watch::Receiver<u64> {
        self.newest.subscribe()
    }

    fn kept(&self) -> MutexGuard<'_, VecDeque<Arc<Numbered>>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rejoin_core::id::ZoneId;

    fn filled(events: u64, kept_max: usize) -> EventJournal {
        let journal = EventJournal::new(Incarnation(7), kept_max);
        for zone in 1..=events {
            journal.write(WallTime(0), Event::ZoneEnded { zone: ZoneId(zone) }, |_| {});
        }
        journal
    }

    fn read(journal: &EventJournal, after: u64, count: usize) -> (u64, Vec<u64>) {
        let pages = journal.after(after, count);
        (pages.lost, pages.events.iter().map(|one| one.id).collect())
    }

    #[test]
    fn a_reader_goes_on_where_it_was_and_learns_what_it_missed() {
        let journal = filled(10, 4);
        assert_eq!(read(&journal, 6, 9), (0, vec![7, 8, 9, 10]));
        assert_eq!(read(&journal, 8, 1), (0, vec![9]));
        assert_eq!(read(&journal, 10, 9), (0, vec![]));
        assert_eq!(read(&journal, 3, 2), (3, vec![7, 8]));
        assert_eq!(read(&journal, 0, 9), (6, vec![7, 8, 9, 10]));
        assert_eq!(read(&filled(0, 4), 0, 9), (0, vec![]));
    }

    #[test]
    fn cursors_are_read_or_refused() {
        let good = Cursor::Behind(Incarnation(0xab), 12);
        assert_eq!(Cursor::parse("00000000000000ab-12"), Some(good));
        assert_eq!(Cursor::parse(&format!("{}-12", Incarnation(0xab))), Some(good));
        assert_eq!(Cursor::parse("0"), Some(Cursor::Start));
        let long = "00000000000000ab-99999999999999999999999";
        for bad in ["", "12", "-", "ab-12", "00000000000000ab-", "00000000000000AB-1", long, "+0"] {
            assert_eq!(Cursor::parse(bad), None, "{bad}");
        }
    }
}
