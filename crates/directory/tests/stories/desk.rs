//! The stage of the plays: a directory, a store in memory, and everything that was said.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::id::{GameId, HostId, OwnerEpoch, SeatId, SessionId};
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::time::{Time, WallTime};
use rejoin_directory::catalogue::FleetSpec;
use rejoin_directory::game::{GameSpec, GameView, Guest, Holder, SeatView};
use rejoin_directory::host::{HostOrder, HostWord, Registration};
use rejoin_directory::queue::PlacementNews;
use rejoin_directory::search::{CutCause, News, Page, SearchRequest};
use rejoin_directory::{
    Answer, Command, Directory, DirectoryConfig, DirectoryInput, DirectoryOutput, Event, Recovered,
    Refusal, Target,
};
use rejoin_store::{Memory, Outcome, Store};
use std::sync::Arc;

pub const FLEET: &str = "fleet-1";
const WALL: u64 = 1_700_000_000_000;

/// A host's process.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Process {
    pub host: HostId,
    pub lease: OwnerEpoch,
}

pub struct Desk {
    pub directory: Directory,
    pub config: DirectoryConfig,
    pub store: Memory,
    pub now: Time,
    tickets: u64,
    pub answers: BTreeMap<u64, Result<Answer, Refusal>>,
    pub orders: Vec<(Process, HostOrder)>,
    pub news: Vec<(u64, News)>,
    pub placed: Vec<(u64, PlacementNews)>,
    pub cuts: Vec<(u64, CutCause)>,
    pub events: Vec<Event>,
    /// Commits wait here while the store is slow.
    pub slow: Option<VecDeque<Batch>>,
}

impl Desk {
    /// A directory with one fleet at two places, which declares the property `mode`.
    pub fn new() -> Self {
        Self::with(DirectoryConfig::default())
    }

    pub fn with(config: DirectoryConfig) -> Self {
        let mut desk = Self::empty(config);
        desk.fleet(FLEET);
        desk
    }

    fn empty(config: DirectoryConfig) -> Self {
        let mut store = Memory::default();
        let recovered = recover(&mut store);
        let (directory, _) =
            Directory::open(Time::ZERO, WallTime(WALL), config.clone(), [7; 32], recovered)
                .unwrap();
        Self {
            directory,
            config,
            store,
            now: Time::ZERO,
            tickets: 0,
            answers: BTreeMap::new(),
            orders: Vec::new(),
            news: Vec::new(),
            placed: Vec::new(),
            cuts: Vec::new(),
            events: Vec::new(),
            slow: None,
        }
    }

    /// The process is killed and starts again. What waited for the store is lost.
    pub fn crash(&mut self) {
        self.slow = None;
        let recovered = recover(&mut self.store);
        let wall = WallTime(WALL + self.now.as_millis());
        let (directory, damaged) =
            Directory::open(self.now, wall, self.config.clone(), [8; 32], recovered).unwrap();
        assert_eq!(damaged, []);
        self.directory = directory;
        self.drain();
    }

    /// Gives an input, and wakes the directory for as long as it wants that now.
    pub fn give(&mut self, input: DirectoryInput) {
        self.put(input);
        self.step();
    }

    /// Wakes the directory for as long as it wants that now.
    fn step(&mut self) {
        while self.directory.next_deadline().is_some_and(|at| at <= self.now) {
            self.put(DirectoryInput::Wake);
        }
    }

    /// Gives an input and nothing else: what takes several steps has not begun.
    pub fn put(&mut self, input: DirectoryInput) {
        self.directory.handle(self.now, input);
        self.drain();
    }

    fn drain(&mut self) {
        while let Some(output) = self.directory.next_output() {
            match output {
                DirectoryOutput::Commit(batch) => match &mut self.slow {
                    Some(waiting) => {
                        let is_only = waiting.iter().all(|other| other.scope != batch.scope);
                        assert!(is_only, "two batches of {:?} under way", batch.scope);
                        waiting.push_back(batch);
                    }
                    None => self.commit(&batch),
                },
                DirectoryOutput::Answer { ticket, outcome } => {
                    assert!(self.answers.insert(ticket, *outcome).is_none(), "answered twice");
                }
                DirectoryOutput::ToHost { host, lease, order } => {
                    self.orders.push((Process { host, lease }, order));
                }
                DirectoryOutput::News { subscription, news } => {
                    self.news.push((subscription, news));
                }
                DirectoryOutput::PlacementNews { subscription, news } => {
                    self.placed.push((subscription, news));
                }
                DirectoryOutput::Cut { subscription, cause } => {
                    self.cuts.push((subscription, cause));
                }
                DirectoryOutput::Event(event) => self.events.push(event),
            }
        }
    }

