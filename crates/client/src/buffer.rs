//! What the game has sent and the server has not acknowledged.
//!
//! A send waits without a number; it gets the next one when it is first put on a wire, is encoded
//! then and never again, and is dropped only when it is acknowledged. So numbers have no gaps,
//! however many values of a key replaced each other while they waited. Bounded in frames and bytes.

use std::collections::VecDeque;

use bytes::Bytes;
use rejoin_wire::v1::{ClientFrame, Up, client_frame, up};
use rejoin_wire::{EncodeError, Encoding, encode_client};

use crate::error::Violation;
use crate::event::SendId;

/// What becomes of a send when its session is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// It is reported as lost.
    Plain,
    /// The same; and a newer value of its key takes its place while it waits.
    Latest,
    /// It ends as a request does.
    Request,
    /// It is said again to the next session.
    Bye,
}

/// A send that has no number yet.
pub(crate) struct Waiting {
    pub id: SendId,
    pub kind: Kind,
    pub body: up::Body,
    pub cost: usize,
}

/// A send that has been on a wire.
pub(crate) struct Sent {
    pub number: u64,
    pub id: SendId,
    pub kind: Kind,
    bytes: Bytes,
    cost: usize,
}

/// A frame to put on the wire; the number, if it is there for the first time.
pub(crate) struct Launch {
    pub bytes: Bytes,
    pub numbered: Option<(u64, SendId, Kind)>,
}

/// How much may be unacknowledged on a connection.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Window {
    pub frames: usize,
    pub bytes: usize,
}

/// One client's sends: those on the wire in the order of their numbers, and behind them those that wait.
pub(crate) struct SendBuffer {
    encoding: Encoding,
    frames_max: usize,
    bytes_max: usize,
    /// Of everything in `sent` and `waiting`.
    bytes: usize,
    sent: VecDeque<Sent>,
    waiting: VecDeque<Waiting>,
    /// The next number; none until a welcome tells it.
    next: Option<u64>,
    /// None while there is no connection to send on.
    window: Option<Window>,
    /// How many of `sent` have been put on this connection.
    launched: usize,
    launched_bytes: usize,
}

/// Numbers beyond this come from a server that makes them up: no client lives to send so many.
const NUMBER_MAX: u64 = u64::MAX >> 1;

impl SendBuffer {
    pub(crate) fn new(encoding: Encoding, frames_max: usize, bytes_max: usize) -> Self {
        Self {
            encoding,
            frames_max,
            bytes_max,
            bytes: 0,
            sent: VecDeque::new(),
            waiting: VecDeque::new(),
            next: None,
            window: None,
            launched: 0,
            launched_bytes: 0,
        }
    }

    /// Takes a send; false when there is no room. A latest value replaces the waiting one of its
    /// key and goes to the end: it may come later than its place, never earlier.
    pub(crate) fn push(&mut self, id: SendId, kind: Kind, body: up::Body) -> bool {
        let cost = cost(self.encoding, &body);
        let replaced = match (kind, &body) {
            (Kind::Latest, up::Body::Message(message)) => self.waiting_of_key(&message.key),
            _ => None,
        };
        let freed = replaced.and_then(|index| self.waiting.get(index)).map(|old| old.cost);
        let frames = self.len() - usize::from(freed.is_some());
        let bytes = self.bytes - freed.unwrap_or(0);
        // A full buffer must not keep a player from leaving.
        let has_room = frames < self.frames_max && bytes.saturating_add(cost) <= self.bytes_max;
        if !has_room && kind != Kind::Bye {
            return false;
        }
        if let Some(index) = replaced {
            self.waiting.remove(index);
        }
        self.bytes = bytes.saturating_add(cost);
        self.waiting.push_back(Waiting { id, kind, body, cost });
        true
    }

    /// Whether a welcome's number can be, given what is held here.
    pub(crate) fn check(&self, applied: u64) -> Result<(), Violation> {
        match self.next {
            _ if applied > NUMBER_MAX => Err(Violation::AppliedAhead { applied }),
            Some(next) if applied >= next => Err(Violation::AppliedAhead { applied }),
            Some(_) if applied.saturating_add(1) < self.oldest_unacked() => {
                Err(Violation::AppliedBehind { applied })
            }
            _ => Ok(()),
        }
    }

    /// A connection was welcomed: what is acknowledged goes, the rest will be sent on it.
    pub(crate) fn attach(&mut self, applied: u64, window: Window) -> Result<(), Violation> {
        self.check(applied)?;
        match self.next {
            Some(_) => self.acknowledge(applied)?,
            None => self.next = Some(applied.saturating_add(1)),
        }
        self.detach();
        self.window = Some(window);
        Ok(())
    }

    /// The connection is gone.
    pub(crate) fn detach(&mut self) {
        self.window = None;
        self.launched = 0;
        self.launched_bytes = 0;
    }

