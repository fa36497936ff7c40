//! Proxies that may say whom they speak for. Only a connection from one of them is asked, and of the
//! addresses it names the right-most that is no such proxy itself is believed: all further left is
//! whatever the client wrote.

use std::fmt;
use std::net::IpAddr;
use std::str::FromStr;

use axum::http::{HeaderMap, header};

/// A block of addresses, as `10.0.0.0/8`, `fd00::/8` or one address alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AddressBlock {
    network: IpAddr,
    bits: u8,
}

/// Why a text names no block of addresses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddressBlockError(String);

impl fmt::Display for AddressBlockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is no address and no block such as 10.0.0.0/8 or fd00::/8", self.0)
    }
}

impl std::error::Error for AddressBlockError {}

impl FromStr for AddressBlock {
    type Err = AddressBlockError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || AddressBlockError(text.to_owned());
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let network: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if network.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        let block = Self { network, bits };
        // Bits beyond the mask would be a slip of the pen: 10.1.0.0/8 is not what was meant.
        if bits > most || masked(network, bits) != network { Err(wrong()) } else { Ok(block) }
    }
}

impl fmt::Display for AddressBlock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.network, self.bits) {
            (IpAddr::V4(_), 32) | (IpAddr::V6(_), 128) => write!(f, "{}", self.network),
            (network, bits) => write!(f, "{network}/{bits}"),
        }
    }
}

impl AddressBlock {
    /// Whether an address is in it. An IPv4 address in IPv6 clothes counts as IPv4.
    #[must_use]
    pub fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        address.is_ipv4() == self.network.is_ipv4() && masked(address, self.bits) == self.network
    }
}

fn masked(address: IpAddr, bits: u8) -> IpAddr {
    match address {
        IpAddr::V4(v4) => {
            let mask = u32::MAX.checked_shl(32 - u32::from(bits.min(32))).unwrap_or(0);
            IpAddr::V4((v4.to_bits() & mask).into())
        }
        IpAddr::V6(v6) => {
            let mask = u128::MAX.checked_shl(128 - u32::from(bits.min(128))).unwrap_or(0);
            IpAddr::V6((v6.to_bits() & mask).into())
        }
    }
}

/// In which header proxies name their clients. They all write one and pass the other on as it came,
/// so only one may be believed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum ForwardedHeader {
    /// `X-Forwarded-For`, which most proxies write.
    #[default]
    XForwardedFor,
    /// `Forwarded`, of RFC 7239.
    Forwarded,
}

/// The address a request comes from: the nearest hop that is not a trusted proxy, else the furthest that the
/// header names in a form that can be read.
pub(crate) fn client_of(
    peer: IpAddr,
    headers: &HeaderMap,
    trusted: &[AddressBlock],
    named_in: ForwardedHeader,
) -> IpAddr {
    let peer = peer.to_canonical();
    let is_trusted = |address: IpAddr| trusted.iter().any(|block| block.contains(address));
    if !is_trusted(peer) {
        return peer;
    }
    let (name, parse): (_, fn(&str) -> Option<IpAddr>) = match named_in {
        ForwardedHeader::XForwardedFor => ("x-forwarded-for", address_in),
        ForwardedHeader::Forwarded => (header::FORWARDED.as_str(), element_of),
    };
    let lines: Vec<&str> =
        headers.get_all(name).iter().map(|line| line.to_str().unwrap_or("")).collect();
    let mut client = peer;
    for hop in lines.iter().rev().flat_map(|line| line.rsplit(',')) {
        // What cannot be read is further out than the last proxy that could be.
        let Some(address) = parse(hop) else { break };
        client = address.to_canonical();
        if !is_trusted(client) {
            break;
        }
    }
    client
}

/// The address of one `Forwarded` element, as in `for="[2001:db8::1]:80";proto=https`.
fn element_of(element: &str) -> Option<IpAddr> {
    let mut pairs = element.split(';').filter_map(|pair| pair.trim().split_once('='));
    let (_, node) = pairs.find(|(key, _)| key.eq_ignore_ascii_case("for"))?;
    address_in(node.trim_matches('"'))
}

