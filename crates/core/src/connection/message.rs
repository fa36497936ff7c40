//! What a connection says to the hub and what it is told by the hub and by zones. Between a connection and one
//! of them messages keep their order; a connection that is gone loses what is on its way to it.

use std::time::Duration;

use rejoin_wire::v1::{CloseCode, Hello, Position, Up};

use super::Spent;
use crate::id::{OwnerEpoch, SessionEpoch, SessionId, ZoneId};

/// Where numbered frames of a client are consumed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Route {
    /// Nowhere yet: the session is on its way into a zone.
    Nowhere,
    /// By the session itself, which is in no zone.
    Session,
    /// By this incarnation of a zone.
    Zone(OwnerEpoch, ZoneId),
}

/// Where the frames of a client go from here on, said by whoever consumes them. What is above `applied` is
/// handed on again: whoever consumed the client's frames before takes none of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Routed {
    /// The stay of the session that this is about; what is said of an earlier one comes too late.
    pub stay: u32,
    /// The consumer of these frames; for [`Route::Nowhere`] the connection keeps them.
    pub route: Route,
    /// The highest number consumed of the client's stream.
    pub applied: u64,
}

/// To a connection.
#[derive(Clone, Debug)]
pub enum ToConnection {
    /// Its hello was accepted. Frames of its client may come once it is [`Routed`](Self::Routed).
    Attached {
        /// The session that it speaks for.
        session: SessionId,
        /// The session's epoch on this connection, which its frames to zones carry.
        epoch: SessionEpoch,
        /// What the session's player has spent on other connections.
        spent: Spent,
        /// How long until its first ping; the next follow at the heartbeat's interval.
        first_ping: Duration,
        /// The nonce of its first ping; the next count on from there.
        nonce: u64,
    },
    /// Comes before the Welcome, and whenever the client's frames are consumed elsewhere from here on.
    Routed(Routed),
    /// What is above this number was not taken and must be handed on again.
    Resend(u64),
    /// The zone of this stay runs again from its last commit: say where the client's streams are.
    NamePosition(u32),
    /// The address of the connection has sent more than it may and must wait so long; none: not any more.
    AddressWaits(Option<Duration>),
    /// Say how long ago the client sent the last message.
    NameActivity,
}

/// From a connection to the hub.
#[derive(Clone, Debug)]
pub enum FromConnection {
    /// The answer to the challenge.
    Hello(Box<Hello>),
    /// The first frame after the Welcome came: its token is stored.
    Confirmed,
    /// A numbered frame for a session that is in no zone.
    Up {
        /// The stay in which the session was when this was handed on.
        stay: u32,
        /// The frame with its number. The session ignores one that it has consumed before.
        up: Up,
    },
    /// An acknowledgement that is not for the zone.
    Ack(Position),
    /// The client has acknowledged something in this leg of the session's zone for the first time.
    ReadsLeg(u64),
    /// The answer to [`ToConnection::NamePosition`].
    Position {
        /// The stay that was asked about.
        stay: u32,
        /// The last number that the client has acknowledged in that stay, with its leg.
        acked: Option<Position>,
        /// The lowest number that the client may still hold.
        oldest_unacked: u64,
    },
    /// Messages and bytes to be charged to the address, and what the connection has spent so far.
    Sent {
        /// Messages since the last report; 0 in the report of a connection that closes itself.
        messages: u32,
        /// Bytes since then, as `FrameKind::cost` counts them.
        bytes: u32,
        /// The state of the connection's budgets, which the player's next connection starts from.
        spent: Spent,
    },
    /// How long a ping took to be answered.
    Latency(Duration),
    /// The client's last message came so long ago: the answer to [`ToConnection::NameActivity`].
    Active(Duration),
    /// The connection has closed itself.
    Severed {
        /// The close code that its Farewell carries.
        code: CloseCode,
        /// The client broke the protocol, which is counted against its address.
        is_violation: bool,
    },
}
