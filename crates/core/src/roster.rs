//! Who takes part in a match, and what is kept for each while they are away.
//!
//! A roster owns one record a player and the one connection that may speak for it now. Before a
//! match a dropped player is forgotten; while one runs the record waits, and the returning player
//! finds it as it was. It knows no socket and no session, reads no clock, and maps no connection
//! that is gone: it has no authority and costs no memory. It does not prove who a player is;
//! whoever calls [`Roster::connect`] must have done so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use crate::id::{ConnectionId, PlayerId};
use crate::time::Time;

/// What a game keeps for a player over matches.
pub trait PlayerData {
    /// Makes the data fit for the next match. Called once for each player that is there when a
    /// match ends.
    fn reinitialize(&mut self);
}

/// What happens when a player connects who is connected already.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Duplicates {
    /// The newcomer is refused, and the earlier connection stays. The default.
    ///
    /// A player whose old link died unnoticed is locked out until that is noticed.
    #[default]
    RejectNew,
    /// The newcomer gets the record, and the earlier connection loses its authority at once.
    TakeOver,
}

/// The settings of a roster. By default nothing but the end of the match limits a stay or a hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Rules {
    /// What happens when a player connects who is connected already. Default: the newcomer is
    /// refused.
    pub duplicates: Duplicates,
    /// How long the record of an absent player is kept during a match. Default: none, until the
    /// match ends.
    pub keep: Option<Duration>,
    /// How many players have a place, the absent ones whose record is kept included. Default: none,
    /// any number; a roster that strangers can reach should set it, or they fill the memory.
    pub capacity: Option<usize>,
}

/// Whether a match runs, which decides what a drop costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Phase {
    /// No match runs: a player who drops is forgotten.
    #[default]
    Lobby,
    /// A match runs: a player who drops is kept.
    Match,
}

/// Where a player is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence<C = ConnectionId> {
    /// A connection speaks for the player.
    Here {
        /// The only connection that may speak for the player.
        connection: C,
    },
    /// Dropped during a match. The record waits.
    Away {
        /// The connection that dropped: to tell what happened, without authority.
        was: C,
        /// When the record is given up; none: when the match ends.
        until: Option<Time>,
    },
}

/// How a player came in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[must_use]
pub enum Connected<C = ConnectionId> {
    /// There was no record: the given data is the player's.
    New,
    /// The player was away: the kept data is the player's, and the given data is dropped.
    Reconnected,
    /// The player was here: the kept data is the player's, and the given data is dropped.
    TookOver {
        /// The connection that lost its authority. The caller should close it.
        stale: C,
    },
}

/// Why a player did not come in. Nothing was changed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ConnectRefused<C = ConnectionId> {
    /// The player is connected and [`Duplicates::RejectNew`] holds. The newcomer may come again
    /// when the other connection is gone.
    Duplicate {
        /// The connection that stays.
        current: C,
    },
    /// The connection already speaks for a player. A fault of the caller: connections are never
    /// reused.
    ConnectionInUse,
    /// No place for one more player. Never said to a player who has a record.
    Full {
        /// How many players have a place.
        capacity: usize,
    },
}

/// What a drop did to the player's record.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Disconnected<T, P = PlayerId> {
    /// No match ran: the record is gone.
    Forgotten {
        /// The player whose connection is gone; the roster knows it no more.
        player: P,
        /// The data that the record held, which the caller may keep.
        data: T,
    },
    /// A match runs: the record waits for the player.
    Kept {
        /// The player whose connection is gone; [`Roster::connect`] gives it the record back.
        player: P,
        /// When the record is given up; none: when the match ends.
        until: Option<Time>,
    },
}

/// The connection speaks for nobody: it never connected, was refused, dropped, was taken over, or
/// the server ended. These are not told apart, because a connection that is gone is not mapped any
/// more. Nothing was read or changed; the caller should close the connection.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NotCurrent;

