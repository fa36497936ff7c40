//! The server: a hub, its zones, and the mailboxes between them. A driver as any other, except that
//! it can be stopped between any two outputs.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::aim::Aim;
use crate::bureau::Bureau;
use crate::disk::Disk;
use rejoin_core::chance::Chance;
use rejoin_core::connection::{ConnectionSet, Routed};
use rejoin_core::guard::Door;
use rejoin_core::hub::{Hub, HubInput, Recovered};
use rejoin_core::id::{ConnectionId, OwnerEpoch, Revision, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::zone::{Durability, KeptZone, ZoneCore, ZoneInput, ZoneMachine, ZoneSpec};
use rejoin_testkit::parts::rng::Rng;

use crate::game::Book;
use crate::knobs::Knobs;

/// A zone and what waits for it.
pub struct Seat {
    /// The machine.
    pub machine: Box<dyn ZoneMachine>,
    /// What it has not taken yet.
    pub mailbox: VecDeque<ZoneInput>,
    /// When it will be woken.
    pub wake: Option<u64>,
    /// What it hears next never returns.
    pub hangs: bool,
}

/// A way on which messages between two machines keep their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Way {
    /// From the hub to a zone.
    ToZone(ZoneId),
    /// From a zone to the hub.
    FromZone(ZoneId),
    /// From a connection to zones.
    ConnectionToZone(ConnectionId),
    /// From a connection to the hub.
    ConnectionToHub(ConnectionId),
}

/// The server's process, as long as it lives.
#[derive(Default)]
pub struct Node {
    /// The hub; none while the server is down.
    pub hub: Option<Hub>,
    /// The connections; none while the server is down.
    pub connections: Option<ConnectionSet>,
    /// When the first of them will be woken.
    pub connections_wake: Option<u64>,
    /// Who may make a connection; none while the server is down.
    pub door: Option<Door>,
    /// The zones.
    pub zones: BTreeMap<ZoneId, Seat>,
    /// The directory and the server's own host, in worlds that have them.
    pub bureau: Option<Bureau>,
    /// What survives.
    pub disk: Disk,
    /// Which process this is.
    pub incarnation: u64,
    /// When it started: its clock shows the time since.
    pub boot_at: u64,
    /// It stands still until then.
    pub stalled_until: u64,
    /// Since when; its zones have not been told.
    pub stalled_since: Option<u64>,
    /// What was said to the hub while it stood still.
    pub unheard: Vec<HubInput>,
    /// It was asked to end.
    pub is_stopping: bool,
    /// After how long without a message this process ends a session.
    pub idle: Duration,
    /// When the hub will be woken.
    pub hub_wake: Option<u64>,
    /// When the last message on each way arrives.
    pub mail_at: BTreeMap<Way, u64>,
    /// The last commit of each scope that its owner heard of.
    pub heard: BTreeMap<ScopeId, Revision>,
    /// Where each connection was told last that its frames go.
    pub routes: BTreeMap<ConnectionId, Routed>,
    /// The machines were told that the disk is full.
    pub knows_full: bool,
    /// Outputs until it crashes.
    pub crash_in: Option<u64>,
    /// The commit after which it crashes, if one is aimed at.
    pub aim: Option<Aim>,
    /// How often it crashed so.
    pub aimed: u32,
}

/// World time at the beginning, on people's clocks.
const EPOCH_MS: u64 = 1_700_000_000_000;

impl Node {
    /// The server's clock.
    #[must_use]
    pub fn time(&self, now: u64) -> Time {
        Time(now - self.boot_at)
    }

    /// World time of an instant on the server's clock.
    #[must_use]
    pub fn world_time(&self, time: Time) -> u64 {
        self.boot_at.saturating_add(time.0)
    }

    /// A start that died after it had opened a few scopes.
    pub fn stumble(&mut self, rng: &mut Rng) {
        let scopes = self.disk.scopes();
        let count = rng.below(scopes.len() as u64 + 1) as usize;
        for scope in scopes.into_iter().take(count) {
            // One that is damaged is found by whoever opens it first.
            if self.disk.open(scope, rng).is_err() {
                self.disk.strike("a damaged scope was set aside");
            }
        }
        self.disk.strike("crash while scopes were opened");
        self.disk.crash(rng);
    }

