//! What a player is told before it starts, beyond what the client itself is told.

use std::fmt;
use std::sync::Arc;

use super::key::Key;
use super::storage::{Memory, Storage};
use crate::config::Config;

/// How a player is known.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Login {
    /// By the key in the storage, which is made and stored at the first start.
    StoredKey,
    /// By this key.
    Key(Key),
    /// By a secret that the server mints at the first login, and that is stored.
    Secret,
    /// Not at all: only the resume token leads back.
    Anonymous,
}

/// Whether datagrams are encrypted. Byte streams and WebSockets are by their address: `wss://`, `tls://`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Encryption {
    /// Never: datagrams are sent in the clear, a server key is not checked, and a server that requires
    /// encryption is not connected to.
    Off,
    /// If the server does; and always, once it has shown a key.
    #[default]
    Preferred,
    /// Always: a server that does not offer encryption is not connected to.
    Required,
}

/// How a player connects. [`Options::new`] logs in by a key and keeps everything in memory.
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// How the player is known.
    pub login: Login,
    /// Where key, secret and token are kept.
    pub storage: Arc<dyn Storage>,
    /// How the client behaves. An empty server name stands for the host of the address.
    pub config: Config,
    /// Starts a new session and ends what the server holds for the player.
    pub is_fresh: bool,
    /// Events that wait for the game. When there are so many, the connection is not read.
    pub events_max: usize,
    /// Commands that wait for the task. A game that gives more waits with them.
    pub commands_max: usize,
    /// Certificates, as PEM, that a server's must lead to where the address is encrypted. Nobody
    /// else is believed.
    pub roots: Vec<String>,
    /// Whether datagrams are encrypted, at `enet://`.
    pub encryption: Encryption,
    /// The key by which the server must be known there. None: the first one that it shows is believed,
    /// stored, and from then on the only one.
    pub server_key: Option<[u8; 32]>,
    /// Asks the server for compressed frames, where protobuf is spoken. Who can choose a part of a
    /// message, and sees how long it is, learns what else is in it: a game says for itself that this
    /// does not matter.
    pub compression: bool,
}

impl Options {
    /// A stored key, storage in memory, room for 256 events and 64 commands, encryption where the server
    /// offers it, and no compression.
    #[must_use]
    pub fn new() -> Self {
        Self {
            login: Login::StoredKey,
            storage: Arc::new(Memory::new()),
            config: Config::new(""),
            is_fresh: false,
            // At most 16 MiB of the largest messages, and a second of a busy zone.
            events_max: 256,
            commands_max: 64,
            roots: Vec::new(),
            encryption: Encryption::default(),
            server_key: None,
            compression: false,
        }
    }

    /// The same, known in another way.
    #[must_use]
    pub fn login(self, login: Login) -> Self {
        Self { login, ..self }
    }

    /// The same, with one more root, as PEM, for addresses with `wss://` and `tls://`.
    #[must_use]
    pub fn root(mut self, pem: impl Into<String>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// The same, with datagrams encrypted or not.
    #[must_use]
    pub fn encryption(self, encryption: Encryption) -> Self {
        Self { encryption, ..self }
    }

    /// The same, asking for compressed frames or not.
    #[must_use]
    pub fn compression(self, compression: bool) -> Self {
        Self { compression, ..self }
    }

    /// The same, with the key by which the server must be known, for addresses with `enet://`.
    #[must_use]
    pub fn server_key(self, key: [u8; 32]) -> Self {
        Self { server_key: Some(key), ..self }
    }

    /// The same, with another place for key, secret and token.
    #[must_use]
    pub fn storage(self, storage: impl Storage + 'static) -> Self {
        Self { storage: Arc::new(storage), ..self }
    }
}

impl Default for Options {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("login", &self.login)
            .field("config", &self.config)
            .field("is_fresh", &self.is_fresh)
            .finish_non_exhaustive()
    }
}
