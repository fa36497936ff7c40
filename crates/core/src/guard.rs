//! What one address may do to us, whoever speaks from there: how many connections it may have and
//! make, how often it may log in, fail, resume and break the rules, and how much it may send. What
//! one connection and one player may send is counted on the connection itself, see `connection/budget.rs`.
//!
//! The tables here are ordered and bounded: no address that somebody chose makes a lookup slow, and
//! no number of addresses makes a table large.

pub mod door;

mod addresses;
mod rations;

use std::time::Duration;

use crate::budget::{Quota, Rate};

pub(crate) use self::addresses::{Addresses, Rest};
pub use self::door::{Door, DoorRefusal, Ticket};
pub use self::rations::HubLoad;
pub(crate) use self::rations::Rations;

/// Where a connection comes from, as far as budgets tell origins apart: an IPv4 address, or the
/// first 64 bits of an IPv6 address, because one customer has at least so many of them. Many have
/// more, so the networks of 56 and 48 bits around it are charged as well, with wider rations.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Origin(u128);

impl Origin {
    /// An IPv4 address.
    #[must_use]
    pub const fn v4(bits: u32) -> Self {
        // As an IPv6 address would carry it; what `v6` makes ends in zeros and is never the same.
        Self(0xffff_0000_0000 | bits as u128)
    }

    /// The network of an IPv6 address.
    #[must_use]
    pub const fn v6(bits: u128) -> Self {
        Self(bits & !(u64::MAX as u128))
    }

    /// The networks that are charged for what comes from here, the widest first, and how many times
    /// the ration of one origin each has. What a wide one refuses leaves no trace in a narrow one.
    pub(crate) fn networks(self) -> impl Iterator<Item = (Self, u32)> {
        let is_v4 = self.0 >> 32 == 0xffff;
        let wide = WIDE.into_iter().filter(move |_| !is_v4);
        // The length stands where an origin of 64 bits has zeros: no two of them are the same.
        let network = move |(bits, times): (u32, u32)| {
            (Self(self.0 >> (128 - bits) << (128 - bits) | u128::from(bits)), times)
        };
        wide.map(network).chain([(self, 1)])
    }
}

/// The networks of IPv6 that are charged beside those of 64 bits: their bits, and how many times the
/// ration of one address they have.
const WIDE: [(u32, u32); 2] = [(48, 16), (56, 4)];

/// What the guard goes by, beside the budget that each connection has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardConfig {
    /// How often a connection that is over its burst is looked at. One that got further ahead by half
    /// of this since the last look is a flood, and severed; a smaller excess is only delayed. Up to
    /// this far over its burst the hub does not pause it, to tell the two apart. Zero: nobody is
    /// severed, and whoever is over its burst is paused at once.
    pub sever_after: Duration,
    /// Connections at a time, all addresses together.
    pub connections_max: usize,
    /// Connections at a time of one address.
    pub address_connections_max: usize,
    /// HTTP requests of one address, pages and `/v1` alike. Each 16 KiB of an answer count as one more.
    pub address_requests: Rate,
    /// New connections of one address.
    pub address_connects: Rate,
    /// Logins of one address.
    pub address_logins: Rate,
    /// Resumes of one session.
    pub session_resumes: Rate,
    /// Guest secrets that are minted for one address.
    pub address_mints: Quota,
    /// Logins and resumes of one address that proved wrong.
    pub address_failures: Quota,
    /// Connections of one address that were closed because they broke the rules.
    pub address_violations: Quota,
    /// Messages of all connections of one address.
    pub address_messages: Rate,
    /// Bytes of all connections of one address.
    pub address_bytes: Rate,
    /// Zones that Joins of one address ask to have opened; a Join beyond that is refused.
    pub address_opens: Quota,
    /// Open zones that the Joins of one address have opened; a Join that would open more is refused.
    pub address_zones_max: usize,
    /// Addresses that are told apart; beyond, strangers share what one address has.
    pub addresses_max: usize,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self {
            sever_after: Duration::from_millis(4_000),
            connections_max: 100_000,
            address_connections_max: 512,
            address_requests: Rate { per_second: 1_000, burst: 2_000 },
            address_connects: Rate { per_second: 50, burst: 300 },
            address_logins: Rate { per_second: 10, burst: 50 },
            session_resumes: Rate { per_second: 10, burst: 20 },
            address_mints: Quota { most: 1_000, within: Duration::from_millis(3_600_000) },
            address_failures: Quota { most: 20, within: Duration::from_millis(60_000) },
            address_violations: Quota { most: 20, within: Duration::from_millis(60_000) },
            address_messages: Rate { per_second: 12_000, burst: 24_000 },
            address_bytes: Rate { per_second: 8 << 20, burst: 32 << 20 },
            address_opens: Quota { most: 300, within: Duration::from_millis(30_000) },
            address_zones_max: 256,
            addresses_max: 65_536,
        }
    }
}

impl GuardConfig {
    /// Tells no addresses apart and severs nobody for its speed: for measurements and tests that
    /// play many players from one address.
    #[must_use]
    pub fn open() -> Self {
        let free = Rate { per_second: 0, burst: 0 };
        let never = Quota { most: 0, within: Duration::ZERO };
        Self {
            sever_after: Duration::ZERO,
            connections_max: usize::MAX,
            address_connections_max: usize::MAX,
            address_requests: free,
            address_connects: free,
            address_logins: free,
            session_resumes: free,
            address_mints: never,
            address_failures: never,
            address_violations: never,
            address_messages: free,
            address_bytes: free,
            address_opens: never,
            address_zones_max: usize::MAX,
            addresses_max: 65_536,
        }
    }
}

#[cfg(test)]
mod tests;
