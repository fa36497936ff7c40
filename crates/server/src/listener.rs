//! The players' door: accepts sockets, gives each a deadline for its request, and turns those that
//! ask for `/play` into connections. It answers `/healthz` and `/readyz` too.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::extract::ws::WebSocketUpgrade;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Extension, Router, middleware};
use futures_util::FutureExt as _;
use hyper::body::{Body as _, Incoming};
use hyper::service::{Service, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use rejoin_core::event::Offence;
use rejoin_core::guard::DoorRefusal;
use rejoin_wire::Encoding;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, watch};

use crate::accept_guard::{AcceptPermit, retry_after_s};
use crate::api::{self, ApiConfig};
use crate::logbook::Cause;
use crate::metrics::Transport;
use crate::pages::{self, Page};
use crate::proxies::{AddressBlock, ForwardedHeader, client_of};
use crate::server::Server;
use crate::sight::Sight;
use crate::tls::Tls;
use crate::transport::Peer;
use crate::websocket;

/// How the players' door is kept.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WebConfig {
    /// Pages of these origins may connect besides the server's own; `http://localhost:*` stands for any
    /// port, and `*` lets all in. Programs send no origin and are not concerned.
    pub origins: Vec<String>,
    /// From the accept to the end of the request's headers, and between two requests.
    pub header_deadline: Duration,
    /// Connections at a time, and requests at a time; more connections are answered 503, more
    /// requests wait in the system's queue.
    pub sockets_max: usize,
    /// Proxies whose headers are believed about the client's address. Empty: no header is.
    pub trusted_proxies: Vec<AddressBlock>,
    /// The header in which these proxies name the client; all others are ignored.
    pub forwarded_header: ForwardedHeader,
    /// The certificate to speak TLS with; none: connections are not encrypted.
    pub tls: Option<Tls>,
    /// What `GET /` shows.
    pub page: Option<String>,
    /// What a game shows under other paths.
    pub pages: Vec<Page>,
    /// The directory over HTTP, at `/v1`; none: it is not there.
    pub api: Option<ApiConfig>,
}

impl Default for WebConfig {
    fn default() -> Self {
        Self {
            origins: Vec::new(),
            header_deadline: Duration::from_millis(5_000),
            sockets_max: 100_000,
            trusted_proxies: Vec::new(),
            forwarded_header: ForwardedHeader::default(),
            tls: None,
            page: None,
            pages: Vec::new(),
            api: None,
        }
    }
}

/// The largest request head; the least that hyper takes.
const HEAD_BYTES_MAX: usize = 8 << 10;
/// The `Retry-After` of a refused `/play` while there is no room for another connection.
const FULL_WAIT: Duration = Duration::from_secs(5);
/// Refusals that are given the time to be heard; more are just closed.
const REFUSALS_MAX: usize = 64;
/// How long such a refusal waits for the peer to read it, before the socket is closed.
const REFUSAL_LINGER: Duration = Duration::from_millis(500);
/// How long a request of an address that asked for too much waits for its refusal.
const REFUSED_DELAY: Duration = Duration::from_millis(500);
/// How long accepting rests when the system has no more handles.
const ACCEPT_REST: Duration = Duration::from_millis(50);

/// The other end of a request's socket, with its permit; a proxy has none of its own.
#[derive(Clone)]
pub(crate) struct SocketPeer(pub(crate) IpAddr, Option<Arc<AcceptPermit>>);

/// How sockets are met before their first request.
pub(crate) struct Entrance {
    pub(crate) header_deadline: Duration,
    pub(crate) sockets_max: usize,
    pub(crate) tls: Option<Tls>,
    /// Whether each address has its share, and which are proxies, whose clients have theirs.
    pub(crate) is_guarded: bool,
    pub(crate) proxies: Vec<AddressBlock>,
}

#[derive(Clone)]
struct WebState {
    server: Server,
    web: Arc<WebConfig>,
}

