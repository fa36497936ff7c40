//! Servers and their stores: what is there after a stop, what a store that fails does to a server, and
//! what is never written.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::SessionConfig;
use rejoin_core::id::SessionId;
use rejoin_core::scope::{Batch, Opened, ScopeId};
use rejoin_core::zone::{
    Context, Delivery, Durability, RestoreRefused, Saved, Sender, Zone, ZoneConfig,
};
use rejoin_server::{Deliveries, Server, ServerBuilder};
use rejoin_store::embedded::snapshot::Snapshots;
use rejoin_store::faulty::{Faults, Faulty};
use rejoin_store::{Damaged, Embedded, Memory, Outcome, ScopeKind, Store, StoreError};

const PATIENCE: Duration = Duration::from_secs(60);

/// Says how much it has heard.
#[derive(Default)]
struct Counter(u64);

impl Zone for Counter {
    type In = Bytes;
    type Out = Bytes;

    fn on_message(&mut self, ctx: &mut Context<'_, Bytes>, _: Sender, said: Bytes) {
        assert_ne!(said, "boom");
        self.0 += 1;
        ctx.broadcast(Bytes::from(self.0.to_string()));
    }

    fn save(&self) -> Option<Bytes> {
        Some(self.0.to_string().into())
    }

    fn restore(&mut self, _: u32, saved: Saved) -> Result<(), RestoreRefused> {
        let Some(snapshot) = saved.snapshot else { return Ok(()) };
        let text = String::from_utf8_lossy(&snapshot).into_owned();
        self.0 = text.parse().map_err(|_| RestoreRefused(format!("{text:?} is no count")))?;
        Ok(())
    }
}

fn serve(store: impl Store + Send + 'static, durability: Durability) -> Server {
    let config = ZoneConfig { durability, tick: None, ..ZoneConfig::default() };
    let builder = ServerBuilder::new().zone("counter", config, Counter::default);
    builder.store(store).start().expect("it starts")
}