    /// Everything that is not acknowledged goes on this connection once more.
    pub(crate) fn relaunch(&mut self) {
        self.launched = 0;
        self.launched_bytes = 0;
    }

    /// Everything up to here is consumed. An older number says nothing new.
    pub(crate) fn acknowledge(&mut self, applied: u64) -> Result<(), Violation> {
        if self.next.is_none_or(|next| applied >= next) {
            return Err(Violation::AppliedAhead { applied });
        }
        while self.sent.front().is_some_and(|sent| sent.number <= applied) {
            let Some(sent) = self.sent.pop_front() else { break };
            self.bytes -= sent.cost;
            if self.launched > 0 {
                self.launched -= 1;
                self.launched_bytes -= sent.weight();
            }
        }
        Ok(())
    }

    /// The next frame that may go on the wire.
    pub(crate) fn next_launch(&mut self) -> Option<Launch> {
        let window = self.window?;
        if self.launched >= window.frames.max(1) {
            return None;
        }
        let next = match self.sent.get(self.launched) {
            Some(sent) => sent.weight(),
            None => self.waiting.front()?.cost,
        };
        // One frame may always be under way, else a large one would wait for ever.
        if self.launched > 0 && self.launched_bytes.saturating_add(next) > window.bytes {
            return None;
        }
        let numbered = if self.launched == self.sent.len() { Some(self.number()?) } else { None };
        let sent = self.sent.get(self.launched)?;
        let bytes = sent.bytes.clone();
        self.launched_bytes += sent.weight();
        self.launched += 1;
        Some(Launch { bytes, numbered })
    }

    /// Gives the first waiting send its number.
    fn number(&mut self) -> Option<(u64, SendId, Kind)> {
        let number = self.next.filter(|next| *next <= NUMBER_MAX)?;
        let bytes = encode(self.encoding, number, self.waiting.front()?.body.clone()).ok()?;
        let Waiting { id, kind, cost, .. } = self.waiting.pop_front()?;
        self.next = Some(number + 1);
        self.sent.push_back(Sent { number, id, kind, bytes, cost });
        Some((number, id, kind))
    }

    /// Gives up what was sent and not acknowledged, and the numbers with it.
    pub(crate) fn take_sent(&mut self) -> Vec<Sent> {
        self.next = None;
        self.detach();
        let taken: Vec<Sent> = self.sent.drain(..).collect();
        self.bytes -= taken.iter().map(|sent| sent.cost).sum::<usize>();
        taken
    }

    /// Gives up what was never sent.
    pub(crate) fn take_waiting(&mut self) -> Vec<Waiting> {
        let taken: Vec<Waiting> = self.waiting.drain(..).collect();
        self.bytes -= taken.iter().map(|waiting| waiting.cost).sum::<usize>();
        taken
    }

    /// The lowest number that is held, or the next one; 0 when none is known.
    pub(crate) fn oldest_unacked(&self) -> u64 {
        self.sent.front().map(|sent| sent.number).or(self.next).unwrap_or(0)
    }

    /// How many requests wait to be sent.
    pub(crate) fn waiting_requests(&self) -> usize {
        self.waiting.iter().filter(|waiting| waiting.kind == Kind::Request).count()
    }

    /// Whether the Bye has been sent and acknowledged, given that there was one.
    pub(crate) fn is_drained(&self) -> bool {
        self.sent.is_empty() && self.waiting.is_empty()
    }

    /// Sends that wait or are not acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.sent.len() + self.waiting.len()
    }

    /// The bytes of those sends, as they are counted against `bytes_max`.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// How many are on this connection and not acknowledged.
    pub(crate) fn in_flight(&self) -> usize {
        self.launched
    }

    fn waiting_of_key(&self, key: &str) -> Option<usize> {
        self.waiting.iter().position(|waiting| match &waiting.body {
            up::Body::Message(message) => waiting.kind == Kind::Latest && message.key == key,
            _ => false,
        })
    }
}

impl Sent {
    /// What it counts in the window.
    fn weight(&self) -> usize {
        self.cost.max(self.bytes.len())
    }
}

fn encode(encoding: Encoding, seq: u64, body: up::Body) -> Result<Bytes, EncodeError> {
    let up = Up { seq, body: Some(body) };
    encode_client(encoding, &ClientFrame { frame: Some(client_frame::Frame::Up(up)) })
}

/// At least the length of the encoded frame, but for names that JSON must escape.
fn cost(encoding: Encoding, body: &up::Body) -> usize {
    let content = match body {
        up::Body::Message(message) => message.payload.len() + message.key.len(),
        up::Body::Answer(answer) => answer.payload.len(),
        up::Body::Join(join) => {
            join.payload.len() + join.kind.len() + join.name.len() + join.ticket.len()
        }
        up::Body::Part(_) | up::Body::Bye(_) => 0,
    };
    match encoding {
        Encoding::Protobuf => content + 32,
        Encoding::Json => content + content / 3 + 128,
    }
}

#[cfg(test)]
mod tests;
