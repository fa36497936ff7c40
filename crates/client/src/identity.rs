//! Who the client says it is, and what it must keep to be believed again. Nothing here has a Debug
//! that shows a secret, and nothing here makes one: keys belong to the driver, tokens and guest
//! secrets come from the server.

use std::fmt;

/// 32 bytes that open a door: a resume token or a guest secret.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    /// Takes the bytes that were stored.
    #[must_use]
    pub const fn new(bytes: [u8; 32]) -> Self {
        Self(bytes)
    }

    /// The bytes, for the store and for the wire. They belong in no log.
    #[must_use]
    pub const fn expose(&self) -> &[u8; 32] {
        &self.0
    }

    pub(crate) fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

/// Holds an Ed25519 key and signs with it.
///
/// An attacker who can have a text of its own signed can log in as this player anywhere: an
/// implementation signs what the client hands it and offers signing to nobody else.
pub trait Signer: Send {
    /// The public key, from which the player's id derives.
    fn public_key(&self) -> [u8; 32];
    /// The signature over a text.
    fn sign(&self, text: &[u8]) -> [u8; 64];
}

/// How a player is known.
pub enum Identity {
    /// By a key that the client made on its first run and keeps.
    Key(Box<dyn Signer>),
    /// By a secret that the server minted; none asks for one, and [`Output::StoreSecret`] brings it.
    ///
    /// [`Output::StoreSecret`]: crate::Output::StoreSecret
    Secret(Option<Secret>),
    /// Not at all: only the resume token leads back.
    Anonymous,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Identity::Key(_) => "Key",
            Identity::Secret(Some(_)) => "Secret",
            Identity::Secret(None) => "Secret(to be minted)",
            Identity::Anonymous => "Anonymous",
        })
    }
}

/// What leads back to a session after the process has ended.
#[derive(Clone)]
pub struct ResumeState {
    /// The id of the session, as its last welcome named it; a cold resume asks for this one.
    pub session: u64,
    /// The newest token.
    pub token: Secret,
    /// The epoch of the welcome that brought it.
    pub epoch: u64,
}

impl fmt::Debug for ResumeState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ResumeState")
            .field("session", &self.session)
            .field("epoch", &self.epoch)
            .finish_non_exhaustive()
    }
}
