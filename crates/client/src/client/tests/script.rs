//! The server's end, played by hand: a client, a clock, and everything that came out so far.

use std::time::Duration;

use rejoin_wire::v1::{
    Applied, Challenge, Down, Farewell, Hello, Message, Position, Refusal, Reply, ServerFrame, Up,
    Welcome, down, hello, server_frame,
};
use rejoin_wire::{Encoding, Limits, decode_client, encode_server};

use super::*;
use crate::{Identity, ResumeState};

pub(crate) const TOKEN: [u8; 32] = [9; 32];

pub(crate) struct Script {
    pub client: Client,
    pub now: Time,
    /// Frames that the client has sent.
    pub sent: Vec<client_frame::Frame>,
    pub events: Vec<Event>,
    /// The kinds of all outputs in order.
    pub order: Vec<&'static str>,
    pub dialled: Vec<Vec<String>>,
    pub closed: Vec<Option<CloseCode>>,
    pub stored: Option<ResumeState>,
    pub epoch: u64,
}

impl Script {
    pub(crate) fn new() -> Self {
        Self::with(Client::new(Config::new("play.example"), Identity::Anonymous, [1; 32]))
    }

    pub(crate) fn with(client: Client) -> Self {
        Self {
            client,
            now: Time::from_millis(1_000),
            sent: Vec::new(),
            events: Vec::new(),
            order: Vec::new(),
            dialled: Vec::new(),
            closed: Vec::new(),
            stored: None,
            epoch: 0,
        }
    }

    /// A client that was let in for the first time, session 7 on leg 1.
    pub(crate) fn connected() -> Self {
        let mut script = Self::new();
        script.open();
        script.welcome(first());
        script.clear();
        script
    }

    /// Runs one input and drains.
    pub(crate) fn act(&mut self, input: impl FnOnce(&mut Client, Time)) -> &mut Self {
        input(&mut self.client, self.now);
        while let Some(output) = self.client.next_output() {
            self.order.push(match output {
                Output::Connect { addresses } => {
                    self.dialled.push(addresses);
                    "connect"
                }
                Output::Send(bytes) => {
                    let frame = decode_client(Encoding::Protobuf, bytes, &Limits::DEFAULT).unwrap();
                    self.sent.push(frame.frame.unwrap());
                    "send"
                }
                Output::Close(code) => {
                    self.closed.push(code);
                    "close"
                }
                Output::StoreToken(state) => {
                    self.stored = Some(state);
                    "store_token"
                }
                Output::StoreSecret(_) => "store_secret",
                Output::ForgetToken => {
                    self.stored = None;
                    "forget_token"
                }
                Output::Event(event) => {
                    self.events.push(event);
                    "event"
                }
            });
        }
        self
    }

    pub(crate) fn clear(&mut self) {
        self.sent.clear();
        self.events.clear();
        self.order.clear();
        self.closed.clear();
    }

    pub(crate) fn pass(&mut self, ms: u64) -> &mut Self {
        self.now = self.now.after(Duration::from_millis(ms));
        self
    }

    /// Sleeps until the client wants to be woken, and wakes it; how long that was.
    pub(crate) fn wake(&mut self) -> Duration {
        let due = self.client.next_deadline().expect("nothing is due");
        let wait = due.since(self.now);
        self.now = self.now.max(due);
        self.act(Client::wake);
        wait
    }

    /// Connects, opens the transport and challenges; the hello is the last frame.
    pub(crate) fn open(&mut self) -> Hello {
        if self.client.status() == Status::Waiting {
            self.wake();
        } else {
            self.act(Client::retry);
        }
        self.act(Client::opened);
        let nonce = vec![5; 32].into();
        self.frame(server_frame::Frame::Challenge(Challenge {
            nonce,
            version_min: 1,
            version_max: 1,
            server_name: "another.example".into(),
        }));
        match self.sent.last() {
            Some(client_frame::Frame::Hello(hello)) => hello.clone(),
            other => panic!("no hello but {other:?}"),
        }
    }

