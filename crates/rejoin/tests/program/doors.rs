//! The other doors of the program: TCP, ENet and TLS, with the Rust client, and what is wrong with a
//! certificate said at the start.

use std::io::{BufRead, BufReader, Read as _, Write as _};
use std::process::Stdio;
use std::time::Duration;

use rejoin::client::Event;
use rejoin::client::driver::{
    Encryption, Events, Memory, OpenError, Options, Player, Slot, Storage,
};
use rejoin_chaos::Process;

use crate::serving::{PATIENCE, Serving, file, rejoin, told};

/// A server with all doors, encrypted for development.
struct Encrypted {
    _child: Process,
    web: String,
    stream: String,
    root: String,
}

impl Encrypted {
    fn start() -> Self {
        let mut command = rejoin();
        command.args(["serve", "--dev", "--memory", "--tls-dev", "--listen", "127.0.0.1:0"]);
        command.args(["--admin-listen", "127.0.0.1:0", "--tcp-listen", "127.0.0.1:0"]);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::spawn(&mut command).expect("runs");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let said: Vec<String> = lines
            .by_ref()
            .map_while(Result::ok)
            .take_while(|line| !line.contains("Never face"))
            .collect();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let word = |start: &str| {
            let mut words = said.iter().flat_map(|line| line.split_whitespace());
            words.find(|word| word.starts_with(start)).expect("it says where").to_owned()
        };
        let pem = said.iter().skip_while(|line| !line.starts_with("-----BEGIN"));
        let end = said.iter().position(|line| line.starts_with("-----END")).expect("a certificate");
        let begin = said.len() - pem.count();
        let root = said[begin..=end].join("\n") + "\n";
        Self { _child: child, web: word("wss://"), stream: word("tls://"), root }
    }
}

