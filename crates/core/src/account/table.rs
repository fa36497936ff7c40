//! All accounts, found by their ids, by the names that these are made of, by their players and by the
//! keys that belong to them. Here is judged what one account cannot know alone: a key and a player belong
//! to one account at most, and there is a highest number of accounts. The table itself keeps nothing in
//! the store; its indexes are made of what is committed.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::ops::Bound::{Excluded, Unbounded};

use super::core::{AccountCore, AccountOutput};
use super::{Account, Change, Name, Refusal, row};
use crate::id::{AccountId, OwnerEpoch, PlayerId, Revision, SessionId};
use crate::scope::Opened;

/// The accounts of a hub.
pub(crate) struct Accounts<T> {
    /// Those that are committed, being made or damaged.
    cores: BTreeMap<AccountId, AccountCore<T>>,
    by_player: BTreeMap<PlayerId, AccountId>,
    by_key: BTreeMap<PlayerId, AccountId>,
    /// Those with a change at the store.
    under_way: BTreeSet<AccountId>,
    /// Those that could not be read, and why.
    damaged: Vec<(AccountId, String)>,
    out: VecDeque<(AccountId, AccountOutput<T>)>,
    /// The owner epoch of accounts that are made from now on.
    new_owner: OwnerEpoch,
    accounts_max: usize,
}

impl<T> Accounts<T> {
    /// The accounts that the store has kept. An account that is made later has `new_owner`. One may be made
    /// in the place of another that was deleted, so `new_owner` is above what any former process has owned.
    pub(crate) fn open(
        scopes: Vec<(AccountId, Opened)>,
        new_owner: OwnerEpoch,
        accounts_max: usize,
    ) -> Self {
        let mut table = Self {
            cores: BTreeMap::new(),
            by_player: BTreeMap::new(),
            by_key: BTreeMap::new(),
            under_way: BTreeSet::new(),
            damaged: Vec::new(),
            out: VecDeque::new(),
            new_owner,
            accounts_max,
        };
        for (id, opened) in scopes {
            let account = row::decode(&opened).map_err(|why| table.damaged.push((id, why))).ok();
            table.cores.insert(id, AccountCore::open(id, &opened, account));
            table.put_into_indexes(id);
        }
        table
    }

    /// One account, as it is committed.
    pub(crate) fn get(&self, id: AccountId) -> Option<&Account> {
        self.cores.get(&id)?.account()
    }

    /// The account of this name.
    pub(crate) fn of_name(&self, name: &Name) -> Option<(AccountId, &Account)> {
        let id = AccountId::of_name(name.as_str());
        Some((id, self.get(id)?))
    }

    /// The account that this player belongs to.
    pub(crate) fn of_player(&self, player: PlayerId) -> Option<(AccountId, &Account)> {
        let id = *self.by_player.get(&player)?;
        Some((id, self.get(id)?))
    }

    /// The account that has the key or secret of which this player would be made.
    pub(crate) fn of_key(&self, key: PlayerId) -> Option<(AccountId, &Account)> {
        let id = *self.by_key.get(&key)?;
        Some((id, self.get(id)?))
    }

    /// The permissions of a player's sessions, where an account decides them.
    pub(crate) fn permissions_of(&self, player: PlayerId) -> Option<u32> {
        self.of_player(player).map(|(_, account)| account.role.permissions())
    }

    /// Accounts whose players have ids above this one, in the order of those; all without one.
    pub(crate) fn after(
        &self,
        player: Option<PlayerId>,
    ) -> impl Iterator<Item = (AccountId, &Account)> {
        let above = (player.map_or(Unbounded, Excluded), Unbounded);
        self.by_player.range(above).filter_map(|(_, id)| Some((*id, self.get(*id)?)))
    }

    /// Accounts that could not be read, and why.
    pub(crate) fn damaged(&self) -> &[(AccountId, String)] {
        &self.damaged
    }

    /// What an account would be after a change that is not asked for yet.
    ///
    /// # Errors
    /// It would be refused.
    pub(crate) fn preview(&self, id: AccountId, change: &Change) -> Result<Account, Refusal> {
        let next = match self.cores.get(&id) {
            Some(core) => core.preview(change)?,
            None => Account::changed(None, change)?,
        };
        match change {
            Change::Create(_) if self.is_full(id) => return Err(Refusal::Full),
            Change::Create(new) => new.keys.iter().try_for_each(|key| self.may_have(id, *key))?,
            Change::Use { link: Some((key, _)), .. } => self.may_have(id, *key)?,
            Change::Use { link: None, .. }
            | Change::Password(_)
            | Change::Lock(_)
            | Change::SetRole(_)
            | Change::Retire => {}
        }
        Ok(next)
    }

