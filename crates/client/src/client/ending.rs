//! The end of a connection, and what comes after it: the table of close codes decides whether the
//! client resumes, logs in, waits, goes elsewhere or stops. Also what is given up with a session.

use std::time::Duration;

use rejoin_wire::close::{Next, row};
use rejoin_wire::v1::{CloseCode, Farewell, Refusal, up};

use super::{Client, Link};
use crate::backoff::Held;
use crate::buffer::Kind;
use crate::event::{Event, Output, RequestEnd, SendId};
use crate::time::Time;

/// Why a connection ended, and what the server asks for.
#[derive(Default)]
pub(super) struct Ending {
    code: Option<CloseCode>,
    text: String,
    retry_after_ms: u32,
    addresses: Vec<String>,
}

impl Ending {
    pub(super) fn of(code: Option<CloseCode>) -> Self {
        Self { code, ..Self::default() }
    }
}

impl From<Refusal> for Ending {
    fn from(refusal: Refusal) -> Self {
        let code = Some(refusal.code());
        let Refusal { text, retry_after_ms, addresses, .. } = refusal;
        Self { code, text, retry_after_ms, addresses }
    }
}

impl From<Farewell> for Ending {
    fn from(farewell: Farewell) -> Self {
        let code = Some(farewell.code());
        let Farewell { text, retry_after_ms, addresses, .. } = farewell;
        Self { code, text, retry_after_ms, addresses }
    }
}

impl Client {
    /// The connection is over; what next?
    pub(super) fn ended(&mut self, now: Time, ending: Ending) {
        self.detach(now, ending.code);
        let code = ending.code.unwrap_or_default();
        let next = row(code).next;
        // The server has the Bye, or there is no session that it could end.
        let is_over = self.leaving && (self.session.is_none() || self.buffer.is_drained());
        match next {
            Next::Stop if code == CloseCode::Left => self.left(),
            Next::Stop if code == CloseCode::TakenOver => self.taken_over(),
            Next::Stop => {
                self.forget_session();
                self.stop(code, ending.text);
            }
            Next::Fatal => self.stop(code, ending.text),
            Next::LogInAgain if self.leaving => self.left(),
            Next::LogInAgain => {
                self.after = Some(code);
                self.forget_token();
                self.schedule(now, ending.retry_after_ms);
            }
            Next::Resume | Next::Wait | Next::Moved if is_over => self.left(),
            Next::Resume | Next::Wait => self.schedule(now, ending.retry_after_ms),
            Next::Moved => {
                self.addresses = ending.addresses;
                self.schedule(now, ending.retry_after_ms);
            }
        }
    }

    /// Closes what is open, without going on.
    pub(super) fn hang_up(&mut self, now: Time, code: Option<CloseCode>) {
        if self.has_transport() {
            self.outputs.push_back(Output::Close(code));
        }
        self.detach(now, code);
    }

    /// Does not try again until the player asks.
    pub(super) fn stop(&mut self, code: CloseCode, text: String) {
        self.link = Link::Stopped;
        self.tell(Event::Stopped { code: Some(code), text });
    }

    /// The session is over, as the player wished.
    pub(super) fn left(&mut self) {
        self.link = Link::Idle;
        self.leaving = false;
        self.forget_session();
        self.tell(Event::Left);
    }

    /// Gives up the session and everything that was sent to it.
    pub(super) fn forget_session(&mut self) {
        self.lose_waiting();
        self.forget_token();
        self.session = None;
        self.after = None;
    }

    /// Gives up what was sent and not acknowledged: nobody can say what became of it.
    pub(super) fn lose_sent(&mut self) {
        let sent = self.buffer.take_sent();
        let lost = sent.into_iter().map(|sent| (sent.id, sent.kind)).collect();
        for request in self.ledger.end_all() {
            self.tell(Event::RequestEnded { request, how: RequestEnd::OutcomeUnknown });
        }
        self.lose(lost);
    }

    /// Gives up what was never sent.
    pub(super) fn lose_waiting(&mut self) {
        let waiting = self.buffer.take_waiting();
        let lost: Vec<(SendId, Kind)> =
            waiting.into_iter().map(|waiting| (waiting.id, waiting.kind)).collect();
        for (request, _) in lost.iter().filter(|(_, kind)| *kind == Kind::Request) {
            let how = RequestEnd::NotSent;
            self.tell(Event::RequestEnded { request: *request, how });
        }
        self.lose(lost);
    }

    /// Reports what is lost; a Bye is said again, as long as the player wants to leave.
    fn lose(&mut self, lost: Vec<(SendId, Kind)>) {
        let bye = lost.iter().find(|(_, kind)| *kind == Kind::Bye).copied();
        if let Some((id, kind)) = bye.filter(|_| self.leaving) {
            self.buffer.push(id, kind, up::Body::Bye(rejoin_wire::v1::Bye {}));
        }
        let is_plain = |kind: &Kind| matches!(kind, Kind::Plain | Kind::Latest);
        let sends = lost.into_iter().filter(|(_, kind)| is_plain(kind)).map(|(id, _)| id);
        let sends: Vec<SendId> = sends.collect();
        if !sends.is_empty() {
            self.tell(Event::SendsLost { sends });
        }
    }

    /// The next hello is a login: neither token nor numbers nor position are worth anything.
    fn forget_token(&mut self) {
        self.lose_sent();
        self.downstream.forget();
        self.addresses.clear();
        self.held = None;
        if self.ticket.take().is_some() {
            self.outputs.push_back(Output::ForgetToken);
        }
    }

    /// Another device speaks for the session. If the player takes it back, that one's numbers and
    /// acknowledgements count, not those of this client: it comes back cold.
    fn taken_over(&mut self) {
        self.link = Link::Stopped;
        self.downstream.forget();
        self.tell(Event::TakenOver);
        self.lose_sent();
    }

    fn detach(&mut self, now: Time, code: Option<CloseCode>) {
        self.buffer.detach();
        self.downstream.detach();
        match std::mem::replace(&mut self.link, Link::Idle) {
            Link::Live { since, .. } => {
                self.held = Some(Held { since: now, hold: self.hold });
                if now.since(since) >= self.config.settled_after {
                    self.backoff.reset();
                }
                self.tell(Event::Disconnected { code });
            }
            // Nobody is there: where the game was told to connect, somebody will know where to go.
            Link::Opening { .. } | Link::Greeting { .. } => self.addresses.clear(),
            Link::Idle | Link::Stopped | Link::Waiting { .. } | Link::Answering { .. } => {}
        }
    }

    fn schedule(&mut self, now: Time, retry_after_ms: u32) {
        let floor = Duration::from_millis(retry_after_ms.into());
        if retry_after_ms > 0
            && let Some(held) = &mut self.held
        {
            // A hold stands still while the client was told to wait.
            held.since = now.after(floor);
        }
        let wait = self.backoff.next(now, self.held, floor, &mut self.chance);
        self.link = Link::Waiting { until: now.after(wait), asked: now.after(floor) };
        let in_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.tell(Event::Reconnecting { attempt: self.backoff.attempt(), in_ms });
    }
}
