//! What each caller may ask for: so many requests a second for its key, and a share of its own for each
//! address of that key, so that one player with the key of a game cannot use it up for the others.
//!
//! A request costs one. A search costs one more for every [`WORK_UNIT`] Games that it looked at, which is
//! known when it is done and is owed then. A caller takes from its address's share first; what that does
//! not give, it takes from what the key has left.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, PoisonError};

use super::key::{Bucket, HeldKey};

/// Games that a search may look at for the price of a request.
pub(super) const WORK_UNIT: usize = 500;
/// An address has this part of its key's rate for itself.
const OWN_PART: u32 = 100;
/// Searches of one address under way with one key.
const SEARCHES_MAX: usize = 8;
/// Networks with a record of their own; those beyond share one record.
const RECORDS_MAX: usize = 16_384;

/// The network that a caller's budget counts for: an IPv4 address, or the part of an IPv6 address that
/// a household is given.
pub(super) fn network(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(v4) => v4.to_ipv6_mapped().to_bits(),
        IpAddr::V6(v6) => v6.to_bits() >> 64 << 64,
    }
}

/// Which key, and from where. No key has a network of all ones, so that is the record of strangers.
type Who = (usize, u128);

const STRANGERS: u128 = u128::MAX;

/// What one network has used of one key.
#[derive(Debug, Default)]
struct Record {
    bucket: Bucket,
    searches: usize,
}

/// The records of all networks and keys.
#[derive(Debug, Default)]
pub(super) struct Shares(Mutex<HashMap<Who, Record>>);

/// A search under way, until this is dropped.
pub(super) struct Searching {
    shares: Arc<Shares>,
    who: Who,
}

impl Shares {
    /// Takes one request.
    ///
    /// # Errors
    /// In how many seconds there will be one.
    pub(super) fn spend(&self, key: &HeldKey, who: Who, now_us: u64) -> Result<(), u64> {
        let rate = key.key.rate_per_s;
        let own = self.with(who, now_us, |record| record.bucket.spend(now_us, own_rate(rate)));
        own.or_else(|wait| key.spend_at(now_us).map_err(|other| wait.min(other)))
    }

    /// Owes what a search has cost beyond its request.
    pub(super) fn owe(&self, key: &HeldKey, who: Who, now_us: u64, work: usize) {
        let cost = u32::try_from(work / WORK_UNIT).unwrap_or(u32::MAX);
        let rate = own_rate(key.key.rate_per_s);
        let left = self.with(who, now_us, |record| record.bucket.owe(now_us, rate, cost));
        key.owe_at(now_us, left);
    }

    /// Begins a search.
    ///
    /// # Errors
    /// How many are under way from there.
    pub(super) fn search(self: &Arc<Self>, who: Who, now_us: u64) -> Result<Searching, usize> {
        self.with(who, now_us, |record| {
            if record.searches >= SEARCHES_MAX {
                return Err(record.searches);
            }
            record.searches += 1;
            Ok(())
        })?;
        Ok(Searching { shares: Arc::clone(self), who })
    }

    fn with<T>(&self, who: Who, now_us: u64, act: impl FnOnce(&mut Record) -> T) -> T {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if records.len() >= RECORDS_MAX && !records.contains_key(&who) {
            // A record that owes nothing says nothing.
            records.retain(|_, record| record.searches > 0 || !record.bucket.is_full(now_us));
        }
        let is_known = records.len() < RECORDS_MAX || records.contains_key(&who);
        let who = if is_known { who } else { (who.0, STRANGERS) };
        act(records.entry(who).or_default())
    }

    fn end_search(&self, who: Who) {
        let mut records = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let key = if records.contains_key(&who) { who } else { (who.0, STRANGERS) };
        if let Some(record) = records.get_mut(&key) {
            record.searches = record.searches.saturating_sub(1);
        }
    }
}

impl Drop for Searching {
    fn drop(&mut self) {
        self.shares.end_search(self.who);
    }
}

fn own_rate(rate: u32) -> u32 {
    rate.div_ceil(OWN_PART).max(1)
}

#[cfg(test)]
mod tests {
    use super::super::key::{ApiKey, Keyring, Role};
    use super::*;

    fn ring() -> Keyring {
        Keyring::new(&[ApiKey::from_text("game", Role::Client, "k").at_rate(200)])
    }

    #[test]
    fn one_address_cannot_use_up_the_key_of_another() {
        let (ring, shares) = (ring(), Shares::default());
        let (_, key) = ring.find("k").expect("it is there");
        let got = (0..1_000).filter(|_| shares.spend(key, (0, 1), 0).is_ok()).count();
        assert_eq!(got, 202, "the key's second and its own");
        assert!(shares.spend(key, (0, 2), 0).is_ok(), "another has its own share");
        assert!(shares.spend(key, (0, 2), 0).is_ok());
        assert_eq!(shares.spend(key, (0, 2), 0), Err(1));
    }

    #[test]
    fn a_search_owes_what_it_has_looked_at() {
        let (ring, shares) = (ring(), Shares::default());
        let (_, key) = ring.find("k").expect("it is there");
        for _ in 0..5 {
            assert_eq!(shares.spend(key, (0, 1), 0), Ok(()));
            shares.owe(key, (0, 1), 0, 20_000);
        }
        // Five searches are 200 requests, and those are owed by this address and its key.
        let got = (0..1_000).filter(|_| shares.spend(key, (0, 1), 0).is_ok()).count();
        assert!(got <= 3, "{got}");
        assert!(shares.spend(key, (0, 2), 0).is_ok(), "another still has its own share");
        assert!(shares.spend(key, (0, 1), 2_000_000).is_ok(), "the key is paid again");
    }

    #[test]
    fn searches_at_a_time_and_addresses_are_bounded() {
        let shares = Arc::new(Shares::default());
        let held: Vec<_> = (0..SEARCHES_MAX).map(|_| shares.search((0, 1), 0)).collect();
        assert!(held.iter().all(Result::is_ok));
        assert_eq!(shares.search((0, 1), 0).err(), Some(SEARCHES_MAX));
        assert!(shares.search((0, 2), 0).is_ok());
        drop(held);
        assert!(shares.search((0, 1), 0).is_ok());
        let ring = ring();
        let (_, key) = ring.find("k").expect("it is there");
        for number in 0..20_000 {
            let _ = shares.spend(key, (0, number), 0);
        }
        assert!(shares.0.lock().expect("no thread panicked").len() <= RECORDS_MAX + 1);
    }

    #[test]
    fn ipv6_is_one_caller_for_each_network() {
        let network_of = |text: &str| network(text.parse().expect("an address"));
        assert_eq!(network_of("2001:db8::1"), network_of("2001:db8::ffff"));
        assert_ne!(network_of("2001:db8::1"), network_of("2001:db8:0:1::1"));
        assert_ne!(network_of("192.0.2.1"), network_of("192.0.2.2"));
        assert_eq!(network_of("192.0.2.1"), network_of("::ffff:192.0.2.1"));
    }
}
