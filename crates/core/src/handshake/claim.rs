//! Whether whom a hello has proven to be may come in now, and what must be committed before.

use rejoin_wire::v1::{CloseCode, hello};

use super::{AskId, FromHandshake, Handshake, HandshakeContext, HandshakeCore, LoginClaim};
use crate::account::{Account, Accounts, Change};
use crate::hub::{AccountPolicy, HubConfig};
use crate::id::PlayerId;
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::session::{Identity, Newcomer};

impl HandshakeCore {
    /// A hello has proven who it is from. If nothing keeps that player out, a session is looked for in the same
    /// step, on every login and resume.
    pub(super) fn decide(&mut self, cx: &mut HandshakeContext<'_>, mut claim: LoginClaim) {
        // A ban counts once it is committed: before that nobody is let in or refused because of it.
        let mut players = players_of(cx.accounts, &claim);
        if let Some(player) = players.find(|player| cx.players.is_ban_coming(*player)) {
            hit(Mark::BanAwaited);
            return self.wait_for_ban(cx, player, claim);
        }
        match barred(cx, &claim) {
            None => {}
            Some((CloseCode::Credential, _)) => {
                hit(Mark::AccountOutdatedLate);
                return self.wrong_credential(cx);
            }
            Some((code, text)) => {
                match code {
                    CloseCode::Banned => hit(Mark::Banned),
                    CloseCode::Locked => hit(Mark::AccountLockedOut),
                    CloseCode::NotReady => hit(Mark::AccountMoved),
                    _ => {}
                }
                return self.refuse(cx, code, &text);
            }
        }
        if cx.players.is_damaged(claim.player) {
            return self.refuse_damaged(cx);
        }
        match (claim.account, claim.change.take()) {
            (Some((account, _)), Some(change)) => self.change_account(cx, claim, account, change),
            (_, _) => cx.tell(FromHandshake::LetIn(Box::new(claim))),
        }
    }

    /// Goes on once no ban of this player is under way.
    fn wait_for_ban(&mut self, cx: &mut HandshakeContext<'_>, player: PlayerId, claim: LoginClaim) {
        if !cx.players.has_room(player) {
            return self.refuse(cx, CloseCode::NotReady, "a ban is being kept; come again");
        }
        let ask = self.ask(|ask| Handshake::Preparing(ask, Box::new(claim)));
        cx.players.decide_later(player, cx.id, ask);
    }

    /// What the hello waited for is committed, its account or a ban: it goes on.
    pub(crate) fn prepared(&mut self, cx: &mut HandshakeContext<'_>, ask: AskId) {
        match self.answered(|state| state.preparing(ask)) {
            Some(claim) => self.decide(cx, claim),
            None => hit(Mark::StaleIgnored),
        }
    }

    /// What a session has to know of the connection that wants to speak for it.
    pub(crate) fn newcomer<'a>(
        &self,
        cx: &HandshakeContext<'_>,
        claim: &'a LoginClaim,
    ) -> Newcomer<'a> {
        Newcomer {
            connection: cx.id,
            serializer: self.peer.serializer,
            is_encrypted: self.peer.is_encrypted,
            origin: self.peer.origin,
            opened_at: self.opened_at,
            identity: claim.identity,
            credential: claim.credential,
            is_signed: claim.signed,
            minted: claim.minted.as_ref(),
            capabilities: &claim.hello.capabilities,
            permissions: cx.accounts.permissions_of(claim.player),
        }
    }
}

/// Why this claim is not let in, if it is not.
fn barred(cx: &HandshakeContext<'_>, claim: &LoginClaim) -> Option<(CloseCode, String)> {
    if let Some(player) =
        players_of(cx.accounts, claim).find(|player| cx.players.is_banned(cx.at.wall, *player))
    {
        return Some((CloseCode::Banned, cx.players.ban_text(player)));
    }
    let (code, text) = match (claim.account, account_of(cx.accounts, claim)) {
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
        (None, of_player) if !is_taken(cx.config, claim, of_player.is_some()) => {
            hit(Mark::IdentityOff);
            (CloseCode::IdentityOff, "this kind of identity is not taken here")
        }
        (_, _) => return None,
    };
    Some((code, text.to_owned()))
}

/// Whether sessions of this identity are taken here. Logins were asked this at their hello; the
/// session of a resume may have begun under other settings.
fn is_taken(config: &HubConfig, claim: &LoginClaim, has_account: bool) -> bool {
    let is_on = match claim.identity {
        Identity::Server => return true,
        Identity::Key => config.keys,
        Identity::Secret => config.secrets,
        Identity::Anonymous => {
            config.anonymous || (has_account && config.accounts != AccountPolicy::Off)
        }
    };
    is_on && (has_account || config.accounts != AccountPolicy::Required)
}

/// The account that a login proved; for all others, the one whose player it is.
fn account_of<'a, T>(accounts: &'a Accounts<T>, claim: &LoginClaim) -> Option<&'a Account> {
    match claim.account {
        Some((id, _)) => accounts.get(id),
        None => accounts.of_player(claim.player).map(|(_, account)| account),
    }
}

/// The players of whom none may be banned if this claim is to be let in. The player of an account is
/// not let in as the guest that it could bring.
fn players_of<T>(
    accounts: &Accounts<T>,
    claim: &LoginClaim,
) -> impl Iterator<Item = PlayerId> + use<T> {
    let of_account = account_of(accounts, claim).map(|account| account.player);
    [claim.player, claim.credential].into_iter().chain(of_account)
}

/// Whether a login has proven another version of its account than there is.
fn is_outdated(known: &Account, proven: u32) -> bool {
    known.version != proven && !is_armed(Bug::OldPasswordAccepted)
}
