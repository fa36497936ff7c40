//! The client: one input, then drain.
//!
//! Owns the state of the connection and of the session that outlives it. What happens to a frame,
//! a send, a welcome and an ending is told in the rooms below this one.

mod ending;
mod frame;
mod hello;
mod send;
mod welcome;

use std::collections::VecDeque;
use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::encode_client;
use rejoin_wire::v1::{ClientFrame, CloseCode, Ping, client_frame, up};

use crate::backoff::{Backoff, Held};
use crate::buffer::{Kind, SendBuffer};
use crate::chance::Chance;
use crate::config::Config;
use crate::downstream::Downstream;
use crate::event::{Event, Output, SendId};
use crate::identity::{Identity, ResumeState};
use crate::ledger::Ledger;
use crate::pulse::Pulse;
use crate::time::Time;
use ending::Ending;

/// The client end of a session.
///
/// After every input, and after every call that sends, drain [`next_output`](Client::next_output)
/// before the next one, and ask [`next_deadline`](Client::next_deadline) when to
/// [`wake`](Client::wake) it.
pub struct Client {
    config: Config,
    identity: Identity,
    chance: Chance,
    link: Link,
    /// The session that the game believes in; its token may be worthless already.
    session: Option<u64>,
    /// What a resume shows; none: the next hello is a login.
    ticket: Option<ResumeState>,
    buffer: SendBuffer,
    ledger: Ledger,
    downstream: Downstream,
    backoff: Backoff,
    hold: Duration,
    held: Option<Held>,
    /// Where to connect; empty: where the driver was told to.
    addresses: Vec<String>,
    /// Why the last session could not be resumed.
    after: Option<CloseCode>,
    /// The next login asks for a fresh session.
    fresh: bool,
    /// The player wants to go; the Bye is in the buffer.
    leaving: bool,
    message_bytes_max: usize,
    latency: Option<Latency>,
    last_id: u64,
    outputs: VecDeque<Output>,
}

/// What a client is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// Nothing; it was not asked to connect, was cancelled, or has left.
    Idle,
    /// Nothing, until the player asks for a retry.
    Stopped,
    /// Waiting for the next attempt.
    Waiting,
    /// Dialling, or shaking hands.
    Connecting,
    /// The server has sent its welcome, and the connection is still open.
    Connected,
}

/// Round trips, from a ping to its pong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// The last one.
    pub last: Duration,
    /// Smoothed: a new one counts an eighth.
    pub smoothed: Duration,
}

/// The one connection, or why there is none.
enum Link {
    Idle,
    Stopped,
    /// The server's own wish ends at `asked`; the rest is this client's.
    Waiting {
        until: Time,
        asked: Time,
    },
    Opening {
        deadline: Time,
    },
    /// The challenge has not come.
    Greeting {
        deadline: Time,
        binding: Bytes,
    },
    /// The hello is being decided; `resumed` is the session it named.
    Answering {
        deadline: Time,
        resumed: Option<u64>,
    },
    Live {
        since: Time,
        pulse: Pulse,
    },
}

impl Client {
    /// A client that has never been connected. The seed spreads its reconnects and needs no secrecy.
    #[must_use]
    pub fn new(config: Config, identity: Identity, seed: [u8; 32]) -> Self {
        let (frames_max, bytes_max) = (config.send_buffer_frames_max, config.send_buffer_bytes_max);
        Self {
            identity,
            chance: Chance::from_seed(seed),
            link: Link::Idle,
            session: None,
            ticket: None,
            buffer: SendBuffer::new(config.encoding, frames_max, bytes_max),
            ledger: Ledger::default(),
            downstream: Downstream::Unknown,
            backoff: Backoff::new(config.backoff_base, config.backoff_max),
            hold: Duration::ZERO,
            held: None,
            addresses: Vec::new(),
            after: None,
            fresh: false,
            leaving: false,
            message_bytes_max: config.limits.message_bytes_max,
            latency: None,
            last_id: 0,
            outputs: VecDeque::new(),
            config,
        }
    }

    /// A client that takes up what an earlier process stored: its first hello is a cold resume.
    #[must_use]
    pub fn with_resume_state(
        config: Config,
        identity: Identity,
        seed: [u8; 32],
        state: ResumeState,
    ) -> Self {
        let mut client = Self::new(config, identity, seed);
        client.session = Some(state.session);
        client.ticket = Some(state);
        client
    }

