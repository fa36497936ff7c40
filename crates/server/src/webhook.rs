//! The game's word on who comes in, asked over HTTP: for the stand-alone server, whose game lives
//! elsewhere. Fails closed: no answer, a late one, one that is no 2xx, a redirect or one that is too
//! long are all refusals.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::OnceLock;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::uri::Scheme;
use axum::http::{HeaderValue, Request, StatusCode, Uri, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rejoin_core::id::PlayerId;
use serde_json::json;
use tokio::sync::Semaphore;

use crate::admission::{Admission, LogGate, Verdict};

/// How long the hook may take, its connection included.
const DEADLINE: Duration = Duration::from_secs(5);
/// Questions at a time; more wait, within their deadline.
const QUESTIONS_MAX: usize = 64;
/// The longest answer that is read. Only a refusal's text is used.
const ANSWER_BYTES_MAX: usize = 4 << 10;
/// The longest text that a refusal gives to a player.
const TEXT_CHARS_MAX: usize = 200;

/// Asks a URL about every login: `POST {"player", "payload", "address"}`, the payload in base64. A
/// 2xx lets the player in; the text of a 403 is sent to the player as the reason.
pub struct Webhook {
    url: Uri,
    authorization: Option<HeaderValue>,
    client: Client<HttpConnector, Body>,
    places: Semaphore,
    /// The limit on its log lines, once the server runs.
    log: OnceLock<LogGate>,
}

/// Why no hook can be asked.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum WebhookError {
    /// The URL cannot be read.
    Url(String),
    /// It is not `http`.
    Scheme(String),
    /// The secret cannot stand in a header.
    Secret,
}

impl fmt::Display for WebhookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Url(url) => write!(f, "{url:?} is no URL such as http://127.0.0.1:8080/admit"),
            Self::Scheme(url) => {
                write!(f, "{url:?} is not http: put a proxy that speaks TLS beside this server")
            }
            Self::Secret => write!(f, "the secret has characters that no header can carry"),
        }
    }
}

impl std::error::Error for WebhookError {}

/// Without the secret.
impl fmt::Debug for Webhook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Webhook({})", self.url)
    }
}

impl Webhook {
    /// A hook at a URL. The secret, if there is one, is sent as `Authorization: Bearer`.
    ///
    /// # Errors
    /// The URL is none, or not `http`; or the secret is no text for a header.
    pub fn new(url: &str, secret: Option<&str>) -> Result<Self, WebhookError> {
        let parsed: Uri = url.parse().map_err(|_| WebhookError::Url(url.to_owned()))?;
        match (parsed.scheme(), parsed.authority()) {
            (Some(scheme), Some(_)) if *scheme == Scheme::HTTP => {}
            (Some(_), Some(_)) => return Err(WebhookError::Scheme(url.to_owned())),
            _ => return Err(WebhookError::Url(url.to_owned())),
        }
        let bearer = |secret: &str| {
            let mut value = HeaderValue::from_str(&format!("Bearer {secret}"))?;
            value.set_sensitive(true);
            Ok::<_, axum::http::header::InvalidHeaderValue>(value)
        };
        let authorization = secret.map(bearer).transpose().map_err(|_| WebhookError::Secret)?;
        let client = Client::builder(TokioExecutor::new()).build_http();
        let places = Semaphore::new(QUESTIONS_MAX);
        Ok(Self { url: parsed, authorization, client, places, log: OnceLock::new() })
    }

    async fn ask(&self, player: PlayerId, payload: Bytes, address: Option<IpAddr>) -> Verdict {
        let question = self.question(player, &payload, address);
        match tokio::time::timeout(DEADLINE, self.answer(question)).await {
            Ok(Ok(verdict)) => verdict,
            Ok(Err(error)) => {
                if let Some(suppressed) = self.pass() {
                    tracing::warn!(url = %self.url, error, suppressed, "the admission hook cannot be asked");
                }
                Err("the game cannot be asked".to_owned())
            }
            Err(_) => {
                if let Some(suppressed) = self.pass() {
                    tracing::warn!(url = %self.url, suppressed, "the admission hook gave no answer in time");
                }
                Err("the game gave no answer".to_owned())
            }
        }
    }

