//! The placements of a queue that have no host: who is next when a host has room, and when those that
//! came with latencies accept more. It never chooses a host.

use std::ops::Bound;
use std::time::Duration;

use rejoin_core::never;
use rejoin_core::time::WallTime;

use super::core::QueueCore;
use super::policy;
use crate::effect::Effect;
use crate::moment::later;

/// Placements that one wake has a host sought for, because more latency is accepted by now.
const RELAXED_MAX: usize = 64;

impl QueueCore {
    /// The next placement without a host, in the order of their beginnings.
    pub(crate) fn waiting_after(
        &self,
        after: &Option<(WallTime, String)>,
    ) -> Option<(WallTime, String)> {
        let from = after.clone().map_or(Bound::Unbounded, Bound::Excluded);
        self.waiting.range((from, Bound::Unbounded)).next().cloned()
    }

    pub(super) fn wait_for_host(&mut self, begun: WallTime, name: &str) {
        self.waiting.insert((begun, name.to_owned()));
        self.relax(begun, name);
    }

    pub(super) fn wait_no_more(&mut self, begun: WallTime, name: &str) {
        self.waiting.remove(&(begun, name.to_owned()));
        let ends = policy::cap_ends(&self.spec);
        for end in ends {
            self.relaxes.remove(&(later(begun, end), name.to_owned()));
        }
    }

    /// Enters when a placement that waits accepts more latency.
    fn relax(&mut self, begun: WallTime, name: &str) {
        let placement = self.placements.get(name);
        if placement.is_none_or(|it| it.request.latencies.is_empty()) {
            return;
        }
        let waited = Duration::from_millis(self.now.wall.0.saturating_sub(begun.0));
        if let Some(next) = policy::next_cap_after(&self.spec, waited) {
            self.relaxes.insert((later(begun, next), name.to_owned()));
        }
    }

    /// The same for all of them: the queue has other policies.
    pub(super) fn relax_all(&mut self) {
        self.relaxes.clear();
        for (begun, name) in self.waiting.clone() {
            self.relax(begun, &name);
        }
    }

    /// Has a host sought for those that accept more latency by now.
    pub(super) fn seek_relaxed(&mut self) {
        let due = self.relaxes.iter().take_while(|(at, _)| *at <= self.now.wall);
        let due: Vec<_> = due.take(RELAXED_MAX).cloned().collect();
        for entry in due {
            self.relaxes.remove(&entry);
            let (_, name) = entry;
            match self.placements.get(&name).map(|it| it.begun) {
                Some(begun) => {
                    self.relax(begun, &name);
                    self.gate.at_once(Effect::Seek(self.id, name));
                }
                None => never!("{name} waits for a host and is no placement"),
            }
        }
    }
}
