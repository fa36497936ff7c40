//! A player who types frames as JSON and keeps what a client keeps: token, position, numbers. It acknowledges
//! only what the test tells it to.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signer, SigningKey};
use futures_util::{SinkExt, StreamExt};
use rejoin::wire::proof::{Proof, Purpose, signed_text};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// What a client keeps of its session.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) session: u64,
    pub(crate) player: String,
    pub(crate) token: String,
    pub(crate) epoch: u64,
    pub(crate) leg: u64,
    pub(crate) seq: u64,
    /// The last number that was sent.
    pub(crate) number: u64,
    /// The seed of its key, for a guest that has one.
    pub(crate) key: Option<[u8; 32]>,
}

impl Kept {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "session": self.session, "player": self.player, "token": self.token,
            "epoch": self.epoch, "leg": self.leg, "seq": self.seq, "number": self.number,
            "key": self.key.map(|seed| STANDARD.encode(seed)),
        })
    }

    pub(crate) fn from_json(kept: &Value) -> Self {
        let number = |name: &str| kept[name].as_u64().expect("a number");
        let text = |name: &str| kept[name].as_str().expect("a text").to_owned();
        let key = kept["key"].as_str().map(|seed| STANDARD.decode(seed).expect("base64"));
        Self {
            session: number("session"),
            player: text("player"),
            token: text("token"),
            epoch: number("epoch"),
            leg: number("leg"),
            seq: number("seq"),
            number: number("number"),
            key: key.map(|seed| seed.try_into().expect("32 bytes")),
        }
    }
}

pub(crate) struct Peer {
    socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    nonce: Vec<u8>,
    pub(crate) kept: Kept,
    pub(crate) welcome: Value,
}

/// A number of 64 bits, which JSON has as a string; zero where it is left out.
pub(crate) fn number(value: &Value) -> u64 {
    value.as_str().map_or(0, |text| text.parse().expect("a number"))
}

impl Peer {
    async fn dial(address: &str, kept: Kept) -> Self {
        let url = format!("ws://{address}/play");
        let (socket, _) = timeout(PATIENCE, tokio_tungstenite::connect_async(url))
            .await
            .expect("in time")
            .expect("a connection");
        let mut peer = Self { socket, nonce: Vec::new(), kept, welcome: Value::Null };
        let challenge = peer.hear("challenge").await;
        peer.nonce =
            STANDARD.decode(challenge["nonce"].as_str().expect("a nonce")).expect("base64");
        peer
    }

    /// Logs in; the code of the refusal if it is not let in.
    pub(crate) async fn try_login(
        address: &str,
        login: Value,
        admission: &str,
    ) -> Result<Self, String> {
        let mut peer = Self::dial(address, Kept::default()).await;
        let hello = json!({
            "version": 1, "serverName": "localhost", "login": login,
            "admission": STANDARD.encode(admission),
        });
        peer.say(json!({"hello": hello})).await;
        peer.welcomed().await.map(|()| peer)
    }

    pub(crate) async fn login(address: &str) -> Self {
        Self::try_login(address, json!({"mint": {}}), "").await.expect("let in")
    }

    /// Logs in by a key.
    pub(crate) async fn login_by_key(address: &str, seed: [u8; 32]) -> Result<Self, String> {
        let mut peer = Self::dial(address, Kept { key: Some(seed), ..Kept::default() }).await;
        let key = peer.proof(Purpose::Login, false);
        let hello = json!({"version": 1, "serverName": "localhost", "login": {"key": key}});
        peer.say(json!({"hello": hello})).await;
        peer.welcomed().await.map(|()| peer)
    }

    /// Resumes with what was kept and the lowest number that is not known to be consumed.
    pub(crate) async fn try_resume(
        address: &str,
        kept: &Kept,
        oldest_unacked: u64,
    ) -> Result<Self, String> {
        let mut peer = Self::dial(address, kept.clone()).await;
        let mut resume = json!({
            "session": kept.session.to_string(), "token": kept.token,
            "epoch": kept.epoch.to_string(),
            "position": {"leg": kept.leg.to_string(), "seq": kept.seq.to_string()},
            "oldestUnacked": oldest_unacked.to_string(),
        });
        if kept.key.is_some() {
            resume["key"] = peer.proof(Purpose::Resume, false);
        }
        peer.say(json!({"hello": {"version": 1, "serverName": "localhost", "resume": resume}}))
            .await;
        peer.welcomed().await.map(|()| peer)
    }

    pub(crate) async fn resume(address: &str, kept: &Kept, oldest_unacked: u64) -> Self {
        Self::try_resume(address, kept, oldest_unacked).await.expect("let in")
    }

