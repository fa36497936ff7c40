//! How a server is put together: its settings, the kinds of zone it runs, and where it keeps things.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::chance::Chance;
use rejoin_core::connection::ConnectionConfig;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{self, AccountPolicy, Hub, HubConfig, ZoneKind};
use rejoin_core::id::SessionId;
use rejoin_core::zone::{Zone, ZoneConfig};
use rejoin_directory::{DirectoryConfig, LocalHooks};
use rejoin_store::{Memory, Store};
use rejoin_wire::Limits;
use tokio::sync::{mpsc, watch};

use crate::accept_guard::AcceptGuard;
use crate::admission::{Admission, LogGate};
use crate::clock::{MonotonicClock, wall};
use crate::connection_table::ConnectionTable;
use crate::directory::{self, GameKinds, GamesConfig, start_hosts};
use crate::hub_task::{Callback, HubTask, Own};
use crate::identity::{IdentityChecker, IdentityConfig};
use crate::jobs::{JobRunner, JobThreads};
use crate::journal::Incarnation;
use crate::kinds::Kinds;
use crate::logbook::Cause;
use crate::mailbox::MAILBOX_MAX;
use crate::queue::QueueLimits;
use crate::server::{Parts, Server};
use crate::sight::{SharedSight, Sight, SightConfig};
use crate::store_thread::{self, CommitListeners, OpenedZones};
use crate::zones::{self, Surroundings, WorkerThreads, ZoneInboxes, ZoneSenders};

/// How long the game's admission rule may think.
const ADMISSION_DEADLINE: Duration = Duration::from_secs(5);
/// Threads for outside work of zones.
const JOB_THREADS: usize = 4;
/// Threads that may hang in game code before they are not replaced any more.
const STUCK_THREADS_MAX: usize = 16;

/// Puts a server together.
pub struct ServerBuilder {
    config: HubConfig,
    limits: Limits,
    queue: QueueLimits,
    kinds: Kinds,
    store: Box<dyn Store + Send>,
    admission: Option<Arc<dyn Admission>>,
    jobs: Arc<dyn JobRunner>,
    callback: Option<Callback>,
    zone_threads: usize,
    stuck_threads_max: usize,
    sight: SightConfig,
    directory: Option<DirectoryConfig>,
    identity: IdentityConfig,
    games: GameKinds,
}

impl Default for ServerBuilder {
    fn default() -> Self {
        Self::new()
    }
}

