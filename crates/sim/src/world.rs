//! The world: one clock, one queue of events, and everybody in it. Each event is one input to one
//! machine, which is then drained; what it gives out becomes events again.

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin_core::hub::HubInput;
use rejoin_core::id::{GameId, PlayerId, ZoneId};
use rejoin_core::zone::ZoneInput;
use rejoin_testkit::parts::queue::{Planned, Queue};
use rejoin_testkit::parts::rng::Rng;

use crate::accounts::AccountBook;
use crate::check::{Sleeper, Watch};
use crate::disk::Disk;
use crate::event::Event;
use crate::game;
use crate::hostile::Hostile;
use crate::knobs::Knobs;
use crate::link::Link;
use crate::node::Node;
use crate::operator::Ban;
use crate::player::{Known, Player};

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
    /// The server.
    pub node: Node,
    /// The connections, by number.
    pub links: BTreeMap<u64, Link>,
    /// The last connection's number.
    pub last_link: u64,
    /// The honest.
    pub players: Vec<Player>,
    /// The others.
    pub hostiles: Vec<Hostile>,
    /// The onlookers.
    pub watch: Watch,
    /// No more faults: everybody shall come back.
    pub quiet: bool,
    /// Events so far.
    pub steps: u64,
    /// Frames carried, both ways.
    pub frames: u64,
    /// The last ticket of a command.
    pub tickets: u64,
    /// What has happened, as a hash.
    pub trace: blake3::Hasher,
    /// What has happened, in words, if somebody wants to read it.
    pub story: Option<Vec<String>>,
    /// Sessions that live in the server.
    pub natives: Vec<u64>,
    /// Games that somebody asked for.
    pub games: Vec<GameId>,
    /// Games that have ended.
    pub over: Vec<GameId>,
    /// Frames that were compressed, both ways.
    pub compressed: u64,
    /// What operators were told is done with accounts, and what logins have proven.
    pub accounts: AccountBook,
    /// The player that each session was welcomed to.
    pub owners: BTreeMap<u64, PlayerId>,
    /// Sessions that end by an order, by its ticket, and the checker that minds if they do not.
    pub ends: BTreeMap<u64, (&'static str, Vec<u64>)>,
    /// The last ban of each player.
    pub bans: BTreeMap<PlayerId, Ban>,
    /// Sessions that were given a callback, and the drop for which it ran last: process and epoch.
    pub callbacks: BTreeMap<u64, Option<(u64, u64)>>,
}

