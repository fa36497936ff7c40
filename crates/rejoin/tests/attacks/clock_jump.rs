//! Row K1: the wall clock jumps an hour ahead and an hour back. Holds and heartbeats are measured by a
//! clock that does not jump: nobody is let go early, nobody is kept for ever, and tokens stay what they
//! are. A small library under the real program moves its wall clock and nothing else; libfaketime would
//! move sleeps as well.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::house::House;
use crate::player::Player;

/// The program looks at the wall clock once a second.
const LOOKED: Duration = Duration::from_millis(2_500);

/// The wall clock is off by as many seconds as a file says.
const SHIM: &str = r#"
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *now) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int got = real(id, now);
    if (got == 0 && id == CLOCK_REALTIME) {
        long off = 0;
        FILE *file = fopen(getenv("WALL_OFF"), "r");
        if (file) {
            if (fscanf(file, "%ld", &off) != 1) off = 0;
            fclose(file);
        }
        now->tv_sec += off;
    }
    return got;
}
"#;

/// The library, or none where no C compiler is.
fn library(name: &str) -> Option<String> {
    let name = format!("wall-{name}-{}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).expect("a folder");
    let (source, library) = (folder.join("wall.c"), folder.join("wall.so"));
    std::fs::write(&source, SHIM).expect("a folder");
    let built =
        Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source).status();
    built.is_ok_and(|status| status.success()).then(|| library.to_str().map(str::to_owned))?
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
    let Some(library) = library("jumps") else {
        println!("SKIPPED: clock_jump: there is no C compiler");
        return;
    };
    let environment = [("LD_PRELOAD", &*library), ("WALL_OFF", "./off")];
    let house = House::start_under("[zone.relay]\nhold_ms = 5000\n", &environment);
    let mut ann = house.member("square").await;
    for (jump, off) in [("+3600", "1 hour"), ("-3600", "-1 hour"), ("+0", "0 hours")] {
        let resume = dropped(&house, 1).await;
        house.write("off", jump);
        // The hold is five seconds and goes on.
        tokio::time::sleep(LOOKED).await;
        let mut bob = house.dial_from([127, 0, 0, 2]).await.expect("let in");
        assert_eq!(bob.try_hello(&resume).await, "welcome", "{jump}");
        assert_eq!(bob.welcome["rung"], "RUNG_RESYNCED", "{jump}: its own session");
        bob.ask().await;
        ann.ask().await;
        bob.up(json!({"bye": {}})).await;
        house.until("bob has left", |house| house.figure("rejoin_sessions_active") == 1).await;
        let log = String::from_utf8(house.log()).expect("text");
        let last = log.lines().last().expect("somebody left");
        // It may be a minute past the hour by now.
        let hours = [hour(off), hour(&format!("{off} -1 minute"))];
        assert!(hours.iter().any(|hour| last.contains(hour)), "{jump} was not seen: {last}");
    }
    assert_eq!(house.figure("rejoin_sessions_ended_total"), 3, "those who left");
    // Nobody comes back: the hold ends when it ends, whatever the wall clock says.
    house.write("off", "-3600");
    dropped(&house, 1).await;
    house.until("the hold ends", |house| house.figure("rejoin_sessions_ended_total") == 4).await;
    ann.ask().await;
}

/// One start of a machine whose clock was a year ahead, as before it has heard of the time, and then the right time:
/// a ban for a week is one.
#[tokio::test(flavor = "multi_thread")]
async fn one_start_with_a_clock_that_is_ahead_ends_no_later_ban() {
    let Some(library) = library("ahead") else {
        println!("SKIPPED: clock_jump: there is no C compiler");
        return;
    };
    let off = Path::new(&library).with_extension("off");
    std::fs::write(&off, "31536000").expect("a folder");
    let off = off.to_str().expect("text");
    let house = House::start_under("", &[("LD_PRELOAD", &*library), ("WALL_OFF", off)]);
    let added = house.player(&["add", "ann"], "correct horse\n");
    assert!(added.status.success(), "{added:?}");
    let house = house.kill_and_start_again();
    let log = String::from_utf8(house.log()).expect("text");
    assert!(log.contains("the system's clock is behind what it was"), "{log}");
    let account = json!({"account": {"name": "ann", "password": "correct horse"}}).to_string();
    let login = json!({"login": {"anonymous": {}}, "admission": STANDARD.encode(account)});
    let mut ann = house.dial_from([127, 0, 0, 1]).await.expect("let in");
    assert_eq!(ann.try_hello(&login).await, "welcome");
    let banned = house.player(&["ban", "ann", "--for", "7d"], "");
    assert!(banned.status.success(), "{banned:?}");
    let mut ann = house.dial_from([127, 0, 0, 1]).await.expect("let in");
    assert_eq!(ann.try_hello(&login).await, "BANNED");
}
