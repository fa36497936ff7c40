//! Who is there: the checks a hello must pass before it touches any session. A table of refusals,
//! each typed; one answer for unknown and wrong; no validator, no entry.

use rejoin_wire::proof::{Proof, Purpose, signed_text};
use rejoin_wire::v1::{
    CloseCode, Hello, KeyProof, Login, Refusal, Resume, hello, login, server_frame,
};

use super::config::{AccountPolicy, Admission};
use super::{Alarm, Hub, HubOutput};
use crate::connection::{AskId, ConnectionPhase, Handshake, LoginClaim, Signing};
use crate::id::{ConnectionId, PlayerId, SessionId};
use crate::mark::{Mark, hit};
use crate::secret::Secret;
use crate::session::{Identity, ResumeAsk, Resumed};
use crate::text::clip;
use crate::time::{Time, millis_u32};

/// The highest number that a resume may name as not acknowledged. A stream goes on where its client does, and
/// clients take no number above `u64::MAX >> 1`: without this bound one hello could leave a session without
/// numbers.
const OLDEST_UNACKED_MAX: u64 = 1 << 62;

impl Hub {
    pub(crate) fn hello(&mut self, now: Time, id: ConnectionId, hello: Hello) {
        let known = self.connections.get_mut(&id);
        // The table takes a hello only from a connection that was challenged.
        let Some(nonce) = known.and_then(|known| known.take_challenge()) else { return };
        if self.going_down {
            return self.refuse_going_down(id);
        }
        if !self.is_ready() || self.players_only {
            hit(Mark::NotReady);
            return self.refuse(id, CloseCode::NotReady, "not ready yet");
        }
        if hello.version != rejoin_wire::VERSION {
            hit(Mark::VersionRefused);
            return self.refuse(id, CloseCode::Version, "this version is not served");
        }
        if !self.config.server_names.contains(&hello.server_name) {
            hit(Mark::WrongName);
            let text = match hello.server_name.as_str() {
                "" => "the hello has no server_name".to_owned(),
                name => format!("this server is not called {name:?}"),
            };
            return self.refuse(id, CloseCode::WrongName, &text);
        }
        match hello.purpose.clone() {
            Some(hello::Purpose::Login(_)) if self.is_login_deferred(id) => {}
            Some(hello::Purpose::Login(login)) => self.login(now, id, nonce, hello, login),
            Some(hello::Purpose::Resume(resume)) => self.resume(now, id, nonce, hello, &resume),
            None => self.violation(id, "a hello without a purpose"),
        }
    }

    fn login(&mut self, now: Time, id: ConnectionId, nonce: [u8; 32], hello: Hello, login: Login) {
        match login.identity {
            Some(login::Identity::Secret(secret)) if self.is_damaged_guest(&secret) => {
                self.refuse_damaged(id);
            }
            Some(login::Identity::Key(proof)) if self.config.keys => {
                let signed = Signed { fresh: login.fresh, ..Signed::login(&nonce) };
                self.verify(id, hello, &proof, signed);
            }
            Some(login::Identity::Secret(secret)) if self.config.secrets => {
                let secret = Secret::from_slice(&secret);
                let guest = secret.and_then(|s| Some((self.players.guest_of(&s)?, s)));
                match guest {
                    Some((player, secret)) => {
                        let wall = self.wall(now);
                        if !self.players.guest_seen(wall, player, Some(secret.hash())) {
                            return self.refuse_guest(id);
                        }
                        let claim = LoginClaim::unsigned(hello, player, Identity::Secret);
                        self.identified(now, id, claim);
                    }
                    None => {
                        hit(Mark::CredentialRefused);
                        self.count_failure(id);
                        self.refuse(id, CloseCode::Credential, "unknown or wrong");
                    }
                }
            }
            Some(login::Identity::Mint(_)) if self.config.secrets => {
                if let Some(wait) = self.mint_ration(id) {
                    return self.minted_too_often(id, wait);
                }
                let secret = self.players.mint_secret(&mut self.chance);
                let player = PlayerId::of_secret(secret.reveal());
                let mut claim = LoginClaim::unsigned(hello, player, Identity::Secret);
                claim.minted = Some(secret);
                self.identified(now, id, claim);
            }
            // Whoever proves an account needs no other identity.
            Some(login::Identity::Anonymous(_))
                if self.config.anonymous
                    || (self.config.accounts != AccountPolicy::Off
                        && !hello.admission.is_empty()) =>
            {
                let player = PlayerId(self.chance.bytes());
                let claim = LoginClaim::unsigned(hello, player, Identity::Anonymous);
                self.identified(now, id, claim);
            }
            Some(_) => {
                hit(Mark::IdentityOff);
                self.refuse(id, CloseCode::IdentityOff, "this kind of identity is not taken here");
            }
            None => self.violation(id, "a login without identity"),
        }
    }