    /// Whether a line may be written now; before the server runs every line may be.
    fn pass(&self) -> Option<Option<u64>> {
        self.log.get().map_or(Some(None), LogGate::pass)
    }

    fn question(&self, player: PlayerId, payload: &[u8], address: Option<IpAddr>) -> Request<Body> {
        let body = json!({
            "player": player.to_string(),
            "payload": STANDARD.encode(payload),
            "address": address.map(|address| address.to_string()),
        });
        let mut request = Request::post(self.url.clone())
            .header(header::CONTENT_TYPE, "application/json")
            .body(Body::from(body.to_string()))
            .unwrap_or_default();
        if let Some(authorization) = &self.authorization {
            request.headers_mut().insert(header::AUTHORIZATION, authorization.clone());
        }
        request
    }

    async fn answer(&self, question: Request<Body>) -> Result<Verdict, String> {
        let _place = self.places.acquire().await.map_err(|error| error.to_string())?;
        let response = self.client.request(question).await.map_err(|error| describe(&error))?;
        let status = response.status();
        // Read to its end, so that the connection serves the next question; never more than this.
        let text = to_bytes(Body::new(response.into_body()), ANSWER_BYTES_MAX).await;
        let text = text.map_err(|_| "its answer is too long or breaks off".to_owned())?;
        match status {
            status if status.is_success() => Ok(Ok(())),
            StatusCode::FORBIDDEN => Ok(Err(reason(&text))),
            status => Err(format!("it answered {}", status.as_u16())),
        }
    }
}

/// What a refusal tells the player: printable, and not too much of it.
fn reason(text: &[u8]) -> String {
    let text = String::from_utf8_lossy(text);
    let shown = text.trim().chars().filter(|c| !c.is_control()).take(TEXT_CHARS_MAX);
    let shown: String = shown.collect();
    if shown.is_empty() { "the game refused".to_owned() } else { shown }
}

/// The innermost cause says most.
fn describe(error: &dyn std::error::Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

impl Admission for Webhook {
    fn begin(&self, log: LogGate) {
        let _ = self.log.set(log);
    }

    fn admit<'a>(
        &'a self,
        player: PlayerId,
        payload: Bytes,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        self.admit_from(player, payload, None)
    }

    fn admit_from<'a>(
        &'a self,
        player: PlayerId,
        payload: Bytes,
        address: Option<IpAddr>,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(self.ask(player, payload, address))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_that_cannot_be_asked_is_refused_at_once() {
        assert!(Webhook::new("http://127.0.0.1:1/x", Some("s3cret")).is_ok());
        for url in ["", "nowhere", "/admit", "http://"] {
            let error = Webhook::new(url, None).expect_err("no URL");
            assert_eq!(error, WebhookError::Url(url.to_owned()));
        }
        let error = Webhook::new("https://game.example/admit", None).expect_err("no TLS");
        assert!(matches!(error, WebhookError::Scheme(_)));
        let error = Webhook::new("http://127.0.0.1:1/", Some("a\nb")).expect_err("a line break");
        assert_eq!(error, WebhookError::Secret);
    }

    #[test]
    fn a_secret_is_not_shown() {
        let hook = Webhook::new("http://127.0.0.1:1/x", Some("s3cret")).expect("good");
        let shown = format!("{hook:?} {:?}", hook.authorization);
        assert!(!shown.contains("s3cret"), "{shown}");
    }

    #[test]
    fn a_reason_is_short_and_printable() {
        assert_eq!(reason(b" no ticket\n\x1b[31m"), "no ticket[31m");
        assert_eq!(reason(b"\n"), "the game refused");
        assert_eq!(reason("x".repeat(900).as_bytes()).len(), TEXT_CHARS_MAX);
    }
}
