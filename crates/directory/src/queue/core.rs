//! The machine of one queue. A placement is committed before it is tried, each try before its Game
//! is made, and its end before anybody hears of it.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use rejoin_core::event::Event;
use rejoin_core::gate::Gate;
use rejoin_core::id::{GameId, HostId, QueueId, Revision, SeatId};
use rejoin_core::never;
use rejoin_core::scope::{Opened, ScopeId};
use rejoin_core::time::{Time, WallTime};

use super::{PlacementEnd, PlacementRequest, PlacementView, QueueSpec};
use crate::caller::{Caller, Lock, Payer, Secret};
use crate::command::Answer;
use crate::config::DirectoryConfig;
use crate::effect::{Effect, NewGame, ToGame, ToQueue};
use crate::game::{EndCause, GameSpec, Origin, SeatView};
use crate::mark::{Mark, hit};
use crate::moment::{Moment, later};
use crate::planted::{Bug, is_armed};
use crate::print::Print;
use crate::refusal::{Refusal, What};

/// One caller from outside has at most one in so many of the placements that may be under way.
const PAYER_SHARE: usize = 10;

/// What a queue is given.
#[derive(Debug)]
pub(crate) enum QueueInput {
    Put {
        ticket: u64,
        spec: QueueSpec,
    },
    Delete {
        ticket: u64,
    },
    Start {
        ticket: u64,
        request: Box<PlacementRequest>,
        caller: Caller,
        /// Drawn for the caller, should it not have chosen one.
        drawn: Secret,
    },
    Cancel {
        ticket: u64,
        placement: String,
        caller: Caller,
    },
    Describe {
        ticket: u64,
        placement: String,
    },
    Watch {
        ticket: u64,
        placement: Option<String>,
        payer: Option<Payer>,
    },
    /// A host for a placement.
    Found {
        placement: String,
        host: HostId,
        fleet: String,
        location: String,
        seats: Vec<SeatId>,
    },
    Mail(ToQueue),
    Committed(Revision),
    Wake,
}

/// One try to place.
#[derive(Clone, Debug)]
pub(crate) struct Try {
    pub host: HostId,
    pub fleet: String,
    pub location: String,
    pub seats: Vec<SeatId>,
}

/// A placement, under way or ended: its request, its present try and its end.
#[derive(Clone, Debug)]
pub(crate) struct Placement {
    pub request: PlacementRequest,
    pub print: Print,
    pub begun: WallTime,
    /// How many tries there were.
    pub attempts: u32,
    /// The one that is under way.
    pub current: Option<Try>,
    /// Hosts that failed it; not kept.
    pub tried: Vec<HostId>,
    /// What it takes to cancel it, and to give its seats back.
    pub lock: Lock,
    /// Who pays while it is under way; not kept.
    pub payer: Option<Payer>,
    pub end: Option<(PlacementEnd, WallTime)>,
}

impl Placement {
    /// Whether it wants a host.
    fn is_seeking(&self) -> bool {
        self.end.is_none() && self.current.is_none()
    }
}

/// State of one queue: its settings, its placements, and the timetables of those.
#[derive(Debug)]
pub(crate) struct QueueCore {
    pub(super) id: QueueId,
    config: Arc<DirectoryConfig>,
    pub(super) gate: Gate<Effect>,
    pub(super) spec: QueueSpec,
    pub(super) placements: BTreeMap<String, Placement>,
    /// Without a host, oldest first.
    pub(super) waiting: BTreeSet<(WallTime, String)>,
    /// When those of them that came with latencies accept more.
    pub(super) relaxes: BTreeSet<(WallTime, String)>,
    /// Under way, by their beginning: they all have the same time.
    pending: BTreeSet<(WallTime, String)>,
    /// How many of them each caller from outside has.
    paid: BTreeMap<Payer, usize>,
    /// Over, oldest first.
    ended: BTreeSet<(WallTime, String)>,
    pub(super) is_dirty: bool,
    pub(super) dirty: BTreeSet<String>,
    pub(super) now: Moment,
}