    fn resume(
        &mut self,
        now: Time,
        id: ConnectionId,
        nonce: [u8; 32],
        hello: Hello,
        resume: &Resume,
    ) {
        if resume.oldest_unacked > OLDEST_UNACKED_MAX {
            let oldest = resume.oldest_unacked;
            let text = format!("oldest_unacked is {oldest}, at most {OLDEST_UNACKED_MAX} may be");
            return self.violation(id, &text);
        }
        let key = resume.key.as_ref().map(|proof| PlayerId::of_key(&proof.public_key));
        let mut ask = ResumeAsk { resume, key, is_paced: false, newcomer: None };
        let mut resumed = self.ask_session(&ask);
        // The token is looked up first. One that opens nothing spends no pace that others share: it is answered,
        // and counted against its address, in `unknown_or_wrong`.
        if matches!(resumed, Resumed::PaceFirst) {
            if self.is_return_deferred(id, resume) {
                return;
            }
            ask.is_paced = true;
            resumed = self.ask_session(&ask);
        }
        match (resumed, &resume.key, self.session(SessionId(resume.session))) {
            (Resumed::SignFirst, Some(proof), _) => {
                self.verify(id, hello, proof, Signed::resume(&nonce, resume));
            }
            (Resumed::ClearFirst, _, Some(session)) => {
                let claim = LoginClaim::unsigned(hello, session.player(), session.identity());
                let claim = LoginClaim { credential: session.credential(), ..claim };
                self.decide_claim(now, id, claim);
            }
            _ => self.unknown_or_wrong(id),
        }
    }

    /// A resume that opens nothing. Whether the session, the token or the signature is wrong is not
    /// said, so that sessions cannot be told apart; each is a failure of its address.
    pub(crate) fn unknown_or_wrong(&mut self, id: ConnectionId) {
        hit(Mark::SessionUnknown);
        match self.count_failure(id) {
            None => self.refuse(id, CloseCode::SessionUnknown, "unknown session or token"),
            Some(wait) => self.failed_too_often(id, wait),
        }
    }

    /// A login's key or signature does not hold.
    fn wrong_proof(&mut self, id: ConnectionId, purpose: Purpose, text: &str) {
        if purpose == Purpose::Resume {
            return self.unknown_or_wrong(id);
        }
        hit(Mark::CredentialRefused);
        self.count_failure(id);
        self.refuse(id, CloseCode::Credential, text);
    }

    fn verify(&mut self, id: ConnectionId, hello: Hello, proof: &KeyProof, signed: Signed<'_>) {
        let Signed { purpose, nonce, session, epoch, fresh, cold } = signed;
        let keys = (
            <[u8; 32]>::try_from(&proof.public_key[..]),
            <[u8; 64]>::try_from(&proof.signature[..]),
        );
        let (Ok(public_key), Ok(signature)) = keys else {
            let text = "a key is 32 bytes, a signature 64";
            return self.wrong_proof(id, purpose, text);
        };
        let text = signed_text(&Proof {
            purpose,
            version: hello.version,
            server_name: &hello.server_name,
            nonce,
            session,
            epoch,
            capabilities: &hello.capabilities,
            channel_binding: &[],
            fresh,
            cold,
            admission: &hello.admission,
        });
        let signing = Signing::new(hello, PlayerId::of_key(&public_key));
        let ask = self.ask(id, |ask| Handshake::Signing(ask, Box::new(signing)));
        self.push(HubOutput::Verify { connection: id, ask, public_key, text, signature });
    }

    /// Lets the handshake of a connection wait for the answer to a question, and names the question.
    pub(crate) fn ask(
        &mut self,
        id: ConnectionId,
        state: impl FnOnce(AskId) -> Handshake,
    ) -> AskId {
        self.connections.get_mut(&id).map(|known| known.ask(state)).unwrap_or_default()
    }

    /// Takes the state of a handshake that an answer is for. Otherwise the connection is gone, or was refused
    /// meanwhile, and the answer is worth nothing.
    pub(crate) fn take_answered<T>(
        &mut self,
        id: ConnectionId,
        of: impl FnOnce(Handshake) -> Result<T, Handshake>,
    ) -> Option<T> {
        let state = self.connections.get_mut(&id).and_then(|known| known.answered(of));
        if state.is_none() {
            hit(Mark::StaleIgnored);
        }
        state
    }

    pub(crate) fn verified(&mut self, now: Time, id: ConnectionId, ask: AskId, good: bool) {
        let Some(signing) = self.take_answered(id, |state| state.signing(ask)) else { return };
        if !good {
            let purpose = match signing.hello().purpose {
                Some(hello::Purpose::Resume(_)) => Purpose::Resume,
                Some(hello::Purpose::Login(_)) | None => Purpose::Login,
            };
            return self.wrong_proof(id, purpose, "the signature does not fit");
        }
        let mut claim = signing.signed();
        match claim.hello.purpose.clone() {
            Some(hello::Purpose::Login(_)) => self.identified(now, id, claim),
            Some(hello::Purpose::Resume(resume)) => {
                // The key may be one of an account, whose session has the account's player.
                let session = self.sessions.get(&SessionId(resume.session));
                if let Some(session) = session.filter(|s| s.credential() == claim.credential) {
                    claim.player = session.player();
                }
                self.decide_claim(now, id, claim);
            }
            None => self.decide_claim(now, id, claim),
        }
    }

