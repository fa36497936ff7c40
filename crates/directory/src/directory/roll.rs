//! The hosts that could take one more Game, of each fleet and location, the least loaded first and
//! among equals the first by name. A view like any other: it follows what the hosts say of themselves.

use std::collections::{BTreeMap, BTreeSet};

use rejoin_core::id::HostId;

/// Where a host stands: its load and its name.
type Rank = (usize, String, HostId);

/// All open hosts.
#[derive(Debug, Default)]
pub(super) struct Roll {
    ranks: BTreeMap<HostId, Entry>,
    /// By fleet, and there by location.
    fleets: BTreeMap<String, BTreeMap<String, BTreeSet<Rank>>>,
}

#[derive(Debug)]
struct Entry {
    fleet: String,
    location: String,
    rank: Rank,
}

/// A host that could take one more Game, as it registered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    pub fleet: &'a str,
    pub location: &'a str,
    pub name: &'a str,
}

impl Roll {
    /// A host has this load now; none: it takes nothing.
    pub(super) fn set(&mut self, host: HostId, place: Option<(Place<'_>, usize)>) {
        let known = self.ranks.get(&host);
        let is_same = match (known, &place) {
            (None, None) => true,
            (Some(known), Some((place, load))) => {
                known.rank.0 == *load && known.location == place.location
            }
            (None, Some(_)) | (Some(_), None) => false,
        };
        if is_same {
            return;
        }
        if let Some(Entry { fleet, location, rank }) = self.ranks.remove(&host)
            && let Some(locations) = self.fleets.get_mut(&fleet)
            && let Some(ranks) = locations.get_mut(&location)
        {
            ranks.remove(&rank);
            if ranks.is_empty() {
                locations.remove(&location);
            }
            if locations.is_empty() {
                self.fleets.remove(&fleet);
            }
        }
        if let Some((place, load)) = place {
            let (fleet, location) = (place.fleet.to_owned(), place.location.to_owned());
            let rank = (load, place.name.to_owned(), host);
            let locations = self.fleets.entry(fleet.clone()).or_default();
            locations.entry(location.clone()).or_default().insert(rank.clone());
            self.ranks.insert(host, Entry { fleet, location, rank });
        }
    }

    /// Whether any host of a fleet is open.
    pub(super) fn is_open(&self, fleet: &str) -> bool {
        self.fleets.contains_key(fleet)
    }

    /// The load of an open host.
    pub(super) fn load(&self, host: HostId) -> Option<usize> {
        self.ranks.get(&host).map(|entry| entry.rank.0)
    }

    /// The locations of a fleet that have open hosts.
    pub(super) fn locations(&self, fleet: &str) -> impl Iterator<Item = &str> + '_ {
        self.fleets.get(fleet).into_iter().flatten().map(|(location, _)| location.as_str())
    }

    /// The open hosts of a fleet at a location in their order, with their loads and names.
    pub(super) fn in_order(
        &self,
        fleet: &str,
        location: &str,
    ) -> impl Iterator<Item = (HostId, usize, &str)> + '_ {
        let ranks = self.fleets.get(fleet).and_then(|locations| locations.get(location));
        ranks.into_iter().flatten().map(|(load, name, host)| (*host, *load, name.as_str()))
    }
}
