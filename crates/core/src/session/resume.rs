//! Who may speak for a session. A valid resume takes over at once, even while the old connection still looks
//! alive; the new epoch and the next token are committed before the Welcome is shown, and the old connection
//! is told after that, too.

use std::time::Duration;

use rejoin_wire::v1::{CloseCode, Resume, Rung, RungReason, Welcome, server_frame};

use super::context::shared;
use super::life::{AttachStep, Attached, Life, PendingAttach, ResumePoint};
use super::token::{Presented, TokenNumber};
use super::{AfterCommit, Flags, FromSession, Identity, Serializer, SessionContext, SessionCore};
use crate::connection::{Spent, ToConnection};
use crate::event::{EndCause, Event, Offence, Step};
use crate::guard::Origin;
use crate::hub::HubOutput;
use crate::id::{ConnectionId, Leg, PlayerId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::scope::History;
use crate::secret::Secret;
use crate::time::{Time, micros, millis_u32};
use crate::timeline::What;

/// A connection that is about to speak for a session, with what its hello has proven.
pub(crate) struct Newcomer<'a> {
    pub connection: ConnectionId,
    pub serializer: Serializer,
    pub is_encrypted: bool,
    pub origin: Option<Origin>,
    pub opened_at: Time,
    /// How it is known, and the player that its key or secret would be alone.
    pub identity: Identity,
    pub credential: PlayerId,
    /// The signature of its key has been verified.
    pub is_signed: bool,
    /// A secret that was minted for this login.
    pub minted: Option<&'a Secret>,
    /// What its client can do.
    pub capabilities: &'a [String],
    /// What the player may do, where an account decides that.
    pub permissions: Option<u32>,
}

/// A connection that wants to go on with a session. What others have to decide comes first, where the session
/// says so.
pub(crate) struct ResumeAsk<'a> {
    pub resume: &'a Resume,
    /// The player of the key that the hello names.
    pub key: Option<PlayerId>,
    /// The pace that all returns share allows for it.
    pub is_paced: bool,
    /// The connection, once neither a ban nor a lock keeps its player out.
    pub newcomer: Option<Newcomer<'a>>,
}

/// What comes of a resume.
#[derive(Debug)]
pub(crate) enum Resumed {
    /// It goes on; the connection hears more once that is committed.
    Attached,
    /// There is no such session, or what it shows opens nothing.
    Unknown,
    /// The same, and the store has lost what it shows: that is no fault of its address.
    Lost,
    /// Its token was retired: the connection is told so once that is committed.
    Retired,
    /// Ask the pace of all returns first.
    PaceFirst,
    /// Verify the signature first.
    SignFirst { player: PlayerId },
    /// Ask first whether its player may be let in.
    ClearFirst { player: PlayerId, identity: Identity, credential: PlayerId },
    /// Its player returns more often than it may: it must wait for so long.
    Wait(Duration),
    /// Too much of the session waits for the store.
    Busy,
}

/// What comes of a login that finds a session.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Attaching {
    /// It goes on; the connection hears more once that is committed.
    Attached,
    /// Its player returns more often than it may.
    Wait,
    /// Too much of the session waits for the store.
    Busy,
}

