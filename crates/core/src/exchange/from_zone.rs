//! What zones say to the hub and to the sessions of their members.

use bytes::Bytes;
use rejoin_wire::v1::{CloseCode, PartCause, RefusalCode, RungReason};

use super::ZoneName;
use crate::id::{CallId, Leg, ObjectId, SessionEpoch, SessionId};
use crate::stream::Tail;

/// A member that has left a zone, with all that must not be lost.
#[derive(Clone, Debug)]
pub struct Departed {
    /// The stay that ended; a session that is in a later one has taken this over before.
    pub stay: u32,
    /// The unacknowledged end of its leg, `Parted` last.
    pub tail: Tail,
    /// The last number of the tail that was sent on the member's present connection; where this incarnation of
    /// the zone has not seen that, the last that its client acknowledged.
    pub sent: u64,
    /// The member had a connection in this incarnation of the zone.
    pub has_link: bool,
    /// The epoch of that connection.
    pub epoch: SessionEpoch,
    /// The highest number consumed of the client's stream.
    pub applied: u64,
    /// Why it left; [`PartCause::Left`] ends the session as well.
    pub cause: PartCause,
    /// Where it goes, and the bytes for the game there; none unless it was transferred.
    pub next: Option<(ZoneName, Bytes)>,
    /// The session's game data.
    pub data: Bytes,
    /// The last number of a word from outside the game that is in its stream.
    pub heard: u64,
}

/// From a zone to the hub.
#[derive(Clone, Debug)]
pub enum ToHub {
    /// The zone is open and has these members, (session, stay).
    Opened {
        /// Present and leaving members.
        members: Vec<(SessionId, u32)>,
        /// Whether a match is running.
        match_running: bool,
    },
    /// The zone could not start from what is stored; nothing was changed.
    OpenRefused {
        /// What is wrong with what is stored.
        text: String,
    },
    /// For one session.
    Session(SessionId, ToSession),
    /// This word from outside the game, and all before it, are in the streams of these members. Who is
    /// not named is leaving, or no member.
    Heard {
        /// The word's number.
        number: u64,
        /// The members, in the order of their ids.
        sessions: Vec<SessionId>,
    },
    /// A match started or ended.
    Match {
        /// Whether one is running now.
        running: bool,
    },
    /// A callback panicked or did not return: this incarnation is done for.
    Faulted {
        /// Who did it, if a member did, and with which number; 0 for none.
        poisoned: Option<(SessionId, u64)>,
        /// It did not return within its budget. The driver says so: the machine cannot.
        stuck: bool,
        /// What members had been sent last on their connections. Not known of a zone that is stuck.
        left: Vec<(SessionId, Leg, u64)>,
        /// The panic's text, for logs and events.
        text: String,
    },
    /// The zone has ended and its scope is deleted.
    Ended,
}

/// From a zone to the session of one of its members, or of one that asked to be let in.
#[derive(Clone, Debug)]
pub enum ToSession {
    /// It is a member in this stay.
    Admitted {
        /// The stay for which it had asked.
        stay: u32,
    },
    /// It is not let in.
    JoinRefused {
        /// The stay for which it had asked.
        stay: u32,
        /// The typed reason.
        code: RefusalCode,
        /// The reason for people.
        text: String,
    },
    /// It is no member in this stay.
    Missing {
        /// The stay that was asked about.
        stay: u32,
    },
    /// A connection has taken its place, and how much of the stream could go on.
    Attached {
        /// The epoch of the connection.
        epoch: SessionEpoch,
        /// Complete: nothing was lost; otherwise why the whole state was sent.
        reason: RungReason,
        /// How many frames were said again.
        replayed: u64,
    },
    /// It has left.
    Departed(Box<Departed>),
    /// Its connection broke the rules or made no progress.
    Sever {
        /// The epoch of the connection.
        epoch: SessionEpoch,
        /// The close code for its Farewell.
        code: CloseCode,
    },
    /// It answered a call that the hub had opened.
    Answered {
        /// The call, by the hub's number.
        call: CallId,
        /// The number of the answer, should it have to be refused.
        number: u64,
        /// What the client answered; only the asker decodes it.
        payload: Bytes,
    },
    /// A call to it was opened, or the last one closed.
    Awaiting {
        /// Whether any is open.
        open: bool,
    },
    /// The object that it controls changed.
    Avatar {
        /// None: it controls none any more.
        avatar: Option<ObjectId>,
    },
}

impl ToSession {
    /// The stay of which the zone keeps something until the session has taken it over.
    pub(crate) fn keeps(&self) -> Option<u32> {
        match self {
            Self::Departed(departed) => Some(departed.stay),
            Self::JoinRefused { stay, .. } => Some(*stay),
            Self::Admitted { .. }
            | Self::Missing { .. }
            | Self::Attached { .. }
            | Self::Sever { .. }
            | Self::Answered { .. }
            | Self::Awaiting { .. }
            | Self::Avatar { .. } => None,
        }
    }
}
