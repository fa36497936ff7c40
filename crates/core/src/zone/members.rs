//! The members of a zone, with what is asked of all of them so often that it is counted instead of
//! searched: how many there are, which sessions a player has here, who has been here longest.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Deref;

use super::member::{Leaving, Member};
use crate::id::{PlayerId, SessionId};
use crate::never;

/// The members. Those that are not leaving are active.
#[derive(Debug, Default)]
pub(crate) struct Members {
    /// Boxed: nodes of the map are half full, and a member is not small.
    by_id: BTreeMap<SessionId, Box<Member>>,
    active: usize,
    /// Leaving, for no other zone.
    parting: usize,
    /// Not native: they are given frames.
    clients: usize,
    /// Active members by their player.
    by_player: BTreeSet<(PlayerId, SessionId)>,
    /// Active members in the order in which they came.
    by_joined: BTreeSet<(u64, SessionId)>,
}

/// Reading is the map's own; whatever changes the map goes through a method of the table.
impl Deref for Members {
    type Target = BTreeMap<SessionId, Box<Member>>;

    fn deref(&self) -> &Self::Target {
        &self.by_id
    }
}

impl Members {
    /// A member to be changed, but not whether it is leaving: see [`leave`](Self::leave).
    pub(crate) fn get_mut(&mut self, session: SessionId) -> Option<&mut Member> {
        self.by_id.get_mut(&session).map(Box::as_mut)
    }

    /// All members to be changed, but not whether they are leaving.
    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = (SessionId, &mut Member)> {
        self.by_id.iter_mut().map(|(session, member)| (*session, member.as_mut()))
    }

    pub(crate) fn insert(&mut self, session: SessionId, member: Member) {
        self.remove(session);
        self.count(session, &member, true);
        self.by_id.insert(session, Box::new(member));
    }

    pub(crate) fn remove(&mut self, session: SessionId) -> Option<Box<Member>> {
        let member = self.by_id.remove(&session)?;
        self.count(session, &member, false);
        Some(member)
    }

    /// A member is on its way out.
    pub(crate) fn leave(&mut self, session: SessionId, leaving: Leaving) {
        let Some(mut member) = self.remove(session) else {
            return never!("session {session} leaves and is no member");
        };
        member.leaving = Some(leaving);
        self.count(session, &member, true);
        self.by_id.insert(session, member);
    }

    fn count(&mut self, session: SessionId, member: &Member, is_here: bool) {
        match is_here {
            true => self.clients += usize::from(!member.native),
            false => self.clients -= usize::from(!member.native),
        }
        let by_player = (member.player, session);
        let by_joined = (member.joined, session);
        match (&member.leaving, is_here) {
            (None, true) => {
                self.active += 1;
                self.by_player.insert(by_player);
                self.by_joined.insert(by_joined);
            }
            (None, false) => {
                self.active -= 1;
                self.by_player.remove(&by_player);
                self.by_joined.remove(&by_joined);
            }
            (Some(leaving), true) => self.parting += usize::from(leaving.next.is_none()),
            (Some(leaving), false) => self.parting -= usize::from(leaving.next.is_none()),
        }
    }

    /// How many are active.
    pub(crate) fn active_count(&self) -> usize {
        self.active
    }

    /// How many are leaving for no other zone.
    pub(crate) fn parting_count(&self) -> usize {
        self.parting
    }

    /// Whether anybody is given frames.
    pub(crate) fn has_clients(&self) -> bool {
        self.clients > 0
    }

    /// The active sessions of a player.
    pub(crate) fn of_player(&self, player: PlayerId) -> impl Iterator<Item = SessionId> {
        let theirs = (player, SessionId(0))..=(player, SessionId(u64::MAX));
        self.by_player.range(theirs).map(|(_, session)| *session)
    }

    /// The player of the active member that has been here longest.
    pub(crate) fn longest_here(&self) -> Option<PlayerId> {
        let (_, session) = self.by_joined.first()?;
        self.by_id.get(session).map(|member| member.player)
    }

    /// Compares what is counted with a search of all members.
    pub(crate) fn check(&self) -> Result<(), String> {
        let mut found = Self::default();
        for (session, member) in &self.by_id {
            found.count(*session, member, true);
        }
        let kept = (self.active, self.parting, self.clients, &self.by_player, &self.by_joined);
        let searched =
            (found.active, found.parting, found.clients, &found.by_player, &found.by_joined);
        if kept == searched {
            return Ok(());
        }
        Err(format!("the members are counted as {kept:?}, a search finds {searched:?}"))
    }
}
