//! What goes wrong in a directory's world: commits that fail or wait, processes that vanish, and the
//! directory that dies and starts again from what the disk holds.

use rejoin_core::id::{GameId, OwnerEpoch, Revision};
use rejoin_core::scope::ScopeId;
use rejoin_core::time::{Time, WallTime};
use rejoin_directory::{Directory, DirectoryInput, Recovered};

use super::World;
use crate::directory::Event;
use crate::directory::onlooker::Follower;
use crate::disk::{Commit, Luck};

impl World {
    pub(super) fn committed(&mut self, scope: ScopeId, owner: OwnerEpoch, revision: Revision) {
        match self.disk.commit(self.now, (scope, owner, revision), Luck::Known) {
            Commit::Done => {
                if let ScopeId::Game(game) = scope {
                    self.inspector.unsettled.remove(&game);
                }
                self.aim_crash(scope);
                self.give(DirectoryInput::Committed(scope, revision));
            }
            // A process that is overtaken or poisoned is played in the worlds of sessions.
            Commit::Nothing | Commit::Fenced | Commit::Poisoned => {}
            Commit::Full | Commit::Unknown | Commit::Behind => {
                let wait = self.disk.full_until.saturating_sub(self.now) + self.rng.below(300_000);
                let life = self.life;
                self.plan(wait, Event::Committed { life, scope, owner, revision });
            }
        }
    }

    /// A crash between two scopes that speak of one thing: a queue has kept what a Game told it, and the
    /// Game has not kept that the queue knows.
    fn aim_crash(&mut self, scope: ScopeId) {
        let is_over = |game: &GameId| self.books.games.get(game).is_some_and(|it| it.end.is_some());
        let is_between =
            matches!(scope, ScopeId::Queue(_)) && self.inspector.unsettled.iter().any(is_over);
        let share = if self.is_calm { 0 } else { self.knobs.aimed_crashes };
        if is_between && self.crash_in.is_none() && self.rng.per_mille(share) {
            self.crash_in = Some(self.rng.below(3));
        }
    }

    pub(super) fn fault(&mut self) {
        if self.is_calm {
            return;
        }
        let next = self.rng.below(2 * self.knobs.fault_every_us) + 1;
        self.plan(next, Event::Fault);
        let process = self.rng.below(self.processes.len() as u64) as usize;
        match self.rng.below(10) {
            0..3 => self.crash_in = Some(self.rng.below(40)),
            3..5 => self.unlink(process, true),
            5..8 => self.unlink(process, false),
            8 => {
                self.disk.stalled_until = self.now + self.rng.range(100_000, 3_000_000);
                self.disk.strike("the disk stalled");
            }
            _ => {
                self.disk.full_until = self.now + self.rng.range(100_000, 3_000_000);
                self.disk.strike("the disk was full");
            }
        }
    }

    /// The directory is gone, and everything that was on its way.
    pub(super) fn crash(&mut self) {
        self.tell(|| "crash".to_owned());
        self.crashes += 1;
        self.directory = None;
        self.crash_in = None;
        self.wake_at = None;
        self.queue.forget_servers();
        self.disk.crash(&mut self.rng);
        self.follower = Follower::default();
        self.inspector.crash();
        self.asked.clear();
        for visit in &mut self.books.visits {
            visit.is_waiting = false;
        }
        for process in &mut self.processes {
            process.is_waiting = false;
            process.is_ready = false;
            if process.lease.take().is_some() {
                process.gone_at = self.now;
            }
        }
        let while_us = self.rng.below(8_000_000);
        self.plan(while_us, Event::Boot);
    }

    /// The directory starts from what the disk holds. It may die again while it does.
    pub(super) fn boot(&mut self) {
        self.life += 1;
        self.boot_at = self.now;
        let catalogue = self.disk.open(ScopeId::Catalogue, &mut self.rng).expect("it does not rot");
        let mut recovered = Recovered { catalogue, ..Recovered::default() };
        for scope in self.disk.scopes() {
            let Ok(opened) = self.disk.open(scope, &mut self.rng) else { continue };
            match scope {
                ScopeId::Game(id) => recovered.games.push((id, opened)),
                ScopeId::Host(id) => recovered.hosts.push((id, opened)),
                ScopeId::Queue(id) => recovered.queues.push((id, opened)),
                // Opened just now; a second opening would shut the first one out.
                _ => recovered.catalogue = opened,
            }
        }
        let (wall, seed) = (WallTime(self.wall_ms()), self.rng.seed());
        let config = self.knobs.config.clone();
        match Directory::open(Time::ZERO, wall, config, seed, recovered) {
            Ok((directory, damaged)) => {
                if let Some((scope, why)) = damaged.first() {
                    self.books.fail("seat-kept", format!("{scope:?} cannot be read: {why}"));
                }
                self.directory = Some(directory);
            }
            Err(why) => return self.books.fail("seat-kept", format!("no catalogue: {why}")),
        }
        // The first life sets the world up: one without its fleets would test nothing.
        if !self.is_calm && self.life > 1 && self.rng.per_mille(100) {
            self.crash_in = Some(self.rng.below(10));
        }
        self.drain();
    }

    /// No more faults: everybody finishes, and nobody begins anything.
    pub fn calm(&mut self) {
        self.is_calm = true;
        self.crash_in = None;
        self.follower.is_reading = true;
        self.disk.stalled_until = 0;
        self.disk.full_until = 0;
    }
}
