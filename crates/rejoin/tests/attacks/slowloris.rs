//! Row R1: a thousand half-written requests from ten addresses, a byte now and then. Each is closed by
//! the header deadline, an address has no more than its share, and an honest player does not notice.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;

use crate::house::{House, PATIENCE};
use crate::player::p99;

const EACH: usize = 110;

#[tokio::test(flavor = "multi_thread")]
async fn slow_headers_are_closed_in_time_and_cost_their_address_its_share() {
    let house = House::start("[guard]\naddress_connects_burst = 100\n");
    let mut ann = house.member("square").await;
    let since = Instant::now();
    let mut slow = JoinSet::new();
    for host in 2..12 {
        for _ in 0..EACH {
            let Ok(mut socket) = house.socket_from([127, 0, 0, host]).await else { continue };
            slow.spawn(async move {
                let _ = socket.write_all(b"GET /play HTTP/1.1\r\nHost: x\r\nX-").await;
                let (mut read, mut write) = socket.into_split();
                let drip = async {
                    loop {
                        tokio::time::sleep(Duration::from_millis(500)).await;
                        if write.write_all(b"a").await.is_err() {
                            return;
                        }
                    }
                };
                let mut answer = Vec::new();
                tokio::select! {
                    _ = read.read_to_end(&mut answer) => {}
                    () = drip => {}
                }
                (Instant::now(), answer.starts_with(b"HTTP/1.1 429"))
            });
        }
    }
    let mut answers = Vec::new();
    while since.elapsed() < Duration::from_secs(4) {
        answers.push(ann.ask().await);
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (mut turned_away, mut last) = (0, since);
    while let Some(done) = tokio::time::timeout(PATIENCE, slow.join_next()).await.expect("in time")
    {
        let (at, is_turned_away) = done.expect("no panic");
        turned_away += usize::from(is_turned_away);
        last = last.max(at);
    }
    let (lasted, worst) = (last - since, p99(answers));
    println!("all closed after {lasted:?}, {turned_away} turned away, honest p99 {worst:?}");
    assert!(lasted < Duration::from_secs(15), "{lasted:?}");
    assert!(house.figure("rejoin_connections_refused_total{what=\"connects\"}") > 0);
    assert!(worst < Duration::from_millis(250), "{worst:?}");
    ann.ask().await;
}
