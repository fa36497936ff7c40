//! The thread that owns the store. It commits all waiting batches together, in the order in which they
//! were submitted, and reports each commit to the hub, the zone or the directory that submitted it.
//! Openings of zones pass through here too, so that they keep their order among the commits. A batch
//! that finds no room on the disk is kept and submitted again: its submitter gets no report, so it
//! stops by itself and goes on by itself. Zones that end with their process are kept apart, in memory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rejoin_core::exchange::ToHub;
use rejoin_core::hub::{HubInput, Recovered};
use rejoin_core::id::{PlayerId, Revision, ZoneId};
use rejoin_core::scope::{Batch, Change, Opened, ScopeId};
use rejoin_core::zone::{Durability, KeptZone, ZoneSpec};
use rejoin_store::{Memory, Outcome, Store, StoreError};
use tokio::sync::watch;

use crate::directory::DirectoryCommits;
use crate::mailbox::InternalSender;
use crate::sight::SharedSight;
use crate::zones::{Depth, Surroundings, ToThread, ZoneSenders};

/// What the hub, the zones and the directory ask of the store's thread.
pub(crate) enum StoreRequest {
    Commit(Batch),
    OpenZone(Box<ZoneSpec>, Depth),
    DropZone(ZoneId),
    /// Several requests, in order: the thread is woken once for all of them.
    Many(Vec<StoreRequest>),
    Stop,
}

impl StoreRequest {
    /// How many bytes a commit writes; the others write none.
    fn size(&self) -> usize {
        let Self::Commit(batch) = self else { return 0 };
        batch.changes.iter().map(Change::bytes).sum()
    }
}

/// Scopes that are opened in one commit.
const OPEN_AT_ONCE: usize = 4_096;
/// Batches and bytes of one commit: more would only make the first ones wait for the last.
const GROUP_BATCHES_MAX: usize = 4_096;
const GROUP_BYTES_MAX: usize = 8 << 20;
/// How long to wait before batches that found no room are submitted again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// How often the progress of a recovery is logged.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Sends requests to the store's thread. The channel has no bound of its own, on purpose: the thread
/// sends reports to those who send it requests, so a bound that made them wait could deadlock. Its length
/// is bounded all the same: one batch for each session, player, account, zone and part of the directory
/// (their gates), one of the hub, and an opening or a drop for each zone.
pub(crate) type StoreSender = Sender<StoreRequest>;

/// Zones that were opened at the start, to learn their names: each waits here until the hub asks to
/// run it, and is not opened a second time.
pub(crate) type OpenedZones = BTreeMap<ZoneId, Opened>;

/// Everything the hub starts from, and the zones of kinds that are run here. Opening a scope raises its
/// owner epoch, so that an earlier owner can write nothing more.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn recover(
    store: &mut dyn Store,
    is_run: impl Fn(&str) -> bool,
) -> Result<(Recovered, OpenedZones), StoreError> {
    let mut zones = OpenedZones::new();
    let hub = store.open_one(ScopeId::Hub)?;
    let mut recovered = Recovered { hub, ..Recovered::default() };
    let mut scopes = store.scopes(None)?;
    scopes.retain(|scope| *scope != ScopeId::Hub && !scope.is_directory());
    let has_sessions = scopes.iter().any(|scope| matches!(scope, ScopeId::Session(_)));
    if recovered.hub.revision == Revision(0) && has_sessions {
        // Session ids would be given out again.
        let why = "the hub's own rows are missing; restore a backup".to_owned();
        return Err(StoreError::Unreadable(why));
    }
    let (mut done, mut damaged_count, mut logged_at) = (0, 0, Instant::now());
    for some in scopes.chunks(OPEN_AT_ONCE) {
        for (scope, found) in some.iter().zip(store.open(some)?) {
            match (*scope, found) {
                (ScopeId::Session(id), Ok(opened)) => recovered.sessions.push((id, opened)),
                (ScopeId::Player(id), Ok(opened)) => recovered.players.push((id, opened)),
                (ScopeId::Account(id), Ok(opened)) => recovered.accounts.push((id, opened)),
                (ScopeId::Zone(id), Ok(opened)) => {
                    let Some(kept) = KeptZone::of(&opened.rows) else { continue };
                    if is_run(&kept.name.kind) {
                        zones.insert(id, opened);
                    }
                    recovered.zones.push(kept);
                }
                (_, Ok(_)) => {}
                (_, Err(damaged)) => {
                    damaged_count += 1;
                    tracing::error!("{damaged}");
                }
            }
        }
        done += some.len();
        if logged_at.elapsed() > PROGRESS_EVERY {
            logged_at = Instant::now();
            tracing::info!(done, of = scopes.len(), "recovering");
        }
    }
    // A ban that cannot be read is not forgotten, however often the server starts.
    let known: BTreeSet<PlayerId> = recovered.players.iter().map(|(id, _)| *id).collect();
    for scope in store.set_aside()? {
        if let ScopeId::Player(id) = scope
            && !known.contains(&id)
        {
            recovered.damaged_players.push(id);
        }
    }
    if !scopes.is_empty() {
        let (sessions, zones) = (recovered.sessions.len(), recovered.zones.len());
        tracing::info!(sessions, zones, damaged = damaged_count, "recovered");
    }
    Ok((recovered, zones))
}

