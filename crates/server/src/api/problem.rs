//! What went wrong, as RFC 9457 says it: `application/problem+json` with a stable type and code. One
//! table holds every problem there is; the refusals of the directory are rows of it.

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use rejoin_directory::{Refusal, What};
use serde_json::{Map, Value, json};

use crate::directory::AskError;

/// A kind of problem: its code, its status and its title.
pub(crate) type ProblemKind = (&'static str, u16, &'static str);

macro_rules! kinds {
    ($($name:ident = ($code:literal, $status:literal, $title:literal);)*) => {
        $(pub(crate) const $name: ProblemKind = ($code, $status, $title);)*

        /// Every kind of problem that the API answers with, in the order of their definition.
        pub(crate) const KINDS: &[ProblemKind] = &[$($name),*];
    };
}

kinds! {
    BAD_JSON = ("bad_json", 400, "The body is not JSON");
    BAD_BODY = ("bad_body", 400, "The body does not say what it should");
    BAD_WORD = ("bad_word", 400, "The message does not say what it should");
    BAD_QUERY = ("bad_query", 400, "The parameters do not say what they should");
    INVALID = ("invalid", 400, "A value is not what it may be");
    BAD_FILTER = ("bad_filter", 400, "The filter cannot be read");
    BAD_SORT = ("bad_sort", 400, "The sort expression cannot be read");
    WRONG_CURSOR = ("wrong_cursor", 400, "The cursor belongs to another search");
    NO_KEY = ("no_key", 401, "A good API key is needed");
    FORBIDDEN = ("forbidden", 403, "The role of this key may not do this");
    WRONG_FLEET = ("wrong_fleet", 403, "This key is tied to other fleets");
    FOREIGN_ORIGIN = ("foreign_origin", 403, "Pages of this origin are not answered");
    WRONG_SECRET = ("wrong_secret", 403, "The secret of the reservation is needed");
    WRONG_PLAYER = ("wrong_player", 403, "The seat belongs to another player");
    NOT_YOURS = ("not_yours", 403, "The game is not one of this host's");
    NO_PATH = ("no_path", 404, "There is nothing at this path");
    FLEET_NOT_FOUND = ("fleet_not_found", 404, "There is no such fleet");
    ALIAS_NOT_FOUND = ("alias_not_found", 404, "There is no such alias");
    GAME_NOT_FOUND = ("game_not_found", 404, "There is no such game");
    SEAT_NOT_FOUND = ("seat_not_found", 404, "There is no such seat");
    HOST_NOT_FOUND = ("host_not_found", 404, "There is no such host");
    QUEUE_NOT_FOUND = ("queue_not_found", 404, "There is no such queue");
    PLACEMENT_NOT_FOUND = ("placement_not_found", 404, "There is no such placement");
    PLAYER_NOT_FOUND = ("player_not_found", 404, "There is no such player");
    SUBSCRIPTION_NOT_FOUND = ("subscription_not_found", 404, "There is no such subscription");
    NO_METHOD = ("no_method", 405, "This cannot be done with this path");
    BODY_TOO_SLOW = ("body_too_slow", 408, "The body did not come in time");
    WRONG_STATUS = ("wrong_status", 409, "The game is in another state");
    NOT_ACCEPTING = ("not_accepting", 409, "The game takes no new players");
    HOST_AWAY = ("host_away", 409, "The game's host is away");
    HOST_UNHEALTHY = ("host_unhealthy", 409, "The game's host is not healthy");
    GAME_FULL = ("game_full", 409, "The game has too few free seats");
    ALREADY_SEATED = ("already_seated", 409, "The player has a seat of this game");
    OWN_HOST = ("own_host", 409, "The server itself is this host");
    SEAT_ENDED = ("seat_ended", 409, "The seat is over");
    SEAT_TAKEN = ("seat_taken", 409, "The seat is in use");
    NOT_CLAIMED = ("not_claimed", 409, "The seat is not claimed by this session");
    NO_HOST = ("no_host", 409, "No host has room");
    TERMINAL_ALIAS = ("terminal_alias", 409, "The alias leads nowhere");
    LIMIT_REACHED = ("limit_reached", 409, "There are as many as there may be");
    EXISTS = ("exists", 409, "The name is taken");
    IN_USE = ("in_use", 409, "It is in use");
    NO_ACCOUNT = ("no_account", 409, "The player is a guest and has no account");
    BEING_DELETED = ("being_deleted", 409, "It is being deleted");
    STALE_LEASE = ("stale_lease", 409, "Another process speaks for this host");
    HOOKS_NOT_SET = ("hooks_not_set", 409, "The host has not set its hooks");
    HOST_ENDED = ("host_ended", 409, "The host has ended");
    VETOED = ("vetoed", 409, "The host refused");
    GAME_ENDED = ("game_ended", 409, "The game has ended");
    PLACEMENT_ENDED = ("placement_ended", 409, "The placement has ended");
    BODY_TOO_LARGE = ("body_too_large", 413, "The body is too large");
    WRONG_MEDIA_TYPE = ("wrong_media_type", 415, "The body must be application/json");
    KEY_REUSED = ("key_reused", 422, "The idempotency key was used with other parameters");
    TOO_BROAD = ("too_broad", 422, "The search would look at too much");
    NOT_A_WEBSOCKET = ("not_a_websocket", 426, "This path is for WebSockets");
    TOO_MANY_REQUESTS = ("too_many_requests", 429, "This key asks too often");
    BUSY = ("busy", 503, "The directory has too much to do");
    STOPPED = ("stopped", 503, "The server is stopping");
    HOST_SILENT = ("host_silent", 504, "The host did not answer in time");
    NO_ANSWER = ("no_answer", 504, "There was no answer in time");
}

