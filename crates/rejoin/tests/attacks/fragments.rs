//! Row T4: a message in a million pieces, and a frame that says it is a gigabyte long. Both end at the
//! limit with their cause, and no memory is spent on them.

use futures_util::SinkExt;
use tokio::io::AsyncWriteExt;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn endless_fragments_and_a_gigabyte_end_at_the_limit() {
    let house = House::start("");
    let mut ann = house.member("square").await;
    let before = house.resident_kib();
    let mut eve = house.dial_from([127, 0, 0, 2]).await.expect("let in");
    eve.log_in().await;
    let mut sent = 0;
    let mut piece = Frame::message("x", OpCode::Data(Data::Text), false);
    while sent < 1_000_000 && eve.socket.feed(Message::Frame(piece)).await.is_ok() {
        piece = Frame::message("x", OpCode::Data(Data::Continue), false);
        sent += 1;
        if sent % 4_096 == 0 && eve.socket.flush().await.is_err() {
            break;
        }
    }
    assert!(sent < 1_000_000, "a million pieces were taken");
    let farewell = eve.hear("farewell").await;
    assert_eq!(farewell["code"], "CLOSE_CODE_TOO_LARGE");
    let mut gigabytes = Vec::new();
    for host in 10..30 {
        let mut eve = house.dial_from([127, 0, 0, host]).await.expect("let in");
        // Masked text whose length of eight bytes is a gigabyte.
        let head = [0x81, 0xff, 0, 0, 0, 0, 0x40, 0, 0, 0, 1, 2, 3, 4];
        eve.socket.get_mut().write_all(&head).await.expect("open");
        assert_eq!(eve.hear("farewell").await["code"], "CLOSE_CODE_TOO_LARGE");
        gigabytes.push(eve);
    }
    let grown = house.resident_kib().saturating_sub(before);
    println!("{sent} pieces were sent; 21 connections grew the server by {grown} KiB");
    assert!(grown < 21 * 1_024, "{grown} KiB");
    ann.ask().await;
}
