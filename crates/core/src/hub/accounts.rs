//! Accounts at the hub: a login that proves one, and keys that belong to one. Passwords and foreign
//! tokens are looked at by the driver; here is what follows. Whether a player may come in is read in the
//! same step that makes a session live, on every login and resume.

use bytes::Bytes;
use rejoin_wire::v1::{CloseCode, hello};

use super::config::AccountPolicy;
use super::{Alarm, Hub, HubOutput};
use crate::account::{Account, AccountOutput, Change, Holder, Link, Name, Refusal, Role};
use crate::connection::{AskId, Handshake, LoginClaim};
use crate::event::EndCause;
use crate::id::{AccountId, ConnectionId, PlayerId, Revision, SessionId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::session::Identity;
use crate::time::{Time, millis_u32};

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
        /// Which account.
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
        /// The service.
        issuer: String,
        /// Whom it is about.
        subject: String,
        /// Make an account if there is none.
        create: bool,
        /// What becomes of the key.
        link: Option<Link>,
        /// What the client sends to the game.
        payload: Bytes,
    },
}

/// What waits for the commit of an account.
#[derive(Debug)]
pub(crate) enum AfterAccount {
    /// Go on with the login of this connection.
    Login(ConnectionId, AskId),
    /// Answer the command.
    Answer(u64),
    /// End the player's sessions, then answer.
    End(u64, EndCause),
    /// Give the sessions the permissions of the role, then answer.
    Role(u64),
    /// End the player's sessions and delete the account; the answer, if somebody asked, comes then.
    Forget(Option<u64>),
    /// It is deleted.
    Forgotten(Option<u64>),
}

impl Hub {
    /// The account of this name, for whoever looks at a password.
    #[must_use]
    pub fn account_named(&self, name: &Name) -> Option<(AccountId, &Account)> {
        self.accounts.of_name(name)
    }

    /// Accounts that cannot be read, and why. Nobody is let in by their names.
    #[must_use]
    pub fn damaged_accounts(&self) -> &[(AccountId, String)] {
        self.accounts.damaged()
    }

    /// The key or secret of a login has proven itself: which account does it speak for?
    pub(crate) fn identified(&mut self, now: Time, id: ConnectionId, mut claim: LoginClaim) {
        let of_key = self.accounts.of_key(claim.credential);
        claim.account = of_key.map(|(id, account)| (id, account.version));
        let payload = claim.hello.admission.clone();
        if self.config.accounts == AccountPolicy::Off || payload.is_empty() {
            return self.unproven(now, id, claim);
        }
        hit(Mark::AccountAsked);
        let ask = self.ask(id, |ask| Handshake::Proving(ask, Box::new(claim)));
        self.alarms.set(now, self.config.account_limit, Alarm::Admission(id, ask));
        self.push(HubOutput::CheckAccount { connection: id, ask, payload });
    }

    /// A login without a password or a token: by a key of an account, or as a guest.
    fn unproven(&mut self, now: Time, id: ConnectionId, mut claim: LoginClaim) {
        let is_required = self.config.accounts == AccountPolicy::Required;
        match claim.account.and_then(|(account, _)| self.accounts.get(account)) {
            Some(account) => {
                hit(Mark::AccountByKey);
                claim.player = account.player;
            }
            None if self.accounts.of_player(claim.credential).is_some() => {
                // Once the account's own, and not any more.
                hit(Mark::AccountKeyLost);
                hit(Mark::CredentialRefused);
                self.count_failure(id);
                return self.refuse(id, CloseCode::Credential, "unknown or wrong");
            }
            None if is_required => {
                hit(Mark::IdentityOff);
                return self.refuse(id, CloseCode::IdentityOff, "only accounts are let in here");
            }
            None if claim.identity == Identity::Anonymous && !self.config.anonymous => {
                hit(Mark::IdentityOff);
                let text = "this kind of identity is not taken here";
                return self.refuse(id, CloseCode::IdentityOff, text);
            }
            None => {}
        }
        self.ask_admission(now, id, claim);
    }

