//! What is in a folder after stores that work and stores that do not.

use super::*;

/// A folder of its own, gone when dropped.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let name = format!("rejoin-folder-{name}-{}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(&self.0).expect("the folder is there");
        let name = |entry: io::Result<fs::DirEntry>| {
            entry.expect("an entry").file_name().to_string_lossy().into_owned()
        };
        entries.map(name).collect()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_slot_is_stored_replaced_and_forgotten() {
    let place = Place::new("slots");
    let folder = Folder::new(&place.0);
    assert!(folder.load(Slot::Key).expect("no folder is no error").is_none());
    folder.forget(Slot::Session).expect("nothing to forget is no error");
    folder.store(Slot::Session, b"one").expect("stored");
    folder.store(Slot::Session, b"two").expect("replaced");
    assert_eq!(folder.load(Slot::Session).expect("read").as_deref(), Some(&b"two"[..]));
    assert_eq!(place.names(), ["session"]);
    folder.forget(Slot::Session).expect("forgotten");
    assert!(place.names().is_empty());
}

#[cfg(unix)]
#[test]
fn nobody_else_may_read_it() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new("mode");
    let folder = Folder::new(&place.0);
    folder.store(Slot::Key, &[7; 32]).expect("stored");
    let mode = |path: &Path| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!(mode(&folder.path(Slot::Key)), 0o600);
    assert_eq!(mode(&place.0), 0o700);
}

#[test]
fn a_store_that_fails_leaves_no_litter() {
    let place = Place::new("litter");
    let folder = Folder::new(&place.0);
    // A folder stands where the file would be: the rename fails, whoever runs this.
    fs::create_dir_all(folder.path(Slot::Session).join("full")).expect("made");
    assert!(folder.store(Slot::Session, b"one").is_err());
    assert!(folder.load(Slot::Session).is_err());
    assert_eq!(place.names(), ["session"]);
}

#[test]
fn a_file_that_is_too_large_is_not_ours() {
    let place = Place::new("large");
    let folder = Folder::new(&place.0);
    folder.store(Slot::Key, &[0; 4_097]).expect("stored");
    assert_eq!(folder.load(Slot::Key).map_err(|e| e.kind()), Err(io::ErrorKind::InvalidData));
}
