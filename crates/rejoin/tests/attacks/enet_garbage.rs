//! Row P of garbage by ENet: random bytes, commands of every kind and length from strangers and from
//! somebody who is let in, and real datagrams with a few bits changed. Nobody else notices.

use crate::datagrams::{Insider, connect, cookie, drain, honest_connect, socket_at};
use crate::house::House;

const SETTINGS: &str = "[enet]\nlisten = \"127.0.0.1:0\"\n[guard]\nhandshake_ms = 60000\n";

/// Bytes that are the same every time.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn bytes(&mut self, most: u64) -> Vec<u8> {
        (0..self.next() % most).map(|_| self.next() as u8).collect()
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_is_dropped_and_harms_nobody() {
    let house = House::start(SETTINGS);
    let mut ann = house.member("square").await;
    let server = house.enet();
    let before = house.resident_kib();
    let flood = tokio::task::spawn_blocking(move || {
        let stranger = socket_at([127, 0, 0, 2]);
        let (mut chance, mut received) = (Chance(7), 0);
        for round in 0..40_000_u32 {
            let mut bytes = match round % 4 {
                0 => chance.bytes(1_500),
                1 => rejoin::wire::enet::question().to_vec(),
                _ => connect(round),
            };
            if round % 4 != 0 {
                let at = chance.next() as usize % bytes.len();
                bytes[at] ^= 1 << (chance.next() % 8);
            }
            let _ = stranger.send_to(&bytes, server);
            received += drain(&stranger);
        }
        let mut insider = Insider::enter([127, 0, 0, 3], server);
        for round in 0..40_000_u32 {
            let commands = match round % 3 {
                0 => chance.bytes(600),
                _ => {
                    let kind = (chance.next() % 16) as u8 | 0x80;
                    [&[kind, (chance.next() % 3) as u8][..], &chance.bytes(60)[..]].concat()
                }
            };
            insider.inject(&commands);
            if round % 128 == 0 {
                insider.look_after();
            }
        }
        // What it says to itself does not matter either.
        let _ = stranger.send_to(&insider.around(b"\x86\0\0\x01\0\x01x"), server);
        received
    });
    let received = flood.await.expect("no panic");
    cookie(&socket_at([127, 0, 0, 4]), server);
    let took = honest_connect(&house).await;
    let grown = house.resident_kib().saturating_sub(before);
    println!("80000 datagrams: {received} bytes back; honest in {took:?}; {grown} KiB more");
    assert!(grown < 20 << 10, "{grown} KiB");
    ann.ask().await;
}
