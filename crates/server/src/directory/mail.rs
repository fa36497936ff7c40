//! The two channels of the directory's task. The one for questions and hosts is bounded: when it is full,
//! questions are refused as busy and hosts wait. The one from the store's thread is emptied first. The
//! task itself never waits for a sender or a receiver.

use rejoin_core::id::{HostId, OwnerEpoch, Revision};
use rejoin_core::scope::ScopeId;
use rejoin_directory::host::{HostOrder, HostWord};
use rejoin_directory::{Answer, Command, Refusal};
use tokio::sync::{mpsc, oneshot};

use super::channels::Subscriber;

/// Questions and messages of hosts that wait for the task.
pub(crate) const MAIL_MAX: usize = 8_192;
/// Groups of commits that wait for the task.
pub(crate) const FROM_STORE_MAX: usize = 1_024;

/// Gets the answer to one question.
pub(crate) type Asker = oneshot::Sender<Result<Answer, Refusal>>;

/// A question, a message of a host or a change of a subscription.
pub(crate) enum DirectoryMail {
    Ask(Command, Asker),
    /// A host's question about a seat; its ticket is given by the task.
    HostAsked(HostId, OwnerEpoch, HostWord, Asker),
    HostSaid(HostId, OwnerEpoch, HostWord),
    /// From now on the orders to a host's process go into this channel.
    HostHears(HostId, OwnerEpoch, mpsc::Sender<HostOrder>),
    /// The receiver of a host's orders was dropped.
    HostDeaf(HostId, OwnerEpoch),
    /// The process is gone.
    HostLeft(HostId, OwnerEpoch),
    Subscribe(Command, Subscriber, Asker),
    Credit(u64, u64),
    /// Answer what can still be answered and end; resolved when the task has ended.
    Stop(oneshot::Sender<()>),
}

/// What the store's thread reports.
pub(crate) enum FromStore {
    Committed(Vec<(ScopeId, Revision)>),
    /// There is no room for more, or there is again.
    Full(bool),
}

/// Commits of the directory's scopes, collected by the store's thread and sent together.
pub(crate) struct DirectoryCommits {
    task: Option<mpsc::Sender<FromStore>>,
    waiting: Vec<(ScopeId, Revision)>,
}

impl DirectoryCommits {
    pub(crate) fn new(task: Option<mpsc::Sender<FromStore>>) -> Self {
        Self { task, waiting: Vec::new() }
    }

    pub(crate) fn put(&mut self, scope: ScopeId, revision: Revision) {
        self.waiting.push((scope, revision));
    }

    /// Sends the collected commits. The task never blocks, so this does not wait for long.
    pub(crate) fn send(&mut self) {
        if !self.waiting.is_empty() {
            let commits = std::mem::take(&mut self.waiting);
            self.report(FromStore::Committed(commits));
        }
    }

    pub(crate) fn store_full(&self, is_full: bool) {
        self.report(FromStore::Full(is_full));
    }

    fn report(&self, what: FromStore) {
        if let Some(task) = &self.task {
            // An error means that the directory has ended.
            let _ = task.blocking_send(what);
        }
    }
}
