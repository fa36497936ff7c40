//! What comes out of a client: work for its driver, and events for the game.

use std::fmt;

use bytes::Bytes;
use rejoin_wire::v1::{CloseCode, Latest, NoticeCode, PartCause, RefusalCode, RungReason, ZoneRef};

use crate::error::Violation;
use crate::identity::{ResumeState, Secret};

/// Work for the driver, to be done in this order.
pub enum Output {
    /// Open a connection, and report `opened` or `closed`. What still comes from earlier ones is
    /// to be dropped, not reported.
    Connect {
        /// Where; empty: at the address the game was configured with.
        addresses: Vec<String>,
    },
    /// Send this frame.
    Send(Bytes),
    /// Close the connection or give up opening it; nothing more of it is to be reported.
    Close(Option<CloseCode>),
    /// Store this for the next start of the process, and only then go on with later outputs: the
    /// next frame tells the server that older tokens are not needed any more.
    StoreToken(ResumeState),
    /// Store the guest's secret for ever: it is the player. Only then go on with later outputs.
    StoreSecret(Secret),
    /// The stored session has ended or its token is worthless: forget it.
    ForgetToken,
    /// Tell the game.
    Event(Event),
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Output::Connect { addresses } => {
                f.debug_struct("Connect").field("addresses", addresses).finish()
            }
            Output::Send(frame) => write!(f, "Send({} bytes)", frame.len()),
            Output::Close(code) => f.debug_tuple("Close").field(code).finish(),
            Output::StoreToken(state) => f.debug_tuple("StoreToken").field(state).finish(),
            Output::StoreSecret(_) => f.write_str("StoreSecret(..)"),
            Output::ForgetToken => f.write_str("ForgetToken"),
            Output::Event(event) => event.fmt(f),
        }
    }
}

/// One call of the game: a send, a request, a join, a part or an answer. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SendId(pub u64);

/// How much survived.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// Nothing was lost, repeated or reordered, in both directions.
    Replayed,
    /// The same session; [`Event::Resync`] brings the whole state.
    Resynced,
    /// Another session than before, or the first one; streams of an earlier one do not go on.
    New,
}

/// How a request ended without a reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestEnd {
    /// It may have been applied; the answer is lost.
    OutcomeUnknown,
    /// It never left this client.
    NotSent,
    /// It was consumed and not applied.
    Refused(RefusalCode),
}

