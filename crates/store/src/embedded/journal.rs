//! The journal: what is acknowledged is here first, in one write and one sync, and is brought into the
//! tree later. Two files are written in turns, so that one can be applied while the other is written; a
//! generation says which turn it is, and a file is begun anew without being cleared. Files are written
//! with zeros before they are used: a sync that has to tell the file system of a new size costs twice.

use std::io;

use super::disk::{Disk, Ground, Part};
use super::engine::Trouble;
use super::layer::Layer;
use super::record::{self, Pen, Record};
use super::sector::{self, SECTOR, Spot, Wanted, Wrong};
use crate::print::{self, Print};

/// How large the files of a journal are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JournalSize {
    /// Of a new file.
    pub first: u64,
    /// A file grows to this; only a single group that is larger makes it larger.
    pub most: u64,
}

/// In a folder. Small at first, for most folders are.
pub(super) const IN_FOLDER: JournalSize = JournalSize { first: 64 << 10, most: 16 << 20 };

/// Zeros that are written at once: a page. A system may keep what is written at once as one piece, and handle
/// all of it whenever a part of it changes.
const ZEROS: usize = 4 << 10;

/// What the tree says of the journal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Mark {
    /// The last generation that the tree holds.
    pub(super) applied: u64,
    /// All there was is in the tree, and nothing has been written since.
    pub(super) is_closed: bool,
    /// The generation behind it was begun in its file before this was said: a file without it is of an older
    /// copy, or was emptied.
    pub(super) is_begun: bool,
    /// The files are at least so long.
    pub(super) lengths: [u64; 2],
}

/// What is said of a journal that was never written.
pub(super) const NO_JOURNAL: Mark =
    Mark { applied: 0, is_closed: true, is_begun: false, lengths: [0; 2] };

const IS_CLOSED: u64 = 1;
const IS_BEGUN: u64 = 2;

impl Mark {
    pub(super) fn write(&self) -> Vec<u8> {
        let mut written = Vec::with_capacity(40);
        let mut flags = if self.is_closed { IS_CLOSED } else { 0 };
        flags |= if self.is_begun { IS_BEGUN } else { 0 };
        let numbers = [self.applied, flags, self.lengths[0], self.lengths[1]];
        for number in numbers {
            written.extend_from_slice(&number.to_le_bytes());
        }
        let print = print::of_bytes(&written);
        written.extend_from_slice(&print.to_le_bytes());
        written
    }

    pub(super) fn read(written: &[u8]) -> Option<Self> {
        let number = |at: usize| {
            written.get(at..)?.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes))
        };
        if written.len() != 40 || print::of_bytes(&written[..32]) != number(32)? {
            return None;
        }
        let lengths = [number(16)?, number(24)?];
        let (applied, flags) = (number(0)?, number(8)?);
        let (is_closed, is_begun) = (flags & IS_CLOSED != 0, flags & IS_BEGUN != 0);
        Some(Self { applied, is_closed, is_begun, lengths })
    }
}

/// The journal, open for writing.
pub(super) struct Journal {
    id: Print,
    size: JournalSize,
    files: [Box<dyn Disk>; 2],
    /// So much of each was written once.
    lengths: [u64; 2],
    generation: u64,
    sequence: u64,
    /// The sector behind the last group.
    at: u32,
    pen: Pen,
    packed: Vec<u8>,
}

/// The name of a half, for people.
pub(super) const fn name(half: usize) -> &'static str {
    if half == 0 { "journal.0" } else { "journal.1" }
}

impl Journal {
    /// Opens the files, making them `first` bytes long if they are shorter; nothing is read.
    pub(super) fn open(
        ground: &dyn Ground,
        id: Print,
        size: JournalSize,
        generation: u64,
    ) -> Result<Self, Trouble> {
        let file = |half| ground.file(Part::Journal(half)).map_err(|error| failed(half, error));
        let files = [file(0)?, file(1)?];
        let mut lengths = [0; 2];
        for (half, length) in lengths.iter_mut().enumerate() {
            let there = files[half].len().map_err(|error| failed(half, error))?;
            // Whole sectors of it.
            *length = there / SECTOR as u64 * SECTOR as u64;
        }
        let (pen, packed) = (Pen::default(), Vec::new());
        let mut journal =
            Self { id, size, files, lengths, generation, sequence: 0, at: 0, pen, packed };
        for half in 0..2 {
            journal.grow(half, size.first)?;
        }
        Ok(journal)
    }

