//! What operators do with players, with an account or without: each command is answered once what it
//! asks for is committed, and what it ends is ended by then.

use std::collections::{BTreeMap, BTreeSet};

use super::accounts::AfterAccount;
use super::{Answer, Hub, HubOutput};
use crate::account::{Account, Change, Holder, Name, Refusal, Role};
use crate::event::EndCause;
use crate::handshake::first_login;
use crate::id::{AccountId, PlayerId, SessionId};
use crate::mark::{Mark, hit};
use crate::player::{Ban, PlayerOutput};
use crate::time::WallTime;

/// A player, as people name one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Whom {
    /// By the name of an account.
    Name(Name),
    /// By the player's id.
    Player(PlayerId),
}

/// What operators do with players.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PlayerCommand {
    /// Make an account.
    Add {
        /// Its name.
        name: Name,
        /// What it may do.
        role: Role,
        /// The hash of its password; none: nobody can log in by password yet.
        password: Option<PasswordHash>,
    },
    /// Give an account another password. Its sessions end, and keys have to be linked again.
    SetPassword(Whom, PasswordHash),
    /// Let nobody in, and end the sessions; or let them in again.
    Lock(Whom, bool),
    /// Say what an account may do.
    SetRole(Whom, Role),
    /// Keep a player out until then, for this reason, and end the sessions.
    Ban(Whom, WallTime, String),
    /// Let a player in again.
    Unban(Whom),
    /// Delete an account, and what is kept of a guest. A ban stays until it ends.
    Delete(Whom),
}

/// The hash of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct PasswordHash(pub String);

/// Not shown.
impl std::fmt::Debug for PasswordHash {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("PasswordHash")
    }
}

/// A player as operators may see it.
#[derive(Clone, PartialEq, Debug)]
pub struct PlayerView {
    /// Who.
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

/// Orders that are answered once so much of what they end is committed, by their tickets. Answered before, a crash
/// would bring back a session of which the operator was told that it has ended.
#[derive(Debug, Default)]
pub(crate) struct Endings {
    left: BTreeMap<u64, usize>,
}

impl Endings {
    /// One more of the ends that an order waits for is committed. True: it was the last one.
    pub(crate) fn kept(&mut self, ticket: u64) -> bool {
        match self.left.get_mut(&ticket) {
            Some(left) if *left > 1 => {
                *left -= 1;
                false
            }
            Some(_) => self.left.remove(&ticket).is_some(),
            None => {
                crate::never!("the order {ticket} waits for an end and is answered");
                false
            }
        }
    }
}

impl Hub {
    /// Ends sessions. Gives them.
    pub(crate) fn end_all(
        &mut self,
        sessions: BTreeSet<SessionId>,
        cause: EndCause,
    ) -> BTreeSet<SessionId> {
        for session in &sessions {
            self.with_session(*session, |session, cx| session.end(cx, cause));
        }
        sessions
    }

    /// Answers an order once the end of these sessions is committed, and `more` than that.
    pub(crate) fn done_after(&mut self, ticket: u64, ended: &BTreeSet<SessionId>, more: usize) {
        // One more than there are ends: nothing is answered before all are counted.
        self.endings.left.insert(ticket, ended.len() + more + 1);
        for session in ended {
            if self.call_session(*session, |one, _| one.count_end_for(ticket)).is_none() {
                // Its deletion is committed.
                self.endings.kept(ticket);
            }
        }
        if self.endings.kept(ticket) {
            self.answer(ticket, Answer::Done);
        }
    }

    /// Carries out what a player gives out.
    pub(super) fn on_player_output(&mut self, id: PlayerId, output: PlayerOutput) {
        match output {
            PlayerOutput::Commit(batch) => self.push(HubOutput::Commit(batch)),
            PlayerOutput::BanKept { ticket } => {
                let mut ended = BTreeSet::new();
                if self.is_banned(id) {
                    hit(Mark::Banned);
                    ended = self.end_all(self.sessions.opened_by(id), EndCause::Banned);
                }
                self.done_after(ticket, &ended, 0);
            }
            PlayerOutput::Decide(connection, ask) => {
                self.with_handshake(connection, |one, cx| one.prepared(cx, ask));
            }
            PlayerOutput::Forgotten { ticket } => {
                if let Some(ticket) = ticket.filter(|ticket| self.endings.kept(*ticket)) {
                    self.answer(ticket, Answer::Done);
                }
            }
        }
    }

    /// After a start: whoever may not be here any more is not, and what was being deleted is.
    pub(crate) fn bar_again(&mut self) {
        if self.players_only {
            return;
        }
        let leaving = self.accounts.after(None).filter(|(_, account)| account.leaving);
        let leaving: Vec<AccountId> = leaving.map(|(id, _)| id).collect();
        for id in leaving {
            hit(Mark::AccountForgetRedriven);
            self.accounts.ask(id, Change::Retire, AfterAccount::Forget(None));
        }
        let sessions = self.sessions.iter().map(|(id, one)| (*id, one.player(), one.credential()));
        let sessions: Vec<(SessionId, PlayerId, PlayerId)> = sessions.collect();
        for (id, player, credential) in sessions {
            let is_locked = self.accounts.of_player(player).is_some_and(|(_, one)| one.locked);
            let cause = match self.is_banned(player) || self.is_banned(credential) {
                true => EndCause::Banned,
                false if is_locked => EndCause::Locked,
                false => continue,
            };
            hit(Mark::BarredAgain);
            self.with_session(id, |session, cx| session.end(cx, cause));
        }
    }

