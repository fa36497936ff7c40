//! One session: a player's presence on the service, which outlives connections. A session decides everything
//! about itself: who may speak for it, where it is, how long it is held, what its client is owed. Each kind of
//! decision has a file here. What it reads and what it asks of others comes and goes through its
//! `SessionContext`; whatever must not be seen before a change is durable waits in its gate.

mod attach;
mod calls;
mod command;
mod context;
mod departure;
mod downstream;
mod effect;
mod ending;
mod from_zone;
mod hold;
mod incarnation;
mod joining;
mod life;
mod link;
mod lobby;
mod local;
mod losses;
mod place;
mod quiet;
mod resume;
mod row;
mod seats;
mod spent;
pub mod token;
mod view;
mod words;

use std::time::Duration;

use bytes::Bytes;

pub(crate) use self::context::{FindReason, FindZone, FromSession, Moment, SessionContext};
pub(crate) use self::downstream::{Downstream, Outgoing};
pub(crate) use self::effect::AfterCommit;
use self::ending::Ending;
use self::life::Life;
use self::losses::Losses;
use self::place::InZone;
pub use self::place::{Joining, Lobby, Place};
pub(crate) use self::resume::{Attaching, Newcomer, ResumeAsk, Resumed};
use self::token::Tokens;
pub use self::view::{Changes, SessionView};
pub(crate) use self::words::{Word, too_large};
use crate::call::Calls;
use crate::connection::Spent;
use crate::event::Event;
use crate::exchange::Hold;
use crate::gate::Gate;
use crate::guard::Origin;
use crate::hub::HubOutput;
use crate::id::{ConnectionId, Leg, PlayerId, SessionEpoch, SessionId};
use crate::scope::{History, Opened, ScopeId};
use crate::seat::Seating;
use crate::stream::{Inbound, OutboxLimits};
use crate::time::{Time, WallTime};
use crate::timeline::{Timeline, What};

/// How messages of a session are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Serializer {
    /// Protobuf frames in binary; the default.
    #[default]
    Protobuf,
    /// The same frames as JSON.
    Json,
    /// Values: the session lives in the server.
    Native,
}

/// How a player is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Identity {
    /// By an Ed25519 key; every resume is signed.
    Key,
    /// By a secret that the server minted.
    Secret,
    /// Not at all beyond this session.
    #[default]
    Anonymous,
    /// The server's own.
    Server,
}

/// Switches of a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// The connection is encrypted.
    pub const ENCRYPTION: Self = Self(1);
    /// Long frames of the connection may be compressed.
    pub const COMPRESSION: Self = Self(2);
    /// Frames of this session are logged.
    pub const PACKET_LOGGING: Self = Self(4);
    /// A call to the peer is open.
    pub const AWAITING_RESPONSE: Self = Self(8);

    /// Sets or clears these.
    pub fn set(&mut self, flags: Self, on: bool) {
        if on { self.0 |= flags.0 } else { self.0 &= !flags.0 }
    }

    /// Whether all of these are set.
    #[must_use]
    pub fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }
}

/// Round trips as they were measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Latency {
    /// The last one, in microseconds; 0 before the first.
    pub last_us: u32,
    /// Smoothed: each new one counts for an eighth.
    pub smoothed_us: u32,
}

impl Latency {
    /// Takes a measurement.
    pub fn measure(&mut self, round_trip: Duration) {
        let us = u32::try_from(round_trip.as_micros()).unwrap_or(u32::MAX);
        self.smoothed_us = match self.smoothed_us {
            0 => us,
            smoothed => smoothed - smoothed / 8 + us / 8,
        };
        self.last_us = us;
    }
}

/// Whether somebody is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Started by the server and not connected yet; it is not held.
    Preconnect,
    /// A connection speaks for it, with the session's present epoch.
    Here(ConnectionId),
    /// The server itself speaks for it.
    Native,
    /// Its connection is gone; it is held until then, or until a match ends.
    Away(Option<Time>),
}

