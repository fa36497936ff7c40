//! Rows T8 and R4 by ENet: datagrams in a connected peer's name, which do not know its number, and a
//! flood of ENet's own pings. Without encryption nothing proves whose a datagram is, so what is wrong
//! with one is never counted against its address.

use std::time::{Duration, Instant};

use crate::datagrams::Insider;
use crate::house::House;

const SETTINGS: &str = "[enet]\nlisten = \"127.0.0.1:0\"\n[guard]\nhandshake_ms = 60000\n";
const OPEN: &str = "rejoin_connections{transport=\"enet\"}";
const PING: [u8; 4] = [0x85, 0xff, 0, 1];

/// A piece of an unreliable message, which nobody may send.
fn forbidden() -> Vec<u8> {
    let mut bytes = vec![0x0c, 0, 0, 0, 0, 7, 0, 1];
    for word in [1_u32 << 20, 0, 1, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.push(b'x');
    bytes
}

#[tokio::test(flavor = "multi_thread")]
async fn a_datagram_in_anothers_name_ends_nobody_and_shuts_no_address_out() {
    let house = House::start(SETTINGS);
    let server = house.enet();
    let enter = move || Insider::enter([127, 0, 0, 3], server);
    let victim = tokio::task::spawn_blocking(enter).await.expect("let in");
    // Every number but its own, as somebody must guess who writes its address on a datagram.
    let own = victim.around(&forbidden());
    for (slot, session) in (0..200_u8).flat_map(|slot| (0..4_u8).map(move |of| (slot, of))) {
        let mut guess = own.clone();
        (guess[0], guess[1]) = (0x80 | session << 4, slot);
        if (guess[0], guess[1]) != (own[0], own[1]) {
            victim.send_as_it_is(&guess);
        }
    }
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(house.figure(OPEN), 1, "799 guesses ended nothing");
    victim.send_as_it_is(&own);
    house.until("its own number is believed", |house| house.figure(OPEN) == 0).await;
    // Far more often than an address may break the rules.
    for _ in 0..25 {
        let peer = tokio::task::spawn_blocking(enter).await.expect("let in, and not shut out");
        peer.inject(&forbidden());
        house.until("it is let go", |house| house.figure(OPEN) == 0).await;
    }
    let barred = house.figure("rejoin_connections_refused_total{what=\"violations\"}");
    println!("26 connections were ended, {barred} refused afterwards");
    assert_eq!(barred, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_pings_is_severed_and_honest_players_play_on() {
    let house = House::start(SETTINGS);
    let mut ann = house.member("square").await;
    let server = house.enet();
    let flood = tokio::task::spawn_blocking(move || {
        let mut eve = Insider::enter([127, 0, 0, 3], server);
        let (since, mut sent) = (Instant::now(), 0_u64);
        while since.elapsed() < Duration::from_secs(8) {
            for _ in 0..20 {
                eve.inject(&PING);
                sent += 1;
            }
            eve.look_after();
            std::thread::sleep(Duration::from_millis(2));
        }
        sent
    });
    while !flood.is_finished() {
        ann.ask().await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let sent = flood.await.expect("no panic");
    let steps = ["warn", "throttle"].map(|step| {
        house.figure(&format!("rejoin_guard_steps_total{{step=\"{step}\",what=\"bytes\"}}"))
    });
    let severed = house.figure("rejoin_guard_steps_total{step=\"sever\",what=\"flooded\"}");
    println!("{sent} pings: steps {steps:?}, severed {severed}");
    assert_eq!((steps, severed), ([1, 1], 1));
    ann.ask().await;
}