/// Where commits are reported to, and that the store is full.
pub(crate) struct CommitListeners {
    hub: InternalSender,
    zones: ZoneSenders,
    directory: DirectoryCommits,
    sight: SharedSight,
}

impl CommitListeners {
    pub(crate) fn new(
        around: &Surroundings,
        zones: ZoneSenders,
        directory: DirectoryCommits,
    ) -> Self {
        Self { hub: around.hub.clone(), zones, directory, sight: around.sight.clone() }
    }
}

/// Starts the thread. `failed` gets the reason once nothing can be committed any more.
pub(crate) fn start(
    (store, opened): (Box<dyn Store + Send>, OpenedZones),
    requests: Receiver<StoreRequest>,
    listeners: CommitListeners,
    failed: watch::Sender<Option<String>>,
) -> std::io::Result<JoinHandle<()>> {
    let thread = StoreThread {
        store,
        opened,
        ephemeral: EphemeralZones::default(),
        listeners,
        failed,
        kept: Vec::new(),
        is_full: false,
    };
    let builder = std::thread::Builder::new().name("rejoin-store".to_owned());
    builder.spawn(move || thread.run(&requests))
}

/// Zones without durability: their batches are committed to memory and end with the process.
#[derive(Default)]
struct EphemeralZones {
    zones: BTreeSet<ZoneId>,
    store: Memory,
}

impl EphemeralZones {
    fn has(&self, scope: ScopeId) -> bool {
        matches!(scope, ScopeId::Zone(zone) if self.zones.contains(&zone))
    }
}

struct StoreThread {
    store: Box<dyn Store + Send>,
    opened: OpenedZones,
    ephemeral: EphemeralZones,
    listeners: CommitListeners,
    failed: watch::Sender<Option<String>>,
    /// Requests that must be tried again, in order.
    kept: Vec<StoreRequest>,
    is_full: bool,
}

/// One turn: the batches to commit together, and the requests that must wait.
#[derive(Default)]
struct Turn {
    group: Vec<Batch>,
    kept: Vec<StoreRequest>,
    /// Scopes with a request in `kept`: none of their later requests may overtake it.
    blocked: BTreeSet<ScopeId>,
    is_full: bool,
}

impl Turn {
    fn keep(&mut self, scope: ScopeId, request: StoreRequest) {
        self.blocked.insert(scope);
        self.kept.push(request);
    }
}