    fn commit(&mut self, batch: &Batch) {
        assert_eq!(self.store.apply(batch), Outcome::Committed, "{batch:?}");
        let committed = DirectoryInput::Committed(batch.scope, batch.revision);
        self.directory.handle(self.now, committed);
        self.drain();
    }

    /// From now on the store answers only when it is told to.
    pub fn slow_store(&mut self) {
        self.slow = Some(VecDeque::new());
    }

    /// The store commits so many of the batches that wait; says how many there were.
    pub fn commit_some(&mut self, count: usize) -> usize {
        let mut done = 0;
        while done < count {
            let Some(batch) = self.slow.as_mut().and_then(VecDeque::pop_front) else { break };
            self.commit(&batch);
            done += 1;
        }
        self.step();
        done
    }

    /// Lets time pass, waking the directory whenever it wants.
    pub fn pass(&mut self, while_: Duration) {
        let end = self.now.after(while_);
        while let Some(at) = self.directory.next_deadline().filter(|at| *at <= end) {
            self.now = self.now.max(at);
            self.give(DirectoryInput::Wake);
        }
        self.now = end;
    }

    /// Asks without waiting.
    pub fn send(&mut self, command: Command) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        self.give(DirectoryInput::Command { ticket, command });
        ticket
    }

    /// Asks without waiting and without a wake.
    pub fn begin(&mut self, command: Command) -> u64 {
        self.tickets += 1;
        let ticket = self.tickets;
        self.put(DirectoryInput::Command { ticket, command });
        ticket
    }

    pub fn ask(&mut self, command: Command) -> Result<Answer, Refusal> {
        let ticket = self.send(command);
        self.answers.remove(&ticket).expect("an answer")
    }

    pub fn fleet(&mut self, name: &str) {
        let fleet = FleetSpec {
            name: name.to_owned(),
            locations: vec!["east".to_owned(), "west".to_owned()],
            indexed: vec!["mode".to_owned()],
        };
        assert_eq!(self.ask(Command::PutFleet(fleet)), Ok(Answer::Done));
    }

    pub fn register(&mut self, registration: Registration) -> Process {
        match self.ask(Command::Register(registration)) {
            Ok(Answer::Host(view)) => Process { host: view.id, lease: view.lease },
            other => panic!("{other:?}"),
        }
    }

    /// A host with room for ten Games, ready.
    pub fn host(&mut self, name: &str) -> Process {
        let process = self.register(registration(name));
        self.ready(process, &[]);
        process
    }

    pub fn ready(&mut self, process: Process, games: &[GameId]) {
        let games = games.to_vec();
        let word = HostWord::Ready { port: 7777, log_paths: Vec::new(), hooks_set: true, games };
        self.say(process, word);
    }

    pub fn say(&mut self, process: Process, word: HostWord) {
        let Process { host, lease } = process;
        self.give(DirectoryInput::HostSaid { host, lease, word });
    }

    pub fn leave(&mut self, process: Process) {
        let Process { host, lease } = process;
        self.give(DirectoryInput::HostLeft { host, lease });
    }

    pub fn create(&mut self, spec: GameSpec) -> Result<Arc<GameView>, Refusal> {
        let target = Target::Fleet(FLEET.to_owned());
        match self.ask(Command::Create { target, spec })? {
            Answer::Game(view) => Ok(view),
            other => panic!("{other:?}"),
        }
    }

    /// A Game with four seats that runs on this host.
    pub fn game(&mut self, process: Process, key: &str) -> GameId {
        self.game_of(process, spec(key))
    }

    pub fn game_of(&mut self, process: Process, spec: GameSpec) -> GameId {
        let view = self.create(spec).unwrap();
        assert_eq!(view.host, process.host);
        self.say(process, HostWord::Began(view.id, Ok(())));
        view.id
    }

    pub fn view(&mut self, game: GameId) -> Arc<GameView> {
        match self.ask(Command::DescribeGame(game)) {
            Ok(Answer::Game(view)) => view,
            other => panic!("{other:?}"),
        }
    }

    pub fn seats(&mut self, game: GameId) -> Vec<SeatView> {
        seats(self.ask(Command::ListSeats(game))).unwrap()
    }

    pub fn reserve(&mut self, game: GameId, players: &[&str]) -> Result<Vec<SeatView>, Refusal> {
        self.reserve_as(game, players, "")
    }

    pub fn reserve_as(
        &mut self,
        game: GameId,
        players: &[&str],
        key: &str,
    ) -> Result<Vec<SeatView>, Refusal> {
        let (guests, key) = (guests(players), key.to_owned());
        seats(self.ask(Command::Reserve { game, guests, key, hold: None }))
    }

    /// A player who is in.
    pub fn seat(&mut self, game: GameId, player: &str, session: u64) -> SeatId {
        let seat = self.reserve(game, &[player]).unwrap()[0].id;
        let holder = holder(session);
        self.claim(game, seat, player, holder).unwrap();
        self.ask(Command::Confirm { game, seat, holder }).unwrap();
        seat
    }

    pub fn claim(
        &mut self,
        game: GameId,
        seat: SeatId,
        player: &str,
        holder: Holder,
    ) -> Result<Answer, Refusal> {
        let player = player.to_owned();
        self.ask(Command::Claim { game, seat, player, holder })
    }

    pub fn search(&mut self, filter: &str, sort: &str) -> Result<Page, Refusal> {
        self.search_from(filter, sort, 100, "")
    }

    pub fn search_from(
        &mut self,
        filter: &str,
        sort: &str,
        limit: usize,
        cursor: &str,
    ) -> Result<Page, Refusal> {
        let request = SearchRequest {
            target: Target::Fleet(FLEET.to_owned()),
            location: None,
            filter: filter.to_owned(),
            sort: sort.to_owned(),
            limit,
            cursor: cursor.to_owned(),
        };
        match self.ask(Command::Search(request))? {
            Answer::Page(page) => Ok(page),
            other => panic!("{other:?}"),
        }
    }

    /// What this process was told, taken away.
    pub fn told(&mut self, process: Process) -> Vec<HostOrder> {
        let orders = std::mem::take(&mut self.orders);
        let (mine, others) = orders.into_iter().partition(|(to, _)| *to == process);
        self.orders = others;
        mine.into_iter().map(|(_, order)| order).collect()
    }
}

