//! Frames of the server: which may stand where, and what each means to the game.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::v1::{
    CloseCode, Down, Joined, Loose, Message, Pong, Refused, Resync, RungReason, ServerFrame,
    client_frame, down, server_frame,
};
use rejoin_wire::{DecodeError, decode_server};

use super::ending::Ending;
use super::{Client, Latency, Link};
use crate::error::Violation;
use crate::event::{Event, Output, RequestEnd};
use crate::time::{Time, micros};

impl Client {
    /// One encoded frame came on the connection.
    pub fn received(&mut self, now: Time, bytes: Bytes) {
        if !self.has_transport() {
            return;
        }
        if let Link::Live { pulse, .. } = &mut self.link {
            pulse.heard(now);
        }
        let frame = decode_server(self.config.encoding, bytes, &self.config.limits);
        let handled = frame.map_err(Violation::from).and_then(|frame| self.handle(now, frame));
        if let Err(violation) = handled {
            self.violated(now, violation);
        }
    }

    /// What came on the connection never became the bytes of a frame: a message over the transport's
    /// limit, or not the transport's protocol at all. A connection that only broke is
    /// [`closed`](Client::closed) instead.
    pub fn garbled(&mut self, now: Time, error: DecodeError) {
        if self.has_transport() {
            self.violated(now, Violation::Undecodable(error));
        }
    }

    fn handle(&mut self, now: Time, frame: ServerFrame) -> Result<(), Violation> {
        use server_frame::Frame;
        let is_live = matches!(self.link, Link::Live { .. });
        match frame.frame {
            // These two ask for their own state.
            Some(Frame::Challenge(challenge)) => self.challenged(now, challenge)?,
            Some(Frame::Welcome(welcome)) => self.welcomed(now, welcome)?,
            Some(Frame::Refusal(refusal)) if !is_live => {
                self.dismissed(now, Ending::from(refusal));
            }
            Some(Frame::Farewell(farewell)) => self.dismissed(now, Ending::from(farewell)),
            Some(Frame::Down(down)) if is_live => self.heard(now, down)?,
            Some(Frame::Loose(loose)) if is_live => self.heard_loose(loose),
            Some(Frame::Applied(applied)) if is_live => {
                self.buffer.acknowledge(applied.seq)?;
                self.flush();
            }
            Some(Frame::Resync(resync)) if is_live => self.resynced(resync)?,
            Some(Frame::Ping(ping)) if is_live => {
                self.put(client_frame::Frame::Pong(Pong { nonce: ping.nonce }));
            }
            Some(Frame::Pong(pong)) if is_live => self.measured(now, pong.nonce),
            Some(Frame::Notice(notice)) if is_live => {
                let (code, wait_ms) = (notice.code(), notice.wait_ms);
                self.tell(Event::Notice { code, text: notice.text, wait_ms });
            }
            _ => return Err(Violation::OutOfState),
        }
        Ok(())
    }

    /// The server's last word on this connection.
    fn dismissed(&mut self, now: Time, ending: Ending) {
        self.outputs.push_back(Output::Close(None));
        self.ended(now, ending);
    }

    /// Comes back without its place in the stream: going on from there would meet the same again.
    fn violated(&mut self, now: Time, violation: Violation) {
        self.outputs.push_back(Output::Close(Some(violation.close_code())));
        self.tell(Event::Violation(violation));
        self.downstream.forget();
        if let Violation::AppliedAhead { .. } | Violation::AppliedBehind { .. } = violation {
            self.lose_sent();
        }
        self.ended(now, Ending::of(None));
    }

    fn heard(&mut self, now: Time, down: Down) -> Result<(), Violation> {
        let is_new = self.downstream.take(&down)?;
        let Link::Live { pulse, .. } = &mut self.link else {
            return Err(Violation::OutOfState);
        };
        // What came twice is owed an acknowledgement, too: the server does not know that it did.
        let is_due = pulse.owe(now);
        let turns = is_new
            && match &down.body {
                Some(down::Body::Joined(_) | down::Body::Parted(_)) => true,
                Some(down::Body::Refused(refused)) => refused.leg != 0,
                _ => false,
            };
        if is_new && let Some(body) = down.body {
            self.tell_body(body);
        }
        if is_due || turns {
            self.acknowledge();
        }
        Ok(())
    }

