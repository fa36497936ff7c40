//! Sessions that live in the server: how they start, where they go and how they are told things.
//! They have no connection and no numbers; their driver gives them values instead of frames.

use bytes::Bytes;
use rejoin_wire::v1::{PartCause, RefusalCode};

use super::command::apply;
use super::commit::After;
use super::{Answer, Hub, HubOutput, SessionConfig};
use crate::exchange::{Native, ToZone, ZoneName};
use crate::id::{CallId, PlayerId, SeatId, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::session::{Identity, Place, Presence, Serializer, Session};
use crate::time::Time;
use crate::zone::Delivery;
use crate::zone_registry::Creator;

impl Hub {
    pub(crate) fn start_native(&mut self, now: Time, ticket: u64, config: SessionConfig) {
        let full = self.sessions.len() >= self.config.sessions_max;
        let id = if full { None } else { self.next_session_id(now) };
        let Some(id) = id else {
            return self.push(HubOutput::Answer { ticket, answer: Answer::Full });
        };
        hit(Mark::NativeStarted);
        let player = config.player.unwrap_or_else(|| PlayerId(self.chance.bytes()));
        let hold = self.config.hold;
        let mut session = self.blank_session(now, id, player, Identity::Server, hold);
        session.presence = Presence::Native;
        session.serializer = Serializer::Native;
        apply(&mut session, config.changes);
        self.add_session(now, id, session, None);
        self.answer_after(id, ticket, Answer::Session(id));
    }

    pub(crate) fn join_native(
        &mut self,
        id: SessionId,
        ticket: u64,
        name: ZoneName,
        payload: Bytes,
        seat: Option<SeatId>,
    ) {
        let native = |s: &Session| s.presence == Presence::Native && s.ending.is_none();
        let answer = match self.sessions.get(&id).filter(|session| native(session)) {
            None => Answer::Unknown,
            Some(session) if session.place != Place::Nowhere => {
                Answer::Refused(RefusalCode::AlreadyJoined)
            }
            Some(_) => {
                hit(if seat.is_some() { Mark::NativeSeated } else { Mark::NativeJoining });
                return self.enter(id, ticket, name, payload, seat);
            }
        };
        self.push(HubOutput::Answer { ticket, answer });
    }

    fn enter(
        &mut self,
        id: SessionId,
        ticket: u64,
        name: ZoneName,
        payload: Bytes,
        seat: Option<SeatId>,
    ) {
        let shown = seat.map(|seat| seat.to_string()).unwrap_or_default();
        // The zone of a Game is opened by the directory alone.
        let creator = seat.is_none().then_some(Creator::Server);
        let zone = self.with_zones(|zones| zones.find(&name, creator));
        let zone = zone.and_then(|zone| Ok((zone.id, self.seat_shown(id, zone, &shown)?)));
        match zone {
            Ok((zone, seat)) => {
                self.begin_join(id, zone, name, 0, payload, seat);
                self.answer_after(id, ticket, Answer::Zone(zone));
            }
            Err(code) => {
                self.push(HubOutput::Answer { ticket, answer: Answer::Refused(code) });
            }
        }
    }

    /// Moves any session: from its zone as a transfer does, from outside as a join does.
    pub(crate) fn move_session(
        &mut self,
        id: SessionId,
        ticket: u64,
        name: ZoneName,
        payload: Bytes,
    ) {
        let session = self.sessions.get(&id).filter(|session| session.ending.is_none());
        let answer = match session.map(|session| (&session.place, session.leg.stay)) {
            None => Answer::Unknown,
            Some((Place::Nowhere, _)) => return self.enter(id, ticket, name, payload, None),
            Some((Place::Joining(_), _)) => Answer::Refused(RefusalCode::NotMember),
            Some((Place::In(_), _)) if !self.zones.has_kind(&name.kind) => {
                Answer::Refused(RefusalCode::UnknownKind)
            }
            Some((Place::In(zone), stay)) => {
                hit(Mark::SessionMoved);
                let (from, target) = (*zone, ZoneId::of(&name.kind, &name.name));
                let transfer = ToZone::Transfer { session: id, stay, to: name, payload };
                match self.tell_open_zone(from, transfer) {
                    Answer::Done => Answer::Zone(target),
                    refused => refused,
                }
            }
        };
        self.push(HubOutput::Answer { ticket, answer });
    }

    pub(crate) fn part_session(&mut self, id: SessionId) -> Answer {
        let Some(session) = self.sessions.get(&id) else { return Answer::Unknown };
        match session.place {
            Place::In(zone) => {
                let (stay, cause) = (session.leg.stay, PartCause::Asked);
                self.tell_open_zone(zone, ToZone::Part { session: id, stay, cause })
            }
            _ => Answer::Refused(RefusalCode::NotMember),
        }
    }

    /// A native session says something in its zone.
    pub(crate) fn say_native(&mut self, id: SessionId, message: Native) -> Answer {
        let Some(session) = self.sessions.get(&id) else { return Answer::Unknown };
        match session.zone() {
            Some(zone) => {
                hit(Mark::NativeSaid);
                self.tell_open_zone(zone, ToZone::Native { session: id, message })
            }
            None => Answer::Refused(RefusalCode::NotMember),
        }
    }

    /// A native session answers a call, of its zone or of the hub.
    pub(crate) fn answer_native(&mut self, id: SessionId, call: CallId, value: Native) -> Answer {
        let Some(session) = self.sessions.get(&id) else { return Answer::Unknown };
        hit(Mark::NativeAnswered);
        if !call.is_hub() {
            return match session.zone() {
                Some(zone) => {
                    self.tell_open_zone(zone, ToZone::Answer { session: id, call, message: value })
                }
                None => Answer::Refused(RefusalCode::NotMember),
            };
        }
        let Some(payload) = value.downcast_ref::<Bytes>().cloned() else {
            return Answer::Refused(RefusalCode::BadPayload);
        };
        self.answered(id, call, payload).map_or(Answer::Done, Answer::Refused)
    }

    /// Tells a zone, if there is an incarnation that hears it.
    fn tell_open_zone(&mut self, zone: ZoneId, message: ToZone) -> Answer {
        if self.zones.owner(zone).is_none() {
            return Answer::Refused(RefusalCode::ZoneFault);
        }
        self.tell_zone(zone, message);
        Answer::Done
    }

    /// Tells a native session, once what it rests on is committed.
    pub(crate) fn tell_native(&mut self, session: SessionId, delivery: Delivery) {
        self.after(session, After::Output(HubOutput::Native { session, delivery }));
    }
}
