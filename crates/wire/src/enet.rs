//! What Rejoin adds to ENet: which channel carries what, and the short exchange before a connection
//! in which a client proves that it is where it says it is. No I/O here; the keys behind a cookie are
//! the server's own business.
//!
//! A client asks, the server answers with a cookie and remembers nothing, and the client puts the
//! cookie before its ENet connect. The answer is shorter than the question, so that a question with
//! a forged address is worth nothing to whoever forged it. The answer also says whether the server
//! encrypts; then the handshake for that takes the place of the connect, and the connect comes sealed.

pub mod datagram;

/// The channel of everything that must arrive, in order: numbered frames, acknowledgements, control.
pub const RELIABLE: u8 = 0;
/// The channel of `Loose` frames, which may be lost.
pub const UNRELIABLE: u8 = 1;
/// How many channels there are.
pub const CHANNELS: usize = 2;
/// A `Loose` frame up to this length goes as a datagram of its own; a longer one as if it were
/// reliable, because each piece of it could be lost.
pub const LOOSE_BYTES_MAX: usize = 1_200;

/// A proof of address.
pub type Cookie = [u8; 32];

/// How long a question is, no more and no less.
pub const QUESTION_BYTES: usize = 64;
/// How long an answer is.
pub const ANSWER_BYTES: usize = HEAD_BYTES + 32;

const HEAD_BYTES: usize = 8;
/// What a datagram of ours begins with. To ENet it would be a compressed connect without a time, which
/// it never sends: a connect wants to be acknowledged, and that needs the time.
const MAGIC: [u8; 6] = [0x7f, 0xff, b'R', b'J', b'E', b'1'];
const QUESTION: u8 = 1;
const ANSWER: u8 = 2;
const CONNECT: u8 = 3;
const BEGIN: u8 = 4;
const BEGUN: u8 = 5;

/// Whether a server encrypts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Offer {
    /// It does not; a client that requires encryption gives up.
    Plain,
    /// It does where the client asks for it, and also takes plain connections.
    Either,
    /// It takes encrypted connections only.
    Sealed,
}

impl Offer {
    const ALL: [Self; 3] = [Self::Plain, Self::Either, Self::Sealed];

    fn byte(self) -> u8 {
        match self {
            Self::Plain => 0,
            Self::Either => 1,
            Self::Sealed => 2,
        }
    }
}

/// What a server answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Answer {
    /// The proof of address.
    pub cookie: Cookie,
    /// Whether it encrypts.
    pub offer: Offer,
}

/// A datagram of this exchange, as a server reads it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Asked<'a> {
    /// A client wants a cookie; answered with fewer bytes than it sent.
    Question,
    /// A connect of ENet, with a cookie to be checked before it.
    Connect {
        /// What the sender shows as its cookie; it is not checked here.
        cookie: Cookie,
        /// ENet's datagram, which follows the cookie.
        datagram: &'a [u8],
    },
    /// The first message of a handshake for encryption, with a cookie before it.
    Begin {
        /// What the sender shows as its cookie; it is not checked here.
        cookie: Cookie,
        /// The client's message, which follows the cookie; any length, also none.
        message: &'a [u8],
    },
}

impl<'a> Asked<'a> {
    /// Reads a datagram; none if it does not belong to this exchange.
    #[must_use]
    pub fn read(datagram: &'a [u8]) -> Option<Self> {
        match open(datagram)? {
            (QUESTION, _) if datagram.len() == QUESTION_BYTES => Some(Self::Question),
            (CONNECT, rest) => {
                let (cookie, datagram) = rest.split_first_chunk()?;
                Some(Self::Connect { cookie: *cookie, datagram })
            }
            (BEGIN, rest) => {
                let (cookie, message) = rest.split_first_chunk()?;
                Some(Self::Begin { cookie: *cookie, message })
            }
            _ => None,
        }
    }
}

/// Asks for a cookie.
#[must_use]
pub fn question() -> [u8; QUESTION_BYTES] {
    let mut question = [0; QUESTION_BYTES];
    question[..HEAD_BYTES].copy_from_slice(&head(QUESTION));
    question
}

impl Answer {
    /// As it is sent. Both ends of a handshake for encryption go by these bytes, so that nobody on the
    /// way has changed them.
    #[must_use]
    pub fn write(&self) -> [u8; ANSWER_BYTES] {
        let mut answer = [0; ANSWER_BYTES];
        answer[..HEAD_BYTES].copy_from_slice(&head(ANSWER));
        answer[HEAD_BYTES - 1] = self.offer.byte();
        answer[HEAD_BYTES..].copy_from_slice(&self.cookie);
        answer
    }

    /// Reads one; none if it is no answer.
    #[must_use]
    pub fn read(datagram: &[u8]) -> Option<Self> {
        let (ANSWER, cookie) = open(datagram)? else { return None };
        let byte = datagram.get(HEAD_BYTES - 1)?;
        let offer = Offer::ALL.into_iter().find(|offer| offer.byte() == *byte)?;
        Some(Self { cookie: cookie.try_into().ok()?, offer })
    }
}

