//! A disk in memory with a cache in front of it and the files of a store on it, for tests and the
//! simulator: its power can go between any two calls, and then an arbitrary part of what was not synced is lost, sector by sector. It can
//! fill up, its syncs can fail, and a write can land where it does not belong.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::embedded::disk::{Disk, Ground, Part};
use crate::embedded::journal::JournalSize;
use crate::{Embedded, StoreError};

const SECTOR: usize = 512;
/// Small, so that halves of the journal are full often.
const JOURNAL: JournalSize = JournalSize { first: 4 << 10, most: 32 << 10 };

/// The disk. A clone is the same one.
#[derive(Clone, Debug, Default)]
pub struct Platter(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    files: [Bytes; 3],
    /// How much there is.
    room: Option<usize>,
    syncs_fail: bool,
    /// Writes until one goes astray, and the sector of its file where it lands.
    strays_in: Option<(u64, usize)>,
    /// Writes to each file until it takes no more.
    full_in: [Option<u64>; 3],
    /// Writes and syncs until the power goes.
    dies_in: Option<u64>,
    is_dead: bool,
}

/// What is in a file.
#[derive(Debug, Default)]
struct Bytes {
    /// What the process sees.
    cached: Vec<u8>,
    /// What survives for certain.
    synced: Vec<u8>,
    /// Stretches written since the last sync.
    fresh: Vec<(usize, usize)>,
    /// What takes room: up to here something was written.
    taken: usize,
}

impl Inside {
    /// Counts a call that changes something; an error when the power is gone.
    fn live(&mut self) -> io::Result<()> {
        if let Some(left) = &mut self.dies_in {
            self.is_dead |= *left == 0;
            *left = left.saturating_sub(1);
        }
        if self.is_dead { Err(io::Error::other("the power is gone")) } else { Ok(()) }
    }

    /// Where a write really lands.
    fn landing(&mut self, file: usize, start: usize, length: usize) -> usize {
        let Some((left, sector)) = &mut self.strays_in else { return start };
        let place = *sector * SECTOR;
        if *left > 0 || place == start || place + length > self.files[file].cached.len() {
            *left = left.saturating_sub(1);
            return start;
        }
        self.strays_in = None;
        place
    }

    /// Whether a write finds no room, wherever it would land.
    fn refuses(&mut self, file: usize) -> bool {
        let Some(left) = &mut self.full_in[file] else { return false };
        let refuses = *left == 0;
        *left = left.saturating_sub(1);
        refuses
    }

    fn taken(&self) -> usize {
        self.files.iter().map(|file| file.taken).sum()
    }
}

impl Bytes {
    /// `is_kept` decides for every sector that was not synced.
    fn revive(&mut self, is_kept: &mut impl FnMut() -> bool) {
        let mut left = std::mem::take(&mut self.synced);
        if left.len() < self.cached.len() && is_kept() {
            left.resize(self.cached.len(), 0);
        }
        for (start, end) in std::mem::take(&mut self.fresh) {
            for sector in start / SECTOR..end.div_ceil(SECTOR) {
                let from = (sector * SECTOR).max(start);
                let to = ((sector + 1) * SECTOR).min(end).min(left.len());
                if from < to && is_kept() {
                    left[from..to].copy_from_slice(&self.cached[from..to]);
                }
            }
        }
        self.cached.clone_from(&left);
        self.taken = left.len();
        self.synced = left;
    }
}

impl Platter {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the store on this disk.
    ///
    /// # Errors
    /// What is on it cannot be read.
    pub fn store(&self) -> Result<Embedded, StoreError> {
        Embedded::on_ground(self.clone(), JOURNAL)
    }

    /// Opens the store on this disk, with full halves of its journal brought into the tree by
    /// [`Embedded::step_apply`]: two layers exist until then, as they do where a thread does this.
    ///
    /// # Errors
    /// What is on it cannot be read.
    pub fn stepped_store(&self) -> Result<Embedded, StoreError> {
        let mut store = self.store()?;
        store.apply_in_steps();
        Ok(store)
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inside().files.iter().map(|file| file.cached.len()).sum()
    }

    /// How many bytes a file holds.
    #[must_use]
    pub fn size_of(&self, part: Part) -> usize {
        self.inside().files[index(part)].cached.len()
    }

    /// A file is what it is on another disk.
    pub fn replace(&self, part: Part, from: &Self) {
        let (cached, synced, taken) = {
            let from = from.inside();
            let file = &from.files[index(part)];
            (file.cached.clone(), file.synced.clone(), file.taken)
        };
        self.inside().files[index(part)] = Bytes { cached, synced, fresh: Vec::new(), taken };
    }

