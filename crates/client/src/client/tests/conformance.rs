//! The scripts in `conformance/`, which clients in every language pass, held against this client in
//! both encodings.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-client conformance` writes down what this client does where a
//! script expects something else; a change in them is a change for every client.

mod said;

use std::fs;
use std::path::{Path, PathBuf};

use rejoin_wire::{Encoding, Limits, decode_server, encode_server};
use serde_json::{Map, Value, json};

use super::*;
use crate::chance::Chance;
use crate::{Secret, SendError, Signer};

#[test]
fn every_script_is_played_as_it_is_written() {
    let mut played = 0;
    for path in scripts() {
        let mut script: Value = serde_json::from_str(&fs::read_to_string(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if std::env::var_os("REJOIN_BLESS").is_some_and(|value| value == "1") {
            script["steps"] = Value::Array(play(&script, encodings(&script)[0]));
            fs::write(&path, said::written(&script)).unwrap();
        }
        for encoding in encodings(&script) {
            let expected = script["steps"].as_array().unwrap();
            for (number, (step, expected)) in
                play(&script, encoding).iter().zip(expected).enumerate()
            {
                let name = path.file_name().unwrap().to_string_lossy();
                assert_eq!(step, expected, "{name}, {encoding:?}, step {}", number + 1);
            }
            played += 1;
        }
    }
    assert!(played > 20, "only {played} were played");
}

/// Somebody who adds an event without a script for it is told so.
#[test]
fn every_event_output_and_input_has_a_step() {
    let text: String = scripts().iter().map(|path| fs::read_to_string(path).unwrap()).collect();
    let events = "connected disconnected reconnecting stopped taken_over left joined parted refused \
        message latest unreliable reply request_ended call resync sends_lost notice violation";
    let outputs = "connect send close store_token store_secret forget_token event";
    let inputs = "connect connect_fresh retry opened closed receive wake probe cancel leave join \
        part send send_latest send_unreliable request answer";
    for word in events.split_whitespace() {
        assert!(text.contains(&format!("{{\"event\":{{\"{word}\":")), "no event {word}");
    }
    for word in outputs.split_whitespace() {
        assert!(text.contains(&format!("       {{\"{word}\":")), "no output {word}");
    }
    for word in inputs.split_whitespace() {
        let found = ["\"do\": {\"", "\"do\": \""]
            .iter()
            .any(|start| text.contains(&format!("{start}{word}\"")));
        assert!(found, "no input {word}");
    }
}

fn scripts() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance");
    let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let mut scripts: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|end| end == "json")).collect();
    scripts.sort();
    scripts
}

fn encodings(script: &Value) -> Vec<Encoding> {
    let both = json!(["protobuf", "json"]);
    let named = script.get("encodings").unwrap_or(&both).as_array().unwrap();
    named
        .iter()
        .map(|name| match text(name) {
            "json" => Encoding::Json,
            _ => Encoding::Protobuf,
        })
        .collect()
}

/// Plays the inputs of a script; gives its steps with what came of each.
fn play(script: &Value, encoding: Encoding) -> Vec<Value> {
    let mut client = client(script, encoding);
    let mut now = Time::ZERO;
    let mut steps = Vec::new();
    for step in script["steps"].as_array().unwrap() {
        now = match step.get("at") {
            Some(Value::String(_)) => client.next_deadline().expect("something is due").max(now),
            Some(at) => Time::from_millis(at.as_u64().unwrap()),
            None => now,
        };
        let returned = act(&mut client, now, encoding, &step["do"]);
        let mut played = Map::new();
        for key in ["about", "at", "do"] {
            played.extend(step.get(key).map(|value| (key.to_owned(), value.clone())));
        }
        played.extend(returned.map(|returned| ("returns".to_owned(), returned)));
        let outputs = std::iter::from_fn(|| client.next_output());
        let outputs = outputs.map(|output| said::output(encoding, output)).collect();
        played.insert("outputs".into(), Value::Array(outputs));
        played.insert("status".into(), format!("{:?}", client.status()).to_lowercase().into());
        played.insert("deadline".into(), json!(client.next_deadline().map(|at| at.0)));
        if let Some(Latency { last, smoothed }) = client.latency() {
            let latency = json!([last.as_micros() as u64, smoothed.as_micros() as u64]);
            played.insert("latency".into(), latency);
        }
        steps.push(Value::Object(played));
    }
    steps
}

