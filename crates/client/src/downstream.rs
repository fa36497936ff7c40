//! Where the client is in what the server says: a leg, and a number in it.
//!
//! Owns which frame is new, which was had before, and which breaks the order. The position belongs
//! to the session and outlives its connections; it is given up only for a Resync, a new session, or
//! a server that contradicts it.

use rejoin_wire::v1::{Down, Position, RungReason, down};

use crate::error::Violation;
use crate::event::Rung;

/// The client's place in the downward stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Downstream {
    /// It has none: a resume from here is cold.
    Unknown,
    /// A Resync will open this leg, or a later one.
    Awaiting { leg: u64 },
    /// Everything up to `seq` of `leg` was consumed.
    At { leg: u64, seq: u64 },
    /// A leg was consumed to its end, and nothing yet of the one that follows. The position is still
    /// the end: whether the server has opened what follows, this client cannot know.
    Between { ended: (u64, u64), leg: u64 },
}

impl Downstream {
    /// A welcome says how the stream goes on.
    pub(crate) fn welcome(
        &mut self,
        rung: Rung,
        reason: RungReason,
        leg: u64,
    ) -> Result<(), Violation> {
        // A server that never gave this position need not go on behind it.
        let position = self.position().filter(|_| reason != RungReason::UnknownPosition);
        let follows = match rung {
            Rung::Replayed => position.is_some_and(|at| at.leg == leg),
            Rung::Resynced => position.is_none_or(|at| leg > at.leg),
            Rung::New => true,
        };
        if !follows {
            return Err(Violation::LegBackwards { leg });
        }
        *self = match rung {
            Rung::Replayed => *self,
            Rung::Resynced => Self::Awaiting { leg },
            Rung::New => Self::At { leg, seq: 0 },
        };
        Ok(())
    }

    /// The whole state, on a new leg.
    pub(crate) fn resync(&mut self, leg: u64, seq: u64) -> Result<(), Violation> {
        let follows = match *self {
            Self::Unknown => false,
            Self::Awaiting { leg: promised } => leg >= promised,
            Self::At { leg: last, .. } | Self::Between { ended: (last, _), .. } => leg > last,
        };
        if !follows {
            return Err(Violation::LegBackwards { leg });
        }
        *self = Self::At { leg, seq };
        Ok(())
    }

    /// A numbered frame. False: it was had before.
    pub(crate) fn take(&mut self, down: &Down) -> Result<bool, Violation> {
        let (leg, seq) = match *self {
            Self::Unknown | Self::Awaiting { .. } => return Err(Violation::OutOfState),
            Self::At { leg, seq } => (leg, seq),
            Self::Between { leg, .. } => (leg, 0),
        };
        let opens = match &down.body {
            Some(down::Body::Joined(joined)) => Some(joined.leg),
            Some(down::Body::Refused(refused)) if refused.leg != 0 => Some(refused.leg),
            _ => None,
        };
        if let Some(opened) = opens {
            return self.open(leg, seq, opened, down.seq);
        }
        if down.seq <= seq {
            return Ok(false);
        }
        *self = match &down.body {
            Some(down::Body::Parted(parted)) if parted.leg <= leg => {
                return Err(Violation::LegBackwards { leg: parted.leg });
            }
            Some(down::Body::Parted(parted)) => {
                Self::Between { ended: (leg, down.seq), leg: parted.leg }
            }
            _ => Self::At { leg, seq: down.seq },
        };
        Ok(true)
    }

    /// Gives the position up; the next resume is cold.
    pub(crate) fn forget(&mut self) {
        *self = Self::Unknown;
    }

    /// The connection is gone. A Resync that has not come will not come any more.
    pub(crate) fn detach(&mut self) {
        if let Self::Awaiting { .. } = self {
            self.forget();
        }
    }

    /// What a resume names; none when it is cold.
    pub(crate) fn position(&self) -> Option<Position> {
        match *self {
            Self::At { leg, seq } | Self::Between { ended: (leg, seq), .. } => {
                Some(Position { leg, seq })
            }
            Self::Unknown | Self::Awaiting { .. } => None,
        }
    }

    /// What an acknowledgement names.
    pub(crate) fn acked(&self) -> Option<Position> {
        match *self {
            Self::Awaiting { leg } => Some(Position { leg, seq: 0 }),
            Self::Unknown | Self::At { .. } | Self::Between { .. } => self.position(),
        }
    }

    /// The open leg.
    pub(crate) fn open_leg(&self) -> Option<u64> {
        match *self {
            Self::At { leg, .. } | Self::Between { leg, .. } => Some(leg),
            Self::Unknown | Self::Awaiting { .. } => None,
        }
    }

    /// A frame that is the first of its leg.
    fn open(&mut self, leg: u64, seq: u64, opened: u64, number: u64) -> Result<bool, Violation> {
        if opened == leg && number <= seq {
            return Ok(false);
        }
        // The leg may have been named before, by a Parted or a welcome, and be empty still.
        if opened < leg || (opened == leg && seq > 0) {
            return Err(Violation::LegBackwards { leg: opened });
        }
        *self = Self::At { leg: opened, seq: number };
        Ok(true)
    }
}

#[cfg(test)]
mod tests;