fn recover(store: &mut Memory) -> Recovered {
    let mut recovered =
        Recovered { catalogue: store.open_one(ScopeId::Catalogue).unwrap(), ..Default::default() };
    for scope in store.scopes(None).unwrap() {
        match scope {
            ScopeId::Game(id) => recovered.games.push((id, store.open_one(scope).unwrap())),
            ScopeId::Host(id) => recovered.hosts.push((id, store.open_one(scope).unwrap())),
            ScopeId::Queue(id) => recovered.queues.push((id, store.open_one(scope).unwrap())),
            _ => {}
        }
    }
    recovered
}

pub fn registration(name: &str) -> Registration {
    Registration {
        fleet: FLEET.to_owned(),
        name: name.to_owned(),
        location: "east".to_owned(),
        address: "127.0.0.1".to_owned(),
        games_max: 10,
        is_reusable: true,
    }
}

pub fn spec(key: &str) -> GameSpec {
    GameSpec { key: key.to_owned(), capacity: 4, ..GameSpec::default() }
}

pub fn guests(players: &[&str]) -> Vec<Guest> {
    let guests = players.iter();
    guests.map(|it| Guest { player: (*it).to_owned(), data: Bytes::new() }).collect()
}

pub fn holder(session: u64) -> Holder {
    Holder { session: SessionId(session), stay: 1 }
}

pub fn seats(answer: Result<Answer, Refusal>) -> Result<Vec<SeatView>, Refusal> {
    match answer? {
        Answer::Seats(seats) => Ok(seats),
        other => panic!("{other:?}"),
    }
}

pub fn secs(count: u64) -> Duration {
    Duration::from_secs(count)
}