    pub(crate) fn account_proof(
        &mut self,
        now: Time,
        id: ConnectionId,
        ask: AskId,
        proof: AccountProof,
    ) {
        let Some(mut claim) = self.take_answered(id, |state| state.proving(ask)) else { return };
        let (account, change, payload) = match proof {
            AccountProof::None => {
                hit(Mark::AccountNotMeant);
                return self.unproven(now, id, claim);
            }
            AccountProof::Wrong => return self.wrong_credential(id),
            AccountProof::Unreadable(why) => {
                hit(Mark::AccountUnreadable);
                return self.refuse(id, CloseCode::AdmissionRefused, why);
            }
            AccountProof::Busy => {
                hit(Mark::AccountBusy);
                let wait = millis_u32(self.config.retry_after);
                let text = "too many logins at once; come again";
                return self.refuse_until(id, CloseCode::Full, text, wait);
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
                let change = match self.accounts.get(account) {
                    Some(known) => Change::Use { version: known.version, link },
                    None if create => {
                        hit(Mark::AccountFirstLogin);
                        let holder = Holder::Subject { issuer, subject };
                        Change::Create(Box::new(self.first_login(now, holder, link)))
                    }
                    None => return self.wrong_credential(id),
                };
                (account, change, payload)
            }
        };
        claim.payload = Some(payload);
        self.proven(now, id, claim, account, change);
    }

    /// A login has proven an account, and makes this change of it: what does the game say?
    fn proven(
        &mut self,
        now: Time,
        id: ConnectionId,
        mut claim: LoginClaim,
        account: AccountId,
        change: Change,
    ) {
        if claim.link.is_some() && claim.identity == Identity::Anonymous {
            let text = "an anonymous player has no key that could be linked";
            return self.refuse(id, CloseCode::AdmissionRefused, text);
        }
        match self.accounts.preview(account, &change).map(Some) {
            Ok(next) => {
                claim.player = next.as_ref().map_or(claim.player, |next| next.player);
                claim.account = next.as_ref().map(|next| (account, next.version));
                // A change that changes nothing is not written.
                claim.change = (next.as_ref() != self.accounts.get(account)).then_some(change);
                self.ask_admission(now, id, claim);
            }
            Err(refusal) => self.refuse_account(id, refusal),
        }
    }

    /// The account that a first login was to make was made by another one meanwhile: it is used, and the
    /// game is asked about its player.
    fn made_meanwhile(&mut self, now: Time, id: ConnectionId, ask: AskId) {
        let Some(claim) = self.take_answered(id, |state| state.preparing(ask)) else { return };
        let known = claim
            .account
            .and_then(|(id, _)| self.accounts.get(id).map(|known| (id, known.version)));
        let Some((account, version)) = known else { return self.wrong_credential(id) };
        hit(Mark::AccountMadeMeanwhile);
        let link = claim.link.map(|link| (claim.credential, link));
        self.proven(now, id, claim, account, Change::Use { version, link });
    }

    /// An account that begins with its first login.
    pub(crate) fn first_login(
        &mut self,
        now: Time,
        holder: Holder,
        link: Option<(PlayerId, Link)>,
    ) -> Account {
        let player = match link {
            Some((key, Link::Bring)) => key,
            _ => PlayerId(self.chance.bytes()),
        };
        Account {
            holder,
            password: None,
            version: match is_armed(Bug::AccountVersionReused) {
                true => 0,
                false => u32::from_le_bytes(self.chance.bytes()),
            },
            role: Role::Player,
            locked: false,
            leaving: false,
            player,
            used: true,
            keys: link.map(|(key, _)| key).into_iter().collect(),
            created: self.wall(now),
        }
    }

    /// It is committed that a session of an account that is being deleted has ended.
    pub(crate) fn account_session_ended(&mut self, now: Time, id: AccountId, session: SessionId) {
        self.accounts.session_ended(id, session);
        self.take_account_outputs(now);
    }

