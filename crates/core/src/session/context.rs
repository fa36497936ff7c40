//! What a session is given to decide with beside its own data, and what it asks of others. The hub lends both
//! to a session for one call. What a session reads of other machines here are copies.

use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{CloseCode, ServerFrame, server_frame};

use crate::chance::Chance;
use crate::connection::ToConnection;
use crate::event::{EndCause, Event};
use crate::exchange::{ToZone, ZoneName};
use crate::guard::Rations;
use crate::hub::{Alarms, Answer, HubConfig, HubCounts, HubOutput, Mail, Tellings};
use crate::id::{ConnectionId, PlayerId, SeatId, SessionEpoch, SessionId, ZoneId};
use crate::orders::EndOf;
use crate::time::{Time, WallTime};
use crate::zone_registry::{Creator, ZoneRegistry, ZoneView};

/// What time it is, on each of the clocks that sessions go by.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Moment {
    /// Service time: stands still while the process cannot run.
    pub now: Time,
    /// Hold time: stands still while the store is full as well.
    pub hold: Time,
    /// The driver's clock: budgets go by it.
    pub real: Time,
    pub wall: WallTime,
}

/// What the hub lends to a session for one call.
pub(crate) struct SessionContext<'a> {
    pub at: Moment,
    pub config: &'a HubConfig,
    pub zones: &'a ZoneRegistry,
    pub rations: &'a Rations,
    /// Zones of before the start are still being opened: no hold runs yet.
    pub is_recovering: bool,
    /// The process is about to end: no hold begins or ends any more.
    pub is_stopping: bool,
    pub chance: &'a mut Chance,
    pub counts: &'a mut HubCounts,
    pub alarms: &'a mut Alarms,
    pub tellings: &'a mut Tellings,
    /// Sessions with a batch at the store.
    pub in_flight: &'a mut BTreeSet<SessionId>,
    /// What is carried out whatever becomes of the session's commits.
    pub out: &'a mut VecDeque<HubOutput>,
    /// Messages to other machines of the hub, delivered right after the call.
    pub mail: &'a mut VecDeque<Mail>,
}

/// From a session to another machine of the hub.
#[derive(Debug)]
pub(crate) enum FromSession {
    /// This connection speaks for the session from now on, with this epoch.
    SpeaksFor { connection: ConnectionId, epoch: SessionEpoch },
    /// A connection speaks for no session any more; its client hears why once that is committed.
    Fence(ConnectionId),
    /// A connection was told its last word by the session for which it spoke.
    Closed(ConnectionId),
    /// Say the last word on a connection that gave way.
    GaveWay(ConnectionId),
    /// Say the last word on a connection whose session ends.
    Ended { connection: ConnectionId, player: PlayerId, cause: EndCause },
    /// Refuse a hello.
    Refuse { connection: ConnectionId, code: CloseCode, text: &'static str },
    /// Look for a zone, and open it if that is allowed. Answered by [`found`](super::SessionCore::found).
    Find(Box<FindZone>),
    /// The guest of this player came back.
    GuestSeen(PlayerId),
    /// A client shows something of this session that the store has lost.
    StoreWentBack,
    /// The session is a member of this zone.
    ZoneUsed(ZoneId),
    /// The message of this command is in the session's stream, or never will be.
    Heard { ticket: u64, is_told: bool },
    /// Its end is committed, for which this waits.
    EndKept(EndOf),
    /// That the session of this player, opened with this key, ends is committed.
    EndCommitted { player: PlayerId, credential: PlayerId },
}

/// A session asks for a zone.
#[derive(Debug)]
pub(crate) struct FindZone {
    pub name: ZoneName,
    /// Who opens it if there is none.
    pub creator: Option<Creator>,
    /// What the session sends along to the zone.
    pub payload: Bytes,
    pub reason: FindReason,
}

/// Why a session asks for a zone.
#[derive(Debug)]
pub(crate) enum FindReason {
    /// Its client said so with the frame of this number, and showed a seat perhaps.
    Join { to: u64, seat: String },
    /// The game of the zone that it has just left sends it on.
    Transfer(super::departure::Departure),
    /// A command says so, perhaps with a seat.
    Command { ticket: u64, seat: Option<SeatId> },
}

impl SessionContext<'_> {
    pub(crate) fn push(&mut self, output: HubOutput) {
        self.out.push_back(output);
    }

    pub(crate) fn event(&mut self, event: Event) {
        self.push(HubOutput::Event(event));
    }

    pub(crate) fn answer(&mut self, ticket: u64, answer: Answer) {
        self.push(HubOutput::Answer { ticket, answer });
    }

    /// Tells another machine of the hub.
    pub(crate) fn tell(&mut self, session: SessionId, message: FromSession) {
        self.mail.push_back(Mail::Session(session, message));
    }

    pub(crate) fn tell_connection(&mut self, connection: ConnectionId, message: ToConnection) {
        self.push(HubOutput::ToConnection(connection, message));
    }

    pub(crate) fn send(&mut self, connection: ConnectionId, frame: SharedFrame) {
        self.push(HubOutput::Send { connection, frame });
    }

    pub(crate) fn send_frame(&mut self, connection: ConnectionId, frame: server_frame::Frame) {
        self.send(connection, shared(frame));
    }

    /// Sends a message to the open incarnation of a zone, if there is one.
    pub(crate) fn tell_zone(&mut self, zone: ZoneId, message: ToZone) {
        if let Some(owner) = self.zones.owner(zone) {
            self.push(HubOutput::ToZone(zone, owner, message));
        }
    }

    /// The same for a command, which is answered.
    pub(crate) fn tell_open_zone(&mut self, zone: ZoneId, message: ToZone) -> Answer {
        if self.zones.owner(zone).is_none() {
            return Answer::Refused(rejoin_wire::v1::RefusalCode::ZoneFault);
        }
        self.tell_zone(zone, message);
        Answer::Done
    }

    pub(crate) fn zone(&self, zone: Option<ZoneId>) -> Option<ZoneView> {
        self.zones.view(zone?)
    }

    /// How long ago something began, by the wall clock.
    pub(crate) fn age(&self, began: WallTime) -> Duration {
        Duration::from_millis(self.at.wall.0.saturating_sub(began.0))
    }
}

pub(crate) fn shared(frame: server_frame::Frame) -> SharedFrame {
    SharedFrame::new(&ServerFrame { frame: Some(frame) })
}
