//! Games of a Rejoin server: its directory over HTTP, and play over WebSocket. `join` leads to Games that
//! the server itself runs; those of other hosts are joined at their own address, with the ticket of a seat.

use std::future::Future;
use std::sync::{Mutex, PoisonError};

use hyper::Method;
use hyper::header::HeaderValue;
use serde_json::{Value, json};
use tokio::sync::broadcast;
use tokio::time::{timeout, timeout_at};

use super::asking::{Desk, Seat, escaped};
use super::error::SessionError;
use super::shape::{Configuration, Game, NewGame, Page, Placed, Placement, Query};
use super::stay::{Reserved, Stay, left, seated, welcomed};
use super::{Completed, Operation, Pending, Sessions};
use crate::driver::endpoint::Endpoint;
use crate::driver::player::{Events, Player};

/// Completions that a listener may fall behind before it misses some.
const COMPLETIONS_MAX: usize = 256;

/// The provider for a Rejoin server.
#[derive(Debug)]
pub struct DirectorySessions {
    desk: Mutex<Option<Desk>>,
    completions: broadcast::Sender<Completed>,
}

impl Default for DirectorySessions {
    fn default() -> Self {
        Self::new()
    }
}

impl DirectorySessions {
    /// One that is not configured.
    #[must_use]
    pub fn new() -> Self {
        Self { desk: Mutex::new(None), completions: broadcast::Sender::new(COMPLETIONS_MAX) }
    }

    /// Does something, and tells how it ended.
    fn complete<'a, T, F>(
        &'a self,
        operation: Operation,
        act: impl FnOnce(Desk) -> F + Send + 'a,
    ) -> Pending<'a, T>
    where
        F: Future<Output = Result<T, SessionError>> + Send + 'a,
        T: Send + 'a,
    {
        Box::pin(async move {
            let desk = self.desk.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let outcome = match desk {
                Some(desk) => act(desk).await,
                None => Err(SessionError::NotConfigured),
            };
            let error = outcome.as_ref().err().cloned();
            // An error means that nobody listens.
            let _ = self.completions.send(Completed { operation, error });
            outcome
        })
    }
}

impl Sessions for DirectorySessions {
    fn configure(&self, configuration: Configuration) -> Result<(), SessionError> {
        let Configuration { endpoint, region, credentials, player, patience } = configuration;
        let is_plain = region.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-');
        if !is_plain || region.len() > 64 {
            return Err(SessionError::BadRegion);
        }
        let endpoint = Endpoint::new(&endpoint, &player.roots)
            .map_err(|error| SessionError::BadEndpoint(error.to_string()))?;
        let key = match credentials.0.as_str() {
            "" => None,
            text => {
                let mut key = HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| {
                    SessionError::refused("no_key", "the key has characters that no key has")
                })?;
                key.set_sensitive(true);
                Some(key)
            }
        };
        let desk = Desk { endpoint, region, key, player, patience };
        *self.desk.lock().unwrap_or_else(PoisonError::into_inner) = Some(desk);
        Ok(())
    }

    fn create(&self, game: NewGame) -> Pending<'_, Game> {
        self.complete(Operation::Create, async move |desk| create(&desk, game).await)
    }

    fn search(&self, query: Query) -> Pending<'_, Page> {
        self.complete(Operation::Search, async move |desk| search(&desk, &query).await)
    }

    fn join(&self, game: Game) -> Pending<'_, Stay> {
        self.complete(Operation::Join, async move |desk| join(&desk, game).await)
    }

    fn leave(&self, stay: Stay) -> Pending<'_, ()> {
        self.complete(Operation::Leave, async move |desk| leave(&desk, stay).await)
    }

    fn create_on_queue(&self, queue: String, placement: Placement) -> Pending<'_, Placed> {
        self.complete(Operation::CreateOnQueue, async move |desk| {
            place(&desk, &queue, placement).await
        })
    }

    fn completions(&self) -> broadcast::Receiver<Completed> {
        self.completions.subscribe()
    }
}

/// What is sent of a Game.
fn wish(game: &NewGame) -> Result<Value, SessionError> {
    serde_json::to_value(game).map_err(|error| SessionError::Unreachable(error.to_string()))
}

async fn create(desk: &Desk, mut game: NewGame) -> Result<Game, SessionError> {
    if game.location.is_empty() {
        game.location.clone_from(&desk.region);
    }
    let made: Game = desk.ask(Method::POST, "/games", Some(&wish(&game)?)).await?;
    let path = format!("/games/{}", made.id);
    let mut looks = desk.looks("a game that runs");
    loop {
        let now: Game = desk.ask(Method::GET, &path, None).await?;
        match now.status.as_str() {
            "activating" => looks.rest().await?,
            "active" => return Ok(now),
            status => {
                let cause = now.cause.clone().unwrap_or_default();
                return Err(SessionError::refused(&cause, format!("the game is {status}")));
            }
        }
    }
}

