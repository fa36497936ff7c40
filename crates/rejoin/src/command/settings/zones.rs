//! Settings by kind of zone: `[zone.relay]`. What the file does not say is the relay's own default.

use std::fmt;
use std::time::Duration;

use rejoin::exchange::Hold;
use rejoin::server::GamesConfig;
use rejoin::server::relay::RelayConfig;
use rejoin::zone;
use serde::Deserialize;

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct ZonesFile {
    #[serde(default)]
    pub(super) relay: RelayFile,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct RelayFile {
    games: Option<bool>,
    closes_in_match: Option<bool>,
    durability: Option<Durability>,
    hold_ms: Option<u64>,
    host_grace_ms: Option<u64>,
    members_max: Option<usize>,
    keys_max: Option<usize>,
    member_keys_max: Option<usize>,
    latest_max: Option<usize>,
    value_bytes_max: Option<usize>,
    state_bytes_max: Option<usize>,
    objects_max: Option<usize>,
}

/// What a zone keeps through a crash, as the file says it.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq, Debug)]
#[serde(rename_all = "lowercase")]
enum Durability {
    Memory,
    Session,
    Full,
}

/// How relay zones run Games of the directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct ZoneGames {
    /// Whether they do.
    pub(crate) run: bool,
    /// A match closes its Game to new players until it ends.
    pub(crate) closes_in_match: bool,
}

impl RelayFile {
    pub(super) fn games(&self) -> ZoneGames {
        let closes_in_match =
            self.closes_in_match.unwrap_or(GamesConfig::default().closes_in_match);
        ZoneGames { run: self.games.unwrap_or(true), closes_in_match }
    }

    /// The relay's settings. With `memory` nothing outlives the process, so the durability that is not set is
    /// `memory`, too.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub(super) fn config(&self, memory: bool) -> Result<RelayConfig, String> {
        let base = RelayConfig::default();
        let durability = match self.durability {
            Some(Durability::Memory) => zone::Durability::Memory,
            Some(Durability::Session) => zone::Durability::Session,
            Some(Durability::Full) => zone::Durability::Full,
            None if memory => zone::Durability::Memory,
            None => base.durability,
        };
        let millis = |ms: Option<u64>| ms.map(Duration::from_millis);
        let config = RelayConfig {
            durability,
            hold: millis(self.hold_ms).map_or(base.hold, Hold::Timed),
            host_grace: millis(self.host_grace_ms).unwrap_or(base.host_grace),
            members_max: self.members_max.unwrap_or(base.members_max),
            keys_max: self.keys_max.unwrap_or(base.keys_max),
            member_keys_max: self.member_keys_max.unwrap_or(base.member_keys_max),
            latest_max: self.latest_max.unwrap_or(base.latest_max),
            value_bytes_max: self.value_bytes_max.unwrap_or(base.value_bytes_max),
            state_bytes_max: self.state_bytes_max.unwrap_or(base.state_bytes_max),
            objects_max: self.objects_max.unwrap_or(base.objects_max),
        };
        config.check().map_err(|sentence| format!("[zone.relay]: {sentence}"))?;
        Ok(config)
    }
}

/// Writes the section as a file would have it.
pub(super) fn show(
    relay: &RelayConfig,
    games: ZoneGames,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let durability = match relay.durability {
        zone::Durability::Memory => "memory",
        zone::Durability::Session => "session",
        zone::Durability::Full => "full",
    };
    let ZoneGames { run, closes_in_match } = games;
    writeln!(f, "\n[zone.relay]\ngames = {run}\ncloses_in_match = {closes_in_match}")?;
    writeln!(f, "durability = {durability:?}")?;
    if let Hold::Timed(hold) = relay.hold {
        writeln!(f, "hold_ms = {}", hold.as_millis())?;
    }
    writeln!(f, "host_grace_ms = {}", relay.host_grace.as_millis())?;
    for (key, value) in [
        ("members_max", relay.members_max),
        ("keys_max", relay.keys_max),
        ("member_keys_max", relay.member_keys_max),
        ("latest_max", relay.latest_max),
        ("value_bytes_max", relay.value_bytes_max),
        ("state_bytes_max", relay.state_bytes_max),
        ("objects_max", relay.objects_max),
    ] {
        writeln!(f, "{key} = {value}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_much_is_refused_by_name() {
        let file = RelayFile { members_max: Some(1_000), ..RelayFile::default() };
        let sentence = file.config(false).expect_err("too many");
        assert_eq!(sentence, "[zone.relay]: members_max is 1000; at most 256");
    }

    #[test]
    fn nothing_said_is_the_default_but_in_memory() {
        let file = RelayFile::default();
        assert_eq!(file.config(false), Ok(RelayConfig::default()));
        let memory = file.config(true).expect("good").durability;
        assert_eq!(memory, zone::Durability::Memory);
    }
}
