//! The door for byte streams, byte by byte: what a parser of packets can be given, and proxies that
//! say whom they speak for.

use std::net::SocketAddr;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::HubConfig;
use rejoin_server::{Server, TcpConfig};
use rejoin_wire::v1::{
    Anonymous, ClientFrame, CloseCode, Hello, Login, Ping, client_frame, hello, login, server_frame,
};
use rejoin_wire::{Encoding, Framer, Limits, decode_server, encode_client, prefix};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::client::{PATIENCE, builder, until};

struct Door {
    server: Server,
    at: SocketAddr,
}

async fn open(config: HubConfig, tcp: TcpConfig) -> Door {
    let server =
        builder().config(HubConfig { anonymous: true, ..config }).start().expect("it starts");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("it is bound");
    let listening = server.clone();
    tokio::spawn(async move { listening.listen_tcp(listener, tcp).await });
    until("it is ready", async || server.is_ready()).await;
    Door { server, at }
}

struct Socket {
    stream: TcpStream,
    framer: Framer,
}

impl Door {
    async fn dial(&self) -> Socket {
        let stream = TcpStream::connect(self.at).await.expect("it listens");
        Socket { stream, framer: Framer::new(1 << 20) }
    }
}

impl Socket {
    async fn write(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).await.expect("open");
    }

    /// The next frame; none at the end.
    async fn hear(&mut self) -> Option<server_frame::Frame> {
        loop {
            if let Some(frame) = self.framer.next().expect("frames") {
                let frame = decode_server(Encoding::Protobuf, frame, &Limits::DEFAULT);
                return frame.expect("a frame").frame;
            }
            let mut chunk = [0; 1_024];
            let read = tokio::time::timeout(PATIENCE, self.stream.read(&mut chunk)).await;
            match read.expect("something in time") {
                Ok(0) | Err(_) => return None,
                Ok(read) => assert_eq!(self.framer.push(&chunk[..read]), read),
            }
        }
    }

    /// Lets frames pass until this one.
    async fn until(&mut self, is_it: impl Fn(&server_frame::Frame) -> bool) -> server_frame::Frame {
        loop {
            let frame = self.hear().await.expect("not the end");
            if is_it(&frame) {
                return frame;
            }
        }
    }

    async fn farewell(&mut self) -> CloseCode {
        let last = self.until(|frame| matches!(frame, server_frame::Frame::Farewell(_))).await;
        assert_eq!(self.hear().await, None, "the farewell is the last frame");
        let server_frame::Frame::Farewell(last) = last else { unreachable!("it was looked for") };
        last.code()
    }

    async fn is_welcomed(&mut self) {
        self.until(|frame| matches!(frame, server_frame::Frame::Welcome(_))).await;
    }
}

fn framed(frames: &[client_frame::Frame]) -> Bytes {
    let mut bytes = BytesMut::new();
    for frame in frames {
        let frame = ClientFrame { frame: Some(frame.clone()) };
        let frame = encode_client(Encoding::Protobuf, &frame).expect("it can be written");
        prefix(&frame, &mut bytes).expect("not too long");
    }
    bytes.freeze()
}

fn login() -> client_frame::Frame {
    let identity = Some(login::Identity::Anonymous(Anonymous {}));
    client_frame::Frame::Hello(Hello {
        version: rejoin_wire::VERSION,
        server_name: "localhost".to_owned(),
        purpose: Some(hello::Purpose::Login(Login { fresh: false, identity })),
        ..Hello::default()
    })
}