/// A problem that is the answer to a request.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Problem {
    kind: ProblemKind,
    detail: String,
    more: Map<String, Value>,
    headers: Vec<(HeaderName, HeaderValue)>,
}

impl Problem {
    pub(crate) fn new(kind: ProblemKind, detail: impl Into<String>) -> Self {
        Self { kind, detail: detail.into(), more: Map::new(), headers: Vec::new() }
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.more.insert(name.to_owned(), value.into());
        self
    }

    pub(crate) fn header(mut self, name: HeaderName, value: HeaderValue) -> Self {
        self.headers.push((name, value));
        self
    }

    /// Adds a `Retry-After` of so many seconds.
    pub(crate) fn retry_after(self, seconds: u64) -> Self {
        self.header(header::RETRY_AFTER, HeaderValue::from(seconds))
    }

    /// The stable code, as `openapi.json` lists it.
    pub(crate) fn code(&self) -> &'static str {
        self.kind.0
    }

    /// The body of the answer, by RFC 9457.
    pub(crate) fn body(&self) -> Value {
        let (code, status, title) = self.kind;
        let mut body = json!({
            "type": format!("urn:rejoin:problem:{code}"),
            "title": title,
            "status": status,
            "detail": self.detail,
            "code": code,
        });
        for (name, value) in &self.more {
            body[name] = value.clone();
        }
        body
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = StatusCode::from_u16(self.kind.1).unwrap_or(StatusCode::BAD_REQUEST);
        let kind = HeaderValue::from_static("application/problem+json");
        let mut response =
            (status, [(header::CONTENT_TYPE, kind)], self.body().to_string()).into_response();
        response.headers_mut().extend(self.headers);
        response
    }
}

impl From<AskError> for Problem {
    fn from(error: AskError) -> Self {
        match error {
            AskError::Refused(refusal) => Self::from(refusal),
            AskError::Busy => Self::new(BUSY, error.to_string()).retry_after(1),
            AskError::Stopped => Self::new(STOPPED, error.to_string()).retry_after(1),
        }
    }
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        let problem = Self::new(kind_of(&refusal), refusal.to_string());
        match refusal {
            Refusal::Invalid { field, must } => problem.with("field", field).with("must", must),
            Refusal::Filter(error) => {
                let problem = problem.with("field", "filter");
                problem.with("position", error.at).with("expected", error.expected)
            }
            Refusal::Sort(error) => {
                let problem = problem.with("field", "sort");
                problem.with("position", error.at).with("expected", error.expected)
            }
            Refusal::WrongCursor => problem.with("field", "cursor"),
            Refusal::GameFull { free } => problem.with("free", free),
            Refusal::AlreadySeated { seat } => problem.with("seat", seat.to_string()),
            Refusal::TooManySeats { most } => {
                problem.with("field", "capacity").with("must", format!("at most {most}"))
            }
            Refusal::WrongStatus(status) => problem.with("game_status", status.name()),
            Refusal::GameEnded(cause) => problem.with("cause", cause.name()),
            Refusal::LimitReached { what, limit } => {
                problem.with("what", what).with("limit", limit)
            }
            Refusal::Busy => problem.retry_after(1),
            _ => problem,
        }
    }
}