/// A connect of ENet with its cookie before it.
#[must_use]
pub fn with_cookie(cookie: &Cookie, connect: &[u8]) -> Vec<u8> {
    [&head(CONNECT)[..], cookie, connect].concat()
}

/// The first message of a handshake for encryption with its cookie before it.
#[must_use]
pub fn begin(cookie: &Cookie, message: &[u8]) -> Vec<u8> {
    [&head(BEGIN)[..], cookie, message].concat()
}

/// The server's message of that handshake.
#[must_use]
pub fn begun(message: &[u8]) -> Vec<u8> {
    [&head(BEGUN)[..], message].concat()
}

/// The message in it; none if it is none.
#[must_use]
pub fn read_begun(datagram: &[u8]) -> Option<&[u8]> {
    match open(datagram)? {
        (BEGUN, message) => Some(message),
        _ => None,
    }
}

/// The channel on which the server sends this frame, written as protobuf.
#[must_use]
pub fn channel_of_server(frame: &[u8]) -> u8 {
    channel(frame, TAG_SERVER_LOOSE)
}

/// The channel on which a client sends this frame, written as protobuf.
#[must_use]
pub fn channel_of_client(frame: &[u8]) -> u8 {
    channel(frame, TAG_CLIENT_LOOSE)
}

/// With what a frame begins that is `Loose`: the number of the field, and that a length follows.
const TAG_SERVER_LOOSE: u8 = 5 << 3 | 2;
const TAG_CLIENT_LOOSE: u8 = 3 << 3 | 2;

fn channel(frame: &[u8], loose: u8) -> u8 {
    let is_loose = frame.first() == Some(&loose) && frame.len() <= LOOSE_BYTES_MAX;
    if is_loose { UNRELIABLE } else { RELIABLE }
}

fn head(kind: u8) -> [u8; HEAD_BYTES] {
    let [a, b, c, d, e, f] = MAGIC;
    [a, b, c, d, e, f, kind, 0]
}

/// The kind of a datagram of ours, and what follows its head.
fn open(datagram: &[u8]) -> Option<(u8, &[u8])> {
    let [kind, _, rest @ ..] = datagram.strip_prefix(&MAGIC)? else { return None };
    Some((*kind, rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::v1::{ClientFrame, Loose, ServerFrame, client_frame, server_frame};
    use crate::{Encoding, encode_client, encode_server};

    #[test]
    fn an_answer_is_shorter_than_its_question() {
        let answer = Answer { cookie: [7; 32], offer: Offer::Either };
        assert!(answer.write().len() <= question().len());
        assert_eq!(Asked::read(&question()), Some(Asked::Question));
        assert_eq!(Asked::read(&question()[..QUESTION_BYTES - 1]), None);
        assert_eq!(Answer::read(&answer.write()), Some(answer));
        assert_eq!(Answer::read(&question()), None);
    }

    #[test]
    fn a_handshake_carries_its_cookie_and_is_told_from_the_rest() {
        let asked = Asked::Begin { cookie: [3; 32], message: b"first" };
        assert_eq!(Asked::read(&begin(&[3; 32], b"first")), Some(asked));
        assert_eq!(read_begun(&begun(b"second")), Some(&b"second"[..]));
        assert_eq!(read_begun(&begin(&[3; 32], b"first")), None);
    }

    #[test]
    fn a_connect_carries_its_cookie() {
        let stamped = with_cookie(&[9; 32], b"connect");
        let asked = Asked::Connect { cookie: [9; 32], datagram: b"connect" };
        assert_eq!(Asked::read(&stamped), Some(asked));
        for len in 0..HEAD_BYTES + 32 {
            assert_eq!(Asked::read(&stamped[..len]), None);
        }
    }

    #[test]
    fn only_short_loose_frames_may_be_lost() {
        let loose = |len: usize| Loose { leg: 1, payload: vec![0; len].into() };
        let up = |len| {
            let frame = ClientFrame { frame: Some(client_frame::Frame::Loose(loose(len))) };
            channel_of_client(&encode_client(Encoding::Protobuf, &frame).expect("good"))
        };
        let down = |len| {
            let frame = ServerFrame { frame: Some(server_frame::Frame::Loose(loose(len))) };
            channel_of_server(&encode_server(Encoding::Protobuf, &frame).expect("good"))
        };
        assert_eq!((up(10), down(10)), (UNRELIABLE, UNRELIABLE));
        assert_eq!((up(1_200), down(1_200)), (RELIABLE, RELIABLE));
        let ping = ClientFrame { frame: Some(client_frame::Frame::Ping(Default::default())) };
        let ping = encode_client(Encoding::Protobuf, &ping).expect("good");
        assert_eq!(channel_of_client(&ping), RELIABLE);
    }
}
