//! Datagrams at a door for ENet: what comes before a connection, and what of a connection's datagrams
//! ENet is shown; with ENet itself behind it, as in the server.

// The server keeps these to itself.
#[path = "../../crates/server/src/enet/cookie.rs"]
#[allow(dead_code)]
mod cookie;
#[path = "../../crates/server/src/enet/sieve.rs"]
#[allow(dead_code)]
mod sieve;
#[path = "../../crates/server/src/enet/window.rs"]
#[allow(dead_code)]
mod window;

use std::collections::VecDeque;
use std::convert::Infallible;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cookie::Cookies;
use rejoin_seal::{Channel, Opening, ServerKey};
use rejoin_wire::enet::datagram::Datagram;
use rejoin_wire::enet::{self, Answer, Asked, CHANNELS, QUESTION_BYTES};
use rusty_enet::{Event, Host, HostSettings, MTU_MAX, Packet, PacketReceived, PeerID, Socket};
use sieve::Sieve;

/// The longest message, and what ENet may keep of those that cannot be delivered yet.
const FRAME_BYTES_MAX: usize = 4_096;
const EARLY_BYTES_MAX: usize = 16 << 10;
/// More datagrams than this say nothing new.
const DATAGRAMS_MAX: usize = 64;

/// Any bytes from somebody unknown: a question, something with a cookie that is not good, or nothing
/// that is answered. What can be read is what was written, and nothing that was not sealed is opened.
pub fn guard(data: &[u8]) {
    static KEYS: OnceLock<(Cookies, ServerKey, Mutex<Channel>, Instant)> = OnceLock::new();
    let (cookies, key, channel, start) = KEYS.get_or_init(|| {
        let (start, key) = (Instant::now(), ServerKey::from_bytes(&[7; 64]));
        let (_, first) = Opening::begin(b"before").expect("the system has randomness");
        let (channel, _) = key.accept(b"before", &first).expect("its own first message");
        (Cookies::new([1; 32], start), key, Mutex::new(channel), start)
    });
    let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 7_000));
    match Asked::read(data) {
        Some(Asked::Question) => assert_eq!(data.len(), QUESTION_BYTES),
        Some(Asked::Connect { cookie, datagram }) => {
            assert!(!cookies.is_good(&cookie, from, *start));
            assert_eq!(enet::with_cookie(&cookie, datagram)[8..], data[8..]);
            look(datagram);
        }
        Some(Asked::Begin { cookie, message }) => {
            assert!(!cookies.is_good(&cookie, from, *start));
            assert_eq!(enet::begin(&cookie, message)[8..], data[8..]);
            if let Ok((_, second)) = key.accept(data, message) {
                assert!(second.len() <= enet::begin(&cookie, message).len() + 32);
            }
        }
        None => look(data),
    }
    if let Some(answer) = Answer::read(data) {
        assert_eq!(answer.write()[..], *data);
    }
    if let Some(message) = enet::read_begun(data) {
        assert!(data.ends_with(message));
    }
    let mut channel = channel.lock().unwrap_or_else(PoisonError::into_inner);
    assert_eq!(channel.open(data, &mut [0; MTU_MAX]), None, "nobody sealed it");
}

/// Commands stand one behind the other, within the datagram.
fn look(data: &[u8]) {
    let Some(datagram) = Datagram::read(data) else { return };
    let mut end = 2;
    for command in datagram.commands() {
        assert!(command.at >= end && command.at < command.end && command.end <= data.len());
        end = command.end;
    }
    assert!(datagram.bytes_before_messages() <= data.len());
    assert!(datagram.connect().is_none() || datagram.is_from_stranger);
}

