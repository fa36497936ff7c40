//! Who is there: the checks a hello must pass before it touches any session. A table of refusals,
//! each typed; one answer for unknown and wrong; no validator, no entry.

use rejoin_wire::proof::{Proof, Purpose, signed_text};
use rejoin_wire::v1::{
    CloseCode, Hello, KeyProof, Login, Refusal, Resume, hello, login, server_frame,
};

use super::config::{AccountPolicy, Admission};
use super::connection::{Claim, Phase};
use super::deadline::Alarm;
use super::{Hub, HubOutput};
use crate::id::{ConnectionId, PlayerId, SessionId};
use crate::mark::{Mark, hit};
use crate::secret::Secret;
use crate::session::Identity;
use crate::session::token::Presented;
use crate::text::clip;
use crate::time::{Time, millis_u32};

/// The highest number that a resume may name as not acknowledged. A stream goes on where its client does, and
/// clients take no number above `u64::MAX >> 1`: without this bound one hello could leave a session without
/// numbers.
const OLDEST_UNACKED_MAX: u64 = 1 << 62;

impl Hub {
    pub(crate) fn hello(&mut self, now: Time, id: ConnectionId, hello: Hello) {
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
        if self.is_rationed(id, &hello) {
            return;
        }
        match hello.purpose.clone() {
            Some(hello::Purpose::Login(login)) => self.login(now, id, hello, login),
            Some(hello::Purpose::Resume(resume)) => self.resume(now, id, hello, resume),
            None => self.violation(now, id, CloseCode::Malformed, "a hello without a purpose"),
        }
    }

    fn login(&mut self, now: Time, id: ConnectionId, hello: Hello, login: Login) {
        match login.identity {
            Some(login::Identity::Secret(secret)) if self.is_damaged_guest(&secret) => {
                self.refuse_damaged(id);
            }
            Some(login::Identity::Key(proof)) if self.config.keys => {
                let proof_of = (Purpose::Login, 0, 0, login.fresh, false);
                self.verify(id, hello, &proof, proof_of);
            }
            Some(login::Identity::Secret(secret)) if self.config.secrets => {
                let secret = Secret::from_slice(&secret);
                let guest = secret.and_then(|secret| Some((self.guest_of(&secret)?, secret)));
                match guest {
                    Some((player, secret)) => {
                        if !self.guest_seen(now, player, Some(secret.hash())) {
                            return self.refuse_guest(id);
                        }
                        let claim = claimed(hello, player, Identity::Secret);
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
                let secret = self.mint_secret();
                let player = PlayerId::of_secret(secret.reveal());
                let mut claim = claimed(hello, player, Identity::Secret);
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
                self.identified(now, id, claimed(hello, player, Identity::Anonymous));
            }
            Some(_) => {
                hit(Mark::IdentityOff);
                self.refuse(id, CloseCode::IdentityOff, "this kind of identity is not taken here");
            }
            None => self.violation(now, id, CloseCode::Malformed, "a login without identity"),
        }
    }

    fn resume(&mut self, now: Time, id: ConnectionId, hello: Hello, resume: Resume) {
        if resume.oldest_unacked > OLDEST_UNACKED_MAX {
            let oldest = resume.oldest_unacked;
            let text = format!("oldest_unacked is {oldest}, at most {OLDEST_UNACKED_MAX} may be");
            return self.violation(now, id, CloseCode::Malformed, &text);
        }
        let is_known = self.presented(&resume) != Presented::Unknown;
        let session = self.sessions.get(&SessionId(resume.session)).filter(|_| is_known);
        let Some(session) = session else { return self.unknown_or_wrong(id) };
        let (player, credential) = (session.player, session.credential);
        match (session.identity, &resume.key) {
            (Identity::Key, Some(proof)) if PlayerId::of_key(&proof.public_key) == credential => {
                let of = (Purpose::Resume, resume.session, resume.epoch, false, resume.cold);
                self.verify(id, hello, proof, of);
            }
            (Identity::Key, _) => self.unknown_or_wrong(id),
            (identity, _) => {
                let claim = Claim { credential, ..claimed(hello, player, identity) };
                self.decide_claim(now, id, claim);
            }
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

    fn verify(
        &mut self,
        id: ConnectionId,
        hello: Hello,
        proof: &KeyProof,
        (purpose, session, epoch, fresh, cold): (Purpose, u64, u64, bool, bool),
    ) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
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
            nonce: &connection.nonce,
            session,
            epoch,
            capabilities: &hello.capabilities,
            channel_binding: &[],
            fresh,
            cold,
            admission: &hello.admission,
        });
        let mut claim = claimed(hello, PlayerId::of_key(&public_key), Identity::Key);
        claim.signed = true;
        connection.phase = Phase::Verifying(Box::new(claim));
        self.push(HubOutput::Verify { connection: id, public_key, text, signature });
    }

    pub(crate) fn verified(&mut self, now: Time, id: ConnectionId, good: bool) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let phase = std::mem::replace(&mut connection.phase, Phase::AwaitingHello);
        let Phase::Verifying(claim) = phase else {
            connection.phase = phase;
            return hit(Mark::StaleIgnored);
        };
        if !good {
            let purpose = match claim.hello.purpose {
                Some(hello::Purpose::Resume(_)) => Purpose::Resume,
                Some(hello::Purpose::Login(_)) | None => Purpose::Login,
            };
            return self.wrong_proof(id, purpose, "the signature does not fit");
        }
        match claim.hello.purpose.clone() {
            Some(hello::Purpose::Login(_)) => self.identified(now, id, *claim),
            Some(hello::Purpose::Resume(resume)) => {
                // The key may be one of an account, whose session has the account's player.
                let session = self.sessions.get(&SessionId(resume.session));
                let mut claim = *claim;
                if let Some(session) = session.filter(|s| s.credential == claim.credential) {
                    claim.player = session.player;
                }
                self.decide_claim(now, id, claim);
            }
            None => self.decide_claim(now, id, *claim),
        }
    }