impl Server {
    /// Accepts players on a socket until the server stops.
    pub async fn listen(&self, listener: TcpListener, web: WebConfig) {
        let entrance = Entrance {
            header_deadline: web.header_deadline,
            sockets_max: web.sockets_max,
            tls: web.tls.clone(),
            is_guarded: true,
            proxies: web.trusted_proxies.clone(),
        };
        let pages = pages::routes(&web.pages);
        let web = Arc::new(web);
        let api = match &web.api {
            Some(api) => api::routes(api, &web, self.clone()),
            None => Router::new(),
        };
        let state = WebState { server: self.clone(), web };
        let routes = Router::new()
            .route("/play", get(play))
            .route("/", get(page))
            .merge(health(self.clone()))
            .merge(pages)
            .with_state(state.clone())
            .merge(api)
            // In front of everything, unknown paths included.
            .layer(middleware::from_fn_with_state(state, ration));
        self.accept_at(listener, routes, entrance).await;
    }

    /// Answers requests on a socket where no address has a share of its own.
    pub(crate) async fn accept(
        &self,
        listener: TcpListener,
        routes: Router,
        header_deadline: Duration,
        sockets_max: usize,
    ) {
        let (tls, is_guarded, proxies) = (None, false, Vec::new());
        let entrance = Entrance { header_deadline, sockets_max, tls, is_guarded, proxies };
        self.accept_at(listener, routes, entrance).await;
    }

    pub(crate) async fn accept_at(
        &self,
        listener: TcpListener,
        routes: Router,
        entrance: Entrance,
    ) {
        let sockets_max = entrance.sockets_max;
        let entrance = Arc::new(entrance);
        let refusals = Arc::new(Semaphore::new(REFUSALS_MAX));
        let places = Arc::new(Semaphore::new(sockets_max.min(Semaphore::MAX_PERMITS)));
        let mut stopping = self.0.stopping.subscribe();
        loop {
            let Ok(place) = places.clone().acquire_owned().await else { return };
            let accepted = tokio::select! {
                () = until_stopping(&mut stopping) => return,
                accepted = listener.accept() => accepted,
            };
            match accepted {
                Ok((socket, peer)) => {
                    let address = peer.ip().to_canonical();
                    let admitted = match self.admit(&entrance, address) {
                        Ok(admitted) => admitted,
                        Err(refusal) => {
                            self.0.sight.refused(address, &refusal);
                            if entrance.tls.is_none() {
                                turn_away(socket, &refusal, &refusals);
                            }
                            continue;
                        }
                    };
                    let (routes, entrance) = (routes.clone(), entrance.clone());
                    let stopping = self.0.stopping.subscribe();
                    let sight = self.0.sight.clone();
                    let peer = SocketPeer(address, admitted);
                    tokio::spawn(async move {
                        let outcome = meet(socket, peer, routes, &entrance, stopping).await;
                        tell(&sight, address, outcome);
                        drop(place);
                    });
                }
                Err(error) => accept_rest(&self.0.sight, &error).await,
            }
        }
    }

    /// A permit for the address at the other end; none for a proxy, whose clients need one each once
    /// their addresses are known.
    fn admit(
        &self,
        entrance: &Entrance,
        address: IpAddr,
    ) -> Result<Option<Arc<AcceptPermit>>, DoorRefusal> {
        if !entrance.is_guarded || entrance.proxies.iter().any(|block| block.contains(address)) {
            return Ok(None);
        }
        self.0.accept_guard.admit(address).map(|permit| Some(Arc::new(permit)))
    }
}

/// Nothing could be accepted, mostly for want of handles: those who are in go on, the others wait.
pub(crate) async fn accept_rest(sight: &Sight, error: &std::io::Error) {
    if let Some(suppressed) = sight.logbook.pass(Cause::Accept) {
        tracing::warn!(%error, suppressed, "no connection can be accepted; raise the limit of open files");
    }
    tokio::time::sleep(ACCEPT_REST).await;
}

