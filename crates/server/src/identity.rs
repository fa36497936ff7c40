//! Who a login is beyond its key: a name and a password, or a token of another service, in what the
//! client sends along. Read and checked here, off the hub's task; what follows from it is the core's.
//! docs/IDENTITY.md is the manual.

mod fetch;
mod jwks;
mod jwt;
mod passwords;
mod payload;

use std::sync::Arc;

use bytes::Bytes;
use rejoin_core::account::{Account, Link, Name};
use rejoin_core::hub::{AccountProof, AskId, HubInput};
use rejoin_core::id::{AccountId, ConnectionId};

pub use self::jwt::{JwtConfig, JwtError, KeySource};
pub use self::passwords::{PASSWORD_CHARS, PasswordError, hash_password};

pub(crate) use self::passwords::Passwords;

use self::jwt::Jwt;
use self::payload::LoginPayload;
use crate::mailbox::InternalSender;
use crate::sight::SharedSight;

/// How accounts are proven. Whether a login may, or must, be to an account is
/// [`HubConfig::accounts`](rejoin_core::hub::HubConfig::accounts).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct IdentityConfig {
    /// Threads on which passwords are hashed. Each takes 19 MiB while it does.
    pub hash_threads: usize,
    /// Passwords that wait for such a thread; a login beyond that is refused as busy.
    pub hash_waiting_max: usize,
    /// Tokens of another service; none: they are not taken.
    pub jwt: Option<JwtConfig>,
}

impl Default for IdentityConfig {
    fn default() -> Self {
        Self { hash_threads: 2, hash_waiting_max: 64, jwt: None }
    }
}

impl IdentityConfig {
    /// Reads what a server with these settings would read at its start: the issuer's keys, where they are in
    /// a file, and its certificates.
    ///
    /// # Errors
    /// The settings for tokens cannot be used, or a file cannot be read.
    pub fn check(&self) -> Result<(), JwtError> {
        self.jwt.clone().map(Jwt::new).transpose().map(drop)
    }
}

/// What looks at passwords and tokens.
pub(crate) struct IdentityChecker {
    pub(crate) passwords: Arc<Passwords>,
    jwt: Option<Arc<Jwt>>,
    sight: SharedSight,
}

impl IdentityChecker {
    /// # Errors
    /// The system gives no threads, or the settings for tokens cannot be used.
    pub(crate) fn start(config: &IdentityConfig, sight: SharedSight) -> Result<Arc<Self>, String> {
        let passwords = Passwords::start(config.hash_threads, config.hash_waiting_max)
            .map_err(|error| error.to_string())?;
        let jwt = config.jwt.clone().map(Jwt::new).transpose();
        let jwt = jwt.map_err(|error| error.to_string())?.map(Arc::new);
        Ok(Arc::new(Self { passwords: Arc::new(passwords), jwt, sight }))
    }

    /// Checks what came with a login. The proof is returned at once, or sent to the hub later; `known`
    /// finds an account by its name.
    pub(crate) fn check<'a>(
        &self,
        payload: &[u8],
        (connection, ask): (ConnectionId, AskId),
        hub: &InternalSender,
        known: impl FnOnce(&Name) -> Option<(AccountId, &'a Account)>,
    ) -> Option<AccountProof> {
        match payload::read(payload) {
            LoginPayload::Nothing => Some(AccountProof::None),
            LoginPayload::Unreadable(why) => Some(AccountProof::Unreadable(why)),
            LoginPayload::Password { name, password, link, payload } => {
                let known = Name::parse(&name).ok().and_then(|name| known(&name));
                let hash = known.and_then(|(_, account)| account.password.clone());
                let account = known.map(|(id, account)| (id, account.version));
                let hub = hub.clone();
                let work = self.passwords.verify(password, hash, move |is_right| {
                    let proof = by_password(account.filter(|_| is_right), link, payload);
                    // An error means that the hub has ended.
                    let _ = hub.blocking_send(HubInput::Account { connection, ask, proof });
                });
                work.err()
            }
            LoginPayload::Token { token, link, payload } => {
                let Some(jwt) = self.jwt.clone() else {
                    return Some(AccountProof::Unreadable("tokens are not taken here"));
                };
                let (hub, sight) = (hub.clone(), self.sight.clone());
                tokio::spawn(async move {
                    let proof = match jwt.check(&token).await {
                        Ok(subject) => by_token(&jwt, subject, link, payload),
                        Err(why) => {
                            sight.token_refused(connection, &why);
                            AccountProof::Wrong
                        }
                    };
                    let _ = hub.send(HubInput::Account { connection, ask, proof }).await;
                });
                None
            }
        }
    }
}

fn by_password(
    account: Option<(AccountId, u32)>,
    link: Option<Link>,
    payload: Bytes,
) -> AccountProof {
    match account {
        Some((account, version)) => AccountProof::Password { account, version, link, payload },
        None => AccountProof::Wrong,
    }
}

fn by_token(jwt: &Jwt, subject: String, link: Option<Link>, payload: Bytes) -> AccountProof {
    let (issuer, create) = (jwt.issuer().to_owned(), jwt.creates());
    AccountProof::Token { issuer, subject, create, link, payload }
}