    /// One answer for unknown and wrong; after too many of them only to wait.
    pub(crate) fn wrong_credential(&mut self, id: ConnectionId) {
        hit(Mark::CredentialRefused);
        match self.count_failure(id) {
            None => self.refuse(id, CloseCode::Credential, "unknown or wrong"),
            Some(wait) => self.failed_too_often(id, wait),
        }
    }

    fn refuse_account(&mut self, id: ConnectionId, refusal: Refusal) {
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
                return self.wrong_credential(id);
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
        self.refuse(id, code, &refusal.to_string());
    }

    /// The login needs a change of its account: it goes on once that is committed.
    pub(crate) fn settle_account(&mut self, now: Time, id: ConnectionId, mut claim: LoginClaim) {
        let change = claim.account.zip(claim.change.take());
        let Some(((account, _), change)) = change else {
            return self.decide_claim(now, id, claim);
        };
        hit(Mark::AccountSettling);
        let ask = self.ask(id, |ask| Handshake::Preparing(ask, Box::new(claim)));
        self.change_account(now, account, change, AfterAccount::Login(id, ask));
    }

    /// Why this claim is not let in, if it is not.
    pub(crate) fn barred(&self, now: Time, claim: &LoginClaim) -> Option<(CloseCode, String)> {
        for player in self.players_of(claim) {
            if self.is_banned(now, player) {
                return Some((CloseCode::Banned, self.players.ban_text(player)));
            }
        }
        let (code, text) = match (claim.account, self.account_of_claim(claim)) {
            // It has another password than the proven one, or was deleted.
            (Some((_, version)), known)
                if !matches!(claim.change, Some(Change::Create(_)))
                    && known.is_none_or(|known| known.leaving || is_outdated(known, version)) =>
            {
                (CloseCode::Credential, "unknown or wrong")
            }
            (_, Some(known)) if known.locked => (CloseCode::Locked, "this account is locked"),
            (Some(_), Some(known)) if claim.change.is_none() && known.player != claim.player => {
                (CloseCode::NotReady, "the account has just changed; come again")
            }
            (None, Some(_)) if matches!(claim.hello.purpose, Some(hello::Purpose::Login(_))) => {
                // Its key was brought to an account while the game was asked about a guest.
                (CloseCode::NotReady, "the account has just changed; come again")
            }
            (None, of_player) if !self.is_taken(claim, of_player.is_some()) => {
                hit(Mark::IdentityOff);
                (CloseCode::IdentityOff, "this kind of identity is not taken here")
            }
            (_, _) => return None,
        };
        Some((code, text.to_owned()))
    }

    /// Whether sessions of this identity are taken here. Logins were asked this at their hello; the
    /// session of a resume may have begun under other settings.
    fn is_taken(&self, claim: &LoginClaim, has_account: bool) -> bool {
        let is_on = match claim.identity {
            Identity::Server => return true,
            Identity::Key => self.config.keys,
            Identity::Secret => self.config.secrets,
            Identity::Anonymous => {
                self.config.anonymous || (has_account && self.config.accounts != AccountPolicy::Off)
            }
        };
        is_on && (has_account || self.config.accounts != AccountPolicy::Required)
    }

    /// The account that a login proved; for all others, the one whose player it is.
    fn account_of_claim(&self, claim: &LoginClaim) -> Option<&Account> {
        match claim.account {
            Some((id, _)) => self.accounts.get(id),
            None => self.accounts.of_player(claim.player).map(|(_, account)| account),
        }
    }

    /// The players of whom none may be banned if this claim is to be let in. The player of an account is
    /// not let in as the guest that it could bring.
    pub(crate) fn players_of(&self, claim: &LoginClaim) -> impl Iterator<Item = PlayerId> + use<> {
        let of_account = self.account_of_claim(claim).map(|account| account.player);
        [claim.player, claim.credential].into_iter().chain(of_account)
    }

