//! Where a WebSocket is: what the game typed, and what a server later names. Only
//! `ws://` is dialled: encryption is left to what stands in front of a server, so far.

use tokio_tungstenite::tungstenite::http::Uri;

use super::error::OpenError;

/// An address that can be dialled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Address {
    pub uri: Uri,
    /// As it is dialled and signed: without the port, an IPv6 address in brackets.
    pub host: String,
    pub port: u16,
}

impl Address {
    /// The address that the game was given.
    pub(super) fn parse(text: &str) -> Result<Self, OpenError> {
        let wrong = |text: &str| OpenError::Address { text: text.to_owned() };
        let uri: Uri = text.parse().map_err(|_| wrong("it cannot be read"))?;
        match uri.scheme_str() {
            Some("ws") => {}
            Some("wss") => return Err(wrong("this client does not speak wss:// yet")),
            _ => return Err(wrong("it does not start with ws://")),
        }
        let host = uri.host().unwrap_or_default().to_ascii_lowercase();
        if host.is_empty() {
            return Err(wrong("it names no host"));
        }
        let port = uri.port_u16().unwrap_or(80);
        Ok(Self { uri, host, port })
    }

    /// An address that the server named, with or without scheme; without it, everything but the
    /// host and its port is as it was. None when it cannot be dialled from here.
    pub(super) fn follow(&self, text: &str) -> Option<Self> {
        let full = match text.contains("://") {
            true => text.to_owned(),
            false => {
                let path = if text.contains('/') { "" } else { self.uri.path() };
                format!("ws://{text}{path}")
            }
        };
        Self::parse(&full).ok()
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
    }

    #[test]
    fn what_is_no_websocket_is_refused() {
        for text in
            ["", "play", "http://a/", "ws://", "ws:///play", "ws://a b/", "/play", "wss://a/"]
        {
            assert!(Address::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn a_server_names_a_host_or_a_whole_address() {
        let home = parse("ws://home:7400/play");
        assert_eq!(home.follow("other:7401"), Some(parse("ws://other:7401/play")));
        assert_eq!(home.follow("ws://other/x"), Some(parse("ws://other/x")));
        assert_eq!(home.follow("http://other/x"), None);
        assert_eq!(home.follow("\0"), None);
    }
}
