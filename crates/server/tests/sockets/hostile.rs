//! Bad peers: each gets a clear answer, and its neighbours do not notice.

use std::time::Duration;

use rejoin_core::hub::HubConfig;
use rejoin_server::{QueueLimits, WebConfig};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;

use crate::client::{PATIENCE, Running, builder, start, start_with, until};

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_frame_is_answered_malformed() {
    let running = start().await;
    for text in ["no json", "{}", r#"{"hello":{}}"#, r#"{"up":{"seq":"1"}}"#] {
        let mut client = running.dial().await;
        client.hear("challenge").await;
        client.say_text(text).await;
        let farewell = client.hear("farewell").await;
        assert_eq!(farewell["code"], "CLOSE_CODE_MALFORMED", "{text}");
        assert_eq!(client.closed().await, Some(4010), "{text}");
    }
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_much_is_answered_too_large() {
    let running = start().await;
    // Over a hello's limit before one was said; over any frame's limit after.
    let mut stranger = running.dial().await;
    stranger.hear("challenge").await;
    stranger.say_text(&"x".repeat(30_000)).await;
    assert_eq!(stranger.hear("farewell").await["code"], "CLOSE_CODE_TOO_LARGE");
    let mut ann = running.anonymous().await;
    ann.say_text(&"x".repeat(200_000)).await;
    assert_eq!(ann.hear("farewell").await["code"], "CLOSE_CODE_TOO_LARGE");
    until("both are gone", async || running.server.connection_count() == 0).await;
    running.server.stop().await;
}

async fn refused(running: &Running, header: &'static str, value: &str) -> u16 {
    let mut request = running.request();
    request.headers_mut().insert(header, value.parse().expect("a header"));
    match tokio_tungstenite::connect_async(request).await {
        Err(Error::Http(response)) => response.status().as_u16(),
        other => panic!("let in: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_subprotocol_and_a_foreign_origin_are_not_let_in() {
    let running = start().await;
    assert_eq!(refused(&running, "Sec-WebSocket-Protocol", "rejoin.v9.proto").await, 400);
    assert_eq!(refused(&running, "Origin", "https://evil.example").await, 403);
    let mut request = running.request();
    let own = format!("http://{}", running.at);
    request.headers_mut().insert("Origin", own.parse().expect("a header"));
    assert!(tokio_tungstenite::connect_async(request).await.is_ok());
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_headers_are_closed_by_the_deadline() {
    let web = WebConfig { header_deadline: Duration::from_millis(200), ..WebConfig::default() };
    let running = start_with(builder(), web).await;
    for beginning in ["", "GET /play HTTP/1.1\r\nHost: x\r\n"] {
        let mut socket = TcpStream::connect(running.at).await.expect("it listens");
        socket.write_all(beginning.as_bytes()).await.expect("open");
        let mut rest = Vec::new();
        let read = tokio::time::timeout(PATIENCE, socket.read_to_end(&mut rest)).await;
        assert!(read.is_ok(), "still open after {beginning:?}");
    }
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn half_a_handshake_is_told_what_is_missing() {
    let running = start().await;
    for (half, status) in [
        ("", "400"),
        ("Connection: Upgrade\r\nUpgrade: websocket\r\n", "400"),
        ("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: eA==\r\n", "400"),
    ] {
        let mut socket = TcpStream::connect(running.at).await.expect("it listens");
        let request = format!("GET /play HTTP/1.1\r\nHost: x\r\n{half}\r\n");
        socket.write_all(request.as_bytes()).await.expect("open");
        let mut answer = [0; 12];
        let read = tokio::time::timeout(PATIENCE, socket.read_exact(&mut answer)).await;
        read.expect("in time").expect("an answer");
        assert_eq!(std::str::from_utf8(&answer), Ok(&*format!("HTTP/1.1 {status}")), "{half:?}");
    }
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn garbage_on_the_socket_harms_nobody() {
    let running = start().await;
    let mut ann = running.member("square").await;
    for garbage in [&[0_u8; 512][..], b"\xff\xfe\xfd\r\n\r\n", b"POST /play HTTP/1.1\r\n\r\n"] {
        let mut socket = TcpStream::connect(running.at).await.expect("it listens");
        socket.write_all(garbage).await.expect("open");
    }
    ann.up(2, json!({"message": {"payload": "aGk=", "wantsReply": true}})).await;
    assert_eq!(ann.hear("down").await["reply"]["payload"], "aGk=");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_peer_that_never_reads_is_let_go_and_the_others_go_on() {
    let queue = QueueLimits { frames_max: 64, bytes_max: 1 << 20 };
    let config = HubConfig {
        anonymous: true,
        messages: rejoin_core::budget::Rate { per_second: 100_000, burst: 100_000 },
        bytes: rejoin_core::budget::Rate { per_second: 1 << 30, burst: 1 << 30 },
        window_frames: 1 << 10,
        window_bytes: 128 << 20,
        ..HubConfig::default()
    };
    // Wide enough that only the connection's own queue is in the way.
    let mut zone = rejoin_server::relay::config();
    (zone.ring_bytes_max, zone.window_bytes) = (128 << 20, 128 << 20);
    let builder = builder().config(config).queue_limits(queue).zone(
        "busy",
        zone,
        rejoin_server::relay::Relay::default,
    );
    let running = start_with(builder, WebConfig::default()).await;
    let join = json!({"join": {"kind": "busy", "name": "a", "create": true}});
    let mut deaf = running.anonymous().await;
    deaf.up(1, join.clone()).await;
    deaf.hear("down").await;
    let mut ann = running.anonymous().await;
    ann.up(1, join).await;
    ann.hear("down").await;
    let payload = "QUJD".repeat(16_000);
    for seq in 2..300 {
        ann.up(seq, json!({"message": {"payload": payload}})).await;
    }
    until("the deaf one is let go", async || running.server.connection_count() == 1).await;
    ann.up(300, json!({"message": {"payload": "aGk=", "wantsReply": true}})).await;
    assert_eq!(ann.hear("down").await["reply"]["payload"], "aGk=");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_greedy_sender_is_slowed_down_and_loses_nothing() {
    let running = start().await;
    let mut ann = running.member("square").await;
    for seq in 2..=180 {
        ann.up(seq, json!({"message": {"payload": "aGk=", "wantsReply": true}})).await;
    }
    for seq in 2..=180 {
        assert_eq!(ann.hear("down").await["reply"]["to"], seq.to_string());
    }
    running.server.stop().await;
}

fn open_handles() -> usize {
    std::fs::read_dir("/proc/self/fd").map_or(0, Iterator::count)
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_and_vanish_500_times_leaves_nothing_behind() {
    // All of them come from one address.
    let guard = rejoin_core::guard::GuardConfig::open();
    let config = HubConfig { anonymous: true, guard, ..HubConfig::default() };
    let running = start_with(builder().config(config), WebConfig::default()).await;
    let before = open_handles();
    for round in 0..500 {
        match round % 4 {
            0 => drop(TcpStream::connect(running.at).await.expect("it listens")),
            1 => drop(running.dial().await),
            2 => drop(running.anonymous().await),
            _ => {
                let mut socket = TcpStream::connect(running.at).await.expect("it listens");
                socket.write_all(b"GET /play HTT").await.expect("open");
            }
        }
    }
    until("all connections are gone", async || running.server.connection_count() == 0).await;
    until("all sessions are held or over", async || running.server.active_count().await == Ok(0))
        .await;
    // Other tests of this process come and go; a leak would be in the hundreds.
    until("handles are back", async || open_handles() < before + 100).await;
    running.server.stop().await;
}
