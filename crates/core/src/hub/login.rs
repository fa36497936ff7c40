//! Which session a connection gets that may come in: the one that it resumes, the one that a login of its player
//! finds, or a new one. What a session itself decides about a return is in `session/resume.rs`.

use rejoin_wire::v1::{CloseCode, Resume, RungReason, hello};

use super::Hub;
use super::config::Duplicates;
use crate::connection::Spent;
use crate::event::EndCause;
use crate::handshake::{LoginClaim, LookUp};
use crate::id::{ConnectionId, PlayerId, SessionId};
use crate::mark::{Mark, hit};
use crate::session::{Attaching, Identity, Newcomer, ResumeAsk, Resumed, SessionCore};

/// The sessions that a login may find, by the policy for several of one player.
enum Found {
    /// Go on with this one.
    Session(SessionId),
    /// Begin another one.
    New,
    /// The player is connected already.
    Refused,
}

impl Hub {
    /// Asks the session of a resume what it says; it may want others to decide first.
    fn ask_session(&mut self, ask: &ResumeAsk<'_>) -> Resumed {
        let session = SessionId(ask.resume.session);
        let resumed = self.with_session(session, |session, cx| session.resume(cx, ask));
        resumed.unwrap_or(Resumed::Unknown)
    }

    /// A hello wants to go on with a session. The token is looked up first: one that opens nothing spends no pace
    /// that others share, and is answered and counted against its address.
    pub(super) fn look_up(&mut self, id: ConnectionId, look_up: LookUp) {
        let resume = &look_up.resume;
        let key = resume.key.as_ref().map(|proof| PlayerId::of_key(&proof.public_key));
        let mut ask = ResumeAsk { resume, key, is_paced: false, newcomer: None };
        let mut resumed = self.ask_session(&ask);
        if matches!(resumed, Resumed::PaceFirst) {
            let is_deferred = self.with_handshake(id, |one, cx| one.is_return_deferred(cx, resume));
            if is_deferred != Some(false) {
                return;
            }
            ask.is_paced = true;
            resumed = self.ask_session(&ask);
        }
        self.with_handshake(id, |one, cx| one.looked_up(cx, look_up, &resumed));
    }

    /// Lets a connection in, whose claim is good: into the session that it resumes, or that its login finds or begins.
    pub(super) fn let_in(&mut self, id: ConnectionId, claim: &LoginClaim) {
        match &claim.hello.purpose {
            Some(hello::Purpose::Resume(resume)) => self.resume(id, claim, resume),
            Some(hello::Purpose::Login(login)) => self.log_in(id, claim, login.fresh),
            None => crate::never!("{id:?} was let in by a hello without a purpose"),
        }
    }

    fn resume(&mut self, id: ConnectionId, claim: &LoginClaim, resume: &Resume) {
        let newcomer = self.with_handshake(id, |one, cx| one.newcomer(cx, claim));
        let key = resume.key.as_ref().map(|proof| PlayerId::of_key(&proof.public_key));
        let ask = ResumeAsk { resume, key, is_paced: true, newcomer };
        let resumed = self.ask_session(&ask);
        self.with_handshake(id, |one, cx| match resumed {
            // The connection hears of these once what they rest on is committed.
            Resumed::Attached | Resumed::Retired => {}
            Resumed::Wait(wait) => one.returned_too_often(cx, resume, wait),
            Resumed::Busy => {
                hit(Mark::NotReady);
                one.send_away(cx, Some(resume), CloseCode::NotReady, cx.config.retry_after);
            }
            Resumed::Lost => {
                hit(Mark::SessionUnknown);
                one.refuse(cx, CloseCode::SessionUnknown, "unknown session or token");
            }
            // The session is another one than it was at the hello.
            Resumed::Unknown
            | Resumed::PaceFirst
            | Resumed::SignFirst { .. }
            | Resumed::ClearFirst { .. } => one.unknown_or_wrong(cx),
        });
    }

