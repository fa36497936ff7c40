//! The journal in front of the tree: every sector of it damaged once, the power gone at every write and
//! sync, writes that land elsewhere, a disk that is full when the tree wants to grow, and a folder as a kill
//! leaves it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rejoin_core::id::{Revision, SessionId, ZoneId};
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_store::contract::{batch, put};
use rejoin_store::embedded::disk::{Disk, Ground, Part};
use rejoin_store::embedded::journal::JournalSize;
use rejoin_store::embedded::snapshot::Snapshots;
use rejoin_store::platter::Platter;
use rejoin_store::{Embedded, Outcome, Store, StoreError};

const SECTOR: usize = 512;

fn session(id: u64) -> ScopeId {
    ScopeId::Session(SessionId(id))
}

/// What is said in each revision of a scope; now and then much.
fn word(id: u64, revision: u64) -> String {
    let length = if (id + revision).is_multiple_of(5) { 2_500 } else { 150 };
    format!("[{id} in revision {revision} {}]", "w".repeat(length))
}

fn next(id: u64, owner: u64, revision: u64) -> Batch {
    batch(session(id), owner, revision, vec![put("self", &word(id, revision))])
}

/// Revisions of scopes, as they were told to be committed.
#[derive(Clone, Default)]
struct Told(BTreeMap<u64, u64>);

impl Told {
    /// Commits so many groups of up to three sessions; stops at the first that is not committed.
    fn write(&mut self, store: &mut Embedded, owner: u64, groups: u64) -> bool {
        for turn in 0..groups {
            let ids: Vec<u64> = (0..=turn % 3).map(|more| 1 + (turn * 7 + more) % 5).collect();
            let group: Vec<Batch> = ids
                .iter()
                .map(|id| next(*id, owner, self.0.get(id).copied().unwrap_or(0) + 1))
                .collect();
            let outcomes = store.commit(&group);
            if outcomes.iter().any(|outcome| *outcome != Outcome::Committed) {
                return false;
            }
            ids.into_iter().for_each(|id| *self.0.entry(id).or_default() += 1);
        }
        true
    }

    /// What is found is what was told, or one revision more where nobody was told.
    fn check(&self, store: &mut Embedded, about: &str) -> Self {
        let mut found = Self::default();
        for id in 1..=5 {
            let opened = store.open_one(session(id)).expect("it opens");
            let (told, revision) = (self.0.get(&id).copied().unwrap_or(0), opened.revision.0);
            assert!(
                revision == told || revision == told + 1,
                "{about}: {id} at {revision}, {told}"
            );
            check_rows(id, revision, &opened.rows, about);
            if revision > 0 {
                found.0.insert(id, revision);
            }
        }
        found
    }
}

fn check_rows(id: u64, revision: u64, rows: &[(bytes::Bytes, bytes::Bytes)], about: &str) {
    let value = rows.first().map(|(_, value)| &value[..]);
    let expected = (revision > 0).then(|| word(id, revision));
    assert_eq!(value, expected.as_ref().map(String::as_bytes), "{about}");
    assert!(rows.len() <= 1, "{about}");
}

/// Nothing that was acknowledged is lost in silence: a flipped bit is refused with the name of the file,
/// or lies where nothing was that is needed.
#[test]
fn every_flipped_sector_of_the_journal_is_refused_or_harmless() {
    let platter = Platter::default();
    let mut store = platter.store().expect("a new store");
    let mut told = Told::default();
    // Enough for a turn or two, so that one half holds what is in the tree already.
    assert!(told.write(&mut store, 1, 11));
    let halves = [Part::Journal(0), Part::Journal(1)];
    let (mut refused, mut harmless) = ([0, 0], [0, 0]);
    for half in halves {
        for sector in 0..platter.size_of(half) / SECTOR {
            for byte in [0, 9, 25, 35, 36, 300, 511] {
                let copy = platter.copy();
                copy.flip(half, sector * SECTOR + byte);
                let number = usize::from(half == halves[1]);
                match copy.store() {
                    Ok(mut store) => {
                        let found = told.check(&mut store, &format!("{half:?} sector {sector}"));
                        assert_eq!(found.0, told.0, "all of it, and nothing more");
                        harmless[number] += 1;
                    }
                    Err(error) => {
                        let name = format!("journal.{number} is damaged at byte");
                        assert!(error.to_string().contains(&name), "{error}");
                        refused[number] += 1;
                    }
                }
            }
        }
    }
    println!("refused {refused:?}, harmless {harmless:?} of {} sectors", platter.size() / SECTOR);
    assert!(refused[0] + refused[1] > 100 && harmless[0] > 100 && harmless[1] > 100);
    drop(store);
    // In peace it needs nothing of its journal.
    for half in halves {
        for sector in 0..platter.size_of(half) / SECTOR {
            platter.flip(half, sector * SECTOR + 40);
        }
    }
    told.check(&mut platter.store().expect("it opens"), "closed");
}

