//! The keys of another service, from a file or a URL. They are got again after a while, and at once
//! when a token names one that is not known, but never more often than every 30 seconds: a peer that
//! makes up key ids cannot make us flood the issuer. Meanwhile the last ones serve, for a day at most: a
//! login whose key is known never waits for the issuer.

use std::path::PathBuf;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use axum::http::Uri;
use jsonwebtoken::jwk::{AlgorithmParameters, Jwk, JwkSet, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::fetch::{self, TrustedRoots};

/// Keys of a set; more make it unreadable.
const KEYS_MAX: usize = 64;
/// A file is read up to here.
const FILE_BYTES_MAX: u64 = 64 << 10;
/// Between two attempts to get them: an issuer is asked no more often, whatever tokens say.
const REST: Duration = Duration::from_secs(30);
/// Keys that could not be got again for so long are not believed any more.
const AGE_MAX: Duration = Duration::from_secs(24 * 3_600);

/// Where the issuer's keys come from: a file, or a URL with the roots its certificate must lead to.
#[derive(Clone, Debug)]
pub(super) enum ResolvedKeySource {
    File(PathBuf),
    Url(Uri, TrustedRoots),
}

/// One public key of the issuer.
#[derive(Clone)]
pub(super) struct IssuerKey {
    pub(super) id: Option<String>,
    /// The only algorithm it is for, if it says so.
    pub(super) algorithm: Option<Algorithm>,
    pub(super) key: DecodingKey,
}

#[derive(Clone, Default)]
struct Held {
    keys: Arc<Vec<IssuerKey>>,
    got_at: Option<Instant>,
}

/// The issuer's keys as they were last got. A clone shares them.
#[derive(Clone)]
pub(super) struct Keys(Arc<Inner>);

struct Inner {
    source: ResolvedKeySource,
    refresh: Duration,
    /// Between two attempts to get them.
    rest: Duration,
    held: RwLock<Held>,
    /// When the keys were last asked for. The task that holds the lock is asking now.
    tried_at: Arc<Mutex<Option<Instant>>>,
}

impl Keys {
    pub(super) fn new(source: ResolvedKeySource, refresh: Duration) -> Self {
        Self::with_rest(source, refresh, REST)
    }

    fn with_rest(source: ResolvedKeySource, refresh: Duration, rest: Duration) -> Self {
        let (held, tried_at) = Default::default();
        Self(Arc::new(Inner { source, refresh, rest, held, tried_at }))
    }

    /// Reads a file at the start, so that a wrong one stops the server from starting.
    pub(super) fn read_file(&self) -> Result<(), String> {
        let ResolvedKeySource::File(path) = &self.0.source else { return Ok(()) };
        self.0.hold(read(path)?);
        Ok(())
    }

    /// The key that a token names; where it names none, the only one there is.
    pub(super) async fn find(&self, id: Option<&str>) -> Result<IssuerKey, &'static str> {
        let held = self.0.held();
        let age = held.got_at.map(|at| at.elapsed()).filter(|age| *age <= AGE_MAX);
        if let (Some(key), Some(age)) = (pick(&held.keys, id), age) {
            if age >= self.0.refresh {
                self.get_aside();
            }
            return Ok(key);
        }
        // All that wait here wait for one attempt, which has a deadline.
        let tried_at = Arc::clone(&self.0.tried_at).lock_owned().await;
        self.0.get(tried_at).await;
        let held = self.0.held();
        if held.got_at.is_none_or(|at| at.elapsed() > AGE_MAX) {
            return Err("the keys of its issuer cannot be had");
        }
        pick(&held.keys, id).ok_or("it is signed with a key that its issuer does not show")
    }

    /// Gets the keys in a task of its own, unless one is getting them already.
    fn get_aside(&self) {
        if let Ok(tried_at) = Arc::clone(&self.0.tried_at).try_lock_owned() {
            let inner = Arc::clone(&self.0);
            tokio::spawn(async move { inner.get(tried_at).await });
        }
    }
}

impl Inner {
    fn held(&self) -> Held {
        self.held.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn hold(&self, keys: Vec<IssuerKey>) {
        let held = Held { keys: Arc::new(keys), got_at: Some(Instant::now()) };
        *self.held.write().unwrap_or_else(PoisonError::into_inner) = held;
    }

    /// One at a time, who has the lock, and not too often.
    async fn get(&self, mut tried_at: OwnedMutexGuard<Option<Instant>>) {
        if tried_at.is_some_and(|at| at.elapsed() < self.rest) {
            return;
        }
        *tried_at = Some(Instant::now());
        let got = match &self.source {
            ResolvedKeySource::File(path) => read(path),
            ResolvedKeySource::Url(uri, trust) => {
                fetch::get(uri, trust).await.and_then(|text| parse(&text))
            }
        };
        match got {
            Ok(keys) => self.hold(keys),
            Err(why) => {
                tracing::warn!(source = ?self.source, why, "the keys of tokens cannot be had");
            }
        }
    }
}

fn pick(keys: &[IssuerKey], id: Option<&str>) -> Option<IssuerKey> {
    match id {
        Some(id) => keys.iter().find(|key| key.id.as_deref() == Some(id)).cloned(),
        None if keys.len() == 1 => keys.first().cloned(),
        None => None,
    }
}

fn read(path: &PathBuf) -> Result<Vec<IssuerKey>, String> {
    let about = |why: String| format!("{}: {why}", path.display());
    let size = std::fs::metadata(path).map_err(|error| about(error.to_string()))?.len();
    if size > FILE_BYTES_MAX {
        return Err(about(format!("longer than {FILE_BYTES_MAX} bytes")));
    }
    let text = std::fs::read(path).map_err(|error| about(error.to_string()))?;
    parse(&text).map_err(about)
}

/// Reads a JWK set. Keys for something else than signatures are left out, and so are secret ones: with
/// those, every reader of the set could sign.
fn parse(text: &[u8]) -> Result<Vec<IssuerKey>, String> {
    let set: JwkSet = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    if set.keys.len() > KEYS_MAX {
        return Err(format!("more than {KEYS_MAX} keys"));
    }
    let keys: Vec<IssuerKey> = set.keys.iter().filter_map(usable).collect();
    if keys.is_empty() {
        return Err("there is no public key for signatures in it".to_owned());
    }
    Ok(keys)
}

fn usable(jwk: &Jwk) -> Option<IssuerKey> {
    let is_public = matches!(
        jwk.algorithm,
        AlgorithmParameters::RSA(_)
            | AlgorithmParameters::EllipticCurve(_)
            | AlgorithmParameters::OctetKeyPair(_)
    );
    let common = &jwk.common;
    let signs = common.public_key_use.as_ref().is_none_or(|for_| *for_ == PublicKeyUse::Signature);
    if !is_public || !signs {
        return None;
    }
    let algorithm = match common.key_algorithm {
        Some(algorithm) => Some(algorithm.to_string().parse().ok()?),
        None => None,
    };
    let key = DecodingKey::from_jwk(jwk).ok()?;
    Some(IssuerKey { id: common.key_id.clone(), algorithm, key })
}

#[cfg(test)]
mod tests;