/// The state of one session, and what waits for the commit of it.
pub struct SessionCore {
    id: SessionId,
    player: PlayerId,
    /// The player that its key or secret would be alone: another one where that belongs to an account.
    credential: PlayerId,
    identity: Identity,
    /// Rises with each connection that takes the session, so that earlier ones are refused.
    epoch: SessionEpoch,
    /// What opens it again.
    tokens: Tokens,
    life: Life,
    /// Where its last connection came from. Not kept over a restart.
    seen_from: Option<Origin>,
    place: Place,
    /// The open leg, if it is in no zone; its stay in any case.
    leg: Leg,
    /// What is consumed of the client's stream, while the session is in no zone.
    inbound: Inbound,
    /// What the session owes its client, apart from its zone.
    downstream: Downstream,
    /// How long it is held where no zone says otherwise.
    hold: Hold,
    serializer: Serializer,
    flags: Flags,
    /// What it may do, as bits that the game defines.
    permissions: u32,
    /// Arbitrary data of the game.
    data: Bytes,
    latency: Latency,
    /// Runs once a drop, before the hold starts.
    disconnect_callback: Option<u64>,
    ending: Ending,
    began: WallTime,
    timeline: Timeline,
    /// Open calls from outside zones.
    calls: Option<Box<Calls>>,
    /// What waits for the session's commits.
    gate: Gate<AfterCommit>,
    losses: Losses,
    /// What its player has spent, from connection to connection.
    spent: Spent,
    /// Messages from outside the game that its zone has not committed yet.
    words: Vec<Word>,
    /// The seat it is in a Game with, and those the directory still has to hear of.
    seats: Vec<Seating>,
}

impl SessionCore {
    /// A session that begins; nobody is there yet.
    pub(crate) fn new(
        id: SessionId,
        player: PlayerId,
        identity: Identity,
        hold: Hold,
        began: WallTime,
    ) -> Self {
        Self {
            id,
            player,
            credential: player,
            identity,
            epoch: SessionEpoch(0),
            tokens: Tokens::default(),
            life: Life::Preconnect,
            seen_from: None,
            place: Place::Lobby(Lobby::default()),
            leg: Leg::first(1),
            inbound: Inbound::default(),
            downstream: Downstream::new(),
            hold,
            serializer: Serializer::Protobuf,
            flags: Flags::default(),
            permissions: 0,
            data: Bytes::new(),
            latency: Latency::default(),
            disconnect_callback: None,
            ending: Ending::default(),
            began,
            timeline: Timeline::default(),
            calls: None,
            gate: Gate::new(ScopeId::Session(id)),
            losses: Losses::restored(0, History::Whole),
            spent: Spent::default(),
            words: Vec::new(),
            seats: Vec::new(),
        }
    }

    /// A session as its scope tells; nobody is there yet.
    ///
    /// # Errors
    /// Says what is wrong with the rows.
    pub fn open(id: SessionId, opened: &Opened, limits: OutboxLimits) -> Result<Self, String> {
        row::load(id, opened, limits)
    }

    /// Begins, and says so once that is committed; `connection`: the one that it begins for.
    pub(crate) fn begin(&mut self, cx: &mut SessionContext<'_>, connection: Option<ConnectionId>) {
        self.timeline.record(cx.at.wall, What::Began, 0);
        cx.counts.sessions_total += 1;
        self.start_lifetime(cx);
        self.touch();
        let event = Event::PlayerConnected { session: self.id, player: self.player, connection };
        self.after_event(event);
    }

    /// It differs from its scope.
    fn touch(&mut self) {
        // Nothing of a session whose scope is being deleted is kept.
        if !self.ending.is_over() {
            self.gate.touch();
        }
    }

    /// Carries something out once all changes so far are committed.
    pub(crate) fn after(&mut self, effect: AfterCommit) {
        self.gate.after(effect);
    }

    fn after_event(&mut self, event: Event) {
        self.after(AfterCommit::Output(HubOutput::Event(event)));
    }

    /// Where a client stands that has heard the `Parted` of the open leg.
    fn parted_to(&self) -> (Leg, u64) {
        (Leg::first(self.leg.stay.saturating_add(1)), 0)
    }
}
