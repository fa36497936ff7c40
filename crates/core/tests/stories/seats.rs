//! Seats: who gets into a Game's zone, what the directory is told and when, and that no crash leaves a
//! seat without its stay or a stay without its seat.

use rejoin_core::event::EndCause;
use rejoin_core::exchange::{ToHub, ZoneName};
use rejoin_core::hub::{
    Answer, Changes, Command, HubInput, SessionCommand, SessionConfig, ZoneCommand,
};
use rejoin_core::id::{GameId, SeatId, SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::seat::{GameNews, SeatAsk, SeatStep};
use rejoin_core::wire::v1::{Join, RefusalCode, Rung, up};

use crate::desk::clerk::Seat;
use crate::desk::{Desk, join};

type Act = fn(&mut Desk);

const GAME: GameId = GameId([0xab; 16]);

fn game(kind: &str) -> ZoneName {
    ZoneName::new(kind, GAME.to_string())
}

fn shown(kind: &str, ticket: &str) -> up::Body {
    let (kind, name, ticket) = (kind.to_owned(), GAME.to_string(), ticket.to_owned());
    up::Body::Join(Join { kind, name, create: true, ticket, ..Join::default() })
}

/// A Game's zone is open, and ann and bob are outside with a seat each.
fn opened(kind: &str) -> (Desk, SeatId, SeatId) {
    let mut desk = Desk::plain();
    let zone = ZoneId::of(kind, &GAME.to_string());
    assert_eq!(
        desk.command(Command::Zone(ZoneCommand::OpenGame(game(kind)))),
        Some(Answer::Zone(zone))
    );
    desk.login("ann");
    desk.login("bob");
    let (ann, bob) = (desk.client("ann").player(), desk.client("bob").player());
    let seats = (desk.clerk.reserve(1, ann), desk.clerk.reserve(2, bob));
    desk.hush();
    (desk, seats.0, seats.1)
}

/// The same with ann inside.
fn seated() -> (Desk, SeatId) {
    let (mut desk, seat, _) = opened("plaza");
    desk.up("ann", shown("plaza", &seat.to_string()));
    assert!(is_inside(&desk, "ann"));
    desk.hush();
    desk.clerk.asked.clear();
    (desk, seat)
}

fn is_inside(desk: &Desk, name: &str) -> bool {
    desk.is_inside(name, ZoneId::of("plaza", &GAME.to_string()))
}

fn members(desk: &Desk) -> usize {
    let zone = desk.zones.get(&ZoneId::of("plaza", &GAME.to_string()));
    zone.map_or(0, |zone| zone.machine.counts().members)
}

/// Something that can happen, and its name.

#[test]
fn a_seat_is_claimed_then_admitted_then_confirmed() {
    let (mut desk, seat, _) = opened("plaza");
    desk.up("ann", shown("plaza", &seat.to_string()));
    assert_eq!(desk.take("ann")[0], format!("in plaza/{GAME}"));
    assert_eq!(desk.clerk.asked, [SeatAsk::Claim, SeatAsk::Confirm]);
    let stay = desk.hub.session(desk.id("ann")).expect("it lives").leg().stay;
    assert_eq!(desk.clerk.state(seat), Seat::Active((desk.id("ann"), stay)));
    desk.part("ann");
    assert_eq!(desk.clerk.asked[2..], [SeatAsk::Complete]);
    assert_eq!(desk.clerk.state(seat), Seat::Left);
    let session = desk.hub.session(desk.id("ann")).expect("it lives on outside");
    assert!(session.seats().is_empty());
}

#[test]
fn nobody_comes_in_without_a_seat() {
    let (mut desk, seat, other) = opened("plaza");
    let zone = GAME.to_string();
    desk.up("ann", join("plaza", &zone, ""));
    desk.up("ann", shown("plaza", "no seat"));
    desk.up("ann", shown("plaza", &SeatId([9; 16]).to_string()));
    desk.up("ann", shown("plaza", &other.to_string()));
    desk.up("ann", shown("hard", &seat.to_string()));
    desk.up("ann", join("plaza", "p", ""));
    desk.say("ann", &format!("transfer plaza {zone}"));
    desk.up("ann", join("plaza", "q", ""));
    desk.part("ann");
    let ticket = Join { ticket: seat.to_string(), ..Join::default() };
    let ticket = Join { kind: "plaza".to_owned(), name: "q".to_owned(), ..ticket };
    desk.up("ann", up::Body::Join(ticket));
    let heard = desk.take("ann");
    let refused: Vec<&str> =
        heard.iter().filter(|said| said.starts_with("refused")).map(String::as_str).collect();
    let expected = [
        "refused 1 SeatRequired",
        "refused 2 SeatUnknown",
        "refused 3 SeatUnknown",
        "refused 4 SeatNotYours",
        "refused 5 GameOver",
        "refused 0 SeatRequired",
        "refused 10 SeatUnknown",
    ];
    assert_eq!(refused, expected, "{heard:?}");
    assert_eq!(members(&desk), 0);
    assert_eq!(desk.clerk.state(seat), Seat::Reserved);
    assert_eq!(desk.clerk.state(other), Seat::Reserved, "another's seat is not touched");
    // Whose it is may use it all the same.
    desk.up("bob", shown("plaza", &other.to_string()));
    assert!(is_inside(&desk, "bob"));
}

#[test]
fn a_zone_that_somebody_opened_is_not_made_a_games() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.up("ann", join("plaza", &GAME.to_string(), ""));
    let refused = Some(Answer::Refused(RefusalCode::CreateDenied));
    assert_eq!(desk.command(Command::Zone(ZoneCommand::OpenGame(game("plaza")))), refused);
    let unknown = Some(Answer::Refused(RefusalCode::UnknownKind));
    assert_eq!(desk.command(Command::Zone(ZoneCommand::OpenGame(game("no such kind")))), unknown);
    let refused = Some(Answer::Refused(RefusalCode::UnknownZone));
    let nameless = ZoneName::new("plaza", "no game's id");
    assert_eq!(desk.command(Command::Zone(ZoneCommand::OpenGame(nameless))), refused);
    assert_eq!(desk.hub.games().count(), 0);
}

