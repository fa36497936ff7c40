//! What the hub and the zones say to each other. Machines share nothing: these messages are all
//! there is between them. Order holds between two machines and not across; a crash loses what is
//! on the way, so every message that matters is said again from what is committed.
//!
//! Each message travels with the owner epoch of the zone's incarnation, and both ends drop those
//! of another one.

mod from_zone;

use std::any::Any;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{PartCause, RungReason, Up, Welcome, down};

use crate::id::{CallId, ConnectionId, Leg, PlayerId, SessionEpoch, SessionId};
use crate::time::millis_u32;

pub use self::from_zone::{Departed, ToHub, ToSession};

/// A message as a value, for sessions that live in the server and need no encoding.
pub type Native = Arc<dyn Any + Send + Sync>;

/// What a connection must present to speak to a zone: itself and the epoch it was let in with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Link {
    /// The connection's id, which no later connection gets.
    pub connection: ConnectionId,
    /// The session's epoch on it.
    pub epoch: SessionEpoch,
}

/// Where the client's stream goes on, as far as the hub can tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ResumeFrom {
    /// The client is in this stay and names the last number it has.
    Position(Leg, u64),
    /// The client has, or is being given, everything before this stay.
    Start,
    /// The client cannot go on from where it was.
    Lost(RungReason),
    /// The client names this leg, and the stream it means may be one that is gone.
    RolledBack(Leg),
    /// The client has stayed connected.
    InPlace(InPlace),
}

/// What is known of a client that has stayed connected while its zone started again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct InPlace {
    /// The last number that it has acknowledged on this connection, with its leg.
    pub acked: Option<(Leg, u64)>,
    /// The last number that the zone had sent it, with its leg; none where the zone could not say it.
    pub sent: Option<(Leg, u64)>,
}

/// How long a dropped player is waited for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Hold {
    /// For this long after a drop, whether or not a match is running.
    Timed(Duration),
    /// Until the running match ends; so long while none is running.
    UntilMatchEnds(Duration),
    /// Not at all: a drop ends the session.
    None,
}

impl Hold {
    /// What clients are told: how long they can count on. Nothing where there is no hold.
    #[must_use]
    pub fn as_millis(self) -> u32 {
        match self {
            Self::Timed(while_) | Self::UntilMatchEnds(while_) => millis_u32(while_),
            Self::None => 0,
        }
    }
}

/// Which zone, by the names people use.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct ZoneName {
    /// The kind of zone: which game code runs it.
    pub kind: String,
    /// Which one of that kind.
    pub name: String,
}

impl ZoneName {
    /// The zone of this kind and name.
    #[must_use]
    pub fn new(kind: impl Into<String>, name: impl Into<String>) -> Self {
        Self { kind: kind.into(), name: name.into() }
    }
}

/// A session that asks to be admitted to a zone.
#[derive(Clone, Debug)]
pub struct Admit {
    /// The session that asks to be let in.
    pub session: SessionId,
    /// Which stay: with the session, the id of this admission; a second one changes nothing.
    pub stay: u32,
    /// The session's player, who gets a record in the zone's roster.
    pub player: PlayerId,
    /// The session's present epoch. Frames with another are ignored until an [`Attach`] raises it.
    pub epoch: SessionEpoch,
    /// The live connection, if there is one.
    pub link: Option<ConnectionId>,
    /// The session lives in the server and is given values instead of frames.
    pub native: bool,
    /// The highest number consumed of the client's stream.
    pub applied: u64,
    /// The number of the Join, 0 after a transfer.
    pub to: u64,
    /// A number that made the zone panic before this admission was committed.
    pub poisoned: Option<u64>,
    /// What the client, or the zone that transferred it, sends along.
    pub payload: Bytes,
    /// The session's game data.
    pub data: Bytes,
}

/// A connection that takes its place in a zone.
#[derive(Clone, Debug)]
pub struct Attach {
    /// The session that must be a member already.
    pub session: SessionId,
    /// The stay that the member must be in; otherwise the zone answers [`ToSession::Missing`].
    pub stay: u32,
    /// The connection and the epoch that fences all earlier ones.
    pub link: Link,
    /// Where the downward stream goes on.
    pub from: ResumeFrom,
    /// The rest of earlier legs, to be said first.
    pub backlog: Vec<SharedFrame>,
    /// The lowest number the client still holds.
    pub oldest_unacked: u64,
    /// Up to this number it has been told what was lost.
    pub lost_known: u64,
    /// The Welcome but for what only the zone knows; none for a connection that was welcomed before and goes
    /// on with an incarnation of the zone that is new.
    pub welcome: Option<Box<Welcome>>,
}

