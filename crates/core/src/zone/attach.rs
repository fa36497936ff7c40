//! Giving a connection a member's place: its stream goes on where the client is, or the client is given the whole
//! state on a new leg.

use rejoin_wire::v1::{PartCause, Resync, Rung, RungReason, ServerFrame, server_frame};
use rejoin_wire::{Limits, SharedFrame};

use super::Zone;
use super::core::{Life, ZoneCore};
use super::membership::{HowInPlace, zone_ref};
use super::output::ZoneOutput;
use super::room::MatchData;
use crate::connection::{Route, Routed, ToConnection};
use crate::exchange::{Attach, InPlace, Link, ResumeFrom, ToSession};
use crate::id::{SessionEpoch, SessionId};
use crate::mark::{Mark, hit};
use crate::never;
use crate::time::Time;

impl<Z: Zone> ZoneCore<Z> {
    /// A connection takes its place: the fence, the rung and `applied` are one step.
    pub(super) fn attach(&mut self, now: Time, attach: Attach) {
        let Attach { session, stay, link, from, backlog, welcome, .. } = attach;
        let owner = self.room.owner;
        let Some(member) = self.room.members.get_mut(session).filter(|m| m.stay() == stay) else {
            self.out.tell(session, ToSession::Missing { stay });
            return;
        };
        // A zone that runs again knows the epoch of a connection that it has to find again.
        let is_late = match member.is_connected() {
            true => link.epoch <= member.epoch,
            false => link.epoch < member.epoch,
        };
        if !member.is_active() || is_late {
            // A leaver's departure is on its way, and the hub goes on from there.
            hit(Mark::StaleIgnored);
            return;
        }
        member.epoch = link.epoch;
        member.outbound.detach();
        let continued = member.inbound.continue_at(attach.oldest_unacked, attach.lost_known);
        let applied = member.inbound.applied();
        let resumed = member.outbound.resume(&from, member.outbound.leg().next_turn(owner));
        let player = member.player;
        self.room.dirty.members.insert(session);
        self.room.dirty.any = true;
        // Still connected in the roster after a takeover without a drop: nothing to do then.
        let _ = self.room.roster.connect(now, session, player, MatchData::default());
        self.room.dirty.players.insert(player);
        // A loss in either direction is no replay.
        let is_whole = continued.lost == 0 && !continued.is_behind;
        let resumed = resumed.and_then(|at| is_whole.then_some(at).ok_or(RungReason::RolledBack));
        let Some(mut welcome) = welcome else {
            let owes_applied = applied >= attach.oldest_unacked;
            let ResumeFrom::InPlace(InPlace { acked, .. }) = from else {
                return never!("session {session} takes its place again and names {from:?}");
            };
            let how = (resumed, acked, continued.lost, owes_applied);
            return self.go_on_in_place(now, session, link, how);
        };
        welcome.lost_upstream = continued.lost;
        welcome.applied = applied;
        welcome.zone = Some(zone_ref(&self.room.name));
        match resumed {
            Ok(position) => self.replay(now, session, link, position, backlog, *welcome),
            Err(reason) => self.resync_returning(now, session, link, reason, *welcome),
        }
    }

    /// A connection that was welcomed before goes on with this incarnation. Its client has not been away, so the
    /// game is not told; at most it is given the whole state.
    pub(super) fn go_on_in_place(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        (resumed, acked, lost, owes_applied): HowInPlace,
    ) {
        // What was on the wire is committed in a zone that is gated; in another one the client may have heard
        // what is gone, under numbers that are given again.
        let is_kept = self.room.config.durability.is_gated();
        let resumed = resumed.and_then(|at| is_kept.then_some(at).ok_or(RungReason::RolledBack));
        match resumed {
            Ok(sent) => {
                hit(Mark::WentOnInPlace);
                self.room.go_on(now, session, link, (acked, sent.unwrap_or(0)));
                self.tell_routed(session, link);
                if owes_applied {
                    // It was kept, and the zone failed before it was acknowledged.
                    self.tell_applied(session);
                }
                self.room.pump(session, &mut self.out);
            }
            Err(reason) => {
                hit(Mark::ResyncedAfterFault);
                self.resync(now, session, link, (reason, lost), None);
            }
        }
    }

    /// Tells a connection that this zone consumes its client's frames from here on.
    pub(super) fn tell_routed(&mut self, session: SessionId, link: Link) {
        let Some(member) = self.room.members.get(&session) else {
            return never!("session {session} is told where its frames go and is no member");
        };
        let route = Route::Zone(self.room.owner, self.room.id);
        let routed = Routed { stay: member.stay(), route, applied: member.inbound.applied() };
        let message = ToConnection::Routed(routed);
        self.out.push(ZoneOutput::ToConnection { session, link, message });
    }

