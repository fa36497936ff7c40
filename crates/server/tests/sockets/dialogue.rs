//! What a person types, and what comes back.

use futures_util::{SinkExt, StreamExt};
use rejoin_wire::v1::{
    Anonymous, ClientFrame, Hello, Login, client_frame, hello, login, server_frame,
};
use rejoin_wire::{Encoding, Limits, decode_server, encode_client};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;

use crate::client::start;

#[tokio::test(flavor = "multi_thread")]
async fn the_dialogue_by_hand() {
    let running = start().await;
    let mut ann = running.dial().await;
    let challenge = ann.hear("challenge").await;
    assert_eq!(challenge["versionMax"], 1);
    ann.say_text(r#"{"hello":{"version":1,"serverName":"127.0.0.1","login":{"anonymous":{}}}}"#)
        .await;
    let welcome = ann.hear("welcome").await;
    assert_eq!(welcome["rung"], "RUNG_NEW");
    ann.say_text(r#"{"up":{"seq":"1","join":{"kind":"relay","name":"lobby","create":true}}}"#)
        .await;
    let joined = ann.hear("down").await;
    assert_eq!(joined["joined"]["zone"]["name"], "lobby");
    ann.say_text(r#"{"up":{"seq":"2","message":{"payload":"aGVsbG8=","wantsReply":true}}}"#).await;
    let reply = ann.hear("down").await;
    assert_eq!(reply["reply"], json!({"to": "2", "payload": "aGVsbG8="}));
    ann.say_text(r#"{"up":{"seq":"3","bye":{}}}"#).await;
    let farewell = loop {
        let frame = ann.next().await.expect("a farewell comes first");
        if let Some(farewell) = frame.get("farewell") {
            break farewell.clone();
        }
    };
    assert_eq!(farewell["code"], "CLOSE_CODE_LEFT");
    assert_eq!(ann.closed().await, Some(4000));
    assert_eq!(running.server.sessions().await, Ok(vec![]));
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_one_says_all_others_hear() {
    let running = start().await;
    let mut ann = running.member("square").await;
    let mut bob = running.member("square").await;
    let mut cat = running.member("square").await;
    ann.up(2, json!({"message": {"payload": "aGk="}})).await;
    for other in [&mut bob, &mut cat] {
        assert_eq!(other.hear("down").await["message"]["payload"], "aGk=");
    }
    // Her join's own number may be told apart, and later than the join.
    while ann.hear("applied").await["seq"] != "2" {}
    assert_eq!(running.server.active_count().await, Ok(3));
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn protobuf_is_spoken_by_its_subprotocol() {
    let running = start().await;
    let mut request = running.request();
    let name = Encoding::Protobuf.subprotocol();
    request
        .headers_mut()
        .insert("Sec-WebSocket-Protocol", format!("chat, {name}").parse().expect("a header"));
    let (mut socket, response) =
        tokio_tungstenite::connect_async(request).await.expect("it is spoken");
    assert_eq!(response.headers()["Sec-WebSocket-Protocol"], name);
    let read = |message: Message| {
        let frame = decode_server(Encoding::Protobuf, message.into_data(), &Limits::DEFAULT);
        frame.expect("a frame").frame
    };
    let first = socket.next().await.expect("open").expect("a message");
    assert!(matches!(read(first), Some(server_frame::Frame::Challenge(_))));
    let login = Login { identity: Some(login::Identity::Anonymous(Anonymous {})), fresh: false };
    let hello = Hello {
        version: 1,
        server_name: "localhost".to_owned(),
        purpose: Some(hello::Purpose::Login(login)),
        ..Hello::default()
    };
    let frame = ClientFrame { frame: Some(client_frame::Frame::Hello(hello)) };
    let bytes = encode_client(Encoding::Protobuf, &frame).expect("it can be written");
    socket.send(Message::binary(bytes)).await.expect("open");
    let second = socket.next().await.expect("open").expect("a message");
    assert!(matches!(read(second), Some(server_frame::Frame::Welcome(_))));
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn health_is_told_at_the_players_door() {
    let running = start().await;
    for path in ["/healthz", "/readyz"] {
        let mut socket = TcpStream::connect(running.at).await.expect("it listens");
        let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        socket.write_all(request.as_bytes()).await.expect("open");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    running.server.stop().await;
}
