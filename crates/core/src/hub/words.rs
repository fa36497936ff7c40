//! Messages from outside the game, to one session or to many at once. Each goes into the session's open
//! leg, wherever that is. One that a zone has to say is kept here until the zone has committed it, and
//! goes along when the session leaves, so that a client hears it once and in order, over any drop.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_wire::v1::{Down, Message, RefusalCode, down, server_frame};
use rejoin_wire::{Limits, SharedFrame};

use super::commit::After;
use super::lobby::shared;
use super::{Answer, Audience, Hub, HubOutput};
use crate::exchange::ToZone;
use crate::id::{CallId, SessionId, ZoneId};
use crate::session::Place;
use crate::zone::Delivery;

/// Messages of one session that wait for its zone; more are refused as busy.
const WORDS_MAX: usize = 1_024;
/// Numbers of one process; the next process's begin above them.
const NUMBERS_BITS: u32 = 40;

/// A message that a zone has to say, or will have to once the session is there.
#[derive(Clone, Debug)]
pub struct Word {
    /// Grows with every message of this process, and from process to process.
    number: u64,
    body: down::Body,
    /// Who is told when it is sure to be heard.
    ticket: Option<u64>,
}

/// A command whose messages are not all sure to be heard yet.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    /// Sessions of which that is not known.
    open: usize,
    told: usize,
    missed: usize,
    is_broadcast: bool,
}

/// Whether clients would not take it.
pub(super) fn too_large(payload: &Bytes) -> bool {
    payload.len() > Limits::DEFAULT.message_bytes_max
}

impl Hub {
    /// Says something to one session. Its sender is answered when it is sure to be heard.
    pub(crate) fn send_message(&mut self, ticket: u64, id: SessionId, payload: Bytes) {
        if too_large(&payload) {
            let answer = Answer::Refused(RefusalCode::BadPayload);
            return self.push(HubOutput::Answer { ticket, answer });
        }
        let body = down::Body::Message(Message { payload, ..Message::default() });
        let telling = Telling { open: 1, ..Telling::default() };
        self.tellings.insert(ticket, telling);
        if let Err(answer) = self.say_anywhere(id, body, Some(ticket)) {
            self.tellings.remove(&ticket);
            self.push(HubOutput::Answer { ticket, answer });
        }
    }

    /// Says something in the session's open leg, wherever that is.
    ///
    /// # Errors
    /// Why it is not said.
    pub(crate) fn say_anywhere(
        &mut self,
        id: SessionId,
        body: down::Body,
        ticket: Option<u64>,
    ) -> Result<(), Answer> {
        let number = self.next_word();
        let word = Word { number, body, ticket };
        if let Some(zone) = self.take_word(id, word.clone())? {
            self.tell_zone(zone, ToZone::Word { number, to: vec![id], body: word.body });
        }
        Ok(())
    }

