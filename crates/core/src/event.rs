//! What happened, in the past tense: for listeners, logs, metrics and timelines. Every ending
//! carries its typed cause. Events of a durable place are given out only once they are committed.

use rejoin_wire::v1::{CloseCode, PartCause, RungReason};

use crate::exchange::ZoneName;
use crate::game::{GameEnd, HostEnd, PlacementEnd, SeatEnd};
use crate::id::{ConnectionId, GameId, HostId, ObjectId, PlayerId, SeatId, SessionId, ZoneId};

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
    /// The player's account is locked.
    Locked,
}

impl EndCause {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Left,
        Self::HoldEnded,
        Self::Superseded,
        Self::Idle,
        Self::Lifetime,
        Self::Kicked,
        Self::Banned,
        Self::AgentFault,
        Self::Locked,
    ];

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
            Self::Locked => CloseCode::Locked,
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
            Self::Locked => "locked",
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

impl Rung {
    /// The label in metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Replayed(_) => "replayed",
            Self::Resynced(_) => "resynced",
        }
    }
}

/// How far the guard goes against a connection.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Step {
    /// Half of its budget is spent. Nothing is done yet.
    Warn,
    /// It is read more slowly. Nothing of it is lost.
    Throttle,
    /// It is closed. Its session, if it spoke for one, is held.
    Sever,
}

impl Step {
    /// All of them, the mildest first.
    pub const ALL: [Self; 3] = [Self::Warn, Self::Throttle, Self::Sever];

    /// The label in metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Warn => "warn",
            Self::Throttle => "throttle",
            Self::Sever => "sever",
        }
    }
}

/// What the guard acts against.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Offence {
    /// More messages than the budget has.
    Messages,
    /// More bytes than the budget has.
    Bytes,
    /// More frames than the window has while the session's place is not settled.
    Flooded,
    /// Bytes that are no frame.
    Malformed,
    /// A frame, or something in it, over its limit.
    TooLarge,
    /// A frame that may not stand where the connection is.
    OutOfState,
    /// Numbers that jump.
    NumberGap,
    /// An acknowledgement of what was never sent.
    AckAhead,
    /// What is sent to it is not consumed in time.
    TooSlow,
    /// No hello in time.
    HandshakeTimeout,
    /// A token that a newer one has replaced.
    RetiredToken,
    /// More connections at a time than there is room for, all addresses together.
    Crowd,
    /// More connections at a time than an address may have.
    Connections,
    /// More new connections than an address may make.
    Connects,
    /// More HTTP requests than an address may make.
    Requests,
    /// More logins than an address may ask for.
    Logins,
    /// More resumes than a session may ask for.
    Resumes,
    /// More Joins that open a zone than an address may send.
    Opens,
    /// Too many logins and resumes of an address that proved wrong.
    Failures,
    /// Too many connections of an address that broke the rules.
    Violations,
}

impl Offence {
    /// All of them.
    pub const ALL: [Self; 20] = [
        Self::Messages,
        Self::Bytes,
        Self::Flooded,
        Self::Malformed,
        Self::TooLarge,
        Self::OutOfState,
        Self::NumberGap,
        Self::AckAhead,
        Self::TooSlow,
        Self::HandshakeTimeout,
        Self::RetiredToken,
        Self::Crowd,
        Self::Connections,
        Self::Connects,
        Self::Requests,
        Self::Logins,
        Self::Resumes,
        Self::Opens,
        Self::Failures,
        Self::Violations,
    ];

    /// What a connection did that is closed with this code; none if the code blames no peer.
    #[must_use]
    pub fn of(code: CloseCode) -> Option<Self> {
        Some(match code {
            CloseCode::Flooded => Self::Flooded,
            CloseCode::Malformed => Self::Malformed,
            CloseCode::TooLarge => Self::TooLarge,
            CloseCode::OutOfState => Self::OutOfState,
            CloseCode::NumberGap => Self::NumberGap,
            CloseCode::AckAhead => Self::AckAhead,
            CloseCode::TooSlow => Self::TooSlow,
            CloseCode::HandshakeTimeout => Self::HandshakeTimeout,
            CloseCode::TokenRetired => Self::RetiredToken,
            _ => return None,
        })
    }