impl QueueCore {
    pub(crate) fn create(now: Moment, config: Arc<DirectoryConfig>, id: QueueId) -> Self {
        Self {
            id,
            config,
            gate: Gate::new(ScopeId::Queue(id)),
            spec: QueueSpec::default(),
            placements: BTreeMap::new(),
            waiting: BTreeSet::new(),
            relaxes: BTreeSet::new(),
            pending: BTreeSet::new(),
            paid: BTreeMap::new(),
            ended: BTreeSet::new(),
            is_dirty: false,
            dirty: BTreeSet::new(),
            now,
        }
    }

    /// A queue as it was kept: what was under way goes on.
    pub(crate) fn open(
        now: Moment,
        config: Arc<DirectoryConfig>,
        id: QueueId,
        opened: &Opened,
    ) -> Result<Self, String> {
        let mut queue = Self::create(now, config, id);
        queue.gate = Gate::opened(ScopeId::Queue(id), opened);
        super::row::read(&mut queue, opened)?;
        queue.gate.after(Effect::QueueSeen(id, Box::new(queue.spec.clone())));
        let found = queue.placements.iter();
        let found: Vec<(String, bool)> =
            found.map(|(name, it)| (name.clone(), it.end.is_none() && !it.is_seeking())).collect();
        for (name, is_tried) in found {
            queue.enter(&name);
            if is_tried {
                hit(Mark::PlacementRedriven);
                queue.make_game(&name);
            }
        }
        queue.settle();
        Ok(queue)
    }

    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub(crate) fn handle(&mut self, now: Moment, input: QueueInput) {
        self.now = now;
        match input {
            // Its deletion is at the store: new settings would be gone with it, a second deletion would be
            // answered by nobody, and whoever began to watch would wait for ever.
            QueueInput::Put { ticket, .. } if self.gate.is_closed() => {
                self.answer(ticket, Err(Refusal::Busy));
            }
            QueueInput::Delete { ticket } | QueueInput::Watch { ticket, .. }
                if self.gate.is_closed() =>
            {
                self.answer(ticket, Err(Refusal::NotFound(What::Queue)));
            }
            QueueInput::Put { ticket, spec } => {
                self.gate.after(Effect::QueueSeen(self.id, Box::new(spec.clone())));
                self.spec = spec;
                self.relax_all();
                self.is_dirty = true;
                self.answer(ticket, Ok(Answer::Done));
            }
            QueueInput::Delete { ticket } => self.delete(ticket),
            QueueInput::Start { ticket, request, caller, drawn } => {
                let outcome = self.start(*request, &caller, drawn);
                self.answer(ticket, outcome);
            }
            QueueInput::Cancel { ticket, placement, caller } => {
                let outcome = self.cancel(&placement, &caller);
                self.answer(ticket, outcome);
            }
            QueueInput::Describe { ticket, placement } => {
                let outcome = self.view(&placement);
                self.answer(ticket, outcome);
            }
            QueueInput::Watch { ticket, placement, payer } => self.watch(ticket, placement, payer),
            QueueInput::Found { placement, host, fleet, location, seats } => {
                self.found(&placement, Try { host, fleet, location, seats });
            }
            QueueInput::Mail(mail) => self.heed(mail),
            QueueInput::Committed(revision) => return self.gate.committed(revision),
            QueueInput::Wake => self.wake(),
        }
        self.settle();
    }

    pub(crate) fn next_output(&mut self) -> Option<Effect> {
        self.gate.next_effect()
    }

