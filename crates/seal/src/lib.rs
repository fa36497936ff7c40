//! Encrypts datagrams between a client and a server, for transports that have no TLS.
//!
//! The handshake is `Noise_NX_25519_ChaChaPoly_BLAKE2s`: the client is nobody yet (it logs in later,
//! inside), the server shows its key, and the client decides whether it believes it. After that each
//! datagram carries a counter in the clear, which is its nonce, and is opened once: a window over the
//! last counters finds repeats, and lets late ones in.
//!
//! No I/O here. Fresh keys come from the system's chance.

mod replay;

use std::fmt;

use snow::params::NoiseParams;
use snow::{Builder, HandshakeState, StatelessTransportState};

use self::replay::Replay;

/// By what a server is known.
pub type PublicKey = [u8; 32];

/// What a sealed datagram begins with. To ENet it would be a compressed one, which we never speak.
const MARK: [u8; 2] = [0x7f, 0xfe];
const COUNTER_BYTES: usize = 8;
const TAG_BYTES: usize = 16;
/// How much longer a datagram is when it is sealed.
pub const SEAL_BYTES: usize = MARK.len() + COUNTER_BYTES + TAG_BYTES;
/// How long the first message of a handshake is, and the second.
pub const HANDSHAKE_BYTES: (usize, usize) = (32, 96);

const PATTERN: &str = "Noise_NX_25519_ChaChaPoly_BLAKE2s";

/// Something was not what a peer of ours says, or the system gives no randomness.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SealError;

impl fmt::Display for SealError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the handshake for encryption failed")
    }
}

impl std::error::Error for SealError {}

impl From<snow::Error> for SealError {
    fn from(_: snow::Error) -> Self {
        Self
    }
}

fn builder(prologue: &[u8]) -> Result<Builder<'_>, SealError> {
    let pattern: NoiseParams = PATTERN.parse()?;
    Ok(Builder::new(pattern).prologue(prologue)?)
}

/// The key that a server keeps. Not shown, not even for debugging.
#[derive(Clone)]
pub struct ServerKey {
    private: [u8; 32],
    public: PublicKey,
}

/// Whoever has the same public half has the same key.
impl PartialEq for ServerKey {
    fn eq(&self, other: &Self) -> bool {
        self.public == other.public
    }
}

impl Eq for ServerKey {}

impl fmt::Debug for ServerKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerKey(..)")
    }
}

impl ServerKey {
    /// A new one.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn generate() -> Result<Self, SealError> {
        let pair = builder(&[])?.generate_keypair()?;
        let private = pair.private.try_into().map_err(|_| SealError)?;
        Ok(Self { private, public: pair.public.try_into().map_err(|_| SealError)? })
    }

    /// As it was written by [`ServerKey::to_bytes`].
    #[must_use]
    pub fn from_bytes(bytes: &[u8; 64]) -> Self {
        let (mut private, mut public) = ([0; 32], [0; 32]);
        private.copy_from_slice(&bytes[..32]);
        public.copy_from_slice(&bytes[32..]);
        Self { private, public }
    }

    /// Both halves, to be kept where nobody else reads.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        bytes[..32].copy_from_slice(&self.private);
        bytes[32..].copy_from_slice(&self.public);
        bytes
    }

    /// By what clients know this server.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        self.public
    }

    /// Answers the first message of a client. Both must agree on the prologue: what was said before.
    ///
    /// # Errors
    /// It is no such message.
    pub fn accept(&self, prologue: &[u8], first: &[u8]) -> Result<(Channel, Vec<u8>), SealError> {
        let builder = builder(prologue)?.local_private_key(&self.private)?;
        let mut handshake = builder.build_responder()?;
        handshake.read_message(first, &mut [])?;
        let mut second = vec![0; HANDSHAKE_BYTES.1 + TAG_BYTES];
        let len = handshake.write_message(&[], &mut second)?;
        second.truncate(len);
        Ok((Channel::new(handshake)?, second))
    }
}

/// A client's half of a handshake.
pub struct Opening(Box<HandshakeState>);

impl fmt::Debug for Opening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opening(..)")
    }
}

impl Opening {
    /// Begins: what is to be sent first.
    ///
    /// # Errors
    /// The system gives no randomness.
    pub fn begin(prologue: &[u8]) -> Result<(Self, Vec<u8>), SealError> {
        let mut handshake = builder(prologue)?.build_initiator()?;
        // It wants room for a tag, also where there is none.
        let mut first = vec![0; HANDSHAKE_BYTES.0 + TAG_BYTES];
        let len = handshake.write_message(&[], &mut first)?;
        first.truncate(len);
        Ok((Self(Box::new(handshake)), first))
    }