/// Who takes part in a match, and what is kept for each.
///
/// ```
/// use rejoin_core::roster::{Connected, PlayerData, Roster, Rules};
/// use rejoin_core::time::Time;
///
/// struct Score(u32);
/// impl PlayerData for Score {
///     fn reinitialize(&mut self) {
///         self.0 = 0;
///     }
/// }
///
/// let mut roster: Roster<Score, &str, u64> = Roster::new(Rules::default());
/// assert_eq!(roster.connect(Time::ZERO, 1, "ann", Score(0)), Ok(Connected::New));
/// roster.match_started();
/// assert!(roster.set(1, Score(7)).is_ok());
/// assert!(roster.disconnect(Time::ZERO, 1).is_ok());
/// assert_eq!(roster.connect(Time::ZERO, 2, "ann", Score(0)), Ok(Connected::Reconnected));
/// assert_eq!(roster.data(&"ann").map(|score| score.0), Some(7));
/// assert!(roster.set(1, Score(9)).is_err());
/// ```
#[derive(Clone, Debug)]
pub struct Roster<T, P = PlayerId, C = ConnectionId> {
    rules: Rules,
    phase: Phase,
    records: BTreeMap<P, Record<T, C>>,
    /// Exactly the connections of the players who are here.
    connections: BTreeMap<C, P>,
    /// Exactly the ends of the holds that have one.
    holds: BTreeSet<(Time, P)>,
}

#[derive(Clone, Debug)]
struct Record<T, C> {
    presence: Presence<C>,
    data: T,
}

impl<T, P: Ord + Clone, C: Ord + Copy> Roster<T, P, C> {
    /// An empty roster, before any match.
    #[must_use]
    pub fn new(rules: Rules) -> Self {
        Self {
            rules,
            phase: Phase::Lobby,
            records: BTreeMap::new(),
            connections: BTreeMap::new(),
            holds: BTreeSet::new(),
        }
    }

    /// Lets `connection` speak for `player`. `data` counts only for a player without a record.
    ///
    /// A hold ends by [`Roster::expire`] alone: until that has taken the record, the player gets it
    /// back, even past its end. So a player who was in time is not lost to a server that was late,
    /// and every ended hold is reported. That is why `now`, which every timed input carries,
    /// decides nothing here.
    pub fn connect(
        &mut self,
        _now: Time,
        connection: C,
        player: P,
        data: T,
    ) -> Result<Connected<C>, ConnectRefused<C>> {
        if self.connections.contains_key(&connection) {
            return Err(ConnectRefused::ConnectionInUse);
        }
        let here = Presence::Here { connection };
        let connected = match self.records.get_mut(&player) {
            None => {
                if let Some(capacity) = self.rules.capacity
                    && self.records.len() >= capacity
                {
                    return Err(ConnectRefused::Full { capacity });
                }
                self.records.insert(player.clone(), Record { presence: here, data });
                Connected::New
            }
            Some(record) => match record.presence {
                Presence::Away { until, .. } => {
                    if let Some(until) = until {
                        self.holds.remove(&(until, player.clone()));
                    }
                    record.presence = here;
                    Connected::Reconnected
                }
                Presence::Here { connection: current } => match self.rules.duplicates {
                    Duplicates::RejectNew => return Err(ConnectRefused::Duplicate { current }),
                    Duplicates::TakeOver => {
                        self.connections.remove(&current);
                        record.presence = here;
                        Connected::TookOver { stale: current }
                    }
                },
            },
        };
        self.connections.insert(connection, player);
        Ok(connected)
    }

    /// The connection is gone. Its player is forgotten before a match and kept during one. The late
    /// end of a connection that was taken over is [`NotCurrent`] and does not touch the player.
    pub fn disconnect(
        &mut self,
        now: Time,
        connection: C,
    ) -> Result<Disconnected<T, P>, NotCurrent> {
        let player = self.connections.remove(&connection).ok_or(NotCurrent)?;
        match self.phase {
            Phase::Lobby => {
                let record = self.records.remove(&player).ok_or(NotCurrent)?;
                Ok(Disconnected::Forgotten { player, data: record.data })
            }
            Phase::Match => {
                let record = self.records.get_mut(&player).ok_or(NotCurrent)?;
                let until = self.rules.keep.map(|keep| now.after(keep));
                record.presence = Presence::Away { was: connection, until };
                if let Some(until) = until {
                    self.holds.insert((until, player.clone()));
                }
                Ok(Disconnected::Kept { player, until })
            }
        }
    }

