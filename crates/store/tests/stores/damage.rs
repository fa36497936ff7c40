//! Disks that rot, lie, fill up and lose power, under the real engine.

use std::io;
use std::sync::{Arc, Mutex};

use rejoin_core::id::{Revision, SessionId};
use rejoin_core::scope::ScopeId;
use rejoin_store::contract::{batch, put};
use rejoin_store::embedded::disk::Disk;
use rejoin_store::embedded::snapshot::Snapshots;
use rejoin_store::{Embedded, Outcome, Store, StoreError};

fn session(id: u64) -> ScopeId {
    ScopeId::Session(SessionId(id))
}

/// A disk in memory with a page cache in front of it. A clone is the same disk.
#[derive(Clone, Debug, Default)]
struct Platter(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    /// What the process sees.
    cached: Vec<u8>,
    /// What survives a power cut for certain.
    synced: Vec<u8>,
    /// Stretches written since the last sync.
    fresh: Vec<(usize, usize)>,
    room: Option<usize>,
    syncs_fail: bool,
    chance: u64,
}

impl Inside {
    fn draw(&mut self) -> u64 {
        self.chance = self.chance.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        self.chance >> 33
    }

    /// Of what was not synced, an arbitrary half of the sectors is kept.
    fn lose_power(&mut self) {
        let mut left = std::mem::take(&mut self.synced);
        left.resize(self.cached.len().max(left.len()), 0);
        for (start, end) in std::mem::take(&mut self.fresh) {
            for sector in (start / 512)..end.div_ceil(512) {
                let from = (sector * 512).max(start);
                let to = ((sector + 1) * 512).min(end).min(self.cached.len());
                if from < to && self.draw().is_multiple_of(2) {
                    left[from..to].copy_from_slice(&self.cached[from..to]);
                }
            }
        }
        self.cached.clone_from(&left);
        self.synced = left;
    }
}

impl Platter {
    fn with<T>(&self, work: impl FnOnce(&mut Inside) -> T) -> T {
        work(&mut self.0.lock().expect("nobody panicked"))
    }

    fn store(&self) -> Result<Embedded, StoreError> {
        let disk = self.clone();
        Embedded::on_disk(move || Ok(Box::new(disk.clone())))
    }
}

impl Disk for Platter {
    fn len(&self) -> io::Result<u64> {
        Ok(self.with(|inside| inside.cached.len() as u64))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let range = offset as usize..offset as usize + out.len();
        self.with(|inside| {
            let found = inside.cached.get(range).ok_or(io::ErrorKind::UnexpectedEof)?;
            out.copy_from_slice(found);
            Ok(())
        })
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.with(|inside| inside.cached.resize(len as usize, 0));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        self.with(|inside| {
            if inside.syncs_fail {
                return Err(io::Error::other("the disk is dying"));
            }
            inside.synced.clone_from(&inside.cached);
            inside.fresh.clear();
            Ok(())
        })
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let start = offset as usize;
        self.with(|inside| {
            if inside.room.is_some_and(|room| start + data.len() > room) {
                return Err(io::ErrorKind::StorageFull.into());
            }
            inside.cached[start..start + data.len()].copy_from_slice(data);
            inside.fresh.push((start, start + data.len()));
            Ok(())
        })
    }
}

