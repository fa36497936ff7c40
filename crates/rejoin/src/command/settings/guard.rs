//! The table `[guard]`: what connections and addresses may do. Every key stands for one documented
//! default; what is left out is that.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;
use rejoin::budget::{Quota, Rate};
use rejoin::guard::GuardConfig;
use rejoin::hub::HubConfig;
use serde::Deserialize;

/// Whether addresses have rations.
#[derive(Deserialize, ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
#[serde(rename_all = "lowercase")]
pub(crate) enum GuardMode {
    /// Each address has its share.
    #[default]
    On,
    /// Addresses are not told apart: for measurements and tests that come from one machine.
    Open,
}

#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct GuardFile {
    mode: Option<GuardMode>,
    messages_per_second: Option<u32>,
    messages_burst: Option<u32>,
    bytes_per_second: Option<u32>,
    bytes_burst: Option<u32>,
    handshake_ms: Option<u64>,
    load_commits_max: Option<usize>,
    load_inputs_max: Option<usize>,
    returns_per_second: Option<u32>,
    guests_max: Option<usize>,
    guests_unseen_ms: Option<u64>,
    sever_after_ms: Option<u64>,
    connections_max: Option<usize>,
    address_connections_max: Option<usize>,
    address_requests_per_second: Option<u32>,
    address_requests_burst: Option<u32>,
    address_connects_per_second: Option<u32>,
    address_connects_burst: Option<u32>,
    address_logins_per_second: Option<u32>,
    address_logins_burst: Option<u32>,
    session_resumes_per_second: Option<u32>,
    session_resumes_burst: Option<u32>,
    address_messages_per_second: Option<u32>,
    address_messages_burst: Option<u32>,
    address_bytes_per_second: Option<u32>,
    address_bytes_burst: Option<u32>,
    address_mints_max: Option<u32>,
    address_mints_within_ms: Option<u64>,
    address_failures_max: Option<u32>,
    address_failures_within_ms: Option<u64>,
    address_violations_max: Option<u32>,
    address_violations_within_ms: Option<u64>,
    address_opens_max: Option<u32>,
    address_opens_within_ms: Option<u64>,
    address_zones_max: Option<usize>,
    addresses_max: Option<usize>,
}

/// What the guard goes by, as the hub is told it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct GuardSettings {
    pub(crate) mode: GuardMode,
    pub(crate) messages: Rate,
    pub(crate) bytes: Rate,
    pub(crate) handshake: Duration,
    pub(crate) load_commits_max: usize,
    pub(crate) load_inputs_max: usize,
    pub(crate) returns_per_second: u32,
    pub(crate) guests_max: usize,
    pub(crate) guests_unseen: Duration,
    pub(crate) guard: GuardConfig,
}

impl GuardFile {
    pub(super) fn settings(&self, asked: Option<GuardMode>) -> GuardSettings {
        let hub = HubConfig::default();
        let mode = asked.or(self.mode).unwrap_or_default();
        let guard = match mode {
            GuardMode::On => hub.guard,
            GuardMode::Open => GuardConfig::open(),
        };
        GuardSettings {
            mode,
            messages: rate(self.messages_per_second, self.messages_burst, hub.messages),
            bytes: rate(self.bytes_per_second, self.bytes_burst, hub.bytes),
            handshake: self.handshake_ms.map_or(hub.handshake, Duration::from_millis),
            load_commits_max: self.load_commits_max.unwrap_or(hub.load_commits_max),
            load_inputs_max: self.load_inputs_max.unwrap_or(hub.load_inputs_max),
            returns_per_second: self.returns_per_second.unwrap_or(hub.returns_per_second),
            guests_max: self.guests_max.unwrap_or(hub.guests_max),
            guests_unseen: self.guests_unseen_ms.map_or(hub.guests_unseen, Duration::from_millis),
            guard: self.addresses(guard),
        }
    }

    fn addresses(&self, guard: GuardConfig) -> GuardConfig {
        GuardConfig {
            sever_after: self.sever_after_ms.map_or(guard.sever_after, Duration::from_millis),
            connections_max: self.connections_max.unwrap_or(guard.connections_max),
            address_connections_max: self
                .address_connections_max
                .unwrap_or(guard.address_connections_max),
            address_requests: rate(
                self.address_requests_per_second,
                self.address_requests_burst,
                guard.address_requests,
            ),
            address_connects: rate(
                self.address_connects_per_second,
                self.address_connects_burst,
                guard.address_connects,
            ),
            address_logins: rate(
                self.address_logins_per_second,
                self.address_logins_burst,
                guard.address_logins,
            ),
            session_resumes: rate(
                self.session_resumes_per_second,
                self.session_resumes_burst,
                guard.session_resumes,
            ),
            address_messages: rate(
                self.address_messages_per_second,
                self.address_messages_burst,
                guard.address_messages,
            ),
            address_bytes: rate(
                self.address_bytes_per_second,
                self.address_bytes_burst,
                guard.address_bytes,
            ),
            address_mints: quota(
                self.address_mints_max,
                self.address_mints_within_ms,
                guard.address_mints,
            ),
            address_failures: quota(
                self.address_failures_max,
                self.address_failures_within_ms,
                guard.address_failures,
            ),
            address_violations: quota(
                self.address_violations_max,
                self.address_violations_within_ms,
                guard.address_violations,
            ),
            address_opens: quota(
                self.address_opens_max,
                self.address_opens_within_ms,
                guard.address_opens,
            ),
            address_zones_max: self.address_zones_max.unwrap_or(guard.address_zones_max),
            addresses_max: self.addresses_max.unwrap_or(guard.addresses_max),
        }
    }
}

