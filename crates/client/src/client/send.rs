//! What the game says. Everything but the unreliable is kept until the server has it: these calls
//! work the same with and without a connection, until the buffer is full.

use bytes::Bytes;
use rejoin_wire::v1::{Answer, ClientFrame, Join, Loose, Message, Part, Up, client_frame, up};
use rejoin_wire::{DecodeError, check_client};

use super::{Client, Link};
use crate::buffer::{Kind, Launch};
use crate::error::SendError;
use crate::event::SendId;

impl Client {
    /// Asks to join the zone of this kind and name; `create` opens it if there is none. Ends in
    /// [`Event::Joined`](crate::Event::Joined) or [`Event::Refused`](crate::Event::Refused).
    pub fn join(
        &mut self,
        kind: impl Into<String>,
        name: impl Into<String>,
        create: bool,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, SendError> {
        let (kind, name, payload) = (kind.into(), name.into(), payload.into());
        let join = Join { kind, name, create, payload, ticket: String::new() };
        self.queue(Kind::Plain, up::Body::Join(join))
    }

    /// Asks to join a Game with the seat that was reserved for this player: `game` and `ticket` are
    /// the ids of both as the directory tells them. Ends as [`join`](Self::join) does.
    pub fn join_game(
        &mut self,
        fleet: impl Into<String>,
        game: impl Into<String>,
        ticket: impl Into<String>,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, SendError> {
        let (kind, name, ticket) = (fleet.into(), game.into(), ticket.into());
        let join = Join { kind, name, create: false, payload: payload.into(), ticket };
        self.queue(Kind::Plain, up::Body::Join(join))
    }

    /// Asks to leave the zone. The session stays.
    pub fn part(&mut self) -> Result<SendId, SendError> {
        self.queue(Kind::Plain, up::Body::Part(Part {}))
    }

    /// Sends an ordered message: applied exactly once, or refused.
    pub fn send(&mut self, payload: impl Into<Bytes>) -> Result<SendId, SendError> {
        let message = Message { payload: payload.into(), ..Default::default() };
        self.queue(Kind::Plain, up::Body::Message(message))
    }

    /// Sends a value of which only the newest matters: until it is put on the wire, the next value
    /// of the same key takes its place, at the end of what waits.
    pub fn send_latest(
        &mut self,
        key: impl Into<String>,
        payload: impl Into<Bytes>,
    ) -> Result<SendId, SendError> {
        let message = Message { payload: payload.into(), key: key.into(), ..Default::default() };
        if message.key.is_empty() {
            return Err(SendError::EmptyKey);
        }
        self.queue(Kind::Latest, up::Body::Message(message))
    }

    /// Sends a message that is not kept: it may be lost, and is when the session changes its place.
    pub fn send_unreliable(&mut self, payload: impl Into<Bytes>) -> Result<(), SendError> {
        let payload = payload.into();
        let (len, max) = (payload.len(), self.message_bytes_max);
        if len > max {
            return Err(SendError::TooLarge { field: "loose.payload", len, max });
        }
        match (&self.link, self.downstream.open_leg()) {
            _ if self.leaving => Err(SendError::Leaving),
            (Link::Live { .. }, Some(leg)) => {
                self.put(client_frame::Frame::Loose(Loose { leg, payload }));
                Ok(())
            }
            _ => Err(SendError::NotConnected),
        }
    }

    /// Asks the server; ends exactly once, in [`Event::Reply`](crate::Event::Reply) or
    /// [`Event::RequestEnded`](crate::Event::RequestEnded).
    pub fn request(&mut self, payload: impl Into<Bytes>) -> Result<SendId, SendError> {
        if self.open_requests() >= self.config.requests_max {
            return Err(SendError::TooManyRequests);
        }
        let message = Message { payload: payload.into(), wants_reply: true, ..Default::default() };
        self.queue(Kind::Request, up::Body::Message(message))
    }

    /// Answers a call of the server.
    pub fn answer(&mut self, call: u64, payload: impl Into<Bytes>) -> Result<SendId, SendError> {
        self.queue(Kind::Plain, up::Body::Answer(Answer { call, payload: payload.into() }))
    }

    /// Puts on the wire what the window allows.
    pub(super) fn flush(&mut self) {
        while let Some(Launch { bytes, numbered }) = self.buffer.next_launch() {
            if let Some((number, id, kind)) = numbered {
                self.ledger.note(number, id, kind);
            }
            self.outputs.push_back(crate::Output::Send(bytes));
        }
    }

    fn queue(&mut self, kind: Kind, body: up::Body) -> Result<SendId, SendError> {
        if self.leaving {
            return Err(SendError::Leaving);
        }
        self.check(&body)?;
        let id = self.next_id();
        if !self.buffer.push(id, kind, body) {
            return Err(SendError::Full);
        }
        self.flush();
        Ok(id)
    }

    fn check(&self, body: &up::Body) -> Result<(), SendError> {
        // Any number will do: the real one is not known yet.
        let up = Up { seq: 1, body: Some(body.clone()) };
        let mut limits = self.config.limits;
        limits.message_bytes_max = limits.message_bytes_max.min(self.message_bytes_max);
        match check_client(&ClientFrame { frame: Some(client_frame::Frame::Up(up)) }, &limits) {
            Err(DecodeError::TooLarge { field, len, max }) => {
                Err(SendError::TooLarge { field, len, max })
            }
            _ => Ok(()),
        }
    }
}
