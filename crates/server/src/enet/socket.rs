//! The socket as ENet sees it: every datagram passes here first. Questions for a cookie are answered and
//! forgotten; a connect is let in with a cookie, or, for peers that know nothing of cookies, if that was
//! allowed; anything else only from an address that was let in. From a peer that has begun to encrypt,
//! only sealed datagrams are taken.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rejoin_core::budget::Rate;
use rejoin_seal::{Channel, ServerKey};
use rejoin_wire::DecodeError;
use rejoin_wire::enet::datagram::Datagram;
use rejoin_wire::enet::{self, Answer, Asked, Cookie, Offer};
use rusty_enet::{MTU_MAX, PacketReceived, Socket};
use tokio::net::UdpSocket;

use super::cookie::Cookies;
use super::peer::{EnetPeer, Seal};
use super::sieve::SieveVerdict;
use super::{Encryption, EnetConfig};
use crate::server::Server;

/// Datagrams that are read in one turn; others have theirs in between, readers above all: so much of one
/// peer fits into what may wait for its reader.
const TURN_MAX: usize = 192;
/// Peers without a cookie that may be connecting at a time: each has a slot of ENet, even if its address
/// is a forged one.
const STRANGERS_MAX: usize = 256;
/// Datagrams of one peer, whatever is in them; far more than an honest one sends. Those beyond are
/// dropped and charged.
const DATAGRAMS: Rate = Rate { per_second: 1_000, burst: 2_000 };
/// How long a peer may take to connect.
const ARRIVAL: Duration = Duration::from_secs(5);

/// The UDP socket that ENet reads and writes, with the state of each peer.
pub(super) struct EnetSocket {
    socket: Arc<UdpSocket>,
    server: Server,
    config: EnetConfig,
    frame_bytes_max: usize,
    cookies: Cookies,
    key: ServerKey,
    peers: HashMap<SocketAddr, EnetPeer>,
    strangers: usize,
    /// Who came in, in that order, until it is connected or late.
    arriving: VecDeque<(Instant, SocketAddr)>,
    /// Datagrams that may still be read in this turn.
    turn: usize,
    /// Who broke the rules, and how.
    pub(super) broken: Vec<(SocketAddr, DecodeError)>,
    /// Who came again from the same port, with proof: its old connection is over.
    pub(super) replaced: BTreeSet<SocketAddr>,
    pub(super) is_stopping: bool,
}

impl EnetSocket {
    pub(super) fn new(
        socket: Arc<UdpSocket>,
        server: Server,
        config: EnetConfig,
        (cookies, key): (Cookies, ServerKey),
    ) -> Self {
        let frame_bytes_max = server.0.limits.client_frame_bytes(rejoin_wire::Encoding::Protobuf);
        Self {
            socket,
            server,
            config,
            frame_bytes_max,
            cookies,
            key,
            peers: HashMap::new(),
            strangers: 0,
            arriving: VecDeque::new(),
            turn: 0,
            broken: Vec::new(),
            replaced: BTreeSet::new(),
            is_stopping: false,
        }
    }

    /// A new turn. True: the last one ended before everything was read.
    pub(super) fn next_turn(&mut self) -> bool {
        std::mem::replace(&mut self.turn, TURN_MAX) == 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.peers.is_empty()
    }

    pub(super) fn peer(&mut self, address: &SocketAddr) -> Option<&mut EnetPeer> {
        self.peers.get_mut(address)
    }

    /// Drops the state of a peer that is gone.
    pub(super) fn forget(&mut self, address: &SocketAddr) {
        if let Some(peer) = self.peers.remove(address) {
            self.strangers -= usize::from(peer.sieve.is_stranger());
        }
    }

    /// Takes those who have been on their way in for too long.
    pub(super) fn late(&mut self, now: Instant) -> BTreeSet<SocketAddr> {
        let mut late = BTreeSet::new();
        while let Some((since, address)) = self.arriving.front().copied()
            && now.duration_since(since) > ARRIVAL
        {
            self.arriving.pop_front();
            let is_late = |peer: &EnetPeer| !peer.is_connected && peer.since == since;
            if self.peers.get(&address).is_some_and(is_late) {
                late.insert(address);
            }
        }
        late
    }

