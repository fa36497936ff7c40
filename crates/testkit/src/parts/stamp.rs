//! A stand-in for Ed25519: who knows the secret can sign, and the world can tell. The core leaves
//! the primitive to its driver, so a simulation may choose a fast one.

use rejoin_client::Signer;

/// A secret that signs.
pub struct Stamp(pub [u8; 32]);

impl Stamp {
    /// The "public key" of a secret.
    #[must_use]
    pub fn public(secret: &[u8; 32]) -> [u8; 32] {
        blake3::derive_key("rejoin sim public key", secret)
    }

    /// The "signature" of a text.
    #[must_use]
    pub fn sign_with(secret: &[u8; 32], text: &[u8]) -> [u8; 64] {
        let mut signature = [0; 64];
        let mut hasher = blake3::Hasher::new_keyed(secret);
        hasher.update(text);
        hasher.finalize_xof().fill(&mut signature);
        signature
    }
}

impl Signer for Stamp {
    fn public_key(&self) -> [u8; 32] {
        Self::public(&self.0)
    }

    fn sign(&self, text: &[u8]) -> [u8; 64] {
        Self::sign_with(&self.0, text)
    }
}
