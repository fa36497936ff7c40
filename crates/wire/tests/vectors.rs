//! The golden vectors that clients in every language pass, held against this crate.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-wire --test vectors` writes them anew; a change in them is a
//! change of the protocol and belongs in the changelog.
#![cfg(feature = "json")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rejoin_wire::close::TABLE;
use rejoin_wire::proof::{Proof, Purpose, signed_text};
use rejoin_wire::v1::{ClientFrame, ServerFrame};
use rejoin_wire::{
    Bytes, DecodeError, Encoding, Limits, decode_client, decode_server, encode_client,
    encode_server, unpack_client, unpack_server,
};
use serde_json::{Value, json};

#[path = "vectors/frames.rs"]
mod frames;
#[path = "vectors/packed.rs"]
mod packed;
#[path = "vectors/refused.rs"]
mod refused;

const LIMITS: Limits = Limits::DEFAULT;

#[test]
fn every_frame_is_written_and_read_as_the_vectors_say() {
    golden("frames.json", frame_vectors());

    let client = frames::client();
    let server = frames::server();
    for vector in read("frames.json") {
        let name = vector["name"].as_str().unwrap();
        let protobuf = Bytes::from(unhex(vector["proto_hex"].as_str().unwrap()));
        let text = Bytes::from(vector["json"].to_string());
        if vector["direction"] == "client" {
            let frame = find(&client, name);
            assert_eq!(decode_client(Encoding::Protobuf, protobuf, &LIMITS).as_ref(), Ok(frame));
            assert_eq!(decode_client(Encoding::Json, text, &LIMITS).as_ref(), Ok(frame));
        } else {
            let frame = find(&server, name);
            assert_eq!(decode_server(Encoding::Protobuf, protobuf, &LIMITS).as_ref(), Ok(frame));
            assert_eq!(decode_server(Encoding::Json, text, &LIMITS).as_ref(), Ok(frame));
        }
    }
}

/// A variant shows as a path of field names in the JSON, so the paths tell what is covered.
#[test]
fn every_variant_of_every_oneof_has_a_vector() {
    let mut covered = BTreeSet::new();
    for vector in frame_vectors() {
        let direction = vector["direction"].as_str().unwrap().to_owned();
        cover(&vector["json"], direction, &mut covered);
    }
    let expected = [
        ("client", "hello up loose ack ping pong"),
        ("client.hello", "login resume"),
        ("client.hello.login", "key secret mint anonymous"),
        ("client.up", "message answer join part bye"),
        ("server", "challenge welcome refusal down loose applied ping pong resync notice farewell"),
        ("server.down", "message reply refused call joined parted"),
    ];
    for (parent, variants) in expected {
        for variant in variants.split(' ') {
            assert!(covered.contains(&format!("{parent}.{variant}")), "{parent}.{variant}");
        }
    }
}

#[test]
fn what_must_be_refused_is_refused_for_the_reason_given() {
    let mut vectors = Vec::new();
    for case in refused::all() {
        let bytes = Bytes::from(case.bytes.clone());
        let result = match case.direction {
            "client" => decode_client(case.encoding, bytes, &LIMITS).map(drop),
            _ => decode_server(case.encoding, bytes, &LIMITS).map(drop),
        };
        let kind = result.as_ref().map_err(DecodeError::kind);
        assert_eq!(kind, Err(case.kind), "{} {}", case.direction, case.name);
        let (field, input) = match case.encoding {
            Encoding::Protobuf => ("proto_hex", hex(&case.bytes)),
            Encoding::Json => ("json_text", String::from_utf8(case.bytes).unwrap()),
        };
        let close = result.unwrap_err().close_code().as_str_name();
        vectors.push(json!({
            "name": case.name,
            "direction": case.direction,
            field: input,
            "error": case.kind,
            "close_code": close,
        }));
    }
    golden("refused.json", vectors);
}

#[test]
fn compressed_frames_are_what_the_vectors_say() {
    let mut vectors = Vec::new();
    for case in packed::all() {
        let bytes = Bytes::from(case.packed.clone());
        let unpacked = match case.direction {
            "client" => unpack_client(bytes, &LIMITS),
            _ => unpack_server(bytes, &LIMITS),
        };
        let kind = unpacked.as_ref().map(|frame| frame.to_vec()).map_err(DecodeError::kind);
        assert_eq!(kind, case.frame, "{} {}", case.direction, case.name);
        let mut vector = json!({
            "name": case.name,
            "direction": case.direction,
            "packed_hex": hex(&case.packed),
        });
        match &unpacked {
            Ok(frame) => vector["proto_hex"] = hex(frame).into(),
            Err(error) => {
                vector["error"] = error.kind().into();
                vector["close_code"] = error.close_code().as_str_name().into();
            }
        }
        vectors.push(vector);
    }
    golden("packed.json", vectors);
}

