//! A server in a process of its own, with its log in a file, and somebody who types frames.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rejoin_chaos::Process;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// A file of this run that no other test has.
pub(crate) fn file(name: &str) -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let (run, count) = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("seeing-{run}-{count}-{name}"))
}

pub(crate) fn rejoin() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    for name in ["LISTEN", "ADMIN_LISTEN", "MEMORY", "DATA", "DEV", "CONFIG", "LOG", "LOG_JSON"] {
        command.env_remove(format!("REJOIN_{name}"));
    }
    command
}

pub(crate) struct Serving {
    _child: Process,
    pub(crate) players: String,
    /// Address and port of the operators' door.
    pub(crate) operators: String,
    pub(crate) said: String,
    log: PathBuf,
}

impl Serving {
    pub(crate) fn start(more: &[&str]) -> Self {
        let log = file("log");
        let mut command = rejoin();
        command.args(["serve", "--memory", "--listen", "127.0.0.1:0"]);
        if !more.contains(&"--admin-listen") {
            command.args(["--admin-listen", "127.0.0.1:0"]);
        }
        command.args(more).stdout(Stdio::piped());
        command.stderr(std::fs::File::create(&log).expect("a folder"));
        let mut child = Process::spawn(&mut command).expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let mut said = String::new();
        while let Some(Ok(line)) = lines.next() {
            said = said + &line + "\n";
            if line.contains("logins") || line.contains("Never face") {
                break;
            }
        }
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let word = |start: &str| {
            let line = said.lines().find(|line| line.trim_start().starts_with(start));
            line.and_then(|line| line.split_whitespace().nth(1)).expect("it says where").to_owned()
        };
        let operators = word("operators");
        let operators = operators.trim_start_matches("http://").trim_end_matches('/').to_owned();
        let serving = Self { _child: child, players: word("players"), operators, said, log };
        let end = std::time::Instant::now() + PATIENCE;
        while serving.curl("curl -s http://127.0.0.1:7401/readyz").1 != "ready\n" {
            assert!(std::time::Instant::now() < end, "never ready");
            std::thread::sleep(Duration::from_millis(10));
        }
        serving
    }

    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("it was made")
    }

    /// The log, once it has a line with all of this.
    pub(crate) async fn log_with(&self, words: &[&str]) -> String {
        let end = tokio::time::Instant::now() + PATIENCE;
        loop {
            let log = self.log();
            if log.lines().any(|line| words.iter().all(|word| line.contains(word))) {
                return log;
            }
            assert!(tokio::time::Instant::now() < end, "no line with {words:?} in\n{log}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    pub(crate) async fn dial(&self) -> Typist {
        let (socket, _) = tokio_tungstenite::connect_async(&self.players).await.expect("let in");
        Typist(socket)
    }

    /// Somebody who has logged in or resumed with this; and the welcome.
    pub(crate) async fn hello(&self, purpose: Value) -> (Typist, Value) {
        let mut typist = self.dial().await;
        typist.hear("challenge").await;
        let mut hello = json!({"version": 1, "serverName": "localhost"});
        for (name, value) in purpose.as_object().expect("one purpose") {
            hello[name] = value.clone();
        }
        typist.say(json!({"hello": hello}).to_string()).await;
        let welcome = typist.hear("welcome").await;
        (typist, welcome)
    }

    /// An answer of the operators' door, by curl.
    pub(crate) fn curl(&self, line: &str) -> (Option<i32>, String) {
        let at = self.operators.replace("0.0.0.0", "127.0.0.1");
        let line = line.replace("127.0.0.1:7401", &at);
        let output = Command::new("sh").args(["-c", &line]).output().expect("there is a shell");
        (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(Path::new(&self.log));
    }
}

pub(crate) struct Typist(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Typist {
    pub(crate) async fn say(&mut self, line: impl Into<String>) {
        self.0.send(Message::text(line.into())).await.expect("open");
    }

    /// Waits for the frame that has this name.
    pub(crate) async fn hear(&mut self, name: &str) -> Value {
        loop {
            let message = tokio::time::timeout(PATIENCE, self.0.next()).await.expect("in time");
            if let Message::Text(text) = message.expect("open").expect("a message") {
                let frame: Value = serde_json::from_str(&text).expect("JSON");
                if let Some(found) = frame.get(name) {
                    return found.clone();
                }
            }
        }
    }
}
