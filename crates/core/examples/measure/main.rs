//! Memory and instructions of the core, for `cargo xtask measure` and docs/PERFORMANCE.md.
//!
//! Each sub-command does one thing so often that what it costs can be told from outside: by the
//! process's memory, by counters of the core, or by callgrind as the difference of two sizes.

mod driver;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{Message, Position, Resume, client_frame, hello, up};
use rejoin_core::zone::Durability;

use crate::driver::{Client, Driver, END_MATCH, END_ZONE, START_MATCH};

const USAGE: &str = "usage: measure held N fresh|rested|joined | broadcast M \
                     | route N memory|full|guarded | resume K | rooms N";

/// Sessions that are connected at a time before they are dropped.
const GROUP: usize = 1_000;

/// Members of the zone that messages are routed through.
const MEMBERS: usize = 10;
/// Rooms that are opened and ended one after the other.
const ROOMS: usize = 200;
/// Messages that a resume is given again.
const MISSED: usize = 100;
/// Messages after which every member acknowledges.
const ACK_EVERY: usize = 32;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let size = words.get(1).and_then(|size| size.parse::<usize>().ok());
    match (words.first().copied(), size, words.get(2).copied()) {
        (Some("held"), Some(sessions), Some("fresh")) => held(sessions, Past::Fresh),
        (Some("held"), Some(sessions), Some("rested")) => held(sessions, Past::Rested),
        (Some("held"), Some(sessions), Some("joined")) => held(sessions, Past::Joined),
        (Some("broadcast"), Some(members), None) => broadcast(members),
        (Some("route"), Some(messages), Some("memory")) => {
            route(messages, Driver::new(Durability::Memory));
        }
        (Some("route"), Some(messages), Some("full")) => {
            route(messages, Driver::new(Durability::Full))
        }
        (Some("route"), Some(messages), Some("guarded")) => {
            route(messages, Driver::guarded(Durability::Memory));
        }
        (Some("resume"), Some(times), None) => resume(times),
        (Some("rooms"), Some(sessions), None) => rooms(sessions),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}

/// What the sessions of [`held`] have been through.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Past {
    /// They were dropped just now, outside zones.
    Fresh,
    /// The same, and the deadlines of their connections have passed since.
    Rested,
    /// They were dropped in a zone.
    Joined,
}

/// Sessions that nobody is connected to. The process ends with all of them still there: what a heap
/// checker finds in use at the exit is what they cost.
fn held(sessions: usize, past: Past) {
    let mut driver = Driver::new(Durability::Full);
    let before = resident();
    let mut made = 0;
    // In groups: memory of connections that are gone serves the next ones, and is not counted.
    while made < sessions {
        let group = GROUP.min(sessions - made);
        let mut clients: Vec<Client> = (0..group).map(|_| driver.log_in()).collect();
        for client in &mut clients {
            if past == Past::Joined {
                driver.join(client);
                acknowledge(&mut driver, std::slice::from_ref(client));
            }
            driver.cut(client.connection);
        }
        made += group;
        if past == Past::Rested {
            driver.wait(Duration::from_secs(15));
        }
    }
    let total = resident().saturating_sub(before);
    assert_eq!(driver.hub().sessions().filter(|(_, session)| session.is_held()).count(), sessions);
    println!("sessions {sessions}");
    println!("resident.total {total}");
    println!("resident.each {}", total / sessions.max(1));
    std::process::exit(0);
}

/// One message to everybody in a full zone.
fn broadcast(members: usize) {
    let mut driver = Driver::new(Durability::Full);
    let mut clients = full_zone(&mut driver, members);
    let before = driver.zone_counts();
    driver.heard = Some(Vec::new());
    driver.say(&mut clients[0], message());
    let heard = driver.heard.take().unwrap_or_default();
    let after = driver.zone_counts();
    // Beside the broadcast there is the Applied that tells its sender.
    let (frame, _) = heard
        .iter()
        .map(|(_, frame)| (frame, frame.len()))
        .max_by_key(|(_, len)| *len)
        .expect("somebody heard it");
    let bytes = frame.protobuf().as_ptr();
    let hearers = heard.iter().filter(|(_, other)| other.protobuf().as_ptr() == bytes).count();
    assert_eq!(hearers, members, "everybody hears it from the same bytes");
    println!("members {members}");
    println!("frames_made {}", after.said - before.said);
    println!("frames_sent {}", after.sent - before.sent);
    println!("encodings {}", frame.encodings());
    println!("sharing_the_same_bytes {hearers}");
}