    /// Each login is the game's to refuse; a resume was let in before.
    pub(crate) fn ask_admission(&mut self, now: Time, id: ConnectionId, claim: Claim) {
        let Admission::Ask(deadline) = self.config.admission else {
            return self.known(now, id, claim);
        };
        let payload = claim.payload.clone().unwrap_or_else(|| claim.hello.admission.clone());
        let player = claim.player;
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.phase = Phase::Admitting(Box::new(claim));
        self.alarms.set(now, deadline, Alarm::Admission(id));
        self.push(HubOutput::AskAdmission { connection: id, player, payload });
    }

    pub(crate) fn admission(&mut self, now: Time, id: ConnectionId, verdict: Result<(), String>) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let phase = std::mem::replace(&mut connection.phase, Phase::AwaitingHello);
        let Phase::Admitting(claim) = phase else {
            connection.phase = phase;
            return hit(Mark::StaleIgnored);
        };
        match verdict {
            Ok(()) => {
                hit(Mark::Admitted);
                self.known(now, id, *claim);
            }
            Err(text) => {
                hit(Mark::AdmissionRefused);
                self.refuse(id, CloseCode::AdmissionRefused, &text);
            }
        }
    }

    pub(crate) fn admission_due(&mut self, now: Time, id: ConnectionId) {
        let _ = now;
        let waiting = self.connections.get(&id);
        let is_asked = |phase: &Phase| matches!(phase, Phase::Admitting(_) | Phase::Proving(_));
        if waiting.is_some_and(|known| is_asked(&known.phase)) {
            hit(Mark::AdmissionTimeout);
            self.refuse(id, CloseCode::AdmissionTimeout, "the game gave no answer");
        }
    }

    /// The game agrees. A guest whose secret was just minted is new, and there may be no room.
    fn known(&mut self, now: Time, id: ConnectionId, claim: Claim) {
        if claim.minted.is_some() && self.is_full_of_guests() {
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
    pub(crate) fn decide(&mut self, now: Time, id: ConnectionId) {
        let Some(connection) = self.connections.get_mut(&id) else { return };
        let phase = std::mem::replace(&mut connection.phase, Phase::AwaitingHello);
        match phase {
            Phase::Verifying(claim) => self.decide_claim(now, id, *claim),
            other => connection.phase = other,
        }
    }

    /// Whether a player is banned at this time.
    #[must_use]
    pub fn is_banned(&self, now: Time, player: PlayerId) -> bool {
        let banned = self.players.get(&player).and_then(|player| player.banned_until);
        banned.is_some_and(|until| self.wall(now) < until)
    }

    /// A guest whose secret was kept and cannot be compared any more.
    fn is_damaged_guest(&self, secret: &[u8]) -> bool {
        let player = Secret::from_slice(secret).map(|secret| PlayerId::of_secret(secret.reveal()));
        player.is_some_and(|player| self.quarantined.contains(&player))
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
        let Some(connection) = self.connections.get_mut(&id) else { return };
        connection.phase = Phase::Closing;
        let text = clip(text.to_owned());
        let refusal = Refusal { code: code.into(), text, retry_after_ms, addresses: vec![] };
        self.send(id, server_frame::Frame::Refusal(refusal));
        self.push(HubOutput::Close { connection: id, code });
    }
}

fn claimed(hello: Hello, player: PlayerId, identity: Identity) -> Claim {
    Claim {
        hello,
        player,
        credential: player,
        identity,
        minted: None,
        signed: false,
        account: None,
        link: None,
        change: None,
        payload: None,
    }
}
