//! Processes that run Games: most do what they are told, some refuse, dawdle, lie, fall silent or
//! die, and come back with or without their Games.

use std::collections::BTreeSet;

use rejoin_core::id::{GameId, HostId, OwnerEpoch};
use rejoin_directory::host::{HostOrder, HostWord, Registration};
use rejoin_directory::{Answer, Command, DirectoryInput, Refusal};

use super::Event;
use super::world::{FLEETS, LOCATIONS, Purpose, World};

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// What it says of itself.
    pub registration: Registration,
    /// Its host.
    pub host: HostId,
    /// The lease it speaks with; none while it has no connection.
    pub lease: Option<OwnerEpoch>,
    /// It has said that it is ready.
    pub is_ready: bool,
    /// The Games it runs.
    pub running: BTreeSet<GameId>,
    /// Since when it has no connection.
    pub gone_at: u64,
    /// It does not say that it is well.
    pub is_sick: bool,
    /// A registration is under way.
    pub is_waiting: bool,
}

impl Process {
    /// The process of this number, which runs so many Games unless it runs one in its life.
    #[must_use]
    pub fn new(index: usize, games_max: u32) -> Self {
        let is_reusable = !index.is_multiple_of(3);
        let registration = Registration {
            fleet: FLEETS[index % FLEETS.len()].to_owned(),
            name: format!("host-{index}"),
            location: LOCATIONS[index % LOCATIONS.len()].to_owned(),
            address: "203.0.113.7".to_owned(),
            games_max: if is_reusable { games_max } else { 1 },
            is_reusable,
        };
        Self {
            host: HostId::of(&registration.fleet, &registration.name),
            registration,
            lease: None,
            is_ready: false,
            running: BTreeSet::new(),
            gone_at: 0,
            is_sick: false,
            is_waiting: false,
        }
    }
}

impl World {
    /// A process does something by itself.
    pub(super) fn process_acts(&mut self, index: usize) {
        let next = self.rng.range(200_000, 4_000_000);
        self.plan(next, Event::Process(index));
        let malice = if self.is_calm { 0 } else { self.knobs.malice };
        let process = &mut self.processes[index];
        let Some(lease) = process.lease else {
            if !process.is_waiting && self.directory.is_some() {
                process.is_waiting = true;
                let command = Command::Register(process.registration.clone());
                self.ask(Purpose::Register(index), command);
            }
            return;
        };
        if !process.is_ready {
            let hooks_set = !self.rng.per_mille(malice / 2);
            process.is_ready = hooks_set;
            let games = process.running.iter().copied().collect();
            let log_paths = vec!["game.log".to_owned()];
            return self.say(index, HostWord::Ready { port: 7777, log_paths, hooks_set, games });
        }
        if self.is_calm {
            process.is_sick = false;
            for game in process.running.clone() {
                self.say(index, HostWord::Match(game, false));
            }
            return self.say(index, HostWord::Healthy(true));
        }
        match self.rng.below(1_000) {
            0..4 => self.say(index, HostWord::Ending),
            4..10 => {
                // A second process of the same name.
                process.is_waiting = true;
                process.lease = None;
                process.is_ready = false;
                process.gone_at = self.now;
                let command = Command::Register(process.registration.clone());
                self.ask(Purpose::Register(index), command);
            }
            10..14 => {
                let host = process.host;
                self.ask(Purpose::Whatever, Command::DrainHost(host));
            }
            14..40 if malice > 0 => self.lie(index),
            40..50 => process.is_sick = !process.is_sick,
            50..300 if !process.is_sick => self.say(index, HostWord::Healthy(true)),
            300..310 => {
                let host = process.host;
                let old = OwnerEpoch(lease.0.saturating_sub(1));
                let word = HostWord::Ending;
                self.post(DirectoryInput::HostSaid { host, lease: old, word });
            }
            310..350 => {
                let games: Vec<GameId> = process.running.iter().copied().collect();
                if !games.is_empty() {
                    let (game, running) = (*self.rng.pick(&games), self.rng.per_mille(500));
                    self.say(index, HostWord::Match(game, running));
                }
            }
            _ => {}
        }
    }

