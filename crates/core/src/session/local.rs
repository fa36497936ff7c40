//! A session that lives in the server: how it starts, where it goes and how it is told things. It has no
//! connection and no numbers; its driver gives it values instead of frames.

use bytes::Bytes;
use rejoin_wire::v1::{PartCause, RefusalCode};

use super::life::Life;
use super::{
    AfterCommit, Changes, FindReason, FindZone, FromSession, InZone, Place, Serializer,
    SessionContext, SessionCore,
};
use crate::exchange::{Native, ToZone, ZoneName};
use crate::hub::{Answer, HubOutput};
use crate::id::{CallId, SeatId, ZoneId};
use crate::mark::{Mark, hit};
use crate::zone::Delivery;
use crate::zone_registry::Creator;

impl SessionCore {
    /// Begins as a session of the server's own.
    pub(crate) fn begin_local(
        &mut self,
        cx: &mut SessionContext<'_>,
        ticket: u64,
        changes: Changes,
    ) {
        hit(Mark::NativeStarted);
        self.life = Life::Local;
        self.serializer = Serializer::Native;
        self.configure(changes);
        self.begin(cx, None);
        self.answer_after(ticket, Answer::Session(self.id));
    }

    /// A local session joins a zone, with a seat perhaps.
    pub(crate) fn join_local(
        &mut self,
        cx: &mut SessionContext<'_>,
        ticket: u64,
        name: ZoneName,
        payload: Bytes,
        seat: Option<SeatId>,
    ) {
        if !matches!(self.life, Life::Local) || self.is_ending() {
            return cx.answer(ticket, Answer::Unknown);
        }
        if !self.place.is_lobby() {
            return cx.answer(ticket, Answer::Refused(RefusalCode::AlreadyJoined));
        }
        hit(if seat.is_some() { Mark::NativeSeated } else { Mark::NativeJoining });
        self.find_for_command(cx, ticket, name, payload, seat);
    }

    fn find_for_command(
        &mut self,
        cx: &mut SessionContext<'_>,
        ticket: u64,
        name: ZoneName,
        payload: Bytes,
        seat: Option<SeatId>,
    ) {
        // The zone of a Game is opened by the directory alone.
        let creator = seat.is_none().then_some(Creator::Server);
        let reason = FindReason::Command { ticket, seat };
        let find = FindZone { name, creator, payload, reason };
        cx.tell(self.id, FromSession::Find(Box::new(find)));
    }

    /// Moves any session: from its zone as a transfer does, from outside as a join does.
    pub(crate) fn move_to(
        &mut self,
        cx: &mut SessionContext<'_>,
        ticket: u64,
        name: ZoneName,
        payload: Bytes,
    ) {
        let answer = match &self.place {
            _ if self.is_ending() => Answer::Unknown,
            Place::Lobby(_) => return self.find_for_command(cx, ticket, name, payload, None),
            Place::Joining(_) => Answer::Refused(RefusalCode::NotMember),
            Place::In(_) if !cx.zones.has_kind(&name.kind) => {
                Answer::Refused(RefusalCode::UnknownKind)
            }
            Place::In(inside) => {
                hit(Mark::SessionMoved);
                let (zone, target) = (inside.zone, ZoneId::of(&name.kind, &name.name));
                let (session, stay) = (self.id, self.leg.stay);
                let transfer = ToZone::Transfer { session, stay, to: name, payload };
                match cx.tell_open_zone(zone, transfer) {
                    Answer::Done => Answer::Zone(target),
                    refused => refused,
                }
            }
        };
        cx.answer(ticket, answer);
    }

    /// Leaves its zone.
    pub(crate) fn part(&mut self, cx: &mut SessionContext<'_>) -> Answer {
        match self.place {
            Place::In(InZone { zone, .. }) => {
                let (session, stay, cause) = (self.id, self.leg.stay, PartCause::Asked);
                cx.tell_open_zone(zone, ToZone::Part { session, stay, cause })
            }
            Place::Lobby(_) | Place::Joining(_) => Answer::Refused(RefusalCode::NotMember),
        }
    }

    /// A local session says something in its zone.
    pub(crate) fn say_local(&mut self, cx: &mut SessionContext<'_>, message: Native) -> Answer {
        if !self.is_native() {
            return Answer::Unknown;
        }
        let Some(zone) = self.zone() else { return Answer::Refused(RefusalCode::NotMember) };
        hit(Mark::NativeSaid);
        cx.tell_open_zone(zone, ToZone::Native { session: self.id, message })
    }

    /// A local session answers a call, of its zone or from outside.
    pub(crate) fn answer_local(
        &mut self,
        cx: &mut SessionContext<'_>,
        call: CallId,
        value: Native,
    ) -> Answer {
        if !self.is_native() {
            return Answer::Unknown;
        }
        hit(Mark::NativeAnswered);
        if !call.is_hub() {
            let Some(zone) = self.zone() else { return Answer::Refused(RefusalCode::NotMember) };
            let answer = ToZone::Answer { session: self.id, call, message: value };
            return cx.tell_open_zone(zone, answer);
        }
        match value.downcast_ref::<Bytes>().cloned() {
            Some(payload) => {
                let answered = self.answered(cx, call, payload);
                answered.err().map_or(Answer::Done, Answer::Refused)
            }
            None => Answer::Refused(RefusalCode::BadPayload),
        }
    }

    /// Tells a local session, once what it rests on is committed.
    pub(super) fn tell_local(&mut self, delivery: Delivery) {
        let session = self.id;
        self.after(AfterCommit::Output(HubOutput::Native { session, delivery }));
    }
}
