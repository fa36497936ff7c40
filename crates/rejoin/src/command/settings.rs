//! The settings of `rejoin serve`: the command line goes before the environment, that before
//! `rejoin.toml`, and that before the defaults. A key that is not known is refused by name and line.

mod arguments;
mod directory;
mod doors;
mod guard;
mod identity;
mod zones;

use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rejoin::hub::AccountPolicy;
use rejoin::server::relay::RelayConfig;
use rejoin::server::{
    AddressBlock, Addresses, Encryption, ForwardedHeader, IdentityConfig, Webhook,
};
use serde::{Deserialize, Deserializer};

pub(crate) use self::arguments::ServeArguments;
use self::directory::{DirectoryFile, DirectorySettings};
use self::doors::{CompressionFile, EncryptionFile, EnetFile, TcpFile, TlsFile};
pub(crate) use self::doors::{CompressionSettings, EnetSettings, TcpSettings, TlsSettings};
pub(crate) use self::guard::GuardMode;
use self::guard::{GuardFile, GuardSettings};
use self::identity::IdentityFile;
use self::zones::{ZoneGames, ZonesFile};
use super::Failure;

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
    stop_within_s: Option<u64>,
    #[serde(default)]
    zone: ZonesFile,
    #[serde(default, deserialize_with = "blocks")]
    trusted_proxies: Option<Vec<AddressBlock>>,
    forwarded_header: Option<HeaderName>,
    admission: Option<AdmissionFile>,
    #[serde(default)]
    directory: DirectoryFile,
    #[serde(default)]
    tcp: TcpFile,
    #[serde(default)]
    enet: EnetFile,
    #[serde(default)]
    encryption: EncryptionFile,
    #[serde(default)]
    compression: CompressionFile,
    tls: Option<TlsFile>,
    #[serde(default)]
    guard: GuardFile,
    #[serde(default)]
    identity: IdentityFile,
    #[serde(default)]
    admin: AdminFile,
    #[serde(default)]
    log: LogFile,
}

/// In which header trusted proxies name their clients.
#[derive(Deserialize, Clone, Copy, PartialEq, Debug, Default)]
#[serde(rename_all = "kebab-case")]
enum HeaderName {
    #[default]
    XForwardedFor,
    Forwarded,
}

/// Who is asked about every login.
#[derive(Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
pub(crate) struct AdmissionFile {
    #[serde(deserialize_with = "hook_url")]
    pub(crate) url: String,
    pub(crate) secret: Option<String>,
}

/// Without the secret.
impl fmt::Debug for AdmissionFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AdmissionFile({:?})", self.url)
    }
}

/// Looked at when it is read, so that the error names its line.
fn hook_url<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let url = String::deserialize(from)?;
    Webhook::new(&url, None).map_err(serde::de::Error::custom)?;
    Ok(url)
}

/// Read one by one, so that the error names the one that is wrong.
fn blocks<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Vec<AddressBlock>>, D::Error> {
    let texts = Vec::<String>::deserialize(from)?;
    let parsed = texts.iter().map(|text| text.parse().map_err(serde::de::Error::custom));
    parsed.collect::<Result<_, _>>().map(Some)
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
struct AdminFile {
    listen: Option<SocketAddr>,
    hosts: Option<Vec<String>>,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
struct LogFile {
    filter: Option<String>,
    json: Option<bool>,
    addresses: Option<AddressStyle>,
}

/// How the log shows addresses, in the words of the file.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum AddressStyle {
    Plain,
    Hash,
    None,
}

impl From<AddressStyle> for Addresses {
    fn from(style: AddressStyle) -> Self {
        match style {
            AddressStyle::Plain => Self::Plain,
            AddressStyle::Hash => Self::Hash,
            AddressStyle::None => Self::None,
        }
    }
}

/// What `serve` goes by.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Settings {
    pub(crate) listen: SocketAddr,
    pub(crate) admin_listen: SocketAddr,
    /// Names under which operators reach it.
    pub(crate) admin_hosts: Vec<String>,
    /// None: in memory.
    pub(crate) data: Option<PathBuf>,
    pub(crate) dev: bool,
    pub(crate) demo: bool,
    /// None: the names of this machine's own loopback.
    pub(crate) server_names: Option<Vec<String>>,
    pub(crate) origins: Vec<String>,
    pub(crate) relay: RelayConfig,
    pub(crate) relay_games: ZoneGames,
    pub(crate) stop_within: Duration,
    pub(crate) trusted_proxies: Vec<AddressBlock>,
    pub(crate) forwarded_header: ForwardedHeader,
    pub(crate) admission: Option<AdmissionFile>,
    pub(crate) directory: DirectorySettings,
    /// None: there is no door for byte streams.
    pub(crate) tcp: Option<TcpSettings>,
    pub(crate) enet: EnetSettings,
    pub(crate) encryption: Encryption,
    pub(crate) compression: CompressionSettings,
    pub(crate) tls: TlsSettings,
    pub(crate) guard: GuardSettings,
    pub(crate) accounts: AccountPolicy,
    pub(crate) identity: IdentityConfig,
    pub(crate) log: String,
    pub(crate) log_json: bool,
    pub(crate) log_addresses: Addresses,
}

