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
    /// The connection.
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
    /// So long.
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
    /// Which session.
    pub session: SessionId,
    /// Which stay: with the session, the id of this admission; a second one changes nothing.
    pub stay: u32,
    /// Whose session it is.
    pub player: PlayerId,
    /// The session's epoch and live connection, if it has one.
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
    /// Which session.
    pub session: SessionId,
    /// Its stay.
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
        /// Who.
        session: SessionId,
        /// With which epoch.
        epoch: SessionEpoch,
        /// In which stay.
        stay: u32,
        /// What.
        up: Up,
    },
    /// An unreliable message.
    Loose {
        /// Who.
        session: SessionId,
        /// With which epoch.
        epoch: SessionEpoch,
        /// The leg it was said in.
        leg: Leg,
        /// What.
        payload: Bytes,
    },
    /// The client has everything up to here.
    Ack {
        /// Who.
        session: SessionId,
        /// With which epoch.
        epoch: SessionEpoch,
        /// In which leg.
        leg: Leg,
        /// Up to which number.
        seq: u64,
    },
    /// A native session says something.
    Native {
        /// Who.
        session: SessionId,
        /// What; of the zone's own message type.
        message: Native,
    },
    /// A native session answers a call of the zone.
    Answer {
        /// Who.
        session: SessionId,
        /// Which call.
        call: CallId,
        /// What; of the zone's own message type.
        message: Native,
    },
    /// Say this to these members, from outside the game. It may come again after a fault of the zone;
    /// who has heard it does not hear it twice.
    Word {
        /// The hub's number of it; a member hears these in their order.
        number: u64,
        /// To whom, in the order of their ids.
        to: Vec<SessionId>,
        /// What.
        body: down::Body,
    },
    /// Move a member to another zone, as the game's own `transfer` does.
    Transfer {
        /// Who.
        session: SessionId,
        /// In which stay.
        stay: u32,
        /// Where to.
        to: ZoneName,
        /// What is sent along.
        payload: Bytes,
    },
    /// The member's connection is gone.
    Dropped {
        /// Who.
        session: SessionId,
        /// In which stay.
        stay: u32,
        /// The epoch that was lost: a later one is not meant.
        epoch: SessionEpoch,
    },
    /// The member must go.
    Part {
        /// Who.
        session: SessionId,
        /// In which stay.
        stay: u32,
        /// Why.
        cause: PartCause,
    },
    /// The session has committed what it took over: the zone may forget the leaver.
    Forget {
        /// Who.
        session: SessionId,
        /// Which stay.
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