    pub(crate) fn frame(&mut self, frame: server_frame::Frame) -> &mut Self {
        let frame = ServerFrame { frame: Some(frame) };
        let bytes = encode_server(Encoding::Protobuf, &frame).unwrap();
        self.act(|client, now| client.received(now, bytes))
    }

    pub(crate) fn welcome(&mut self, mut welcome: Welcome) -> &mut Self {
        self.epoch += 1;
        welcome.epoch = self.epoch;
        self.frame(server_frame::Frame::Welcome(welcome))
    }

    pub(crate) fn down(&mut self, seq: u64, body: down::Body) -> &mut Self {
        self.frame(server_frame::Frame::Down(Down { seq, body: Some(body) }))
    }

    pub(crate) fn say(&mut self, seq: u64, payload: &'static str) -> &mut Self {
        self.down(
            seq,
            down::Body::Message(Message { payload: payload.into(), ..Default::default() }),
        )
    }

    pub(crate) fn reply(&mut self, seq: u64, to: u64) -> &mut Self {
        self.down(seq, down::Body::Reply(Reply { to, payload: "yes".into() }))
    }

    pub(crate) fn applied(&mut self, seq: u64) -> &mut Self {
        self.frame(server_frame::Frame::Applied(Applied { seq }))
    }

    pub(crate) fn farewell(&mut self, code: CloseCode) -> &mut Self {
        self.frame(server_frame::Frame::Farewell(Farewell {
            code: code.into(),
            ..Default::default()
        }))
    }

    pub(crate) fn refuse(&mut self, code: CloseCode, retry_after_ms: u32) -> &mut Self {
        let refusal = Refusal { code: code.into(), retry_after_ms, ..Default::default() };
        self.frame(server_frame::Frame::Refusal(refusal))
    }

    /// The transport breaks.
    pub(crate) fn cut(&mut self) -> &mut Self {
        self.act(|client, now| client.closed(now, None))
    }

    /// Numbers of the Up frames that were sent.
    pub(crate) fn ups(&self) -> Vec<u64> {
        let number = |frame: &client_frame::Frame| match frame {
            client_frame::Frame::Up(Up { seq, .. }) => Some(*seq),
            _ => None,
        };
        self.sent.iter().filter_map(number).collect()
    }

    pub(crate) fn acks(&self) -> Vec<(u64, u64)> {
        let position = |frame: &client_frame::Frame| match frame {
            client_frame::Frame::Ack(Position { leg, seq }) => Some((*leg, *seq)),
            _ => None,
        };
        self.sent.iter().filter_map(position).collect()
    }

    pub(crate) fn has(&self, event: &Event) -> bool {
        self.events.contains(event)
    }
}

pub(crate) fn resume(hello: &Hello) -> &rejoin_wire::v1::Resume {
    match &hello.purpose {
        Some(hello::Purpose::Resume(resume)) => resume,
        other => panic!("no resume but {other:?}"),
    }
}

/// A first welcome: session 7, leg 1, hold 5 s, heartbeat 2 s.
pub(crate) fn first() -> Welcome {
    Welcome {
        session: 7,
        player: vec![3; 16].into(),
        rung: rejoin_wire::v1::Rung::New.into(),
        leg: 1,
        token: TOKEN.to_vec().into(),
        hold_ms: 5_000,
        heartbeat_ms: 2_000,
        window_frames: 4,
        window_bytes: 65_536,
        ..Default::default()
    }
}

pub(crate) fn replayed(leg: u64, applied: u64) -> Welcome {
    Welcome { rung: rejoin_wire::v1::Rung::Replayed.into(), leg, applied, ..first() }
}

pub(crate) fn resynced(leg: u64, applied: u64) -> Welcome {
    Welcome { rung: rejoin_wire::v1::Rung::Resynced.into(), leg, applied, ..first() }
}