#[test]
fn a_refused_admission_gives_the_seat_back() {
    let (mut desk, seat, _) = opened("plaza");
    let join = Join { payload: "deny".into(), ticket: seat.to_string(), ..Join::default() };
    let join = Join { kind: "plaza".to_owned(), name: GAME.to_string(), ..join };
    desk.up("ann", up::Body::Join(join));
    assert_eq!(desk.take("ann"), ["refused 1 JoinDenied"]);
    assert_eq!(desk.clerk.asked, [SeatAsk::Claim, SeatAsk::Abandon]);
    assert_eq!(desk.clerk.state(seat), Seat::Reserved);
    desk.up("ann", shown("plaza", &seat.to_string()));
    assert!(is_inside(&desk, "ann"), "the reservation is as good as before");
}

#[test]
fn a_drop_keeps_the_seat_and_the_end_of_the_hold_frees_it() {
    let (mut desk, seat) = seated();
    desk.cut("ann");
    desk.wait(1_000);
    assert_eq!(desk.clerk.asked, []);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.cut("ann");
    desk.wait(60_000);
    assert_eq!(desk.clerk.asked, [SeatAsk::Complete]);
    assert_eq!(desk.clerk.state(seat), Seat::Left);
    assert_eq!(desk.hub.sessions().count(), 1, "bob's is left");
}

