//! Keeps bots in the arenas in which people play.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_core::event::EndCause;
use rejoin_core::event::Event;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Changes, SessionConfig};
use rejoin_core::id::{GameId, SessionId};
use rejoin_core::session::Presence;
use rejoin_server::{Server, ServerError};
use tokio::sync::broadcast::error::RecvError;

use crate::KIND;
use crate::arena::BOTS_MAX;
use crate::bot::Bot;

/// What bots are called.
const NAMES: [&str; BOTS_MAX] = ["Pixel", "Rivet", "Comet"];

/// An arena, and the number of a bot in it.
type Place = (ZoneName, usize);

/// The bots that run, and where.
struct Keeper {
    server: Server,
    bots: BTreeMap<SessionId, Place>,
}

/// Keeps bots in the arenas until the server stops.
pub async fn keep(server: Server) {
    let mut events = server.events();
    let mut keeper = Keeper { server, bots: BTreeMap::new() };
    let mut outcome = keeper.take_up().await;
    while outcome.is_ok() {
        outcome = match events.recv().await {
            Ok(event) => keeper.heed(event).await,
            // Bots are company, not bookkeeping: the next join makes up for what was missed.
            Err(RecvError::Lagged(_)) => Ok(()),
            Err(RecvError::Closed) => return,
        };
    }
}

impl Keeper {
    /// The sessions of bots outlive a restart, with hero and score: each is played on by a new bot.
    async fn take_up(&mut self) -> Result<(), ServerError> {
        self.server.ready().await?;
        let zones: BTreeMap<_, _> = self.server.zones().await?.into_iter().collect();
        let sessions = self.server.sessions().await?;
        for session in sessions.into_iter().filter(|view| view.presence == Presence::Native) {
            let zone = session.zone.and_then(|zone| zones.get(&zone));
            let Some(zone) = zone.filter(|zone| zone.kind == KIND) else { continue };
            let number = NAMES.iter().position(|name| session.data == name.as_bytes());
            let place = number.map(|number| (zone.clone(), number));
            let is_free = |place: &Place| self.bots.values().all(|taken| taken != place);
            if let Some(place) = place.filter(is_free) {
                let bot = Bot::new(zone.clone(), NAMES[place.1]);
                if self.server.attach_agent(session.id, bot).await.is_ok() {
                    self.bots.insert(session.id, place);
                    continue;
                }
            }
            // An error means that it has ended by itself.
            let _ = self.server.end(session.id, EndCause::Left).await;
        }
        for name in zones.into_values().filter(|name| name.kind == KIND) {
            self.fill(name).await?;
        }
        Ok(())
    }

    async fn heed(&mut self, event: Event) -> Result<(), ServerError> {
        match event {
            Event::PlayerLeft { session, .. } => {
                self.bots.remove(&session);
                Ok(())
            }
            Event::ZoneJoined { session, zone } | Event::ZoneParted { session, zone, .. }
                if zone.kind == KIND && !self.bots.contains_key(&session) =>
            {
                if self.server.is_open(&zone).await? { self.fill(zone).await } else { Ok(()) }
            }
            _ => Ok(()),
        }
    }

    /// Starts the bots that are missing. Those that are too many the arena does not let in.
    async fn fill(&mut self, zone: ZoneName) -> Result<(), ServerError> {
        // A Game is played by those who have a seat.
        if GameId::from_hex(&zone.name).is_some() {
            return Ok(());
        }
        for (number, name) in NAMES.into_iter().enumerate() {
            let place = (zone.clone(), number);
            if self.bots.values().any(|taken| *taken == place) {
                continue;
            }
            let bot = Bot::new(zone.clone(), name);
            // By its name a bot is known again after a restart.
            let data = Some(Bytes::from_static(name.as_bytes()));
            let changes = Changes { data, ..Changes::default() };
            let config = SessionConfig { changes, ..SessionConfig::default() };
            match self.server.start_agent(config, bot).await {
                Ok(session) => drop(self.bots.insert(session, place)),
                Err(ServerError::Stopped) => return Err(ServerError::Stopped),
                Err(error) => tracing::debug!(%error, "no bot for the arena"),
            }
        }
        Ok(())
    }
}