    /// Begins with clean files. The tree must say that it needs nothing of them.
    pub(super) fn clear(&mut self) -> Result<(), Trouble> {
        for half in 0..2 {
            let first = self.size.first;
            let shortened = self.files[half].set_len(first);
            let cleared = shortened.and_then(|()| fill(self.files[half].as_ref(), 0, first));
            cleared.map_err(|error| failed(half, error))?;
            self.files[half].sync_data().map_err(|_| Trouble::Poisoned)?;
            self.lengths[half] = first;
        }
        Ok(())
    }

    pub(super) fn generation(&self) -> u64 {
        self.generation
    }

    pub(super) fn lengths(&self) -> [u64; 2] {
        self.lengths
    }

    /// The sector behind the last group of this turn.
    pub(super) fn end_sector(&self) -> u32 {
        self.at
    }

    fn half(&self) -> usize {
        (self.generation % 2) as usize
    }

    /// Writes the first group of a turn, which says where the other file ends. Without it a file of an older
    /// copy could not be told from one in which nothing was written yet.
    pub(super) fn begin(&mut self, other_end: u32) -> Result<(), Trouble> {
        self.prepare(&[Record::Begun(other_end)]);
        self.append()
    }

    /// Writes a group down to be appended next.
    pub(super) fn prepare(&mut self, records: &[Record<'_>]) {
        self.pen.write(records);
    }

    /// Where the prepared group would end.
    fn end(&self) -> u64 {
        let count = sector::sectors_for(self.pen.bytes().len());
        (u64::from(self.at) + u64::from(count)) * SECTOR as u64
    }

    /// Whether the prepared group still belongs into this half. A half that is begun takes any group.
    pub(super) fn has_place(&self) -> bool {
        self.at == 0 || self.end() + self.size.first <= self.size.most
    }

    /// Writes and syncs the prepared group. After an error nothing is acknowledged; the next group
    /// takes its place.
    pub(super) fn append(&mut self) -> Result<(), Trouble> {
        let (half, end) = (self.half(), self.end());
        // Some room is kept ahead, for what makes room on a full disk.
        let (length, wanted) = (self.lengths[half], end + self.size.first);
        if wanted > length {
            match self.grow(half, wanted.max((length * 2).min(self.size.most))) {
                Err(Trouble::Full) if end <= length => {}
                grown => grown?,
            }
        }
        self.sequence += 1;
        let Self { generation, sequence, at: start, .. } = *self;
        let file = (self.lengths[half] / SECTOR as u64) as u32;
        let spot = Spot { generation, sequence, start, file };
        sector::pack(self.id, spot, self.pen.bytes(), &mut self.packed);
        let place = u64::from(start) * SECTOR as u64;
        let written = self.files[half].write(place, &self.packed);
        written.map_err(|error| failed(half, error))?;
        // Whatever the reason: what the disk holds is not known any more.
        self.files[half].sync_data().map_err(|_| Trouble::Poisoned)?;
        self.at = (end / SECTOR as u64) as u32;
        Ok(())
    }

    /// The other file's turn. What it held must be in the tree.
    pub(super) fn turn(&mut self) {
        self.generation += 1;
        self.sequence = 0;
        self.at = 0;
    }

    fn grow(&mut self, half: usize, length: u64) -> Result<(), Trouble> {
        let before = self.lengths[half];
        if length <= before {
            return Ok(());
        }
        let file = self.files[half].as_ref();
        let written = file.set_len(length).and_then(|()| fill(file, before, length));
        if let Err(error) = written {
            // Somebody may need the room; if not even this works, nothing is worse than before.
            let _ = file.set_len(before);
            return Err(failed(half, error));
        }
        file.sync_data().map_err(|_| Trouble::Poisoned)?;
        self.lengths[half] = length;
        Ok(())
    }
}

/// Writes zeros from one place to another.
fn fill(file: &dyn Disk, from: u64, to: u64) -> io::Result<()> {
    let zeros = [0; ZEROS];
    let mut pages = (from..to).step_by(ZEROS);
    pages.try_for_each(|at| file.write(at, &zeros[..(to - at).min(ZEROS as u64) as usize]))
}

fn failed(half: usize, error: io::Error) -> Trouble {
    match Trouble::of_disk(error) {
        Trouble::Unreadable(why) => Trouble::Unreadable(format!("{}: {why}", name(half))),
        trouble => trouble,
    }
}

/// Reads what was acknowledged and is not in the tree. Nothing is written. `is_former`: it was written in a
/// format before 3.
pub(super) fn replay(
    ground: &dyn Ground,
    id: Print,
    mark: Mark,
    is_former: bool,
) -> Result<Layer, Trouble> {
    let mut layer = Layer::default();
    if mark.is_closed {
        return Ok(layer);
    }
    let first = ((mark.applied + 1) % 2) as usize;
    let missing = |why| Err(damaged(first, &Wrong { sector: 0, why }));
    let mut ends = [0; 2];
    for turn in 0..2 {
        let generation = mark.applied + 1 + turn as u64;
        let half = (generation % 2) as usize;
        let bytes = read(ground, half, mark.lengths[half])?;
        let wanted = Wanted { id, applied: mark.applied, generation, is_former };
        let unpacked = sector::unpack(wanted, &bytes).map_err(|wrong| damaged(half, &wrong))?;
        ends[turn] = unpacked.end;
        for group in unpacked.groups {
            let wrong = Wrong { sector: 0, why: "a group cannot be read" };
            let begun = record::replay(&group, &mut layer).ok_or_else(|| damaged(half, &wrong))?;
            if turn == 1 && begun.is_some_and(|end| end > ends[0]) {
                return missing(
                    "it is older than the other half: what was written last is missing",
                );
            }
        }
    }
    match ends {
        // A file's turn ends only when it holds something.
        [0, end] if end > 0 => missing("what was written is missing"),
        [0, 0] if mark.is_begun => missing("it is older than store.redb, or was emptied"),
        _ => Ok(layer),
    }
}

fn damaged(half: usize, wrong: &Wrong) -> Trouble {
    let (name, byte, why) = (name(half), wrong.sector * SECTOR, wrong.why);
    Trouble::Unreadable(format!("the file {name} is damaged at byte {byte}: {why}"))
}

fn read(ground: &dyn Ground, half: usize, least: u64) -> Result<Vec<u8>, Trouble> {
    let file = ground.file(Part::Journal(half)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => {
            Trouble::Unreadable(format!("the file {} is missing", name(half)))
        }
        _ => failed(half, error),
    })?;
    let length = file.len().map_err(|error| failed(half, error))?;
    if length < least {
        let name = name(half);
        return Err(Trouble::Unreadable(format!("the file {name} is cut off at byte {length}")));
    }
    let mut bytes = vec![0; length as usize];
    file.read(0, &mut bytes).map_err(|error| failed(half, error))?;
    Ok(bytes)
}

