//! Replays the seeds of the fuzz targets `hub` and `rows` as a plain test.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-core --test corpus` makes the seeds anew.

use rejoin_core::connection::FromConnection;
use rejoin_core::hub::{Hub, HubConfig, HubInput, HubOutput, Recovered};
use rejoin_core::id::ConnectionId;
use rejoin_core::scope::{Batch, Change, ScopeId};
use rejoin_core::session::Serializer;
use rejoin_core::time::{Time, WallTime};
use rejoin_core::wire::v1::{
    Anonymous, Bye, ClientFrame, Hello, Join, Login, Message, Ping, Position, Up,
    client_frame::Frame, hello, login, up,
};
use rejoin_core::wire::{Encoding, encode_client};

#[allow(unreachable_pub, dead_code)] // Public where it lives.
#[path = "../../../fuzz/src/hub.rs"]
mod hub;
#[allow(unreachable_pub, dead_code)]
#[path = "../../../fuzz/src/replay.rs"]
mod replay;

const COMES: u8 = 0;
const GOES: u8 = 2;
const WAIT: u8 = 8;
const COMMIT: u8 = 9;
const SPEAKS: u8 = 13;

#[test]
fn the_seeds_of_hub_hold() {
    replay::replay("hub", hub::hub, || {
        let login = [&[COMES, COMMIT][..], &speaks(hello_frame()), &[COMMIT]].concat();
        let joins = speaks(numbered(1, up::Body::Join(join())));
        let says = speaks(numbered(2, up::Body::Message(Message::default())));
        let pings = speaks(Frame::Ping(Ping { nonce: 1 }));
        let acks = speaks(Frame::Ack(Position { leg: 1 << 32, seq: 1 }));
        let byes = speaks(numbered(3, up::Body::Bye(Bye::default())));
        let seed = |name: &str, parts: &[&[u8]]| (format!("{name}.bin"), parts.concat());
        vec![
            seed("login", &[&login]),
            seed("play", &[&login, &joins, &[COMMIT], &says, &acks, &pings, &byes, &[COMMIT]]),
            seed("drop", &[&login, &joins, &[COMMIT, GOES, COMMIT, WAIT, 200, WAIT, 200, COMMIT]]),
            seed("crowd", &[&login, &[COMES, COMES, GOES | 1 << 4, WAIT, 255]]),
            seed("silent", &[&[COMES, WAIT, 255, WAIT, 255]]),
            seed("garbage", &[&[COMES, SPEAKS, 3, 1, 2, 3]]),
        ]
    });
}

#[test]
fn the_seeds_of_rows_hold() {
    replay::replay("rows", hub::rows, || {
        let rows = kept_rows();
        let part = |row: &[u8]| [&[row.len() as u8], row].concat();
        let scope = |kind: fn(&ScopeId) -> bool| {
            let of_kind: Vec<_> = rows.iter().filter(|(scope, ..)| kind(scope)).take(3).collect();
            let mut written = vec![of_kind.len() as u8];
            for (_, key, value) in of_kind {
                written.extend([part(key), part(value)].concat());
            }
            written
        };
        let hub = scope(|scope| *scope == ScopeId::Hub);
        let session = scope(|scope| matches!(scope, ScopeId::Session(_)));
        let seed = |name: &str, parts: &[&[u8]]| (format!("{name}.bin"), parts.concat());
        vec![
            seed("nothing", &[]),
            seed("hub", &[&hub]),
            seed("session", &[&hub, &session]),
            seed("twice", &[&hub, &session, &session]),
            seed("swapped", &[&session, &hub]),
        ]
    });
}

/// What a hub keeps of one session that has logged in.
fn kept_rows() -> Vec<(ScopeId, Vec<u8>, Vec<u8>)> {
    let config = HubConfig { anonymous: true, ..HubConfig::default() };
    let (now, wall) = (Time::from_millis(1_000), WallTime(1_000_000));
    let (mut hub, _) = Hub::open(now, wall, config, [7; 32], Recovered::default());
    let mut kept = Vec::new();
    let keep = |hub: &mut Hub, kept: &mut Vec<_>| loop {
        let mut batches: Vec<Batch> = Vec::new();
        while let Some(output) = hub.next_output() {
            if let HubOutput::Commit(batch) = output {
                batches.push(batch);
            }
        }
        if batches.is_empty() {
            return;
        }
        for batch in batches {
            for change in batch.changes {
                if let Change::Put(key, value) = change {
                    kept.push((batch.scope, key.to_vec(), value.to_vec()));
                }
            }
            hub.handle(now, HubInput::Committed(batch.scope, batch.revision));
        }
    };
    keep(&mut hub, &mut kept);
    let connection = ConnectionId(1);
    let serializer = Serializer::Protobuf;
    hub.handle(now, HubInput::Opened { connection, serializer, origin: None, is_encrypted: false });
    let Frame::Hello(hello) = hello_frame() else { unreachable!("it is one") };
    hub.handle(now, HubInput::FromConnection(connection, FromConnection::Hello(Box::new(hello))));
    keep(&mut hub, &mut kept);
    kept
}

fn hello_frame() -> Frame {
    let login = Login {
        identity: Some(login::Identity::Anonymous(Anonymous::default())),
        ..Login::default()
    };
    let purpose = Some(hello::Purpose::Login(login));
    Frame::Hello(Hello {
        version: 1,
        server_name: "localhost".to_owned(),
        purpose,
        ..Hello::default()
    })
}

fn join() -> Join {
    Join { kind: "relay".to_owned(), name: "r".to_owned(), create: true, ..Join::default() }
}

fn numbered(seq: u64, body: up::Body) -> Frame {
    Frame::Up(Up { seq, body: Some(body) })
}

/// The step that says a frame on the first connection.
fn speaks(frame: Frame) -> Vec<u8> {
    let frame = ClientFrame { frame: Some(frame) };
    let bytes = encode_client(Encoding::Protobuf, &frame).expect("every frame has protobuf");
    [&[SPEAKS, bytes.len() as u8], &bytes[..]].concat()
}
