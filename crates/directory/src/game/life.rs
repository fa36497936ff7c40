//! The life of a Game: activation, updates, the ways to its end, and what a restart finds.

use std::sync::Arc;

use rejoin_core::event::Event;
use rejoin_core::id::{HostId, SeatId};
use rejoin_core::never;
use rejoin_core::scope::ScopeId;
use rejoin_core::time::Time;

use super::core::{GameCore, Pending};
use super::seats::Terms;
use super::spec::GameChange;
use super::{EndCause, Guest, Standing, Status};
use crate::command::Answer;
use crate::effect::{Effect, ToGame, ToHost, ToQueue};
use crate::limits;
use crate::mark::{Mark, hit};
use crate::moment::{Moment, later};
use crate::refusal::Refusal;

impl GameCore {
    /// What was under way goes on: everything here may be said twice.
    pub(super) fn resume(&mut self, now: Moment) {
        hit(Mark::GameRecovered);
        let (id, host) = (self.id, self.host);
        match self.status {
            Status::Activating => {
                hit(Mark::ActivationRedriven);
                // Counted from the choice of the host, however often the server starts meanwhile.
                self.deadline = Some(now.time_of(self.activate_by));
                let take = ToHost::Take { game: self.view(), again: true };
                self.gate.after(Effect::ToHost(host, take));
            }
            Status::Active => {
                self.tell_placed();
                self.gate.after(Effect::ToHost(host, ToHost::Activated(id)));
            }
            Status::Terminating => {
                hit(Mark::TerminationRedriven);
                self.destroy(now);
            }
            Status::Terminated | Status::Error => self.tell_failed(),
        }
    }

    /// A message of another part.
    pub(super) fn heed(&mut self, now: Moment, mail: ToGame) {
        match mail {
            ToGame::Began(host, outcome) if self.is_of(host) => self.began(now, outcome),
            ToGame::Refused(host) if self.is_of(host) => {
                if self.status == Status::Activating {
                    self.end(now, EndCause::HostRefused);
                }
            }
            ToGame::Updated(host, outcome) if self.is_of(host) => self.updated(outcome),
            ToGame::Kept(host) if self.is_of(host) => self.kept(now),
            ToGame::Destroyed(host) if self.is_of(host) => {
                let cause = self.cause.unwrap_or(EndCause::HostEnded);
                self.end(now, cause);
            }
            ToGame::Match(host, running) if self.is_of(host) => self.set_match(running),
            ToGame::Lost(host, cause) if self.is_of(host) => self.end(now, cause),
            ToGame::Stands(host, number, standing) if self.is_of(host) => {
                let was_away = self.standing == Standing::Away;
                if number > self.standing_number && self.standing != standing {
                    self.is_changed = true;
                    self.standing = standing;
                    if standing != Standing::Present {
                        self.gate.at_once(Effect::Hidden(self.id));
                    }
                }
                self.standing_number = self.standing_number.max(number);
                if standing == Standing::Present && self.status == Status::Terminating {
                    // It was away when it was told.
                    self.destroy(now);
                }
                if let (true, Standing::Present, Some(update)) = (was_away, standing, &self.update)
                {
                    hit(Mark::UpdateRepeated);
                    let again = ToHost::Update(self.id, update.spec.clone());
                    self.gate.after(Effect::ToHost(self.host, again));
                }
            }
            ToGame::Drain(host) if self.is_of(host) => {
                self.terminate(now, EndCause::HostDrained);
            }
            ToGame::Acknowledged { attempt } if self.is_attempt(attempt) => self.forget_origin(),
            ToGame::Unwanted { attempt } if self.is_attempt(attempt) => {
                self.forget_origin();
                self.terminate(now, EndCause::PlacementOver);
            }
            // Of a host that is not this Game's any more, or about a try before this one.
            ToGame::Began(..)
            | ToGame::Refused(_)
            | ToGame::Updated(..)
            | ToGame::Kept(_)
            | ToGame::Destroyed(_)
            | ToGame::Match(..)
            | ToGame::Lost(..)
            | ToGame::Stands(..)
            | ToGame::Drain(_)
            | ToGame::Acknowledged { .. }
            | ToGame::Unwanted { .. } => hit(Mark::StaleMail),
        }
    }

    /// Beside the Game's own word on new players, which stays what it is for when the match is over.
    fn set_match(&mut self, running: bool) {
        if self.in_match != running && !self.status.is_over() {
            hit(if running { Mark::MatchCloses } else { Mark::MatchOver });
            self.in_match = running;
            self.is_dirty = true;
        }
    }

    fn is_of(&self, host: HostId) -> bool {
        self.host == host
    }

    fn is_attempt(&self, attempt: u32) -> bool {
        self.origin.as_ref().is_some_and(|origin| origin.attempt == attempt)
    }

    fn forget_origin(&mut self) {
        self.origin = None;
        self.party.clear();
        self.is_dirty = true;
    }