    fn tell_body(&mut self, body: down::Body) {
        match body {
            down::Body::Message(message) => self.tell_message(message),
            down::Body::Reply(reply) => {
                // One that has ended before stays ended.
                if let Some(request) = self.ledger.end(reply.to) {
                    self.tell(Event::Reply { request, payload: reply.payload });
                }
            }
            down::Body::Refused(refused) => self.tell_refused(refused),
            down::Body::Call(call) => {
                let (deadline_ms, payload) = (call.deadline_ms, call.payload);
                self.tell(Event::Call { call: call.call, payload, deadline_ms });
            }
            down::Body::Joined(Joined { zone, to, payload, latest, hold_ms, .. }) => {
                self.hold = Duration::from_millis(hold_ms.into());
                let to = self.ledger.send(to);
                let zone = zone.unwrap_or_default();
                self.tell(Event::Joined { to, zone, payload, latest });
            }
            down::Body::Parted(parted) => {
                let (to, cause) = (self.ledger.send(parted.to), parted.cause());
                self.tell(Event::Parted { to, cause, text: parted.text });
            }
        }
    }

    fn tell_message(&mut self, message: Message) {
        let Message { payload, key, cleared, .. } = message;
        self.tell(if key.is_empty() {
            Event::Message { payload }
        } else {
            Event::Latest { key, payload: (!cleared).then_some(payload) }
        });
    }

    fn tell_refused(&mut self, refused: Refused) {
        let code = refused.code();
        let event = match self.ledger.end(refused.to) {
            Some(request) => Event::RequestEnded { request, how: RequestEnd::Refused(code) },
            None => Event::Refused { to: self.ledger.send(refused.to), code, text: refused.text },
        };
        self.tell(event);
    }

    fn heard_loose(&mut self, loose: Loose) {
        if self.downstream.open_leg() == Some(loose.leg) {
            self.tell(Event::Unreliable { payload: loose.payload });
        }
    }

    fn measured(&mut self, now: Time, nonce: u64) {
        let Link::Live { pulse, .. } = &mut self.link else { return };
        let Some(last) = pulse.answered(now, nonce) else { return };
        let smoothed = match self.latency {
            Some(Latency { smoothed, .. }) if last >= smoothed => {
                smoothed + eighth(last - smoothed)
            }
            Some(Latency { smoothed, .. }) => smoothed - eighth(smoothed - last),
            None => last,
        };
        self.latency = Some(Latency { last, smoothed });
    }

    fn resynced(&mut self, resync: Resync) -> Result<(), Violation> {
        let is_in_place = self.downstream.open_leg().is_some();
        self.downstream.resync(resync.leg, resync.seq)?;
        self.buffer.acknowledge(resync.applied)?;
        let reason = resync.reason();
        let Resync { snapshot, latest, zone, applied, lost_upstream, .. } = resync;
        self.tell(Event::Resync { snapshot, latest, zone, reason, lost_upstream });
        if is_in_place && reason == RungReason::RolledBack {
            // What was under way may have been applied to what is gone; what was not comes twice.
            self.buffer.relaunch();
        }
        self.end_requests(applied);
        self.acknowledge();
        self.flush();
        Ok(())
    }
}

impl Client {
    /// Gives the connection up for a reason of this side.
    pub(super) fn give_up(&mut self, now: Time, code: CloseCode) {
        self.outputs.push_back(Output::Close(Some(code)));
        self.ended(now, Ending::of(Some(code)));
    }
}

/// In whole microseconds, as every client counts it.
fn eighth(while_: Duration) -> Duration {
    Duration::from_micros(micros(while_) / 8)
}
