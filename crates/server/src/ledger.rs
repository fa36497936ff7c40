//! The store's thread. All that waits is committed at once, in the order in which it was submitted,
//! and each commit is told to the incarnation that submitted it. Openings of zones pass through here
//! too, so that they keep their order among each other. What finds no room is kept and submitted
//! again: nobody is told that it is committed, so zones stop by themselves and go on by themselves.
//! Zones that end with their process are kept apart, in memory.

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

use crate::directory::CommitsTold;
use crate::mailbox::InnerDoor;
use crate::sight::SharedSight;
use crate::zones::{Depth, Mailbag, Surroundings, ToThread};

/// What the store's thread is asked.
pub(crate) enum Entry {
    Commit(Batch),
    OpenZone(Box<ZoneSpec>, Depth),
    DropZone(ZoneId),
    /// All of this, in order: the store is woken once for it.
    Many(Vec<Entry>),
    Stop,
}

impl Entry {
    /// Bytes that are to be written.
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
/// How long to wait before what found no room is submitted again.
const AGAIN_AFTER: Duration = Duration::from_millis(250);
/// While opening takes longer than this, progress is told.
const PROGRESS_EVERY: Duration = Duration::from_secs(1);

/// Where entries are put. The channel has no bound of its own, on purpose: the store's thread sends to
/// those who send to it, so a bound that made them wait could make all wait for each other. What can be
/// in it is bounded by what there is: one batch for each session, player, account, zone and part of the
/// directory (their gates), one of the hub, and an opening or a drop for each zone.
pub(crate) type LedgerDoor = Sender<Entry>;

/// Zones that were opened at the start, to learn their names: each waits here for the hub's word to
/// run it, and is not opened a second time.
pub(crate) type OpenedZones = BTreeMap<ZoneId, Opened>;

/// Everything the hub starts from, and the zones of kinds that are run here. Opening a scope shuts out
/// whoever had it before.
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
    let (mut done, mut damaged_count, mut told) = (0, 0, Instant::now());
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
        if told.elapsed() > PROGRESS_EVERY {
            told = Instant::now();
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

/// Who hears of commits.
pub(crate) struct Told {
    hub: InnerDoor,
    zones: Mailbag,
    directory: CommitsTold,
    sight: SharedSight,
}

impl Told {
    pub(crate) fn new(around: &Surroundings, zones: Mailbag, directory: CommitsTold) -> Self {
        Self { hub: around.hub.clone(), zones, directory, sight: around.sight.clone() }
    }
}

/// Starts the thread. `failed` is told why nothing can be committed any more.
pub(crate) fn start(
    (store, opened): (Box<dyn Store + Send>, OpenedZones),
    entries: Receiver<Entry>,
    told: Told,
    failed: watch::Sender<Option<String>>,
) -> std::io::Result<JoinHandle<()>> {
    let ledger = Ledger {
        store,
        opened,
        fleeting: Fleeting::default(),
        told,
        failed,
        kept: Vec::new(),
        is_full: false,
    };
    let builder = std::thread::Builder::new().name("rejoin-store".to_owned());
    builder.spawn(move || ledger.run(&entries))
}

/// Zones that end with their process.
#[derive(Default)]
struct Fleeting {
    zones: BTreeSet<ZoneId>,
    store: Memory,
}

impl Fleeting {
    fn has(&self, scope: ScopeId) -> bool {
        matches!(scope, ScopeId::Zone(zone) if self.zones.contains(&zone))
    }
}

struct Ledger {
    store: Box<dyn Store + Send>,
    opened: OpenedZones,
    fleeting: Fleeting,
    told: Told,
    failed: watch::Sender<Option<String>>,
    /// What must be tried again, in order.
    kept: Vec<Entry>,
    is_full: bool,
}

/// One turn: what is to be committed together, and what must wait.
#[derive(Default)]
struct Turn {
    group: Vec<Batch>,
    kept: Vec<Entry>,
    /// Scopes of which something is kept: nothing of theirs may overtake it.
    blocked: BTreeSet<ScopeId>,
    is_full: bool,
}

impl Turn {
    fn keep(&mut self, scope: ScopeId, entry: Entry) {
        self.blocked.insert(scope);
        self.kept.push(entry);
    }
}

impl Ledger {
    fn run(mut self, entries: &Receiver<Entry>) {
        loop {
            let first = if self.kept.is_empty() {
                entries.recv().map_err(|_| RecvTimeoutError::Disconnected)
            } else {
                entries.recv_timeout(AGAIN_AFTER)
            };
            let mut next = match first {
                Ok(entry) => Some(entry),
                Err(RecvTimeoutError::Timeout) => None,
                Err(RecvTimeoutError::Disconnected) => return,
            };
            let mut taken = std::mem::take(&mut self.kept);
            let (mut batches, mut bytes) = (taken.len(), 0);
            let mut is_last = false;
            while let Some(entry) = next {
                let some = match entry {
                    Entry::Stop => {
                        is_last = true;
                        break;
                    }
                    Entry::Many(many) => many,
                    one => vec![one],
                };
                batches += some.len();
                bytes += some.iter().map(Entry::size).sum::<usize>();
                taken.extend(some);
                let is_enough = batches >= GROUP_BATCHES_MAX || bytes >= GROUP_BYTES_MAX;
                next = if is_enough { None } else { entries.try_recv().ok() };
            }
            self.turn(taken);
            if is_last || self.failed.borrow().is_some() {
                return;
            }
        }
    }

    fn turn(&mut self, entries: Vec<Entry>) {
        let mut turn = Turn::default();
        for entry in entries {
            match entry {
                Entry::Commit(batch) if turn.blocked.contains(&batch.scope) => {
                    turn.kept.push(Entry::Commit(batch));
                }
                Entry::Commit(batch) => turn.group.push(batch),
                Entry::OpenZone(spec, depth) => self.open_zone(&mut turn, spec, depth),
                Entry::DropZone(zone) => {
                    self.commit(&mut turn);
                    self.opened.remove(&zone);
                    self.fleeting.store.forget(ScopeId::Zone(zone));
                    self.told.zones.put(zone, ToThread::Drop(zone));
                    self.told.zones.send();
                }
                // Taken apart and looked at when they came.
                Entry::Many(_) | Entry::Stop => {}
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
            self.told.zones.store_full(turn.is_full);
            self.told.directory.store_full(turn.is_full);
            // An error means that the hub has ended.
            let _ = self.told.hub.blocking_send(HubInput::StoreFull(turn.is_full));
        }
    }

    /// Commits what has come together, and tells.
    fn commit(&mut self, turn: &mut Turn) {
        let group = std::mem::take(&mut turn.group);
        let (passing, lasting): (Vec<Batch>, Vec<Batch>) =
            group.into_iter().partition(|batch| self.fleeting.has(batch.scope));
        let outcomes = self.fleeting.store.commit(&passing);
        for (batch, outcome) in passing.into_iter().zip(outcomes) {
            self.tell(turn, batch, outcome);
        }
        self.told.zones.send();
        if lasting.is_empty() {
            return;
        }
        let started = Instant::now();
        let outcomes = self.store.commit(&lasting);
        let took = started.elapsed();
        for (batch, outcome) in lasting.into_iter().zip(outcomes) {
            self.told.sight.metrics.committed(outcome == Outcome::Committed, took);
            self.tell(turn, batch, outcome);
        }
        self.told.zones.send();
        self.told.directory.send();
    }

    fn tell(&mut self, turn: &mut Turn, batch: Batch, outcome: Outcome) {
        match (outcome, batch.scope) {
            (Outcome::Committed, ScopeId::Zone(zone)) => {
                let committed = ToThread::Committed(zone, batch.owner, batch.revision);
                self.told.zones.put(zone, committed);
            }
            (Outcome::Committed, scope) if scope.is_directory() => {
                self.told.directory.put(scope, batch.revision);
            }
            (Outcome::Committed, scope) => {
                // An error means that the hub has ended.
                let _ = self.told.hub.blocking_send(HubInput::Committed(scope, batch.revision));
            }
            (Outcome::Full | Outcome::Unknown, scope) => {
                turn.is_full |= outcome == Outcome::Full;
                turn.keep(scope, Entry::Commit(batch));
            }
            (Outcome::Poisoned, _) => self.fail(),
            // A fenced writer is done for anyway; for anybody else this is a bug worth a loud word.
            (outcome, scope) => tracing::error!(?scope, %outcome, "a batch was not applied"),
        }
    }

    fn open_zone(&mut self, turn: &mut Turn, spec: Box<ZoneSpec>, depth: Depth) {
        // What the zone wrote before it ended goes in first.
        self.commit(turn);
        let (zone, scope) = (spec.id, ScopeId::Zone(spec.id));
        if turn.blocked.contains(&scope) {
            return turn.keep(scope, Entry::OpenZone(spec, depth));
        }
        match self.open_scope(&spec) {
            Ok(opened) => {
                let owner = opened.owner;
                let is_open = self.told.zones.send_now(zone, ToThread::Open(spec, opened, depth));
                if self.is_full {
                    // There was room for this, and may be none for what it has to say.
                    self.told.zones.store_full(true);
                }
                if !is_open {
                    let text =
                        "Stuck: too many callbacks hang, and no thread is left for this zone";
                    let refused = ToHub::OpenRefused { text: text.to_owned() };
                    // An error means that the hub has ended.
                    let input = HubInput::FromZone(zone, owner, refused);
                    let _ = self.told.hub.blocking_send(input);
                }
            }
            Err(StoreError::Full) => {
                turn.is_full = true;
                turn.keep(scope, Entry::OpenZone(spec, depth));
            }
            Err(_) => self.fail(),
        }
    }

    fn open_scope(&mut self, spec: &ZoneSpec) -> Result<Opened, StoreError> {
        let scope = ScopeId::Zone(spec.id);
        let from_start = self.opened.remove(&spec.id);
        let store: &mut dyn Store = if spec.config.durability == Durability::Memory {
            self.fleeting.zones.insert(spec.id);
            &mut self.fleeting.store
        } else if let Some(opened) = from_start {
            return Ok(opened);
        } else {
            self.store.as_mut()
        };
        let mut opened = store.open_one(scope);
        if let Err(StoreError::Damaged(damaged)) = &opened {
            // It was set aside. The zone begins anew, and its members are told that it was lost.
            tracing::error!("{damaged}");
            opened = store.open_one(scope);
        }
        opened
    }

    /// Nothing is told to be committed from now on. Whoever runs the server ends it.
    fn fail(&mut self) {
        if self.failed.borrow().is_some() {
            return;
        }
        let why = self.store.complaint().unwrap_or_else(|| "the store cannot be read".to_owned());
        tracing::error!(why, "nothing can be kept any more: the server must end");
        self.failed.send_replace(Some(why));
    }
}
