//! Settings of the directory: `[directory]` and its keys, `[[directory.key]]`. What the file does not
//! say is the directory's own default.

use std::fmt;
use std::time::Duration;

use rejoin::server::{ApiKey, DirectoryConfig, Role};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

macro_rules! settings {
    (
        millis: $(($ms_key:ident, $ms_field:ident)),*;
        counts: $($count:ident),*;
    ) => {
        /// The section as the file has it.
        #[derive(Deserialize, Clone, PartialEq, Debug, Default)]
        #[serde(deny_unknown_fields)]
        pub(super) struct DirectoryFile {
            enabled: Option<bool>,
            rate_per_s: Option<u32>,
            #[serde(default)]
            key: Vec<KeyFile>,
            $($ms_key: Option<u64>,)*
            $($count: Option<usize>,)*
            attempts_max: Option<u32>,
        }

        impl DirectoryFile {
            fn config(&self) -> DirectoryConfig {
                let mut config = DirectoryConfig::default();
                $(if let Some(ms) = self.$ms_key { config.$ms_field = Duration::from_millis(ms); })*
                $(if let Some(count) = self.$count { config.$count = count; })*
                config.attempts_max = self.attempts_max.unwrap_or(config.attempts_max);
                config
            }
        }

        /// Every number with its name.
        fn numbers(config: &DirectoryConfig) -> Vec<(&'static str, String)> {
            vec![
                $((stringify!($ms_key), config.$ms_field.as_millis().to_string()),)*
                $((stringify!($count), config.$count.to_string()),)*
                ("attempts_max", config.attempts_max.to_string()),
            ]
        }
    };
}

settings! {
    millis: (seat_hold_ms, seat_hold), (seat_hold_max_ms, seat_hold_max),
        (claim_limit_ms, claim_limit), (activation_limit_ms, activation_limit),
        (update_limit_ms, update_limit), (destroy_limit_ms, destroy_limit),
        (empty_limit_ms, empty_limit), (retention_ms, retention), (health_every_ms, health_every),
        (health_limit_ms, health_limit), (away_limit_ms, away_limit), (news_limit_ms, news_limit);
    counts: games_max, hosts_max, fleets_max, aliases_max, queues_max, placements_max,
        placements_kept_max, seats_kept_max, open_seats_max, uncommitted_max, page_max, search_work_max,
        subscriptions_max, news_max;
}

/// One key, known by the hash of its text.
#[derive(Deserialize, Clone, PartialEq)]
#[serde(deny_unknown_fields)]
struct KeyFile {
    #[serde(default)]
    name: String,
    #[serde(deserialize_with = "role")]
    role: Role,
    #[serde(deserialize_with = "hash")]
    sha256: String,
    rate_per_s: Option<u32>,
    #[serde(default)]
    fleets: Vec<String>,
}

/// Without the hash.
impl fmt::Debug for KeyFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeyFile({:?}, {})", self.name, self.role.label())
    }
}

fn role<'de, D: Deserializer<'de>>(from: D) -> Result<Role, D::Error> {
    let label = String::deserialize(from)?;
    let known = "client, host, operator";
    Role::from_label(&label)
        .ok_or_else(|| D::Error::custom(format!("there is no role {label:?}, only {known}")))
}

fn hash<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let text = String::deserialize(from)?;
    let known = ApiKey::from_hash("", Role::Client, &text);
    let wrong = "sha256 must be 64 hexadecimal digits; `rejoin key new` prints them";
    known.map(|_| text).ok_or_else(|| D::Error::custom(wrong))
}

/// How the directory is kept.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct DirectorySettings {
    pub(crate) enabled: bool,
    pub(crate) config: DirectoryConfig,
    pub(crate) keys: Vec<ApiKey>,
}

impl DirectoryFile {
    /// The settings. `more` are keys from elsewhere, as `role:sha256`, with commas between them.
    ///
    /// # Errors
    /// A sentence that names what is wrong.
    pub(super) fn settings(&self, more: Option<&str>) -> Result<DirectorySettings, String> {
        let rate = self.rate_per_s.unwrap_or(ApiKey::RATE_PER_S);
        let mut keys = Vec::new();
        for key in &self.key {
            let known = ApiKey::from_hash(&key.name, key.role, &key.sha256);
            if let Some(known) = known {
                let tied = known.for_fleets(key.fleets.clone());
                let tied =
                    tied.map_err(|why| format!("the directory key {:?}: {why}", key.name))?;
                keys.push(tied.at_rate(key.rate_per_s.unwrap_or(rate)));
            }
        }
        let named = |name: &str| !name.trim().is_empty();
        for one in more.unwrap_or_default().split(',').filter(|one| named(one)) {
            let mut parts = one.trim().split(':');
            let (role, hash) = (parts.next().unwrap_or_default(), parts.next().unwrap_or_default());
            let known = Role::from_label(role)
                .and_then(|role| ApiKey::from_hash("environment", role, hash))
                .ok_or("directory keys are ROLE:SHA256 with commas; `rejoin key new` prints one")?;
            let tied = known.for_fleets(parts.map(str::to_owned).collect());
            keys.push(tied.map_err(|why| format!("a directory key: {why}"))?.at_rate(rate));
        }
        let enabled = self.enabled.unwrap_or(true);
        Ok(DirectorySettings { enabled, config: self.config(), keys })
    }
}

