//! All accounts, and what of them is on its way to the store. A change counts once it is committed and
//! not before; until then the account is what it was. Changes of one account wait for each other, so
//! that each is judged by what the one before it left.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use bytes::Bytes;

use super::{Account, Change, Name, Refusal, row};
use crate::id::{AccountId, OwnerEpoch, PlayerId, Revision};
use crate::scope::{Batch, Change as RowChange, Opened, ScopeId};

/// Changes of one account that wait for each other.
const WAITING_MAX: usize = 16;

/// What comes of a change. `T` is what its asker wants to be reminded of.
#[derive(Debug)]
pub enum Step<T> {
    /// Commit this, then tell the book.
    Commit(Batch),
    /// Something of this account is on its way; this comes after it.
    Waits,
    /// It is so now.
    Done(AccountId, T),
    /// It is not.
    Refused(Refusal, T),
}

struct Kept {
    account: Account,
    owner: OwnerEpoch,
    revision: Revision,
}

struct Pending<T> {
    /// Nothing: it is being deleted.
    next: Option<Account>,
    owner: OwnerEpoch,
    revision: Revision,
    then: T,
    waiting: VecDeque<(Change, T)>,
}

/// The accounts.
pub struct Book<T> {
    kept: BTreeMap<AccountId, Kept>,
    by_player: BTreeMap<PlayerId, AccountId>,
    by_key: BTreeMap<PlayerId, AccountId>,
    pending: BTreeMap<AccountId, Pending<T>>,
    /// Accounts that cannot be read. The store has their rows, so none is made in their place.
    damaged: BTreeSet<AccountId>,
    /// The owner epoch of accounts that are made from now on.
    new_owner: OwnerEpoch,
    most: usize,
}

impl<T> Book<T> {
    /// The accounts that the store has kept; with those that cannot be read, and why. An account that is
    /// made later has `new_owner`. One may be made in the place of another that was deleted, so
    /// `new_owner` is above what any former process has owned.
    #[must_use]
    pub fn open(
        scopes: Vec<(AccountId, Opened)>,
        new_owner: OwnerEpoch,
        most: usize,
    ) -> (Self, Vec<(AccountId, String)>) {
        let (kept, by_player, by_key, pending, damaged) = Default::default();
        let mut book = Self { kept, by_player, by_key, pending, damaged, new_owner, most };
        let mut whys = Vec::new();
        for (id, opened) in scopes {
            match row::decode(&opened) {
                Ok(account) => {
                    let (owner, revision) = (opened.owner, opened.revision);
                    book.put(id, Kept { account, owner, revision });
                }
                Err(why) => {
                    book.damaged.insert(id);
                    whys.push((id, why));
                }
            }
        }
        (book, whys)
    }

    /// One account.
    #[must_use]
    pub fn get(&self, id: AccountId) -> Option<&Account> {
        self.kept.get(&id).map(|kept| &kept.account)
    }

    /// The account of this name.
    #[must_use]
    pub fn of_name(&self, name: &Name) -> Option<(AccountId, &Account)> {
        let id = AccountId::of_name(name.as_str());
        Some((id, self.get(id)?))
    }

    /// The account that this player belongs to.
    #[must_use]
    pub fn of_player(&self, player: PlayerId) -> Option<(AccountId, &Account)> {
        let id = *self.by_player.get(&player)?;
        Some((id, self.get(id)?))
    }

    /// The account that has the key or secret of which this player would be made.
    #[must_use]
    pub fn of_key(&self, key: PlayerId) -> Option<(AccountId, &Account)> {
        let id = *self.by_key.get(&key)?;
        Some((id, self.get(id)?))
    }

    /// Accounts whose players have ids above this one, in the order of those; all without one.
    pub fn after(&self, player: Option<PlayerId>) -> impl Iterator<Item = (AccountId, &Account)> {
        use std::ops::Bound::{Excluded, Unbounded};
        let above = (player.map_or(Unbounded, Excluded), Unbounded);
        self.by_player.range(above).filter_map(|(_, id)| Some((*id, self.get(*id)?)))
    }

    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.kept.len()
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// What an account would be after a change that is not asked for yet.
    ///
    /// # Errors
    /// It would be refused.
    pub fn preview(&self, id: AccountId, change: &Change) -> Result<Option<Account>, Refusal> {
        let next = Account::changed(self.get(id), change)?;
        match change {
            Change::Create(_) if self.damaged.contains(&id) => Err(Refusal::Exists),
            Change::Create(_) if self.is_full(id) => Err(Refusal::Full),
            Change::Create(new) => {
                new.keys.iter().try_for_each(|key| self.may_have(id, *key))?;
                Ok(next)
            }
            Change::Use { link: Some((key, _)), .. } => {
                self.may_have(id, *key)?;
                Ok(next)
            }
            _ => Ok(next),
        }
    }