impl StoreThread {
    fn run(mut self, requests: &Receiver<StoreRequest>) {
        loop {
            let first = if self.kept.is_empty() {
                requests.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                requests.recv_timeout(AGAIN_AFTER)
            };
            let mut next = match first {
                Ok(request) => Some(request),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut taken = std::mem::take(&mut self.kept);
            let (mut batches, mut bytes) = (taken.len(), 0);
            let mut is_last = false;
            while let Some(request) = next {
                let some = match request {
                    StoreRequest::Stop => {
                        is_last = true;
                        break;
                    }
                    StoreRequest::Many(many) => many,
                    one => vec![one],
                };
                batches += some.len();
                bytes += some.iter().map(StoreRequest::size).sum::<usize>();
                taken.extend(some);
                let is_enough = batches >= GROUP_BATCHES_MAX || bytes >= GROUP_BYTES_MAX;
                next = if is_enough { None } else { requests.try_recv().ok() };
            }
            self.turn(taken);
            if is_last || self.failed.borrow().is_some() {
                return;
            }
        }
    }

    fn turn(&mut self, requests: Vec<StoreRequest>) {
        let mut turn = Turn::default();
        for request in requests {
            match request {
                StoreRequest::Commit(batch) if turn.blocked.contains(&batch.scope) => {
                    turn.kept.push(StoreRequest::Commit(batch));
                }
                StoreRequest::Commit(batch) => turn.group.push(batch),
                StoreRequest::OpenZone(spec, depth) => self.open_zone(&mut turn, spec, depth),
                StoreRequest::DropZone(zone) => {
                    self.commit(&mut turn);
                    self.opened.remove(&zone);
                    self.ephemeral.store.forget(ScopeId::Zone(zone));
                    self.listeners.zones.put(zone, ToThread::Drop(zone));
                    self.listeners.zones.send();
                }
                // `run` has taken these apart.
                StoreRequest::Many(_) | StoreRequest::Stop => {}
            }
        }
        self.commit(&mut turn);
        self.kept = turn.kept;
        if turn.is_full && !self.is_full {
            tracing::error!("the disk is full: durable zones and logins wait until there is room");
        } else if self.is_full && !turn.is_full {
            tracing::warn!("there is room again: all goes on");
        }
        if std::mem::replace(&mut self.is_full, turn.is_full) != turn.is_full {
            self.listeners.zones.store_full(turn.is_full);
            self.listeners.directory.store_full(turn.is_full);
            // An error means that the hub has ended.
            let _ = self.listeners.hub.blocking_send(HubInput::StoreFull(turn.is_full));
        }
    }

    /// Commits the batches of the group and reports each outcome.
    fn commit(&mut self, turn: &mut Turn) {
        let group = std::mem::take(&mut turn.group);
        let (passing, lasting): (Vec<Batch>, Vec<Batch>) =
            group.into_iter().partition(|batch| self.ephemeral.has(batch.scope));
        let outcomes = self.ephemeral.store.commit(&passing);
        for (batch, outcome) in passing.into_iter().zip(outcomes) {
            self.report(turn, batch, outcome);
        }
        self.listeners.zones.send();
        if lasting.is_empty() {
            return;
        }
        let started = Instant::now();
        let outcomes = self.store.commit(&lasting);
        let took = started.elapsed();
        for (batch, outcome) in lasting.into_iter().zip(outcomes) {
            self.listeners.sight.metrics.committed(outcome == Outcome::Committed, took);
            self.report(turn, batch, outcome);
        }
        self.listeners.zones.send();
        self.listeners.directory.send();
    }

    fn report(&mut self, turn: &mut Turn, batch: Batch, outcome: Outcome) {
        match (outcome, batch.scope) {
            (Outcome::Committed, ScopeId::Zone(zone)) => {
                let committed = ToThread::Committed(zone, batch.owner, batch.revision);
                self.listeners.zones.put(zone, committed);
            }
            (Outcome::Committed, scope) if scope.is_directory() => {
                self.listeners.directory.put(scope, batch.revision);
            }
            (Outcome::Committed, scope) => {
                // An error means that the hub has ended.
                let _ =
                    self.listeners.hub.blocking_send(HubInput::Committed(scope, batch.revision));
            }
            (Outcome::Full | Outcome::Unknown, scope) => {
                turn.is_full |= outcome == Outcome::Full;
                turn.keep(scope, StoreRequest::Commit(batch));
            }
            (Outcome::Poisoned, _) => self.fail(),
            // A fenced writer has been replaced already; from any other submitter this is a bug.
            (outcome, scope) => tracing::error!(?scope, %outcome, "a batch was not applied"),
        }
    }

    fn open_zone(&mut self, turn: &mut Turn, spec: Box<ZoneSpec>, depth: Depth) {
        // The last batches of the zone's former incarnation go in first.
        self.commit(turn);
        let (zone, scope) = (spec.id, ScopeId::Zone(spec.id));
        if turn.blocked.contains(&scope) {
            return turn.keep(scope, StoreRequest::OpenZone(spec, depth));
        }
        match self.open_scope(&spec) {
            Ok(opened) => {
                let owner = opened.owner;
                let is_open =
                    self.listeners.zones.send_now(zone, ToThread::Open(spec, opened, depth));
                if self.is_full {
                    // There was room for the opening, and may be none for the zone's batches.
                    self.listeners.zones.store_full(true);
                }
                if !is_open {
                    let text =
                        "Stuck: too many callbacks hang, and no thread is left for this zone";
                    let refused = ToHub::OpenRefused { text: text.to_owned() };
                    // An error means that the hub has ended.
                    let input = HubInput::FromZone(zone, owner, refused);
                    let _ = self.listeners.hub.blocking_send(input);
                }
            }
            Err(StoreError::Full) => {
                turn.is_full = true;
                turn.keep(scope, StoreRequest::OpenZone(spec, depth));
            }
            Err(_) => self.fail(),
        }
    }

    fn open_scope(&mut self, spec: &ZoneSpec) -> Result<Opened, StoreError> {
        let scope = ScopeId::Zone(spec.id);
        let from_start = self.opened.remove(&spec.id);
        let store: &mut dyn Store = if spec.config.durability == Durability::Memory {
            self.ephemeral.zones.insert(spec.id);
            &mut self.ephemeral.store
        } else if let Some(opened) = from_start {
            return Ok(opened);
        } else {
            self.store.as_mut()
        };
        let mut opened = store.open_one(scope);
        if let Err(StoreError::Damaged(damaged)) = &opened {
            // The store has set the scope aside. The zone begins anew, and its members learn that its
            // state was lost.
            tracing::error!("{damaged}");
            opened = store.open_one(scope);
        }
        opened
    }

    /// Reports no more commits from now on. The program that runs the server has to end it.
    fn fail(&mut self) {
        if self.failed.borrow().is_some() {
            return;
        }
        let why = self.store.complaint().unwrap_or_else(|| "the store cannot be read".to_owned());
        tracing::error!(why, "nothing can be kept any more: the server must end");
        self.failed.send_replace(Some(why));
    }
}

#[cfg(test)]
mod tests;
