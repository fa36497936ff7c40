//! Durable before visible. What a step gives out waits here until the cut that contains its cause
//! is committed, in the order it was given out. A zone whose durability is not `Full` passes
//! everything through.

use std::collections::VecDeque;

use super::core::ZoneOutput;
use crate::id::Revision;

/// Something to be given out, and the number under which a member acknowledges it, if one does.
type Item = (Option<u64>, ZoneOutput);

/// The queue between a step and the outside.
#[derive(Debug)]
pub(crate) struct Release {
    gated: bool,
    committed: Revision,
    submitted: Revision,
    step: Vec<Item>,
    held: VecDeque<(Revision, Item)>,
    ready: VecDeque<Item>,
}

impl Release {
    pub(crate) fn new(gated: bool, revision: Revision) -> Self {
        Self {
            gated,
            committed: revision,
            submitted: revision,
            step: Vec::new(),
            held: VecDeque::new(),
            ready: VecDeque::new(),
        }
    }

    /// Something of the present step.
    pub(crate) fn push(&mut self, output: ZoneOutput) {
        self.step.push((None, output));
    }

    /// A frame of the present step that its reader acknowledges with this number.
    pub(crate) fn push_numbered(&mut self, seq: u64, output: ZoneOutput) {
        self.step.push((Some(seq), output));
    }

    /// Something that no cut need contain: a commit itself, or the news that there will be none.
    pub(crate) fn push_now(&mut self, output: ZoneOutput) {
        self.ready.push_back((None, output));
    }

    /// The step is over; `changed` when its cause is in no cut yet.
    pub(crate) fn end_step(&mut self, changed: bool) {
        let needed = match (self.gated, changed) {
            (false, _) => Revision(0),
            (true, true) => self.submitted.next(),
            (true, false) => self.submitted,
        };
        for output in self.step.drain(..) {
            if self.held.is_empty() && needed <= self.committed {
                self.ready.push_back(output);
            } else {
                self.held.push_back((needed, output));
            }
        }
    }

    /// A cut goes to the store; it is the next revision.
    pub(crate) fn submit(&mut self) -> Revision {
        self.submitted = self.submitted.next();
        self.submitted
    }

    /// A cut is committed: what waited for it may go.
    pub(crate) fn commit(&mut self, revision: Revision) {
        self.committed = self.committed.max(revision);
        while self.held.front().is_some_and(|(needed, _)| *needed <= self.committed) {
            if let Some((_, output)) = self.held.pop_front() {
                self.ready.push_back(output);
            }
        }
    }

    /// Nothing that waits will ever go: this incarnation is done for.
    pub(crate) fn abandon(&mut self) {
        self.step.clear();
        self.held.clear();
    }

    pub(crate) fn next(&mut self) -> Option<Item> {
        self.ready.pop_front()
    }

    pub(crate) fn in_flight(&self) -> usize {
        usize::try_from(self.submitted.0 - self.committed.0).unwrap_or(usize::MAX)
    }

    pub(crate) fn held(&self) -> usize {
        self.held.len()
    }
}
