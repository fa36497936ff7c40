//! Looks into a datagram of ENet without ENet: which commands it holds, and where each begins. That
//! is enough to let a part of it through: acknowledgements stand first, so a datagram that is cut
//! before its first message still tells what has arrived.

/// In place of a peer's number: the sender has none yet.
const NO_PEER: u16 = 0xfff;
/// The time stands in the head.
const HAS_TIME: u16 = 0x8000;
const IS_COMPRESSED: u16 = 0x4000;
/// The sender's number here, and which of that number's users it is.
const IDS: u16 = 0x3fff;
/// The answer to a connect, which gives the peer its number.
const VERIFY_CONNECT: u8 = 3;
const KIND_BITS: u8 = 0x0f;
/// The bytes of each command, without the data of those that carry some.
const COMMAND_BYTES: [usize; 13] = [0, 8, 48, 44, 8, 4, 6, 8, 24, 8, 12, 16, 24];

/// A datagram whose head could be read.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    bytes: &'a [u8],
    /// The sender has no number here yet: all it may say is that it wants one.
    pub is_from_stranger: bool,
    /// The sender's clock, if it was told.
    pub sent_time: Option<u16>,
    body_at: usize,
}

/// One command of a datagram.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Command {
    /// Where it begins.
    pub at: usize,
    /// Where it ends, with its data.
    pub end: usize,
    /// What it is.
    pub kind: Kind,
    /// On which channel.
    pub channel: u8,
    /// Its reliable number; for an unreliable message, that of the last reliable one before it.
    pub number: u16,
}

/// What a command is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// Something arrived, which was sent when the receiver's clock showed this.
    Acknowledge {
        /// The low 16 bits of the receiver's clock, which wrap about once a minute.
        sent_time: u16,
    },
    /// A connection is wanted.
    Connect {
        /// The client's own number for it.
        id: u32,
    },
    /// A reliable message.
    Reliable,
    /// A piece of a reliable message.
    Fragment(Fragment),
    /// An unreliable message that is dropped when a later one has come.
    Unreliable,
    /// A piece of an unreliable message.
    UnreliableFragment {
        /// The bytes of the whole message.
        total: u32,
    },
    /// An unreliable message without an order.
    Unsequenced,
    /// Anything else, which carries no message.
    Control,
}

impl Kind {
    /// Whether it carries a message, a piece of one, or asks for a connection.
    #[must_use]
    pub fn is_message(self) -> bool {
        !matches!(self, Self::Acknowledge { .. } | Self::Control)
    }
}

/// Which piece of which message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Fragment {
    /// The reliable number of the first piece.
    pub start: u16,
    /// How many pieces.
    pub count: u32,
    /// Which of them, from 0.
    pub number: u32,
    /// The bytes of the whole message.
    pub total: u32,
}

impl<'a> Datagram<'a> {
    /// Reads the head; none for what no peer of ours sends.
    #[must_use]
    pub fn read(bytes: &'a [u8]) -> Option<Self> {
        let flags = u16_at(bytes, 0)?;
        if flags & IS_COMPRESSED != 0 {
            return None;
        }
        let sent_time = match flags & HAS_TIME != 0 {
            true => Some(u16_at(bytes, 2)?),
            false => None,
        };
        let body_at = if sent_time.is_some() { 4 } else { 2 };
        let is_from_stranger = flags & NO_PEER == NO_PEER;
        Some(Self { bytes, is_from_stranger, sent_time, body_at })
    }

    /// The sender's number and session, as the head says them.
    #[must_use]
    pub fn ids(&self) -> u16 {
        u16_at(self.bytes, 0).unwrap_or(NO_PEER) & IDS
    }

    /// The number and session that the receiver is given by this, if it is.
    #[must_use]
    pub fn given_ids(&self) -> Option<u16> {
        let is_answer = |found: &Command| self.bytes[found.at] & KIND_BITS == VERIFY_CONNECT;
        let at = self.commands().find(is_answer)?.at;
        let (number, session) = (u16_at(self.bytes, at + 4)?, *self.bytes.get(at + 7)?);
        Some((number & NO_PEER) | (u16::from(session & 3) << 12))
    }

    /// The commands, one after the other. What ENet would stop at ends them here as well.
    #[must_use]
    pub fn commands(&self) -> Commands<'a> {
        Commands { bytes: self.bytes, at: self.body_at }
    }

    /// How long it is up to its first message: what stands before it can be taken all the same.
    #[must_use]
    pub fn bytes_before_messages(&self) -> usize {
        let first = self.commands().find(|command| command.kind.is_message());
        first.map_or(self.bytes.len(), |command| command.at)
    }

    /// The connect of a stranger, if that is all there is in it.
    #[must_use]
    pub fn connect(&self) -> Option<u32> {
        let mut commands = self.commands();
        match commands.next()?.kind {
            Kind::Connect { id } if self.is_from_stranger && commands.at == self.bytes.len() => {
                Some(id)
            }
            _ => None,
        }
    }
}

