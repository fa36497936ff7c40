//! The hosts that could take one more Game, of each fleet, the least loaded first and among equals
//! the first by name. A view like any other: it follows what the hosts say of themselves.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_core::id::HostId;

/// Where a host stands: its load and its name.
type Rank = (usize, String, HostId);

/// All open hosts.
#[derive(Debug, Default)]
pub(super) struct Roll {
    ranks: BTreeMap<HostId, (String, Rank)>,
    fleets: BTreeMap<String, BTreeSet<Rank>>,
}

impl Roll {
    /// A host has this load now; none: it takes nothing.
    pub(super) fn set(&mut self, host: HostId, fleet: &str, name: &str, load: Option<usize>) {
        let known = self.ranks.get(&host).map(|(_, (load, ..))| *load);
        if known == load {
            return;
        }
        if let Some((fleet, rank)) = self.ranks.remove(&host)
            && let Some(ranks) = self.fleets.get_mut(&fleet)
        {
            ranks.remove(&rank);
            if ranks.is_empty() {
                self.fleets.remove(&fleet);
            }
        }
        if let Some(load) = load {
            let rank = (load, name.to_owned(), host);
            self.fleets.entry(fleet.to_owned()).or_default().insert(rank.clone());
            self.ranks.insert(host, (fleet.to_owned(), rank));
        }
    }

    /// The open hosts of a fleet in their order, with their loads.
    pub(super) fn in_order(&self, fleet: &str) -> impl Iterator<Item = (HostId, usize)> + '_ {
        self.fleets.get(fleet).into_iter().flatten().map(|(load, _, host)| (*host, *load))
    }
}