#[test]
fn what_was_committed_survives_every_power_cut() {
    let mut revisions = [0u64; 4];
    let platter = Platter::default();
    for round in 0..60 {
        platter.with(|inside| inside.chance = round * 77 + 1);
        let mut store = platter.store().expect("it opens after a power cut");
        let mut owners = [0; 4];
        for (index, revision) in revisions.iter_mut().enumerate() {
            let opened = store.open_one(session(index as u64)).expect("it opens");
            let found = opened.revision.0;
            // A batch that was not answered may have landed or not.
            assert!(found == *revision || found == *revision + 1, "{found} {revision}");
            assert_eq!(opened.rows.len() as u64, found.min(20));
            *revision = found;
            owners[index] = opened.owner.0;
        }
        for step in 0..8 {
            let index = platter.with(|inside| inside.draw() % 4) as usize;
            let row = put(&format!("{}", revisions[index] % 20), &"x".repeat(700));
            let next = batch(session(index as u64), owners[index], revisions[index] + 1, vec![row]);
            if step == 7 {
                // The power goes while this one is under way.
                let before = platter.with(|inside| inside.synced.clone());
                store.apply(&next);
                platter.with(|inside| {
                    let after = std::mem::replace(&mut inside.synced, before);
                    inside.fresh = differences(&inside.synced, &after);
                });
            } else {
                assert_eq!(store.apply(&next), Outcome::Committed);
                revisions[index] += 1;
            }
        }
        let disk = platter.with(|inside| inside.cached.clone());
        drop(store);
        // What the process wrote when it ended in peace was never written.
        platter.with(|inside| {
            inside.cached = disk;
            inside.lose_power();
        });
    }
}

/// The sectors in which two disks differ.
fn differences(one: &[u8], other: &[u8]) -> Vec<(usize, usize)> {
    let sectors = other.len().div_ceil(512);
    let ends = |sector: usize| (sector * 512, ((sector + 1) * 512).min(other.len()));
    let differs =
        |(start, end): &(usize, usize)| one.get(*start..*end) != Some(&other[*start..*end]);
    (0..sectors).map(ends).filter(differs).collect()
}

#[test]
fn a_failed_sync_poisons_and_nothing_is_told_to_be_committed_any_more() {
    let platter = Platter::default();
    let mut store = platter.store().expect("a new store");
    assert_eq!(store.apply(&batch(session(1), 1, 1, vec![])), Outcome::Committed);
    platter.with(|inside| inside.syncs_fail = true);
    assert_eq!(store.apply(&batch(session(1), 1, 2, vec![])), Outcome::Poisoned);
    platter.with(|inside| inside.syncs_fail = false);
    assert_eq!(store.apply(&batch(session(1), 1, 2, vec![])), Outcome::Poisoned);
    assert_eq!(store.apply(&batch(session(2), 1, 1, vec![])), Outcome::Poisoned);
    assert_eq!(store.open_one(session(1)), Err(StoreError::Poisoned));
    assert!(store.complaint().is_some_and(|why| why.contains("sync")));
}

#[test]
fn a_full_disk_loses_nothing_and_goes_on_when_there_is_room() {
    let platter = Platter::default();
    let mut store = platter.store().expect("a new store");
    let large = |revision: u64| {
        let row = put(&format!("{revision:05}"), &"y".repeat(100_000));
        batch(session(1), 1, revision, vec![row])
    };
    assert_eq!(store.apply(&batch(session(2), 1, 1, vec![put("a", "1")])), Outcome::Committed);
    platter.with(|inside| inside.room = Some(inside.cached.len() + (1 << 20)));
    let mut revision = 1;
    while store.apply(&large(revision)) == Outcome::Committed {
        revision += 1;
        assert!(revision < 1_000, "it fills up");
    }
    for _ in 0..3 {
        assert_eq!(store.apply(&large(revision)), Outcome::Full);
    }
    platter.with(|inside| inside.room = None);
    assert_eq!(store.apply(&large(revision)), Outcome::Committed);
    let opened = store.open_one(session(1)).expect("it opens");
    assert_eq!((opened.revision, opened.rows.len()), (Revision(revision), revision as usize));
    assert_eq!(store.open_one(session(2)).map(|opened| opened.rows.len()), Ok(1));
}