/// Writes the section as a file would have it.
pub(super) fn show(settings: &DirectorySettings, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    writeln!(f, "\n[directory]\nenabled = {}", settings.enabled)?;
    for (name, value) in numbers(&settings.config) {
        writeln!(f, "{name} = {value}")?;
    }
    for key in &settings.keys {
        writeln!(f, "\n[[directory.key]]\nname = {:?}\nrole = {:?}", key.name, key.role.label())?;
        writeln!(f, "sha256 = {:?}\nrate_per_s = {}", key.hash(), key.rate_per_s)?;
        if !key.fleets.is_empty() {
            writeln!(f, "fleets = {:?}", key.fleets)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<DirectoryFile, String> {
        toml::from_str(text).map_err(|error| error.message().to_owned())
    }

    #[test]
    fn every_documented_setting_can_be_set() {
        let table = include_str!("../../../../../docs/DIRECTORY.md");
        let table = table.split("<!-- defaults:directory -->").nth(1).expect("the table");
        let rows = table.split("<!-- /defaults -->").next().expect("its end").lines();
        let names: Vec<_> =
            rows.filter_map(|row| row.strip_prefix("| `")?.split('`').next()).collect();
        assert!(names.len() > 20, "{names:?}");
        for name in &names {
            let file = parse(&format!("{name} = 7")).unwrap_or_else(|why| panic!("{name}: {why}"));
            let shown = numbers(&file.config());
            assert!(shown.contains(&(*name, "7".to_owned())), "{name} changes nothing");
        }
        assert_eq!(numbers(&DirectoryConfig::default()).len(), names.len());
    }

    #[test]
    fn keys_are_read_with_their_roles_and_wrong_ones_are_refused_by_name() {
        let hash = "ab".repeat(32);
        let text =
            format!("rate_per_s = 5\n[[key]]\nname = \"ci\"\nrole = \"host\"\nsha256 = \"{hash}\"");
        let file = parse(&text).expect("good");
        let settings = file.settings(Some(&format!("client:{hash}"))).expect("good");
        let roles: Vec<_> = settings.keys.iter().map(|key| (key.role, key.rate_per_s)).collect();
        assert_eq!(roles, [(Role::Host, 5), (Role::Client, 5)]);
        assert!(!format!("{file:?}{settings:?}").contains(&hash));
        let wrong = parse(&text.replace("host", "boss")).expect_err("no such role");
        assert!(wrong.contains("\"boss\""), "{wrong}");
        let wrong = parse(&text.replace(&hash, "ab")).expect_err("too short");
        assert!(wrong.contains("64 hexadecimal"), "{wrong}");
        assert!(DirectoryFile::default().settings(Some("client")).is_err());
    }

    #[test]
    fn a_hosts_key_is_tied_to_its_fleets_and_no_other_key_is() {
        let hash = "ab".repeat(32);
        let key = |role: &str, fleets: &str| {
            let text = format!("[[key]]\nname = \"ci\"\nrole = {role:?}\nsha256 = {hash:?}\n");
            parse(&format!("{text}fleets = {fleets}")).expect("it can be read").settings(None)
        };
        let settings = key("host", "[\"duels\", \"sums\"]").expect("good");
        assert_eq!(settings.keys[0].fleets, ["duels", "sums"]);
        let wrong = key("client", "[\"duels\"]").expect_err("no host");
        assert!(wrong.starts_with("the directory key \"ci\": only a host's"), "{wrong}");
        let wrong = key("host", "[\"a duel\"]").expect_err("no name");
        assert!(wrong.contains("\"a duel\""), "{wrong}");
        let more = DirectoryFile::default().settings(Some(&format!("host:{hash}:duels:sums")));
        assert_eq!(more.expect("good").keys[0].fleets, ["duels", "sums"]);
        let wrong = DirectoryFile::default().settings(Some(&format!("client:{hash}:duels")));
        assert!(wrong.is_err());
    }
}
