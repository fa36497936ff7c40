//! Figures of returns: the hub's load, by which they are admitted, and those that were put off.
//! The hub's task copies them from the hub once a second.

use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use rejoin_core::hub::{HubCounts, HubLoad};

use super::Desk;

/// The handles of the series about returns.
pub(crate) struct ReturnFigures {
    deferred_beyond: Counter,
    deferred_below: Counter,
    load: [Gauge; 2],
    deferred_at: [Gauge; 2],
}

impl ReturnFigures {
    pub(super) fn new(desk: &mut Desk) -> Self {
        let help = "Returns with a valid token that were told to wait, by the load at that time";
        let loads = ["beyond_bound", "below_bound"];
        let deferred: Vec<Counter> = desk.each("returns_deferred", help, "load", loads);
        Self {
            deferred_beyond: deferred[0].clone(),
            deferred_below: deferred[1].clone(),
            load: desk.load("hub_load", "Commits under way and inputs that wait at the hub"),
            deferred_at: desk.load(
                "returns_deferred_load",
                "The hub's load when a return was last told to wait",
            ),
        }
    }

    /// Copies what the hub has counted.
    pub(crate) fn copy(&self, counts: HubCounts, load: HubLoad) {
        let below = counts.returns_deferred_below_bound_total;
        let beyond = counts.returns_deferred_total.saturating_sub(below);
        for (counter, total) in [(&self.deferred_beyond, beyond), (&self.deferred_below, below)] {
            let inner: &AtomicU64 = counter.inner();
            inner.fetch_max(total, Ordering::Relaxed);
        }
        for (gauges, load) in [(&self.load, load), (&self.deferred_at, counts.deferred_at)] {
            let value = |amount: usize| i64::try_from(amount).unwrap_or(i64::MAX);
            gauges[0].set(value(load.commits));
            gauges[1].set(value(load.inputs));
        }
    }
}

impl Desk {
    fn load(&mut self, name: &str, help: &str) -> [Gauge; 2] {
        let both: Vec<Gauge> = self.each(name, help, "of", ["commits", "inputs"]);
        [both[0].clone(), both[1].clone()]
    }
}