#[cfg(all(test, feature = "contract"))]
mod tests {
    //! Both halves at once, and what refused tries leave behind. All else is tried on whole stores.
    use rejoin_core::id::{OwnerEpoch, Revision, SessionId};
    use rejoin_core::scope::{Batch, Change, ScopeId};

    use super::*;
    use crate::platter::Platter;

    const SIZE: JournalSize = JournalSize { first: 4 << 10, most: 64 << 10 };
    const SCOPE: ScopeId = ScopeId::Session(SessionId(1));

    fn batch(revision: u64, length: usize) -> Batch {
        let changes = vec![Change::Put("key".into(), vec![7; length].into())];
        let (owner, revision) = (OwnerEpoch(1), Revision(revision));
        Batch { scope: SCOPE, owner, revision, changes, delete_scope: false }
    }

    fn append(journal: &mut Journal, revision: u64, length: usize) -> Result<(), Trouble> {
        journal.prepare(&[Record::Batch(&batch(revision, length), 0)]);
        journal.append()
    }

    fn read_all(platter: &Platter, applied: u64) -> Result<Option<u64>, String> {
        let mark = Mark { applied, is_closed: false, is_begun: false, lengths: [0; 2] };
        match replay(platter, 5, mark, false) {
            Ok(layer) => Ok(layer.standing(SCOPE).flatten().map(|(_, revision, _)| revision.0)),
            Err(Trouble::Unreadable(why)) => Err(why),
            Err(other) => panic!("{other:?}"),
        }
    }

