//! The operator of the world: makes accounts, changes passwords, locks, bans and deletes at drawn
//! moments, and puts all of it right once faults have stopped.

use rejoin_core::account::{Holder, Refusal, Role};
use rejoin_core::hub::{Answer, Command, HubInput, PasswordHash, PlayerCommand, Whom};
use rejoin_core::id::PlayerId;
use rejoin_core::time::WallTime;

use crate::accounts::Order;
use crate::event::Event;
use crate::login::hash_of;
use crate::world::World;

/// World time at the beginning, on people's clocks.
const EPOCH_MS: u64 = 1_700_000_000_000;

/// A ban that the world judges by.
#[derive(Clone, Copy, Debug)]
pub struct Ban {
    /// The ticket of the last order that decides about it.
    ticket: u64,
    /// Until when, on people's clocks; 0: it was to be lifted.
    until_ms: u64,
    /// It was answered as done.
    is_done: bool,
}

impl World {
    fn wall_ms(&self) -> u64 {
        EPOCH_MS + self.now / 1_000
    }

    /// The operator may do something with an account or a guest.
    pub(crate) fn operator_looks(&mut self) {
        let count = self.accounts.entries.len() as u64;
        if count == 0 || !self.rng.per_mille(self.knobs.access.operator) {
            return;
        }
        if self.rng.per_mille(60) {
            return self.delete_guest();
        }
        let account = self.rng.below(count) as usize;
        let entry = &self.accounts.entries[account];
        let is_named = matches!(entry.holder, Holder::Name(_));
        let (is_missing, is_locked) = (is_named && entry.password == 0, entry.is_locked);
        let order = match self.rng.below(100) {
            0..=59 if is_missing => Order::Add,
            0..=49 if is_locked => Order::Unlock,
            0..=29 if is_named => Order::Password,
            30..=41 => Order::Lock,
            42..=57 => Order::Unlock,
            58..=64 => Order::Role,
            65..=71 => Order::Ban(self.rng.below(4) * 900),
            72..=80 => Order::Unban,
            81..=91 => Order::Delete,
            _ if is_named => Order::Add,
            _ => Order::Unlock,
        };
        self.order(account, order);
    }

    /// Accounts that players know of are there from the beginning, unless something goes wrong.
    pub(crate) fn open_accounts(&mut self) {
        for account in 0..self.accounts.entries.len() {
            if matches!(self.accounts.entries[account].holder, Holder::Name(_)) {
                self.order(account, Order::Add);
            }
        }
        for index in 0..self.players.len() {
            self.equip(index);
            let seed = self.rng.seed();
            self.players[index].reload(seed);
        }
    }

    /// The next process of a player may use another transport, and sends something along.
    pub(crate) fn equip(&mut self, index: usize) {
        let deflate = self.knobs.access.deflate;
        self.players[index].change_transport(deflate, &mut self.rng);
        self.dress(index);
    }

    /// A player with an account whose client has stopped, or who lost what it had stored, logs in anew.
    pub(crate) fn logs_in_anew(&mut self, index: usize) -> bool {
        let player = &self.players[index];
        let is_stopped = player.client.status() == rejoin_client::Status::Stopped;
        let share = if is_stopped { 80 } else { 4 };
        if player.account.is_none() || !self.rng.per_mille(share) {
            return false;
        }
        if self.rng.per_mille(700) {
            self.players[index].saved = None;
        }
        self.reload(index);
        true
    }

    /// Some of those who play with an account hear of its new password, all at about the same time.
    fn spread(&mut self, account: usize, what: Order) {
        if self.quiet || !matches!(what, Order::Add | Order::Password) {
            return;
        }
        for player in 0..self.players.len() {
            if self.players[player].account == Some(account) && self.rng.per_mille(400) {
                let wait = self.rng.below(30_000);
                self.plan(wait, Event::Learn { player });
            }
        }
    }

    /// A player that is not in hears of a new password and comes with it.
    pub(crate) fn learn(&mut self, index: usize) {
        let player = &self.players[index];
        if !self.quiet && !player.is_connected() && player.frozen_until <= self.now {
            self.equip(index);
            self.players[index].saved = None;
            self.reload(index);
        }
    }

