//! Giving a connection its place. A session in no zone welcomes its client itself; a zone is told, and says the
//! Welcome. Both go on where the client is, or give it the whole state.

use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Rung, RungReason, server_frame};

use super::context::shared;
use super::life::{AttachStep, Attached, PendingAttach};
use super::{AfterCommit, Place, SessionContext, SessionCore};
use crate::event::Event;
use crate::exchange::{Attach, Link, ResumeFrom, ToZone};
use crate::id::SessionEpoch;
use crate::mark::{Mark, hit};
use crate::timeline::What;

/// Where a member's stream goes on.
struct Point {
    from: ResumeFrom,
    /// What earlier legs still owe.
    backlog: Vec<SharedFrame>,
    /// The leg in which that starts, as a Welcome names it.
    leg: u64,
}

impl Point {
    fn without_backlog(from: ResumeFrom, leg: u64) -> Self {
        Self { from, backlog: Vec::new(), leg }
    }
}

impl SessionCore {
    /// The epoch is committed: the connection goes to where its session is. Where that is not open yet, this
    /// comes again when it is.
    pub(super) fn try_attach(&mut self, cx: &mut SessionContext<'_>, epoch: SessionEpoch) {
        let Some(link) = self.link().filter(|link| link.epoch == epoch) else {
            return hit(Mark::StaleIgnored);
        };
        let Some(pending) = self.attached().and_then(Attached::pending) else {
            // Its place was given to it by an earlier call.
            return hit(Mark::StaleIgnored);
        };
        let zone = match &self.place {
            Place::Lobby(_) => return self.welcome_in_lobby(cx, link),
            Place::In(inside) => inside.zone,
            Place::Joining(joining) if joining.asked.is_some() => joining.zone,
            // The zone is asked to let the session in first.
            Place::Joining(_) => return,
        };
        if cx.zones.owner(zone).is_none() {
            return;
        }
        let Point { from, backlog, leg } = self.point(pending);
        let mut welcome = pending.welcome.clone();
        welcome.leg = leg;
        let attach = Attach {
            session: self.id,
            stay: self.leg.stay,
            link,
            from,
            backlog,
            oldest_unacked: pending.oldest_unacked(),
            lost_known: self.losses.known(),
            welcome: Some(Box::new(welcome)),
        };
        if let Some(attached) = self.attached_mut() {
            attached.go_to_zone();
        }
        cx.tell_zone(zone, ToZone::Attach(Box::new(attach)));
    }

    /// A connection that waits for its place tries again, once its epoch is committed: its zone was
    /// not open, or had a member that was leaving.
    pub(super) fn reattach(&mut self) {
        if self.is_pending() {
            self.after(AfterCommit::Attach(self.epoch));
        }
    }

    /// A zone has given a connection its place.
    pub(super) fn attached_by_zone(
        &mut self,
        cx: &mut SessionContext<'_>,
        epoch: SessionEpoch,
        reason: RungReason,
        replayed: u64,
    ) {
        if self.epoch != epoch {
            return hit(Mark::StaleIgnored);
        }
        let Some(attached) = self.attached_mut() else { return hit(Mark::StaleIgnored) };
        attached.step = AttachStep::Live;
        self.start_idleness(cx);
        self.returned(cx, reason, replayed);
    }

    fn returned(&mut self, cx: &mut SessionContext<'_>, reason: RungReason, replayed: u64) {
        let rung = if reason == RungReason::Complete {
            cx.counts.replayed_total += 1;
            let detail = u32::try_from(replayed).unwrap_or(u32::MAX);
            self.timeline.record(cx.at.wall, What::Replayed, detail);
            crate::event::Rung::Replayed(replayed)
        } else {
            cx.counts.resynced_total += 1;
            self.timeline.record(cx.at.wall, What::Resynced, reason as u32);
            crate::event::Rung::Resynced(reason)
        };
        self.after_event(Event::PlayerReturned { session: self.id, rung });
    }

