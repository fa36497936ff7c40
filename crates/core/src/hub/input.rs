//! What the hub is given: what connections, zones, the store and the directory say, and what is asked from outside.

use rejoin_wire::v1::CloseCode;

use super::{AccountProof, AskId, Command};
use crate::connection::{FromConnection, Spent};
use crate::exchange::ToHub;
use crate::guard::Origin;
use crate::id::{ConnectionId, OwnerEpoch, Revision, ZoneId};
use crate::scope::ScopeId;
use crate::seat::{SeatRefusal, SeatRequest};
use crate::session::Serializer;
use crate::time::WallTime;

/// What the hub is given.
#[derive(Debug)]
pub enum HubInput {
    /// A transport link is up. Ids are never used twice.
    Opened {
        /// The id that the driver chose for it.
        connection: ConnectionId,
        /// How its frames are written.
        serializer: Serializer,
        /// From where; none: from within, and no address is charged for it.
        origin: Option<Origin>,
        /// Nobody on the way can read it: told as a flag of its session.
        is_encrypted: bool,
    },
    /// Others can send in the name of this connection: what breaks the rules on it is no violation of
    /// its address.
    Spoofable(ConnectionId),
    /// What a connection says.
    FromConnection(ConnectionId, FromConnection),
    /// A transport link is gone.
    Closed {
        /// The connection, which the hub forgets with this input.
        connection: ConnectionId,
        /// Why, where the transport ended it itself; none: the peer is just gone.
        code: Option<CloseCode>,
        /// The final state of its budgets, which its player's next connection starts from.
        spent: Spent,
    },
    /// Whether a signature is good.
    Verified {
        /// The connection that asked.
        connection: ConnectionId,
        /// The `ask` of [`HubOutput::Verify`](super::HubOutput::Verify); any other is ignored.
        ask: AskId,
        /// Whether it is good.
        good: bool,
    },
    /// The game's answer whether a player may come in.
    Admission {
        /// The connection that asked.
        connection: ConnectionId,
        /// The `ask` of [`HubOutput::AskAdmission`](super::HubOutput::AskAdmission); any other is ignored.
        ask: AskId,
        /// Let in, or the reason why not.
        verdict: Result<(), String>,
    },
    /// What a login has proven of an account.
    Account {
        /// The connection that asked.
        connection: ConnectionId,
        /// The `ask` of [`HubOutput::CheckAccount`](super::HubOutput::CheckAccount); any other is ignored.
        ask: AskId,
        /// What the login has proven.
        proof: AccountProof,
    },
    /// A scope is committed up to this revision.
    Committed(ScopeId, Revision),
    /// A zone's message.
    FromZone(ZoneId, OwnerEpoch, ToHub),
    /// Something from outside: the embedding game, an administrator.
    Command {
        /// Repeated in the answer.
        ticket: u64,
        /// What to do, and with which session, zone or player.
        command: Command,
    },
    /// The directory's word on a seat.
    Seat(SeatRequest, Result<(), SeatRefusal>),
    /// The wall clock, now and then.
    Wall(WallTime),
    /// The store has no room, so nothing is committed until it has: true; or it has room again.
    StoreFull(bool),
    /// How many inputs wait for the hub at this instant. Told by the driver when it changes.
    Waiting(usize),
    /// Time has passed. All input that waits is fed before this.
    Wake,
    /// The process is about to end: everybody is told, and nobody is let in any more.
    Shutdown,
}