#[test]
fn on_a_full_disk_what_makes_room_still_goes_in() {
    let platter = Platter::default();
    let mut store = platter.store().expect("a new store");
    let mut group: Vec<_> =
        (1..=20).map(|id| batch(session(id), 1, 1, vec![put("a", &"z".repeat(50_000))])).collect();
    assert!(store.commit(&group).iter().all(|outcome| *outcome == Outcome::Committed));
    platter.with(|inside| inside.room = Some(inside.cached.len()));
    group.clear();
    for id in 100..400 {
        group.push(batch(session(id), 1, 1, vec![put("a", &"z".repeat(50_000))]));
    }
    for id in 1..=20 {
        let ending = batch(session(id), 1, 2, vec![]);
        group.push(rejoin_core::scope::Batch { delete_scope: true, ..ending });
    }
    let outcomes = store.commit(&group);
    assert!(outcomes[..300].iter().all(|outcome| *outcome == Outcome::Full));
    assert!(outcomes[300..].iter().all(|outcome| *outcome == Outcome::Committed), "{outcomes:?}");
    platter.with(|inside| inside.room = None);
    assert_eq!(store.apply(&group[0]), Outcome::Committed, "and then there is room");
}

/// Flips bits of a folder that was closed in peace and tells what a start makes of each: none may pass
/// for what was written.
#[test]
fn a_flipped_bit_costs_its_scope_or_the_start_and_never_passes_for_the_truth() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    let mut store = Embedded::open(&path).expect("a new store");
    let word = |id: u64| format!("[session {id} says {}]", "w".repeat(200));
    for id in 1..=20 {
        store.apply(&batch(session(id), 1, 1, vec![put("self", &word(id)), put("more", "m")]));
    }
    drop(store);
    let data = path.join("store.redb");
    let whole = std::fs::read(&data).expect("a file");
    let (mut aside, mut refused, mut harmless) = (0, 0, 0);
    let needle = word(7).into_bytes();
    let inside =
        whole.windows(needle.len()).position(|bytes| bytes == needle).expect("it is there");
    let spread = (0..whole.len()).step_by(whole.len() / 150);
    for at in (inside..inside + 20).chain(spread) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&data, &flipped).expect("written");
        let mut store = match Embedded::open(&path) {
            Ok(store) => store,
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        let all: Vec<ScopeId> = (1..=20).map(session).collect();
        match store.open(&all) {
            Err(_) => refused += 1,
            Ok(found) => {
                let wrong = found.iter().filter(|found| found.is_err()).count();
                if wrong > 0 {
                    aside += 1
                } else {
                    harmless += 1
                }
                for (id, found) in (1..).zip(found) {
                    let Ok(opened) = found else { continue };
                    assert_eq!(&opened.rows[1].1[..], word(id).as_bytes(), "byte {at}");
                    assert_eq!((opened.rows.len(), opened.revision), (2, Revision(1)));
                }
            }
        }
    }
    println!("{aside} set aside, {refused} refused, {harmless} in unused space");
    assert!(aside >= 20, "{aside}");
}

#[test]
fn a_damaged_scope_is_set_aside_and_its_neighbours_are_served() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    let mut store = Embedded::open(&path).expect("a new store");
    for id in 1..=3 {
        store.apply(&batch(session(id), 1, 1, vec![put("self", &format!("<<{id}>>"))]));
    }
    drop(store);
    let data = path.join("store.redb");
    let mut bytes = std::fs::read(&data).expect("a file");
    let places: Vec<usize> =
        (0..bytes.len() - 5).filter(|at| &bytes[*at..*at + 5] == b"<<2>>").collect();
    for at in places {
        bytes[at + 2] = b'9';
    }
    std::fs::write(&data, bytes).expect("written");
    let mut store = Embedded::open(&path).expect("it opens");
    let found = store.open(&[session(1), session(2), session(3)]).expect("they open");
    assert!(found[0].is_ok() && found[2].is_ok());
    let damaged = found[1].as_ref().expect_err("it is damaged");
    assert!(damaged.to_string().contains("the row self is not what was written"), "{damaged}");
    assert_eq!(store.scopes(None), Ok(vec![session(1), session(3)]));
    drop(store);
    let aside = Snapshots::of_folder(&path).expect("ours").visit(|_| Ok(())).expect("readable");
    assert_eq!((aside.len(), aside[0].scope, aside[0].rows), (1, Some(session(2)), 2));
}
