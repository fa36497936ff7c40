//! The hub's sessions and zones, each table with the indexes that make an event about one zone cost
//! what that zone holds and not what the server holds. The indexes change only here, together with the
//! tables; [`Hub::check_indexes`](super::Hub::check_indexes) compares them with a search of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::Hub;
use super::zones::ZoneInfo;
use crate::guard::Origin;
use crate::id::{ConnectionId, PlayerId, SessionId, ZoneId};
use crate::session::{Place, Session};

/// All sessions, and which of them are in or on their way into a zone.
#[derive(Default)]
pub(crate) struct Sessions {
    /// Boxed: nodes of the map are half empty, and a session is large.
    by_id: BTreeMap<SessionId, Box<Session>>,
    by_zone: BTreeSet<(ZoneId, SessionId)>,
}

/// Reading is the map's own; whatever changes the map goes through a method of the table.
impl Deref for Sessions {
    type Target = BTreeMap<SessionId, Box<Session>>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

impl Sessions {
    /// A session to be changed, but not its place: see [`set_place`](Self::set_place).
    pub(crate) fn get_mut(&mut self, id: &SessionId) -> Option<&mut Box<Session>> {
        self.by_id.get_mut(id)
    }

    /// Adds a session whose id is new.
    pub(crate) fn insert(&mut self, id: SessionId, session: Box<Session>) {
        self.by_zone.extend(session.zone().map(|zone| (zone, id)));
        let former = self.by_id.insert(id, session);
        debug_assert!(former.is_none(), "session ids are never given out twice");
    }

    pub(crate) fn remove(&mut self, id: SessionId) -> Option<Box<Session>> {
        let session = self.by_id.remove(&id)?;
        if let Some(zone) = session.zone() {
            self.by_zone.remove(&(zone, id));
        }
        Some(session)
    }

    /// Sets where a session is; gives the zone that it leaves by that.
    pub(crate) fn set_place(&mut self, id: SessionId, place: Place) -> Option<ZoneId> {
        let session = self.by_id.get_mut(&id)?;
        let before = session.zone();
        session.place = place;
        let after = session.zone();
        if before == after {
            return None;
        }
        self.by_zone.extend(after.map(|zone| (zone, id)));
        if let Some(zone) = before {
            self.by_zone.remove(&(zone, id));
        }
        before
    }

    /// The sessions that are in a zone or on their way into it, in the order of their ids.
    pub(crate) fn in_zone(&self, zone: ZoneId) -> impl Iterator<Item = SessionId> {
        let theirs = (zone, SessionId(0))..=(zone, SessionId(u64::MAX));
        self.by_zone.range(theirs).map(|(_, session)| *session)
    }
}

/// The client whose Join opened a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Opener {
    pub player: PlayerId,
    /// None: the connection came from within, and no address is charged.
    pub origin: Option<Origin>,
}

/// All zones, and how many of them each client has opened.
#[derive(Default)]
pub(crate) struct Zones {
    by_id: BTreeMap<ZoneId, ZoneInfo>,
    opened_by_player: BTreeMap<PlayerId, usize>,
    opened_by_origin: BTreeMap<Origin, usize>,
    /// Zones of before the last start that have not been opened yet.
    awaited: usize,
}

/// Reading is the map's own; whatever changes the map goes through a method of the table.
impl Deref for Zones {
    type Target = BTreeMap<ZoneId, ZoneInfo>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

impl Zones {
    pub(crate) fn get_mut(&mut self, id: &ZoneId) -> Option<&mut ZoneInfo> {
        self.by_id.get_mut(id)
    }

    pub(crate) fn insert(&mut self, id: ZoneId, info: ZoneInfo) {
        self.remove(id);
        self.awaited += usize::from(info.is_awaited());
        if let Some(Opener { player, origin }) = info.opener() {
            *self.opened_by_player.entry(player).or_default() += 1;
            if let Some(origin) = origin {
                *self.opened_by_origin.entry(origin).or_default() += 1;
            }
        }
        self.by_id.insert(id, info);
    }

    pub(crate) fn remove(&mut self, id: ZoneId) {
        let Some(info) = self.by_id.remove(&id) else { return };
        self.awaited -= usize::from(info.is_awaited());
        if let Some(Opener { player, origin }) = info.opener() {
            one_less(&mut self.opened_by_player, player);
            if let Some(origin) = origin {
                one_less(&mut self.opened_by_origin, origin);
            }
        }
    }

    /// A zone of before the last start is open.
    pub(crate) fn settle(&mut self, id: ZoneId) {
        if let Some(info) = self.by_id.get_mut(&id)
            && info.settle()
        {
            self.awaited -= 1;
        }
    }

    /// Whether all zones of before the last start are open, or gone.
    pub(crate) fn are_settled(&self) -> bool {
        self.awaited == 0
    }

    /// How many of the zones that there are this player's Joins have opened, and how many those of
    /// this address.
    pub(crate) fn opened_by(&self, opener: Opener) -> (usize, usize) {
        let by_player = self.opened_by_player.get(&opener.player).copied().unwrap_or_default();
        let by_origin = opener.origin.and_then(|origin| self.opened_by_origin.get(&origin));
        (by_player, by_origin.copied().unwrap_or_default())
    }
}

fn one_less<K: Ord>(counts: &mut BTreeMap<K, usize>, key: K) {
    if let Some(count) = counts.get_mut(&key) {
        *count -= 1;
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

impl Hub {
    /// Compares the indexes with a search of everything, for tests and the simulator.
    ///
    /// # Errors
    /// Names the index that differs, with both contents.
    pub fn check_indexes(&self) -> Result<(), String> {
        let sessions = self.sessions.iter();
        let by_zone = sessions.filter_map(|(id, session)| Some((session.zone()?, *id))).collect();
        same("sessions by zone", &self.sessions.by_zone, &by_zone)?;
        let settling: BTreeSet<(ZoneId, ConnectionId)> = self
            .connections
            .iter()
            .filter_map(|(id, known)| Some((id, known.attached()?)))
            .flat_map(|(id, known)| known.gate.settling.iter().map(|(zone, _)| (*zone, *id)))
            .collect();
        same("connections by zone", &self.settling, &settling)?;
        let (mut by_player, mut by_origin) = (BTreeMap::new(), BTreeMap::new());
        for opener in self.zones.values().filter_map(ZoneInfo::opener) {
            *by_player.entry(opener.player).or_default() += 1;
            if let Some(origin) = opener.origin {
                *by_origin.entry(origin).or_default() += 1;
            }
        }
        same("zones by player", &self.zones.opened_by_player, &by_player)?;
        same("zones by address", &self.zones.opened_by_origin, &by_origin)?;
        let awaited = self.zones.values().filter(|zone| zone.is_awaited()).count();
        same("zones that are awaited", &self.zones.awaited, &awaited)
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, kept: &T, found: &T) -> Result<(), String> {
    if kept == found {
        return Ok(());
    }
    Err(format!("the index of {what} is {kept:?}, a search finds {found:?}"))
}
