//! The world of a seed: one clock, one queue of events, a directory that lives and dies, and
//! everybody around it.

mod faults;

use std::collections::BTreeMap;

use rejoin_core::id::{GameId, QueueId};
use rejoin_core::scope::ScopeId;
use rejoin_core::time::Time;
use rejoin_directory::catalogue::{AliasSpec, FleetSpec, Route};
use rejoin_directory::queue::{Destination, LatencyPolicy, PlacementEnd, PlacementView, QueueSpec};
use rejoin_directory::{
    Answer, Command, Directory, DirectoryInput, DirectoryOutput, Event as Told, Refusal,
};
use rejoin_testkit::parts::queue::Queue;
use rejoin_testkit::parts::rng::Rng;

use super::Event;
use super::books::{Books, Visit};
use super::client::NEW_VISIT;
use super::inspection::Inspector;
use super::knobs::Knobs;
use super::onlooker::Follower;
use super::process::Process;
use super::requests::Recent;
use super::seating::SeatWalk;
use crate::disk::Disk;

/// The fleets of every world.
pub const FLEETS: &[&str] = &["fleet-a", "fleet-b"];
/// Their locations.
pub const LOCATIONS: &[&str] = &["east", "west"];
/// The queues of every world.
pub const QUEUES: &[&str] = &["near", "any"];

/// How often in a row the directory may do what is due and have more due at the same instant, besides
/// once for each Game: a subscriber with little room is shown one Game at each wake.
const IN_VAIN_MAX: usize = 10;
/// Simulated time that an answer may take while the world is set up or looked at in the end.
const OWN_ANSWER_US: u64 = 60_000_000;
const EPOCH_MS: u64 = 1_700_000_000_000;

/// What an answer is for.
#[derive(Clone, Debug)]
pub enum Purpose {
    /// The world is being set up, or looked at in the end.
    Own,
    /// A process registers.
    Register(usize),
    /// A client looks for a Game.
    Search(usize),
    /// Somebody looks at a listing.
    Look,
    /// A subscription.
    Subscribe,
    /// To watch placements.
    Watch,
    /// A client asks for seats for a party.
    Reserve(usize, usize),
    /// Somebody looks at the seats of a Game.
    Seats(GameId),
    /// A step with a seat.
    Claim(usize),
    /// A step with a seat.
    Confirm(usize),
    /// A step with a seat.
    Abandon(usize),
    /// A step with a seat.
    Complete(usize),
    /// A step with a seat.
    Release(usize),
    /// A step with a seat.
    Extend(usize),
    /// A step with a seat, by its host.
    Accept(usize),
    /// A step with a seat, by its host.
    Remove(usize),
    /// A Game is made.
    Create,
    /// A placement is started.
    Place(usize),
    /// A key comes again with its request.
    Again,
    /// This key comes with another request. If it is known, that must be refused.
    Other(String),
    /// A seat is used by somebody else: that must be refused.
    Cheat,
    /// A page of the searcher.
    Walk,
    /// How a Game is at the instant of a page.
    Inspect(GameId),
    /// All seats of a Game at the instant of a page.
    InspectSeats(GameId),
    /// Some seats of a Game in pages, at the same instant.
    WalkSeats(Box<SeatWalk>),
    /// Something is given back with its secret: that must not be refused for the secret.
    RightSecret,
    /// Something is given back with another secret: that must be refused.
    WrongSecret,
    /// Anything.
    Whatever,
}

impl Purpose {
    /// Whether it is a question of the checkers, which must not move crashes and fills no story.
    fn is_inspection(&self) -> bool {
        matches!(self, Self::Inspect(_) | Self::InspectSeats(_) | Self::WalkSeats(_))
    }
}

/// Everything there is.
pub struct World {
    /// The one source of chance.
    pub rng: Rng,
    /// What the seed decided in advance.
    pub knobs: Knobs,
    /// Microseconds since the beginning.
    pub now: u64,
    /// What is planned.
    pub queue: Queue<Event>,
    /// The directory; none while it is down.
    pub directory: Option<Directory>,
    /// What survives.
    pub disk: Disk,
    /// Which life of the directory this is.
    pub life: u64,
    boot_at: u64,
    wake_at: Option<u64>,
    /// How often in a row it was woken and wanted to be woken again at once.
    in_vain: usize,
    /// Outputs until it dies.
    crash_in: Option<u64>,
    /// Processes.
    pub processes: Vec<Process>,
    /// What everybody was told.
    pub books: Books,
    /// A subscriber.
    pub follower: Follower,
    /// Compares searches with brute force.
    pub inspector: Inspector,
    /// Requests with keys.
    pub recent: Vec<Recent>,
    asked: BTreeMap<u64, Purpose>,
    tickets: u64,
    /// Keys given out.
    pub keys: u64,
    /// Sessions given out.
    pub sessions: u64,
    /// No more faults.
    pub is_calm: bool,
    /// Events so far.
    pub steps: u64,
    /// Crashes so far.
    pub crashes: u64,
    /// Answers so far.
    pub answers: u64,
    own: Option<Result<Answer, Refusal>>,
    /// What has happened, as a hash.
    pub trace: blake3::Hasher,
    /// What has happened, in words, if somebody wants to read it.
    pub story: Option<Vec<String>>,
}

