//! Folders of all sorts: new, ours, held, foreign, newer, broken. A refusal is a sentence, and nothing
//! is changed.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use rejoin_core::id::{PlayerId, Revision, SessionId};
use rejoin_core::scope::{History, ScopeId};
use rejoin_store::contract::{a_patient_writer_gets_everything_in, batch, put};
use rejoin_store::embedded::backup::restore;
use rejoin_store::embedded::folder::{ENET_KEY, FORMAT, Folder, FolderError};
use rejoin_store::embedded::snapshot::Snapshots;
use rejoin_store::{Embedded, Outcome, Store};

const SCOPE: ScopeId = ScopeId::Session(SessionId(1));

fn contents(path: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(path).expect("a folder").map(|entry| entry.expect("an entry"));
    let read = |entry: fs::DirEntry| {
        (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("a file"))
    };
    entries.map(read).collect()
}

fn with_one_row(path: &Path) {
    let mut store = Embedded::open(path).expect("a new store");
    assert_eq!(store.apply(&batch(SCOPE, 1, 1, vec![put("a", "1")])), Outcome::Committed);
}

fn refusal(path: &Path) -> String {
    Embedded::open(path).expect_err("it is refused").to_string()
}

#[test]
fn what_was_committed_is_there_after_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    with_one_row(folder.path());
    let mut store = Embedded::open(folder.path()).expect("ours");
    let opened = store.open_one(SCOPE).expect("it opens");
    assert_eq!((opened.owner.0, opened.revision), (2, Revision(1)));
    assert_eq!(&opened.rows[0].1[..], b"1");
}

#[test]
fn a_patient_writer_gets_everything_into_a_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    a_patient_writer_gets_everything_in(Embedded::open(folder.path()).expect("a new store"), 5);
}

#[test]
fn a_second_server_is_refused_and_told_who_holds_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let first = Embedded::open(folder.path()).expect("a new store");
    let told = refusal(folder.path());
    assert!(told.contains(&format!("process {}", std::process::id())), "{told}");
    assert!(told.contains("s ago"), "{told}");
    assert!(Folder::is_held(folder.path()).expect("ours"));
    assert!(matches!(Folder::reset(folder.path()), Err(FolderError::Held(..))));
    drop(first);
    assert!(!Folder::is_held(folder.path()).expect("ours"));
    Embedded::open(folder.path()).expect("the lock of one that ended holds nobody up");
}

#[test]
fn foreign_files_and_folders_are_left_alone() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("file");
    fs::write(&file, "mine").expect("it is written");
    assert!(refusal(&file).contains("is a file"));
    let before = contents(folder.path());
    assert!(refusal(folder.path()).contains("\"file\", which is not ours"));
    assert!(matches!(Folder::reset(folder.path()), Err(FolderError::Foreign(..))));
    assert!(restore(&mut fs::File::open(&file).expect("a file"), folder.path()).is_err());
    assert_eq!(contents(folder.path()), before);
}

/// A server keeps them beside the store.
#[test]
fn the_key_for_datagrams_and_the_socket_for_orders_are_ours() {
    let folder = tempfile::tempdir().expect("a folder");
    with_one_row(folder.path());
    for name in ["enet.key", "control"] {
        fs::write(folder.path().join(name), "x").expect("it is written");
    }
    let store = Embedded::open(folder.path()).expect("ours");
    assert_eq!(store.scopes(None), Ok(vec![SCOPE]));
    drop(store);
    Folder::reset(folder.path()).expect("nobody holds it");
    assert!(contents(folder.path()).is_empty());
}

#[test]
fn a_newer_format_is_refused_by_its_number() {
    let folder = tempfile::tempdir().expect("a folder");
    with_one_row(folder.path());
    let marker = folder.path().join("FORMAT");
    let own = format!("format {FORMAT}");
    let newer = fs::read_to_string(&marker).expect("text").replace(&own, "format 7");
    fs::write(&marker, newer).expect("it is written");
    let before = contents(folder.path());
    let told = refusal(folder.path());
    let sentence = format!("newer rejoin (format 7, this one reads up to {FORMAT})");
    assert!(told.contains(&sentence), "{told}");
    assert_eq!(contents(folder.path())["store.redb"], before["store.redb"]);
}

