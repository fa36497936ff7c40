//! Who asks, and may they: pages by their origin, programs by their key, and no one too often.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::key::Role;
use super::problem::{self, Problem};
use super::{Api, fleets};
use crate::admin::is_own;
use crate::listener::is_welcome;

/// Who asks.
#[derive(Clone, Copy, Debug)]
pub(super) struct Caller {
    pub(super) role: Role,
    /// The place of its key among all; none where no key was needed.
    key: Option<usize>,
}

impl Caller {
    /// The fleets that it is tied to; empty: all.
    pub(super) fn fleets(self, api: &Api) -> &[String] {
        self.key.map_or(&[], |place| api.keys.fleets(place))
    }
}

/// What a page of another origin may send, should it be welcome.
const METHODS: HeaderValue = HeaderValue::from_static("GET, POST, PUT, PATCH, DELETE");
const HEADERS: HeaderValue = HeaderValue::from_static("authorization, content-type");
/// For how many seconds a browser need not ask that again.
const REMEMBERED: HeaderValue = HeaderValue::from_static("600");

/// Refuses pages of other origins, but for those on the list, whose browsers are told so.
pub(super) async fn origin(State(api): State<Api>, request: Request, next: Next) -> Response {
    let response = welcome(&api, request, next).await;
    api.server.0.sight.metrics.directory.answered(response.status().as_u16());
    response
}

async fn welcome(api: &Api, request: Request, next: Next) -> Response {
    let origin = request.headers().get(header::ORIGIN).cloned();
    if !is_welcome(request.headers(), &api.origins) {
        let detail = "list the origin in `origins` of the settings";
        return Problem::new(problem::FOREIGN_ORIGIN, detail).into_response();
    }
    let is_question = request.method() == Method::OPTIONS
        && request.headers().contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
    let mut response = if is_question {
        let told = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, METHODS),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, HEADERS),
            (header::ACCESS_CONTROL_MAX_AGE, REMEMBERED),
        ];
        (StatusCode::NO_CONTENT, told).into_response()
    } else {
        next.run(request).await
    };
    if let Some(origin) = origin {
        let headers = response.headers_mut();
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
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
    let caller = match identify(&api, request.headers(), roles) {
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

fn identify(api: &Api, headers: &HeaderMap, roles: &[Role]) -> Result<Caller, Problem> {
    let Some(shown) = headers.get(header::AUTHORIZATION) else {
        if api.config.open {
            return nobody(headers);
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
    key.spend(api.server.0.clock).map_err(|seconds| {
        let detail = format!("at most {} requests a second", key.key.rate_per_s);
        Problem::new(problem::TOO_MANY_REQUESTS, detail).retry_after(seconds)
    })?;
    let role = key.key.role;
    if !roles.contains(&role) {
        let may: Vec<_> = roles.iter().map(|role| role.label()).collect();
        let detail = format!("this key is a {}'s; this is for: {}", role.label(), may.join(", "));
        return Err(Problem::new(problem::FORBIDDEN, detail));
    }
    Ok(Caller { role, key: Some(place) })
}

/// Somebody without a key where none is needed. A page that had its own name point here shows in the
/// host.
fn nobody(headers: &HeaderMap) -> Result<Caller, Problem> {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    if host.is_some_and(|host| is_own(host, &[])) {
        return Ok(Caller { role: Role::Operator, key: None });
    }
    Err(unknown("without a key only localhost and plain addresses are answered"))
}

fn unknown(detail: &str) -> Problem {
    let scheme = HeaderValue::from_static("Bearer");
    Problem::new(problem::NO_KEY, detail).header(header::WWW_AUTHENTICATE, scheme)
}
