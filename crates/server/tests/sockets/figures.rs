//! The figures tell the story that was played, and their number does not depend on the players.

use rejoin_core::id::SessionId;
use serde_json::json;

use crate::client::{Client, Running, start, until};
use crate::operator::Operator;

async fn reaches(operator: &Operator, series: &str, value: f64) {
    until(&format!("{series} is {value}"), async || {
        operator.metrics().await.get(series) == Some(&value)
    })
    .await;
}

fn id(client: &Client) -> SessionId {
    SessionId(client.welcome["session"].as_str().expect("an id").parse().expect("a number"))
}

/// Two players; one drops and returns, the other is taken over, the first leaves.
async fn play(running: &Running, operator: &Operator) {
    let mut ann = running.member("square").await;
    let bob = running.member("square").await;
    reaches(operator, "rejoin_sessions_active", 2.0).await;
    let (welcome, leg, seq) = (ann.welcome.clone(), ann.leg.clone(), ann.seq.clone());
    drop(ann.socket);
    reaches(operator, "rejoin_sessions_held", 1.0).await;
    reaches(operator, "rejoin_sessions_active", 1.0).await;

    ann = running.dial().await;
    (ann.welcome, ann.leg, ann.seq) = (welcome, leg, seq);
    let mut ann = running.resume(&ann).await;
    assert_eq!(ann.welcome["rung"], "RUNG_REPLAYED");
    let mut old = bob;
    let bob = running.resume(&old).await;
    assert_eq!(old.closed().await, Some(4001));

    ann.say(json!({"up": {"seq": "2", "bye": {}}})).await;
    assert_eq!(ann.closed().await, Some(4000));
    reaches(operator, "rejoin_sessions_ended_total{cause=\"left\"}", 1.0).await;
    drop(bob.socket);
    reaches(operator, "rejoin_sessions_held", 1.0).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_figures_tell_the_story() {
    let running = start().await;
    let operator = running.operator().await;
    play(&running, &operator).await;
    reaches(&operator, "rejoin_connections{transport=\"websocket\"}", 0.0).await;
    let metrics = operator.metrics().await;
    for (series, value) in [
        ("rejoin_sessions_created_total", 2.0),
        ("rejoin_sessions_active", 0.0),
        ("rejoin_sessions_held", 1.0),
        ("rejoin_sessions_disconnected_total{reason=\"lost\"}", 2.0),
        ("rejoin_sessions_disconnected_total{reason=\"left\"}", 1.0),
        ("rejoin_sessions_disconnected_total{reason=\"taken_over\"}", 0.0),
        ("rejoin_sessions_ended_total{cause=\"left\"}", 1.0),
        // One of them said nothing: ann's placeholder that only lent its fields.
        ("rejoin_connections_opened_total{transport=\"websocket\"}", 5.0),
        ("rejoin_resumes_total{rung=\"new\"}", 2.0),
        ("rejoin_resumes_total{rung=\"replayed\"}", 2.0),
        ("rejoin_resumes_total{rung=\"resynced\"}", 0.0),
        ("rejoin_takeovers_total", 1.0),
        ("rejoin_replay_frames_count", 2.0),
        ("rejoin_events_total{kind=\"PlayerConnected\"}", 2.0),
        ("rejoin_events_total{kind=\"SessionLinked\"}", 4.0),
        ("rejoin_events_total{kind=\"PlayerDropped\"}", 2.0),
        ("rejoin_events_total{kind=\"PlayerReturned\"}", 2.0),
        ("rejoin_events_total{kind=\"TakenOver\"}", 1.0),
        ("rejoin_events_total{kind=\"PlayerLeft\"}", 1.0),
        ("rejoin_zones_open", 1.0),
        ("rejoin_ready", 1.0),
        // Four hellos, two joins and one bye.
        ("rejoin_frames_received_total", 7.0),
    ] {
        assert_eq!(metrics.get(series), Some(&value), "{series}");
    }
    for series in ["rejoin_frames_sent_total", "rejoin_bytes_sent_total", "rejoin_commits_total"] {
        assert!(metrics[series] > 7.0, "{series} is {}", metrics[series]);
    }
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_number_of_series_does_not_depend_on_players_names_and_zones() {
    let running = start().await;
    let operator = running.operator().await;
    let before: Vec<_> = operator.metrics().await.into_keys().collect();
    let mut clients = Vec::new();
    for player in 0..30 {
        clients.push(running.member(&format!("zone {player} {{\"x\"}}")).await);
    }
    clients.truncate(10);
    reaches(&operator, "rejoin_sessions_held", 20.0).await;
    let after = operator.metrics().await;
    assert_eq!(after["rejoin_sessions_created_total"], 30.0);
    assert_eq!(after["rejoin_zones_open"], 30.0);
    assert_eq!(before, after.into_keys().collect::<Vec<_>>());
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn ticks_are_counted() {
    use rejoin_core::zone::ZoneConfig;
    use rejoin_server::{WebConfig, relay};
    use std::time::Duration;
    let tick = Some(Duration::from_millis(10));
    let config = ZoneConfig { tick, ..relay::config() };
    let builder = crate::client::builder().zone("ticking", config, relay::Relay::default);
    let running = crate::client::start_with(builder, WebConfig::default()).await;
    let operator = running.operator().await;
    let mut ann = running.anonymous().await;
    ann.up(1, json!({"join": {"kind": "ticking", "name": "t", "create": true}})).await;
    ann.hear("down").await;
    until("it ticks", async || operator.metrics().await["rejoin_ticks_total"] >= 5.0).await;
    let metrics = operator.metrics().await;
    assert!(metrics["rejoin_tick_lateness_seconds_count"] >= 1.0);
    assert_eq!(metrics["rejoin_zone_mailbox_depth{of=\"all\"}"], 0.0);
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sample_shows_frames_and_bytes_of_single_sessions() {
    let running = start().await;
    let operator = running.operator().await;
    let mut ann = running.member("square").await;
    let bob = running.member("square").await;
    for seq in 2..=4 {
        ann.up(seq, json!({"message": {"payload": "aGk="}})).await;
    }
    let sample = async || operator.get("/metrics/sessions").await.json();
    let of = async |client: &Client| {
        let session = id(client).to_string();
        let sample = sample().await["sample"].clone();
        let mut found = sample.as_array().expect("a list").iter();
        found.find(|one| one["session"] == *session).cloned().expect("it is in the sample")
    };
    until("all of ann's frames are counted", async || of(&ann).await["packets_received"] == "4")
        .await;
    // A welcome, a Joined, and what ann said; acknowledgements may come together.
    let number = |value: &serde_json::Value| -> u64 {
        value.as_str().expect("a string").parse().expect("a number")
    };
    until("bob heard ann", async || number(&of(&bob).await["packets_sent"]) >= 5).await;
    let shown = of(&ann).await;
    assert_eq!(shown["state"], "active");
    assert!(number(&shown["bytes_received"]) > 4 * 20, "{shown}");
    assert!(shown["duration_seconds"].as_f64().expect("a number") >= 0.0);
    assert_eq!(sample().await["sessions_total"], "2");

    let one = operator.get("/metrics/sessions?sample=1").await.json();
    assert_eq!(one["sample"].as_array().map(Vec::len), Some(1));
    for wrong in ["0", "201", "x", "-1", ""] {
        let answer = operator.get(&format!("/metrics/sessions?sample={wrong}")).await;
        assert_eq!(answer.status, 400, "{wrong}");
        assert!(answer.body.contains("from 1 to 200"), "{}", answer.body);
    }
    assert_eq!(operator.get("/metrics?x=1").await.status, 400);
    running.server.stop().await;
}
