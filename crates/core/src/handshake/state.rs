//! The handshake of one connection: what is known of its client before it is attached to a session. Each
//! state has its own data. A state that waits for an answer has the number of its question, and the answer
//! repeats it: one to an earlier question, or to a question of another state, finds nothing to act on.

use bytes::Bytes;
use rejoin_wire::v1::Hello;

use crate::account::{Change, Link};
use crate::id::{AccountId, PlayerId};
use crate::secret::Secret;
use crate::session::Identity;

/// Names one question that the handshake of a connection has asked its driver. The answer repeats it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct AskId(pub u32);

/// A player that a hello has proven to be.
#[derive(Clone)]
pub(crate) struct LoginClaim {
    pub hello: Hello,
    /// The player that is to be let in.
    pub player: PlayerId,
    /// The player that its key or secret would be alone.
    pub credential: PlayerId,
    pub identity: Identity,
    /// A secret that was minted for this login.
    pub minted: Option<Secret>,
    /// The key's signature has been verified.
    pub signed: bool,
    /// The account that it logs in to, and the version of it to which it has proven itself.
    pub account: Option<(AccountId, u32)>,
    /// What becomes of its key with that login.
    pub link: Option<Link>,
    /// What must become of the account before it is let in.
    pub change: Option<Change>,
    /// What is for the game; none: all that came along.
    pub payload: Option<Bytes>,
}

impl LoginClaim {
    /// A claim of somebody who needs no signature: by a secret, by a token, or anonymous.
    pub(crate) fn unsigned(hello: Hello, player: PlayerId, identity: Identity) -> Self {
        Self {
            hello,
            player,
            credential: player,
            identity,
            minted: None,
            signed: false,
            account: None,
            link: None,
            change: None,
            payload: None,
        }
    }
}

/// A hello whose signature is being verified.
pub(crate) struct Signing {
    hello: Hello,
    /// The player of the key that must have signed it.
    key: PlayerId,
    /// The player of the session that it resumes: another one where its key is one of an account.
    player: PlayerId,
}

impl Signing {
    pub(crate) fn new(hello: Hello, key: PlayerId, player: PlayerId) -> Self {
        Self { hello, key, player }
    }

    pub(crate) fn hello(&self) -> &Hello {
        &self.hello
    }

    /// The signature is good.
    pub(crate) fn signed(self) -> LoginClaim {
        let claim = LoginClaim::unsigned(self.hello, self.player, Identity::Key);
        LoginClaim { credential: self.key, signed: true, ..claim }
    }
}

/// How far a handshake is.
pub(crate) enum Handshake {
    /// The challenge is sent. A hello is signed together with this nonce.
    Challenged { nonce: [u8; 32] },
    /// The hub decides about the hello. No connection is in this state between two inputs.
    Deciding,
    /// The driver verifies a signature.
    Signing(AskId, Box<Signing>),
    /// The driver looks for a password or a token of an account.
    Proving(AskId, Box<LoginClaim>),
    /// The game is asked whether the player may come in.
    Admitting(AskId, Box<LoginClaim>),
    /// Something must be committed before the hello is decided: its account, or a ban.
    Preparing(AskId, Box<LoginClaim>),
}

impl Handshake {
    /// The state that this answer is for, or the handshake as it was.
    pub(crate) fn signing(self, ask: AskId) -> Result<Signing, Self> {
        match self {
            Self::Signing(asked, signing) if asked == ask => Ok(*signing),
            other => Err(other),
        }
    }

    /// The claim whose account was asked about, or the handshake as it was.
    pub(crate) fn proving(self, ask: AskId) -> Result<LoginClaim, Self> {
        match self {
            Self::Proving(asked, claim) if asked == ask => Ok(*claim),
            other => Err(other),
        }
    }

    /// The claim about which the game was asked, or the handshake as it was.
    pub(crate) fn admitting(self, ask: AskId) -> Result<LoginClaim, Self> {
        match self {
            Self::Admitting(asked, claim) if asked == ask => Ok(*claim),
            other => Err(other),
        }
    }

    /// The claim that waited for this commit, or the handshake as it was.
    pub(crate) fn preparing(self, ask: AskId) -> Result<LoginClaim, Self> {
        match self {
            Self::Preparing(asked, claim) if asked == ask => Ok(*claim),
            other => Err(other),
        }
    }

    /// Whether somebody outside the server is asked, who may never answer.
    pub(crate) fn is_asking(&self, ask: AskId) -> bool {
        match self {
            Self::Proving(asked, _) | Self::Admitting(asked, _) => *asked == ask,
            Self::Challenged { .. } | Self::Deciding | Self::Signing(..) | Self::Preparing(..) => {
                false
            }
        }
    }
}
