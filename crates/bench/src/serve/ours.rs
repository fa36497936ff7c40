//! Our server as the bench runs it: the embedding API, the zones of the bench, anybody is let in,
//! and nobody is slowed down for sending much. All else is as `rejoin serve` has it. Without a folder all
//! of it is in memory; with one, sessions are kept there and zones are `full`.

use std::path::Path;

use anyhow::{Context, Result, anyhow};
use rejoin_core::budget::Rate;
use rejoin_core::exchange::Hold;
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::HubConfig;
use rejoin_core::zone::Durability;
use rejoin_server::{Server, ServerBuilder, Tls, WebConfig, relay};
use rejoin_store::Embedded;
use tokio::net::TcpListener;

use super::timed::{Timed, Times};
use super::zones::{BEAT, Beat, ECHO, Echo, HOLD, PERIOD, RELAY, config};

pub(crate) async fn start(
    listener: TcpListener,
    data: Option<&Path>,
    guarded: bool,
    tls: Option<&Path>,
) -> Result<(Server, Times)> {
    let unlimited = Rate { per_second: 0, burst: 0 };
    let hub = HubConfig {
        anonymous: true,
        hold: Hold::Timed(HOLD),
        messages: unlimited,
        bytes: unlimited,
        guard: GuardConfig::open(),
        returns_per_second: 0,
        ..HubConfig::default()
    };
    let hub = if guarded { with_budgets(hub) } else { hub };
    let times = Times::new()?;
    let durability = if data.is_some() { Durability::Full } else { Durability::Memory };
    let mut builder = ServerBuilder::new()
        .config(hub)
        .zone(ECHO, config(durability, None), Echo::default)
        .zone(RELAY, config(durability, Some(PERIOD)), relay::Relay::default)
        .zone(BEAT, config(durability, Some(PERIOD)), Beat::default);
    if let Some(data) = data {
        let store = Embedded::open(data).map_err(|error| anyhow!("{error}"))?;
        builder = builder.store(Timed::new(store, times.clone()));
    }
    let server = builder.start().map_err(|error| anyhow!("{error}"))?;
    server.ready().await.map_err(|error| anyhow!("{error}"))?;
    let web = WebConfig { tls: tls.map(encrypted).transpose()?, ..WebConfig::default() };
    let door = server.clone();
    tokio::spawn(async move { door.listen(listener, web).await });
    Ok((server, times))
}

/// A certificate of our own, whose root is written to a file.
fn encrypted(root: &Path) -> Result<Tls> {
    let names = ["127.0.0.1".to_owned()];
    let (tls, certificate) = Tls::development(&names).map_err(|error| anyhow!("{error}"))?;
    std::fs::write(root, certificate).with_context(|| format!("{}", root.display()))?;
    Ok(tls)
}

/// Each connection has its budget; addresses have no ration, because all clients are on this machine.
fn with_budgets(hub: HubConfig) -> HubConfig {
    let HubConfig { messages, bytes, guard, .. } = HubConfig::default();
    let guard = GuardConfig { sever_after: guard.sever_after, ..GuardConfig::open() };
    HubConfig { messages, bytes, guard, ..hub }
}
