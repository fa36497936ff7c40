//! Lines typed by hand, and a relay before the server that loses connections and holds answers back.

use std::net::SocketAddr;
use std::sync::Arc;

use futures_util::{SinkExt as _, StreamExt as _};
use rejoin::host::Builder;
use rejoin::server::Role;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::bureau::{FLEET, PATIENCE, key_of};

/// A WebSocket on which every word is typed.
pub(crate) struct Typed(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Typed {
    /// Opens a line with a key. The status of an answer that is no line is the error.
    pub(crate) async fn open(at: SocketAddr, key: &str) -> Result<Self, u16> {
        let url = format!("ws://{at}/v1/hosts/line");
        let mut request = url.into_client_request().expect("a request");
        let key = format!("Bearer {key}").parse().expect("a header");
        request.headers_mut().insert("authorization", key);
        match timeout(PATIENCE, connect_async(request)).await.expect("in time") {
            Ok((socket, _)) => Ok(Self(socket)),
            Err(Error::Http(answer)) => Err(answer.status().as_u16()),
            Err(other) => panic!("{other}"),
        }
    }

    /// A line of a host that is ready with these Games.
    pub(crate) async fn ready(at: SocketAddr, name: &str, games: &[String]) -> Self {
        let mut line = Self::open(at, &key_of(Role::Host)).await.expect("a line");
        line.say(hello(name)).await;
        assert!(line.next().await.get("welcome").is_some());
        line.say(json!({"ready": {
            "port": 7777, "log_paths": [], "hooks_set": true, "games": games,
        }}))
        .await;
        line.until("readied").await;
        line
    }

    pub(crate) async fn say(&mut self, word: Value) {
        self.raw(Message::text(word.to_string())).await;
    }

    pub(crate) async fn raw(&mut self, message: Message) {
        // An error means that the other end has let go, which the test sees by what it hears.
        let _ = self.0.send(message).await;
    }

    /// The next message.
    pub(crate) async fn next(&mut self) -> Value {
        self.hear().await.expect("the line is there")
    }

    /// The next message; none when the line is over.
    pub(crate) async fn hear(&mut self) -> Option<Value> {
        loop {
            match timeout(PATIENCE, self.0.next()).await.expect("in time") {
                Some(Ok(Message::Text(text))) => {
                    return Some(serde_json::from_str(&text).expect("JSON"));
                }
                Some(Ok(Message::Close(_)) | Err(_)) | None => return None,
                Some(Ok(_)) => {}
            }
        }
    }

    /// Reads up to a message of this name, and gives what it says.
    pub(crate) async fn until(&mut self, name: &str) -> Value {
        let found = async {
            loop {
                let mut heard = self.next().await;
                if let Some(found) = heard.get_mut(name) {
                    return found.take();
                }
            }
        };
        timeout(PATIENCE, found).await.unwrap_or_else(|_| panic!("{name:?} was never heard"))
    }

    /// Why the server ended the line.
    pub(crate) async fn bye(&mut self) -> String {
        let bye = self.until("bye").await;
        assert!(self.hear().await.is_none(), "the line goes on");
        bye["code"].as_str().expect("a code").to_owned()
    }
}

/// A good hello.
pub(crate) fn hello(name: &str) -> Value {
    json!({"hello": {
        "version": 1, "fleet": FLEET, "name": name, "location": "here", "address": "203.0.113.7",
        "games_max": 4, "reusable": true, "process": "00000000000000ff",
    }})
}

/// How the relay stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Open,
    /// Nothing comes back from the server.
    Holding,
    Shut,
}

/// A way to the server that a test can cut.
pub(crate) struct Relay {
    at: SocketAddr,
    state: Arc<watch::Sender<State>>,
}

impl Relay {
    pub(crate) async fn to(server: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let state = Arc::new(watch::Sender::new(State::Open));
        let states = Arc::downgrade(&state);
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                let Some(states) = states.upgrade() else { return };
                let state = states.subscribe();
                if *state.borrow() == State::Shut {
                    continue;
                }
                let Ok(far) = TcpStream::connect(server).await else { continue };
                tokio::spawn(carry(near, far, state));
            }
        });
        Self { at, state }
    }

    /// The same host, with its line through here.
    pub(crate) fn builder(&self, builder: Builder) -> Builder {
        builder.endpoint(format!("http://{}", self.at))
    }

    /// Cuts what is there and lets nothing through.
    pub(crate) fn shut(&self) {
        self.state.send_replace(State::Shut);
    }

    pub(crate) fn open(&self) {
        self.state.send_replace(State::Open);
    }

    /// What the server says does not arrive until this is open again.
    pub(crate) fn hold_answers(&self) {
        self.state.send_replace(State::Holding);
    }
}

async fn carry(near: TcpStream, far: TcpStream, mut state: watch::Receiver<State>) {
    let (mut near_in, mut near_out) = near.into_split();
    let (mut far_in, mut far_out) = far.into_split();
    let mut holding = state.clone();
    let up = async { tokio::io::copy(&mut near_in, &mut far_out).await.map(drop) };
    let down = async {
        let mut bytes = vec![0; 4_096];
        loop {
            let count = far_in.read(&mut bytes).await?;
            let state = holding.wait_for(|state| *state != State::Holding).await;
            // What was held back when the way was cut is lost.
            if count == 0 || state.is_ok_and(|state| *state == State::Shut) {
                return Ok::<(), std::io::Error>(());
            }
            near_out.write_all(&bytes[..count]).await?;
        }
    };
    tokio::select! {
        _ = up => {}
        _ = down => {}
        _ = state.wait_for(|state| *state == State::Shut) => {}
    }
}
