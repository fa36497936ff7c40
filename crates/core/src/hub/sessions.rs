//! How the hub calls its sessions: it lends one what it needs, brings the indexes up to date, and delivers what
//! the session has to say to other machines. Gates are settled at the end of the input.

use std::collections::BTreeSet;

use super::table::Indexed;
use super::{Hub, HubOutput};
use crate::id::{Revision, SessionId};
use crate::scope::ScopeId;
use crate::session::{SessionContext, SessionCore};

/// What is on its way to the store.
#[derive(Debug, Default)]
pub(crate) struct Commits {
    /// Sessions whose gates have to be looked at before the input is over.
    unsettled: BTreeSet<SessionId>,
    /// Sessions with a batch at the store.
    in_flight: BTreeSet<SessionId>,
}

impl Commits {
    /// Sessions with a commit under way.
    pub(crate) fn under_way(&self) -> usize {
        self.in_flight.len()
    }
}

impl Hub {
    /// Calls a session. None: there is none of this id, or only the deletion of its scope is left.
    pub(crate) fn with_session<T>(
        &mut self,
        id: SessionId,
        call: impl FnOnce(&mut SessionCore, &mut SessionContext<'_>) -> T,
    ) -> Option<T> {
        if self.sessions.contains_key(&id) { self.call_session(id, call) } else { None }
    }

    /// The same, also for a session of which only the deletion of its scope is left.
    pub(crate) fn call_session<T>(
        &mut self,
        id: SessionId,
        call: impl FnOnce(&mut SessionCore, &mut SessionContext<'_>) -> T,
    ) -> Option<T> {
        let at = self.alarms.moment();
        let session = self.sessions.get_mut(id)?;
        let before = Indexed::of(session);
        let mut context = SessionContext {
            at,
            config: &self.config,
            zones: &self.zones,
            rations: &self.rations,
            is_recovering: self.recovering,
            is_stopping: self.going_down,
            chance: &mut self.chance,
            counts: &mut self.counts,
            alarms: &mut self.alarms,
            tellings: &mut self.tellings,
            in_flight: &mut self.commits.in_flight,
            out: &mut self.out,
            mail: &mut self.mail,
        };
        let result = call(session, &mut context);
        if session.is_unsettled() {
            self.commits.unsettled.insert(id);
        }
        if let Some(left) = self.sessions.update(id, before) {
            self.zones.end_if_empty(&mut self.out, &self.sessions, left);
        }
        self.deliver_mail();
        Some(result)
    }

    /// Calls some sessions, one after the other.
    pub(crate) fn with_sessions(
        &mut self,
        ids: Vec<SessionId>,
        call: impl Fn(&mut SessionCore, &mut SessionContext<'_>),
    ) {
        for id in ids {
            self.with_session(id, &call);
        }
    }

    /// Ends an input: submits what changed, and carries out what waits for nothing.
    pub(crate) fn settle(&mut self) {
        if self.recovering && self.zones.is_settled() && self.ids.is_ready() {
            // Every zone of before is open and players are let in: holds begin to run.
            self.recovering = false;
            self.with_sessions(self.sessions.ids(), SessionCore::hold_from_start);
        }
        // Carrying out an effect can change a session again; it does so finitely often.
        loop {
            if let Some(batch) = self.ids.next_batch() {
                self.out.push_back(HubOutput::Commit(batch));
                continue;
            }
            if self.with_orders(|orders, cx| orders.settle(cx)) {
                continue;
            }
            match self.commits.unsettled.pop_first() {
                Some(session) => {
                    self.call_session(session, SessionCore::settle);
                    self.sessions.forget_if_gone(session);
                }
                None => return,
            }
        }
    }

    pub(crate) fn committed(&mut self, scope: ScopeId, revision: Revision) {
        match scope {
            ScopeId::Session(session) => {
                self.commits.in_flight.remove(&session);
                self.call_session(session, |session, cx| session.committed(cx, revision));
            }
            ScopeId::Player(player) => self.players.committed(player, revision),
            ScopeId::Account(account) => self.accounts.committed(account, revision),
            ScopeId::Hub => self.ids.committed(revision),
            // Zones hear of theirs themselves, and so does the directory.
            ScopeId::Zone(_)
            | ScopeId::Catalogue
            | ScopeId::Game(_)
            | ScopeId::Host(_)
            | ScopeId::Queue(_) => {}
        }
    }
}