    /// A byte of a file is not what was written any more.
    pub fn flip(&self, part: Part, byte: usize) {
        let mut inside = self.inside();
        let file = &mut inside.files[index(part)];
        for bytes in [&mut file.cached, &mut file.synced] {
            if let Some(byte) = bytes.get_mut(byte) {
                *byte ^= 1 << (*byte % 8);
            }
        }
    }

    /// A copy as it is at this moment, as if the power had gone just now and nothing was lost.
    #[must_use]
    pub fn copy(&self) -> Self {
        let inside = self.inside();
        let files = [0, 1, 2].map(|file| {
            let cached = inside.files[file].cached.clone();
            let (synced, taken) = (cached.clone(), cached.len());
            Bytes { cached, synced, fresh: Vec::new(), taken }
        });
        Self(Arc::new(Mutex::new(Inside { files, ..Inside::default() })))
    }

    /// From now on there is only so much room, for all files together.
    pub fn set_room(&self, room: Option<usize>) {
        self.inside().room = room;
    }

    /// After so many more writes to a file each one finds no room, as on a file system that copies what it
    /// writes; none: there is room.
    pub fn fill_in(&self, part: Part, writes: Option<u64>) {
        self.inside().full_in[index(part)] = writes;
    }

    /// From now on syncs fail, or not.
    pub fn fail_syncs(&self, fail: bool) {
        self.inside().syncs_fail = fail;
    }

    /// The power goes after so many more writes and syncs.
    pub fn die_in(&self, calls: u64) {
        self.inside().dies_in = Some(calls);
    }

    /// Whether the power has gone.
    #[must_use]
    pub fn is_dead(&self) -> bool {
        self.inside().is_dead
    }

    /// After so many more writes one lands at another sector and says that all is well.
    pub fn stray_in(&self, writes: u64, sector: usize) {
        self.inside().strays_in = Some((writes, sector));
    }

    /// Whether a write that was to go astray has done so.
    #[must_use]
    pub fn has_strayed(&self) -> bool {
        self.inside().strays_in.is_none()
    }

    /// The power is back. `is_kept` decides for every sector that was not synced. Whoever had the disk
    /// open must have gone.
    pub fn revive(&self, mut is_kept: impl FnMut() -> bool) {
        let mut inside = self.inside();
        inside.files.iter_mut().for_each(|file| file.revive(&mut is_kept));
        inside.dies_in = None;
        inside.is_dead = false;
    }
}

fn index(part: Part) -> usize {
    match part {
        Part::Tree => 0,
        Part::Journal(half) => 1 + half,
    }
}

impl Ground for Platter {
    fn file(&self, part: Part) -> io::Result<Box<dyn Disk>> {
        Ok(Box::new(PlatterFile(self.clone(), index(part))))
    }

    fn room(&self) -> Option<u64> {
        let inside = self.inside();
        inside.room.map(|room| room.saturating_sub(inside.taken()) as u64)
    }
}

/// A file of the disk.
#[derive(Debug)]
struct PlatterFile(Platter, usize);

impl Disk for PlatterFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.0.inside().files[self.1].cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let range = offset as usize..offset as usize + out.len();
        let inside = self.0.inside();
        let found = inside.files[self.1].cached.get(range);
        out.copy_from_slice(found.ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inside = self.0.inside();
        inside.live()?;
        let (file, len) = (&mut inside.files[self.1], len as usize);
        file.cached.resize(len, 0);
        file.fresh.iter_mut().for_each(|(_, end)| *end = (*end).min(len));
        file.taken = file.taken.min(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut inside = self.0.inside();
        inside.live()?;
        if inside.syncs_fail {
            return Err(io::Error::other("the disk is dying"));
        }
        let file = &mut inside.files[self.1];
        file.synced.resize(file.cached.len(), 0);
        for (start, end) in std::mem::take(&mut file.fresh) {
            if start < end {
                file.synced[start..end].copy_from_slice(&file.cached[start..end]);
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut inside = self.0.inside();
        inside.live()?;
        if inside.refuses(self.1) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let start = inside.landing(self.1, offset as usize, data.len());
        let end = start + data.len();
        // What was written once has its place.
        let more = end.saturating_sub(inside.files[self.1].taken);
        if more > 0 && inside.room.is_some_and(|room| inside.taken() + more > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let file = &mut inside.files[self.1];
        let place = file.cached.get_mut(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        place.copy_from_slice(data);
        file.fresh.push((start, end));
        file.taken = file.taken.max(end);
        Ok(())
    }
}