    /// Gives an order.
    pub(crate) fn order(&mut self, account: usize, order: Order) {
        if self.node.hub.is_none() {
            return;
        }
        let entry = &self.accounts.entries[account];
        let whom = match (&entry.holder, entry.player) {
            (Holder::Name(name), _) => Whom::Name(name.clone()),
            (Holder::Subject { .. }, Some(player)) => Whom::Player(player),
            // Nobody has come in with it: the operator does not know the player.
            (Holder::Subject { .. }, None) => return,
        };
        let (holder, player) = (entry.holder.clone(), entry.certain_player());
        self.tickets += 1;
        let ticket = self.tickets;
        let number = self.accounts.ask(ticket, account, order);
        if order == Order::Lock {
            let sessions = self.accounts.sessions_of(account);
            self.ends.insert(ticket, ("account-true", sessions));
        }
        let command = match order {
            Order::Add => {
                let Holder::Name(name) = holder else { return };
                let password = Some(PasswordHash(hash_of(number)));
                PlayerCommand::Add { name, role: Role::Player, password }
            }
            Order::Password => PlayerCommand::SetPassword(whom, PasswordHash(hash_of(number))),
            Order::Lock => PlayerCommand::Lock(whom, true),
            Order::Unlock => PlayerCommand::Lock(whom, false),
            Order::Role => PlayerCommand::SetRole(whom, *self.rng.pick(&Role::ALL)),
            Order::Ban(ms) => {
                let until = self.wall_ms() + ms;
                let key = player
                    .and_then(|player| self.key_of(player))
                    .filter(|_| !number.is_multiple_of(4));
                if let Some(player) = key.or(player) {
                    self.ban_asked(ticket, player, until);
                }
                let whom = key.map_or(whom, Whom::Player);
                PlayerCommand::Ban(whom, WallTime(until), "played".to_owned())
            }
            Order::Unban => {
                if let Some(player) = player {
                    self.ban_asked(ticket, player, 0);
                }
                PlayerCommand::Unban(whom)
            }
            Order::Delete => PlayerCommand::Delete(whom),
        };
        // Whoever plays with it cannot be blamed for what follows.
        for player in &mut self.players {
            player.shared |= player.account == Some(account);
        }
        let is_ending = matches!(order, Order::Lock | Order::Ban(_) | Order::Password);
        let crashes = !self.quiet && self.knobs.faults.crash_mid > 0;
        if is_ending && crashes && self.rng.per_mille(60) {
            // The order is committed and what it ends is not, or the other way round.
            self.node.crash_in = Some(self.rng.range(2, 25));
        }
        self.tell(|| format!("operator {number}: {command:?}"));
        let command = Command::Player(command);
        self.note_command(&command);
        self.hub(HubInput::Command { ticket, command });
    }

    /// The key that has opened a session of an account, where it is a player of its own.
    fn key_of(&self, player: PlayerId) -> Option<PlayerId> {
        let mut theirs =
            self.node.hub.as_ref()?.sessions().filter(|(_, one)| one.player() == player);
        theirs.find_map(|(_, one)| Some(one.credential()).filter(|key| *key != player))
    }

    /// Deletes what is kept of a guest that never had to do with an account.
    fn delete_guest(&mut self) {
        let index = self.rng.below(self.players.len() as u64) as usize;
        let key = self.players[index].credential();
        let Some(key) = key.filter(|key| !self.accounts.was_tried(*key)) else { return };
        for player in &mut self.players {
            player.shared |= player.credential() == Some(key);
        }
        self.tickets += 1;
        let ticket = self.tickets;
        self.ends.insert(ticket, ("account-true", self.sessions_owned(key)));
        self.tell(|| format!("operator: delete the guest {key}"));
        let command = Command::Player(PlayerCommand::Delete(Whom::Player(key)));
        self.note_command(&command);
        self.hub(HubInput::Command { ticket, command });
    }

