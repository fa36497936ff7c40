//! Where a server is: what the game typed, and what a server later names. `ws://` and `wss://` are
//! WebSockets, `tcp://` and `tls://` plain byte streams; the second of each is encrypted. `enet://` is
//! ENet.

use tokio_tungstenite::tungstenite::http::Uri;

use super::error::OpenError;

/// An address that can be dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub uri: Uri,
    pub scheme: Scheme,
    /// As it is dialled and signed: without the port, an IPv6 address in brackets.
    pub host: String,
    pub port: u16,
}

/// How a server is spoken to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Scheme {
    pub is_web: bool,
    pub is_enet: bool,
    pub is_encrypted: bool,
}

impl Scheme {
    const NAMED: [(&str, Self); 5] = [
        ("ws", Self { is_web: true, is_enet: false, is_encrypted: false }),
        ("wss", Self { is_web: true, is_enet: false, is_encrypted: true }),
        ("tcp", Self { is_web: false, is_enet: false, is_encrypted: false }),
        ("tls", Self { is_web: false, is_enet: false, is_encrypted: true }),
        ("enet", Self { is_web: false, is_enet: true, is_encrypted: false }),
    ];

    fn parse(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, scheme)| *scheme)
    }

    fn name(self) -> &'static str {
        Self::NAMED.iter().find(|(_, known)| *known == self).map_or("ws", |(name, _)| name)
    }

    /// The port where an address names none. Byte streams have no port that everybody knows.
    fn port(self) -> Option<u16> {
        let port = if self.is_encrypted { 443 } else { 80 };
        self.is_web.then_some(port)
    }
}

impl Address {
    /// The address that the game was given.
    pub(super) fn parse(text: &str) -> Result<Self, OpenError> {
        let wrong = |text: &str| OpenError::Address { text: text.to_owned() };
        let uri: Uri = text.parse().map_err(|_| wrong("it cannot be read"))?;
        let scheme = uri.scheme_str().and_then(Scheme::parse);
        let scheme = scheme.ok_or_else(|| {
            wrong("it does not start with ws://, wss://, tcp://, tls:// or enet://")
        })?;
        if scheme.is_encrypted && !cfg!(feature = "tls") {
            return Err(wrong("this client was built without TLS: turn on its feature `tls`"));
        }
        if scheme.is_enet && !cfg!(feature = "enet") {
            return Err(wrong("this client was built without ENet: turn on its feature `enet`"));
        }
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        let port = uri.port_u16().or(scheme.port()).ok_or_else(|| wrong("it names no port"))?;
        Ok(Self { uri, scheme, host, port })
    }

    /// An address that the server named, with or without scheme; without it, everything but the
    /// host and its port is as it was. None when it cannot be dialled from here, or when it would
    /// give encryption up.
    pub(super) fn follow(&self, text: &str) -> Option<Self> {
        let full = match text.contains("://") {
            true => text.to_owned(),
            false => {
                let path = if text.contains('/') { "" } else { self.uri.path() };
                format!("{}://{text}{path}", self.scheme.name())
            }
        };
        let found = Self::parse(&full).ok()?;
        (found.scheme.is_encrypted || !self.scheme.is_encrypted).then_some(found)
    }

    /// The host as the resolver wants it.
    pub(super) fn lookup(&self) -> (&str, u16) {
        (self.host.trim_start_matches('[').trim_end_matches(']'), self.port)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Address {
        Address::parse(text).expect("an address")
    }

    #[test]
    fn host_and_port_are_found() {
        assert_eq!(parse("ws://Play.Example/play").lookup(), ("play.example", 80));
        assert_eq!(parse("ws://[::1]:7400/play").host, "[::1]");
        assert_eq!(parse("ws://[::1]:7400/play").lookup(), ("::1", 7400));
        assert_eq!(parse("tcp://play.example:7402").lookup(), ("play.example", 7402));
        assert!(!parse("tcp://play.example:7402").scheme.is_web);
    }

    #[test]
    fn what_cannot_be_dialled_is_refused() {
        for text in
            ["", "play", "http://a/", "ws://", "ws:///play", "ws://a b/", "/play", "tcp://a"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_names_a_host_or_a_whole_address() {
        let home = parse("ws://home:7400/play");
        assert_eq!(home.follow("other:7401"), Some(parse("ws://other:7401/play")));
        assert_eq!(home.follow("ws://other/x"), Some(parse("ws://other/x")));
        assert_eq!(home.follow("tcp://other:7402"), Some(parse("tcp://other:7402")));
        assert_eq!(parse("tcp://home:1").follow("other:2"), Some(parse("tcp://other:2/")));
        assert_eq!(home.follow("http://other/x"), None);
        assert_eq!(home.follow("\0"), None);
    }

    #[cfg(feature = "tls")]
    #[test]
    fn encryption_is_never_given_up_on_a_servers_word() {
        let home = parse("wss://home/play");
        assert_eq!(home.port, 443);
        assert_eq!(home.follow("ws://other/play"), None);
        assert_eq!(home.follow("other"), Some(parse("wss://other/play")));
        assert_eq!(home.follow("tls://other:7402"), Some(parse("tls://other:7402")));
    }
}
