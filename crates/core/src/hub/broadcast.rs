//! Messages from outside the game to many sessions, and how many of them are sure to hear each. How one session
//! takes such a message is in `session/words.rs`.

use std::collections::BTreeMap;

use bytes::Bytes;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Message, RefusalCode, down};

use super::{Answer, Audience, Hub};
use crate::exchange::ToZone;
use crate::id::{OwnerEpoch, SessionId, ZoneId};
use crate::session::{SessionCore, Word, too_large};

/// Numbers of one process; the next process's begin above them.
const NUMBERS_BITS: u32 = 40;

/// The numbers of messages from outside the game, and the broadcasts of which it is not known yet who hears them.
#[derive(Debug)]
pub(crate) struct Tellings {
    /// The process: every one has a higher owner epoch than the one before.
    process: OwnerEpoch,
    /// Messages so far.
    numbers: u64,
    /// Broadcasts by their tickets.
    open: BTreeMap<u64, Telling>,
}

#[derive(Debug)]
struct Telling {
    /// Sessions of which it is not known whether they hear it.
    open: usize,
    told: usize,
    missed: usize,
}

impl Tellings {
    pub(crate) fn new(process: OwnerEpoch) -> Self {
        Self { process, numbers: 0, open: BTreeMap::new() }
    }

    /// The number of the next message, which no other process gives to one.
    pub(crate) fn next_number(&mut self) -> u64 {
        self.numbers += 1;
        (self.process.0 << NUMBERS_BITS) + self.numbers
    }

    /// One session more is sure to hear the message of this ticket, or sure not to. Gives the answer once that is
    /// known of all; a message to a single session is answered at once.
    pub(crate) fn heard(&mut self, ticket: u64, is_told: bool) -> Option<Answer> {
        let Some(telling) = self.open.get_mut(&ticket) else {
            return Some(if is_told { Answer::Done } else { Answer::Unknown });
        };
        telling.open -= 1;
        *(if is_told { &mut telling.told } else { &mut telling.missed }) += 1;
        self.answer(ticket)
    }

    fn answer(&mut self, ticket: u64) -> Option<Answer> {
        let Telling { told, missed, .. } =
            *self.open.get(&ticket).filter(|telling| telling.open == 0)?;
        self.open.remove(&ticket);
        Some(Answer::Told { told, missed })
    }
}

impl Hub {
    /// Says the same to many. A zone is told once and makes one frame for all its members; outside
    /// zones, sessions whose next number is the same share a frame. Gives the answer if that is known at once.
    pub(crate) fn broadcast(
        &mut self,
        ticket: u64,
        to: Audience,
        payload: &Bytes,
    ) -> Option<Answer> {
        match to {
            _ if too_large(payload) => return Some(Answer::Refused(RefusalCode::BadPayload)),
            Audience::Zone(zone) if !self.zones.contains(zone) => return Some(Answer::Unknown),
            Audience::Zone(_) | Audience::Everybody => {}
        }
        let message = Message { payload: payload.clone(), ..Message::default() };
        let body = down::Body::Message(message);
        let number = self.tellings.next_number();
        let audience = self.audience(to);
        let telling = Telling { open: audience.len(), told: 0, missed: 0 };
        self.tellings.open.insert(ticket, telling);
        let mut outside: BTreeMap<u64, SharedFrame> = BTreeMap::new();
        let mut inside: BTreeMap<ZoneId, Vec<SessionId>> = BTreeMap::new();
        let mut refused = Vec::new();
        for id in audience {
            let word = Word { number, body: body.clone(), ticket: Some(ticket) };
            let taken = self.with_session(id, |session, cx| {
                session.take_broadcast(cx, word, payload, &mut outside)
            });
            match taken {
                Some(Ok(Some(zone))) => inside.entry(zone).or_default().push(id),
                Some(Ok(None)) => {}
                Some(Err(_)) | None => refused.push(id),
            }
        }
        for (zone, to) in inside {
            let message = ToZone::Word { number, to, body: body.clone() };
            self.out.extend(self.zones.message(zone, message));
        }
        // Without any session, or with refusals only, all is known already.
        let answers = refused.into_iter().filter_map(|_| self.tellings.heard(ticket, false));
        answers.last().or_else(|| self.tellings.answer(ticket))
    }

    fn audience(&self, to: Audience) -> Vec<SessionId> {
        let is_meant = |session: &SessionCore| session.ending().is_none();
        match to {
            Audience::Everybody => {
                let all = self.sessions.iter().filter(|(_, session)| is_meant(session));
                all.map(|(id, _)| *id).collect()
            }
            Audience::Zone(zone) => {
                let inside = self.sessions.in_zone(zone);
                inside.filter(|id| self.session(*id).is_some_and(is_meant)).collect()
            }
        }
    }
}
