//! A server on a free port, and a client that types JSON.

use std::net::SocketAddr;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rejoin_core::hub::HubConfig;
use rejoin_server::{Server, ServerBuilder, WebConfig, relay};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::tungstenite::http::Request;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Running {
    pub(crate) server: Server,
    pub(crate) at: SocketAddr,
}

pub(crate) fn builder() -> ServerBuilder {
    let config = HubConfig { anonymous: true, ..HubConfig::default() };
    ServerBuilder::new().config(config).zone(relay::KIND, relay::config(), relay::Relay::default)
}

pub(crate) async fn start() -> Running {
    start_with(builder(), WebConfig::default()).await
}

pub(crate) async fn start_with(builder: ServerBuilder, web: WebConfig) -> Running {
    let server = builder.start().expect("the server starts");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("it is bound");
    let listening = server.clone();
    tokio::spawn(async move { listening.listen(listener, web).await });
    let running = Running { server, at };
    running.ready().await;
    running
}

/// Waits until something holds.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = tokio::time::Instant::now() + PATIENCE;
    while !holds().await {
        assert!(tokio::time::Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

pub(crate) struct Client {
    pub(crate) socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub(crate) welcome: Value,
    /// The last numbered frame, as a position.
    pub(crate) seq: String,
    pub(crate) leg: String,
}

impl Running {
    pub(crate) fn request(&self) -> Request<()> {
        format!("ws://{}/play", self.at).into_client_request().expect("a good address")
    }

    pub(crate) async fn ready(&self) {
        until("the server is ready", async || self.server.is_ready()).await;
    }

    pub(crate) async fn dial(&self) -> Client {
        self.dial_with(self.request()).await
    }

    pub(crate) async fn dial_with(&self, request: Request<()>) -> Client {
        let (socket, _) = tokio_tungstenite::connect_async(request).await.expect("let in");
        Client { socket, welcome: Value::Null, seq: "0".into(), leg: "0".into() }
    }

    /// A client that has logged in.
    pub(crate) async fn anonymous(&self) -> Client {
        let mut client = self.dial().await;
        client.log_in().await;
        client
    }

    /// A client that is in the relay zone of this name.
    pub(crate) async fn member(&self, zone: &str) -> Client {
        self.member_of("relay", zone).await
    }

    /// A client that is in a zone.
    pub(crate) async fn member_of(&self, kind: &str, zone: &str) -> Client {
        let mut client = self.anonymous().await;
        client.up(1, json!({"join": {"kind": kind, "name": zone, "create": true}})).await;
        let joined = client.hear("down").await;
        client.leg = joined["joined"]["leg"].as_str().expect("a leg").to_owned();
        client
    }

    /// Resumes the session of a client that is gone, at its position.
    pub(crate) async fn resume(&self, gone: &Client) -> Client {
        let mut client = self.dial().await;
        client.hear("challenge").await;
        let resume = json!({"resume": {
            "session": gone.welcome["session"], "token": gone.welcome["token"],
            "epoch": gone.welcome["epoch"],
            "position": {"leg": gone.leg, "seq": gone.seq}, "oldestUnacked": "2",
        }});
        client.say(hello(resume)).await;
        client.welcome = client.hear("welcome").await;
        client.leg = client.welcome["leg"].as_str().unwrap_or("0").to_owned();
        client
    }
}

pub(crate) fn hello(purpose: Value) -> Value {
    let mut hello = json!({"version": 1, "serverName": "127.0.0.1"});
    for (key, value) in purpose.as_object().expect("one purpose") {
        hello[key] = value.clone();
    }
    json!({"hello": hello})
}

impl Client {
    pub(crate) async fn log_in(&mut self) {
        self.hear("challenge").await;
        self.say(hello(json!({"login": {"anonymous": {}}}))).await;
        self.welcome = self.hear("welcome").await;
        self.leg = self.welcome["leg"].as_str().unwrap_or("0").to_owned();
    }

    pub(crate) async fn say(&mut self, frame: Value) {
        self.say_text(&frame.to_string()).await;
    }

    pub(crate) async fn say_text(&mut self, text: &str) {
        self.socket.send(Message::text(text)).await.expect("the connection is open");
    }

    pub(crate) async fn up(&mut self, seq: u64, body: Value) {
        let mut up = body;
        up["seq"] = seq.to_string().into();
        self.say(json!({"up": up})).await;
    }

    /// The next frame of this kind; acknowledgements and pings in between are not waited for.
    pub(crate) async fn hear(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await.unwrap_or_else(|code| panic!("closed: {code:?}"));
            if let Some(found) = frame.get(kind) {
                if let Some(seq) = found.get("seq").and_then(Value::as_str) {
                    self.seq = seq.to_owned();
                }
                return found.clone();
            }
            let other = frame.as_object().and_then(|frame| frame.keys().next().cloned());
            let other = other.unwrap_or_default();
            assert!(["applied", "ping", "notice"].contains(&&*other), "{frame} before {kind}");
        }
    }

    /// The next numbered frame that it has not had, as a client drops what it has.
    pub(crate) async fn hear_new(&mut self) -> Value {
        let had = self.seq.parse::<u64>().unwrap_or(0);
        loop {
            let down = self.hear("down").await;
            if self.seq.parse::<u64>().unwrap_or(0) > had {
                return down;
            }
        }
    }

    /// The next frame, or the code with which the connection was closed.
    pub(crate) async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.socket.next()).await;
            match message.expect("the server says something in time") {
                Some(Ok(Message::Text(text))) => {
                    return Ok(serde_json::from_str(&text).expect("JSON"));
                }
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map(|frame| frame.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// Asks its zone something.
    pub(crate) async fn ask(&mut self, seq: u64, payload: &str) -> Value {
        self.up(seq, json!({"message": {"payload": payload, "wantsReply": true}})).await;
        self.hear_new().await
    }

    /// Reads until the connection is closed; the code.
    pub(crate) async fn closed(&mut self) -> Option<u16> {
        loop {
            if let Err(code) = self.next().await {
                return code;
            }
        }
    }
}