async fn search(desk: &Desk, query: &Query) -> Result<Page, SessionError> {
    let mut path = format!("/search?fleet={}", escaped(&query.fleet));
    let limit = query.limit.map(|limit| limit.to_string()).unwrap_or_default();
    for (name, value) in [
        ("location", &desk.region),
        ("filter", &query.filter),
        ("sort", &query.sort),
        ("limit", &limit),
        ("cursor", &query.cursor),
    ] {
        if !value.is_empty() {
            path += &format!("&{name}={}", escaped(value));
        }
    }
    desk.ask(Method::GET, &path, None).await
}

async fn join(desk: &Desk, game: Game) -> Result<Stay, SessionError> {
    let url = desk.endpoint.web_socket("/play");
    let opened = Player::connect(&url, desk.player.clone()).await;
    let (player, mut events) =
        opened.map_err(|error| SessionError::BadEndpoint(error.to_string()))?;
    let welcome = timeout(desk.patience, welcomed(&mut events)).await;
    let id = welcome.map_err(|_| SessionError::Late("a welcome"))??;
    match take_seat(desk, (&player, &mut events), &game, &id).await {
        Ok(seat) => Ok(Stay { player, events, game, seat }),
        Err(error) => {
            // Nobody else knows of this player: its session need not be held.
            tokio::spawn(timeout(desk.patience, farewell(player, events)));
            Err(error)
        }
    }
}

/// Reserves a seat for a player who is welcomed, and takes it there; or gives it back.
async fn take_seat(
    desk: &Desk,
    player: (&Player, &mut Events),
    game: &Game,
    id: &str,
) -> Result<String, SessionError> {
    let Seat { id: seat, secret } = desk.reserve(&game.id, id).await?;
    let reserved = Reserved::new(desk, &game.id, &seat, secret);
    match go_in(desk, player, game, &seat).await {
        Ok(()) => {
            reserved.keep();
            Ok(seat)
        }
        Err(error) => {
            reserved.release().await;
            Err(error)
        }
    }
}

async fn go_in(
    desk: &Desk,
    (player, events): (&Player, &mut Events),
    game: &Game,
    seat: &str,
) -> Result<(), SessionError> {
    let joining = player.join_game(&game.fleet, &game.id, seat, "").await;
    joining.map_err(|error| SessionError::Unreachable(error.to_string()))?;
    let seated = timeout(desk.patience, seated(events)).await;
    seated.map_err(|_| SessionError::Late("a seat"))?
}

/// Ends a session that nobody needs.
async fn farewell(player: Player, mut events: Events) {
    // An error means that it has ended already.
    if player.leave().await.is_ok() {
        let _ = left(&mut events).await;
    }
}

async fn leave(desk: &Desk, stay: Stay) -> Result<(), SessionError> {
    let Stay { player, mut events, game, seat } = stay;
    // An error means that it has ended already.
    let _ = player.leave().await;
    let left = timeout(desk.patience, left(&mut events)).await;
    left.map_err(|_| SessionError::Late("the end of the session"))??;
    drop(events);
    let path = format!("/games/{}/seats/{seat}", game.id);
    let mut looks = desk.looks("a seat that is free");
    loop {
        match desk.ask::<Value>(Method::GET, &path, None).await {
            Ok(now) if now["status"] == "ended" => return Ok(()),
            // What is forgotten is over.
            Err(SessionError::Refused { status: 404, .. }) => return Ok(()),
            Ok(_) => looks.rest().await?,
            Err(error) => return Err(error),
        }
    }
}

async fn place(desk: &Desk, queue: &str, placement: Placement) -> Result<Placed, SessionError> {
    let path = format!("/queues/{}/placements", escaped(queue));
    let players: Vec<Value> =
        placement.players.iter().map(|player| json!({"player": player})).collect();
    let game = wish(&placement.game)?;
    let wish = json!({"id": placement.id, "game": game, "players": players});
    let begun: Value = desk.ask(Method::POST, &path, Some(&wish)).await?;
    let path = format!("{path}/{}", escaped(begun["id"].as_str().unwrap_or(&placement.id)));
    let now = placement_end(desk, &path).await?;
    match now["status"].as_str().unwrap_or_default() {
        "fulfilled" => serde_json::from_value(now).map_err(|error| {
            SessionError::Unreachable(format!("the answer cannot be read: {error}"))
        }),
        status => {
            let code = now["cause"].as_str().unwrap_or(status);
            let detail = format!("the placement ended: {status}");
            Err(SessionError::refused(code, detail))
        }
    }
}

/// Waits until a placement has ended. A stream that breaks off is opened again; each one starts with the
/// state of the placement, so no end is missed.
async fn placement_end(desk: &Desk, path: &str) -> Result<Value, SessionError> {
    let path = format!("{path}/events");
    let mut looks = desk.looks("a placement that has ended");
    let (end, late) = looks.end();
    loop {
        let mut events = desk.follow(&path).await?;
        let ended = async {
            while let Some((name, placement)) = events.next().await {
                if name == "ended" {
                    return Some(placement);
                }
            }
            None
        };
        match timeout_at(end, ended).await {
            Ok(Some(placement)) => return Ok(placement),
            Ok(None) => looks.rest().await?,
            Err(_) => return Err(late),
        }
    }
}
