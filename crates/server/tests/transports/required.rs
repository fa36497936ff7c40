//! Where encryption is required, each connection is held to it: whoever connects without is not answered
//! and has no place, with a good cookie or in stock mode.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::time::Duration;

use rejoin_server::{Encryption, EnetConfig, Server};
use rejoin_wire::enet::{self, Answer, CHANNELS, Cookie};
use rusty_enet::{Host, HostSettings, MTU_MAX, PacketReceived, Socket};
use tokio::net::UdpSocket;

use crate::speaker::{PATIENCE, plain};

/// A socket that keeps what is sent.
#[derive(Default)]
struct Kept(Vec<Vec<u8>>);

impl Socket for Kept {
    type Address = SocketAddr;
    type Error = Infallible;

    fn send(&mut self, _: SocketAddr, datagram: &[u8]) -> Result<usize, Infallible> {
        self.0.push(datagram.to_vec());
        Ok(datagram.len())
    }

    fn receive(
        &mut self,
        _: &mut [u8; MTU_MAX],
    ) -> Result<Option<(SocketAddr, PacketReceived)>, Infallible> {
        Ok(None)
    }
}

/// The datagram by which ENet asks for a connection.
fn connect() -> Vec<u8> {
    let settings = HostSettings { peer_limit: 1, ..HostSettings::default() };
    let mut host = Host::new(Kept::default(), settings).expect("good");
    host.connect(([127, 0, 0, 1], 1).into(), CHANNELS, 0).expect("a slot");
    host.flush();
    host.socket_mut().0.pop().expect("it was sent")
}

/// A server with this door, and a socket that leads there.
async fn open(config: EnetConfig) -> (Server, UdpSocket) {
    let server = plain().start().expect("the server starts");
    let door = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    let client = UdpSocket::bind("127.0.0.1:0").await.expect("a free port");
    client.connect(door.local_addr().expect("bound")).await.expect("loopback");
    let listening = server.clone();
    tokio::spawn(async move { listening.listen_enet(door, config).await });
    (server, client)
}

async fn hear(socket: &UdpSocket) -> Vec<u8> {
    let mut room = [0; MTU_MAX];
    let heard = tokio::time::timeout(PATIENCE, socket.recv(&mut room)).await;
    room[..heard.expect("in time").expect("open")].to_vec()
}

async fn cookie(socket: &UdpSocket) -> Cookie {
    socket.send(&enet::question()).await.expect("sent");
    Answer::read(&hear(socket).await).expect("an answer").cookie
}

/// Says something and then asks questions, whose answers show that it was read: whether anything else
/// was answered.
async fn is_answered(socket: &UdpSocket, said: &[u8]) -> bool {
    socket.send(said).await.expect("sent");
    for _ in 0..5 {
        socket.send(&enet::question()).await.expect("sent");
        if Answer::read(&hear(socket).await).is_none() {
            return true;
        }
        // ENet's own answers leave with its next turn.
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    false
}

#[tokio::test(flavor = "multi_thread")]
async fn where_encryption_is_required_nobody_connects_without() {
    for (encryption, stock, is_let_in) in [
        (Encryption::Preferred, false, (true, false)),
        (Encryption::Preferred, true, (true, true)),
        (Encryption::Required, false, (false, false)),
        (Encryption::Required, true, (false, false)),
    ] {
        let config = EnetConfig { encryption, stock, ..EnetConfig::default() };
        let (server, socket) = open(config.clone()).await;
        let stamped = enet::with_cookie(&cookie(&socket).await, &connect());
        let with_cookie = is_answered(&socket, &stamped).await;
        server.stop().await;
        let (server, socket) = open(config).await;
        let without = is_answered(&socket, &connect()).await;
        assert_eq!((with_cookie, without), is_let_in, "{encryption:?}, stock: {stock}");
        assert_eq!(server.connection_count(), 0, "nobody has said a word yet");
        server.stop().await;
    }
}
