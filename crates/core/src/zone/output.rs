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
        /// The session that the connection speaks for.
        session: SessionId,
        /// The connection and its epoch, compared with the member's when the output leaves.
        link: Link,
        /// The frame for this one connection.
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
        /// The session that the connection speaks for.
        session: SessionId,
        /// The connection and its epoch, compared with the member's when the output leaves.
        link: Link,
        /// At least one.
        frames: Vec<SharedFrame>,
    },
    /// Acknowledge the client's stream up to this number, if its link still is the one with this epoch. The
    /// connection is told before the frame is put on it.
    Applied {
        /// The session whose client sent the frames.
        session: SessionId,
        /// The connection and its epoch, compared with the member's when the output leaves.
        link: Link,
        /// The highest number of the client's stream that the zone has consumed.
        seq: u64,
    },
    /// Tell a connection, if it still is the one with this epoch. It hears of it before any frame that comes
    /// later.
    ToConnection {
        /// The session that the connection speaks for.
        session: SessionId,
        /// The connection and its epoch, compared with the member's when the output leaves.
        link: Link,
        /// What the connection is to know, such as where its client's frames go from here on.
        message: ToConnection,
    },
    /// Tell a native session.
    Native {
        /// The session, which lives in this server.
        session: SessionId,
        /// What it gets, as a value instead of a frame.
        delivery: Delivery,
    },
    /// Tell the hub.
    ToHub(ToHub),
    /// Commit this cut.
    Commit(Batch),
    /// Do this outside work.
    StartJob {
        /// The zone's number for it. After a crash it is started again under the same one.
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
    /// Numbered frames made by this incarnation; one for several members counts once.
    pub said: u64,
    /// Times a frame was put on a link.
    pub sent: u64,
    /// Frames in the ring.
    pub ring_frames: usize,
    /// Bytes in the ring.
    pub ring_bytes: usize,
    /// Outputs that wait for a cut.
    pub held: usize,
    /// Ticks that ran, those of earlier incarnations included.
    pub ticks: u64,
    /// Ticks that were skipped.
    pub ticks_skipped: u64,
    /// Answers to no open call.
    pub unknown_answers: u64,
}