impl ServerBuilder {
    /// A server with the documented defaults, no zones, and everything in memory.
    #[must_use]
    pub fn new() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self {
            config: HubConfig::default(),
            limits: Limits::DEFAULT,
            queue: QueueLimits::default(),
            kinds: Kinds::default(),
            store: Box::new(Memory::unread()),
            admission: None,
            jobs: Arc::new(|_: &ZoneName, _: Bytes| Bytes::new()),
            callback: None,
            zone_threads: cores,
            stuck_threads_max: STUCK_THREADS_MAX,
            sight: SightConfig::default(),
            directory: None,
            identity: IdentityConfig::default(),
            games: GameKinds::default(),
        }
    }

    /// The settings of the hub. Kinds of zone that were added before stay.
    #[must_use]
    pub fn config(mut self, config: HubConfig) -> Self {
        let kinds = std::mem::take(&mut self.config.kinds);
        self.config = config;
        self.config.kinds.extend(kinds);
        self
    }

    /// A kind of zone that clients may open by joining.
    #[must_use]
    pub fn zone<Z: Zone>(
        self,
        kind: &str,
        config: ZoneConfig,
        make: impl Fn() -> Z + Send + Sync + 'static,
    ) -> Self {
        self.zone_kind(kind, ZoneKind { config, client_may_create: true }, make)
    }

    /// A kind of zone that only the server opens.
    #[must_use]
    pub fn own_zone<Z: Zone>(
        self,
        kind: &str,
        config: ZoneConfig,
        make: impl Fn() -> Z + Send + Sync + 'static,
    ) -> Self {
        self.zone_kind(kind, ZoneKind { config, client_may_create: false }, make)
    }

    fn zone_kind<Z: Zone>(
        mut self,
        kind: &str,
        how: ZoneKind,
        make: impl Fn() -> Z + Send + Sync + 'static,
    ) -> Self {
        self.games.members_max.insert(kind.to_owned(), how.config.members_max);
        self.config.kinds.insert(kind.to_owned(), how);
        self.kinds.add(kind, make);
        self
    }

    /// Where scopes are kept; in memory if nothing is said.
    #[must_use]
    pub fn store(mut self, store: impl Store + Send + 'static) -> Self {
        self.store = Box::new(store);
        self
    }

    /// Asks the game about every player who logs in. Without an answer within five seconds the login of the
    /// player is refused.
    #[must_use]
    pub fn admission(mut self, admission: impl Admission) -> Self {
        self.admission = Some(Arc::new(admission));
        self
    }

    /// Does the outside work that zones start.
    #[must_use]
    pub fn jobs(mut self, jobs: impl JobRunner) -> Self {
        self.jobs = Arc::new(jobs);
        self
    }

    /// Runs when a session with a disconnect callback is dropped, with the callback's number.
    #[must_use]
    pub fn on_disconnect(
        mut self,
        callback: impl Fn(SessionId, u64) + Send + Sync + 'static,
    ) -> Self {
        self.callback = Some(Arc::new(callback));
        self
    }

    /// How much may wait for one connection.
    #[must_use]
    pub fn queue_limits(mut self, queue: QueueLimits) -> Self {
        self.queue = queue;
        self
    }

    /// How large the frames of clients may be. The hub announces `message_bytes_max` to them, so it must
    /// equal [`HubConfig::message_bytes_max`].
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How much can be seen of the server.
    #[must_use]
    pub fn sight(mut self, sight: SightConfig) -> Self {
        self.sight = sight;
        self
    }

    /// Keeps a directory of Games, seats and hosts; without this there is none, and what an earlier
    /// run kept of one is left alone.
    #[must_use]
    pub fn directory(mut self, directory: DirectoryConfig) -> Self {
        self.directory = Some(directory);
        self
    }

    /// How accounts are proven, where [`HubConfig::accounts`] lets them be. While that is off, a login is
    /// to an account only by a key that belongs to it.
    #[must_use]
    pub fn identity(mut self, identity: IdentityConfig) -> Self {
        self.identity = identity;
        self
    }

    /// Zones of this kind run Games as well: with a directory, the server is a host of the fleet of that
    /// name, and each Game it is given is a zone that admits who has a seat. The kind must be added, too.
    #[must_use]
    pub fn games(mut self, kind: &str, config: GamesConfig) -> Self {
        self.games.kinds.insert(kind.to_owned(), config);
        self
    }

    /// Asks the game before a Game of this kind is made, changed or ended here, and tells it afterwards;
    /// without this the answer is always yes. The kind must run [`games`](Self::games), too. Hooks run one
    /// after the other on a thread of their own. One that panics has said no; one that hangs holds up
    /// all Games of its kind, and they end as those of a host that is not well.
    #[must_use]
    pub fn game_hooks(mut self, kind: &str, hooks: impl LocalHooks + 'static) -> Self {
        self.games.hooks.insert(kind.to_owned(), Box::new(hooks));
        self
    }

    /// Threads on which zones run; as many as there are cores if nothing is said.
    #[must_use]
    pub fn zone_threads(mut self, threads: usize) -> Self {
        self.zone_threads = threads;
        self
    }

    /// How many threads may hang in game code at a time, 16 if nothing is said. Up to there a thread
    /// that hangs is replaced and its zone opened again; beyond, the zones of that thread are closed
    /// and the server is not ready any more, so that its supervisor restarts it.
    #[must_use]
    pub fn stuck_threads_max(mut self, threads: usize) -> Self {
        self.stuck_threads_max = threads;
        self
    }

    fn look_on(
        &self,
        clock: MonotonicClock,
        connections: &ConnectionTable,
        seed: &[u8; 32],
    ) -> SharedSight {
        let incarnation = Incarnation::from_seed(seed);
        Arc::new(Sight::new(self.sight, clock, connections.clone(), self.limits, incarnation))
    }

    /// Settings that are good by themselves and contradict each other.
    fn check(&self) -> Result<(), StartError> {
        if self.identity.jwt.is_some() && self.config.accounts == AccountPolicy::Off {
            return Err(StartError(
                "IdentityConfig::jwt is set and HubConfig::accounts is Off: no token would be looked \
                 at; set accounts to Optional or Required"
                    .to_owned(),
            ));
        }
        let decoded = self.limits.message_bytes_max;
        let announced = self.config.message_bytes_max;
        if usize::try_from(announced).ok() != Some(decoded) {
            return Err(StartError(format!(
                "HubConfig::message_bytes_max is {announced} and Limits::message_bytes_max is \
                 {decoded}: the first is announced to clients, the second is enforced; make them equal"
            )));
        }
        // Clients are compiled with the default, and what a zone says to them is held to it.
        let most = Limits::DEFAULT.message_bytes_max;
        if decoded > most {
            return Err(StartError(format!(
                "message_bytes_max is {decoded}: messages to clients have at most {most} bytes, so \
                 those of clients may not have more"
            )));
        }
        Ok(())
    }

    /// The game's rule and its deadline; sets the hub to ask it.
    fn take_admission(&mut self) -> Option<(Arc<dyn Admission>, Duration)> {
        let rule = self.admission.take()?;
        let deadline = match self.config.admission {
            hub::Admission::Ask(deadline) => deadline,
            hub::Admission::Open => ADMISSION_DEADLINE,
        };
        self.config.admission = hub::Admission::Ask(deadline);
        Some((rule, deadline))
    }

    /// Starts the hub, the zones and the store. Must be called within a tokio runtime. Clients cannot
    /// connect before [`Server::listen`].
    ///
    /// # Errors
    /// Two settings contradict each other, the system gives no randomness or no threads, or the store
    /// cannot be read.
    pub fn start(mut self) -> Result<Server, StartError> {
        self.check()?;
        let (clock, admission) = (MonotonicClock::start(), self.take_admission());
        let (external, external_mail) = mpsc::channel(MAILBOX_MAX);
        let (internal, internal_mail) = mpsc::channel(MAILBOX_MAX);
        let (store, requests) = channel();
        let ((ready, is_ready), (failed, failure)) = (watch::channel(false), watch::channel(None));
        let connections = ConnectionTable::new(self.queue);
        let (accept_guard, connection_config) = hold_connections_to(&self.config, clock);
        let sight = self.look_on(clock, &connections, &seed()?);
        begin_admission(admission.as_ref(), sight.clone());
        let identity = IdentityChecker::start(&self.identity, sight.clone()).map_err(StartError)?;
        let (jobs, _) = JobThreads::start(self.jobs, JOB_THREADS)?;
        let around = Surroundings {
            clock,
            kinds: Arc::new(self.kinds),
            connections: connections.clone(),
            hub: internal.clone(),
            store: store.clone(),
            jobs: Arc::new(jobs),
            sight: sight.clone(),
            local_sessions: Arc::default(),
        };
        let (zones, workers) = start_zones((self.zone_threads, self.stuck_threads_max), &around)?;
        let (hub, opened) = open_hub(self.store.as_mut(), self.config, clock, &sight)?;
        let (directory, commits) =
            directory::start(self.directory, self.store.as_mut(), seed()?, &around, &failure)
                .map_err(StartError)?;
        let games = start_hosts(self.games, directory.as_ref(), &external.downgrade(), &zones)
            .map_err(StartError)?;
        let listeners = CommitListeners::new(&around, ZoneSenders::new(zones.clone()), commits);
        let store_thread = store_thread::start((self.store, opened), requests, listeners, failed)?;
        let task = HubTask {
            hub,
            clock,
            connections: connections.clone(),
            internal: internal.clone(),
            accept_guard: accept_guard.clone(),
            store: store.clone(),
            zones: ZoneSenders::new(zones.clone()),
            sight: sight.clone(),
            local_sessions: around.local_sessions.clone(),
            admission,
            identity: identity.clone(),
            callback: self.callback,
            ready,
            games,
            own: Own::default(),
        };
        tokio::spawn(task.run(internal_mail, external_mail));
        Ok(Server::new(Parts {
            external,
            internal: internal.downgrade(),
            sight,
            connections,
            accept_guard,
            local_sessions: around.local_sessions,
            is_ready,
            failure,
            clock,
            limits: self.limits,
            connection_config,
            zones,
            store,
            workers,
            store_thread,
            directory,
            identity,
        }))
    }
}

