//! A folder that the program of commit 01ea902 wrote (format 2), killed in the middle, is opened with all that is
//! in it. It was made by [`write`] with that program:
//!
//! ```sh
//! REJOIN_FORMER_PROGRAM=<that rejoin> REJOIN_KEEP_FORMER=crates/rejoin/tests/folders/format-2 \
//!     cargo test -p rejoin --test folders a_folder_of_today
//! ```
//!
//! A later format gets files of its own beside these, which stay as they are.

use std::path::Path;
use std::time::Instant;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::pack::{pack, unpack};
use crate::peer::{Kept, PATIENCE, Peer, number};
use crate::{ask, done, folder, operator_key, program, serve};

const FORMAT_2: &[u8] = include_bytes!("format-2.pack");
const FORMAT_2_PLAYERS: &str = include_str!("format-2.json");

pub(crate) const PASSWORD: &str = "correct horse";
pub(crate) const REPLAYED: (&str, &str) = ("RUNG_REPLAYED", "RUNG_REASON_COMPLETE");

fn account(name: &str) -> String {
    json!({"account": {"name": name, "password": PASSWORD}}).to_string()
}

pub(crate) async fn login_as(address: &str, name: &str) -> Result<Peer, String> {
    Peer::try_login(address, json!({"anonymous": {}}), &account(name)).await
}