/// The commands of a datagram.
#[derive(Clone, Debug)]
pub struct Commands<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Iterator for Commands<'_> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        let (bytes, at) = (self.bytes, self.at);
        let kind = *bytes.get(at)? & KIND_BITS;
        let fixed = *COMMAND_BYTES.get(usize::from(kind))?;
        if fixed == 0 || at + fixed > bytes.len() {
            return None;
        }
        let data = match kind {
            6 => u16_at(bytes, at + 4)?,
            7 | 8 | 9 | 12 => u16_at(bytes, at + 6)?,
            _ => 0,
        };
        let end = at + fixed + usize::from(data);
        if end > bytes.len() {
            return None;
        }
        self.at = end;
        let kind = match kind {
            1 => Kind::Acknowledge { sent_time: u16_at(bytes, at + 6)? },
            2 => Kind::Connect { id: u32_at(bytes, at + 40)? },
            6 => Kind::Reliable,
            7 => Kind::Unreliable,
            8 => Kind::Fragment(Fragment {
                start: u16_at(bytes, at + 4)?,
                count: u32_at(bytes, at + 8)?,
                number: u32_at(bytes, at + 12)?,
                total: u32_at(bytes, at + 16)?,
            }),
            9 => Kind::Unsequenced,
            12 => Kind::UnreliableFragment { total: u32_at(bytes, at + 16)? },
            _ => Kind::Control,
        };
        Some(Command { at, end, kind, channel: bytes[at + 1], number: u16_at(bytes, at + 2)? })
    }
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|two| u16::from_be_bytes(*two))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|four| u32::from_be_bytes(*four))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_where_they_are() {
        let mut bytes = vec![0x80, 0x05, 0x12, 0x34];
        // An acknowledgement, a reliable message of three bytes, a ping.
        bytes.extend([0x01, 0xff, 0, 1, 0, 1, 0xab, 0xcd]);
        bytes.extend([0x86, 0, 0, 9, 0, 3, b'a', b'b', b'c']);
        bytes.extend([0x85, 0xff, 0, 2]);
        let datagram = Datagram::read(&bytes).expect("a head");
        assert_eq!((datagram.is_from_stranger, datagram.sent_time), (false, Some(0x1234)));
        let found: Vec<_> = datagram.commands().collect();
        let kinds: Vec<_> = found.iter().map(|found| (found.at, found.kind)).collect();
        let acknowledge = Kind::Acknowledge { sent_time: 0xabcd };
        assert_eq!(kinds, [(4, acknowledge), (12, Kind::Reliable), (21, Kind::Control)]);
        assert_eq!((found[1].channel, found[1].number), (0, 9));
    }

    #[test]
    fn an_answer_to_a_connect_gives_the_ids_that_the_peer_shows_from_then_on() {
        let mut bytes = vec![0x80, 0x05, 0x12, 0x34];
        bytes.extend([0x01, 0xff, 0, 1, 0, 1, 0xab, 0xcd]);
        // For number 0x123 here; the sender's session is 1, the receiver's 2.
        bytes.extend([0x83, 0xff, 0, 1, 0x01, 0x23, 1, 2]);
        bytes.extend([0; 36]);
        let given = Datagram::read(&bytes).and_then(|found| found.given_ids());
        assert_eq!(given, Some(0x2123));
        let shown = Datagram::read(&[0xa1, 0x23, 0, 0, 0x85, 0xff, 0, 2]).map(|found| found.ids());
        assert_eq!(shown, given);
        assert_eq!(Datagram::read(&bytes[..12]).and_then(|found| found.given_ids()), None);
    }

    #[test]
    fn any_bytes_are_looked_into_without_harm() {
        let mut seed = 7_u32;
        for len in 0..200 {
            for _ in 0..50 {
                let bytes: Vec<u8> = (0..len)
                    .map(|_| {
                        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                        (seed >> 24) as u8
                    })
                    .collect();
                if let Some(datagram) = Datagram::read(&bytes) {
                    let _ = (datagram.ids(), datagram.given_ids());
                    let last = datagram.commands().last();
                    assert!(last.is_none_or(|last| last.at < bytes.len()));
                }
            }
        }
    }

    #[test]
    fn a_connect_stands_alone() {
        let mut bytes = vec![0x8f, 0xff, 0, 0, 0x82, 0xff, 0, 1];
        bytes.extend([0; 36]);
        bytes.extend(77_u32.to_be_bytes());
        bytes.extend([0; 4]);
        assert_eq!(Datagram::read(&bytes).and_then(|found| found.connect()), Some(77));
        bytes.extend([0x85, 0xff, 0, 2]);
        assert_eq!(Datagram::read(&bytes).and_then(|found| found.connect()), None);
    }
}
