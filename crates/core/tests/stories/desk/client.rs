//! A scripted client: it keeps what a real one keeps (key, session, token, position, numbers),
//! records what it hears, and acknowledges it unless a story tells it not to.

use ed25519_dalek::{Signer, SigningKey};
use rejoin_core::id::{ConnectionId, PlayerId, SessionId};
use rejoin_core::wire::proof::{Proof, Purpose, signed_text};
use rejoin_core::wire::v1::{
    Anonymous, ClientFrame, CloseCode, Hello, KeyProof, Login, Message, PartCause, Position,
    RefusalCode, Resume, Rung, RungReason, ServerFrame, Up, Welcome, client_frame, down, hello,
    login, server_frame, up,
};
use rejoin_core::wire::{Bytes, VERSION};

pub const SERVER: &str = "localhost";

/// One connection as its client sees it.
pub struct Line {
    pub id: ConnectionId,
    pub nonce: Bytes,
    pub frames: Vec<ServerFrame>,
    pub closed: Option<CloseCode>,
}

/// A client.
pub struct Client {
    pub key: SigningKey,
    pub lines: Vec<Line>,
    pub session: u64,
    pub epoch: u64,
    pub token: Bytes,
    pub secret: Bytes,
    pub leg: u64,
    pub seq: u64,
    /// The last number it used.
    pub number: u64,
    /// The highest number it was told is applied.
    pub applied: u64,
    /// It acknowledges and answers pings by itself.
    pub is_obliging: bool,
    heard: Vec<String>,
}

impl Client {
    pub fn new(name: &str) -> Self {
        let mut seed = [0; 32];
        seed[..name.len()].copy_from_slice(name.as_bytes());
        Self {
            key: SigningKey::from_bytes(&seed),
            lines: Vec::new(),
            session: 0,
            epoch: 0,
            token: Bytes::new(),
            secret: Bytes::new(),
            leg: 0,
            seq: 0,
            number: 0,
            applied: 0,
            is_obliging: true,
            heard: Vec::new(),
        }
    }

    pub fn id(&self) -> SessionId {
        SessionId(self.session)
    }

    pub fn player(&self) -> PlayerId {
        PlayerId::of_key(self.key.verifying_key().as_bytes())
    }

    pub fn line(&self) -> &Line {
        self.lines.last().expect("the client has connected")
    }

    pub fn connection(&self) -> ConnectionId {
        self.line().id
    }

    /// What it heard since it was last asked, in short words.
    pub fn take(&mut self) -> Vec<String> {
        std::mem::take(&mut self.heard)
    }

    /// A proof over what this hello says, for this challenge.
    pub fn proof(&self, hello: &Hello, nonce: &[u8]) -> KeyProof {
        let (purpose, session, epoch, fresh, cold) = match hello.purpose.as_ref() {
            Some(hello::Purpose::Resume(resume)) => {
                (Purpose::Resume, resume.session, resume.epoch, false, resume.cold)
            }
            Some(hello::Purpose::Login(login)) => (Purpose::Login, 0, 0, login.fresh, false),
            None => (Purpose::Login, 0, 0, false, false),
        };
        self.sign(&Proof {
            purpose,
            version: hello.version,
            server_name: &hello.server_name,
            nonce,
            session,
            epoch,
            fresh,
            cold,
            capabilities: &hello.capabilities,
            admission: &hello.admission,
            channel_binding: &[],
        })
    }

    pub fn sign(&self, proof: &Proof<'_>) -> KeyProof {
        let signature = self.key.sign(&signed_text(proof));
        KeyProof {
            public_key: Bytes::copy_from_slice(self.key.verifying_key().as_bytes()),
            signature: Bytes::copy_from_slice(&signature.to_bytes()),
        }
    }

    /// A login by key, signed for this challenge.
    pub fn login(&self, fresh: bool, nonce: &[u8]) -> Hello {
        let login = Login { identity: None, fresh };
        self.signed(hello_for(hello::Purpose::Login(login)), nonce)
    }

    /// A resume with what it holds.
    pub fn resume(&self, cold: bool, nonce: &[u8]) -> Hello {
        let resume = Resume {
            session: self.session,
            token: self.token.clone(),
            key: None,
            epoch: self.epoch,
            cold,
            position: Some(Position { leg: self.leg, seq: self.seq }),
            oldest_unacked: self.applied + 1,
        };
        self.signed(hello_for(hello::Purpose::Resume(resume)), nonce)
    }

    pub fn signed(&self, mut hello: Hello, nonce: &[u8]) -> Hello {
        let proof = self.proof(&hello, nonce);
        match hello.purpose.as_mut() {
            Some(hello::Purpose::Login(login)) => {
                login.identity = Some(login::Identity::Key(proof))
            }
            Some(hello::Purpose::Resume(resume)) => resume.key = Some(proof),
            None => {}
        }
        hello
    }

    pub fn next_up(&mut self, body: up::Body) -> ClientFrame {
        self.number += 1;
        up_frame(self.number, body)
    }

    /// Hears a frame on one of its lines; what it answers by itself is given back.
    pub fn hear(&mut self, connection: ConnectionId, frame: &ServerFrame) -> Vec<ClientFrame> {
        let Some(line) = self.lines.iter_mut().find(|line| line.id == connection) else {
            return Vec::new();
        };
        line.frames.push(frame.clone());
        let is_current = self.connection() == connection;
        if let Some(said) = spoken(frame) {
            let prefix = if is_current { "" } else { "(old) " };
            self.heard.push(format!("{prefix}{said}"));
        }
        if is_current { self.heed(frame) } else { Vec::new() }
    }

