//! What a hello gets that has proven who it is from: a session of before, a new one, or a refusal. What a
//! session itself decides about a return is in `session/resume.rs`.

use rejoin_wire::v1::{CloseCode, Resume, RungReason, hello};

use super::Hub;
use super::config::Duplicates;
use super::ration::Spent;
use crate::connection::{Handshake, LoginClaim};
use crate::event::EndCause;
use crate::id::{ConnectionId, PlayerId, SessionId};
use crate::mark::{Mark, hit};
use crate::session::{Attaching, Identity, Newcomer, ResumeAsk, Resumed, SessionCore};
use crate::time::Time;

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
    /// A hello has proven who it is from: what does it get?
    pub(crate) fn decide_claim(&mut self, now: Time, id: ConnectionId, claim: LoginClaim) {
        // A ban counts once it is committed: before that nobody is let in or refused because of it.
        let players = self.players_of(&claim);
        if let Some(player) = players.into_iter().find(|player| self.players.is_ban_coming(*player))
        {
            hit(Mark::BanAwaited);
            return self.wait_for_ban(player, id, claim);
        }
        // Read in the same step that makes the session live, on every login and resume.
        match self.barred(now, &claim) {
            None => {}
            Some((CloseCode::Credential, _)) => {
                hit(Mark::AccountOutdatedLate);
                return self.wrong_credential(id);
            }
            Some((code, text)) => {
                match code {
                    CloseCode::Banned => hit(Mark::Banned),
                    CloseCode::Locked => hit(Mark::AccountLockedOut),
                    CloseCode::NotReady => hit(Mark::AccountMoved),
                    _ => {}
                }
                return self.refuse(id, code, &text);
            }
        }
        if self.players.is_damaged(claim.player) {
            return self.refuse_damaged(id);
        }
        if claim.change.is_some() {
            return self.settle_account(now, id, claim);
        }
        match &claim.hello.purpose {
            Some(hello::Purpose::Resume(resume)) => self.decide_resume(id, &claim, resume),
            Some(hello::Purpose::Login(login)) => self.decide_login(now, id, &claim, login.fresh),
            None => self.violation(id, "a hello without a purpose"),
        }
    }

    /// Decides about this connection once the ban of this player is committed.
    fn wait_for_ban(&mut self, player: PlayerId, id: ConnectionId, claim: LoginClaim) {
        if !self.players.has_room(player) {
            return self.refuse(id, CloseCode::NotReady, "a ban is being kept; come again");
        }
        let ask = self.ask(id, |ask| Handshake::Preparing(ask, Box::new(claim)));
        self.players.decide_later(player, id, ask);
    }

    /// What a session has to know of the connection that wants to speak for it.
    fn newcomer<'a>(&self, id: ConnectionId, claim: &'a LoginClaim) -> Option<Newcomer<'a>> {
        let known = self.connections.get(&id)?;
        Some(Newcomer {
            connection: id,
            serializer: known.serializer,
            is_encrypted: known.is_encrypted,
            origin: known.origin,
            opened_at: known.opened_at,
            identity: claim.identity,
            credential: claim.credential,
            is_signed: claim.signed,
            minted: claim.minted.as_ref(),
            capabilities: &claim.hello.capabilities,
            permissions: self.permissions_of(claim.player),
        })
    }

    /// Asks the session of a resume what it says; it may want others to decide first.
    pub(crate) fn ask_session(&mut self, ask: &ResumeAsk<'_>) -> Resumed {
        let session = SessionId(ask.resume.session);
        let resumed = self.with_session(session, |session, cx| session.resume(cx, ask));
        resumed.unwrap_or(Resumed::Unknown)
    }

    fn decide_resume(&mut self, id: ConnectionId, claim: &LoginClaim, resume: &Resume) {
        let newcomer = self.newcomer(id, claim);
        if newcomer.is_none() {
            return hit(Mark::StaleIgnored);
        }
        let key = resume.key.as_ref().map(|proof| PlayerId::of_key(&proof.public_key));
        let ask = ResumeAsk { resume, key, is_paced: true, newcomer };
        match self.ask_session(&ask) {
            // The connection hears of these once what they rest on is committed.
            Resumed::Attached | Resumed::Retired => {}
            Resumed::Wait(wait) => self.returned_too_often(id, resume, wait),
            Resumed::Busy => {
                hit(Mark::NotReady);
                let wait = self.config.retry_after;
                self.send_away(id, Some(resume), CloseCode::NotReady, wait);
            }
            Resumed::Lost => {
                hit(Mark::SessionUnknown);
                self.refuse(id, CloseCode::SessionUnknown, "unknown session or token");
            }
            // The session is another one than it was at the hello.
            Resumed::Unknown | Resumed::PaceFirst | Resumed::SignFirst | Resumed::ClearFirst => {
                self.unknown_or_wrong(id);
            }
        }
    }

    fn decide_login(&mut self, now: Time, id: ConnectionId, claim: &LoginClaim, fresh: bool) {
        let Some(newcomer) = self.newcomer(id, claim) else { return hit(Mark::StaleIgnored) };
        let session = match self.session_for(claim.player) {
            Found::Refused => {
                hit(Mark::LoggedInAgain);
                let text = "this player is connected already";
                return self.refuse(id, CloseCode::LoggedInAgain, text);
            }
            Found::New => {
                let (reason, spent) = (RungReason::First, Spent::default());
                return self.begin_session(now, claim, &newcomer, reason, spent);
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
            let (reason, spent) = (RungReason::Fresh, spent.unwrap_or_default());
            return self.begin_session(now, claim, &newcomer, reason, spent);
        }
        let is_held = self.sessions.get(&session).is_some_and(|session| session.is_held());
        let attaching =
            self.with_session(session, |session, cx| session.find_by_login(cx, &newcomer));
        match attaching {
            Some(Attaching::Attached) => {
                hit(if is_held { Mark::FoundHeld } else { Mark::FoundLive });
            }
            Some(Attaching::Wait) => {
                self.send_away(id, None, CloseCode::Flooded, self.config.retry_after);
            }
            Some(Attaching::Busy) => {
                hit(Mark::NotReady);
                self.send_away(id, None, CloseCode::NotReady, self.config.retry_after);
            }
            None => crate::never!("{session:?} is listed under its player and is not there"),
        }
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
        now: Time,
        claim: &LoginClaim,
        newcomer: &Newcomer<'_>,
        reason: RungReason,
        spent: Spent,
    ) {
        if self.sessions.len() >= self.config.sessions_max {
            hit(Mark::Full);
            return self.refuse(newcomer.connection, CloseCode::Full, "no more sessions");
        }
        let Some(id) = self.next_session_id(now) else {
            hit(Mark::NotReady);
            return self.refuse(newcomer.connection, CloseCode::NotReady, "no session ids yet");
        };
        hit(Mark::SessionNew);
        let (hold, began) = (self.config.hold, self.wall(now));
        let session = SessionCore::new(id, claim.player, claim.identity, hold, began);
        self.sessions.insert(session);
        self.with_session(id, |session, cx| session.begin_with(cx, newcomer, reason, spent));
    }
}