    /// Says the same to many. A zone is told once and makes one frame for all its members; outside
    /// zones, sessions whose next number is the same share a frame.
    pub(crate) fn broadcast(&mut self, ticket: u64, to: Audience, payload: Bytes) {
        let refusal = match to {
            _ if too_large(&payload) => Some(Answer::Refused(RefusalCode::BadPayload)),
            Audience::Zone(zone) if !self.zones.contains(zone) => Some(Answer::Unknown),
            Audience::Zone(_) | Audience::Everybody => None,
        };
        if let Some(answer) = refusal {
            return self.push(HubOutput::Answer { ticket, answer });
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
            let is_outside = self.sessions.get(&id).is_some_and(|session| {
                session.place == Place::Nowhere && !session.is_native() && !session.zone_lost
            });
            if is_outside && !self.is_gate_full(id) {
                self.send_numbered(id, |seq| {
                    outside.entry(seq).or_insert_with(|| said(seq, &payload)).clone()
                });
                self.after(id, After::Heard(ticket));
                continue;
            }
            let word = Word { number, body: body.clone(), ticket: Some(ticket) };
            match self.take_word(id, word) {
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

    /// Why a session takes no further message, if it does not.
    pub(super) fn refuses_words(&self, id: SessionId) -> Option<Answer> {
        let session = self.sessions.get(&id).filter(|session| session.ending.is_none());
        let Some(session) = session else { return Some(Answer::Unknown) };
        let is_full = self.is_gate_full(id) || session.words.len() >= WORDS_MAX;
        is_full.then_some(Answer::Busy)
    }

    /// Takes a message for a session, and says it if its leg is the session's own or the server's. Gives
    /// the zone that has to say it now.
    fn take_word(&mut self, id: SessionId, word: Word) -> Result<Option<ZoneId>, Answer> {
        if let Some(answer) = self.refuses_words(id) {
            return Err(answer);
        }
        let session = self.sessions.get_mut(&id).ok_or(Answer::Unknown)?;
        let zone = match &session.place {
            _ if session.is_native() => None,
            Place::Nowhere if !session.zone_lost => None,
            Place::In(zone) => Some(*zone),
            Place::Nowhere | Place::Joining(_) => {
                session.words.push(word);
                return Ok(None);
            }
        };
        match zone {
            Some(_) => session.words.push(word),
            None => self.say_word(id, word),
        }
        Ok(zone)
    }

    /// Says a message to a session that is in no zone, or is the server's own.
    fn say_word(&mut self, id: SessionId, Word { body, ticket, .. }: Word) {
        if self.sessions.get(&id).is_some_and(|session| session.is_native()) {
            match body {
                down::Body::Message(said) => self.tell_native(id, Delivery::Sent(said.payload)),
                down::Body::Call(asked) => {
                    self.tell_native(id, Delivery::Asked(CallId(asked.call), asked.payload));
                }
                _ => {}
            }
        } else {
            self.send_in_lobby(id, body);
        }
        if let Some(ticket) = ticket {
            self.after(id, After::Heard(ticket));
        }
    }

    /// The session has another place, or its zone another incarnation: what waits is said there.
    pub(crate) fn flush_words(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        match &session.place {
            // Its client is told first that the stream was lost; this would go with it.
            Place::Nowhere if session.zone_lost => {}
            Place::Nowhere => {
                for word in std::mem::take(&mut session.words) {
                    self.say_word(id, word);
                }
            }
            Place::In(zone) => {
                let zone = *zone;
                for Word { number, body, .. } in session.words.clone() {
                    self.tell_zone(zone, ToZone::Word { number, to: vec![id], body });
                }
            }
            Place::Joining(_) => {}
        }
    }

    /// Messages up to this number are in the session's stream, and committed.
    pub(crate) fn words_heard(&mut self, id: SessionId, number: u64) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let heard = session.words.iter().take_while(|word| word.number <= number).count();
        let heard: Vec<Word> = session.words.drain(..heard).collect();
        if session.words.is_empty() {
            session.words = Vec::new();
        }
        for ticket in heard.into_iter().filter_map(|word| word.ticket) {
            self.heard(ticket, true);
        }
    }

    /// The session has ended: nobody will hear these.
    pub(crate) fn fail_words(&mut self, id: SessionId) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        for ticket in std::mem::take(&mut session.words).into_iter().filter_map(|word| word.ticket)
        {
            self.heard(ticket, false);
        }
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

    fn next_word(&mut self) -> u64 {
        self.commits.words += 1;
        (self.ids.owner().0 << NUMBERS_BITS) + self.commits.words
    }

    fn audience(&self, to: Audience) -> Vec<SessionId> {
        let mut meant: Vec<SessionId> = match to {
            Audience::Everybody => self.sessions.keys().copied().collect(),
            Audience::Zone(zone) => self.sessions_in(zone),
        };
        meant.retain(|id| self.sessions.get(id).is_some_and(|session| session.ending.is_none()));
        meant
    }
}

fn said(seq: u64, payload: &Bytes) -> SharedFrame {
    let message = Message { payload: payload.clone(), ..Message::default() };
    shared(server_frame::Frame::Down(Down { seq, body: Some(down::Body::Message(message)) }))
}
