//! A server's HTTP side: where it is, and how bytes get there. For what speaks to it besides a player,
//! with the same roots to believe in.

use std::io;

use tokio_tungstenite::tungstenite::http::Uri;

use super::address::Address;
use super::error::OpenError;
use super::pipe::{self, Pipe};
use super::trust::Trust;

/// `http://host:port` or `https://host:port`, ready to be dialled. Cloning it is cheap.
#[derive(Clone, Debug)]
pub struct Endpoint {
    /// As a WebSocket's: the same host and port.
    address: Address,
    trust: Trust,
}

impl Endpoint {
    /// Reads an address. `roots` are certificates, as PEM, that an encrypted server's must lead to.
    ///
    /// # Errors
    /// It is no address of that kind, or the roots cannot be used.
    pub fn new(text: &str, roots: &[String]) -> Result<Self, OpenError> {
        let wrong = |why: &str| OpenError::Address { text: why.to_owned() };
        let web = if let Some(rest) = text.strip_prefix("http://") {
            format!("ws://{rest}")
        } else if let Some(rest) = text.strip_prefix("https://") {
            format!("wss://{rest}")
        } else {
            return Err(wrong("it does not start with http:// or https://"));
        };
        let address = Address::parse(&web)?;
        let is_bare = address.uri.path() == "/" && address.uri.query().is_none();
        if !is_bare || web.contains('@') {
            return Err(wrong("it is host and port and nothing else"));
        }
        Ok(Self { address, trust: Trust::new(roots)? })
    }

    /// Host and port, as a request names them.
    #[must_use]
    pub fn authority(&self) -> String {
        format!("{}:{}", self.address.host, self.address.port)
    }

    /// The address of a WebSocket on this server; `path` begins with `/`.
    #[must_use]
    pub fn web_socket(&self, path: &str) -> String {
        let scheme = if self.address.scheme.is_encrypted { "wss" } else { "ws" };
        format!("{scheme}://{}{path}", self.authority())
    }

    /// The same as an address that can be dialled.
    #[must_use]
    pub fn uri(&self, path: &str) -> Option<Uri> {
        self.web_socket(path).parse().ok()
    }

    /// Opens a connection, encrypted if the address says so.
    ///
    /// # Errors
    /// Nobody answers there, or its certificate is not believed.
    pub async fn dial(&self) -> io::Result<Pipe> {
        pipe::open(&self.address, &self.trust).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_host_and_port_are_an_endpoint() {
        let endpoint = Endpoint::new("http://Play.Example:7400", &[]).expect("an endpoint");
        assert_eq!(endpoint.authority(), "play.example:7400");
        assert_eq!(endpoint.web_socket("/play"), "ws://play.example:7400/play");
        assert_eq!(Endpoint::new("http://a", &[]).expect("port 80").authority(), "a:80");
        for text in
            ["", "a", "ws://a", "http://", "http://a/b", "http://a?x", "http://u@a", "http://a b"]
        {
            assert!(Endpoint::new(text, &[]).is_err(), "{text}");
        }
    }
}
