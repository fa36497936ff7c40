//! The server of a world, as long as its process lives: a hub, its zones, its agents, and what
//! survives them.

use std::collections::{BTreeMap, VecDeque};

use rejoin_core::agent::AgentMachine;
use rejoin_core::chance::Chance;
use rejoin_core::connection::ConnectionSet;
use rejoin_core::hub::{Hub, Recovered};
use rejoin_core::id::{OwnerEpoch, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::zone::{Durability, KeptZone, ZoneInput, ZoneMachine, ZoneSpec};

use crate::parts::disk::Disk;
use crate::parts::rng::Rng;
use crate::setup::Setup;

/// World time at the beginning, on people's clocks.
const EPOCH_MS: u64 = 1_700_000_000_000;

pub(crate) struct Room {
    pub(crate) spec: ZoneSpec,
    pub(crate) machine: Box<dyn ZoneMachine>,
    pub(crate) mailbox: VecDeque<ZoneInput>,
    pub(crate) wake: Option<u64>,
}

pub(crate) struct Played {
    pub(crate) machine: Box<dyn AgentMachine>,
    pub(crate) wake: Option<u64>,
}

#[derive(Default)]
pub(crate) struct Node {
    /// None while the server is down.
    pub(crate) hub: Option<Hub>,
    /// The same.
    pub(crate) connections: Option<ConnectionSet>,
    pub(crate) connections_wake: Option<u64>,
    pub(crate) zones: BTreeMap<ZoneId, Room>,
    pub(crate) agents: BTreeMap<SessionId, Played>,
    pub(crate) disk: Disk,
    pub(crate) stalled_until: u64,
    pub(crate) hub_wake: Option<u64>,
    /// When the last message between two machines arrives: to a zone, and from it.
    pub(crate) mail_at: BTreeMap<(ZoneId, bool), u64>,
    boot_at: u64,
}

impl Node {
    /// The server's clock: it shows the time since its start.
    pub(crate) fn time(&self, now: u64) -> Time {
        Time(now - self.boot_at)
    }

    /// World time of an instant on the server's clock.
    pub(crate) fn world_time(&self, time: Time) -> u64 {
        self.boot_at.saturating_add(time.0)
    }

    /// Starts the process from what the disk holds; says what could not be read.
    pub(crate) fn boot(&mut self, now: u64, setup: &Setup, rng: &mut Rng) -> Vec<String> {
        self.boot_at = now;
        self.stalled_until = 0;
        self.hub_wake = None;
        let hub = self.disk.open(ScopeId::Hub, rng);
        let mut recovered = Recovered { hub, ..Default::default() };
        for scope in self.disk.scopes() {
            match scope {
                ScopeId::Session(id) => recovered.sessions.push((id, self.disk.open(scope, rng))),
                ScopeId::Player(id) => recovered.players.push((id, self.disk.open(scope, rng))),
                ScopeId::Zone(_) => {
                    recovered.zones.extend(KeptZone::of(&self.disk.open(scope, rng).rows));
                }
                _ => {}
            }
        }
        let wall = WallTime(EPOCH_MS + now / 1_000);
        let (hub, damaged) =
            Hub::open(self.time(now), wall, setup.config.clone(), rng.seed(), recovered);
        self.hub = Some(hub);
        self.connections = Some(ConnectionSet::new((&setup.config).into()));
        self.connections_wake = None;
        damaged.into_iter().map(|(id, text)| format!("session {id}: {text}")).collect()
    }

    /// The process is gone, and everything in it.
    pub(crate) fn kill(&mut self, rng: &mut Rng) {
        self.hub = None;
        self.connections = None;
        self.zones.clear();
        self.agents.clear();
        self.mail_at.clear();
        self.disk.crash(rng);
    }

    /// Starts a zone from its scope; false when there is no game code for it.
    pub(crate) fn open_zone(
        &mut self,
        now: u64,
        spec: ZoneSpec,
        setup: &Setup,
        rng: &mut Rng,
    ) -> bool {
        let Some(open) = setup.kinds.get(&spec.name.kind) else { return false };
        if spec.config.durability == Durability::Memory {
            self.disk.mark_fleeting(spec.id);
        }
        let (id, time) = (spec.id, self.time(now));
        let opened = self.disk.open(ScopeId::Zone(id), rng);
        let machine = open(time, spec.clone(), &opened, Chance::from_seed(rng.seed()));
        self.zones.insert(id, Room { spec, machine, mailbox: VecDeque::new(), wake: None });
        true
    }

    /// Which incarnation of a zone runs.
    pub(crate) fn owner(&self, zone: ZoneId) -> Option<OwnerEpoch> {
        self.zones.get(&zone).map(|room| room.machine.owner())
    }
}
