//! The load generator: thousands of connections in one loop of one thread. It must cost less than
//! what it measures, so it writes and reads the frequent frames by hand and starts no task.
//!
//! It acknowledges as the client library does: after sixteen frames, or 200 ms after the first.

pub(crate) mod frame;
mod link;

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use mio::{Events, Interest, Poll, Token};
use rejoin_wire::{Encoding, Limits, decode_server, v1};
use tokio_rustls::rustls::pki_types::ServerName;
use tokio_rustls::rustls::{ClientConfig, ClientConnection};

use self::frame::Heard;
use self::link::Link;
pub(crate) use self::link::Stage;
use crate::machine::now;
use crate::serve::Kind;

/// What stands around a payload in a frame of our server, near enough: the bare one sends as much.
pub(crate) const FRAME_OVERHEAD: usize = 12;
/// Local addresses that connections start from: one has some 28,000 ports.
const SOURCES: usize = 8;
const ACK_EVERY: u32 = 16;
const ACK_DELAY: u64 = 200_000_000;
/// A connection that was turned away is tried again after so long.
const RETRY: u64 = 200_000_000;
/// Refusals whose words are kept.
const WORDS_MAX: usize = 3;

/// Where the connections shall be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Place {
    /// Connected, in no zone.
    Lobby,
    /// In one of so many zones of this kind.
    Zones { kind: &'static str, count: usize },
}

/// Hears what happens on the connections.
pub(crate) trait Ear {
    /// A connection is where it shall be.
    fn live(&mut self, _load: &mut Load, _link: usize, _now: u64) {}
    /// Something was said to a connection.
    fn heard(&mut self, _load: &mut Load, _link: usize, _payload: &[u8], _now: u64) {}
    /// What a connection sent is consumed, up to this number.
    fn applied(&mut self, _load: &mut Load, _link: usize, _seq: u64) {}
}

/// Hears nothing.
pub(crate) struct Deaf;
impl Ear for Deaf {}

/// What went wrong. All zero, or the run is worth nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Faults {
    /// Live connections that ended without being asked to.
    pub(crate) lost: u64,
    /// Answers that say no: refusals, farewells, a rung other than asked for.
    pub(crate) refused: u64,
    /// Connections that were tried again; no failure by itself.
    pub(crate) retries: u64,
}

/// The generator.
pub(crate) struct Load {
    kind: Kind,
    at: SocketAddr,
    place: Place,
    /// Connections are encrypted like this.
    tls: Option<Arc<ClientConfig>>,
    /// Local addresses that connections start from.
    sources: usize,
    /// They log in as guests that the server mints, which the shipped settings allow.
    mints: bool,
    poll: Poll,
    links: Vec<Link>,
    buffer: Box<[u8]>,
    out: Vec<u8>,
    /// Acknowledgements that are due, in order.
    acks: VecDeque<(u64, usize)>,
    /// Connections to be tried again, in order.
    retries: VecDeque<(u64, usize)>,
    live: usize,
    pub(crate) faults: Faults,
    /// What the server said to those whom it refused.
    pub(crate) words: Vec<String>,
}

impl Load {
    /// So many connections, none of them open.
    pub(crate) fn new(kind: Kind, at: SocketAddr, place: Place, count: usize) -> Result<Self> {
        Ok(Self {
            kind,
            at,
            place,
            tls: None,
            sources: SOURCES,
            mints: false,
            poll: Poll::new()?,
            links: (0..count).map(|_| Link::new()).collect(),
            buffer: vec![0; 256 << 10].into(),
            out: Vec::new(),
            acks: VecDeque::new(),
            retries: VecDeque::new(),
            live: 0,
            faults: Faults::default(),
            words: Vec::new(),
        })
    }

    /// Connections to come are encrypted.
    pub(crate) fn encrypt(&mut self, tls: Arc<ClientConfig>) {
        self.tls = Some(tls);
    }