#[test]
fn every_way_out_frees_the_seat() {
    let ways: [(&str, Act); 5] = [
        ("bye", |desk| desk.bye("ann")),
        ("kick", |desk| {
            let ann = desk.id("ann");
            desk.order(Command::Session(ann, SessionCommand::End(EndCause::Kicked)));
        }),
        ("move", |desk| desk.say("ann", "transfer plaza p")),
        ("fault", |desk| {
            for _ in 0..4 {
                let number = desk.client("ann").number;
                desk.say("ann", "panic");
                drop(desk.try_resume("ann"));
                desk.client_mut("ann").number = number;
                desk.say("ann", "panic");
            }
        }),
        ("end", |desk| {
            let zone = ZoneId::of("plaza", &GAME.to_string());
            desk.order(Command::Zone(ZoneCommand::End(zone)));
        }),
    ];
    for (what, act) in ways {
        let (mut desk, seat) = seated();
        act(&mut desk);
        assert_eq!(desk.clerk.state(seat), Seat::Left, "{what}");
        assert_eq!(members(&desk), 0, "{what}");
        let is_over = matches!(what, "fault" | "end");
        assert_eq!(desk.clerk.news.last() == Some(&GameNews::Ended), is_over, "{what}");
    }
}

#[test]
fn a_session_that_ended_stays_until_the_directory_has_heard() {
    let (mut desk, seat) = seated();
    let ann = desk.id("ann");
    desk.clerk.silent = true;
    desk.bye("ann");
    assert_eq!(desk.take("ann"), ["out Left", "farewell Left"], "its player does not wait");
    assert!(desk.hub.session(ann).is_some_and(|session| session.ending().is_some()));
    desk.crash();
    desk.restart();
    desk.clerk.silent = false;
    desk.clerk.busy = true;
    desk.wait(5_000);
    assert!(desk.hub.session(ann).is_some());
    desk.clerk.busy = false;
    desk.wait(1_000);
    assert_eq!(desk.clerk.state(seat), Seat::Left);
    assert!(desk.hub.session(ann).is_none());
    assert!(!desk.store.has(ScopeId::Session(ann)));
}

#[test]
fn no_answer_lets_nobody_in() {
    let (mut desk, seat, _) = opened("plaza");
    desk.clerk.silent = true;
    desk.up("ann", shown("plaza", &seat.to_string()));
    desk.say("ann", "say too early");
    assert_eq!(desk.take("ann"), Vec::<String>::new());
    desk.wait(6_000);
    assert_eq!(desk.take("ann"), ["refused 1 SeatsUnavailable", "refused 2 NotMember"]);
    desk.clerk.silent = false;
    desk.wait(6_000);
    assert_eq!(desk.clerk.state(seat), Seat::Reserved, "the claim was given back");
    // An answer that comes too late changes nothing.
    for request in std::mem::take(&mut desk.clerk.unanswered) {
        desk.input(rejoin_core::hub::HubInput::Seat(request, Ok(())));
    }
    assert_eq!(members(&desk), 0);
}

#[test]
fn nobody_is_asked_before_a_stay_is_kept_and_refusals_come_before_what_follows() {
    let (mut desk, seat, _) = opened("plaza");
    let again = desk.clerk.reserve(3, desk.client("ann").player());
    desk.clerk.silent = true;
    desk.up("ann", shown("plaza", &seat.to_string()));
    // She does not wait for the answer.
    desk.up("ann", shown("plaza", &again.to_string()));
    desk.clerk.silent = false;
    desk.clerk.asked.clear();
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    desk.wait(5_500);
    assert_eq!(
        desk.clerk.asked,
        [],
        "the first stay is over and the second begins, but not on disk"
    );
    assert_eq!(desk.take("ann"), Vec::<String>::new());
    desk.store.release();
    desk.run();
    assert!(is_inside(&desk, "ann"));
    let heard = desk.take("ann");
    assert_eq!(heard[..2], ["refused 1 SeatsUnavailable".to_owned(), format!("in plaza/{GAME}")]);
    assert_eq!(desk.clerk.state(seat), Seat::Reserved, "the claim was given back");
}

#[test]
fn a_claim_that_ran_out_is_made_again_or_the_member_goes() {
    for taken in [false, true] {
        let (mut desk, seat, _) = opened("plaza");
        desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
        desk.up("ann", shown("plaza", &seat.to_string()));
        let state = if taken { Seat::Left } else { Seat::Reserved };
        desk.clerk.seats.get_mut(&seat).expect("it is there").1 = state;
        desk.store.release();
        desk.run();
        assert_eq!(is_inside(&desk, "ann"), !taken);
        assert_eq!(members(&desk), usize::from(!taken));
        let heard = desk.take("ann");
        assert_eq!(heard.last().is_some_and(|said| said == "out SeatLost"), taken, "{heard:?}");
    }
}