    /// The game wants to be connected. Does nothing when that is under way, or after a stop: that
    /// takes a [`retry`](Client::retry).
    pub fn connect(&mut self, now: Time) {
        if let Link::Idle = self.link {
            self.attempt(now);
        }
    }

    /// The same, with a session that starts anew: what the server holds for the player ends as
    /// superseded, and what this client remembers is given up.
    pub fn connect_fresh(&mut self, now: Time) {
        self.hang_up(now, None);
        self.leaving = false;
        self.forget_session();
        self.fresh = true;
        self.attempt(now);
    }

    /// Tries again now, because the player asks for it: after a takeover, after a fatal ending, or instead of
    /// waiting. Does nothing while a connection is open or being opened.
    pub fn retry(&mut self, now: Time) {
        if let Link::Idle | Link::Stopped | Link::Waiting { .. } = self.link {
            self.attempt(now);
        }
    }

    /// The platform says that the network may be there again, or that the program has been asleep.
    /// Whoever waits tries now, unless it is the server that asked for the wait. A live connection is
    /// asked whether it lives, and given up if it says nothing for half a heartbeat.
    pub fn hasten(&mut self, now: Time) {
        match &mut self.link {
            Link::Waiting { asked, .. } if now >= *asked => self.attempt(now),
            Link::Live { pulse, .. } => {
                pulse.doubt(now);
                self.probe(now);
            }
            _ => {}
        }
    }

    /// The transport is up.
    pub fn opened(&mut self, now: Time) {
        self.opened_bound(now, Bytes::new());
    }

    /// The transport is up and gives bytes that bind a proof to this channel (a TLS exporter).
    pub fn opened_bound(&mut self, now: Time, binding: Bytes) {
        if let Link::Opening { .. } = self.link {
            let deadline = now.after(self.config.handshake_timeout);
            self.link = Link::Greeting { deadline, binding };
        }
    }

    /// The transport is gone, or could not be opened; with the code it was closed with, if any.
    pub fn closed(&mut self, now: Time, code: Option<CloseCode>) {
        if self.has_transport() {
            self.ended(now, Ending::of(code));
        }
    }

    /// The time has come that [`next_deadline`](Client::next_deadline) named. Frames that have come
    /// by then are to be handed in first: after a stall they show that the server is there.
    pub fn wake(&mut self, now: Time) {
        match &mut self.link {
            Link::Idle | Link::Stopped => {}
            Link::Waiting { until, .. } => {
                if now >= *until {
                    self.attempt(now);
                }
            }
            Link::Opening { deadline }
            | Link::Greeting { deadline, .. }
            | Link::Answering { deadline, .. } => {
                if now >= *deadline {
                    self.give_up(now, CloseCode::HandshakeTimeout);
                }
            }
            Link::Live { pulse, .. } => {
                if pulse.is_silent(now) {
                    return self.give_up(now, CloseCode::HeartbeatLost);
                }
                let (is_ack_due, is_ping_due) = (pulse.is_ack_due(now), pulse.take_ping(now));
                if is_ack_due {
                    self.acknowledge();
                }
                if is_ping_due {
                    self.probe(now);
                }
            }
        }
    }

    /// Asks the server for a sign of life; how long it takes is then known as
    /// [`latency`](Client::latency). Does nothing without a connection.
    pub fn probe(&mut self, now: Time) {
        if let Link::Live { pulse, .. } = &mut self.link {
            let nonce = self.chance.number();
            pulse.asked(now, nonce);
            self.put(client_frame::Frame::Ping(Ping { nonce }));
        }
    }

    /// The game does not want to be connected any more. The server holds the session for a while,
    /// and [`connect`](Client::connect) resumes it.
    pub fn cancel(&mut self, now: Time) {
        if let Link::Idle | Link::Stopped = self.link {
            return;
        }
        self.hang_up(now, None);
        self.tell(Event::Stopped { code: None, text: String::new() });
    }