    /// The label in metrics and logs.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::Bytes => "bytes",
            Self::Flooded => "flooded",
            Self::Malformed => "malformed",
            Self::TooLarge => "too_large",
            Self::OutOfState => "out_of_state",
            Self::NumberGap => "number_gap",
            Self::AckAhead => "ack_ahead",
            Self::TooSlow => "too_slow",
            Self::HandshakeTimeout => "handshake_timeout",
            Self::RetiredToken => "retired_token",
            Self::Crowd => "crowd",
            Self::Connections => "connections",
            Self::Connects => "connects",
            Self::Requests => "requests",
            Self::Logins => "logins",
            Self::Resumes => "resumes",
            Self::Opens => "opens",
            Self::Failures => "failures",
            Self::Violations => "violations",
        }
    }
}

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
#[allow(missing_docs)]
pub enum Event {
    /// A session began; on this connection, unless the server itself speaks for it.
    PlayerConnected { session: SessionId, player: PlayerId, connection: Option<ConnectionId> },
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
    /// The guard took a step against a connection, or, without one, against an address that was not
    /// let in. A step is told once, until the connection or the address has come to rest. The session
    /// is the one it spoke for, or whose token it showed.
    GuardStep {
        step: Step,
        connection: Option<ConnectionId>,
        session: Option<SessionId>,
        what: Offence,
    },
    /// A Game was made, and this host is to run it.
    GameCreated { game: GameId, fleet: String, host: HostId },
    /// A Game runs.
    GameActive { game: GameId },
    /// A Game ended.
    GameEnded { game: GameId, cause: GameEnd },
    /// A seat was reserved.
    SeatReserved { game: GameId, seat: SeatId, player: String },
    /// A seat's player is coming in.
    SeatClaimed { game: GameId, seat: SeatId, player: String },
    /// A seat is over.
    SeatEnded { game: GameId, seat: SeatId, player: String, how: SeatEnd },
    /// A host is ready for the first time.
    HostReady { host: HostId },
    /// A host is ready again, with those of its Games that it still runs.
    HostReturned { host: HostId },
    /// A host does not report healthy; if that lasts, it ends.
    HostWarned { host: HostId },
    /// A host is not connected; its Games are hidden.
    HostAway { host: HostId },
    /// A host ended.
    HostEnded { host: HostId, how: HostEnd },
    /// A placement ended.
    PlacementEnded { queue: String, placement: String, end: PlacementEnd },
}

impl Event {
    /// The names of all kinds, in the order of their declaration.
    pub const NAMES: [&'static str; 29] = [
        "PlayerConnected",
        "SessionLinked",
        "PlayerDropped",
        "PlayerReturned",
        "TakenOver",
        "HoldEnded",
        "PlayerLeft",
        "ZoneJoined",
        "ZoneParted",
        "OwnerChanged",
        "MatchStarted",
        "MatchEnded",
        "ZoneFault",
        "ZoneOpened",
        "ZoneOpenRefused",
        "ZoneEnded",
        "GuardStep",
        "GameCreated",
        "GameActive",
        "GameEnded",
        "SeatReserved",
        "SeatClaimed",
        "SeatEnded",
        "HostReady",
        "HostReturned",
        "HostWarned",
        "HostAway",
        "HostEnded",
        "PlacementEnded",
    ];

    /// Its place among the kinds.
    #[must_use]
    pub fn kind(&self) -> usize {
        match self {
            Self::PlayerConnected { .. } => 0,
            Self::SessionLinked { .. } => 1,
            Self::PlayerDropped { .. } => 2,
            Self::PlayerReturned { .. } => 3,
            Self::TakenOver { .. } => 4,
            Self::HoldEnded { .. } => 5,
            Self::PlayerLeft { .. } => 6,
            Self::ZoneJoined { .. } => 7,
            Self::ZoneParted { .. } => 8,
            Self::OwnerChanged { .. } => 9,
            Self::MatchStarted { .. } => 10,
            Self::MatchEnded { .. } => 11,
            Self::ZoneFault { .. } => 12,
            Self::ZoneOpened { .. } => 13,
            Self::ZoneOpenRefused { .. } => 14,
            Self::ZoneEnded { .. } => 15,
            Self::GuardStep { .. } => 16,
            Self::GameCreated { .. } => 17,
            Self::GameActive { .. } => 18,
            Self::GameEnded { .. } => 19,
            Self::SeatReserved { .. } => 20,
            Self::SeatClaimed { .. } => 21,
            Self::SeatEnded { .. } => 22,
            Self::HostReady { .. } => 23,
            Self::HostReturned { .. } => 24,
            Self::HostWarned { .. } => 25,
            Self::HostAway { .. } => 26,
            Self::HostEnded { .. } => 27,
            Self::PlacementEnded { .. } => 28,
        }
    }

    /// The name of its kind.
    #[must_use]
    pub fn name(&self) -> &'static str {
        Self::NAMES[self.kind()]
    }

    /// The session it is about, if it is about one.
    #[must_use]
    pub fn session(&self) -> Option<SessionId> {
        match self {
            Self::PlayerConnected { session, .. }
            | Self::SessionLinked { session, .. }
            | Self::PlayerDropped { session, .. }
            | Self::PlayerReturned { session, .. }
            | Self::TakenOver { session, .. }
            | Self::HoldEnded { session }
            | Self::PlayerLeft { session, .. }
            | Self::ZoneJoined { session, .. }
            | Self::ZoneParted { session, .. } => Some(*session),
            Self::GuardStep { session, .. } => *session,
            Self::OwnerChanged { .. }
            | Self::MatchStarted { .. }
            | Self::MatchEnded { .. }
            | Self::ZoneFault { .. }
            | Self::ZoneOpened { .. }
            | Self::ZoneOpenRefused { .. }
            | Self::ZoneEnded { .. }
            | Self::GameCreated { .. }
            | Self::GameActive { .. }
            | Self::GameEnded { .. }
            | Self::SeatReserved { .. }
            | Self::SeatClaimed { .. }
            | Self::SeatEnded { .. }
            | Self::HostReady { .. }
            | Self::HostReturned { .. }
            | Self::HostWarned { .. }
            | Self::HostAway { .. }
            | Self::HostEnded { .. }
            | Self::PlacementEnded { .. } => None,
        }
    }
}