/// Any datagrams on a connection that is open: two bytes are the length of each. ENet gets what the
/// sieve lets through and gives out messages within the limit, whatever it is.
pub fn datagrams(data: &[u8]) {
    let mut stage = Stage::connected();
    let mut sieve = Sieve::new(true);
    let mut rest = data;
    for _ in 0..DATAGRAMS_MAX {
        let Some((len, more)) = rest.split_first_chunk::<2>() else { break };
        let len = usize::from(u16::from_be_bytes(*len) % 1_400).min(more.len());
        let (body, more) = more.split_at(len);
        rest = more;
        let bytes = [&stage.head[..], body].concat();
        look(&bytes);
        let Some(datagram) = Datagram::read(&bytes).filter(|datagram| !datagram.is_from_stranger)
        else {
            continue;
        };
        let let_in = sieve.look(&datagram, FRAME_BYTES_MAX).bytes;
        assert!(let_in <= bytes.len());
        if let_in > 0 {
            stage.feed(bytes[..let_in].to_vec(), &mut sieve);
        }
    }
}

/// ENet on both ends of a wire in memory.
struct Stage {
    server: Host<Wire>,
    clock: Arc<AtomicU64>,
    /// With what a datagram of the client begins: its number at the server, and a time.
    head: [u8; 4],
}

impl Stage {
    fn connected() -> Self {
        let clock = Arc::new(AtomicU64::new(1));
        let (mut server, mut client) = (host(&clock), host(&clock));
        server.set_maximum_packet_size(FRAME_BYTES_MAX).expect("within its bounds");
        server.set_maximum_waiting_data(EARLY_BYTES_MAX).expect("within its bounds");
        let server_at = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        client.connect(server_at, CHANNELS, 0).expect("a slot");
        let mut head = [0; 4];
        for _ in 0..8 {
            clock.fetch_add(1, Ordering::Relaxed);
            while client.service().expect("a wire in memory").is_some() {}
            for sent in client.socket_mut().sent.drain(..) {
                head[..2].copy_from_slice(&sent[..2]);
                server.socket_mut().coming.push_back(sent);
            }
            while server.service().expect("a wire in memory").is_some() {}
            client.socket_mut().coming.extend(server.socket_mut().sent.drain(..));
        }
        assert!(server.peer(PeerID(0)).connected() && client.peer(PeerID(0)).connected());
        // With a time.
        head[0] |= 0x80;
        Self { server, clock, head }
    }

    fn feed(&mut self, datagram: Vec<u8>, sieve: &mut Sieve) {
        self.clock.fetch_add(1, Ordering::Relaxed);
        self.server.socket_mut().coming.push_back(datagram);
        while let Some(event) = self.server.service().expect("a wire in memory") {
            if let Event::Receive { channel_id, packet, peer } = event {
                assert!(packet.data().len() <= FRAME_BYTES_MAX);
                sieve.delivered(channel_id);
                let _ = peer.send(0, &Packet::reliable(packet.data()));
            }
        }
        self.server.socket_mut().sent.clear();
    }
}

fn host(clock: &Arc<AtomicU64>) -> Host<Wire> {
    let clock = clock.clone();
    let settings = HostSettings {
        peer_limit: 1,
        channel_limit: CHANNELS,
        time: Box::new(move || Duration::from_millis(clock.load(Ordering::Relaxed))),
        seed: Some(7),
        ..HostSettings::default()
    };
    Host::new(Wire::default(), settings).expect("good settings")
}

#[derive(Default)]
struct Wire {
    sent: Vec<Vec<u8>>,
    coming: VecDeque<Vec<u8>>,
}

impl Socket for Wire {
    type Address = SocketAddr;
    type Error = Infallible;

    fn send(&mut self, _: SocketAddr, datagram: &[u8]) -> Result<usize, Infallible> {
        self.sent.push(datagram.to_vec());
        Ok(datagram.len())
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> Result<Option<(SocketAddr, PacketReceived)>, Infallible> {
        let Some(datagram) = self.coming.pop_front() else { return Ok(None) };
        buffer[..datagram.len()].copy_from_slice(&datagram);
        let from = SocketAddr::from((Ipv4Addr::LOCALHOST, 1));
        Ok(Some((from, PacketReceived::Complete(datagram.len()))))
    }
}
