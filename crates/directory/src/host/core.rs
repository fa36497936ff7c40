//! The machine of one host. It knows which process may speak for the host and which Games the host
//! runs. The process that registers last takes over; words of an earlier one are recognised by their lease.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rejoin_core::event::Event;
use rejoin_core::gate::Gate;
use rejoin_core::id::{GameId, HostId, OwnerEpoch, Revision};
use rejoin_core::scope::{Opened, ScopeId};
use rejoin_core::time::Time;

use super::{HostEnd, HostOrder, HostState, HostView, HostWord, Presence, Registration};
use crate::command::Answer;
use crate::config::DirectoryConfig;
use crate::effect::{Effect, ToGame, ToHost};
use crate::game::{EndCause, GameView, Standing};
use crate::limits;
use crate::mark::{Mark, hit};
use crate::planted::{Bug, is_armed};
use crate::refusal::Refusal;

/// What a host is given.
#[derive(Debug)]
pub(crate) enum HostInput {
    Register {
        ticket: u64,
        registration: Registration,
        /// It is the server itself; its Games have at most so many seats.
        own: Option<u32>,
    },
    Word {
        lease: OwnerEpoch,
        word: HostWord,
    },
    /// The connection of the process is gone.
    Left {
        lease: OwnerEpoch,
    },
    Describe {
        ticket: u64,
    },
    Drain {
        ticket: u64,
    },
    Mail(ToHost),
    Committed(Revision),
    Wake,
}

/// How far the host is with one of its Games.
#[derive(Clone, Debug)]
pub(crate) enum Stage {
    /// Ordered to prepare it; the view is none after a restart, until the Game sends it again.
    Taken(Option<Arc<GameView>>),
    /// The Game has become active; a process that comes back without it has lost it.
    Running,
}

/// State of one host: its registration and lease, its Games, and the presence of its process.
#[derive(Debug)]
pub(crate) struct HostCore {
    pub(super) id: HostId,
    pub(super) config: Arc<DirectoryConfig>,
    pub(super) gate: Gate<Effect>,
    pub(super) registration: Registration,
    /// It is the server itself; its Games have at most so many seats. Not kept: it registers again.
    own: Option<u32>,
    pub(super) lease: OwnerEpoch,
    pub(super) port: u16,
    pub(super) log_paths: Vec<String>,
    pub(super) state: HostState,
    pub(super) games: BTreeMap<GameId, Stage>,
    pub(super) presence: Presence,
    /// Since when it is not present.
    pub(super) away_since: Time,
    /// When it last said that it is well.
    pub(super) healthy_at: Time,
    pub(super) check_at: Time,
    pub(super) is_warned: bool,
    /// Number of the latest message about its standing; a Game ignores those with a lower one.
    standing_number: u64,
    pub(super) is_dirty: bool,
    /// What others see of it may have changed, beyond its rows.
    pub(super) is_changed: bool,
    /// Games whose rows differ from the scope.
    pub(super) dirty_games: Vec<GameId>,
}

impl HostCore {
    /// A new host, before its first registration.
    pub(crate) fn create(now: Time, config: Arc<DirectoryConfig>, id: HostId) -> Self {
        Self {
            id,
            config,
            gate: Gate::new(ScopeId::Host(id)),
            registration: Registration::default(),
            own: None,
            lease: OwnerEpoch(0),
            port: 0,
            log_paths: Vec::new(),
            state: HostState::Registered,
            games: BTreeMap::new(),
            presence: Presence::Away,
            away_since: now,
            healthy_at: now,
            check_at: now,
            is_warned: false,
            standing_number: 0,
            is_dirty: false,
            is_changed: true,
            dirty_games: Vec::new(),
        }
    }