impl World {
    /// The world of a seed, before anything has happened.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let mut rng = Rng::new(seed);
        let knobs = Knobs::draw(&mut rng);
        let mut players: Vec<Player> = Vec::new();
        for index in 0..knobs.players as usize {
            let known = match rng.below(4) {
                0 if knobs.hub.secrets => Known::Secret,
                1 if knobs.hub.anonymous => Known::Anonymous,
                _ => Known::Key(rng.seed()),
            };
            players.push(Player::new(index, known, &mut rng));
        }
        for twin in 0..knobs.twins as usize {
            let original = &mut players[twin];
            if let Known::Key(_) = original.known {
                original.shared = true;
                let known = original.known;
                let mut player = Player::new(players.len(), known, &mut rng);
                player.shared = true;
                players.push(player);
            }
        }
        let disk = if knobs.engine { Disk::with_engine() } else { Disk::default() };
        let node = Node { disk, ..Node::default() };
        let hostiles = (0..knobs.hostiles).map(|_| Hostile::default()).collect();
        let accounts = AccountBook::new(knobs.access.names, knobs.access.subjects);
        let mut world = Self {
            rng,
            knobs,
            now: 1_000,
            queue: Queue::default(),
            node,
            links: Default::default(),
            last_link: 0,
            players,
            hostiles,
            watch: Watch::default(),
            quiet: false,
            steps: 0,
            frames: 0,
            tickets: 0,
            trace: blake3::Hasher::new(),
            story: None,
            natives: Vec::new(),
            games: Vec::new(),
            over: Vec::new(),
            compressed: 0,
            accounts,
            owners: BTreeMap::new(),
            ends: BTreeMap::new(),
            bans: BTreeMap::new(),
            callbacks: BTreeMap::new(),
        };
        world.hand_out_accounts();
        world
    }

    /// Notes what happens.
    pub fn tell(&mut self, text: impl FnOnce() -> String) {
        if let Some(story) = &mut self.story {
            let mut text = text();
            if text.len() > 200 {
                let end = (0..=200).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
                text.truncate(end);
            }
            story.push(format!("{:>9}.{:03} {text}", self.now / 1_000, self.now % 1_000));
        }
    }

    /// Plans an event this many microseconds from now.
    pub fn plan(&mut self, in_us: u64, event: Event) {
        self.queue.push(self.now + in_us, event);
    }

    /// Lets one event happen; false when nothing is planned.
    pub fn step(&mut self) -> bool {
        let Some((at, order, event)) = self.queue.pop() else { return false };
        self.now = self.now.max(at);
        if event.is_servers() {
            if self.node.hub.is_none() {
                return true;
            }
            if self.node.stalled_until > self.now {
                self.queue.put_off(self.node.stalled_until, order, event);
                return true;
            }
            self.run_on();
        }
        self.steps += 1;
        self.trace.update(&self.now.to_le_bytes());
        self.trace.update(event.name().as_bytes());
        self.happen(order, event);
        self.check_store();
        for broken in game::take_broken() {
            self.watch.fail(broken.checker, broken.text);
        }
        true
    }

    /// The process runs again after it stood still: its driver has seen that, and tells the zones.
    fn run_on(&mut self) {
        let Some(since) = self.node.stalled_since.take() else { return };
        self.watch.outage.stood_still(self.now - since, self.knobs.hub.stall);
        let gap = Duration::from_micros(self.now - since);
        let zones: Vec<ZoneId> = self.node.zones.keys().copied().collect();
        for zone in zones {
            self.zone(zone, ZoneInput::Stalled(gap));
        }
        for input in std::mem::take(&mut self.node.unheard) {
            self.hub(input);
        }
    }

    fn happen(&mut self, order: u64, event: Event) {
        match event {
            Event::ServerOpened { link } => self.server_opened(link),
            Event::ClientOpened { link } => self.client_opened(link),
            Event::ServerBytes { link, bytes } => self.server_bytes(order, link, bytes),
            Event::ClientBytes { link, bytes } => self.client_bytes(order, link, bytes),
            Event::ServerClosed { link, code } => self.server_closed(link, code),
            Event::ClientClosed { link, code } => self.client_closed(link, code),
            Event::ToHub { zone, owner, message, .. } => {
                self.hub(HubInput::FromZone(zone, owner, *message));
            }
            Event::ToZone { zone, owner, message, .. } => {
                self.zone(zone, ZoneInput::FromHub(owner, *message));
            }
            Event::FromConnection { input, .. } => self.hub(*input),
            Event::ConnectionsWake { .. } => self.wake_connections(),
            Event::OpenZone { incarnation, spec } => self.open_zone(incarnation, spec),
            Event::Committed { scope, owner, revision, .. } => {
                self.committed(scope, owner, revision);
            }
            Event::CommittedLate { scope, revision, .. } => self.hear_commit(scope, revision),
            Event::Verified { connection, ask, good, .. } => {
                self.hub(HubInput::Verified { connection, ask, good });
            }
            Event::Admission { connection, ask, good, .. } => {
                let verdict = if good { Ok(()) } else { Err("not today".to_owned()) };
                self.hub(HubInput::Admission { connection, ask, verdict });
            }
            Event::AccountChecked { connection, ask, proof, shown, .. } => {
                self.account_checked(connection, ask, *proof, shown);
            }
            Event::Operator { account, order, .. } => self.order(account, order),
            Event::Learn { player } => self.learn(player),
            Event::JobDone { zone, owner, job, result, .. } => {
                if self.node.owner(zone) == Some(owner) {
                    self.zone(zone, ZoneInput::JobDone(job, result));
                }
            }
            Event::Command { command, .. } => self.command(*command),
            Event::HubWake { .. } => self.wake_hub(),
            Event::ToDirectory { .. }
            | Event::DirectoryWake { .. }
            | Event::SeatAnswered { .. }
            | Event::ToLocalHost { .. }
            | Event::Errand { .. } => self.happen_in_games(event),
            Event::ZoneWake { zone, .. } => {
                let seat = self.node.zones.get_mut(&zone);
                if seat.and_then(|seat| seat.wake.take_if(|at| *at <= self.now)).is_none() {
                    return;
                }
                self.zone(zone, ZoneInput::Wake);
                let again = self.node.zones.get(&zone).and_then(|seat| seat.wake);
                self.watch.woken(self.now, Sleeper::Zone(zone.0), again == Some(self.now));
            }
            Event::PlayerWake { player } => self.player_wake(order, player),
            Event::Act { player } => self.act(player),
            Event::HostileAct { hostile } => self.hostile_act(hostile),
            Event::Fault => self.fault(),
            Event::Apply { .. } => self.apply(),
            Event::Late => self.node.disk.land_late(),
            Event::Ended { incarnation } => self.ended(incarnation),
            Event::Restart => self.restart(),
            Event::Quiet => self.go_quiet(),
        }
    }

    fn wake_hub(&mut self) {
        if self.node.hub_wake.take_if(|at| *at <= self.now).is_some() {
            self.hub(HubInput::Wake);
            self.watch.woken(self.now, Sleeper::Hub, self.node.hub_wake == Some(self.now));
        }
    }
}