async fn ready(server: &Server) {
    let waiting = async {
        while !server.is_ready() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("in time");
}

async fn enter(server: &Server, zone: &str) -> (SessionId, Deliveries) {
    ready(server).await;
    let npc = server.start_session(SessionConfig::default()).await.expect("there is room");
    let mut heard = server.deliveries(npc);
    let name = ZoneName { kind: "counter".to_owned(), name: zone.to_owned() };
    server.join(npc, name, Bytes::new()).await.expect("the kind is known");
    // Until the zone is open, nothing can be said there.
    let joined = tokio::time::timeout(PATIENCE, heard.recv()).await.expect("in time");
    assert!(matches!(joined, Some(Delivery::Joined(..))));
    (npc, heard)
}

async fn say(server: &Server, npc: SessionId) {
    server.say(npc, Arc::new(Bytes::from_static(b"one"))).await.expect("it runs");
}

async fn hear(heard: &mut Deliveries) -> String {
    loop {
        let next = tokio::time::timeout(PATIENCE, heard.recv()).await.expect("in time");
        if let Some(Delivery::Message(message)) = next {
            let bytes = message.downcast_ref::<Bytes>().expect("the zone's own type");
            return String::from_utf8_lossy(bytes).into_owned();
        }
    }
}

fn zones_in(path: &Path) -> usize {
    let mut zones = 0;
    let looked = Snapshots::of_folder(path).expect("ours").visit(|shown| {
        let (scope, _) = shown.expect("nothing is damaged");
        zones += usize::from(matches!(scope, ScopeId::Zone(_)));
        Ok(())
    });
    looked.expect("it can be read");
    zones
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_zone_would_have_saved_later_is_saved_when_the_server_stops() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Embedded::open(folder.path()).expect("ours");
    let server = serve(open(), Durability::Session);
    let (npc, mut heard) = enter(&server, "a").await;
    for count in 1..=3 {
        say(&server, npc).await;
        assert_eq!(hear(&mut heard).await, count.to_string());
    }
    server.stop().await;
    let server = serve(open(), Durability::Session);
    let (npc, mut heard) = enter(&server, "a").await;
    say(&server, npc).await;
    assert_eq!(hear(&mut heard).await, "4");
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_memory_zone_is_never_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let open = || Embedded::open(folder.path()).expect("ours");
    let server = serve(open(), Durability::Memory);
    let (npc, mut heard) = enter(&server, "a").await;
    say(&server, npc).await;
    assert_eq!(hear(&mut heard).await, "1");
    server.stop().await;
    assert_eq!(zones_in(folder.path()), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_store_has_no_room_or_no_answer_for_is_submitted_again() {
    let faults = Faults {
        full: 60,
        unknown_applied: 100,
        unknown_lost: 100,
        reorder: 300,
        ..Faults::default()
    };
    let server = serve(Faulty::new(Memory::default(), faults, 11), Durability::Full);
    let (npc, mut heard) = enter(&server, "a").await;
    for count in 1..=40 {
        say(&server, npc).await;
        assert_eq!(hear(&mut heard).await, count.to_string(), "each once, in order");
    }
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_poisoned_store_is_told_and_confirms_nothing() {
    let faults = Faults { poisoned: 1_000, ..Faults::default() };
    let server = serve(Faulty::new(Memory::default(), faults, 1), Durability::Full);
    let why = tokio::time::timeout(PATIENCE, server.failed()).await.expect("in time");
    assert!(!why.is_empty());
    assert!(!server.is_ready());
    server.stop().await;
}

/// A store that two servers use one after the other, with what was opened in it.
#[derive(Clone, Default)]
struct Counted {
    inner: Arc<Mutex<Memory>>,
    opened: Arc<Mutex<Vec<ScopeId>>>,
}

impl Store for Counted {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        self.opened.lock().expect("nobody panics").extend(scopes);
        self.inner.lock().expect("nobody panics").open(scopes)
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        self.inner.lock().expect("nobody panics").commit(group)
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        self.inner.lock().expect("nobody panics").scopes(kind)
    }
}

// To open a scope is to read all of it, and a commit of its own: with thousands of zones that is most
// of a start.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_opens_every_zone_once() {
    let store = Counted::default();
    let server = serve(store.clone(), Durability::Full);
    for zone in ["a", "b", "c"] {
        let (npc, mut heard) = enter(&server, zone).await;
        say(&server, npc).await;
        assert_eq!(hear(&mut heard).await, "1");
    }
    server.stop().await;
    store.opened.lock().expect("nobody panics").clear();
    let server = serve(store.clone(), Durability::Full);
    ready(&server).await;
    let opened = store.opened.lock().expect("nobody panics").clone();
    let zones = opened.iter().filter(|scope| matches!(scope, ScopeId::Zone(_)));
    assert_eq!(zones.count(), 3, "{opened:?}");
    let (npc, mut heard) = enter(&server, "b").await;
    say(&server, npc).await;
    assert_eq!(hear(&mut heard).await, "2", "it goes on from what was kept");
    server.stop().await;
}

/// A store that has no room for zones while it is told so, with what was asked of it for zones.
#[derive(Clone, Default)]
struct NoRoom {
    inner: Arc<Mutex<Memory>>,
    is_full: Arc<AtomicBool>,
    asked: Arc<Mutex<Vec<&'static str>>>,
}

impl NoRoom {
    fn note(&self, what: &'static str) {
        self.asked.lock().expect("nobody panics").push(what);
    }

    /// Waits until a batch of a zone was refused so many times more.
    async fn refused(&self, times: usize) {
        let count = || {
            let asked = self.asked.lock().expect("nobody panics");
            asked.iter().filter(|what| **what == "refused").count()
        };
        let enough = count() + times;
        let waiting = async {
            while count() < enough {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(PATIENCE, waiting).await.expect("in time");
    }
}

impl Store for NoRoom {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        if scopes.iter().any(|scope| matches!(scope, ScopeId::Zone(_))) {
            self.note("opened");
        }
        self.inner.lock().expect("nobody panics").open(scopes)
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        let has_zone = group.iter().any(|batch| matches!(batch.scope, ScopeId::Zone(_)));
        if has_zone && self.is_full.load(Ordering::SeqCst) {
            self.note("refused");
            return vec![Outcome::Full; group.len()];
        }
        if has_zone {
            self.note("committed");
        }
        self.inner.lock().expect("nobody panics").commit(group)
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        self.inner.lock().expect("nobody panics").scopes(kind)
    }
}

// A zone faults while its last cut waits for room. The next incarnation is opened after that cut: opened
// before, it would begin without what the cut holds.
#[tokio::test(flavor = "multi_thread")]
async fn no_opening_of_a_zone_overtakes_a_cut_that_found_no_room() {
    let store = NoRoom::default();
    let server = serve(store.clone(), Durability::Full);
    let (npc, mut heard) = enter(&server, "a").await;
    store.is_full.store(true, Ordering::SeqCst);
    store.asked.lock().expect("nobody panics").clear();
    say(&server, npc).await;
    store.refused(1).await;
    server.say(npc, Arc::new(Bytes::from_static(b"boom"))).await.expect("it runs");
    // Each try comes a quarter of a second after the last: by then the hub has asked for the opening.
    store.refused(4).await;
    store.is_full.store(false, Ordering::SeqCst);
    let rebuilt = async { while !matches!(heard.recv().await, Some(Delivery::Rebuilt)) {} };
    tokio::time::timeout(PATIENCE, rebuilt).await.expect("in time");
    say(&server, npc).await;
    assert_eq!(hear(&mut heard).await, "2", "the first message is in the cut that waited");
    let asked = store.asked.lock().expect("nobody panics").clone();
    let cut = asked.iter().position(|what| *what == "committed");
    let opening = asked.iter().position(|what| *what == "opened");
    assert!(cut < opening && opening.is_some(), "{asked:?}");
    server.stop().await;
}
