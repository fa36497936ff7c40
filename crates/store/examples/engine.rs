//! What the store does with our pattern of writing, beside what the disk itself does: one value per
//! zone and cut, many small sessions, groups of different sizes. Commits are timed as they are answered,
//! from the journal; bytes are counted until all of it is in the tree. Prints a table; no test, nothing
//! fails for a number.
//!
//! `cargo run --release -p rejoin-store --features embedded --example engine [FOLDER]`

use std::fs::File;
use std::io::{Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision, SessionId, ZoneId};
use rejoin_core::scope::{Batch, Change, ScopeId};
use rejoin_store::{Embedded, Outcome, Store};

const RUN: Duration = Duration::from_secs(3);

fn main() {
    let base = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    let base = base.join(format!("rejoin-engine-{}", std::process::id()));
    std::fs::create_dir_all(&base).expect("a folder");
    println!("fdatasync of the disk itself:");
    for size in [4_096, 65_536] {
        for is_written in [false, true] {
            let spans = sync_alone(&base, size, is_written);
            let how = if is_written { "in place" } else { "appending" };
            println!("  {size:>6} B {how:<9}  {}", told(spans));
        }
    }
    println!();
    println!("sessions: 10,000 of 1 KiB, one row changed in each batch");
    for group in [1, 10, 100, 1_000] {
        sessions(&base, group);
    }
    println!();
    println!("zones: one value per cut, a base every 64 cuts, groups of all zones");
    for (zones, bytes) in [(1, 1_000), (1, 250_000), (10, 25_000), (100, 2_500), (100, 25_000)] {
        cuts(&base, zones, bytes);
    }
    println!();
    println!("recovery: sessions of 1 KiB, opened by a new owner");
    for count in [10_000, 100_000, 300_000] {
        recovery(&base, count);
    }
    std::fs::remove_dir_all(&base).expect("it was ours");
}

/// In a file that has been written before, or at the end of one that grows.
fn sync_alone(base: &Path, size: usize, is_written: bool) -> Vec<Duration> {
    let mut file = File::create(base.join("alone")).expect("a file");
    let block = vec![7; size];
    if is_written {
        file.write_all(&vec![0; 256 << 20]).expect("room");
        file.sync_all().expect("a disk");
        file.rewind().expect("a file");
    }
    let mut spans = Vec::new();
    let start = Instant::now();
    while start.elapsed() < RUN {
        let begin = Instant::now();
        file.write_all(&block).expect("room");
        file.sync_data().expect("a disk");
        spans.push(begin.elapsed());
    }
    spans
}

fn told(mut spans: Vec<Duration>) -> String {
    spans.sort();
    let at = |share: usize| spans[(spans.len() - 1) * share / 100].as_secs_f64() * 1e3;
    format!("p50 {:>7.2} ms  p99 {:>7.2} ms  n {}", at(50), at(99), spans.len())
}

/// Bytes that this process has sent to disks.
fn written() -> u64 {
    let text = std::fs::read_to_string("/proc/self/io").unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix("write_bytes: "));
    line.and_then(|number| number.parse().ok()).unwrap_or(0)
}

fn fresh(base: &Path, name: &str) -> Embedded {
    let path = base.join(name);
    let _ = std::fs::remove_dir_all(&path);
    Embedded::open(path).expect("a new store")
}

fn noise(length: usize, seed: u64) -> Bytes {
    let mut state = seed | 1;
    let mut bytes = vec![0; length];
    for part in bytes.chunks_mut(8) {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let word = state.to_le_bytes();
        part.copy_from_slice(&word[..part.len()]);
    }
    bytes.into()
}

fn batch(scope: ScopeId, owner: u64, revision: u64, changes: Vec<Change>) -> Batch {
    let (owner, revision) = (OwnerEpoch(owner), Revision(revision));
    Batch { scope, owner, revision, changes, delete_scope: false }
}

fn put(key: impl Into<Bytes>, value: Bytes) -> Change {
    Change::Put(key.into(), value)
}

fn fill(store: &mut Embedded, sessions: u64) {
    let ids: Vec<u64> = (1..=sessions).collect();
    for some in ids.chunks(2_000) {
        let group: Vec<Batch> = some
            .iter()
            .map(|id| {
                let scope = ScopeId::Session(SessionId(*id));
                batch(scope, 1, 1, vec![put("session", noise(1_024, *id))])
            })
            .collect();
        assert!(store.commit(&group).iter().all(|outcome| *outcome == Outcome::Committed));
    }
}

