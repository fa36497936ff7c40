//! The example as a program of its own, with real clients over sockets.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use rejoin::client::driver::{Events, Options, Player};
use rejoin::client::{Event, Rung};
use tokio::time::timeout;

/// Far above what it takes; a test that hangs must end.
const PATIENCE: Duration = Duration::from_secs(60);

/// Ended with the test, by its id. What it says has a reader as long as it runs.
struct Program {
    child: Child,
    said: BufReader<ChildStdout>,
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(wait_seconds: &str) -> (Program, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_turn-based"));
    command.args(["127.0.0.1:0", wait_seconds]).stdout(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let said = BufReader::new(child.stdout.take().expect("a pipe"));
    let mut program = Program { child, said };
    let mut first = String::new();
    program.said.read_line(&mut first).expect("a line of text");
    let url = first.trim().split(' ').next_back().expect("an address").to_owned();
    (program, url)
}

async fn hears(events: &mut Events, what: &str) {
    let found = async {
        while let Some(event) = events.next().await {
            if matches!(&event, Event::Message { payload } if payload == what) {
                return;
            }
        }
        panic!("{what:?} was never heard");
    };
    timeout(PATIENCE, found).await.expect("in time");
}

async fn enters(player: &Player, events: &mut Events) {
    player.join("match", "one", true, "").await.expect("there is room");
    let joined = async { while !matches!(events.next().await, Some(Event::Joined { .. })) {} };
    timeout(PATIENCE, joined).await.expect("in time");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_match_waits_and_then_does_not() {
    let (_program, url) = start("2");
    let (ann, mut ann_hears) = Player::connect(&url, Options::new()).await.expect("ann");
    let (bob, mut bob_hears) = Player::connect(&url, Options::new()).await.expect("bob");
    enters(&ann, &mut ann_hears).await;
    enters(&bob, &mut bob_hears).await;
    ann.send("4").await.expect("room");
    hears(&mut bob_hears, "x plays 4").await;

    // Bob is away for a moment; his move is made before he is back, and counts once he is.
    bob.cancel().await.expect("it runs");
    hears(&mut ann_hears, "o is away").await;
    bob.send("0").await.expect("room");
    bob.retry().await.expect("it runs");
    hears(&mut ann_hears, "o is back").await;
    hears(&mut ann_hears, "o plays 0").await;
    let rung = async {
        loop {
            if let Some(Event::Connected { rung, .. }) = bob_hears.next().await {
                return rung;
            }
        }
    };
    assert_eq!(timeout(PATIENCE, rung).await.expect("in time"), Rung::Replayed);

    // And then for good.
    bob.cancel().await.expect("it runs");
    hears(&mut ann_hears, "o is away").await;
    hears(&mut ann_hears, "x wins").await;
}
