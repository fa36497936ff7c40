//! What a zone gives out, and what its local members are told.

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{PartCause, RefusalCode};

use crate::connection::ToConnection;
use crate::event::{EndCause, Event};
use crate::exchange::{Link, Native, ToHub, ZoneName};
use crate::id::{CallId, JobId, SessionId};
use crate::scope::Batch;

/// What a native session is told. What its zone tells keeps its order, and so does what the hub
/// tells; between the two there is none.
#[derive(Clone, Debug)]
pub enum Delivery {
    /// It is a member of this zone now; with what the game sends along.
    Joined(ZoneName, Bytes),
    /// The zone says something.
    Message(Native),
    /// The zone asks something: `Command::Answer` is due within the game's deadline.
    Call(CallId, Native),
    /// It is no member any more.
    Parted(PartCause),
    /// The zone was opened again from its last cut and it still is a member: what was said to the
    /// zone since that cut was never heard.
    Rebuilt,
    /// A join, a transfer or a message was refused.
    Refused(RefusalCode, String),
    /// Its zone is gone and knew nothing of it at the end: it is in no zone.
    Lost,
    /// Somebody outside the zones says something.
    Sent(Bytes),
    /// Somebody outside the zones asks something: `Command::Answer` with `Bytes` is due.
    Asked(CallId, Bytes),
    /// The session has ended; nothing comes after this.
    Ended(EndCause),
}

/// What a zone gives out. The driver carries outputs out in order: a frame is in its connection's
/// queue before the next output is looked at.
#[derive(Clone, Debug)]
pub enum ZoneOutput {
    /// Put this on a connection, if it still is the one with this epoch.
    Send {
        /// Whose.
        session: SessionId,
        /// Which connection.
        link: Link,
        /// What.
        frame: SharedFrame,
    },
    /// Put this on several connections, each if it still is the one with its epoch.
    SendToMany {
        /// The sessions and their connections, in the order of the sessions' ids.
        to: Vec<(SessionId, Link)>,
        /// One frame for all.
        frame: SharedFrame,
    },
    /// Put these on a connection in this order, if it still is the one with this epoch.
    SendAll {
        /// Whose connection it is.
        session: SessionId,
        /// The connection.
        link: Link,
        /// At least one.
        frames: Vec<SharedFrame>,
    },
    /// Acknowledge the client's stream up to this number, if its link still is the one with this epoch. The
    /// connection is told before the frame is put on it.
    Applied {
        /// Whose.
        session: SessionId,
        /// Which connection.
        link: Link,
        /// Up to which number.
        seq: u64,
    },
    /// Tell a connection, if it still is the one with this epoch. It hears of it before any frame that comes
    /// later.
    ToConnection {
        /// Whose.
        session: SessionId,
        /// Which connection.
        link: Link,
        /// What.
        message: ToConnection,
    },
    /// Tell a native session.
    Native {
        /// Who.
        session: SessionId,
        /// What.
        delivery: Delivery,
    },
    /// Tell the hub.
    ToHub(ToHub),
    /// Commit this cut.
    Commit(Batch),
    /// Do this outside work.
    StartJob {
        /// Its number.
        job: JobId,
        /// What the game asks for.
        request: Bytes,
    },
    /// Tell whoever listens.
    Event(Event),
}

/// Figures of a zone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ZoneCounts {
    /// Members that are not leaving.
    pub members: usize,
    /// Members that are leaving for no other zone.
    pub parting: usize,
    /// The zone is about to end.
    pub is_ending: bool,
    /// Frames made.
    pub said: u64,
    /// Times a frame was put on a link.
    pub sent: u64,
    /// Frames in the ring.
    pub ring_frames: usize,
    /// Bytes in the ring.
    pub ring_bytes: usize,
    /// Outputs that wait for a cut.
    pub held: usize,
    /// Ticks.
    pub ticks: u64,
    /// Ticks that were skipped.
    pub ticks_skipped: u64,
    /// Answers to no open call.
    pub unknown_answers: u64,
}
