//! One session: a player's presence on the service, which outlives connections. A session decides everything
//! about itself: who may speak for it, where it is, how long it is held, what its client is owed. Each kind of
//! decision has a file here. What it reads and what it asks of others comes and goes through its
//! `SessionContext`; whatever must not be seen before a change is durable waits in its gate.

mod attach;
mod calls;
mod command;
mod context;
mod downstream;
mod effect;
mod ending;
mod from_zone;
mod hold;
mod life;
mod link;
mod lobby;
mod local;
mod place;
mod quiet;
mod resume;
mod row;
mod seats;
pub mod token;
mod view;
mod words;

use std::time::Duration;

use bytes::Bytes;

pub(crate) use self::context::{FindReason, FindZone, FromSession, Moment, SessionContext};
pub(crate) use self::downstream::{Downstream, Outgoing};
pub(crate) use self::effect::AfterCommit;
use self::life::Life;
pub(crate) use self::resume::{Attaching, Newcomer, ResumeAsk, Resumed};
use self::token::{TokenNumber, Tokens};
pub use self::view::{Changes, SessionView};
pub(crate) use self::words::{Word, too_large};
use crate::call::Calls;
use crate::connection::Spent;
use crate::event::{EndCause, Event};
use crate::exchange::{Hold, ZoneName};
use crate::gate::Gate;
use crate::guard::Origin;
use crate::hub::HubOutput;
use crate::id::{
    ConnectionId, Leg, ObjectId, OwnerEpoch, PlayerId, SessionEpoch, SessionId, ZoneId,
};
use crate::scope::{History, Opened, ScopeId};
use crate::seat::Seating;
use crate::stream::{Inbound, OutboxLimits};
use crate::time::{Time, WallTime};
use crate::timeline::{Timeline, What};

/// How messages of a session are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Serializer {
    /// Binary frames.
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

/// A join that is under way.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Joining {
    /// Where to.
    pub zone: ZoneId,
    /// The same by name.
    pub name: ZoneName,
    /// The number of the Join, 0 for a transfer.
    pub to: u64,
    /// What is sent along.
    pub payload: Bytes,
    /// A number that made the zone panic before it could commit the admission.
    pub poisoned: Option<u64>,
    /// The zone has been asked, in its present incarnation.
    pub asked: Option<OwnerEpoch>,
}

/// Where a session is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Place {
    /// In no zone: the open leg is the session's own.
    Nowhere,
    /// On its way into a zone.
    Joining(Box<Joining>),
    /// In a zone.
    In(ZoneId),
}

/// A session.
pub struct SessionCore {
    id: SessionId,
    player: PlayerId,
    /// The player that its key or secret would be alone: another one where that belongs to an account.
    credential: PlayerId,
    identity: Identity,
    /// Which connection may speak.
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
    /// The object its player controls.
    avatar: Option<ObjectId>,
    latency: Latency,
    /// Runs once a drop, before the hold starts.
    disconnect_callback: Option<u64>,
    /// It is on its way out.
    ending: Option<EndCause>,
    /// Nothing of it is left anywhere else: its scope is being deleted.
    is_over: bool,
    began: WallTime,
    /// When its newest token was confirmed.
    confirmed_at: Time,
    timeline: Timeline,
    /// Open calls from outside zones.
    calls: Option<Box<Calls>>,
    /// What waits for the session's commits.
    gate: Gate<AfterCommit>,
    /// While it was in no zone it did not take a numbered frame, and asks for it once it takes one.
    owes_resend: bool,
    /// Up to this number its client has been told what was lost.
    lost_known: u64,
    /// The token of the last Welcome to a return, and the number up to which that told of losses.
    lost_told: Option<(TokenNumber, u64)>,
    /// Its zone waits for an answer of its peer.
    zone_awaits: bool,
    /// Its zone was lost, and its client has not been told yet.
    zone_lost: bool,
    /// Rolled back: whatever position its client names may be one of a stream that is gone. Until the client
    /// has acknowledged something said since, every return is a resync.
    history: History,
    /// The row that says so is not up to date.
    history_dirty: bool,
    /// The stay that it joined again after a crash, in a zone that keeps nothing back: its client may have
    /// heard of that stay before, and those numbers are given to other messages now.
    rejoined_stay: Option<u32>,
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
            place: Place::Nowhere,
            leg: Leg::first(1),
            inbound: Inbound::default(),
            downstream: Downstream::new(),
            hold,
            serializer: Serializer::Protobuf,
            flags: Flags::default(),
            permissions: 0,
            data: Bytes::new(),
            avatar: None,
            latency: Latency::default(),
            disconnect_callback: None,
            ending: None,
            is_over: false,
            began,
            confirmed_at: Time::ZERO,
            timeline: Timeline::default(),
            calls: None,
            gate: Gate::new(ScopeId::Session(id)),
            owes_resend: false,
            lost_known: 0,
            lost_told: None,
            zone_awaits: false,
            zone_lost: false,
            history: History::Whole,
            history_dirty: false,
            rejoined_stay: None,
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
        if !self.is_over {
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