    pub(super) fn replay(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        position: Option<u64>,
        backlog: Vec<SharedFrame>,
        mut welcome: rejoin_wire::v1::Welcome,
    ) {
        // With nothing on the link yet, what is said here comes after what is said again.
        if self.step(now, None, |game, ctx| game.on_reconnect(ctx, session)).is_none()
            && self.life == Life::Done
        {
            return;
        }
        let Some(member) = self.room.active_mut(session) else {
            // The game has sent it away. The hub hears of its departure, and welcomes it where it goes.
            return hit(Mark::StaleIgnored);
        };
        if member.outbound.lost() > position.unwrap_or(0) {
            // What the game said just now pushed out something the client has not had.
            let lost = welcome.lost_upstream;
            return self.resync(now, session, link, (RungReason::Overrun, lost), Some(welcome));
        }
        member.outbound.replay(link, position);
        if position.is_some() {
            welcome.leg = member.outbound.leg().to_wire();
        }
        welcome.rung = Rung::Replayed.into();
        welcome.reason = RungReason::Complete.into();
        self.tell_routed(session, link);
        self.send_frame(session, link, server_frame::Frame::Welcome(welcome));
        hit(Mark::ReplayedInZone);
        if !backlog.is_empty() {
            hit(Mark::ReplayedOlderLeg);
        }
        let replayed = backlog.len() as u64;
        self.out.push_frames(None, session, link, backlog);
        let before = self.room.stream.sent;
        self.room.pump(session, &mut self.out);
        let replayed = replayed + self.room.stream.sent - before;
        self.tell_attached(session, link.epoch, RungReason::Complete, replayed);
    }

    /// Gives a member the whole state on a new leg.
    pub(super) fn resync(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        (reason, lost_upstream): (RungReason, u64),
        welcome: Option<rejoin_wire::v1::Welcome>,
    ) {
        let owner = self.room.owner;
        let seq = self.room.stream.last;
        let taken = self.try_step(now, None, |game, ctx| {
            let (snapshot, most) =
                (game.on_resync(ctx, session), Limits::DEFAULT.snapshot_bytes_max);
            assert!(
                snapshot.len() <= most,
                "a snapshot of {} bytes; clients take {most}",
                snapshot.len()
            );
            snapshot
        });
        let Some((snapshot, effects)) = taken else {
            if self.closed {
                self.depart(now, session, PartCause::ZoneFault, None, 0);
            }
            return;
        };
        let latest = self.room.stream.latest.all();
        let zone = zone_ref(&self.room.name);
        let Some(member) = self.room.active_mut(session) else {
            return never!("session {session} gets the whole state and is no member");
        };
        let Some(leg) = member.outbound.leg().next_turn(owner) else {
            return self.depart(now, session, PartCause::Lost, None, 0);
        };
        member.outbound.restart(leg, seq, reason, Some(link));
        let applied = member.inbound.applied();
        self.tell_routed(session, link);
        let is_welcomed = welcome.is_some();
        if let Some(mut welcome) = welcome {
            welcome.rung = Rung::Resynced.into();
            welcome.reason = reason.into();
            welcome.leg = leg.to_wire();
            self.send_frame(session, link, server_frame::Frame::Welcome(welcome));
        }
        let resync = Resync {
            leg: leg.to_wire(),
            seq,
            reason: reason.into(),
            snapshot,
            latest,
            zone: Some(zone),
            applied,
            lost_upstream,
        };
        let frame = server_frame::Frame::Resync(resync);
        let frame = SharedFrame::new(&ServerFrame { frame: Some(frame) });
        self.out.push_numbered(seq, ZoneOutput::Send { session, link, frame });
        if is_welcomed {
            // Before the game's effects, which may send it away.
            self.tell_attached(session, link.epoch, reason, 0);
        }
        self.carry_out(now, None, effects);
    }

    /// Gives a returning member the whole state.
    pub(super) fn resync_returning(
        &mut self,
        now: Time,
        session: SessionId,
        link: Link,
        reason: RungReason,
        welcome: rejoin_wire::v1::Welcome,
    ) {
        hit(match reason {
            RungReason::Cold => Mark::ResyncedCold,
            RungReason::RolledBack => Mark::ResyncedRolledBack,
            RungReason::UnknownPosition => Mark::ResyncedUnknownPosition,
            _ => Mark::ResyncedOverrun,
        });
        let lost = welcome.lost_upstream;
        self.resync(now, session, link, (reason, lost), Some(welcome));
        // Nothing is said again, so what the game says now is not lost with what was.
        self.step(now, None, |game, ctx| game.on_reconnect(ctx, session));
    }

    /// A live member missed something for good.
    pub(crate) fn resync_in_place(&mut self, now: Time, session: SessionId) {
        if let Some(link) = self.room.active(session).and_then(|member| member.outbound.link()) {
            hit(Mark::ResyncedInPlace);
            self.room.dirty.any = true;
            self.resync(now, session, link, (RungReason::Overrun, 0), None);
        }
    }

    pub(super) fn tell_attached(
        &mut self,
        session: SessionId,
        epoch: SessionEpoch,
        reason: RungReason,
        replayed: u64,
    ) {
        self.out.tell(session, ToSession::Attached { epoch, reason, replayed });
    }

    pub(super) fn send_frame(
        &mut self,
        session: SessionId,
        link: Link,
        frame: server_frame::Frame,
    ) {
        let frame = SharedFrame::new(&ServerFrame { frame: Some(frame) });
        self.out.push(ZoneOutput::Send { session, link, frame });
    }
}