    /// Where the client's stream goes on in a zone, or in the lobby.
    fn point(&self, pending: &PendingAttach) -> Point {
        let lost = |reason| Point::without_backlog(ResumeFrom::Lost(reason), 0);
        let Some((leg, seq)) = pending.point.position else { return lost(RungReason::Cold) };
        if self.losses.is_rolled_back(leg) {
            return Point::without_backlog(ResumeFrom::RolledBack(leg), 0);
        }
        if leg.stay == self.leg.stay {
            return Point::without_backlog(ResumeFrom::Position(leg, seq), leg.to_wire());
        }
        if leg.stay > self.leg.stay {
            return lost(RungReason::UnknownPosition);
        }
        match self.downstream.after(leg, seq) {
            Some(backlog) => Point { from: ResumeFrom::Start, backlog, leg: leg.to_wire() },
            None => lost(RungReason::Overrun),
        }
    }

    /// Welcomes a connection to a session that is in no zone.
    fn welcome_in_lobby(&mut self, cx: &mut SessionContext<'_>, link: Link) {
        let Some(pending) = self.attached_mut().and_then(Attached::take_pending) else {
            return crate::never!("{:?} has a link and no Welcome to say on it", self.id);
        };
        let Point { from, backlog, leg } = self.point(&pending);
        let continued = self.inbound.continue_at(pending.oldest_unacked(), self.losses.known());
        let is_zone_lost =
            self.lobby_mut().is_some_and(|lobby| std::mem::take(&mut lobby.has_lost_zone));
        let mut welcome = pending.welcome;
        welcome.lost_upstream = continued.lost;
        welcome.applied = self.inbound.applied();
        let verdict = match self.downstream.resume(&from) {
            // A loss in either direction is no replay.
            Ok(_) if continued.lost > 0 || continued.is_behind => Err(RungReason::RolledBack),
            Err(RungReason::Overrun) if is_zone_lost => Err(RungReason::ZoneLost),
            verdict => verdict,
        };
        match verdict {
            Ok(position) => {
                hit(Mark::ReplayedOutside);
                if position.is_none() && !backlog.is_empty() {
                    hit(Mark::ReplayedOlderLeg);
                }
                self.downstream.replay(link, position);
                welcome.rung = Rung::Replayed.into();
                welcome.reason = RungReason::Complete.into();
                welcome.leg = leg;
                let earlier = backlog.len() as u64;
                let frames = [shared(server_frame::Frame::Welcome(welcome))];
                let frames = frames.into_iter().chain(backlog).collect();
                self.touch();
                self.after(AfterCommit::Welcome(link, frames));
                let replayed = earlier + self.send_waiting(cx);
                self.returned(cx, RungReason::Complete, replayed);
            }
            Err(reason) => {
                hit(Mark::ResyncedOutside);
                if reason == RungReason::UnknownPosition {
                    hit(Mark::ResyncedUnknownPosition);
                }
                welcome.rung = Rung::Resynced.into();
                welcome.reason = reason.into();
                welcome.leg = self.downstream.next_leg().to_wire();
                let frame = shared(server_frame::Frame::Welcome(welcome));
                self.after(AfterCommit::Welcome(link, vec![frame]));
                self.resync(link, reason, continued.lost);
                self.returned(cx, reason, 0);
            }
        }
        self.flush_words(cx);
    }

    /// The Welcome of a session in no zone leaves, unless another connection speaks for the session by now.
    pub(super) fn welcome(
        &mut self,
        cx: &mut SessionContext<'_>,
        link: Link,
        frames: Vec<SharedFrame>,
    ) {
        if self.link() != Some(link) {
            return hit(Mark::StaleIgnored);
        }
        if let Some(attached) = self.attached_mut() {
            attached.step = AttachStep::Live;
        }
        self.start_idleness(cx);
        self.route(cx);
        for frame in frames {
            cx.send(link.connection, frame);
        }
    }
}
