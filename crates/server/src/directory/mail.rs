//! What reaches the directory's task, and the two doors it comes through. The outer one is bounded:
//! questions are refused as busy when it is full, hosts wait. The store's is emptied first. The task
//! itself waits for nobody.

use rejoin_core::id::{HostId, OwnerEpoch, Revision};
use rejoin_core::scope::ScopeId;
use rejoin_directory::host::{HostOrder, HostWord};
use rejoin_directory::{Answer, Command, Refusal};
use tokio::sync::{mpsc, oneshot};

use super::lines::Subscriber;

/// Messages that wait at the outer door.
pub(crate) const MAIL_MAX: usize = 8_192;
/// Groups of commits that wait at the store's.
pub(crate) const FROM_STORE_MAX: usize = 1_024;

/// Who waits for an answer.
pub(crate) type Asker = oneshot::Sender<Result<Answer, Refusal>>;

/// What comes from outside.
pub(crate) enum Mail {
    Ask(Command, Asker),
    /// A host's question about a seat; its ticket is given by the task.
    HostAsked(HostId, OwnerEpoch, HostWord, Asker),
    HostSaid(HostId, OwnerEpoch, HostWord),
    /// Where a host's process hears its orders from now on.
    HostHears(HostId, OwnerEpoch, mpsc::Sender<HostOrder>),
    /// Whoever heard them let go.
    HostDeaf(HostId, OwnerEpoch),
    /// The process is gone.
    HostLeft(HostId, OwnerEpoch),
    Subscribe(Command, Subscriber, Asker),
    Credit(u64, u64),
    /// Answer what can still be answered and end; resolved when the task has ended.
    Stop(oneshot::Sender<()>),
}

/// What comes from the store's thread.
pub(crate) enum FromStore {
    Committed(Vec<(ScopeId, Revision)>),
    /// There is no room for more, or there is again.
    Full(bool),
}

/// Commits of the directory's scopes, told together.
pub(crate) struct CommitsTold {
    task: Option<mpsc::Sender<FromStore>>,
    waiting: Vec<(ScopeId, Revision)>,
}

impl CommitsTold {
    pub(crate) fn new(task: Option<mpsc::Sender<FromStore>>) -> Self {
        Self { task, waiting: Vec::new() }
    }

    pub(crate) fn put(&mut self, scope: ScopeId, revision: Revision) {
        self.waiting.push((scope, revision));
    }

    /// Tells what has come together. The task waits for nobody, so this does not wait for long.
    pub(crate) fn send(&mut self) {
        if !self.waiting.is_empty() {
            let told = std::mem::take(&mut self.waiting);
            self.tell(FromStore::Committed(told));
        }
    }

    pub(crate) fn store_full(&self, is_full: bool) {
        self.tell(FromStore::Full(is_full));
    }

    fn tell(&self, what: FromStore) {
        if let Some(task) = &self.task {
            // An error means that the directory has ended.
            let _ = task.blocking_send(what);
        }
    }
}
