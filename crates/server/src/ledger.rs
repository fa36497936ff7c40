//! The store's thread. Batches are applied in the order in which they were submitted, and each
//! commit is told to the incarnation that submitted it. Openings of zones pass through here too, so
//! that they keep their order among each other.

use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;
use std::time::Instant;

use rejoin_core::hub::{HubInput, Recovered};
use rejoin_core::id::ZoneId;
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::zone::{ZoneSpec, name_of};
use rejoin_store::Store;

use crate::mailbox::InnerDoor;
use crate::sight::SharedSight;
use crate::zones::{Depth, ToThread, ZoneDoors};

/// What the store's thread is asked.
pub(crate) enum Entry {
    Commit(Batch),
    OpenZone(Box<ZoneSpec>, Depth),
    DropZone(ZoneId),
    Stop,
}

/// Where entries are put.
pub(crate) type LedgerDoor = Sender<Entry>;

/// Everything the hub starts from. Opening a scope shuts out whoever had it before.
pub(crate) fn recover(store: &mut dyn Store) -> Recovered {
    let mut recovered = Recovered { hub: store.open(ScopeId::Hub), ..Recovered::default() };
    for scope in store.scopes() {
        match scope {
            ScopeId::Hub => {}
            ScopeId::Session(id) => recovered.sessions.push((id, store.open(scope))),
            ScopeId::Player(id) => recovered.players.push((id, store.open(scope))),
            // The zone's own opening raises its owner again; here only its name is wanted.
            ScopeId::Zone(_) => recovered.zones.extend(name_of(&store.open(scope).rows)),
        }
    }
    recovered
}

/// Starts the thread, with those it tells of commits.
pub(crate) fn start(
    store: Box<dyn Store + Send>,
    entries: Receiver<Entry>,
    (hub, zones, sight): (InnerDoor, ZoneDoors, SharedSight),
) -> std::io::Result<JoinHandle<()>> {
    let mut ledger = Ledger { store, hub, zones, sight };
    let builder = std::thread::Builder::new().name("rejoin-store".to_owned());
    builder.spawn(move || {
        while let Ok(entry) = entries.recv() {
            match entry {
                Entry::Stop => break,
                Entry::Commit(batch) => ledger.commit(&batch),
                Entry::OpenZone(spec, depth) => ledger.open_zone(spec, depth),
                Entry::DropZone(zone) => ledger.zones.send(zone, ToThread::Drop(zone)),
            }
        }
    })
}

struct Ledger {
    store: Box<dyn Store + Send>,
    hub: InnerDoor,
    zones: ZoneDoors,
    sight: SharedSight,
}

impl Ledger {
    fn commit(&mut self, batch: &Batch) {
        let started = Instant::now();
        let applied = self.store.apply(batch);
        self.sight.metrics.committed(applied.is_ok(), started.elapsed());
        if let Err(refused) = applied {
            // A fenced writer is done for anyway; for anybody else this is a bug worth a loud word.
            return tracing::error!(scope = ?batch.scope, %refused, "a batch was not applied");
        }
        match batch.scope {
            ScopeId::Zone(zone) => {
                self.zones.send(zone, ToThread::Committed(zone, batch.owner, batch.revision));
            }
            scope => {
                // An error means that the hub has ended.
                let _ = self.hub.blocking_send(HubInput::Committed(scope, batch.revision));
            }
        }
    }

    fn open_zone(&mut self, spec: Box<ZoneSpec>, depth: Depth) {
        let zone = spec.id;
        let opened = self.store.open(ScopeId::Zone(zone));
        self.zones.send(zone, ToThread::Open(spec, opened, depth));
    }
}
