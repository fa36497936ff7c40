//! Rows T8 and T9: questions and connects in others' names. With cookies nobody is sent more than came,
//! and no slot is taken; a cookie of another address, of another time or of no key is worth nothing.
//! In stock mode a connect is answered once for each time it is said, and its slot is free again soon.

use std::time::Duration;

use rejoin::wire::enet::{self, QUESTION_BYTES};

use crate::datagrams::{connect, cookie, drain, honest_connect, socket_at};
use crate::house::House;
use crate::player::p99;

const SETTINGS: &str = "[enet]\nlisten = \"127.0.0.1:0\"\n";
const STOCK: &str = "[enet]\nlisten = \"127.0.0.1:0\"\nstock = true\n";
const OPENED: &str = "rejoin_connections_opened_total{transport=\"enet\"}";

#[tokio::test(flavor = "multi_thread")]
async fn spoofed_questions_and_connects_gain_nothing() {
    let house = House::start(SETTINGS);
    let mut ann = house.member("square").await;
    let server = house.enet();
    let before = house.resident_kib();
    let flood = tokio::task::spawn_blocking(move || {
        let sockets: Vec<_> = (0..200_u8).map(|at| socket_at([127, 0, 9, at])).collect();
        let (mut sent, mut received) = (0, 0);
        for round in 0..500_u32 {
            for (at, socket) in (0_u32..).zip(&sockets) {
                let datagram = match round % 2 {
                    0 => enet::question().to_vec(),
                    _ => connect(round << 8 | at),
                };
                sent += socket.send_to(&datagram, server).unwrap_or(0);
            }
            received += sockets.iter().map(drain).sum::<usize>();
        }
        (sent, received)
    });
    let mut times = Vec::new();
    for _ in 0..20 {
        times.push(honest_connect(&house).await);
    }
    let (sent, received) = flood.await.expect("no panic");
    let worst = p99(times);
    let factor = received as f64 / sent as f64;
    let grown = house.resident_kib().saturating_sub(before);
    println!(
        "{sent} bytes in, {received} out: {factor:.2}; honest p99 {worst:?}; {grown} KiB more"
    );
    assert!(received > 0 && factor <= 1.0, "{factor}");
    assert_eq!(house.figure(OPENED), 20, "the honest ones alone");
    assert!(worst < Duration::from_secs(2), "{worst:?}");
    assert!(grown < 20 << 10, "{grown} KiB");
    ann.ask().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cookie_is_worth_nothing_elsewhere() {
    let house = House::start(SETTINGS);
    let server = house.enet();
    let (mine, other) = (socket_at([127, 0, 0, 2]), socket_at([127, 0, 0, 3]));
    let mut changed = cookie(&mine, server);
    let stolen = changed;
    changed[31] ^= 1;
    let sent = enet::with_cookie(&stolen, &connect(1));
    other.send_to(&sent, server).expect("it is sent");
    let port = socket_at([127, 0, 0, 2]);
    port.send_to(&sent, server).expect("it is sent");
    mine.send_to(&enet::with_cookie(&changed, &connect(2)), server).expect("it is sent");
    mine.send_to(&enet::with_cookie(&[0; 32], &connect(3)), server).expect("it is sent");
    // Everything before this has been looked at when it is answered.
    cookie(&mine, server);
    assert_eq!((drain(&other), drain(&port), drain(&mine)), (0, 0, 0));
    // The real one is answered.
    mine.send_to(&sent, server).expect("it is sent");
    house.until("it is answered", |_| drain(&mine) > 0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn in_stock_mode_a_spoofed_connect_is_answered_once_and_let_go() {
    let house = House::start(STOCK);
    let server = house.enet();
    // Somebody says each connect once, in the names of twenty addresses.
    let sockets: Vec<_> = (0..20_u8).map(|at| socket_at([127, 0, 8, at])).collect();
    let mut sent = 0;
    for (id, socket) in (1_u32..).zip(&sockets) {
        sent += socket.send_to(&connect(id), server).expect("it is sent");
    }
    // As long as stock ENet would go on answering: it tries six times within half a minute.
    let mut received = 0;
    for _ in 0..80 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        received += sockets.iter().map(drain).sum::<usize>();
    }
    let factor = received as f64 / sent as f64;
    println!("stock: {sent} bytes in, {received} out: {factor:.2}");
    assert!(received > 0 && factor <= 1.0, "{factor}");
    // A forged acknowledgement does not make a connection: it would have to tell our clock.
    let victim = &sockets[0];
    victim.send_to(&connect(99), server).expect("it is sent");
    for slot in 0..4_u8 {
        for session in 0..4_u8 {
            let head = [0x80 | session << 4, slot, 0, 0];
            let forged = [1, 0xff, 0, 1, 0, 1, 0, 0];
            victim.send_to(&[&head[..], &forged[..]].concat(), server).expect("it is sent");
        }
    }
    cookie(&socket_at([127, 0, 8, 99]), server);
    assert_eq!(house.figure(OPENED), 0);
    assert!(QUESTION_BYTES >= enet::ANSWER_BYTES);
}
