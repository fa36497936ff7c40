//! The hub's sessions, with the indexes that make an event about one zone or one player cost what that has and
//! not what the server holds. They change only here, after each call of a session;
//! [`Hub::check_indexes`](super::Hub::check_indexes) compares them with a search of everything.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::Hub;
use crate::id::{PlayerId, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::player::Findable;
use crate::scope::Opened;
use crate::session::{Identity, SessionCore};
use crate::stream::OutboxLimits;

/// The sessions of a hub, by id, by zone and by player.
#[derive(Default)]
pub(crate) struct Sessions {
    /// Boxed: nodes of the map are half empty, and a session is large.
    by_id: BTreeMap<SessionId, Box<SessionCore>>,
    /// Those of which nothing is left but what waits for the deletion of their scopes.
    closing: BTreeMap<SessionId, Box<SessionCore>>,
    /// Which of them are in or on their way into a zone.
    by_zone: BTreeSet<(ZoneId, SessionId)>,
    /// Those that can be returned to.
    by_player: BTreeSet<(PlayerId, SessionId)>,
    /// Those that were opened with the key of another player than theirs, by that key: sessions of accounts.
    by_key: BTreeSet<(PlayerId, SessionId)>,
    /// Those whose end is not committed yet, by their player and by the key they were opened with: a
    /// crash would bring them back.
    ending_of: BTreeSet<(PlayerId, SessionId)>,
}

/// What the indexes know of one session.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Indexed {
    zone: Option<ZoneId>,
    /// The key's player, where that is not the session's.
    key: Option<PlayerId>,
    is_ending: bool,
    is_over: bool,
}

impl Indexed {
    pub(crate) fn of(session: &SessionCore) -> Self {
        let (is_ending, is_over) = (session.ending().is_some(), session.is_over());
        let zone = session.zone().filter(|_| !is_over);
        let key = Some(session.credential()).filter(|key| *key != session.player() && !is_over);
        Self { zone, key, is_ending, is_over }
    }
}

/// Reading is the map's own; whatever changes the map goes through a method of the table.
impl Deref for Sessions {
    type Target = BTreeMap<SessionId, Box<SessionCore>>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

impl Sessions {
    /// A session to be called; [`update`](Self::update) follows. Also one of which only the deletion is left.
    pub(crate) fn get_mut(&mut self, id: SessionId) -> Option<&mut SessionCore> {
        match self.by_id.get_mut(&id) {
            Some(session) => Some(session),
            None => self.closing.get_mut(&id).map(Box::as_mut),
        }
    }

    /// The ids of all that can be called.
    pub(crate) fn ids(&self) -> Vec<SessionId> {
        self.by_id.keys().copied().collect()
    }

    /// Adds the sessions of these scopes; gives those that cannot be read, and why. Takes the rows: with many
    /// sessions, room that is given back is room that is used again.
    pub(crate) fn load(
        &mut self,
        scopes: Vec<(SessionId, Opened)>,
        limits: OutboxLimits,
    ) -> Vec<(SessionId, String)> {
        let mut damaged = Vec::new();
        for (id, opened) in scopes {
            match SessionCore::open(id, &opened, limits) {
                Ok(session) => {
                    hit(Mark::SessionRecovered);
                    self.insert(session);
                }
                Err(text) => damaged.push((id, text)),
            }
        }
        damaged
    }

    /// Adds a session whose id is new.
    pub(crate) fn insert(&mut self, session: SessionCore) {
        let (id, indexed) = (session.id(), Indexed::of(&session));
        self.by_zone.extend(indexed.zone.map(|zone| (zone, id)));
        self.by_key.extend(indexed.key.map(|key| (key, id)));
        if !indexed.is_ending {
            self.by_player.insert((session.player(), id));
        }
        if self.by_id.insert(id, Box::new(session)).is_some() {
            crate::never!("{id:?} was given out twice");
        }
    }