/// Ordered messages from one member to all: hub, step, ring, links, and now and then an ack.
fn route(messages: usize, mut driver: Driver) {
    let mut clients = full_zone(&mut driver, MEMBERS);
    let before = driver.zone_counts();
    for index in 0..messages {
        let speaker = index % MEMBERS;
        driver.say(&mut clients[speaker], message());
        if index % ACK_EVERY == ACK_EVERY - 1 {
            acknowledge(&mut driver, &clients);
        }
    }
    let after = driver.zone_counts();
    assert_eq!(after.sent - before.sent, (messages * MEMBERS) as u64, "all of it was sent");
    println!("messages {messages}");
    println!("ring_frames {}", after.ring_frames);
}

/// A member that missed messages comes back, and is cut off before it acknowledges them.
fn resume(times: usize) {
    let mut driver = Driver::new(Durability::Full);
    let mut clients = full_zone(&mut driver, 2);
    driver.say(&mut clients[0], message());
    acknowledge(&mut driver, &clients);
    let seq = driver.zone_counts().said;
    let mut away = clients.remove(1);
    driver.cut(away.connection);
    for _ in 0..MISSED {
        driver.say(&mut clients[0], message());
    }
    let position = Some(Position { leg: away.leg, seq });
    for _ in 0..times {
        let before = driver.zone_counts().sent;
        let resume = Resume {
            session: away.session,
            token: away.token.clone(),
            position,
            oldest_unacked: away.number + 1,
            ..Resume::default()
        };
        let connection = driver.connect();
        away = driver.greet(connection, hello::Purpose::Resume(resume));
        let replayed = driver.zone_counts().sent - before;
        assert_eq!(replayed, MISSED as u64, "all of it is said again");
        driver.cut(away.connection);
    }
    println!("times {times}");
}

/// A room opens, has a match and ends while so many sessions are held elsewhere: microseconds of each,
/// the median and the worst of [`ROOMS`].
fn rooms(sessions: usize) {
    let mut driver = Driver::new(Durability::Full);
    for _ in 0..sessions {
        let client = driver.log_in();
        driver.cut(client.connection);
    }
    driver.wait(Duration::from_secs(15));
    let (mut opened, mut matches, mut ended) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROOMS {
        let mut clients: Vec<Client> = (0..MEMBERS).map(|_| driver.log_in()).collect();
        let begin = Instant::now();
        driver.join(&mut clients[0]);
        opened.push(begin.elapsed());
        for client in &mut clients[1..] {
            driver.join(client);
        }
        driver.say(&mut clients[0], order(START_MATCH));
        let begin = Instant::now();
        driver.say(&mut clients[0], order(END_MATCH));
        matches.push(begin.elapsed());
        let begin = Instant::now();
        driver.say(&mut clients[0], order(END_ZONE));
        ended.push(begin.elapsed());
        clients.iter().for_each(|client| driver.cut(client.connection));
    }
    println!("sessions {sessions}");
    for (what, mut times) in [("open", opened), ("match_end", matches), ("zone_end", ended)] {
        times.sort();
        let micros = |time: Duration| time.as_nanos() as f64 / 1_000.0;
        println!("{what}.median_us {:.1}", micros(times[times.len() / 2]));
        println!("{what}.max_us {:.1}", micros(times[times.len() - 1]));
    }
}

fn order(what: &'static [u8]) -> up::Body {
    up::Body::Message(Message { payload: Bytes::from_static(what), ..Message::default() })
}

fn full_zone(driver: &mut Driver, members: usize) -> Vec<Client> {
    let mut clients: Vec<Client> = (0..members).map(|_| driver.log_in()).collect();
    for client in &mut clients {
        driver.join(client);
    }
    clients
}

/// Everybody has everything, the zone's last broadcast included: its counter is the last number.
fn acknowledge(driver: &mut Driver, clients: &[Client]) {
    let seq = driver.zone_counts().said;
    for client in clients {
        let position = Position { leg: client.leg, seq };
        driver.receive(client.connection, client_frame::Frame::Ack(position));
    }
}

/// A message of 32 bytes.
fn message() -> up::Body {
    let payload = Bytes::from_static(b"to everybody: thirty-two bytes..");
    up::Body::Message(Message { payload, ..Message::default() })
}

/// Memory of this process that is in use, as the kernel counts it, in bytes.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kib = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<usize>().ok());
    kib.unwrap_or_default() * 1_024
}
