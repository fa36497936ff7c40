//! The tables `[identity]` and `[identity.jwt]`: who may, or must, log in to an account, and whose
//! tokens are taken for one.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use rejoin::hub::AccountPolicy;
use rejoin::server::{IdentityConfig, JwtConfig, KeySource};
use serde::Deserialize;

/// The section as the file has it.
#[derive(Deserialize, Clone, PartialEq, Debug, Default)]
#[serde(deny_unknown_fields)]
pub(super) struct IdentityFile {
    accounts: Option<Policy>,
    hash_threads: Option<usize>,
    hash_waiting_max: Option<usize>,
    jwt: Option<JwtFile>,
}

#[derive(Deserialize, Clone, Copy, PartialEq, Debug)]
#[serde(rename_all = "lowercase")]
enum Policy {
    Off,
    Optional,
    Required,
}

#[derive(Deserialize, Clone, PartialEq, Debug)]
#[serde(deny_unknown_fields)]
struct JwtFile {
    issuer: String,
    audience: Vec<String>,
    jwks_file: Option<PathBuf>,
    jwks_url: Option<String>,
    jwks_roots: Option<PathBuf>,
    algorithms: Option<Vec<String>>,
    skew_s: Option<u64>,
    refresh_s: Option<u64>,
    create: Option<bool>,
}

impl IdentityFile {
    /// Whether a login may, or must, be to an account.
    pub(super) fn accounts(&self) -> AccountPolicy {
        match self.accounts {
            Some(Policy::Off) => AccountPolicy::Off,
            Some(Policy::Required) => AccountPolicy::Required,
            Some(Policy::Optional) | None => AccountPolicy::Optional,
        }
    }

    /// What the file says, and the defaults for the rest.
    pub(super) fn config(&self) -> Result<IdentityConfig, String> {
        let usual = IdentityConfig::default();
        let in_range = |name: &str, value: Option<usize>, usual: usize, most: usize| {
            let value = value.unwrap_or(usual);
            if (1..=most).contains(&value) {
                return Ok(value);
            }
            Err(format!("[identity] {name} must be from 1 to {most}, not {value}"))
        };
        if self.jwt.is_some() && self.accounts() == AccountPolicy::Off {
            return Err(
                "[identity] accounts is \"off\", and [identity.jwt] is there: no token would be \
                        looked at; say \"optional\" or \"required\""
                    .to_owned(),
            );
        }
        Ok(IdentityConfig {
            hash_threads: in_range("hash_threads", self.hash_threads, usual.hash_threads, 64)?,
            hash_waiting_max: in_range(
                "hash_waiting_max",
                self.hash_waiting_max,
                usual.hash_waiting_max,
                65_536,
            )?,
            jwt: self.jwt.as_ref().map(JwtFile::config).transpose()?,
        })
    }
}

impl JwtFile {
    fn config(&self) -> Result<JwtConfig, String> {
        let keys = match (&self.jwks_file, &self.jwks_url) {
            (Some(file), None) => KeySource::File(file.clone()),
            (None, Some(url)) => KeySource::Url(url.clone()),
            _ => {
                let why = "[identity.jwt] needs jwks_file or jwks_url, and not both";
                return Err(why.to_owned());
            }
        };
        let mut config = JwtConfig::new(&self.issuer, "", keys);
        config.audience.clone_from(&self.audience);
        config.roots.clone_from(&self.jwks_roots);
        if let Some(algorithms) = &self.algorithms {
            config.algorithms.clone_from(algorithms);
        }
        config.skew = self.skew_s.map_or(config.skew, Duration::from_secs);
        config.refresh = self.refresh_s.map_or(config.refresh, Duration::from_secs);
        config.create = self.create.unwrap_or(config.create);
        Ok(config)
    }
}

/// As a settings file would say it.
pub(super) fn show(
    accounts: AccountPolicy,
    config: &IdentityConfig,
    f: &mut fmt::Formatter<'_>,
) -> fmt::Result {
    let policy = match accounts {
        AccountPolicy::Off => "off",
        AccountPolicy::Optional => "optional",
        AccountPolicy::Required => "required",
    };
    writeln!(f, "\n[identity]\naccounts = {policy:?}\nhash_threads = {}", config.hash_threads)?;
    writeln!(f, "hash_waiting_max = {}", config.hash_waiting_max)?;
    let Some(jwt) = &config.jwt else { return Ok(()) };
    writeln!(f, "\n[identity.jwt]\nissuer = {:?}\naudience = {:?}", jwt.issuer, jwt.audience)?;
    match &jwt.keys {
        KeySource::File(file) => writeln!(f, "jwks_file = {:?}", file.display().to_string())?,
        KeySource::Url(url) => writeln!(f, "jwks_url = {url:?}")?,
    }
    if let Some(roots) = &jwt.roots {
        writeln!(f, "jwks_roots = {:?}", roots.display().to_string())?;
    }
    writeln!(f, "algorithms = {:?}\nskew_s = {}", jwt.algorithms, jwt.skew.as_secs())?;
    writeln!(f, "refresh_s = {}\ncreate = {}", jwt.refresh.as_secs(), jwt.create)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> Result<(AccountPolicy, IdentityConfig), String> {
        let file: IdentityFile = toml::from_str(text).map_err(|error| error.to_string())?;
        Ok((file.accounts(), file.config()?))
    }

    #[test]
    fn what_is_shown_can_be_read_again() {
        let text = r#"
            accounts = "required"
            [jwt]
            issuer = "https://id.example"
            audience = ["game"]
            jwks_url = "https://id.example/keys"
            jwks_roots = "/etc/rejoin/issuer.pem"
            algorithms = ["ES256"]
        "#;
        let config_ = config(text).expect("good");
        assert_eq!(config_.0, AccountPolicy::Required);
        struct Shown(AccountPolicy, IdentityConfig);
        impl fmt::Display for Shown {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                show(self.0, &self.1, f)
            }
        }
        let shown = Shown(config_.0, config_.1.clone()).to_string();
        let shown = shown.replace("[identity]", "").replace("[identity.jwt]", "[jwt]");
        assert_eq!(config(&shown), Ok(config_), "{shown}");
        assert_eq!(config(""), Ok((AccountPolicy::Optional, IdentityConfig::default())));
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, word) in [
            ("acounts = \"off\"", "acounts"),
            ("accounts = \"maybe\"", "maybe"),
            ("hash_threads = 0", "hash_threads"),
            (
                "accounts = \"off\"\n[jwt]\nissuer = \"i\"\naudience = [\"a\"]\njwks_file = \"f\"",
                "off",
            ),
            ("[jwt]\nissuer = \"i\"", "audience"),
            ("[jwt]\nissuer = \"i\"\naudience = [\"a\"]", "jwks_file"),
            ("[jwt]\nissuer = \"i\"\naudience = [\"a\"]\nkid = 1", "kid"),
        ] {
            let wrong = config(text).expect_err(text);
            assert!(wrong.contains(word), "{wrong}");
        }
    }
}
