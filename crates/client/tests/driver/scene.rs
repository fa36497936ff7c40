//! The words in which these stories are told: players that are quick to come back, and waiting for
//! what must happen.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rejoin_client::driver::{Events, Options, Player};
use rejoin_client::{Config, Event, Rung};

use crate::house::House;

/// How long anything may take on a loaded machine.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Options with short waits between attempts.
pub fn quick() -> Options {
    let mut options = Options::new();
    options.config = Config {
        backoff_base: Duration::from_millis(5),
        backoff_max: Duration::from_millis(40),
        ..Config::new("")
    };
    options
}

/// A player in the plaza, and its session.
pub async fn enter(house: &House, options: Options) -> (Player, Events, u64) {
    let (player, mut events) = Player::connect(&house.url, options).await.expect("it starts");
    player.join("plaza", "p", true, "").await.expect("taken");
    let (session, _) = connected(&mut events).await;
    until(&mut events, |event| matches!(event, Event::Joined { .. })).await;
    (player, events, session)
}

/// Waits for an event; gives it.
pub async fn until(events: &mut Events, is: impl Fn(&Event) -> bool) -> Event {
    let mut passed = Vec::new();
    let found = tokio::time::timeout(PATIENCE, async {
        while let Some(event) = events.next().await {
            if is(&event) {
                return Some(event);
            }
            passed.push(format!("{event:?}"));
        }
        None
    });
    match found.await {
        Ok(Some(event)) => event,
        _ => panic!("it never came; these did: {passed:#?}"),
    }
}

/// Waits for the next welcome; gives session and rung.
pub async fn connected(events: &mut Events) -> (u64, Rung) {
    match until(events, |event| matches!(event, Event::Connected { .. })).await {
        Event::Connected { session, rung, .. } => (session, rung),
        event => panic!("not a welcome: {event:?}"),
    }
}

/// Waits for this message.
pub async fn hears(events: &mut Events, text: &str) {
    let is = |event: &Event| matches!(event, Event::Message { payload } if payload == text);
    until(events, is).await;
}

/// A path of its own under the system's temporary folder, gone when dropped.
pub struct Place(pub PathBuf);

impl Place {
    pub fn new() -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("rejoin-driver-{}-{count}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
