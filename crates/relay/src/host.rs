//! Who the host is. There is one or none; each change is a new term. The member who has been there
//! longest and is connected is elected; a host whose connection is gone is waited for a while.

use std::collections::BTreeMap;

use rejoin_core::id::SessionId;

/// The host and those who may follow.
#[derive(Debug, Default)]
pub(crate) struct Host {
    pub(crate) member: Option<SessionId>,
    pub(crate) term: u64,
    /// When each member came, as a number that grows.
    pub(crate) came: BTreeMap<SessionId, u64>,
}

impl Host {
    /// Somebody came; its number.
    pub(crate) fn join(&mut self, member: SessionId) -> u64 {
        let number = self.came.values().max().map_or(1, |last| last + 1);
        self.came.insert(member, number);
        number
    }

    /// Whether this member is the host now, in the term it means.
    pub(crate) fn leads(&self, member: SessionId, term: Option<u64>) -> bool {
        self.member == Some(member) && term.is_none_or(|term| term == self.term)
    }

    /// Makes the one of these who has been there longest the host, or nobody.
    pub(crate) fn elect(&mut self, among: impl Iterator<Item = SessionId>) {
        let next = among
            .min_by_key(|member| (self.came.get(member).copied().unwrap_or(u64::MAX), *member));
        self.make(next);
    }

    /// Makes somebody the host, or nobody. Every change is a term of its own.
    pub(crate) fn make(&mut self, member: Option<SessionId>) {
        if self.member != member {
            self.member = member;
            self.term += 1;
        }
    }
}
