//! Reading requests: bodies, parameters and ids in paths. Input is strict: what is not known is
//! refused by name, and everything that is wrong is a problem.

use axum::body::{HttpBody as _, to_bytes};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use rejoin_core::id::{GameId, HostId, SeatId};
use rejoin_directory::{Refusal, Secret, Target, What};
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer};

use super::Api;
use super::fault;
use super::problem::{self, Problem};

/// Where a secret is shown.
const SECRET_HEADER: &str = "rejoin-secret";
/// The largest body: a placement with all that it may carry is smaller.
const BODY_BYTES_MAX: usize = 1 << 20;

/// A body that is JSON.
pub(super) struct Json<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequest<Api> for Json<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        if !is_json(request.headers()) {
            let detail = "say content-type: application/json";
            return Err(Problem::new(problem::WRONG_MEDIA_TYPE, detail));
        }
        let body = read(request, api).await?;
        parse(&body).map(Self)
    }
}

/// No body: what has none must not bring one, lest it be taken for a wish. An empty object is none.
pub(super) struct NoBody;

impl FromRequest<Api> for NoBody {
    type Rejection = Problem;

    async fn from_request(request: Request, api: &Api) -> Result<Self, Problem> {
        let body = read(request, api).await?;
        if body.is_empty() || parse::<NoParameters>(&body).is_ok() {
            return Ok(Self);
        }
        Err(Problem::new(problem::BAD_BODY, "this request has no body"))
    }
}

async fn read(request: Request, api: &Api) -> Result<Bytes, Problem> {
    let too_large = || {
        let detail = format!("a body has at most {BODY_BYTES_MAX} bytes, and must come whole");
        Problem::new(problem::BODY_TOO_LARGE, detail)
    };
    let encoding = request.headers().get(header::CONTENT_ENCODING);
    if encoding.is_some_and(|it| !it.as_bytes().eq_ignore_ascii_case(b"identity")) {
        let detail = "send the body as it is: no content-encoding is read here";
        return Err(Problem::new(problem::WRONG_MEDIA_TYPE, detail));
    }
    // What is said to be too large is not waited for.
    if request.body().size_hint().lower() > BODY_BYTES_MAX as u64 {
        return Err(too_large());
    }
    let deadline = api.config.body_deadline;
    let body = to_bytes(request.into_body(), BODY_BYTES_MAX);
    let Ok(read) = tokio::time::timeout(deadline, body).await else {
        let detail = format!("the body must come within {} ms", deadline.as_millis());
        return Err(Problem::new(problem::BODY_TOO_SLOW, detail));
    };
    read.map_err(|_| too_large())
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    let essence = kind.and_then(|kind| kind.split(';').next()).map(str::trim);
    essence.is_some_and(|essence| essence.eq_ignore_ascii_case("application/json"))
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Problem> {
    // The reader would take the values of a list for the fields in their order.
    if body.trim_ascii_start().starts_with(b"[") {
        return Err(Problem::new(problem::BAD_BODY, "the whole must be an object"));
    }
    let mut from = serde_json::Deserializer::from_slice(body);
    let read = serde_path_to_error::deserialize(&mut from);
    let read = read.map_err(|error| {
        let path = error.path().to_string();
        let error = error.into_inner();
        if error.is_data() {
            return fault::problem(problem::BAD_BODY, &path, &error.to_string());
        }
        let (line, column) = (error.line(), error.column());
        Problem::new(problem::BAD_JSON, format!("not JSON at line {line}, column {column}"))
    })?;
    from.end().map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let detail = format!("more than one value at line {line}, column {column}");
        Problem::new(problem::BAD_JSON, detail)
    })?;
    Ok(read)
}

/// The parameters behind the `?`.
pub(super) struct Parameters<T>(pub(super) T);