/// From the hub to a zone.
#[derive(Clone, Debug)]
pub enum ToZone {
    /// Let this session in.
    Admit(Box<Admit>),
    /// A connection took over this member.
    Attach(Box<Attach>),
    /// A numbered frame. The zone takes it only from the connection that has its place there, in that stay.
    Up {
        /// The session whose client sent the frame.
        session: SessionId,
        /// The epoch of its connection. The zone ignores any other than the member's.
        epoch: SessionEpoch,
        /// The stay that the connection was routed for; a frame for another stay is ignored.
        stay: u32,
        /// The frame. The zone ignores a number that it has consumed and asks for a skipped one again.
        up: Up,
    },
    /// An unreliable message.
    Loose {
        /// The session whose client sent the message.
        session: SessionId,
        /// The epoch of its connection; a message of any other is dropped.
        epoch: SessionEpoch,
        /// The leg it was sent in; the zone drops it unless the member is in that leg.
        leg: Leg,
        /// The message, dropped without an answer if the game cannot decode it.
        payload: Bytes,
    },
    /// The client has everything up to here.
    Ack {
        /// The session whose client acknowledges.
        session: SessionId,
        /// The epoch of its connection; an acknowledgement of any other is ignored.
        epoch: SessionEpoch,
        /// The leg that the number belongs to.
        leg: Leg,
        /// The last number received. One that was never sent closes the connection as `AckAhead`.
        seq: u64,
    },
    /// A native session sends a message to the game.
    Native {
        /// The session, ignored unless it is a native member.
        session: SessionId,
        /// The message. If it is not of the zone's own type, the session gets `BadPayload`.
        message: Native,
    },
    /// A native session answers a call of the zone.
    Answer {
        /// The session, ignored unless it is a native member.
        session: SessionId,
        /// The call, by the zone's number. If it is not open, the answer is counted and dropped.
        call: CallId,
        /// The answer. If it is not of the zone's own type, the call fails as `BadPayload`.
        message: Native,
    },
    /// Say this to these members, from outside the game. It may come again after a fault of the zone;
    /// who has heard it does not hear it twice.
    Word {
        /// The hub's number of it; a member hears these in their order.
        number: u64,
        /// The recipients, in the order of their ids; native and leaving members are skipped.
        to: Vec<SessionId>,
        /// The body of the numbered frame that they get.
        body: down::Body,
    },
    /// Move a member to another zone, as the game's own `transfer` does.
    Transfer {
        /// The session to move.
        session: SessionId,
        /// The stay that it must still be in; otherwise nothing happens.
        stay: u32,
        /// The zone it goes to, which need not be open yet.
        to: ZoneName,
        /// Bytes for the game of the zone it goes to.
        payload: Bytes,
    },
    /// The member's connection is gone.
    Dropped {
        /// The session that lost its connection.
        session: SessionId,
        /// The stay that it must still be in; otherwise nothing happens.
        stay: u32,
        /// The epoch that was lost: a later one is not meant.
        epoch: SessionEpoch,
    },
    /// The member must go.
    Part {
        /// The session that must leave.
        session: SessionId,
        /// The stay to end. If it is not a member in this stay, the zone answers [`ToSession::Missing`].
        stay: u32,
        /// The cause that the client's `Parted` and the game's `on_part` name.
        cause: PartCause,
    },
    /// The session has committed what it took over: the zone may forget the leaver.
    Forget {
        /// The session that has committed.
        session: SessionId,
        /// The stay that it has taken over; a member in a later stay is left alone.
        stay: u32,
    },
    /// End this zone.
    End,
}

impl ToZone {
    /// Whom a fault is charged to that comes while this is heard, and the number that caused it.
    #[must_use]
    pub fn culprit(&self) -> Option<(SessionId, u64)> {
        match self {
            Self::Admit(admit) => Some((admit.session, admit.to)),
            Self::Up { session, up, .. } => Some((*session, up.seq)),
            _ => None,
        }
    }
}