    /// Replaces the data of the player that the connection speaks for, if it speaks for one.
    pub fn set(&mut self, connection: C, data: T) -> Result<(), NotCurrent> {
        let player = self.connections.get(&connection).ok_or(NotCurrent)?;
        self.records.get_mut(player).ok_or(NotCurrent)?.data = data;
        Ok(())
    }

    /// A match starts: from now on a player who drops is kept. While one runs, changes nothing.
    pub fn match_started(&mut self) {
        debug_assert!(
            self.phase == Phase::Match || self.records.len() == self.connections.len(),
            "an absent player has a record although no match runs"
        );
        self.phase = Phase::Match;
    }

    /// The match ends: absent players are forgotten and returned, all others reinitialised once.
    /// Without a match it does the same, so that a lobby that was called off starts anew.
    pub fn match_ended(&mut self) -> Vec<(P, T)>
    where
        T: PlayerData,
    {
        self.phase = Phase::Lobby;
        self.holds.clear();
        let forgotten = self
            .records
            .extract_if(.., |_, record| matches!(record.presence, Presence::Away { .. }))
            .map(|(player, record)| (player, record.data))
            .collect();
        self.records.values_mut().for_each(|record| record.data.reinitialize());
        forgotten
    }

    /// The server ends: everybody is forgotten, every connection loses its authority, no match
    /// runs. The roster can be used anew.
    pub fn server_ended(&mut self) {
        *self = Self::new(self.rules);
    }

    /// Forgets the players whose hold has ended, and returns them with what was kept, in the order
    /// of their ends. A hold has ended when `now` is its end or later.
    ///
    /// A driver feeds the inputs of an instant before it calls this with the same instant.
    #[must_use = "what is returned is no longer kept"]
    pub fn expire(&mut self, now: Time) -> Vec<(P, T)> {
        let mut expired = Vec::new();
        while self.next_expiry().is_some_and(|until| until <= now) {
            if let Some((_, player)) = self.holds.pop_first()
                && let Some(record) = self.records.remove(&player)
            {
                expired.push((player, record.data));
            }
        }
        expired
    }

    /// When [`Roster::expire`] has something to do next.
    #[must_use]
    pub fn next_expiry(&self) -> Option<Time> {
        self.holds.first().map(|(until, _)| *until)
    }

    /// Whether the player has a record and a connection.
    #[must_use]
    pub fn is_connected(&self, player: &P) -> bool {
        matches!(self.presence(player), Some(Presence::Here { .. }))
    }

    /// Where the player is; none without a record.
    #[must_use]
    pub fn presence(&self, player: &P) -> Option<Presence<C>> {
        self.records.get(player).map(|record| record.presence)
    }

    /// The player that the connection speaks for, if it speaks for one.
    pub fn player_of(&self, connection: C) -> Result<&P, NotCurrent> {
        self.connections.get(&connection).ok_or(NotCurrent)
    }

    /// The player's data, here or away; none without a record.
    #[must_use]
    pub fn data(&self, player: &P) -> Option<&T> {
        self.records.get(player).map(|record| &record.data)
    }

    /// The data of the player that the connection speaks for, if it speaks for one.
    pub fn data_of(&self, connection: C) -> Result<&T, NotCurrent> {
        self.data(self.player_of(connection)?).ok_or(NotCurrent)
    }

    /// Every player with a record, in the order of their ids.
    pub fn players(&self) -> impl Iterator<Item = (&P, Presence<C>, &T)> {
        self.records.iter().map(|(player, record)| (player, record.presence, &record.data))
    }

    /// Whether a match runs.
    #[must_use]
    pub fn phase(&self) -> Phase {
        self.phase
    }

    /// How many players have a record, here or away.
    #[must_use]
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether nobody has a record.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.records.is_empty()
    }
}

impl<C> fmt::Display for ConnectRefused<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Duplicate { .. } => f.write_str("the player is connected already"),
            Self::ConnectionInUse => f.write_str("the connection already speaks for a player"),
            Self::Full { capacity } => write!(f, "all {capacity} places are taken"),
        }
    }
}

impl fmt::Display for NotCurrent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the connection speaks for nobody")
    }
}

impl<C: fmt::Debug> std::error::Error for ConnectRefused<C> {}
impl std::error::Error for NotCurrent {}

#[cfg(test)]
mod tests;
