//! The program as people start it: it serves, says where to look, answers bad input with a sentence,
//! and stops when it is told to.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use futures_util::{SinkExt, StreamExt};
use rejoin_chaos::{Process, Signal};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::serving::{PATIENCE, Serving, file, rejoin, told};

/// The public keys of a service that issues tokens.
const KEYS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

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
    serving.child.signal(Signal::Terminate).expect("it runs");
    assert_eq!(ann.hear("farewell").await["code"], "CLOSE_CODE_SHUTTING_DOWN");
    drop(ann);
    let ended = async {
        loop {
            match serving.child.try_wait().expect("it was started") {
                Some(status) => return status,
                None => tokio::time::sleep(Duration::from_millis(10)).await,
            }
        }
    };
    let status = tokio::time::timeout(PATIENCE, ended).await.expect("in time");
    assert!(status.success(), "{status}");
}

#[test]
fn a_server_that_nobody_listens_to_serves_and_stops_all_the_same() {
    let mut command = rejoin();
    command.args(["serve", "--memory", "--listen", "127.0.0.1:0"]);
    command.args(["--admin-listen", "127.0.0.1:0"]).stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Process::spawn(&mut command).expect("it starts");
    let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let first = lines.next().expect("a line").expect("text");
    assert!(first.contains("serves"), "{first}");
    drop(lines);
    // It would have said more by now, and says farewell.
    std::thread::sleep(Duration::from_millis(300));
    assert_eq!(child.try_wait().expect("it was started"), None, "it runs");
    child.signal(Signal::Terminate).expect("it runs");
    assert!(child.wait().expect("it ends").success());
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let data = file("piped-data");
    let data = data.to_str().expect("text");
    let added = rejoin().args(["player", "add", "ann", "--no-password", "--data", data]).output();
    let added = added.expect("it runs");
    assert!(added.status.success(), "{}", told(&added));
    for command in
        [&["config", "check"][..], &["player", "list", "--data", data], &["inspect", data]]
    {
        // The pipe is closed before anything is written.
        let (reader, writer) = std::io::pipe().expect("a pipe");
        drop(reader);
        let output = rejoin().args(command).stdout(writer).stderr(Stdio::piped()).output();
        let output = output.expect("it runs");
        assert!(output.status.success(), "{command:?}: {}", told(&output));
        assert_eq!(told(&output), "", "{command:?}");
    }
}

#[test]
fn a_switch_in_the_environment_says_yes_or_no() {
    let path = file("dev.toml");
    std::fs::write(&path, "dev = true\n").expect("a folder");
    let shown = |value: &str| {
        let mut command = rejoin();
        command.args(["config", "check", "--config"]).arg(&path).env("REJOIN_DEV", value);
        let output = command.output().expect("it runs");
        assert!(output.status.success(), "{value}: {}", told(&output));
        String::from_utf8_lossy(&output.stdout).contains("dev = true")
    };
    for (yes, no) in [("1", "0"), ("true", "false"), ("yes", "no")] {
        assert!(shown(yes) && !shown(no), "{yes} {no}");
    }
    let output = rejoin().args(["config", "check"]).env("REJOIN_DEV", "perhaps").output();
    let output = output.expect("it runs");
    assert!(!output.status.success() && told(&output).contains("perhaps"), "{}", told(&output));
}

#[test]
fn a_check_opens_the_files_that_serving_would_open() {
    let path = file("checked.toml");
    let check = || rejoin().args(["config", "check", "--config"]).arg(&path).output();
    let (missing, keys) = (file("missing.pem"), file("keys.json"));
    let jwt = "[identity.jwt]\nissuer = \"https://id.example\"\naudience = [\"game\"]\n";
    for (settings, name) in [
        (format!("[tls]\ncertificate = {missing:?}\nkey = {missing:?}\n"), "missing.pem"),
        (format!("{jwt}jwks_file = {keys:?}\n"), "keys.json"),
    ] {
        std::fs::write(&path, settings).expect("a folder");
        let output = check().expect("it runs");
        assert_eq!(output.status.code(), Some(1), "{}", told(&output));
        assert!(told(&output).contains(name), "{}", told(&output));
    }
    std::fs::write(&keys, KEYS).expect("a folder");
    let output = check().expect("it runs");
    let shown = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", told(&output));
    assert!(shown.contains(&format!("# jwks_file {}: ok", keys.display())), "{shown}");
    assert!(shown.ends_with(&format!("# {}: ok\n", path.display())), "{shown}");
}

#[test]
fn the_banner_says_who_is_let_in_and_names_a_command_that_works() {
    let path = file("logins.toml");
    let keys = file("logins-keys.json");
    std::fs::write(&keys, KEYS).expect("a folder");
    let jwt = "[identity.jwt]\nissuer = \"https://id.example\"\naudience = [\"game\"]\n";
    let text = format!("[identity]\naccounts = \"required\"\n{jwt}jwks_file = {keys:?}\n");
    std::fs::write(&path, text).expect("a folder");
    let strict = Serving::start(&["--memory", "--config", path.to_str().expect("text")]);
    let logins = |serving: &Serving| {
        serving.said.iter().find(|line| line.contains("logins")).expect("it says so").clone()
    };
    let line = logins(&strict);
    assert!(line.contains("accounts only") && line.contains("https://id.example"), "{line}");
    assert!(!line.contains("guests"), "{line}");
    let plain = Serving::start(&["--memory"]);
    assert!(logins(&plain).contains("guests by key or by secret, accounts by name and password"));
    let hint = plain.said.iter().find_map(|line| line.split('`').nth(1)).expect("a command");
    let words: Vec<&str> = hint.split(' ').skip(1).collect();
    let output = rejoin().args(&words).output().expect("it runs");
    assert!(output.status.success(), "{hint}: {}", told(&output));
}

#[test]
fn the_help_is_in_groups() {
    let output = rejoin().args(["serve", "--help"]).output().expect("it runs");
    let help = String::from_utf8_lossy(&output.stdout).into_owned();
    for group in ["Addresses:", "Storage:", "Players and directory:", "Development:", "Log:"] {
        assert!(help.contains(group), "{group} in {help}");
    }
}

#[tokio::test]
async fn in_development_pages_of_every_local_web_server_may_connect() {
    let is_let_in = async |serving: &Serving, origin: &str| {
        let mut request = serving.players.as_str().into_client_request().expect("an address");
        request.headers_mut().insert("Origin", origin.parse().expect("text"));
        tokio_tungstenite::connect_async(request).await.is_ok()
    };
    let dev = Serving::start(&["--dev", "--memory"]);
    assert!(is_let_in(&dev, "http://localhost:5173").await);
    assert!(is_let_in(&dev, "http://127.0.0.1:8080").await);
    assert!(!is_let_in(&dev, "http://shop.example:5173").await);
    let plain = Serving::start(&["--memory"]);
    assert!(!is_let_in(&plain, "http://localhost:5173").await);
}
