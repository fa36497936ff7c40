//! What a connection is held to.

use std::time::Duration;

use super::SendLimits;
use crate::hub::HubConfig;

/// What a connection is held to; all connections of a server share one.
#[derive(Clone, Debug)]
pub struct ConnectionConfig {
    /// How often a client is pinged.
    pub heartbeat: Duration,
    /// A client of which nothing is heard for so long is gone.
    pub silence: Duration,
    /// A driver that is later than this with a deadline could not run.
    pub stall: Duration,
    /// How long clients that are closed for a flood stay away at least.
    pub retry_after: Duration,
    /// How many numbered frames may wait until they are applied.
    pub window_frames: u32,
    /// How many bytes of them.
    pub window_bytes: u32,
    /// What a connection may send.
    pub(crate) limits: SendLimits,
}

impl From<&HubConfig> for ConnectionConfig {
    fn from(hub: &HubConfig) -> Self {
        Self {
            heartbeat: hub.heartbeat,
            silence: hub.silence,
            stall: hub.stall,
            retry_after: hub.retry_after,
            window_frames: hub.window_frames,
            window_bytes: hub.window_bytes,
            limits: SendLimits {
                messages: hub.messages,
                bytes: hub.bytes,
                sever_after: hub.guard.sever_after,
            },
        }
    }
}
