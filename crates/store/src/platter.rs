//! A disk in memory with a cache in front of it, for tests and the simulator: its power can go between
//! any two calls, and then an arbitrary part of what was not synced is lost, sector by sector. It can
//! fill up, its syncs can fail, and a write can land where it does not belong.

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::embedded::disk::Disk;
use crate::{Embedded, StoreError};

const SECTOR: usize = 512;

/// The disk. A clone is the same one.
#[derive(Clone, Debug, Default)]
pub struct Platter(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    /// What the process sees.
    cached: Vec<u8>,
    /// What survives for certain.
    synced: Vec<u8>,
    /// Stretches written since the last sync.
    fresh: Vec<(usize, usize)>,
    /// Where the room ends.
    room: Option<usize>,
    syncs_fail: bool,
    /// Writes until one goes astray, and the sector where it lands.
    strays_in: Option<(u64, usize)>,
    /// Writes and syncs until the power goes.
    dies_in: Option<u64>,
    is_dead: bool,
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
}

impl Inside {
    /// Where a write really lands.
    fn landing(&mut self, start: usize, length: usize) -> usize {
        let Some((left, sector)) = &mut self.strays_in else { return start };
        let place = *sector * SECTOR;
        if *left > 0 || place == start || place + length > self.cached.len() {
            *left = left.saturating_sub(1);
            return start;
        }
        self.strays_in = None;
        place
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
        let disk = self.clone();
        Embedded::on_disk(move || Ok(Box::new(disk.clone())))
    }

    /// How many bytes it holds.
    #[must_use]
    pub fn size(&self) -> usize {
        self.inside().cached.len()
    }

    /// From now on there is only so much room.
    pub fn set_room(&self, room: Option<usize>) {
        self.inside().room = room;
    }

    /// From now on syncs fail, or not.
    pub fn fail_syncs(&self, fail: bool) {
        self.inside().syncs_fail = fail;
    }

    /// The power goes after so many more writes and syncs.
    pub fn die_in(&self, calls: u64) {
        self.inside().dies_in = Some(calls);
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
        let inside = &mut *inside;
        let mut left = std::mem::take(&mut inside.synced);
        if left.len() < inside.cached.len() && is_kept() {
            left.resize(inside.cached.len(), 0);
        }
        for (start, end) in std::mem::take(&mut inside.fresh) {
            for sector in start / SECTOR..end.div_ceil(SECTOR) {
                let from = (sector * SECTOR).max(start);
                let to = ((sector + 1) * SECTOR).min(end).min(left.len());
                if from < to && is_kept() {
                    left[from..to].copy_from_slice(&inside.cached[from..to]);
                }
            }
        }
        inside.cached.clone_from(&left);
        inside.synced = left;
        inside.dies_in = None;
        inside.is_dead = false;
    }
}

impl Disk for Platter {
    fn len(&self) -> io::Result<u64> {
        Ok(self.inside().cached.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let range = offset as usize..offset as usize + out.len();
        let inside = self.inside();
        out.copy_from_slice(inside.cached.get(range).ok_or(io::ErrorKind::UnexpectedEof)?);
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut inside = self.inside();
        inside.live()?;
        inside.cached.resize(len as usize, 0);
        inside.fresh.iter_mut().for_each(|(_, end)| *end = (*end).min(len as usize));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut inside = self.inside();
        inside.live()?;
        if inside.syncs_fail {
            return Err(io::Error::other("the disk is dying"));
        }
        let inside = &mut *inside;
        inside.synced.resize(inside.cached.len(), 0);
        for (start, end) in std::mem::take(&mut inside.fresh) {
            if start < end {
                inside.synced[start..end].copy_from_slice(&inside.cached[start..end]);
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut inside = self.inside();
        inside.live()?;
        let start = inside.landing(offset as usize, data.len());
        let end = start + data.len();
        if inside.room.is_some_and(|room| end > room) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let place = inside.cached.get_mut(start..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        place.copy_from_slice(data);
        inside.fresh.push((start, end));
        Ok(())
    }
}
