//! Row R4: one flooder, as fast as the line takes it, beside honest players of the same zone. They
//! lose nothing; the flooder is warned, slowed down and severed within five seconds.

use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::{FutureExt, SinkExt, StreamExt};
use serde_json::json;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

use crate::house::House;
use crate::player::p99;

const HONEST_PLAYERS: usize = 20;
const SEVERED: &str = "rejoin_guard_steps_total{step=\"sever\",what=\"flooded\"}";

#[tokio::test(flavor = "multi_thread")]
async fn a_flooder_is_severed_and_nobody_else_loses_anything() {
    let house = House::start("");
    let mut honest = JoinSet::new();
    for _ in 0..HONEST_PLAYERS {
        let mut player = house.member("square").await;
        honest.spawn(async move {
            let (mut times, since) = (Vec::new(), Instant::now());
            while since.elapsed() < Duration::from_secs(7) {
                times.push(player.ask().await);
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
            times
        });
    }
    let mut eve = house.member_from([127, 0, 0, 2], "elsewhere").await;
    let since = Instant::now();
    let house = Arc::new(house);
    let watched = house.clone();
    let severed = tokio::task::spawn_blocking(move || {
        while watched.figure(SEVERED) == 0 && since.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(20));
        }
        since.elapsed()
    });
    let mut sent = 0_u64;
    loop {
        let message = eve.next_message("aGk=");
        let fed = tokio::time::timeout(Duration::from_secs(20), async {
            eve.socket.feed(Message::text(message)).await?;
            if sent.is_multiple_of(64) { eve.socket.flush().await } else { Ok(()) }
        });
        match fed.await {
            Ok(Ok(())) => sent += 1,
            Ok(Err(_)) => break,
            Err(_) => panic!("it is neither read nor severed"),
        }
    }
    let (ended, severed) = (since.elapsed(), severed.await.expect("no panic"));
    let mut times = Vec::new();
    while let Some(played) = honest.join_next().await {
        times.extend(played.expect("no panic: every question was answered"));
    }
    let (asked, worst) = (times.len(), p99(times));
    println!(
        "severed after {severed:?}, ended after {ended:?} and {sent} messages; {asked} questions, p99 {worst:?}"
    );
    assert!(severed < Duration::from_secs(7), "{severed:?}");
    assert!(ended < Duration::from_secs(12), "{ended:?}");
    assert!(worst < Duration::from_millis(500), "{worst:?}");
    for step in ["warn", "throttle"] {
        let series = format!("rejoin_guard_steps_total{{step=\"{step}\",what=\"messages\"}}");
        assert_eq!(house.figure(&series), 1, "{step}");
    }
    assert_eq!(house.figure(SEVERED), 1);
}

/// Pings so many times a second for so long, and reads what comes; how long that went well.
async fn ping(player: &mut crate::player::Player, per_second: u32, most: Duration) -> Duration {
    let (since, mut sent) = (Instant::now(), 0_u32);
    while since.elapsed() < most {
        // A late wake-up is made up for: it is the rate that counts.
        while sent < (since.elapsed().as_secs_f64() * f64::from(per_second)) as u32 {
            let ping = Message::text("{\"ping\":{\"nonce\":\"1\"}}");
            if player.socket.send(ping).await.is_err() {
                return since.elapsed();
            }
            sent += 1;
        }
        while let Some(heard) = player.socket.next().now_or_never() {
            if !matches!(heard, Some(Ok(_))) {
                return since.elapsed();
            }
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    since.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_little_over_the_budget_is_delayed_and_ten_times_is_severed() {
    // A ping is a message: a hundred a second, twenty at once.
    let house = House::start("[guard]\nmessages_per_second = 100\nmessages_burst = 20\n");
    let guest = async |host: [u8; 4]| {
        let mut guest = house.dial_from(host).await.expect("let in");
        assert_eq!(guest.try_hello(&json!({"login": {"anonymous": {}}})).await, "welcome");
        guest
    };
    let mut eve = guest([127, 0, 0, 2]).await;
    let (little, much) = (Duration::from_secs(12), Duration::from_secs(12));
    let went_well = ping(&mut eve, 110, little).await;
    assert!(went_well >= little, "closed after {went_well:?}");
    assert_eq!(house.figure(SEVERED), 0);
    let throttled = "rejoin_guard_steps_total{step=\"throttle\",what=\"messages\"}";
    assert_eq!(house.figure(throttled), 1, "told once");
    let mut mal = guest([127, 0, 0, 3]).await;
    let went_well = ping(&mut mal, 1_000, much).await;
    println!("1.1 times the budget: {little:?} and open; ten times: closed after {went_well:?}");
    assert!(went_well < much, "never closed");
    assert_eq!(house.figure(SEVERED), 1);
}
