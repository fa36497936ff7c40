//! A session's flight recorder: what happened to it and why, bounded, and kept with its scope so
//! that the story can be read after a crash. Only the last few entries are resident.

use crate::time::WallTime;

/// How many entries the store keeps for a session.
pub const KEPT: u32 = 64;
/// How many of them stay in memory.
const RESIDENT: usize = 4;

/// The kinds of entries. Rows store the numbers, so a number keeps its meaning.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum What {
    /// The session began.
    Began = 1,
    /// Its connection was lost; the detail is the close code.
    Dropped = 2,
    /// It is back with nothing lost; the detail is how much was replayed.
    Replayed = 3,
    /// It is back with the whole state; the detail is the reason.
    Resynced = 4,
    /// A newer connection took over.
    TakenOver = 5,
    /// It became a member of a zone.
    Joined = 6,
    /// It left a zone; the detail is the cause.
    Parted = 7,
    /// Its zone was lost.
    ZoneLost = 8,
    /// A retired token was shown for it.
    RetiredToken = 9,
    /// It is ending; the detail is the cause.
    Ending = 10,
}

/// Something that happened to a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Entry {
    /// The hub's wall clock when the entry was recorded.
    pub at: WallTime,
    /// The kind, which says what `detail` is.
    pub what: What,
    /// A code that belongs to it.
    pub detail: u32,
}

/// The entries of one session: the last few, and how many there have been.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    count: u32,
    stored: u32,
    recent: Vec<Entry>,
}

impl Timeline {
    /// Records an entry.
    pub fn record(&mut self, at: WallTime, what: What, detail: u32) {
        // Entries that wait for the store are not given up before they are written, unless as many
        // wait as the store keeps: the later ones would take their place there.
        let spare = self.recent.len().saturating_sub(self.waiting());
        if (self.recent.len() >= RESIDENT && spare > 0) || self.recent.len() >= KEPT as usize {
            self.recent.remove(0);
        }
        self.recent.reserve_exact(1);
        self.recent.push(Entry { at, what, detail });
        self.count = self.count.wrapping_add(1);
    }

    /// Entries that are not in the store yet, with the slot each belongs to.
    pub fn unstored(&self) -> impl Iterator<Item = (u32, &Entry)> {
        let waiting = self.waiting();
        let first = self.recent.len() - waiting;
        let from = self.count.wrapping_sub(waiting as u32);
        let numbers = (0..).map(move |index| from.wrapping_add(index));
        self.recent[first..].iter().zip(numbers).map(|(entry, number)| (number % KEPT, entry))
    }

    /// How many of the last entries are not in the store.
    fn waiting(&self) -> usize {
        self.recent.len().min(self.count.wrapping_sub(self.stored) as usize)
    }

    /// All of them are on their way to the store.
    pub fn mark_stored(&mut self) {
        self.stored = self.count;
        let extra = self.recent.len().saturating_sub(RESIDENT);
        self.recent.drain(..extra);
    }

    /// Gives back spare memory; for sessions that will rest a while.
    pub fn rest(&mut self) {
        self.recent.shrink_to_fit();
    }

    /// The last few entries, oldest first.
    #[must_use]
    pub fn recent(&self) -> &[Entry] {
        &self.recent
    }

    /// How many entries there have been.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Goes on from a number of entries that are in the store.
    #[must_use]
    pub fn resumed(count: u32) -> Self {
        Self { count, stored: count, recent: Vec::new() }
    }
}
