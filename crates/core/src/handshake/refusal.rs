//! How a connection without a session ends: refused, told to wait, or closed because it broke the rules. What an
//! address does is counted here against its budgets.

use std::time::Duration;

use rejoin_wire::v1::{CloseCode, Farewell, Refusal, Resume, server_frame};

use super::{ConnectionPhase, FromHandshake, HandshakeContext, HandshakeCore};
use crate::connection::ToConnection;
use crate::event::Offence;
use crate::hub::HubOutput;
use crate::id::SessionId;
use crate::mark::{Mark, hit};
use crate::text::clip;
use crate::time::{micros, millis_u32};

/// How fast clients that are sent away are asked to come back, where that is not capped. The next
/// process measures its load itself; this only keeps them from dialling in the same instant.
const RETURNS_PER_SECOND: u32 = 10_000;

impl HandshakeCore {
    /// Answers a hello that is not let in.
    pub(crate) fn refuse(&mut self, cx: &mut HandshakeContext<'_>, code: CloseCode, text: &str) {
        let wait =
            matches!(code, CloseCode::NotReady | CloseCode::Full | CloseCode::AdmissionTimeout);
        let retry_after_ms = if wait { millis_u32(cx.config.retry_after) } else { 0 };
        self.refuse_until(cx, code, text, retry_after_ms);
    }

    /// Answers a hello that is not let in, and says when to try again.
    pub(super) fn refuse_until(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        code: CloseCode,
        text: &str,
        retry_after_ms: u32,
    ) {
        if self.set_phase(ConnectionPhase::Closing) {
            let text = clip(text.to_owned());
            let refusal = Refusal { code: code.into(), text, retry_after_ms, addresses: vec![] };
            cx.send(server_frame::Frame::Refusal(refusal));
            cx.push(HubOutput::Close { connection: cx.id, code });
        }
    }

    /// Says the last word on a connection and closes it. Its session is not touched.
    pub(crate) fn close(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        code: CloseCode,
        text: &str,
        retry_after_ms: u32,
    ) {
        if self.set_phase(ConnectionPhase::Closing) {
            let text = clip(text.to_owned());
            let farewell =
                Farewell { code: code.into(), text, retry_after_ms, addresses: Vec::new() };
            cx.send(server_frame::Frame::Farewell(farewell));
            cx.push(HubOutput::Close { connection: cx.id, code });
        }
    }

    /// A hello broke the rules: only its connection is affected.
    pub(super) fn violation(&mut self, cx: &mut HandshakeContext<'_>, text: &str) {
        hit(Mark::Malformed);
        self.count_violation(cx);
        self.end(cx, CloseCode::Malformed, text);
    }

    /// Closes a connection that has no session.
    pub(super) fn end(&mut self, cx: &mut HandshakeContext<'_>, code: CloseCode, text: &str) {
        self.tell_severed(cx, code);
        self.close(cx, code, text, 0);
    }

    /// The connection has closed itself; its client was told why.
    pub(crate) fn severed(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        code: CloseCode,
        is_violation: bool,
    ) {
        if is_violation {
            self.count_violation(cx);
        }
        self.tell_severed(cx, code);
        self.let_go(cx, code, None);
        self.set_phase(ConnectionPhase::Closing);
    }

    /// If it is the peer's own doing that a connection is closed, whoever listens is told.
    fn tell_severed(&self, cx: &mut HandshakeContext<'_>, code: CloseCode) {
        if let Some(what) = Offence::of(code)
            && !matches!(self.phase, ConnectionPhase::Closing)
        {
            cx.tell_step(self.session().map(|(session, _)| session), what);
        }
    }

    /// The process is about to end. A connection that gave way to a newer one is still to be told that, and not
    /// this.
    pub(crate) fn shut_down(&mut self, cx: &mut HandshakeContext<'_>) {
        if !self.is_over() {
            hit(Mark::ShutDown);
            let wait = restart_wait_ms(cx);
            let text = "the server is going down; the session is kept";
            self.let_go(cx, CloseCode::ShuttingDown, None);
            self.close(cx, CloseCode::ShuttingDown, text, wait);
        }
    }

