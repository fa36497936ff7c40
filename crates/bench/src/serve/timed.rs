//! A store around the store: it tells how long commits take. What the server itself shows of that goes
//! into a few buckets, which is too coarse for a table.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use anyhow::Result;
use hdrhistogram::Histogram;
use rejoin_core::scope::{Batch, Opened, ScopeId};
use rejoin_store::{Damaged, Embedded, Outcome, ScopeKind, Store, StoreError};
use serde::{Deserialize, Serialize};

/// Times of commits since they were last asked for.
#[derive(Clone)]
pub(crate) struct Times(Arc<Mutex<(Histogram<u64>, u64)>>);

/// What is told of them.
#[derive(Clone, Copy, PartialEq, Serialize, Deserialize, Debug, Default)]
pub(crate) struct Commits {
    pub(crate) groups: u64,
    pub(crate) batches: u64,
    pub(crate) p50_us: f64,
    pub(crate) p99_us: f64,
}

impl Times {
    pub(crate) fn new() -> Result<Self> {
        // Nanoseconds up to a minute, in three digits.
        Ok(Self(Arc::new(Mutex::new((Histogram::new_with_bounds(1, 60_000_000_000, 3)?, 0)))))
    }

    fn note(&self, since: Instant, batches: usize) {
        let nanos = u64::try_from(since.elapsed().as_nanos()).unwrap_or(u64::MAX);
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        inner.0.saturating_record(nanos);
        inner.1 += batches as u64;
    }

    /// All since the last time.
    pub(crate) fn take(&self) -> Commits {
        let mut inner = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let at = |quantile| inner.0.value_at_quantile(quantile) as f64 / 1_000.0;
        let (p50_us, p99_us) = (at(0.5), at(0.99));
        let told = Commits { groups: inner.0.len(), batches: inner.1, p50_us, p99_us };
        inner.0.reset();
        inner.1 = 0;
        told
    }
}

/// The store.
pub(crate) struct Timed {
    inner: Embedded,
    times: Times,
}

impl Timed {
    pub(crate) fn new(inner: Embedded, times: Times) -> Self {
        Self { inner, times }
    }
}

impl Store for Timed {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        self.inner.open(scopes)
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let since = Instant::now();
        let outcomes = self.inner.commit(group);
        self.times.note(since, group.len());
        outcomes
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        self.inner.scopes(kind)
    }

    fn set_aside(&self) -> Result<Vec<ScopeId>, StoreError> {
        self.inner.set_aside()
    }

    fn complaint(&self) -> Option<String> {
        self.inner.complaint()
    }
}
