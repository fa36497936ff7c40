//! The text that a key signs to prove itself: what a `KeyProof` is over.
//!
//! Owns the layout of that text and nothing else: no keys, no signatures. A client in another
//! language builds the same bytes; `vectors/proof.json` shows them.
//!
//! # Layout
//!
//! The text is the tag `rejoin.v1 proof` (15 bytes of ASCII, no length), then eleven fields in this
//! order. Each field is its length as four bytes, highest first, and then its bytes; numbers are
//! written highest byte first.
//!
//! | field | bytes |
//! |---|---|
//! | purpose | `login`, `resume` or `link` in ASCII |
//! | version | 4: the version of the hello |
//! | server name | UTF-8, as in the hello |
//! | nonce | 32: that of this connection's challenge |
//! | session | 8: the session id, 0 if there is none |
//! | epoch | 8: the epoch in the hello, 0 if there is none |
//! | fresh | 1: 1 when the login asks for a fresh session, otherwise 0 |
//! | cold | 1: 1 when the resume is cold, otherwise 0 |
//! | capabilities | for each, in the order of the hello: its length as four bytes, then UTF-8 |
//! | admission | the admission payload of the hello; empty where it has none |
//! | channel binding | what this side's own transport gives for the channel; empty where it gives none |
//!
//! # What an attacker gains if this is got wrong
//!
//! A text that two different inputs share lets a signature that was given for one be used for the
//! other: a login on a hostile server replayed at an honest one, or a resume turned into a link.
//! A field of the hello that the text leaves out is one that whoever forwards the hello may change:
//! `fresh` would end a session its player wanted back, `cold` would throw away its streams. Hence a length before every field, and every field in the text. Server name and channel binding
//! are each side's own knowledge (the name it dialled, the channel it holds): whoever copies them
//! from a challenge signs whatever a relay in the middle forwards.

/// What the signature is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// A hello that logs in.
    Login,
    /// A hello that resumes a session.
    Resume,
    /// Joining a guest to an account.
    Link,
}

impl Purpose {
    /// The word in the signed text.
    pub const fn as_str(self) -> &'static str {
        match self {
            Purpose::Login => "login",
            Purpose::Resume => "resume",
            Purpose::Link => "link",
        }
    }
}

/// All that a signature covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Proof<'a> {
    /// What the signature is for.
    pub purpose: Purpose,
    /// The version of the protocol, as the hello says it.
    pub version: u32,
    /// The name that the client dialled.
    pub server_name: &'a str,
    /// The challenge of this connection.
    pub nonce: &'a [u8],
    /// The session to resume, 0 for none.
    pub session: u64,
    /// The epoch that the client remembers, 0 for none.
    pub epoch: u64,
    /// Whether the login asks to end a held session instead of returning to it.
    pub fresh: bool,
    /// Whether the resume comes without its streams.
    pub cold: bool,
    /// What the client offered, in the order in which it did.
    pub capabilities: &'a [String],
    /// What the hello carries for the game's admission rule.
    pub admission: &'a [u8],
    /// What binds the signature to this channel, from this side's own transport; empty where the
    /// transport has no such thing.
    pub channel_binding: &'a [u8],
}

/// The bytes that the key signs. No two different proofs give the same bytes.
pub fn signed_text(proof: &Proof<'_>) -> Vec<u8> {
    let mut capabilities = Vec::new();
    for capability in proof.capabilities {
        put(&mut capabilities, capability.as_bytes());
    }

    let mut text = TAG.to_vec();
    put(&mut text, proof.purpose.as_str().as_bytes());
    put(&mut text, &proof.version.to_be_bytes());
    put(&mut text, proof.server_name.as_bytes());
    put(&mut text, proof.nonce);
    put(&mut text, &proof.session.to_be_bytes());
    put(&mut text, &proof.epoch.to_be_bytes());
    put(&mut text, &[u8::from(proof.fresh)]);
    put(&mut text, &[u8::from(proof.cold)]);
    put(&mut text, &capabilities);
    put(&mut text, proof.admission);
    put(&mut text, proof.channel_binding);
    text
}

/// Separates these signatures from whatever else the same key may ever sign.
const TAG: &[u8] = b"rejoin.v1 proof";

/// Appends a field. No field reaches 4 GiB: the largest frame has 2 MiB.
fn put(text: &mut Vec<u8>, field: &[u8]) {
    let len = u32::try_from(field.len()).unwrap_or(u32::MAX);
    text.extend_from_slice(&len.to_be_bytes());
    text.extend_from_slice(field);
}

#[cfg(test)]
mod tests;
