//! The settings of a hub. Every number a peer can press against has its name here.

use std::collections::BTreeMap;
use std::time::Duration;

use crate::budget::Rate;
use crate::exchange::Hold;
use crate::guard::GuardConfig;
use crate::stream::OutboxLimits;
use crate::zone::ZoneConfig;
use crate::zone_registry::RegistryConfig;

/// What a second login of a player means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Duplicates {
    /// The newcomer takes the session over.
    TakeOver,
    /// The newcomer is refused while the other is connected.
    RejectNew,
    /// So many sessions at a time.
    Allow(u32),
}

/// Whether the game is asked before a player is let in.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Admission {
    /// Nobody is asked: identity is enough.
    Open,
    /// The driver is asked and must answer within this time; no answer is a refusal.
    Ask(Duration),
}

/// Whether a login may, or must, be to an account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AccountPolicy {
    /// What comes along with a login is the game's business alone. Keys that belong to an account are
    /// its player all the same.
    Off,
    /// Who proves an account is its player; others are guests.
    Optional,
    /// Only accounts are let in.
    Required,
}

/// What the hub knows of a kind of zone.
#[derive(Clone, PartialEq, Debug)]
pub struct ZoneKind {
    /// The settings that each of its zones is opened with.
    pub config: ZoneConfig,
    /// A client's Join may open one.
    pub client_may_create: bool,
}

/// How a hub runs.
#[derive(Clone, PartialEq, Debug)]
pub struct HubConfig {
    /// Names this server answers to; a hello that names another is refused.
    pub server_names: Vec<String>,
    /// Guests by key.
    pub keys: bool,
    /// Guests by a secret that the server mints.
    pub secrets: bool,
    /// Players nobody can come back to without their token. For development.
    pub anonymous: bool,
    /// What a second login means.
    pub duplicates: Duplicates,
    /// Whether the game is asked.
    pub admission: Admission,
    /// Whether a login may, or must, be to an account.
    pub accounts: AccountPolicy,
    /// How long the driver may take to look at a password or a token; then it is a refusal.
    pub account_limit: Duration,
    /// Accounts; more are refused.
    pub accounts_max: usize,
    /// A retired token that is shown ends its session. Off: it is refused and counted.
    pub end_on_retired_token: bool,
    /// How long a dropped session is held where its zone does not say otherwise.
    pub hold: Hold,
    /// From the challenge to the hello.
    pub handshake: Duration,
    /// Between two pings.
    pub heartbeat: Duration,
    /// Nothing heard for so long: the connection is gone.
    pub silence: Duration,
    /// No game message for so long while connected: the session ends. Zero: never.
    pub idle: Duration,
    /// How long a client in no zone may owe an acknowledgement; zones have a setting of their own.
    pub progress: Duration,
    /// A session ends at this age. Zero: never.
    pub lifetime: Duration,
    /// Waking up later than this is a stall: deadlines move by the gap.
    pub stall: Duration,
    /// Sessions at a time; more are refused `Full`.
    pub sessions_max: usize,
    /// Guests by secret of whom a row is kept; more are refused `Full`.
    pub guests_max: usize,
    /// A guest by secret that was not here for so long, by the wall clock, is forgotten. Zero: never.
    pub guests_unseen: Duration,
    /// Messages of one connection.
    pub messages: Rate,
    /// Bytes of one connection.
    pub bytes: Rate,
    /// What addresses may do.
    pub guard: GuardConfig,
    /// The largest message, which the Welcome announces and the decoder enforces. A server does not start
    /// if its decoder has another number.
    pub message_bytes_max: u32,
    /// Numbered frames a client may have unacknowledged, at least one.
    pub window_frames: u32,
    /// Bytes in those frames. A single larger frame is taken while no other is unacknowledged.
    pub window_bytes: u32,
    /// Compress frames for clients that ask for it.
    pub compression: bool,
    /// Frames of fewer bytes are left as they are.
    pub compression_bytes_min: u32,
    /// What is kept for a session beside its zone.
    pub outbox: OutboxLimits,
    /// Open zones; a Join that would open more is refused.
    pub zones_max: usize,
    /// Open zones that one player's Joins have opened; a Join that would open more is refused.
    pub zones_per_player_max: usize,
    /// A zone that panics more often than this within `faults_within` is closed.
    pub faults_max: u32,
    /// See `faults_max`.
    pub faults_within: Duration,
    /// How long a join waits for the directory's word on its seat; then it is refused.
    pub seat_limit: Duration,
    /// How long a client is told to wait when the hub is not ready.
    pub retry_after: Duration,
    /// How long a client is told to wait at least when the server goes down.
    pub restart_after: Duration,
    /// Commits of sessions and players that may be under way while returns are admitted; half of
    /// them while logins are. Beyond, they are told to wait. Zero: no bound.
    pub load_commits_max: usize,
    /// Inputs that may wait for the hub while returns are admitted; half of them while logins are.
    /// Zero: no bound.
    pub load_inputs_max: usize,
    /// A cap on how fast everybody together is let in; twice as many at once. Zero: none, the load
    /// alone decides.
    pub returns_per_second: u32,
    /// Session ids that are reserved with one commit.
    pub id_block: u64,
    /// The kinds of zone there are.
    pub kinds: BTreeMap<String, ZoneKind>,
}

impl Default for HubConfig {
    fn default() -> Self {
        Self {
            server_names: ["localhost", "127.0.0.1", "[::1]"].map(str::to_owned).to_vec(),
            keys: true,
            secrets: true,
            anonymous: false,
            duplicates: Duplicates::TakeOver,
            admission: Admission::Open,
            accounts: AccountPolicy::Off,
            account_limit: Duration::from_millis(5_000),
            accounts_max: 1_000_000,
            end_on_retired_token: false,
            hold: Hold::Timed(Duration::from_millis(5_000)),
            handshake: Duration::from_millis(10_000),
            heartbeat: Duration::from_millis(5_000),
            silence: Duration::from_millis(12_500),
            idle: Duration::from_millis(1_800_000),
            progress: Duration::from_millis(10_000),
            lifetime: Duration::ZERO,
            stall: Duration::from_millis(1_000),
            sessions_max: 1_000_000,
            guests_max: 1_000_000,
            guests_unseen: Duration::from_secs(90 * 24 * 3_600),
            messages: Rate { per_second: 120, burst: 240 },
            bytes: Rate { per_second: 128 << 10, burst: 512 << 10 },
            guard: GuardConfig::default(),
            message_bytes_max: 64 << 10,
            window_frames: 256,
            window_bytes: 256 << 10,
            compression: false,
            compression_bytes_min: 1_024,
            outbox: OutboxLimits { frames_max: 1_024, bytes_max: 256 << 10, legs_max: 16 },
            zones_max: 10_000,
            zones_per_player_max: 8,
            faults_max: 3,
            faults_within: Duration::from_millis(5_000),
            seat_limit: Duration::from_millis(5_000),
            retry_after: Duration::from_millis(250),
            restart_after: Duration::from_millis(1_000),
            load_commits_max: 16_384,
            load_inputs_max: 12_288,
            returns_per_second: 0,
            id_block: 1 << 16,
            kinds: BTreeMap::new(),
        }
    }
}

impl From<&HubConfig> for RegistryConfig {
    fn from(config: &HubConfig) -> Self {
        Self {
            zones_max: config.zones_max,
            zones_per_player_max: config.zones_per_player_max,
            zones_per_address_max: config.guard.address_zones_max,
            faults_max: config.faults_max,
            faults_within: config.faults_within,
            kinds: config.kinds.clone(),
        }
    }
}

#[cfg(test)]
mod tests;
