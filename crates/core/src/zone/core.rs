//! The machine around a game's zone. It takes one input, runs the callbacks that follow from it as
//! steps, and gives out what is due; a panic in a callback ends this incarnation, and the driver
//! opens the next from the last cut.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;

use super::config::ZoneConfig;
use super::context::{Context, Effect};
use super::cut::Saver;
pub use super::output::ZoneCounts;
use super::output::ZoneOutput;
use super::release::{Release, Released};
use super::room::Room;
use super::{State, Zone, row};
use crate::chance::Chance;
use crate::exchange::{Native, ToHub, ToZone, ZoneName};
use crate::id::{JobId, OwnerEpoch, Revision, SessionId, ZoneId};
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::scope::{Opened, ScopeId};
use crate::time::Time;

/// Which zone to open, and how.
#[derive(Clone, PartialEq, Debug)]
pub struct ZoneSpec {
    /// The zone's id, which its kind and name give.
    pub id: ZoneId,
    /// Its kind, which selects the game code, and its name among zones of that kind.
    pub name: ZoneName,
    /// The settings of its kind, fixed for this incarnation.
    pub config: ZoneConfig,
    /// It runs a Game: nobody is in it without a seat.
    pub seated: bool,
    /// The frame that made the last incarnation panic: it is consumed unheard.
    pub poisoned: Option<(SessionId, u64)>,
    /// The zone panicked too often: it opens only to part everybody, and no game code runs.
    pub closed: bool,
}

/// What a zone is given.
#[derive(Clone, Debug)]
pub enum ZoneInput {
    /// A message of the hub to the incarnation of this owner epoch.
    FromHub(OwnerEpoch, ToZone),
    /// A cut is committed, and so are all before it.
    Committed(Revision),
    /// Outside work came back.
    JobDone(JobId, Bytes),
    /// Time has passed.
    Wake,
    /// The driver could not run for so long: what is due of members moves by that. Comes before the
    /// inputs that have waited meanwhile.
    Stalled(Duration),
    /// The process is about to end: what would be saved some time is saved now.
    Seal,
    /// The store has no room, so no cut is committed until it has: true; or it has room again.
    StoreFull(bool),
}

/// A zone of any game, as a driver sees it.
pub trait ZoneMachine: Send {
    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    fn handle(&mut self, now: Time, input: ZoneInput);
    /// The next thing to carry out.
    fn next_output(&mut self) -> Option<ZoneOutput>;
    /// When it wants to be woken.
    fn next_deadline(&self) -> Option<Time>;
    /// False: leave messages of the hub in the mailbox until a commit comes.
    fn is_accepting(&self) -> bool;
    /// The owner epoch of this incarnation, which every message to and from it carries.
    fn owner(&self) -> OwnerEpoch;
    /// Figures for metrics.
    fn counts(&self) -> ZoneCounts;
    /// Compares what is counted and indexed with a search of everything, for tests and the simulator.
    ///
    /// # Errors
    /// Names what differs.
    fn check_indexes(&self) -> Result<(), String>;
}

/// Whether this incarnation goes on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Life {
    Running,
    /// A callback panicked, or the stored state was refused.
    Done,
}

/// The machine around a game.
pub struct ZoneCore<Z: Zone> {
    pub(crate) game: Z,
    pub(crate) room: Room,
    pub(crate) out: Release,
    pub(crate) saver: Saver,
    pub(crate) chance: Chance,
    pub(crate) life: Life,
    /// No game code runs any more.
    pub(crate) closed: bool,
    /// Whose input this is, and its number: all that panics because of it is charged to that.
    pub(crate) culprit: Option<(SessionId, u64)>,
    pub(crate) unknown_answers: u64,
    /// The last instant that was handed in.
    seen_at: Time,
    pub(crate) ack_at: Option<Time>,
    /// The store is full: time stands still here.
    pub(crate) frozen: bool,
    /// Calls that failed at once, each asked by the answer to the one before.
    pub(crate) failing: u32,
}

