//! API keys: who may ask what, and how often. The server keeps hashes of keys and never a key.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};

use rejoin_directory::limits;
use sha2::{Digest, Sha256};

/// What a key is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Role {
    /// Game clients: they find Games, make them and take seats.
    Client,
    /// Hosts, and services that let players in for them.
    Host,
    /// Runs the servers: may do everything.
    Operator,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Client, Self::Host, Self::Operator];

    /// As settings and problems say it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Host => "host",
            Self::Operator => "operator",
        }
    }

    /// Reads a label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.label() == label)
    }
}

/// Random bytes of a key: too many to guess, so a plain hash keeps it well.
const SECRET_BYTES: usize = 32;

/// An API key as the server knows it.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey {
    /// What people call it.
    pub name: String,
    /// What it is for.
    pub role: Role,
    /// The SHA-256 of the key's text.
    hash: [u8; 32],
    /// Requests a second that it may make for long.
    pub rate_per_s: u32,
    /// The fleets that a host's key is tied to: it is answered about these only. Empty: about all.
    pub fleets: Vec<String>,
}

/// Without the hash: it is of no use in a log.
impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ApiKey({:?}, {})", self.name, self.role.label())
    }
}

impl ApiKey {
    /// Requests a second that a key may make for long, if nothing else is said.
    pub const RATE_PER_S: u32 = 1_000;
    /// How many fleets a key can be tied to.
    pub const FLEETS_MAX: usize = 100;

    /// A key that is known by the hash of its text, in 64 hexadecimal digits; none if it is not.
    #[must_use]
    pub fn from_hash(name: &str, role: Role, hash: &str) -> Option<Self> {
        let digits: &[u8; 64] = hash.as_bytes().try_into().ok()?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self::known(name, role, bytes))
    }

    /// A key that is known by its text.
    #[must_use]
    pub fn from_text(name: &str, role: Role, text: &str) -> Self {
        Self::known(name, role, Sha256::digest(text.as_bytes()).into())
    }

    fn known(name: &str, role: Role, hash: [u8; 32]) -> Self {
        let (name, rate_per_s) = (name.to_owned(), Self::RATE_PER_S);
        Self { name, role, hash, rate_per_s, fleets: Vec::new() }
    }

    /// The same, tied to these fleets, if it is a host's and these can be names of fleets.
    ///
    /// # Errors
    /// A sentence that says what is wrong.
    pub fn for_fleets(self, fleets: Vec<String>) -> Result<Self, String> {
        if self.role != Role::Host && !fleets.is_empty() {
            let role = self.role.label();
            return Err(format!("only a host's key can be tied to fleets, and this is a {role}'s"));
        }
        if fleets.len() > Self::FLEETS_MAX {
            return Err(format!("a key can be tied to {} fleets at most", Self::FLEETS_MAX));
        }
        for fleet in &fleets {
            limits::name("fleet", fleet).map_err(|refusal| format!("{refusal}, not {fleet:?}"))?;
        }
        Ok(Self { fleets, ..self })
    }

    /// The same, with another rate.
    #[must_use]
    pub fn at_rate(self, rate_per_s: u32) -> Self {
        Self { rate_per_s, ..self }
    }

    /// The text of a new key, from random bytes. It begins with a word that scanners for leaked secrets
    /// can search for.
    #[must_use]
    pub fn text_of(role: Role, secret: &[u8; SECRET_BYTES]) -> String {
        let mut text = format!("rejoin_{}_", role.label());
        for byte in secret {
            text += &format!("{byte:02x}");
        }
        text
    }

    /// The hash of its text, as settings keep it.
    #[must_use]
    pub fn hash(&self) -> String {
        self.hash.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// As long as it takes for any other.
    fn is(&self, hash: &[u8; 32]) -> bool {
        self.hash.iter().zip(hash).fold(0, |other, (a, b)| other | (a ^ b)) == 0
    }
}

/// A key with its bucket.
#[derive(Debug)]
pub(crate) struct HeldKey {
    pub(crate) key: ApiKey,
    bucket: Bucket,
}

/// The configured keys; a key's index here is its number in the records of callers.
#[derive(Debug, Default)]
pub(crate) struct Keyring(Vec<HeldKey>);

impl Keyring {
    pub(crate) fn new(keys: &[ApiKey]) -> Self {
        let held = |key: &ApiKey| HeldKey { key: key.clone(), bucket: Bucket::default() };
        Self(keys.iter().map(held).collect())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The key of this text, and its place. All are looked at, however early one is found.
    pub(crate) fn find(&self, text: &str) -> Option<(usize, &HeldKey)> {
        let hash = Sha256::digest(text.as_bytes()).into();
        let all = self.0.iter().enumerate();
        all.fold(None, |found, one| if one.1.key.is(&hash) { Some(one) } else { found })
    }

    /// The key at this place.
    pub(crate) fn at(&self, place: usize) -> Option<&HeldKey> {
        self.0.get(place)
    }

    /// The fleets that the key at this place is tied to; empty: all.
    pub(crate) fn fleets(&self, place: usize) -> &[String] {
        self.0.get(place).map_or(&[], |held| held.key.fleets.as_slice())
    }
}

impl HeldKey {
    /// Takes one request from the bucket.
    ///
    /// # Errors
    /// In how many seconds there will be one.
    pub(super) fn spend_at(&self, now_us: u64) -> Result<(), u64> {
        self.bucket.spend(now_us, self.key.rate_per_s)
    }