fn sessions(base: &Path, group: usize) {
    let mut store = fresh(base, "sessions");
    fill(&mut store, 10_000);
    let mut revisions = vec![1u64; 10_001];
    let (mut next, mut spans, mut count) = (1usize, Vec::new(), 0u64);
    let before = written();
    let start = Instant::now();
    while start.elapsed() < RUN {
        let batches: Vec<Batch> = (0..group)
            .map(|_| {
                next = (next * 7_919 + 13) % 10_000 + 1;
                revisions[next] += 1;
                let scope = ScopeId::Session(SessionId(next as u64));
                let value = noise(1_024, revisions[next]);
                batch(scope, 1, revisions[next], vec![put("session", value)])
            })
            .collect();
        let begin = Instant::now();
        let outcomes = store.commit(&batches);
        spans.push(begin.elapsed());
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Committed));
        count += group as u64;
    }
    let rate = count as f64 / start.elapsed().as_secs_f64();
    drop(store);
    let amplified = (written() - before) as f64 / (count * 1_024) as f64;
    println!("  group {group:>5}  {}  {rate:>8.0} batches/s  {amplified:>5.1} B/B", told(spans));
}

fn cuts(base: &Path, zones: u64, bytes: usize) {
    let mut store = fresh(base, "zones");
    let (mut revision, mut spans, mut stored) = (0u64, Vec::new(), 0u64);
    let before = written();
    let start = Instant::now();
    while start.elapsed() < RUN {
        revision += 1;
        let is_base = revision % 64 == 1;
        let batches: Vec<Batch> = (1..=zones)
            .map(|zone| {
                let mut changes = Vec::new();
                if is_base {
                    changes.push(Change::DeletePrefix(Bytes::from_static(b"cut")));
                }
                let key = [b"cut/", &revision.to_be_bytes()[..]].concat();
                changes.push(put(key, noise(bytes, revision + zone)));
                batch(ScopeId::Zone(ZoneId(zone)), 1, revision, changes)
            })
            .collect();
        let begin = Instant::now();
        let outcomes = store.commit(&batches);
        spans.push(begin.elapsed());
        assert!(outcomes.iter().all(|outcome| *outcome == Outcome::Committed));
        stored += zones * bytes as u64;
    }
    let rate = stored as f64 / start.elapsed().as_secs_f64() / 1e6;
    drop(store);
    let amplified = (written() - before) as f64 / stored as f64;
    let what = format!("{zones} zones of {bytes} B");
    println!("  {what:<24}  {}  {rate:>6.1} MB/s  {amplified:>5.1} B/B", told(spans));
}

fn recovery(base: &Path, count: u64) {
    let mut store = fresh(base, "recovery");
    fill(&mut store, count);
    // As a kill leaves it: everything is in the files, and nobody has closed it. A half of the journal
    // may be under way into the tree, so the tree is copied before the journal.
    let killed = base.join("killed");
    let _ = std::fs::remove_dir_all(&killed);
    std::fs::create_dir_all(&killed).expect("a folder");
    for name in ["FORMAT", "store.redb", "journal.0", "journal.1"] {
        std::fs::copy(base.join("recovery").join(name), killed.join(name)).expect("room");
    }
    drop(store);
    open_all(&base.join("recovery"), count, "stopped");
    open_all(&killed, count, "killed");
}

fn open_all(path: &Path, count: u64, how: &str) {
    let start = Instant::now();
    let mut store = Embedded::open(path).expect("ours");
    let opened = start.elapsed();
    let scopes = store.scopes(None).expect("readable");
    let listed = start.elapsed();
    for some in scopes.chunks(4_096) {
        assert!(store.open(some).expect("readable").iter().all(Result::is_ok));
    }
    let size = std::fs::metadata(path.join("store.redb")).expect("a file").len();
    println!(
        "  {count:>7}  {how:<7}  open {:>5.2} s  list {:>5.2} s  all {:>5.2} s  file {:>4} MB",
        opened.as_secs_f64(),
        listed.as_secs_f64(),
        start.elapsed().as_secs_f64(),
        size >> 20
    );
}
