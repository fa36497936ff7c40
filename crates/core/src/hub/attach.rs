//! Giving a connection its session: every decision of a login and a resume. A valid resume takes
//! over at once, even while the old connection still looks alive; the new epoch and the next token
//! are committed before the Welcome is shown, and the old connection is told after that, too.

use std::time::Duration;

use rejoin_wire::v1::{CloseCode, Hello, Resume, Rung, RungReason, Welcome, hello};

use super::Hub;
use super::commit::After;
use super::config::Duplicates;
use super::ration::Spent;
use super::{HubOutput, Warning};
use crate::connection::{
    Attached, Connection, ConnectionPhase, LoginClaim, PendingAttach, ResumePoint, ToConnection,
};
use crate::event::{EndCause, Event, Offence, Step};
use crate::exchange::{Attach, Hold, Link, ResumeFrom, ToZone};
use crate::gate::Gate;
use crate::id::{ConnectionId, Leg, SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::scope::{History, ScopeId};
use crate::secret::Secret;
use crate::session::token::{Presented, Tokens};
use crate::session::{
    Absence, Downstream, Flags, Identity, Latency, Place, Presence, Serializer, Session,
};
use crate::stream::Inbound;
use crate::time::{Time, millis_u32};
use crate::timeline::{Timeline, What};

impl Hub {
    /// A hello has proven who it is from: what does it get?
    pub(crate) fn decide_claim(&mut self, now: Time, id: ConnectionId, claim: LoginClaim) {
        // A ban counts once it is committed: before that nobody is let in or refused because of it.
        let players = self.players_of(&claim);
        if let Some(player) = players.into_iter().find(|player| self.is_ban_coming(*player)) {
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
        if self.quarantined.contains(&claim.player) {
            return self.refuse_damaged(id);
        }
        if claim.change.is_some() {
            return self.settle_account(now, id, claim);
        }
        match claim.hello.purpose.clone() {
            Some(hello::Purpose::Resume(resume)) => self.decide_resume(now, id, claim, &resume),
            Some(hello::Purpose::Login(login)) => self.decide_login(now, id, claim, login.fresh),
            None => self.violation(now, id, "a hello without a purpose"),
        }
    }

    fn decide_resume(&mut self, now: Time, id: ConnectionId, claim: LoginClaim, resume: &Resume) {
        let session_id = SessionId(resume.session);
        // Looked up again: a signature may have been verified since.
        let presented = self.presented(resume);
        if matches!(presented, Presented::Valid(_))
            && let Some(wait) = self.return_ration(session_id)
        {
            return self.returned_too_often(id, resume, wait);
        }
        if matches!(presented, Presented::Valid(_)) && self.is_gate_full(session_id) {
            hit(Mark::NotReady);
            let wait = self.config.retry_after;
            return self.send_away(id, Some(resume), CloseCode::NotReady, wait);
        }
        match (presented, self.sessions.get_mut(&session_id)) {
            (Presented::Valid(number), Some(session)) => {
                let guest = (session.identity == Identity::Secret).then_some(session.credential);
                if !session.tokens.is_newest(number) {
                    hit(Mark::TokenOlder);
                }
                if session.confirm(number) {
                    session.confirmed_at = now;
                }
                if resume.epoch > session.epoch.0 {
                    // A token is stored with its epoch: this one is of a Welcome that is gone from here.
                    self.went_back(session_id);
                }
                if let Some(guest) = guest {
                    // Without room for its row it comes back all the same.
                    self.guest_seen(now, guest, None);
                }
                self.begin_attach(now, id, session_id, claim, point_of(resume), false);
            }
            (Presented::Lost, _) if claim.signed => {
                self.went_back(session_id);
                self.begin_attach(now, id, session_id, claim, point_of(resume), false);
            }
            (Presented::Lost, _) => {
                // Its hash is not here, and what else it shows can be made by whoever reads the store: it
                // opens nothing. The player logs in again and finds the session.
                hit(Mark::SessionUnknown);
                self.went_back(session_id);
                self.refuse(id, CloseCode::SessionUnknown, "unknown session or token");
            }
            (Presented::Retired, _) => self.retired_token(now, id, session_id, &claim),
            (Presented::Valid(_) | Presented::Unknown, _) => self.unknown_or_wrong(id),
        }
    }

    /// A client shows something that this session gave out and does not know any more: the store holds an
    /// earlier state than it once held.
    fn went_back(&mut self, id: SessionId) {
        if let Some(session) = self.sessions.get_mut(&id)
            && session.set_history(History::RolledBack)
        {
            self.touch(id);
        }
        if !std::mem::replace(&mut self.went_back, true) {
            self.push(HubOutput::Warn(Warning::StoreWentBack { session: id }));
        }
    }

    /// Refused and counted; the live connection is not disturbed.
    fn retired_token(
        &mut self,
        now: Time,
        id: ConnectionId,
        session_id: SessionId,
        claim: &LoginClaim,
    ) {
        hit(Mark::TokenRetired);
        self.counts.retired_tokens_total += 1;
        let at = self.wall(now);
        let opened_at = self.connections.get(&id).map(|known| known.opened_at);
        if let Some(session) = self.sessions.get_mut(&session_id) {
            session.timeline.record(at, What::RetiredToken, 0);
            // A hello that was under way when the token was confirmed is no theft, and neither is
            // one that holds the player's key.
            let stolen = opened_at.is_some_and(|at| at > session.confirmed_at) && !claim.signed;
            if self.config.end_on_retired_token && stolen {
                self.end(now, session_id, EndCause::Kicked);
            }
        }
        // What the refusal rests on is a confirmation that must be committed by then.
        let (session, what) = (Some(session_id), Offence::RetiredToken);
        let (step, connection) = (Step::Sever, Some(id));
        let event = Event::GuardStep { step, connection, session, what };
        self.after(session_id, After::Output(HubOutput::Event(event)));
        self.set_over(id, ConnectionPhase::Fenced);
        self.after(session_id, After::Refuse(id, CloseCode::TokenRetired, "this token is retired"));
    }

    fn decide_login(&mut self, now: Time, id: ConnectionId, claim: LoginClaim, fresh: bool) {
        let theirs: Vec<(SessionId, bool)> = self
            .sessions_of(claim.player)
            .into_iter()
            .filter_map(|id| self.sessions.get(&id).map(|session| (id, session)))
            .filter(|(_, session)| session.ending.is_none() && session.identity != Identity::Server)
            .map(|(id, session)| (id, session.is_held()))
            .collect();
        let held = theirs.iter().rev().find(|(_, held)| *held).map(|(id, _)| *id);
        let live = theirs.iter().filter(|(_, held)| !held).count();
        let newest = theirs.last().map(|(id, _)| *id);
        let found = match (self.config.duplicates, held) {
            (Duplicates::RejectNew, _) if live > 0 => return self.logged_in_again(id),
            (Duplicates::Allow(most), None) if live >= most as usize => {
                return self.logged_in_again(id);
            }
            (Duplicates::TakeOver, _) => newest,
            (_, held) => held,
        };
        match found {
            Some(session) if fresh => {
                hit(Mark::Superseded);
                let spent = self.spent_of(session);
                self.end(now, session, EndCause::Superseded);
                self.new_session(now, id, claim, RungReason::Fresh, spent);
            }
            Some(session) if self.return_ration(session).is_some() => {
                let wait = self.config.retry_after;
                self.send_away(id, None, CloseCode::Flooded, wait);
            }
            Some(session) if self.is_gate_full(session) => {
                hit(Mark::NotReady);
                self.send_away(id, None, CloseCode::NotReady, self.config.retry_after);
            }
            Some(session) => {
                hit(if held == Some(session) { Mark::FoundHeld } else { Mark::FoundLive });
                let point = ResumePoint { position: None, oldest_unacked: 1 };
                self.begin_attach(now, id, session, claim, point, true);
            }
            None => {
                if live > 0 {
                    hit(Mark::AllowedSeveral);
                }
                self.new_session(now, id, claim, RungReason::First, Spent::default());
            }
        }
    }

    fn logged_in_again(&mut self, id: ConnectionId) {
        hit(Mark::LoggedInAgain);
        self.refuse(id, CloseCode::LoggedInAgain, "this player is connected already");
    }

    fn new_session(
        &mut self,
        now: Time,
        id: ConnectionId,
        claim: LoginClaim,
        reason: RungReason,
        spent: Spent,
    ) {
        if self.sessions.len() >= self.config.sessions_max {
            hit(Mark::Full);
            return self.refuse(id, CloseCode::Full, "no more sessions");
        }
        let Some(session_id) = self.next_session_id(now) else {
            hit(Mark::NotReady);
            return self.refuse(id, CloseCode::NotReady, "no session ids yet");
        };
        hit(Mark::SessionNew);
        let hold = self.config.hold;
        let mut session = self.blank_session(now, session_id, claim.player, claim.identity, hold);
        session.spent = spent;
        self.add_session(now, session_id, session, Some(id));
        let (link, mut welcome) = self.take_connection(now, id, session_id, &claim, false);
        welcome.rung = Rung::New.into();
        welcome.reason = reason.into();
        welcome.leg = Leg::first(1).to_wire();
        let frame = rejoin_wire::v1::server_frame::Frame::Welcome(welcome);
        if let Some(session) = self.sessions.get_mut(&session_id) {
            session.downstream.attach(link);
        }
        self.after(session_id, After::Welcome(link, vec![super::lobby::shared(frame)]));
    }

    pub(crate) fn blank_session(
        &mut self,
        now: Time,
        id: SessionId,
        player: crate::id::PlayerId,
        identity: Identity,
        hold: Hold,
    ) -> Session {
        Session {
            player,
            credential: player,
            identity,
            epoch: SessionEpoch(0),
            tokens: Tokens::default(),
            presence: Presence::Preconnect,
            place: Place::Nowhere,
            leg: Leg::first(1),
            inbound: Inbound::default(),
            downstream: Downstream::new(),
            hold,
            serializer: Serializer::Protobuf,
            flags: Flags::default(),
            permissions: 0,
            data: Default::default(),
            avatar: None,
            latency: Latency::default(),
            disconnect_callback: None,
            ending: None,
            began: self.wall(now),
            absence: Absence::default(),
            confirmed_at: Time::ZERO,
            timeline: Timeline::default(),
            calls: None,
            gate: Gate::new(ScopeId::Session(id)),
            owes_resend: false,
            lost_known: 0,
            lost_told: None,
            zone_awaits: false,
            zone_lost: false,
            history: History::Whole,
            history_dirty: false,
            rejoined_stay: None,
            spent: Spent::default(),
            words: Vec::new(),
            seats: Vec::new(),
        }
    }

    pub(crate) fn add_session(
        &mut self,
        now: Time,
        id: SessionId,
        mut session: Session,
        connection: Option<ConnectionId>,
    ) {
        session.timeline.record(self.wall(now), What::Began, 0);
        self.counts.sessions_total += 1;
        let player = session.player;
        self.by_player.insert((player, id));
        self.sessions.insert(id, Box::new(session));
        self.start_lifetime(now, id);
        self.touch(id);
        let event = Event::PlayerConnected { session: id, player, connection };
        self.after(id, After::Output(HubOutput::Event(event)));
    }

    /// Hands a session to a connection: the fence, the next token, and what its Welcome will say.
    fn take_connection(
        &mut self,
        now: Time,
        id: ConnectionId,
        session_id: SessionId,
        claim: &LoginClaim,
        found: bool,
    ) -> (Link, Welcome) {
        self.take_over(now, session_id);
        let hold_ms = self.hold_ms(session_id);
        let known = self.connections.get(&id);
        let serializer = known.map(|known| known.serializer).unwrap_or_default();
        let is_encrypted = known.is_some_and(|known| known.is_encrypted);
        let seen_from = known.and_then(|known| known.origin);
        let is_compressed = self.compress(id, serializer, &claim.hello);
        let (mut number, mut token) = (None, None);
        let mut epoch = SessionEpoch(0);
        let mut spent = Spent::default();
        let permissions = self.permissions_of(claim.player);
        if let Some(session) = self.sessions.get_mut(&session_id) {
            if session.history == History::RolledBack {
                session.tokens.forget_key();
            }
            let issued = session.tokens.issue(&mut self.chance);
            (number, token) = (Some(issued.0), Some(issued.1));
            session.epoch = session.epoch.next();
            session.presence = Presence::Here(id);
            let before = (session.serializer, session.flags.has(Flags::ENCRYPTION));
            if session.epoch.0 > 1 && before != (serializer, is_encrypted) {
                hit(Mark::TransportChanged);
            }
            session.serializer = serializer;
            session.flags.set(Flags::ENCRYPTION, is_encrypted);
            session.flags.set(Flags::COMPRESSION, is_compressed);
            session.absence.seen_from = seen_from;
            // A session of an account may be found by another key than it began with.
            (session.identity, session.credential) = (claim.identity, claim.credential);
            session.permissions = permissions.unwrap_or(session.permissions);
            epoch = session.epoch;
            spent = session.spent;
        }
        let link = Link { connection: id, epoch };
        if let Some(connection) = self.connections.get_mut(&id) {
            let (session, unconfirmed) = (session_id, number);
            let (is_live, pending, left) = (false, None, None);
            let attached = Attached { session, epoch, is_live, pending, unconfirmed, left };
            connection.phase = ConnectionPhase::Attached(Box::new(attached));
        }
        self.touch(session_id);
        // A random point of the first interval, so that pings of many connections do not come together.
        let interval = crate::time::micros(self.config.heartbeat).max(1);
        let first_ping = Duration::from_micros(self.chance.below(interval));
        let nonce = u64::from_le_bytes(self.chance.bytes());
        let session = session_id;
        let attached = ToConnection::Attached { session, epoch, spent, first_ping, nonce };
        self.push(HubOutput::ToConnection(id, attached));
        let event = Event::SessionLinked { session: session_id, connection: id };
        self.after(session_id, After::Output(HubOutput::Event(event)));
        (link, self.draft_welcome(session_id, claim, token, hold_ms, found))
    }

    /// Agrees to compressed frames, if the client has asked for them and this server has them. JSON
    /// is for people and for engines without anything else: it stays as it is.
    fn compress(
        &mut self,
        connection: ConnectionId,
        serializer: Serializer,
        hello: &Hello,
    ) -> bool {
        let is_asked = hello.capabilities.iter().any(|name| name == rejoin_wire::DEFLATE);
        let is_agreed = self.config.compression && is_asked && serializer == Serializer::Protobuf;
        if is_agreed {
            hit(Mark::CompressionAgreed);
            let bytes_min = self.config.compression_bytes_min;
            self.push(HubOutput::Compress { connection, bytes_min });
        }
        is_agreed
    }

    fn draft_welcome(
        &self,
        session_id: SessionId,
        claim: &LoginClaim,
        token: Option<Secret>,
        hold_ms: u32,
        found: bool,
    ) -> Welcome {
        let Some(session) = self.sessions.get(&session_id) else { return Welcome::default() };
        let reveal = |secret: &Secret| secret.reveal().to_vec().into();
        Welcome {
            session: session_id.0,
            player: session.player.0.to_vec().into(),
            epoch: session.epoch.0,
            applied: session.inbound.applied(),
            token: token.as_ref().map(reveal).unwrap_or_default(),
            secret: claim.minted.as_ref().map(reveal).unwrap_or_default(),
            found,
            hold_ms,
            heartbeat_ms: millis_u32(self.config.heartbeat),
            message_bytes_max: self.config.message_bytes_max,
            window_frames: self.config.window_frames,
            window_bytes: self.config.window_bytes,
            capabilities: taken_capabilities(session.flags),
            ..Welcome::default()
        }
    }

    fn begin_attach(
        &mut self,
        now: Time,
        id: ConnectionId,
        session: SessionId,
        claim: LoginClaim,
        point: ResumePoint,
        found: bool,
    ) {
        let (link, welcome) = self.take_connection(now, id, session, &claim, found);
        let known = self.connections.get_mut(&id);
        if let Some(attached) = known.and_then(Connection::attached_mut) {
            if let Some(known) = self.sessions.get_mut(&session).filter(|_| !found) {
                let through = point.oldest_unacked.saturating_sub(1);
                known.lost_told = attached.unconfirmed.map(|token| (token, through));
            }
            attached.pending = Some(Box::new(PendingAttach { point, welcome, found }));
        }
        self.after(session, After::Attach(link.epoch));
    }

    /// The connection that spoke for a session has no voice from here on.
    fn take_over(&mut self, now: Time, session_id: SessionId) {
        let at = self.wall(now);
        let spent = self.spent_of(session_id);
        let Some(session) = self.sessions.get_mut(&session_id) else { return };
        let Some(old) = session.connection() else { return };
        session.timeline.record(at, What::TakenOver, 0);
        session.spent = spent;
        session.downstream.detach();
        self.counts.takeovers_total += 1;
        let attached = self.connections.get(&old).and_then(Connection::attached);
        let is_live = attached.is_some_and(|attached| attached.is_live);
        hit(if is_live { Mark::TakenOver } else { Mark::TakenOverAttaching });
        if !is_armed(Bug::ResumeNotFenced) {
            self.set_over(old, ConnectionPhase::Fenced);
        }
        self.after(session_id, After::Close(old, CloseCode::TakenOver, String::new()));
        let event = Event::TakenOver { session: session_id, old };
        self.after(session_id, After::Output(HubOutput::Event(event)));
    }

    /// The epoch is committed: the connection goes to where its session is.
    pub(crate) fn attach_now(&mut self, now: Time, id: SessionId, epoch: SessionEpoch) {
        let Some(link) = self.link_of(id).filter(|link| link.epoch == epoch) else {
            return hit(Mark::StaleIgnored);
        };
        let known = self.connections.get(&link.connection);
        let pending = known.and_then(|known| known.attached()?.pending.clone());
        let Some(pending) = pending else { return };
        let Some(session) = self.sessions.get(&id) else { return };
        let zone = match &session.place {
            Place::Nowhere => return self.welcome_in_lobby(now, id, link, *pending),
            Place::In(zone) => *zone,
            Place::Joining(joining) => match joining.asked {
                Some(_) => joining.zone,
                // The zone is not open yet; this comes again right after it has been asked.
                None => return,
            },
        };
        if self.zones.owner(zone).is_none() {
            // The zone is being opened again; this comes again when it is.
            return;
        }
        let (from, backlog, leg) = resume_from(session, &pending);
        let oldest_unacked = pending.oldest_unacked();
        let mut welcome = pending.welcome;
        welcome.leg = leg;
        let known = self.connections.get_mut(&link.connection);
        if let Some(attached) = known.and_then(Connection::attached_mut) {
            attached.is_live = true;
        }
        let attach = Attach {
            session: id,
            stay: session.leg.stay,
            link,
            from,
            backlog,
            oldest_unacked,
            lost_known: session.lost_known,
            welcome: Some(Box::new(welcome)),
        };
        self.tell_zone(zone, ToZone::Attach(Box::new(attach)));
    }

    /// A zone has given a connection its place.
    pub(crate) fn attached(
        &mut self,
        now: Time,
        id: SessionId,
        epoch: SessionEpoch,
        reason: RungReason,
        replayed: u64,
    ) {
        let Some(link) = self.link_of(id).filter(|link| link.epoch == epoch) else { return };
        let known = self.connections.get_mut(&link.connection);
        if let Some(attached) = known.and_then(Connection::attached_mut) {
            attached.pending = None;
        }
        self.start_idleness(now, link.connection);
        self.returned(now, id, reason, replayed);
    }

    pub(crate) fn returned(&mut self, now: Time, id: SessionId, reason: RungReason, replayed: u64) {
        let at = self.wall(now);
        let Some(session) = self.sessions.get_mut(&id) else { return };
        let rung = if reason == RungReason::Complete {
            self.counts.replayed_total += 1;
            let detail = u32::try_from(replayed).unwrap_or(u32::MAX);
            session.timeline.record(at, What::Replayed, detail);
            crate::event::Rung::Replayed(replayed)
        } else {
            self.counts.resynced_total += 1;
            session.timeline.record(at, What::Resynced, reason as u32);
            crate::event::Rung::Resynced(reason)
        };
        let event = Event::PlayerReturned { session: id, rung };
        self.after(id, After::Output(HubOutput::Event(event)));
    }

    pub(crate) fn hold_ms(&self, id: SessionId) -> u32 {
        self.sessions.get(&id).map_or(0, |session| self.hold_of(session).as_millis())
    }
}

/// What a resume says of the client's streams.
fn point_of(resume: &Resume) -> ResumePoint {
    let position = resume.position.as_ref();
    let position = position.map(|p| (Leg::from_wire(p.leg), p.seq));
    ResumePoint {
        position: position.filter(|_| !resume.cold),
        oldest_unacked: resume.oldest_unacked.max(1),
    }
}

/// Where a member's stream goes on, what earlier legs still owe, and the leg that starts in.
pub(super) fn resume_from(
    session: &Session,
    pending: &PendingAttach,
) -> (ResumeFrom, Vec<rejoin_wire::SharedFrame>, u64) {
    let Some((leg, seq)) = pending.point.position else {
        return (ResumeFrom::Lost(RungReason::Cold), Vec::new(), 0);
    };
    if session.is_rolled_back(leg) {
        return (ResumeFrom::RolledBack(leg), Vec::new(), 0);
    }
    if leg.stay == session.leg.stay {
        return (ResumeFrom::Position(leg, seq), Vec::new(), leg.to_wire());
    }
    if leg.stay > session.leg.stay {
        return (ResumeFrom::Lost(RungReason::UnknownPosition), Vec::new(), 0);
    }
    match session.downstream.after(leg, seq) {
        Some(backlog) => (ResumeFrom::Start, backlog, leg.to_wire()),
        None => (ResumeFrom::Lost(RungReason::Overrun), Vec::new(), 0),
    }
}

/// What of the client's capabilities is taken.
fn taken_capabilities(flags: Flags) -> Vec<String> {
    let deflate = flags.has(Flags::COMPRESSION).then(|| rejoin_wire::DEFLATE.to_owned());
    deflate.into_iter().collect()
}
