//! Sessions that live in the server, beside what the administrator does with them: they start, take seats
//! in Games, join, say something and part.

use std::sync::Arc;

use bytes::Bytes;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Command, SessionCommand, SessionConfig};
use rejoin_core::id::SessionId;

use crate::speech::{Verb, Wish};
use crate::world::World;

impl World {
    /// A session of the server may do something, or start.
    pub(crate) fn natives_act(&mut self) {
        if !self.rng.per_mille(self.knobs.faults.meddle * 3) {
            return;
        }
        let Some(native) = self.natives.last().copied().map(SessionId) else {
            return self.command(Command::StartSession(SessionConfig::default()));
        };
        let command = match self.rng.below(8) {
            0..=2 if !self.games.is_empty() => return self.seat_native(),
            0..=3 => {
                let name = ZoneName { kind: "cells".to_owned(), name: "z0".to_owned() };
                Command::Session(native, SessionCommand::Join(name, Bytes::new()))
            }
            4 | 5 => {
                let wish = Wish { verb: Verb::Say, book: 0, number: 0, arg: 0 };
                Command::Session(native, SessionCommand::Say(Arc::new(wish)))
            }
            _ => Command::Session(native, SessionCommand::Part),
        };
        self.tell(|| format!("native {native} {command:?}"));
        self.command(command);
    }
}