impl ServeArguments {
    /// The settings, from everywhere they can come from.
    pub(crate) fn settings(&self) -> Result<Settings, Failure> {
        let file = self.file().map(read).transpose()?.unwrap_or_default();
        let loopback = |port| SocketAddr::from(([127, 0, 0, 1], port));
        let memory = match (self.memory, &self.data) {
            (Some(true), Some(_)) => {
                return Err(Failure::new("--memory and --data contradict each other: say one"));
            }
            (Some(memory), _) => memory,
            (None, data) => data.is_none() && file.memory == Some(true),
        };
        let data = self.data.clone().or(file.data).unwrap_or_else(|| "./rejoin-data".into());
        let stop_within_s = self.stop_within_s.or(file.stop_within_s).unwrap_or(25);
        Ok(Settings {
            listen: self.listen.or(file.listen).unwrap_or_else(|| loopback(7400)),
            admin_listen: self.admin_listen.or(file.admin.listen).unwrap_or_else(|| loopback(7401)),
            admin_hosts: file.admin.hosts.unwrap_or_default(),
            data: (!memory).then_some(data),
            dev: self.dev.or(file.dev).unwrap_or(false),
            demo: self.demo.or(file.demo).unwrap_or(false),
            server_names: file.server_names,
            origins: file.origins.unwrap_or_default(),
            relay_games: file.zone.relay.games(),
            relay: file.zone.relay.config(memory).map_err(Failure::new)?,
            stop_within: Duration::from_secs(stop_within_s),
            trusted_proxies: file.trusted_proxies.unwrap_or_default(),
            forwarded_header: match file.forwarded_header.unwrap_or_default() {
                HeaderName::XForwardedFor => ForwardedHeader::XForwardedFor,
                HeaderName::Forwarded => ForwardedHeader::Forwarded,
            },
            admission: file.admission,
            directory: file
                .directory
                .settings(self.directory_keys.as_deref())
                .map_err(Failure::new)?,
            tcp: file.tcp.settings(self.tcp_listen),
            enet: file
                .enet
                .settings(self.enet_listen.as_deref(), file.encryption.settings())
                .map_err(Failure::new)?,
            encryption: file.encryption.settings(),
            compression: file.compression.settings(self.compression).map_err(Failure::new)?,
            tls: doors::tls(file.tls, self.tls_dev == Some(true)),
            guard: file.guard.settings(self.guard),
            accounts: file.identity.accounts(),
            identity: file.identity.config().map_err(Failure::new)?,
            log: self.log.clone().or(file.log.filter).unwrap_or_else(|| "info".to_owned()),
            log_json: self.log_json.or(file.log.json).unwrap_or(false),
            log_addresses: file.log.addresses.map(Addresses::from).unwrap_or_default(),
        })
    }
}

impl Settings {
    /// Whether the arena is shown where players connect: when it was asked for, and on a loopback address
    /// to which no proxy leads. A server with a name of its own or with trusted proxies is there for others.
    pub(crate) fn has_arena(&self, players: SocketAddr) -> bool {
        let is_private = self.server_names.is_none() && self.trusted_proxies.is_empty();
        self.demo || self.dev || (players.ip().is_loopback() && is_private)
    }

