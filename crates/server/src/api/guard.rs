//! Who asks, and may they: pages by their origin, programs by their key, and no one too often.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use rejoin_directory::{self as directory, Payer, Secret};

use super::key::Role;
use super::problem::{self, Problem};
use super::share::{self, Searching};
use super::{Api, fleets};
use crate::admin::is_own;
use crate::listener::{self, SocketPeer};
use crate::proxies::client_of;

/// The caller of one request, as its key and its address show it.
#[derive(Clone, Copy, Debug)]
pub(super) struct ApiCaller {
    pub(super) role: Role,
    /// The place of its key among all; none where no key was needed.
    key: Option<usize>,
    /// The network of its address, by which limits are counted.
    network: u128,
}

impl ApiCaller {
    /// The fleets that it is tied to; empty: all.
    pub(super) fn fleets(self, api: &Api) -> &[String] {
        self.key.map_or(&[], |place| api.keys.fleets(place))
    }

    /// As the directory knows it: game clients pay for what they hold open, and give back what they have
    /// the secret of.
    pub(super) fn outside(self, secret: Option<Secret>) -> directory::Caller {
        let payer = (self.role == Role::Client).then(|| Payer {
            key: self.key.and_then(|place| u32::try_from(place).ok()).unwrap_or(u32::MAX),
            network: self.network,
        });
        directory::Caller { is_outside: true, payer, secret }
    }

    /// A search of this caller, until it is dropped.
    pub(super) fn search(self, api: &Api) -> Result<Option<Searching>, Problem> {
        let Some(place) = self.key else { return Ok(None) };
        let now_us = api.server.0.clock.now().0;
        let begun = api.shares.search((place, self.network), now_us);
        begun.map(Some).map_err(|count| {
            let detail = format!("{count} searches of this key and address are under way");
            Problem::new(problem::TOO_MANY_REQUESTS, detail).retry_after(1)
        })
    }

    /// Owes what a search has looked at.
    pub(super) fn owe(self, api: &Api, work: usize) {
        if let Some((place, key)) = self.key.and_then(|place| Some((place, api.keys.at(place)?))) {
            api.shares.owe(key, (place, self.network), api.server.0.clock.now().0, work);
        }
    }
}

/// What a page of another origin may send, should it be welcome.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type, rejoin-secret");
/// What it may read of an answer's head.
const EXPOSED: HeaderValue = HeaderValue::from_static("location, retry-after");
/// For how many seconds a browser need not ask that again.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// Refuses pages of other origins. Those on the list are let through and get the CORS headers.
pub(super) async fn origin(State(api): State<Api>, request: Request, next: Next) -> Response {
    let response = welcome(&api, request, next).await;
    api.server.0.sight.metrics.directory.answered(response.status().as_u16());
    response
}

async fn welcome(api: &Api, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    if let Err(origin) = listener::welcome(request.headers(), &api.web.origins) {
        api.server.0.sight.origin_refused(None, &origin);
        let detail = "list the origin in `origins` of the settings";
        return Problem::new(problem::FOREIGN_ORIGIN, detail).into_response();
    }
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_question {
        let allowed = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
        ];
        (StatusCode::NO_CONTENT, allowed).into_response()
    } else {
        next.run(request).await
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
        headers.insert(header::VARY, HeaderValue::from_static("origin"));
    }
    response
}

/// Lets those in whose role may do this.
pub(super) async fn role(
    State((api, roles)): State<(Api, &'static [Role])>,
    mut request: Request,
    next: Next,
) -> Response {
    let network = network_of(&api, &request);
    let caller = match identify(&api, request.headers(), roles, network) {
        Ok(caller) => caller,
        Err(problem) => return problem.into_response(),
    };
    let Ok(_place) = Arc::clone(&api.places).try_acquire_owned() else {
        let detail = "as many requests are under way as there may be";
        return Problem::new(problem::BUSY, detail).retry_after(1).into_response();
    };
    if !caller.fleets(&api).is_empty() {
        request = match fleets::check(&api, caller, request).await {
            Ok(request) => request,
            Err(problem) => return problem.into_response(),
        };
    }
    request.extensions_mut().insert(caller);
    next.run(request).await
}

/// Where a request comes from: a proxy that is trusted says it.
fn network_of(api: &Api, request: &Request) -> u128 {
    let socket = request.extensions().get::<SocketPeer>().map(|peer| peer.0);
    let client = |socket| {
        let web = &api.web;
        client_of(socket, request.headers(), &web.trusted_proxies, web.forwarded_header)
    };
    socket.map(client).map_or(0, share::network)
}

fn identify(
    api: &Api,
    headers: &HeaderMap,
    roles: &[Role],
    network: u128,
) -> Result<ApiCaller, Problem> {
    let Some(shown) = headers.get(header::AUTHORIZATION) else {
        if api.config.open {
            return without_key(headers, network);
        }
        let detail = if api.keys.is_empty() {
            "there are no API keys: make one with `rejoin key new`"
        } else {
            "send authorization: Bearer and an API key"
        };
        return Err(unknown(detail));
    };
    let text = shown.to_str().ok();
    // The name of the scheme is not case-sensitive.
    let text =
        text.filter(|text| text.get(..7).is_some_and(|it| it.eq_ignore_ascii_case("bearer ")));
    let key = text.and_then(|text| api.keys.find(text[7..].trim()));
    let (place, key) = key.ok_or_else(|| unknown("this is none of the API keys"))?;
    let now_us = api.server.0.clock.now().0;
    api.shares.spend(key, (place, network), now_us).map_err(|seconds| {
        let (rate, unit) = (key.key.rate_per_s, share::WORK_UNIT);
        let detail = format!(
            "at most {rate} requests a second; a search counts once more for each {unit} games"
        );
        Problem::new(problem::TOO_MANY_REQUESTS, detail).retry_after(seconds)
    })?;
    let role = key.key.role;
    if !roles.contains(&role) {
        let may: Vec<_> = roles.iter().map(|role| role.label()).collect();
        let detail = format!("this key is a {}'s; this is for: {}", role.label(), may.join(", "));
        return Err(Problem::new(problem::FORBIDDEN, detail));
    }
    Ok(ApiCaller { role, key: Some(place), network })
}

/// The caller of a request without a key, where none is needed. A page whose own name was pointed here
/// is refused by the `Host` header.
fn without_key(headers: &HeaderMap, network: u128) -> Result<ApiCaller, Problem> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| is_own(host, &[])) {
        return Ok(ApiCaller { role: Role::Operator, key: None, network });
    }
    Err(unknown("without a key only localhost and plain addresses are answered"))
}

fn unknown(detail: &str) -> Problem {
    let scheme = HeaderValue::from_static("Bearer");
    Problem::new(problem::NO_KEY, detail).header(header::WWW_AUTHENTICATE, scheme)
}