impl<Z: Zone> ZoneCore<Z> {
    /// Opens a zone from what its scope holds; nothing, for a new one.
    pub fn open(now: Time, spec: ZoneSpec, game: Z, opened: &Opened, chance: Chance) -> Self {
        let scope = ScopeId::Zone(spec.id);
        let out = match spec.config.durability.is_gated() {
            true => Release::opened(scope, opened),
            false => Release::passing(scope, opened),
        };
        let mut zone = Self {
            game,
            room: Room {
                seated: spec.seated,
                ..Room::new(spec.id, spec.name, opened.owner, spec.config)
            },
            out,
            saver: Saver::default(),
            chance,
            life: Life::Running,
            closed: spec.closed,
            culprit: None,
            unknown_answers: 0,
            seen_at: Time::ZERO,
            ack_at: None,
            frozen: false,
            failing: 0,
        };
        match row::load(&opened.rows) {
            Ok(saved) => zone.recover(now, saved, spec.poisoned),
            Err(text) => zone.refuse_to_open(text),
        }
        zone.room.clock.start(now);
        zone.end_input(now);
        zone
    }

    pub(crate) fn refuse_to_open(&mut self, text: String) {
        self.life = Life::Done;
        self.out.push_now(ZoneOutput::ToHub(ToHub::OpenRefused { text }));
    }

