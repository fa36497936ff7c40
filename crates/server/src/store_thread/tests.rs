//! What waits for room on the disk keeps its order.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use rejoin_core::exchange::ZoneName;
use rejoin_core::id::{OwnerEpoch, SessionId};
use rejoin_core::zone::ZoneConfig;
use rejoin_store::{Damaged, ScopeKind};
use rejoin_wire::Limits;
use tokio::sync::mpsc;

use super::*;
use crate::clock::MonotonicClock;
use crate::connection_table::ConnectionTable;
use crate::journal::Incarnation;
use crate::queue::QueueLimits;
use crate::sight::{Sight, SightConfig};
use crate::zones::ZoneInboxes;

/// What was asked of the store, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Asked {
    Committed(ScopeId, u64),
    Opened(ScopeId),
}

/// A store without room for the first group.
struct NoRoomOnce {
    store: Memory,
    is_full: bool,
    asked: Arc<Mutex<Vec<Asked>>>,
}

impl Store for NoRoomOnce {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        self.asked.lock().expect("one thread").extend(scopes.iter().copied().map(Asked::Opened));
        self.store.open(scopes)
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        if std::mem::take(&mut self.is_full) {
            return vec![Outcome::Full; group.len()];
        }
        let asked = group.iter().map(|batch| Asked::Committed(batch.scope, batch.revision.0));
        self.asked.lock().expect("one thread").extend(asked);
        self.store.commit(group)
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        self.store.scopes(kind)
    }
}

type Stage = (StoreThread, Arc<Mutex<Vec<Asked>>>, mpsc::Receiver<HubInput>, Receiver<ToThread>);

fn stage() -> Stage {
    let (hub, hub_inbox) = mpsc::channel(16);
    let (zones, zone_inbox) = std::sync::mpsc::channel();
    let connections = ConnectionTable::new(QueueLimits::default());
    let (clock, incarnation) = (MonotonicClock::start(), Incarnation::from_seed(&[1; 32]));
    let sight =
        Sight::new(SightConfig::default(), clock, connections, Limits::DEFAULT, incarnation);
    let asked = Arc::<Mutex<Vec<Asked>>>::default();
    let store = NoRoomOnce { store: Memory::default(), is_full: true, asked: Arc::clone(&asked) };
    let thread = StoreThread {
        store: Box::new(store),
        opened: OpenedZones::new(),
        ephemeral: EphemeralZones::default(),
        listeners: CommitListeners {
            hub,
            zones: ZoneSenders::new(ZoneInboxes::of(zones)),
            directory: DirectoryCommits::new(None),
            sight: Arc::new(sight),
        },
        failed: watch::channel(None).0,
        kept: Vec::new(),
        is_full: false,
    };
    (thread, asked, hub_inbox, zone_inbox)
}

fn batch(scope: ScopeId, revision: u64) -> StoreRequest {
    let (key, value) = (Bytes::from_static(b"k"), Bytes::from_static(b"v"));
    StoreRequest::Commit(Batch {
        scope,
        owner: OwnerEpoch(1),
        revision: Revision(revision),
        changes: vec![Change::Put(key, value)],
        delete_scope: false,
    })
}

fn opening(name: ZoneName) -> StoreRequest {
    let spec = ZoneSpec {
        id: ZoneId::of(&name.kind, &name.name),
        name,
        config: ZoneConfig::default(),
        seated: false,
        poisoned: None,
        closed: false,
    };
    StoreRequest::OpenZone(Box::new(spec), Depth::default())
}

/// An opening in between commits what came before it, which finds no room; then there is room again.
#[test]
fn nothing_of_a_scope_overtakes_a_batch_of_it_that_is_kept_back() {
    let (mut thread, asked, mut hub_inbox, _zone_inbox) = stage();
    let (one, other) = (ScopeId::Session(SessionId(1)), ScopeId::Session(SessionId(2)));
    let name = ZoneName { kind: "z".to_owned(), name: "a".to_owned() };
    let zone = ScopeId::Zone(ZoneId::of("z", "a"));
    thread.turn(vec![batch(one, 1), opening(name), batch(one, 2), batch(other, 1)]);
    let first = [Asked::Opened(zone), Asked::Committed(other, 1)];
    assert_eq!(*asked.lock().expect("one thread"), first, "both of the first wait");
    let kept = std::mem::take(&mut thread.kept);
    thread.turn(kept);
    let then = [Asked::Committed(one, 1), Asked::Committed(one, 2)];
    assert_eq!(asked.lock().expect("one thread")[2..], then);
    let heard = std::iter::from_fn(|| hub_inbox.try_recv().ok());
    let heard = heard.filter_map(|input| match input {
        HubInput::Committed(scope, revision) => Some((scope, revision.0)),
        _ => None,
    });
    assert_eq!(heard.collect::<Vec<_>>(), [(other, 1), (one, 1), (one, 2)]);
}

/// A zone that starts again begins where the last batch of its former incarnation has left it.
#[test]
fn a_zone_is_not_opened_before_a_batch_of_it_that_is_kept_back() {
    let (mut thread, asked, _hub_inbox, zone_inbox) = stage();
    let name = ZoneName { kind: "z".to_owned(), name: "a".to_owned() };
    let zone = ScopeId::Zone(ZoneId::of("z", "a"));
    thread.turn(vec![batch(zone, 1), opening(name)]);
    assert_eq!(*asked.lock().expect("one thread"), []);
    let kept = std::mem::take(&mut thread.kept);
    thread.turn(kept);
    let expected = [Asked::Committed(zone, 1), Asked::Opened(zone)];
    assert_eq!(*asked.lock().expect("one thread"), expected);
    let opened = zone_inbox.try_iter().find_map(|message| match message {
        ToThread::Open(_, opened, _) => Some(opened.revision),
        _ => None,
    });
    assert_eq!(opened, Some(Revision(1)));
}