    fn heed(&mut self, frame: &ServerFrame) -> Vec<ClientFrame> {
        use server_frame::Frame;
        match frame.frame.as_ref() {
            Some(Frame::Challenge(challenge)) => {
                if let Some(line) = self.lines.last_mut() {
                    line.nonce = challenge.nonce.clone();
                }
            }
            Some(Frame::Welcome(welcome)) => self.welcomed(welcome),
            Some(Frame::Applied(applied)) => self.applied = applied.seq,
            Some(Frame::Resync(resync)) => {
                (self.leg, self.seq) = (resync.leg, resync.seq);
                return self.ack();
            }
            Some(Frame::Down(down)) => {
                self.seq = down.seq;
                match down.body.as_ref() {
                    Some(down::Body::Joined(joined)) => self.leg = joined.leg,
                    Some(down::Body::Refused(refused)) if refused.leg > 0 => {
                        self.leg = refused.leg;
                    }
                    Some(down::Body::Parted(parted)) => {
                        (self.leg, self.seq) = (parted.leg, 0);
                    }
                    _ => {}
                }
                return self.ack();
            }
            Some(Frame::Ping(ping)) if self.is_obliging => {
                let pong = rejoin_core::wire::v1::Pong { nonce: ping.nonce };
                return vec![client(client_frame::Frame::Pong(pong))];
            }
            _ => {}
        }
        Vec::new()
    }

    fn welcomed(&mut self, welcome: &Welcome) {
        if welcome.rung() == Rung::New || welcome.found {
            self.number = welcome.applied;
        }
        if welcome.rung() != Rung::Replayed {
            (self.leg, self.seq) = (welcome.leg, 0);
        }
        assert!(self.leg == welcome.leg, "a replayed stream goes on in the client's own leg");
        self.session = welcome.session;
        self.epoch = welcome.epoch;
        self.token = welcome.token.clone();
        self.applied = welcome.applied;
        if !welcome.secret.is_empty() {
            self.secret = welcome.secret.clone();
        }
    }

    fn ack(&self) -> Vec<ClientFrame> {
        if !self.is_obliging {
            return Vec::new();
        }
        let position = Position { leg: self.leg, seq: self.seq };
        vec![client(client_frame::Frame::Ack(position))]
    }
}

pub fn client(frame: client_frame::Frame) -> ClientFrame {
    ClientFrame { frame: Some(frame) }
}

pub fn up_frame(seq: u64, body: up::Body) -> ClientFrame {
    client(client_frame::Frame::Up(Up { seq, body: Some(body) }))
}

pub fn message(text: &str) -> up::Body {
    let payload = Bytes::copy_from_slice(text.as_bytes());
    up::Body::Message(Message { payload, wants_reply: true, ..Message::default() })
}

pub fn hello_for(purpose: hello::Purpose) -> Hello {
    Hello {
        version: VERSION,
        server_name: SERVER.to_owned(),
        purpose: Some(purpose),
        capabilities: Vec::new(),
        admission: Bytes::new(),
    }
}

pub fn anonymous() -> Hello {
    let identity = Some(login::Identity::Anonymous(Anonymous {}));
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

/// A frame in short words; none for what only keeps the connection going.
fn spoken(frame: &ServerFrame) -> Option<String> {
    use server_frame::Frame;
    let text = |bytes: &Bytes| String::from_utf8_lossy(bytes).into_owned();
    Some(match frame.frame.as_ref()? {
        Frame::Challenge(_) | Frame::Ping(_) | Frame::Pong(_) | Frame::Applied(_) => return None,
        Frame::Welcome(welcome) => {
            let found = if welcome.found { " found" } else { "" };
            format!("welcome {:?} {:?}{found}", welcome.rung(), welcome.reason())
        }
        Frame::Refusal(refusal) => format!("refusal {:?}", refusal.code()),
        Frame::Loose(loose) => format!("loose {}", text(&loose.payload)),
        Frame::Resync(resync) => {
            let reason = RungReason::try_from(resync.reason).unwrap_or_default();
            format!("resync {reason:?} [{}]", text(&resync.snapshot))
        }
        Frame::Notice(notice) => format!("notice {:?}", notice.code()),
        Frame::Farewell(farewell) => format!("farewell {:?}", farewell.code()),
        Frame::Packed(_) => "packed".to_owned(),
        Frame::Down(down) => match down.body.as_ref()? {
            down::Body::Message(said) if said.cleared => format!("cleared {}", said.key),
            down::Body::Message(said) if !said.key.is_empty() => {
                format!("{}={}", said.key, text(&said.payload))
            }
            down::Body::Message(said) => text(&said.payload),
            down::Body::Reply(reply) => format!("reply {}: {}", reply.to, text(&reply.payload)),
            down::Body::Refused(refused) => {
                let code = RefusalCode::try_from(refused.code).unwrap_or_default();
                format!("refused {} {code:?}", refused.to)
            }
            down::Body::Call(call) => format!("call {}: {}", call.call, text(&call.payload)),
            down::Body::Joined(joined) => {
                let zone = joined.zone.as_ref()?;
                format!("in {}/{}", zone.kind, zone.name)
            }
            down::Body::Parted(parted) => {
                let cause = PartCause::try_from(parted.cause).unwrap_or_default();
                format!("out {cause:?}")
            }
        },
    })
}
