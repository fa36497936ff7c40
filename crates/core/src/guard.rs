//! What one address may do to us, whoever speaks from there: how many connections it may have and
//! make, how often it may log in, fail, resume and break the rules, and how much it may send. What
//! one connection and one player may send is counted on the connection itself, see `hub::frame`.
//!
//! The tables here are ordered and bounded: no address that somebody chose makes a lookup slow, and
//! no number of addresses makes a table large.

pub mod door;

mod addresses;

use std::time::Duration;

use crate::budget::{Quota, Rate};

pub(crate) use self::addresses::{Addresses, Rest};
pub use self::door::{Door, DoorRefusal, Ticket};

/// Where a connection comes from, as far as budgets tell origins apart: an IPv4 address, or the
/// first 64 bits of an IPv6 address, because one customer has at least so many of them.
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
}

/// What the guard goes by, beside the budget that each connection has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct GuardConfig {
    /// Over its budget for so long without a rest: the connection is severed.
    pub sever_after: Duration,
    /// Connections at a time, all addresses together.
    pub connections_max: usize,
    /// Connections at a time of one address.
    pub address_connections_max: usize,
    /// New connections of one address.
    pub address_connects: Rate,
    /// Logins of one address.
    pub address_logins: Rate,
    /// Resumes of one address, and of one session.
    pub address_resumes: Rate,
    /// Logins and resumes of one address that proved wrong.
    pub address_failures: Quota,
    /// Connections of one address that were closed because they broke the rules.
    pub address_violations: Quota,
    /// Messages of all connections of one address.
    pub address_messages: Rate,
    /// Bytes of all connections of one address.
    pub address_bytes: Rate,
    /// Addresses that are told apart; beyond, strangers share what one address has.
    pub addresses_max: usize,
}

impl Default for GuardConfig {
    fn default() -> Self {
        Self {
            sever_after: Duration::from_millis(5_000),
            connections_max: 100_000,
            address_connections_max: 256,
            address_connects: Rate { per_second: 20, burst: 100 },
            address_logins: Rate { per_second: 10, burst: 50 },
            address_resumes: Rate { per_second: 10, burst: 20 },
            address_failures: Quota { most: 20, within: Duration::from_millis(60_000) },
            address_violations: Quota { most: 20, within: Duration::from_millis(60_000) },
            address_messages: Rate { per_second: 6_000, burst: 12_000 },
            address_bytes: Rate { per_second: 4 << 20, burst: 16 << 20 },
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
            address_connects: free,
            address_logins: free,
            address_resumes: free,
            address_failures: never,
            address_violations: never,
            address_messages: free,
            address_bytes: free,
            addresses_max: 65_536,
        }
    }
}

#[cfg(test)]
mod tests;
