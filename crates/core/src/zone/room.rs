//! Everything of a zone that is not the game itself: what callbacks may look at and what a cut
//! contains. Kept apart from the game so that a callback can borrow both.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::clock::Clock;
use super::config::ZoneConfig;
use super::deadline::Deadlines;
use super::member::Member;
use super::member_set::MemberSet;
use super::members::Members;
use super::objects::Objects;
use super::stream::Stream;
use crate::exchange::ZoneName;
use crate::id::{JobId, ObjectId, OwnerEpoch, PlayerId, SessionId, ZoneId};
use crate::roster::{Duplicates, Phase, PlayerData, Roster, Rules};

/// What is kept for a player in a match.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct MatchData(pub Bytes);

impl PlayerData for MatchData {
    fn reinitialize(&mut self) {
        self.0 = Bytes::new();
    }
}

/// What has changed since the last cut.
#[derive(Debug, Default)]
pub(crate) struct Dirty {
    /// A cut must be made: something happened that others may come to see.
    pub any: bool,
    /// A callback ran that recorded nothing: the game may have changed all the same.
    pub maybe: bool,
    pub members: MemberSet,
    pub gone: BTreeSet<SessionId>,
    pub cells: BTreeSet<Bytes>,
    pub objects: BTreeSet<ObjectId>,
    pub players: BTreeSet<PlayerId>,
    /// The match phase changed, and with it what is kept for everybody.
    pub all_players: bool,
    pub timers: bool,
    pub jobs: bool,
    /// Everything said up to here is in a cut.
    pub said: u64,
}

impl Dirty {
    /// Everything is in a cut, and what was said up to this number.
    pub(crate) fn clear(&mut self, said: u64) {
        let mut members = std::mem::take(&mut self.members);
        members.clear();
        *self = Self { members, said, ..Self::default() };
    }
}

/// The zone without its game.
#[derive(Debug)]
pub(crate) struct Room {
    pub id: ZoneId,
    pub name: ZoneName,
    pub owner: OwnerEpoch,
    pub config: ZoneConfig,
    /// It runs a Game: nobody is in it without a seat.
    pub seated: bool,
    pub members: Members,
    pub deadlines: Deadlines,
    pub stream: Stream,
    pub cells: BTreeMap<Bytes, Bytes>,
    pub objects: Objects,
    pub roster: Roster<MatchData, PlayerId, SessionId>,
    pub clock: Clock,
    /// Outside work that has not come back, by its number: the key it was started with and what
    /// was asked for, so that a rebuilt zone asks again.
    pub jobs: BTreeMap<JobId, (Bytes, Bytes)>,
    pub last_job: JobId,
    /// The zone ends: nobody comes in any more.
    pub ending: bool,
    pub dirty: Dirty,
    /// Members who may have missed something for good; `overrun` looks at each once. Who has no link
    /// then is looked at when it attaches.
    pub missed: MemberSet,
    /// Members of whom a number was consumed that they have not been told of.
    pub untold: MemberSet,
}

impl Room {
    pub(crate) fn new(id: ZoneId, name: ZoneName, owner: OwnerEpoch, config: ZoneConfig) -> Self {
        // How many records there may be is decided at the door: whoever is let in has one.
        let rules = Rules { duplicates: Duplicates::TakeOver, keep: None, capacity: None };
        Self {
            id,
            name,
            owner,
            clock: Clock::new(id, config.tick),
            config,
            seated: false,
            members: Members::default(),
            deadlines: Deadlines::default(),
            stream: Stream::default(),
            cells: BTreeMap::new(),
            objects: Objects::default(),
            roster: Roster::new(rules),
            jobs: BTreeMap::new(),
            last_job: JobId::default(),
            ending: false,
            dirty: Dirty::default(),
            missed: MemberSet::default(),
            untold: MemberSet::default(),
        }
    }

    /// A member that is not leaving.
    pub(crate) fn active(&self, session: SessionId) -> Option<&Member> {
        self.members.get(&session).filter(|member| member.is_active()).map(Box::as_ref)
    }

    /// A member that is not leaving, to be changed; its row goes into the next cut.
    pub(crate) fn active_mut(&mut self, session: SessionId) -> Option<&mut Member> {
        let member = self.members.get_mut(session).filter(|member| member.is_active())?;
        self.dirty.members.insert(session);
        Some(member)
    }

    /// A member's first deadline may have become an earlier one.
    pub(crate) fn arm(&mut self, session: SessionId) {
        if let Some(member) = self.members.get_mut(session) {
            self.deadlines.arm(session, member);
        }
    }

    pub(crate) fn match_running(&self) -> bool {
        self.roster.phase() == Phase::Match
    }
}
