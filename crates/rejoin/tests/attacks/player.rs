//! Somebody who types frames as JSON, honest or not.

use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::{Error, Message};

use crate::house::{House, PATIENCE};

/// Where honest players are.
pub(crate) const HONEST: [u8; 4] = [127, 0, 0, 1];

pub(crate) struct Player {
    pub(crate) socket: WebSocketStream<TcpStream>,
    pub(crate) challenge: Value,
    pub(crate) welcome: Value,
    number: u64,
    leg: String,
    /// Frames since the last acknowledgement.
    unacked: u32,
}

/// Why somebody was not let in.
#[derive(Debug, PartialEq)]
pub(crate) enum NotLetIn {
    /// By this status.
    Status(u16),
    /// The connection was closed without an answer.
    Closed,
}

impl House {
    pub(crate) async fn dial_from(&self, host: [u8; 4]) -> Result<Player, NotLetIn> {
        let socket = self.socket_from(host).await.map_err(|_| NotLetIn::Closed)?;
        let url = format!("ws://{}/play", self.web);
        let (socket, _) = match tokio_tungstenite::client_async(url, socket).await {
            Ok(open) => open,
            Err(Error::Http(response)) => {
                return Err(NotLetIn::Status(response.status().as_u16()));
            }
            Err(_) => return Err(NotLetIn::Closed),
        };
        let mut player = Player {
            socket,
            challenge: Value::Null,
            welcome: Value::Null,
            number: 0,
            leg: String::new(),
            unacked: 0,
        };
        player.challenge = player.hear("challenge").await;
        Ok(player)
    }

    /// An honest player in a zone.
    pub(crate) async fn member(&self, zone: &str) -> Player {
        self.member_from(HONEST, zone).await
    }

    pub(crate) async fn member_from(&self, host: [u8; 4], zone: &str) -> Player {
        let mut player = self.dial_from(host).await.expect("let in");
        player.log_in().await;
        player.join(zone).await;
        player
    }
}

pub(crate) fn hello(purpose: &Value) -> Value {
    let mut hello = json!({"version": 1, "serverName": "localhost"});
    for (key, value) in purpose.as_object().expect("one purpose") {
        hello[key] = value.clone();
    }
    json!({"hello": hello})
}

impl Player {
    pub(crate) async fn log_in(&mut self) {
        self.say(hello(&json!({"login": {"anonymous": {}}}))).await;
        self.welcome = self.hear("welcome").await;
        self.leg = self.welcome["leg"].as_str().unwrap_or_default().to_owned();
    }

    pub(crate) async fn join(&mut self, zone: &str) {
        self.up(json!({"join": {"kind": "relay", "name": zone, "create": true}})).await;
        self.hear("down").await;
    }

    /// What resumes the session that this one spoke for.
    pub(crate) fn resume(&self) -> Value {
        json!({"resume": {
            "session": self.welcome["session"], "token": self.welcome["token"],
            "epoch": self.welcome["epoch"], "cold": true, "oldestUnacked": "1",
        }})
    }

    /// What a hello is answered with: `welcome`, or the code of a refusal or farewell.
    pub(crate) async fn try_hello(&mut self, purpose: &Value) -> String {
        self.say(hello(purpose)).await;
        loop {
            let frame = self.next().await.expect("an answer");
            if let Some(welcome) = frame.get("welcome") {
                self.welcome = welcome.clone();
                self.leg = welcome["leg"].as_str().unwrap_or_default().to_owned();
                self.number =
                    welcome["applied"].as_str().map_or(0, |n| n.parse().expect("a number"));
                return "welcome".to_owned();
            }
            if let Some(refusal) = frame.get("refusal").or(frame.get("farewell")) {
                let code = refusal["code"].as_str().expect("a code");
                return code.trim_start_matches("CLOSE_CODE_").to_owned();
            }
        }
    }

    pub(crate) async fn say(&mut self, frame: Value) {
        let _ = self.try_say(frame.to_string()).await;
    }

    /// False: the connection is over.
    pub(crate) async fn try_say(&mut self, text: String) -> bool {
        let sent = timeout(PATIENCE, self.socket.send(Message::text(text))).await;
        sent.expect("it is taken in time").is_ok()
    }

    pub(crate) async fn up(&mut self, body: Value) {
        self.number += 1;
        let mut up = body;
        up["seq"] = self.number.to_string().into();
        self.say(json!({"up": up})).await;
    }

    /// A message to the zone, as it is written.
    pub(crate) fn next_message(&mut self, payload: &str) -> String {
        self.number += 1;
        format!(r#"{{"up":{{"seq":"{}","message":{{"payload":"{payload}"}}}}}}"#, self.number)
    }

    /// Asks the zone something; how long the answer took. Where the zone has no room to tell others,
    /// to be told so is an answer, too.
    pub(crate) async fn ask(&mut self) -> Duration {
        let since = Instant::now();
        self.up(json!({"message": {"payload": "aGk=", "wantsReply": true}})).await;
        let number = self.number.to_string();
        loop {
            let down = self.hear("down").await;
            if [&down["reply"], &down["refused"]].iter().any(|answer| answer["to"] == number) {
                break;
            }
        }
        since.elapsed()
    }

    /// The next frame of this kind.
    pub(crate) async fn hear(&mut self, kind: &str) -> Value {
        loop {
            let frame = self.next().await.unwrap_or_else(|code| panic!("closed: {code:?}"));
            if let Some(found) = frame.get(kind) {
                return found.clone();
            }
        }
    }

    /// The next frame, or the code with which the connection was closed.
    pub(crate) async fn next(&mut self) -> Result<Value, Option<u16>> {
        loop {
            let message = timeout(PATIENCE, self.socket.next()).await;
            match message.expect("the server says something in time") {
                Some(Ok(Message::Text(text))) => {
                    let frame = serde_json::from_str(&text).expect("JSON");
                    self.acknowledge(&frame).await;
                    return Ok(frame);
                }
                Some(Ok(Message::Close(frame))) => {
                    return Err(frame.map(|frame| frame.code.into()));
                }
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return Err(None),
            }
        }
    }

    /// As a client must that wants to hear more.
    async fn acknowledge(&mut self, frame: &Value) {
        if let Some(resync) = frame.get("resync") {
            self.leg = resync["leg"].as_str().unwrap_or_default().to_owned();
            self.say(json!({"ack": {"leg": self.leg, "seq": resync["seq"]}})).await;
        }
        let Some(down) = frame.get("down") else { return };
        if let Some(leg) = down["joined"]["leg"].as_str() {
            self.leg = leg.to_owned();
        }
        self.unacked += 1;
        if self.unacked >= 4 && !self.leg.is_empty() {
            self.unacked = 0;
            self.say(json!({"ack": {"leg": self.leg, "seq": down["seq"]}})).await;
        }
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

/// The slowest but one in a hundred.
pub(crate) fn p99(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[(times.len() - 1) * 99 / 100]
}