    /// Takes the server's answer; who it is, is for the caller to believe or not.
    ///
    /// # Errors
    /// It is no such answer, or not to this.
    pub fn finish(mut self, second: &[u8]) -> Result<(Channel, PublicKey), SealError> {
        self.0.read_message(second, &mut [])?;
        let key = self.0.get_remote_static().and_then(|key| key.try_into().ok());
        Ok((Channel::new(*self.0)?, key.ok_or(SealError)?))
    }
}

/// Seals and opens the datagrams of one connection.
pub struct Channel {
    state: StatelessTransportState,
    /// The counter of the next datagram.
    next: u64,
    seen: Replay,
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Channel {
    fn new(handshake: HandshakeState) -> Result<Self, SealError> {
        Ok(Self {
            state: handshake.into_stateless_transport_mode()?,
            next: 0,
            seen: Replay::default(),
        })
    }

    /// Whether a datagram is, or claims to be, sealed.
    #[must_use]
    pub fn is_sealed(datagram: &[u8]) -> bool {
        datagram.starts_with(&MARK)
    }

    /// Seals a datagram; none when it is too long, or after more of them than there are counters.
    pub fn seal(&mut self, datagram: &[u8]) -> Option<Vec<u8>> {
        let counter = self.next;
        let head = MARK.len() + COUNTER_BYTES;
        let mut sealed = vec![0; datagram.len() + SEAL_BYTES];
        sealed[..MARK.len()].copy_from_slice(&MARK);
        sealed[MARK.len()..head].copy_from_slice(&counter.to_be_bytes());
        self.state.write_message(counter, datagram, &mut sealed[head..]).ok()?;
        // The last counter is not for datagrams.
        self.next = counter.checked_add(1).filter(|next| *next < u64::MAX)?;
        Some(sealed)
    }

    /// Opens a datagram, once: its length in `plain`. None for whatever nobody sealed, a repeat, and
    /// what is too late to be told from one.
    pub fn open(&mut self, sealed: &[u8], plain: &mut [u8]) -> Option<usize> {
        let (counter, text) = sealed.strip_prefix(&MARK)?.split_first_chunk()?;
        let counter = u64::from_be_bytes(*counter);
        if !self.seen.is_new(counter) {
            return None;
        }
        let len = self.state.read_message(counter, text, plain).ok()?;
        // Only now: a forged counter moves nothing.
        self.seen.mark(counter);
        Some(len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair() -> (Channel, Channel) {
        let key = ServerKey::generate().expect("chance");
        let (opening, first) = Opening::begin(b"said before").expect("chance");
        let (server, second) = key.accept(b"said before", &first).expect("a first message");
        assert_eq!((first.len(), second.len()), HANDSHAKE_BYTES);
        let (client, shown) = opening.finish(&second).expect("an answer");
        assert_eq!(shown, key.public());
        (client, server)
    }

    #[test]
    fn what_is_sealed_is_opened_once_by_the_other_end() {
        let (mut client, mut server) = pair();
        let mut plain = [0; 100];
        let sealed = client.seal(b"hello").expect("short");
        assert_eq!(sealed.len(), 5 + SEAL_BYTES);
        assert!(!sealed.windows(5).any(|piece| piece == b"hello"));
        assert_eq!(client.open(&sealed, &mut plain), None, "its own");
        assert_eq!(server.open(&sealed, &mut plain), Some(5));
        assert_eq!(&plain[..5], b"hello");
        assert_eq!(server.open(&sealed, &mut plain), None, "a repeat");
    }

    #[test]
    fn every_changed_bit_is_found() {
        let (mut client, mut server) = pair();
        let sealed = client.seal(b"hello").expect("short");
        for bit in 0..sealed.len() * 8 {
            let mut changed = sealed.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(server.open(&changed, &mut [0; 100]), None, "bit {bit}");
        }
        assert_eq!(server.open(&sealed, &mut [0; 100]), Some(5), "nothing was moved by that");
    }

    #[test]
    fn late_ones_are_opened_and_every_repeat_is_dropped() {
        let (mut client, mut server) = pair();
        let sealed: Vec<_> = (0..600).map(|_| client.seal(b"x").expect("short")).collect();
        let mut plain = [0; 10];
        // Each hundred backwards: all are late but the first of each.
        for hundred in sealed.chunks(100) {
            for datagram in hundred.iter().rev() {
                assert_eq!(server.open(datagram, &mut plain), Some(1));
            }
        }
        assert!(sealed.iter().all(|datagram| server.open(datagram, &mut plain).is_none()));
    }

    #[test]
    fn another_prologue_or_key_is_another_channel() {
        let key = ServerKey::generate().expect("chance");
        let (opening, first) = Opening::begin(b"one").expect("chance");
        let (_, second) = key.accept(b"other", &first).expect("it cannot know");
        assert!(opening.finish(&second).is_err());
        assert!(key.accept(b"one", &first[..31]).is_err());
        let again = ServerKey::from_bytes(&key.to_bytes());
        assert_eq!(again.public(), key.public());
        assert_eq!(format!("{key:?}"), "ServerKey(..)");
    }
}
