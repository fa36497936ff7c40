//! The world's own book of accounts: what operators were told is done, what each login has proven, and
//! what follows for whoever is let in. It shares no code with the accounts of the hub and is never asked
//! by it.
//!
//! Orders are numbered as they are asked, and a password is known by the number of the order that set it.
//! The hub carries out the orders of one account in the order in which they were asked, so an order that
//! is answered as done replaces every password of a lower number. What a crash left without an answer may
//! have happened or not, and is not judged.

mod live;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use rejoin_core::account::{Holder, Link, Name};
use rejoin_core::id::PlayerId;

/// What an operator orders for one account.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Order {
    /// Make the account, with a new password.
    Add,
    /// Give it another password.
    Password,
    /// Lock it.
    Lock,
    /// Unlock it.
    Unlock,
    /// Give it another role.
    Role,
    /// Ban its player for so many milliseconds.
    Ban(u64),
    /// Lift the ban.
    Unban,
    /// Delete it.
    Delete,
}

/// An account, as far as the world knows it.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Whose it is.
    pub holder: Holder,
    /// The newest password whose order was answered as done; 0: there is none.
    pub password: u64,
    /// The newest password that was asked for, done or not.
    pub asked_password: u64,
    /// Who was welcomed with it.
    pub player: Option<PlayerId>,
    /// A lock was answered as done, and nothing that could end it was asked since.
    pub is_locked: bool,
    /// What the operator has seen to since faults stopped.
    pub settled: BTreeSet<&'static str>,
    /// Passwords below this one were replaced, or deleted with the account.
    floor: u64,
    /// The last order that decides about the lock.
    lock_order: u64,
    /// The last deletion that was asked and not answered: its player may be another one.
    deletion: Option<u64>,
}

impl Entry {
    /// Who was welcomed with it, if that cannot have changed since.
    #[must_use]
    pub fn certain_player(&self) -> Option<PlayerId> {
        self.player.filter(|_| self.deletion.is_none())
    }

    /// The password that its players believe in.
    #[must_use]
    pub fn believed_password(&self) -> u64 {
        if self.password == 0 { self.asked_password } else { self.password }
    }
}

/// What a login has proven.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Shown {
    /// The account.
    pub account: usize,
    /// The number of the password; none for a token of another service.
    pub password: Option<u64>,
    /// What becomes of the key.
    pub link: Option<Link>,
    /// The player that its key or secret is alone.
    pub key: Option<PlayerId>,
}

/// A key that a login wanted to link, and the connection of that login.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Tried {
    account: usize,
    password: Option<u64>,
    key: PlayerId,
    connection: u64,
}

/// A player is let in on a connection.
#[derive(Clone, Copy, Debug)]
pub struct Welcomed {
    /// The connection.
    pub connection: u64,
    /// The hello was a login, not a resume.
    pub is_login: bool,
    /// The player that the key or secret of the hello is alone.
    pub key: Option<PlayerId>,
    /// The session it got.
    pub session: u64,
    /// Whose session it is.
    pub player: PlayerId,
    /// The session is ending, and its connection is closed with the next commit.
    pub is_ending: bool,
}

