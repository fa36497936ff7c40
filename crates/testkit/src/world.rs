//! The world: one clock, one queue of events, and everybody in it. Each event is one input to one
//! machine, which is then drained; what it gives out becomes events again.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use rejoin_core::agent::AgentInput;
use rejoin_core::event::Event as Told;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer, Command, HubInput, SessionView};
use rejoin_core::id::{SessionId, ZoneId};
use rejoin_core::time::{Time, WallTime};
use rejoin_core::zone::{Zone, ZoneConfig, ZoneInput};

use crate::client::Fake;
use crate::event::Event;
use crate::lines::Line;
use crate::node::Node;
use crate::parts::queue::{Planned, Queue};
use crate::parts::rng::Rng;
use crate::setup::Setup;

/// Things that happened which are printed when a test fails.
const STORY_MAX: usize = 30;
/// Events in one step before the machines count as never coming to rest.
const EVENTS_PER_STEP_MAX: u64 = 5_000_000;
/// Steps before something counts as never happening.
const PATIENCE_STEPS: u64 = 2_000;

/// A whole world: a server with the game's zones, clients, a network and a disk.
pub struct World {
    pub(crate) setup: Setup,
    pub(crate) rng: Rng,
    /// Microseconds since the beginning.
    pub(crate) now: u64,
    pub(crate) queue: Queue<Event>,
    pub(crate) node: Node,
    pub(crate) lines: BTreeMap<u64, Line>,
    pub(crate) last_line: u64,
    pub(crate) clients: Vec<Fake>,
    pub(crate) events: Vec<Told>,
    pub(crate) callbacks: Vec<(SessionId, u64)>,
    pub(crate) answers: BTreeMap<u64, Answer>,
    pub(crate) agents_asked: BTreeMap<u64, SessionId>,
    pub(crate) last_ticket: u64,
    seed: u64,
    steps: u64,
    trace: blake3::Hasher,
    story: VecDeque<String>,
}

impl World {
    /// A world with one kind of zone; [`Setup`] adds to it, and its `start` begins.
    pub fn of<Z: Zone>(kind: &str, config: ZoneConfig, make: impl Fn() -> Z + 'static) -> Setup {
        Setup::default().zone(kind, config, make)
    }

    pub(crate) fn begin(setup: Setup, seed: u64) -> Self {
        let mut world = Self {
            setup,
            rng: Rng::new(seed),
            now: 1_000,
            queue: Queue::default(),
            node: Node::default(),
            lines: BTreeMap::new(),
            last_line: 0,
            clients: Vec::new(),
            events: Vec::new(),
            callbacks: Vec::new(),
            answers: BTreeMap::new(),
            agents_asked: BTreeMap::new(),
            last_ticket: 0,
            seed,
            steps: 0,
            trace: blake3::Hasher::new(),
            story: VecDeque::new(),
        };
        world.recover();
        world
    }

    /// One tick: everything happens that is due in it.
    pub fn step(&mut self) {
        self.steps += 1;
        let wall = WallTime(1_700_000_000_000 + self.now / 1_000);
        self.hub(HubInput::Wall(wall));
        self.run_to(self.now + micros(self.setup.tick).max(1));
    }

    /// Many ticks: this much time passes.
    pub fn run(&mut self, time: Duration) {
        let end = self.now + micros(time);
        while self.now < end {
            self.step();
        }
    }

    /// Ticks until something holds.
    ///
    /// # Panics
    /// When it never does, in 2,000 ticks.
    pub fn run_until(&mut self, what: &str, mut holds: impl FnMut(&mut Self) -> bool) {
        for _ in 0..PATIENCE_STEPS {
            if holds(self) {
                return;
            }
            self.step();
        }
        self.fail(&format!("never: {what}"));
    }

    /// The clock jumps, for everybody: the machine was asleep. What was due meanwhile happens with
    /// the next step, input before deadlines.
    pub fn jump(&mut self, time: Duration) {
        self.tell(|_| format!("the clock jumps by {time:?}"));
        self.now += micros(time);
        self.queue.catch_up(self.now);
    }

