//! One account: what the store holds of it, the change of it that is on its way there, and the changes
//! that wait for that one. Readers see what is committed and nothing else; what a change lets its asker
//! do waits in the account's gate until the change is committed.
//!
//! Changes are not written together. Each is judged when its turn comes, by what the one before it left,
//! and is seen alone: a login that was committed together with the next password would be refused by it.
//! Whether a change is allowed beside other accounts is the business of [`Accounts`](super::Accounts).

use std::collections::{BTreeSet, VecDeque};

use bytes::Bytes;

use super::{Account, Change, Refusal, row};
use crate::gate::{Gate, Gated};
use crate::id::{AccountId, OwnerEpoch, Revision, SessionId};
use crate::mark::{Mark, hit};
use crate::scope::{Batch, Change as RowChange, Opened, ScopeId};

/// Changes of one account that wait for each other. One more is refused as [`Refusal::Busy`].
const WAITING_MAX: usize = 16;

/// What an account gives out. `T` is what the asker of a change wants to be reminded of.
#[derive(Debug)]
pub(crate) enum AccountOutput<T> {
    /// The store commits this, and the account is told.
    Commit(Batch),
    /// The change is committed, or there was nothing to write.
    Done(T),
    /// The change is not made.
    Refused(Refusal, T),
}

impl<T> Gated for AccountOutput<T> {
    fn submit(batch: Batch) -> Self {
        Self::Commit(batch)
    }
}

/// One account: what is committed of it, and the change that is at the store.
pub(crate) struct AccountCore<T> {
    state: State<T>,
    gate: Gate<AccountOutput<T>>,
    /// None while nothing is under way: there are many accounts, and most of them rest.
    under_way: Option<Box<UnderWay<T>>>,
}

/// What is committed of an account.
enum State<T> {
    /// Nothing: it is being made, for the first time or again.
    Absent,
    /// The account as the store has it. Logins read it, and the next change is judged by it.
    Kept(Account),
    /// It is committed that the account is to be deleted. It is, once none of these sessions can come
    /// back any more: without the account, a session that is left could be returned to.
    Leaving { account: Account, sessions: BTreeSet<SessionId>, then: Vec<T> },
    /// Rows that cannot be read. They stay as they are, and the name stays taken.
    Damaged,
}

/// The change that is at the store.
struct UnderWay<T> {
    /// What is left of the account after it; none: it is deleted.
    next: Option<Account>,
    /// Changes that are judged after it, in this order.
    waiting: VecDeque<(Change, T)>,
}

impl<T> AccountCore<T> {
    /// An account that the store does not have.
    pub(crate) fn new(id: AccountId, owner: OwnerEpoch) -> Self {
        let opened = Opened { owner, ..Opened::default() };
        let gate = Gate::opened(ScopeId::Account(id), &opened);
        Self { state: State::Absent, gate, under_way: None }
    }

    /// The account of a scope that was found; none: its rows cannot be read.
    pub(crate) fn open(id: AccountId, opened: &Opened, account: Option<Account>) -> Self {
        let gate = Gate::opened(ScopeId::Account(id), opened);
        let state = account.map_or(State::Damaged, State::Kept);
        Self { state, gate, under_way: None }
    }

    /// What is committed.
    pub(crate) fn account(&self) -> Option<&Account> {
        match &self.state {
            State::Kept(account) | State::Leaving { account, .. } => Some(account),
            State::Absent | State::Damaged => None,
        }
    }

    /// What it will be once the change at the store is committed.
    pub(crate) fn coming(&self) -> Option<&Account> {
        self.under_way.as_ref()?.next.as_ref()
    }

    pub(crate) fn is_under_way(&self) -> bool {
        self.under_way.is_some()
    }

    /// Whether it is being made.
    pub(crate) fn is_absent(&self) -> bool {
        matches!(self.state, State::Absent)
    }

    /// Whether this is the revision of the change at the store.
    pub(crate) fn awaits(&self, revision: Revision) -> bool {
        self.is_under_way() && self.gate.standing().1 == revision
    }

    /// What the account would be after a change, as far as it knows.
    ///
    /// # Errors
    /// It would be refused.
    pub(crate) fn preview(&self, change: &Change) -> Result<Account, Refusal> {
        match (&self.state, change) {
            (State::Damaged, Change::Create(_)) => Err(Refusal::Exists),
            _ => Account::changed(self.account(), change),
        }
    }

    /// Becomes what a change was judged to make of it. Nothing may be under way.
    pub(crate) fn change(&mut self, next: Account, then: T) {
        debug_assert!(!self.is_under_way(), "a change was judged while another is under way");
        if self.account() == Some(&next) {
            return self.gate.at_once(AccountOutput::Done(then));
        }
        let row = RowChange::Put(Bytes::from_static(row::KEY), row::encode(&next));
        self.gate.after(AccountOutput::Done(then));
        self.gate.settle(vec![row]);
        self.submitted(Some(next));
    }

    /// Keeps a change until the one that is under way is committed.
    pub(crate) fn change_later(&mut self, change: Change, then: T) {
        match self.under_way.as_mut() {
            Some(under_way) if under_way.waiting.len() < WAITING_MAX => {
                hit(Mark::AccountWaited);
                under_way.waiting.push_back((change, then));
            }
            _ => self.gate.at_once(AccountOutput::Refused(Refusal::Busy, then)),
        }
    }

    /// Deletes the account once these sessions, and those that were named before, have ended.
    pub(crate) fn leave(&mut self, sessions: BTreeSet<SessionId>, then: T) {
        if self.gate.is_closed() {
            // The deletion is at the store, and this asker waits for it like the others.
            self.gate.after(AccountOutput::Done(then));
            return self.gate.end_input();
        }
        self.state = match std::mem::replace(&mut self.state, State::Absent) {
            State::Kept(account) => State::Leaving { account, sessions, then: vec![then] },
            State::Leaving { account, sessions: mut all, then: mut askers } => {
                all.extend(sessions);
                askers.push(then);
                State::Leaving { account, sessions: all, then: askers }
            }
            state @ (State::Absent | State::Damaged) => {
                self.gate.at_once(AccountOutput::Refused(Refusal::Unknown, then));
                state
            }
        };
        self.delete_if_left();
    }

    /// It is committed that this session has ended.
    pub(crate) fn session_ended(&mut self, session: SessionId) {
        if let State::Leaving { sessions, .. } = &mut self.state
            && sessions.remove(&session)
        {
            self.delete_if_left();
        }
    }

    fn delete_if_left(&mut self) {
        if let State::Leaving { sessions, then, .. } = &mut self.state
            && sessions.is_empty()
        {
            then.drain(..).for_each(|then| self.gate.after(AccountOutput::Done(then)));
            self.gate.close();
            self.submitted(None);
        }
    }

    fn submitted(&mut self, next: Option<Account>) {
        self.under_way = Some(Box::new(UnderWay { next, waiting: VecDeque::new() }));
    }

    /// The change at the store is committed. Gives the changes that have waited for it.
    pub(crate) fn committed(&mut self, revision: Revision) -> VecDeque<(Change, T)> {
        let Some(under_way) = self.under_way.take() else {
            crate::never!("{revision:?} of an account is committed, and none is at the store");
            return VecDeque::new();
        };
        self.gate.committed(revision);
        self.state = under_way.next.map_or(State::Absent, State::Kept);
        under_way.waiting
    }

    /// The next thing that may leave.
    pub(crate) fn next_output(&mut self) -> Option<AccountOutput<T>> {
        self.gate.next_effect()
    }
}