    /// A host as it was kept. It is away, with all of its time to come back.
    pub(crate) fn open(
        now: Time,
        config: Arc<DirectoryConfig>,
        id: HostId,
        opened: &Opened,
    ) -> Result<Self, String> {
        let mut host = Self::create(now, config, id);
        host.gate = Gate::opened(ScopeId::Host(id), opened);
        super::row::read(&mut host, opened)?;
        hit(Mark::HostRecovered);
        if let HostState::Ended(end) = host.state {
            host.tell_lost(end);
            host.close_if_empty();
        }
        host.settle();
        Ok(host)
    }

    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub(crate) fn handle(&mut self, now: Time, input: HostInput) {
        match input {
            HostInput::Register { ticket, registration, own } => {
                self.own = own;
                self.register(now, ticket, registration);
            }
            HostInput::Word { lease, word } => self.word(now, lease, word),
            HostInput::Left { lease } => self.left(now, lease),
            HostInput::Describe { ticket } => {
                let view = Answer::Host(Box::new(self.view()));
                self.answer(ticket, Ok(view));
            }
            HostInput::Drain { ticket } => self.drain(now, ticket),
            HostInput::Mail(mail) => self.heed(mail),
            HostInput::Committed(revision) => return self.gate.committed(revision),
            HostInput::Wake => self.wake(now),
        }
        self.settle();
    }

    pub(crate) fn next_output(&mut self) -> Option<Effect> {
        self.gate.next_effect()
    }

    pub(crate) fn registration(&self) -> &Registration {
        &self.registration
    }

