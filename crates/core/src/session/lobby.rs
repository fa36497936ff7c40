//! A session that is in no zone: it consumes its client's frames itself and has a leg of its own; what it says
//! is committed with it before it is shown. The numbers of both directions are the business of `stream/`.

use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{
    Down, Join, RefusalCode, Refused, Resync, RungReason, Up, down, server_frame, up,
};

use super::context::shared;
use super::{
    AfterCommit, FindReason, FindZone, FromSession, Lobby, Outgoing, Place, SessionContext,
    SessionCore,
};
use crate::connection::ToConnection;
use crate::event::EndCause;
use crate::exchange::{Link, ZoneName};
use crate::id::{CallId, Leg};
use crate::mark::{Mark, hit};
use crate::stream::Arrival;
use crate::text::clip;
use crate::zone::Delivery;
use crate::zone_registry::{Creator, Opener};

impl SessionCore {
    /// Consumes a numbered frame.
    pub(super) fn consume(&mut self, cx: &mut SessionContext<'_>, up: Up) {
        match self.inbound.receive(up.seq) {
            Arrival::Next { .. } => {}
            // Its connection handed it on again, and it had come.
            Arrival::Duplicate => return hit(Mark::StaleIgnored),
            Arrival::Ahead { is_first } => {
                // One before it was not taken.
                if let Some(connection) = self.connection().filter(|_| is_first) {
                    let resend = ToConnection::Resend(self.inbound.applied());
                    cx.tell_connection(connection, resend);
                }
                return;
            }
        }
        self.touch();
        let refusal = match up.body {
            // Applied once the zone is found.
            Some(up::Body::Join(join)) => return self.join(cx, up.seq, join),
            Some(up::Body::Bye(_)) => {
                hit(Mark::Left);
                return self.end(cx, EndCause::Left);
            }
            Some(up::Body::Answer(answer)) => {
                self.answered(cx, CallId(answer.call), answer.payload).err()
            }
            Some(up::Body::Message(_) | up::Body::Part(_)) => {
                hit(Mark::NotMember);
                Some(RefusalCode::NotMember)
            }
            None => Some(RefusalCode::BadPayload),
        };
        if let Some(code) = refusal {
            self.refuse(cx, up.seq, code, String::new(), None);
        }
        self.tell_applied();
    }

    fn join(&mut self, cx: &mut SessionContext<'_>, to: u64, join: Join) {
        let opener = Opener { player: self.player, origin: self.seen_from };
        let may_open = join.create && join.ticket.is_empty();
        let find = FindZone {
            name: ZoneName { kind: join.kind, name: join.name },
            creator: may_open.then_some(Creator::Client(opener)),
            payload: join.payload,
            reason: FindReason::Join { to, seat: join.ticket },
        };
        cx.tell(self.id, FromSession::Find(Box::new(find)));
    }

    /// Says that a frame was consumed and not applied; `leg` when that opens one.
    pub(super) fn refuse(
        &mut self,
        cx: &mut SessionContext<'_>,
        to: u64,
        code: RefusalCode,
        text: String,
        leg: Option<Leg>,
    ) {
        if self.is_native() {
            return self.tell_local(Delivery::Refused(code, text));
        }
        let leg = leg.map_or(0, Leg::to_wire);
        let text = clip(text);
        let refused = Refused { to, code: code.into(), text, leg };
        self.say_in_lobby(cx, down::Body::Refused(refused));
    }

    /// Says something in the session's own leg.
    pub(super) fn say_in_lobby(&mut self, cx: &mut SessionContext<'_>, body: down::Body) {
        self.say_frame(cx, |seq| shared(server_frame::Frame::Down(Down { seq, body: Some(body) })));
    }

    /// The same for a caller that may have the frame of that number already.
    pub(super) fn say_frame(
        &mut self,
        cx: &mut SessionContext<'_>,
        make: impl FnOnce(u64) -> SharedFrame,
    ) {
        let outgoing = self.downstream.say(make, cx.config.outbox);
        let is_overrun = self.downstream.take_overrun();
        self.touch();
        self.send_after(outgoing);
        if is_overrun {
            self.resync_in_place();
        }
    }

    /// Sends frames once everything so far is committed.
    pub(super) fn send_after(&mut self, outgoing: impl IntoIterator<Item = Outgoing>) {
        for outgoing in outgoing {
            self.after(AfterCommit::Frame(outgoing));
        }
    }

    /// Sends what the client's window has room for; gives how many frames.
    pub(super) fn send_waiting(&mut self, cx: &SessionContext<'_>) -> u64 {
        let waiting = self.downstream.send_waiting(cx.config.outbox);
        let count = waiting.len() as u64;
        self.send_after(waiting);
        count
    }

    /// A connected client has missed something for good: it is given the whole state on a new leg.
    pub(super) fn resync_in_place(&mut self) {
        if let Some(link) = self.link() {
            hit(Mark::ResyncedInPlace);
            self.resync(link, RungReason::Overrun, 0);
        }
    }

    /// Opens a new turn of the session's own leg with its whole state.
    pub(super) fn resync(&mut self, link: Link, reason: RungReason, lost: u64) {
        let (leg, seq) = self.downstream.restart(reason, Some(link));
        self.leg = leg;
        let resync = Resync {
            leg: leg.to_wire(),
            seq,
            reason: reason.into(),
            snapshot: self.data.clone(),
            applied: self.inbound.applied(),
            lost_upstream: lost,
            ..Resync::default()
        };
        let frame = shared(server_frame::Frame::Resync(resync));
        self.touch();
        self.send_after([Outgoing { link, at: Some((leg, seq)), frame }]);
    }

    /// Acknowledges what is consumed so far.
    pub(super) fn tell_applied(&mut self) {
        if let Some(link) = self.link() {
            self.after(AfterCommit::Applied { link, seq: self.inbound.applied() });
        }
    }

    /// Goes to a leg of its own, one stay further; what is said first there may follow.
    pub(super) fn enter_lobby(&mut self, cx: &mut SessionContext<'_>) -> Leg {
        let leg = self.leave_place();
        self.route(cx);
        leg
    }

    /// The same for a session whose client hears nothing more.
    pub(super) fn leave_place(&mut self) -> Leg {
        self.leg = Leg::first(self.leg.stay.saturating_add(1));
        self.downstream.enter(self.leg, self.hearing_link());
        self.place = Place::Lobby(Lobby::default());
        self.touch();
        self.leg
    }
}