    pub(super) fn refuse_stopping(&mut self, cx: &mut HandshakeContext<'_>) {
        hit(Mark::ShutDownRefused);
        let wait = restart_wait_ms(cx);
        self.refuse_until(cx, CloseCode::ShuttingDown, "the server is going down", wait);
    }

    /// Whether this player is banned cannot be read, so it is not let in.
    pub(super) fn refuse_damaged(&mut self, cx: &mut HandshakeContext<'_>) {
        let text = "what is kept of this player is damaged; the server's operator must decide";
        self.refuse(cx, CloseCode::StoreFailed, text);
    }

    pub(super) fn refuse_guest(&mut self, cx: &mut HandshakeContext<'_>) {
        hit(Mark::Full);
        let text = format!("no more guests: {} are kept", cx.config.guests_max);
        self.refuse(cx, CloseCode::Full, &text);
    }

    pub(super) fn refuse_identity(&mut self, cx: &mut HandshakeContext<'_>) {
        hit(Mark::IdentityOff);
        let text = "this kind of identity is not taken here";
        self.refuse(cx, CloseCode::IdentityOff, text);
    }

    /// A secret that was not minted here, or that is kept no more.
    pub(super) fn wrong_secret(&mut self, cx: &mut HandshakeContext<'_>) {
        hit(Mark::CredentialRefused);
        self.count_failure(cx);
        self.refuse(cx, CloseCode::Credential, "unknown or wrong");
    }

    /// One answer for an unknown account and a wrong proof; after too many of them only to wait.
    pub(super) fn wrong_credential(&mut self, cx: &mut HandshakeContext<'_>) {
        hit(Mark::CredentialRefused);
        match self.count_failure(cx) {
            None => self.refuse(cx, CloseCode::Credential, "unknown or wrong"),
            Some(wait) => self.failed_too_often(cx, wait),
        }
    }

    /// A resume that opens nothing. Whether the session, the token or the signature is wrong is not
    /// said, so that sessions cannot be told apart; each is a failure of its address.
    pub(crate) fn unknown_or_wrong(&mut self, cx: &mut HandshakeContext<'_>) {
        hit(Mark::SessionUnknown);
        match self.count_failure(cx) {
            None => self.refuse(cx, CloseCode::SessionUnknown, "unknown session or token"),
            Some(wait) => self.failed_too_often(cx, wait),
        }
    }

    /// Wrong once more, and not told so any more. Whoever has a valid token still comes in: one who
    /// guesses must not keep its neighbours out.
    fn failed_too_often(&mut self, cx: &mut HandshakeContext<'_>, wait: Duration) {
        hit(Mark::FailuresRationed);
        cx.tell_step(None, Offence::Failures);
        self.send_away(cx, None, CloseCode::Flooded, wait);
    }

    /// Whether a login must wait. If so, it has been answered.
    pub(super) fn is_login_deferred(&mut self, cx: &mut HandshakeContext<'_>) -> bool {
        let guard = &cx.config.guard;
        if let Some((what, wait)) = cx.rations.login(cx.at.real, self.peer.origin, guard) {
            hit(match what {
                Offence::Failures => Mark::FailuresRationed,
                _ => Mark::LoginsRationed,
            });
            cx.tell_step(None, what);
            self.send_away(cx, None, CloseCode::Flooded, wait);
            return true;
        }
        if let Err(wait) = cx.rations.arrive(cx.at.real, cx.load, cx.config, false, cx.chance) {
            hit(Mark::Paced);
            self.send_away(cx, None, CloseCode::NotReady, wait);
            return true;
        }
        false
    }

    /// Whether a return with a valid token must wait because of the load. If so, it has been answered.
    pub(crate) fn is_return_deferred(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        resume: &Resume,
    ) -> bool {
        let arrived = cx.rations.arrive(cx.at.real, cx.load, cx.config, true, cx.chance);
        if let Err(wait) = arrived {
            hit(Mark::Paced);
            count_deferred(cx);
            self.send_away(cx, Some(resume), CloseCode::NotReady, wait);
        }
        arrived.is_err()
    }