    /// The server stands still for so long, while time passes for everybody else.
    pub fn stall(&mut self, time: Duration) {
        self.tell(|_| format!("the server stalls for {time:?}"));
        let end = self.now + micros(time);
        self.node.stalled_until = end;
        self.run_to(end);
    }

    /// The server's process is gone, with everything that was not committed. What was on its way to
    /// the disk may have landed or not. Clients try to come back.
    pub fn crash(&mut self) {
        self.tell(|_| "crash".to_owned());
        self.node.kill(&mut self.rng);
        self.queue.forget_servers();
        self.agents_asked.clear();
        self.lose_server();
    }

    /// The server starts again from its disk, and time passes until it is ready.
    pub fn recover(&mut self) {
        if self.node.hub.is_some() {
            return;
        }
        self.tell(|_| "boot".to_owned());
        let damaged = self.node.boot(self.now, &self.setup, &mut self.rng);
        if !damaged.is_empty() {
            self.fail(&format!("the disk cannot be read: {damaged:?}"));
        }
        self.drain_hub();
        for _ in 0..PATIENCE_STEPS {
            if self.node.hub.as_ref().is_some_and(|hub| hub.is_ready()) {
                return;
            }
            self.run_to(self.now + 1_000);
        }
        self.fail("the server never became ready");
    }

    /// Carries out a command of the hub, as an embedding game does, and gives its answer. Time passes
    /// until there is one.
    ///
    /// # Panics
    /// When the server is down.
    pub fn command(&mut self, command: Command) -> Answer {
        if self.node.hub.is_none() {
            self.fail("a command while the server is down");
        }
        self.tell(|_| format!("command {command:?}"));
        self.last_ticket += 1;
        let ticket = self.last_ticket;
        self.hub(HubInput::Command { ticket, command });
        loop {
            if let Some(answer) = self.answers.remove(&ticket) {
                return answer;
            }
            match self.queue.next_at() {
                Some(at) => self.run_to(at.max(self.now)),
                None => self.fail("a command that is never answered"),
            }
        }
    }

    /// All sessions, in the order of their ids; none while the server is down.
    #[must_use]
    pub fn sessions(&self) -> Vec<SessionView> {
        let Some(hub) = &self.node.hub else { return Vec::new() };
        hub.sessions().filter_map(|(id, _)| hub.view(id)).collect()
    }

