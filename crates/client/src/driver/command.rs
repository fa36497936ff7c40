//! What a handle asks of the task, and how it is answered. Knows the client's calls, no sockets.

use bytes::Bytes;
use tokio::sync::oneshot;

use super::error::RequestError;
use crate::client::Client;
use crate::error::SendError;
use crate::event::SendId;
use crate::time::Time;

/// Where the reply to a request goes.
pub(super) type ReplyTo = oneshot::Sender<Result<Bytes, RequestError>>;

/// A command and where its answer goes. An answer that nobody waits for any more is dropped.
pub(super) enum Command {
    /// Something that the server shall hear.
    Send(Say, oneshot::Sender<Result<SendId, SendError>>),
    /// An unreliable message.
    SendUnreliable(Bytes, oneshot::Sender<Result<(), SendError>>),
    /// A request: its payload, where its reply goes, and where its id goes once the client has taken it.
    Request(Bytes, ReplyTo, oneshot::Sender<Result<SendId, SendError>>),
    /// A word on the connection itself.
    Steer(Steer),
}

/// What is numbered and kept until the server has it.
pub(super) enum Say {
    Join { kind: String, name: String, create: bool, payload: Bytes },
    JoinGame { fleet: String, game: String, ticket: String, payload: Bytes },
    Part,
    Message(Bytes),
    Latest { key: String, payload: Bytes },
    Answer { call: u64, payload: Bytes },
}

/// What the game wants of the connection.
#[derive(Clone, Copy)]
pub(super) enum Steer {
    Leave,
    Cancel,
    Retry,
    Hasten,
    StartOver,
}

impl Say {
    pub(super) fn to(self, client: &mut Client) -> Result<SendId, SendError> {
        match self {
            Say::Join { kind, name, create, payload } => client.join(kind, name, create, payload),
            Say::JoinGame { fleet, game, ticket, payload } => {
                client.join_game(fleet, game, ticket, payload)
            }
            Say::Part => client.part(),
            Say::Message(payload) => client.send(payload),
            Say::Latest { key, payload } => client.send_latest(key, payload),
            Say::Answer { call, payload } => client.answer(call, payload),
        }
    }
}

impl Steer {
    pub(super) fn to(self, now: Time, client: &mut Client) {
        match self {
            Steer::Leave => client.leave(now),
            Steer::Cancel => client.cancel(now),
            Steer::Retry => client.retry(now),
            Steer::Hasten => client.hasten(now),
            Steer::StartOver => client.connect_fresh(now),
        }
    }
}
