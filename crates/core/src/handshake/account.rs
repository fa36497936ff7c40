//! What a login has proven of an account, beside its key or secret. Passwords and foreign tokens are looked at by
//! the driver; here is what follows for the login.

use bytes::Bytes;
use rejoin_wire::v1::CloseCode;

use super::{AskId, Handshake, HandshakeContext, HandshakeCore, LoginClaim};
use crate::account::{Account, Change, Holder, Link, Refusal, Role};
use crate::chance::Chance;
use crate::hub::{AccountPolicy, Alarm, HubOutput};
use crate::id::{AccountId, PlayerId};
use crate::mark::{Mark, hit};
use crate::orders::AfterAccount;
use crate::planted::{Bug, is_armed};
use crate::session::Identity;
use crate::time::{WallTime, millis_u32};

/// What a login has proven beside its key, as the driver found it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AccountProof {
    /// Nothing: what came along is the game's business.
    None,
    /// A password that is wrong, of an account that may not be; or a token that is not good.
    Wrong,
    /// Nobody had the time to look.
    Busy,
    /// It is meant for an account and cannot be read; why, for whoever writes the client.
    Unreadable(&'static str),
    /// The password of an account.
    Password {
        /// The account whose password the driver has verified.
        account: AccountId,
        /// The version of the account whose password it was.
        version: u32,
        /// What becomes of the key.
        link: Option<Link>,
        /// What the client sends to the game.
        payload: Bytes,
    },
    /// A token of another service.
    Token {
        /// The issuer of the token, which the driver trusts.
        issuer: String,
        /// The issuer's own id of the person. With the issuer it gives the account's id.
        subject: String,
        /// Make an account if there is none.
        create: bool,
        /// What becomes of the key.
        link: Option<Link>,
        /// What the client sends to the game.
        payload: Bytes,
    },
}

impl HandshakeCore {
    /// The key or secret of a login has proven itself: which account does it speak for?
    pub(super) fn identified(&mut self, cx: &mut HandshakeContext<'_>, mut claim: LoginClaim) {
        let of_key = cx.accounts.of_key(claim.credential);
        claim.account = of_key.map(|(id, account)| (id, account.version));
        let payload = claim.hello.admission.clone();
        if cx.config.accounts == AccountPolicy::Off || payload.is_empty() {
            return self.unproven(cx, claim);
        }
        hit(Mark::AccountAsked);
        let ask = self.ask(|ask| Handshake::Proving(ask, Box::new(claim)));
        cx.alarms.set(cx.at.now, cx.config.account_limit, Alarm::Admission(cx.id, ask));
        cx.push(HubOutput::CheckAccount { connection: cx.id, ask, payload });
    }

    /// A login without a password or a token: by a key of an account, or as a guest.
    fn unproven(&mut self, cx: &mut HandshakeContext<'_>, mut claim: LoginClaim) {
        let is_required = cx.config.accounts == AccountPolicy::Required;
        match claim.account.and_then(|(account, _)| cx.accounts.get(account)) {
            Some(account) => {
                hit(Mark::AccountByKey);
                claim.player = account.player;
            }
            None if cx.accounts.of_player(claim.credential).is_some() => {
                // Once the account's own, and not any more.
                hit(Mark::AccountKeyLost);
                return self.wrong_secret(cx);
            }
            None if is_required => {
                hit(Mark::IdentityOff);
                return self.refuse(cx, CloseCode::IdentityOff, "only accounts are let in here");
            }
            None if claim.identity == Identity::Anonymous && !cx.config.anonymous => {
                return self.refuse_identity(cx);
            }
            None => {}
        }
        self.ask_admission(cx, claim);
    }

    /// What the driver has found in what came along with a login.
    pub(crate) fn account_proof(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        ask: AskId,
        proof: AccountProof,
    ) {
        let Some(mut claim) = self.answered(|state| state.proving(ask)) else {
            return hit(Mark::StaleIgnored);
        };
        let (account, change, payload) = match proof {
            AccountProof::None => {
                hit(Mark::AccountNotMeant);
                return self.unproven(cx, claim);
            }
            AccountProof::Wrong => return self.wrong_credential(cx),
            AccountProof::Unreadable(why) => {
                hit(Mark::AccountUnreadable);
                return self.refuse(cx, CloseCode::AdmissionRefused, why);
            }
            AccountProof::Busy => {
                hit(Mark::AccountBusy);
                let wait = millis_u32(cx.config.retry_after);
                let text = "too many logins at once; come again";
                return self.refuse_until(cx, CloseCode::Full, text, wait);
            }
            AccountProof::Password { account, version, link, payload } => {
                claim.link = link;
                let link = link.map(|link| (claim.credential, link));
                (account, Change::Use { version, link }, payload)
            }
            AccountProof::Token { issuer, subject, create, link, payload } => {
                let account = AccountId::of_subject(&issuer, &subject);
                claim.link = link;
                let link = link.map(|link| (claim.credential, link));
                let change = match cx.accounts.get(account) {
                    Some(known) => Change::Use { version: known.version, link },
                    None if create => {
                        hit(Mark::AccountFirstLogin);
                        let holder = Holder::Subject { issuer, subject };
                        let account = first_login(cx.chance, cx.at.wall, holder, link);
                        Change::Create(Box::new(account))
                    }
                    None => return self.wrong_credential(cx),
                };
                (account, change, payload)
            }
        };
        claim.payload = Some(payload);
        self.proven(cx, claim, account, change);
    }

