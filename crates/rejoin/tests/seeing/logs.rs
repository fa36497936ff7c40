//! The log: the lines that are promised, for people and as JSON, and nothing that lets anybody in.

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use serde_json::{Value, json};
use tokio_tungstenite::tungstenite::Error;
use tokio_tungstenite::tungstenite::client::IntoClientRequest;

use crate::process::{Serving, file, rejoin};

/// The public keys of a service that issues tokens.
const KEYS: &str = r#"{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"k","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;

fn anonymous() -> Value {
    json!({"login": {"anonymous": {}}})
}

fn switch(serving: &Serving, session: &Value, log: &str) {
    let session = session.as_str().expect("an id");
    let path = format!("http://127.0.0.1:7401/sessions/{session}/frames?log={log}");
    let (code, answer) = serving.curl(&format!("curl -s -X POST '{path}'"));
    assert_eq!(code, Some(0));
    assert!(answer.contains(&format!("\"frame_log\":\"{log}\"")), "{answer}");
}

const JOIN: &str = r#"{"up":{"seq":"1","join":{"kind":"relay","name":"square","create":true}}}"#;
const SAY: &str = r#"{"up":{"seq":"2","message":{"payload":"aGVsbG8=","wantsReply":true}}}"#;

#[tokio::test]
async fn the_lines_for_people() {
    let serving = Serving::start(&["--dev", "--log", "debug"]);
    let (mut ann, welcome) = serving.hello(anonymous()).await;
    let session = format!("session={}", welcome["session"].as_str().expect("an id"));
    let created = ["INFO", "session created", &session, "connection=1", "transport=\"websocket\""];
    let log = serving.log_with(&created).await;
    let line = log.lines().find(|line| line.contains("session created")).expect("it is there");
    assert!(line.contains("address=#") && !line.contains("127.0.0.1"), "{line}");
    serving.log_with(&["DEBUG", "session linked", &session, "connection=1"]).await;

    switch(&serving, &welcome["session"], "on");
    ann.say(JOIN).await;
    ann.hear("down").await;
    let up = ["DEBUG", "frame", &session, "arrow=←", "kind=\"up.join\"", "code=0x0204", "bytes=72"];
    assert_eq!(JOIN.len(), 72);
    serving.log_with(&up).await;
    let log = serving.log_with(&["frame", "arrow=→", "kind=\"down.joined\"", "code=0x0406"]).await;
    assert!(!log.contains("payload="), "payloads are shown only when that is asked for: {log}");
    switch(&serving, &welcome["session"], "payload");
    ann.say(SAY).await;
    serving.log_with(&["arrow=←", "kind=\"up.message\"", "payload=", "aGVsbG8="]).await;
    switch(&serving, &welcome["session"], "off");
    let frames = |log: &str| log.lines().filter(|line| line.contains(" frame ")).count();
    let before = frames(&serving.log());
    ann.say(r#"{"up":{"seq":"3","bye":{}}}"#).await;
    ann.hear("farewell").await;
    let log = serving.log_with(&["INFO", "session ended", &session, "cause=\"left\""]).await;
    assert!(before > 2 && frames(&log) == before, "frames after the log was switched off:\n{log}");
}

#[tokio::test]
async fn the_same_lines_as_json() {
    let serving = Serving::start(&["--dev", "--log", "rejoin_server=debug", "--log-json"]);
    let (mut ann, welcome) = serving.hello(anonymous()).await;
    let session = welcome["session"].as_str().expect("an id");
    switch(&serving, &welcome["session"], "on");
    ann.say(r#"{"up":{"seq":"1","bye":{}}}"#).await;
    let log = serving.log_with(&["session ended"]).await;
    let lines: Vec<Value> =
        log.lines().map(|line| serde_json::from_str(line).expect("one object a line")).collect();
    let of = |message: &str| {
        let mut found = lines.iter().filter(|line| line["fields"]["message"] == message);
        let line = found.next().unwrap_or_else(|| panic!("no {message:?} in\n{log}"));
        assert_eq!(line["fields"]["session"], session, "{line}");
        (line["level"].as_str().expect("a level").to_owned(), line["fields"].clone())
    };
    let (level, created) = of("session created");
    assert_eq!((&*level, &created["transport"]), ("INFO", &"websocket".into()));
    assert!(created["address"].as_str().is_some_and(|address| address.starts_with('#')));
    assert_eq!(of("session linked").0, "DEBUG");
    let (level, ended) = of("session ended");
    assert_eq!((&*level, &ended["cause"]), ("INFO", &"left".into()));
    let (level, frame) = of("frame");
    assert_eq!(
        (&*level, &frame["arrow"], &frame["kind"]),
        ("DEBUG", &"←".into(), &"up.bye".into())
    );
    assert_eq!((&frame["code"], &frame["bytes"]), (&"0x0206".into(), &27.into()));
}

#[tokio::test]
async fn frames_that_were_switched_on_are_seen_whatever_the_level() {
    let serving = Serving::start(&["--dev"]);
    let (mut ann, welcome) = serving.hello(anonymous()).await;
    switch(&serving, &welcome["session"], "on");
    ann.say(JOIN).await;
    let log = serving.log_with(&["frame", "kind=\"down.joined\""]).await;
    assert!(!log.contains("session linked"), "that is for --log debug: {log}");
}

/// Players who cannot get in do not know which setting keeps them out; the log says it.
#[tokio::test]
async fn whoever_is_not_let_in_is_in_the_log_with_the_setting_to_change() {
    let (settings, keys) = (file("refusing.toml"), file("refusing.json"));
    std::fs::write(&keys, KEYS).expect("a folder");
    let jwt = "[identity.jwt]\nissuer = \"https://id.example\"\naudience = [\"game\"]\n";
    std::fs::write(&settings, format!("{jwt}jwks_file = {keys:?}\n")).expect("a folder");
    let serving = Serving::start(&["--config", &settings.display().to_string()]);

    let mut request = serving.players.as_str().into_client_request().expect("an address");
    let origin = "http://shop.example:5173".parse().expect("text");
    request.headers_mut().insert("Origin", origin);
    let refused = tokio_tungstenite::connect_async(request).await.expect_err("refused");
    let Error::Http(answer) = refused else { panic!("{refused}") };
    assert_eq!(answer.status(), 403);
    let allowed = answer.headers().get("access-control-allow-origin").expect("the page reads why");
    assert_eq!(allowed, "http://shop.example:5173");
    serving
        .log_with(&["INFO", "a page was refused", "http://shop.example:5173", "`origins`"])
        .await;

    let refuse = async |name: &str, more: Value| {
        let mut typist = serving.dial().await;
        typist.hear("challenge").await;
        let mut hello = json!({"version": 1, "serverName": name});
        for (field, value) in more.as_object().expect("fields") {
            hello[field] = value.clone();
        }
        typist.say(json!({"hello": hello}).to_string()).await;
        typist.hear("refusal").await
    };
    let wrong = refuse("play.example", json!({"login": {"mint": {}}})).await;
    assert_eq!(wrong["text"], "this server is not called \"play.example\"");
    let login = ["INFO", "a login was refused", "CLOSE_CODE_WRONG_NAME", "play.example"];
    serving.log_with(&[&login[..], &["setting=\"server_names\""]].concat()).await;
    assert_eq!(refuse("localhost", anonymous()).await["code"], "CLOSE_CODE_IDENTITY_OFF");
    serving.log_with(&["a login was refused", "CLOSE_CODE_IDENTITY_OFF", "[identity]"]).await;

    let token =
        [r#"{"alg":"RS256","kid":"k"}"#, "{}", "x"].map(|part| URL_SAFE_NO_PAD.encode(part));
    let account = STANDARD.encode(json!({"account": {"token": token.join(".")}}).to_string());
    let by_token = json!({"login": {"anonymous": {}}, "admission": account});
    let refusal = refuse("localhost", by_token).await;
    assert_eq!(refusal["text"], "unknown or wrong", "why is for operators");
    let log = serving.log_with(&["INFO", "a token was refused", "[identity.jwt]", "why="]).await;
    assert!(!log.contains(&token[0]), "{log}");
}

#[tokio::test]
async fn addresses_are_shown_as_the_settings_say() {
    for (style, shown) in [("plain", "address=127.0.0.1"), ("none", "address=hidden")] {
        let settings = file("toml");
        std::fs::write(&settings, format!("[log]\naddresses = \"{style}\"\n")).expect("a folder");
        let path = settings.display().to_string();
        let serving = Serving::start(&["--dev", "--config", &path]);
        let (_ann, _) = serving.hello(anonymous()).await;
        serving.log_with(&["session created", shown]).await;
    }
}

/// Every way in which a secret could be written down.
fn spellings(secret: &[u8]) -> Vec<String> {
    let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
    let list = secret.iter().map(u8::to_string).collect::<Vec<_>>().join(", ");
    let escaped = secret.escape_ascii().to_string();
    let base64 = STANDARD.encode(secret);
    let short = base64.trim_end_matches('=').to_owned();
    vec![hex.to_uppercase(), hex, list, escaped, short, URL_SAFE_NO_PAD.encode(secret)]
}

/// What `rejoin sign` prints for a challenge.
fn sign(key: &std::path::Path, challenge: &Value, more: &[&str]) -> String {
    let mut command = rejoin();
    command.arg("sign").arg(challenge["nonce"].as_str().expect("base64")).arg("--key").arg(key);
    let output = command.args(more).output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

#[tokio::test]
async fn no_token_and_no_secret_is_ever_in_the_log() {
    let serving = Serving::start(&["--dev", "--log", "trace"]);
    let bytes = |value: &Value| STANDARD.decode(value.as_str().expect("base64")).expect("base64");
    let mut secrets = Vec::new();

    // By secret: minted, shown again, resumed; all with payloads in the log.
    let (_minting, welcome) = serving.hello(json!({"login": {"mint": {}}})).await;
    switch(&serving, &welcome["session"], "payload");
    let secret = welcome["secret"].clone();
    secrets.extend([bytes(&secret), bytes(&welcome["token"])]);
    let (_guest, welcome) = serving.hello(json!({"login": {"secret": secret}})).await;
    secrets.push(bytes(&welcome["token"]));
    let resume = json!({"resume": {"session": welcome["session"], "token": welcome["token"],
        "epoch": welcome["epoch"], "cold": true}});
    let (mut back, welcome) = serving.hello(resume.clone()).await;
    secrets.push(bytes(&welcome["token"]));
    back.say(JOIN).await;
    back.hear("down").await;
    // A hello where none may stand, and one that is broken.
    let mut again = json!({"hello": {"version": 1, "serverName": "localhost"}});
    again["hello"]["resume"] = resume["resume"].clone();
    again["hello"]["bogus"] = "x".repeat(70_000).into();
    back.say(again.to_string()).await;
    back.hear("farewell").await;

    // By key.
    let key = file("key");
    let mut keyed = serving.dial().await;
    let hello = sign(&key, &keyed.hear("challenge").await, &[]);
    keyed.say(hello).await;
    let welcome = keyed.hear("welcome").await;
    switch(&serving, &welcome["session"], "payload");
    secrets.push(bytes(&welcome["token"]));
    let part = |name: &str| welcome[name].as_str().expect("a string").to_owned();
    let (session, token, epoch) = (part("session"), part("token"), part("epoch"));
    let mut keyed = serving.dial().await;
    let more = ["--session", &session, "--token", &token, "--epoch", &epoch];
    let hello = sign(&key, &keyed.hear("challenge").await, &more);
    keyed.say(hello).await;
    secrets.push(bytes(&keyed.hear("welcome").await["token"]));
    let kept = std::fs::read(&key).expect("the key was made");
    let text = String::from_utf8_lossy(&kept).trim().to_owned();

    // Without identity; and the word that ends the log.
    let (_nobody, welcome) = serving.hello(anonymous()).await;
    secrets.push(bytes(&welcome["token"]));
    let last = format!("session={}", welcome["session"].as_str().expect("an id"));
    let log = serving.log_with(&["session created", &last]).await;

    assert!(log.contains("kind=\"welcome\"") && log.contains("payload="), "frames were logged");
    assert!(log.contains("kind=\"malformed\""), "the broken hello was logged:\n{log}");
    assert!(secrets.len() == 7 && secrets.iter().all(|secret| secret.len() == 32));
    for secret in &secrets {
        for spelling in spellings(secret) {
            assert!(!log.contains(&spelling), "{spelling} is in the log:\n{log}");
        }
    }
    assert!(text.len() >= 32 && !log.contains(&text), "the key is in the log");
    assert!(!log.lines().any(|line| line.chars().any(|c| c.is_control() && c != '\u{1b}')));
}