/// An address, perhaps with a port.
fn address_in(node: &str) -> Option<IpAddr> {
    let node = node.trim();
    if let Some(rest) = node.strip_prefix('[') {
        return rest.split_once(']')?.0.parse().ok();
    }
    let bare = || node.split_once(':').and_then(|(address, _)| address.parse().ok());
    node.parse().ok().or_else(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn block(text: &str) -> AddressBlock {
        text.parse().expect("a block")
    }

    fn client(peer: &str, trusted: &[&str], lines: &[(&'static str, &str)]) -> String {
        let mut headers = HeaderMap::new();
        for (name, value) in lines {
            headers.append(*name, value.parse().expect("a header"));
        }
        let named_in = match lines.iter().any(|(name, _)| *name == "forwarded") {
            true => ForwardedHeader::Forwarded,
            false => ForwardedHeader::XForwardedFor,
        };
        let trusted: Vec<_> = trusted.iter().map(|text| block(text)).collect();
        client_of(peer.parse().expect("an address"), &headers, &trusted, named_in).to_string()
    }

    #[test]
    fn blocks_hold_what_they_say() {
        assert!(block("10.0.0.0/8").contains("10.255.1.2".parse().expect("one")));
        assert!(!block("10.0.0.0/8").contains("11.0.0.1".parse().expect("one")));
        assert!(block("0.0.0.0/0").contains("11.0.0.1".parse().expect("one")));
        assert!(block("10.0.0.1").contains("::ffff:10.0.0.1".parse().expect("one")));
        assert!(block("fd00::/8").contains("fd12::1".parse().expect("one")));
        assert!(!block("::1").contains("127.0.0.1".parse().expect("one")));
        for wrong in ["", "10.0.0.0/33", "10.1.0.0/8", "host", "10.0.0.0/", "::/129", "10.0.0.0/-1"]
        {
            assert!(wrong.parse::<AddressBlock>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn nobody_is_believed_who_is_not_trusted() {
        let line = [("x-forwarded-for", "1.2.3.4")];
        assert_eq!(client("9.9.9.9", &[], &line), "9.9.9.9");
        assert_eq!(client("9.9.9.9", &["10.0.0.0/8"], &line), "9.9.9.9");
        assert_eq!(client("10.0.0.1", &["10.0.0.0/8"], &line), "1.2.3.4");
        assert_eq!(client("10.0.0.1", &["10.0.0.0/8"], &[]), "10.0.0.1");
    }

    #[test]
    fn the_right_most_hop_that_is_no_proxy_counts() {
        let trusted = ["10.0.0.0/8", "::1"];
        for (line, expected) in [
            ("6.6.6.6, 1.2.3.4, 10.0.0.7", "1.2.3.4"),
            ("6.6.6.6, 1.2.3.4", "1.2.3.4"),
            ("10.0.0.8, 10.0.0.7", "10.0.0.8"),
            ("6.6.6.6, junk, 10.0.0.7", "10.0.0.7"),
            ("1.2.3.4:5678", "1.2.3.4"),
            ("[2001:db8::5]:99, ::1", "2001:db8::5"),
            ("::ffff:1.2.3.4", "1.2.3.4"),
            ("", "10.0.0.1"),
        ] {
            assert_eq!(client("10.0.0.1", &trusted, &[("x-forwarded-for", line)]), expected);
        }
        // A client's own line comes first; the proxy's is appended.
        let two = [("x-forwarded-for", "6.6.6.6"), ("x-forwarded-for", "1.2.3.4")];
        assert_eq!(client("::1", &trusted, &two), "1.2.3.4");
    }

    #[test]
    fn the_header_of_the_standard_is_read_where_it_is_asked_for() {
        let trusted = ["10.0.0.0/8"];
        for (line, expected) in [
            ("for=6.6.6.6, for=1.2.3.4;proto=https", "1.2.3.4"),
            ("proto=http;For=\"[2001:db8::1]:4711\";by=10.0.0.1", "2001:db8::1"),
            ("for=1.2.3.4, for=_hidden", "10.0.0.1"),
            ("for=1.2.3.4, for=unknown, for=10.0.0.2", "10.0.0.2"),
        ] {
            assert_eq!(client("10.0.0.1", &trusted, &[("forwarded", line)]), expected, "{line}");
        }
        let both = [("x-forwarded-for", "6.6.6.6"), ("forwarded", "for=1.2.3.4")];
        assert_eq!(client("10.0.0.1", &trusted, &both), "1.2.3.4");
    }
}
