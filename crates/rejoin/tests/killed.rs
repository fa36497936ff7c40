//! The program is killed while players talk, and started again where it was: nobody loses a word, hears
//! one twice or is asked to begin anew. `cargo xtask chaos` does the same for longer.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rejoin::client::driver::{Events, Options, Player};
use rejoin::client::{Event, Rung};
use rejoin_chaos::{Gate, NodeCrowd, Plan, Serving, Signal, run};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rejoin");

fn folder(name: &str) -> PathBuf {
    let name = format!("{name}-{}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_doubled_or_reordered_when_the_server_is_killed() {
    let mut plan = Plan::new(PROGRAM.into(), folder("killed"), 10, 6, 3);
    plan.pace = Duration::from_millis(20);
    plan.between = Duration::from_millis(800);
    match NodeCrowd::missing() {
        None => plan.js = 3,
        Some(why) => println!("SKIPPED: killed, the players of the JavaScript SDK: {why}"),
    }
    let report = run(&plan).await.expect("it runs");
    println!("{report}");
    assert!(report.is_clean(), "{report}");
    assert!(report.said > 200 && report.heard > 1_000, "{report}");
    assert!(report.returns.count >= 10, "{report}");
}

/// Outside zones a session is held for five seconds; time in which nobody could have come back does not
/// count.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_longer_than_the_hold_costs_nobody_a_session() {
    let data = folder("outage");
    let serving = Serving::start(Path::new(PROGRAM), &data, "127.0.0.1:0").expect("it starts");
    let (address, url) = (serving.address().to_owned(), serving.url());
    let mut players = Vec::new();
    for _ in 0..5 {
        let (player, mut events) = Player::connect(&url, Options::new()).await.expect("let in");
        assert_eq!(connected(&mut events).await, Rung::New);
        players.push((player, events));
    }
    serving.kill().expect("it ran");
    // Twice the hold of five seconds.
    tokio::time::sleep(Duration::from_secs(10)).await;
    let again = Serving::start(Path::new(PROGRAM), &data, &address).expect("it starts again");
    for (_, events) in &mut players {
        assert_eq!(connected(events).await, Rung::Replayed);
    }
    drop(again);
}

/// One player is held when the process is stopped, and nobody else is there whose deadlines would
/// show how long that was. `cargo xtask chaos --stops 1` stops it for a minute.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_is_stopped_ends_nobodys_hold() {
    let serving = Serving::start(Path::new(PROGRAM), &folder("stopped"), "127.0.0.1:0");
    let mut serving = serving.expect("it starts");
    let gate = Gate::to(serving.address()).await.expect("a port");
    let (_player, mut events) = Player::connect(&gate.url(), Options::new()).await.expect("let in");
    assert_eq!(connected(&mut events).await, Rung::New);
    gate.shut();
    // The drop is noticed, and the hold of five seconds runs.
    tokio::time::sleep(Duration::from_millis(1_000)).await;
    serving.signal(Signal::Stop).expect("it runs");
    tokio::time::sleep(Duration::from_secs(7)).await;
    serving.signal(Signal::Continue).expect("it is there");
    tokio::time::sleep(Duration::from_millis(500)).await;
    gate.open();
    assert_eq!(connected(&mut events).await, Rung::Replayed);
}

async fn connected(events: &mut Events) -> Rung {
    let found = async {
        loop {
            match events.next().await.expect("the player goes on") {
                Event::Connected { rung, .. } => return rung,
                Event::Stopped { .. } => panic!("it gave up"),
                _ => {}
            }
        }
    };
    tokio::time::timeout(Duration::from_secs(60), found).await.expect("in time")
}
