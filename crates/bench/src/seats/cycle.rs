//! What one worker does over and over: a seat that is reserved, claimed, confirmed and completed, and one
//! that is reserved and given back. It knows how many seats of its Game it and its like hold, and notices
//! one too many.

use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use anyhow::Result;
use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

use crate::case::SECOND;
use crate::machine::now;

/// Seats of a Game: one fewer than there are workers, so that it is full now and then.
pub(super) const CAPACITY: i64 = super::IN_FLIGHT as i64 - 1;

/// What is done with a seat.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Act {
    Claim,
    Confirm,
    Complete,
    Release,
}

/// A way to the directory.
pub(super) trait Desk {
    /// A seat for a player; none when the Game is full.
    async fn reserve(&mut self, player: &str) -> Result<Option<String>>;
    /// Does something with a seat.
    async fn act(&mut self, seat: &str, player: &str, act: Act) -> Result<()>;
}

/// What came of a load.
#[derive(Clone, Serialize, Deserialize, Debug, Default)]
pub(crate) struct Told {
    pub(super) operations: u64,
    /// Reservations that found the Game full.
    pub(super) full: u64,
    pub(super) oversold: u64,
    /// Seats that somebody has when all workers are done.
    pub(super) leaked: u64,
    /// Groups and batches that the store committed.
    pub(super) groups: u64,
    pub(super) batches: u64,
    pub(super) p50_us: f64,
    pub(super) p99_us: f64,
}

impl Told {
    /// What the generator saw, and what the server knows.
    pub(super) fn and(self, server: Self) -> Self {
        Self { leaked: server.leaked, groups: server.groups, batches: server.batches, ..self }
    }
}

/// What one worker counts.
pub(super) struct Tally {
    operations: u64,
    full: u64,
    oversold: u64,
    spans: Histogram<u64>,
}

impl Tally {
    fn new() -> Result<Self> {
        let spans = Histogram::new_with_bounds(1, 60 * SECOND, 3)?;
        Ok(Self { operations: 0, full: 0, oversold: 0, spans })
    }

    fn done(&mut self, since: u64) {
        self.operations += 1;
        self.spans.saturating_record(now() - since);
    }

    /// All workers together.
    pub(super) fn sum(all: Vec<Self>) -> Result<Told> {
        let mut spans = Histogram::<u64>::new_with_bounds(1, 60 * SECOND, 3)?;
        let mut told = Told::default();
        for tally in all {
            told.operations += tally.operations;
            told.full += tally.full;
            told.oversold += tally.oversold;
            spans.add(&tally.spans)?;
        }
        told.p50_us = spans.value_at_quantile(0.5) as f64 / 1_000.0;
        told.p99_us = spans.value_at_quantile(0.99) as f64 / 1_000.0;
        Ok(told)
    }
}

/// Works for so long. `held` counts the seats of its Game that are surely held.
pub(super) async fn work<D: Desk>(
    mut desk: D,
    player: &str,
    held: &AtomicI64,
    span: Duration,
) -> Result<Tally> {
    let mut tally = Tally::new()?;
    let until = now() + u64::try_from(span.as_nanos()).unwrap_or(u64::MAX);
    while now() < until {
        for acts in [&[Act::Claim, Act::Confirm, Act::Complete][..], &[Act::Release][..]] {
            let since = now();
            let Some(seat) = desk.reserve(player).await? else {
                tally.full += 1;
                tokio::task::yield_now().await;
                continue;
            };
            tally.done(since);
            if held.fetch_add(1, Ordering::SeqCst) + 1 > CAPACITY {
                tally.oversold += 1;
            }
            for act in acts {
                if matches!(act, Act::Complete | Act::Release) {
                    held.fetch_sub(1, Ordering::SeqCst);
                }
                let since = now();
                desk.act(&seat, player, *act).await?;
                tally.done(since);
            }
        }
    }
    Ok(tally)
}