    /// Asks for a change.
    pub fn ask(&mut self, id: AccountId, change: Change, then: T) -> Step<T> {
        match self.pending.get_mut(&id) {
            Some(pending) if pending.waiting.len() >= WAITING_MAX => {
                Step::Refused(Refusal::Busy, then)
            }
            Some(pending) => {
                pending.waiting.push_back((change, then));
                Step::Waits
            }
            None => self.begin(id, &change, then),
        }
    }

    /// The store has this revision of an account.
    pub fn committed(&mut self, id: AccountId, revision: Revision) -> Vec<Step<T>> {
        let is_it = |pending: &Pending<T>| pending.revision == revision;
        if !self.pending.get(&id).is_some_and(is_it) {
            return Vec::new();
        }
        let Some(pending) = self.pending.remove(&id) else { return Vec::new() };
        self.drop_from_indexes(id);
        match pending.next {
            Some(account) => {
                self.put(id, Kept { account, owner: pending.owner, revision });
            }
            None => drop(self.kept.remove(&id)),
        }
        let mut steps = vec![Step::Done(id, pending.then)];
        let mut waiting = pending.waiting;
        while let Some((change, then)) = waiting.pop_front() {
            steps.push(self.begin(id, &change, then));
            if let Some(under_way) = self.pending.get_mut(&id) {
                under_way.waiting = waiting;
                break;
            }
        }
        steps
    }

    fn begin(&mut self, id: AccountId, change: &Change, then: T) -> Step<T> {
        let next = match self.preview(id, change) {
            Ok(next) => next,
            Err(refusal) => return Step::Refused(refusal, then),
        };
        let known = self.kept.get(&id);
        if next.is_some() && known.map(|kept| &kept.account) == next.as_ref() {
            return Step::Done(id, then);
        }
        let owner = known.map_or(self.new_owner, |kept| kept.owner);
        let revision = known.map_or(Revision(0), |kept| kept.revision).next();
        let pending = Pending { next, owner, revision, then, waiting: VecDeque::new() };
        let batch = Self::batch(id, &pending);
        self.pending.insert(id, pending);
        Step::Commit(batch)
    }

    fn batch(id: AccountId, pending: &Pending<T>) -> Batch {
        let change = match &pending.next {
            Some(account) => RowChange::Put(Bytes::from_static(row::KEY), row::encode(account)),
            None => RowChange::DeletePrefix(Bytes::new()),
        };
        Batch {
            scope: ScopeId::Account(id),
            owner: pending.owner,
            revision: pending.revision,
            changes: vec![change],
            delete_scope: pending.next.is_none(),
        }
    }

    fn put(&mut self, id: AccountId, kept: Kept) {
        self.by_player.insert(kept.account.player, id);
        for key in &kept.account.keys {
            self.by_key.insert(*key, id);
        }
        self.kept.insert(id, kept);
    }

    fn drop_from_indexes(&mut self, id: AccountId) {
        let Some(kept) = self.kept.get(&id) else { return };
        self.by_player.remove(&kept.account.player);
        for key in &kept.account.keys {
            self.by_key.remove(key);
        }
    }

    fn is_full(&self, id: AccountId) -> bool {
        let is_new = |other: &&AccountId| **other != id && !self.kept.contains_key(other);
        let coming = self.pending.keys().filter(is_new).count();
        !self.kept.contains_key(&id) && self.kept.len() + coming >= self.most
    }

    /// A key belongs to one account at most, and so does a player.
    fn may_have(&self, id: AccountId, key: PlayerId) -> Result<(), Refusal> {
        let others = [self.by_key.get(&key), self.by_player.get(&key)];
        if others.into_iter().flatten().any(|other| *other != id) {
            return Err(Refusal::KeyTaken);
        }
        let mut coming = self.pending.iter().filter(|(other, _)| **other != id);
        let has = |next: &Account| next.player == key || next.keys.contains(&key);
        match coming.any(|(_, pending)| pending.next.as_ref().is_some_and(has)) {
            true => Err(Refusal::Busy),
            false => Ok(()),
        }
    }
}
