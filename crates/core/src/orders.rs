//! What operators do with players and their accounts. An order is answered once all that it asks for is committed:
//! the change of the account, the ban, and the end of every session that it ends. It changes accounts and players
//! itself; sessions and handshakes are sent messages.

mod command;
mod people;

use std::collections::{BTreeMap, BTreeSet, VecDeque};

pub use self::command::{PasswordHash, PlayerCommand, Whom};
pub(crate) use self::people::People;
pub use self::people::PlayerView;
use crate::account::{AccountOutput, Accounts, Change, Holder, Refusal};
use crate::chance::Chance;
use crate::connection::AskId;
use crate::event::EndCause;
use crate::handshake::first_login;
use crate::hub::{Answer, HubOutput, Mail, Sessions};
use crate::id::{AccountId, ConnectionId, PlayerId, SessionId};
use crate::mark::{Mark, hit};
use crate::player::{Ban, PlayerOutput, Players};
use crate::time::WallTime;

/// What follows once a change of an account is committed.
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

/// What waits until the end of a session is committed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum EndOf {
    /// The order of this ticket.
    Order(u64),
    /// The deletion of this account.
    Account(AccountId),
}

/// From an order to another machine of the hub.
#[derive(Debug)]
pub(crate) enum FromOrder {
    /// End these sessions. `awaits` is told when the end of each is committed.
    End { sessions: Vec<(SessionId, EndCause)>, awaits: Option<EndOf> },
    /// The role of these sessions' player has changed.
    Permit { sessions: Vec<SessionId>, permissions: Option<u32> },
    /// What the hello of a connection has waited for is committed, or is not done.
    Prepared { connection: ConnectionId, ask: AskId, done: Result<(), Refusal> },
}

/// What the hub lends to orders for one call.
pub(crate) struct OrderContext<'a> {
    pub wall: WallTime,
    /// Sessions are left out of this process: what concerns them is done by another one.
    pub players_only: bool,
    pub accounts: &'a mut Accounts<AfterAccount>,
    pub players: &'a mut Players,
    pub sessions: &'a Sessions,
    pub chance: &'a mut Chance,
    pub out: &'a mut VecDeque<HubOutput>,
    /// Messages to other machines of the hub, delivered right after the call.
    pub mail: &'a mut VecDeque<Mail>,
}

impl OrderContext<'_> {
    fn people(&self) -> People<'_> {
        People { accounts: self.accounts, players: self.players, sessions: self.sessions }
    }

    fn answer(&mut self, ticket: u64, answer: Answer) {
        self.out.push_back(HubOutput::Answer { ticket, answer });
    }

    fn refuse(&mut self, ticket: u64, refusal: Refusal) {
        self.answer(ticket, Answer::PlayerRefused(refusal));
    }

    fn tell(&mut self, message: FromOrder) {
        self.mail.push_back(Mail::Order(message));
    }
}

/// The orders that are under way.
#[derive(Debug, Default)]
pub(crate) struct Orders {
    /// How many ends, of sessions and of what is kept of a player, each order waits for. Answered before, a crash
    /// would bring back a session of which the operator was told that it has ended.
    ends_left: BTreeMap<u64, usize>,
}