    /// What of a datagram ENet may see: from where in it, and how many bytes.
    fn let_in(&mut self, bytes: &[u8], from: SocketAddr) -> Option<(usize, usize)> {
        match Asked::read(bytes) {
            Some(Asked::Question) => {
                let cookie = self.cookies.make(from, Instant::now());
                let answer = Answer { cookie, offer: self.offer() }.write();
                let _ = self.socket.try_send_to(&answer, from);
                None
            }
            Some(Asked::Connect { cookie, datagram }) => {
                let is_good = self.cookies.is_good(&cookie, from, Instant::now());
                if !is_good || self.offer() == Offer::Sealed {
                    return None;
                }
                let connect = Datagram::read(datagram)?.connect()?;
                let is_in = self.admit(connect, from, true);
                is_in.then_some((bytes.len() - datagram.len(), datagram.len()))
            }
            Some(Asked::Begin { cookie, message }) => {
                if self.cookies.is_good(&cookie, from, Instant::now()) {
                    self.begin(cookie, message, from);
                }
                None
            }
            None => self.let_in_enet(bytes, from),
        }
    }

    fn offer(&self) -> Offer {
        match self.config.encryption {
            Encryption::Off => Offer::Plain,
            Encryption::Preferred => Offer::Either,
            Encryption::Required => Offer::Sealed,
        }
    }

    /// A peer begins to encrypt, and has shown a good cookie.
    fn begin(&mut self, cookie: Cookie, message: &[u8], from: SocketAddr) {
        if let Some(peer) = self.peers.get(&from) {
            match &peer.seal {
                // Said again because our answer was lost.
                Some(seal) if seal.first == message => {
                    let _ = self.socket.try_send_to(&seal.second, from);
                }
                _ => drop(self.replaced.insert(from)),
            }
            return;
        }
        let offer = self.offer();
        if offer == Offer::Plain || !self.make_room(from, true) {
            return;
        }
        let said = Answer { cookie, offer }.write();
        let (Ok((channel, second)), Some(peer)) =
            (self.key.accept(&said, message), self.peers.get_mut(&from))
        else {
            return self.forget(&from);
        };
        let second = enet::begun(&second);
        let _ = self.socket.try_send_to(&second, from);
        peer.seal = Some(Seal { channel, first: message.to_vec(), second });
    }

    /// Opens a sealed datagram where it is; its length, and what of it ENet may see.
    fn let_in_sealed(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
        len: usize,
        from: SocketAddr,
    ) -> Option<(usize, usize)> {
        let peer = self.peers.get_mut(&from)?;
        let mut plain = [0; MTU_MAX];
        let len = peer.seal.as_mut()?.channel.open(&buffer[..len], &mut plain)?;
        buffer[..len].copy_from_slice(&plain[..len]);
        let datagram = Datagram::read(&buffer[..len])?;
        if !datagram.is_from_stranger {
            return self.look(&datagram, len, from);
        }
        let connect = datagram.connect()?;
        let is_same = *peer.connect.get_or_insert(connect) == connect;
        is_same.then_some((0, len))
    }

    fn let_in_enet(&mut self, bytes: &[u8], from: SocketAddr) -> Option<(usize, usize)> {
        let datagram = Datagram::read(bytes)?;
        if datagram.is_from_stranger {
            let may = self.config.stock && self.offer() != Offer::Sealed;
            let connect = datagram.connect().filter(|_| may)?;
            if !self.admit(connect, from, false) {
                return None;
            }
            self.peers.get_mut(&from)?.sieve.came(bytes.len());
            return Some((0, bytes.len()));
        }
        let peer = self.peers.get_mut(&from).filter(|peer| peer.seal.is_none())?;
        // Before anything is judged: a sender that forges an address does not know these ids, and ENet
        // would ignore its datagram for that.
        if peer.ids != Some(datagram.ids()) {
            return None;
        }
        peer.sieve.came(bytes.len());
        self.look(&datagram, bytes.len(), from)
    }