/// What the game is told.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// The server let the client in.
    Connected {
        /// How much survived.
        rung: Rung,
        /// Why this rung.
        reason: RungReason,
        /// The session; another one than before only on [`Rung::New`] or after a login.
        session: u64,
        /// The player's id.
        player: [u8; 16],
        /// The zone the session is in.
        zone: Option<ZoneRef>,
        /// A login found this session held or live and attached to it.
        found: bool,
        /// How many acknowledged messages of this client the server has lost again.
        lost_upstream: u64,
        /// Why the session before this one could not be resumed.
        after: Option<CloseCode>,
        /// What the server took of the capabilities that were offered.
        capabilities: Vec<String>,
    },
    /// A live connection is gone.
    Disconnected {
        /// Why, if it is known.
        code: Option<CloseCode>,
    },
    /// The client will try again by itself.
    Reconnecting {
        /// Which attempt since the last connection that lived a while, from 1.
        attempt: u32,
        /// In how many milliseconds.
        in_ms: u64,
    },
    /// The client will not try again by itself.
    Stopped {
        /// Why; none when the game asked for it.
        code: Option<CloseCode>,
        /// The server's words for it.
        text: String,
    },
    /// Another device or process speaks for the session now.
    TakenOver,
    /// The player has left for good, as asked.
    Left,
    /// The session is in a zone.
    Joined {
        /// The join; none after a transfer, or if it is not among the last 1,024 sends.
        to: Option<SendId>,
        /// The zone, by kind and name; for a Game these are its fleet and its id.
        zone: ZoneRef,
        /// What the zone answers to the join; at most 64 KiB unless the limits of the client say otherwise.
        payload: Bytes,
        /// All latest values of the zone.
        latest: Vec<Latest>,
    },
    /// The session is in no zone any more.
    Parted {
        /// The part; none if this client did not ask, or if it is not among its last 1,024 sends.
        to: Option<SendId>,
        /// Why the zone let the session go; `Unspecified` for a cause that this version does not know.
        cause: PartCause,
        /// The reason for people, at most 512 bytes; empty where the cause says all.
        text: String,
    },
    /// A send was consumed and not applied.
    Refused {
        /// The send; none after a transfer, or if it is not among the last 1,024 sends.
        to: Option<SendId>,
        /// Why it was not applied; `Unspecified` for a code that this version does not know.
        code: RefusalCode,
        /// The reason for people, at most 512 bytes; empty where the code says all.
        text: String,
    },
    /// An ordered message.
    Message {
        /// The message as the game code of the server wrote it; its format is the game's own.
        payload: Bytes,
    },
    /// The newest value of a key; none: it has no value any more.
    Latest {
        /// The key, never empty; at most 64 bytes unless the limits of the client say otherwise.
        key: String,
        /// The value, or none once the zone has cleared the key.
        payload: Option<Bytes>,
    },
    /// An unreliable message.
    Unreliable {
        /// The message as the game code of the server wrote it. One that was sent before a join, a part or a
        /// resync is dropped.
        payload: Bytes,
    },
    /// A request was answered.
    Reply {
        /// The request, as the call that made it returned it; no other event ends it.
        request: SendId,
        /// The reply as the game code of the server wrote it; it may be empty.
        payload: Bytes,
    },
    /// A request ended without an answer.
    RequestEnded {
        /// The request, as the call that made it returned it; no reply follows.
        request: SendId,
        /// Whether the server may have applied it, never saw it, or refused it.
        how: RequestEnd,
    },
    /// The server asks; [`Client::answer`](crate::Client::answer) is due within the deadline.
    Call {
        /// The server's number for it, to be handed to [`Client::answer`](crate::Client::answer).
        call: u64,
        /// The question as the game code of the server wrote it; its format is the game's own.
        payload: Bytes,
        /// Milliseconds until the server stops waiting, counted from when it asked.
        deadline_ms: u32,
    },
    /// The whole state: what the game knew before is worthless.
    Resync {
        /// The zone's state, or the session's own outside zones.
        snapshot: Bytes,
        /// All latest values.
        latest: Vec<Latest>,
        /// The zone the session is in.
        zone: Option<ZoneRef>,
        /// Why the stream could not go on; `Unspecified` for a reason that this version does not know.
        reason: RungReason,
        /// How many acknowledged messages of this client the server has lost again.
        lost_upstream: u64,
    },
    /// These sends were not requests, are gone, and may or may not have been applied.
    SendsLost {
        /// Which, in the order in which they were made.
        sends: Vec<SendId>,
    },
    /// The server tells, and asks nothing.
    Notice {
        /// What the server does: it reads this client more slowly, waits for its disk, or goes on after that.
        code: NoticeCode,
        /// A sentence for people, at most 512 bytes; empty where the code says all.
        text: String,
        /// For how many milliseconds; 0 when the server does not know.
        wait_ms: u32,
    },
    /// The server broke the protocol; the connection was closed for it.
    Violation(Violation),
    /// No connection could be opened; [`Event::Reconnecting`] says when the driver tries again. Only drivers
    /// emit this event.
    DialFailed {
        /// The address that was dialled and what went wrong, for people.
        text: String,
    },
    /// What leads back after the end of the program could not be stored, read or forgotten. The
    /// game goes on; the next start may not find its way. Told by a driver.
    StorageFailed {
        /// The name of the storage slot: `key`, `secret`, `session` or `server-key`.
        slot: &'static str,
        /// What went wrong, in words.
        text: String,
    },
}
