//! The disk by itself, in the folder of the server that was just measured: a page is written in its place
//! and synced. No durable server can answer sooner than that.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result};
use hdrhistogram::Histogram;

use crate::case::{Figures, SECOND};
use crate::machine::now;

const PAGE: usize = 4_096;
/// Pages that are written in turn, so that no two writes fall together.
const PAGES: u64 = 256;

/// Adds what a sync takes.
pub(crate) fn measure(figures: &mut Figures, folder: &Path, span: u64) -> Result<()> {
    let path = folder.join("alone");
    let file = File::create(&path).with_context(|| format!("{}", path.display()))?;
    let page = [7; PAGE];
    for number in 0..PAGES {
        file.write_all_at(&page, number * PAGE as u64)?;
    }
    file.sync_all()?;
    let mut spans = Histogram::<u64>::new_with_bounds(1, 60 * SECOND, 3)?;
    let (start, mut number) = (now(), 0);
    while now() - start < span {
        let since = now();
        file.write_all_at(&page, number % PAGES * PAGE as u64)?;
        file.sync_data()?;
        spans.saturating_record(now() - since);
        number += 1;
    }
    figures.insert("fdatasync p50 µs", spans.value_at_quantile(0.5) as f64 / 1_000.0);
    figures.insert("fdatasync p99 µs", spans.value_at_quantile(0.99) as f64 / 1_000.0);
    Ok(())
}
