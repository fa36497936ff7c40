//! Asking the directory: one request, one connection, one answer of bounded size in bounded time, or a
//! stream of events.

use std::io;
use std::time::Duration;

use bytes::Bytes;
use hyper::body::Incoming;
use hyper::header::HeaderValue;
use hyper::{Method, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::error::SessionError;
use super::following::Following;
use crate::driver::endpoint::Endpoint;
use crate::driver::exchange::whole;
use crate::driver::options::Options;

/// The largest answer: a page of Games with all they may have is smaller.
const ANSWER_BYTES_MAX: usize = 4 << 20;
/// Between two looks at something that changes by itself: short at first, then longer.
const LOOK_FROM: Duration = Duration::from_millis(20);
const LOOK_MAX: Duration = Duration::from_millis(500);

/// What was configured.
#[derive(Clone, Debug)]
pub(super) struct Desk {
    pub endpoint: Endpoint,
    pub region: String,
    pub key: Option<HeaderValue>,
    pub player: Options,
    pub patience: Duration,
}

/// A problem, as far as it is needed here.
#[derive(Deserialize, Default)]
struct Problem {
    #[serde(default)]
    code: String,
    #[serde(default)]
    detail: String,
    /// With `already_seated`: the seat that the player has.
    #[serde(default)]
    seat: Option<String>,
}

/// A seat that was reserved.
pub(super) struct Seat {
    pub id: String,
    /// What gives it back; none where somebody else reserved it for this player.
    pub secret: Option<HeaderValue>,
}

impl Desk {
    /// Asks, and reads the answer as what it should be.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<T, SessionError> {
        let asked = async { self.whole(self.send(method, path, body).await?).await };
        let asked = timeout(self.patience, asked).await;
        let (status, answer) = asked.map_err(|_| SessionError::Late("an answer"))??;
        if (200..300).contains(&status) {
            let wrong = |error: serde_json::Error| {
                SessionError::Unreachable(format!("the answer cannot be read: {error}"))
            };
            return serde_json::from_slice(&answer).map_err(wrong);
        }
        Err(refused(status, &answer))
    }

    /// Reserves a seat of a Game for a player. One that has a seat there already is given that.
    pub(super) async fn reserve(&self, game: &str, player: &str) -> Result<Seat, SessionError> {
        let path = format!("/games/{}/seats", escaped(game));
        let wish = json!({"players": [{"player": player}]});
        let asked = async { self.whole(self.send(Method::POST, &path, Some(&wish)).await?).await };
        let asked = timeout(self.patience, asked).await;
        let (status, answer) = asked.map_err(|_| SessionError::Late("an answer"))??;
        if (200..300).contains(&status) {
            let answer: Value = serde_json::from_slice(&answer).unwrap_or_default();
            let secret = answer["secret"].as_str().and_then(|text| {
                let mut secret = HeaderValue::from_str(text).ok()?;
                secret.set_sensitive(true);
                Some(secret)
            });
            let id = answer["seats"][0]["id"].as_str().unwrap_or_default().to_owned();
            return Ok(Seat { id, secret });
        }
        let problem = serde_json::from_slice::<Problem>(&answer);
        match problem.ok().filter(|problem| problem.code == "already_seated") {
            Some(Problem { seat: Some(id), .. }) => Ok(Seat { id, secret: None }),
            _ => Err(refused(status, &answer)),
        }
    }

    /// Gives a seat back.
    pub(super) async fn release(
        &self,
        path: &str,
        secret: &HeaderValue,
    ) -> Result<(), SessionError> {
        let (key, secret) = (self.key.as_ref(), Some(secret));
        let asked = async {
            let asked = self.endpoint.ask_showing(Method::DELETE, path, key, secret, None).await;
            self.whole(asked.map_err(|error| self.away(&error))?).await
        };
        let asked = timeout(self.patience, asked).await;
        let (status, answer) = asked.map_err(|_| SessionError::Late("an answer"))??;
        if (200..300).contains(&status) { Ok(()) } else { Err(refused(status, &answer)) }
    }

    /// Opens a stream of events.
    pub(super) async fn follow(&self, path: &str) -> Result<Following, SessionError> {
        let opened = timeout(self.patience, self.send(Method::GET, path, None)).await;
        let answer = opened.map_err(|_| SessionError::Late("an answer"))??;
        if answer.status().is_success() {
            return Ok(Following::new(answer.into_body()));
        }
        let whole = timeout(self.patience, self.whole(answer)).await;
        let (status, answer) = whole.map_err(|_| SessionError::Late("an answer"))??;
        Err(refused(status, &answer))
    }

    /// The whole of an answer.
    async fn whole(&self, answer: Response<Incoming>) -> Result<(u16, Bytes), SessionError> {
        whole(answer, ANSWER_BYTES_MAX).await.map_err(|error| self.away(&error))
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> Result<Response<Incoming>, SessionError> {
        let answer = self.endpoint.ask(method, path, self.key.as_ref(), body).await;
        answer.map_err(|error| self.away(&error))
    }

    fn away(&self, error: &io::Error) -> SessionError {
        SessionError::Unreachable(format!("{}: {error}", self.endpoint.authority()))
    }

    /// Looks at something that changes by itself, for as long as there is patience.
    pub(super) fn looks(&self, what: &'static str) -> Looks {
        Looks { what, end: Instant::now() + self.patience, rest: LOOK_FROM }
    }
}

/// The problem in an answer.
fn refused(status: u16, answer: &[u8]) -> SessionError {
    let problem = serde_json::from_slice(answer);
    let Problem { code, detail, .. } = problem.unwrap_or_default();
    SessionError::Refused { code, status, detail }
}

/// Paces the looks at something: less and less often, and not for ever.
pub(super) struct Looks {
    what: &'static str,
    end: Instant,
    rest: Duration,
}

impl Looks {
    /// How long there is patience, and what for.
    pub(super) fn end(&self) -> (Instant, SessionError) {
        (self.end, SessionError::Late(self.what))
    }

    /// Waits before the next look.
    pub(super) async fn rest(&mut self) -> Result<(), SessionError> {
        if Instant::now() >= self.end {
            return Err(SessionError::Late(self.what));
        }
        sleep(self.rest).await;
        self.rest = (self.rest * 2).min(LOOK_MAX);
        Ok(())
    }
}

/// Text as a part of a path or a query.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            escaped.push(char::from(byte));
        } else {
            escaped += &format!("%{byte:02X}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_leaves_its_place() {
        assert_eq!(escaped("a-b_c.~9"), "a-b_c.~9");
        assert_eq!(escaped("a/b?c=d&e f%\u{e9}"), "a%2Fb%3Fc%3Dd%26e%20f%25%C3%A9");
    }
}