    fn proof(&self, purpose: Purpose, cold: bool) -> Value {
        let key = SigningKey::from_bytes(&self.kept.key.expect("a key"));
        let (session, epoch) = (self.kept.session, self.kept.epoch);
        let text = signed_text(&Proof {
            purpose,
            version: rejoin::wire::VERSION,
            server_name: "localhost",
            nonce: &self.nonce,
            session,
            epoch,
            fresh: false,
            cold,
            capabilities: &[],
            admission: &[],
            channel_binding: &[],
        });
        json!({
            "publicKey": STANDARD.encode(key.verifying_key().as_bytes()),
            "signature": STANDARD.encode(key.sign(&text).to_bytes()),
        })
    }

    async fn welcomed(&mut self) -> Result<(), String> {
        loop {
            let frame = self.next().await.ok_or("closed")?;
            if let Some(refusal) = frame.get("refusal").or(frame.get("farewell")) {
                return Err(refusal["code"].as_str().unwrap_or_default().to_owned());
            }
            let Some(welcome) = frame.get("welcome") else { continue };
            self.welcome = welcome.clone();
            self.kept.session = number(&welcome["session"]);
            self.kept.player = welcome["player"].as_str().expect("a player").to_owned();
            self.kept.token = welcome["token"].as_str().expect("a token").to_owned();
            self.kept.epoch = number(&welcome["epoch"]);
            if welcome["rung"] == "RUNG_NEW" {
                self.kept.leg = number(&welcome["leg"]);
            }
            return Ok(());
        }
    }

    /// The rung of its Welcome and the reason.
    pub(crate) fn rung(&self) -> (&str, &str) {
        let text = |name: &str| self.welcome[name].as_str().unwrap_or_default();
        (text("rung"), text("reason"))
    }

    pub(crate) async fn say(&mut self, frame: Value) {
        let sent = timeout(PATIENCE, self.socket.send(Message::text(frame.to_string()))).await;
        sent.expect("in time").expect("open");
    }

    /// Sends the next numbered frame and waits until it is consumed.
    pub(crate) async fn up(&mut self, mut body: Value) {
        self.kept.number += 1;
        body["seq"] = self.kept.number.to_string().into();
        self.say(json!({"up": body})).await;
        while number(&self.hear("applied").await["seq"]) < self.kept.number {}
    }

    /// Joins a relay room and goes on from there.
    pub(crate) async fn join(&mut self, mut join: Value) {
        self.kept.number += 1;
        join["kind"] = "relay".into();
        let seq = self.kept.number.to_string();
        self.say(json!({"up": {"seq": seq, "join": join}})).await;
        loop {
            let down = self.hear("down").await;
            assert!(down.get("refused").is_none(), "{down}");
            if let Some(joined) = down.get("joined") {
                self.kept.leg = number(&joined["leg"]);
                self.kept.seq = number(&down["seq"]);
                return;
            }
        }
    }

    /// Tells the room something.
    pub(crate) async fn talk(&mut self, words: &str) {
        self.up(json!({"message": {"payload": STANDARD.encode(words)}})).await;
    }

    /// The next message, and its number.
    pub(crate) async fn message(&mut self) -> (u64, String) {
        loop {
            let down = self.hear("down").await;
            if let Some(payload) = down["message"]["payload"].as_str() {
                let words = STANDARD.decode(payload).expect("base64");
                return (number(&down["seq"]), String::from_utf8(words).expect("text"));
            }
        }
    }

    /// Hears messages until this one, and moves its position there.
    pub(crate) async fn listen(&mut self, until: &str) -> Vec<String> {
        let mut heard = Vec::new();
        loop {
            let (seq, words) = self.message().await;
            self.kept.seq = seq;
            heard.push(words);
            if heard.last().is_some_and(|last| last == until) {
                return heard;
            }
        }
    }

    /// Acknowledges its position.
    pub(crate) async fn acknowledge(&mut self) {
        let (leg, seq) = (self.kept.leg.to_string(), self.kept.seq.to_string());
        self.say(json!({"ack": {"leg": leg, "seq": seq}})).await;
    }

    /// The next frame of this kind.
    pub(crate) async fn hear(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await.expect("it is open");
            if let Some(found) = frame.get(kind) {
                return found.clone();
            }
        }
    }

    /// The next frame; none when the connection is closed.
    pub(crate) async fn next(&mut self) -> Option<Value> {
        loop {
            match timeout(PATIENCE, self.socket.next()).await.expect("in time")? {
                Ok(Message::Text(text)) => {
                    let frame: Value = serde_json::from_str(&text).expect("JSON");
                    if let Some(ping) = frame.get("ping") {
                        self.say(json!({"pong": ping})).await;
                        continue;
                    }
                    return Some(frame);
                }
                Ok(Message::Close(_)) | Err(_) => return None,
                Ok(_) => {}
            }
        }
    }
}
