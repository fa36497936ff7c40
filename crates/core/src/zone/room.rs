//! Everything of a zone that is not the game itself: what callbacks may look at and what a cut
//! contains. Kept apart from the game so that a callback can borrow both.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;

use super::clock::Clock;
use super::config::ZoneConfig;
use super::member::Member;
use super::objects::Objects;
use super::stream::Stream;
use crate::exchange::ZoneName;
use crate::id::{JobId, ObjectId, OwnerEpoch, PlayerId, SessionId, ZoneId};
use crate::roster::{Duplicates, Phase, PlayerData, Roster, Rules};
use crate::time::Time;

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
    pub members: BTreeSet<SessionId>,
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

/// The zone without its game.
#[derive(Debug)]
pub(crate) struct Room {
    pub id: ZoneId,
    pub name: ZoneName,
    pub owner: OwnerEpoch,
    pub config: ZoneConfig,
    /// It runs a Game: nobody is in it without a seat.
    pub seated: bool,
    /// Boxed: nodes of the map are half full, and a member is not small.
    pub members: BTreeMap<SessionId, Box<Member>>,
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
    /// Somebody may have missed something for good; `overrun` looks who.
    pub missed: bool,
    /// No member's deadline is earlier than this.
    pub soonest: Option<Time>,
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
            members: BTreeMap::new(),
            stream: Stream::default(),
            cells: BTreeMap::new(),
            objects: Objects::default(),
            roster: Roster::new(rules),
            jobs: BTreeMap::new(),
            last_job: JobId::default(),
            ending: false,
            dirty: Dirty::default(),
            missed: false,
            soonest: None,
        }
    }

    /// A member that is not leaving.
    pub(crate) fn active(&self, session: SessionId) -> Option<&Member> {
        self.members.get(&session).filter(|member| member.is_active()).map(Box::as_ref)
    }

    /// A member that is not leaving, to be changed; its row goes into the next cut.
    pub(crate) fn active_mut(&mut self, session: SessionId) -> Option<&mut Member> {
        let member = self.members.get_mut(&session).filter(|member| member.is_active())?;
        self.dirty.members.insert(session);
        Some(member)
    }

    /// A member has something due at this instant.
    pub(crate) fn alarm(&mut self, at: Time) {
        self.soonest = Some(self.soonest.map_or(at, |soonest| soonest.min(at)));
    }

    /// Finds the soonest deadline afresh, after some have passed.
    pub(crate) fn reset_alarm(&mut self) {
        let members = self.members.values().filter(|member| member.is_active());
        self.soonest =
            members.flat_map(|m| [m.progress_at, m.calls.next_deadline()]).flatten().min();
    }

    pub(crate) fn match_running(&self) -> bool {
        self.roster.phase() == Phase::Match
    }

    /// How many sessions of a player are members.
    pub(crate) fn sessions_of(&self, player: PlayerId) -> usize {
        let here = self.members.values().filter(|m| m.is_active() && m.player == player);
        here.count()
    }

    pub(crate) fn parting_count(&self) -> usize {
        let leaving = self.members.values().filter_map(|member| member.leaving.as_ref());
        leaving.filter(|leaving| leaving.next.is_none()).count()
    }

    pub(crate) fn active_count(&self) -> usize {
        self.members.values().filter(|member| member.is_active()).count()
    }
}
