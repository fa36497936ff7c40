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
    /// Another session.
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
        /// The join, unless it was a transfer.
        to: Option<SendId>,
        /// Which zone.
        zone: ZoneRef,
        /// What the game sends along.
        payload: Bytes,
        /// All latest values of the zone.
        latest: Vec<Latest>,
    },
    /// The session is in no zone any more.
    Parted {
        /// The part, if the client asked.
        to: Option<SendId>,
        /// Why.
        cause: PartCause,
        /// The reason for people.
        text: String,
    },
    /// A send was consumed and not applied.
    Refused {
        /// Which; none after a transfer, and for a send that is long forgotten.
        to: Option<SendId>,
        /// Why.
        code: RefusalCode,
        /// The reason for people.
        text: String,
    },
    /// An ordered message.
    Message {
        /// What.
        payload: Bytes,
    },
    /// The newest value of a key; none: it has no value any more.
    Latest {
        /// Which key.
        key: String,
        /// What.
        payload: Option<Bytes>,
    },
    /// An unreliable message.
    Unreliable {
        /// What.
        payload: Bytes,
    },
    /// A request was answered.
    Reply {
        /// Which.
        request: SendId,
        /// The answer.
        payload: Bytes,
    },
    /// A request ended without an answer.
    RequestEnded {
        /// Which.
        request: SendId,
        /// How.
        how: RequestEnd,
    },
    /// The server asks; [`Client::answer`](crate::Client::answer) is due within the deadline.
    Call {
        /// Which call.
        call: u64,
        /// The question.
        payload: Bytes,
        /// Within how many milliseconds.
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
        /// Why.
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
        /// What.
        code: NoticeCode,
        /// In words.
        text: String,
        /// For how long, if it knows.
        wait_ms: u32,
    },
    /// The server broke the protocol; the connection was closed for it.
    Violation(Violation),
    /// Nobody could be reached; [`Event::Reconnecting`] says when it is tried again. Told by a
    /// driver.
    DialFailed {
        /// Where, and what went wrong, in words.
        text: String,
    },
    /// What leads back after the end of the program could not be stored, read or forgotten. The
    /// game goes on; the next start may not find its way. Told by a driver.
    StorageFailed {
        /// What: `key`, `secret` or `session`.
        slot: &'static str,
        /// What went wrong, in words.
        text: String,
    },
}