impl SessionCore {
    /// Decides about a resume: every reason for which one does not go on stands here, in this order.
    pub(crate) fn resume(&mut self, cx: &mut SessionContext<'_>, ask: &ResumeAsk<'_>) -> Resumed {
        let presented = self.presented(&ask.resume.token);
        let is_key = self.identity == Identity::Key;
        let is_signed = ask.newcomer.as_ref().is_some_and(|newcomer| newcomer.is_signed);
        let newcomer = match &ask.newcomer {
            _ if presented == Presented::Unknown => return Resumed::Unknown,
            _ if matches!(presented, Presented::Valid(_)) && !ask.is_paced => {
                return Resumed::PaceFirst;
            }
            _ if is_key && ask.key != Some(self.credential) => return Resumed::Unknown,
            _ if is_key && !is_signed => return Resumed::SignFirst { player: self.player },
            None => {
                let (player, identity) = (self.player, self.identity);
                return Resumed::ClearFirst { player, identity, credential: self.credential };
            }
            Some(newcomer) => newcomer,
        };
        match presented {
            Presented::Unknown => Resumed::Unknown,
            Presented::Valid(number) => match self.return_ration(cx) {
                Some(wait) => Resumed::Wait(wait),
                None if self.is_gate_full() => Resumed::Busy,
                None => self.go_on(cx, ask, newcomer, number),
            },
            // Its hash is not here, and what else it shows can be made by whoever reads the store: without a
            // signature it opens nothing. The player logs in again and finds the session.
            Presented::Lost if !is_signed => {
                self.store_went_back(cx);
                Resumed::Lost
            }
            Presented::Lost => {
                self.store_went_back(cx);
                self.begin_attach(cx, newcomer, point_of(ask.resume), false);
                Resumed::Attached
            }
            Presented::Retired => self.show_retired(cx, newcomer),
        }
    }

    /// What this token is to the session.
    pub(crate) fn presented(&self, token: &[u8]) -> Presented {
        let token = Secret::from_slice(token).filter(|_| !self.is_ending());
        token.map_or(Presented::Unknown, |token| self.tokens.present(&token))
    }

    /// A resume is let in with this token.
    fn go_on(
        &mut self,
        cx: &mut SessionContext<'_>,
        ask: &ResumeAsk<'_>,
        newcomer: &Newcomer<'_>,
        number: TokenNumber,
    ) -> Resumed {
        if !self.tokens.is_newest(number) {
            hit(Mark::TokenOlder);
        }
        self.confirm(cx, number);
        if ask.resume.epoch > self.epoch.0 {
            // A token is stored with its epoch: this one is of a Welcome that is gone from here.
            self.store_went_back(cx);
        }
        if self.identity == Identity::Secret {
            cx.tell(self.id, FromSession::GuestSeen(self.credential));
        }
        self.begin_attach(cx, newcomer, point_of(ask.resume), false);
        Resumed::Attached
    }

    /// A login has found this session.
    pub(crate) fn find_by_login(
        &mut self,
        cx: &mut SessionContext<'_>,
        newcomer: &Newcomer<'_>,
    ) -> Attaching {
        if self.return_ration(cx).is_some() {
            return Attaching::Wait;
        }
        if self.is_gate_full() {
            return Attaching::Busy;
        }
        hit(if self.is_held() { Mark::FoundHeld } else { Mark::FoundLive });
        let point = ResumePoint { position: None, oldest_unacked: 1 };
        self.begin_attach(cx, newcomer, point, true);
        Attaching::Attached
    }

    /// The session begins with this connection, which goes on with what its player has spent elsewhere.
    pub(crate) fn begin_with(
        &mut self,
        cx: &mut SessionContext<'_>,
        newcomer: &Newcomer<'_>,
        reason: RungReason,
        spent: Spent,
    ) {
        self.spent = spent;
        self.begin(cx, Some(newcomer.connection));
        let mut welcome = self.take_over(cx, newcomer, false, |_| AttachStep::Welcoming);
        welcome.rung = Rung::New.into();
        welcome.reason = reason.into();
        welcome.leg = Leg::first(1).to_wire();
        let Some(link) = self.link() else {
            return crate::never!("{:?} has no connection after it took over", self.id);
        };
        self.downstream.attach(link);
        let frame = shared(server_frame::Frame::Welcome(welcome));
        self.after(AfterCommit::Welcome(link, vec![frame]));
    }

