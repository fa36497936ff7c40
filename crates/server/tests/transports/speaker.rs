//! A client that speaks the protocol over any line, and the server it speaks to.

use std::time::Duration;

use bytes::Bytes;
use rejoin_core::budget::Rate;
use rejoin_core::event::Event;
use rejoin_core::hub::HubConfig;
use rejoin_core::id::SessionId;
use rejoin_core::zone::Durability;
use rejoin_server::{QueueLimits, Server, ServerBuilder, relay};
use rejoin_wire::v1::{
    Anonymous, ClientFrame, CloseCode, Farewell, Hello, Join, Login, Message, Up, client_frame,
    down, hello, login, server_frame, up,
};
use rejoin_wire::{DEFLATE, Encoding, Limits, decode_server, encode_client, unpack_server};
use tokio::sync::broadcast;

use crate::dial::{Door, Line, Transport};

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A server, and the way to it.
pub(crate) struct House<T: Transport> {
    pub(crate) server: Server,
    pub(crate) events: broadcast::Receiver<Event>,
    door: T::Door,
    encoding: Encoding,
}

/// A server with all defaults.
pub(crate) fn plain() -> ServerBuilder {
    let config = HubConfig { anonymous: true, ..HubConfig::default() };
    ServerBuilder::new().config(config).zone(relay::KIND, relay::config(), relay::Relay::default)
}

/// A server on which only a connection's own queue is in the way of a flood.
pub(crate) fn wide() -> ServerBuilder {
    let config = HubConfig {
        anonymous: true,
        messages: Rate { per_second: 100_000, burst: 100_000 },
        bytes: Rate { per_second: 1 << 30, burst: 1 << 30 },
        window_frames: 1 << 16,
        window_bytes: 128 << 20,
        ..HubConfig::default()
    };
    let mut zone = relay::config();
    // Where every cut is acknowledged, a sender that does not read meanwhile is a deaf one, too.
    zone.durability = Durability::Memory;
    // They acknowledge nothing, and a flood may take its time.
    zone.progress = Duration::from_secs(600);
    (zone.ring_bytes_max, zone.window_bytes) = (128 << 20, 128 << 20);
    (zone.ring_frames_max, zone.window_frames) = (1 << 16, 1 << 16);
    ServerBuilder::new()
        .config(config)
        .queue_limits(QueueLimits { frames_max: 64, bytes_max: 1 << 20 })
        .zone(relay::KIND, zone, relay::Relay::default)
}

impl<T: Transport> House<T> {
    pub(crate) async fn start(transport: T, encoding: Encoding, builder: ServerBuilder) -> Self {
        let server = builder.start().expect("the server starts");
        let door = transport.open(&server).await;
        let events = server.events();
        let house = Self { server, events, door, encoding };
        house.until("the server is ready", async |server| server.is_ready()).await;
        house
    }

    pub(crate) async fn dial(&self) -> Speaker<T::Line> {
        let line = self.door.dial(self.encoding).await;
        Speaker::on(line, self.encoding, 0)
    }

    /// A client that has been challenged.
    pub(crate) async fn stranger(&self) -> Speaker<T::Line> {
        let mut speaker = self.dial().await;
        let challenge = speaker.hear().await.expect("a challenge");
        assert!(matches!(challenge, server_frame::Frame::Challenge(_)), "{challenge:?}");
        speaker
    }

    /// A client that has logged in.
    pub(crate) async fn guest(&self) -> Speaker<T::Line> {
        let speaker = self.stranger().await;
        let hello = speaker.hello();
        speaker.logged_in(hello).await
    }

    /// The same, and it has asked for compressed frames.
    pub(crate) async fn asking_guest(&self) -> Speaker<T::Line> {
        let speaker = self.stranger().await;
        let mut hello = speaker.hello();
        if let client_frame::Frame::Hello(hello) = &mut hello {
            hello.capabilities = vec!["voice".to_owned(), DEFLATE.to_owned()];
        }
        speaker.logged_in(hello).await
    }

    /// A client in the relay zone of this name.
    pub(crate) async fn member(&self, zone: &str) -> Speaker<T::Line> {
        let mut speaker = self.guest().await;
        speaker.enter(zone).await;
        speaker
    }

