//! The checks that a hello must pass before it touches any session: version, name, form, pace, and the proof of
//! who it is from. Each refusal is typed; unknown and wrong have one answer; no validator, no entry.

use rejoin_wire::proof::{Proof, Purpose, signed_text};
use rejoin_wire::v1::{CloseCode, Hello, KeyProof, Login, Resume, hello, login};

use super::{
    AskId, FromHandshake, Handshake, HandshakeContext, HandshakeCore, LoginClaim, LookUp, Signing,
};
use crate::hub::{AccountPolicy, Admission, Alarm, HubOutput};
use crate::id::PlayerId;
use crate::mark::{Mark, hit};
use crate::secret::Secret;
use crate::session::{Identity, Resumed};

/// The highest number that a resume may name as not acknowledged. A stream goes on where its client does, and
/// clients take no number above `u64::MAX >> 1`: without this bound one hello could leave a session without
/// numbers.
const OLDEST_UNACKED_MAX: u64 = 1 << 62;

impl HandshakeCore {
    pub(crate) fn hello(&mut self, cx: &mut HandshakeContext<'_>, hello: Hello) {
        let Some(nonce) = self.take_challenge() else {
            // It was closed while its hello was on the way.
            return hit(Mark::StaleIgnored);
        };
        if cx.is_stopping {
            return self.refuse_stopping(cx);
        }
        if !cx.is_open {
            hit(Mark::NotReady);
            return self.refuse(cx, CloseCode::NotReady, "not ready yet");
        }
        if hello.version != rejoin_wire::VERSION {
            hit(Mark::VersionRefused);
            return self.refuse(cx, CloseCode::Version, "this version is not served");
        }
        if !cx.config.server_names.contains(&hello.server_name) {
            hit(Mark::WrongName);
            let text = match hello.server_name.as_str() {
                "" => "the hello has no server_name".to_owned(),
                name => format!("this server is not called {name:?}"),
            };
            return self.refuse(cx, CloseCode::WrongName, &text);
        }
        match hello.purpose.clone() {
            Some(hello::Purpose::Login(_)) if self.is_login_deferred(cx) => {}
            Some(hello::Purpose::Login(login)) => self.login(cx, &nonce, hello, login),
            Some(hello::Purpose::Resume(resume)) => {
                let oldest = resume.oldest_unacked;
                if oldest > OLDEST_UNACKED_MAX {
                    let text =
                        format!("oldest_unacked is {oldest}, at most {OLDEST_UNACKED_MAX} may be");
                    return self.violation(cx, &text);
                }
                cx.tell(FromHandshake::LookUp(Box::new(LookUp { nonce, hello, resume })));
            }
            None => self.violation(cx, "a hello without a purpose"),
        }
    }

    fn login(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        nonce: &[u8; 32],
        hello: Hello,
        login: Login,
    ) {
        match login.identity {
            Some(login::Identity::Secret(secret)) if is_damaged_guest(cx, &secret) => {
                self.refuse_damaged(cx);
            }
            Some(login::Identity::Key(proof)) if cx.config.keys => {
                let player = PlayerId::of_key(&proof.public_key);
                let signed = Signed { fresh: login.fresh, ..Signed::login(nonce) };
                self.verify(cx, hello, &proof, signed, player);
            }
            Some(login::Identity::Secret(secret)) if cx.config.secrets => {
                let secret = Secret::from_slice(&secret);
                let guest = secret.and_then(|s| Some((cx.players.guest_of(&s)?, s)));
                let Some((player, secret)) = guest else { return self.wrong_secret(cx) };
                if !cx.players.guest_seen(cx.at.wall, player, Some(secret.hash())) {
                    return self.refuse_guest(cx);
                }
                self.identified(cx, LoginClaim::unsigned(hello, player, Identity::Secret));
            }
            Some(login::Identity::Mint(_)) if cx.config.secrets => {
                if self.is_minted_too_often(cx) {
                    return;
                }
                let secret = cx.players.mint_secret(cx.chance);
                let player = PlayerId::of_secret(secret.reveal());
                let mut claim = LoginClaim::unsigned(hello, player, Identity::Secret);
                claim.minted = Some(secret);
                self.identified(cx, claim);
            }
            // Whoever proves an account needs no other identity.
            Some(login::Identity::Anonymous(_))
                if cx.config.anonymous
                    || (cx.config.accounts != AccountPolicy::Off
                        && !hello.admission.is_empty()) =>
            {
                let player = PlayerId(cx.chance.bytes());
                self.identified(cx, LoginClaim::unsigned(hello, player, Identity::Anonymous));
            }
            Some(_) => self.refuse_identity(cx),
            None => self.violation(cx, "a login without identity"),
        }
    }

