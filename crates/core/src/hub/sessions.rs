//! How the hub calls its sessions: it lends one what it needs, brings the indexes up to date, delivers what the
//! session has to say to other machines, and settles its gate at the end of the input.

use std::collections::BTreeSet;

use rejoin_wire::v1::{CloseCode, RefusalCode};

use super::table::Indexed;
use super::{Answer, Hub, HubOutput, Mail, Warning};
use crate::event::{EndCause, Event, Offence, Step};
use crate::exchange::ToZone;
use crate::handshake::{Attached, ConnectionPhase};
use crate::id::{Revision, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::scope::ScopeId;
use crate::session::{FindReason, FindZone, FromSession, Moment, SessionContext, SessionCore};
use crate::zone_registry::{Creator, Opener};

/// What is on its way to the store.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// Sessions whose gates have to be looked at before the input is over.
    unsettled: BTreeSet<SessionId>,
    /// Sessions with a batch at the store.
    in_flight: BTreeSet<SessionId>,
}

impl Commits {
    /// Sessions with a commit under way.
    pub(crate) fn under_way(&self) -> usize {
        self.in_flight.len()
    }
}

impl Hub {
    /// What time it is, on each clock.
    pub(crate) fn moment(&self) -> Moment {
        let clock = self.alarms.clock();
        let (now, hold, real) = (clock.now(), clock.hold(), clock.real());
        Moment { now, hold, real, wall: self.wall(now) }
    }

    /// Calls a session. None: there is none of this id, or only the deletion of its scope is left.
    pub(crate) fn with_session<T>(
        &mut self,
        id: SessionId,
        call: impl FnOnce(&mut SessionCore, &mut SessionContext<'_>) -> T,
    ) -> Option<T> {
        if self.sessions.contains_key(&id) { self.call_session(id, call) } else { None }
    }

    /// The same, also for a session of which only the deletion of its scope is left.
    pub(crate) fn call_session<T>(
        &mut self,
        id: SessionId,
        call: impl FnOnce(&mut SessionCore, &mut SessionContext<'_>) -> T,
    ) -> Option<T> {
        let at = self.moment();
        let session = self.sessions.get_mut(id)?;
        let before = Indexed::of(session);
        let mut context = SessionContext {
            at,
            config: &self.config,
            zones: &self.zones,
            rations: &self.rations,
            is_recovering: self.recovering,
            is_stopping: self.going_down,
            chance: &mut self.chance,
            counts: &mut self.counts,
            alarms: &mut self.alarms,
            in_flight: &mut self.commits.in_flight,
            out: &mut self.out,
            mail: &mut self.mail,
        };
        let result = call(session, &mut context);
        if session.is_unsettled() {
            self.commits.unsettled.insert(id);
        }
        if let Some(left) = self.sessions.update(id, before) {
            self.end_if_unused(left);
        }
        self.deliver_mail();
        Some(result)
    }

    /// Delivers what machines have to say to each other.
    pub(crate) fn deliver_mail(&mut self) {
        while let Some(mail) = self.mail.pop_front() {
            match mail {
                Mail::FromSession(from, message) => self.on_session_message(from, message),
                Mail::FromHandshake(from, message) => self.on_handshake_message(from, message),
            }
        }
    }

    /// Submits what changed, and carries out what waits for nothing.
    pub(crate) fn settle(&mut self) {
        // Carrying out an effect can change a session again; it does so finitely often.
        loop {
            if let Some(batch) = self.ids.next_batch() {
                self.push(HubOutput::Commit(batch));
                continue;
            }
            // What is kept of an account or a player goes to the store before the sessions that rest on it.
            if let Some((account, output)) = self.accounts.next_output() {
                self.on_account_output(account, output);
                continue;
            }
            if let Some((player, output)) = self.players.next_output() {
                self.on_player_output(player, output);
                continue;
            }
            let Some(session) = self.commits.unsettled.pop_first() else { return };
            self.call_session(session, SessionCore::settle);
            self.sessions.forget_if_gone(session);
        }
    }

    pub(crate) fn committed(&mut self, scope: ScopeId, revision: Revision) {
        match scope {
            ScopeId::Session(session) => {
                self.commits.in_flight.remove(&session);
                self.call_session(session, |session, cx| session.committed(cx, revision));
            }
            ScopeId::Player(player) => self.players.committed(player, revision),
            ScopeId::Account(account) => self.accounts.committed(account, revision),
            ScopeId::Hub => {
                self.ids.committed(revision);
                self.finish_recovery();
            }
            // Zones hear of theirs themselves, and so does the directory.
            _ => {}
        }
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
                self.players.guest_seen(self.moment().wall, player, None);
            }
            FromSession::StoreWentBack => {
                if !std::mem::replace(&mut self.went_back, true) {
                    self.push(HubOutput::Warn(Warning::StoreWentBack { session }));
                }
            }
            FromSession::ZoneUsed(zone) => self.zones.note_used(zone),
            FromSession::Heard { ticket, is_told } => {
                if let Some(answer) = self.tellings.heard(ticket, is_told) {
                    self.answer(ticket, answer);
                }
            }
            FromSession::AccountSessionEnded(account) => {
                self.accounts.session_ended(account, session);
            }
            FromSession::EndKept { ticket } => {
                if self.endings.kept(ticket) {
                    self.answer(ticket, Answer::Done);
                }
            }
            FromSession::EndCommitted { player, credential } => {
                self.sessions.end_committed(session, player, credential);
            }
        }
    }

    /// Looks for a zone that a session asks for, and opens it if that is allowed.
    fn find_zone(&mut self, id: SessionId, find: FindZone) {
        let is_there = self.zones.contains(ZoneId::of(&find.name.kind, &find.name.name));
        let zone = match find.creator {
            Some(Creator::Client(opener)) if !is_there && self.opens_too_often(id, opener) => {
                Err(RefusalCode::CreateDenied)
            }
            creator => {
                let zone = self.with_zones(|zones| zones.find(&find.name, creator));
                if zone.is_err() && matches!(find.reason, FindReason::Join { .. }) {
                    hit(Mark::UnknownZone);
                }
                zone
            }
        };
        if self.with_session(id, |session, cx| session.found(cx, find, zone)).is_none() {
            crate::never!("{id:?} asked for a zone and is not there");
        }
    }

    /// Whether the address of a session has asked for too many zones to be opened, this one included.
    fn opens_too_often(&mut self, id: SessionId, opener: Opener) -> bool {
        let (real, quota) = (self.moment().real, self.config.guard.address_opens);
        let wait = opener
            .origin
            .and_then(|from| self.rations.spend(real, from, quota, |conduct| &mut conduct.opens));
        if wait.is_some() {
            hit(Mark::OpensRationed);
            let connection = self.session(id).and_then(SessionCore::connection);
            let (step, session, what) = (Step::Sever, Some(id), Offence::Opens);
            let event = Event::GuardStep { step, connection, session, what };
            self.push(HubOutput::Event(event));
        }
        wait.is_some()
    }

    /// Sends a message to the open incarnation of a zone, if there is one.
    pub(crate) fn tell_zone(&mut self, zone: ZoneId, message: ToZone) {
        if let Some(owner) = self.zones.owner(zone) {
            self.push(HubOutput::ToZone(zone, owner, message));
        }
    }
}
