//! What a client is told before it starts. Every bound and every while of the client is here.

use std::time::Duration;

use bytes::Bytes;
use rejoin_wire::{Encoding, Limits};

/// How a client behaves. [`Config::new`] gives the documented defaults.
#[derive(Clone, PartialEq, Eq)]
pub struct Config {
    /// The name that is dialled: the server checks it, and a key's signature covers it.
    ///
    /// Take it from what the player or the game chose, never from what a server sent: whoever signs
    /// a name that it was told signs for a relay in the middle.
    pub server_name: String,
    /// How frames are written; what the transport has agreed on.
    pub encoding: Encoding,
    /// What this client can do beyond version 1.
    pub capabilities: Vec<String>,
    /// For the game's admission rule, with every login and resume.
    pub admission: Bytes,
    /// How large frames and the things in them may be.
    pub limits: Limits,
    /// The most the first wait before a reconnect can be; it doubles with each.
    pub backoff_base: Duration,
    /// The most any wait can be that the server did not ask for.
    pub backoff_max: Duration,
    /// How long a connection must have lived for the waits to start small again.
    pub settled_after: Duration,
    /// Messages that wait or are not acknowledged; a further send, unless it leaves, ends in
    /// `SendError::Full` and is not kept.
    pub send_buffer_frames_max: usize,
    /// The bytes of those messages, with the same answer to a send that goes beyond it.
    pub send_buffer_bytes_max: usize,
    /// Requests that have not ended; a further one ends in `SendError::TooManyRequests`.
    pub requests_max: usize,
    /// An acknowledgement is due after so many frames,
    pub ack_every: u32,
    /// or so long after the first of them.
    pub ack_delay: Duration,
    /// How long dialling may take, and after it challenge and welcome together.
    pub handshake_timeout: Duration,
    /// After so many heartbeats without a byte the connection is given up, in percent.
    pub silence_percent: u32,
}

impl Config {
    /// The defaults, for the server of this name.
    #[must_use]
    pub fn new(server_name: impl Into<String>) -> Self {
        Self {
            server_name: server_name.into(),
            encoding: Encoding::Protobuf,
            capabilities: Vec::new(),
            admission: Bytes::new(),
            limits: Limits::DEFAULT,
            backoff_base: Duration::from_millis(250),
            backoff_max: Duration::from_secs(10),
            settled_after: Duration::from_secs(5),
            send_buffer_frames_max: 1_024,
            send_buffer_bytes_max: 1_048_576,
            requests_max: 1_024,
            ack_every: 16,
            ack_delay: Duration::from_millis(200),
            handshake_timeout: Duration::from_secs(10),
            silence_percent: 250,
        }
    }
}

/// Leaves the admission payload out: it is a ticket or a foreign token, more often than not.
impl std::fmt::Debug for Config {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Config")
            .field("server_name", &self.server_name)
            .field("encoding", &self.encoding)
            .field("capabilities", &self.capabilities)
            .field("backoff_base", &self.backoff_base)
            .field("backoff_max", &self.backoff_max)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_those_that_are_written_down() {
        let config = Config::new("");
        let ms = |while_: Duration| while_.as_millis().to_string();
        let rows = [
            ("backoff_base_ms", ms(config.backoff_base)),
            ("backoff_max_ms", ms(config.backoff_max)),
            ("settled_after_ms", ms(config.settled_after)),
            ("send_buffer_frames_max", config.send_buffer_frames_max.to_string()),
            ("send_buffer_bytes_max", config.send_buffer_bytes_max.to_string()),
            ("requests_max", config.requests_max.to_string()),
            ("ack_every", config.ack_every.to_string()),
            ("ack_delay_ms", ms(config.ack_delay)),
            ("handshake_timeout_ms", ms(config.handshake_timeout)),
            ("silence_percent", config.silence_percent.to_string()),
        ];
        let code: Vec<String> =
            rows.iter().map(|(key, value)| format!("client.{key} = {value}")).collect();
        let written = include_str!("../defaults.txt").lines().filter(|row| !row.starts_with('#'));
        assert!(written.eq(code));
    }
}
