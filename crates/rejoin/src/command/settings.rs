//! The settings of `rejoin serve`: the command line goes before the environment, that before
//! `rejoin.toml`, and that before the defaults. A key that is not known is refused by name and line.

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::Args;
use serde::Deserialize;

use super::Failure;

/// Read when it is there and no other is named.
const FILE: &str = "rejoin.toml";

/// What `serve` can be told.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct ServeArguments {
    /// Where players connect. [default: 127.0.0.1:7400]
    #[arg(long, env = "REJOIN_LISTEN", value_name = "ADDRESS")]
    listen: Option<SocketAddr>,
    /// Where health is told, apart from the players. [default: 127.0.0.1:7401]
    #[arg(long, env = "REJOIN_ADMIN_LISTEN", value_name = "ADDRESS")]
    admin_listen: Option<SocketAddr>,
    /// Keep everything in memory.
    #[arg(long, env = "REJOIN_MEMORY")]
    memory: bool,
    /// Where sessions will be kept. Not used yet: everything is in memory. [default: ./rejoin-data]
    #[arg(long, env = "REJOIN_DATA", value_name = "FOLDER", conflicts_with = "memory")]
    data: Option<PathBuf>,
    /// For development: lets players in without any identity.
    #[arg(long, env = "REJOIN_DEV")]
    dev: bool,
    /// Show the arena, the game to try it with, on an address that others can reach, too.
    #[arg(long, env = "REJOIN_DEMO")]
    demo: bool,
    /// The settings file. [default: rejoin.toml, if there is one]
    #[arg(long, env = "REJOIN_CONFIG", value_name = "FILE")]
    config: Option<PathBuf>,
    /// What is logged: a level, or `target=level` with commas. [default: info]
    #[arg(long, env = "REJOIN_LOG", value_name = "FILTER")]
    log: Option<String>,
    /// Log as JSON, one object a line.
    #[arg(long, env = "REJOIN_LOG_JSON")]
    log_json: bool,
}

/// The settings file.
#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
struct File {
    listen: Option<SocketAddr>,
    memory: Option<bool>,
    data: Option<PathBuf>,
    dev: Option<bool>,
    demo: Option<bool>,
    server_names: Option<Vec<String>>,
    origins: Option<Vec<String>>,
    #[serde(default)]
    admin: AdminFile,
    #[serde(default)]
    log: LogFile,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
struct AdminFile {
    listen: Option<SocketAddr>,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
struct LogFile {
    filter: Option<String>,
    json: Option<bool>,
}

/// What `serve` goes by.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) admin_listen: SocketAddr,
    /// None: in memory.
    pub(crate) data: Option<PathBuf>,
    pub(crate) dev: bool,
    pub(crate) demo: bool,
    /// None: the names of this machine's own loopback.
    pub(crate) server_names: Option<Vec<String>>,
    pub(crate) origins: Vec<String>,
    pub(crate) log: String,
    pub(crate) log_json: bool,
}

impl ServeArguments {
    /// The settings, from everywhere they can come from.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let file = match &self.config {
            Some(path) => read(path)?,
            None if Path::new(FILE).exists() => read(Path::new(FILE))?,
            None => File::default(),
        };
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let memory = self.memory || (self.data.is_none() && file.memory == Some(true));
        let data = self.data.clone().or(file.data).unwrap_or_else(|| "./rejoin-data".into());
        Ok(Settings {
            listen: self.listen.or(file.listen).unwrap_or_else(|| loopback(7400)),
            admin_listen: self.admin_listen.or(file.admin.listen).unwrap_or_else(|| loopback(7401)),
            data: (!memory).then_some(data),
            dev: self.dev || file.dev == Some(true),
            demo: self.demo || file.demo == Some(true),
            server_names: file.server_names,
            origins: file.origins.unwrap_or_default(),
            log: self.log.clone().or(file.log.filter).unwrap_or_else(|| "info".to_owned()),
            log_json: self.log_json || file.log.json == Some(true),
        })
    }
}

impl Settings {
    /// Whether the arena is shown where players connect.
    pub(crate) fn has_arena(&self, players: SocketAddr) -> bool {
        self.demo || players.ip().is_loopback()
    }
}

fn read(path: &Path) -> Result<File, Failure> {
    let name = path.display();
    let text = std::fs::read_to_string(path)
        .map_err(|error| Failure::new(format!("{name} cannot be read: {error}")))?;
    parse(&text).map_err(|sentence| Failure::new(format!("{name}, {sentence}")))
}

/// The error names the line and what is wrong with it.
fn parse(text: &str) -> Result<File, String> {
    toml::from_str(text).map_err(|error| {
        let start = error.span().map_or(0, |span| span.start);
        let line = text.bytes().take(start).filter(|byte| *byte == b'\n').count() + 1;
        format!("line {line}: {}", error.message())
    })
}

/// As a settings file would say it.
impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "listen = \"{}\"", self.listen)?;
        match &self.data {
            Some(data) => writeln!(f, "data = {:?}", data.display().to_string())?,
            None => writeln!(f, "memory = true")?,
        }
        writeln!(f, "dev = {}", self.dev)?;
        writeln!(f, "demo = {}", self.demo)?;
        if let Some(names) = &self.server_names {
            writeln!(f, "server_names = {names:?}")?;
        }
        writeln!(f, "origins = {:?}", self.origins)?;
        writeln!(f, "\n[admin]\nlisten = \"{}\"", self.admin_listen)?;
        write!(f, "\n[log]\nfilter = {:?}\njson = {}", self.log, self.log_json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_key_is_refused_by_name_and_line() {
        let wrong =
            parse("listen = \"127.0.0.1:1\"\n\n[admin]\nlistne = \"x\"\n").expect_err("a typo");
        assert!(wrong.starts_with("line 4: "), "{wrong}");
        assert!(wrong.contains("`listne`"), "{wrong}");
    }

    #[test]
    fn a_wrong_value_is_refused_by_line() {
        let wrong = parse("dev = true\nlisten = \"nowhere\"\n").expect_err("no address");
        assert!(wrong.starts_with("line 2: "), "{wrong}");
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let arguments = ServeArguments { dev: true, ..ServeArguments::default() };
        let settings = arguments.settings().expect("the defaults are good");
        let file = parse(&settings.to_string()).expect("it was written here");
        assert_eq!(file.listen, Some(settings.listen));
        assert_eq!(file.admin.listen, Some(settings.admin_listen));
        assert_eq!((file.dev, file.data), (Some(true), settings.data));
    }

    #[test]
    fn the_arena_is_shown_to_this_machine_or_when_asked_for() {
        let mut settings = ServeArguments::default().settings().expect("the defaults are good");
        let here = settings.listen;
        let everywhere = SocketAddr::from(([0, 0, 0, 0], 7400));
        assert!(settings.has_arena(here) && !settings.has_arena(everywhere));
        settings.demo = true;
        assert!(settings.has_arena(everywhere));
    }

    #[test]
    fn the_documented_addresses_are_the_defaults() {
        let settings = ServeArguments::default().settings().expect("the defaults are good");
        assert_eq!(settings.listen.to_string(), "127.0.0.1:7400");
        assert_eq!(settings.admin_listen.to_string(), "127.0.0.1:7401");
        assert!(!settings.dev);
    }
}