fn ping(nonce: u64) -> client_frame::Frame {
    client_frame::Frame::Ping(Ping { nonce })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_in_pieces_is_one_frame_and_several_in_one_buffer_are_several() {
    let door = open(HubConfig::default(), TcpConfig::default()).await;
    let mut ann = door.dial().await;
    for byte in framed(&[login()]) {
        ann.write(&[byte]).await;
        ann.stream.flush().await.expect("open");
    }
    ann.is_welcomed().await;
    let pings: Vec<_> = (1..=20).map(ping).collect();
    let together = framed(&pings);
    // Cut in the middle of a length, of a frame, and not at all.
    let (first, rest) = together.split_at(2);
    let (second, third) = rest.split_at(rest.len() / 2 + 1);
    for piece in [first, second, third] {
        ann.write(piece).await;
    }
    for nonce in 1..=20 {
        let pong = ann.until(|frame| matches!(frame, server_frame::Frame::Pong(_))).await;
        assert!(matches!(pong, server_frame::Frame::Pong(pong) if pong.nonce == nonce));
    }
    door.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wrong_length_ends_the_stream_with_its_cause() {
    let door = open(HubConfig::default(), TcpConfig::default()).await;
    let mut bob = door.dial().await;
    bob.write(&framed(&[login()])).await;
    bob.is_welcomed().await;
    let most = Limits::DEFAULT.client_frame_bytes(Encoding::Protobuf) as u32;
    let stranger_most =
        Limits::DEFAULT.before_hello().client_frame_bytes(Encoding::Protobuf) as u32;
    for (length, is_guest, code) in [
        (0, false, CloseCode::Malformed),
        (0, true, CloseCode::Malformed),
        (u32::MAX, false, CloseCode::TooLarge),
        (stranger_most + 1, false, CloseCode::TooLarge),
        (most + 1, true, CloseCode::TooLarge),
        (0x4745_5420, true, CloseCode::TooLarge),
    ] {
        let mut eve = door.dial().await;
        if is_guest {
            eve.write(&framed(&[login()])).await;
            eve.is_welcomed().await;
        }
        let mut bytes = BytesMut::new();
        bytes.put_u32(length);
        eve.write(&bytes).await;
        assert_eq!(eve.farewell().await, code, "{length} {is_guest}");
    }
    // A guest may announce as much as a stranger may not.
    let mut eve = door.dial().await;
    eve.write(&framed(&[login()])).await;
    eve.is_welcomed().await;
    let mut bytes = BytesMut::new();
    bytes.put_u32(stranger_most + 1);
    bytes.put_bytes(0xff, (stranger_most + 1) as usize);
    eve.write(&bytes).await;
    assert_eq!(eve.farewell().await, CloseCode::Malformed);
    bob.write(&framed(&[ping(7)])).await;
    bob.until(|frame| matches!(frame, server_frame::Frame::Pong(_))).await;
    door.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frame_that_never_ends_is_not_waited_for() {
    let config = HubConfig {
        handshake: Duration::from_millis(300),
        heartbeat: Duration::from_millis(200),
        silence: Duration::from_millis(600),
        ..HubConfig::default()
    };
    let door = open(config, TcpConfig::default()).await;
    let mut stranger = door.dial().await;
    stranger.write(&[0, 0, 0, 200, 1, 2, 3]).await;
    assert_eq!(stranger.farewell().await, CloseCode::HandshakeTimeout);
    let mut guest = door.dial().await;
    guest.write(&framed(&[login()])).await;
    guest.is_welcomed().await;
    guest.write(&[0, 0, 0, 200]).await;
    // A byte now and then is no life: frames are.
    let dribbling = tokio::time::timeout(PATIENCE, async {
        loop {
            tokio::time::sleep(Duration::from_millis(50)).await;
            if guest.stream.write_all(&[9]).await.is_err() {
                break;
            }
        }
    });
    dribbling.await.expect("it is closed in time");
    until("both are gone", async || door.server.connection_count() == 0).await;
    door.server.stop().await;
}

/// A header of version 2 of the PROXY protocol for an IPv4 client.
fn proxied(from: [u8; 4]) -> Vec<u8> {
    let mut header = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c".to_vec();
    header.extend(from);
    header.extend([10, 0, 0, 1, 1, 2, 3, 4]);
    header
}

#[tokio::test(flavor = "multi_thread")]
async fn a_proxy_says_whom_it_speaks_for_and_that_address_is_charged() {
    let guard = GuardConfig { address_connections_max: 1, ..GuardConfig::default() };
    let trusted_proxies = vec!["127.0.0.0/8".parse().expect("a block")];
    let tcp = TcpConfig {
        trusted_proxies,
        header_deadline: Duration::from_millis(300),
        ..TcpConfig::default()
    };
    let door = open(HubConfig { guard, ..HubConfig::default() }, tcp).await;
    let mut inside = Vec::new();
    for host in 1..=3 {
        let mut client = door.dial().await;
        client.write(&proxied([192, 0, 2, host])).await;
        client.write(&framed(&[login()])).await;
        client.is_welcomed().await;
        inside.push(client);
        let mut second = door.dial().await;
        second.write(&proxied([192, 0, 2, host])).await;
        assert_eq!(second.hear().await, None, "one connection each");
    }
    // Nothing, and something else, are no header.
    for beginning in [&b""[..], b"GET / HTTP/1.1\r\n\r\n"] {
        let mut other = door.dial().await;
        other.write(beginning).await;
        assert_eq!(other.hear().await, None);
    }
    door.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn from_anywhere_else_such_a_header_is_no_frame() {
    let door = open(HubConfig::default(), TcpConfig::default()).await;
    let mut eve = door.dial().await;
    eve.write(&proxied([192, 0, 2, 1])).await;
    assert_eq!(eve.farewell().await, CloseCode::TooLarge, "its first bytes are a length");
    door.server.stop().await;
}