/// Answers without a look at the request, and lets go. A few are given the time to hear it.
fn turn_away(socket: TcpStream, refusal: &DoorRefusal, refusals: &Arc<Semaphore>) {
    let Ok(permit) = refusals.clone().try_acquire_owned() else { return };
    let (status, text) = match refusal.what {
        Offence::Crowd => ("503 Service Unavailable", "no room for another connection\n"),
        _ => ("429 Too Many Requests", "too many from this address\n"),
    };
    let (wait, len) = (retry_after_s(refusal.wait), text.len());
    let answer = format!(
        "HTTP/1.1 {status}\r\nretry-after: {wait}\r\nconnection: close\r\n\
         content-type: text/plain\r\ncontent-length: {len}\r\n\r\n{text}"
    );
    // A new socket takes so little at once.
    if !matches!(socket.try_write(answer.as_bytes()), Ok(written) if written == answer.len()) {
        return;
    }
    tokio::spawn(async move {
        let mut socket = socket;
        let _ = socket.shutdown().await;
        // A socket closed over unread bytes is reset, and the answer with it.
        let mut unread = [0; 1 << 10];
        let read = async { while matches!(socket.read(&mut unread).await, Ok(1..)) {} };
        let _ = tokio::time::timeout(REFUSAL_LINGER, read).await;
        drop(permit);
    });
}

/// Speaks TLS with a socket, if that is spoken here, and then serves its requests.
async fn meet(
    socket: TcpStream,
    peer: SocketPeer,
    routes: Router,
    entrance: &Entrance,
    stopping: watch::Receiver<bool>,
) -> hyper::Result<()> {
    // Small frames must not wait for company.
    let _ = socket.set_nodelay(true);
    let deadline = entrance.header_deadline;
    match &entrance.tls {
        None => answer(socket, peer, routes, deadline, stopping).await,
        Some(tls) => {
            let Some(socket) = Box::pin(tls.accept_web(socket)).await else { return Ok(()) };
            Box::pin(answer(socket, peer, routes, deadline, stopping)).await
        }
    }
}

/// Resolves when the server stops.
pub(crate) async fn until_stopping(stopping: &mut watch::Receiver<bool>) {
    // An error means that the server is gone altogether.
    let _ = stopping.wait_for(|stopping| *stopping).await;
}

/// Serves the requests of one socket.
async fn answer(
    socket: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    peer: SocketPeer,
    routes: Router,
    header_deadline: Duration,
    mut stopping: watch::Receiver<bool>,
) -> hyper::Result<()> {
    let routes = TowerToHyperService::new(routes);
    let service = service_fn(move |mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        routes.call(request)
    });
    let mut http = hyper::server::conn::http1::Builder::new();
    http.timer(TokioTimer::new()).header_read_timeout(header_deadline).max_buf_size(HEAD_BYTES_MAX);
    let connection = http.serve_connection(TokioIo::new(socket), service).with_upgrades();
    tokio::pin!(connection);
    tokio::select! {
        outcome = &mut connection => outcome,
        () = until_stopping(&mut stopping) => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

fn tell(sight: &Sight, peer: IpAddr, outcome: hyper::Result<()>) {
    let Err(error) = outcome else { return };
    if tracing::enabled!(tracing::Level::DEBUG)
        && let Some(suppressed) = sight.logbook.pass(Cause::Request)
    {
        let address = sight.logbook.address(Some(peer));
        tracing::debug!(%address, %error, suppressed, "a request came to nothing");
    }
}

pub(crate) fn health<S: Clone + Send + Sync + 'static>(server: Server) -> Router<S> {
    let ready = move || {
        let is_ready = server.is_ready();
        async move {
            if is_ready {
                (StatusCode::OK, "ready\n")
            } else {
                (StatusCode::SERVICE_UNAVAILABLE, "not ready\n")
            }
        }
    };
    Router::new().route("/healthz", get(|| async { "ok\n" })).route("/readyz", get(ready))
}

