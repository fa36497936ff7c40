//! The series are fixed, and each thing that is counted has its own.

use rejoin_core::id::{ConnectionId, PlayerId, SessionId};

use super::*;

/// The series of a text: names with labels, without values.
fn series(text: &str) -> Vec<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| line.rsplit_once(' ').expect("a value").0.to_owned()).collect()
}

fn text(metrics: &Metrics) -> String {
    metrics.text(Levels::default()).expect("it can be written")
}

#[test]
fn the_set_of_series_is_the_same_before_and_after_everything() {
    let metrics = Metrics::new();
    let before = series(&text(&metrics));
    for id in 1..=1_000 {
        let (session, player) = (SessionId(id), PlayerId([id as u8; 16]));
        let connection = ConnectionId(id);
        metrics.connection_opened(Transport::WebSocket, false);
        metrics.traffic.receive(connection, 10);
        for event in [
            Event::PlayerConnected { session, player, connection: Some(connection) },
            Event::PlayerDropped { session, code: CloseCode::HeartbeatLost },
            Event::PlayerReturned { session, rung: Rung::Replayed(id) },
            Event::PlayerReturned { session, rung: Rung::Resynced(RungReason::Cold) },
        ] {
            metrics.event(&event);
        }
        for cause in EndCause::ALL {
            metrics.event(&Event::PlayerLeft { session, player, cause });
        }
    }
    assert_eq!(before, series(&text(&metrics)));
    assert!(before.len() < 300, "{} series", before.len());
}

#[test]
fn every_step_and_every_code_has_its_own_counter() {
    let metrics = Metrics::new();
    let (connection, session) = (Some(ConnectionId(1)), None);
    for step in Step::ALL {
        for what in Offence::ALL {
            metrics.event(&Event::GuardStep { step, connection, session, what });
        }
    }
    for (code, _) in codes() {
        metrics.disconnected(code);
    }
    let text = text(&metrics);
    for start in ["rejoin_guard_steps_total{", "rejoin_sessions_disconnected_total{"] {
        let lines: Vec<_> = text.lines().filter(|line| line.starts_with(start)).collect();
        assert!(lines.len() > 30);
        assert!(lines.iter().all(|line| line.ends_with(" 1")), "{lines:?}");
    }
    assert!(text.contains("rejoin_guard_steps_total{step=\"sever\",what=\"too_slow\"} 1"));
    assert!(text.contains("rejoin_sessions_disconnected_total{reason=\"heartbeat_lost\"} 1"));
}

#[test]
fn connections_that_share_a_place_and_those_that_do_not_add_up() {
    let metrics = Metrics::new();
    for id in 0..100 {
        metrics.traffic.receive(ConnectionId(id), 3);
        metrics.traffic.send(ConnectionId(id), 5);
    }
    let text = text(&metrics);
    for line in ["rejoin_frames_received_total 100", "rejoin_bytes_received_total 300"] {
        assert!(text.contains(line), "{text}");
    }
    assert!(text.contains("rejoin_bytes_sent_total 500"), "{text}");
}

#[test]
fn reports_of_what_cannot_be_are_counted_once() {
    let metrics = Metrics::new();
    assert!(text(&metrics).contains("rejoin_impossible_total 0"));
    for _ in 0..2 {
        let levels = Levels { impossible: 3, ..Levels::default() };
        let text = metrics.text(levels).expect("it can be written");
        assert!(text.contains("rejoin_impossible_total 3"), "{text}");
    }
}
