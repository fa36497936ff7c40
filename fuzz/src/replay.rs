//! Replays the seeds of a target as a plain test; for the crates' tests `corpus`, which include this
//! file. With `REJOIN_BLESS=1` the seeds are made anew first, and what a fuzzer added is left.

use std::fs;
use std::path::{Path, PathBuf};

/// Seeds are for reading and for a start; a fuzzer finds the rest.
const SEEDS_MAX: usize = 50;

pub fn replay(target: &str, run: fn(&[u8]), seeds: impl Fn() -> Vec<(String, Vec<u8>)>) {
    let folder = top().join("fuzz/corpus").join(target);
    if std::env::var_os("REJOIN_BLESS").is_some_and(|value| value == "1") {
        fs::create_dir_all(&folder).unwrap();
        for (name, bytes) in seeds() {
            fs::write(folder.join(name), bytes).unwrap();
        }
    }
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap_or_else(|error| panic!("{target}: {error}")) {
        run(&fs::read(entry.unwrap().path()).unwrap());
        count += 1;
    }
    assert!((1..=SEEDS_MAX).contains(&count), "{target} has {count} seeds");
}

/// The top of the tree; crates are two folders below.
pub fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}