#[test]
fn a_folder_in_which_a_file_is_missing_or_swapped_is_not_started_empty() {
    for (name, word) in [("FORMAT", "FORMAT is missing"), ("store.redb", "store.redb is missing")] {
        let folder = tempfile::tempdir().expect("a folder");
        with_one_row(folder.path());
        fs::remove_file(folder.path().join(name)).expect("it was there");
        let before = contents(folder.path());
        let told = refusal(folder.path());
        assert!(told.contains(word) && told.contains("restore"), "{told}");
        assert_eq!(contents(folder.path()), before);
    }
    let (one, other) = (tempfile::tempdir().expect("one"), tempfile::tempdir().expect("another"));
    with_one_row(one.path());
    with_one_row(other.path());
    fs::copy(one.path().join("store.redb"), other.path().join("store.redb")).expect("copied");
    let told = refusal(other.path());
    assert!(told.contains("belongs to another folder"), "{told}");
}

#[test]
fn a_folder_whose_making_was_interrupted_is_made_anew() {
    let folder = tempfile::tempdir().expect("a folder");
    with_one_row(folder.path());
    // As it was before its marker was put in place: nobody has been served from it.
    fs::rename(folder.path().join("FORMAT"), folder.path().join("FORMAT.new")).expect("renamed");
    let store = Embedded::open(folder.path()).expect("made anew");
    assert_eq!(store.scopes(None), Ok(vec![]));
}

#[test]
fn a_file_cut_off_at_any_place_is_refused_or_whole() {
    let folder = tempfile::tempdir().expect("a folder");
    with_one_row(folder.path());
    let data = folder.path().join("store.redb");
    let whole = fs::read(&data).expect("a file");
    let mut refused = 0;
    for cut in (0..whole.len()).step_by((whole.len() / 40).max(1)) {
        fs::write(&data, &whole[..cut]).expect("cut off");
        match Embedded::open(folder.path()) {
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
                assert_eq!(fs::read(&data).expect("a file").len(), cut, "nothing was changed");
            }
            Ok(mut store) => {
                assert_eq!(store.open_one(SCOPE).map(|opened| opened.rows.len()), Ok(1));
            }
        }
    }
    assert!(refused > 20, "{refused}");
}

#[cfg(unix)]
#[test]
fn a_folder_that_cannot_be_made_is_a_sentence() {
    let told = refusal(Path::new("/proc/rejoin-data"));
    assert!(told.contains("/proc/rejoin-data") && told.contains("cannot be made"), "{told}");
}

#[test]
fn a_backup_of_a_store_in_use_is_whole_and_restores_to_the_same() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let mut store = Embedded::open(&from).expect("a new store");
    for id in 1..=50 {
        let scope = ScopeId::Session(SessionId(id));
        store.open_one(scope).expect("it opens");
        store.apply(&batch(scope, 1, 1, vec![put("self", &id.to_string()), put("b", "x")]));
    }
    let mut backup = Vec::new();
    let done = store.snapshots().back_up(&mut backup, Some(&from)).expect("a backup");
    assert_eq!((done.scopes, done.damaged.len(), done.set_aside), (50, 0, 0));
    // What comes later is not in it.
    store.apply(&batch(SCOPE, 1, 2, vec![put("late", "1")]));
    for cut in [0, 15, 16, backup.len() / 2, backup.len() - 1] {
        let told = restore(&mut std::io::Cursor::new(&backup[..cut]), &to);
        assert!(told.is_err(), "{cut}");
        assert!(!to.exists());
    }
    let mut flipped = backup.clone();
    flipped[backup.len() / 2] ^= 4;
    assert!(restore(&mut std::io::Cursor::new(flipped), &to).is_err());
    assert!(restore(&mut std::io::Cursor::new(&backup), &from).is_err(), "a folder in use");
    assert_eq!(restore(&mut std::io::Cursor::new(&backup), &to).expect("restored"), 50);
    let mut again = Embedded::open(&to).expect("ours");
    let opened = again.open_one(SCOPE).expect("it opens");
    assert_eq!((opened.owner.0, opened.revision, opened.rows.len()), (2, Revision(1), 3));
    assert_eq!(opened.history(), History::RolledBack, "and says that it was put back");
    assert_eq!(again.apply(&batch(SCOPE, 2, 2, vec![])), Outcome::Committed, "it goes on");
}

