//! What an agent's callback sees, and where it says what it wants. Nothing happens before the
//! callback returns.

use std::marker::PhantomData;

use bytes::Bytes;

use crate::event::EndCause;
use crate::exchange::ZoneName;
use crate::hub::{Command, SessionCommand};
use crate::id::{SeatId, SessionId};
use crate::time::Time;
use crate::zone::Message;

/// An agent's turn.
pub struct Cue<'a, Out> {
    now: Time,
    session: SessionId,
    zone: Option<&'a ZoneName>,
    commands: Vec<Command>,
    says: PhantomData<fn(Out)>,
}

impl<'a, Out: Message> Cue<'a, Out> {
    pub(super) fn new(now: Time, session: SessionId, zone: Option<&'a ZoneName>) -> Self {
        Self { now, session, zone, commands: Vec::new(), says: PhantomData }
    }

    pub(super) fn into_commands(self) -> Vec<Command> {
        self.commands
    }

    /// The instant of this turn.
    #[must_use]
    pub fn now(&self) -> Time {
        self.now
    }

    /// The session it plays.
    #[must_use]
    pub fn session(&self) -> SessionId {
        self.session
    }

    /// The zone it is a member of.
    #[must_use]
    pub fn zone(&self) -> Option<&'a ZoneName> {
        self.zone
    }

    /// Says something in its zone, as a value: nothing is encoded.
    pub fn say(&mut self, message: Out) {
        self.commands.push(Command::Session(
            self.session,
            SessionCommand::Say(crate::zone::native(message)),
        ));
    }

    /// Joins a zone, opening it if need be.
    pub fn join(&mut self, zone: ZoneName, payload: impl Into<Bytes>) {
        self.commands
            .push(Command::Session(self.session, SessionCommand::Join(zone, payload.into())));
    }

    /// Joins the zone of a Game with a seat of its player.
    pub fn take_seat(&mut self, zone: ZoneName, seat: SeatId, payload: impl Into<Bytes>) {
        self.commands.push(Command::Session(
            self.session,
            SessionCommand::TakeSeat(zone, seat, payload.into()),
        ));
    }

    /// Goes from its zone to another, or from none into one.
    pub fn move_to(&mut self, zone: ZoneName, payload: impl Into<Bytes>) {
        self.commands
            .push(Command::Session(self.session, SessionCommand::Move(zone, payload.into())));
    }

    /// Leaves its zone.
    pub fn part(&mut self) {
        self.commands.push(Command::Session(self.session, SessionCommand::Part));
    }

    /// Ends its session, as a player does who leaves for good.
    pub fn leave(&mut self) {
        self.commands.push(Command::Session(self.session, SessionCommand::End(EndCause::Left)));
    }
}