    /// The permissions of a player's sessions, where an account decides them.
    pub(crate) fn permissions_of(&self, player: PlayerId) -> Option<u32> {
        self.accounts.of_player(player).map(|(_, account)| account.role.permissions())
    }

    pub(crate) fn change_account(
        &mut self,
        now: Time,
        id: AccountId,
        change: Change,
        then: AfterAccount,
    ) {
        self.accounts.ask(id, change, then);
        self.take_account_outputs(now);
    }

    pub(crate) fn account_committed(&mut self, now: Time, id: AccountId, revision: Revision) {
        self.accounts.committed(id, revision);
        self.take_account_outputs(now);
    }

    /// Carries out what accounts have given out. One of these things can change an account again; what
    /// that gives out comes after what was there before.
    fn take_account_outputs(&mut self, now: Time) {
        while let Some((id, output)) = self.accounts.next_output() {
            match output {
                AccountOutput::Commit(batch) => self.push(HubOutput::Commit(batch)),
                AccountOutput::Done(then) => self.account_changed(now, id, then),
                AccountOutput::Refused(refusal, then) => self.account_refused(now, refusal, then),
            }
        }
    }

    fn account_refused(&mut self, now: Time, refusal: Refusal, then: AfterAccount) {
        match then {
            AfterAccount::Login(connection, ask) if refusal == Refusal::Exists => {
                self.made_meanwhile(now, connection, ask);
            }
            AfterAccount::Login(connection, ask) => {
                if self.take_answered(connection, |state| state.preparing(ask)).is_some() {
                    self.refuse_account(connection, refusal);
                }
            }
            AfterAccount::Answer(ticket)
            | AfterAccount::End(ticket, _)
            | AfterAccount::Role(ticket)
            | AfterAccount::Forget(Some(ticket))
            | AfterAccount::Forgotten(Some(ticket)) => self.not_done(ticket, refusal),
            AfterAccount::Forget(None) | AfterAccount::Forgotten(None) => {}
        }
    }

    fn account_changed(&mut self, now: Time, id: AccountId, then: AfterAccount) {
        let player = self.accounts.get(id).map(|account| account.player);
        match then {
            AfterAccount::Login(connection, ask) => self.decide(now, connection, ask),
            AfterAccount::Answer(ticket) => self.done(ticket),
            AfterAccount::End(ticket, cause) => {
                hit(match cause {
                    EndCause::Locked => Mark::AccountLocked,
                    _ => Mark::PasswordChanged,
                });
                let ended = self.end_player(player, cause);
                self.done_after(ticket, &ended);
            }
            AfterAccount::Role(ticket) => {
                hit(Mark::RoleChanged);
                let sessions = player.map(|player| self.sessions_of(player)).unwrap_or_default();
                let permissions = player.and_then(|player| self.permissions_of(player));
                for session in sessions {
                    self.with_session(session, |known, _| known.set_permissions(permissions));
                }
                self.done(ticket);
            }
            AfterAccount::Forget(ticket) => {
                // The account goes last: without it, a session that is left could be returned to.
                let sessions = self.end_player(player, EndCause::Kicked);
                if let Some(player) = player {
                    self.forget_guest(player);
                }
                let left = sessions.iter().copied().filter(|session| {
                    let counted =
                        self.call_session(*session, |one, _| one.count_end_for_account(id));
                    counted.is_some()
                });
                let left = left.collect();
                self.accounts.leave(id, left, AfterAccount::Forgotten(ticket));
                self.take_account_outputs(now);
            }
            AfterAccount::Forgotten(ticket) => {
                hit(Mark::AccountForgotten);
                ticket.into_iter().for_each(|t| self.done(t));
            }
        }
    }
}

/// Whether a login has proven another version of its account than there is.
fn is_outdated(known: &Account, proven: u32) -> bool {
    known.version != proven && !is_armed(Bug::OldPasswordAccepted)
}
