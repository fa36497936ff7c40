//! The operators' door: health, metrics, the stream of events, and sessions to look at. It has no
//! login of its own. It is meant for the loopback or a network where only operators are, and refuses
//! requests that a page of somewhere else makes a browser send.

mod events;
mod figures;
mod query;
mod sessions;
pub(crate) mod shape;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use tokio::net::TcpListener;
use tokio::sync::Semaphore;

use crate::listener::{WebConfig, health};
use crate::server::Server;

/// Requests and readers at a time.
const SOCKETS_MAX: usize = 256;

/// How the operators' door is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AdminConfig {
    /// Names under which operators reach it, besides `localhost` and plain addresses. A request for
    /// any other name is refused: a page can make a browser ask for a name of the page's own.
    pub hosts: Vec<String>,
    /// Readers of the event stream at a time; more are answered 503.
    pub event_readers_max: usize,
    /// How often a reader hears something when nothing happens.
    pub heartbeat: Duration,
}

impl Default for AdminConfig {
    fn default() -> Self {
        Self { hosts: Vec::new(), event_readers_max: 64, heartbeat: Duration::from_millis(15_000) }
    }
}

/// What the routes share.
#[derive(Clone)]
struct Desk {
    server: Server,
    config: Arc<AdminConfig>,
    readers: Arc<Semaphore>,
}

/// The answer at `/`: the paths there are, for an operator who does not know them.
const CONTENTS: &str = "\
GET  /metrics                       figures for Prometheus
GET  /metrics/sessions?sample=20    figures of a few sessions
GET  /events?after=0                what happens, as server-sent events
GET  /sessions?limit=100&after=0    sessions, in the order of their ids
GET  /sessions/{id}                 one session and its last story
POST /sessions/{id}/frames?log=on   log its frames: on, payload, off
GET  /healthz, /readyz              whether it runs, whether players are let in
";

impl Server {
    /// Answers operators on a socket of its own until the server stops. A client that can reach it can see
    /// every session and log its frames: it belongs on the loopback or a network of operators.
    pub async fn listen_admin(&self, listener: TcpListener, config: AdminConfig) {
        if let Ok(at) = listener.local_addr()
            && !at.ip().is_loopback()
        {
            tracing::warn!(%at, "admin can be reached from other machines and asks for no login");
        }
        let readers = Arc::new(Semaphore::new(config.event_readers_max));
        let desk = Desk { server: self.clone(), config: Arc::new(config), readers };
        let routes = Router::new()
            .route("/", get(|| async { CONTENTS }))
            .route("/metrics", get(figures::metrics))
            .route("/metrics/sessions", get(figures::sessions))
            .route("/events", get(events::stream))
            .route("/sessions", get(sessions::list))
            .route("/sessions/{id}", get(sessions::one))
            .route("/sessions/{id}/frames", post(sessions::log_frames))
            .fallback(|| async { (StatusCode::NOT_FOUND, format!("there is only:\n{CONTENTS}")) })
            .layer(middleware::from_fn_with_state(desk.clone(), from_operators_only))
            // Health tells nothing worth guarding, and probes send what they like.
            .merge(health(self.clone()))
            .with_state(desk);
        self.accept(listener, routes, WebConfig::default().header_deadline, SOCKETS_MAX).await;
    }
}

async fn from_operators_only(State(desk): State<Desk>, request: Request, next: Next) -> Response {
    match check(request.headers(), &desk.config.hosts) {
        Ok(()) => next.run(request).await,
        Err(sentence) => (StatusCode::FORBIDDEN, sentence).into_response(),
    }
}

/// Whether a request comes from an operator's tool or from a page of this very door. A page of
/// somewhere else shows in its origin; one that had its own name point here shows in the host.
fn check(headers: &HeaderMap, hosts: &[String]) -> Result<(), &'static str> {
    let text = |name| headers.get(name).map(|value| value.to_str().unwrap_or("?"));
    let host = text(header::HOST).ok_or("a request must say for which host it is\n")?;
    if !is_own(host, hosts) {
        return Err("this host is not ours: use an address, localhost, or list it in hosts\n");
    }
    if let Some(origin) = text(header::ORIGIN) {
        let page = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
        if !page.is_some_and(|page| page.eq_ignore_ascii_case(host)) {
            return Err("pages of other origins are not answered here\n");
        }
    }
    match headers.get("sec-fetch-site").map(|site| site.as_bytes()) {
        None | Some(b"same-origin" | b"none") => Ok(()),
        Some(_) => Err("pages of other sites are not answered here\n"),
    }
}

/// Whether this host name is safe from DNS rebinding: listed, or one that no other party can point here.
pub(crate) fn is_own(host: &str, hosts: &[String]) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let bare = name.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(name);
    let is_listed =
        |listed: &String| listed.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(host);
    // A plain address has no lookup that another party could change.
    bare.parse::<IpAddr>().is_ok()
        || name.eq_ignore_ascii_case("localhost")
        || hosts.iter().any(is_listed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;

    fn allowed(headers: &[(&'static str, &'static str)]) -> bool {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, HeaderValue::from_static(value));
        }
        check(&map, &["ops.example".to_owned()]).is_ok()
    }

    #[test]
    fn a_foreign_host_or_origin_is_refused() {
        for host in ["localhost:7401", "127.0.0.1:7401", "[::1]:7401", "10.0.0.3", "OPS.example:1"]
        {
            assert!(allowed(&[("host", host)]), "{host}");
        }
        for host in ["evil.example:7401", "localhost.evil.example", "127.0.0.1.evil.example", ""] {
            assert!(!allowed(&[("host", host)]), "{host}");
        }
        assert!(!allowed(&[]));
        let host = ("host", "localhost:7401");
        assert!(allowed(&[host, ("origin", "http://localhost:7401")]));
        for origin in ["http://evil.example", "null", "http://localhost:7402", "localhost:7401"] {
            assert!(!allowed(&[host, ("origin", origin)]), "{origin}");
        }
        assert!(allowed(&[host, ("sec-fetch-site", "same-origin")]));
        assert!(!allowed(&[host, ("sec-fetch-site", "cross-site")]));
        assert!(!allowed(&[host, ("sec-fetch-site", "same-site")]));
    }
}