    /// Whether the directory answers without an API key: for development on one's own machine.
    pub(crate) fn is_directory_open(&self, players: SocketAddr) -> bool {
        self.dev && players.ip().is_loopback()
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
        writeln!(f, "stop_within_s = {}", self.stop_within.as_secs())?;
        let proxies: Vec<_> = self.trusted_proxies.iter().map(ToString::to_string).collect();
        writeln!(f, "trusted_proxies = {proxies:?}")?;
        if self.forwarded_header == ForwardedHeader::Forwarded {
            writeln!(f, "forwarded_header = \"forwarded\"")?;
        }
        zones::show(&self.relay, self.relay_games, f)?;
        if let Some(AdmissionFile { url, secret }) = &self.admission {
            writeln!(f, "\n[admission]\nurl = {url:?}")?;
            if secret.is_some() {
                writeln!(f, "# secret: set, not shown")?;
            }
        }
        directory::show(&self.directory, f)?;
        doors::show(self.tcp, &self.enet, &self.tls, f)?;
        doors::show_encryption(self.encryption, f)?;
        self.compression.show(f)?;
        self.guard.show(f)?;
        identity::show(self.accounts, &self.identity, f)?;
        writeln!(f, "\n[admin]\nlisten = \"{}\"", self.admin_listen)?;
        writeln!(f, "hosts = {:?}", self.admin_hosts)?;
        writeln!(f, "\n[log]\nfilter = {:?}\njson = {}", self.log, self.log_json)?;
        write!(f, "addresses = {:?}", self.log_addresses.label())
    }
}

#[cfg(test)]
mod tests {
    use rejoin::server::EnetConfig;

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
    fn a_proxy_that_is_no_address_is_refused_by_name_and_line() {
        let text = "dev = true\ntrusted_proxies = [\"10.0.0.0/8\", \"10.1.0.0/8\"]\n";
        let wrong = parse(text).expect_err("bits beyond the mask");
        assert!(wrong.starts_with("line 2: ") && wrong.contains("10.1.0.0/8"), "{wrong}");
        let good = parse("trusted_proxies = [\"10.0.0.0/8\", \"::1\"]\n").expect("good");
        let good = good.trusted_proxies.expect("two");
        assert_eq!(good.iter().map(ToString::to_string).collect::<Vec<_>>(), ["10.0.0.0/8", "::1"]);
        assert!(parse("forwarded_header = \"x-real-ip\"").is_err());
        assert!(parse("forwarded_header = \"x-forwarded-for\"").is_ok());
    }

    #[test]
    fn the_secret_of_the_admission_hook_is_not_shown() {
        let file = parse("[admission]\nurl = \"http://a/\"\nsecret = \"s3cret\"").expect("good");
        assert!(!format!("{file:?}").contains("s3cret"));
        let mut settings = ServeArguments::default().settings().expect("the defaults are good");
        settings.admission = file.admission;
        let shown = settings.to_string();
        assert!(shown.contains("http://a/") && !shown.contains("s3cret"), "{shown}");
        assert!(parse(&shown).is_ok(), "{shown}");
        let wrong = parse("[admission]\nurl = \"https://a/\"").expect_err("no TLS here");
        assert!(wrong.starts_with("line 2: "), "{wrong}");
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let arguments = ServeArguments { dev: Some(true), ..ServeArguments::default() };
        let settings = arguments.settings().expect("the defaults are good");
        let file = parse(&settings.to_string()).expect("it was written here");
        assert_eq!(file.listen, Some(settings.listen));
        assert_eq!(file.admin.listen, Some(settings.admin_listen));
        assert_eq!((file.dev, file.data), (Some(true), settings.data));
        assert_eq!(file.admin.hosts, Some(settings.admin_hosts));
        assert_eq!(file.log.addresses.map(Addresses::from), Some(settings.log_addresses));
        assert_eq!(file.zone.relay.config(false), Ok(settings.relay));
        assert_eq!(file.zone.relay.games(), settings.relay_games);
        assert_eq!(file.stop_within_s, Some(25));
        assert_eq!(file.directory.settings(None), Ok(settings.directory));
        assert_eq!(file.guard.settings(None), settings.guard);
        assert_eq!(file.compression.settings(None), Ok(settings.compression));
        assert_eq!(file.identity.config(), Ok(settings.identity));
    }

