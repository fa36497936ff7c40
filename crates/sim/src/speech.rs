//! What players and the game say to each other in a simulated world.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use rejoin_core::zone::{BadPayload, Message};

/// What a player can ask the game to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
#[allow(missing_docs)]
pub enum Verb {
    Say,
    Whisper,
    Group,
    Except,
    Latest,
    Clear,
    Loose,
    Burst,
    Panic,
    Kick,
    Transfer,
    Call,
    Timer,
    Job,
    End,
    StartMatch,
    EndMatch,
    Own,
    Avatar,
    MatchData,
    Report,
}

impl Verb {
    const ALL: [Self; 21] = [
        Self::Say,
        Self::Whisper,
        Self::Group,
        Self::Except,
        Self::Latest,
        Self::Clear,
        Self::Loose,
        Self::Burst,
        Self::Panic,
        Self::Kick,
        Self::Transfer,
        Self::Call,
        Self::Timer,
        Self::Job,
        Self::End,
        Self::StartMatch,
        Self::EndMatch,
        Self::Own,
        Self::Avatar,
        Self::MatchData,
        Self::Report,
    ];
}

/// What a player says: a wish, numbered by its book.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wish {
    /// What.
    pub verb: Verb,
    /// Which book of the player; a new one is begun whenever a stream was lost.
    pub book: u64,
    /// Which wish of that book, from 1; 0: not counted.
    pub number: u64,
    /// More about it.
    pub arg: u64,
}

impl Message for Wish {
    fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(25);
        out.put_u8(self.verb as u8);
        out.put_u64(self.book);
        out.put_u64(self.number);
        out.put_u64(self.arg);
        out.freeze()
    }

    fn decode(mut payload: Bytes) -> Result<Self, BadPayload> {
        if payload.len() < 25 {
            return Err(BadPayload("too short".to_owned()));
        }
        let verb = Verb::ALL.get(usize::from(payload.get_u8()));
        let verb = *verb.ok_or_else(|| BadPayload("no such verb".to_owned()))?;
        let (book, number) = (payload.get_u64(), payload.get_u64());
        Ok(Self { verb, book, number, arg: payload.get_u64() })
    }
}

/// What the game says.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Note {
    /// To everybody: the how-manyth.
    All(u64, u32),
    /// To one: the how-manyth to that one.
    One(u64),
    /// To some: for each, the how-manyth to that one.
    Some(Vec<(u64, u64)>),
    /// A latest value: its version, and how many were said to everybody before it.
    Latest(u64, u64),
    /// May be lost.
    Loose,
    /// A question.
    Call,
    /// How things stand for whoever asked.
    Report(Report),
}

/// What the game says when a player asks how things stand.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Report {
    /// How many wishes of the player's book were granted.
    pub count: u64,
    /// The number of the last of them.
    pub last: u64,
    /// How much was said so far, to everybody and to this player.
    pub said: Start,
    /// Keys that have a latest value, each with its version.
    pub latest: Vec<(u64, u64)>,
}

impl Message for Note {
    fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        match self {
            Self::All(k, padding) => {
                out.put_u8(0);
                out.put_u64(*k);
                out.put_bytes(0, *padding as usize);
            }
            Self::One(p) => {
                out.put_u8(1);
                out.put_u64(*p);
            }
            Self::Some(to) => {
                out.put_u8(2);
                for (session, g) in to {
                    out.put_u64(*session);
                    out.put_u64(*g);
                }
            }
            Self::Latest(version, k) => {
                out.put_u8(3);
                out.put_u64(*version);
                out.put_u64(*k);
            }
            Self::Loose => out.put_u8(4),
            Self::Call => out.put_u8(5),
            Self::Report(report) => {
                out.put_u8(6);
                out.put_u64(report.count);
                out.put_u64(report.last);
                out.put(report.said.encode());
                for (key, version) in &report.latest {
                    out.put_u64(*key);
                    out.put_u64(*version);
                }
            }
        }
        out.freeze()
    }

    fn decode(mut payload: Bytes) -> Result<Self, BadPayload> {
        let short = || BadPayload("too short".to_owned());
        let kind = payload.try_get_u8().map_err(|_| short())?;
        let mut number = || payload.try_get_u64().map_err(|_| short());
        Ok(match kind {
            0 => Self::All(number()?, 0),
            1 => Self::One(number()?),
            2 => {
                let mut to = Vec::new();
                while let Ok(session) = number() {
                    to.push((session, number()?));
                }
                Self::Some(to)
            }
            3 => Self::Latest(number()?, number()?),
            4 => Self::Loose,
            5 => Self::Call,
            6 => {
                let (count, last) = (number()?, number()?);
                let all = number()?;
                let said = Start { all, page: Page { one: number()?, some: number()? } };
                let mut latest = Vec::new();
                while let Ok(key) = number() {
                    latest.push((key, number()?));
                }
                Self::Report(Report { count, last, said, latest })
            }
            _ => return Err(BadPayload("no such note".to_owned())),
        })
    }
}

/// What the game has said to one member alone and in groups.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Page {
    /// Notes to this one.
    pub one: u64,
    /// Notes to some, this one among them.
    pub some: u64,
}

/// What a joining or returning player starts its books from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Start {
    /// Notes to everybody so far.
    pub all: u64,
    /// Notes to this player.
    pub page: Page,
}

impl Start {
    /// What [`Book`](crate::game::Book) sends along with a join or a resync.
    #[must_use]
    pub fn encode(self) -> Bytes {
        let mut out = BytesMut::with_capacity(24);
        out.put_u64(self.all);
        out.put_u64(self.page.one);
        out.put_u64(self.page.some);
        out.freeze()
    }

    /// Reads what [`encode`](Self::encode) wrote.
    #[must_use]
    pub fn decode(mut payload: Bytes) -> Option<Self> {
        if payload.len() < 24 {
            return None;
        }
        let all = payload.get_u64();
        Some(Self { all, page: Page { one: payload.get_u64(), some: payload.get_u64() } })
    }
}