impl Orders {
    /// Takes an order.
    pub(crate) fn command(&mut self, cx: &mut OrderContext<'_>, ticket: u64, order: PlayerCommand) {
        let (whom, change, then) = match order {
            PlayerCommand::Add { name, role, password } => {
                hit(Mark::AccountAdded);
                let holder = Holder::Name(name);
                let id = holder.id();
                let mut account = first_login(cx.chance, cx.wall, holder, None);
                (account.used, account.role) = (false, role);
                account.password = password.map(|PasswordHash(hash)| hash);
                let change = Change::Create(Box::new(account));
                return cx.accounts.ask(id, change, AfterAccount::Answer(ticket));
            }
            PlayerCommand::Ban(whom, until, reason) => {
                return set_ban(cx, &whom, ticket, Some(Ban { until, reason }));
            }
            PlayerCommand::Unban(whom) => return set_ban(cx, &whom, ticket, None),
            PlayerCommand::Delete(whom) => match cx.people().account_of(&whom) {
                Err(Refusal::Guest) => return self.delete_guest(cx, &whom, ticket),
                // The next start ends its sessions and deletes it.
                _ if cx.players_only => (whom, Change::Retire, AfterAccount::Answer(ticket)),
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
        match cx.people().account_of(&whom) {
            Ok(id) => cx.accounts.ask(id, change, then),
            Err(refusal) => cx.refuse(ticket, refusal),
        }
    }

    fn delete_guest(&mut self, cx: &mut OrderContext<'_>, whom: &Whom, ticket: u64) {
        let Some(player) = cx.people().player_of(whom) else {
            return cx.refuse(ticket, Refusal::Unknown);
        };
        if cx.players_only {
            return cx.refuse(ticket, Refusal::SessionsElsewhere);
        }
        hit(Mark::GuestDeleted);
        let sessions = cx.sessions.ending_with(player);
        // What is kept of the guest is one more thing to wait for.
        let is_kept = cx.players.forget(player, Some(ticket));
        self.end_all(cx, ticket, sessions, EndCause::Kicked, usize::from(is_kept));
    }

    /// Ends sessions, and answers an order once that is committed, and `more` than that.
    fn end_all(
        &mut self,
        cx: &mut OrderContext<'_>,
        ticket: u64,
        sessions: BTreeSet<SessionId>,
        cause: EndCause,
        more: usize,
    ) {
        if sessions.len() + more == 0 {
            return cx.answer(ticket, Answer::Done);
        }
        self.ends_left.insert(ticket, sessions.len() + more);
        let sessions = sessions.into_iter().map(|session| (session, cause)).collect();
        cx.tell(FromOrder::End { sessions, awaits: Some(EndOf::Order(ticket)) });
    }

    /// One of the ends is committed for which an order, or the deletion of an account, waits.
    pub(crate) fn end_kept(
        &mut self,
        cx: &mut OrderContext<'_>,
        session: SessionId,
        awaits: EndOf,
    ) {
        match awaits {
            EndOf::Order(ticket) => self.count_end(cx, ticket),
            EndOf::Account(account) => cx.accounts.session_ended(account, session),
        }
    }

    fn count_end(&mut self, cx: &mut OrderContext<'_>, ticket: u64) {
        match self.ends_left.get_mut(&ticket) {
            Some(left) if *left > 1 => *left -= 1,
            Some(_) => {
                self.ends_left.remove(&ticket);
                cx.answer(ticket, Answer::Done);
            }
            None => crate::never!("the order {ticket} waits for an end and is answered"),
        }
    }

    /// Carries out the next thing that an account or a player gives out; false if there is none. What is kept of
    /// these goes to the store before the sessions that rest on it.
    pub(crate) fn settle(&mut self, cx: &mut OrderContext<'_>) -> bool {
        if let Some((account, output)) = cx.accounts.next_output() {
            match output {
                AccountOutput::Commit(batch) => cx.out.push_back(HubOutput::Commit(batch)),
                AccountOutput::Done(then) => self.account_changed(cx, account, then),
                AccountOutput::Refused(refusal, then) => account_refused(cx, refusal, then),
            }
            return true;
        }
        match cx.players.next_output() {
            Some((player, output)) => {
                self.carry_out(cx, player, output);
                true
            }
            None => false,
        }
    }

    fn carry_out(&mut self, cx: &mut OrderContext<'_>, player: PlayerId, output: PlayerOutput) {
        match output {
            PlayerOutput::Commit(batch) => cx.out.push_back(HubOutput::Commit(batch)),
            PlayerOutput::BanKept { ticket } => {
                let mut sessions = BTreeSet::new();
                if cx.players.is_banned(cx.wall, player) {
                    hit(Mark::Banned);
                    sessions = cx.sessions.opened_by(player);
                }
                self.end_all(cx, ticket, sessions, EndCause::Banned, 0);
            }
            PlayerOutput::Decide(connection, ask) => {
                cx.tell(FromOrder::Prepared { connection, ask, done: Ok(()) });
            }
            PlayerOutput::Forgotten { ticket: Some(ticket) } => self.count_end(cx, ticket),
            PlayerOutput::Forgotten { ticket: None } => {}
        }
    }

    fn account_changed(&mut self, cx: &mut OrderContext<'_>, id: AccountId, then: AfterAccount) {
        let player = cx.accounts.get(id).map(|account| account.player);
        let ending = |sessions: &Sessions| {
            player.map(|player| sessions.ending_with(player)).unwrap_or_default()
        };
        match then {
            AfterAccount::Login(connection, ask) => {
                cx.tell(FromOrder::Prepared { connection, ask, done: Ok(()) });
            }
            AfterAccount::Answer(ticket) => cx.answer(ticket, Answer::Done),
            AfterAccount::End(ticket, cause) => {
                hit(match cause {
                    EndCause::Locked => Mark::AccountLocked,
                    _ => Mark::PasswordChanged,
                });
                let sessions = ending(cx.sessions);
                self.end_all(cx, ticket, sessions, cause, 0);
            }
            AfterAccount::Role(ticket) => {
                hit(Mark::RoleChanged);
                let sessions = player.map(|player| cx.sessions.of_player(player).collect());
                let permissions = player.and_then(|player| cx.accounts.permissions_of(player));
                let sessions = sessions.unwrap_or_default();
                cx.tell(FromOrder::Permit { sessions, permissions });
                cx.answer(ticket, Answer::Done);
            }
            AfterAccount::Forget(ticket) => {
                // The account goes last: without it, a session that is left could be returned to.
                let sessions = ending(cx.sessions);
                if let Some(player) = player {
                    cx.players.forget(player, None);
                }
                cx.accounts.leave(id, sessions.clone(), AfterAccount::Forgotten(ticket));
                let sessions = sessions.into_iter().map(|one| (one, EndCause::Kicked)).collect();
                cx.tell(FromOrder::End { sessions, awaits: Some(EndOf::Account(id)) });
            }
            AfterAccount::Forgotten(ticket) => {
                hit(Mark::AccountForgotten);
                ticket.into_iter().for_each(|ticket| cx.answer(ticket, Answer::Done));
            }
        }
    }

    /// After a start: whoever may not be here any more is not, and what was being deleted is.
    pub(crate) fn bar_again(cx: &mut OrderContext<'_>) {
        if cx.players_only {
            return;
        }
        let leaving = cx.accounts.after(None).filter(|(_, account)| account.leaving);
        for id in leaving.map(|(id, _)| id).collect::<Vec<_>>() {
            hit(Mark::AccountForgetRedriven);
            cx.accounts.ask(id, Change::Retire, AfterAccount::Forget(None));
        }
        let is_banned = |player| cx.players.is_banned(cx.wall, player);
        // The sessions of an account that is being deleted end with the deletion.
        let is_locked = |player| {
            cx.accounts.of_player(player).is_some_and(|(_, one)| one.locked && !one.leaving)
        };
        let barred = cx.sessions.iter().filter_map(|(id, session)| {
            let cause = match is_banned(session.player()) || is_banned(session.credential()) {
                true => EndCause::Banned,
                false if is_locked(session.player()) => EndCause::Locked,
                false => return None,
            };
            hit(Mark::BarredAgain);
            Some((*id, cause))
        });
        let sessions = barred.collect();
        cx.tell(FromOrder::End { sessions, awaits: None });
    }
}

fn set_ban(cx: &mut OrderContext<'_>, whom: &Whom, ticket: u64, ban: Option<Ban>) {
    let Some(player) = cx.people().player_of(whom) else {
        return cx.refuse(ticket, Refusal::Unknown);
    };
    if ban.as_ref().is_some_and(|ban| ban.until <= cx.wall) {
        // Whoever orders it goes by another clock. It would keep nobody out.
        hit(Mark::BanOver);
        return cx.refuse(ticket, Refusal::BanOver);
    }
    if ban.is_none() {
        hit(Mark::Unbanned);
    }
    cx.players.set_ban(player, ban, ticket);
}

fn account_refused(cx: &mut OrderContext<'_>, refusal: Refusal, then: AfterAccount) {
    match then {
        AfterAccount::Login(connection, ask) => {
            cx.tell(FromOrder::Prepared { connection, ask, done: Err(refusal) });
        }
        AfterAccount::Answer(ticket)
        | AfterAccount::End(ticket, _)
        | AfterAccount::Role(ticket)
        | AfterAccount::Forget(Some(ticket))
        | AfterAccount::Forgotten(Some(ticket)) => cx.refuse(ticket, refusal),
        AfterAccount::Forget(None) | AfterAccount::Forgotten(None) => {}
    }
}
