//! What `rejoin serve` says when it serves: where everybody connects, what is kept, and who is let in.

use std::net::SocketAddr;

use rejoin::hub::AccountPolicy;

use super::output::say;
use super::settings::{GuardMode, Settings, TlsSettings};

/// Where players get in: WebSocket, byte streams, datagrams.
pub(crate) type Doors = (SocketAddr, Option<SocketAddr>, Vec<SocketAddr>);

pub(crate) fn greet(settings: &Settings, doors: Doors, admin: SocketAddr) {
    let (players, tcp, enet) = doors;
    let (ws, http, stream) = match settings.tls {
        TlsSettings::Off => ("ws", "http", "tcp"),
        _ => ("wss", "https", "tls"),
    };
    say!("rejoin {} serves", env!("CARGO_PKG_VERSION"));
    say!("  players   {ws}://{players}/play   (subprotocol rejoin.v1.json or rejoin.v1.proto)");
    if let Some(tcp) = tcp {
        say!("            {stream}://{tcp}   (protobuf, each frame after its length)");
    }
    let whom = if settings.enet.config.stock { "any ENet client" } else { "clients with a cookie" };
    for enet in enet {
        say!("            enet://{enet}   (protobuf, for {whom})");
    }
    if settings.has_arena(players) {
        say!("  play at   {http}://{players}/arena");
    }
    say!("  look at   {http}://{players}/     (what to type, in a browser)");
    if settings.guard.mode == GuardMode::Open {
        say!("  guard     open: no address has a ration");
    }
    if settings.directory.enabled {
        let who = match settings.directory.keys.len() {
            _ if settings.is_directory_open(players) => {
                "no key is needed here with --dev".to_owned()
            }
            0 => "no keys yet: `rejoin key new --role client` makes one".to_owned(),
            keys => format!("{keys} API keys"),
        };
        say!("  directory {http}://{players}/v1   ({who})");
    }
    say!("  operators http://{admin}/     (metrics, events, sessions, health)");
    if !admin.ip().is_loopback() {
        say!();
        say!("  *** ADMIN IS OPEN TO OTHER MACHINES and asks for no login: who reaches ***");
        say!("  *** {admin} sees every session and can log its frames.");
        say!();
    }
    match &settings.data {
        Some(data) => say!("  sessions  kept in {}", data.display()),
        None => say!("  sessions  in memory: a restart forgets them"),
    }
    if settings.dev {
        say!();
        say!("  *** DEVELOPMENT MODE: anybody is let in without any identity. ***");
        say!("  *** Never face the internet with --dev.                       ***");
    }
    say!("  logins    {}", logins(settings));
    if !players.ip().is_loopback() && settings.server_names.is_none() {
        say!("  names     only localhost is answered to: set server_names in rejoin.toml");
    }
}

/// The ways to log in that are open, for the banner.
fn logins(settings: &Settings) -> String {
    let token = settings.identity.jwt.as_ref().map(|jwt| format!("a token of {}", jwt.issuer));
    let accounts = match token {
        Some(token) => format!("by name and password or by {token}"),
        None => "by name and password".to_owned(),
    };
    let mut ways = match settings.accounts {
        AccountPolicy::Off => "guests by key or by secret".to_owned(),
        AccountPolicy::Optional => format!("guests by key or by secret, accounts {accounts}"),
        AccountPolicy::Required => format!("accounts only, {accounts}"),
    };
    match settings.accounts {
        AccountPolicy::Required => {}
        _ if settings.dev => ways.push_str(", anonymous players"),
        _ => ways.push_str("; --dev lets you in without any, to try it by hand"),
    }
    if let Some(admission) = &settings.admission {
        ways.push_str(&format!("; each is asked for at {}", admission.url));
    }
    ways
}
