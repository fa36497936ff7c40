//! Randomness as an argument: a keyed stream that the driver seeds once with 32 bytes of the
//! operating system's entropy, and the simulator with its seed. Same seed, same stream.
//!
//! An attacker who can predict this stream can forge resume tokens: a driver must seed it from a
//! cryptographic source and never log the seed.

/// A seeded stream of bytes fit for secrets.
pub struct Chance {
    stream: blake3::OutputReader,
}

impl Chance {
    /// The stream that belongs to this seed.
    #[must_use]
    pub fn from_seed(seed: [u8; 32]) -> Self {
        Self { stream: blake3::Hasher::new_keyed(&seed).finalize_xof() }
    }

    /// A stream of its own for a part of the machine, named by `purpose` and `number`.
    #[must_use]
    pub fn branch(&mut self, purpose: &str, number: u64) -> Self {
        let mut hasher = blake3::Hasher::new_keyed(&self.bytes());
        hasher.update(purpose.as_bytes());
        hasher.update(&number.to_be_bytes());
        Self { stream: hasher.finalize_xof() }
    }

    /// The next `N` bytes.
    pub fn bytes<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        self.stream.fill(&mut bytes);
        bytes
    }

    /// A number below `end`; 0 when `end` is 0.
    pub fn below(&mut self, end: u64) -> u64 {
        let wide = u128::from(u64::from_le_bytes(self.bytes())) * u128::from(end);
        (wide >> 64) as u64
    }
}

impl std::fmt::Debug for Chance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Chance(..)")
    }
}