fn rate(per_second: Option<u32>, burst: Option<u32>, default: Rate) -> Rate {
    let per_second = per_second.unwrap_or(default.per_second);
    Rate { per_second, burst: burst.unwrap_or(default.burst) }
}

fn quota(most: Option<u32>, within_ms: Option<u64>, default: Quota) -> Quota {
    let most = most.unwrap_or(default.most);
    Quota { most, within: within_ms.map_or(default.within, Duration::from_millis) }
}

impl GuardSettings {
    pub(crate) fn apply(&self, config: &mut HubConfig) {
        config.messages = self.messages;
        config.bytes = self.bytes;
        config.handshake = self.handshake;
        config.load_commits_max = self.load_commits_max;
        config.load_inputs_max = self.load_inputs_max;
        config.returns_per_second = self.returns_per_second;
        config.guests_max = self.guests_max;
        config.guests_unseen = self.guests_unseen;
        config.guard = self.guard;
    }

    /// Only what differs from the defaults of its mode, so that a file stays short.
    pub(super) fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mode = match self.mode {
            GuardMode::On => "on",
            GuardMode::Open => "open",
        };
        writeln!(f, "\n[guard]\nmode = {mode:?}")?;
        let default = GuardFile::default().settings(Some(self.mode));
        for (row, default) in self.rows().into_iter().zip(default.rows()) {
            if row != default {
                writeln!(f, "{} = {}", row.0, row.1)?;
            }
        }
        Ok(())
    }

    fn rows(&self) -> Vec<(String, u128)> {
        let guard = &self.guard;
        let mut rows = vec![
            ("handshake_ms".to_owned(), self.handshake.as_millis()),
            ("load_commits_max".to_owned(), self.load_commits_max as u128),
            ("load_inputs_max".to_owned(), self.load_inputs_max as u128),
            ("returns_per_second".to_owned(), self.returns_per_second.into()),
            ("guests_max".to_owned(), self.guests_max as u128),
            ("guests_unseen_ms".to_owned(), self.guests_unseen.as_millis()),
            ("sever_after_ms".to_owned(), guard.sever_after.as_millis()),
            ("connections_max".to_owned(), guard.connections_max as u128),
            ("address_connections_max".to_owned(), guard.address_connections_max as u128),
            ("address_zones_max".to_owned(), guard.address_zones_max as u128),
            ("addresses_max".to_owned(), guard.addresses_max as u128),
        ];
        for (name, rate) in [
            ("messages", self.messages),
            ("bytes", self.bytes),
            ("address_requests", guard.address_requests),
            ("address_connects", guard.address_connects),
            ("address_logins", guard.address_logins),
            ("session_resumes", guard.session_resumes),
            ("address_messages", guard.address_messages),
            ("address_bytes", guard.address_bytes),
        ] {
            rows.push((format!("{name}_per_second"), rate.per_second.into()));
            rows.push((format!("{name}_burst"), rate.burst.into()));
        }
        for (name, quota) in [
            ("address_mints", guard.address_mints),
            ("address_failures", guard.address_failures),
            ("address_violations", guard.address_violations),
            ("address_opens", guard.address_opens),
        ] {
            rows.push((format!("{name}_max"), quota.most.into()));
            rows.push((format!("{name}_within_ms"), quota.within.as_millis()));
        }
        rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> GuardSettings {
        toml::from_str::<GuardFile>(text).expect("it is known").settings(None)
    }

    #[test]
    fn nothing_said_is_the_defaults_of_the_hub() {
        let mut config = HubConfig::default();
        read("").apply(&mut config);
        assert_eq!(config, HubConfig::default());
    }

    #[test]
    fn every_row_that_is_shown_can_be_read_again() {
        let everything = GuardFile::default().settings(None);
        for (key, value) in everything.rows() {
            let other = read(&format!("{key} = {}", value + 1));
            let (shown, changed) = (format!("{}", Shown(other)), value + 1);
            assert!(shown.contains(&format!("\n{key} = {changed}\n")), "{shown}");
            let again = shown.trim().strip_prefix("[guard]").expect("a table");
            assert_eq!(read(again), other);
        }
    }

    #[test]
    fn open_tells_no_addresses_apart_but_single_keys_still_count() {
        let open = read("mode = \"open\"\naddress_connections_max = 3\n");
        assert_eq!(open.guard.address_connections_max, 3);
        assert_eq!(open.guard.address_connects.per_second, 0);
        assert_eq!(open.messages, HubConfig::default().messages);
    }

    struct Shown(GuardSettings);

    impl fmt::Display for Shown {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.show(f)
        }
    }
}