fn client(script: &Value, encoding: Encoding) -> Client {
    let mut config = Config::new("play.example");
    config.encoding = encoding;
    for (key, value) in script.get("config").and_then(Value::as_object).into_iter().flatten() {
        match key.as_str() {
            "send_buffer_frames_max" => config.send_buffer_frames_max = number(value) as usize,
            "send_buffer_bytes_max" => config.send_buffer_bytes_max = number(value) as usize,
            "requests_max" => config.requests_max = number(value) as usize,
            "ack_every" => config.ack_every = number(value) as u32,
            "capabilities" => {
                let names = value.as_array().unwrap().iter();
                config.capabilities = names.map(|name| text(name).to_owned()).collect();
            }
            "admission" => config.admission = text(value).to_owned().into(),
            other => panic!("no such setting: {other}"),
        }
    }
    let identity = match &script["identity"] {
        Value::String(_) => Identity::Anonymous,
        identity if identity.get("key").is_some() => Identity::Key(Box::new(Echo)),
        identity => Identity::Secret(identity["secret"].as_str().map(secret)),
    };
    let mut client = match script.get("resume_state") {
        Some(state) => {
            let (session, epoch) = (number(&state["session"]), number(&state["epoch"]));
            let token = secret(text(&state["token"]));
            Client::with_resume_state(
                config,
                identity,
                [0; 32],
                ResumeState { session, token, epoch },
            )
        }
        None => Client::new(config, identity, [0; 32]),
    };
    let numbers = script.get("chance").and_then(Value::as_array).into_iter().flatten();
    client.chance = Chance::of_numbers(numbers.map(number));
    client
}

/// One input; what a send returned.
fn act(client: &mut Client, now: Time, encoding: Encoding, input: &Value) -> Option<Value> {
    let (word, given) = match input {
        Value::String(word) => (word.as_str(), &Value::Null),
        input => {
            let (word, given) = input.as_object().unwrap().iter().next().unwrap();
            (word.as_str(), given)
        }
    };
    let payload = |key: &str| given.get(key).map_or("", text).to_owned();
    let sent = match word {
        "join" if given.get("ticket").is_some() => client.join_game(
            payload("kind"),
            payload("name"),
            payload("ticket"),
            payload("payload"),
        ),
        "join" => {
            let create = given["create"].as_bool().unwrap_or(false);
            client.join(payload("kind"), payload("name"), create, payload("payload"))
        }
        "part" => client.part(),
        "send" => client.send(text(given).to_owned()),
        "send_latest" => client.send_latest(payload("key"), payload("payload")),
        "request" => client.request(text(given).to_owned()),
        "answer" => client.answer(number(&given["call"]), payload("payload")),
        "send_unreliable" => {
            let sent = client.send_unreliable(text(given).to_owned());
            return Some(sent.map_or_else(error, |()| Value::Null));
        }
        _ => {
            steer(client, now, encoding, word, given);
            return None;
        }
    };
    Some(sent.map_or_else(error, |id| json!(id.0)))
}

fn steer(client: &mut Client, now: Time, encoding: Encoding, word: &str, given: &Value) {
    match word {
        "connect" => client.connect(now),
        "connect_fresh" => client.connect_fresh(now),
        "retry" => client.retry(now),
        "hasten" => client.hasten(now),
        "opened" => client.opened(now),
        "closed" => client.closed(now, given.as_str().map(said::close_code)),
        "wake" => client.wake(now),
        "probe" => client.probe(now),
        "cancel" => client.cancel(now),
        "leave" => client.leave(now),
        "receive" => {
            let frame = decode_server(Encoding::Json, given.to_string().into(), &Limits::DEFAULT);
            let frame = frame.unwrap_or_else(|error| panic!("{given}: {error}"));
            client.received(now, encode_server(encoding, &frame).unwrap());
        }
        "receive_text" => client.received(now, text(given).to_owned().into()),
        other => panic!("no such input: {other}"),
    }
}

fn error(error: SendError) -> Value {
    let kind = match error {
        SendError::Full => "full",
        SendError::TooManyRequests => "too_many_requests",
        SendError::TooLarge { .. } => "too_large",
        SendError::EmptyKey => "empty_key",
        SendError::NotConnected => "not_connected",
        SendError::Leaving => "leaving",
    };
    json!({ "error": kind })
}

/// Signs as `conformance/README.md` says: no signature, but bytes that show what was signed.
struct Echo;

impl Signer for Echo {
    fn public_key(&self) -> [u8; 32] {
        [8; 32]
    }

    fn sign(&self, text: &[u8]) -> [u8; 64] {
        let mut sum = [0; 64];
        text.iter().enumerate().for_each(|(index, byte)| sum[index % 64] ^= byte.rotate_left(1));
        sum
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text"))
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| text(value).parse().unwrap())
}

/// 32 times the same byte, which is how scripts write secrets and tokens.
fn secret(byte: &str) -> Secret {
    Secret::new([byte.parse().unwrap(); 32])
}
