//! A villager: an agent, which plays a session that lives in the server. It hears and says the zone's own
//! types, without any encoding.

use rejoin::prelude::*;

use crate::{VILLAGERS, Words, square};

/// What a villager does for a living.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Trade {
    /// Answers whoever speaks to them.
    Smith,
    /// The same, and keeps count of the rooms.
    Innkeeper,
    /// Greets whoever comes.
    Crier,
}

/// One of them.
#[derive(Debug)]
pub struct Villager {
    name: &'static str,
    trade: Trade,
    rooms: u32,
}

impl Villager {
    /// Somebody of this name and trade.
    #[must_use]
    pub fn new(name: &'static str, trade: Trade) -> Self {
        Self { name, trade, rooms: 2 }
    }

    /// What it says to words that were meant for it.
    fn answer(&mut self, text: &str) -> String {
        match self.trade {
            Trade::Smith if text.contains("sword") => "A sword is ten coins.".to_owned(),
            Trade::Innkeeper if text.contains("room") && self.rooms > 0 => {
                self.rooms -= 1;
                format!("Take the key. {} left.", self.rooms)
            }
            Trade::Innkeeper if text.contains("room") => "All rooms are taken.".to_owned(),
            _ => format!("I am {}. What can I do for you?", self.name),
        }
    }
}

impl Agent for Villager {
    type In = Words;
    type Out = Words;

    fn on_start(&mut self, cue: &mut Cue<'_, Words>) {
        cue.join(square(), self.name);
    }

    fn on_message(&mut self, cue: &mut Cue<'_, Words>, heard: &Words) {
        // Villagers do not answer villagers, or they would talk for ever.
        if VILLAGERS.iter().any(|(name, _)| *name == heard.who) {
            return;
        }
        if heard.who == "*" {
            if let (Trade::Crier, Some(name)) = (self.trade, heard.text.strip_suffix(" comes")) {
                cue.say(Words::new(&format!("Hear, hear! {name} is here!")));
            }
        } else if heard.text.starts_with(self.name) {
            let answer = self.answer(&heard.text);
            cue.say(Words::new(&answer));
        }
    }

    fn on_zone_lost(&mut self, cue: &mut Cue<'_, Words>) {
        // The zone was opened again: whoever is no member any more comes back.
        if cue.zone().is_none() {
            cue.join(square(), self.name);
        }
    }
}
