//! Messages from outside the game. Each goes into the session's open leg, wherever that is. One that a zone has
//! to say is kept here until the zone has committed it, and goes along when the session leaves, so that a client
//! hears it once and in order, over any drop.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_wire::v1::{Down, Message, down, server_frame};
use rejoin_wire::{Limits, SharedFrame};

use super::context::shared;
use super::{AfterCommit, FromSession, InZone, Place, SessionContext, SessionCore};
use crate::exchange::ToZone;
use crate::hub::Answer;
use crate::id::{CallId, ZoneId};
use crate::zone::Delivery;

/// Messages of one session that wait for its zone; more are refused as busy.
const WORDS_MAX: usize = 1_024;

/// A message that a zone has to say, or will have to once the session is there.
#[derive(Clone, Debug)]
pub(crate) struct Word {
    /// Grows with every message of this process, and from process to process.
    pub number: u64,
    pub body: down::Body,
    /// The command that is answered when it is sure to be heard.
    pub ticket: Option<u64>,
}

/// Whether clients would not take it.
pub(crate) fn too_large(payload: &Bytes) -> bool {
    payload.len() > Limits::DEFAULT.message_bytes_max
}

impl SessionCore {
    /// Says something in the session's open leg, wherever that is.
    ///
    /// # Errors
    /// Why it is not said.
    pub(crate) fn say_anywhere(
        &mut self,
        cx: &mut SessionContext<'_>,
        body: down::Body,
        ticket: Option<u64>,
    ) -> Result<(), Answer> {
        let word = Word { number: cx.tellings.next_number(), body, ticket };
        if let Some(zone) = self.take_word(cx, word.clone())? {
            let Word { number, body, .. } = word;
            cx.tell_zone(zone, ToZone::Word { number, to: vec![self.id], body });
        }
        Ok(())
    }

    /// Takes a message that many are told. Sessions in no zone whose next number is the same share a frame. Gives
    /// the zone that has to say it, as [`take_word`](Self::take_word).
    ///
    /// # Errors
    /// Why it is not said.
    pub(crate) fn take_broadcast(
        &mut self,
        cx: &mut SessionContext<'_>,
        word: Word,
        payload: &Bytes,
        frames: &mut BTreeMap<u64, SharedFrame>,
    ) -> Result<Option<ZoneId>, Answer> {
        let is_outside = self.hears_lobby() && !self.is_native();
        if !is_outside || self.is_gate_full() {
            return self.take_word(cx, word);
        }
        self.say_frame(cx, |seq| {
            frames.entry(seq).or_insert_with(|| message_frame(seq, payload)).clone()
        });
        self.said(word.ticket);
        Ok(None)
    }

    /// Why the session takes no further message, if it does not.
    pub(super) fn refuses_words(&self) -> Option<Answer> {
        if self.is_ending() {
            return Some(Answer::Unknown);
        }
        let is_full = self.is_gate_full() || self.words.len() >= WORDS_MAX;
        is_full.then_some(Answer::Busy)
    }

    /// Takes a message, and says it if its leg is the session's own or the server's. Gives the zone that has to
    /// say it now.
    fn take_word(
        &mut self,
        cx: &mut SessionContext<'_>,
        word: Word,
    ) -> Result<Option<ZoneId>, Answer> {
        if let Some(answer) = self.refuses_words() {
            return Err(answer);
        }
        match &self.place {
            _ if self.is_native() => self.say_word(cx, word),
            Place::Lobby(lobby) if !lobby.has_lost_zone => self.say_word(cx, word),
            Place::In(inside) => {
                let zone = inside.zone;
                self.words.push(word);
                return Ok(Some(zone));
            }
            Place::Lobby(_) | Place::Joining(_) => self.words.push(word),
        }
        Ok(None)
    }

    /// Says a message to a session that is in no zone, or is the server's own.
    fn say_word(&mut self, cx: &mut SessionContext<'_>, Word { body, ticket, .. }: Word) {
        match body {
            down::Body::Message(said) if self.is_native() => {
                self.tell_local(Delivery::Sent(said.payload));
            }
            down::Body::Call(asked) if self.is_native() => {
                self.tell_local(Delivery::Asked(CallId(asked.call), asked.payload));
            }
            // Answers of a local session have no number that could be refused.
            _ if self.is_native() => {}
            body => self.say_in_lobby(cx, body),
        }
        self.said(ticket);
    }

    /// A message is in the session's own stream: it is sure to be heard once that is committed.
    fn said(&mut self, ticket: Option<u64>) {
        if let Some(ticket) = ticket {
            let heard = FromSession::Heard { ticket, is_told: true };
            self.after(AfterCommit::Tell(heard));
        }
    }

    /// The session has another place, or its zone another incarnation: what waits is said there.
    pub(super) fn flush_words(&mut self, cx: &mut SessionContext<'_>) {
        match &self.place {
            // Its client is told first that the stream was lost; this would go with it.
            Place::Lobby(lobby) if lobby.has_lost_zone => {}
            Place::Lobby(_) => {
                for word in std::mem::take(&mut self.words) {
                    self.say_word(cx, word);
                }
            }
            Place::In(InZone { zone, .. }) => {
                for Word { number, body, .. } in &self.words {
                    let (number, to, body) = (*number, vec![self.id], body.clone());
                    cx.tell_zone(*zone, ToZone::Word { number, to, body });
                }
            }
            Place::Joining(_) => {}
        }
    }

    /// Messages up to this number are in the stream of its zone, and committed.
    pub(crate) fn words_heard(&mut self, cx: &mut SessionContext<'_>, number: u64) {
        let heard = self.words.iter().take_while(|word| word.number <= number).count();
        for ticket in self.words.drain(..heard).filter_map(|word| word.ticket) {
            cx.tell(self.id, FromSession::Heard { ticket, is_told: true });
        }
        if self.words.is_empty() {
            self.words = Vec::new();
        }
    }

    /// The session has ended: its client will not hear these.
    pub(super) fn fail_words(&mut self, cx: &mut SessionContext<'_>) {
        for ticket in std::mem::take(&mut self.words).into_iter().filter_map(|word| word.ticket) {
            cx.tell(self.id, FromSession::Heard { ticket, is_told: false });
        }
    }
}

fn message_frame(seq: u64, payload: &Bytes) -> SharedFrame {
    let message = Message { payload: payload.clone(), ..Message::default() };
    shared(server_frame::Frame::Down(Down { seq, body: Some(down::Body::Message(message)) }))
}