    /// Brings the indexes up to date after a call. Gives the zone that the session has left by that.
    pub(crate) fn update(&mut self, id: SessionId, before: Indexed) -> Option<ZoneId> {
        let session = self.by_id.get(&id)?;
        let now = Indexed::of(session);
        if now == before {
            return None;
        }
        if now.is_ending && !before.is_ending {
            let player = session.player();
            self.by_player.remove(&(player, id));
            self.ending_of.extend([(player, id), (session.credential(), id)]);
        }
        if now.is_over {
            self.closing.extend(self.by_id.remove_entry(&id));
        }
        if now.key != before.key {
            self.by_key.extend(now.key.map(|key| (key, id)));
            if let Some(key) = before.key {
                self.by_key.remove(&(key, id));
            }
        }
        if now.zone == before.zone {
            return None;
        }
        self.by_zone.extend(now.zone.map(|zone| (zone, id)));
        if let Some(zone) = before.zone {
            self.by_zone.remove(&(zone, id));
        }
        before.zone
    }

    /// Forgets a session whose scope is deleted and that has nothing more to say.
    pub(crate) fn forget_if_gone(&mut self, id: SessionId) {
        if self.closing.get(&id).is_some_and(|session| session.is_gone()) {
            self.closing.remove(&id);
        }
    }

    /// The sessions that are in a zone or on their way into it, in the order of their ids.
    pub(crate) fn in_zone(&self, zone: ZoneId) -> impl Iterator<Item = SessionId> {
        let theirs = (zone, SessionId(0))..=(zone, SessionId(u64::MAX));
        self.by_zone.range(theirs).map(|(_, session)| *session)
    }

    /// The sessions of a player that can be returned to, oldest first.
    pub(crate) fn of_player(&self, player: PlayerId) -> impl Iterator<Item = SessionId> {
        range_of(&self.by_player, player)
    }

    /// The sessions of a player that a login could go on with, oldest first. Sessions that the server started
    /// for it are not among them.
    pub(crate) fn found_by_login(&self, player: PlayerId) -> Vec<Findable> {
        let theirs = self.of_player(player).filter_map(|id| self.get(&id));
        let theirs = theirs.filter(|session| session.identity() != Identity::Server);
        theirs.map(|one| Findable { id: one.id(), is_held: one.is_held() }).collect()
    }

    /// The sessions of a player that are there, or whose end is not committed yet: those that end with the
    /// player.
    pub(crate) fn ending_with(&self, player: PlayerId) -> BTreeSet<SessionId> {
        range_of(&self.ending_of, player).chain(self.of_player(player)).collect()
    }

    /// The same, with the sessions of accounts that were opened with the player's key and are not listed under
    /// the player.
    pub(crate) fn opened_by(&self, player: PlayerId) -> BTreeSet<SessionId> {
        let by_key = range_of(&self.by_key, player).filter(|_| !is_armed(Bug::KeyBanForgotten));
        by_key.chain(self.ending_with(player)).collect()
    }

    /// That a session of this player, opened with this key, ends is committed.
    pub(crate) fn end_committed(&mut self, id: SessionId, player: PlayerId, credential: PlayerId) {
        self.ending_of.remove(&(player, id));
        self.ending_of.remove(&(credential, id));
    }
}

fn range_of(
    of: &BTreeSet<(PlayerId, SessionId)>,
    player: PlayerId,
) -> impl Iterator<Item = SessionId> {
    of.range((player, SessionId(0))..=(player, SessionId(u64::MAX))).map(|(_, session)| *session)
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
        let living = self.sessions.iter().filter(|(_, session)| session.ending().is_none());
        let by_player = living.map(|(id, session)| (session.player(), *id)).collect();
        same("sessions by player", &self.sessions.by_player, &by_player)?;
        let of_others = self.sessions.iter().filter(|(_, one)| one.credential() != one.player());
        let by_key = of_others.map(|(id, session)| (session.credential(), *id)).collect();
        same("sessions by key", &self.sessions.by_key, &by_key)?;
        self.zones.check_counts()
    }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, kept: &T, found: &T) -> Result<(), String> {
    if kept == found {
        return Ok(());
    }
    Err(format!("the index of {what} is {kept:?}, a search finds {found:?}"))
}
