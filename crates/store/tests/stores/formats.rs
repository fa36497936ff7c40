//! Folders of every format there has been, as they were written then, are read by what is written now.
//! `formats/1` was made by [`write_all`] and closed. `formats/2` was copied while it was in use, so that all
//! is in its journal. A new format gets a folder of its own beside them, and the old ones stay as they are.

use std::path::Path;

use rejoin_core::id::{OwnerEpoch, PlayerId, Revision, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_store::contract::{batch, put};
use rejoin_store::embedded::folder::FORMAT;
use rejoin_store::{Embedded, Outcome, Store};

const ALL: [ScopeId; 4] = [
    ScopeId::Hub,
    ScopeId::Session(SessionId(258)),
    ScopeId::Zone(ZoneId(u64::MAX)),
    ScopeId::Player(PlayerId([7; 16])),
];

/// What the folders hold.
fn write_all(store: &mut Embedded) {
    for scope in ALL {
        let first = batch(scope, 1, 1, vec![put("a", "first"), put("gone", "soon")]);
        let prefix = rejoin_core::scope::Change::DeletePrefix("go".into());
        let second = batch(scope, 1, 2, vec![prefix, put("b", &"second ".repeat(100))]);
        assert_eq!(store.commit(&[first, second]), [Outcome::Committed; 2]);
    }
}

fn check_all(store: &mut Embedded) {
    assert_eq!(store.scopes(None), Ok(ALL.to_vec()));
    for scope in ALL {
        let opened = store.open_one(scope).expect("it opens");
        assert_eq!((opened.owner, opened.revision), (OwnerEpoch(2), Revision(2)));
        let rows: Vec<(&[u8], usize)> =
            opened.rows.iter().map(|(key, value)| (&key[..], value.len())).collect();
        assert_eq!(rows, [(&b"a"[..], 5), (b"b", 700)]);
        assert_eq!(store.apply(&batch(scope, 2, 3, vec![put("c", "new")])), Outcome::Committed);
    }
}

#[test]
fn every_format_there_has_been_is_read() {
    for format in 1..=FORMAT {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/formats/{format}"));
        let folder = tempfile::tempdir().expect("a folder");
        copy_all(&kept, folder.path());
        check_all(&mut Embedded::open(folder.path()).expect("an old format is read"));
        // And it is of today's format from then on.
        let marker = std::fs::read_to_string(folder.path().join("FORMAT")).expect("a marker");
        assert!(marker.contains(&format!("format {FORMAT}\n")), "{marker}");
        let mut store = Embedded::open(folder.path()).expect("ours");
        assert_eq!(store.open_one(ALL[1]).map(|opened| opened.revision), Ok(Revision(3)));
    }
}

fn copy_all(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for file in std::fs::read_dir(from).expect("it is kept").map(|file| file.expect("a file")) {
        let name = file.file_name();
        if name != "lock" && name != "reserve" {
            std::fs::copy(file.path(), to.join(name)).expect("copied");
        }
    }
}

#[test]
fn what_the_folders_hold_is_what_is_written_today() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = Embedded::open(folder.path()).expect("a new store");
    write_all(&mut store);
    if let Ok(path) = std::env::var("REJOIN_KEEP_FORMAT") {
        copy_all(folder.path(), Path::new(&path));
    }
    check_all(&mut store);
}
