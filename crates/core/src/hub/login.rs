//! Which session a connection gets that may come in: the one that it resumes, the one that a login of its player
//! finds, or a new one. What a session itself decides about a return is in `session/resume.rs`, which of several
//! sessions of a player a login finds in `player/login.rs`, and what the client hears in `handshake/answer.rs`.

use rejoin_wire::v1::{Resume, RungReason, hello};

use super::Hub;
use crate::event::EndCause;
use crate::handshake::{LoginClaim, LookUp};
use crate::id::{ConnectionId, PlayerId, SessionId};
use crate::mark::{Mark, hit};
use crate::player::LoginChoice;
use crate::session::{Identity, Newcomer, ResumeAsk, Resumed, SessionContext, SessionCore};

impl Hub {
    /// A hello wants to go on with a session. The token is looked up first: one that opens nothing spends no pace
    /// that others share, and is answered and counted against its address.
    pub(super) fn look_up(&mut self, id: ConnectionId, look_up: LookUp) {
        let mut ask = ask_of(&look_up.resume, None);
        let mut resumed = self.ask_session(&ask);
        if matches!(resumed, Resumed::PaceFirst) {
            let resume = &look_up.resume;
            let is_deferred = self.with_handshake(id, |one, cx| one.is_return_deferred(cx, resume));
            if is_deferred != Some(false) {
                return;
            }
            ask.is_paced = true;
            resumed = self.ask_session(&ask);
        }
        self.with_handshake(id, |one, cx| one.looked_up(cx, look_up, &resumed));
    }

    /// Asks the session of a resume what it says; it may want others to decide first.
    fn ask_session(&mut self, ask: &ResumeAsk<'_>) -> Resumed {
        let session = SessionId(ask.resume.session);
        let resumed = self.with_session(session, |session, cx| session.resume(cx, ask));
        resumed.unwrap_or(Resumed::Unknown)
    }

    /// Lets a connection in, whose claim is good: into the session that it resumes, or that its login finds or begins.
    pub(super) fn let_in(&mut self, id: ConnectionId, claim: &LoginClaim) {
        let Some(newcomer) = self.with_handshake(id, |one, cx| one.newcomer(cx, claim)) else {
            return crate::never!("{id:?} was let in and is not there");
        };
        match &claim.hello.purpose {
            Some(hello::Purpose::Resume(resume)) => {
                let ask = ResumeAsk { is_paced: true, ..ask_of(resume, Some(newcomer)) };
                let resumed = self.ask_session(&ask);
                self.with_handshake(id, |one, cx| one.resumed(cx, resume, &resumed));
            }
            Some(hello::Purpose::Login(login)) => self.log_in(claim, &newcomer, login.fresh),
            None => crate::never!("{id:?} was let in by a hello without a purpose"),
        }
    }

    fn log_in(&mut self, claim: &LoginClaim, newcomer: &Newcomer<'_>, fresh: bool) {
        let theirs = self.sessions.found_by_login(claim.player);
        let session = match LoginChoice::of(self.config.duplicates, &theirs) {
            LoginChoice::Refused => {
                self.with_handshake(newcomer.connection, |one, cx| one.refuse_second_login(cx));
                return;
            }
            LoginChoice::New => return self.begin_session(claim, newcomer, None),
            LoginChoice::Session(session) if fresh => {
                return self.begin_session(claim, newcomer, Some(session));
            }
            LoginChoice::Session(session) => session,
        };
        let found = self.with_session(session, |session, cx| session.find_by_login(cx, newcomer));
        let Some(attaching) = found else {
            return crate::never!("{session:?} is listed under its player and is not there");
        };
        self.with_handshake(newcomer.connection, |one, cx| one.found(cx, attaching));
    }

    /// Begins a session for a login, and ends the one that it replaces. Without room for it nothing is ended.
    fn begin_session(
        &mut self,
        claim: &LoginClaim,
        newcomer: &Newcomer<'_>,
        replaced: Option<SessionId>,
    ) {
        let id = match self.new_session(claim.player, claim.identity, replaced) {
            Ok(id) => id,
            Err(why) => {
                self.with_handshake(newcomer.connection, |one, cx| one.refuse_session(cx, why));
                return;
            }
        };
        hit(Mark::SessionNew);
        let end = |session: &mut SessionCore, cx: &mut SessionContext<'_>| {
            hit(Mark::Superseded);
            let spent = session.spent_with_portion(cx);
            session.end(cx, EndCause::Superseded);
            spent
        };
        let spent = replaced.and_then(|replaced| self.with_session(replaced, end));
        let reason = if spent.is_some() { RungReason::Fresh } else { RungReason::First };
        self.with_session(id, |session, cx| {
            session.begin_with(cx, newcomer, reason, spent.unwrap_or_default());
        });
    }

    /// Makes a session that has not begun. One that it replaces may still be there while its zone parts it.
    pub(super) fn new_session(
        &mut self,
        player: PlayerId,
        identity: Identity,
        replaced: Option<SessionId>,
    ) -> Result<SessionId, NoSession> {
        let (hold, began) = (self.config.hold, self.alarms.moment().wall);
        if self.sessions.len() - usize::from(replaced.is_some()) >= self.config.sessions_max {
            return Err(NoSession::Full);
        }
        let id = self.ids.take(self.config.id_block, began, self.players.guest_key());
        let id = id.ok_or(NoSession::NoIds)?;
        self.sessions.insert(SessionCore::new(id, player, identity, hold, began));
        Ok(id)
    }
}

/// Why no session can begin.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum NoSession {
    /// There are as many as there may be.
    Full,
    /// No ids are committed yet that could be given out.
    NoIds,
}

fn ask_of<'a>(resume: &'a Resume, newcomer: Option<Newcomer<'a>>) -> ResumeAsk<'a> {
    let key = resume.key.as_ref().map(|proof| PlayerId::of_key(&proof.public_key));
    ResumeAsk { resume, key, is_paced: false, newcomer }
}
