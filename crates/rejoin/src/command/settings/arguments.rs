//! The command line of `rejoin serve`. Every argument can be given in the environment, too.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::BoolishValueParser;

use super::guard::GuardMode;

/// Read when it is there and no other is named.
const FILE: &str = "rejoin.toml";
/// The groups of the help.
const ADDRESSES: &str = "Addresses";
const STORAGE: &str = "Storage";
const ACCESS: &str = "Players and directory";
const DEVELOPMENT: &str = "Development";
const LOG: &str = "Log";

/// What `serve` can be told.
// A switch may be given a value, in the environment or as `--dev=false`: yes and no, true and false, on and off,
// 1 and 0. Not in the sentence above, which clap shows.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServeArguments {
    /// The settings file. [default: rejoin.toml, if there is one]
    #[arg(long, env = "REJOIN_CONFIG", value_name = "FILE")]
    pub(super) config: Option<PathBuf>,
    /// When told to stop, end within so many seconds. [default: 25]
    #[arg(long, env = "REJOIN_STOP_WITHIN_S", value_name = "SECONDS")]
    pub(super) stop_within_s: Option<u64>,

    /// Where players connect. [default: 127.0.0.1:7400]
    #[arg(long, env = "REJOIN_LISTEN", value_name = "ADDRESS", help_heading = ADDRESSES)]
    pub(super) listen: Option<SocketAddr>,
    /// Where operators look: metrics, events, sessions, health. [default: 127.0.0.1:7401]
    #[arg(long, env = "REJOIN_ADMIN_LISTEN", value_name = "ADDRESS", help_heading = ADDRESSES)]
    pub(super) admin_listen: Option<SocketAddr>,
    /// Where players connect by plain TCP. [default: nowhere]
    #[arg(long, env = "REJOIN_TCP_LISTEN", value_name = "ADDRESS", help_heading = ADDRESSES)]
    pub(super) tcp_listen: Option<SocketAddr>,
    /// Where players connect by ENet, one port or several. [default: nowhere]
    #[arg(
        long,
        env = "REJOIN_ENET_LISTEN",
        value_name = "ADDRESS,…",
        value_delimiter = ',',
        help_heading = ADDRESSES
    )]
    pub(super) enet_listen: Option<Vec<SocketAddr>>,

    /// The folder in which everything is kept. [default: ./rejoin-data]
    #[arg(long, env = "REJOIN_DATA", value_name = "FOLDER", help_heading = STORAGE)]
    pub(super) data: Option<PathBuf>,
    /// Keep everything in memory.
    #[arg(long, env = "REJOIN_MEMORY", help_heading = STORAGE, value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub(super) memory: Option<bool>,

    /// `open` sets no limits per address: for tests and measurements from one machine.
    #[arg(long, env = "REJOIN_GUARD", value_name = "MODE", help_heading = ACCESS)]
    pub(super) guard: Option<GuardMode>,
    /// API keys of the directory, besides those of the settings file.
    #[arg(
        long,
        env = "REJOIN_DIRECTORY_KEYS",
        value_name = "ROLE:SHA256,…",
        hide_env_values = true,
        help_heading = ACCESS
    )]
    pub(super) directory_keys: Option<String>,
    /// Compress long frames for clients that ask for it.
    #[arg(long, env = "REJOIN_COMPRESSION", help_heading = ACCESS, value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub(super) compression: Option<bool>,

    /// Let players in without any identity, and pages of every local web server.
    #[arg(long, env = "REJOIN_DEV", help_heading = DEVELOPMENT, value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub(super) dev: Option<bool>,
    /// Serve the arena, the demo game, to other machines as well.
    #[arg(long, env = "REJOIN_DEMO", help_heading = DEVELOPMENT, value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub(super) demo: Option<bool>,
    /// Encrypt all doors of players with a certificate made at the start.
    #[arg(long, env = "REJOIN_TLS_DEV", help_heading = DEVELOPMENT, value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub(super) tls_dev: Option<bool>,

    /// What is logged: a level, or `target=level` with commas. [default: info]
    #[arg(long, env = "REJOIN_LOG", value_name = "FILTER", help_heading = LOG)]
    pub(super) log: Option<String>,
    /// Log as JSON, one object a line.
    #[arg(long, env = "REJOIN_LOG_JSON", help_heading = LOG, value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        value_parser = BoolishValueParser::new())]
    pub(super) log_json: Option<bool>,
}

impl ServeArguments {
    /// The settings file that is read; none: there is none.
    pub(crate) fn file(&self) -> Option<&Path> {
        let usual = Path::new(FILE);
        self.config.as_deref().or_else(|| usual.exists().then_some(usual))
    }
}