    /// Owes so many requests more.
    pub(super) fn owe_at(&self, now_us: u64, cost: u32) {
        self.bucket.owe(now_us, self.key.rate_per_s, cost);
    }
}

/// A token bucket that holds what one second gives: the instant at which it is full again.
#[derive(Debug, Default)]
pub(super) struct Bucket(AtomicU64);

impl Bucket {
    /// Takes so many, whether they are there or not; given back is how many were not.
    pub(super) fn owe(&self, now_us: u64, per_second: u32, count: u32) -> u32 {
        let cost = cost_us(per_second);
        let most = now_us.saturating_add(1_000_000.max(cost));
        let owed = |full_at: u64| {
            let after = full_at.max(now_us).saturating_add(cost.saturating_mul(u64::from(count)));
            // Debt beyond this is dropped, so that no key is shut out for good.
            Some(after.min(now_us.saturating_add(DEBT_US_MAX)))
        };
        let before = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, owed);
        let room = most.saturating_sub(before.unwrap_or_default().max(now_us)) / cost;
        count.saturating_sub(u32::try_from(room).unwrap_or(u32::MAX))
    }

    /// Whether nothing was taken from it for a while.
    pub(super) fn is_full(&self, now_us: u64) -> bool {
        self.0.load(Ordering::Relaxed) <= now_us
    }

    pub(super) fn spend(&self, now_us: u64, per_second: u32) -> Result<(), u64> {
        let cost = cost_us(per_second);
        let most = now_us.saturating_add(1_000_000.max(cost));
        let spend = |full_at: u64| {
            let after = full_at.max(now_us).saturating_add(cost);
            (after <= most).then_some(after)
        };
        match self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend) {
            Ok(_) => Ok(()),
            Err(full_at) => {
                let wait_us = full_at.saturating_add(cost).saturating_sub(most);
                Err(wait_us.div_ceil(1_000_000).max(1))
            }
        }
    }
}

/// The longest that a bucket is in debt.
const DEBT_US_MAX: u64 = 30_000_000;

/// How long one request takes to be paid.
fn cost_us(per_second: u32) -> u64 {
    1_000_000 / u64::from(per_second.max(1)).min(1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_by_its_text_and_by_nothing_else() {
        let text = ApiKey::text_of(Role::Host, &[7; 32]);
        assert!(text.starts_with("rejoin_host_07"), "{text}");
        let known = ApiKey::from_text("fleet", Role::Host, &text);
        let again = ApiKey::from_hash("fleet", Role::Host, &known.hash()).expect("a hash");
        let ring = Keyring::new(&[ApiKey::from_text("a", Role::Client, "a"), again]);
        assert_eq!(ring.find(&text).map(|(_, held)| held.key.role), Some(Role::Host));
        assert!(ring.find(&known.hash()).is_none());
        assert!(ring.find("").is_none());
        assert!(!format!("{known:?}").contains(&known.hash()));
        assert!(ApiKey::from_hash("x", Role::Client, "zz").is_none());
    }

    #[test]
    fn only_a_hosts_key_is_tied_to_fleets_and_only_to_names_that_can_be() {
        let key = |role| ApiKey::from_text("x", role, "x");
        let fleets = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let tied = key(Role::Host).for_fleets(fleets(&["a", "b-2"])).expect("good");
        assert_eq!(tied.fleets, ["a", "b-2"]);
        assert!(key(Role::Operator).for_fleets(Vec::new()).is_ok());
        let wrong = key(Role::Client).for_fleets(fleets(&["a"])).expect_err("no host");
        assert!(wrong.contains("a client's"), "{wrong}");
        let wrong = key(Role::Host).for_fleets(fleets(&["a b"])).expect_err("no name");
        assert!(wrong.contains("\"a b\"") && wrong.contains("letters, digits"), "{wrong}");
        assert!(key(Role::Host).for_fleets(vec!["a".to_owned(); 100]).is_ok());
        assert!(key(Role::Host).for_fleets(vec!["a".to_owned(); 101]).is_err());
    }

    #[test]
    fn a_key_may_ask_so_often_and_is_told_when_again() {
        let bucket = Bucket::default();
        for _ in 0..5 {
            assert_eq!(bucket.spend(0, 5), Ok(()));
        }
        assert_eq!(bucket.spend(0, 5), Err(1));
        assert_eq!(bucket.spend(199_999, 5), Err(1));
        assert_eq!(bucket.spend(200_000, 5), Ok(()));
        assert_eq!(bucket.spend(200_000, 5), Err(1));
        let slow = Bucket::default();
        assert_eq!(slow.spend(0, 0), Ok(()));
        assert_eq!(slow.spend(0, 0), Err(1));
        assert_eq!(slow.spend(1_000_000, 0), Ok(()));
    }
}