    fn begin_attach(
        &mut self,
        cx: &mut SessionContext<'_>,
        newcomer: &Newcomer<'_>,
        point: ResumePoint,
        is_found: bool,
    ) {
        self.take_over(cx, newcomer, is_found, |welcome| {
            let pending = PendingAttach { point, welcome, is_found };
            AttachStep::Waiting(Box::new(pending))
        });
        if !is_found {
            let through = point.oldest_unacked.saturating_sub(1);
            let token = self.attached().and_then(|attached| attached.unconfirmed);
            self.losses.tell(token, through);
        }
        self.after(AfterCommit::Attach(self.epoch));
    }

    /// Hands the session to a connection: the fence, the next token, and what its Welcome will say.
    fn take_over(
        &mut self,
        cx: &mut SessionContext<'_>,
        newcomer: &Newcomer<'_>,
        is_found: bool,
        step: impl FnOnce(Welcome) -> AttachStep,
    ) -> Welcome {
        self.give_way(cx);
        let hold_ms = self.hold_of(cx).as_millis();
        let is_compressed = agrees_to_compress(cx, newcomer);
        if self.losses.history() == History::RolledBack {
            self.tokens.forget_key();
        }
        let (number, token) = self.tokens.issue(cx.chance);
        self.epoch = self.epoch.next();
        let before = (self.serializer, self.flags.has(Flags::ENCRYPTION));
        if self.epoch.0 > 1 && before != (newcomer.serializer, newcomer.is_encrypted) {
            hit(Mark::TransportChanged);
        }
        self.serializer = newcomer.serializer;
        self.flags.set(Flags::ENCRYPTION, newcomer.is_encrypted);
        self.flags.set(Flags::COMPRESSION, is_compressed);
        self.seen_from = newcomer.origin;
        // A session of an account may be found by another key than it began with.
        (self.identity, self.credential) = (newcomer.identity, newcomer.credential);
        self.permissions = newcomer.permissions.unwrap_or(self.permissions);
        self.touch();
        let welcome = self.draft_welcome(cx, newcomer, &token, hold_ms, is_found);
        let attached = Attached::new(newcomer.connection, step(welcome.clone()), number);
        self.life = Life::Attached(Box::new(attached));
        self.tell_attached(cx, newcomer.connection);
        welcome
    }

    /// Tells a connection that it speaks for this session.
    fn tell_attached(&mut self, cx: &mut SessionContext<'_>, connection: ConnectionId) {
        let (session, epoch, spent) = (self.id, self.epoch, self.spent);
        cx.tell(session, FromSession::SpeaksFor { connection, epoch });
        // A random point of the first interval, so that pings of many connections do not come together.
        let interval = micros(cx.config.heartbeat).max(1);
        let first_ping = Duration::from_micros(cx.chance.below(interval));
        let nonce = u64::from_le_bytes(cx.chance.bytes());
        let attached = ToConnection::Attached { session, epoch, spent, first_ping, nonce };
        cx.tell_connection(connection, attached);
        self.after_event(Event::SessionLinked { session, connection });
    }

    fn draft_welcome(
        &self,
        cx: &SessionContext<'_>,
        newcomer: &Newcomer<'_>,
        token: &Secret,
        hold_ms: u32,
        found: bool,
    ) -> Welcome {
        let reveal = |secret: &Secret| secret.reveal().to_vec().into();
        let deflate = self.flags.has(Flags::COMPRESSION).then(|| rejoin_wire::DEFLATE.to_owned());
        Welcome {
            session: self.id.0,
            player: self.player.0.to_vec().into(),
            epoch: self.epoch.0,
            applied: self.inbound.applied(),
            token: reveal(token),
            secret: newcomer.minted.map(reveal).unwrap_or_default(),
            found,
            hold_ms,
            heartbeat_ms: millis_u32(cx.config.heartbeat),
            message_bytes_max: cx.config.message_bytes_max,
            window_frames: cx.config.window_frames,
            window_bytes: cx.config.window_bytes,
            capabilities: deflate.into_iter().collect(),
            ..Welcome::default()
        }
    }

