//! Everything that can be asked over HTTP, and who may ask it: one table. The router is made from it,
//! and the description of the interface is compared with it.

use axum::routing::{MethodRouter, delete, get, patch, post, put};

use super::key::Role;
use super::{
    Api, catalogue, games, hosts, line, placements, players, queues, seats, subscriptions,
};

/// One operation of the API: a row of [`operations`].
pub(super) struct ApiOperation {
    pub(super) method: &'static str,
    /// Behind `/v1`.
    pub(super) path: &'static str,
    pub(super) roles: &'static [Role],
    pub(super) route: MethodRouter<Api>,
}

impl ApiOperation {
    /// Whether it is about the directory; players are the hub's.
    pub(super) fn needs_directory(&self) -> bool {
        !self.path.starts_with("/players")
    }
}

const ALL: &[Role] = &[Role::Client, Role::Host, Role::Operator];
/// Seats that others hold, Games that are hidden, what Games are: not for game clients.
const INNER: &[Role] = &[Role::Host, Role::Operator];
const OPERATOR: &[Role] = &[Role::Operator];

fn row(
    method: &'static str,
    path: &'static str,
    roles: &'static [Role],
    route: MethodRouter<Api>,
) -> ApiOperation {
    ApiOperation { method, path, roles, route }
}

/// All operations. A test holds this table and `openapi.json` to each other.
pub(super) fn operations() -> Vec<ApiOperation> {
    let seat = "/games/{game}/seats/{seat}";
    let placement = "/queues/{queue}/placements/{placement}";
    vec![
        row("POST", "/games", ALL, post(games::create)),
        row("GET", "/games", INNER, get(games::list)),
        row("GET", "/games/{game}", ALL, get(games::describe)),
        row("PATCH", "/games/{game}", INNER, patch(games::update)),
        row("DELETE", "/games/{game}", INNER, delete(games::terminate)),
        row("GET", "/search", ALL, get(games::search)),
        row("GET", "/subscriptions", ALL, get(subscriptions::subscribe)),
        row("POST", "/games/{game}/seats", ALL, post(seats::reserve)),
        row("GET", "/games/{game}/seats", INNER, get(seats::list)),
        row("GET", seat, ALL, get(seats::describe)),
        row("PATCH", seat, ALL, patch(seats::extend)),
        row("DELETE", seat, ALL, delete(seats::release)),
        row("POST", "/games/{game}/seats/{seat}/claim", INNER, post(seats::claim)),
        row("POST", "/games/{game}/seats/{seat}/confirm", INNER, post(seats::confirm)),
        row("POST", "/games/{game}/seats/{seat}/abandon", INNER, post(seats::abandon)),
        row("POST", "/games/{game}/seats/{seat}/complete", INNER, post(seats::complete)),
        row("GET", "/hosts", INNER, get(hosts::list)),
        row("GET", "/hosts/line", INNER, get(line::open)),
        row("GET", "/hosts/{host}", INNER, get(hosts::describe)),
        row("POST", "/hosts/{host}/drain", OPERATOR, post(hosts::drain)),
        row("GET", "/fleets", INNER, get(catalogue::list_fleets)),
        row("GET", "/fleets/{fleet}", INNER, get(catalogue::describe_fleet)),
        row("PUT", "/fleets/{fleet}", OPERATOR, put(catalogue::put_fleet)),
        row("DELETE", "/fleets/{fleet}", OPERATOR, delete(catalogue::delete_fleet)),
        row("GET", "/aliases", INNER, get(catalogue::list_aliases)),
        row("GET", "/aliases/{alias}", INNER, get(catalogue::describe_alias)),
        row("PUT", "/aliases/{alias}", OPERATOR, put(catalogue::put_alias)),
        row("DELETE", "/aliases/{alias}", OPERATOR, delete(catalogue::delete_alias)),
        row("GET", "/queues", INNER, get(queues::list)),
        row("GET", "/queues/{queue}", INNER, get(queues::describe)),
        row("PUT", "/queues/{queue}", OPERATOR, put(queues::put)),
        row("DELETE", "/queues/{queue}", OPERATOR, delete(queues::delete)),
        row("POST", "/queues/{queue}/placements", ALL, post(queues::place)),
        row("GET", placement, ALL, get(queues::describe_placement)),
        row("DELETE", placement, ALL, delete(queues::cancel)),
        row("GET", "/queues/{queue}/events", INNER, get(placements::watch_all)),
        row(
            "GET",
            "/queues/{queue}/placements/{placement}/events",
            ALL,
            get(placements::watch_one),
        ),
        row("GET", "/players", OPERATOR, get(players::list)),
        row("POST", "/players", OPERATOR, post(players::add)),
        row("GET", "/players/{player}", OPERATOR, get(players::describe)),
        row("PATCH", "/players/{player}", OPERATOR, patch(players::change)),
        row("DELETE", "/players/{player}", OPERATOR, delete(players::delete)),
        row("PUT", "/players/{player}/ban", OPERATOR, put(players::ban)),
        row("DELETE", "/players/{player}/ban", OPERATOR, delete(players::unban)),
        row("GET", "/players/{player}/export", OPERATOR, get(players::export)),
    ]
}