/// The row of each refusal.
fn kind_of(refusal: &Refusal) -> ProblemKind {
    match refusal {
        Refusal::NotFound(what) => match what {
            What::Fleet => FLEET_NOT_FOUND,
            What::Alias => ALIAS_NOT_FOUND,
            What::Game => GAME_NOT_FOUND,
            What::Seat => SEAT_NOT_FOUND,
            What::Host => HOST_NOT_FOUND,
            What::Queue => QUEUE_NOT_FOUND,
            What::Placement => PLACEMENT_NOT_FOUND,
            What::Subscription => SUBSCRIPTION_NOT_FOUND,
            // A location is never looked up by itself: it is a field of a fleet.
            What::Location => INVALID,
        },
        Refusal::Invalid { .. } => INVALID,
        Refusal::WrongStatus(_) => WRONG_STATUS,
        Refusal::NotAccepting => NOT_ACCEPTING,
        Refusal::HostAway => HOST_AWAY,
        Refusal::HostUnhealthy => HOST_UNHEALTHY,
        Refusal::GameFull { .. } => GAME_FULL,
        Refusal::KeyReused => KEY_REUSED,
        Refusal::SeatEnded => SEAT_ENDED,
        Refusal::SeatTaken => SEAT_TAKEN,
        Refusal::WrongPlayer => WRONG_PLAYER,
        Refusal::WrongSecret => WRONG_SECRET,
        Refusal::AlreadySeated { .. } => ALREADY_SEATED,
        Refusal::TooManySeats { .. } => INVALID,
        Refusal::OwnHost => OWN_HOST,
        Refusal::NotClaimed => NOT_CLAIMED,
        Refusal::NoHost => NO_HOST,
        Refusal::TerminalAlias(_) => TERMINAL_ALIAS,
        Refusal::LimitReached { .. } => LIMIT_REACHED,
        Refusal::Exists(_) => EXISTS,
        Refusal::InUse(_) => IN_USE,
        Refusal::Busy => BUSY,
        Refusal::StaleLease => STALE_LEASE,
        Refusal::HooksNotSet => HOOKS_NOT_SET,
        Refusal::HostEnded => HOST_ENDED,
        Refusal::NotYours => NOT_YOURS,
        Refusal::Vetoed(_) => VETOED,
        Refusal::HostSilent => HOST_SILENT,
        Refusal::GameEnded(_) => GAME_ENDED,
        Refusal::PlacementEnded => PLACEMENT_ENDED,
        Refusal::Filter(_) => BAD_FILTER,
        Refusal::Sort(_) => BAD_SORT,
        Refusal::TooBroad { .. } => TOO_BROAD,
        Refusal::WrongCursor => WRONG_CURSOR,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rejoin_directory::search::FilterError;

    #[test]
    fn every_problem_has_one_code_and_a_title() {
        for (index, (code, status, title)) in KINDS.iter().enumerate() {
            assert!(KINDS[..index].iter().all(|(earlier, ..)| earlier != code), "{code} twice");
            assert!((400..600).contains(status) && !title.is_empty(), "{code}");
        }
    }

    #[test]
    fn a_filter_that_cannot_be_read_says_where_and_what_was_expected() {
        let error = FilterError { at: 7, expected: "a value".to_owned() };
        let body = Problem::from(Refusal::Filter(error)).body();
        assert_eq!(body["type"], "urn:rejoin:problem:bad_filter");
        assert_eq!((&body["status"], &body["position"]), (&json!(400), &json!(7)));
        assert_eq!(body["expected"], "a value");
    }
}
