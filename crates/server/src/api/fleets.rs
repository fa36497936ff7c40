//! Keys that are tied to fleets: whatever such a key asks must be about those. The names in the path and
//! the fleet among the parameters are looked at here, before anything is read; what names its fleet in a
//! body or on a line is looked at there.

use axum::RequestExt;
use axum::extract::{Query, RawPathParams, Request};
use axum::http::Uri;
use rejoin_core::id::{GameId, HostId};
use rejoin_directory::catalogue::Route;
use rejoin_directory::queue::QueueSpec;
use rejoin_directory::{Answer, Command, Target};

use super::guard::ApiCaller;
use super::problem::{self, Problem};
use super::{Api, catalogue, queues, unexpected};

/// What is looked at elsewhere: it lists what the key may see, names its fleet in the body or on the line,
/// or is refused where no fleet is among the parameters.
const ELSEWHERE: [&str; 8] = [
    "/games",
    "/search",
    "/subscriptions",
    "/hosts",
    "/hosts/line",
    "/fleets",
    "/aliases",
    "/queues",
];

/// Lets a request through that is about the fleets of its key.
pub(super) async fn check(
    api: &Api,
    caller: ApiCaller,
    mut request: Request,
) -> Result<Request, Problem> {
    for target in targets(request.uri()) {
        may_target(api, caller, &target).await?;
    }
    let names = request.extract_parts::<RawPathParams>().await.ok();
    let first = names.as_ref().and_then(|names| names.iter().next());
    match first {
        Some(("game", id)) => {
            // An id that is none is refused where it is read.
            if let Some(game) = GameId::from_hex(id) {
                may_see(api, caller, game).await?;
            }
        }
        Some(("host", id)) => {
            if let Some(host) = HostId::from_hex(id) {
                match api.ask(Command::DescribeHost(host)).await? {
                    Answer::Host(host) => may_serve(api, caller, &host.registration.fleet)?,
                    other => return Err(unexpected(&other)),
                }
            }
        }
        Some(("fleet", name)) => may_serve(api, caller, name)?,
        Some(("alias", name)) => {
            may_target(api, caller, &Target::Alias(name.to_owned())).await?;
        }
        Some(("queue", name)) => {
            let all = queues::all(api).await?;
            // One that is not there is refused where it is asked.
            if let Some(queue) = all.iter().find(|queue| queue.name == name) {
                may_place(api, caller, queue)?;
            }
        }
        _ => {
            // Behind `/v1`, as the routes are.
            if !ELSEWHERE.contains(&request.uri().path()) {
                return Err(forbidden(api, caller, "this is about no fleet"));
            }
        }
    }
    Ok(request)
}

/// Whether the key may speak for this fleet.
pub(super) fn may_serve(api: &Api, caller: ApiCaller, fleet: &str) -> Result<(), Problem> {
    if is_own(api, caller, fleet) {
        return Ok(());
    }
    Err(forbidden(api, caller, &format!("this is about the fleet {fleet:?}")))
}

/// Whether the key may see this fleet.
pub(super) fn is_own(api: &Api, caller: ApiCaller, fleet: &str) -> bool {
    let fleets = caller.fleets(api);
    fleets.is_empty() || fleets.iter().any(|own| own == fleet)
}

/// Whether the key may ask for this fleet, by its name or through an alias.
pub(super) async fn may_target(
    api: &Api,
    caller: ApiCaller,
    target: &Target,
) -> Result<(), Problem> {
    if caller.fleets(api).is_empty() {
        return Ok(());
    }
    match target {
        Target::Fleet(fleet) => may_serve(api, caller, fleet),
        Target::Alias(name) => {
            let (_, aliases) = catalogue::all(api).await?;
            match aliases.into_iter().find(|alias| alias.name == *name).map(|alias| alias.route) {
                Some(Route::Fleet(fleet)) => may_serve(api, caller, &fleet),
                // It leads to no fleet: a command that follows it is refused with its message.
                Some(Route::Terminal(_)) | None => Ok(()),
            }
        }
    }
}

/// Whether the key may ask about this Game.
pub(super) async fn may_see(api: &Api, caller: ApiCaller, game: GameId) -> Result<(), Problem> {
    if caller.fleets(api).is_empty() {
        return Ok(());
    }
    match api.ask(Command::DescribeGame(game)).await? {
        Answer::Game(game) => may_serve(api, caller, &game.spec.fleet),
        other => Err(unexpected(&other)),
    }
}

/// Whether all that a queue leads to is the key's.
pub(super) fn may_place(api: &Api, caller: ApiCaller, queue: &QueueSpec) -> Result<(), Problem> {
    queue.destinations.iter().try_for_each(|to| may_serve(api, caller, &to.fleet))
}

/// The fleets and aliases among the parameters. Others are left to the handler, which refuses those that
/// it cannot read.
fn targets(uri: &Uri) -> Vec<Target> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(uri).map(|Query(pairs)| pairs);
    let pairs = pairs.unwrap_or_default().into_iter();
    pairs
        .filter_map(|(name, value)| match name.as_str() {
            "fleet" => Some(Target::Fleet(value)),
            "alias" => Some(Target::Alias(value)),
            _ => None,
        })
        .collect()
}

fn forbidden(api: &Api, caller: ApiCaller, what: &str) -> Problem {
    let fleets = caller.fleets(api).join(", ");
    Problem::new(problem::WRONG_FLEET, format!("this key is tied to: {fleets}; {what}"))
}