    /// Each login is the game's to refuse; a resume was let in before.
    pub(crate) fn ask_admission(&mut self, now: Time, id: ConnectionId, claim: LoginClaim) {
        let Admission::Ask(deadline) = self.config.admission else {
            return self.known(now, id, claim);
        };
        let payload = claim.payload.clone().unwrap_or_else(|| claim.hello.admission.clone());
        let player = claim.player;
        let ask = self.ask(id, |ask| Handshake::Admitting(ask, Box::new(claim)));
        self.alarms.set(now, deadline, Alarm::Admission(id, ask));
        self.push(HubOutput::AskAdmission { connection: id, ask, player, payload });
    }

    pub(crate) fn admission(
        &mut self,
        now: Time,
        id: ConnectionId,
        ask: AskId,
        verdict: Result<(), String>,
    ) {
        let Some(claim) = self.take_answered(id, |state| state.admitting(ask)) else { return };
        match verdict {
            Ok(()) => {
                hit(Mark::Admitted);
                self.known(now, id, claim);
            }
            Err(text) => {
                hit(Mark::AdmissionRefused);
                self.refuse(id, CloseCode::AdmissionRefused, &text);
            }
        }
    }

    /// The game, or whoever looks at passwords and tokens, has not answered this question in time.
    pub(crate) fn admission_due(&mut self, id: ConnectionId, ask: AskId) {
        if self.connections.get(&id).is_some_and(|known| known.is_asking(ask)) {
            hit(Mark::AdmissionTimeout);
            self.refuse(id, CloseCode::AdmissionTimeout, "the game gave no answer");
        }
    }

    /// The game agrees. A guest whose secret was just minted is new, and there may be no room.
    fn known(&mut self, now: Time, id: ConnectionId, claim: LoginClaim) {
        if claim.minted.is_some() && self.players.is_full_of_guests() {
            return self.refuse_guest(id);
        }
        self.decide_claim(now, id, claim);
    }

    fn refuse_guest(&mut self, id: ConnectionId) {
        hit(Mark::Full);
        let text = format!("no more guests: {} are kept", self.config.guests_max);
        self.refuse(id, CloseCode::Full, &text);
    }

    /// What a hello waited for is committed, its account or a ban: it goes on.
    pub(crate) fn decide(&mut self, now: Time, id: ConnectionId, ask: AskId) {
        if let Some(claim) = self.take_answered(id, |state| state.preparing(ask)) {
            self.decide_claim(now, id, claim);
        }
    }

    /// Whether a player is banned at this time.
    #[must_use]
    pub fn is_banned(&self, now: Time, player: PlayerId) -> bool {
        self.players.is_banned(self.wall(now), player)
    }

    /// A guest whose secret was kept and cannot be compared any more.
    fn is_damaged_guest(&self, secret: &[u8]) -> bool {
        let player = Secret::from_slice(secret).map(|secret| PlayerId::of_secret(secret.reveal()));
        player.is_some_and(|player| self.players.is_damaged(player))
    }

    /// Whether this player is banned cannot be read, so it is not let in.
    pub(crate) fn refuse_damaged(&mut self, id: ConnectionId) {
        let text = "what is kept of this player is damaged; the server's operator must decide";
        self.refuse(id, CloseCode::StoreFailed, text);
    }

    /// Answers a hello that is not let in.
    pub(crate) fn refuse(&mut self, id: ConnectionId, code: CloseCode, text: &str) {
        let wait =
            matches!(code, CloseCode::NotReady | CloseCode::Full | CloseCode::AdmissionTimeout);
        let retry_after_ms = if wait { millis_u32(self.config.retry_after) } else { 0 };
        self.refuse_until(id, code, text, retry_after_ms);
    }

    /// Answers a hello that is not let in, and says when to try again.
    pub(crate) fn refuse_until(
        &mut self,
        id: ConnectionId,
        code: CloseCode,
        text: &str,
        retry_after_ms: u32,
    ) {
        if !self.set_over(id, ConnectionPhase::Closing) {
            return;
        }
        let text = clip(text.to_owned());
        let refusal = Refusal { code: code.into(), text, retry_after_ms, addresses: vec![] };
        self.send(id, server_frame::Frame::Refusal(refusal));
        self.push(HubOutput::Close { connection: id, code });
    }
}

/// What a signature covers beside the hello itself.
struct Signed<'a> {
    purpose: Purpose,
    nonce: &'a [u8; 32],
    session: u64,
    epoch: u64,
    fresh: bool,
    cold: bool,
}

impl<'a> Signed<'a> {
    fn login(nonce: &'a [u8; 32]) -> Self {
        Self { purpose: Purpose::Login, nonce, session: 0, epoch: 0, fresh: false, cold: false }
    }

    fn resume(nonce: &'a [u8; 32], resume: &Resume) -> Self {
        let Resume { session, epoch, cold, .. } = *resume;
        Self { purpose: Purpose::Resume, session, epoch, cold, ..Self::login(nonce) }
    }
}