#[test]
fn a_crash_between_any_two_steps_leaves_no_seat_and_no_member_alone() {
    let acts: [(&str, Act); 3] = [
        ("join", |desk| desk.up("bob", shown("plaza", &SeatId([2; 16]).to_string()))),
        ("part", |desk| desk.part("ann")),
        ("bye", |desk| desk.bye("ann")),
    ];
    for (what, act) in acts {
        for stop in 0..8 {
            for hears in [false, true] {
                let (mut desk, _) = seated();
                let bob = desk.client("bob").player();
                desk.clerk.reserve(2, bob);
                desk.store.stop_after = Some(desk.store.commits + stop);
                // Whether the last words reached the directory before the crash is chance.
                desk.clerk.silent = !hears;
                act(&mut desk);
                for request in std::mem::take(&mut desk.clerk.unanswered) {
                    let _ = desk.clerk.answer(&request);
                }
                desk.crash();
                desk.clerk.silent = false;
                desk.restart();
                desk.wait(4_000);
                let story = format!("{what}, {stop} commits, {hears}");
                assert_eq!(members(&desk), desk.clerk.active(), "{story}");
                let open = desk.hub.sessions().flat_map(|(_, session)| session.seats());
                assert!(open.into_iter().all(|s| s.step == SeatStep::Active), "{story}");
            }
        }
    }
}

/// The zone has let ann in and applied what she said, and no commit of her session knows: its row still
/// says that she is on her way. The claim of her seat runs out while the server is down, and somebody else
/// takes the seat.
fn admitted_behind_the_sessions_back(then: &str) -> Desk {
    let (mut desk, seat, _) = opened("plaza");
    desk.clerk.silent = true;
    desk.up("ann", shown("plaza", &seat.to_string()));
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    desk.clerk.silent = false;
    for request in std::mem::take(&mut desk.clerk.unanswered) {
        let verdict = desk.clerk.answer(&request);
        desk.input(HubInput::Seat(request, verdict));
    }
    desk.say("ann", "say one");
    desk.say("ann", then);
    assert_eq!(desk.client("ann").applied, 3, "the zone has acknowledged it");
    desk.crash();
    let bob = desk.client("bob").player();
    desk.clerk.seats.insert(seat, (bob, Seat::Reserved));
    desk.take("ann");
    desk.restart();
    desk
}

#[test]
fn a_claim_that_ran_out_in_a_crash_loses_nothing_of_whom_the_zone_had_let_in() {
    let mut desk = admitted_behind_the_sessions_back("say two");
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.applied, welcome.lost_upstream), (Rung::Replayed, 3, 0));
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("out SeatLost"));
}

#[test]
fn a_claim_that_ran_out_in_a_crash_loses_nothing_of_whom_the_zone_had_sent_on() {
    let mut desk = admitted_behind_the_sessions_back("transfer plaza next");
    assert!(desk.is_inside("ann", ZoneId::of("plaza", "next")));
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.applied, welcome.lost_upstream), (Rung::Replayed, 3, 0));
}

#[test]
fn a_games_zone_stays_one_through_a_crash() {
    let (mut desk, seat, _) = opened("plaza");
    desk.crash();
    desk.restart();
    assert_eq!(desk.hub.games().map(|(game, _)| game).collect::<Vec<_>>(), [GAME]);
    desk.resume("ann");
    desk.take("ann");
    desk.up("ann", join("plaza", &GAME.to_string(), ""));
    assert_eq!(desk.take("ann"), ["refused 1 SeatRequired"]);
    desk.up("ann", shown("plaza", &seat.to_string()));
    assert!(is_inside(&desk, "ann"));
}

