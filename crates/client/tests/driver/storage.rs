//! What survives the end of the program, and what happens when nothing can be stored.

use std::io;
use std::sync::{Arc, Mutex};

use futures_util::{SinkExt as _, StreamExt as _};
use rejoin_client::driver::{Folder, Key, OpenError, Player, Slot, Storage};
use rejoin_client::{Bytes, Encoding, Event, Rung};
use rejoin_core::wire::v1::{self, Challenge, ServerFrame, Welcome, server_frame};
use rejoin_core::wire::{decode_client, encode_server};
use tokio::net::TcpListener;
use tokio_tungstenite::tungstenite::Message;

use crate::house::{House, upgrade};
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
async fn a_token_without_its_key_locks_nobody_out() {
    let house = House::open().await;
    let place = Place::new();
    let (player, events, session) = enter(&house, quick().storage(Folder::new(&place.0))).await;
    drop((player, events));
    std::fs::remove_file(place.0.join("key")).expect("it was there");
    let options = quick().storage(Folder::new(&place.0));
    let (_player, mut events) = Player::connect(&house.url, options).await.expect("it starts");
    // Whoever lost the key is another player.
    let (other, rung) = connected(&mut events).await;
    assert!(other != session && rung == Rung::New);
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

/// A storage that writes down when it is called, and panics when it is told to.
#[derive(Clone, Default)]
struct Witness {
    story: Arc<Mutex<Vec<&'static str>>>,
    is_broken: bool,
}

impl Storage for Witness {
    fn load(&self, _: Slot) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn store(&self, slot: Slot, _: &[u8]) -> io::Result<()> {
        assert!(!self.is_broken || slot != Slot::Session, "asked to panic");
        // Long enough for a frame that does not wait to overtake it.
        std::thread::sleep(std::time::Duration::from_millis(50));
        self.story.lock().expect("nobody panics here").push(slot.name());
        Ok(())
    }

    fn forget(&self, _: Slot) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn a_token_is_stored_before_the_frame_that_confirms_it_goes_out() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("ws://{}/play", listener.local_addr().expect("bound"));
    let witness = Witness::default();
    let options = quick().storage(witness.clone());
    let (_player, _events) = Player::connect(&url, options).await.expect("it starts");
    let (stream, _) = listener.accept().await.expect("it dials");
    let (mut socket, encoding) = upgrade(stream).await.expect("it speaks WebSocket");
    assert_eq!(encoding, Encoding::Protobuf);
    let challenge = Challenge {
        nonce: Bytes::from(vec![1; 32]),
        version_min: 1,
        version_max: 1,
        ..Challenge::default()
    };
    let welcome = Welcome {
        session: 7,
        player: Bytes::from(vec![2; 16]),
        epoch: 1,
        rung: v1::Rung::New.into(),
        leg: 1,
        token: Bytes::from(vec![3; 32]),
        ..Welcome::default()
    };
    for frame in [server_frame::Frame::Challenge(challenge), server_frame::Frame::Welcome(welcome)]
    {
        let bytes = encode_server(encoding, &ServerFrame { frame: Some(frame) });
        socket.send(Message::Binary(bytes.expect("it is a frame"))).await.expect("it listens");
        let Some(Ok(Message::Binary(answer))) = socket.next().await else {
            panic!("a frame is answered by a frame");
        };
        decode_client(encoding, answer, &rejoin_client::Limits::DEFAULT).expect("it is one");
        witness.story.lock().expect("nobody panics here").push("frame");
    }
    let story = witness.story.lock().expect("nobody panics here").clone();
    assert_eq!(story, ["key", "frame", "session", "frame"]);
}

#[tokio::test]
async fn a_storage_that_panics_costs_its_call() {
    let house = House::open().await;
    let options = quick().storage(Witness { is_broken: true, ..Witness::default() });
    let (player, mut events) = Player::connect(&house.url, options).await.expect("it starts");
    until(&mut events, |event| matches!(event, Event::StorageFailed { .. })).await;
    connected(&mut events).await;
    assert!(player.send("still here").await.is_ok());
}
