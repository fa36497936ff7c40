//! One connection, from the challenge to its last word. It decides what depends on the connection alone:
//! whether a frame may come now, what it costs its sender, whether its number is the next. A hello goes to the
//! hub, a numbered frame straight to whoever consumes the client's stream. It decides nothing about a session.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use prost::Message as _;
use rejoin_wire::v1::{
    Applied, ClientFrame, CloseCode, Farewell, Loose, Notice, NoticeCode, Ping, Pong, Position,
    ServerFrame, Up, client_frame, server_frame,
};
use rejoin_wire::{DecodeError, SharedFrame};

use super::Spent;
use super::attachment::{Arrival, Attachment};
use super::{
    ConnectionConfig, FrameKind, FromConnection, Pressure, Route, Routed, SendBudget, Stage,
    ToConnection, Verdict, Watch, table,
};
use crate::clock::ServiceClock;
use crate::event::{Event, Step};
use crate::exchange::ToZone;
use crate::id::{ConnectionId, Leg, OwnerEpoch, ZoneId};
use crate::mark::{Mark, hit};
use crate::text::clip;
use crate::time::{Time, millis_u32};

/// What a connection is given. Nothing is, once its close was carried out.
#[derive(Debug)]
pub enum ConnectionInput {
    /// A frame came, or bytes that are none.
    Received {
        /// The frame.
        frame: Result<ClientFrame, DecodeError>,
        /// Its encoded size, for the budget.
        bytes: usize,
    },
    /// Control frames of the transport came, which carry nothing for us.
    Control {
        /// What they are charged as: a ping if the transport answers it, otherwise a pong.
        kind: FrameKind,
        /// Their size.
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
                    self.hand_on_again();
                } else {
                    hit(Mark::StaleIgnored);
                }
            }
            ToConnection::Resend(applied) => {
                if let Some(attached) = self.attachment() {
                    attached.apply(applied);
                    self.hand_on_again();
                }
            }
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

    fn received(&mut self, now: Time, frame: Result<ClientFrame, DecodeError>, bytes: usize) {
        self.heard_at = self.heard_at.max(now);
        let frame = match frame {
            Ok(frame) => frame,
            Err(_) if self.stage() == Stage::Closing => return,
            Err(error) => return self.violation(error.close_code(), error.to_string()),
        };
        let Some(kind) = FrameKind::of(&frame) else {
            return self.violation(CloseCode::Malformed, "an empty frame".to_owned());
        };
        let stage = self.stage();
        match table(stage, kind) {
            Verdict::Take => {}
            Verdict::Ignore => return,
            Verdict::Violation => {
                let text = format!("frame {kind:?} is not allowed {}", stage.text());
                return self.violation(CloseCode::OutOfState, text);
            }
        }
        self.charge(now, kind, bytes);
        self.confirm();
        match frame.frame {
            Some(client_frame::Frame::Hello(hello)) => {
                self.phase = Phase::Deciding;
                self.tell(FromConnection::Hello(Box::new(hello)));
            }
            Some(client_frame::Frame::Up(up)) => self.up(now, up),
            Some(client_frame::Frame::Loose(loose)) => self.loose(now, loose),
            Some(client_frame::Frame::Ack(position)) => self.ack(position),
            Some(client_frame::Frame::Ping(Ping { nonce })) => {
                self.send(server_frame::Frame::Pong(Pong { nonce }));
            }
            Some(client_frame::Frame::Pong(Pong { nonce })) => self.pong(now, nonce),
            Some(client_frame::Frame::Packed(_)) | None => {}
        }
    }

    /// The first frame after a Welcome says that its token is stored.
    fn confirm(&mut self) {
        if let Some((_, attached)) = self.live()
            && std::mem::take(&mut attached.is_unconfirmed)
        {
            self.tell(FromConnection::Confirmed);
        }
    }

    fn up(&mut self, now: Time, up: Up) {
        let window = (self.config.window_frames, self.config.window_bytes);
        let Some((_, attached)) = self.live() else {
            return crate::never!("an Up is taken before the Welcome");
        };
        attached.active_at = now;
        match attached.receive(&up, up.encoded_len(), window) {
            Arrival::Next => self.hand_on(up),
            Arrival::Kept => {}
            Arrival::Applied(seq) => {
                self.out.push_back(ConnectionOutput::Send(applied_frame(seq)));
            }
            Arrival::Gap(expected) => {
                hit(Mark::NumberGap);
                let text = format!("number {} came where {expected} is next", up.seq);
                self.sever(CloseCode::NumberGap, text, Duration::ZERO, false);
            }
            Arrival::BeyondWindow => {
                let text = "more than the window".to_owned();
                self.violation(CloseCode::Flooded, text);
            }
        }
    }

    /// Brings a numbered frame to where the client's stream is consumed.
    fn hand_on(&mut self, up: Up) {
        let Some((Routed { stay, route, .. }, attached)) = self.live() else {
            return crate::never!("number {} is handed on before the Welcome", up.seq);
        };
        let (session, epoch) = (attached.session, attached.epoch);
        match route {
            Route::Nowhere => hit(Mark::Waited),
            Route::Session => self.tell(FromConnection::Up { stay, up }),
            Route::Zone(owner, zone) => {
                let message = ToZone::Up { session, epoch, stay, up };
                self.out.push_back(ConnectionOutput::ToZone(zone, owner, message));
            }
        }
    }

    /// The same for all that is not applied.
    fn hand_on_again(&mut self) {
        // Before the Welcome no frame may come, and none is kept.
        let kept = |attached: &mut Attachment| attached.unapplied().cloned().collect();
        let frames: Vec<Up> = self.attachment().map(kept).unwrap_or_default();
        if !frames.is_empty() {
            hit(Mark::HandedOnAgain);
        }
        frames.into_iter().for_each(|up| self.hand_on(up));
    }

    fn loose(&mut self, now: Time, loose: Loose) {
        let Some((Routed { route, .. }, attached)) = self.live() else {
            return crate::never!("a Loose is taken before the Welcome");
        };
        attached.active_at = now;
        let (session, epoch) = (attached.session, attached.epoch);
        match route {
            Route::Zone(owner, zone) => {
                let (leg, payload) = (Leg::from_wire(loose.leg), loose.payload);
                let message = ToZone::Loose { session, epoch, leg, payload };
                self.out.push_back(ConnectionOutput::ToZone(zone, owner, message));
            }
            Route::Nowhere | Route::Session => hit(Mark::LooseDropped),
        }
    }

    /// Of the leg of the zone that the client is in, an acknowledgement goes there; the session hears of the
    /// first, by which it knows that its client has everything of earlier legs.
    fn ack(&mut self, position: Position) {
        let Some((Routed { stay, route, .. }, attached)) = self.live() else {
            return crate::never!("an Ack is taken before the Welcome");
        };
        let leg = Leg::from_wire(position.leg);
        let Route::Zone(owner, zone) = route else {
            return self.tell(FromConnection::Ack(position));
        };
        if leg.stay != stay {
            return self.tell(FromConnection::Ack(position));
        }
        let is_first = attached.acked.is_none_or(|(of, _)| of < stay);
        attached.acked = Some((stay, position));
        let (session, epoch, seq) = (attached.session, attached.epoch, position.seq);
        if is_first {
            self.tell(FromConnection::ReadsLeg(position.leg));
        }
        let message = ToZone::Ack { session, epoch, leg, seq };
        self.out.push_back(ConnectionOutput::ToZone(zone, owner, message));
    }

    fn pong(&mut self, now: Time, nonce: u64) {
        let Some((_, attached)) = self.live() else {
            return crate::never!("a Pong is taken before the Welcome");
        };
        if let Some((_, sent)) = attached.ping.take_if(|(expected, _)| *expected == nonce) {
            self.tell(FromConnection::Latency(now.since(sent)));
        }
    }

    /// Charges the budget, and delays reading when it is overdrawn.
    fn charge(&mut self, now: Time, kind: FrameKind, bytes: usize) {
        let limits = self.config.limits;
        let lead = limits.sever_after;
        let charged = self.budget.charge(self.clock.real(), kind.cost(bytes), limits);
        match charged.watch {
            Watch::Begin => self.above_at = Some(now.after(lead)),
            Watch::End => self.above_at = None,
            Watch::Unchanged => {}
        }
        if let Some(over) = charged.over {
            self.throttle(now, (over, over.saturating_sub(lead)), charged.is_first);
        }
        if let Some((messages, bytes)) = self.budget.take_portion() {
            let spent = self.spent();
            self.tell(FromConnection::Sent { messages, bytes, spent });
        }
        if let Some(step) = charged.step {
            self.tell_step(step, charged.what);
        }
    }

    fn tell_step(&mut self, step: Step, what: crate::event::Offence) {
        let session = self.attachment().map(|attached| attached.session);
        let event = Event::GuardStep { step, connection: Some(self.id), session, what };
        self.out.push_back(ConnectionOutput::Event(event));
    }

    /// Delays reading for a sender that is ahead, and says so the first time since it was at rest.
    /// Within its lead the sender is not paused: one that is only ever read at its rate looks the
    /// same whatever it sends, and it must be seen how fast it gets ahead.
    fn throttle(&mut self, now: Time, (over, wait): (Duration, Duration), is_first: bool) {
        hit(Mark::Throttled);
        if is_first && self.stage() == Stage::Live {
            let code = NoticeCode::Throttled.into();
            let wait_ms = millis_u32(over).max(1);
            self.send(server_frame::Frame::Notice(Notice { code, text: String::new(), wait_ms }));
        }
        if !wait.is_zero() {
            // What the client says meanwhile is not read: it is not silent.
            self.heard_at = self.heard_at.max(now.after(wait));
            self.out.push_back(ConnectionOutput::Pause(wait));
        }
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

    /// The sender has been over its burst since the last look, or since it began to be.
    fn look_at_sender(&mut self, now: Time) {
        let (real, limits) = (self.clock.real(), self.config.limits);
        self.above_at = None;
        match self.budget.look(real, limits) {
            Pressure::Flood => {
                hit(Mark::Severed);
                let wait = self.budget.rest(real, limits).max(self.config.retry_after);
                let text = "far more than the budget; nothing that was acknowledged is lost";
                self.sever(CloseCode::Flooded, text.to_owned(), wait, false);
            }
            Pressure::Ahead => self.above_at = Some(now.after(limits.sever_after)),
            Pressure::Rest => {}
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
