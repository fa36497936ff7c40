//! Frames of a client: whether one may come now, what it costs its sender, and where it goes.

use std::time::Duration;

use prost::Message as _;
use rejoin_wire::DecodeError;
use rejoin_wire::v1::{
    ClientFrame, CloseCode, Loose, Notice, NoticeCode, Ping, Pong, Position, Up, client_frame,
    server_frame,
};

use super::super::attachment::{Arrival, Attachment};
use super::{ConnectionCore, ConnectionOutput, Phase, applied_frame};
use crate::connection::{
    FrameKind, FromConnection, Pressure, Route, Routed, Stage, Verdict, Watch, table,
};
use crate::exchange::ToZone;
use crate::id::Leg;
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::time::{Time, millis_u32};

impl ConnectionCore {
    pub(super) fn received(
        &mut self,
        now: Time,
        frame: Result<ClientFrame, DecodeError>,
        bytes: usize,
    ) {
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
    pub(super) fn confirm(&mut self) {
        if let Some((_, attached)) = self.live()
            && std::mem::take(&mut attached.is_unconfirmed)
        {
            self.tell(FromConnection::Confirmed);
        }
    }

    pub(super) fn up(&mut self, now: Time, up: Up) {
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
    pub(super) fn hand_on(&mut self, up: Up) {
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

    /// The same for all that is kept above this number.
    pub(super) fn hand_on_again(&mut self, after: u64) {
        // Before the Welcome no frame may come, and none is kept.
        let kept = |attached: &mut Attachment| {
            attached.unapplied().filter(|up| up.seq > after).cloned().collect()
        };
        let attached = self.attachment().filter(|_| !is_armed(Bug::NotHandedOnAgain));
        let frames: Vec<Up> = attached.map(kept).unwrap_or_default();
        if !frames.is_empty() {
            hit(Mark::HandedOnAgain);
        }
        frames.into_iter().for_each(|up| self.hand_on(up));
    }

    pub(super) fn loose(&mut self, now: Time, loose: Loose) {
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
    pub(super) fn ack(&mut self, position: Position) {
        let Some((Routed { stay, route, .. }, attached)) = self.live() else {
            return crate::never!("an Ack is taken before the Welcome");
        };
        let leg = Leg::from_wire(position.leg);
        if !matches!(route, Route::Zone(..)) || leg.stay != stay {
            return self.tell(FromConnection::Ack(position));
        }
        let is_first = attached.acked.is_none_or(|(of, _)| of < stay);
        attached.acked = Some((stay, position));
        if is_first {
            self.tell(FromConnection::ReadsLeg(position.leg));
        }
        self.hand_on_ack();
    }

    /// Brings the last acknowledgement of the present stay to the zone that the client is in.
    pub(super) fn hand_on_ack(&mut self) {
        if let Some((Routed { stay, route: Route::Zone(owner, zone), .. }, attached)) = self.live()
            && let Some((_, Position { leg, seq })) = attached.acked.filter(|(of, _)| *of == stay)
        {
            let (session, epoch, leg) = (attached.session, attached.epoch, Leg::from_wire(leg));
            let message = ToZone::Ack { session, epoch, leg, seq };
            self.out.push_back(ConnectionOutput::ToZone(zone, owner, message));
        }
    }

    pub(super) fn pong(&mut self, now: Time, nonce: u64) {
        let Some((_, attached)) = self.live() else {
            return crate::never!("a Pong is taken before the Welcome");
        };
        if let Some((_, sent)) = attached.ping.take_if(|(expected, _)| *expected == nonce) {
            self.tell(FromConnection::Latency(now.since(sent)));
        }
    }

    /// Charges the budget, and delays reading when it is overdrawn.
    pub(super) fn charge(&mut self, now: Time, kind: FrameKind, bytes: usize) {
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

    /// Delays reading for a sender that is ahead, and says so the first time since it was at rest.
    /// Within its lead the sender is not paused: one that is only ever read at its rate looks the
    /// same whatever it sends, and it must be seen how fast it gets ahead.
    pub(super) fn throttle(
        &mut self,
        now: Time,
        (over, wait): (Duration, Duration),
        is_first: bool,
    ) {
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

    /// The sender has been over its burst since the last look, or since it began to be.
    pub(super) fn look_at_sender(&mut self, now: Time) {
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
}