    /// Waits until something holds.
    pub(crate) async fn until(&self, what: &str, mut holds: impl AsyncFnMut(&Server) -> bool) {
        let end = tokio::time::Instant::now() + PATIENCE;
        while !holds(&self.server).await {
            assert!(tokio::time::Instant::now() < end, "never: {what}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// With which cause a session was dropped.
    pub(crate) async fn dropped(&mut self, of: SessionId) -> CloseCode {
        let found = async {
            loop {
                match self.events.recv().await {
                    Ok(Event::PlayerDropped { session, code }) if session == of => return code,
                    Ok(_) | Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        };
        tokio::time::timeout(PATIENCE, found).await.expect("it is dropped in time")
    }
}

impl<L> Speaker<L> {
    /// Somebody at the end of a line that was dialled by hand, whose next number follows this one.
    pub(crate) fn on(line: L, encoding: Encoding, number: u64) -> Self {
        Self {
            line,
            encoding,
            number,
            session: SessionId(0),
            is_compressed: false,
            last_bytes: Bytes::new(),
        }
    }
}

pub(crate) struct Speaker<L> {
    pub(crate) line: L,
    pub(crate) session: SessionId,
    /// The server has agreed to compressed frames.
    pub(crate) is_compressed: bool,
    /// What came last, as it came.
    pub(crate) last_bytes: Bytes,
    encoding: Encoding,
    number: u64,
}

impl<L: Line> Speaker<L> {
    async fn logged_in(mut self, hello: client_frame::Frame) -> Self {
        self.say(hello).await;
        let server_frame::Frame::Welcome(welcome) = self.hear().await.expect("a welcome") else {
            panic!("no welcome");
        };
        self.session = SessionId(welcome.session);
        self.is_compressed = welcome.capabilities == [DEFLATE];
        assert!(self.is_compressed || welcome.capabilities.is_empty(), "nothing else is taken");
        self
    }

    /// Joins the relay zone of this name.
    pub(crate) async fn enter(&mut self, zone: &str) {
        self.join(zone).await;
        let joined = self.hear_down().await;
        assert!(matches!(joined, down::Body::Joined(_)), "{joined:?}");
    }

    pub(crate) fn hello(&self) -> client_frame::Frame {
        let identity = Some(login::Identity::Anonymous(Anonymous {}));
        client_frame::Frame::Hello(Hello {
            version: rejoin_wire::VERSION,
            server_name: "localhost".to_owned(),
            purpose: Some(hello::Purpose::Login(Login { fresh: false, identity })),
            ..Hello::default()
        })
    }

    pub(crate) fn encoded(&self, frame: client_frame::Frame) -> Bytes {
        let frame = ClientFrame { frame: Some(frame) };
        encode_client(self.encoding, &frame).expect("it can be written")
    }

    pub(crate) async fn say(&mut self, frame: client_frame::Frame) {
        let message = self.encoded(frame);
        self.say_bytes(message).await;
    }

    pub(crate) async fn say_bytes(&mut self, message: Bytes) -> bool {
        let sent = tokio::time::timeout(PATIENCE, self.line.send(message)).await;
        sent.expect("the server takes it in time")
    }

    pub(crate) fn next_up(&mut self, body: up::Body) -> client_frame::Frame {
        self.number += 1;
        client_frame::Frame::Up(Up { seq: self.number, body: Some(body) })
    }

    pub(crate) async fn join(&mut self, zone: &str) {
        let (kind, name) = (relay::KIND.to_owned(), zone.to_owned());
        let join = up::Body::Join(Join { kind, name, create: true, ..Join::default() });
        let up = self.next_up(join);
        self.say(up).await;
    }

    /// Says something in its zone; its number.
    pub(crate) async fn tell(&mut self, payload: impl Into<Bytes>, wants_reply: bool) -> u64 {
        let message = Message { payload: payload.into(), wants_reply, ..Message::default() };
        let up = self.next_up(up::Body::Message(message));
        self.say(up).await;
        self.number
    }

    /// Asks its zone something and hears the answer.
    pub(crate) async fn assert_plays(&mut self) {
        let number = self.tell("are you there?", true).await;
        let answer = self.hear_down().await;
        let down::Body::Reply(reply) = answer else { panic!("{answer:?}") };
        assert_eq!((reply.to, &reply.payload[..]), (number, &b"are you there?"[..]));
    }

    /// Asks its zone something and lets pass what others say before the answer.
    pub(crate) async fn assert_plays_until_quiet(&mut self) {
        let number = self.tell("still there?", true).await;
        loop {
            match self.hear_down().await {
                down::Body::Reply(reply) => return assert_eq!(reply.to, number),
                down::Body::Message(_) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// The next frame that is no acknowledgement, ping or notice, or how the connection ended.
    pub(crate) async fn hear(&mut self) -> Result<server_frame::Frame, Option<CloseCode>> {
        loop {
            let heard = tokio::time::timeout(PATIENCE, self.line.recv()).await;
            self.last_bytes = heard.expect("the server says something in time")?;
            let mut bytes = self.last_bytes.clone();
            if self.is_compressed {
                bytes = unpack_server(bytes, &Limits::DEFAULT).expect("a frame or a packed one");
            }
            let frame = decode_server(self.encoding, bytes, &Limits::DEFAULT);
            match frame.expect("one message is one frame").frame.expect("not empty") {
                server_frame::Frame::Applied(_)
                | server_frame::Frame::Ping(_)
                | server_frame::Frame::Notice(_) => {}
                frame => return Ok(frame),
            }
        }
    }

    pub(crate) async fn hear_down(&mut self) -> down::Body {
        match self.hear().await {
            Ok(server_frame::Frame::Down(down)) => down.body.expect("not empty"),
            other => panic!("{other:?}"),
        }
    }

    /// Hears the farewell and then the code of the close, which must be the same.
    pub(crate) async fn farewell(&mut self) -> Farewell {
        loop {
            match self.hear().await {
                Ok(server_frame::Frame::Farewell(farewell)) => {
                    let code = self.hear().await.expect_err("nothing follows a farewell");
                    assert_eq!(code, Some(farewell.code()));
                    return farewell;
                }
                Ok(_) => {}
                Err(code) => panic!("closed without a farewell: {code:?}"),
            }
        }
    }
}