    /// The session of a resume says what it wants to see proven.
    pub(crate) fn looked_up(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        looked_up: LookUp,
        resumed: &Resumed,
    ) {
        let LookUp { nonce, hello, resume } = looked_up;
        match (resumed, &resume.key) {
            (Resumed::SignFirst { player }, Some(proof)) => {
                self.verify(cx, hello, proof, Signed::resume(&nonce, &resume), *player);
            }
            (Resumed::ClearFirst { player, identity, credential }, _) => {
                let claim = LoginClaim::unsigned(hello, *player, *identity);
                self.decide(cx, LoginClaim { credential: *credential, ..claim });
            }
            _ => self.unknown_or_wrong(cx),
        }
    }

    /// Has the signature of a hello verified. `player`: who is let in if it is good.
    fn verify(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        hello: Hello,
        proof: &KeyProof,
        signed: Signed<'_>,
        player: PlayerId,
    ) {
        let Signed { purpose, nonce, session, epoch, fresh, cold } = signed;
        let keys = (
            <[u8; 32]>::try_from(&proof.public_key[..]),
            <[u8; 64]>::try_from(&proof.signature[..]),
        );
        let (Ok(public_key), Ok(signature)) = keys else {
            return self.wrong_proof(cx, purpose, "a key is 32 bytes, a signature 64");
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
        let signing = Signing::new(hello, PlayerId::of_key(&public_key), player);
        let ask = self.ask(|ask| Handshake::Signing(ask, Box::new(signing)));
        cx.push(HubOutput::Verify { connection: cx.id, ask, public_key, text, signature });
    }

    pub(crate) fn verified(&mut self, cx: &mut HandshakeContext<'_>, ask: AskId, good: bool) {
        let Some(signing) = self.answered(|state| state.signing(ask)) else {
            return hit(Mark::StaleIgnored);
        };
        let is_resume = matches!(signing.hello().purpose, Some(hello::Purpose::Resume(_)));
        let purpose = if is_resume { Purpose::Resume } else { Purpose::Login };
        match (good, is_resume) {
            (false, _) => self.wrong_proof(cx, purpose, "the signature does not fit"),
            (true, true) => self.decide(cx, signing.signed()),
            (true, false) => self.identified(cx, signing.signed()),
        }
    }

    /// A login's key or signature does not hold.
    fn wrong_proof(&mut self, cx: &mut HandshakeContext<'_>, purpose: Purpose, text: &str) {
        if purpose == Purpose::Resume {
            return self.unknown_or_wrong(cx);
        }
        hit(Mark::CredentialRefused);
        self.count_failure(cx);
        self.refuse(cx, CloseCode::Credential, text);
    }

    /// Each login is the game's to refuse; a resume was let in before.
    pub(super) fn ask_admission(&mut self, cx: &mut HandshakeContext<'_>, claim: LoginClaim) {
        let Admission::Ask(deadline) = cx.config.admission else {
            return self.admitted(cx, claim);
        };
        let payload = claim.payload.clone().unwrap_or_else(|| claim.hello.admission.clone());
        let player = claim.player;
        let ask = self.ask(|ask| Handshake::Admitting(ask, Box::new(claim)));
        cx.alarms.set(cx.at.now, deadline, Alarm::Admission(cx.id, ask));
        cx.push(HubOutput::AskAdmission { connection: cx.id, ask, player, payload });
    }

    pub(crate) fn admission(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        ask: AskId,
        verdict: Result<(), String>,
    ) {
        let Some(claim) = self.answered(|state| state.admitting(ask)) else {
            return hit(Mark::StaleIgnored);
        };
        match verdict {
            Ok(()) => {
                hit(Mark::Admitted);
                self.admitted(cx, claim);
            }
            Err(text) => {
                hit(Mark::AdmissionRefused);
                self.refuse(cx, CloseCode::AdmissionRefused, &text);
            }
        }
    }

    /// The game agrees. A guest whose secret was just minted is new, and there may be no room.
    fn admitted(&mut self, cx: &mut HandshakeContext<'_>, claim: LoginClaim) {
        if claim.minted.is_some() && cx.players.is_full_of_guests() {
            return self.refuse_guest(cx);
        }
        self.decide(cx, claim);
    }

    /// The game, or whoever looks at passwords and tokens, has not answered this question in time.
    pub(crate) fn admission_due(&mut self, cx: &mut HandshakeContext<'_>, ask: AskId) {
        if self.is_asking(ask) {
            hit(Mark::AdmissionTimeout);
            self.refuse(cx, CloseCode::AdmissionTimeout, "the game gave no answer");
        }
    }

    /// There should have been a hello by now.
    pub(crate) fn hello_due(&mut self, cx: &mut HandshakeContext<'_>) {
        if self.stage() == crate::connection::Stage::AwaitingHello {
            hit(Mark::HandshakeTimeout);
            self.end(cx, CloseCode::HandshakeTimeout, "no hello in time");
        }
    }
}

/// A guest whose secret was kept and cannot be compared any more.
fn is_damaged_guest(cx: &HandshakeContext<'_>, secret: &[u8]) -> bool {
    let player = Secret::from_slice(secret).map(|secret| PlayerId::of_secret(secret.reveal()));
    player.is_some_and(|player| cx.players.is_damaged(player))
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