async fn until(events: &mut Events, is_it: impl Fn(&Event) -> bool) -> Event {
    let found = async {
        loop {
            let event = events.next().await.expect("the player goes on");
            if is_it(&event) {
                return event;
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("in time")
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_speaks_wss_and_tls_with_a_given_root() {
    let serving = Encrypted::start();
    let mut players = Vec::new();
    for url in [&serving.web, &serving.stream] {
        let options = Options::new().root(serving.root.clone());
        let (player, mut events) = Player::connect(url, options).await.expect("an address");
        until(&mut events, |event| matches!(event, Event::Connected { .. })).await;
        player.join("relay", "square", true, "").await.expect("there is room");
        until(&mut events, |event| matches!(event, Event::Joined { .. })).await;
        players.push((player, events));
    }
    // One hears the other, across transports.
    players[1].0.send("by stream").await.expect("there is room");
    let heard = until(&mut players[0].1, |event| matches!(event, Event::Message { .. })).await;
    assert!(matches!(heard, Event::Message { payload } if payload == "by stream"));
    // Without the root nobody is believed, and the game is told why.
    let (_player, mut events) =
        Player::connect(&serving.stream, Options::new()).await.expect("an address");
    let failed = until(&mut events, |event| matches!(event, Event::DialFailed { .. })).await;
    let Event::DialFailed { text } = failed else { unreachable!("it was waited for") };
    assert!(text.contains("certificate"), "{text}");
    let wrong = Player::connect(&serving.web, Options::new().root("no certificate")).await;
    assert!(matches!(wrong, Err(OpenError::Roots { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_speaks_tcp() {
    let mut command = rejoin();
    command.args(["serve", "--dev", "--memory", "--listen", "127.0.0.1:0"]);
    command.args(["--admin-listen", "127.0.0.1:0", "--tcp-listen", "127.0.0.1:0"]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut child = Process::spawn(&mut command).expect("runs");
    let lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
    let mut lines = lines.map_while(Result::ok);
    let url = lines.by_ref().find_map(|line| {
        line.split_whitespace().find(|word| word.starts_with("tcp://")).map(str::to_owned)
    });
    std::thread::spawn(move || lines.for_each(drop));
    let url = url.expect("it says where");
    let (player, mut events) = Player::connect(&url, Options::new()).await.expect("an address");
    until(&mut events, |event| matches!(event, Event::Connected { .. })).await;
    player.join("relay", "square", true, "").await.expect("there is room");
    until(&mut events, |event| matches!(event, Event::Joined { .. })).await;
    let answer = player.request("are you there?").await.expect("an answer");
    assert_eq!(answer, "are you there?");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rust_client_speaks_enet() {
    let serving = Serving::start(&["--dev", "--memory", "--enet-listen", "127.0.0.1:0"]);
    let mut words = serving.said.iter().flat_map(|line| line.split_whitespace());
    let url = words.find(|word| word.starts_with("enet://")).expect("it says where");
    let mut players = Vec::new();
    for url in [url, &serving.players] {
        let (player, mut events) = Player::connect(url, Options::new()).await.expect("an address");
        until(&mut events, |event| matches!(event, Event::Connected { .. })).await;
        player.join("relay", "square", true, "").await.expect("there is room");
        until(&mut events, |event| matches!(event, Event::Joined { .. })).await;
        players.push((player, events));
    }
    let large = vec![7; 60_000];
    let answer = players[0].0.request(large.clone()).await.expect("an answer");
    assert!(answer == large, "it comes back whole");
    // The other hears what must arrive in order, and on loopback what need not, too.
    for number in 0..50 {
        players[0].0.send(number.to_string()).await.expect("there is room");
    }
    players[0].0.send_unreliable("psst").await.expect("connected");
    for number in 0..50 {
        let heard = until(&mut players[1].1, |event| matches!(event, Event::Message { .. })).await;
        let expected = number.to_string();
        assert!(matches!(heard, Event::Message { payload } if payload == expected), "{number}");
    }
    players[1].0.send_unreliable("psst yourself").await.expect("connected");
    let heard = until(&mut players[0].1, |event| matches!(event, Event::Unreliable { .. })).await;
    assert!(matches!(heard, Event::Unreliable { payload } if payload.ends_with(b"psst yourself")));
    // To leave is to be told so.
    players[0].0.leave().await.expect("it runs");
    until(&mut players[0].1, |event| matches!(event, Event::Left)).await;
}

/// A server by ENet that encrypts as this policy says: where it is, and its key.
fn sealed(policy: &str) -> (Serving, String, [u8; 32]) {
    let settings = file(&format!("{policy}.toml"));
    std::fs::write(&settings, format!("[encryption]\npolicy = {policy:?}\n")).expect("a folder");
    let settings = settings.to_str().expect("text");
    let enet = ["--enet-listen", "127.0.0.1:0", "--config", settings];
    let serving = Serving::start(&[&["--dev", "--memory"][..], &enet[..]].concat());
    let word = |found: &dyn Fn(&str) -> bool| {
        let mut words = serving.said.iter().flat_map(|line| line.split_whitespace());
        words.find(|word| found(word)).map(str::to_owned)
    };
    let url = word(&|word| word.starts_with("enet://")).expect("it says where");
    let hex = word(&|word| word.len() == 64).unwrap_or_default();
    let mut key = [0; 32];
    for (at, byte) in key.iter_mut().enumerate().take(hex.len() / 2) {
        *byte = u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex");
    }
    (serving, url, key)
}

/// What operators are told.
fn ask(serving: &Serving, path: &str) -> String {
    let mut words = serving.said.iter().skip_while(|line| !line.contains("operators"));
    let line = words.next().expect("it says where");
    let url = line.split_whitespace().find_map(|word| word.strip_prefix("http://"));
    let at = url.expect("an address").trim_end_matches('/');
    let mut socket = std::net::TcpStream::connect(at).expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: {at}\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).expect("open");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("text");
    answer
}

async fn is_let_in(url: &str, options: Options) -> Result<(), String> {
    let (_player, mut events) = Player::connect(url, options).await.expect("an address");
    let told = |event: &Event| matches!(event, Event::Connected { .. } | Event::DialFailed { .. });
    match until(&mut events, told).await {
        Event::DialFailed { text } => Err(text),
        _ => Ok(()),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_by_enet_is_known_by_its_key() {
    let (serving, url, key) = sealed("required");
    // Pinned, and trusted on first use.
    let pinned = Options::new().server_key(key);
    assert_eq!(is_let_in(&url, pinned).await, Ok(()));
    let storage = Memory::new();
    let trusting = || Options::new().storage(storage.clone());
    assert_eq!(is_let_in(&url, trusting()).await, Ok(()));
    let stored = storage.load(Slot::ServerKey).expect("memory").expect("it was kept");
    assert!(stored.ends_with(&key));
    assert_eq!(is_let_in(&url, trusting()).await, Ok(()));
    // Operators see it, of the session and in the figures.
    assert!(ask(&serving, "/sessions").contains("\"encrypted\":true"));
    let figure = "rejoin_connections_encrypted_total{transport=\"enet\"} 3";
    assert!(ask(&serving, "/metrics").contains(figure));
    // Another key, and no encryption at all, are refused by whom they concern.
    let wrong = is_let_in(&url, Options::new().server_key([7; 32])).await;
    assert!(wrong.is_err_and(|text| text.contains("another key")));
    let off = is_let_in(&url, Options::new().encryption(Encryption::Off)).await;
    assert!(off.is_err_and(|text| text.contains("without encryption")));
    // Another server in its place: whoever trusted the first is not let down.
    let (_other, other, _) = sealed("preferred");
    let changed = is_let_in(&other, trusting()).await;
    assert!(changed.is_err_and(|text| text.contains("another key")));
    let (_plain, plain, _) = sealed("off");
    let stripped = is_let_in(&plain, trusting()).await;
    assert!(stripped.is_err_and(|text| text.contains("does not encrypt")));
    let required = Options::new().encryption(Encryption::Required);
    assert!(is_let_in(&plain, required).await.is_err());
    assert_eq!(is_let_in(&plain, Options::new()).await, Ok(()));
}

#[test]
fn a_certificate_that_cannot_be_used_is_a_sentence_with_its_file() {
    let (settings, key) = (file("tls.toml"), file("no-key.pem"));
    std::fs::write(&key, "nothing").expect("a folder");
    let text = format!("memory = true\n[tls]\ncertificate = {key:?}\nkey = {key:?}\n");
    std::fs::write(&settings, text).expect("a folder");
    let mut command = rejoin();
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"]);
    let started = std::time::Instant::now();
    let output = command.arg("--config").arg(&settings).output().expect("it runs");
    assert!(started.elapsed() < Duration::from_secs(20));
    assert_eq!(output.status.code(), Some(1));
    let told = told(&output);
    assert!(told.contains("no-key.pem") && told.contains("certificate"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_asks_for_it_speaks_compressed_at_every_door() {
    let doors = ["--tcp-listen", "127.0.0.1:0", "--enet-listen", "127.0.0.1:0", "--compression"];
    let serving = Serving::start(&[&["--dev", "--memory"][..], &doors].concat());
    let words = || serving.said.iter().flat_map(|line| line.split_whitespace());
    let mut players = Vec::new();
    for (start, asks) in [("ws://", true), ("tcp://", true), ("enet://", true), ("ws://", false)] {
        let url = words().find(|word| word.starts_with(start)).expect("it says where");
        let options = Options::new().compression(asks);
        let (player, mut events) = Player::connect(url, options).await.expect("an address");
        let told = until(&mut events, |event| matches!(event, Event::Connected { .. })).await;
        let Event::Connected { capabilities, .. } = told else { unreachable!() };
        assert_eq!(capabilities.is_empty(), !asks, "{start}");
        player.join("relay", "square", true, "").await.expect("there is room");
        until(&mut events, |event| matches!(event, Event::Joined { .. })).await;
        players.push((player, events));
    }
    let sessions = ask(&serving, "/sessions");
    assert_eq!(sessions.matches("\"compressed\":true").count(), 3, "{sessions}");
    let figures = || {
        let metrics = ask(&serving, "/metrics");
        ["rejoin_bytes_received_total ", "rejoin_bytes_sent_total "].map(|name| {
            let line = metrics.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|count| count.parse::<u64>().ok()).expect("a count")
        })
    };
    let before = figures();
    let large = vec![7; 60_000];
    for (player, _) in &players[..3] {
        let answer = player.request(large.clone()).await.expect("an answer");
        assert!(answer == large, "it comes back whole");
    }
    let after = figures();
    let grown = [after[0] - before[0], after[1] - before[1]];
    assert!(grown[0] < 60_000 && grown[1] < 60_000, "{grown:?}");
    // What one says is heard by all the others, compressed or not, in order.
    for number in 0..10_u8 {
        players[0].0.send(vec![number; 20_000]).await.expect("there is room");
    }
    for (_, events) in &mut players[1..] {
        for number in 0..10_u8 {
            let heard = until(events, |event| matches!(event, Event::Message { .. })).await;
            assert!(matches!(heard, Event::Message { payload } if payload == vec![number; 20_000]));
        }
    }
}