    fn began(&mut self, now: Moment, outcome: Result<(), String>) {
        match (self.status, outcome) {
            (Status::Activating, Ok(())) => {
                hit(Mark::GameActive);
                self.status = Status::Active;
                self.was_active = true;
                self.deadline = None;
                self.empty_since = now.time;
                self.is_dirty = true;
                self.seat_party(now);
                self.tell_placed();
                self.gate.after(Effect::ToHost(self.host, ToHost::Activated(self.id)));
                self.gate.after(Effect::Event(Event::GameActive { game: self.id }));
            }
            (Status::Activating, Err(_)) => {
                hit(Mark::CreateVetoed);
                self.end(now, EndCause::Vetoed);
            }
            (Status::Active, Ok(())) => {
                hit(Mark::ActivatedTwice);
                self.gate.after(Effect::ToHost(self.host, ToHost::Activated(self.id)));
            }
            // It came too late: the Game is ending or over.
            (Status::Terminated | Status::Error, _) => {
                hit(Mark::StaleMail);
                self.gate.after(Effect::ToHost(self.host, ToHost::Release(self.id)));
            }
            // It began at last while it is being ended; or it runs, and a repeated order was refused.
            (Status::Terminating, _) | (Status::Active, Err(_)) => hit(Mark::StaleMail),
        }
    }

    /// The seats of the placement, in the same commit that makes the Game active.
    fn seat_party(&mut self, now: Moment) {
        if self.party.is_empty() {
            return;
        }
        let (ids, party): (Vec<SeatId>, Vec<Guest>) = self.party.iter().cloned().unzip();
        let until = now.wall_after(self.config.seat_hold);
        let key = self.origin.as_ref().map_or("", |origin| &origin.placement).to_owned();
        let terms = Terms { key: &key, hold: None, until, lock: self.lock, payer: None };
        // Nobody can have been before them, and the party was checked against the capacity.
        let _ = self.seats.reserve(now, self.spec.capacity, &party, &ids, terms);
    }

    /// Tells the placement that this Game was made for, until it has heard of it, that it runs.
    fn tell_placed(&mut self) {
        if let Some(origin) = &self.origin {
            let ids: Vec<SeatId> = self.party.iter().map(|(id, _)| *id).collect();
            let placed = ToQueue::Placed {
                placement: origin.placement.clone(),
                attempt: origin.attempt,
                game: self.id,
                seats: self.seat_views(&ids),
            };
            self.gate.after(Effect::ToQueue(origin.queue, placed));
        }
    }

    /// The same when it has ended.
    fn tell_failed(&mut self) {
        if let Some(origin) = &self.origin {
            let failed = ToQueue::Failed {
                placement: origin.placement.clone(),
                attempt: origin.attempt,
                game: self.id,
                cause: self.cause.unwrap_or(EndCause::HostRefused),
            };
            self.gate.after(Effect::ToQueue(origin.queue, failed));
        }
    }

    pub(super) fn begin_update(&mut self, now: Moment, ticket: u64, change: &GameChange) {
        let spec = match (self.status, &self.update) {
            (Status::Active, None) if self.standing == Standing::Away => Err(Refusal::HostAway),
            (Status::Active, None) => change.applied(&self.spec, self.seats.taken()),
            (Status::Active, Some(_)) => Err(Refusal::Busy),
            (status, _) => {
                hit(Mark::WrongStatus);
                Err(Refusal::WrongStatus(status))
            }
        };
        let spec = match spec {
            Ok(spec) => Arc::new(spec),
            Err(refusal) => return self.answer(ticket, Err(refusal)),
        };
        let by = now.time.after(self.config.update_limit);
        self.gate.after(Effect::ToHost(self.host, ToHost::Update(self.id, spec.clone())));
        self.update = Some(Pending { ticket, spec, by });
    }

    fn updated(&mut self, outcome: Result<(), String>) {
        let Some(update) = self.update.take() else {
            // The host was too slow, or the Game is ending: the asker has its answer.
            return hit(Mark::StaleMail);
        };
        match outcome {
            // Seats may have been taken meanwhile.
            Ok(()) if update.spec.capacity < self.seats.taken() => {
                let must = "at least the number of seats that are taken";
                let refusal = Refusal::Invalid { field: "capacity", must };
                self.answer(update.ticket, Err(refusal));
            }
            Ok(()) => {
                hit(Mark::GameUpdated);
                self.spec = update.spec;
                self.is_dirty = true;
                self.answer(update.ticket, Ok(Answer::Game(self.view())));
                self.gate.after(Effect::ToHost(self.host, ToHost::UpdateEnd(self.id)));
            }
            Err(words) => {
                hit(Mark::UpdateVetoed);
                let refusal = Refusal::Vetoed(limits::veto(&words));
                self.answer(update.ticket, Err(refusal));
            }
        }
    }

    fn drop_update(&mut self, refusal: Refusal) {
        if let Some(update) = self.update.take() {
            self.answer(update.ticket, Err(refusal));
        }
    }

    pub(super) fn terminate_asked(&mut self, now: Moment) -> Result<Answer, Refusal> {
        match self.status {
            Status::Activating | Status::Active => self.terminate(now, EndCause::Asked),
            // Asking twice is no error.
            Status::Terminating => {}
            status => {
                hit(Mark::WrongStatus);
                return Err(Refusal::WrongStatus(status));
            }
        }
        Ok(Answer::Game(self.view()))
    }

