//! Row K1: the wall clock jumps an hour ahead and an hour back. Holds and heartbeats are measured by a
//! clock that does not jump: nobody is let go early, nobody is kept for ever, and tokens stay what they
//! are. libfaketime moves the clock under the real program.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use crate::house::House;
use crate::player::Player;

/// The program looks at the wall clock once a second.
const LOOKED: Duration = Duration::from_millis(2_500);

/// Debian's library; each architecture has its own folder.
fn library() -> Option<String> {
    let folders = std::fs::read_dir("/usr/lib").ok()?.flatten().map(|entry| entry.path());
    let library = |folder: &Path| folder.join("faketime/libfaketime.so.1");
    folders.map(|folder| library(&folder)).find(|file| file.exists())?.to_str().map(str::to_owned)
}

/// The day and the hour that a clock shows which is off by so many.
fn hour(off: &str) -> String {
    let date = Command::new("date").args(["-u", "-d", off, "+%Y-%m-%dT%H:"]).output();
    String::from_utf8(date.expect("there is a date").stdout).expect("text").trim().to_owned()
}

/// Somebody whose connection is gone, and what leads back.
async fn dropped(house: &House, held: u64) -> Value {
    let bob: Player = house.member_from([127, 0, 0, 2], "square").await;
    let resume = bob.resume();
    drop(bob);
    house.until("bob is held", |house| house.figure("rejoin_sessions_held") == held).await;
    resume
}

#[tokio::test(flavor = "multi_thread")]
async fn a_clock_that_jumps_lets_nobody_go_early_and_keeps_nobody() {
    let Some(library) = library() else {
        println!("SKIPPED: clock_jump: Debian's package libfaketime is not installed");
        return;
    };
    let environment = [
        ("LD_PRELOAD", &*library),
        ("FAKETIME_TIMESTAMP_FILE", "./time"),
        ("FAKETIME_NO_CACHE", "1"),
        ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
    ];
    let house = House::start_under("", &environment);
    let mut ann = house.member("square").await;
    for (jump, off) in [("+3600", "1 hour"), ("-3600", "-1 hour"), ("+0", "0 hours")] {
        let resume = dropped(&house, 1).await;
        house.write("time", jump);
        // The hold is five seconds and goes on.
        tokio::time::sleep(LOOKED).await;
        let mut bob = house.dial_from([127, 0, 0, 2]).await.expect("let in");
        assert_eq!(bob.try_hello(&resume).await, "welcome", "{jump}");
        assert_eq!(bob.welcome["rung"], "RUNG_RESYNCED", "{jump}: its own session");
        bob.ask().await;
        ann.ask().await;
        let log = String::from_utf8(house.log()).expect("text");
        let last = log.lines().last().expect("somebody came back");
        // It may be a minute past the hour by now.
        let hours = [hour(off), hour(&format!("{off} -1 minute"))];
        assert!(hours.iter().any(|hour| last.contains(hour)), "{jump} was not seen: {last}");
        bob.up(json!({"bye": {}})).await;
        house.until("bob has left", |house| house.figure("rejoin_sessions_active") == 1).await;
    }
    assert_eq!(house.figure("rejoin_sessions_ended_total"), 3, "those who left");
    // Nobody comes back: the hold ends when it ends, whatever the wall clock says.
    house.write("time", "-3600");
    dropped(&house, 1).await;
    house.until("the hold ends", |house| house.figure("rejoin_sessions_ended_total") == 4).await;
    ann.ask().await;
}