    fn look(
        &mut self,
        datagram: &Datagram<'_>,
        len: usize,
        from: SocketAddr,
    ) -> Option<(usize, usize)> {
        let now = self.server.0.clock.now();
        let peer = self.peers.get_mut(&from)?;
        let is_flood = peer.datagrams.try_spend(now, 1, DATAGRAMS, 0).is_err();
        let was_stranger = peer.sieve.is_stranger();
        let look = match is_flood {
            true => SieveVerdict::default(),
            false => peer.sieve.look(datagram, self.frame_bytes_max),
        };
        let is_known = was_stranger && !peer.sieve.is_stranger();
        self.strangers -= usize::from(is_known);
        if !look.has_message {
            peer.sieve.waiting.add_control(len);
            peer.bell.notify_one();
        }
        self.broken.extend(look.broken.map(|error| (from, error)));
        (look.bytes > 0).then_some((0, look.bytes))
    }

    /// Whether the peer at this address may have a slot of ENet.
    fn admit(&mut self, connect: u32, from: SocketAddr, is_proven: bool) -> bool {
        if let Some(peer) = self.peers.get(&from) {
            // Sent again because our answer was lost; or, with proof, a new peer on the same port.
            let is_same = peer.seal.is_none() && peer.connect == Some(connect);
            if !is_same && is_proven {
                self.replaced.insert(from);
            }
            return is_same;
        }
        let is_in = self.make_room(from, is_proven);
        if let Some(peer) = self.peers.get_mut(&from) {
            peer.connect = Some(connect);
        }
        is_in
    }

    /// Takes up a new peer, if there is room for it.
    fn make_room(&mut self, from: SocketAddr, is_proven: bool) -> bool {
        let is_full = self.peers.len() >= self.config.peers_max
            || (!is_proven && self.strangers >= STRANGERS_MAX);
        if is_full || self.is_stopping {
            return false;
        }
        let address = from.ip().to_canonical();
        match self.server.0.accept_guard.admit(address) {
            Ok(permit) => {
                let now = Instant::now();
                self.peers.insert(from, EnetPeer::new(permit, is_proven, now));
                self.strangers += usize::from(!is_proven);
                self.arriving.push_back((now, from));
                true
            }
            Err(refusal) => {
                self.server.0.sight.refused(address, &refusal);
                false
            }
        }
    }
}

impl Socket for EnetSocket {
    type Address = SocketAddr;
    type Error = Infallible;

    fn send(&mut self, to: SocketAddr, datagram: &[u8]) -> Result<usize, Infallible> {
        let Some(peer) = self.peers.get_mut(&to) else { return Ok(datagram.len()) };
        if !peer.is_connected {
            let given = Datagram::read(datagram).and_then(|said| said.given_ids());
            peer.ids = given.or(peer.ids);
        }
        // What the system does not take now is as good as lost on the way.
        if let Some(seal) = &mut peer.seal {
            if let Some(sealed) = seal.channel.seal(datagram) {
                let _ = self.socket.try_send_to(&sealed, to);
            }
        } else if peer.sieve.may_send(datagram) {
            let _ = self.socket.try_send_to(datagram, to);
        }
        Ok(datagram.len())
    }

    fn receive(
        &mut self,
        buffer: &mut [u8; MTU_MAX],
    ) -> Result<Option<(SocketAddr, PacketReceived)>, Infallible> {
        while self.turn > 0 {
            let (len, from) = match self.socket.try_recv_from(buffer) {
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(None),
                Err(_) => {
                    self.turn -= 1;
                    continue;
                }
            };
            self.turn -= 1;
            let is_sealed = Channel::is_sealed(&buffer[..len]);
            let let_in = match is_sealed {
                true => self.let_in_sealed(buffer, len, from),
                false => self.let_in(&buffer[..len], from),
            };
            if let Some((start, bytes)) = let_in {
                buffer.copy_within(start..start + bytes, 0);
                return Ok(Some((from, PacketReceived::Complete(bytes))));
            }
        }
        Ok(None)
    }
}