/// All, half or nothing of what was not synced is kept.
fn revive(platter: &Platter, share: u64, state: &mut u64) {
    platter.revive(|| {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695);
        share == 2 || (share == 1 && (*state >> 33).is_multiple_of(2))
    });
}

/// At every single call of commits, of the turn of the halves, of bringing one into the tree, and of the
/// close; and then at every call of the start behind it.
#[test]
fn the_power_can_go_at_every_write_and_sync() {
    let (mut cuts, mut landed, mut starts) = (0, 0, 0);
    for calls in 0.. {
        let share = calls % 3;
        let platter = Platter::default();
        let mut store = platter.store().expect("a new store");
        let mut told = Told::default();
        platter.die_in(calls);
        told.write(&mut store, 1, 24);
        drop(store);
        let is_over = !platter.is_dead();
        let mut state = calls;
        revive(&platter, share, &mut state);
        // Again while it starts.
        for calls in 0.. {
            if calls % 4 != share && calls < 40 {
                continue;
            }
            platter.die_in(calls);
            let opened = platter.store().is_ok();
            revive(&platter, (share + calls) % 3, &mut state);
            starts += 1;
            if opened || calls > 40 {
                break;
            }
        }
        let about = format!("after {calls} calls");
        let found = told.check(&mut platter.store().expect("it opens"), &about);
        landed += u32::from(found.0 != told.0);
        cuts += 1;
        if is_over {
            break;
        }
    }
    println!("{cuts} power cuts, {starts} more while starting, {landed} unanswered groups landed");
    assert!(cuts > 60 && starts > cuts && landed > 0, "{cuts} {starts} {landed}");
}

/// A page of the journal lands elsewhere while the disk says that all is well. What follows it tells; where
/// nothing follows, what was last is missing, whole: never a mixture.
#[test]
fn a_page_of_the_journal_that_goes_astray_is_missed_by_what_follows() {
    let (mut refused, mut older, mut newest) = (0, 0, 0);
    for writes in 0..20 {
        for page in 0..6 {
            let platter = Platter::default();
            let mut store = platter.store().expect("a new store");
            let mut told = Told::default();
            assert!(told.write(&mut store, 1, 1));
            platter.stray_in(writes, page * 8);
            told.write(&mut store, 1, 5);
            // As after a power cut that lost nothing.
            let copy = platter.copy();
            let Ok(mut again) = copy.store() else {
                refused += 1;
                continue;
            };
            for id in 1..=5 {
                let Ok(opened) = again.open_one(session(id)) else { continue };
                let revision = opened.revision.0;
                check_rows(id, revision, &opened.rows, &format!("{writes} {page}"));
                let last = told.0.get(&id).copied().unwrap_or(0);
                assert!(revision <= last);
                *if revision == last { &mut newest } else { &mut older } += 1;
            }
        }
    }
    println!("{refused} refused; scopes: {older} older, {newest} newest");
    assert!(refused > 10 && newest > older, "{refused} {older} {newest}");
}

/// The room is gone when the journal is to be brought into the tree: what was acknowledged is safe, nothing
/// more is taken but what makes room, and all goes on when there is room.
#[test]
fn what_is_in_the_journal_is_safe_when_the_tree_finds_no_room() {
    let platter = Platter::default();
    let mut store = platter.store().expect("a new store");
    let large = |id: u64, revision: u64| {
        batch(session(id), 1, revision, vec![put("self", &"y".repeat(20_000))])
    };
    let group: Vec<Batch> = (1..=60).map(|id| large(id, 1)).collect();
    assert_eq!(store.commit(&group), vec![Outcome::Committed; 60]);
    // Somebody else takes all of it.
    platter.set_room(Some(0));
    assert_eq!(store.apply(&large(61, 1)), Outcome::Full);
    let ends = |id: u64| Batch { delete_scope: true, ..batch(session(id), 1, 2, vec![]) };
    assert_eq!(store.apply(&ends(60)), Outcome::Committed, "it makes room");
    assert_eq!(store.apply(&group[7]), Outcome::Full, "a repetition is asked again later");
    let crashed = platter.copy().store().expect("it opens");
    assert_eq!(crashed.scopes(None).map(|scopes| scopes.len()), Ok(59));
    platter.set_room(None);
    assert_eq!(store.apply(&large(61, 1)), Outcome::Committed);
    assert_eq!(store.apply(&group[7]), Outcome::Committed);
    assert_eq!(store.scopes(None).map(|scopes| scopes.len()), Ok(60));
    for id in (1..=59).chain([61]) {
        let opened = store.open_one(session(id)).expect("it opens");
        assert_eq!((opened.revision, opened.rows[0].1.len()), (Revision(1), 20_000));
    }
}

