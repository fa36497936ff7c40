//! The hub's sessions, with the index that makes an event about one zone cost what that zone holds and
//! not what the server holds. The index changes only here, together with the table;
//! [`Hub::check_indexes`](super::Hub::check_indexes) compares it with a search of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::Hub;
use crate::id::{SessionId, ZoneId};
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

impl Hub {
    /// Compares the indexes with a search of everything, for tests and the simulator.
    ///
    /// # Errors
    /// Names the index that differs, with both contents.
    pub fn check_indexes(&self) -> Result<(), String> {
        let sessions = self.sessions.iter();
        let by_zone = sessions.filter_map(|(id, session)| Some((session.zone()?, *id))).collect();
        same("sessions by zone", &self.sessions.by_zone, &by_zone)?;
        self.zones.check_counts()
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, kept: &T, found: &T) -> Result<(), String> {
    if kept == found {
        return Ok(());
    }
    Err(format!("the index of {what} is {kept:?}, a search finds {found:?}"))
}
