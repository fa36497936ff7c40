//! Row T5: a hundred connections, each with a compressed frame of less than 64 KiB that would be 64 MiB.
//! Inflating stops where a frame must end, and the sender is told so.

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use rejoin::wire::v1::{
    Anonymous, ClientFrame, CloseCode, Hello, Login, client_frame, hello, login, server_frame,
};
use rejoin::wire::{Bytes, DEFLATE, Encoding, Limits, decode_server, encode_client};
use tokio::net::TcpStream;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::house::House;
use crate::player::p99;

const SETTINGS: &str = "[compression]\nenabled = true\n";
const BOMBS: u8 = 100;
const PATIENCE: Duration = Duration::from_secs(30);

type Socket = WebSocketStream<TcpStream>;

fn encoded(frame: client_frame::Frame) -> Bytes {
    let frame = ClientFrame { frame: Some(frame) };
    encode_client(Encoding::Protobuf, &frame).expect("protobuf")
}

async fn hear(socket: &mut Socket) -> server_frame::Frame {
    loop {
        let heard = tokio::time::timeout(PATIENCE, socket.next()).await.expect("in time");
        if let Message::Binary(bytes) = heard.expect("open").expect("a message") {
            let frame = decode_server(Encoding::Protobuf, bytes, &Limits::DEFAULT);
            return frame.expect("a frame").frame.expect("not empty");
        }
    }
}

/// Somebody with whom compression is agreed.
async fn enter(house: &House, host: [u8; 4]) -> Socket {
    let socket = house.socket_from(host).await.expect("let in");
    let mut request = format!("ws://{}/play", house.web).into_client_request().expect("good");
    let protocol = Encoding::Protobuf.subprotocol().parse().expect("a header");
    request.headers_mut().insert("Sec-WebSocket-Protocol", protocol);
    let (mut socket, _) = tokio_tungstenite::client_async(request, socket).await.expect("let in");
    assert!(matches!(hear(&mut socket).await, server_frame::Frame::Challenge(_)));
    let identity = Some(login::Identity::Anonymous(Anonymous {}));
    let hello = Hello {
        version: 1,
        server_name: "localhost".to_owned(),
        purpose: Some(hello::Purpose::Login(Login { fresh: false, identity })),
        capabilities: vec![DEFLATE.to_owned()],
        ..Hello::default()
    };
    let hello = encoded(client_frame::Frame::Hello(hello));
    socket.send(Message::Binary(hello)).await.expect("open");
    let server_frame::Frame::Welcome(welcome) = hear(&mut socket).await else { panic!("let in") };
    assert_eq!(welcome.capabilities, [DEFLATE]);
    socket
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_is_inflated_no_further_than_a_frame_may_be() {
    let house = House::start(SETTINGS);
    let mut ann = house.member("square").await;
    let deflated = miniz_oxide::deflate::compress_to_vec(&vec![0; 64 << 20], 6);
    let bomb = encoded(client_frame::Frame::Packed(deflated.into()));
    assert!(bomb.len() <= Limits::DEFAULT.client_frame_bytes(Encoding::Protobuf));
    let mut bombers = Vec::new();
    for at in 0..BOMBS {
        bombers.push(enter(&house, [127, 0, 9, 1 + at / 20]).await);
    }
    let before = house.resident_kib();
    let since = Instant::now();
    let thrown: Vec<_> = bombers
        .into_iter()
        .map(|mut socket| {
            let bomb = bomb.clone();
            tokio::spawn(async move {
                socket.send(Message::Binary(bomb)).await.expect("open");
                loop {
                    if let server_frame::Frame::Farewell(last) = hear(&mut socket).await {
                        return last.code();
                    }
                }
            })
        })
        .collect();
    let mut times = Vec::new();
    while !thrown.iter().all(tokio::task::JoinHandle::is_finished) {
        times.push(ann.ask().await);
    }
    for one in thrown {
        assert_eq!(one.await.expect("no panic"), CloseCode::TooLarge);
    }
    let (took, grown) = (since.elapsed(), house.resident_kib().saturating_sub(before));
    println!(
        "{BOMBS} bombs of {} bytes: all told after {took:?}, {grown} KiB more, honest p99 {:?}",
        bomb.len(),
        p99(times)
    );
    // A frame each, at the very most, and what came.
    assert!(grown < 2 * 70 * u64::from(BOMBS), "{grown} KiB");
    ann.ask().await;
}