/// The tree's syncs fail while the journal's do not.
#[derive(Clone)]
struct TreeFails(Platter, Arc<AtomicBool>);

#[derive(Debug)]
struct FailingFile(Box<dyn Disk>, Arc<AtomicBool>);

impl Ground for TreeFails {
    fn file(&self, part: Part) -> io::Result<Box<dyn Disk>> {
        let file = self.0.file(part)?;
        let is_tree = part == Part::Tree;
        Ok(if is_tree { Box::new(FailingFile(file, Arc::clone(&self.1))) } else { file })
    }

    fn room(&self) -> Option<u64> {
        None
    }
}

impl Disk for FailingFile {
    fn len(&self) -> io::Result<u64> {
        self.0.len()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read(offset, out)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        if self.1.load(Ordering::SeqCst) {
            return Err(io::Error::other("the disk is dying"));
        }
        self.0.sync_data()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }
}

#[test]
fn a_failed_sync_of_the_tree_poisons_as_well_and_what_was_told_is_there() {
    let (platter, fails) = (Platter::default(), Arc::new(AtomicBool::new(false)));
    let size = JournalSize { first: 4 << 10, most: 32 << 10 };
    let ground = TreeFails(platter.clone(), Arc::clone(&fails));
    let mut store = Embedded::on_ground(ground, size).expect("a new store");
    fails.store(true, Ordering::SeqCst);
    let mut told = Told::default();
    assert!(!told.write(&mut store, 1, 100), "a half is full before that");
    assert!(told.0.values().sum::<u64>() > 5, "the journal is well until then");
    assert!(store.complaint().is_some_and(|why| why.contains("sync")));
    fails.store(false, Ordering::SeqCst);
    assert_eq!(store.apply(&next(9, 1, 1)), Outcome::Poisoned);
    assert_eq!(store.open_one(session(1)), Err(StoreError::Poisoned));
    drop(store);
    told.check(&mut platter.store().expect("it opens"), "after it");
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir(to).expect("a folder");
    for file in fs::read_dir(from).expect("a folder").map(|file| file.expect("a file")) {
        fs::copy(file.path(), to.join(file.file_name())).expect("copied");
    }
}

/// As a kill leaves it: nobody has closed it.
#[test]
fn a_folder_that_was_killed_is_read_with_its_journal_and_not_without_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("data"), folder.path().join("killed"));
    let mut store = Embedded::open(&path).expect("a new store");
    let mut told = Told::default();
    assert!(told.write(&mut store, 1, 10));
    copy_folder(&path, &copy);
    let mut seen = 0;
    let looked = Snapshots::of_folder(&copy).expect("ours").visit(|shown| {
        let (scope, opened) = shown.expect("nothing is damaged");
        let id = (1..=5).find(|id| session(*id) == scope).expect("one of ours");
        assert_eq!(Some(&opened.revision.0), told.0.get(&id), "looking at it shows all of it");
        check_rows(id, opened.revision.0, &opened.rows, "looked at");
        seen += 1;
        Ok(())
    });
    assert!(looked.expect("readable").is_empty() && seen == told.0.len());
    for name in ["journal.0", "journal.1"] {
        let file = copy.join(name);
        let bytes = fs::read(&file).expect("a file");
        fs::remove_file(&file).expect("it was there");
        let missing = Embedded::open(&copy).expect_err("it is refused").to_string();
        assert!(missing.contains(&format!("the file {name} is missing")), "{missing}");
        assert!(missing.contains("`rejoin restore` a backup"), "{missing}");
        fs::write(&file, &bytes[..1_000]).expect("cut off");
        for cut in [
            Embedded::open(&copy).expect_err("it is refused").to_string(),
            Snapshots::of_folder(&copy).expect_err("it is refused").to_string(),
        ] {
            assert!(cut.contains(&format!("the file {name} is cut off")), "{cut}");
        }
        fs::write(&file, &bytes).expect("put back");
    }
    told.check(&mut Embedded::open(&copy).expect("ours"), "killed");
    // Closed in peace, it is.
    for name in ["journal.0", "journal.1"] {
        fs::remove_file(copy.join(name)).expect("it was there");
    }
    told.check(&mut Embedded::open(&copy).expect("ours"), "closed");
}