/// A checker, and what it saw.
pub type Found = (&'static str, String);

const OLD: &str = "old-password-out";
const TRUE: &str = "account-true";

/// The accounts of a world.
#[derive(Debug, Default)]
pub struct AccountBook {
    /// The accounts: first those with names, then those of subjects.
    pub entries: Vec<Entry>,
    orders: u64,
    asked: BTreeMap<u64, (usize, u64, Order)>,
    shown: BTreeMap<u64, Shown>,
    tried: Vec<Tried>,
    /// The account and password that each session was last opened with, and whose it is.
    sessions: BTreeMap<u64, (usize, Option<u64>, PlayerId)>,
    /// Deletions that were asked of a player by its id, and which player that is. It need not be the
    /// account's any more when the order is given.
    deletes: BTreeMap<u64, PlayerId>,
    /// Sessions that have ended by an order that was answered as done, and which checker minds.
    dead: BTreeMap<u64, &'static str>,
}

impl AccountBook {
    /// The book of so many accounts of both kinds, none of which is there yet.
    #[must_use]
    pub fn new(names: usize, subjects: usize) -> Self {
        let name = |n: usize| Name::parse(&format!("acc{n}")).expect("a name");
        let named = (0..names).map(|n| Holder::Name(name(n)));
        let vouched = (0..subjects)
            .map(|n| Holder::Subject { issuer: "sim".to_owned(), subject: format!("sub{n}") });
        let entry = |holder| Entry {
            holder,
            password: 0,
            asked_password: 0,
            player: None,
            is_locked: false,
            settled: BTreeSet::new(),
            floor: 0,
            lock_order: 0,
            deletion: None,
        };
        Self { entries: named.chain(vouched).map(entry).collect(), ..Self::default() }
    }

    /// An order is about to be given; the number that it has, and that its password has.
    pub fn ask(&mut self, ticket: u64, account: usize, order: Order) -> u64 {
        self.orders += 1;
        let number = self.orders;
        self.asked.insert(ticket, (account, number, order));
        let entry = &mut self.entries[account];
        match order {
            Order::Lock => entry.lock_order = number,
            Order::Unlock => (entry.lock_order, entry.is_locked) = (number, false),
            Order::Delete => {
                (entry.lock_order, entry.is_locked) = (number, false);
                entry.deletion = Some(number);
                let is_named = matches!(entry.holder, Holder::Name(_));
                self.deletes.extend(entry.player.filter(|_| !is_named).map(|id| (number, id)));
            }
            Order::Add | Order::Password => entry.asked_password = number,
            Order::Role | Order::Ban(_) | Order::Unban => {}
        }
        number
    }

    /// Which order a ticket is of, once it is answered.
    pub fn take_order(&mut self, ticket: u64) -> Option<(usize, u64, Order)> {
        self.asked.remove(&ticket)
    }

    /// An order was answered as done. `is_open` tells connections whose login is not decided yet.
    pub fn done(
        &mut self,
        (account, number, order): (usize, u64, Order),
        is_open: impl Fn(u64) -> bool,
    ) {
        let entry = &mut self.entries[account];
        match order {
            Order::Add => {
                (entry.password, entry.floor) = (number, entry.floor.max(number));
                (entry.player, entry.deletion) = (None, None);
            }
            Order::Password => {
                entry.password = entry.password.max(number);
                entry.floor = entry.floor.max(number);
                self.end(account, OLD, |password, _| password.is_some_and(|p| p < number));
            }
            Order::Lock => entry.is_locked = entry.lock_order == number,
            Order::Delete => {
                let deleted = self.deletes.remove(&number);
                let is_other = |player| deleted.is_some_and(|deleted| deleted != player);
                // A first login by token has made the account anew, as another player.
                let is_anew = entry.player.is_some_and(is_other);
                entry.floor = entry.floor.max(number);
                if entry.deletion == Some(number) {
                    (entry.player, entry.deletion) = (None, None);
                }
                if entry.password < number {
                    entry.password = 0;
                }
                self.end(account, TRUE, |password, player| {
                    password.is_none_or(|p| p < number) && !is_other(player)
                });
                // A first login by token may have begun before, and makes the account anew.
                self.tried.retain(|tried| {
                    tried.account != account
                        || is_anew
                        || tried.password.is_some()
                        || is_open(tried.connection)
                });
            }
            Order::Unlock | Order::Role | Order::Ban(_) | Order::Unban => {}
        }
    }

    fn end(
        &mut self,
        account: usize,
        checker: &'static str,
        is_ended: impl Fn(Option<u64>, PlayerId) -> bool,
    ) {
        let of_account = self.sessions.iter().filter(|(_, (of, ..))| *of == account);
        let ended = of_account.filter(|(_, (_, password, player))| is_ended(*password, *player));
        self.dead.extend(ended.map(|(session, _)| (*session, checker)));
    }

    /// A login has proven something, and the hub is told so now.
    pub fn show(&mut self, connection: u64, shown: Shown) {
        self.shown.insert(connection, shown);
        if let Some(key) = shown.key.filter(|_| shown.link.is_some()) {
            let Shown { account, password, .. } = shown;
            self.tried.push(Tried { account, password, key, connection });
        }
    }

    /// The account that a login on this connection has proven.
    #[must_use]
    pub fn shown_on(&self, connection: u64) -> Option<usize> {
        self.shown.get(&connection).map(|shown| shown.account)
    }

    /// Whether an account ever was to have this key.
    #[must_use]
    pub fn was_tried(&self, key: PlayerId) -> bool {
        self.tried.iter().any(|tried| tried.key == key)
    }

    /// Passwords of an account that open nothing any more.
    #[must_use]
    pub fn old_passwords(&self, account: usize) -> u64 {
        self.entries[account].floor
    }

    /// Judges who is let in.
    ///
    /// # Errors
    /// Somebody else, or somebody who may not be.
    pub fn welcomed(&mut self, it: Welcomed) -> Result<(), Found> {
        if it.is_ending {
            // A zone has answered what was under way before the order was done.
            return Ok(());
        }
        if let Some(checker) = self.dead.get(&it.session) {
            let text = format!("session {} was ended by an order that is done", it.session);
            return Err((checker, text));
        }
        match self.shown.get(&it.connection).copied() {
            Some(shown) => self.welcomed_by_proof(it, shown),
            None if it.is_login => self.welcomed_by_key(it),
            None => match self.sessions.get(&it.session) {
                Some((account, ..)) => self.check_lock(*account, it),
                None => Ok(()),
            },
        }
    }

    fn welcomed_by_proof(&mut self, it: Welcomed, shown: Shown) -> Result<(), Found> {
        let entry = &self.entries[shown.account];
        if let Some(password) = shown.password.filter(|password| *password < entry.floor) {
            let text = format!(
                "{:?} lets in with password {password}, which order {} replaced",
                entry.holder, entry.floor
            );
            return Err((OLD, text));
        }
        if shown.link == Some(Link::Bring) && shown.key != Some(it.player) {
            let text = format!("{:?} was to take {:?}, got {}", entry.holder, shown.key, it.player);
            return Err((TRUE, text));
        }
        self.check_lock(shown.account, it)?;
        let entry = &mut self.entries[shown.account];
        match entry.player {
            Some(player) if player != it.player && entry.deletion.is_none() => {
                let text = format!("{:?} is {player}, not {}", entry.holder, it.player);
                return Err((TRUE, text));
            }
            Some(player) if player != it.player => entry.deletion = None,
            _ => {}
        }
        entry.player = Some(it.player);
        self.sessions.insert(it.session, (shown.account, shown.password, it.player));
        Ok(())
    }

    /// A login without a password or a token: a guest, or a key that was linked to an account.
    fn welcomed_by_key(&mut self, it: Welcomed) -> Result<(), Found> {
        let owner = self.entries.iter().position(|entry| entry.player == Some(it.player));
        let Some(account) = owner else {
            // Players that nobody was welcomed as before: an account may have been made or used by a
            // login whose answer was lost.
            let may_be = |tried: &Tried| Some(tried.key) == it.key;
            return match it.key {
                Some(key) if key != it.player && !self.tried.iter().any(may_be) => {
                    Err((TRUE, format!("the key of {key} lets in as {}", it.player)))
                }
                _ => Ok(()),
            };
        };
        let entry = &self.entries[account];
        if entry.deletion.is_some() {
            return Ok(());
        }
        self.check_lock(account, it)?;
        let is_linked = |tried: &&Tried| {
            tried.account == account
                && Some(tried.key) == it.key
                && tried.password.is_none_or(|password| password >= entry.floor)
        };
        let Some(tried) = self.tried.iter().rfind(is_linked) else {
            let text = format!(
                "{:?} lets in by key {:?}, which no login with its present password has linked",
                entry.holder, it.key
            );
            return Err((OLD, text));
        };
        self.sessions.insert(it.session, (account, tried.password, it.player));
        Ok(())
    }

    fn check_lock(&self, account: usize, it: Welcomed) -> Result<(), Found> {
        let entry = &self.entries[account];
        let text = || format!("{:?} is locked and lets in {it:?}", entry.holder);
        if entry.is_locked { Err((TRUE, text())) } else { Ok(()) }
    }

    /// The sessions that were opened with an account so far.
    #[must_use]
    pub fn sessions_of(&self, account: usize) -> Vec<u64> {
        let of_account = self.sessions.iter().filter(|(_, (of, ..))| *of == account);
        of_account.map(|(session, _)| *session).collect()
    }

    /// An order that was to end these sessions is answered as done.
    pub fn end_sessions(&mut self, checker: &'static str, sessions: Vec<u64>) {
        self.dead.extend(sessions.into_iter().map(|session| (session, checker)));
    }
}
