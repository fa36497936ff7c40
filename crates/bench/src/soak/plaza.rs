//! The zones of a soak: what a member says all others hear, a request comes back, and the zone counts
//! its ticks aloud. Whoever comes, or was left behind, is told how far everybody is.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::exchange::Hold;
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::HubConfig;
use rejoin_core::id::SessionId;
use rejoin_core::zone::{Context, Durability, JoinDenied, Sender, Zone, ZoneConfig};
use rejoin_server::{ServerBuilder, WebConfig};
use tokio::net::TcpListener;

use super::speech::{Speech, Standing};

/// A plaza that keeps all that anybody can miss.
pub(super) const ROOMY: &str = "roomy";
/// A plaza that keeps so little that whoever is away a while is left behind, and must be told.
pub(super) const TIGHT: &str = "tight";
/// As the relay holds its members.
const HOLD: Duration = Duration::from_secs(60);
const TICK: Duration = Duration::from_millis(500);
const TIGHT_FRAMES: usize = 24;

/// The zone.
#[derive(Default)]
struct Plaza(Standing);

impl Zone for Plaza {
    type In = Bytes;
    type Out = Bytes;

    fn on_join(
        &mut self,
        _ctx: &mut Context<'_, Bytes>,
        _who: SessionId,
        _request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        Ok(self.0.bytes())
    }

    fn on_resync(&mut self, _ctx: &mut Context<'_, Bytes>, _who: SessionId) -> Bytes {
        self.0.bytes()
    }

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        if from.wants_reply {
            return ctx.reply(&from, message);
        }
        if let Some(Speech::Say { by, number }) = Speech::read(&message) {
            self.0.sayings.insert(by, number);
        }
        ctx.broadcast_except(from.session, message);
    }

    fn on_tick(&mut self, ctx: &mut Context<'_, Bytes>) {
        self.0.ticks += 1;
        ctx.broadcast(Speech::Tick { number: self.0.ticks }.bytes());
    }
}

/// Serves plazas on a socket.
pub(crate) async fn start(listener: TcpListener) -> anyhow::Result<()> {
    let roomy = ZoneConfig {
        durability: Durability::Memory,
        tick: Some(TICK),
        hold: Hold::Timed(HOLD),
        ..ZoneConfig::default()
    };
    let tight = ZoneConfig { ring_frames_max: TIGHT_FRAMES, ..roomy.clone() };
    // All clients are on this machine.
    let (guard, returns_per_second) = (GuardConfig::open(), 0);
    let config = HubConfig { guard, returns_per_second, ..HubConfig::default() };
    let server = ServerBuilder::new()
        .config(config)
        .zone(ROOMY, roomy, Plaza::default)
        .zone(TIGHT, tight, Plaza::default)
        .start()
        .map_err(|error| anyhow::anyhow!("{error}"))?;
    server.ready().await.map_err(|error| anyhow::anyhow!("{error}"))?;
    tokio::spawn(async move { server.listen(listener, WebConfig::default()).await });
    Ok(())
}
