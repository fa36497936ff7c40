//! Messages between the machines of the hub. Each is delivered right after the call in which it was sent, before
//! the next input.

use rejoin_wire::v1::{CloseCode, RefusalCode};

use super::{Hub, HubOutput, Warning};
use crate::event::{EndCause, Event, Offence, Step};
use crate::exchange::Link;
use crate::handshake::{Attached, ConnectionPhase, FromHandshake};
use crate::id::{ConnectionId, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::orders::{FromOrder, OrderContext, Orders};
use crate::session::{FindReason, FindZone, FromSession, SessionCore};
use crate::zone_registry::{Creator, Opener};

/// A message from one machine of the hub to another.
pub(crate) enum Mail {
    Session(SessionId, FromSession),
    Handshake(ConnectionId, FromHandshake),
    Order(FromOrder),
}

impl Hub {
    /// Delivers what machines have to say to each other.
    pub(crate) fn deliver_mail(&mut self) {
        while let Some(mail) = self.mail.pop_front() {
            match mail {
                Mail::Session(from, message) => self.on_session_message(from, message),
                Mail::Handshake(from, message) => self.on_handshake_message(from, message),
                Mail::Order(message) => self.on_order_message(message),
            }
        }
    }

    /// Calls what operators have ordered, and delivers what that has to say to other machines.
    pub(crate) fn with_orders<T>(
        &mut self,
        call: impl FnOnce(&mut Orders, &mut OrderContext<'_>) -> T,
    ) -> T {
        let mut context = OrderContext {
            wall: self.alarms.moment().wall,
            players_only: self.players_only,
            accounts: &mut self.accounts,
            players: &mut self.players,
            sessions: &self.sessions,
            chance: &mut self.chance,
            out: &mut self.out,
            mail: &mut self.mail,
        };
        let result = call(&mut self.orders, &mut context);
        self.deliver_mail();
        result
    }

    fn on_session_message(&mut self, session: SessionId, message: FromSession) {
        match message {
            FromSession::SpeaksFor { connection, epoch } => {
                let phase = ConnectionPhase::Attached(Attached { session, epoch });
                self.with_handshake(connection, |one, _| one.set_phase(phase));
            }
            FromSession::Fence(connection) => {
                self.with_handshake(connection, |one, _| one.set_phase(ConnectionPhase::Fenced));
            }
            FromSession::Closed(connection) => {
                self.with_handshake(connection, |one, _| one.set_phase(ConnectionPhase::Closing));
            }
            FromSession::GaveWay(connection) => {
                self.with_handshake(connection, |one, cx| {
                    one.close(cx, CloseCode::TakenOver, "", 0)
                });
            }
            FromSession::Ended { connection, player, cause } => {
                let text = match cause {
                    EndCause::Banned => self.players.ban_text(player),
                    _ => String::new(),
                };
                let code = cause.close_code();
                self.with_handshake(connection, |one, cx| one.close(cx, code, &text, 0));
            }
            FromSession::Refuse { connection, code, text } => {
                self.with_handshake(connection, |one, cx| one.refuse(cx, code, text));
            }
            FromSession::Find(find) => self.find_zone(session, *find),
            FromSession::GuestSeen(player) => {
                // Without room for its row it comes back all the same.
                self.players.guest_seen(self.alarms.moment().wall, player, None);
            }
            FromSession::StoreWentBack => {
                if !std::mem::replace(&mut self.went_back, true) {
                    self.out.push_back(HubOutput::Warn(Warning::StoreWentBack { session }));
                }
            }
            FromSession::ZoneUsed(zone) => self.zones.note_used(zone),
            FromSession::Heard { ticket, is_told } => {
                let answer = self.tellings.heard(ticket, is_told);
                self.out.extend(answer.map(|answer| HubOutput::Answer { ticket, answer }));
            }
            FromSession::EndKept(awaits) => {
                self.with_orders(|orders, cx| orders.end_kept(cx, session, awaits));
            }
            FromSession::EndCommitted { player, credential } => {
                self.sessions.end_committed(session, player, credential);
            }
        }
    }

    fn on_handshake_message(&mut self, id: ConnectionId, message: FromHandshake) {
        match message {
            FromHandshake::LookUp(look_up) => self.look_up(id, *look_up),
            FromHandshake::LetIn(claim) => self.let_in(id, &claim),
            FromHandshake::HoldLonger { session, token, wait } => {
                self.with_session(session, |session, cx| session.hold_longer(cx, &token, wait));
            }
            FromHandshake::Gone { session, epoch, code, spent } => {
                let link = Link { connection: id, epoch };
                self.with_session(session, |session, cx| {
                    spent.into_iter().for_each(|spent| session.take_in_spent(spent));
                    session.dropped(cx, link, code);
                });
            }
        }
    }

    fn on_order_message(&mut self, message: FromOrder) {
        match message {
            FromOrder::End { sessions, awaits } => {
                for (id, cause) in &sessions {
                    self.with_session(*id, |session, cx| session.end(cx, *cause));
                }
                for (id, awaits) in sessions.iter().filter_map(|(id, _)| Some((*id, awaits?))) {
                    if self.call_session(id, |session, _| session.count_end(awaits)).is_none() {
                        // Its deletion is committed.
                        self.with_orders(|orders, cx| orders.end_kept(cx, id, awaits));
                    }
                }
            }
            FromOrder::Permit { sessions, permissions } => {
                self.with_sessions(sessions, |session, _| session.set_permissions(permissions));
            }
            FromOrder::Prepared { connection, ask, done } => {
                self.with_handshake(connection, |one, cx| match done {
                    Ok(()) => one.prepared(cx, ask),
                    Err(refusal) => one.change_refused(cx, ask, refusal),
                });
            }
        }
    }

    /// Looks for a zone that a session asks for, and opens it if that is allowed.
    fn find_zone(&mut self, id: SessionId, find: FindZone) {
        let is_there = self.zones.contains(ZoneId::of(&find.name.kind, &find.name.name));
        let (real, guard) = (self.alarms.moment().real, &self.config.guard);
        let zone = match find.creator {
            Some(Creator::Client(Opener { origin: Some(origin), .. }))
                if !is_there && self.rations.opens_too_often(real, origin, guard) =>
            {
                let connection = self.session(id).and_then(SessionCore::connection);
                let (step, session, what) = (Step::Sever, Some(id), Offence::Opens);
                let event = Event::GuardStep { step, connection, session, what };
                self.out.push_back(HubOutput::Event(event));
                Err(RefusalCode::CreateDenied)
            }
            creator => self.zones.carry(&mut self.out, |zones| zones.find(&find.name, creator)),
        };
        if zone.is_err() && matches!(find.reason, FindReason::Join { .. }) {
            hit(Mark::UnknownZone);
        }
        if self.with_session(id, |session, cx| session.found(cx, find, zone)).is_none() {
            crate::never!("{id:?} asked for a zone and is not there");
        }
    }
}
