//! A player comes, plays, is cut off and comes back; another device takes over; the player leaves.

use rejoin_client::driver::{CallError, Key, Login, Memory, Player, Slot, Storage};
use rejoin_client::{Event, Rung, SendError};

use crate::house::{Cut, House};
use crate::scene::{connected, enter, hears, quick, until};

#[tokio::test]
async fn a_player_logs_in_by_key_joins_and_is_heard() {
    let house = House::open().await;
    let storage = Memory::new();
    let (player, mut events, session) = enter(&house, quick().storage(storage.clone())).await;
    assert_ne!(session, 0);
    player.send("hello").await.expect("taken");
    hears(&mut events, "hello").await;
    assert_eq!(house.applied(), ["hello"]);
    for slot in [Slot::Key, Slot::Session] {
        assert!(storage.load(slot).expect("memory").is_some(), "{slot} is stored");
    }
}

#[cfg(feature = "json")]
#[tokio::test]
async fn the_encoding_chooses_the_subprotocol() {
    let house = House::open().await;
    let mut options = quick();
    options.config.encoding = rejoin_client::Encoding::Json;
    let (player, mut events, _) = enter(&house, options).await;
    player.send("hello").await.expect("taken");
    hears(&mut events, "hello").await;
    house.cut(Cut::End);
    assert_eq!(connected(&mut events).await.1, Rung::Replayed);
}

#[tokio::test]
async fn every_way_of_logging_in_works() {
    let house = House::open().await;
    let key = Key::generate().expect("there is chance");
    for login in [Login::StoredKey, Login::Key(key), Login::Secret, Login::Anonymous] {
        let storage = Memory::new();
        let options = quick().login(login.clone()).storage(storage.clone());
        let (_player, _events, _) = enter(&house, options).await;
        let is_minted = storage.load(Slot::Secret).expect("memory").is_some();
        assert_eq!(is_minted, matches!(login, Login::Secret));
    }
}

#[tokio::test]
async fn a_second_device_takes_over_and_the_first_takes_it_back() {
    let house = House::open().await;
    let key = Key::generate().expect("there is chance");
    let options = || quick().login(Login::Key(key.clone()));
    let (first, mut first_events, session) = enter(&house, options()).await;
    let (_second, mut second_events) =
        Player::connect(&house.url, options()).await.expect("it starts");
    assert_eq!(connected(&mut second_events).await, (session, Rung::Resynced));
    until(&mut first_events, |event| matches!(event, Event::TakenOver)).await;
    // It does not fight for the session: the next thing that happens to it is its own wish.
    assert_eq!(first_events.try_next(), None);
    first.retry().await.expect("it runs");
    assert_eq!(connected(&mut first_events).await, (session, Rung::Resynced));
    until(&mut second_events, |event| matches!(event, Event::TakenOver)).await;
}

#[tokio::test]
async fn a_cancel_holds_and_a_retry_resumes() {
    let house = House::open().await;
    let (player, mut events, session) = enter(&house, quick()).await;
    player.cancel().await.expect("it runs");
    let stopped = Event::Stopped { code: None, text: String::new() };
    until(&mut events, |event| *event == stopped).await;
    player.send("said meanwhile").await.expect("kept");
    let unreliable = player.send_unreliable("gone").await;
    assert_eq!(unreliable, Err(CallError::Refused(SendError::NotConnected)));
    player.retry().await.expect("it runs");
    assert_eq!(connected(&mut events).await, (session, Rung::Replayed));
    hears(&mut events, "said meanwhile").await;
}

#[tokio::test]
async fn a_player_that_leaves_is_gone_and_can_start_over() {
    let house = House::open().await;
    let storage = Memory::new();
    let (player, mut events, session) = enter(&house, quick().storage(storage.clone())).await;
    player.send("last words").await.expect("taken");
    player.leave().await.expect("it runs");
    until(&mut events, |event| matches!(event, Event::Left)).await;
    assert_eq!(house.applied(), ["last words"]);
    assert!(storage.load(Slot::Session).expect("memory").is_none());
    player.start_over().await.expect("it runs");
    let (next, rung) = connected(&mut events).await;
    assert!(next != session && rung == Rung::New);
}

#[tokio::test]
async fn a_player_ends_with_its_events_and_plays_on_without_its_handles() {
    let house = House::open().await;
    let (player, events, _) = enter(&house, quick()).await;
    drop(events);
    while player.retry().await.is_ok() {
        tokio::task::yield_now().await;
    }
    assert_eq!(player.send("nobody").await, Err(CallError::Gone));

    let (player, mut events, session) = enter(&house, quick()).await;
    player.send("many 3").await.expect("taken");
    drop(player);
    hears(&mut events, "m3").await;
    house.cut(Cut::Reset);
    assert_eq!(connected(&mut events).await, (session, Rung::Replayed));
}
