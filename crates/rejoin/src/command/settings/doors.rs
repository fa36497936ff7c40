//! The tables `[tcp]`, `[enet]`, `[tls]`, `[encryption]` and `[compression]`: doors for byte streams and
//! for datagrams, and what is done to the bytes on their way.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

use rejoin::hub::HubConfig;
use rejoin::server::{Encryption, EnetConfig};
use serde::Deserialize;

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct TcpFile {
    pub(super) listen: Option<SocketAddr>,
    /// Whether trusted proxies put a PROXY header before every stream.
    pub(super) proxy_header: Option<bool>,
}

/// The door for byte streams.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TcpSettings {
    pub(crate) listen: SocketAddr,
    pub(crate) proxy_header: bool,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct EnetFile {
    pub(super) listen: Option<OneOrMore>,
    /// Whether peers are let in that know nothing of cookies.
    pub(super) stock: Option<bool>,
    pub(super) peers_max: Option<usize>,
}

/// A port of ENet has room for 4,095 peers; who wants more opens several.
#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(untagged)]
pub(super) enum OneOrMore {
    One(SocketAddr),
    More(Vec<SocketAddr>),
}

/// The doors for datagrams.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct EnetSettings {
    /// None: there is no such door.
    pub(crate) listen: Vec<SocketAddr>,
    pub(crate) config: EnetConfig,
}

#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsFile {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// What encrypts the doors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TlsSettings {
    /// No certificate: WebSockets and TCP are plain, and a proxy in front may encrypt them.
    Off,
    /// Files with a chain and its key.
    Files(PathBuf, PathBuf),
    /// A certificate of our own making, anew at every start.
    Development,
}

impl TcpFile {
    pub(super) fn settings(&self, asked: Option<SocketAddr>) -> Option<TcpSettings> {
        let listen = asked.or(self.listen)?;
        Some(TcpSettings { listen, proxy_header: self.proxy_header.unwrap_or(false) })
    }
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct EncryptionFile {
    pub(super) policy: Option<Policy>,
}

/// Whether connections are encrypted, in the words of the file.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
pub(super) enum Policy {
    Off,
    Preferred,
    Required,
}

impl EncryptionFile {
    pub(super) fn settings(&self) -> Encryption {
        match self.policy {
            None => Encryption::default(),
            Some(Policy::Off) => Encryption::Off,
            Some(Policy::Preferred) => Encryption::Preferred,
            Some(Policy::Required) => Encryption::Required,
        }
    }
}

pub(super) fn show_encryption(policy: Encryption, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let policy = match policy {
        Encryption::Off => "off",
        Encryption::Preferred => "preferred",
        Encryption::Required => "required",
    };
    writeln!(f, "\n[encryption]\npolicy = {policy:?}")
}

/// Whether long frames are compressed for clients that ask for it.
#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct CompressionFile {
    enabled: Option<bool>,
    bytes_min: Option<u32>,
}

/// The same, decided.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CompressionSettings {
    pub(crate) enabled: bool,
    pub(crate) bytes_min: u32,
}

/// Below the first nothing is gained; above the second nothing is left that a client could send.
const COMPRESSION_BYTES: std::ops::RangeInclusive<u32> = 64..=65_536;

impl CompressionFile {
    pub(super) fn settings(&self, asked: Option<bool>) -> Result<CompressionSettings, String> {
        let default = HubConfig::default();
        let enabled = asked.or(self.enabled).unwrap_or(default.compression);
        let bytes_min = self.bytes_min.unwrap_or(default.compression_bytes_min);
        if !COMPRESSION_BYTES.contains(&bytes_min) {
            return Err(format!(
                "[compression] bytes_min is {bytes_min}: it must be {} to {}",
                COMPRESSION_BYTES.start(),
                COMPRESSION_BYTES.end()
            ));
        }
        Ok(CompressionSettings { enabled, bytes_min })
    }
}

impl CompressionSettings {
    pub(super) fn show(self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { enabled, bytes_min } = self;
        writeln!(f, "\n[compression]\nenabled = {enabled}\nbytes_min = {bytes_min}")
    }
}

impl EnetFile {
    pub(super) fn settings(
        &self,
        asked: Option<&[SocketAddr]>,
        encryption: Encryption,
    ) -> Result<EnetSettings, String> {
        let listen = match (asked, &self.listen) {
            (Some(asked), _) => asked.to_vec(),
            (None, Some(OneOrMore::One(listen))) => vec![*listen],
            (None, Some(OneOrMore::More(listen))) => listen.clone(),
            (None, None) => Vec::new(),
        };
        let default = EnetConfig::default();
        let peers_max = self.peers_max.unwrap_or(default.peers_max);
        if peers_max == 0 || peers_max > EnetConfig::PEERS_MAX {
            return Err(format!(
                "[enet] peers_max is {peers_max}: a port has room for 1 to {}; list several ports in \
                 listen for more",
                EnetConfig::PEERS_MAX
            ));
        }
        let stock = self.stock.unwrap_or(default.stock);
        let config = EnetConfig { stock, peers_max, encryption, key: None };
        Ok(EnetSettings { listen, config })
    }
}

pub(super) fn tls(file: Option<TlsFile>, development: bool) -> TlsSettings {
    match file {
        _ if development => TlsSettings::Development,
        Some(TlsFile { certificate, key }) => TlsSettings::Files(certificate, key),
        None => TlsSettings::Off,
    }
}

pub(super) fn show(
    tcp: Option<TcpSettings>,
    enet: &EnetSettings,
    tls: &TlsSettings,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if let Some(TcpSettings { listen, proxy_header }) = tcp {
        writeln!(f, "\n[tcp]\nlisten = \"{listen}\"\nproxy_header = {proxy_header}")?;
    }
    if !enet.listen.is_empty() {
        let listen: Vec<_> = enet.listen.iter().map(ToString::to_string).collect();
        let EnetConfig { stock, peers_max, .. } = enet.config;
        writeln!(f, "\n[enet]\nlisten = {listen:?}\nstock = {stock}\npeers_max = {peers_max}")?;
    }
    match tls {
        TlsSettings::Off => Ok(()),
        TlsSettings::Files(certificate, key) => {
            let (certificate, key) = (certificate.display(), key.display());
            writeln!(f, "\n[tls]\ncertificate = \"{certificate}\"\nkey = \"{key}\"")
        }
        TlsSettings::Development => {
            writeln!(f, "\n# --tls-dev: a certificate for development, made anew at every start")
        }
    }
}
