//! Tokens of another service (JWT, as OpenID Connect has them). Which algorithms are taken is said in
//! the settings and never by the token; keys are public ones only, so there is no way to sign with what
//! everybody can read. Issuer, audience, subject and expiry must be there.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use jsonwebtoken::{Algorithm, Validation, decode, decode_header};
use rejoin_core::account::SUBJECT_BYTES_MAX;
use serde::Deserialize;

use super::fetch::{self, TrustedRoots};
use super::jwks::{Keys, ResolvedKeySource};

/// The algorithms there are to choose from.
const ALGORITHMS: [(&str, Algorithm); 9] = [
    ("RS256", Algorithm::RS256),
    ("RS384", Algorithm::RS384),
    ("RS512", Algorithm::RS512),
    ("PS256", Algorithm::PS256),
    ("PS384", Algorithm::PS384),
    ("PS512", Algorithm::PS512),
    ("ES256", Algorithm::ES256),
    ("ES384", Algorithm::ES384),
    ("EdDSA", Algorithm::EdDSA),
];

/// Where the issuer's keys are.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeySource {
    /// A JWK set in a file; it is read again after a while.
    File(PathBuf),
    /// A JWK set at a URL: `https`, or `http` on this machine.
    Url(String),
}

/// Which tokens are taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JwtConfig {
    /// Who must have issued them: `iss`.
    pub issuer: String,
    /// For whom they must be: one of these is in `aud`.
    pub audience: Vec<String>,
    /// The issuer's keys.
    pub keys: KeySource,
    /// Certificates, in a PEM file, that the issuer's must lead to where its keys come by `https`. None:
    /// those that browsers believe.
    pub roots: Option<PathBuf>,
    /// What they may be signed with.
    pub algorithms: Vec<String>,
    /// How far clocks may differ.
    pub skew: Duration,
    /// After how long the keys are got again.
    pub refresh: Duration,
    /// A token whose subject has no account yet makes one.
    pub create: bool,
}

impl JwtConfig {
    /// With the documented defaults.
    #[must_use]
    pub fn new(issuer: &str, audience: &str, keys: KeySource) -> Self {
        Self {
            issuer: issuer.to_owned(),
            audience: vec![audience.to_owned()],
            keys,
            roots: None,
            algorithms: ["RS256", "ES256", "EdDSA"].map(str::to_owned).to_vec(),
            skew: Duration::from_secs(60),
            refresh: Duration::from_secs(600),
            create: true,
        }
    }
}

/// Why tokens cannot be taken as the settings say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JwtError(String);

impl fmt::Display for JwtError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "tokens: {}", self.0)
    }
}

impl std::error::Error for JwtError {}

/// Looks at tokens.
pub(super) struct Jwt {
    config: JwtConfig,
    algorithms: Vec<Algorithm>,
    keys: Keys,
}

#[derive(Deserialize)]
struct Claims {
    sub: String,
}

impl Jwt {
    pub(super) fn new(config: JwtConfig) -> Result<Self, JwtError> {
        let algorithms = algorithms(&config.algorithms).map_err(JwtError)?;
        if config.issuer.is_empty() || config.issuer.len() > SUBJECT_BYTES_MAX {
            return Err(JwtError(format!("an issuer has 1 to {SUBJECT_BYTES_MAX} bytes")));
        }
        if config.audience.is_empty() || config.audience.iter().any(String::is_empty) {
            return Err(JwtError("audience says for whom tokens must be".to_owned()));
        }
        let source = match &config.keys {
            KeySource::File(path) => ResolvedKeySource::File(path.clone()),
            KeySource::Url(url) => {
                let trust = TrustedRoots::new(config.roots.as_deref()).map_err(JwtError)?;
                ResolvedKeySource::Url(fetch::allowed(url).map_err(JwtError)?, trust)
            }
        };
        let keys = Keys::new(source, config.refresh);
        keys.read_file().map_err(JwtError)?;
        Ok(Self { config, algorithms, keys })
    }

    pub(super) fn issuer(&self) -> &str {
        &self.config.issuer
    }

    pub(super) fn creates(&self) -> bool {
        self.config.create
    }

    /// The subject of a good token.
    ///
    /// # Errors
    /// Why it is not good, for operators.
    pub(super) async fn check(&self, token: &str) -> Result<String, String> {
        let header = decode_header(token).map_err(|error| error.to_string())?;
        if !self.algorithms.contains(&header.alg) {
            return Err(format!("{:?} is not one of the algorithms", header.alg));
        }
        let key = self.keys.find(header.kid.as_deref()).await?;
        if key.algorithm.is_some_and(|only| only != header.alg) {
            return Err(format!("its key is not for {:?}", header.alg));
        }
        let mut rules = Validation::new(header.alg);
        rules.leeway = self.config.skew.as_secs();
        rules.validate_nbf = true;
        rules.set_issuer(&[&self.config.issuer]);
        rules.set_audience(&self.config.audience);
        rules.set_required_spec_claims(&["exp", "iss", "aud", "sub"]);
        let Claims { sub } =
            decode(token, &key.key, &rules).map_err(|error| error.to_string())?.claims;
        let is_short = (1..=SUBJECT_BYTES_MAX).contains(&sub.len());
        if !is_short || sub.chars().any(char::is_control) {
            return Err("its subject is empty, too long or not printable".to_owned());
        }
        Ok(sub)
    }
}

fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, String> {
    let known = |name: &String| {
        let found = ALGORITHMS.iter().find(|(known, _)| known == name);
        found.map(|(_, algorithm)| *algorithm).ok_or_else(|| {
            let all: Vec<&str> = ALGORITHMS.iter().map(|(name, _)| *name).collect();
            format!("{name:?} is not one of {}: only public keys are taken", all.join(", "))
        })
    };
    let algorithms: Vec<Algorithm> = names.iter().map(known).collect::<Result<_, _>>()?;
    if algorithms.is_empty() {
        return Err("algorithms must name at least one".to_owned());
    }
    Ok(algorithms)
}

#[cfg(test)]
mod tests;
