//! Row T10: pieces of messages that never end, a million of them, over each other, and messages far ahead
//! of their turn. ENet alone keeps megabytes for each peer; here what is kept has a bound, and whoever
//! asks for more than a message may be is told so.

use std::time::Duration;

use crate::datagrams::Insider;
use crate::house::House;

const SETTINGS: &str = "[enet]\nlisten = \"127.0.0.1:0\"\n[guard]\nhandshake_ms = 60000\n";
const PEERS: u8 = 20;

/// A piece of a reliable message, or of an unreliable one.
fn piece(kind: u8, number: u16, start: u16, (index, count): (u32, u32), total: u32) -> Vec<u8> {
    let mut bytes = vec![kind, 0];
    bytes.extend(number.to_be_bytes());
    bytes.extend(start.to_be_bytes());
    bytes.extend(1_u16.to_be_bytes());
    for word in [count, index, total, 0] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.push(b'x');
    bytes
}

fn whole(number: u16) -> Vec<u8> {
    let [high, low] = number.to_be_bytes();
    vec![0x86, 0, high, low, 0, 1, b'x']
}

/// Everything that ENet would keep.
fn attack(peer: &mut Insider) {
    for number in 2..30_000_u16 {
        peer.inject(&whole(number));
        if number % 64 == 0 {
            // The first piece of many messages, each of which wants the room of all of it.
            peer.inject(&piece(0x88, number, number, (0, 40), 60_000));
            // Over each other.
            peer.inject(&piece(0x88, number + 1, number, (1, 50), 60_000));
            peer.inject(&piece(0x88, number + 2, number + 1, (1, 60), 60_000));
            std::thread::sleep(Duration::from_millis(1));
            peer.look_after();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn pieces_that_never_end_have_a_bound() {
    let house = House::start(SETTINGS);
    let mut ann = house.member("square").await;
    let server = house.enet();
    let enter = move || -> Vec<_> {
        (1..=PEERS).map(|at| Insider::enter([127, 0, 7, at], server)).collect()
    };
    let mut peers = tokio::task::spawn_blocking(enter).await.expect("no panic");
    let before = house.resident_kib();
    let attacked = tokio::task::spawn_blocking(move || {
        peers.iter_mut().for_each(attack);
        peers
    });
    let mut peers = attacked.await.expect("no panic");
    let grown = house.resident_kib().saturating_sub(before);
    println!("{PEERS} peers grew the server by {grown} KiB, {} each", grown / u64::from(PEERS));
    assert!(grown < u64::from(PEERS) * 384, "{grown} KiB");
    ann.ask().await;
    // A million pieces of a byte each, which ENet makes a map for: nobody may send unreliable pieces.
    for peer in &mut peers {
        for start in 0..64 {
            peer.inject(&piece(0x0c, 0, start, (0, 1 << 20), 1));
        }
    }
    let closed = "rejoin_connections{transport=\"enet\"}";
    let mut look_after = || {
        peers.iter_mut().for_each(Insider::look_after);
        house.figure(closed) == 0
    };
    house.until("they are told and let go", |_| look_after()).await;
    let grown = house.resident_kib().saturating_sub(before);
    println!("afterwards {grown} KiB");
    assert!(grown < u64::from(PEERS) * 384, "{grown} KiB");
    ann.ask().await;
}