    /// Runs one callback as a step: its effects count only if it returns. None: it panicked, and
    /// this incarnation is done for.
    pub(crate) fn step<R>(
        &mut self,
        now: Time,
        culprit: Option<(SessionId, u64)>,
        callback: impl FnOnce(&mut Z, &mut Context<'_, Z::Out>) -> R,
    ) -> Option<R> {
        let (result, effects) = self.try_step(now, culprit, callback)?;
        self.carry_out(now, culprit.map(|(session, _)| session), effects);
        Some(result)
    }

    /// The same without carrying out the effects yet.
    pub(crate) fn try_step<R>(
        &mut self,
        now: Time,
        culprit: Option<(SessionId, u64)>,
        callback: impl FnOnce(&mut Z, &mut Context<'_, Z::Out>) -> R,
    ) -> Option<(R, Vec<Effect<Z::Out>>)> {
        if self.life == Life::Done || self.closed {
            return None;
        }
        let (game, room, chance) = (&mut self.game, &self.room, &mut self.chance);
        let outcome = catch_unwind(AssertUnwindSafe(|| {
            let mut ctx = Context::new(now, room, chance);
            let result = callback(game, &mut ctx);
            (result, ctx.into_effects())
        }));
        match outcome {
            Ok(done) => {
                // A zone that keeps its state in cells has changed only if it says so.
                self.room.dirty.any |= !done.1.is_empty();
                self.room.dirty.maybe |= Z::STATE == State::Whole;
                Some(done)
            }
            Err(panic) => {
                self.fault(culprit, panic_text(panic.as_ref()));
                None
            }
        }
    }

    pub(crate) fn fault(&mut self, poisoned: Option<(SessionId, u64)>, text: String) {
        hit(Mark::ZoneFault);
        self.life = Life::Done;
        self.out.abandon();
        let poisoned = poisoned.or(self.culprit);
        let members = self.room.members.iter().filter(|(_, member)| member.is_active());
        let left = members.filter_map(|(session, member)| {
            let (leg, seq) = member.outbound.left()?;
            Some((*session, leg, seq))
        });
        let (left, stuck) = (left.collect(), false);
        self.out.push_now(ZoneOutput::ToHub(ToHub::Faulted { poisoned, stuck, left, text }));
    }

    fn take(&mut self, now: Time, input: ZoneInput) {
        match input {
            ZoneInput::FromHub(owner, message) if owner == self.room.owner => {
                self.heed(now, message);
            }
            ZoneInput::FromHub(..) => hit(Mark::StaleIgnored),
            ZoneInput::Committed(revision) => self.committed(revision),
            ZoneInput::JobDone(job, result) => self.job_done(now, job, result),
            ZoneInput::Wake => self.wake(now),
            ZoneInput::Stalled(gap) => {
                hit(Mark::Stalled);
                self.room.deadlines.stall(gap);
            }
            ZoneInput::Seal => self.saver.next_save = Some(now),
            ZoneInput::StoreFull(is_full) => self.freeze(is_full),
        }
    }

    /// Nothing that happens here can be kept, or all goes on. Not for a zone that lets out what is not
    /// kept.
    fn freeze(&mut self, is_full: bool) {
        if !self.room.config.durability.is_gated() || self.frozen == is_full {
            return;
        }
        hit(Mark::ZoneFroze);
        self.frozen = is_full;
    }

    fn job_done(&mut self, now: Time, job: JobId, result: Bytes) {
        if let Some((key, _)) = self.room.jobs.remove(&job) {
            hit(Mark::JobDone);
            self.room.dirty.jobs |= !is_armed(Bug::JobKept);
            self.step(now, None, |game, ctx| game.on_job(ctx, key, result));
        }
    }

    fn wake(&mut self, now: Time) {
        while let Some(key) = self.room.clock.take_due(now) {
            hit(Mark::TimerRang);
            self.room.dirty.timers |= !is_armed(Bug::TimerKept);
            self.step(now, None, |game, ctx| game.on_timer(ctx, key));
        }
        while self.room.clock.take_tick(now, self.room.config.catch_up_ticks_max) {
            self.step(now, None, |game, ctx| game.on_tick(ctx));
        }
        for session in self.room.deadlines.take_due(now) {
            self.deadline_came(now, session);
        }
    }

    /// What follows from any input: members that were overrun get the whole state, numbers that
    /// were consumed are acknowledged, and a cut is made if one is due.
    fn end_input(&mut self, now: Time) {
        if self.life == Life::Done {
            self.out.abandon();
            return;
        }
        for session in self.room.overrun() {
            self.resync_in_place(now, session);
        }
        self.finish_ending();
        self.acknowledge_due(now);
        if self.life == Life::Done {
            self.out.abandon();
            return;
        }
        self.out.end_step(self.room.dirty.any);
        self.cut_if_due(now);
        let is_held_up = self.out.held() >= self.room.config.held_outputs_max;
        self.room.clock.pause(now, self.frozen || is_held_up);
        self.room.deadlines.pause(now, self.frozen || is_held_up);
    }
}

impl<Z: Zone> ZoneMachine for ZoneCore<Z> {
    fn handle(&mut self, now: Time, input: ZoneInput) {
        if self.life == Life::Done {
            return;
        }
        // Time never goes back here, whatever is handed in.
        let now = now.max(self.seen_at);
        self.seen_at = now;
        self.culprit = None;
        self.take(now, input);
        self.end_input(now);
    }

    fn next_output(&mut self) -> Option<ZoneOutput> {
        while let Some(Released { number, mut output }) = self.out.next_effect() {
            match &mut output {
                // Checked again at release: a takeover may have come while the cut was on its way.
                ZoneOutput::SendToMany { to, .. } => {
                    self.room.leaves_for_many(self.seen_at, to, number);
                    if !to.is_empty() {
                        return Some(output);
                    }
                    hit(Mark::StaleIgnored);
                }
                ZoneOutput::Send { session, link, .. }
                | ZoneOutput::SendAll { session, link, .. }
                | ZoneOutput::Applied { session, link, .. }
                | ZoneOutput::ToConnection { session, link, .. } => {
                    if self.room.leaves(self.seen_at, *session, *link, number) {
                        return Some(output);
                    }
                    hit(Mark::StaleIgnored);
                }
                ZoneOutput::Native { .. }
                | ZoneOutput::ToHub(_)
                | ZoneOutput::Commit(_)
                | ZoneOutput::StartJob { .. }
                | ZoneOutput::Event(_) => return Some(output),
            }
        }
        None
    }

    fn next_deadline(&self) -> Option<Time> {
        if self.life == Life::Done {
            return None;
        }
        [self.room.clock.next_deadline(), self.room.deadlines.next(), self.ack_at, self.next_cut()]
            .into_iter()
            .flatten()
            .min()
    }

    fn is_accepting(&self) -> bool {
        let accepting = self.out.held() < self.room.config.held_outputs_max;
        if !accepting {
            hit(Mark::CutBackpressure);
        }
        accepting
    }

    fn owner(&self) -> OwnerEpoch {
        self.room.owner
    }

    fn counts(&self) -> ZoneCounts {
        ZoneCounts {
            members: self.room.members.active_count(),
            parting: self.room.members.parting_count(),
            is_ending: self.room.ending,
            said: self.room.stream.said,
            sent: self.room.stream.sent,
            ring_frames: self.room.stream.ring.len(),
            ring_bytes: self.room.stream.ring.bytes(),
            held: self.out.held(),
            ticks: self.room.clock.ticks(),
            ticks_skipped: self.room.clock.skipped(),
            unknown_answers: self.unknown_answers,
        }
    }

    fn check_indexes(&self) -> Result<(), String> {
        self.room.check_indexes()
    }
}

/// A message as a value for native sessions.
pub(crate) fn native<M: Send + Sync + 'static>(message: M) -> Native {
    Arc::new(message)
}

pub(crate) fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned());
    text.unwrap_or_else(|| "a panic without text".to_owned())
}
