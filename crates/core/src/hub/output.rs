//! What the hub gives out, and where it counts what it did.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::CloseCode;

use super::{Answer, AskId, HubLoad};
use crate::connection::ToConnection;
use crate::event::Event;
use crate::exchange::{ToZone, ZoneName};
use crate::guard::Origin;
use crate::id::{ConnectionId, OwnerEpoch, PlayerId, SessionId, ZoneId};
use crate::scope::Batch;
use crate::seat::{GameNews, SeatRequest};
use crate::zone::Delivery;

/// What the hub gives out, to be carried out in order.
#[derive(Debug)]
pub enum HubOutput {
    /// Put this on a connection.
    Send {
        /// The connection; if it is gone, the driver drops the frame.
        connection: ConnectionId,
        /// The frame; several connections may share one encoding.
        frame: SharedFrame,
    },
    /// Close a connection once everything before this is on it.
    Close {
        /// The connection to close; one that is gone is ignored.
        connection: ConnectionId,
        /// The code for transports that carry one.
        code: CloseCode,
    },
    /// Acknowledge what a client sent up to this number: its connection is told before the frame is put on it.
    Applied {
        /// The connection of the client whose frames were applied.
        connection: ConnectionId,
        /// The highest number of the client's stream that is applied.
        seq: u64,
    },
    /// Tell a connection. It hears of it before any frame that comes later.
    ToConnection(ConnectionId, ToConnection),
    /// Both sides of a connection may compress frames from here on. Comes before its Welcome.
    Compress {
        /// The connection whose hello asked for compression.
        connection: ConnectionId,
        /// The driver leaves shorter frames as they are.
        bytes_min: u32,
    },
    /// Refuse new connections from an address for a while, before anything is read from them.
    Bar {
        /// The address or network that has broken the rules too often. Its open connections stay.
        origin: Origin,
        /// How long the address is refused, from now.
        wait: Duration,
    },
    /// Is this an Ed25519 signature of this text by this key?
    Verify {
        /// The connection that asks.
        connection: ConnectionId,
        /// Repeated in the answer.
        ask: AskId,
        /// The key that the hello named; it is not trusted before the answer.
        public_key: [u8; 32],
        /// The text that the signature must cover; the hub builds it from the hello.
        text: Vec<u8>,
        /// The signature as the hello carried it.
        signature: [u8; 64],
    },
    /// Is there a password or a token in this that proves an account?
    CheckAccount {
        /// The connection that asks.
        connection: ConnectionId,
        /// Repeated in the answer.
        ask: AskId,
        /// What the client sent along.
        payload: Bytes,
    },
    /// May this player come in?
    AskAdmission {
        /// The connection that asks.
        connection: ConnectionId,
        /// Repeated in the answer.
        ask: AskId,
        /// The player that the hello has proven to be.
        player: PlayerId,
        /// What the client sent along.
        payload: Bytes,
    },
    /// Run a session's disconnect callback.
    RunCallback {
        /// The session that has just lost its connection.
        session: SessionId,
        /// The number that the session's properties name; the driver hands it to the game.
        callback: u64,
    },
    /// Tell a native session.
    Native {
        /// The session, which lives in this server.
        session: SessionId,
        /// What it gets, as a value instead of a frame.
        delivery: Delivery,
    },
    /// Tell a zone.
    ToZone(ZoneId, OwnerEpoch, ToZone),
    /// Open a zone's scope and start its machine.
    OpenZone(Box<crate::zone::ZoneSpec>),
    /// The zone's machine is not needed any more.
    DropZone(ZoneId),
    /// Ask the directory. No answer lets nobody in.
    Seat(SeatRequest),
    /// Tell the host of a Game what became of its zone.
    Game(ZoneName, GameNews),
    /// Commit this batch of one scope; the driver answers with `HubInput::Committed`.
    Commit(Batch),
    /// Tell whoever listens.
    Event(Event),
    /// Tell the operator.
    Warn(Warning),
    /// The answer to a command.
    Answer {
        /// The command's ticket.
        ticket: u64,
        /// The result, given once what it rests on is committed.
        answer: Answer,
    },
}

/// What an operator should hear of.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Warning {
    /// A client shows what this session once gave out and does not know: the store holds an earlier state than
    /// it held before. Told once for all sessions of a start.
    StoreWentBack {
        /// The first session that showed it.
        session: SessionId,
    },
    /// The wall clock is so far behind what it was that it must have been wrong before.
    ClockWentBack {
        /// How far the reading lies behind; a small step back is waited out without a warning.
        by: Duration,
    },
}

/// Figures of the hub; those that are called totals only grow.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct HubCounts {
    /// Sessions that have begun.
    pub sessions_total: u64,
    /// Returns with nothing lost.
    pub replayed_total: u64,
    /// Returns with the whole state.
    pub resynced_total: u64,
    /// Connections that gave way to a newer one.
    pub takeovers_total: u64,
    /// Retired tokens that were shown.
    pub retired_tokens_total: u64,
    /// Answers to no open call.
    pub unknown_answers_total: u64,
    /// Returns with a valid token that were told to wait.
    pub returns_deferred_total: u64,
    /// Those among them that were told so while the load was below its bound.
    pub returns_deferred_below_bound_total: u64,
    /// The load when a return was last told to wait.
    pub deferred_at: HubLoad,
}
