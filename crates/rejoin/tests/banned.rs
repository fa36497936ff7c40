//! A ban whose row is damaged on the disk: the player is not let in as if nothing had been, however often
//! the server starts, until somebody decides.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rejoin::client::Event;
use rejoin::client::driver::{Events, Memory, Options, Player};
use rejoin::hub::{Command, PlayerCommand, Whom};
use rejoin::id::PlayerId;
use rejoin::server::{Server, ServerBuilder, WebConfig};
use rejoin::store::Embedded;
use rejoin::time::WallTime;
use tokio::net::TcpListener;
use tokio::time::timeout;

const PATIENCE: Duration = Duration::from_secs(60);
/// A wall time whose bytes are found nowhere else.
const UNTIL: u64 = 0x0123_4567_89ab_cdef;

async fn serve(folder: &Path) -> (Server, String) {
    let store = Embedded::open(folder).expect("ours");
    let server = ServerBuilder::new().store(store).start().expect("it starts");
    server.ready().await.expect("it is ready");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("ws://{}/play", listener.local_addr().expect("it is bound"));
    let door = server.clone();
    tokio::spawn(async move { door.listen(listener, WebConfig::default()).await });
    (server, url)
}

async fn next(events: &mut Events) -> Event {
    timeout(PATIENCE, events.next()).await.expect("in time").expect("the player goes on")
}

/// A number as protobuf writes it.
fn varint(mut value: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
    bytes
}

/// Changes a bit of every copy of these bytes.
fn damage(file: &Path, needle: &[u8]) {
    let mut bytes = std::fs::read(file).expect("a file");
    let places: Vec<usize> =
        (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect();
    assert!(!places.is_empty(), "the ban is written there");
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    std::fs::write(file, bytes).expect("written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_ban_keeps_its_player_out_until_somebody_decides() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("ban-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    let storage = Arc::new(Memory::default());
    let options = || {
        let mut options = Options::new();
        options.storage = storage.clone();
        options
    };
    let (server, url) = serve(&folder).await;
    let (player, mut events) = Player::connect(&url, options()).await.expect("let in");
    let Event::Connected { player: ann, .. } = next(&mut events).await else { panic!("let in") };
    let ann = PlayerId(ann);
    let ban = PlayerCommand::Ban(Whom::Player(ann), WallTime(UNTIL), String::new());
    server.command(Command::Player(ban)).await.expect("it runs");
    while !matches!(next(&mut events).await, Event::Stopped { .. }) {}
    drop(player);
    server.stop().await;
    drop(server);
    damage(&folder.join("store.redb"), &varint(UNTIL));

    for start in 1..=3 {
        let (server, url) = serve(&folder).await;
        let (player, mut events) = Player::connect(&url, options()).await.expect("an address");
        // Refused, and it tries again: it is not the player's fault.
        let first = next(&mut events).await;
        assert!(matches!(first, Event::Reconnecting { .. }), "start {start}: {first:?}");
        assert_eq!(server.sessions().await.expect("it runs").len(), 0, "start {start}");
        drop(player);
        if start == 3 {
            let unban = PlayerCommand::Unban(Whom::Player(ann));
            server.command(Command::Player(unban)).await.expect("it runs");
            let (_player, mut events) = Player::connect(&url, options()).await.expect("let in");
            assert!(matches!(next(&mut events).await, Event::Connected { .. }));
        }
        server.stop().await;
    }
    std::fs::remove_dir_all(folder).expect("it was ours");
}