    fn log_in(&mut self, id: ConnectionId, claim: &LoginClaim, fresh: bool) {
        let newcomer = self.with_handshake(id, |one, cx| one.newcomer(cx, claim));
        let Some(newcomer) = newcomer else {
            return crate::never!("{id:?} was let in and is not there");
        };
        let session = match self.session_for(claim.player) {
            Found::Refused => {
                hit(Mark::LoggedInAgain);
                let (code, text) = (CloseCode::LoggedInAgain, "this player is connected already");
                self.with_handshake(id, |one, cx| one.refuse(cx, code, text));
                return;
            }
            Found::New => {
                return self.begin_session(claim, &newcomer, RungReason::First, Spent::default());
            }
            Found::Session(session) => session,
        };
        if fresh {
            hit(Mark::Superseded);
            let spent = self.with_session(session, |session, cx| {
                let spent = session.spent_with_portion(cx);
                session.end(cx, EndCause::Superseded);
                spent
            });
            let spent = spent.unwrap_or_default();
            return self.begin_session(claim, &newcomer, RungReason::Fresh, spent);
        }
        let is_held = self.session(session).is_some_and(SessionCore::is_held);
        let attaching =
            self.with_session(session, |session, cx| session.find_by_login(cx, &newcomer));
        let wait = self.config.retry_after;
        let (code, mark) = match attaching {
            Some(Attaching::Attached) => {
                return hit(if is_held { Mark::FoundHeld } else { Mark::FoundLive });
            }
            Some(Attaching::Wait) => (CloseCode::Flooded, None),
            Some(Attaching::Busy) => (CloseCode::NotReady, Some(Mark::NotReady)),
            None => {
                return crate::never!("{session:?} is listed under its player and is not there");
            }
        };
        mark.into_iter().for_each(hit);
        self.with_handshake(id, |one, cx| one.send_away(cx, None, code, wait));
    }

    /// What a login of this player finds. Sessions that the server started for it are not found.
    fn session_for(&self, player: PlayerId) -> Found {
        let theirs: Vec<(SessionId, bool)> = self
            .sessions
            .of_player(player)
            .filter_map(|id| self.sessions.get(&id).map(|session| (id, session)))
            .filter(|(_, session)| session.identity() != Identity::Server)
            .map(|(id, session)| (id, session.is_held()))
            .collect();
        let held = theirs.iter().rev().find(|(_, held)| *held).map(|(id, _)| *id);
        let live = theirs.iter().filter(|(_, held)| !held).count();
        let newest = theirs.last().map(|(id, _)| *id);
        let found = match (self.config.duplicates, held) {
            (Duplicates::RejectNew, _) if live > 0 => return Found::Refused,
            (Duplicates::Allow(most), None) if live >= most as usize => return Found::Refused,
            (Duplicates::TakeOver, _) => newest,
            (Duplicates::RejectNew | Duplicates::Allow(_), held) => held,
        };
        if found.is_none() && live > 0 {
            hit(Mark::AllowedSeveral);
        }
        found.map_or(Found::New, Found::Session)
    }

    fn begin_session(
        &mut self,
        claim: &LoginClaim,
        newcomer: &Newcomer<'_>,
        reason: RungReason,
        spent: Spent,
    ) {
        let connection = newcomer.connection;
        let Some(id) = self.next_session_id() else {
            let (mark, code, text) = match self.is_full() {
                true => (Mark::Full, CloseCode::Full, "no more sessions"),
                false => (Mark::NotReady, CloseCode::NotReady, "no session ids yet"),
            };
            hit(mark);
            self.with_handshake(connection, |one, cx| one.refuse(cx, code, text));
            return;
        };
        hit(Mark::SessionNew);
        let (hold, began) = (self.config.hold, self.moment().wall);
        let session = SessionCore::new(id, claim.player, claim.identity, hold, began);
        self.sessions.insert(session);
        self.with_session(id, |session, cx| session.begin_with(cx, newcomer, reason, spent));
    }

    /// Whether no more sessions may begin.
    fn is_full(&self) -> bool {
        self.sessions.len() >= self.config.sessions_max
    }

    /// Takes the id of a session that begins; none: there are too many, or no ids are reserved yet.
    pub(super) fn next_session_id(&mut self) -> Option<SessionId> {
        let wall = self.moment().wall;
        let (ids, guest_key) = (self.config.id_block, self.players.guest_key());
        if self.is_full() { None } else { self.ids.take(ids, wall, guest_key) }
    }
}