    /// The hub answered; if it was an order, what of it counts from now on?
    pub(crate) fn order_answered(&mut self, ticket: u64, answer: &Answer) {
        let (is_done, wall_ms) = (*answer == Answer::Done, self.wall_ms());
        let ban = self.bans.values_mut().find(|ban| ban.ticket == ticket);
        let is_ban = ban.is_some_and(|ban| {
            ban.is_done = is_done;
            wall_ms < ban.until_ms
        });
        if let Some((checker, sessions)) = self.ends.remove(&ticket)
            && is_done
            // A ban that is over by now, or lifted since it was asked, has ended nothing.
            && (is_ban || checker != "banned-out")
        {
            self.accounts.end_sessions(checker, sessions);
        }
        let Some(order) = self.accounts.take_order(ticket) else { return };
        let (account, number, what) = order;
        self.tell(|| format!("order {number} {what:?}: {answer:?}"));
        if is_done {
            let links = &self.links;
            let is_open = |id: u64| {
                links.get(&id).is_some_and(|link| link.server_open && link.welcomed.is_none())
            };
            self.accounts.done(order, is_open);
            self.spread(account, what);
        }
        let later = matches!(answer, Answer::PlayerRefused(Refusal::Busy | Refusal::Leaving));
        let is_gone = *answer == Answer::PlayerRefused(Refusal::Unknown);
        if is_gone || (is_done && what == Order::Delete) {
            // It is made anew, and all the rest is seen to after that.
            self.accounts.entries[account].settled.clear();
        }
        if self.quiet && !later {
            let entry = &mut self.accounts.entries[account];
            let is_named = matches!(entry.holder, Holder::Name(_));
            entry.settled.insert(match what {
                Order::Add => "exists",
                // A name that is gone by then is made anew.
                Order::Password | Order::Unlock | Order::Unban if is_named && !is_done => return,
                Order::Password => "password",
                Order::Unlock => "unlocked",
                Order::Unban => "let in",
                Order::Lock | Order::Role | Order::Ban(_) | Order::Delete => return,
            });
        }
    }

    /// Somebody asks for a ban or its end: what was decided before does not count any more.
    pub(crate) fn ban_asked(&mut self, ticket: u64, player: PlayerId, until_ms: u64) {
        if until_ms > 0 {
            self.ends.insert(ticket, ("banned-out", self.sessions_owned(player)));
        }
        self.bans.insert(player, Ban { ticket, until_ms, is_done: false });
    }

    fn sessions_owned(&self, player: PlayerId) -> Vec<u64> {
        let theirs = self.owners.iter().filter(|(_, owner)| **owner == player);
        theirs.map(|(session, _)| *session).collect()
    }

    /// Whether a player is banned, by the world's own book and clock.
    pub(crate) fn is_kept_out(&self, player: PlayerId) -> bool {
        let ban = self.bans.get(&player).filter(|ban| ban.is_done);
        ban.is_some_and(|ban| self.wall_ms() < ban.until_ms)
    }

    /// Nobody is let in whose ban was answered as done, by the world's own clock.
    pub(crate) fn check_ban(&mut self, session: u64, player: PlayerId) {
        if self.is_kept_out(player) {
            let text = format!("session {session} of {player} is welcomed within its ban");
            self.watch.fail("banned-out", text);
        }
    }

    /// Faults have stopped: every account is there, unlocked, with a password that its players know, and
    /// those who are not in come with it.
    pub(crate) fn settle_accounts(&mut self) {
        for account in 0..self.accounts.entries.len() {
            let entry = &self.accounts.entries[account];
            let is_named = matches!(entry.holder, Holder::Name(_));
            let is_known = is_named || entry.player.is_some();
            for (what, order) in [
                ("exists", Order::Add),
                ("password", Order::Password),
                ("unlocked", Order::Unlock),
                ("let in", Order::Unban),
            ] {
                let is_due = match order {
                    Order::Add | Order::Password => is_named,
                    _ => is_known,
                };
                if is_due && !self.accounts.entries[account].settled.contains(what) {
                    self.order(account, order);
                }
            }
        }
        for index in 0..self.players.len() {
            let player = &self.players[index];
            let Some(account) = player.account.filter(|_| !player.retired) else { continue };
            let is_settled = match self.accounts.entries[account].holder {
                Holder::Name(_) => self.accounts.entries[account].settled.contains("password"),
                Holder::Subject { .. } => true,
            };
            let right = self.right_admission(account);
            let is_out = !player.is_connected() && player.admission() != right.as_bytes();
            if is_settled && (is_out || player.borrows) {
                // It leaves another's account to those who play with that one.
                if std::mem::take(&mut self.players[index].borrows) {
                    self.players[index].saved = None;
                }
                self.players[index].set_admission(right);
                self.reload(index);
            }
        }
    }

    /// Whether somebody before this player plays with the same account.
    pub(crate) fn is_second_of_account(&self, index: usize) -> bool {
        let account = self.players[index].account;
        account.is_some() && self.players[..index].iter().any(|other| other.account == account)
    }
}
