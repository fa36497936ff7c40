//! Somebody who keeps no rule: legal frames in illegal order, illegal ones at any time, stolen and
//! invented credentials. Whatever it does, only its own connection may notice.

use bytes::Bytes;
use rejoin_testkit::parts::rng::Rng;
use rejoin_testkit::parts::stamp::Stamp;
use rejoin_wire::v1::{
    Anonymous, Answer, Bye, ClientFrame, Hello, Join, KeyProof, Login, Loose, Message, MintSecret,
    Part, Ping, Pong, Position, Resume, Up, Welcome, client_frame, hello, login, up,
};
use rejoin_wire::{Encoding, encode_client};

/// A hostile connection.
#[derive(Debug, Default)]
pub struct Hostile {
    /// Its present connection.
    pub link: Option<u64>,
    /// The number it would use next, were it honest.
    next: u64,
    /// It has been let in.
    welcomed: bool,
    /// The leg it was told.
    leg: u64,
    /// A session of its own, and what opens it.
    own: Option<(u64, [u8; 32])>,
    /// Passwords of accounts that are wrong or were replaced, as they are sent along.
    pub words: Vec<String>,
    /// It asked to join, and sends more than anybody may before it is answered.
    flood: u64,
}

impl Hostile {
    /// A new connection begins.
    pub fn begin(&mut self, link: u64) {
        *self = Self { link: Some(link), next: 1, own: self.own, ..Self::default() };
    }

    /// It was let in.
    pub fn welcomed(&mut self, welcome: &Welcome) {
        self.welcomed = true;
        self.leg = welcome.leg;
        self.next = welcome.applied.saturating_add(1);
        self.own = welcome.token[..].try_into().ok().map(|token| (welcome.session, token));
    }

    /// How many frames it sends at once.
    pub fn appetite(&mut self, rng: &mut Rng) -> u64 {
        if self.welcomed && rng.per_mille(30) {
            self.flood = 120;
            return self.flood;
        }
        rng.range(1, 6)
    }

    /// The next thing it sends. `stolen` are retired tokens of honest players.
    pub fn next_bytes(&mut self, rng: &mut Rng, stolen: &[(u64, [u8; 32])]) -> Bytes {
        if self.flood > 0 {
            return self.flood_frame();
        }
        if rng.per_mille(150) {
            let noise = (0..rng.below(64)).map(|_| rng.draw() as u8).collect::<Vec<u8>>();
            return Bytes::from(noise);
        }
        let frame = if !self.welcomed && rng.per_mille(700) {
            client_frame::Frame::Hello(self.hello(rng, stolen))
        } else {
            self.any_frame(rng, stolen)
        };
        let frame = ClientFrame { frame: Some(frame) };
        encode_client(Encoding::Protobuf, &frame).unwrap_or_default()
    }

    /// A join, and then as much as goes into the time before it is answered.
    fn flood_frame(&mut self) -> Bytes {
        let body = match self.flood {
            120 => up::Body::Join(Join {
                kind: "whole".to_owned(),
                name: "z0".to_owned(),
                create: true,
                ..Join::default()
            }),
            _ => up::Body::Message(Message::default()),
        };
        self.flood -= 1;
        let up = Up { seq: self.next, body: Some(body) };
        self.next += 1;
        let frame = ClientFrame { frame: Some(client_frame::Frame::Up(up)) };
        encode_client(Encoding::Protobuf, &frame).unwrap_or_default()
    }

    fn hello(&mut self, rng: &mut Rng, stolen: &[(u64, [u8; 32])]) -> Hello {
        let key = || KeyProof {
            public_key: Bytes::copy_from_slice(&Stamp::public(&[9; 32])),
            signature: Bytes::from(vec![7; 64]),
        };
        let login = |identity| {
            Some(hello::Purpose::Login(Login { identity: Some(identity), fresh: false }))
        };
        let own = self.own.filter(|_| rng.per_mille(300));
        let purpose = match if own.is_some() { 5 } else { rng.below(6) } {
            0 => login(login::Identity::Key(key())),
            1 => login(login::Identity::Mint(MintSecret {})),
            2 | 3 => login(login::Identity::Anonymous(Anonymous {})),
            4 => login(login::Identity::Secret(Bytes::from(vec![3; 32]))),
            _ => {
                let invented = (rng.range(1, 40), [5; 32]);
                let (session, token) = match (own, stolen.is_empty() || rng.per_mille(300)) {
                    (Some(own), _) => own,
                    (None, true) => invented,
                    (None, false) => *rng.pick(stolen),
                };
                Some(hello::Purpose::Resume(Resume {
                    session,
                    token: Bytes::copy_from_slice(&token),
                    key: rng.per_mille(200).then(key),
                    epoch: 0,
                    cold: rng.per_mille(500),
                    position: Some(Position { leg: rng.draw(), seq: rng.draw() }),
                    oldest_unacked: rng.draw(),
                }))
            }
        };
        Hello {
            version: if rng.per_mille(60) { 2 } else { 1 },
            server_name: if rng.per_mille(60) { "elsewhere" } else { "sim" }.to_owned(),
            purpose,
            capabilities: Vec::new(),
            admission: match self.words.is_empty() || rng.per_mille(400) {
                true => Bytes::new(),
                false => Bytes::from(rng.pick(&self.words).clone()),
            },
        }
    }

    fn any_frame(&mut self, rng: &mut Rng, stolen: &[(u64, [u8; 32])]) -> client_frame::Frame {
        match rng.below(12) {
            0 => client_frame::Frame::Hello(self.hello(rng, stolen)),
            1 => client_frame::Frame::Ack(Position { leg: rng.draw(), seq: rng.draw() }),
            2 => client_frame::Frame::Ack(Position { leg: self.leg, seq: rng.below(1_000) }),
            3 => client_frame::Frame::Ping(Ping { nonce: rng.draw() }),
            4 => client_frame::Frame::Pong(Pong { nonce: rng.draw() }),
            5 => client_frame::Frame::Loose(Loose { leg: rng.draw(), payload: Bytes::new() }),
            _ => client_frame::Frame::Up(self.up(rng)),
        }
    }

    fn up(&mut self, rng: &mut Rng) -> Up {
        let seq = match rng.below(8) {
            0 => rng.draw(),
            1 => self.next.saturating_sub(1).max(1),
            _ => self.next,
        };
        self.next = self.next.max(seq.saturating_add(1).min(self.next + 1));
        let body = match rng.below(7) {
            0 => up::Body::Join(Join {
                kind: (*rng.pick(&["cells", "whole", "hard", "no-such"])).to_owned(),
                name: "z0".to_owned(),
                create: rng.per_mille(500),
                ..Join::default()
            }),
            1 => up::Body::Part(Part {}),
            2 => up::Body::Answer(Answer { call: rng.draw(), payload: Bytes::new() }),
            3 if rng.per_mille(200) => up::Body::Bye(Bye {}),
            _ => up::Body::Message(Message {
                payload: Bytes::from(vec![0; rng.below(60) as usize]),
                wants_reply: rng.per_mille(300),
                ..Message::default()
            }),
        };
        Up { seq, body: Some(body) }
    }
}
