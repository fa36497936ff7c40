//! Fingerprints of requests. A key that comes again must come with the same request; what is kept
//! of the first one is this.

/// The fingerprint of a request.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Print([u8; 16]);

impl Print {
    /// Of these parts, in this order. No two lists of parts give the same bytes.
    pub(crate) fn of<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let mut hasher = blake3::Hasher::new();
        for part in parts {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part);
        }
        let mut print = [0; 16];
        hasher.finalize_xof().fill(&mut print);
        Self(print)
    }

    pub(crate) fn to_vec(self) -> Vec<u8> {
        self.0.to_vec()
    }

    pub(crate) fn from_slice(bytes: &[u8]) -> Self {
        Self(bytes.try_into().unwrap_or_default())
    }
}