    /// One session.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<SessionView> {
        self.node.hub.as_ref()?.view(id)
    }

    /// How many sessions are connected; held ones are not counted.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.node.hub.as_ref().map_or(0, |hub| hub.active_count())
    }

    /// The zones that are open, and how many members each has.
    #[must_use]
    pub fn zones(&self) -> Vec<(ZoneId, ZoneName, usize)> {
        let zones = self.node.zones.iter();
        zones
            .map(|(id, room)| (*id, room.spec.name.clone(), room.machine.counts().members))
            .collect()
    }

    /// What happened on the server since it was last asked.
    pub fn events(&mut self) -> Vec<Told> {
        std::mem::take(&mut self.events)
    }

    /// Disconnect callbacks that ran since it was last asked.
    pub fn callbacks(&mut self) -> Vec<(SessionId, u64)> {
        std::mem::take(&mut self.callbacks)
    }

    /// Whether the server runs.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.node.hub.is_some()
    }

    /// How long this world has been going on.
    #[must_use]
    pub fn age(&self) -> Duration {
        Duration::from_micros(self.now)
    }

    /// How many ticks there have been.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// A hash of everything that happened: equal for equal seeds and tests.
    #[must_use]
    pub fn trace(&self) -> String {
        self.trace.finalize().to_hex().to_string()
    }

    pub(crate) fn plan(&mut self, in_us: u64, event: Event) {
        self.queue.push(self.now + in_us, event);
    }

    /// Notes what happens, for whoever must find out why a test failed.
    pub(crate) fn tell(&mut self, text: impl FnOnce(&Self) -> String) {
        let mut text = text(self);
        if let Some((end, _)) = text.char_indices().nth(200) {
            text.truncate(end);
        }
        self.trace.update(text.as_bytes());
        if self.story.len() == STORY_MAX {
            self.story.pop_front();
        }
        self.story.push_back(format!("{:>9}.{:03} ms  {text}", self.now / 1_000, self.now % 1_000));
    }

    /// # Panics
    /// Always: the test has failed, and says where.
    pub(crate) fn fail(&self, text: &str) -> ! {
        panic!("{text} ({})", self.place())
    }

    fn place(&self) -> String {
        format!("seed {}, step {}, {} ms", self.seed, self.steps, self.now / 1_000)
    }

    fn run_to(&mut self, end: u64) {
        let mut events = 0;
        while self.queue.next_at().is_some_and(|at| at <= end) {
            let Some((at, order, event)) = self.queue.pop() else { break };
            self.now = self.now.max(at);
            if event.is_servers() {
                if self.node.hub.is_none() {
                    continue;
                }
                if self.node.stalled_until > self.now {
                    self.queue.put_off(self.node.stalled_until, order, event);
                    continue;
                }
            }
            events += 1;
            if events > EVENTS_PER_STEP_MAX {
                self.fail("the machines never come to rest");
            }
            self.trace.update(&self.now.to_le_bytes());
            self.happen(order, event);
        }
        self.now = self.now.max(end);
    }

    fn happen(&mut self, order: u64, event: Event) {
        match event {
            Event::ServerOpened { link } => self.server_opened(link),
            Event::ClientOpened { link } => self.client_opened(link),
            Event::Up { link, frame } => self.up(order, link, frame),
            Event::Down { link, frame } => self.down(link, frame),
            Event::ServerClosed { link } => self.server_closed(link),
            Event::ClientClosed { link, code } => self.client_closed(link, code),
            Event::Hub(input) => self.hub(*input),
            Event::ToHub { zone, owner, message } => {
                self.hub(HubInput::FromZone(zone, owner, *message));
            }
            Event::ToZone { zone, owner, message } => {
                self.zone(zone, ZoneInput::FromHub(owner, *message));
            }
            Event::ConnectionsWake => self.wake_connections(),
            Event::OpenZone(spec) => {
                let (id, name) = (spec.id, spec.name.clone());
                if !self.node.open_zone(self.now, *spec, &self.setup, &mut self.rng) {
                    self.fail(&format!("no game code for the kind {:?}", name.kind));
                }
                self.drain_zone(id);
            }
            Event::Committed { scope, owner, revision } => self.committed(scope, owner, revision),
            Event::JobDone { zone, owner, job, result } => {
                if self.node.owner(zone) == Some(owner) {
                    self.zone(zone, ZoneInput::JobDone(job, result));
                }
            }
            Event::Told { session, delivery } => {
                self.tell(|_| format!("session {session} is told {delivery:?}"));
                self.feed_agent(session, AgentInput::Told(delivery));
            }
            Event::Refused { session, code } => {
                self.feed_agent(session, AgentInput::Refused(code));
            }
            Event::HubWake => {
                self.node.hub_wake = None;
                self.hub(HubInput::Wake);
            }
            Event::ZoneWake { zone } => {
                if let Some(room) = self.node.zones.get_mut(&zone) {
                    room.wake = None;
                    self.zone(zone, ZoneInput::Wake);
                }
            }
            Event::AgentWake { session } => {
                if let Some(played) = self.node.agents.get_mut(&session) {
                    played.wake = None;
                    self.feed_agent(session, AgentInput::Wake);
                }
            }
            Event::ClientWake { client } => self.wake_client(client),
        }
    }

    /// The server's clock.
    #[must_use]
    pub fn server_time(&self) -> Time {
        self.node.time(self.now)
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("the test's world failed at {}; the last that happened:", self.place());
            for line in &self.story {
                eprintln!("  {line}");
            }
        }
    }
}

fn micros(while_: Duration) -> u64 {
    rejoin_core::time::micros(while_)
}
