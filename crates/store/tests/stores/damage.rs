//! Disks that rot, lie, fill up and lose power, under the real engine.

use rejoin_core::id::{Revision, SessionId};
use rejoin_core::scope::ScopeId;
use rejoin_store::contract::{batch, put};
use rejoin_store::embedded::snapshot::Snapshots;
use rejoin_store::platter::Platter;
use rejoin_store::{Embedded, Outcome, Store, StoreError};

fn session(id: u64) -> ScopeId {
    ScopeId::Session(SessionId(id))
}

/// A small chance of its own: the same everywhere.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        (self.0 >> 33) % bound
    }
}

/// All, half or nothing of what was not synced is kept.
fn revive(platter: &Platter, draw: &mut Draw) {
    let share = draw.below(3);
    platter.revive(|| share == 2 || (share == 1 && draw.below(2) == 0));
}

#[test]
fn what_was_committed_survives_every_power_cut() {
    let mut revisions = [0u64; 4];
    let platter = Platter::default();
    let mut draw = Draw(7);
    let (mut landed, mut lost, mut in_recovery) = (0, 0, 0);
    for round in 0..150 {
        let Ok(mut store) = platter.store() else {
            // The power went while it was opened.
            in_recovery += 1;
            revive(&platter, &mut draw);
            continue;
        };
        let mut owners = [0; 4];
        for (index, revision) in revisions.iter_mut().enumerate() {
            let Ok(opened) = store.open_one(session(index as u64)) else { break };
            let found = opened.revision.0;
            // A batch that was not answered may have landed or not.
            assert!(found == *revision || found == *revision + 1, "{found} {revision}");
            landed += u32::from(found > *revision);
            assert_eq!(opened.rows.len() as u64, found.min(20));
            *revision = found;
            owners[index] = opened.owner.0;
        }
        platter.die_in(draw.below(120));
        loop {
            let index = draw.below(4) as usize;
            let row = put(&format!("{}", revisions[index] % 20), &"x".repeat(700));
            let next = batch(session(index as u64), owners[index], revisions[index] + 1, vec![row]);
            if store.apply(&next) != Outcome::Committed {
                break;
            }
            revisions[index] += 1;
        }
        lost += 1;
        drop(store);
        revive(&platter, &mut draw);
        // Now and then it goes again while the next one opens.
        if round % 4 == 0 {
            platter.die_in(draw.below(12));
        }
    }
    println!("{lost} power cuts, {landed} unanswered batches landed, {in_recovery} while opening");
    assert!(lost > 50 && landed > 0 && in_recovery > 5, "{lost} {landed} {in_recovery}");
}

#[test]
fn a_failed_sync_poisons_and_nothing_is_told_to_be_committed_any_more() {
    let platter = Platter::default();
    let mut store = platter.store().expect("a new store");
    assert_eq!(store.apply(&batch(session(1), 1, 1, vec![])), Outcome::Committed);
    platter.fail_syncs(true);
    assert_eq!(store.apply(&batch(session(1), 1, 2, vec![])), Outcome::Poisoned);
    platter.fail_syncs(false);
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
    platter.set_room(Some(platter.size() + (1 << 20)));
    let mut revision = 1;
    while store.apply(&large(revision)) == Outcome::Committed {
        revision += 1;
        assert!(revision < 1_000, "it fills up");
    }
    for _ in 0..3 {
        assert_eq!(store.apply(&large(revision)), Outcome::Full);
    }
    platter.set_room(None);
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
    platter.set_room(Some(platter.size()));
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
    platter.set_room(None);
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

/// The engine does not compare its pages after a clean stop, and finds rows by its inner ones.
#[test]
fn a_damaged_inner_page_hides_no_scope() {
    const PAGE: usize = 4_096;
    const IS_INNER: u8 = 2;
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    let mut store = Embedded::open(&path).expect("a new store");
    let group: Vec<_> =
        (1..=200).map(|id| batch(session(id), 1, 1, vec![put("self", &"w".repeat(150))])).collect();
    assert!(store.commit(&group).iter().all(|told| *told == Outcome::Committed));
    drop(store);
    let data = path.join("store.redb");
    let whole = std::fs::read(&data).expect("a file");
    let inner = (1..whole.len() / PAGE).filter(|page| whole[page * PAGE] == IS_INNER);
    let inner: Vec<usize> = inner.map(|page| page * PAGE).collect();
    assert!(!inner.is_empty());
    let (mut refused, mut harmless) = (0, 0);
    for at in inner.into_iter().flat_map(|page| (page..page + 300).step_by(7)) {
        let mut flipped = whole.clone();
        flipped[at] ^= 1 << (at % 8);
        std::fs::write(&data, &flipped).expect("written");
        let Ok(looked) = Snapshots::of_folder(&path) else {
            refused += 1;
            continue;
        };
        let mut found = 0;
        let visited = looked.visit(|_| {
            found += 1;
            Ok(())
        });
        match visited {
            Ok(_) => {
                assert!(found >= 200, "{found} at byte {at}");
                harmless += 1;
            }
            Err(_) => refused += 1,
        }
    }
    println!("{refused} refused, {harmless} harmless");
    assert!(refused > 0 && harmless > 0);
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

/// The engine checks all its pages after an unclean end, and cannot say which of them belong together
/// when one is not what was written.
#[test]
fn one_damaged_page_after_an_unclean_end_refuses_the_file_and_says_what_to_do() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("data"), folder.path().join("copy"));
    let mut store = Embedded::open(&path).expect("a new store");
    for id in 1..=3 {
        store.apply(&batch(session(id), 1, 1, vec![put("self", &format!("<<{id}>>"))]));
    }
    // All of it is in the tree.
    drop(store);
    let store = Embedded::open(&path).expect("ours");
    // As it is while the store is in use: nobody has closed it.
    std::fs::create_dir(&copy).expect("a folder");
    for file in std::fs::read_dir(&path).expect("a folder").map(|file| file.expect("a file")) {
        std::fs::copy(file.path(), copy.join(file.file_name())).expect("copied");
    }
    drop(store);
    let data = copy.join("store.redb");
    let mut bytes = std::fs::read(&data).expect("a file");
    let places: Vec<usize> =
        (0..bytes.len() - 5).filter(|at| &bytes[*at..*at + 5] == b"<<2>>").collect();
    places.into_iter().for_each(|at| bytes[at + 2] = b'9');
    std::fs::write(&data, &bytes).expect("written");
    for _ in 0..2 {
        let told = Embedded::open(&copy).expect_err("it is refused").to_string();
        assert!(told.contains("damaged") && told.contains("`rejoin restore` a backup"), "{told}");
        assert!(std::fs::read(&data).expect("a file") == bytes, "nothing was changed");
    }
}

