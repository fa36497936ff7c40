//! A player's presence on the service. It outlives connections; its scope alone decides where it
//! is. Connections, epochs and deadlines are the hub's business; this is what one session is and
//! how it looks in the store.

mod downstream;
pub mod row;
pub mod token;

use std::time::Duration;

use bytes::Bytes;

pub use self::downstream::Downstream;
pub(crate) use self::downstream::Outgoing;
use crate::call::Calls;
use crate::event::EndCause;
use crate::exchange::{Hold, ZoneName};
use crate::gate::Gate;
use crate::guard::Origin;
use crate::hub::{AfterCommit, Spent, Word};
use crate::id::{ConnectionId, Leg, ObjectId, OwnerEpoch, PlayerId, SessionEpoch, ZoneId};
use crate::scope::History;
use crate::seat::Seating;
use crate::stream::Inbound;
use crate::time::{Time, WallTime};
use crate::timeline::Timeline;

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

/// What a hold needs to know of the time its player is away. Not kept over a restart, and neither is
/// what bars an address.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Absence {
    /// Where its last connection came from.
    pub(crate) seen_from: Option<Origin>,
    /// When the hold began.
    pub(crate) since: Time,
    /// For how long of it the hold stood still, because its address was barred.
    pub(crate) stood_still: Duration,
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
pub struct Session {
    /// Whose.
    pub player: PlayerId,
    /// The player that its key or secret would be alone: another one where that belongs to an account.
    pub credential: PlayerId,
    /// How the player is known.
    pub identity: Identity,
    /// Which connection may speak.
    pub epoch: SessionEpoch,
    /// What opens it again.
    pub tokens: token::Tokens,
    /// Who is there.
    pub presence: Presence,
    /// Where it is.
    pub place: Place,
    /// The open leg, if it is in no zone; its stay in any case.
    pub leg: Leg,
    /// What is consumed of the client's stream, while the session is in no zone.
    pub(crate) inbound: Inbound,
    /// What the session owes its client, apart from its zone.
    pub(crate) downstream: Downstream,
    /// How long it is held where no zone says otherwise.
    pub hold: Hold,
    /// How its messages are written.
    pub serializer: Serializer,
    /// Switches.
    pub flags: Flags,
    /// What it may do, as bits that the game defines.
    pub permissions: u32,
    /// Arbitrary data of the game.
    pub data: Bytes,
    /// The object its player controls.
    pub avatar: Option<ObjectId>,
    /// Measured round trips.
    pub latency: Latency,
    /// Runs once a drop, before the hold starts.
    pub disconnect_callback: Option<u64>,
    /// It is on its way out.
    pub ending: Option<EndCause>,
    /// When it began.
    pub began: WallTime,
    /// Where its player was last, and how its hold runs since.
    pub absence: Absence,
    /// When its newest token was confirmed.
    pub confirmed_at: Time,
    /// What happened to it.
    pub timeline: Timeline,
    /// Open calls from outside zones.
    pub calls: Option<Box<Calls>>,
    /// What waits for the session's commits.
    pub gate: Gate<AfterCommit>,
    /// While it was in no zone it did not take a numbered frame, and asks for it once it takes one.
    pub owes_resend: bool,
    /// Up to this number its client has been told what was lost.
    pub lost_known: u64,
    /// The token of the last Welcome to a return, and the number up to which that told of losses.
    pub lost_told: Option<(token::TokenNumber, u64)>,
    /// Its zone waits for an answer of its peer.
    pub zone_awaits: bool,
    /// Its zone was lost, and its client has not been told yet.
    pub zone_lost: bool,
    /// Rolled back: whatever position its client names may be one of a stream that is gone. Until the client
    /// has acknowledged something said since, every return is a resync.
    pub history: History,
    /// The row that says so is not up to date.
    pub history_dirty: bool,
    /// The stay that it joined again after a crash, in a zone that keeps nothing back: its client may have
    /// heard of that stay before, and those numbers are given to other messages now.
    pub rejoined_stay: Option<u32>,
    /// What its player has spent, from connection to connection.
    pub spent: Spent,
    /// Messages from outside the game that its zone has not committed yet.
    pub words: Vec<Word>,
    /// The seat it is in a Game with, and those the directory still has to hear of.
    pub seats: Vec<Seating>,
}

impl Session {
    /// Notes whether something that was told to the client may be gone. True: that is news.
    pub fn set_history(&mut self, history: History) -> bool {
        let is_news = self.history != history;
        self.history = history;
        self.history_dirty |= is_news;
        is_news
    }

    /// Whether a position that its client names may be of a stream that is gone.
    #[must_use]
    pub fn is_rolled_back(&self, leg: Leg) -> bool {
        self.history == History::RolledBack || self.rejoined_stay == Some(leg.stay)
    }

    /// The highest number consumed of the client's stream, while the session is in no zone.
    #[must_use]
    pub fn applied(&self) -> u64 {
        self.inbound.applied()
    }

    /// The connection that speaks for it.
    #[must_use]
    pub fn connection(&self) -> Option<ConnectionId> {
        match self.presence {
            Presence::Here(connection) => Some(connection),
            _ => None,
        }
    }

    /// Whether it lives in the server and is given values instead of frames.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.serializer == Serializer::Native
    }

    /// The zone it is in or on its way into.
    #[must_use]
    pub fn zone(&self) -> Option<ZoneId> {
        match &self.place {
            Place::Nowhere => None,
            Place::Joining(joining) => Some(joining.zone),
            Place::In(zone) => Some(*zone),
        }
    }

    /// Where a client stands that has heard the `Parted` of the open leg.
    #[must_use]
    pub fn parted_to(&self) -> (Leg, u64) {
        (Leg::first(self.leg.stay.saturating_add(1)), 0)
    }

    /// Its client has shown that it has a token. True: some were retired by that.
    pub(crate) fn confirm(&mut self, number: token::TokenNumber) -> bool {
        if let Some((_, through)) = self.lost_told.take_if(|(told, _)| *told <= number) {
            self.lost_known = self.lost_known.max(through);
        }
        self.tokens.confirm(number)
    }

    /// Whether it is held.
    #[must_use]
    pub fn is_held(&self) -> bool {
        matches!(self.presence, Presence::Away(_))
    }
}
