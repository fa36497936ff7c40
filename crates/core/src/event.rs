//! What happened, in the past tense: for listeners, logs, metrics and timelines. Every ending
//! carries its typed cause. Events of a durable place are given out only once they are committed.

use rejoin_wire::v1::{CloseCode, PartCause, RungReason};

use crate::exchange::ZoneName;
use crate::id::{ConnectionId, ObjectId, PlayerId, SessionId, ZoneId};

/// Why a session ended.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum EndCause {
    /// The client left for good.
    Left,
    /// Nobody came back in time.
    HoldEnded,
    /// The player asked for a fresh session.
    Superseded,
    /// No game message for too long.
    Idle,
    /// The absolute lifetime was reached.
    Lifetime,
    /// Ended from outside.
    Kicked,
    /// The player is banned.
    Banned,
    /// The agent that played it failed.
    AgentFault,
}

impl EndCause {
    /// What its last connection is told.
    #[must_use]
    pub fn close_code(self) -> CloseCode {
        match self {
            Self::Left => CloseCode::Left,
            Self::HoldEnded => CloseCode::Ended,
            Self::Superseded => CloseCode::Superseded,
            Self::Idle => CloseCode::Idle,
            Self::Lifetime => CloseCode::Lifetime,
            Self::Kicked => CloseCode::Kicked,
            Self::Banned => CloseCode::Banned,
            Self::AgentFault => CloseCode::Ended,
        }
    }

    /// Why its stay in a zone ends.
    #[must_use]
    pub fn part_cause(self) -> PartCause {
        match self {
            Self::Left => PartCause::Left,
            Self::HoldEnded => PartCause::HoldEnded,
            _ => PartCause::SessionEnded,
        }
    }

    /// The label in metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Left => "left",
            Self::HoldEnded => "hold_ended",
            Self::Superseded => "superseded",
            Self::Idle => "idle",
            Self::Lifetime => "lifetime",
            Self::Kicked => "kicked",
            Self::Banned => "banned",
            Self::AgentFault => "agent_fault",
        }
    }
}

/// How far back a returning player was put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rung {
    /// Nothing was lost; so many frames were said again.
    Replayed(u64),
    /// The whole state was sent, because of this.
    Resynced(RungReason),
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Event {
    /// A session began.
    PlayerConnected { session: SessionId, player: PlayerId },
    /// A connection was given to a session.
    SessionLinked { session: SessionId, connection: ConnectionId },
    /// A session lost its connection and is held.
    PlayerDropped { session: SessionId, code: CloseCode },
    /// A player is back.
    PlayerReturned { session: SessionId, rung: Rung },
    /// A connection gave way to a newer one.
    TakenOver { session: SessionId, old: ConnectionId },
    /// Nobody came back in time.
    HoldEnded { session: SessionId },
    /// A session ended.
    PlayerLeft { session: SessionId, player: PlayerId, cause: EndCause },
    /// A session became a member of a zone.
    ZoneJoined { session: SessionId, zone: ZoneName },
    /// A session stopped being a member.
    ZoneParted { session: SessionId, zone: ZoneName, cause: PartCause },
    /// An object changed its owner.
    OwnerChanged { zone: ZoneId, object: ObjectId, from: Option<PlayerId>, to: Option<PlayerId> },
    /// A match started.
    MatchStarted { zone: ZoneId },
    /// A match ended.
    MatchEnded { zone: ZoneId },
    /// A zone's game code panicked.
    ZoneFault { zone: ZoneId, text: String, closed: bool },
    /// A zone opened.
    ZoneOpened { zone: ZoneId, name: ZoneName },
    /// A zone could not open; what is stored was kept.
    ZoneOpenRefused { zone: ZoneId, text: String },
    /// A zone ended.
    ZoneEnded { zone: ZoneId },
    /// A sender was made to wait.
    Throttled { connection: ConnectionId },
    /// A retired token was shown.
    RetiredToken { session: SessionId },
}
