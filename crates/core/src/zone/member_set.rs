//! Members with whom something is to be done at the end of an input or with the next cut. Noting one allocates nothing
//! in a zone at work; reading them puts them in order first.

use crate::id::SessionId;

/// Sessions, each once and in the order of their ids once [`sort`](Self::sort) was called.
#[derive(Debug, Default)]
pub(crate) struct MemberSet {
    sessions: Vec<SessionId>,
    is_sorted: bool,
}

impl MemberSet {
    /// Adds a session, if it is not there.
    pub(crate) fn insert(&mut self, session: SessionId) {
        if self.sessions.last() == Some(&session) {
            return;
        }
        if self.sessions.len() == self.sessions.capacity() {
            // However often the same are added, there are at most twice as many entries as sessions.
            self.sort();
            self.sessions.reserve(self.sessions.len().max(4));
        }
        self.is_sorted = false;
        self.sessions.push(session);
    }

    /// Puts the sessions in order, each once.
    pub(crate) fn sort(&mut self) {
        if !self.is_sorted {
            self.sessions.sort_unstable();
            self.sessions.dedup();
            self.is_sorted = true;
        }
    }

    /// The sessions as they were sorted last.
    pub(crate) fn iter(&self) -> impl Iterator<Item = SessionId> {
        debug_assert!(self.is_sorted || self.sessions.is_empty(), "members are read in order");
        self.sessions.iter().copied()
    }

    /// Takes all sessions out, in the order of their ids. [`give_back`](Self::give_back) keeps the memory.
    pub(crate) fn take(&mut self) -> Vec<SessionId> {
        self.sort();
        std::mem::take(&mut self.sessions)
    }

    /// Takes back the memory of [`take`](Self::take), unless others were added meanwhile.
    pub(crate) fn give_back(&mut self, mut taken: Vec<SessionId>) {
        if self.sessions.is_empty() {
            taken.clear();
            self.sessions = taken;
        }
    }

    pub(crate) fn clear(&mut self) {
        self.sessions.clear();
    }

    /// Looks through all: for tests and the simulator.
    pub(crate) fn contains(&self, session: SessionId) -> bool {
        self.sessions.contains(&session)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_is_there_once_in_order_and_repetition_takes_no_memory() {
        let mut set = MemberSet::default();
        for _ in 0..1_000 {
            [3, 1, 2, 1].iter().for_each(|id| set.insert(SessionId(*id)));
        }
        assert!(set.sessions.capacity() <= 16, "{}", set.sessions.capacity());
        set.sort();
        assert_eq!(set.iter().collect::<Vec<_>>(), [1, 2, 3].map(SessionId));
        set.insert(SessionId(2));
        let taken = set.take();
        assert_eq!(taken, [1, 2, 3].map(SessionId));
        set.give_back(taken);
        assert!(set.take().is_empty());
    }
}
