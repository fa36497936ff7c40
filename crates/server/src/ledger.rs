//! The store's thread. Batches are applied in the order in which they were submitted, and each
//! commit is told to the incarnation that submitted it. Openings of zones pass through here too, so
//! that they keep their order among each other.

use std::sync::mpsc::{Receiver, Sender};
use std::thread::JoinHandle;

use rejoin_core::exchange::ToHub;
use rejoin_core::hub::{HubInput, Recovered};
use rejoin_core::id::ZoneId;
use rejoin_core::scope::{Batch, ScopeId};
use rejoin_core::zone::{ZoneSpec, name_of};
use rejoin_store::{Outcome, Store, StoreError};

use crate::mailbox::InnerDoor;
use crate::zones::{Depth, ToThread, ZoneDoors};

/// What the store's thread is asked.
pub(crate) enum Entry {
    Commit(Batch),
    OpenZone(Box<ZoneSpec>, Depth),
    DropZone(ZoneId),
    Stop,
}

/// Scopes that are opened in one commit.
const OPEN_AT_ONCE: usize = 4_096;

/// Where entries are put.
pub(crate) type LedgerDoor = Sender<Entry>;

/// Everything the hub starts from. Opening a scope shuts out whoever had it before.
///
/// # Errors
/// The store cannot be read.
pub(crate) fn recover(store: &mut dyn Store) -> Result<Recovered, StoreError> {
    let hub = store.open_one(ScopeId::Hub)?;
    let mut recovered = Recovered { hub, ..Recovered::default() };
    let scopes = store.scopes(None)?;
    for some in scopes.chunks(OPEN_AT_ONCE) {
        let some: Vec<ScopeId> = some.iter().copied().filter(|it| *it != ScopeId::Hub).collect();
        for (scope, found) in some.iter().zip(store.open(&some)?) {
            match (*scope, found) {
                (ScopeId::Session(id), Ok(opened)) => recovered.sessions.push((id, opened)),
                (ScopeId::Player(id), Ok(opened)) => recovered.players.push((id, opened)),
                // The zone's own opening raises its owner again; here only its name is wanted.
                (ScopeId::Zone(_), Ok(opened)) => recovered.zones.extend(name_of(&opened.rows)),
                (ScopeId::Hub, Ok(_)) => {}
                (_, Err(damaged)) => tracing::error!("{damaged}"),
            }
        }
    }
    Ok(recovered)
}

/// Starts the thread.
pub(crate) fn start(
    store: Box<dyn Store + Send>,
    entries: Receiver<Entry>,
    hub: InnerDoor,
    zones: ZoneDoors,
) -> std::io::Result<JoinHandle<()>> {
    let mut ledger = Ledger { store, hub, zones };
    let builder = std::thread::Builder::new().name("rejoin-store".to_owned());
    builder.spawn(move || {
        while let Ok(entry) = entries.recv() {
            match entry {
                Entry::Stop => break,
                Entry::Commit(batch) => ledger.commit(&batch),
                Entry::OpenZone(spec, depth) => ledger.open_zone(spec, depth),
                Entry::DropZone(zone) => drop(ledger.zones.send(zone, ToThread::Drop(zone))),
            }
        }
    })
}

struct Ledger {
    store: Box<dyn Store + Send>,
    hub: InnerDoor,
    zones: ZoneDoors,
}

impl Ledger {
    fn commit(&mut self, batch: &Batch) {
        let outcome = self.store.apply(batch);
        if outcome != Outcome::Committed {
            // A fenced writer is done for anyway; for anybody else this is a bug worth a loud word.
            return tracing::error!(scope = ?batch.scope, %outcome, "a batch was not applied");
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
        let opened = match self.store.open_one(ScopeId::Zone(zone)) {
            Ok(opened) => opened,
            Err(error) => {
                return tracing::error!(%zone, %error, "a zone could not be opened");
            }
        };
        let owner = opened.owner;
        if !self.zones.send(zone, ToThread::Open(spec, opened, depth)) {
            let text = "Stuck: too many callbacks hang, and no thread is left for this zone";
            let refused = ToHub::OpenRefused { text: text.to_owned() };
            // An error means that the hub has ended.
            let _ = self.hub.blocking_send(HubInput::FromZone(zone, owner, refused));
        }
    }
}