    /// Connections to come log in as the shipped settings allow, from so many local addresses.
    pub(crate) fn shipped(&mut self, sources: usize) {
        self.sources = sources;
        self.mints = true;
    }

    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.links.len()
    }

    /// How many are where they shall be.
    pub(crate) fn live(&self) -> usize {
        self.live
    }

    /// When a connection was dialled first.
    pub(crate) fn dialled(&self, link: usize) -> u64 {
        self.links[link].dialled
    }

    /// Starts a connection; `returns` resumes the session it had.
    pub(crate) fn dial(&mut self, link: usize, returns: bool) -> Result<()> {
        self.links[link].dialled = now();
        self.links[link].returns = returns && self.kind == Kind::Ours;
        self.connect(link)
    }

    fn connect(&mut self, index: usize) -> Result<()> {
        let source = index % self.sources;
        let source = Ipv4Addr::new(127, 0, (source / 250) as u8, 2 + (source % 250) as u8);
        let path = match (self.kind, self.place) {
            (Kind::Ours | Kind::Soak | Kind::Seats, _) => "/play".to_owned(),
            (Kind::Bare, Place::Zones { kind: crate::serve::zones::BEAT, count }) => {
                format!("/zone/{}", index % count)
            }
            (Kind::Bare, _) => "/echo".to_owned(),
        };
        let tls = match &self.tls {
            Some(config) => {
                let name = ServerName::from(self.at.ip());
                Some(ClientConnection::new(Arc::clone(config), name)?)
            }
            None => None,
        };
        let link = &mut self.links[index];
        link.open(SocketAddr::from((source, 0)), self.at, tls)?;
        if let Some(socket) = &mut link.socket {
            let both = Interest::READABLE | Interest::WRITABLE;
            self.poll.registry().register(socket, Token(index), both)?;
        }
        let request = frame::upgrade(&self.at.to_string(), &path);
        link.write(request.as_bytes());
        Ok(())
    }

    /// Cuts a connection with a reset.
    pub(crate) fn reset(&mut self, link: usize) {
        if self.links[link].stage == Stage::Live {
            self.live -= 1;
        }
        self.links[link].reset();
    }

    /// Forgets the session of a connection, which is then a stranger.
    pub(crate) fn forget(&mut self, link: usize) {
        self.reset(link);
        self.links[link] = Link::new();
    }

    /// Asks for this payload back.
    pub(crate) fn request(&mut self, index: usize, payload: &[u8]) {
        let link = &mut self.links[index];
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        match self.kind {
            Kind::Ours | Kind::Soak | Kind::Seats => {
                let seq = link.ticket.next_up;
                link.ticket.next_up += 1;
                frame::put_request(&mut out, seq, payload);
            }
            Kind::Bare => {
                out.extend_from_slice(payload);
                out.resize(payload.len() + FRAME_OVERHEAD, 0);
            }
        }
        let good = link.say(&out);
        self.out = out;
        if !good {
            self.gone(index);
        }
    }

    /// Says this so many times, without asking for anything; gives the last number. All of it is one
    /// write, as it is for a client whose game speaks several times in one frame.
    pub(crate) fn say(&mut self, index: usize, payload: &[u8], times: u64) -> u64 {
        let link = &mut self.links[index];
        let mut out = std::mem::take(&mut self.out);
        out.clear();
        let mut frame = Vec::with_capacity(payload.len() + 24);
        for _ in 0..times {
            frame.clear();
            frame::put_word(&mut frame, link.ticket.next_up, payload);
            link.ticket.next_up += 1;
            frame::put_message(&mut out, &frame);
        }
        let (good, last) = (link.write(&out), link.ticket.next_up - 1);
        self.out = out;
        if !good {
            self.gone(index);
        }
        last
    }

    /// Waits for what comes first, until `until` at most, and deals with all that has come.
    pub(crate) fn turn(
        &mut self,
        events: &mut Events,
        until: u64,
        ear: &mut impl Ear,
    ) -> Result<()> {
        let due =
            [self.acks.front(), self.retries.front()].into_iter().flatten().map(|(at, _)| *at);
        let until = due.fold(until, u64::min);
        let wait = Duration::from_nanos(until.saturating_sub(now()));
        match self.poll.poll(events, Some(wait)) {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => {
                return Err(error.into());
            }
            _ => {}
        }
        for event in events.iter() {
            let index = event.token().0;
            if event.is_writable() && !self.links[index].flush() {
                self.gone(index);
            }
            if event.is_readable() || event.is_error() || event.is_read_closed() {
                self.read(index, ear);
            }
        }
        self.catch_up()
    }

    fn catch_up(&mut self) -> Result<()> {
        let time = now();
        while let Some((_, index)) = self.acks.pop_front_if(|(at, _)| *at <= time) {
            if self.links[index].unacked > 0 && self.links[index].stage == Stage::Live {
                self.ack(index);
            }
        }
        while let Some((_, index)) = self.retries.pop_front_if(|(at, _)| *at <= time) {
            self.connect(index)?;
        }
        Ok(())
    }

    fn ack(&mut self, index: usize) {
        let link = &mut self.links[index];
        link.unacked = 0;
        let mut out = Vec::with_capacity(24);
        frame::put_ack(&mut out, link.ticket.leg, link.ticket.seq);
        link.say(&out);
    }

    /// The connection ended without being asked to.
    fn gone(&mut self, index: usize) {
        let link = &mut self.links[index];
        match link.stage {
            Stage::Off => return,
            Stage::Live => {
                self.live -= 1;
                self.faults.lost += 1;
            }
            Stage::Upgrading | Stage::Greeting | Stage::Joining => {
                self.faults.retries += 1;
                self.retries.push_back((now() + RETRY, index));
            }
        }
        link.reset();
    }

    fn read(&mut self, index: usize, ear: &mut impl Ear) {
        let mut buffer = std::mem::take(&mut self.buffer);
        loop {
            let Some(count) = self.links[index].read(&mut buffer) else {
                self.gone(index);
                break;
            };
            let mut partial = std::mem::take(&mut self.links[index].partial);
            if partial.is_empty() {
                let used = self.digest(index, &buffer[..count], ear);
                partial.extend_from_slice(&buffer[used..count]);
            } else {
                partial.extend_from_slice(&buffer[..count]);
                let used = self.digest(index, &partial, ear);
                partial.drain(..used);
            }
            if !partial.is_empty() {
                self.links[index].partial = partial;
            }
            // Less than there was room for: the socket is empty, and tells when it is not.
            if count < buffer.len() || self.links[index].stage == Stage::Off {
                break;
            }
        }
        self.buffer = buffer;
    }

    /// Takes whole messages; gives the bytes that are used up.
    fn digest(&mut self, index: usize, bytes: &[u8], ear: &mut impl Ear) -> usize {
        let mut used = 0;
        let time = now();
        if self.links[index].stage == Stage::Upgrading {
            let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") else { return 0 };
            if !bytes.starts_with(b"HTTP/1.1 101") {
                self.gone(index);
                return bytes.len();
            }
            used = end + 4;
            self.links[index].stage = Stage::Greeting;
            if self.kind == Kind::Bare {
                self.arrived(index, time, ear);
            }
        }
        while let Some(message) = frame::message(&bytes[used..]) {
            used += message.length;
            match (message.kind, self.kind) {
                (2, Kind::Bare) => ear.heard(self, index, message.payload, time),
                (2, Kind::Ours | Kind::Soak) => self.frame(index, message.payload, time, ear),
                _ => self.gone(index),
            }
        }
        used
    }

    /// The server said no; what it said is kept for the first few.
    fn refused(&mut self, index: usize, text: String) {
        self.faults.refused += 1;
        if self.words.len() < WORDS_MAX {
            self.words.push(format!("while {:?}: {text}", self.links[index].stage));
        }
    }

    fn arrived(&mut self, index: usize, time: u64, ear: &mut impl Ear) {
        self.links[index].stage = Stage::Live;
        self.live += 1;
        ear.live(self, index, time);
    }

    fn frame(&mut self, index: usize, bytes: &[u8], time: u64, ear: &mut impl Ear) {
        match frame::heard(bytes) {
            Some(Heard::Down { seq, payload }) => {
                self.numbered(index, seq, time);
                ear.heard(self, index, payload, time);
            }
            Some(Heard::Applied(seq)) => ear.applied(self, index, seq),
            Some(Heard::Ping(nonce)) => {
                let mut out = Vec::with_capacity(16);
                frame::put_pong(&mut out, nonce);
                self.links[index].say(&out);
            }
            Some(Heard::Rare) | None => self.rare(index, bytes, time, ear),
        }
    }

    fn numbered(&mut self, index: usize, seq: u64, time: u64) {
        let link = &mut self.links[index];
        link.ticket.seq = seq;
        link.unacked += 1;
        match link.unacked {
            1 => self.acks.push_back((time + ACK_DELAY, index)),
            ACK_EVERY.. => self.ack(index),
            _ => {}
        }
    }

    /// The frames of a beginning, and those that end all.
    fn rare(&mut self, index: usize, bytes: &[u8], time: u64, ear: &mut impl Ear) {
        let bytes = bytes::Bytes::copy_from_slice(bytes);
        let frame = decode_server(Encoding::Protobuf, bytes, &Limits::DEFAULT).ok();
        match frame.and_then(|frame| frame.frame) {
            Some(v1::server_frame::Frame::Challenge(_)) => {
                let hello = self.links[index].hello(self.mints);
                self.links[index].say(&hello);
            }
            Some(v1::server_frame::Frame::Welcome(welcome)) => {
                self.welcomed(index, welcome, time, ear);
            }
            Some(v1::server_frame::Frame::Down(v1::Down {
                seq,
                body: Some(v1::down::Body::Joined(joined)),
            })) => {
                self.links[index].ticket.leg = joined.leg;
                self.numbered(index, seq, time);
                self.arrived(index, time, ear);
            }
            Some(v1::server_frame::Frame::Notice(_)) => {}
            other => {
                self.refused(index, format!("{other:?}"));
                self.gone(index);
            }
        }
    }

    fn welcomed(&mut self, index: usize, welcome: v1::Welcome, time: u64, ear: &mut impl Ear) {
        let link = &mut self.links[index];
        let is_replayed = welcome.rung() == v1::Rung::Replayed;
        let is_in_zone = welcome.zone.is_some();
        let reason = welcome.reason();
        link.ticket.session = welcome.session;
        link.ticket.epoch = welcome.epoch;
        link.ticket.token = welcome.token;
        link.ticket.leg = welcome.leg;
        if link.returns && !is_replayed {
            self.refused(index, format!("welcomed, but {:?}", reason));
        }
        let link = &mut self.links[index];
        match self.place {
            Place::Zones { kind, count } if !is_in_zone => {
                link.stage = Stage::Joining;
                let join = link.join(kind, (index % count).to_string());
                link.say(&join);
            }
            Place::Zones { .. } | Place::Lobby => self.arrived(index, time, ear),
        }
    }
}
