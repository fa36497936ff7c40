//! Autobahn's fuzzing client against an echo on the library as we set it up. It is an outside program on
//! Python 2.7: `cargo xtask test` fetches it from PyPI where that is there, and says where it is.

use std::collections::BTreeMap;
use std::process::Stdio;
use std::time::Duration;

use axum::Router;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::response::Response;
use axum::routing::any;
use futures_util::{SinkExt, StreamExt};
use serde_json::{Value, json};

/// The folder of Autobahn and what it needs.
const FOLDER: &str = "REJOIN_AUTOBAHN";
/// Its largest message of the cases that are played is a little over 64 KiB.
const MESSAGE_BYTES_MAX: usize = 1 << 20;
/// It takes ten seconds on a machine with nothing else to do.
const PATIENCE: Duration = Duration::from_secs(240);
/// Cases that may be done otherwise than it would: what follows a fault in the middle of a message is
/// seen before or after what came before it is answered.
const NON_STRICT_MAX: usize = 4;

async fn echo(upgrade: WebSocketUpgrade) -> Response {
    super::bounded(upgrade, MESSAGE_BYTES_MAX, MESSAGE_BYTES_MAX).on_upgrade(async |socket| {
        let (mut sink, mut stream) = socket.split();
        while let Some(Ok(message)) = stream.next().await {
            if matches!(message, Message::Text(_) | Message::Binary(_))
                && sink.send(message).await.is_err()
            {
                return;
            }
        }
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn autobahn_finds_no_fault() {
    let Some(autobahn) = std::env::var_os(FOLDER) else {
        println!("SKIPPED: autobahn: needs Python 2.7, which Debian no longer packages ({FOLDER})");
        return;
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let at = listener.local_addr().expect("it is bound");
    let server = axum::serve(listener, Router::new().route("/", any(echo)));
    let server = tokio::spawn(server.into_future());

    let folder = tempfile::tempdir().expect("a folder");
    let spec = json!({
        "outdir": folder.path().join("report"),
        "servers": [{"agent": "rejoin", "url": format!("ws://{at}")}],
        "cases": ["*"],
        // Throughput, and a compression that is not offered.
        "exclude-cases": ["9.*", "12.*", "13.*"],
    });
    let path = folder.path().join("spec.json");
    std::fs::write(&path, spec.to_string()).expect("it is written");
    let mut command = tokio::process::Command::new("python2.7");
    command.args(["-m", "autobahntestsuite.wstest", "-m", "fuzzingclient", "-s"]).arg(&path);
    command.env("PYTHONPATH", autobahn).current_dir(folder.path()).kill_on_drop(true);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let output = tokio::time::timeout(PATIENCE, command.output()).await.expect("in time");
    let output = output.expect("python2.7 starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    server.abort();

    let report = std::fs::read(folder.path().join("report/index.json")).expect("a report");
    let report: Value = serde_json::from_slice(&report).expect("of JSON");
    let cases = report["rejoin"].as_object().expect("of this server");
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for (case, found) in cases {
        let (behaviour, close) = (&found["behavior"], &found["behaviorClose"]);
        *counts.entry(behaviour.as_str().unwrap_or("none")).or_default() += 1;
        let is_good =
            |what: &Value| matches!(what.as_str(), Some("OK" | "NON-STRICT" | "INFORMATIONAL"));
        if !is_good(behaviour) || !is_good(close) {
            faults.push(format!("{case}: {behaviour}, closed {close}"));
        }
    }
    println!("{} cases: {counts:?}", cases.len());
    assert_eq!(faults, Vec::<String>::new());
    assert!(cases.len() >= 240, "only {} cases were played", cases.len());
    assert!(counts.get("NON-STRICT").is_none_or(|count| *count <= NON_STRICT_MAX), "{counts:?}");
}
