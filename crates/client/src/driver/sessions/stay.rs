//! A stay in a Game, and the seat that is on its way to one. A seat that comes to nothing is given back,
//! whether its join failed or was dropped.

use std::time::Duration;

use hyper::header::HeaderValue;

use super::asking::Desk;
use super::error::SessionError;
use super::shape::Game;
use crate::driver::player::{Events, Player};
use crate::event::Event;

/// A player who is in a Game.
#[derive(Debug)]
#[non_exhaustive]
pub struct Stay {
    /// Says what the player says.
    pub player: Player,
    /// What happens from the moment it was in.
    pub events: Events,
    /// The Game it joined, as it was handed to the join; changes since then are not in it.
    pub game: Game,
    /// The id of its seat, which was the ticket of the join; `leave` waits until this seat has ended.
    pub seat: String,
}

/// How often a seat that is still claimed is tried to be given back.
const RELEASES: u32 = 20;
const RELEASE_EVERY: Duration = Duration::from_millis(500);

/// A seat that was reserved, and is given back unless it is kept.
pub(super) struct Reserved {
    desk: Desk,
    path: String,
    /// None: it is somebody else's to give back.
    secret: Option<HeaderValue>,
}

impl Reserved {
    pub(super) fn new(desk: &Desk, game: &str, seat: &str, secret: Option<HeaderValue>) -> Self {
        let path = format!("/games/{game}/seats/{seat}");
        Self { desk: desk.clone(), path, secret }
    }

    pub(super) fn keep(mut self) {
        self.secret = None;
    }

    /// Gives it back now, so that whoever hears of the failure finds it free.
    pub(super) async fn release(mut self) {
        let Some(secret) = self.secret.clone() else { return };
        if release(&self.desk, &self.path, &secret).await {
            self.secret = None;
        }
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Some(secret) = self.secret.take() else { return };
        let (desk, path) = (self.desk.clone(), std::mem::take(&mut self.path));
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                // A join that was under way may still hold it for a moment.
                for _ in 0..RELEASES {
                    if release(&desk, &path, &secret).await {
                        return;
                    }
                    tokio::time::sleep(RELEASE_EVERY).await;
                }
            });
        }
    }
}

/// Whether it is not reserved any more.
async fn release(desk: &Desk, path: &str, secret: &HeaderValue) -> bool {
    match desk.release(path, secret).await {
        Ok(()) => true,
        Err(SessionError::Refused { code, .. }) => code != "seat_taken",
        Err(_) => false,
    }
}

/// Waits until the player is welcomed; its id, in hexadecimal digits.
pub(super) async fn welcomed(events: &mut Events) -> Result<String, SessionError> {
    loop {
        match events.next().await {
            Some(Event::Connected { player, .. }) => {
                return Ok(player.iter().map(|byte| format!("{byte:02x}")).collect());
            }
            Some(event) => ended(&event)?,
            None => return Err(SessionError::Unreachable("the player has ended".to_owned())),
        }
    }
}

/// Waits until the player is in.
pub(super) async fn seated(events: &mut Events) -> Result<(), SessionError> {
    loop {
        match events.next().await {
            Some(Event::Joined { .. }) => return Ok(()),
            Some(Event::Refused { code, text, .. }) => {
                return Err(SessionError::refused(code.as_str_name(), text));
            }
            Some(Event::Disconnected { code }) => {
                let why = format!("the connection is gone: {code:?}");
                return Err(SessionError::Unreachable(why));
            }
            Some(event) => ended(&event)?,
            None => return Err(SessionError::Unreachable("the player has ended".to_owned())),
        }
    }
}

/// Waits until the session is over.
pub(super) async fn left(events: &mut Events) -> Result<(), SessionError> {
    loop {
        match events.next().await {
            Some(Event::Left) | None => return Ok(()),
            Some(event) => ended(&event)?,
        }
    }
}

/// Whether nothing more will come of it.
fn ended(event: &Event) -> Result<(), SessionError> {
    match event {
        Event::Stopped { code, text } => {
            Err(SessionError::Unreachable(format!("the server let nobody in: {code:?} {text}")))
        }
        Event::TakenOver => Err(SessionError::Unreachable("taken over".to_owned())),
        _ => Ok(()),
    }
}
