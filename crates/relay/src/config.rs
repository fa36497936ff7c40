//! How a relay runs and what bounds it. Each bound has its answer: a `refused` with a reason, or a
//! join that is refused.

use std::time::Duration;

use rejoin_core::exchange::Hold;
use rejoin_core::zone::{Durability, ZoneConfig};

/// The longest key of a value: with its place before it, it fits a key of the wire.
pub(crate) const KEY_BYTES_MAX: usize = 40;
/// The largest that `members_max` and `objects_max` may be: a joiner is told all of them at once.
pub(crate) const LISTED_MAX: usize = 256;

/// The settings of the kind `relay`.
#[derive(Clone, PartialEq, Debug)]
pub struct RelayConfig {
    /// What survives a crash.
    pub durability: Durability,
    /// How long a dropped member is waited for.
    pub hold: Hold,
    /// How long a dropped host is waited for before another member is the host.
    pub host_grace: Duration,
    /// Members at a time, at most 256; more are refused `ZONE_FULL`.
    pub members_max: usize,
    /// Shared keys; more are refused `too_many_keys`.
    pub keys_max: usize,
    /// Keys of one member; more are refused `too_many_keys`.
    pub member_keys_max: usize,
    /// Keys of one member's latest messages; more are refused `too_many_keys`.
    pub latest_max: usize,
    /// The body of a value or of a latest message; larger ones are refused `too_large`.
    pub value_bytes_max: usize,
    /// All values and latest messages together; more are refused `full`.
    pub state_bytes_max: usize,
    /// Objects that have an owner, at most 256; more are refused `too_many_objects`.
    pub objects_max: usize,
}

impl Default for RelayConfig {
    fn default() -> Self {
        Self {
            durability: Durability::Full,
            hold: Hold::Timed(Duration::from_millis(60_000)),
            host_grace: Duration::from_millis(5_000),
            members_max: 64,
            keys_max: 256,
            member_keys_max: 16,
            latest_max: 8,
            value_bytes_max: 4_096,
            state_bytes_max: 131_072,
            objects_max: 256,
        }
    }
}

impl RelayConfig {
    /// Says what is wrong with these settings, by name.
    ///
    /// # Errors
    /// A sentence for whoever wrote them.
    pub fn check(&self) -> Result<(), String> {
        let most = |name: &str, value: usize, most: usize| {
            if value <= most { Ok(()) } else { Err(format!("{name} is {value}; at most {most}")) }
        };
        most("members_max", self.members_max, LISTED_MAX)?;
        most("objects_max", self.objects_max, LISTED_MAX)?;
        most("state_bytes_max", self.state_bytes_max, 1 << 19)?;
        // What a Joined can carry.
        let name = "keys_max and members_max × (member_keys_max + latest_max)";
        most(name, self.keys_in_all(), 4_096)
    }

    fn keys_in_all(&self) -> usize {
        self.keys_max + self.members_max * (self.member_keys_max + self.latest_max)
    }

    /// The same as the core's settings.
    #[must_use]
    pub fn zone(&self) -> ZoneConfig {
        let keys = self.keys_in_all();
        ZoneConfig {
            durability: self.durability,
            tick: None,
            hold: self.hold,
            members_max: self.members_max,
            objects_max: self.objects_max,
            // Twice: cleared keys are remembered until everybody knows.
            latest_keys_max: 2 * keys,
            // What stands around a value, its key and its header included, is far below this.
            latest_bytes_max: self.state_bytes_max + 2 * keys * 512,
            ..ZoneConfig::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_are_allowed_and_too_much_is_refused_by_name() {
        assert_eq!(RelayConfig::default().check(), Ok(()));
        let crowd = RelayConfig { members_max: 257, ..RelayConfig::default() };
        assert_eq!(crowd.check(), Err("members_max is 257; at most 256".to_owned()));
        let keys = RelayConfig { keys_max: 4_000, ..RelayConfig::default() };
        assert!(keys.check().is_err_and(|sentence| sentence.starts_with("keys_max and")));
    }
}