/// The player's id as the directory and `rejoin player` write it.
fn hex(kept: &Kept) -> String {
    let id = STANDARD.decode(&kept.player).expect("base64");
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A Game of the relay's fleet, once the server's own host is there.
fn create_game(address: &str, key: &str) -> String {
    let body = json!({"fleet": "relay", "key": "tea-1", "name": "tea", "capacity": 2}).to_string();
    let end = Instant::now() + PATIENCE;
    loop {
        let (status, game) = ask(address, key, "POST /v1/games", &body);
        if status < 300 {
            return game["id"].as_str().expect("an id").to_owned();
        }
        assert!(Instant::now() < end, "{status} {game}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Waits until the Game runs; as it is then.
fn running_game(address: &str, key: &str, id: &str) -> Value {
    let end = Instant::now() + PATIENCE;
    loop {
        let (status, game) = ask(address, key, &format!("GET /v1/games/{id}"), "");
        if status == 200 && game["status"] == "active" {
            return game;
        }
        assert!(Instant::now() < end, "{status} {game}");
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
}

/// Fills a folder and kills the server; what its players keep.
async fn write(data: &Path) -> Value {
    for name in ["ann", "dan", "eve"] {
        done(&["player", "add", name, "--data"], &[data], &format!("{PASSWORD}\n"));
    }
    done(&["player", "ban", "dan", "--reason", "cheated", "--data"], &[data], "");
    done(&["player", "lock", "eve", "--data"], &[data], "");
    let (key, told) = operator_key();
    let serving = serve(data, &told);
    let address = serving.address().to_owned();

    let ann = login_as(&address, "ann").await.expect("let in");
    // Three refusals of which the first was heard and acknowledged.
    let mut lobby = Peer::login(&address).await;
    for _ in 0..3 {
        lobby.up(json!({"message": {"payload": "aGk="}})).await;
    }
    lobby.kept.seq = 1;
    lobby.acknowledge().await;

    let mut speaker = Peer::login_by_key(&address, [7; 32]).await.expect("let in");
    speaker.join(json!({"name": "square", "create": true})).await;
    let mut listener = Peer::login(&address).await;
    listener.join(json!({"name": "square"})).await;
    speaker.talk("one").await;
    listener.listen("one").await;
    listener.acknowledge().await;
    speaker.talk("two").await;
    speaker.talk("three").await;
    listener.message().await;
    listener.talk("four").await;

    let game = create_game(&address, &key);
    running_game(&address, &key, &game);
    let mut seated = Peer::login(&address).await;
    let body = json!({"players": [{"player": hex(&seated.kept)}], "key": "party"}).to_string();
    let (status, seats) = ask(&address, &key, &format!("POST /v1/games/{game}/seats"), &body);
    assert!(status < 300, "{status} {seats}");
    let ticket = seats["seats"][0]["id"].as_str().expect("a seat").to_owned();
    seated.join(json!({"name": game, "ticket": ticket})).await;
    let end = Instant::now() + PATIENCE;
    while running_game(&address, &key, &game)["active"] != 1 {
        assert!(Instant::now() < end, "the seat is in use");
    }
    serving.kill().expect("it was ours");
    json!({
        "ann": ann.kept.to_json(), "lobby": lobby.kept.to_json(),
        "speaker": speaker.kept.to_json(), "listener": listener.kept.to_json(),
        "seated": seated.kept.to_json(), "game": game, "ticket": ticket,
    })
}

/// Serves a folder of [`write`]: everybody comes back, with nothing lost.
async fn check(data: &Path, players: &Value) {
    let kept = |name: &str| Kept::from_json(&players[name]);
    let (key, told) = operator_key();
    let serving = serve(data, &told);
    let address = serving.address();
    // Outside zones a hold is short: these come first.
    let mut lobby = Peer::resume(address, &kept("lobby"), 4).await;
    let ann = Peer::resume(address, &kept("ann"), 1).await;
    assert_eq!(ann.rung(), REPLAYED, "ann");
    assert_eq!(lobby.rung(), REPLAYED, "outside zones");
    for seq in 2..=3 {
        let down = lobby.hear("down").await;
        assert_eq!((number(&down["seq"]), number(&down["refused"]["to"])), (seq, seq), "{down}");
    }
    lobby.up(json!({"message": {"payload": "aGk="}})).await;

    // Its last word may not have been heard for all it knows; said again, it is no second one.
    let speaker = kept("speaker");
    let mut speaker = Peer::resume(address, &speaker, speaker.number).await;
    assert_eq!(speaker.rung(), REPLAYED, "by key");
    assert_eq!(speaker.listen("four").await, ["four"]);
    speaker.kept.number -= 1;
    speaker.talk("three").await;
    let listener = kept("listener");
    let mut listener = Peer::resume(address, &listener, listener.number + 1).await;
    assert_eq!(listener.rung(), REPLAYED, "in a room");
    speaker.talk("five").await;
    assert_eq!(listener.listen("five").await, ["two", "three", "five"]);

    let seated = kept("seated");
    let seated = Peer::resume(address, &seated, seated.number + 1).await;
    assert_eq!(seated.rung(), REPLAYED, "with a seat");
    let game = players["game"].as_str().expect("a Game");
    let shown = running_game(address, &key, game);
    assert_eq!((&shown["name"], &shown["active"]), (&json!("tea"), &json!(1)), "{shown}");
    let ticket = players["ticket"].as_str().expect("a seat");
    let (status, seat) = ask(address, &key, &format!("GET /v1/games/{game}/seats/{ticket}"), "");
    assert_eq!((status, &seat["player"]), (200, &json!(hex(&seated.kept))), "{seat}");

    assert_eq!(login_as(address, "dan").await.err().as_deref(), Some("CLOSE_CODE_BANNED"));
    assert_eq!(login_as(address, "eve").await.err().as_deref(), Some("CLOSE_CODE_LOCKED"));
    let ann = login_as(address, "ann").await.expect("let in");
    assert_eq!(ann.kept.player, kept("ann").player);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_format_2_opens_with_everybody_in_it() {
    let data = folder("format-2");
    unpack(FORMAT_2, &data);
    let players: Value = serde_json::from_str(FORMAT_2_PLAYERS).expect("JSON");
    check(&data, &players).await;
    std::fs::remove_dir_all(data).expect("it was ours");
}

/// What the kept folders are made by, with the program of today.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_folder_of_today_opens_with_everybody_in_it() {
    let data = folder("today");
    let players = write(&data).await;
    if let Ok(path) = std::env::var("REJOIN_KEEP_FORMER") {
        std::fs::write(format!("{path}.pack"), pack(&data)).expect("written");
        let text = serde_json::to_string_pretty(&players).expect("JSON");
        std::fs::write(format!("{path}.json"), text + "\n").expect("written");
        println!("kept, by {}", program().display());
    }
    check(&data, &players).await;
    std::fs::remove_dir_all(data).expect("it was ours");
}
