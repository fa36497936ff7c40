//! How much room there is, and what is done with little of it: a reserve is kept, so that what makes room
//! has room to do so.

use std::fs::File;

use fs4::FileExt as _;
use rejoin_core::scope::{Batch, Change};

use super::disk::Ground;
use super::folder::Folder;
use super::row;

/// Room that is kept back for what makes room.
const RESERVE_BYTES: u64 = 4 << 20;
/// Bytes on disk for a byte that is to be written, at most: pages are copied with what changes.
const ROOM_FACTOR: u64 = 8;

/// Whether there is room for so many bytes of rows, or nobody knows.
pub(super) fn has_room(ground: &dyn Ground, bytes: usize) -> bool {
    let needed = RESERVE_BYTES + (bytes as u64).saturating_mul(ROOM_FACTOR);
    ground.room().is_none_or(|free| free >= needed)
}

/// Takes the reserve, if there is room; without it all goes on.
pub(super) fn keep_reserve(folder: &Folder) {
    let enough = fs4::available_space(folder.path()).is_ok_and(|free| free > 2 * RESERVE_BYTES);
    if !folder.reserve().exists() && enough {
        let taken = File::create(folder.reserve());
        let _ = taken.and_then(|file| file.allocate(RESERVE_BYTES));
    }
}

pub(super) fn give_up_reserve(folder: &Folder) {
    let _ = std::fs::remove_file(folder.reserve());
}

/// About what a batch is on disk.
pub(super) fn bytes_of(batch: &Batch) -> usize {
    let changes = batch.changes.iter().map(|change| match change {
        Change::Put(key, value) => key.len() + value.len() + row::ROW_HEAD,
        Change::Delete(key) | Change::DeletePrefix(key) => key.len(),
    });
    changes.sum::<usize>() + 64
}

pub(super) fn makes_room(batch: &Batch) -> bool {
    batch.delete_scope || batch.changes.iter().all(|change| !matches!(change, Change::Put(..)))
}