    pub(crate) fn player_command(&mut self, ticket: u64, command: PlayerCommand) {
        let (whom, change, then) = match command {
            PlayerCommand::Add { name, role, password } => {
                hit(Mark::AccountAdded);
                let (wall, holder) = (self.moment().wall, Holder::Name(name));
                let id = holder.id();
                let mut account = first_login(&mut self.chance, wall, holder, None);
                (account.used, account.role) = (false, role);
                account.password = password.map(|PasswordHash(hash)| hash);
                let change = Change::Create(Box::new(account));
                return self.accounts.ask(id, change, AfterAccount::Answer(ticket));
            }
            PlayerCommand::Ban(whom, until, reason) => {
                return self.set_ban(&whom, ticket, Some((until, reason)));
            }
            PlayerCommand::Unban(whom) => return self.set_ban(&whom, ticket, None),
            PlayerCommand::Delete(whom) => match self.account_of(&whom) {
                Err(Refusal::Guest) => return self.delete_guest(&whom, ticket),
                // The next start ends its sessions and deletes it.
                _ if self.players_only => (whom, Change::Retire, AfterAccount::Answer(ticket)),
                _ => (whom, Change::Retire, AfterAccount::Forget(Some(ticket))),
            },
            PlayerCommand::SetPassword(whom, PasswordHash(hash)) => {
                let then = AfterAccount::End(ticket, EndCause::Kicked);
                (whom, Change::Password(hash), then)
            }
            PlayerCommand::Lock(whom, true) => {
                (whom, Change::Lock(true), AfterAccount::End(ticket, EndCause::Locked))
            }
            PlayerCommand::Lock(whom, false) => {
                hit(Mark::AccountUnlocked);
                (whom, Change::Lock(false), AfterAccount::Answer(ticket))
            }
            PlayerCommand::SetRole(whom, role) => {
                (whom, Change::SetRole(role), AfterAccount::Role(ticket))
            }
        };
        match self.account_of(&whom) {
            Ok(id) => self.accounts.ask(id, change, then),
            Err(refusal) => self.answer(ticket, Answer::PlayerRefused(refusal)),
        }
    }

    fn set_ban(&mut self, whom: &Whom, ticket: u64, ban: Option<(WallTime, String)>) {
        let Some(player) = self.player_of(whom) else {
            return self.answer(ticket, Answer::PlayerRefused(Refusal::Unknown));
        };
        if ban.as_ref().is_some_and(|(until, _)| *until <= self.moment().wall) {
            // Whoever orders it goes by another clock. It would keep nobody out.
            hit(Mark::BanOver);
            return self.answer(ticket, Answer::PlayerRefused(Refusal::BanOver));
        }
        if ban.is_none() {
            hit(Mark::Unbanned);
        }
        let ban = ban.map(|(until, reason)| Ban { until, reason });
        self.players.set_ban(player, ban, ticket);
    }

    fn delete_guest(&mut self, whom: &Whom, ticket: u64) {
        let Some(player) = self.player_of(whom) else {
            return self.answer(ticket, Answer::PlayerRefused(Refusal::Unknown));
        };
        if self.players_only {
            return self.answer(ticket, Answer::PlayerRefused(Refusal::SessionsElsewhere));
        }
        hit(Mark::GuestDeleted);
        let ended = self.end_all(self.sessions.ending_with(player), EndCause::Kicked);
        // What is kept of the guest is one more thing to wait for.
        let is_kept = self.players.forget(player, Some(ticket));
        self.done_after(ticket, &ended, usize::from(is_kept));
    }

    fn account_of(&self, whom: &Whom) -> Result<AccountId, Refusal> {
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

    /// A ban may be meant for somebody who has not been here yet.
    fn player_of(&self, whom: &Whom) -> Option<PlayerId> {
        match whom {
            Whom::Name(name) => self.accounts.of_name(name).map(|(_, account)| account.player),
            Whom::Player(player) => Some(*player),
        }
    }

    fn is_known(&self, player: PlayerId) -> bool {
        self.players.is_known(player) || !self.sessions_of(player).is_empty()
    }

    /// One player as operators may see it.
    #[must_use]
    pub fn player(&self, whom: &Whom) -> Option<PlayerView> {
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
            sessions: self.sessions_of(player),
        })
    }

    /// Players of whom something is kept, in the order of their ids: those with an account and those
    /// who are banned; guests are not listed otherwise.
    #[must_use]
    pub fn players_after(&self, player: Option<PlayerId>, most: usize) -> Vec<PlayerView> {
        let banned = self.players.banned_after(player).take(most);
        let accounts = self.accounts.after(player).map(|(_, account)| account.player).take(most);
        let all: BTreeSet<PlayerId> = banned.chain(accounts).collect();
        let some = all.into_iter().take(most);
        some.filter_map(|player| self.player(&Whom::Player(player))).collect()
    }
}