#[test]
fn the_text_that_a_key_signs_is_as_the_vectors_say() {
    let nonce: Vec<u8> = (0..32).collect();
    let two = ["zstd".to_owned(), "voice".to_owned()];
    let login = Proof {
        purpose: Purpose::Login,
        version: 1,
        server_name: "play.example",
        nonce: &nonce,
        session: 0,
        epoch: 0,
        fresh: false,
        cold: false,
        capabilities: &[],
        admission: &[],
        channel_binding: &[],
    };
    let cases = [
        ("login", login),
        ("login_capabilities", Proof { capabilities: &two, ..login }),
        ("login_bound", Proof { channel_binding: &nonce, ..login }),
        ("login_fresh", Proof { fresh: true, ..login }),
        ("login_admission", Proof { admission: b"ticket", ..login }),
        ("login_unicode", Proof { server_name: "größe.example", ..login }),
        ("resume", Proof { purpose: Purpose::Resume, session: 77, epoch: 4, ..login }),
        ("resume_cold", Proof { purpose: Purpose::Resume, session: 77, cold: true, ..login }),
        (
            "resume_most",
            Proof { purpose: Purpose::Resume, session: u64::MAX, epoch: u64::MAX, ..login },
        ),
        ("link", Proof { purpose: Purpose::Link, ..login }),
    ];
    let vector = |(name, proof): (&str, Proof<'_>)| {
        json!({
            "name": name,
            "purpose": proof.purpose.as_str(),
            "version": proof.version,
            "server_name": proof.server_name,
            "nonce_hex": hex(proof.nonce),
            "session": proof.session.to_string(),
            "epoch": proof.epoch.to_string(),
            "fresh": proof.fresh,
            "cold": proof.cold,
            "capabilities": proof.capabilities,
            "admission_hex": hex(proof.admission),
            "channel_binding_hex": hex(proof.channel_binding),
            "signed_text_hex": hex(&signed_text(&proof)),
        })
    };
    golden("proof.json", cases.into_iter().map(vector).collect());
}

#[test]
fn the_table_of_close_codes_is_as_the_vectors_say() {
    let vector = |row: &rejoin_wire::close::CloseRow| {
        json!({
            "name": row.name,
            "code": row.status(),
            "fault": row.fault.to_string(),
            "next": row.next.to_string(),
            "sentence": row.sentence,
        })
    };
    golden("close.json", TABLE.iter().map(vector).collect());
}

/// The names of the vectors are unique within a direction, so that a client can report by name.
#[test]
fn names_are_unique() {
    let client = frames::client().into_iter().map(|(name, _): (_, ClientFrame)| ("client", name));
    let server = frames::server().into_iter().map(|(name, _): (_, ServerFrame)| ("server", name));
    let mut seen = BTreeSet::new();
    for name in client.chain(server) {
        assert!(seen.insert(name), "{name:?}");
    }
    for case in refused::all() {
        let encoding = case.encoding.name();
        assert!(seen.insert((encoding, case.name)), "{encoding} {}", case.name);
    }
}

fn frame_vectors() -> Vec<Value> {
    let vector = |name: &str, direction: &str, protobuf: Bytes, text: Bytes| {
        let value: Value = serde_json::from_slice(&text).unwrap();
        json!({"name": name, "direction": direction, "proto_hex": hex(&protobuf), "json": value})
    };
    let client = frames::client().into_iter().map(|(name, frame)| {
        let [protobuf, text] = Encoding::ALL.map(|each| encode_client(each, &frame).unwrap());
        vector(name, "client", protobuf, text)
    });
    let server = frames::server().into_iter().map(|(name, frame)| {
        let [protobuf, text] = Encoding::ALL.map(|each| encode_server(each, &frame).unwrap());
        vector(name, "server", protobuf, text)
    });
    client.chain(server).collect()
}

/// Compares with the committed file, or writes it when asked to bless.
fn golden(file: &str, vectors: Vec<Value>) {
    if std::env::var_os("REJOIN_BLESS").is_some_and(|value| value == "1") {
        let text = serde_json::to_string_pretty(&vectors).unwrap() + "\n";
        fs::write(path(file), text).unwrap();
    }
    let committed = read(file);
    for (ours, theirs) in vectors.iter().zip(&committed) {
        assert_eq!(ours, theirs, "{file}");
    }
    assert_eq!(vectors.len(), committed.len(), "{file} has more or fewer vectors than the code");
}

fn read(file: &str) -> Vec<Value> {
    let text = fs::read_to_string(path(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
    serde_json::from_str(&text).unwrap()
}

fn path(file: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(file)
}

fn find<'a, F>(frames: &'a [(&str, F)], name: &str) -> &'a F {
    &frames.iter().find(|(each, _)| *each == name).unwrap_or_else(|| panic!("no frame {name}")).1
}

fn cover(value: &Value, path: String, covered: &mut BTreeSet<String>) {
    if let Value::Object(fields) = value {
        for (name, value) in fields {
            cover(value, format!("{path}.{name}"), covered);
        }
    }
    covered.insert(path);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn unhex(text: &str) -> Vec<u8> {
    let digits = text.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
    digits.map(|pair| u8::from_str_radix(pair, 16).unwrap()).collect()
}
