//! Row R2: a body that never ends, to both doors, and a WebSocket frame that never ends. Nobody waits
//! for either.

use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::house::{House, PATIENCE};

/// Writes a byte now and then until it is closed; how long that took.
async fn drip(mut socket: TcpStream, beginning: &[u8]) -> Duration {
    let since = Instant::now();
    socket.write_all(beginning).await.expect("open");
    let (mut read, mut write) = socket.into_split();
    let writing = async {
        while write.write_all(b"x").await.is_ok() {
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let reading = async {
        let mut answer = [0; 512];
        while matches!(read.read(&mut answer).await, Ok(1..)) {}
    };
    let over = async {
        tokio::select! {
            () = writing => {}
            () = reading => {}
        }
    };
    tokio::time::timeout(PATIENCE, over).await.expect("it is closed in time");
    since.elapsed()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_or_a_frame_that_never_ends_is_not_waited_for() {
    let house = House::start("[guard]\nhandshake_ms = 1500\n");
    let mut ann = house.member("square").await;
    let mut worst = Duration::ZERO;
    for path in ["/play", "/", "/healthz", "/nowhere"] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n");
        let socket = house.socket_from([127, 0, 0, 2]).await.expect("it listens");
        worst = worst.max(drip(socket, head.as_bytes()).await);
    }
    // A text frame of 125 bytes, masked, of which one comes now and then.
    let eve = house.dial_from([127, 0, 0, 3]).await.expect("let in");
    let frame = drip(eve.socket.into_inner(), &[0x81, 0xfd, 0, 0, 0, 0]).await;
    println!("a slow body ended after {worst:?}, a slow frame after {frame:?}");
    assert!(worst < Duration::from_secs(15), "{worst:?}");
    assert!(frame < Duration::from_secs(15), "{frame:?}");
    ann.ask().await;
}
