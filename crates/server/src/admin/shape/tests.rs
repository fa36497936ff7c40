//! Every kind of event has its shape, and the page tells of every field.

use rejoin_core::event::{EndCause, Offence, Step};
use rejoin_core::game::{GameEnd, HostEnd, SeatEnd};
use rejoin_core::id::{ConnectionId, GameId, HostId, ObjectId, SeatId, SessionId};

use super::*;

/// One of each kind.
fn all() -> Vec<Event> {
    let (session, player) = (SessionId(u64::MAX), PlayerId([0xab; 16]));
    let (connection, zone) = (ConnectionId(9), ZoneId(8));
    let name = || ZoneName { kind: "relay".to_owned(), name: "pl\"aza\n".to_owned() };
    let text = || "boom\u{1b}[31m".to_owned();
    vec![
        Event::PlayerConnected { session, player, connection: Some(connection) },
        Event::SessionLinked { session, connection },
        Event::PlayerDropped { session, code: CloseCode::Unspecified },
        Event::PlayerReturned { session, rung: Rung::Replayed(7) },
        Event::TakenOver { session, old: connection },
        Event::HoldEnded { session },
        Event::PlayerLeft { session, player, cause: EndCause::Left },
        Event::ZoneJoined { session, zone: name() },
        Event::ZoneParted { session, zone: name(), cause: PartCause::HoldEnded },
        Event::OwnerChanged { zone, object: ObjectId(5), from: None, to: Some(player) },
        Event::MatchStarted { zone },
        Event::MatchEnded { zone },
        Event::ZoneFault { zone, text: text(), closed: true },
        Event::ZoneOpened { zone, name: name() },
        Event::ZoneOpenRefused { zone, text: text() },
        Event::ZoneEnded { zone },
        Event::GuardStep {
            step: Step::Sever,
            connection: Some(connection),
            session: Some(session),
            what: Offence::TooSlow,
        },
    ]
    .into_iter()
    .chain(directory())
    .collect()
}

/// One of each kind that the directory tells of.
fn directory() -> Vec<Event> {
    let (game, host, seat) = (GameId([1; 16]), HostId([2; 16]), SeatId([3; 16]));
    let player = || "a\u{1b}nn".to_owned();
    let (queue, placement) = ("ranked".to_owned(), "m1".to_owned());
    let end = PlacementEnd::Fulfilled { game, seats: vec![(player(), seat)] };
    vec![
        Event::GameCreated { game, fleet: "arena".to_owned(), host },
        Event::GameActive { game },
        Event::GameEnded { game, cause: GameEnd::LastLeft },
        Event::SeatReserved { game, seat, player: player() },
        Event::SeatClaimed { game, seat, player: player() },
        Event::SeatEnded { game, seat, player: player(), how: SeatEnd::TimedOut },
        Event::HostReady { host },
        Event::HostReturned { host },
        Event::HostWarned { host },
        Event::HostAway { host },
        Event::HostEnded { host, how: HostEnd::Lost },
        Event::PlacementEnded { queue, placement, end },
    ]
}

#[test]
fn nobody_reads_a_ticket_from_an_event() {
    for one in directory() {
        let shown = event(&Numbered { id: 1, at: WallTime(2), event: one }).to_string();
        assert!(!shown.contains(&SeatId([3; 16]).to_string()), "{shown}");
    }
}

/// Every name of a field, with those of nested objects as `outer.inner`.
fn names(value: &Value, prefix: &str, found: &mut std::collections::BTreeSet<String>) {
    for (name, value) in value.as_object().into_iter().flatten() {
        let name = format!("{prefix}{name}");
        names(value, &format!("{name}."), found);
        found.insert(name);
    }
}

#[test]
fn every_kind_is_shown_on_one_line_with_its_name() {
    let shown: Vec<_> = all()
        .into_iter()
        .map(|one| event(&Numbered { id: 1, at: WallTime(2), event: one }))
        .collect();
    let kinds: Vec<_> = shown.iter().map(|one| one["kind"].as_str().expect("a name")).collect();
    assert_eq!(kinds, Event::NAMES);
    for one in &shown {
        assert!(!one.to_string().chars().any(char::is_control), "{one}");
    }
    assert_eq!(shown[0]["session"], "18446744073709551615");
    assert_eq!(shown[2]["reason"], "lost");
    assert_eq!(shown[8]["cause"], "hold_ended");
}

#[test]
fn the_documented_numbers_are_the_defaults() {
    let page = include_str!("../../../../../docs/OPERATIONS.md");
    let admin = crate::admin::AdminConfig::default();
    let sight = crate::sight::SightConfig::default();
    assert_eq!((admin.event_readers_max, admin.heartbeat.as_secs()), (64, 15));
    assert!(page.contains("At most 64 readers") && page.contains("comes every 15 s"));
    assert_eq!((sight.journal_events, sight.addresses.label()), (4_096, "hash"));
    assert!(page.contains("The last 4,096 events") && page.contains("`\"hash\"` (the default"));
}

#[test]
fn every_field_is_in_the_documentation() {
    let page = include_str!("../../../../../docs/OPERATIONS.md");
    let mut fields = std::collections::BTreeSet::new();
    let resynced = Rung::Resynced(RungReason::Cold);
    let more = Event::PlayerReturned { session: SessionId(1), rung: resynced };
    for one in all().into_iter().chain([more]) {
        names(&event(&Numbered { id: 1, at: WallTime(2), event: one }), "", &mut fields);
    }
    for name in fields {
        assert!(page.contains(&format!("`{name}`")), "docs/OPERATIONS.md does not name `{name}`");
    }
    for name in Event::NAMES {
        assert!(page.contains(&format!("`{name}`")), "docs/OPERATIONS.md does not name `{name}`");
    }
}
