//! Which frame may come in which stage of a connection. There is no other place where this is decided.

use rejoin_wire::v1::{ClientFrame, client_frame};

/// The states that a connection shows to the outside.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ConnectionState {
    /// It has been challenged and is not let in yet.
    Connecting,
    /// It speaks for a session that is in no zone.
    Connected,
    /// It speaks for a session in a zone.
    InGame,
    /// Its Farewell or Refusal is on its way.
    Disconnecting,
    /// The transport has closed it.
    Disconnected,
}

/// Kinds of client frames, as the table knows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FrameKind {
    /// The answer to the challenge.
    Hello,
    /// A numbered message, join, part, answer or bye.
    Up,
    /// A message that may be lost.
    Loose,
    /// An acknowledgement of the server's numbered frames.
    Ack,
    /// A question whether the server is there.
    Ping,
    /// The answer to a ping of the server.
    Pong,
}

impl FrameKind {
    /// Every kind that the table has a verdict for.
    pub const ALL: [Self; 6] =
        [Self::Hello, Self::Up, Self::Loose, Self::Ack, Self::Ping, Self::Pong];

    /// The kind of a frame.
    #[must_use]
    pub fn of(frame: &ClientFrame) -> Option<Self> {
        Some(match frame.frame.as_ref()? {
            // The decoder lets none through.
            client_frame::Frame::Packed(_) => return None,
            client_frame::Frame::Hello(_) => Self::Hello,
            client_frame::Frame::Up(_) => Self::Up,
            client_frame::Frame::Loose(_) => Self::Loose,
            client_frame::Frame::Ack(_) => Self::Ack,
            client_frame::Frame::Ping(_) => Self::Ping,
            client_frame::Frame::Pong(_) => Self::Pong,
        })
    }

    /// What a frame of so many bytes takes from its sender's budgets of messages and of bytes.
    /// Acknowledgements and pongs are answers to what we send, and no messages: they cost their bytes,
    /// and a little more, so that a flood of them is one. A ping is answered, so it is a message.
    #[must_use]
    pub fn cost(self, bytes: usize) -> (u32, u32) {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        match self {
            Self::Ack | Self::Pong => (0, bytes.max(ANSWER_BYTES_MIN)),
            Self::Hello | Self::Up | Self::Loose | Self::Ping => (1, bytes),
        }
    }
}

/// What an acknowledgement costs at least: a thousand a second are within the defaults.
const ANSWER_BYTES_MIN: u32 = 64;

/// What becomes of a frame.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// It is read.
    Take,
    /// It breaks the rules: the connection is closed `OutOfState`.
    Violation,
    /// It comes too late to matter.
    Ignore,
}

/// The stages of a connection, as the table knows them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stage {
    /// The challenge is sent, and no frame has come.
    AwaitingHello,
    /// The hello is being decided: nothing may come before the Welcome.
    Deciding,
    /// The Welcome is sent.
    Live,
    /// The Farewell or Refusal is sent, or will be once its reason is committed.
    Closing,
}

impl Stage {
    /// Every stage, in the order in which a connection passes through them.
    pub const ALL: [Self; 4] = [Self::AwaitingHello, Self::Deciding, Self::Live, Self::Closing];

    /// When that is, for people.
    #[must_use]
    pub const fn text(self) -> &'static str {
        match self {
            Self::AwaitingHello => "before the hello",
            Self::Deciding => "before the Welcome",
            Self::Live => "after the Welcome",
            Self::Closing => "after the last word",
        }
    }
}

/// Says what becomes of a frame of this kind in this stage.
#[must_use]
pub fn table(stage: Stage, frame: FrameKind) -> Verdict {
    use FrameKind as F;
    match (stage, frame) {
        (Stage::AwaitingHello, F::Hello) => Verdict::Take,
        (Stage::AwaitingHello, F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => Verdict::Violation,
        (Stage::Deciding, F::Hello | F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => {
            Verdict::Violation
        }
        (Stage::Live, F::Hello) => Verdict::Violation,
        (Stage::Live, F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => Verdict::Take,
        (Stage::Closing, F::Hello | F::Up | F::Loose | F::Ack | F::Ping | F::Pong) => {
            Verdict::Ignore
        }
    }
}
