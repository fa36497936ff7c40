//! What the registry decides when no session is there to ask it: limits, faults, endings, Games.

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin_wire::v1::RefusalCode;

use super::{
    Creator, Opener, RegistryConfig, RegistryInput, RegistryOutput, ZoneRegistry, ZoneView,
};
use crate::event::Event;
use crate::exchange::ZoneName;
use crate::guard::Origin;
use crate::hub::ZoneKind;
use crate::id::{OwnerEpoch, PlayerId, SessionId, ZoneId};
use crate::seat::GameNews;
use crate::time::Time;
use crate::zone::{KeptZone, ZoneConfig};

const FIRST: OwnerEpoch = OwnerEpoch(1);
const SECOND: OwnerEpoch = OwnerEpoch(2);
const GAME: &str = "000102030405060708090a0b0c0d0e0f";

fn name(name: &str) -> ZoneName {
    ZoneName { kind: "plaza".to_owned(), name: name.to_owned() }
}

fn id(zone: &str) -> ZoneId {
    ZoneId::of("plaza", zone)
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn client(player: u8, address: u32) -> Option<Creator> {
    let opener = Opener { player: PlayerId([player; 16]), origin: Some(Origin::v4(address)) };
    Some(Creator::Client(opener))
}

/// Two faults within a second are endured; a callback may take 500 ms.
fn registry() -> ZoneRegistry {
    let config =
        ZoneConfig { callback_budget: Duration::from_millis(500), ..ZoneConfig::default() };
    let kind = |client_may_create| ZoneKind { config: config.clone(), client_may_create };
    let kinds = [("plaza", kind(true)), ("private", kind(false))];
    ZoneRegistry::new(RegistryConfig {
        zones_max: 6,
        zones_per_player_max: 2,
        zones_per_address_max: 3,
        faults_max: 2,
        faults_within: Duration::from_secs(1),
        kinds: BTreeMap::from(kinds.map(|(name, kind)| (name.to_owned(), kind))),
    })
}

/// One line for each output, in order.
fn drain(registry: &mut ZoneRegistry) -> Vec<String> {
    registry.check_counts().expect("the counts are those of the zones");
    let outputs = std::iter::from_fn(|| registry.next_output());
    let said = |output| match output {
        RegistryOutput::OpenZone(spec) => {
            let poisoned = spec.poisoned.map_or(String::new(), |(session, number)| {
                format!(" poisoned {}/{number}", session.0)
            });
            let closed = if spec.closed { " closed" } else { "" };
            format!("open {}{poisoned}{closed}", spec.name.name)
        }
        RegistryOutput::DropZone(_) => "drop".to_owned(),
        RegistryOutput::EndZone(_, owner) => format!("end {}", owner.0),
        RegistryOutput::Game(_, GameNews::Match(running)) => format!("game match {running}"),
        RegistryOutput::Game(_, GameNews::Opened) => "game opened".to_owned(),
        RegistryOutput::Game(_, GameNews::Refused(_)) => "game refused".to_owned(),
        RegistryOutput::Game(_, GameNews::Ended) => "game ended".to_owned(),
        RegistryOutput::Event(Event::ZoneOpened { .. }) => "opened".to_owned(),
        RegistryOutput::Event(Event::ZoneFault { closed, .. }) => format!("fault {closed}"),
        RegistryOutput::Event(Event::ZoneOpenRefused { .. }) => "refused".to_owned(),
        RegistryOutput::Event(other) => format!("{other:?}"),
    };
    outputs.map(said).collect()
}

fn find(
    registry: &mut ZoneRegistry,
    zone: &str,
    creator: Option<Creator>,
) -> Result<ZoneView, RefusalCode> {
    let found = registry.find(&name(zone), creator);
    drain(registry);
    found
}

/// Gives the outputs; none if the message counts for nothing.
fn hear(
    registry: &mut ZoneRegistry,
    zone: &str,
    owner: OwnerEpoch,
    input: RegistryInput,
) -> Option<Vec<String>> {
    let is_heard = registry.handle(at(0), id(zone), owner, input);
    let outputs = drain(registry);
    assert!(is_heard || outputs.is_empty());
    is_heard.then_some(outputs)
}

fn open(registry: &mut ZoneRegistry, zone: &str, owner: OwnerEpoch) -> Vec<String> {
    let opened = RegistryInput::Opened { match_running: false };
    hear(registry, zone, owner, opened).expect("the opening is awaited")
}

/// A fault at this instant, and the incarnation that follows it.
fn fault(registry: &mut ZoneRegistry, ms: u64, stuck: bool) -> Vec<String> {
    let faulted = RegistryInput::Faulted { stuck, text: String::new() };
    assert!(registry.handle(at(ms), id("p"), FIRST, faulted));
    let mut outputs = drain(registry);
    registry.reopen(id("p"), None);
    outputs.extend(drain(registry));
    open(registry, "p", FIRST);
    outputs
}

#[test]
fn each_limit_holds_for_a_client_and_an_ended_zone_makes_room() {
    let mut registry = registry();
    for zone in ["a1", "a2"] {
        assert!(find(&mut registry, zone, client(1, 1)).is_ok());
    }
    let denied = Err(RefusalCode::CreateDenied);
    assert_eq!(find(&mut registry, "a3", client(1, 2)), denied, "two of this player");
    assert!(find(&mut registry, "a1", client(1, 1)).is_ok(), "it exists: nothing is opened");
    assert!(find(&mut registry, "b1", client(2, 1)).is_ok());
    assert_eq!(find(&mut registry, "c1", client(3, 1)), denied, "three from this address");
    assert!(find(&mut registry, "c1", client(3, 2)).is_ok());
    for zone in ["s1", "s2"] {
        assert!(find(&mut registry, zone, Some(Creator::Server)).is_ok());
    }
    assert_eq!(find(&mut registry, "s3", Some(Creator::Server)), denied, "six of all");
    assert_eq!(registry.open_game(name(GAME)), denied);
    open(&mut registry, "a1", FIRST);
    let ended = hear(&mut registry, "a1", FIRST, RegistryInput::Ended);
    assert_eq!(ended.unwrap(), ["drop"]);
    assert!(find(&mut registry, "a3", client(1, 1)).is_ok(), "room for all three limits");
    assert_eq!(find(&mut registry, "a4", client(1, 1)), denied);
}

#[test]
fn a_zone_that_cannot_be_opened_counts_no_more() {
    let mut registry = registry();
    for _ in 0..10 {
        assert!(find(&mut registry, "a", client(1, 1)).is_ok());
        let refused = RegistryInput::OpenRefused { text: String::new() };
        assert_eq!(hear(&mut registry, "a", FIRST, refused).unwrap(), ["refused", "drop"]);
    }
}

#[test]
fn a_zone_that_may_not_be_opened_is_refused_for_the_first_reason_that_holds() {
    let mut registry = registry();
    let of_kind = |kind: &str| ZoneName { kind: kind.to_owned(), name: "a".to_owned() };
    let (unknown, private) = (of_kind("none"), of_kind("private"));
    assert_eq!(registry.find(&unknown, None), Err(RefusalCode::UnknownKind));
    assert_eq!(registry.find(&private, None), Err(RefusalCode::UnknownZone));
    assert_eq!(registry.find(&private, client(1, 1)), Err(RefusalCode::CreateDenied));
    assert_eq!(drain(&mut registry), [""; 0], "a refusal opens nothing");
    assert!(registry.find(&private, Some(Creator::Server)).is_ok());
    assert_eq!(drain(&mut registry), ["open a"]);
    assert!(registry.find(&private, client(1, 1)).is_ok(), "it exists by now");
    assert!(registry.has_kind("private") && !registry.has_kind("none"));
}

#[test]
fn a_zone_that_faults_is_opened_again_with_what_caused_it() {
    let mut registry = registry();
    find(&mut registry, "p", Some(Creator::Server)).unwrap();
    assert_eq!(open(&mut registry, "p", FIRST), ["opened"]);
    assert_eq!(registry.owner(id("p")), Some(FIRST));
    let faulted = RegistryInput::Faulted { stuck: false, text: String::new() };
    assert_eq!(hear(&mut registry, "p", FIRST, faulted).unwrap(), ["fault false"]);
    assert_eq!(registry.owner(id("p")), None, "nobody speaks to it until it is open again");
    registry.reopen(id("p"), Some((SessionId(7), 3)));
    assert_eq!(drain(&mut registry), ["open p poisoned 7/3"]);
    assert_eq!(open(&mut registry, "p", SECOND), ["opened"]);
    assert_eq!(registry.owner(id("p")), Some(SECOND));
}

#[test]
fn too_many_faults_within_their_time_close_a_zone_and_others_do_not() {
    let mut registry = registry();
    find(&mut registry, "p", Some(Creator::Server)).unwrap();
    open(&mut registry, "p", FIRST);
    for ms in [0, 600, 1_200, 1_800] {
        assert_eq!(fault(&mut registry, ms, false), ["fault false", "open p"], "{ms}");
    }
    assert_eq!(fault(&mut registry, 2_100, false), ["fault true", "open p closed"]);
}

#[test]
fn the_time_that_it_takes_to_find_a_zone_stuck_does_not_make_its_faults_rare() {
    let mut registry = registry();
    find(&mut registry, "p", Some(Creator::Server)).unwrap();
    open(&mut registry, "p", FIRST);
    // A fault counts for one second, and for three callbacks of half a second each.
    for ms in [0, 1_200] {
        assert_eq!(fault(&mut registry, ms, true), ["fault false", "open p"], "{ms}");
    }
    assert_eq!(fault(&mut registry, 2_499, true), ["fault true", "open p closed"]);
}

#[test]
fn a_message_of_an_incarnation_that_is_not_the_present_one_counts_for_nothing() {
    let mut registry = registry();
    let opened = || RegistryInput::Opened { match_running: true };
    assert_eq!(hear(&mut registry, "p", FIRST, opened()), None, "there is no such zone");
    find(&mut registry, "p", Some(Creator::Server)).unwrap();
    for early in
        [RegistryInput::AboutSessions, RegistryInput::Ended, RegistryInput::Match { running: true }]
    {
        assert_eq!(hear(&mut registry, "p", FIRST, early), None, "it is not open yet");
    }
    assert!(hear(&mut registry, "p", SECOND, opened()).is_some());
    for stale in [
        opened(),
        RegistryInput::OpenRefused { text: String::new() },
        RegistryInput::Match { running: false },
        RegistryInput::Faulted { stuck: false, text: String::new() },
        RegistryInput::Ended,
        RegistryInput::AboutSessions,
    ] {
        assert_eq!(hear(&mut registry, "p", FIRST, stale), None);
    }
    let current = hear(&mut registry, "p", SECOND, RegistryInput::AboutSessions);
    assert_eq!(current, Some(Vec::new()));
    let view = registry.view(id("p")).expect("it is there");
    assert_eq!((view.owner, view.match_running), (Some(SECOND), true));
}

#[test]
fn a_zone_ends_unused_only_if_a_client_opened_it_and_no_session_was_let_in() {
    let mut registry = registry();
    for (zone, creator) in
        [("s", Some(Creator::Server)), ("used", client(1, 1)), ("unused", client(1, 1))]
    {
        find(&mut registry, zone, creator).unwrap();
        registry.end_unused(id(zone));
        assert_eq!(drain(&mut registry), [""; 0], "it is not open: nobody could hear it");
        open(&mut registry, zone, FIRST);
    }
    registry.note_used(id("used"));
    let all: [(&str, &[&str]); 3] = [("s", &[]), ("used", &[]), ("unused", &["end 1"])];
    for (zone, expected) in all {
        registry.end_unused(id(zone));
        assert_eq!(drain(&mut registry), expected, "{zone}");
    }
}

#[test]
fn a_zone_that_was_asked_to_end_is_asked_again_after_a_fault() {
    let mut registry = registry();
    assert!(!registry.end(id("p")), "there is none");
    find(&mut registry, "p", Some(Creator::Server)).unwrap();
    assert!(registry.end(id("p")));
    assert_eq!(drain(&mut registry), [""; 0], "it is not open yet");
    assert_eq!(open(&mut registry, "p", FIRST), ["end 1", "opened"]);
    let faulted = RegistryInput::Faulted { stuck: false, text: String::new() };
    hear(&mut registry, "p", FIRST, faulted).unwrap();
    registry.reopen(id("p"), None);
    drain(&mut registry);
    assert_eq!(open(&mut registry, "p", SECOND), ["end 2", "opened"]);
}

#[test]
fn zones_of_before_the_start_are_awaited_until_each_is_open_or_gone() {
    let mut registry = registry();
    let kept = |zone: &str, seated| KeptZone { name: name(zone), seated };
    let gone = KeptZone {
        name: ZoneName { kind: "none".to_owned(), name: "x".to_owned() },
        seated: false,
    };
    assert!(registry.is_settled());
    registry.reopen_kept(vec![kept("p", false), kept(GAME, false), gone, kept(GAME, true)]);
    assert_eq!(drain(&mut registry), [format!("open {GAME}"), "open p".to_owned()]);
    assert_eq!(registry.games().count(), 1, "the Game counts, and is one before it is open");
    find(&mut registry, "new", Some(Creator::Server)).unwrap();
    // Its state cannot be saved: it is opened again, and still awaited.
    let faulted = RegistryInput::Faulted { stuck: false, text: String::new() };
    hear(&mut registry, "p", FIRST, faulted).unwrap();
    registry.reopen(id("p"), None);
    drain(&mut registry);
    assert!(!registry.is_settled());
    open(&mut registry, "p", FIRST);
    assert!(!registry.is_settled(), "the other one is not open");
    let refused = RegistryInput::OpenRefused { text: String::new() };
    assert_eq!(
        hear(&mut registry, GAME, FIRST, refused).unwrap(),
        ["refused", "game refused", "drop"]
    );
    assert!(registry.is_settled(), "a zone that was opened since is awaited by nobody");
}

#[test]
fn the_host_of_a_game_gets_news_of_its_zone() {
    let mut registry = registry();
    assert_eq!(registry.open_game(name("no id")), Err(RefusalCode::UnknownZone));
    assert!(registry.open_game(name(GAME)).is_ok_and(|zone| zone.is_seated));
    assert_eq!(drain(&mut registry), [format!("open {GAME}")]);
    assert_eq!(registry.games().count(), 0, "nothing is kept of it yet");
    assert!(registry.open_game(name(GAME)).is_ok());
    assert_eq!(drain(&mut registry), [""; 0], "its opening is under way");
    let opened = open(&mut registry, GAME, FIRST);
    assert_eq!(opened, ["opened", "game opened", "game match false"]);
    assert!(registry.open_game(name(GAME)).is_ok());
    assert_eq!(drain(&mut registry), ["game opened"], "whoever asks again is told");
    let begun = RegistryInput::Match { running: true };
    assert_eq!(hear(&mut registry, GAME, FIRST, begun).unwrap(), ["game match true"]);
    assert_eq!(registry.games().count(), 1);
    assert_eq!(registry.game(id(GAME)), registry.games().next().map(|(game, _)| game));
    let ended = hear(&mut registry, GAME, FIRST, RegistryInput::Ended).unwrap();
    assert_eq!(ended, ["game ended", "drop"]);
    find(&mut registry, GAME, client(1, 1)).unwrap();
    assert_eq!(registry.open_game(name(GAME)), Err(RefusalCode::CreateDenied));
    assert_eq!(registry.game(id(GAME)), None, "a zone of that name runs no Game");
}