fn start_zones(
    (count, stuck_max): (usize, usize),
    around: &Surroundings,
) -> Result<(ZoneInboxes, WorkerThreads), StartError> {
    let mut chance = Chance::from_seed(seed()?);
    Ok(zones::start(count, stuck_max, around, &mut chance)?)
}

/// What connections are held to: before anything is read of them, and afterwards.
fn hold_connections_to(
    config: &HubConfig,
    clock: MonotonicClock,
) -> (AcceptGuard, Arc<ConnectionConfig>) {
    (AcceptGuard::new(config, clock), Arc::new(config.into()))
}

/// Gives the game's rule the limit on its log lines.
fn begin_admission(admission: Option<&(Arc<dyn Admission>, Duration)>, sight: SharedSight) {
    if let Some((rule, _)) = admission {
        rule.begin(LogGate::new(move || sight.logbook.pass(Cause::Admission)));
    }
}

/// The hub as the store has kept it, and the zones that it is going to run.
fn open_hub(
    store: &mut dyn Store,
    config: HubConfig,
    clock: MonotonicClock,
    sight: &Sight,
) -> Result<(Hub, OpenedZones), StartError> {
    let (recovered, zones) = store_thread::recover(store, |kind| config.kinds.contains_key(kind))
        .map_err(|error| StartError(error.to_string()))?;
    let (hub, damaged) = Hub::open(clock.now(), wall(), config, seed()?, recovered);
    tell_damage(&hub, damaged);
    sight.recover(&hub);
    Ok((hub, zones))
}

/// Logs the sessions, accounts and players that could not be read.
fn tell_damage(hub: &Hub, damaged: Vec<(SessionId, String)>) {
    for (session, text) in damaged {
        tracing::error!(%session, text, "a session could not be read; it is kept as it is");
    }
    for (account, text) in hub.damaged_accounts() {
        tracing::error!(%account, text, "an account could not be read; logins to it are refused");
    }
    for player in hub.quarantined() {
        tracing::error!(
            %player,
            "what is kept of this player is damaged, a ban perhaps: it is not let in until it is \
             banned or unbanned afresh, or a backup is restored"
        );
    }
}

fn seed() -> Result<[u8; 32], StartError> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(|error| StartError(error.to_string()))?;
    Ok(seed)
}

/// Why a server could not start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StartError(String);

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server cannot start: {}", self.0)
    }
}

impl std::error::Error for StartError {}

impl From<std::io::Error> for StartError {
    fn from(error: std::io::Error) -> Self {
        Self(error.to_string())
    }
}