    /// A login has proven an account, and makes this change of it: what does the game say?
    fn proven(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        mut claim: LoginClaim,
        account: AccountId,
        change: Change,
    ) {
        if claim.link.is_some() && claim.identity == Identity::Anonymous {
            let text = "an anonymous player has no key that could be linked";
            return self.refuse(cx, CloseCode::AdmissionRefused, text);
        }
        match cx.accounts.preview(account, &change) {
            Ok(next) => {
                claim.player = next.player;
                claim.account = Some((account, next.version));
                // A change that changes nothing is not written.
                claim.change = (Some(&next) != cx.accounts.get(account)).then_some(change);
                self.ask_admission(cx, claim);
            }
            Err(refusal) => self.refuse_account(cx, refusal),
        }
    }

    /// The login needs a change of its account: it goes on once that is committed.
    pub(super) fn change_account(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        claim: LoginClaim,
        account: AccountId,
        change: Change,
    ) {
        hit(Mark::AccountSettling);
        let ask = self.ask(|ask| Handshake::Preparing(ask, Box::new(claim)));
        cx.accounts.ask(account, change, AfterAccount::Login(cx.id, ask));
    }

    /// The change that a login needs is not made.
    pub(crate) fn change_refused(
        &mut self,
        cx: &mut HandshakeContext<'_>,
        ask: AskId,
        refusal: Refusal,
    ) {
        let Some(claim) = self.answered(|state| state.preparing(ask)) else {
            return hit(Mark::StaleIgnored);
        };
        if refusal != Refusal::Exists {
            return self.refuse_account(cx, refusal);
        }
        // The account that a first login was to make was made by another one meanwhile: it is used, and the
        // game is asked about its player.
        let known =
            claim.account.and_then(|(id, _)| cx.accounts.get(id).map(|known| (id, known.version)));
        let Some((account, version)) = known else { return self.wrong_credential(cx) };
        hit(Mark::AccountMadeMeanwhile);
        let link = claim.link.map(|link| (claim.credential, link));
        self.proven(cx, claim, account, Change::Use { version, link });
    }

    fn refuse_account(&mut self, cx: &mut HandshakeContext<'_>, refusal: Refusal) {
        match refusal {
            Refusal::Outdated => hit(Mark::AccountOutdated),
            Refusal::Leaving => hit(Mark::AccountLeaving),
            Refusal::Locked => hit(Mark::AccountLockedOut),
            Refusal::InUse => hit(Mark::AccountInUse),
            Refusal::KeyTaken => hit(Mark::AccountKeyTaken),
            _ => {}
        }
        let code = match refusal {
            // What was proven is worth nothing any more.
            Refusal::Unknown | Refusal::Leaving | Refusal::Outdated => {
                return self.wrong_credential(cx);
            }
            Refusal::Locked => CloseCode::Locked,
            Refusal::Full | Refusal::Busy => CloseCode::Full,
            Refusal::Exists
            | Refusal::InUse
            | Refusal::KeyTaken
            | Refusal::KeysFull
            | Refusal::SessionsElsewhere
            | Refusal::Guest
            | Refusal::BanOver => CloseCode::AdmissionRefused,
        };
        self.refuse(cx, code, &refusal.to_string());
    }
}

/// An account that begins with its first login.
pub(crate) fn first_login(
    chance: &mut Chance,
    created: WallTime,
    holder: Holder,
    link: Option<(PlayerId, Link)>,
) -> Account {
    let player = match link {
        Some((key, Link::Bring)) => key,
        Some((_, Link::Join)) | None => PlayerId(chance.bytes()),
    };
    Account {
        holder,
        password: None,
        version: match is_armed(Bug::AccountVersionReused) {
            true => 0,
            false => u32::from_le_bytes(chance.bytes()),
        },
        role: Role::Player,
        locked: false,
        leaving: false,
        player,
        used: true,
        keys: link.map(|(key, _)| key).into_iter().collect(),
        created,
    }
}