impl World {
    /// The world of a seed, before anything has happened.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let knobs = Knobs::draw(&mut rng);
        let disk = if knobs.has_engine { Disk::with_engine() } else { Disk::default() };
        Self {
            rng,
            now: 0,
            queue: Queue::default(),
            directory: None,
            disk,
            life: 0,
            boot_at: 0,
            wake_at: None,
            in_vain: 0,
            crash_in: None,
            processes: (0..knobs.processes).map(|it| Process::new(it, knobs.games_max)).collect(),
            books: Books::default(),
            follower: Follower::default(),
            inspector: Inspector::default(),
            recent: Vec::new(),
            asked: BTreeMap::new(),
            tickets: 0,
            keys: 0,
            sessions: 0,
            is_calm: false,
            steps: 0,
            crashes: 0,
            answers: 0,
            own: None,
            trace: blake3::Hasher::new(),
            story: None,
            knobs,
        }
    }

    /// Fleets, aliases and queues are made, then everybody begins.
    pub fn begin(&mut self) {
        self.boot();
        for name in FLEETS {
            let fleet = FleetSpec {
                name: (*name).to_owned(),
                locations: LOCATIONS.iter().map(|it| (*it).to_owned()).collect(),
                indexed: vec!["mode".to_owned()],
            };
            self.ask_own(Command::PutFleet(fleet));
        }
        let routes = [
            ("live", Route::Fleet(FLEETS[0].to_owned())),
            ("closed", Route::Terminal("closed".to_owned())),
        ];
        for (name, route) in routes {
            self.ask_own(Command::PutAlias(AliasSpec { name: name.to_owned(), route }));
        }
        for name in QUEUES {
            let to = |fleet: &&str| Destination { fleet: (*fleet).to_owned(), location: None };
            let lasts = Some(std::time::Duration::from_secs(3));
            let near = LatencyPolicy { max_ms: 50, lasts };
            let far = LatencyPolicy { max_ms: 500, lasts: None };
            let spec = QueueSpec {
                name: (*name).to_owned(),
                timeout: std::time::Duration::from_secs(self.rng.range(10, 40)),
                destinations: FLEETS.iter().map(to).collect(),
                latency: if *name == "near" { vec![near, far] } else { Vec::new() },
                ..QueueSpec::default()
            };
            self.ask_own(Command::PutQueue(spec));
        }
        for client in 0..self.knobs.clients {
            self.plan_soon(Event::Client(client));
        }
        for process in 0..self.processes.len() {
            self.plan_soon(Event::Process(process));
        }
        self.plan_soon(Event::Look);
        self.plan_soon(Event::Inspect);
        self.plan(self.knobs.fault_every_us, Event::Fault);
    }

    fn plan_soon(&mut self, event: Event) {
        let soon = self.rng.below(2_000_000);
        self.plan(soon, event);
    }

    /// Plans an event in a while.
    pub fn plan(&mut self, while_us: u64, event: Event) {
        self.queue.push(self.now + while_us, event);
    }

    /// People's clock.
    #[must_use]
    pub fn wall_ms(&self) -> u64 {
        EPOCH_MS + self.now / 1_000
    }

    /// One event; false when there is none.
    pub fn step(&mut self) -> bool {
        let Some((at, _, event)) = self.queue.pop() else { return false };
        self.now = self.now.max(at);
        self.steps += 1;
        self.tell(|| format!("{event:?}"));
        match event {
            Event::Client(client) => self.client_acts(client),
            Event::Process(process) => self.process_acts(process),
            Event::Order { process, lease, order } => self.obey(process, lease, order),
            Event::Input(input) => self.give(*input),
            Event::Look => self.look(),
            Event::Inspect => self.inspect(),
            Event::Committed { life, scope, owner, revision } if life == self.life => {
                self.committed(scope, owner, revision);
            }
            Event::Wake { life } if life == self.life && self.wake_at == Some(self.now) => {
                self.wake_at = None;
                self.wake();
            }
            Event::Committed { .. } | Event::Wake { .. } => {}
            Event::Fault => self.fault(),
            Event::Boot => self.boot(),
        }
        true
    }

    /// Notes something for the trace, and for whoever reads the story.
    pub fn tell(&mut self, what: impl FnOnce() -> String) {
        let line = what();
        self.trace.update(&self.now.to_le_bytes());
        self.trace.update(line.as_bytes());
        if let Some(story) = &mut self.story {
            story.push(format!("{:>12} {line}", self.now));
        }
    }

    /// A ticket for an answer.
    pub fn ticket(&mut self, purpose: Purpose) -> u64 {
        self.tickets += 1;
        self.asked.insert(self.tickets, purpose);
        self.tickets
    }

    /// Asks the directory, which takes a moment.
    pub fn ask(&mut self, purpose: Purpose, command: Command) {
        let ticket = self.ticket(purpose);
        self.post(DirectoryInput::Command { ticket, command });
    }

    /// Sends something to the directory.
    pub fn post(&mut self, input: DirectoryInput) {
        let while_us = self.rng.range(10, 5_000);
        self.plan(while_us, Event::Input(Box::new(input)));
    }

    /// Asks and waits for the answer, while the world goes on; none: a crash took it away.
    pub fn ask_own(&mut self, command: Command) -> Option<Result<Answer, Refusal>> {
        self.own = None;
        self.ask(Purpose::Own, command);
        let end = self.now + OWN_ANSWER_US;
        while self.own.is_none() && self.now < end && self.step() {}
        self.own.take()
    }

    /// Wakes the directory, which must not want to be woken for ever at one instant.
    fn wake(&mut self) {
        self.give(DirectoryInput::Wake);
        self.in_vain = if self.wake_at == Some(self.now) { self.in_vain + 1 } else { 0 };
        if self.in_vain > IN_VAIN_MAX + self.inspector.open_count() {
            self.books.fail("goes-to-sleep", format!("{} times at once", self.in_vain));
        }
    }

    /// The directory's own clock, which starts with it.
    pub(super) fn time(&self) -> Time {
        Time(self.now - self.boot_at)
    }

    fn give(&mut self, input: DirectoryInput) {
        let time = self.time();
        let Some(directory) = &mut self.directory else { return };
        directory.handle(time, input);
        self.drain();
    }

    /// Asks the directory at this instant, while its outputs are being carried out.
    pub(super) fn whisper(&mut self, purpose: Purpose, command: Command) {
        let (ticket, time) = (self.ticket(purpose), self.time());
        if let Some(directory) = &mut self.directory {
            directory.handle(time, DirectoryInput::Command { ticket, command });
        }
    }

    fn is_inspection(&self, output: &DirectoryOutput) -> bool {
        let DirectoryOutput::Answer { ticket, .. } = output else { return false };
        self.asked.get(ticket).is_some_and(Purpose::is_inspection)
    }

    /// Carries out what the directory decided; it may die between any two outputs.
    fn drain(&mut self) {
        loop {
            let Some(output) = self.directory.as_mut().and_then(Directory::next_output) else {
                break;
            };
            if self.is_inspection(&output) {
                self.carry(output);
                continue;
            }
            if let Some(left) = &mut self.crash_in {
                if *left == 0 {
                    return self.crash();
                }
                *left -= 1;
            }
            self.tell(|| format!("  {output:?}"));
            self.carry(output);
        }
        self.judge_inspection();
        let deadline = self.directory.as_ref().and_then(Directory::next_deadline);
        let Some(at) = deadline.map(|at| self.boot_at.saturating_add(at.0).max(self.now)) else {
            return;
        };
        if self.wake_at.is_none_or(|known| at < known) {
            self.wake_at = Some(at);
            self.queue.push(at, Event::Wake { life: self.life });
        }
    }

    fn carry(&mut self, output: DirectoryOutput) {
        match output {
            DirectoryOutput::Commit(batch) => {
                let (scope, owner, revision) = (batch.scope, batch.owner, batch.revision);
                let at = self.disk.submit(self.now, batch, self.knobs.commit_us, &mut self.rng);
                let life = self.life;
                self.queue.push(at, Event::Committed { life, scope, owner, revision });
                if let ScopeId::Game(game) = scope {
                    self.inspector.submitted(game);
                }
            }
            DirectoryOutput::Answer { ticket, outcome } => match self.asked.remove(&ticket) {
                Some(purpose) => self.answered(purpose, *outcome),
                None => self.books.fail("answered", format!("{ticket} twice: {outcome:?}")),
            },
            DirectoryOutput::ToHost { host, lease, order } => {
                let process = self.processes.iter().position(|process| process.host == host);
                let Some(process) = process else { return };
                let while_us = self.rng.range(10, 5_000);
                self.plan(while_us, Event::Order { process, lease, order });
            }
            DirectoryOutput::News { subscription, news } => self.hear(subscription, &news),
            DirectoryOutput::PlacementNews { news, .. } => self.placement_told(news.view()),
            DirectoryOutput::Cut { subscription, .. } => {
                if self.follower.watch == Some(subscription) {
                    self.follower.watch = None;
                }
                if self.follower.id == Some(subscription) {
                    self.follower = Follower::default();
                }
            }
            DirectoryOutput::Event(event) => self.heard(event),
        }
    }

    fn placement_told(&mut self, view: &PlacementView) {
        self.books.placement_told(view);
        self.books.check_fulfilled(view, self.knobs.config.attempts_max);
    }

    fn heard(&mut self, event: Told) {
        match event {
            Told::GameEnded { game, cause } => self.books.game_ended(game, cause),
            Told::PlacementEnded { queue, placement, end } => {
                let key = (QueueId::of(&queue), placement.clone());
                let book = self.books.placements.get(&key).cloned().unwrap_or_default();
                if let PlacementEnd::Fulfilled { game, seats } = &end {
                    let caller = book.party.and_then(|it| self.books.parties[it].caller.clone());
                    for (player, seat) in seats {
                        let (game, seat, player) = (*game, *seat, player.clone());
                        let (party, secret) = (book.party, book.secret.clone());
                        let is_locked = caller.is_some();
                        let visit = Visit { party, secret, is_locked, ..NEW_VISIT };
                        self.enter(Visit { game, seat, player, ..visit });
                    }
                }
                self.books.placement_ended(QueueId::of(&queue), placement, end);
            }
            _ => {}
        }
    }

    fn answered(&mut self, purpose: Purpose, outcome: Result<Answer, Refusal>) {
        self.answers += u64::from(!purpose.is_inspection());
        let (outcome, drawn) = match outcome {
            Ok(Answer::Made(answer, drawn)) => (Ok(*answer), drawn),
            outcome => (outcome, None),
        };
        let was_known = matches!(&purpose, Purpose::Other(key) if self.books.keys.contains(key));
        if matches!(purpose, Purpose::Create | Purpose::Place(_) | Purpose::Again) {
            match &outcome {
                Ok(Answer::Game(game)) => drop(self.books.keys.insert(game.spec.key.clone())),
                Ok(Answer::Placement(view)) => drop(self.books.keys.insert(view.id.clone())),
                _ => {}
            }
        }
        match &outcome {
            Ok(Answer::Game(game)) => self.books.game_told(game),
            Ok(Answer::Placement(view)) => {
                self.placement_told(view);
                let book = self.books.placements.entry((view.queue, view.id.clone())).or_default();
                book.secret = drawn.clone().or(book.secret.take());
            }
            Ok(Answer::Page(page)) => {
                page.games.iter().for_each(|game| self.books.game_told(game));
                self.check_listing(&page.games);
            }
            _ => {}
        }
        match (purpose, outcome) {
            (Purpose::Own, outcome) => self.own = Some(outcome),
            (Purpose::Register(index), outcome) => self.registered(index, outcome),
            (Purpose::Walk, outcome) => self.page_answered(outcome),
            (Purpose::InspectSeats(game), outcome) => self.seats_inspected(game, outcome),
            (Purpose::WalkSeats(walk), outcome) => self.seats_walked(*walk, outcome),
            (Purpose::Inspect(game), outcome) => self.game_inspected(game, outcome),
            (Purpose::Subscribe, outcome) => self.subscribed(outcome),
            (Purpose::Watch, outcome) => self.watched(outcome),
            (Purpose::Search(client), Ok(Answer::Page(page))) if !page.games.is_empty() => {
                let game = self.rng.pick(&page.games).id;
                self.reserve(client, game);
            }
            (Purpose::Reserve(client, party), Ok(Answer::Seats(seats))) => {
                self.seats_promised(client, party, &seats, drawn);
            }
            (Purpose::Reserve(_, party), Err(refusal)) => self.party_refused(party, &refusal),
            (Purpose::RightSecret, Err(Refusal::WrongSecret)) => {
                self.books.fail("secret-kept", "the right one was refused".to_owned());
            }
            (Purpose::WrongSecret, Ok(answer)) => {
                self.books.fail("secret-kept", format!("a wrong one opened {answer:?}"));
            }
            (Purpose::Seats(game), Ok(Answer::Seats(seats))) => {
                let wall = self.wall_ms();
                self.books.check_seats(game, &seats, wall);
            }
            (Purpose::Other(key), Ok(answer)) => {
                if was_known {
                    self.books.fail("one-effect", format!("{key}: {answer:?}"));
                }
            }
            (Purpose::Cheat, Ok(answer)) => self.books.fail("one-holder", format!("{answer:?}")),
            (purpose, outcome) => self.visit_answered(&purpose, &outcome),
        }
    }
}
