//! Messages from outside the game, to one session or to many at once, and who of them is sure to hear them. How
//! one session takes such a message is in `session/words.rs`.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Message, RefusalCode, down};

use super::{Answer, Audience, Hub, HubOutput};
use crate::exchange::ToZone;
use crate::id::{SessionId, ZoneId};
use crate::session::{Word, too_large};

/// Numbers of one process; the next process's begin above them.
const NUMBERS_BITS: u32 = 40;

/// A command whose messages are not all sure to be heard yet.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    /// Sessions of which that is not known.
    open: usize,
    told: usize,
    missed: usize,
    is_broadcast: bool,
}

impl Hub {
    /// Says something to one session. Its sender is answered when it is sure to be heard.
    pub(crate) fn send_message(&mut self, ticket: u64, id: SessionId, payload: Bytes) {
        if too_large(&payload) {
            return self.answer(ticket, Answer::Refused(RefusalCode::BadPayload));
        }
        let body = down::Body::Message(Message { payload, ..Message::default() });
        let telling = Telling { open: 1, ..Telling::default() };
        self.tellings.insert(ticket, telling);
        let number = self.next_word();
        let said = self
            .with_session(id, |session, cx| session.say_anywhere(cx, number, body, Some(ticket)));
        if let Err(answer) = said.unwrap_or(Err(Answer::Unknown)) {
            self.tellings.remove(&ticket);
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
        let number = self.next_word();
        let audience = self.audience(to);
        let telling = Telling { open: audience.len(), is_broadcast: true, ..Telling::default() };
        self.tellings.insert(ticket, telling);
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
                Err(_) => self.heard(ticket, false),
            }
        }
        for (zone, to) in inside {
            self.tell_zone(zone, ToZone::Word { number, to, body: body.clone() });
        }
        self.answer_told(ticket);
    }

    /// One session more of a command is sure to hear it, or sure not to.
    pub(crate) fn heard(&mut self, ticket: u64, is_told: bool) {
        let Some(telling) = self.tellings.get_mut(&ticket) else { return };
        telling.open = telling.open.saturating_sub(1);
        match is_told {
            true => telling.told += 1,
            false => telling.missed += 1,
        }
        self.answer_told(ticket);
    }

    fn answer_told(&mut self, ticket: u64) {
        if self.tellings.get(&ticket).is_none_or(|telling| telling.open > 0) {
            return;
        }
        let Some(telling) = self.tellings.remove(&ticket) else { return };
        let Telling { told, missed, is_broadcast, .. } = telling;
        let answer = match (is_broadcast, told) {
            (true, _) => Answer::Told { told, missed },
            (false, 0) => Answer::Unknown,
            (false, _) => Answer::Done,
        };
        self.push(HubOutput::Answer { ticket, answer });
    }

    /// The number of the next message from outside the game.
    pub(crate) fn next_word(&mut self) -> u64 {
        self.commits.words += 1;
        (self.ids.owner().0 << NUMBERS_BITS) + self.commits.words
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