    /// When it wants to be woken.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        if self.gate.is_closed() {
            return None;
        }
        let end = self.pending.first().map(|(begun, _)| later(*begun, self.spec.timeout));
        let relaxed = self.relaxes.first().map(|(at, _)| *at);
        let forgotten = self.ended.first().map(|(at, _)| later(*at, self.config.retention));
        let walls = [end, relaxed, forgotten];
        walls.into_iter().flatten().min().map(|wall| self.now.time_of(wall))
    }

    pub(crate) fn spec(&self) -> &QueueSpec {
        &self.spec
    }

    /// A placement that wants a host, and how long it has waited.
    pub(crate) fn seeking(&self, placement: &str) -> Option<(&Placement, Duration)> {
        let found = self.placements.get(placement).filter(|it| it.is_seeking())?;
        let waited = Duration::from_millis(self.now.wall.0.saturating_sub(found.begun.0));
        Some((found, waited))
    }

    fn answer(&mut self, ticket: u64, outcome: Result<Answer, Refusal>) {
        self.gate.after(Effect::Answer { ticket, outcome: Box::new(outcome) });
    }

    fn view(&self, name: &str) -> Result<Answer, Refusal> {
        let view = self.seen(name).ok_or(Refusal::NotFound(What::Placement))?;
        Ok(Answer::Placement(Box::new(view)))
    }

    /// A placement as it is now. Only what is held until the next commit may carry it out.
    fn seen(&self, name: &str) -> Option<PlacementView> {
        let placement = self.placements.get(name)?;
        Some(PlacementView {
            queue: self.id,
            id: name.to_owned(),
            begun: placement.begun,
            attempts: placement.attempts,
            end: placement.end.as_ref().map(|(end, _)| end.clone()),
        })
    }

    /// What there is to see now, told in its order among all that is told of placements.
    fn watch(&mut self, ticket: u64, placement: Option<String>, payer: Option<Payer>) {
        let views: Vec<Arc<PlacementView>> = match &placement {
            Some(name) => self.seen(name).map(Arc::new).into_iter().collect(),
            None => {
                let names = self.pending.iter().map(|(_, name)| name);
                names.filter_map(|name| self.seen(name)).map(Arc::new).collect()
            }
        };
        if placement.is_some() && views.is_empty() {
            return self.answer(ticket, Err(Refusal::NotFound(What::Placement)));
        }
        let queue = self.id;
        self.gate.after(Effect::Watched { ticket, queue, placement, views, payer });
    }

    fn delete(&mut self, ticket: u64) {
        if !self.pending.is_empty() {
            return self.answer(ticket, Err(Refusal::InUse(What::Queue)));
        }
        self.answer(ticket, Ok(Answer::Done));
        self.gate.after(Effect::Gone(ScopeId::Queue(self.id)));
        self.gate.close();
    }

    fn start(
        &mut self,
        request: PlacementRequest,
        caller: &Caller,
        drawn: Secret,
    ) -> Result<Answer, Refusal> {
        request.check()?;
        let (name, print) = (request.id.clone(), request.print());
        if let Some(known) = self.placements.get(&name) {
            if known.print != print {
                hit(Mark::KeyReused);
                return Err(Refusal::KeyReused);
            }
            known.lock.check_again(caller)?;
            hit(Mark::PlacedAgain);
            return self.view(&name);
        }
        if self.gate.is_closed() {
            return Err(Refusal::NotFound(What::Queue));
        }
        if self.gate.waiting() >= self.config.uncommitted_max {
            return Err(Refusal::Busy);
        }
        let limit = self.config.placements_max;
        if self.pending.len() >= limit {
            return Err(Refusal::LimitReached { what: "placements", limit });
        }
        // One caller from outside leaves room for the others.
        let (payer, share) = (caller.payer, limit.div_ceil(PAYER_SHARE));
        if payer.is_some_and(|payer| self.paid.get(&payer).is_some_and(|count| *count >= share)) {
            let what = "placements of this key and address";
            return Err(Refusal::LimitReached { what, limit: share });
        }
        let (lock, secret) = Lock::new(caller, drawn);
        hit(Mark::PlacementStarted);
        let placement = Placement {
            request,
            print,
            begun: self.now.wall,
            attempts: 0,
            current: None,
            tried: Vec::new(),
            lock,
            payer,
            end: None,
        };
        self.placements.insert(name.clone(), placement);
        self.enter(&name);
        self.dirty.insert(name.clone());
        self.gate.after(Effect::Seek(self.id, name.clone()));
        let answer = self.view(&name)?;
        Ok(if caller.is_outside { Answer::Made(Box::new(answer), secret) } else { answer })
    }

    fn cancel(&mut self, name: &str, caller: &Caller) -> Result<Answer, Refusal> {
        let placement = self.placements.get(name).ok_or(Refusal::NotFound(What::Placement))?;
        placement.lock.check_release(caller)?;
        match &placement.end {
            None => self.end(name, PlacementEnd::Cancelled),
            Some((PlacementEnd::Cancelled, _)) => {}
            Some(_) => return Err(Refusal::PlacementEnded),
        }
        self.view(name)
    }

    fn found(&mut self, name: &str, attempt: Try) {
        // Whoever found the host has asked for the placement in the same step.
        let Some(placement) = self.placements.get_mut(name).filter(|it| it.is_seeking()) else {
            return never!("a host was found for {name}, which wants none");
        };
        placement.attempts += 1;
        placement.current = Some(attempt);
        let begun = placement.begun;
        self.wait_no_more(begun, name);
        self.dirty.insert(name.to_owned());
        self.make_game(name);
    }

    /// Has the Game of the current try made. It may be made already.
    fn make_game(&mut self, name: &str) {
        let placement = self.placements.get(name);
        let Some((placement, current)) = placement.and_then(|it| Some((it, it.current.as_ref()?)))
        else {
            return never!("a Game is made for {name}, which has no host");
        };
        let attempt = placement.attempts;
        let key = format!("{}/{name}/{attempt}", self.spec.name);
        let spec = GameSpec {
            fleet: current.fleet.clone(),
            location: current.location.clone(),
            key,
            ..placement.request.game.clone()
        };
        let party = current.seats.iter().copied().zip(placement.request.party.iter().cloned());
        let new = NewGame {
            id: GameId::of(&spec.fleet, &spec.key),
            print: spec.print(),
            host: current.host,
            origin: Some(Origin { queue: self.id, placement: name.to_owned(), attempt }),
            party: party.collect(),
            lock: placement.lock,
            spec,
        };
        self.gate.after(Effect::Create(Box::new(new)));
    }

    fn pay_no_more(&mut self, payer: Payer) {
        let Some(count) = self.paid.get_mut(&payer) else {
            return never!("a placement has a payer who pays for none");
        };
        *count = count.saturating_sub(1);
        if *count == 0 {
            self.paid.remove(&payer);
        }
    }

    fn heed(&mut self, mail: ToQueue) {
        match mail {
            ToQueue::Placed { placement, attempt, game, seats } => {
                self.placed(&placement, attempt, game, &seats);
            }
            ToQueue::Failed { placement, attempt, game, cause } => {
                self.failed(&placement, attempt, cause);
                self.gate.after(Effect::ToGame(game, ToGame::Acknowledged { attempt }));
            }
        }
    }

    /// The placement whose present try this is; none: it is about an earlier one, or the placement has
    /// ended, and nothing follows from it.
    fn trying(&mut self, name: &str, attempt: u32) -> Option<&mut Placement> {
        self.placements.get_mut(name).filter(|it| {
            let is_its = it.attempts == attempt || is_armed(Bug::StaleAttempt);
            it.end.is_none() && is_its && it.current.is_some()
        })
    }

    fn placed(&mut self, name: &str, attempt: u32, game: GameId, seats: &[SeatView]) {
        if self.trying(name, attempt).is_some() {
            let seats = seats.iter().map(|seat| (seat.player.clone(), seat.id)).collect();
            self.end(name, PlacementEnd::Fulfilled { game, seats });
        }
        let end = self.placements.get(name).and_then(|it| it.end.as_ref());
        let is_ours =
            matches!(end, Some((PlacementEnd::Fulfilled { game: ours, .. }, _)) if *ours == game);
        let word = if is_ours {
            ToGame::Acknowledged { attempt }
        } else {
            hit(Mark::PlacedTooLate);
            ToGame::Unwanted { attempt }
        };
        self.gate.after(Effect::ToGame(game, word));
    }

    fn failed(&mut self, name: &str, attempt: u32, cause: EndCause) {
        if let Some(placement) = self.trying(name, attempt) {
            let begun = placement.begun;
            let failed = placement.current.take().map(|current| current.host);
            placement.tried.extend(failed);
            self.dirty.insert(name.to_owned());
            if attempt >= self.config.attempts_max {
                return self.end(name, PlacementEnd::Failed(cause));
            }
            hit(Mark::PlacementRetried);
            self.wait_for_host(begun, name);
            self.gate.after(Effect::Seek(self.id, name.to_owned()));
        }
    }

    /// The end, once.
    fn end(&mut self, name: &str, end: PlacementEnd) {
        let Some(placement) = self.placements.get_mut(name).filter(|it| it.end.is_none()) else {
            return never!("{name} ends as {end:?} and is not under way");
        };
        hit(match end {
            PlacementEnd::Fulfilled { .. } => Mark::PlacementFulfilled,
            PlacementEnd::TimedOut => Mark::PlacementTimedOut,
            PlacementEnd::Cancelled => Mark::PlacementCancelled,
            PlacementEnd::Failed(_) => Mark::PlacementFailed,
        });
        let key = (placement.begun, name.to_owned());
        let attempt = placement.attempts;
        let unwanted =
            placement.current.take().filter(|_| !matches!(end, PlacementEnd::Fulfilled { .. }));
        placement.end = Some((end.clone(), self.now.wall));
        let payer = placement.payer.take();
        self.wait_no_more(key.0, name);
        if let Some(payer) = payer {
            self.pay_no_more(payer);
        }
        self.pending.remove(&key);
        self.ended.insert((self.now.wall, name.to_owned()));
        self.dirty.insert(name.to_owned());
        if let Some(current) = unwanted {
            let key = format!("{}/{name}/{attempt}", self.spec.name);
            let game = GameId::of(&current.fleet, &key);
            self.gate.after(Effect::ToGame(game, ToGame::Unwanted { attempt }));
        }
        self.forget();
        let (queue, placement) = (self.spec.name.clone(), name.to_owned());
        self.gate.after(Effect::Event(Event::PlacementEnded { queue, placement, end }));
    }

    fn wake(&mut self) {
        while let Some((begun, name)) = self.pending.first().cloned() {
            if self.now.wall < later(begun, self.spec.timeout) {
                break;
            }
            self.end(&name, PlacementEnd::TimedOut);
        }
        self.forget();
        self.seek_relaxed();
    }

    /// Forgets what ended long ago, and the oldest of too many.
    fn forget(&mut self) {
        while let Some((at, name)) = self.ended.first().cloned() {
            let is_old = later(at, self.config.retention) <= self.now.wall;
            if !is_old && self.ended.len() <= self.config.placements_kept_max {
                break;
            }
            hit(Mark::PlacementForgotten);
            self.ended.pop_first();
            self.placements.remove(&name);
            self.dirty.insert(name);
        }
    }

    /// Enters a placement in the timetables.
    fn enter(&mut self, name: &str) {
        let Some(placement) = self.placements.get(name) else {
            return never!("{name} is entered in the timetables and is no placement");
        };
        let key = (placement.begun, name.to_owned());
        match &placement.end {
            Some((_, at)) => drop(self.ended.insert((*at, key.1))),
            None => {
                let (is_waiting, payer) = (placement.current.is_none(), placement.payer);
                if let Some(payer) = payer {
                    *self.paid.entry(payer).or_default() += 1;
                }
                self.pending.insert(key.clone());
                if is_waiting {
                    self.wait_for_host(key.0, name);
                }
            }
        }
    }

    fn settle(&mut self) {
        if self.gate.is_closed() {
            return self.gate.settle(Vec::new());
        }
        let seen: Vec<PlacementView> = self.dirty.iter().filter_map(|it| self.seen(it)).collect();
        for view in seen {
            self.gate.after(Effect::PlacementSeen(Arc::new(view)));
        }
        let changes = super::row::changes(self);
        self.gate.settle(changes);
    }
}
