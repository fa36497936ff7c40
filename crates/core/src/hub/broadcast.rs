//! Messages from outside the game, to one session or to many at once, and who of them is sure to hear them. How
//! one session takes such a message is in `session/words.rs`.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Message, RefusalCode, down};

use super::{Answer, Audience, Hub};
use crate::exchange::ToZone;
use crate::id::{OwnerEpoch, SessionId, ZoneId};
use crate::session::{Word, too_large};

/// Numbers of one process; the next process's begin above them.
const NUMBERS_BITS: u32 = 40;

/// Commands whose messages are not all sure to be heard yet, by their tickets.
#[derive(Debug, Default)]
pub(crate) struct Tellings {
    open: BTreeMap<u64, Telling>,
    /// Messages from outside the game so far.
    numbers: u64,
}

#[derive(Debug)]
struct Telling {
    /// Sessions of which it is not known whether they hear it.
    open: usize,
    told: usize,
    missed: usize,
    is_broadcast: bool,
}

impl Tellings {
    /// The number of the next message, which no other process gives to one.
    pub(crate) fn next_number(&mut self, process: OwnerEpoch) -> u64 {
        self.numbers += 1;
        (process.0 << NUMBERS_BITS) + self.numbers
    }

    fn begin(&mut self, ticket: u64, open: usize, is_broadcast: bool) {
        self.open.insert(ticket, Telling { open, told: 0, missed: 0, is_broadcast });
    }

    fn abandon(&mut self, ticket: u64) {
        self.open.remove(&ticket);
    }

    /// One session more of a command is sure to hear it, or sure not to. Gives the answer once that is known of
    /// all. A command that was refused meanwhile has its answer.
    pub(crate) fn heard(&mut self, ticket: u64, is_told: bool) -> Option<Answer> {
        let telling = self.open.get_mut(&ticket)?;
        telling.open = telling.open.saturating_sub(1);
        match is_told {
            true => telling.told += 1,
            false => telling.missed += 1,
        }
        self.answer(ticket)
    }

    /// All sessions that a command is for have been told.
    fn close(&mut self, ticket: u64) -> Option<Answer> {
        self.open.get_mut(&ticket)?.open -= 1;
        self.answer(ticket)
    }

    /// The answer of a command of which everything is known.
    fn answer(&mut self, ticket: u64) -> Option<Answer> {
        let Telling { told, missed, is_broadcast, .. } =
            *self.open.get(&ticket).filter(|telling| telling.open == 0)?;
        self.open.remove(&ticket);
        Some(match (is_broadcast, told) {
            (true, _) => Answer::Told { told, missed },
            (false, 0) => Answer::Unknown,
            (false, _) => Answer::Done,
        })
    }
}

impl Hub {
    /// Says something to one session. Its sender is answered when it is sure to be heard.
    pub(crate) fn send_message(&mut self, ticket: u64, id: SessionId, payload: Bytes) {
        if too_large(&payload) {
            return self.answer(ticket, Answer::Refused(RefusalCode::BadPayload));
        }
        let body = down::Body::Message(Message { payload, ..Message::default() });
        self.tellings.begin(ticket, 1, false);
        let number = self.tellings.next_number(self.ids.owner());
        let said = self
            .with_session(id, |session, cx| session.say_anywhere(cx, number, body, Some(ticket)));
        if let Err(answer) = said.unwrap_or(Err(Answer::Unknown)) {
            self.tellings.abandon(ticket);
            self.answer(ticket, answer);
        }
    }

    /// Says the same to many. A zone is told once and makes one frame for all its members; outside
    /// zones, sessions whose next number is the same share a frame.
    pub(crate) fn broadcast(&mut self, ticket: u64, to: Audience, payload: &Bytes) {
        let refusal = match to {
            _ if too_large(payload) => Some(Answer::Refused(RefusalCode::BadPayload)),
            Audience::Zone(zone) if !self.zones.contains(zone) => Some(Answer::Unknown),
            Audience::Zone(_) | Audience::Everybody => None,
        };
        if let Some(answer) = refusal {
            return self.answer(ticket, answer);
        }
        let message = Message { payload: payload.clone(), ..Message::default() };
        let body = down::Body::Message(message);
        let number = self.tellings.next_number(self.ids.owner());
        let audience = self.audience(to);
        // One more than there are sessions: nothing is answered before all have been told.
        self.tellings.begin(ticket, audience.len() + 1, true);
        let mut outside: BTreeMap<u64, SharedFrame> = BTreeMap::new();
        let mut inside: BTreeMap<ZoneId, Vec<SessionId>> = BTreeMap::new();
        for id in audience {
            let word = Word { number, body: body.clone(), ticket: Some(ticket) };
            let taken = self.with_session(id, |session, cx| {
                session.take_broadcast(cx, word, payload, &mut outside)
            });
            match taken.unwrap_or(Err(Answer::Unknown)) {
                Ok(Some(zone)) => inside.entry(zone).or_default().push(id),
                Ok(None) => {}
                Err(_) => drop(self.tellings.heard(ticket, false)),
            }
        }
        for (zone, to) in inside {
            self.tell_zone(zone, ToZone::Word { number, to, body: body.clone() });
        }
        if let Some(answer) = self.tellings.close(ticket) {
            self.answer(ticket, answer);
        }
    }

    fn audience(&self, to: Audience) -> Vec<SessionId> {
        let mut meant: Vec<SessionId> = match to {
            Audience::Everybody => self.sessions.keys().copied().collect(),
            Audience::Zone(zone) => self.sessions_in(zone),
        };
        meant.retain(|id| self.sessions.get(id).is_some_and(|session| session.ending().is_none()));
        meant
    }
}