    /// Begins the end. The host has its deadline, and may refuse some of the causes.
    fn terminate(&mut self, now: Moment, cause: EndCause) {
        match (self.status, self.cause) {
            (Status::Activating | Status::Active, _) => {}
            // What may not be refused takes the place of what may.
            (Status::Terminating, Some(old)) if old.may_be_refused() && !cause.may_be_refused() => {
            }
            // It ends already, and for a reason that is as good.
            (Status::Terminating | Status::Terminated | Status::Error, _) => return,
        }
        hit(Mark::Terminating);
        self.status = Status::Terminating;
        self.cause = Some(cause);
        self.is_dirty = true;
        self.drop_update(Refusal::GameEnded(cause));
        self.destroy(now);
    }

    fn destroy(&mut self, now: Moment) {
        let limit = self.config.destroy_limit;
        self.deadline = Some(now.time.after(limit));
        let may_refuse = self.was_active && self.cause.is_some_and(EndCause::may_be_refused);
        let order = ToHost::Destroy { game: self.id, limit, may_refuse };
        self.gate.after(Effect::ToHost(self.host, order));
    }

    /// The host will not end it: nothing has happened.
    fn kept(&mut self, now: Moment) {
        let may_refuse = self.was_active && self.cause.is_some_and(EndCause::may_be_refused);
        if self.status != Status::Terminating || !may_refuse {
            return hit(Mark::StaleMail);
        }
        hit(Mark::DestroyVetoed);
        self.status = Status::Active;
        self.cause = None;
        self.deadline = None;
        // It does not end at once for the same reason: somebody has to come and leave first.
        self.was_joined = false;
        self.empty_since = now.time;
        self.is_dirty = true;
    }

    /// The end, once.
    pub(super) fn end(&mut self, now: Moment, cause: EndCause) {
        if self.status.is_over() {
            // The host has not heard yet that it is over.
            return self.gate.after(Effect::ToHost(self.host, ToHost::Release(self.id)));
        }
        hit(match Status::of_end(cause) {
            Status::Error => Mark::GameFailed,
            Status::Activating | Status::Active | Status::Terminating | Status::Terminated => {
                Mark::GameTerminated
            }
        });
        self.drop_update(Refusal::GameEnded(cause));
        self.status = Status::of_end(cause);
        self.cause = Some(cause);
        self.ended = Some(now.wall);
        self.deadline = None;
        self.is_dirty = true;
        self.seats.end_all(now);
        self.tell_failed();
        self.gate.after(Effect::ToHost(self.host, ToHost::Release(self.id)));
        self.gate.after(Effect::Event(Event::GameEnded { game: self.id, cause }));
    }

    pub(super) fn wake(&mut self, now: Moment) {
        self.seats.wake(now);
        if self.update.as_ref().is_some_and(|update| update.by <= now.time) {
            hit(Mark::HostSilent);
            self.drop_update(Refusal::HostSilent);
        }
        if self.deadline.is_some_and(|deadline| deadline <= now.time) {
            match self.status {
                Status::Activating => {
                    hit(Mark::ActivationTimeout);
                    self.end(now, EndCause::ActivationTimeout);
                }
                Status::Terminating => {
                    hit(Mark::DestroyTimeout);
                    let cause = self.cause.unwrap_or(EndCause::Asked);
                    self.end(now, cause);
                }
                status @ (Status::Active | Status::Terminated | Status::Error) => {
                    never!("{:?} is {} and has a deadline", self.id, status.name());
                    self.deadline = None;
                }
            }
        }
        self.purge(now);
    }

    /// Deletes a Game whose end is `retention` ago, whether or not its placement has heard of the end.
    fn purge(&mut self, now: Moment) {
        if let Some(ended) = self.ended
            && !self.gate.is_closed()
            && later(ended, self.config.retention) <= now.wall
        {
            hit(Mark::GamePurged);
            self.gate.after(Effect::Gone(ScopeId::Game(self.id)));
            self.gate.close();
        }
    }

    pub(super) fn empty_deadline(&self) -> Option<Time> {
        let counts = self.status == Status::Active && !self.was_joined && self.seats.taken() == 0;
        let limit = self.config.empty_limit;
        (counts && !limit.is_zero()).then(|| self.empty_since.after(limit))
    }

    /// Begins the end of a Game that its last player has left, or that had none for `empty_limit`.
    pub(super) fn look_around(&mut self, now: Moment) {
        if self.seats.taken() > 0 {
            self.empty_since = now.time;
            return;
        }
        if self.status != Status::Active || self.gate.is_closed() {
            return;
        }
        if self.was_joined && self.spec.ends_when_empty {
            hit(Mark::LastLeft);
            self.terminate(now, EndCause::LastLeft);
        } else if self.empty_deadline().is_some_and(|deadline| deadline <= now.time) {
            hit(Mark::NobodyCame);
            self.terminate(now, EndCause::NobodyCame);
        }
    }
}
