//! The program under crowds: too few handles for all who come, and thousands who connect and vanish.
//! Its own handles and memory are looked at from outside, as whoever runs it would.
#![cfg(all(feature = "server", target_os = "linux"))]

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rejoin_chaos::Process;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

const PATIENCE: Duration = Duration::from_secs(30);

/// The program, with so many handles at most.
struct Serving {
    child: Process,
    address: String,
}

impl Serving {
    fn start(handles: u32) -> Self {
        // The shell sets the limit and becomes the program.
        let script = format!("ulimit -n {handles} && exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.args(["-c", &script, env!("CARGO_BIN_EXE_rejoin"), "serve", "--dev", "--memory"]);
        command.args(["--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
        // The crowd comes from one address.
        command.args(["--guard", "open"]);
        command.current_dir(env!("CARGO_TARGET_TMPDIR"));
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::spawn(&mut command).expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let address = loop {
            let line = lines.next().expect("it says where").expect("text");
            if let Some(url) = line.split_whitespace().find(|word| word.starts_with("ws://")) {
                break url.to_owned();
            }
        };
        std::thread::spawn(move || lines.for_each(drop));
        Self { child, address }
    }

    fn socket_address(&self) -> String {
        let rest = self.address.trim_start_matches("ws://");
        rest.split('/').next().expect("an address").to_owned()
    }

    fn handles(&self) -> usize {
        let folder = format!("/proc/{}/fd", self.child.id());
        std::fs::read_dir(folder).expect("it runs").count()
    }

    fn resident_kib(&self) -> usize {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id()));
        let status = status.expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a figure");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse().ok()).expect("a number")
    }

    async fn until(&self, what: &str, mut holds: impl FnMut(&Self) -> bool) {
        let end = tokio::time::Instant::now() + PATIENCE;
        while !holds(self) {
            assert!(tokio::time::Instant::now() < end, "never: {what}; {}", self.handles());
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// None: nobody answered in time.
    async fn dial(&self, patience: Duration) -> Option<Player> {
        let dialled = timeout(patience, tokio_tungstenite::connect_async(&self.address)).await;
        Some(Player(dialled.ok()?.ok()?.0))
    }

    async fn member(&self) -> Player {
        let mut player = self.dial(PATIENCE).await.expect("let in");
        player.hear("challenge").await;
        player
            .say(json!({"hello": {
                "version": 1, "serverName": "127.0.0.1", "login": {"anonymous": {}},
            }}))
            .await;
        player.hear("welcome").await;
        let join = json!({"kind": "relay", "name": "square", "create": true});
        player.say(json!({"up": {"seq": "1", "join": join}})).await;
        player.hear("down").await;
        player
    }
}

struct Player(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Player {
    async fn say(&mut self, frame: Value) {
        self.0.send(Message::text(frame.to_string())).await.expect("the connection is open");
    }

    async fn hear(&mut self, kind: &str) -> Value {
        loop {
            let next = timeout(PATIENCE, self.0.next()).await.expect("in time");
            let message = next.expect("open").expect("open");
            let Message::Text(text) = message else { continue };
            let frame: Value = serde_json::from_str(&text).expect("JSON");
            if let Some(found) = frame.get(kind) {
                return found.clone();
            }
        }
    }

    async fn assert_plays(&mut self, seq: u64) {
        let message = json!({"payload": "aGk=", "wantsReply": true});
        self.say(json!({"up": {"seq": seq.to_string(), "message": message}})).await;
        assert_eq!(self.hear("down").await["reply"]["to"], seq.to_string());
    }

    /// Gone without a word: the other end sees a reset.
    fn vanish(self) {
        let MaybeTlsStream::Plain(socket) = self.0.get_ref() else { panic!("no TLS here") };
        socket.set_zero_linger().expect("an option of every socket");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn too_few_handles_keep_newcomers_waiting_and_nobody_else() {
    let serving = Serving::start(64);
    let mut ann = serving.member().await;
    let mut crowd = Vec::new();
    while let Some(player) = serving.dial(Duration::from_secs(1)).await {
        crowd.push(player);
        assert!(crowd.len() < 64, "more than there are handles");
    }
    assert!(crowd.len() > 16, "{} fit", crowd.len());
    // It is full: those who are in go on.
    for seq in 2..12 {
        ann.assert_plays(seq).await;
    }
    crowd.clear();
    let mut bob = serving.member().await;
    bob.assert_plays(2).await;
    ann.assert_plays(12).await;
}

/// Connects and vanishes, in another way each time.
async fn come_and_go(serving: &Serving, round: usize) {
    let at = serving.socket_address();
    match round % 8 {
        0 | 1 => {
            let socket = TcpStream::connect(at).await.expect("it listens");
            socket.set_zero_linger().expect("an option of every socket");
        }
        2 => {
            let mut socket = TcpStream::connect(at).await.expect("it listens");
            let half = b"GET /play HTTP/1.1\r\nHost: x\r\nUpgrade: websocket\r\n";
            socket.write_all(half).await.expect("open");
            socket.set_zero_linger().expect("an option of every socket");
        }
        3 => drop(serving.dial(PATIENCE).await.expect("let in")),
        4..=6 => serving.dial(PATIENCE).await.expect("let in").vanish(),
        _ => {
            let mut player = serving.dial(PATIENCE).await.expect("let in");
            player.hear("challenge").await;
            player
                .say(json!({"hello": {
                    "version": 1, "serverName": "127.0.0.1", "login": {"anonymous": {}},
                }}))
                .await;
            player.vanish();
        }
    }
}

async fn come_and_go_many(serving: &Serving, rounds: std::ops::Range<usize>) {
    let rounds = futures_util::stream::iter(rounds);
    rounds.for_each_concurrent(32, |round| come_and_go(serving, round)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connect_and_vanish_10_000_times_leaves_nothing_behind() {
    let serving = Serving::start(1_024);
    let mut ann = serving.member().await;
    let handles = serving.handles();
    // Sessions of the last seconds are held; as many are when the end is looked at.
    come_and_go_many(&serving, 0..2_000).await;
    serving.until("handles are back", |serving| serving.handles() <= handles).await;
    let resident = serving.resident_kib();
    come_and_go_many(&serving, 2_000..10_000).await;
    serving.until("handles are back", |serving| serving.handles() <= handles).await;
    // 8,000 connections that leaked a single page each would be 32 MiB.
    serving.until("memory is back", |serving| serving.resident_kib() < resident + (8 << 10)).await;
    ann.assert_plays(2).await;
}