    /// Starts the process from what the disk holds; says which sessions could not be read.
    pub fn boot(&mut self, now: u64, knobs: &Knobs, rng: &mut Rng) -> Vec<String> {
        self.incarnation += 1;
        self.boot_at = now;
        self.stalled_until = 0;
        self.stalled_since = None;
        self.is_stopping = false;
        self.unheard.clear();
        self.idle = knobs.hub.idle;
        self.hub_wake = None;
        self.crash_in = None;
        self.knows_full = false;
        let hub = self.disk.open(ScopeId::Hub, rng).expect("it does not rot");
        let mut recovered = Recovered { hub, ..Default::default() };
        let mut games = rejoin_directory::Recovered::default();
        let scopes = self.disk.scopes();
        self.disk.check_list(&scopes);
        for scope in scopes.into_iter().filter(|scope| *scope != ScopeId::Hub) {
            match (scope, self.disk.open(scope, rng)) {
                (ScopeId::Session(id), Ok(opened)) => recovered.sessions.push((id, opened)),
                (ScopeId::Player(id), Ok(opened)) => recovered.players.push((id, opened)),
                (ScopeId::Account(id), Ok(opened)) => recovered.accounts.push((id, opened)),
                // The zone's own opening raises its owner again; here only its name is wanted.
                (ScopeId::Zone(_), Ok(opened)) => {
                    recovered.zones.extend(KeptZone::of(&opened.rows))
                }
                (ScopeId::Catalogue, Ok(opened)) => games.catalogue = opened,
                (ScopeId::Game(id), Ok(opened)) => games.games.push((id, opened)),
                (ScopeId::Host(id), Ok(opened)) => games.hosts.push((id, opened)),
                (_, Ok(_)) => {}
                (_, Err(_)) => self.disk.strike("a damaged scope was set aside"),
            }
        }
        let wall = WallTime(EPOCH_MS + now / 1_000);
        let (hub, damaged) =
            Hub::open(self.time(now), wall, knobs.hub.clone(), rng.seed(), recovered);
        self.hub = Some(hub);
        self.connections = Some(ConnectionSet::new((&knobs.hub).into()));
        self.connections_wake = None;
        let time = self.time(now);
        self.bureau = knobs
            .directory
            .clone()
            .map(|config| Bureau::open(time, wall, config, rng.seed(), games));
        self.door = Some(Door::new(knobs.hub.guard));
        damaged.into_iter().map(|(id, text)| format!("session {id}: {text}")).collect()
    }

    /// The process is gone, and everything in it. One that is only paused has batches on their way, which
    /// arrive later: says how many.
    pub fn kill(&mut self, is_paused: bool, rng: &mut Rng) -> usize {
        self.hub = None;
        self.connections = None;
        self.bureau = None;
        self.zones.clear();
        self.mail_at.clear();
        self.heard.clear();
        self.routes.clear();
        self.aim = None;
        if is_paused {
            return self.disk.pause(rng);
        }
        self.disk.crash(rng);
        0
    }

    /// Starts a zone from its scope.
    pub fn open_zone(&mut self, now: u64, spec: ZoneSpec, rng: &mut Rng) {
        let id = spec.id;
        if spec.config.durability == Durability::Memory {
            self.disk.mark_fleeting(id);
        }
        // One that has rotted meanwhile is set aside, and begins anew.
        let scope = ScopeId::Zone(id);
        let opened = self.disk.open(scope, rng).or_else(|_| self.disk.open(scope, rng));
        let opened = opened.unwrap_or_default();
        let chance = Chance::from_seed(rng.seed());
        let time = self.time(now);
        let machine: Box<dyn ZoneMachine> = match spec.name.kind.as_str() {
            "cells" | "session" => Box::new(ZoneCore::open(
                time,
                spec,
                Book::<true, false>::default(),
                &opened,
                chance,
            )),
            "hard" => {
                Box::new(ZoneCore::open(time, spec, Book::<true, true>::default(), &opened, chance))
            }
            _ => Box::new(ZoneCore::open(
                time,
                spec,
                Book::<false, false>::default(),
                &opened,
                chance,
            )),
        };
        self.zones.insert(id, Seat { machine, mailbox: VecDeque::new(), wake: None, hangs: false });
    }

    /// Which incarnation of a zone runs.
    #[must_use]
    pub fn owner(&self, zone: ZoneId) -> Option<OwnerEpoch> {
        self.zones.get(&zone).map(|seat| seat.machine.owner())
    }
}
