//! What the registry counts of all zones, so that a Join costs the same however many there are. A zone is
//! added when it enters the registry and subtracted when it leaves; its opener never changes in between.

use std::collections::BTreeMap;

use super::Opener;
use super::entry::ZoneEntry;
use crate::guard::Origin;
use crate::id::PlayerId;

#[derive(PartialEq, Eq, Debug, Default)]
pub(super) struct RegistryCounts {
    by_player: BTreeMap<PlayerId, usize>,
    by_address: BTreeMap<Origin, usize>,
    /// Zones of before the last start that have not been open since.
    awaited: usize,
}

impl RegistryCounts {
    /// The counts of these zones.
    pub(super) fn of<'a>(zones: impl Iterator<Item = &'a ZoneEntry>) -> Self {
        let mut counts = Self::default();
        zones.for_each(|entry| counts.add(entry));
        counts
    }

    pub(super) fn add(&mut self, entry: &ZoneEntry) {
        self.awaited += usize::from(entry.is_awaited());
        if let Some(Opener { player, origin }) = entry.opened_by {
            *self.by_player.entry(player).or_default() += 1;
            if let Some(origin) = origin {
                *self.by_address.entry(origin).or_default() += 1;
            }
        }
    }

    pub(super) fn subtract(&mut self, entry: &ZoneEntry) {
        self.awaited -= usize::from(entry.is_awaited());
        if let Some(Opener { player, origin }) = entry.opened_by {
            one_less(&mut self.by_player, player);
            if let Some(origin) = origin {
                one_less(&mut self.by_address, origin);
            }
        }
    }

    /// A zone is about to be open: nobody awaits it any more.
    pub(super) fn opened(&mut self, entry: &ZoneEntry) {
        self.awaited -= usize::from(entry.is_awaited());
    }

    pub(super) fn awaited(&self) -> usize {
        self.awaited
    }

    /// How many zones the Joins of this player have opened, and how many those from this address.
    pub(super) fn opened_by(&self, opener: Opener) -> (usize, usize) {
        let by_player = self.by_player.get(&opener.player);
        let by_address = opener.origin.and_then(|origin| self.by_address.get(&origin));
        (by_player.copied().unwrap_or_default(), by_address.copied().unwrap_or_default())
    }
}

/// Takes one off a count; a count of zero is left out, so that the map stays as small as the zones are few.
fn one_less<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}
