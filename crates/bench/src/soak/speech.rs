//! What is said in a soak: numbered, by whom, so that whoever hears it knows what is missing.

use std::collections::BTreeMap;

use bytes::{BufMut, Bytes, BytesMut};

/// Something said.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Speech {
    /// To all others: the number of this speaker's saying.
    Say { by: u32, number: u64 },
    /// A request, and its reply.
    Ask { by: u32, number: u64 },
    /// By the zone: the number of its tick.
    Tick { number: u64 },
}

impl Speech {
    pub(crate) fn bytes(self) -> Bytes {
        let (kind, by, number) = match self {
            Self::Say { by, number } => (0, by, number),
            Self::Ask { by, number } => (1, by, number),
            Self::Tick { number } => (2, 0, number),
        };
        let mut bytes = BytesMut::with_capacity(13);
        bytes.put_u8(kind);
        bytes.put_u32(by);
        bytes.put_u64(number);
        bytes.freeze()
    }

    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let (kind, rest) = bytes.split_first()?;
        let by = u32::from_be_bytes(rest.get(..4)?.try_into().ok()?);
        let number = u64::from_be_bytes(rest.get(4..12)?.try_into().ok()?);
        match kind {
            0 => Some(Self::Say { by, number }),
            1 => Some(Self::Ask { by, number }),
            2 => Some(Self::Tick { number }),
            _ => None,
        }
    }
}

/// How far every speaker of a zone has come.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Standing {
    pub(crate) ticks: u64,
    pub(crate) sayings: BTreeMap<u32, u64>,
}

impl Standing {
    pub(crate) fn bytes(&self) -> Bytes {
        let mut bytes = BytesMut::new();
        bytes.put_u64(self.ticks);
        for (by, number) in &self.sayings {
            bytes.put_u32(*by);
            bytes.put_u64(*number);
        }
        bytes.freeze()
    }

    /// None: this zone does not tell, as the relay of the server.
    pub(crate) fn read(bytes: &[u8]) -> Option<Self> {
        let ticks = u64::from_be_bytes(bytes.get(..8)?.try_into().ok()?);
        let row = |row: &[u8]| {
            let by = u32::from_be_bytes(row.get(..4)?.try_into().ok()?);
            Some((by, u64::from_be_bytes(row.get(4..12)?.try_into().ok()?)))
        };
        let sayings: Option<_> = bytes[8..].chunks(12).map(row).collect();
        Some(Self { ticks, sayings: sayings? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speech_and_standing_are_read_as_they_were_written() {
        for speech in [
            Speech::Say { by: 7, number: 1 << 40 },
            Speech::Ask { by: 8, number: 2 },
            Speech::Tick { number: 3 },
        ] {
            assert_eq!(Speech::read(&speech.bytes()), Some(speech));
        }
        assert_eq!(Speech::read(&[9; 13]), None);
        let standing = Standing { ticks: 5, sayings: BTreeMap::from([(1, 2), (3, 4)]) };
        assert_eq!(Standing::read(&standing.bytes()), Some(standing));
        assert_eq!(Standing::read(&[]), None);
    }
}