    /// Words about Games of others, and answers nobody asked for.
    fn lie(&mut self, index: usize) {
        let games: Vec<GameId> = self.books.games.keys().copied().collect();
        if games.is_empty() {
            return;
        }
        let game = *self.rng.pick(&games);
        if self.processes[index].running.contains(&game) {
            return self.say(index, HostWord::Began(game, Ok(())));
        }
        let word = match self.rng.below(5) {
            0 => HostWord::Began(game, Ok(())),
            1 => HostWord::Updated(game, Ok(())),
            2 => HostWord::Destroying(game, Err("mine".to_owned())),
            3 => HostWord::Match(game, true),
            _ => HostWord::Destroyed(game),
        };
        self.say(index, word);
    }

    /// Sends a word of a process, which takes a moment.
    pub(super) fn say(&mut self, index: usize, word: HostWord) {
        let process = &self.processes[index];
        let Some(lease) = process.lease else { return };
        let host = process.host;
        self.post(DirectoryInput::HostSaid { host, lease, word });
    }

    /// A registration was answered.
    pub(super) fn registered(&mut self, index: usize, outcome: Result<Answer, Refusal>) {
        let process = &mut self.processes[index];
        process.is_waiting = false;
        if let Ok(Answer::Host(view)) = outcome {
            process.lease = Some(view.lease);
            process.is_ready = false;
        }
    }

    /// The connection of a process is gone.
    pub(super) fn unlink(&mut self, index: usize, is_dead: bool) {
        let process = &mut self.processes[index];
        let Some(lease) = process.lease.take() else { return };
        process.is_ready = false;
        process.gone_at = self.now;
        if is_dead {
            process.running.clear();
        }
        let host = process.host;
        let soon = self.rng.below(200_000);
        self.plan(soon, Event::Input(Box::new(DirectoryInput::HostLeft { host, lease })));
    }

    /// An order reached a process.
    pub(super) fn obey(&mut self, index: usize, lease: OwnerEpoch, order: HostOrder) {
        if self.processes[index].lease != Some(lease) {
            return;
        }
        let malice = if self.is_calm { 0 } else { self.knobs.malice };
        let (is_odd, is_silent) = (self.rng.per_mille(malice), self.rng.per_mille(malice / 2));
        let process = &mut self.processes[index];
        match order {
            HostOrder::Create(_) | HostOrder::Update(..) if is_silent => {}
            HostOrder::Create(game) if is_odd => {
                self.say(index, HostWord::Began(game.id, Err("not here".to_owned())));
            }
            HostOrder::Create(game) => {
                process.running.insert(game.id);
                self.say(index, HostWord::Began(game.id, Ok(())));
            }
            HostOrder::Update(game, _) => {
                let word = if is_odd { Err("no".to_owned()) } else { Ok(()) };
                self.say(index, HostWord::Updated(game, word));
            }
            HostOrder::Destroy { .. } if is_silent => {}
            HostOrder::Destroy { game, .. } if is_odd => {
                self.say(index, HostWord::Destroying(game, Err("not yet".to_owned())));
            }
            HostOrder::Destroy { game, .. } => {
                process.running.remove(&game);
                self.say(index, HostWord::Destroying(game, Ok(())));
                self.say(index, HostWord::Destroyed(game));
            }
            HostOrder::DestroyEnd(game) => {
                process.running.remove(&game);
            }
            HostOrder::CheckHealth if !process.is_sick => self.say(index, HostWord::Healthy(true)),
            HostOrder::CheckHealth if is_odd => self.say(index, HostWord::Healthy(false)),
            HostOrder::End(_) => {
                process.running.clear();
                process.lease = None;
                process.is_ready = false;
                process.gone_at = self.now;
            }
            HostOrder::Refused(Refusal::StaleLease | Refusal::HostEnded | Refusal::NotFound(_)) => {
                process.lease = None;
                process.is_ready = false;
                process.gone_at = self.now;
            }
            _ => {}
        }
    }
}