    /// The player leaves for good: what was sent before is delivered first, then the session ends
    /// and [`Event::Left`] is told. Where there is no session, or a stop has cut this client off
    /// from it, there is nothing to deliver and the event is told at once.
    pub fn leave(&mut self, now: Time) {
        let is_undecided = matches!(self.link, Link::Answering { .. });
        let is_cut_off = matches!(self.link, Link::Stopped);
        if self.leaving && !is_cut_off {
            return;
        }
        if is_cut_off || (self.session.is_none() && !is_undecided) {
            self.hang_up(now, None);
            return self.left();
        }
        self.leaving = true;
        let id = self.next_id();
        self.buffer.push(id, Kind::Bye, up::Body::Bye(rejoin_wire::v1::Bye {}));
        self.flush();
        self.connect(now);
    }

    /// The next thing to do, in order; none when the client waits for an input.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// When [`wake`](Client::wake) is due.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        match &self.link {
            Link::Idle | Link::Stopped => None,
            Link::Waiting { until, .. } => Some(*until),
            Link::Opening { deadline }
            | Link::Greeting { deadline, .. }
            | Link::Answering { deadline, .. } => Some(*deadline),
            Link::Live { pulse, .. } => Some(pulse.deadline()),
        }
    }

    /// What the client is doing.
    #[must_use]
    pub fn status(&self) -> Status {
        match self.link {
            Link::Idle => Status::Idle,
            Link::Stopped => Status::Stopped,
            Link::Waiting { .. } => Status::Waiting,
            Link::Opening { .. } | Link::Greeting { .. } | Link::Answering { .. } => {
                Status::Connecting
            }
            Link::Live { .. } => Status::Connected,
        }
    }

    /// What leads back to the session from another process.
    #[must_use]
    pub fn resume_state(&self) -> Option<&ResumeState> {
        self.ticket.as_ref()
    }

    /// The session the client is in, or would return to.
    #[must_use]
    pub fn session(&self) -> Option<u64> {
        self.session
    }

    /// Leg and number up to which everything was consumed; none after a cold start. After a part it
    /// is the end of the leg that was left, until something of the next one has come.
    #[must_use]
    pub fn position(&self) -> Option<(u64, u64)> {
        self.downstream.position().map(|position| (position.leg, position.seq))
    }

    /// Sends that wait or are not acknowledged, and their bytes.
    #[must_use]
    pub fn buffered(&self) -> (usize, usize) {
        (self.buffer.len(), self.buffer.bytes())
    }

    /// How long a ping of this client took; none before the first was answered. A client pings by
    /// itself only where it hears nothing: who wants to know more often calls
    /// [`probe`](Client::probe).
    #[must_use]
    pub fn latency(&self) -> Option<Latency> {
        self.latency
    }

    /// Sends that are on this connection and not acknowledged.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.buffer.in_flight()
    }

    /// Requests that have not ended.
    #[must_use]
    pub fn open_requests(&self) -> usize {
        self.ledger.len() + self.buffer.waiting_requests()
    }

    fn has_transport(&self) -> bool {
        match self.link {
            Link::Idle | Link::Stopped | Link::Waiting { .. } => false,
            Link::Opening { .. }
            | Link::Greeting { .. }
            | Link::Answering { .. }
            | Link::Live { .. } => true,
        }
    }

    fn attempt(&mut self, now: Time) {
        if !self.config.encoding.is_supported() {
            // The one frame that this build cannot write would be the first.
            return self.stop(CloseCode::Version, "this build does not speak the encoding".into());
        }
        self.link = Link::Opening { deadline: now.after(self.config.handshake_timeout) };
        self.outputs.push_back(Output::Connect { addresses: self.addresses.clone() });
    }

    /// Tells the server up to where everything was consumed.
    fn acknowledge(&mut self) {
        if let Link::Live { pulse, .. } = &mut self.link {
            pulse.acked();
        }
        if let Some(position) = self.downstream.acked() {
            self.put(client_frame::Frame::Ack(position));
        }
    }

    fn put(&mut self, frame: client_frame::Frame) {
        // Only an encoding that this build lacks can fail, and no attempt is made with that.
        if let Ok(bytes) = encode_client(self.config.encoding, &ClientFrame { frame: Some(frame) })
        {
            self.outputs.push_back(Output::Send(bytes));
        }
    }

    fn tell(&mut self, event: Event) {
        self.outputs.push_back(Output::Event(event));
    }

    fn next_id(&mut self) -> SendId {
        self.last_id += 1;
        SendId(self.last_id)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client")
            .field("status", &self.status())
            .field("session", &self.session)
            .field("downstream", &self.downstream)
            .field("buffered", &self.buffered())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