    /// Asks for a change. It is judged at once, or after the change that is under way.
    pub(crate) fn ask(&mut self, id: AccountId, change: Change, then: T) {
        if let Some(core) = self.cores.get_mut(&id).filter(|core| core.is_under_way()) {
            core.change_later(change, then);
            return self.drain(id);
        }
        match self.preview(id, &change) {
            Ok(next) => {
                let core = self.cores.entry(id);
                core.or_insert_with(|| AccountCore::new(id, self.new_owner)).change(next, then);
                self.drain(id);
            }
            Err(refusal) => self.out.push_back((id, AccountOutput::Refused(refusal, then))),
        }
    }

    /// Deletes an account of which that is committed, once these sessions have ended.
    pub(crate) fn leave(&mut self, id: AccountId, sessions: BTreeSet<SessionId>, then: T) {
        match self.cores.get_mut(&id) {
            Some(core) => {
                core.leave(sessions, then);
                self.drain(id);
            }
            None => self.out.push_back((id, AccountOutput::Refused(Refusal::Unknown, then))),
        }
    }

    /// It is committed that a session has ended whose account may be leaving.
    pub(crate) fn session_ended(&mut self, id: AccountId, session: SessionId) {
        if let Some(core) = self.cores.get_mut(&id) {
            core.session_ended(session);
            self.drain(id);
        }
    }

    /// The store has this revision of an account.
    pub(crate) fn committed(&mut self, id: AccountId, revision: Revision) {
        if !self.cores.get(&id).is_some_and(|core| core.awaits(revision)) {
            return;
        }
        self.take_from_indexes(id);
        let waiting = self.cores.get_mut(&id).map(|core| core.committed(revision));
        self.put_into_indexes(id);
        self.drain(id);
        // The first of them that writes something is under way then, and the others wait for it.
        for (change, then) in waiting.into_iter().flatten() {
            self.ask(id, change, then);
        }
    }

    /// What the accounts give out, in the order in which it came about.
    pub(crate) fn next_output(&mut self) -> Option<(AccountId, AccountOutput<T>)> {
        self.out.pop_front()
    }

    /// Takes what an account gives out, and drops the account if nothing is left of it.
    fn drain(&mut self, id: AccountId) {
        let Some(core) = self.cores.get_mut(&id) else {
            return crate::never!("{id:?} may have something to give out and is no account");
        };
        while let Some(output) = core.next_output() {
            self.out.push_back((id, output));
        }
        if core.is_under_way() {
            self.under_way.insert(id);
            return;
        }
        self.under_way.remove(&id);
        if core.is_absent() {
            self.cores.remove(&id);
        }
    }

    /// Of an account that is being made, was deleted or is damaged there is nothing to find.
    fn put_into_indexes(&mut self, id: AccountId) {
        if let Some(account) = self.cores.get(&id).and_then(AccountCore::account) {
            self.by_player.insert(account.player, id);
            for key in &account.keys {
                self.by_key.insert(*key, id);
            }
        }
    }

    /// An account that is being made is in no index yet.
    fn take_from_indexes(&mut self, id: AccountId) {
        if let Some(account) = self.cores.get(&id).and_then(AccountCore::account) {
            self.by_player.remove(&account.player);
            for key in &account.keys {
                self.by_key.remove(key);
            }
        }
    }

    /// Whether no other account can be made. Those that are being made count, damaged ones do not.
    fn is_full(&self, id: AccountId) -> bool {
        let own = usize::from(self.cores.contains_key(&id));
        self.cores.len() - self.damaged.len() - own >= self.accounts_max
    }

    /// A key belongs to one account at most, and so does a player.
    fn may_have(&self, id: AccountId, key: PlayerId) -> Result<(), Refusal> {
        let others = [self.by_key.get(&key), self.by_player.get(&key)];
        if others.into_iter().flatten().any(|other| *other != id) {
            return Err(Refusal::KeyTaken);
        }
        let others = self.under_way.iter().filter(|other| **other != id);
        let mut coming = others.filter_map(|other| self.cores.get(other)?.coming());
        match coming.any(|next| next.player == key || next.keys.contains(&key)) {
            true => Err(Refusal::Busy),
            false => Ok(()),
        }
    }
}