    pub(crate) fn games(&self) -> impl Iterator<Item = GameId> + '_ {
        self.games.keys().copied()
    }

    /// Whether this process speaks for the host.
    pub(crate) fn is_lease(&self, lease: OwnerEpoch) -> bool {
        self.lease == lease && self.presence != Presence::Away
    }

    /// Whether it could run one more Game besides so many that it has not heard of yet.
    pub(crate) fn load(&self, intended: usize) -> Option<usize> {
        let load = self.games.len() + intended;
        let can = self.state == HostState::Ready && self.standing() == Standing::Present;
        (can && load < self.registration.games_max as usize).then_some(load)
    }

    pub(crate) fn is_over(&self) -> bool {
        matches!(self.state, HostState::Ended(_))
    }

    /// Whether it is the server itself.
    pub(crate) fn is_own(&self) -> bool {
        self.own.is_some()
    }

    /// The most seats that a Game of it may have.
    pub(crate) fn capacity_max(&self) -> u32 {
        self.own.unwrap_or(limits::CAPACITY_MAX)
    }

    pub(crate) fn view(&self) -> HostView {
        HostView {
            id: self.id,
            registration: self.registration.clone(),
            lease: self.lease,
            port: self.port,
            log_paths: self.log_paths.clone(),
            state: self.state,
            presence: self.presence,
            is_healthy: !self.is_warned,
            games: self.games.keys().copied().collect(),
        }
    }

    fn register(&mut self, now: Time, ticket: u64, registration: Registration) {
        if self.is_over() || self.gate.is_closed() {
            return self.answer(ticket, Err(Refusal::HostEnded));
        }
        if self.is_busy() {
            let outcome = Box::new(Err(Refusal::Busy));
            return self.gate.at_once(Effect::Answer { ticket, outcome });
        }
        if self.presence != Presence::Away {
            hit(Mark::HostTakenOver);
            self.order_now(HostOrder::Refused(Refusal::StaleLease));
        }
        hit(Mark::HostRegistered);
        self.registration = registration;
        self.lease = OwnerEpoch(self.lease.0.saturating_add(1));
        self.is_dirty = true;
        self.set_presence(now, Presence::Waiting);
        let view = Answer::Host(Box::new(self.view()));
        self.answer(ticket, Ok(view));
    }

    fn word(&mut self, now: Time, lease: OwnerEpoch, word: HostWord) {
        if !self.is_lease(lease) {
            hit(Mark::StaleLease);
            let refused = HostOrder::Refused(Refusal::StaleLease);
            return self.gate.at_once(Effect::Order(self.id, lease, refused));
        }
        if self.is_over() {
            return self.order_now(HostOrder::Refused(Refusal::HostEnded));
        }
        match word {
            HostWord::Ready { port, log_paths, hooks_set, games } => {
                self.ready(now, port, log_paths, hooks_set, &games);
            }
            HostWord::Healthy(is_healthy) => self.heard_health(now, is_healthy),
            HostWord::Began(game, outcome) => {
                self.pass_on("began", game, |id| ToGame::Began(id, outcome));
            }
            HostWord::Updated(game, outcome) => {
                self.pass_on("updated", game, |id| ToGame::Updated(id, outcome));
            }
            HostWord::Destroying(game, Err(_)) => self.pass_on("destroying", game, ToGame::Kept),
            HostWord::Destroying(_, Ok(())) => {}
            HostWord::Destroyed(game) => self.pass_on("destroyed", game, ToGame::Destroyed),
            HostWord::Match(game, running) => {
                self.pass_on("match", game, |id| ToGame::Match(id, running));
            }
            HostWord::Ending => self.end(HostEnd::Ended),
            // Questions about seats go to the Game.
            HostWord::Accept { .. } | HostWord::Admit { .. } | HostWord::Remove { .. } => {}
        }
    }

    /// Too much waits for the store.
    fn is_busy(&self) -> bool {
        self.gate.waiting() >= self.config.uncommitted_max
    }

    /// A word about one of its Games; about another's it has none.
    fn pass_on(&mut self, name: &'static str, game: GameId, word: impl FnOnce(HostId) -> ToGame) {
        if self.games.contains_key(&game) && self.presence == Presence::Present {
            self.gate.after(Effect::ToGame(game, word(self.id)));
        } else {
            hit(Mark::NotYours);
            let why = Refusal::NotYours;
            self.order_now(HostOrder::RefusedWord { word: name, game, why });
        }
    }

    fn ready(
        &mut self,
        now: Time,
        port: u16,
        log_paths: Vec<String>,
        hooks_set: bool,
        running: &[GameId],
    ) {
        let busy = if self.is_busy() { Err(Refusal::Busy) } else { Ok(()) };
        if let Err(refusal) = check_ready(port, &log_paths, hooks_set).and(busy) {
            hit(Mark::ReadyRefused);
            return self.order_now(HostOrder::Refused(refusal));
        }
        let is_first = self.state == HostState::Registered;
        hit(if is_first { Mark::HostReady } else { Mark::HostReturned });
        (self.port, self.log_paths) = (port, log_paths);
        if is_first {
            self.state = HostState::Ready;
        }
        self.is_dirty = true;
        self.healthy_at = now;
        self.is_warned = false;
        self.check_at = now.after(self.config.health_every);
        self.set_presence(now, Presence::Present);
        self.reclaim(running);
        let host = self.id;
        let ready = if is_first { Event::HostReady { host } } else { Event::HostReturned { host } };
        self.gate.after(Effect::Event(ready));
        self.gate.after(Effect::Stirred(self.id));
    }

    /// Brings what the process runs and what it should run together.
    fn reclaim(&mut self, running: &[GameId]) {
        let id = self.id;
        let there: BTreeSet<GameId> = running.iter().copied().collect();
        for (game, stage) in &self.games {
            let is_there = there.contains(game);
            let effect = match stage {
                Stage::Taken(_) if is_there => Effect::ToGame(*game, ToGame::Began(id, Ok(()))),
                Stage::Taken(Some(view)) => {
                    hit(Mark::CreateRepeated);
                    Effect::Order(id, self.lease, HostOrder::Create(view.clone()))
                }
                // Its Game will say what it is, and then it is ordered.
                Stage::Taken(None) => continue,
                // It may have been away when it should have heard this.
                Stage::Running if is_there => {
                    Effect::Order(id, self.lease, HostOrder::CreateEnd(*game))
                }
                Stage::Running => {
                    hit(Mark::HostForgot);
                    Effect::ToGame(*game, ToGame::Lost(id, EndCause::HostForgot))
                }
            };
            self.gate.after(effect);
        }
        // In the order in which the host named them.
        for game in running.iter().filter(|game| !self.games.contains_key(game)).take(1_000) {
            self.gate.after(Effect::Order(id, self.lease, HostOrder::DestroyEnd(*game)));
        }
    }

    fn left(&mut self, now: Time, lease: OwnerEpoch) {
        if !self.is_lease(lease) || self.is_over() {
            return hit(Mark::StaleLease);
        }
        hit(Mark::HostAway);
        self.set_presence(now, Presence::Away);
        self.gate.at_once(Effect::Event(Event::HostAway { host: self.id }));
    }

    fn drain(&mut self, _now: Time, ticket: u64) {
        if self.is_over() {
            return self.answer(ticket, Err(Refusal::HostEnded));
        }
        if self.is_own() {
            return self.answer(ticket, Err(Refusal::OwnHost));
        }
        hit(Mark::HostDrained);
        self.state = HostState::Draining;
        self.is_dirty = true;
        self.answer(ticket, Ok(Answer::Done));
        for game in self.games.keys() {
            self.gate.after(Effect::ToGame(*game, ToGame::Drain(self.id)));
        }
        if self.games.is_empty() {
            self.end(HostEnd::Drained);
        }
    }

    /// A message of a Game.
    fn heed(&mut self, mail: ToHost) {
        match mail {
            ToHost::Take { game, again } => self.take(game, again),
            ToHost::Activated(game) => match self.games.get_mut(&game) {
                Some(stage) => {
                    if matches!(stage, Stage::Taken(_)) {
                        *stage = Stage::Running;
                        self.dirty_games.push(game);
                    }
                    self.order(HostOrder::CreateEnd(game));
                }
                // A Game that this host does not know, or not any more.
                None => self.gate.after(Effect::ToGame(game, self.lost(EndCause::HostForgot))),
            },
            ToHost::Update(game, spec) => self.order(HostOrder::Update(game, spec)),
            ToHost::UpdateEnd(game) => self.order(HostOrder::UpdateEnd(game)),
            ToHost::Destroy { game, limit, may_refuse } => {
                if self.games.contains_key(&game) {
                    self.order(HostOrder::Destroy { game, limit, may_refuse });
                } else {
                    self.gate.after(Effect::ToGame(game, ToGame::Destroyed(self.id)));
                }
            }
            ToHost::Release(game) => self.release(game),
        }
    }

    fn lost(&self, cause: EndCause) -> ToGame {
        ToGame::Lost(self.id, cause)
    }

    fn take(&mut self, game: Arc<GameView>, again: bool) {
        let id = game.id;
        let is_known = self.games.contains_key(&id);
        let has_room = self.games.len() < self.registration.games_max as usize;
        let is_open =
            self.state == HostState::Ready && (again || self.standing() == Standing::Present);
        if !(is_known || has_room && is_open) {
            hit(Mark::TakeRefused);
            return self.gate.after(Effect::ToGame(id, ToGame::Refused(self.id)));
        }
        match self.games.get(&id) {
            // It has answered already; its Game was not told before a crash.
            Some(Stage::Running) => {
                return self.gate.after(Effect::ToGame(id, ToGame::Began(self.id, Ok(()))));
            }
            Some(Stage::Taken(_)) => hit(Mark::TakenAgain),
            None => {
                hit(Mark::GameTaken);
                self.dirty_games.push(id);
            }
        }
        self.games.insert(id, Stage::Taken(Some(game.clone())));
        self.order(HostOrder::Create(game));
        self.stand(id);
    }

    fn release(&mut self, game: GameId) {
        if is_armed(Bug::HostNotReleased) {
            return;
        }
        if !self.is_over() {
            self.order(HostOrder::DestroyEnd(game));
        }
        if self.games.remove(&game).is_none() {
            return;
        }
        self.dirty_games.push(game);
        self.gate.after(Effect::Stirred(self.id));
        if self.is_over() {
            self.close_if_empty();
        } else if !self.registration.is_reusable {
            self.end(HostEnd::Spent);
        } else if self.state == HostState::Draining && self.games.is_empty() {
            self.end(HostEnd::Drained);
        }
    }

    /// The end, once. Its Games end as well, and it is deleted when they all have.
    pub(super) fn end(&mut self, end: HostEnd) {
        if self.is_over() {
            return;
        }
        hit(match end {
            HostEnd::Ended => Mark::HostEndedItself,
            HostEnd::Spent => Mark::HostSpent,
            HostEnd::Lost => Mark::HostLost,
            HostEnd::Unhealthy => Mark::HostUnhealthy,
            HostEnd::Drained => Mark::HostEmptied,
        });
        self.state = HostState::Ended(end);
        self.is_dirty = true;
        self.stand_all();
        self.order(HostOrder::End(end));
        self.gate.after(Effect::Event(Event::HostEnded { host: self.id, how: end }));
        self.tell_lost(end);
        self.close_if_empty();
    }

    fn tell_lost(&mut self, end: HostEnd) {
        let cause = match end {
            HostEnd::Ended | HostEnd::Spent => EndCause::HostEnded,
            HostEnd::Lost => EndCause::HostLost,
            HostEnd::Unhealthy => EndCause::HostUnhealthy,
            HostEnd::Drained => EndCause::HostDrained,
        };
        for game in self.games.keys() {
            self.gate.after(Effect::ToGame(*game, ToGame::Lost(self.id, cause)));
        }
    }

    fn close_if_empty(&mut self) {
        if self.is_over() && self.games.is_empty() && !self.gate.is_closed() {
            self.gate.after(Effect::Gone(ScopeId::Host(self.id)));
            self.gate.close();
        }
    }

    fn set_presence(&mut self, now: Time, presence: Presence) {
        // Registering is not enough: a host that is never ready is lost in the end.
        if self.presence == Presence::Present {
            self.away_since = now;
        }
        self.presence = presence;
        self.stand_all();
    }

    fn standing(&self) -> Standing {
        match self.presence {
            Presence::Present if self.is_over() => Standing::Away,
            Presence::Present if self.is_warned => Standing::Unhealthy,
            Presence::Present => Standing::Present,
            Presence::Away | Presence::Waiting => Standing::Away,
        }
    }

    /// Tells its Games how it stands: bad news at once, good news when it is durable.
    pub(super) fn stand_all(&mut self) {
        self.is_changed = true;
        let games: Vec<GameId> = self.games.keys().copied().collect();
        for game in games {
            self.stand(game);
        }
    }

    fn stand(&mut self, game: GameId) {
        self.standing_number += 1;
        let standing = self.standing();
        let stands = ToGame::Stands(self.id, self.standing_number, standing);
        let effect = Effect::ToGame(game, stands);
        if standing == Standing::Present {
            self.gate.after(effect);
        } else {
            self.gate.at_once(effect);
        }
    }

    pub(super) fn order(&mut self, order: HostOrder) {
        if self.presence == Presence::Present {
            self.gate.after(Effect::Order(self.id, self.lease, order));
        }
    }

    pub(super) fn order_now(&mut self, order: HostOrder) {
        self.gate.at_once(Effect::Order(self.id, self.lease, order));
    }

    fn answer(&mut self, ticket: u64, outcome: Result<Answer, Refusal>) {
        self.gate.after(Effect::Answer { ticket, outcome: Box::new(outcome) });
    }

    fn settle(&mut self) {
        if self.gate.is_closed() {
            return self.gate.settle(Vec::new());
        }
        // A host may run a thousand Games: one that comes or goes is told alone.
        if std::mem::take(&mut self.is_changed) || self.is_dirty {
            self.gate.after(Effect::HostSeen(Box::new(self.view())));
        } else {
            for game in &self.dirty_games {
                let runs = self.games.contains_key(game);
                self.gate.after(Effect::HostGame(self.id, *game, runs));
            }
        }
        let changes = super::row::changes(self);
        self.gate.settle(changes);
    }
}

fn check_ready(port: u16, log_paths: &[String], hooks_set: bool) -> Result<(), Refusal> {
    if !hooks_set {
        return Err(Refusal::HooksNotSet);
    }
    if !(1..=limits::PORT_MAX).contains(&port) {
        return Err(Refusal::Invalid { field: "port", must: "1 to 60000" });
    }
    if log_paths.len() > limits::LOG_PATHS_MAX {
        return Err(Refusal::Invalid { field: "log paths", must: "at most 16" });
    }
    let must = "1 to 1024 characters";
    log_paths.iter().try_for_each(|path| limits::text("log path", path, limits::NAME_MAX, must))
}
