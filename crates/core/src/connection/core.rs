//! One connection, from the challenge to its last word. It decides what depends on the connection alone:
//! whether a frame may come now, what it costs its sender, whether its number is the next. A hello goes to the
//! hub, a numbered frame straight to whoever consumes the client's stream. It decides nothing about a session.

mod traffic;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use rejoin_wire::v1::{Applied, ClientFrame, CloseCode, Farewell, Ping, ServerFrame, server_frame};
use rejoin_wire::{DecodeError, SharedFrame};

use super::Spent;
use super::attachment::Attachment;
use super::{ConnectionConfig, FrameKind, FromConnection, Routed, SendBudget, Stage, ToConnection};
use crate::clock::ServiceClock;
use crate::event::{Event, Step};
use crate::exchange::ToZone;
use crate::id::{ConnectionId, OwnerEpoch, ZoneId};
use crate::mark::{Mark, hit};
use crate::text::clip;
use crate::time::{Time, millis_u32};

/// What a connection is given. Nothing is, once its close was carried out.
#[derive(Debug)]
pub enum ConnectionInput {
    /// A frame came, or bytes that are none.
    Received {
        /// The decoded frame, or why the bytes are none.
        frame: Result<ClientFrame, DecodeError>,
        /// Its encoded size, for the budget.
        bytes: usize,
    },
    /// Control frames of the transport came, which carry nothing for us.
    Control {
        /// What they are charged as: a ping if the transport answers it, otherwise a pong.
        kind: FrameKind,
        /// Their size in bytes, for the budget.
        bytes: usize,
    },
    /// A message of the hub or of a zone. It is handed in before any frame that came later.
    Message(ToConnection),
    /// Everything up to this number of the client's stream is applied. Handed in before the client is told.
    Applied(u64),
    /// Time has passed. All input that waits is handed in before this.
    Wake,
}

/// What a connection gives out, to be carried out in order.
#[derive(Debug)]
pub enum ConnectionOutput {
    /// Put this frame on it.
    Send(SharedFrame),
    /// Close it once everything before this is on it; the code is for transports that carry one.
    Close(CloseCode),
    /// Read nothing from it for so long.
    Pause(Duration),
    /// Tell the hub.
    ToHub(FromConnection),
    /// Tell this incarnation of a zone.
    ToZone(ZoneId, OwnerEpoch, ToZone),
    /// Tell whoever listens.
    Event(Event),
}

/// How far a connection is.
enum Phase {
    /// The hub has challenged it.
    Challenged,
    /// Its hello is at the hub.
    Deciding,
    /// It speaks for a session.
    Attached(Box<Attachment>),
    /// Its client was told why it is closed.
    Closing,
}

/// The machine of one connection.
pub struct ConnectionCore {
    id: ConnectionId,
    config: Arc<ConnectionConfig>,
    clock: ServiceClock,
    phase: Phase,
    budget: SendBudget,
    /// When something was last heard of the client, in service time.
    heard_at: Time,
    /// When a sender that is ahead of its budget is looked at again, in service time.
    above_at: Option<Time>,
    out: VecDeque<ConnectionOutput>,
}

/// The frame that acknowledges a client's stream up to a number.
#[must_use]
pub fn applied_frame(seq: u64) -> SharedFrame {
    SharedFrame::new(&ServerFrame { frame: Some(server_frame::Frame::Applied(Applied { seq })) })
}

impl ConnectionCore {
    /// A connection that the hub is about to challenge.
    #[must_use]
    pub fn new(now: Time, id: ConnectionId, config: Arc<ConnectionConfig>) -> Self {
        let mut clock = ServiceClock::default();
        clock.advance(now, None, config.stall);
        Self {
            id,
            config,
            clock,
            phase: Phase::Challenged,
            budget: SendBudget::default(),
            heard_at: now,
            above_at: None,
            out: VecDeque::new(),
        }
    }

    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub fn handle(&mut self, now: Time, input: ConnectionInput) {
        if self.clock.advance(now, self.first_deadline(), self.config.stall).is_some() {
            hit(Mark::Stalled);
        }
        let now = self.clock.now();
        match input {
            ConnectionInput::Received { frame, bytes } => self.received(now, frame, bytes),
            ConnectionInput::Control { kind, bytes } => {
                self.heard_at = self.heard_at.max(now);
                if self.stage() != Stage::Closing {
                    self.charge(now, kind, bytes);
                }
            }
            ConnectionInput::Message(message) => self.on_message(now, message),
            ConnectionInput::Applied(seq) => {
                if let Some(attached) = self.attachment() {
                    attached.tell_applied(seq);
                }
            }
            ConnectionInput::Wake => self.wake(now),
        }
    }

    /// The next thing to carry out.
    pub fn next_output(&mut self) -> Option<ConnectionOutput> {
        self.out.pop_front()
    }