#[test]
fn looking_at_a_folder_changes_nothing_in_it() {
    let folder = tempfile::tempdir().expect("a folder");
    with_one_row(folder.path());
    let before = contents(folder.path());
    let mut seen = Vec::new();
    let snapshots = Snapshots::of_folder(folder.path()).expect("ours");
    let aside = snapshots.visit(|shown| {
        seen.push(shown.expect("nothing is damaged"));
        Ok(())
    });
    assert!(aside.expect("readable").is_empty());
    assert_eq!((seen.len(), seen[0].0, seen[0].1.rows.len()), (1, SCOPE, 1));
    drop(snapshots);
    let mut after = contents(folder.path());
    after.insert("lock".to_owned(), before["lock"].clone());
    assert_eq!(after, before, "but for who held it last");
}

#[test]
fn nobody_starts_on_a_folder_that_is_looked_at() {
    let folder = tempfile::tempdir().expect("a folder");
    with_one_row(folder.path());
    let snapshots = Snapshots::of_folder(folder.path()).expect("ours");
    assert!(refusal(folder.path()).contains("in use by process"));
    let second = Snapshots::of_folder(folder.path()).expect_err("one at a time").to_string();
    assert!(second.contains("in use by process"), "{second}");
    drop(snapshots.clone());
    assert!(Folder::is_held(folder.path()).expect("ours"), "until the last one is gone");
    drop(snapshots);
    let store = Embedded::open(folder.path()).expect("ours");
    let told = Snapshots::of_folder(folder.path()).expect_err("a server holds it").to_string();
    assert!(told.contains("in use by process"), "{told}");
    drop(store);
}

#[test]
fn a_store_that_is_closed_leaves_no_engine_open_behind_a_snapshot() {
    let folder = tempfile::tempdir().expect("a folder");
    let store = Embedded::open(folder.path()).expect("a new store");
    let snapshots = store.snapshots();
    drop(store);
    // The ninth byte of the engine's file says whether it was closed.
    let flags = fs::read(folder.path().join("store.redb")).expect("a file")[9];
    assert_eq!(flags & 2, 0, "recovery would be needed");
    assert!(snapshots.visit(|_| Ok(())).is_err(), "there is nothing to look at any more");
}

#[test]
fn a_backup_has_what_was_set_aside_and_the_servers_key() {
    let folder = tempfile::tempdir().expect("a folder");
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    let banned = ScopeId::Player(PlayerId([3; 16]));
    let rotten = ScopeId::Player(PlayerId([4; 16]));
    let mut store = Embedded::open(&from).expect("a new store");
    for scope in [SCOPE, banned, rotten] {
        store.apply(&batch(scope, 1, 1, vec![put("player", "banned")]));
    }
    fs::write(from.join(ENET_KEY), [7; 32]).expect("written");
    // One is found damaged and set aside, the other is damaged when the backup is made.
    assert_eq!(store.misplace(SCOPE, banned), Ok(true));
    assert!(store.open_one(banned).is_err());
    assert!(store.open_one(SCOPE).is_err());
    store.apply(&batch(SCOPE, 1, 1, vec![put("player", "other")]));
    assert_eq!(store.misplace(SCOPE, rotten), Ok(true));
    let mut backup = Vec::new();
    let done = store.snapshots().back_up(&mut backup, Some(&from)).expect("a backup");
    let damaged: Vec<ScopeId> = done.damaged.iter().map(|found| found.scope).collect();
    assert_eq!((damaged, done.set_aside), (vec![SCOPE, rotten], 2));
    drop(store);
    restore(&mut std::io::Cursor::new(&backup), &to).expect("restored");
    assert_eq!(fs::read(to.join(ENET_KEY)).expect("it is there"), [7; 32]);
    let again = Embedded::open(&to).expect("ours");
    assert_eq!(again.set_aside(), Ok(vec![SCOPE, banned, rotten]));
    let mut newer = backup.clone();
    newer[14] = b'3';
    let told = restore(&mut std::io::Cursor::new(&newer), &folder.path().join("new"));
    assert!(told.expect_err("it is refused").to_string().contains("newer rejoin"));
}
