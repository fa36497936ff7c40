//! How a world begins: the game's zones, the settings, and the rules outside the zones.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::chance::Chance;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Admission, HubConfig, ZoneKind};
use rejoin_core::id::PlayerId;
use rejoin_core::scope::Opened;
use rejoin_core::time::Time;
use rejoin_core::zone::{Zone, ZoneConfig, ZoneCore, ZoneMachine, ZoneSpec};

use crate::world::World;

/// Opens a zone of one kind.
pub(crate) type Open = Box<dyn Fn(Time, ZoneSpec, &Opened, Chance) -> Box<dyn ZoneMachine>>;
/// The game's word on a player.
pub(crate) type Doorman = Box<dyn Fn(PlayerId, &Bytes) -> Result<(), String>>;
/// Outside work.
pub(crate) type Worker = Box<dyn Fn(&ZoneName, Bytes) -> Bytes>;

/// How long the game's admission rule may think.
const ADMISSION_DEADLINE: Duration = Duration::from_secs(5);

/// A world that has not begun.
pub struct Setup {
    pub(crate) config: HubConfig,
    pub(crate) kinds: BTreeMap<String, Open>,
    pub(crate) doorman: Option<Doorman>,
    pub(crate) worker: Worker,
    pub(crate) tick: Duration,
    pub(crate) latency: Duration,
    pub(crate) commit: Duration,
    pub(crate) faults: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            config: HubConfig::default(),
            kinds: BTreeMap::new(),
            doorman: None,
            worker: Box::new(|_, _| Bytes::new()),
            tick: Duration::from_millis(50),
            latency: Duration::from_millis(1),
            commit: Duration::from_millis(1),
            faults: false,
        }
    }
}

impl Setup {
    /// A kind of zone that clients may open by joining.
    #[must_use]
    pub fn zone<Z: Zone>(
        mut self,
        kind: &str,
        config: ZoneConfig,
        make: impl Fn() -> Z + 'static,
    ) -> Self {
        let how = ZoneKind { config, client_may_create: true };
        self.config.kinds.insert(kind.to_owned(), how);
        let open: Open = Box::new(move |now, spec, opened, chance| {
            Box::new(ZoneCore::open(now, spec, make(), opened, chance))
        });
        self.kinds.insert(kind.to_owned(), open);
        self
    }

    /// The settings of the hub. Kinds of zone that were added before stay.
    #[must_use]
    pub fn config(mut self, config: HubConfig) -> Self {
        let kinds = std::mem::take(&mut self.config.kinds);
        self.config = config;
        self.config.kinds.extend(kinds);
        self
    }

    /// Asks this about everybody who wants to come in.
    #[must_use]
    pub fn admission(
        mut self,
        rule: impl Fn(PlayerId, &Bytes) -> Result<(), String> + 'static,
    ) -> Self {
        self.config.admission = Admission::Ask(ADMISSION_DEADLINE);
        self.doorman = Some(Box::new(rule));
        self
    }

    /// Does the outside work that zones start.
    #[must_use]
    pub fn jobs(mut self, worker: impl Fn(&ZoneName, Bytes) -> Bytes + 'static) -> Self {
        self.worker = Box::new(worker);
        self
    }

    /// How long a step is; 50 ms if nothing is said.
    #[must_use]
    pub fn tick(mut self, tick: Duration) -> Self {
        self.tick = tick;
        self
    }

    /// The most a frame is under way in one direction; 1 ms if nothing is said.
    #[must_use]
    pub fn latency(mut self, most: Duration) -> Self {
        self.latency = most;
        self
    }

    /// The most a commit takes; 1 ms if nothing is said.
    #[must_use]
    pub fn commit_time(mut self, most: Duration) -> Self {
        self.commit = most;
        self
    }

    /// Zones and agents may panic: as on a server, a zone is rebuilt from its last cut, and an agent
    /// ends its session.
    #[must_use]
    pub fn allow_faults(mut self) -> Self {
        self.faults = true;
        self
    }

    /// Begins. The same seed and the same test give the same world, byte for byte.
    #[must_use]
    pub fn start(self, seed: u64) -> World {
        World::begin(self, seed)
    }
}
