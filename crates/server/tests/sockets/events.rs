//! Events: over the stream with its cursor, and to listeners in the process.

use std::sync::mpsc;
use std::time::Duration;

use rejoin_core::event::{EndCause, Event};
use rejoin_core::hub::SessionConfig;
use rejoin_server::events::{HoldEnded, PlayerConnected, PlayerLeft};
use rejoin_server::{AdminConfig, Listener, Server, SightConfig, WebConfig};

use crate::client::{PATIENCE, builder, start, start_with, until};
use crate::operator::Told;

/// Begins and ends a session of the server's own: two events.
async fn blink(server: &Server) {
    let id = server.start_session(SessionConfig::default()).await.expect("there is room");
    server.end(id, EndCause::Kicked).await.expect("it is there");
}

fn numbers(told: &[Told]) -> Vec<u64> {
    told.iter().map(Told::number).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_that_comes_back_misses_nothing_and_hears_nothing_twice() {
    let running = start().await;
    let operator = running.operator().await;
    let mut steady = operator.stream("/events?after=0", &[]).await;
    let mut first = operator.stream("/events?after=0", &[]).await;

    let ann = running.member("square").await;
    let joined = |told: &Told| told.event == "ZoneJoined";
    let mut heard = first.until(joined).await;
    drop(first);
    let session = ann.welcome["session"].clone();
    drop(ann.socket);
    let bob = running.member("square").await;
    // A browser says it in a header, and still asks for the address it had at first.
    let cursor = heard.last().expect("some were heard").id.clone();
    let back = [("Last-Event-ID", cursor.as_str())];
    let mut second = operator.stream("/events?after=0", &back).await;
    heard.extend(second.until(|told| joined(told) && told.data["session"] != session).await);
    drop(second);
    drop(bob.socket);
    let cursor = heard.last().expect("some were heard").id.clone();
    let mut third = operator.stream(&format!("/events?after={cursor}"), &[]).await;
    let dropped = |told: &Told| told.event == "PlayerDropped" && told.data["session"] != session;
    heard.extend(third.until(dropped).await);

    assert_eq!(heard, steady.until(dropped).await);
    assert_eq!(numbers(&heard), (1..=heard.len() as u64).collect::<Vec<_>>());
    let of_ann: Vec<_> =
        heard.iter().filter(|told| told.data["session"] == session).map(|t| &*t.event).collect();
    let expected = ["PlayerConnected", "SessionLinked", "ZoneJoined", "PlayerDropped"];
    assert_eq!(of_ann, expected);
    assert!(heard.iter().all(|told| told.data["kind"] == *told.event));
    running.server.stop().await;
    third.ended().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_that_is_too_old_gets_a_gap_with_its_size() {
    let sight = SightConfig { journal_events: 8, ..SightConfig::default() };
    let running = start_with(builder().sight(sight), WebConfig::default()).await;
    let operator = running.operator().await;
    blink(&running.server).await;
    let first = operator.stream("/events?after=0", &[]).await.next().await;
    for _ in 0..9 {
        blink(&running.server).await;
    }
    let left = |told: &Told| told.event == "PlayerLeft" && told.number() == 20;
    let path = format!("/events?after={}", first.id);
    let told = operator.stream(&path, &[]).await.until(left).await;
    assert_eq!((&*told[0].event, &told[0].data["reason"]), ("gap", &"overrun".into()));
    assert_eq!(told[0].data["lost"], "11");
    assert_eq!(numbers(&told[1..]), (13..=20).collect::<Vec<_>>());
    // The gap has a cursor of its own: who reads only that is not told again.
    let path = format!("/events?after={}", told[0].id);
    assert_eq!(operator.stream(&path, &[]).await.next().await.number(), 13);

    let elsewhere = "/events?after=0123456789abcdef-5";
    let told = operator.stream(elsewhere, &[]).await.until(left).await;
    assert_eq!((&*told[0].event, &told[0].data["reason"]), ("gap", &"restarted".into()));
    assert!(told[0].data["lost"].is_null());
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_reader_can_ask_for_one_session_or_some_kinds() {
    let running = start().await;
    let operator = running.operator().await;
    let ann = running.member("square").await;
    let bob = running.member("square").await;
    let (ann, bob) = (&ann.welcome["session"], &bob.welcome["session"]);
    let session = bob.as_str().expect("an id");
    let path = format!("/events?after=0&session={session}&kind=SessionLinked%2CZoneJoined");
    let mut stream = operator.stream(&path, &[]).await;
    let told = [stream.next().await, stream.next().await];
    assert_eq!(told.each_ref().map(|one| &*one.event), ["SessionLinked", "ZoneJoined"]);
    assert!(told.iter().all(|one| one.data["session"] == *bob && bob != ann));
    assert_eq!(told[1].data["zone"]["name"], "square");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn wrong_parameters_and_too_many_readers_get_a_sentence() {
    let running = start().await;
    let config = AdminConfig { event_readers_max: 1, ..AdminConfig::default() };
    let operator = running.operator_with(config).await;
    for (path, sentence) in [
        ("/events?after=5", "after must be 0 or the id of an event"),
        ("/events?after=", "after must be 0 or the id of an event"),
        ("/events?session=ann", "session must be a whole number"),
        ("/events?kind=PlayerVanished", "there is no kind of event \"PlayerVanished\""),
        ("/events?since=1", "there is no parameter \"since\""),
        ("/events?after=0&after=0", "twice"),
    ] {
        let answer = operator.get(path).await;
        assert_eq!(answer.status, 400, "{path}");
        assert!(answer.body.contains(sentence), "{path}: {}", answer.body);
    }
    blink(&running.server).await;
    let mut stream = operator.stream("/events?after=0", &[]).await;
    let id = stream.next().await.id;
    let ahead = format!("/events?after={}9999", id);
    assert!(operator.get(&ahead).await.body.contains("ahead of everything"));
    assert_eq!(operator.get("/events").await.status, 503);
    assert_eq!(operator.metrics().await["rejoin_event_readers"], 1.0);
    drop(stream);
    until("the place is free", async || {
        // What is written to a reader that is gone fails only with the next event.
        blink(&running.server).await;
        operator.metrics().await["rejoin_event_readers"] == 0.0
    })
    .await;
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_stream_beats_and_names_its_cursor() {
    let running = start().await;
    let config = AdminConfig { heartbeat: Duration::from_millis(20), ..AdminConfig::default() };
    let operator = running.operator_with(config).await;
    blink(&running.server).await;
    // It wants nothing of what happened, and still learns how far it is.
    let mut stream = operator.stream("/events?after=0&kind=MatchStarted", &[]).await;
    let cursor = stream.beat().await;
    assert!(cursor.ends_with("-2"), "{cursor}");
    running.server.stop().await;
    stream.ended().await;
}

/// Blocks until it is let go, and tells what it missed.
struct Slow {
    gate: mpsc::Receiver<()>,
    heard: mpsc::Sender<Result<(), u64>>,
}

impl Listener<PlayerLeft> for Slow {
    fn hear(&mut self, _: &PlayerLeft) {
        let _ = self.gate.recv();
        let _ = self.heard.send(Ok(()));
    }

    fn missed(&mut self, events: u64) {
        let _ = self.heard.send(Err(events));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_listener_that_panics_stops_no_other_and_is_told_of_the_next() {
    const BLINKS: usize = 3;
    let running = start().await;
    let operator = running.operator().await;
    let server = &running.server;
    let (heard, hears) = mpsc::channel();
    let listening = [
        server.on(|_: &PlayerConnected| panic!("a listener of the test panics")),
        server.on(move |event: &Event| drop(heard.send(event.clone()))),
    ];
    let listening = listening.map(|one| one.expect("a thread"));
    for _ in 0..BLINKS {
        blink(server).await;
    }
    hear_all(&hears, 2 * BLINKS);
    until("every panic is counted", async || {
        operator.metrics().await["rejoin_listener_panics_total"] == BLINKS as f64
    })
    .await;
    drop(listening);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_listener_stops_no_other_and_learns_how_many_it_missed() {
    // More than the server keeps for one that is behind, in steps that the quick ones can follow.
    const STEPS: usize = 22;
    const BLINKS: usize = 100;
    let running = start().await;
    let server = &running.server;
    let (open, gate) = mpsc::channel();
    let (slow, slow_heard) = mpsc::channel();
    let (all, all_heard) = mpsc::channel();
    let (typed, typed_heard) = mpsc::channel();
    let listening = [
        server.on(Slow { gate, heard: slow }),
        server.on(move |event: &Event| drop(all.send(event.clone()))),
        server.on(move |left: &PlayerLeft| {
            let _ = typed.send(left.cause);
        }),
        server.on(|_: &HoldEnded| unreachable!("no hold ends here")),
    ];
    let listening = listening.map(|one| one.expect("a thread"));
    for _ in 0..STEPS {
        for _ in 0..BLINKS {
            blink(server).await;
        }
        hear_all(&all_heard, 2 * BLINKS);
        let causes = hear_all(&typed_heard, BLINKS);
        assert!(causes.iter().all(|cause| *cause == EndCause::Kicked), "{causes:?}");
    }

    // The slow one has heard one event, or none yet; let go, it learns how many went by.
    drop(open);
    let heard: Vec<_> = slow_heard.iter().take(2).collect();
    let missed = heard.iter().find_map(|heard| heard.err()).expect("it missed some");
    assert!(missed > 0 && missed < (2 * STEPS * BLINKS) as u64, "{missed}");
    drop(listening);
    server.stop().await;
}

/// Waits for so many, on this thread: the runtime of these tests has others.
fn hear_all<T>(heard: &mpsc::Receiver<T>, count: usize) -> Vec<T> {
    let one = |_| heard.recv_timeout(PATIENCE).expect("every one of them");
    tokio::task::block_in_place(|| (0..count).map(one).collect())
}
