//! What attacks by ENet need: cookies, connects typed by hand, a peer that is connected and can then say
//! what no ENet would, and an honest player beside it.

use std::io::ErrorKind;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rejoin::client::Event;
use rejoin::client::driver::{Options, Player};
use rejoin::wire::enet::{self, Answer, Cookie};
use rusty_enet::{Host, HostSettings, MTU_MAX, PacketReceived, PeerID, Socket};

use crate::house::{House, PATIENCE};

/// A socket at this address of the attacker's; it does not wait for what does not come.
pub(crate) fn socket_at(host: [u8; 4]) -> UdpSocket {
    let socket = UdpSocket::bind(SocketAddr::from((host, 0))).expect("a free port");
    socket.set_read_timeout(Some(Duration::from_secs(2))).expect("a limit");
    socket
}

/// A cookie, asked for as long as it takes: datagrams get lost.
pub(crate) fn cookie(socket: &UdpSocket, server: SocketAddr) -> Cookie {
    for _ in 0..10 {
        socket.send_to(&enet::question(), server).expect("it is sent");
        let mut room = [0; 100];
        if let Ok((len, _)) = socket.recv_from(&mut room)
            && let Some(answer) = Answer::read(&room[..len])
        {
            return answer.cookie;
        }
    }
    panic!("no cookie");
}

/// A connect as ENet writes it.
pub(crate) fn connect(id: u32) -> Vec<u8> {
    let mut bytes = vec![0x8f, 0xff, 0, 0, 0x82, 0xff, 0, 1, 0, 0, 0xff, 0xff];
    // Datagram, window, channels, both bandwidths, three of the throttle; then the connect's own.
    for word in [1_392, 65_536, 2, 0, 0, 5_000, 2, 2, id, 0] {
        bytes.extend_from_slice(&u32::to_be_bytes(word));
    }
    assert_eq!(bytes.len(), 52);
    bytes
}

/// All datagrams that wait on a socket: how many bytes.
pub(crate) fn drain(socket: &UdpSocket) -> usize {
    socket.set_nonblocking(true).expect("a socket");
    let mut room = [0; 4_096];
    let mut bytes = 0;
    loop {
        match socket.recv_from(&mut room) {
            Ok((len, _)) => bytes += len,
            Err(error) if error.kind() == ErrorKind::WouldBlock => return bytes,
            Err(_) => {}
        }
    }
}

/// How long an honest client takes from nothing to being let in by ENet.
pub(crate) async fn honest_connect(house: &House) -> Duration {
    let since = Instant::now();
    let url = format!("enet://{}", house.enet());
    let (player, mut events) = Player::connect(&url, Options::new()).await.expect("an address");
    let connected = async {
        while !matches!(events.next().await.expect("it goes on"), Event::Connected { .. }) {}
    };
    tokio::time::timeout(PATIENCE, connected).await.expect("let in");
    let took = since.elapsed();
    player.cancel().await.expect("it runs");
    took
}

/// Somebody whom ENet has let in.
pub(crate) struct Insider {
    host: Host<Tapped>,
    socket: Arc<UdpSocket>,
    server: SocketAddr,
    peer: PeerID,
    /// How its datagrams begin.
    head: Arc<Mutex<[u8; 2]>>,
}

/// Its socket, which shows how datagrams begin once there is a connection.
pub(crate) struct Tapped {
    socket: Arc<UdpSocket>,
    cookie: Cookie,
    head: Arc<Mutex<[u8; 2]>>,
}

impl Insider {
    pub(crate) fn enter(host: [u8; 4], server: SocketAddr) -> Self {
        let socket = Arc::new(socket_at(host));
        let cookie = cookie(&socket, server);
        socket.set_nonblocking(true).expect("a socket");
        let head = Arc::new(Mutex::new([0; 2]));
        let tapped = Tapped { socket: socket.clone(), cookie, head: head.clone() };
        let settings = HostSettings { peer_limit: 1, ..HostSettings::default() };
        let mut host = Host::new(tapped, settings).expect("good");
        let peer = host.connect(server, 2, 0).expect("a slot").id();
        let mut insider = Self { host, socket, server, peer, head };
        let end = Instant::now() + PATIENCE;
        while !insider.host.peer(insider.peer).connected() || insider.head() == [0; 2] {
            assert!(Instant::now() < end, "never let in");
            insider.look_after();
            std::thread::sleep(Duration::from_millis(2));
        }
        insider
    }

    fn head(&self) -> [u8; 2] {
        *self.head.lock().expect("one thread")
    }

    /// Lets ENet do what it must to stay connected.
    pub(crate) fn look_after(&mut self) {
        while let Ok(Some(_)) = self.host.service() {}
    }

    /// Says commands of its own, with a head that is believed.
    pub(crate) fn inject(&self, commands: &[u8]) {
        let [first, second] = self.head();
        let head = [first | 0x80, second, 0, 0];
        let _ = self.socket.send_to(&[&head[..], commands].concat(), self.server);
    }

    /// Sends a datagram from its address as it is.
    pub(crate) fn send_as_it_is(&self, datagram: &[u8]) {
        let _ = self.socket.send_to(datagram, self.server);
    }

    /// The same datagram, as it would be sent.
    pub(crate) fn around(&self, commands: &[u8]) -> Vec<u8> {
        let [first, second] = self.head();
        [&[first | 0x80, second, 0, 0][..], commands].concat()
    }
}

impl Socket for Tapped {
    type Address = SocketAddr;
    type Error = std::io::Error;

    fn send(&mut self, to: SocketAddr, bytes: &[u8]) -> std::io::Result<usize> {
        if bytes[0] & 0x0f == 0x0f && bytes[1] == 0xff {
            let _ = self.socket.send_to(&enet::with_cookie(&self.cookie, bytes), to);
        } else {
            *self.head.lock().expect("one thread") = [bytes[0], bytes[1]];
            let _ = self.socket.send_to(bytes, to);
        }
        Ok(bytes.len())
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> std::io::Result<Option<(SocketAddr, PacketReceived)>> {
        match self.socket.recv_from(buffer) {
            Ok((len, from)) => Ok(Some((from, PacketReceived::Complete(len)))),
            Err(_) => Ok(None),
        }
    }
}
