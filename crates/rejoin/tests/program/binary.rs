//! The program as people start it: it serves, says where to look, answers bad input with a sentence,
//! and stops when it is told to.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use futures_util::{SinkExt, StreamExt};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::serving::{PATIENCE, Serving, file, rejoin, told};

impl Serving {
    async fn dial(&self) -> Typist {
        let (socket, _) = tokio_tungstenite::connect_async(&self.players).await.expect("let in");
        Typist(socket)
    }
}

/// Somebody who types frames.
struct Typist(WebSocketStream<MaybeTlsStream<TcpStream>>);

impl Typist {
    async fn say(&mut self, line: impl Into<String>) {
        self.0.send(Message::text(line.into())).await.expect("open");
    }

    /// Waits for the frame that has this name.
    async fn hear(&mut self, name: &str) -> Value {
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

#[test]
fn a_taken_port_is_a_sentence_and_exit_code_1() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = taken.local_addr().expect("it is bound").to_string();
    let mut command = rejoin();
    let output = command.args(["serve", "--memory", "--listen", &address]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("another program listens there"), "{}", told(&output));
    assert!(told(&output).contains(&address), "{}", told(&output));
}

#[test]
fn bad_settings_are_refused_with_key_and_line() {
    let path = file("bad.toml");
    std::fs::write(&path, "dev = true\n\n[admin]\nlissten = \"127.0.0.1:1\"\n").expect("a folder");
    for command in [&["config", "check"][..], &["serve"]] {
        let output = rejoin().args(command).arg("--config").arg(&path).output().expect("it runs");
        assert_eq!(output.status.code(), Some(1));
        let told = told(&output);
        assert!(told.contains("line 4") && told.contains("`lissten`"), "{told}");
    }
    let output = rejoin().args(["config", "check", "--config", "nowhere.toml"]).output();
    let output = output.expect("it runs");
    assert_eq!(output.status.code(), Some(1));
    assert!(told(&output).contains("nowhere.toml cannot be read"));
}

#[test]
fn the_line_goes_before_the_environment_and_that_before_the_file() {
    let path = file("good.toml");
    std::fs::write(&path, "listen = \"127.0.0.1:1\"\n[admin]\nlisten = \"127.0.0.1:2\"\n")
        .expect("a folder");
    let mut command = rejoin();
    command.args(["config", "check", "--listen", "[::1]:3", "--config"]).arg(&path);
    command.env("REJOIN_LISTEN", "127.0.0.1:4").env("REJOIN_DATA", "/somewhere");
    let output = command.output().expect("it runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", told(&output));
    assert!(shown.contains("listen = \"[::1]:3\""), "{shown}");
    assert!(shown.contains("listen = \"127.0.0.1:2\""), "{shown}");
    assert!(shown.contains("data = \"/somewhere\""), "{shown}");
}

#[test]
fn development_mode_is_said_loudly() {
    let dev = Serving::start(&["--dev", "--memory"]);
    assert!(dev.said.iter().any(|line| line.contains("DEVELOPMENT MODE")));
    let data = file("plain-data");
    let plain = Serving::start(&["--data", data.to_str().expect("text")]);
    assert!(!plain.said.iter().any(|line| line.contains("DEVELOPMENT MODE")));
    assert!(plain.said.iter().any(|line| line.contains("kept in")));
}

/// What `rejoin sign` prints.
fn sign(key: &PathBuf, challenge: &Value, more: &[&str]) -> String {
    let mut command = rejoin();
    command.arg("sign").arg(challenge["nonce"].as_str().expect("base64")).arg("--key").arg(key);
    let output = command.args(more).output().expect("it runs");
    assert!(output.status.success(), "{}", told(&output));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test]
async fn the_keyed_dialogue_with_sign() {
    let serving = Serving::start(&["--memory"]);
    let key = file("key");
    let mut ann = serving.dial().await;
    let hello = sign(&key, &ann.hear("challenge").await, &[]);
    ann.say(&hello).await;
    let welcome = ann.hear("welcome").await;
    drop(ann);

    // The same words answer no other challenge.
    let mut other = serving.dial().await;
    other.hear("challenge").await;
    other.say(hello).await;
    assert_eq!(other.hear("refusal").await["code"], "CLOSE_CODE_CREDENTIAL");

    let mut ann = serving.dial().await;
    let part = |name: &str| welcome[name].as_str().expect("a string").to_owned();
    let (session, token, epoch) = (part("session"), part("token"), part("epoch"));
    let resume = ["--session", &session, "--token", &token, "--epoch", &epoch];
    let hello = sign(&key, &ann.hear("challenge").await, &resume);
    ann.say(hello).await;
    let back = ann.hear("welcome").await;
    assert_eq!((&back["session"], &back["rung"]), (&welcome["session"], &"RUNG_RESYNCED".into()));

    // Without --dev nobody comes in without an identity.
    let mut nobody = serving.dial().await;
    nobody.hear("challenge").await;
    nobody
        .say(r#"{"hello":{"version":1,"serverName":"localhost","login":{"anonymous":{}}}}"#)
        .await;
    assert_eq!(nobody.hear("refusal").await["code"], "CLOSE_CODE_IDENTITY_OFF");
}

#[cfg(unix)]
#[tokio::test]
async fn sigterm_tells_everybody_and_stops() {
    let data = file("stopped-data");
    let mut serving = Serving::start(&["--dev", "--data", data.to_str().expect("text")]);
    let mut ann = serving.dial().await;
    ann.hear("challenge").await;
    let id = serving.child.id().to_string();
    let killed = Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill");
    assert!(killed.success());
    assert_eq!(ann.hear("farewell").await["code"], "CLOSE_CODE_SHUTTING_DOWN");
    drop(ann);
    let waiting = tokio::task::spawn_blocking(move || serving.child.wait().expect("it ends"));
    let status = tokio::time::timeout(PATIENCE, waiting).await.expect("in time").expect("no panic");
    assert!(status.success(), "{status}");
}

#[test]
fn a_server_that_nobody_listens_to_serves_and_stops_all_the_same() {
    let mut command = rejoin();
    command.args(["serve", "--memory", "--listen", "127.0.0.1:0"]);
    command.args(["--admin-listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = command.spawn().expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("serves"), "{first}");
    drop(lines);
    // It would have said more by now, and says farewell.
    std::thread::sleep(std::time::Duration::from_millis(300));
    assert_eq!(child.try_wait().expect("it was started"), None, "it runs");
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &id]).status().expect("there is a kill").success());
    assert!(child.wait().expect("it ends").success());
}
