//! Players with their accounts and sessions, as operators see them. Everything here is read; nothing is changed.

use std::collections::BTreeSet;

use super::{AfterAccount, Whom};
use crate::account::{Account, Accounts, Refusal};
use crate::hub::Sessions;
use crate::id::{AccountId, PlayerId, SessionId};
use crate::player::Players;
use crate::time::WallTime;

/// A player as operators may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct PlayerView {
    /// The player's id, also where it was looked up by the name of its account.
    pub player: PlayerId,
    /// The account; none for a guest.
    pub account: Option<Account>,
    /// Until when it is banned, and why.
    pub ban: Option<(WallTime, String)>,
    /// A guest secret is kept, as a hash.
    pub has_secret: bool,
    /// What is kept of it is damaged, and it is not let in.
    pub damaged: bool,
    /// The sessions that it has.
    pub sessions: Vec<SessionId>,
}

/// The tables in which something is kept of a player.
#[derive(Clone, Copy)]
pub(crate) struct People<'a> {
    pub accounts: &'a Accounts<AfterAccount>,
    pub players: &'a Players,
    pub sessions: &'a Sessions,
}

impl People<'_> {
    /// The account of a player, or why there is none.
    pub(super) fn account_of(self, whom: &Whom) -> Result<AccountId, Refusal> {
        match whom {
            Whom::Name(name) => {
                self.accounts.of_name(name).map(|(id, _)| id).ok_or(Refusal::Unknown)
            }
            Whom::Player(player) => match self.accounts.of_player(*player) {
                Some((id, _)) => Ok(id),
                None if self.is_known(*player) => Err(Refusal::Guest),
                None => Err(Refusal::Unknown),
            },
        }
    }

    /// A ban may be meant for a player that has not been here yet.
    pub(super) fn player_of(self, whom: &Whom) -> Option<PlayerId> {
        match whom {
            Whom::Name(name) => self.accounts.of_name(name).map(|(_, account)| account.player),
            Whom::Player(player) => Some(*player),
        }
    }

    fn is_known(self, player: PlayerId) -> bool {
        self.players.is_known(player) || self.sessions.of_player(player).next().is_some()
    }

    /// One player; none if it has no account, nothing is kept of it, and it has no session.
    pub(crate) fn view(self, whom: &Whom) -> Option<PlayerView> {
        let player = self.player_of(whom)?;
        let account = self.accounts.of_player(player).map(|(_, account)| account.clone());
        if account.is_none() && !self.is_known(player) {
            return None;
        }
        let ban = self.players.ban(player).map(|ban| (ban.until, ban.reason.clone()));
        Some(PlayerView {
            player,
            account,
            ban,
            has_secret: self.players.is_guest(player),
            damaged: self.players.is_damaged(player),
            sessions: self.sessions.of_player(player).collect(),
        })
    }

    /// Players of whom something is kept, in the order of their ids: those with an account and those
    /// who are banned; guests are not listed otherwise.
    pub(crate) fn after(self, player: Option<PlayerId>, most: usize) -> Vec<PlayerView> {
        let banned = self.players.banned_after(player).take(most);
        let accounts = self.accounts.after(player).map(|(_, account)| account.player).take(most);
        let all: BTreeSet<PlayerId> = banned.chain(accounts).collect();
        all.into_iter().take(most).filter_map(|player| self.view(&Whom::Player(player))).collect()
    }
}