/// Session ids are never given out twice: a hub that lost its count must not start, however often it is
/// tried.
#[test]
fn damaged_rows_of_the_hub_are_refused_every_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("data");
    let mut store = Embedded::open(&path).expect("a new store");
    store.apply(&batch(ScopeId::Hub, 1, 1, vec![put("hub", "<<count>>")]));
    drop(store);
    let data = path.join("store.redb");
    let mut bytes = std::fs::read(&data).expect("a file");
    let places = (0..bytes.len() - 9).filter(|at| &bytes[*at..*at + 9] == b"<<count>>");
    for at in places.collect::<Vec<_>>() {
        bytes[at + 3] ^= 1;
    }
    std::fs::write(&data, bytes).expect("written");
    for _ in 0..3 {
        let mut store = Embedded::open(&path).expect("it opens");
        let told = store.open_one(ScopeId::Hub).expect_err("it is damaged").to_string();
        assert!(told.contains("the hub's own rows are damaged"), "{told}");
    }
}

/// Both the row that is missing and the one in another's place are seen.
#[test]
fn a_row_in_anothers_place_costs_both_scopes_and_no_other() {
    let platter = Platter::default();
    let mut store = platter.store().expect("a new store");
    for id in 1..=4 {
        store.apply(&batch(session(id), 1, 1, vec![put("self", "the same"), put("too", "here")]));
    }
    assert_eq!(store.misplace(session(2), session(3)), Ok(true));
    drop(store);
    let mut store = platter.store().expect("it opens");
    let all: Vec<ScopeId> = (1..=4).map(session).collect();
    let found = store.open(&all).expect("they open");
    let is_whole: Vec<bool> = found.iter().map(Result::is_ok).collect();
    assert_eq!(is_whole, [true, false, false, true]);
}

/// A whole page lands elsewhere while the disk says that all is well. What a scope is given out as
/// was, at some time, all of it; never another's, never a mixture. That it is the newest cannot be
/// said of a disk that lost a write and was closed in peace: only after an unclean end does the engine
/// compare its pages.
#[test]
fn a_write_that_goes_astray_never_mixes_scopes() {
    let (mut refused, mut aside, mut older, mut newest) = (0, 0, 0, 0);
    for seed in 1..=150 {
        let mut draw = Draw(seed);
        let platter = Platter::default();
        let mut store = platter.store().expect("a new store");
        let word = |id: u64, round: u64| format!("{id} in revision {round} {}", "w".repeat(300));
        let (mut revisions, mut is_over) = ([0; 21], false);
        for round in 0..12 {
            let some: Vec<u64> =
                if round == 0 { (1..=20).collect() } else { vec![1 + draw.below(20)] };
            let group: Vec<_> = some
                .iter()
                .map(|id| {
                    let revision = revisions[*id as usize] + 1;
                    batch(session(*id), 1, revision, vec![put("self", &word(*id, revision))])
                })
                .collect();
            if round == 6 {
                let pages = (platter.size() as u64 / 4_096).min(64);
                platter.stray_in(draw.below(6), (draw.below(pages) * 8) as usize);
            }
            if is_over || store.commit(&group).iter().any(|told| *told != Outcome::Committed) {
                is_over = true;
                continue;
            }
            some.iter().for_each(|id| revisions[*id as usize] += 1);
        }
        drop(store);
        assert!(platter.has_strayed(), "seed {seed}");
        let all: Vec<ScopeId> = (1..=20).map(session).collect();
        let Ok(Ok(found)) = platter.store().map(|mut store| store.open(&all)) else {
            refused += 1;
            continue;
        };
        for (id, found) in (1..).zip(found) {
            let Ok(opened) = found else {
                aside += 1;
                continue;
            };
            let (told, last) = (opened.revision.0, revisions[id as usize]);
            let value = opened.rows.first().map(|(_, value)| &value[..]);
            let expected = (told > 0).then(|| word(id, told));
            assert_eq!(value, expected.as_ref().map(String::as_bytes), "seed {seed}");
            *if told == last { &mut newest } else { &mut older } += 1;
        }
    }
    println!("{refused} refused; scopes: {aside} set aside, {older} older, {newest} newest");
    assert!(refused + aside > 0 && newest > 1_000, "nothing went astray, or everything");
}