/// Charges a request to its address. Behind a trusted proxy that is the client's.
async fn ration(
    State(state): State<WebState>,
    Extension(SocketPeer(socket, _)): Extension<SocketPeer>,
    request: axum::extract::Request,
    next: middleware::Next,
) -> Response {
    let WebConfig { trusted_proxies, forwarded_header, .. } = &*state.web;
    let address = client_of(socket, request.headers(), trusted_proxies, *forwarded_header);
    if let Err(refusal) = state.server.0.accept_guard.request(address) {
        state.server.0.sight.refused(address, &refusal);
        // A client that asks again as soon as it is answered would keep a core busy with refusals.
        tokio::time::sleep(REFUSED_DELAY).await;
        return wait_and_retry(refusal.what, refusal.wait);
    }
    let response = next.run(request).await;
    // Streams have no length; how many there are is bounded.
    if let Some(bytes) = response.body().size_hint().exact() {
        state.server.0.accept_guard.answered(address, bytes);
    }
    response
}

async fn page(State(state): State<WebState>) -> Response {
    match &state.web.page {
        Some(page) => {
            let html = HeaderValue::from_static("text/html; charset=utf-8");
            let policy = HeaderValue::from_static("default-src 'none'; style-src 'unsafe-inline'");
            let headers = [(header::CONTENT_TYPE, html), (header::CONTENT_SECURITY_POLICY, policy)];
            (headers, page.clone()).into_response()
        }
        None => (StatusCode::NOT_FOUND, "players connect at /play\n").into_response(),
    }
}

async fn play(
    State(state): State<WebState>,
    Extension(SocketPeer(socket, permit)): Extension<SocketPeer>,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, axum::extract::ws::rejection::WebSocketUpgradeRejection>,
) -> Response {
    if let Err(origin) = welcome(&headers, &state.web.origins) {
        let WebConfig { trusted_proxies, forwarded_header, .. } = &*state.web;
        let address = client_of(socket, &headers, trusted_proxies, *forwarded_header);
        return foreign(&state.server.0.sight, address, &origin);
    }
    if state.server.connection_count() >= state.web.sockets_max {
        return wait_and_retry(Offence::Crowd, FULL_WAIT);
    }
    let mut upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Some(encoding) = choose(&mut upgrade) else {
        let text = "no subprotocol that is spoken here: rejoin.v1.proto or rejoin.v1.json\n";
        return (StatusCode::BAD_REQUEST, text).into_response();
    };
    let WebConfig { trusted_proxies, forwarded_header, .. } = &*state.web;
    let address = client_of(socket, &headers, trusted_proxies, *forwarded_header);
    let permit =
        match permit.map_or_else(|| state.server.0.accept_guard.admit(address).map(Arc::new), Ok) {
            Ok(permit) => permit,
            Err(refusal) => {
                state.server.0.sight.refused(address, &refusal);
                return wait_and_retry(refusal.what, refusal.wait);
            }
        };
    let is_encrypted = state.web.tls.is_some();
    let peer = Peer { transport: Transport::WebSocket, address: Some(address), is_encrypted };
    let limits = state.server.0.limits;
    let (heard, said) = (limits.client_frame_bytes(encoding), limits.server_frame_bytes(encoding));
    let upgrade = websocket::bounded(upgrade, heard, said);
    upgrade.on_upgrade(move |socket| {
        // No block around it: every connection would carry the future twice.
        websocket::serve(socket, encoding, peer, state.server).map(move |()| drop(permit))
    })
}

fn wait_and_retry(what: Offence, wait: Duration) -> Response {
    let (status, text) = match what {
        Offence::Crowd => (StatusCode::SERVICE_UNAVAILABLE, "no room for another connection\n"),
        _ => (StatusCode::TOO_MANY_REQUESTS, "too many from this address\n"),
    };
    let wait = [(header::RETRY_AFTER, retry_after_s(wait).to_string())];
    (status, wait, text).into_response()
}

