//! Nobody there, somebody else there, or a server that talks nonsense: told, waited for, and always
//! to be cancelled.

use std::time::Duration;

use futures_util::SinkExt as _;
use rejoin_client::driver::{Events, OpenError, Player};
use rejoin_client::{CloseCode, Event, Violation};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;

use crate::house::upgrade;
use crate::scene::{quick, until};

/// A server that does the same with every connection.
async fn rude<F>(treat: impl Fn(TcpStream) -> F + Send + 'static) -> String
where
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let port = listener.local_addr().expect("bound").port();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(treat(stream));
        }
    });
    format!("ws://127.0.0.1:{port}/play")
}

/// Some attempts fail, each wait is bounded; a cancel is the end of it.
async fn gives_up_when_told(player: &Player, events: &mut Events) {
    for _ in 0..5 {
        let waits = until(events, |event| matches!(event, Event::Reconnecting { .. })).await;
        assert!(matches!(waits, Event::Reconnecting { in_ms, .. } if in_ms <= 40), "{waits:?}");
    }
    player.cancel().await.expect("it runs");
    until(events, |event| matches!(event, Event::Stopped { code: None, .. })).await;
    let more = tokio::time::timeout(Duration::from_millis(100), events.next()).await;
    assert!(more.is_err(), "after a cancel nothing happens: {more:?}");
}

#[tokio::test]
async fn what_is_no_address_is_refused_at_once() {
    let mut wrong = vec!["", "play.example", "http://play.example/", "ws://", "tcp://play.example"];
    if !cfg!(feature = "tls") {
        wrong.extend(["wss://play.example/", "tls://play.example:7402"]);
    }
    for url in wrong {
        let refused = Player::connect(url, quick()).await;
        assert!(matches!(refused, Err(OpenError::Address { .. })), "{url}");
    }
}

#[tokio::test]
async fn where_nobody_listens_it_tries_again_until_it_is_cancelled() {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("ws://{}/play", listener.local_addr().expect("bound"));
    drop(listener);
    let (player, mut events) = Player::connect(&url, quick()).await.expect("it starts");
    until(&mut events, |event| matches!(event, Event::DialFailed { .. })).await;
    gives_up_when_told(&player, &mut events).await;
}

#[tokio::test]
async fn a_server_that_is_none_of_ours_is_not_mistaken_for_one() {
    let answers: [&[u8]; 4] = [
        b"\x00\x01\x02\x03 what?\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n",
        b"",
    ];
    for answer in answers {
        let url = rude(move |mut stream| async move {
            let _ = stream.read(&mut [0; 1_024]).await;
            let _ = stream.write_all(answer).await;
        });
        let (player, mut events) = Player::connect(&url.await, quick()).await.expect("it starts");
        until(&mut events, |event| matches!(event, Event::DialFailed { .. })).await;
        gives_up_when_told(&player, &mut events).await;
    }
}

#[tokio::test]
async fn a_server_that_never_answers_is_given_up_in_time() {
    let url = rude(|stream| async move {
        let _open = stream;
        std::future::pending::<()>().await;
    });
    let mut options = quick();
    options.config.handshake_timeout = Duration::from_millis(50);
    let (player, mut events) = Player::connect(&url.await, options).await.expect("it starts");
    gives_up_when_told(&player, &mut events).await;
}

#[tokio::test]
async fn a_server_that_talks_garbage_is_left_and_tried_again() {
    let url = rude(|stream| async move {
        if let Some((mut socket, _)) = upgrade(stream).await {
            let _ = socket.send(Message::Binary(vec![0xff; 300].into())).await;
            std::future::pending::<()>().await;
        }
    });
    let (player, mut events) = Player::connect(&url.await, quick()).await.expect("it starts");
    until(&mut events, |event| matches!(event, Event::Violation(_))).await;
    gives_up_when_told(&player, &mut events).await;
}

#[tokio::test]
async fn a_message_over_the_limit_is_refused_before_it_is_read() {
    let url = rude(|stream| async move {
        if let Some((mut socket, _)) = upgrade(stream).await {
            // The head of a message of a terabyte.
            let head = [0x82, 0x7f, 0, 0, 1, 0, 0, 0, 0, 0];
            let _ = socket.get_mut().write_all(&head).await;
            std::future::pending::<()>().await;
        }
    });
    let (player, mut events) = Player::connect(&url.await, quick()).await.expect("it starts");
    let violation = until(&mut events, |event| matches!(event, Event::Violation(_))).await;
    let Event::Violation(Violation::Undecodable(error)) = violation else {
        panic!("not the reason: {violation:?}");
    };
    assert_eq!(error.close_code(), CloseCode::TooLarge);
    gives_up_when_told(&player, &mut events).await;
}

#[tokio::test]
async fn a_close_code_decides_what_comes_next() {
    use tokio_tungstenite::tungstenite::protocol::CloseFrame;
    let url = rude(|stream| async move {
        if let Some((mut socket, _)) = upgrade(stream).await {
            let code = (CloseCode::Version as u16).into();
            let _ = socket.close(Some(CloseFrame { code, reason: "".into() })).await;
            // Until the client has gone: a reset could overtake the reason.
            let _ = socket.get_mut().read(&mut [0; 64]).await;
        }
    });
    let (_player, mut events) = Player::connect(&url.await, quick()).await.expect("it starts");
    let stopped = until(&mut events, |event| matches!(event, Event::Stopped { .. })).await;
    assert!(matches!(stopped, Event::Stopped { code: Some(CloseCode::Version), .. }));
}
