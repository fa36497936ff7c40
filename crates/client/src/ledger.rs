//! Which number on the wire was which call of the game. Owns the open requests, each of which ends
//! exactly once, and a bounded memory of the other sends, so that a refusal can name its send.

use std::collections::{BTreeMap, VecDeque};

use crate::buffer::Kind;
use crate::event::SendId;

/// Numbers and calls of one session.
#[derive(Default)]
pub(crate) struct Ledger {
    requests: BTreeMap<u64, SendId>,
    others: VecDeque<(u64, SendId)>,
}

/// How many sends that are not requests are remembered.
const OTHERS_MAX: usize = 1_024;

impl Ledger {
    /// A send was put on the wire under this number.
    pub(crate) fn note(&mut self, number: u64, id: SendId, kind: Kind) {
        if kind == Kind::Request {
            self.requests.insert(number, id);
            return;
        }
        if self.others.len() == OTHERS_MAX {
            self.others.pop_front();
        }
        self.others.push_back((number, id));
    }

    /// Ends the request of this number, if it is one and open.
    pub(crate) fn end(&mut self, number: u64) -> Option<SendId> {
        self.requests.remove(&number)
    }

    /// Ends all requests up to a number.
    pub(crate) fn end_up_to(&mut self, number: u64) -> Vec<SendId> {
        let rest = self.requests.split_off(&number.saturating_add(1));
        std::mem::replace(&mut self.requests, rest).into_values().collect()
    }

    /// Ends all requests and forgets all numbers.
    pub(crate) fn end_all(&mut self) -> Vec<SendId> {
        self.others.clear();
        std::mem::take(&mut self.requests).into_values().collect()
    }

    /// The send of this number, unless it was a request or is long ago.
    pub(crate) fn send(&self, number: u64) -> Option<SendId> {
        self.others.iter().rev().find(|(each, _)| *each == number).map(|(_, id)| *id)
    }

    /// How many requests are open.
    pub(crate) fn len(&self) -> usize {
        self.requests.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_ends_once() {
        let mut ledger = Ledger::default();
        (1..=4).for_each(|number| ledger.note(number, SendId(number * 10), Kind::Request));
        assert_eq!(ledger.end(2), Some(SendId(20)));
        assert_eq!(ledger.end(2), None);
        assert_eq!(ledger.end_up_to(3), [SendId(10), SendId(30)]);
        assert_eq!(ledger.end_all(), [SendId(40)]);
        assert_eq!(ledger.len(), 0);
    }

    #[test]
    fn other_sends_are_remembered_for_a_while() {
        let mut ledger = Ledger::default();
        (1..=2_000).for_each(|number| ledger.note(number, SendId(number), Kind::Plain));
        assert_eq!(ledger.send(2_000), Some(SendId(2_000)));
        assert_eq!(ledger.send(1), None);
        assert_eq!(ledger.others.len(), OTHERS_MAX);
    }
}
