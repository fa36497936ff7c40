//! What survives the end of the program, and what happens when nothing can be stored.

use rejoin_client::driver::{Folder, Key, OpenError, Player, Slot, Storage};
use rejoin_client::{Event, Rung};

use crate::house::House;
use crate::scene::{Place, connected, enter, hears, quick, until};

#[tokio::test]
async fn another_process_finds_the_session_in_the_folder() {
    let house = House::open().await;
    let place = Place::new();
    let options = || quick().storage(Folder::new(&place.0));
    let (player, mut events, session) = enter(&house, options()).await;
    player.send("before").await.expect("taken");
    hears(&mut events, "before").await;
    drop((player, events));

    let (player, mut events) = Player::connect(&house.url, options()).await.expect("it starts");
    assert_eq!(connected(&mut events).await, (session, Rung::Resynced));
    let resync = until(&mut events, |event| matches!(event, Event::Resync { .. })).await;
    assert!(matches!(resync, Event::Resync { snapshot, .. } if snapshot == "the plaza"));
    player.send("after").await.expect("taken");
    hears(&mut events, "after").await;
    assert_eq!(house.applied(), ["before", "after"]);
}

#[tokio::test]
async fn a_token_is_not_shown_to_another_server() {
    let house = House::open().await;
    let place = Place::new();
    let (_player, _events, session) = enter(&house, quick().storage(Folder::new(&place.0))).await;
    let mut options = quick().storage(Folder::new(&place.0));
    options.config.server_name = "localhost".to_owned();
    let (_player, mut events) = Player::connect(&house.url, options).await.expect("it starts");
    // The key led back here, not the token: a login found the session.
    match until(&mut events, |event| matches!(event, Event::Connected { .. })).await {
        Event::Connected { session: other, found, .. } => assert!(found && other == session),
        event => panic!("not a welcome: {event:?}"),
    }
}

#[tokio::test]
async fn a_token_that_cannot_be_stored_is_told_and_the_game_goes_on() {
    let house = House::open().await;
    let place = Place::new();
    // A folder stands where the file would be: nobody can write there, not even root.
    std::fs::create_dir_all(place.0.join("session").join("full")).expect("made");
    let options = quick().storage(Folder::new(&place.0));
    let (player, mut events) = Player::connect(&house.url, options).await.expect("it starts");
    let failed = |event: &Event| matches!(event, Event::StorageFailed { slot: "session", .. });
    until(&mut events, failed).await;
    until(&mut events, failed).await;
    connected(&mut events).await;
    player.join("plaza", "p", true, "").await.expect("taken");
    player.send("still here").await.expect("taken");
    hears(&mut events, "still here").await;
}

#[tokio::test]
async fn a_damaged_session_costs_a_login_and_a_damaged_key_stops() {
    let house = House::open().await;
    let place = Place::new();
    let folder = Folder::new(&place.0);
    folder.store(Slot::Session, b"rubbish").expect("stored");
    let options = || quick().storage(folder.clone());
    let (_player, mut events) = Player::connect(&house.url, options()).await.expect("it starts");
    until(&mut events, |event| matches!(event, Event::StorageFailed { .. })).await;
    assert_eq!(connected(&mut events).await.1, Rung::New);

    folder.store(Slot::Key, b"half a key").expect("stored");
    let refused = Player::connect(&house.url, options()).await;
    assert!(matches!(refused, Err(OpenError::Key(_))));
    assert_eq!(folder.load(Slot::Key).expect("read").as_deref(), Some(&b"half a key"[..]));
    assert!(Key::load_or_create(&folder).is_err());
}
