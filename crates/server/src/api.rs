//! The directory, and players and their accounts, over HTTP at `/v1` of the players' door: JSON in
//! and out, problems as RFC 9457 has them, and API keys with roles. A thin translator: it asks the
//! directory and shows what it says. docs/HTTP.md is its manual, api/openapi.json its description.

mod catalogue;
mod fault;
mod fleets;
mod games;
mod guard;
mod hosts;
mod key;
mod line;
mod operations;
mod placements;
mod players;
mod problem;
mod queues;
mod request;
mod seats;
mod shape;
mod share;
mod subscriptions;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::OriginalUri;
use axum::http::{HeaderValue, Method, header};
use axum::middleware;
use axum::routing::get;
use rejoin_directory::{self as directory, Answer, Command, Secret};
use tokio::sync::Semaphore;

pub use self::key::{ApiKey, Role};

use self::key::Keyring;
use self::problem::Problem;
use self::share::Shares;
use crate::directory::DirectoryDoor;
use crate::listener::WebConfig;
use crate::server::Server;

/// How the directory is kept open over HTTP.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ApiConfig {
    /// The keys that requests are made with. Without one, and not `open`, every request is refused.
    pub keys: Vec<ApiKey>,
    /// Requests without a key may do everything. For development on one's own machine.
    pub open: bool,
    /// Requests under way at a time, subscriptions aside; more are answered 503.
    pub requests_max: usize,
    /// From the end of a request's head to the end of its body.
    pub body_deadline: Duration,
    /// How long an answer may take; the store may be slow, and hosts are asked.
    pub answer_deadline: Duration,
    /// How often a subscriber hears something when nothing changes.
    pub heartbeat: Duration,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            keys: Vec::new(),
            open: false,
            requests_max: 4_096,
            body_deadline: Duration::from_secs(10),
            answer_deadline: Duration::from_secs(30),
            heartbeat: Duration::from_secs(15),
        }
    }
}

/// The description of all this.
const OPENAPI: &str = include_str!("api/openapi.json");

/// Everything that can be asked: method, path, and the roles that may.
#[must_use]
pub fn operations() -> Vec<(&'static str, String, &'static [Role])> {
    let rows = operations::operations().into_iter();
    rows.map(|row| (row.method, format!("/v1{}", row.path), row.roles)).collect()
}

/// Every problem that can be answered: its code and its status.
#[must_use]
pub fn problems() -> Vec<(&'static str, u16)> {
    problem::KINDS.iter().map(|(code, status, _)| (*code, *status)).collect()
}

/// What the routes share.
#[derive(Clone)]
pub(crate) struct Api {
    door: DirectoryDoor,
    config: Arc<ApiConfig>,
    keys: Arc<Keyring>,
    shares: Arc<Shares>,
    web: Arc<WebConfig>,
    places: Arc<Semaphore>,
    server: Server,
}

impl Api {
    /// Asks the directory, for a while.
    async fn ask(&self, command: Command) -> Result<Answer, Problem> {
        let asked = tokio::time::timeout(self.config.answer_deadline, self.door.ask(command)).await;
        match asked {
            Ok(outcome) => Ok(outcome?),
            Err(_) => {
                let detail = "it may still be done: ask again with the same key, or look";
                Err(Problem::new(problem::NO_ANSWER, detail))
            }
        }
    }

    /// The same for a caller outside the server. What the command made comes with true, and with the secret
    /// that was drawn for it.
    async fn ask_for(
        &self,
        caller: directory::Caller,
        command: Command,
    ) -> Result<(Answer, bool, Option<Secret>), Problem> {
        match self.ask(Command::For(caller, Box::new(command))).await? {
            Answer::Made(answer, secret) => Ok((*answer, true, secret)),
            answer => Ok((answer, false, None)),
        }
    }

    /// The same, where there is nothing to show.
    async fn done(&self, command: Command) -> Result<(), Problem> {
        self.ask(command).await.map(drop)
    }
}

/// An answer of another kind than the question has.
fn unexpected(answer: &Answer) -> Problem {
    tracing::error!(?answer, "the directory gave an answer to another question");
    Problem::new(problem::NO_ANSWER, "the answer cannot be shown")
}

/// The routes below `/v1`. Without a directory there are those about players.
pub(crate) fn routes(config: &ApiConfig, web: &Arc<WebConfig>, server: Server) -> Router {
    let door = server.directory();
    let has_directory = door.is_some();
    let api = Api {
        door: door.unwrap_or_else(DirectoryDoor::closed),
        keys: Arc::new(Keyring::new(&config.keys)),
        shares: Arc::default(),
        web: Arc::clone(web),
        places: Arc::new(Semaphore::new(config.requests_max.min(Semaphore::MAX_PERMITS))),
        config: Arc::new(config.clone()),
        server,
    };
    let mut routes = Router::new().route("/openapi.json", get(openapi));
    let operations = operations::operations().into_iter();
    for operation in operations.filter(|it| has_directory || !it.needs_directory()) {
        let guard = (api.clone(), operation.roles);
        let guarded = operation.route.layer(middleware::from_fn_with_state(guard, guard::role));
        routes = routes.route(operation.path, guarded);
    }
    let routes = routes
        .method_not_allowed_fallback(no_method)
        .fallback(no_path)
        .layer(middleware::from_fn_with_state(api.clone(), guard::origin))
        .with_state(api);
    Router::new().nest("/v1", routes)
}

async fn openapi() -> ([(header::HeaderName, HeaderValue); 1], &'static str) {
    ([(header::CONTENT_TYPE, HeaderValue::from_static("application/json"))], OPENAPI)
}

async fn no_path(OriginalUri(uri): OriginalUri) -> Problem {
    let detail = format!("there is no {:?} here; see /v1/openapi.json", uri.path());
    Problem::new(problem::NO_PATH, detail)
}

async fn no_method(method: Method) -> Problem {
    Problem::new(problem::NO_METHOD, format!("{method} cannot be done here; see /v1/openapi.json"))
}
