//! Players of a store that has no room or has failed: nothing is half done, at a server and on a folder.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use rejoin_core::account::{Name, Role};
use rejoin_core::hub::{PlayerCommand, Whom};
use rejoin_core::scope::{Batch, Opened, ScopeId};
use rejoin_server::ServerBuilder;
use rejoin_server::players::{KeptError, KeptPlayers};
use rejoin_store::{Damaged, Memory, Outcome, ScopeKind, Store, StoreError};
use tokio::time::timeout;

const GOOD: u8 = 0;
const FULL: u8 = 1;
const BROKEN: u8 = 2;

/// A store with moods. It is shared, so that a second process can look at it.
#[derive(Clone, Default)]
struct Moody {
    inner: Arc<std::sync::Mutex<Memory>>,
    mood: Arc<AtomicU8>,
}

impl Moody {
    fn feel(&self, mood: u8) {
        self.mood.store(mood, Ordering::SeqCst);
    }
}

impl Store for Moody {
    fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
        self.inner.lock().expect("nobody panics").open(scopes)
    }

    fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
        match self.mood.load(Ordering::SeqCst) {
            FULL => vec![Outcome::Full; group.len()],
            BROKEN => vec![Outcome::Poisoned; group.len()],
            _ => self.inner.lock().expect("nobody panics").commit(group),
        }
    }

    fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
        self.inner.lock().expect("nobody panics").scopes(kind)
    }
}

fn name(text: &str) -> Name {
    Name::parse(text).expect("a name")
}

fn add(text: &str) -> PlayerCommand {
    PlayerCommand::Add { name: name(text), role: Role::Player, password: None }
}

fn whom(text: &str) -> Whom {
    Whom::Name(name(text))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_that_is_full_or_broken_changes_nothing() {
    let store = Moody::default();
    let server = ServerBuilder::new().store(store.clone()).start().expect("it starts");
    server.ready().await.expect("it runs");
    server.order_player(add("ann")).await.expect("there is room");
    store.feel(FULL);
    let adding = server.clone();
    let mut adding = tokio::spawn(async move { adding.order_player(add("bob")).await });
    let locked = server.order_player(PlayerCommand::Lock(whom("ann"), true));
    assert!(timeout(Duration::from_millis(700), locked).await.is_err(), "not told to be done");
    assert!(timeout(Duration::from_millis(10), &mut adding).await.is_err(), "nor this");
    assert_eq!(server.player(whom("bob")).await, Ok(None), "nobody sees it before it is kept");
    let ann = server.player(whom("ann")).await.expect("it runs").expect("kept");
    assert!(!ann.account.expect("an account").locked);
    // There is room again: what was asked is done, in its order.
    store.feel(GOOD);
    adding.await.expect("it ends").expect("done");
    let unlocked = PlayerCommand::Lock(whom("ann"), false);
    server.order_player(unlocked).await.expect("it waits for the lock before it");
    store.feel(BROKEN);
    let lost = server.order_player(PlayerCommand::Delete(whom("ann")));
    assert!(timeout(Duration::from_millis(500), lost).await.is_err(), "never told to be done");
    timeout(Duration::from_secs(20), server.failed()).await.expect("the server must end");
    server.stop().await;

    // As the next process finds it.
    store.feel(GOOD);
    let mut kept = KeptPlayers::open(store.clone()).expect("it can be read");
    assert_eq!(kept.players(None, 10).len(), 2);
    let ann = kept.player(&whom("ann")).expect("not deleted").account.expect("an account");
    assert!(!ann.leaving && !ann.locked);
    for (mood, sentence) in [(FULL, "nothing was changed"), (BROKEN, "nothing was changed")] {
        store.feel(mood);
        let refused = kept.order(add("cem")).expect_err("it is not kept");
        assert!(matches!(refused, KeptError::Store(_)), "{refused}");
        assert!(refused.to_string().contains(sentence), "{refused}");
        store.feel(GOOD);
        kept = KeptPlayers::open(store.clone()).expect("it can be read");
        assert!(kept.player(&whom("cem")).is_none());
    }
}