    #[test]
    fn both_halves_are_read_in_order_and_none_without_the_one_before() {
        let platter = Platter::default();
        let mut journal = Journal::open(&platter, 5, SIZE, 8).expect("a disk");
        for revision in 1..=3 {
            append(&mut journal, revision, 900).expect("room");
        }
        journal.turn();
        append(&mut journal, 4, 3_000).expect("room");
        assert_eq!(read_all(&platter, 7), Ok(Some(4)));
        assert_eq!(read_all(&platter, 8), Ok(Some(4)), "the first half is in the tree");
        assert_eq!(read_all(&platter, 9), Ok(None), "both are");
        let told = read_all(&platter, 5).expect_err("it is newer than the tree");
        assert!(told.contains("belongs elsewhere"), "{told}");
        let mark = Mark { applied: 7, is_closed: false, is_begun: false, lengths: [0; 2] };
        let told = replay(&platter, 6, mark, false);
        assert!(matches!(told, Err(Trouble::Unreadable(_))), "it is another store's");
        journal.turn();
        append(&mut journal, 5, 10).expect("room");
        assert_eq!(read_all(&platter, 8), Ok(Some(5)), "a half is begun anew");
        let told = read_all(&platter, 7).expect_err("what came before is gone");
        assert!(told.contains("journal."), "{told}");
    }

    #[test]
    fn a_try_that_was_refused_is_no_group_and_hides_none() {
        let platter = Platter::default();
        let mut journal = Journal::open(&platter, 5, SIZE, 1).expect("a disk");
        append(&mut journal, 1, 100).expect("room");
        append(&mut journal, 2, 20_000).expect("room");
        // As if the disk had refused the last one half way.
        let half = journal.half();
        let length = journal.lengths[half] as usize;
        let file = platter.file(Part::Journal(half)).expect("a file");
        file.write(length as u64 - 40 * SECTOR as u64, &[0; 40 * SECTOR]).expect("a disk");
        journal.at = 8;
        assert_eq!(read_all(&platter, 0), Ok(Some(1)));
        append(&mut journal, 2, 700).expect("room");
        assert_eq!(read_all(&platter, 0), Ok(Some(2)));
        append(&mut journal, 3, 100).expect("room");
        assert_eq!(read_all(&platter, 0), Ok(Some(3)));
    }

    const LONG: Mark =
        Mark { applied: 7, is_closed: false, is_begun: true, lengths: [SIZE.first; 2] };

    fn replayed(platter: &Platter) -> Result<Option<u64>, String> {
        match replay(platter, 5, LONG, false) {
            Ok(layer) => Ok(layer.standing(SCOPE).flatten().map(|(_, revision, _)| revision.0)),
            Err(Trouble::Unreadable(why)) => Err(why),
            Err(other) => panic!("{other:?}"),
        }
    }

    /// Groups of all sizes in both halves, none of them in the tree; the second half begins at revision 7.
    fn two_halves(platter: &Platter, mut between: impl FnMut(u64)) -> Journal {
        let mut journal = Journal::open(platter, 5, SIZE, 8).expect("a disk");
        journal.begin(0).expect("room");
        for revision in 1..=9 {
            if revision == 7 {
                let end = journal.end_sector();
                journal.turn();
                journal.begin(end).expect("room");
            }
            append(&mut journal, revision, 700 * revision as usize).expect("room");
            between(revision);
        }
        journal
    }

    #[test]
    fn a_half_that_is_cut_off_at_any_length_is_refused() {
        let platter = Platter::default();
        let journal = two_halves(&platter, |_| {});
        assert_eq!(replayed(&platter), Ok(Some(9)));
        for half in 0..2 {
            let length = journal.lengths[half];
            assert!(length > 2 * SIZE.first, "it has grown");
            for cut in (0..length).step_by(256).chain([length - 1]) {
                let copy = platter.copy();
                let file = copy.file(Part::Journal(half)).expect("a file");
                file.set_len(cut).expect("a disk");
                let told = replayed(&copy).expect_err("what is behind it is missing");
                assert!(told.contains(name(half)) && told.contains("cut off"), "{cut}: {told}");
            }
        }
    }

    #[test]
    fn a_half_of_an_older_copy_is_refused() {
        let (platter, mut older) = (Platter::default(), Vec::new());
        let journal = two_halves(&platter, |revision| {
            if revision < 6 {
                older.push(platter.copy());
            }
        });
        let (first, second) = (0, 1);
        assert_eq!(journal.half(), second);
        for copy in older {
            // The first half as it was, beside the second one as it is.
            let put_back = platter.copy();
            put_back.replace(Part::Journal(first), &copy);
            let told = replayed(&put_back).expect_err("what was written last is missing");
            assert!(told.contains("cut off") || told.contains("older than"), "{told}");
        }
        // Both of a time before the tree had this generation.
        let told = replay(&platter, 5, Mark { applied: 9, ..LONG }, false);
        assert!(matches!(told, Err(Trouble::Unreadable(why)) if why.contains("older than store")));
    }
}