/// Halves of the real size, brought into the tree by their own thread while others are written; cuts as
/// zones make them.
#[test]
fn commits_go_on_while_a_half_is_brought_into_the_tree() {
    let folder = tempfile::tempdir().expect("a folder");
    let (path, copy) = (folder.path().join("data"), folder.path().join("killed"));
    let mut store = Embedded::open(&path).expect("a new store");
    let zones: Vec<ScopeId> = (1..=4).map(|id| ScopeId::Zone(ZoneId(id))).collect();
    let (mut revision, mut bytes, mut kept) = (0, 0, 0);
    while bytes < 60 << 20 {
        revision += 1;
        let is_base = revision % 16 == 1;
        kept = if is_base { 1 } else { kept + 1 };
        let value = "v".repeat(120_000 + revision as usize);
        let group: Vec<Batch> = zones
            .iter()
            .map(|scope| {
                let prefix = rejoin_core::scope::Change::DeletePrefix("cut/".into());
                let mut changes = if is_base { vec![prefix] } else { Vec::new() };
                changes.push(put(&format!("cut/{revision:06}"), &value));
                batch(*scope, 1, revision, changes)
            })
            .collect();
        assert_eq!(store.commit(&group), [Outcome::Committed; 4]);
        bytes += 4 * value.len();
    }
    copy_folder(&path, &copy);
    let tree = fs::metadata(copy.join("store.redb")).expect("a file").len();
    assert!(tree > 8 << 20, "much is in the tree already: {tree}");
    drop(store);
    for path in [copy, path] {
        let mut again = Embedded::open(&path).expect("ours");
        assert_eq!(again.scopes(None).as_ref(), Ok(&zones));
        for scope in &zones {
            let opened = again.open_one(*scope).expect("it opens");
            assert_eq!((opened.revision.0, opened.rows.len()), (revision, kept));
            let (key, value) = opened.rows.last().expect("a row");
            assert_eq!(&key[..], format!("cut/{revision:06}").as_bytes());
            assert_eq!(value.len(), 120_000 + revision as usize);
        }
    }
}

fn copy(from: &Path, to: &Path, names: &[&str]) {
    fs::create_dir_all(to).expect("a folder");
    for name in names {
        fs::copy(from.join(name), to.join(name)).expect("copied");
    }
}

/// As after a kill: the files of a folder that is in use.
const IN_USE: [&str; 4] = ["FORMAT", "store.redb", "journal.0", "journal.1"];

#[test]
fn journals_of_an_earlier_run_are_refused() {
    let base = tempfile::tempdir().expect("a folder");
    let (data, older, killed) =
        (base.path().join("data"), base.path().join("older"), base.path().join("killed"));
    let mut told = Told::default();
    let mut store = Embedded::open(&data).expect("a new store");
    assert!(told.write(&mut store, 1, 10));
    copy(&data, &older, &IN_USE);
    drop(store);
    let mut store = Embedded::open(&data).expect("ours");
    for id in 1..=5 {
        store.open_one(session(id)).expect("it opens");
    }
    assert!(told.write(&mut store, 2, 10));
    copy(&data, &killed, &IN_USE);
    copy(&older, &killed, &["journal.0", "journal.1"]);
    let refused =
        Embedded::open(&killed).expect_err("what was acknowledged is missing").to_string();
    assert!(refused.contains("journal.") && refused.contains("older than store.redb"), "{refused}");
    copy(&data, &killed, &IN_USE);
    told.check(&mut Embedded::open(&killed).expect("as it was"), "whole");
}

/// Both files hold something that the tree has not: a kill right behind the turn of the halves.
#[test]
fn a_journal_that_is_cut_off_in_either_file_is_refused() {
    let base = tempfile::tempdir().expect("a folder");
    let (data, killed) = (base.path().join("data"), base.path().join("killed"));
    let mut store = Embedded::open(&data).expect("a new store");
    copy(&data, &killed, &IN_USE);
    let large = "x".repeat(1 << 20);
    for revision in 1..=18 {
        let batch = batch(session(1), 1, revision, vec![put("self", &large)]);
        assert_eq!(store.commit(&[batch]), [Outcome::Committed]);
    }
    // The tree as it was at first: what was brought into it since is still in the journal.
    copy(&data, &killed, &["journal.0", "journal.1"]);
    let revision = |path: &Path| {
        let mut found = Revision(0);
        Snapshots::of_folder(path)?
            .visit(|shown| {
                found = shown.expect("whole").1.revision;
                Ok(())
            })
            .expect("readable");
        Ok::<_, rejoin_store::embedded::folder::FolderError>(found)
    };
    assert_eq!(revision(&killed).expect("whole"), Revision(18));
    let mut cuts = 0;
    for name in ["journal.0", "journal.1"] {
        let length = fs::metadata(killed.join(name)).expect("a file").len();
        for cut in [1_000, 65_536, length / 3, length - 65_536, length - 1] {
            copy(&data, &killed, &[name]);
            let file = fs::OpenOptions::new().write(true).open(killed.join(name)).expect("a file");
            file.set_len(cut).expect("cut off");
            let told = revision(&killed).expect_err("what is behind it is missing").to_string();
            assert!(told.contains(name) && told.contains("cut off"), "{cut} of {length}: {told}");
            cuts += 1;
        }
        copy(&data, &killed, &[name]);
    }
    assert_eq!(cuts, 10);
}
