//! Proofs of address: a peer that shows one has received what we sent to its address. They are made from
//! a key that only this process has, so nothing is kept for peers that have not shown theirs.

use std::net::{IpAddr, SocketAddr};
use std::time::{Duration, Instant};

use rejoin_wire::enet::Cookie;

/// A cookie is good for this long at least, and for twice as long at most.
const LIFE: Duration = Duration::from_secs(10);

/// Makes and checks cookies. Its key lives as long as the socket.
pub(super) struct Cookies {
    key: [u8; 32],
    start: Instant,
}

impl Cookies {
    pub(super) fn new(key: [u8; 32], start: Instant) -> Self {
        Self { key, start }
    }

    /// A cookie for this address.
    pub(super) fn make(&self, address: SocketAddr, now: Instant) -> Cookie {
        *self.of(address, self.age(now)).as_bytes()
    }

    /// Whether this was made for this address, not long ago. Takes the same time for every wrong one.
    pub(super) fn is_good(&self, cookie: &Cookie, address: SocketAddr, now: Instant) -> bool {
        let age = self.age(now);
        let shown = blake3::Hash::from_bytes(*cookie);
        let current = shown == self.of(address, age);
        let last = age.checked_sub(1).is_some_and(|last| shown == self.of(address, last));
        current | last
    }

    fn age(&self, now: Instant) -> u64 {
        now.saturating_duration_since(self.start).as_secs() / LIFE.as_secs()
    }

    fn of(&self, address: SocketAddr, age: u64) -> blake3::Hash {
        let ip = match address.ip().to_canonical() {
            IpAddr::V4(v4) => v4.to_ipv6_mapped(),
            IpAddr::V6(v6) => v6,
        };
        let mut text = [0; 26];
        text[..16].copy_from_slice(&ip.octets());
        text[16..18].copy_from_slice(&address.port().to_be_bytes());
        text[18..].copy_from_slice(&age.to_be_bytes());
        blake3::keyed_hash(&self.key, &text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> SocketAddr {
        text.parse().expect("an address")
    }

    #[test]
    fn a_cookie_is_good_for_its_address_for_a_while() {
        let start = Instant::now();
        let cookies = Cookies::new([1; 32], start);
        let (home, now) = (at("192.0.2.1:4000"), start + Duration::from_secs(55));
        let cookie = cookies.make(home, now);
        assert!(cookies.is_good(&cookie, home, now));
        assert!(cookies.is_good(&cookie, home, now + LIFE));
        assert!(cookies.is_good(&cookie, at("[::ffff:192.0.2.1]:4000"), now));
        assert!(!cookies.is_good(&cookie, home, now + 2 * LIFE));
        assert!(!cookies.is_good(&cookie, home, start));
        assert!(!cookies.is_good(&cookie, at("192.0.2.1:4001"), now));
        assert!(!cookies.is_good(&cookie, at("192.0.2.2:4000"), now));
        assert!(!Cookies::new([2; 32], start).is_good(&cookie, home, now));
    }
}
