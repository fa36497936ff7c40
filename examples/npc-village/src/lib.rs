//! A village: a zone in which people talk, and villagers who are played by the server. To the zone a
//! villager is a member as any other; to a player it is somebody who answers.

mod villager;

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin::prelude::*;

pub use villager::{Trade, Villager};

/// Villagers and where they live: start each with `Server::start_agent`.
pub const VILLAGERS: [(&str, Trade); 3] =
    [("Ada", Trade::Smith), ("Bert", Trade::Innkeeper), ("Cleo", Trade::Crier)];

/// Where everybody meets.
#[must_use]
pub fn square() -> ZoneName {
    ZoneName::new("village", "square")
}

/// How the village runs. What is said there need not outlive the server.
#[must_use]
pub fn config() -> ZoneConfig {
    let hold = Hold::Timed(Duration::from_secs(30));
    ZoneConfig { durability: Durability::Memory, tick: None, hold, ..ZoneConfig::default() }
}

/// Something that is said: by whom, and what. From players it comes without a name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Words {
    /// Who says it; empty on the way to the zone.
    pub who: String,
    /// What.
    pub text: String,
}

impl Words {
    /// Words of whoever sends them.
    #[must_use]
    pub fn new(text: &str) -> Self {
        Self { who: String::new(), text: text.to_owned() }
    }
}

impl Message for Words {
    fn encode(&self) -> Bytes {
        Bytes::from(if self.who.is_empty() {
            self.text.clone()
        } else {
            format!("{}: {}", self.who, self.text)
        })
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        let text = std::str::from_utf8(&payload).map_err(|_| BadPayload("text".to_owned()))?;
        Ok(match text.split_once(": ") {
            Some((who, text)) => Self { who: who.to_owned(), text: text.to_owned() },
            None => Self::new(text),
        })
    }
}

/// The zone: who is here, by the name they came with.
#[derive(Debug, Default)]
pub struct Village {
    names: BTreeMap<SessionId, String>,
}

impl Zone for Village {
    type In = Words;
    type Out = Words;

    fn on_join(
        &mut self,
        ctx: &mut Context<'_, Words>,
        who: SessionId,
        name: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        let name = String::from_utf8_lossy(&name).trim().to_owned();
        if name.is_empty() || name.len() > 30 || name.contains(':') {
            return Err(JoinDenied("a name has 1 to 30 bytes and no colon".to_owned()));
        }
        if self.names.values().any(|taken| *taken == name) {
            return Err(JoinDenied(format!("there is a {name} already")));
        }
        let is_villager = ctx.members().any(|member| member.session == who && member.is_native);
        let here = self.names.values().cloned().collect::<Vec<_>>().join(", ");
        if !is_villager {
            ctx.broadcast_except(who, Words { who: "*".to_owned(), text: format!("{name} comes") });
        }
        self.names.insert(who, name);
        Ok(Bytes::from(here))
    }

    fn on_part(&mut self, _ctx: &mut Context<'_, Words>, who: SessionId, _cause: PartCause) {
        self.names.remove(&who);
    }

    fn on_message(&mut self, ctx: &mut Context<'_, Words>, from: Sender, words: Words) {
        // Whose words they are says the zone, not the sender.
        let Some(who) = self.names.get(&from.session).cloned() else { return };
        ctx.broadcast_except(from.session, Words { who, text: words.text });
    }

    fn on_resync(&mut self, _ctx: &mut Context<'_, Words>, _who: SessionId) -> Bytes {
        Bytes::from(self.names.values().cloned().collect::<Vec<_>>().join(", "))
    }
}