#[test]
fn a_games_zone_is_one_while_it_opens_again() {
    let (mut desk, _, _) = opened("plaza");
    let zone = ZoneId::of("plaza", &GAME.to_string());
    let owner = desk.zones[&zone].machine.owner();
    desk.zones.remove(&zone);
    desk.hold_zones = true;
    let said =
        ToHub::Faulted { poisoned: None, stuck: true, left: Vec::new(), text: "Stuck".to_owned() };
    desk.input(HubInput::FromZone(zone, owner, said));
    // The server's own host names these Games as its own. The directory ends those that it leaves out.
    assert_eq!(desk.hub.games().map(|(game, _)| game).collect::<Vec<_>>(), [GAME]);
}

#[test]
fn a_game_whose_zone_is_not_kept_is_over_for_whoever_was_about_to_join() {
    let (mut desk, seat, _) = opened("memory");
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    desk.hold_zones = true;
    desk.clerk.silent = true;
    desk.up("ann", shown("memory", &seat.to_string()));
    desk.crash();
    desk.hold_zones = false;
    desk.clerk.silent = false;
    desk.store.forget(ScopeId::Zone(ZoneId::of("memory", &GAME.to_string())));
    desk.restart();
    assert_eq!(desk.hub.games().count(), 0);
    assert!(desk.is_in_lobby("ann"));
    assert_eq!(desk.clerk.state(seat), Seat::Reserved);
    desk.resume("ann");
    assert!(desk.take("ann").contains(&"refused 1 GameOver".to_owned()));
}

#[test]
fn a_native_session_takes_a_seat() {
    let (mut desk, ..) = opened("plaza");
    let Some(Answer::Session(npc)) = desk.command(Command::StartSession(SessionConfig::default()))
    else {
        panic!("there is room")
    };
    let player = desk.hub.session(npc).expect("it lives").player();
    let seat = desk.clerk.reserve(3, player);
    let refused = Some(Answer::Refused(RefusalCode::SeatRequired));
    assert_eq!(
        desk.command(Command::Session(npc, SessionCommand::Join(game("plaza"), "".into()))),
        refused
    );
    desk.command(Command::Session(npc, SessionCommand::TakeSeat(game("plaza"), seat, "".into())));
    assert_eq!(members(&desk), 1);
    assert!(matches!(desk.clerk.state(seat), Seat::Active((SessionId(_), _))));
    desk.command(Command::Session(npc, SessionCommand::Part));
    assert_eq!(desk.clerk.state(seat), Seat::Left);
}

/// What the directory was to be asked once one change is kept has changed again meanwhile: it is asked about that
/// once the second one is kept, too.
#[test]
fn the_directory_is_not_asked_about_a_change_that_is_not_kept() {
    let (mut desk, seat, _) = opened("plaza");
    let ann = desk.id("ann");
    desk.clerk.asked.clear();
    desk.store.stop_after = Some(desk.store.commits);
    desk.up("ann", shown("plaza", &seat.to_string()));
    desk.order(Command::Session(ann, SessionCommand::End(EndCause::Kicked)));
    // The join is kept, that the session ends is not.
    desk.store.stop_after = Some(desk.store.commits + 1);
    desk.run();
    assert_eq!(desk.clerk.asked, []);
    desk.store.release();
    desk.run();
    assert_eq!(desk.clerk.asked, [SeatAsk::Abandon]);
    assert!(desk.hub.session(ann).is_none());
}

/// The zone is asked behind everything that the session has to keep, although its seat is claimed before that.
#[test]
fn a_zone_is_asked_after_all_that_the_session_changed_while_its_seat_was_claimed() {
    let (mut desk, seat, _) = opened("plaza");
    let ann = desk.id("ann");
    desk.clerk.silent = true;
    desk.up("ann", shown("plaza", &seat.to_string()));
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    let changes = Changes { data: Some("later".into()), ..Changes::default() };
    desk.order(Command::Session(ann, SessionCommand::Configure(changes)));
    let request = desk.clerk.unanswered.remove(0);
    let verdict = desk.clerk.answer(&request);
    desk.input(HubInput::Seat(request, verdict));
    assert_eq!(members(&desk), 0, "its data is not kept");
    desk.store.release();
    desk.run();
    assert!(is_inside(&desk, "ann"));
}
