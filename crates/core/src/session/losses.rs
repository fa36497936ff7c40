//! What a session remembers of messages that were lost. Its client is told of each loss once, and a position in a
//! stream that is gone is never taken for one in the stream that has its numbers now.

use bytes::Bytes;

use super::token::TokenNumber;
use crate::id::Leg;
use crate::scope::{Change, History, RESTORED};

/// What is known of losses.
#[derive(Debug)]
pub(super) struct Losses {
    /// Up to this number its client knows what of its own messages was lost.
    known: u64,
    /// The token of the last Welcome to a return, and the number up to which that told of losses.
    told: Option<(TokenNumber, u64)>,
    /// Rolled back: whatever position its client names may be one of a stream that is gone. Until the client has
    /// acknowledged something said since, every return is a resync.
    history: History,
    /// The row that says so is not up to date.
    is_row_outdated: bool,
    /// The stay that it joined again after a crash, in a zone that keeps nothing back: its client may have heard of
    /// that stay before, and those numbers are given to other messages now.
    rejoined_stay: Option<u32>,
}

impl Losses {
    /// As the rows of a session tell; nothing, for a new one.
    pub(super) fn restored(known: u64, history: History) -> Self {
        Self { known, told: None, history, is_row_outdated: false, rejoined_stay: None }
    }

    /// Up to which number its client knows what was lost.
    pub(super) fn known(&self) -> u64 {
        self.known
    }

    pub(super) fn history(&self) -> History {
        self.history
    }

    /// Notes whether something that was told to the client may be gone. True: that is news.
    pub(super) fn set_history(&mut self, history: History) -> bool {
        let is_news = self.history != history;
        self.history = history;
        self.is_row_outdated |= is_news;
        is_news
    }

    /// What brings the row up to date, if that is not.
    pub(super) fn next_change(&mut self) -> Option<Change> {
        let key = Bytes::from_static(RESTORED);
        std::mem::take(&mut self.is_row_outdated).then(|| match self.history {
            History::RolledBack => Change::Put(key, Bytes::new()),
            History::Whole => Change::Delete(key),
        })
    }

    /// The Welcome with this token tells of all losses up to a number.
    pub(super) fn tell(&mut self, token: Option<TokenNumber>, through: u64) {
        self.told = token.map(|token| (token, through));
    }

    /// The client has the Welcome of this token, or a later one.
    pub(super) fn confirm(&mut self, token: TokenNumber) {
        if let Some((_, through)) = self.told.take_if(|(told, _)| *told <= token) {
            self.known = self.known.max(through);
        }
    }

    /// The session asks a zone again that may have told its client about this stay before a crash.
    pub(super) fn rejoin(&mut self, stay: u32) {
        self.rejoined_stay = Some(stay);
    }

    /// The client has acknowledged something of this stay.
    pub(super) fn reads(&mut self, stay: u32) {
        self.rejoined_stay.take_if(|rejoined| *rejoined <= stay);
    }

    /// Whether a position of this leg that its client names may be of a stream that is gone.
    pub(super) fn is_rolled_back(&self, leg: Leg) -> bool {
        self.history == History::RolledBack || self.rejoined_stay == Some(leg.stay)
    }
}
