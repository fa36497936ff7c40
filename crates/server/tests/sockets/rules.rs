//! The rules of RFC 6455 as byte scripts, played on the players' door: what a peer may not do costs it the
//! connection and nobody else anything, and what it may do is answered.

use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::client::{PATIENCE, Running, start};

const MALFORMED: u16 = 4010;
const TOO_LARGE: u16 = 4012;
const FIN: u8 = 0x80;
const TEXT: u8 = 1;
const BINARY: u8 = 2;
const CLOSE: u8 = 8;
const PING: u8 = 9;
const PONG: u8 = 10;

/// A frame as a client has to write it.
fn frame(first: u8, payload: &[u8]) -> Vec<u8> {
    let mut bytes = vec![first];
    match u8::try_from(payload.len()) {
        Ok(length @ 0..=125) => bytes.push(0x80 | length),
        _ => {
            bytes.push(0x80 | 126);
            bytes.extend(u16::try_from(payload.len()).expect("a short one").to_be_bytes());
        }
    }
    let mask = [1, 2, 3, 4];
    bytes.extend(mask);
    bytes.extend(payload.iter().zip(mask.iter().cycle()).map(|(byte, mask)| byte ^ mask));
    bytes
}

/// A connection that is upgraded and has been challenged.
async fn upgraded(running: &Running) -> TcpStream {
    let mut socket = TcpStream::connect(running.at).await.expect("it listens");
    let request = "GET /play HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\n\
        Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
        Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n";
    socket.write_all(request.as_bytes()).await.expect("open");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(socket.read_u8().await.expect("an answer"));
    }
    let head = String::from_utf8(head).expect("text");
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert!(head.contains("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="), "{head}");
    let (first, _) = next(&mut socket).await.expect("a challenge");
    assert_eq!(first, FIN | TEXT);
    socket
}

/// The next frame of the server: its first byte and its payload; none when it is closed.
async fn next(socket: &mut TcpStream) -> Option<(u8, Vec<u8>)> {
    let read = async {
        let first = socket.read_u8().await.ok()?;
        let length = match socket.read_u8().await.ok()? {
            126 => usize::from(socket.read_u16().await.ok()?),
            127 => usize::try_from(socket.read_u64().await.ok()?).ok()?,
            short => usize::from(short),
        };
        let mut payload = vec![0; length];
        socket.read_exact(&mut payload).await.ok()?;
        Some((first, payload))
    };
    tokio::time::timeout(PATIENCE, read).await.expect("in time")
}

/// The status that the server closes with.
async fn closed(socket: &mut TcpStream) -> Option<u16> {
    while let Some((first, payload)) = next(socket).await {
        if first == FIN | CLOSE {
            return payload.first_chunk().map(|status| u16::from_be_bytes(*status));
        }
    }
    None
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_peer_may_not_do_costs_it_the_connection() {
    let running = start().await;
    let mut ann = running.member("square").await;
    let unmasked = [&[FIN | TEXT, 2][..], b"{}"].concat();
    let endless = [&[FIN | BINARY, 0x80 | 127][..], &(1_u64 << 62).to_be_bytes(), &[1, 2, 3, 4]];
    let (open, more) = (frame(TEXT, b"{\"a"), frame(FIN, b"\":1}"));
    for (what, script, status) in [
        ("a frame without a mask", unmasked, MALFORMED),
        ("the first reserved bit", frame(FIN | 0x40 | TEXT, b"{}"), MALFORMED),
        ("the second reserved bit", frame(FIN | 0x20 | TEXT, b"{}"), MALFORMED),
        ("the third reserved bit", frame(FIN | 0x10 | TEXT, b"{}"), MALFORMED),
        ("a kind of data that there is not", frame(FIN | 3, b"{}"), MALFORMED),
        ("a kind of control that there is not", frame(FIN | 11, b""), MALFORMED),
        ("a long ping", frame(FIN | PING, &[7; 126]), MALFORMED),
        ("a ping in parts", frame(PING, b"1"), MALFORMED),
        ("a part of nothing", frame(FIN, b"{}"), MALFORMED),
        ("a message within another", [open.clone(), open.clone()].concat(), MALFORMED),
        ("a whole that is no frame of ours", [open, more].concat(), MALFORMED),
        ("text that is none", frame(FIN | TEXT, b"\xff\xfe"), MALFORMED),
        (
            "text that is none in its second part",
            [frame(TEXT, b"{\"\xc3"), frame(FIN, b"\x28\"}")].concat(),
            MALFORMED,
        ),
        ("a length without end", endless.concat(), TOO_LARGE),
    ] {
        let mut socket = upgraded(&running).await;
        socket.write_all(&script).await.expect("open");
        assert_eq!(closed(&mut socket).await, Some(status), "{what}");
    }
    ann.up(2, json!({"message": {"payload": "aGk=", "wantsReply": true}})).await;
    assert_eq!(ann.hear("down").await["reply"]["payload"], "aGk=");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pings_are_answered_with_what_they_carry_also_between_parts() {
    let running = start().await;
    let mut socket = upgraded(&running).await;
    for payload in [&b""[..], b"beat", &[7; 125]] {
        socket.write_all(&frame(FIN | PING, payload)).await.expect("open");
        assert_eq!(next(&mut socket).await, Some((FIN | PONG, payload.to_vec())));
    }
    // A pong that nobody asked for is no fault; and a message in parts of one byte, cut within a
    // letter, is whole in the end: it is heard as the frame that it is.
    socket.write_all(&frame(FIN | PONG, b"?")).await.expect("open");
    let text =
        json!({"hello": {"version": 1, "serverName": "b\u{fc}ro", "login": {"anonymous": {}}}});
    let text = text.to_string().into_bytes();
    let (last, parts) = text.split_last().expect("it is not empty");
    for (at, byte) in parts.iter().enumerate() {
        let first = if at == 0 { TEXT } else { 0 };
        socket.write_all(&frame(first, &[*byte])).await.expect("open");
        if at % 40 == 1 {
            socket.write_all(&frame(FIN | PING, b"between")).await.expect("open");
            assert_eq!(next(&mut socket).await, Some((FIN | PONG, b"between".to_vec())));
        }
    }
    socket.write_all(&frame(FIN, &[*last])).await.expect("open");
    let (_, answer) = next(&mut socket).await.expect("an answer");
    let answer = String::from_utf8(answer).expect("text");
    assert!(answer.contains("WRONG_NAME"), "{answer}");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_close_is_answered_and_a_wrong_one_told_to_be() {
    let running = start().await;
    for (what, payload, status) in [
        ("no status", &b""[..], None),
        ("a plain one", &[3, 232], Some(1000)),
        ("one with a reason", b"\x03\xe8bye", Some(1000)),
        ("one of the game's own", &[0x0f, 0xa0], Some(4000)),
        ("half a status", &[3], Some(MALFORMED)),
        ("a status that is never sent", &[3, 237], Some(1002)),
        ("a reason that is no text", b"\x03\xe8\xff\xfe", Some(MALFORMED)),
    ] {
        let mut socket = upgraded(&running).await;
        socket.write_all(&frame(FIN | CLOSE, payload)).await.expect("open");
        assert_eq!(closed(&mut socket).await, status, "{what}");
        assert_eq!(next(&mut socket).await, None, "{what}: then it hangs up");
    }
    running.server.stop().await;
}