/// The first subprotocol of the client's list that is spoken here; JSON if it names none.
fn choose(upgrade: &mut WebSocketUpgrade) -> Option<Encoding> {
    let mut is_any_named = false;
    let mut chosen = None;
    for name in upgrade.requested_protocols() {
        is_any_named = true;
        chosen = name.to_str().ok().and_then(Encoding::from_subprotocol);
        if chosen.is_some() {
            break;
        }
    }
    if let Some(encoding) = chosen {
        upgrade.set_selected_protocol(HeaderValue::from_static(encoding.subprotocol()));
    }
    if is_any_named { chosen } else { Some(Encoding::Json) }
}

/// Whether a page of this origin may connect; the origin if not. A browser always says where a page is from;
/// a program says nothing.
pub(crate) fn welcome(headers: &HeaderMap, origins: &[String]) -> Result<(), String> {
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let Ok(origin) = origin.to_str() else {
        return Err(String::from_utf8_lossy(origin.as_bytes()).into_owned());
    };
    if origins.iter().any(|allowed| is_of(origin, allowed)) {
        return Ok(());
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    let own = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://"));
    match (host, own) {
        (Some(host), Some(own)) if host.eq_ignore_ascii_case(own) => Ok(()),
        _ => Err(origin.to_owned()),
    }
}

/// Whether an origin is one that the settings allow: itself, with any port (`http://localhost:*`), or any.
fn is_of(origin: &str, allowed: &str) -> bool {
    let Some(host) = allowed.strip_suffix(":*") else {
        return allowed == "*" || allowed.eq_ignore_ascii_case(origin);
    };
    let Some((start, port)) = origin.split_at_checked(host.len()) else { return false };
    let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
    start.eq_ignore_ascii_case(host)
        && (port.is_empty() || port.strip_prefix(':').is_some_and(is_port))
}

/// Refuses a page. The page may read why: a browser tells it nothing about a failed WebSocket, so that its
/// SDK asks again with a request.
fn foreign(sight: &Sight, address: IpAddr, origin: &str) -> Response {
    sight.origin_refused(Some(address), origin);
    let text = format!(
        "pages of {origin} may not connect here: list the origin in `origins` of rejoin.toml\n"
    );
    let mut response = (StatusCode::FORBIDDEN, text).into_response();
    if let Ok(origin) = HeaderValue::from_str(origin) {
        response.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    fn welcome(origin: Option<&'static str>, host: &'static str, allowed: &[&str]) -> bool {
        let mut headers = HeaderMap::new();
        headers.insert(header::HOST, HeaderValue::from_static(host));
        if let Some(origin) = origin {
            headers.insert(header::ORIGIN, HeaderValue::from_static(origin));
        }
        let allowed: Vec<_> = allowed.iter().map(|origin| (*origin).to_owned()).collect();
        super::welcome(&headers, &allowed).is_ok()
    }

    #[test]
    fn pages_of_elsewhere_need_their_place_on_the_list() {
        assert!(welcome(None, "game.example", &[]));
        assert!(welcome(Some("https://game.example"), "game.example", &[]));
        assert!(!welcome(Some("https://evil.example"), "game.example", &[]));
        assert!(!welcome(Some("https://game.example.evil"), "game.example", &[]));
        assert!(!welcome(Some("null"), "game.example", &[]));
        assert!(welcome(Some("https://shop.example"), "game.example", &["https://shop.example"]));
        assert!(welcome(Some("https://any.example"), "game.example", &["*"]));
    }

    #[test]
    fn an_origin_may_be_listed_with_any_port() {
        let local = &["http://localhost:*"];
        for origin in ["http://localhost", "http://localhost:5173", "http://LOCALHOST:80"] {
            assert!(welcome(Some(origin), "game.example", local), "{origin}");
        }
        for origin in [
            "https://localhost:5173",
            "http://localhost.evil",
            "http://localhost:5173.evil",
            "http://localhost:80@evil",
            "http://localhos",
            "null",
        ] {
            assert!(!welcome(Some(origin), "game.example", local), "{origin}");
        }
    }
}