    #[test]
    fn compression_is_off_until_asked_for_and_has_bounds() {
        let settings = |text: &str, asked| parse(text).expect("good").compression.settings(asked);
        let off = CompressionSettings { enabled: false, bytes_min: 1_024 };
        assert_eq!(settings("", None), Ok(off));
        assert_eq!(settings("", Some(true)), Ok(CompressionSettings { enabled: true, ..off }));
        let text = "[compression]\nenabled = true\nbytes_min = ";
        for (bytes, is_good) in [(63, false), (64, true), (65_536, true), (65_537, false)] {
            let read = settings(&format!("{text}{bytes}"), None);
            assert_eq!(read.is_ok(), is_good, "{bytes}: {read:?}");
            assert!(is_good || read.is_err_and(|error| error.contains("bytes_min")));
        }
    }

    #[test]
    fn enet_has_one_port_or_several_and_no_more_peers_than_it_can_number() {
        let one = parse("[enet]\nlisten = \"127.0.0.1:7403\"\n").expect("good").enet;
        let policy = Encryption::Preferred;
        let one = one.settings(None, policy).expect("good");
        assert_eq!((one.listen.len(), one.config), (1, EnetConfig::default()));
        let two = "[enet]\nlisten = [\"127.0.0.1:7403\", \"127.0.0.1:7404\"]\nstock = true\n";
        let two = parse(two).expect("good").enet.settings(None, policy).expect("good");
        assert!(two.config.stock && two.listen.len() == 2);
        let mut settings = ServeArguments::default().settings().expect("the defaults are good");
        assert!(settings.enet.listen.is_empty());
        settings.enet = two.clone();
        let shown = parse(&settings.to_string()).expect("it was written here");
        assert_eq!(shown.enet.settings(None, shown.encryption.settings()), Ok(two));
        let many = parse("[enet]\npeers_max = 5000\n").expect("a number").enet;
        let many = many.settings(None, policy);
        assert!(many.is_err_and(|why| why.contains("4095")));
    }

    #[test]
    fn addresses_are_logged_in_one_of_three_ways() {
        for style in [Addresses::Plain, Addresses::Hash, Addresses::None] {
            let file = parse(&format!("[log]\naddresses = {:?}\n", style.label()));
            let addresses = file.expect("it is known").log.addresses;
            assert_eq!(addresses.map(Addresses::from), Some(style));
        }
        let wrong = parse("[log]\naddresses = \"some\"\n").expect_err("there is no such way");
        assert!(wrong.starts_with("line 2: ") && wrong.contains("`hash`"), "{wrong}");
    }

    #[test]
    fn the_arena_is_shown_to_this_machine_or_when_asked_for() {
        let mut settings = ServeArguments::default().settings().expect("the defaults are good");
        let here = settings.listen;
        let everywhere = SocketAddr::from(([0, 0, 0, 0], 7400));
        assert!(settings.has_arena(here) && !settings.has_arena(everywhere));
        settings.server_names = Some(vec!["play.example".to_owned()]);
        assert!(!settings.has_arena(here), "it has a name that others use");
        settings.server_names = None;
        settings.trusted_proxies = vec!["127.0.0.1".parse().expect("an address")];
        assert!(!settings.has_arena(here), "a proxy speaks for others");
        settings.demo = true;
        assert!(settings.has_arena(here) && settings.has_arena(everywhere));
        (settings.demo, settings.dev) = (false, true);
        assert!(settings.has_arena(here) && settings.has_arena(everywhere));
    }

    #[test]
    fn the_documented_addresses_are_the_defaults() {
        let settings = ServeArguments::default().settings().expect("the defaults are good");
        assert_eq!(settings.listen.to_string(), "127.0.0.1:7400");
        assert_eq!(settings.admin_listen.to_string(), "127.0.0.1:7401");
        assert!(!settings.dev);
        assert_eq!(settings.data.as_deref(), Some(Path::new("./rejoin-data")));
        assert_eq!(settings.stop_within, Duration::from_secs(25));
        assert_eq!(settings.relay, RelayConfig::default());
    }
}
