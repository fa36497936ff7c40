//! Our server as the bench runs it: the embedding API, the zones of the bench, anybody is let in,
//! and nobody is slowed down for sending much. All else is as `rejoin serve` has it.

use anyhow::{Result, anyhow};
use rejoin_core::budget::Rate;
use rejoin_core::exchange::Hold;
use rejoin_core::hub::HubConfig;
use rejoin_server::{ServerBuilder, WebConfig};
use tokio::net::TcpListener;

use super::zones::{BEAT, Beat, ECHO, Echo, HOLD, PERIOD, config};

pub(crate) async fn start(listener: TcpListener) -> Result<()> {
    let unlimited = Rate { per_second: 0, burst: 0 };
    let hub = HubConfig {
        anonymous: true,
        hold: Hold::Timed(HOLD),
        messages: unlimited,
        bytes: unlimited,
        ..HubConfig::default()
    };
    let server = ServerBuilder::new()
        .config(hub)
        .zone(ECHO, config(None), Echo::default)
        .zone(BEAT, config(Some(PERIOD)), Beat::default)
        .start()
        .map_err(|error| anyhow!("{error}"))?;
    server.ready().await.map_err(|error| anyhow!("{error}"))?;
    tokio::spawn(async move { server.listen(listener, WebConfig::default()).await });
    Ok(())
}