    /// The connection that speaks for the session has no voice from here on.
    fn give_way(&mut self, cx: &mut SessionContext<'_>) {
        let (old, is_live) = match &self.life {
            Life::Attached(attached) => (attached.connection, attached.is_live()),
            // No connection speaks for it.
            Life::Preconnect | Life::Local | Life::Away(_) => return,
        };
        self.timeline.record(cx.at.wall, What::TakenOver, 0);
        self.spent = self.spent_with_portion(cx);
        cx.counts.takeovers_total += 1;
        hit(if is_live { Mark::TakenOver } else { Mark::TakenOverAttaching });
        self.detach(cx, Life::Preconnect);
        if !is_armed(Bug::ResumeNotFenced) {
            cx.tell(self.id, FromSession::Fence(old));
        }
        self.after(AfterCommit::Tell(FromSession::GaveWay(old)));
        self.after_event(Event::TakenOver { session: self.id, old });
    }

    /// A client shows something that this session gave out and does not know any more: the store holds an
    /// earlier state than it once held.
    fn store_went_back(&mut self, cx: &mut SessionContext<'_>) {
        if self.losses.set_history(History::RolledBack) {
            self.touch();
        }
        cx.tell(self.id, FromSession::StoreWentBack);
    }

    /// A retired token is refused and counted; the live connection is not disturbed.
    fn show_retired(&mut self, cx: &mut SessionContext<'_>, newcomer: &Newcomer<'_>) -> Resumed {
        hit(Mark::TokenRetired);
        cx.counts.retired_tokens_total += 1;
        self.timeline.record(cx.at.wall, What::RetiredToken, 0);
        // A hello that was under way when the token was confirmed is no theft, and neither is
        // one that holds the player's key.
        let is_stolen = newcomer.opened_at > self.tokens.confirmed_at() && !newcomer.is_signed;
        if cx.config.end_on_retired_token && is_stolen {
            self.end(cx, EndCause::Kicked);
        }
        // What the refusal rests on is a confirmation that must be committed by then.
        let connection = newcomer.connection;
        let (step, session) = (Step::Sever, Some(self.id));
        let what = Offence::RetiredToken;
        self.after_event(Event::GuardStep { step, connection: Some(connection), session, what });
        cx.tell(self.id, FromSession::Fence(connection));
        let (code, text) = (CloseCode::TokenRetired, "this token is retired");
        self.after(AfterCommit::Tell(FromSession::Refuse { connection, code, text }));
        Resumed::Retired
    }

    /// The client of this connection has sent its first frame after the Welcome: its token is stored.
    pub(crate) fn confirm_welcome(
        &mut self,
        cx: &mut SessionContext<'_>,
        connection: ConnectionId,
    ) {
        if !self.is_live_on(connection) {
            return hit(Mark::StaleIgnored);
        }
        let token = self.attached_mut().and_then(|attached| attached.unconfirmed.take());
        if let Some(token) = token
            && self.confirm(cx, token)
        {
            hit(Mark::TokenConfirmed);
            self.touch();
        }
    }

    /// The client has shown that it has a token. True: some were retired by that.
    fn confirm(&mut self, cx: &SessionContext<'_>, number: TokenNumber) -> bool {
        self.losses.confirm(number);
        self.tokens.confirm(cx.at.now, number)
    }
}

/// Agrees to compressed frames, if the client has asked for them and this server has them. JSON
/// is for people and for engines without anything else: it stays as it is.
fn agrees_to_compress(cx: &mut SessionContext<'_>, newcomer: &Newcomer<'_>) -> bool {
    let is_asked = newcomer.capabilities.iter().any(|name| name == rejoin_wire::DEFLATE);
    let is_binary = newcomer.serializer == Serializer::Protobuf;
    let is_agreed = cx.config.compression && is_asked && is_binary;
    if is_agreed {
        hit(Mark::CompressionAgreed);
        let bytes_min = cx.config.compression_bytes_min;
        cx.push(HubOutput::Compress { connection: newcomer.connection, bytes_min });
    }
    is_agreed
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
