//! Clients that say nothing: no acknowledgement of what they were sent, or no message for too long.

use std::time::Duration;

use rejoin_wire::v1::CloseCode;

use super::life::Idleness;
use super::{SessionContext, SessionCore};
use crate::connection::ToConnection;
use crate::event::EndCause;
use crate::hub::Alarm;
use crate::id::{ConnectionId, Leg};
use crate::mark::{Mark, hit};

impl SessionCore {
    /// A frame leaves outside zones: its client has `progress` to acknowledge it.
    pub(super) fn expect_progress(&mut self, cx: &mut SessionContext<'_>, at: Option<(Leg, u64)>) {
        if at.is_some_and(|at| self.downstream.released(at)) {
            self.downstream.expect_by(cx.at.now.after(cx.config.progress));
            self.look_at_progress_in(cx, cx.config.progress);
        }
    }

    fn look_at_progress_in(&mut self, cx: &mut SessionContext<'_>, rest: Duration) {
        let alarm = Alarm::Progress(self.id);
        let Some(attached) = self.attached_mut() else {
            return crate::never!("{:?} awaits an acknowledgement without a connection", self.id);
        };
        if let Some(at) = attached.progress_due {
            cx.alarms.cancel(at, alarm);
        }
        attached.progress_due = Some(cx.alarms.set(cx.at.now, rest, alarm));
    }

    /// An acknowledgement may be overdue.
    pub(crate) fn progress_due(&mut self, cx: &mut SessionContext<'_>) {
        let Some(attached) = self.attached_mut() else {
            return crate::never!("{:?} has a deadline of a connection, and none", self.id);
        };
        attached.progress_due = None;
        match self.downstream.progress_at() {
            // Everything that has left was acknowledged.
            None => {}
            Some(at) if cx.at.now < at => self.look_at_progress_in(cx, at.since(cx.at.now)),
            Some(_) if self.is_throttled(cx) => {
                // A sender that is read slowly has its acknowledgements behind what it sends.
                let progress = cx.config.progress;
                self.downstream.expect_by(cx.at.now.after(progress));
                self.look_at_progress_in(cx, progress);
            }
            Some(_) => {
                hit(Mark::TooSlow);
                self.sever(cx, CloseCode::TooSlow, "nothing was acknowledged for too long");
            }
        }
    }

    /// Counts the idleness of a client whose Welcome leaves. Before that it may send nothing, however long the
    /// server takes.
    pub(super) fn start_idleness(&mut self, cx: &mut SessionContext<'_>) {
        let asked_at = (cx.at.now, cx.at.hold);
        if let Some(attached) = self.attached_mut() {
            attached.idleness = Idleness { asked_at, stood_still: Duration::ZERO };
        }
        self.look_at_idleness_in(cx, cx.config.idle);
    }

    /// Looks again when the client may have been idle for too long. A held session is not idle, and has no such
    /// deadline. While the store is full nothing is acknowledged, and a client whose window is full can send
    /// nothing: idleness goes by hold time.
    fn look_at_idleness_in(&mut self, cx: &mut SessionContext<'_>, rest: Duration) {
        if cx.config.idle.is_zero() {
            // No client is ever idle for too long.
            return;
        }
        let id = self.id;
        let Some(attached) = self.attached_mut() else {
            return crate::never!("{id:?} may become idle without a connection");
        };
        if let Some(at) = attached.idle_due {
            cx.alarms.cancel_idle(at, id);
        }
        attached.idle_due = Some(cx.alarms.set_idle(rest, id));
    }

    /// The client may have been idle for too long: its connection knows when it last sent a message.
    pub(crate) fn idle_due(&mut self, cx: &mut SessionContext<'_>) {
        let Some(attached) = self.attached_mut() else {
            return crate::never!("{:?} has a deadline of a connection, and none", self.id);
        };
        attached.idle_due = None;
        if attached.is_live() {
            cx.tell_connection(attached.connection, ToConnection::NameActivity);
        }
    }

    /// The last message of its client came so long ago, in service time. What of that the store was full does
    /// not count.
    pub(crate) fn active(
        &mut self,
        cx: &mut SessionContext<'_>,
        connection: ConnectionId,
        ago: Duration,
    ) {
        let is_meant = self.is_live_on(connection);
        let Some(attached) = self.attached_mut().filter(|_| is_meant) else {
            return hit(Mark::StaleIgnored);
        };
        let Idleness { asked_at: (service_then, hold_then), stood_still } = attached.idleness;
        let (passed, held) = (cx.at.now.since(service_then), cx.at.hold.since(hold_then));
        let since = passed.saturating_sub(held).min(ago);
        let stood_still = if ago >= passed { stood_still + since } else { since };
        let quiet = ago.saturating_sub(stood_still);
        attached.idleness = Idleness { asked_at: (cx.at.now, cx.at.hold), stood_still };
        if quiet >= cx.config.idle {
            hit(Mark::Idle);
            self.end(cx, EndCause::Idle);
        } else {
            self.look_at_idleness_in(cx, cx.config.idle - quiet);
        }
    }
}
