//! The tables `[tcp]` and `[tls]`: a door for byte streams, and what encrypts all of them.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;

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

#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsFile {
    pub(super) certificate: PathBuf,
    pub(super) key: PathBuf,
}

/// What encrypts the doors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum TlsSettings {
    /// Nothing does.
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

pub(super) fn tls(file: Option<TlsFile>, development: bool) -> TlsSettings {
    match file {
        _ if development => TlsSettings::Development,
        Some(TlsFile { certificate, key }) => TlsSettings::Files(certificate, key),
        None => TlsSettings::Off,
    }
}

pub(super) fn show(
    tcp: Option<TcpSettings>,
    tls: &TlsSettings,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    if let Some(TcpSettings { listen, proxy_header }) = tcp {
        writeln!(f, "\n[tcp]\nlisten = \"{listen}\"\nproxy_header = {proxy_header}")?;
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