    /// When it wants to be woken, in real time.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.first_deadline().map(|at| self.clock.to_real(at))
    }

    /// What it has spent of its budgets.
    #[must_use]
    pub fn spent(&self) -> Spent {
        self.budget.spent()
    }

    fn first_deadline(&self) -> Option<Time> {
        let attached = match &self.phase {
            Phase::Attached(attached) => Some(attached.ping_at.min(attached.silence_at)),
            Phase::Closing => return None,
            Phase::Challenged | Phase::Deciding => None,
        };
        attached.into_iter().chain(self.above_at).min()
    }

    fn stage(&self) -> Stage {
        match &self.phase {
            Phase::Challenged => Stage::AwaitingHello,
            Phase::Attached(attached) if attached.routed.is_some() => Stage::Live,
            Phase::Deciding | Phase::Attached(_) => Stage::Deciding,
            Phase::Closing => Stage::Closing,
        }
    }

    fn attachment(&mut self) -> Option<&mut Attachment> {
        match &mut self.phase {
            Phase::Attached(attached) => Some(attached),
            Phase::Challenged | Phase::Deciding | Phase::Closing => None,
        }
    }

    /// The attachment of a connection whose client has been welcomed.
    fn live(&mut self) -> Option<(Routed, &mut Attachment)> {
        let attached = self.attachment()?;
        Some((attached.routed?, attached))
    }

    fn on_message(&mut self, now: Time, message: ToConnection) {
        match message {
            ToConnection::Attached { session, epoch, spent, first_ping, nonce } => {
                self.budget.inherit(spent);
                let mut attachment = Attachment::new(session, epoch, nonce);
                attachment.ping_at = now.after(first_ping);
                attachment.silence_at = now.after(self.config.silence);
                if self.stage() != Stage::Closing {
                    self.phase = Phase::Attached(Box::new(attachment));
                }
            }
            ToConnection::Routed(routed) => {
                let Some(attached) = self.attachment() else { return hit(Mark::StaleIgnored) };
                if attached.routed.is_none() {
                    attached.active_at = now;
                }
                if attached.route(routed) {
                    // The last acknowledgement may have gone to an incarnation that had failed.
                    self.hand_on_ack();
                    self.hand_on_again(0);
                } else {
                    hit(Mark::StaleIgnored);
                }
            }
            // What is up to this number may not be committed yet: it is kept.
            ToConnection::Resend(after) => self.hand_on_again(after),
            ToConnection::NamePosition(stay) => {
                let Some((_, attached)) = self.live() else { return hit(Mark::StaleIgnored) };
                let acked = attached.acked.filter(|(of, _)| *of == stay).map(|(_, acked)| acked);
                let oldest_unacked = attached.oldest_unacked();
                self.tell(FromConnection::Position { stay, acked, oldest_unacked });
            }
            ToConnection::AddressWaits(wait) => {
                let is_first = self.budget.address_waits(wait.is_some());
                if let Some(wait) = wait {
                    self.throttle(now, (wait, wait), is_first);
                }
            }
            ToConnection::NameActivity => {
                if let Some((_, attached)) = self.live() {
                    let ago = now.since(attached.active_at);
                    self.tell(FromConnection::Active(ago));
                }
            }
        }
    }

    fn tell(&mut self, message: FromConnection) {
        self.out.push_back(ConnectionOutput::ToHub(message));
    }

    fn send(&mut self, frame: server_frame::Frame) {
        let frame = SharedFrame::new(&ServerFrame { frame: Some(frame) });
        self.out.push_back(ConnectionOutput::Send(frame));
    }

    fn tell_step(&mut self, step: Step, what: crate::event::Offence) {
        let session = self.attachment().map(|attached| attached.session);
        let event = Event::GuardStep { step, connection: Some(self.id), session, what };
        self.out.push_back(ConnectionOutput::Event(event));
    }

    fn wake(&mut self, now: Time) {
        if self.above_at.is_some_and(|at| at <= now) {
            self.look_at_sender(now);
        }
        let (heard_at, config) = (self.heard_at, Arc::clone(&self.config));
        let attached = match &mut self.phase {
            Phase::Attached(attached) => attached,
            // The hub has the deadline of a handshake, and a closed connection has none.
            Phase::Challenged | Phase::Deciding | Phase::Closing => return,
        };
        if attached.silence_at <= now {
            attached.silence_at = heard_at.after(config.silence);
            if attached.silence_at <= now {
                hit(Mark::HeartbeatLost);
                let text = format!("nothing heard for {} s", config.silence.as_secs());
                return self.sever(CloseCode::HeartbeatLost, text, Duration::ZERO, false);
            }
        }
        if attached.ping_at <= now {
            attached.ping_at = now.after(config.heartbeat);
            // Nothing comes before the Welcome.
            if attached.routed.is_some() {
                let nonce = attached.nonce;
                attached.nonce = nonce.wrapping_add(1);
                attached.ping = Some((nonce, now));
                self.send(server_frame::Frame::Ping(Ping { nonce }));
            }
        }
    }

    /// The client broke the rules: only this connection is affected, and its session is held.
    fn violation(&mut self, code: CloseCode, text: String) {
        hit(match code {
            CloseCode::OutOfState => Mark::OutOfState,
            CloseCode::Flooded => Mark::Flooded,
            _ => Mark::Malformed,
        });
        self.sever(code, text, Duration::ZERO, true);
    }

    /// Says the last word and closes.
    fn sever(&mut self, code: CloseCode, text: String, wait: Duration, is_violation: bool) {
        if self.stage() == Stage::Closing {
            return;
        }
        let (text, retry_after_ms) = (clip(text), millis_u32(wait));
        let farewell = Farewell { code: code.into(), text, retry_after_ms, addresses: Vec::new() };
        let spent = self.spent();
        self.tell(FromConnection::Sent { messages: 0, bytes: 0, spent });
        self.tell(FromConnection::Severed { code, is_violation });
        self.send(server_frame::Frame::Farewell(farewell));
        self.phase = Phase::Closing;
        self.out.push_back(ConnectionOutput::Close(code));
    }
}