impl<T: DeserializeOwned> FromRequestParts<Api> for Parameters<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, Problem> {
        match Query::<T>::try_from_uri(&parts.uri) {
            Ok(Query(parameters)) => Ok(Self(parameters)),
            Err(rejection) => {
                let text = rejection.body_text();
                let text = text.strip_prefix("Failed to deserialize query string: ");
                let text = text.unwrap_or_default();
                let (path, what) = text.split_once(": ").unwrap_or(("", text));
                let is_path = path.bytes().all(|it| it.is_ascii_lowercase() || it == b'_');
                let (path, what) = if is_path { (path, what) } else { ("", text) };
                Err(fault::problem(problem::BAD_QUERY, path, what))
            }
        }
    }
}

/// The secret that is shown to give something back.
pub(super) struct ShownSecret(pub(super) Option<Secret>);

impl FromRequestParts<Api> for ShownSecret {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &Api) -> Result<Self, Problem> {
        let shown =
            parts.headers.get(SECRET_HEADER).map(|shown| shown.to_str().unwrap_or_default());
        Ok(Self(shown.map(Secret::new).transpose()?))
    }
}

/// The variable parts of a path that has parameters besides.
pub(super) struct PathNames(pub(super) Names);

impl FromRequestParts<Api> for PathNames {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        Names::beside_parameters(parts, api).await.map(Self)
    }
}

/// A request without parameters.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoParameters {}

/// The variable parts of the path, in order.
pub(super) struct Names(Vec<String>);

impl FromRequestParts<Api> for Names {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let Parameters(NoParameters {}) = Parameters::from_request_parts(parts, api).await?;
        Self::beside_parameters(parts, api).await
    }
}

impl Names {
    async fn beside_parameters(parts: &mut Parts, api: &Api) -> Result<Self, Problem> {
        let named = Path::<Vec<(String, String)>>::from_request_parts(parts, api).await;
        let Ok(Path(named)) = named else {
            return Err(Problem::new(problem::NO_PATH, "the path cannot be read"));
        };
        Ok(Self(named.into_iter().map(|(_, value)| value).collect()))
    }

    pub(super) fn name(&self, index: usize) -> String {
        self.0.get(index).cloned().unwrap_or_default()
    }

    /// The Game's id is the first part.
    pub(super) fn game(&self) -> Result<GameId, Problem> {
        let id = GameId::from_hex(&self.name(0));
        id.ok_or_else(|| Refusal::NotFound(What::Game).into())
    }

    /// The seat's id is the second part.
    pub(super) fn seat(&self) -> Result<SeatId, Problem> {
        let id = SeatId::from_hex(&self.name(1));
        id.ok_or_else(|| Refusal::NotFound(What::Seat).into())
    }

    /// The host's id is the first part.
    pub(super) fn host(&self) -> Result<HostId, Problem> {
        let id = HostId::from_hex(&self.name(0));
        id.ok_or_else(|| Refusal::NotFound(What::Host).into())
    }
}

/// A fleet by its name, or through an alias: just one of the two.
pub(super) fn target(fleet: Option<String>, alias: Option<String>) -> Result<Target, Problem> {
    match (fleet, alias) {
        (Some(fleet), None) => Ok(Target::Fleet(fleet)),
        (None, Some(alias)) => Ok(Target::Alias(alias)),
        _ => {
            let must = "named, or an alias instead, and not both";
            Err(Refusal::Invalid { field: "fleet", must }.into())
        }
    }
}

/// A value that may be left out, and is not null.
pub(super) fn some<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<T>, D::Error> {
    T::deserialize(from).map(Some)
}

/// Bytes as base64.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(super) struct Data(pub(super) Bytes);

impl<'de> Deserialize<'de> for Data {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = STANDARD.decode(text).map_err(|_| D::Error::custom("data must be base64"))?;
        Ok(Self(bytes.into()))
    }
}

impl Data {
    pub(super) fn show(bytes: &[u8]) -> String {
        STANDARD.encode(bytes)
    }
}