    /// A session's player returns more often than it may.
    pub(crate) fn returned_too_often(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        resume: &Resume,
        wait: Duration,
    ) {
        hit(Mark::ResumesRationed);
        count_deferred(cx);
        cx.tell_step(Some(SessionId(resume.session)), Offence::Resumes);
        self.send_away(cx, Some(resume), CloseCode::Flooded, wait);
    }

    /// Whether its address has had its share of new guests. If so, it has been answered.
    pub(super) fn is_minted_too_often(&mut self, cx: &mut HandshakeContext<'_>) -> bool {
        let quota = cx.config.guard.address_mints;
        let spend =
            |origin| cx.rations.spend(cx.at.real, origin, quota, |conduct| &mut conduct.mints);
        let wait = self.peer.origin.and_then(spend);
        if let Some(wait) = wait {
            hit(Mark::LoginsRationed);
            cx.tell_step(None, Offence::Logins);
            self.send_away(cx, None, CloseCode::Flooded, wait);
        }
        wait.is_some()
    }

    /// Refuses a hello for now. A session whose token it shows is held so much longer: its player is
    /// here, and was told to wait.
    pub(crate) fn send_away(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        resume: Option<&Resume>,
        code: CloseCode,
        wait: Duration,
    ) {
        let wait = wait.max(cx.config.retry_after);
        if let Some(resume) = resume {
            let (session, token) = (SessionId(resume.session), resume.token.clone());
            cx.tell(FromHandshake::HoldLonger { session, token, wait });
        }
        self.refuse_until(cx, code, "too many at once; come again", millis_u32(wait));
    }

    /// A login or resume proved wrong; the wait if that had happened too often before.
    pub(super) fn count_failure(&mut self, cx: &mut HandshakeContext<'_>) -> Option<Duration> {
        let quota = cx.config.guard.address_failures;
        cx.rations.count_failure(cx.at.real, self.peer.origin?, quota)
    }

    /// It broke the rules; an address where that happens often is shut out for a while.
    fn count_violation(&mut self, cx: &mut HandshakeContext<'_>) {
        let quota = cx.config.guard.address_violations;
        if let Some(origin) = self.peer.origin.filter(|_| !self.is_spoofable) {
            for (origin, wait) in cx.rations.count_violation(cx.at.real, origin, quota) {
                hit(Mark::Barred);
                cx.push(HubOutput::Bar { origin, wait });
            }
        }
    }

    /// Charges what the connection has sent to its address, and tells it whether it must wait for that.
    pub(crate) fn charge_address(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        messages: u32,
        bytes: u32,
    ) {
        if let Some(origin) = self.peer.origin {
            let guard = &cx.config.guard;
            let wait = cx.rations.charge(cx.at.real, origin, guard, messages, bytes);
            let waited = std::mem::replace(&mut self.address_waits, wait.is_some());
            if waited || wait.is_some() {
                cx.push(HubOutput::ToConnection(cx.id, ToConnection::AddressWaits(wait)));
            }
        }
    }
}

/// A return with a valid token is told to wait. That this happens below the bound of the load
/// is counted apart: it means that something else than the load made it wait.
fn count_deferred(cx: &mut HandshakeContext<'_>) {
    let is_below = cx.load.is_below(cx.config, 1);
    cx.counts.returns_deferred_total += 1;
    cx.counts.returns_deferred_below_bound_total += u64::from(is_below);
    cx.counts.deferred_at = cx.load;
}

/// When to come back: after the restart, at a random point of the time that all need together.
fn restart_wait_ms(cx: &mut HandshakeContext<'_>) -> u32 {
    let all = u32::try_from(cx.connections).unwrap_or(u32::MAX);
    let pace = Some(cx.config.returns_per_second).filter(|pace| *pace > 0);
    let spread = Duration::from_secs(1) * all / pace.unwrap_or(RETURNS_PER_SECOND);
    // A few would otherwise all come in the same instant.
    let spread = spread.max(cx.config.restart_after);
    let chance = Duration::from_micros(cx.chance.below(micros(spread).max(1)));
    millis_u32(cx.config.restart_after.saturating_add(chance))
}
