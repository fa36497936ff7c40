//! The built-in zone kind: what a member says, all others hear; a request is answered with itself.
//! No game code is needed to play with it by hand.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::exchange::Hold;
use rejoin_core::zone::{Context, Durability, Sender, Zone, ZoneConfig};

/// The name of the kind.
pub const KIND: &str = "relay";

/// How a relay runs: it only answers, and holds a dropped member for a minute, so that somebody who
/// types by hand can try a resume.
#[must_use]
pub fn config() -> ZoneConfig {
    ZoneConfig {
        durability: Durability::Memory,
        tick: None,
        hold: Hold::Timed(Duration::from_secs(60)),
        ..ZoneConfig::default()
    }
}

/// The zone.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relay;

impl Zone for Relay {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, from: Sender, message: Bytes) {
        if from.wants_reply {
            ctx.reply(&from, message);
        } else {
            ctx.broadcast_except(from.session, message);
        }
    }
}
