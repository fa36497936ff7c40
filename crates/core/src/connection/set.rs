//! The connections of a driver that runs all machines in one thread, with their deadlines in order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::Spent;
use super::{ConnectionConfig, ConnectionCore, ConnectionInput, ConnectionOutput};
use crate::id::ConnectionId;
use crate::mark::{Mark, hit};
use crate::time::Time;

/// One connection of the set.
struct Entry {
    core: ConnectionCore,
    /// Its entry in the order of deadlines.
    due_at: Option<Time>,
    /// Its close was carried out: it takes nothing more.
    is_closed: bool,
}

/// Connections, found by their ids.
pub struct ConnectionSet {
    config: Arc<ConnectionConfig>,
    entries: BTreeMap<ConnectionId, Entry>,
    due: BTreeSet<(Time, ConnectionId)>,
    out: VecDeque<(ConnectionId, ConnectionOutput)>,
}

impl ConnectionSet {
    /// No connections yet.
    #[must_use]
    pub fn new(config: ConnectionConfig) -> Self {
        let config = Arc::new(config);
        Self { config, entries: BTreeMap::new(), due: BTreeSet::new(), out: VecDeque::new() }
    }

    /// A transport link is up. The hub must be told as well.
    pub fn open(&mut self, now: Time, id: ConnectionId) {
        let core = ConnectionCore::new(now, id, Arc::clone(&self.config));
        self.entries.entry(id).or_insert(Entry { core, due_at: None, is_closed: false });
    }

    /// Hands a connection an input. One that is closed or gone takes none.
    pub fn handle(&mut self, now: Time, id: ConnectionId, input: ConnectionInput) {
        let Some(entry) = self.entries.get_mut(&id).filter(|entry| !entry.is_closed) else {
            return hit(Mark::StaleIgnored);
        };
        entry.core.handle(now, input);
        while let Some(output) = entry.core.next_output() {
            self.out.push_back((id, output));
        }
        let due_at = entry.core.next_deadline();
        if due_at != entry.due_at {
            self.due.extend(due_at.map(|at| (at, id)));
            if let Some(before) = std::mem::replace(&mut entry.due_at, due_at) {
                self.due.remove(&(before, id));
            }
        }
    }

    /// Wakes the connections whose deadlines have come.
    pub fn wake(&mut self, now: Time) {
        let due: Vec<ConnectionId> =
            self.due.iter().take_while(|(at, _)| *at <= now).map(|(_, id)| *id).collect();
        due.into_iter().for_each(|id| self.handle(now, id, ConnectionInput::Wake));
    }

    /// The next thing to carry out.
    pub fn next_output(&mut self) -> Option<(ConnectionId, ConnectionOutput)> {
        self.out.pop_front()
    }

    /// When the first of them wants to be woken.
    #[must_use]
    pub fn next_deadline(&self) -> Option<Time> {
        self.due.first().map(|(at, _)| *at)
    }

    /// The close of a connection was carried out: nothing more is handed to it.
    pub fn close(&mut self, id: ConnectionId) {
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.is_closed = true;
            if let Some(at) = entry.due_at.take() {
                self.due.remove(&(at, id));
            }
        }
    }

    /// A transport link is gone: what was spent on it.
    pub fn remove(&mut self, id: ConnectionId) -> Spent {
        self.close(id);
        self.entries.remove(&id).map(|entry| entry.core.spent()).unwrap_or_default()
    }

    /// The process is gone, and all connections with it.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.due.clear();
        self.out.clear();
    }
}
