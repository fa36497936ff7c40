//! Seats: never more than there are, for all or for none, and each for one player once.

use rejoin_core::id::{GameId, HostId, SeatId};
use rejoin_directory::game::{Entry, GameChange, SeatEnd, SeatState};
use rejoin_directory::host::HostWord;
use rejoin_directory::{Command, DirectoryConfig, Refusal, What};

use crate::desk::{Desk, Process, guests, holder, registration, seats, secs, spec};

#[test]
fn a_party_is_seated_all_or_none() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    assert_eq!(desk.reserve(game, &["ann", "bob", "cid"]).unwrap().len(), 3);
    assert_eq!(desk.reserve(game, &["dan", "eve"]), Err(Refusal::GameFull { free: 1 }));
    assert_eq!(desk.view(game).reserved, 3);
    desk.reserve(game, &["dan"]).unwrap();
    assert_eq!(desk.reserve(game, &["eve"]), Err(Refusal::GameFull { free: 0 }));
}

#[test]
fn the_same_key_gives_the_same_seats_even_when_the_game_is_full() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let first = desk.reserve_as(game, &["ann", "bob"], "party").unwrap();
    desk.reserve(game, &["cid", "dan"]).unwrap();
    assert_eq!(desk.reserve_as(game, &["ann", "bob"], "party").unwrap(), first);
    assert_eq!(desk.reserve_as(game, &["ann", "eve"], "party"), Err(Refusal::KeyReused));
    assert_eq!(desk.view(game).reserved, 4);
}

#[test]
fn a_reservation_runs_out_after_a_minute_unless_it_is_extended() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let ids: Vec<_> =
        desk.reserve(game, &["ann", "bob"]).unwrap().iter().map(|seat| seat.id).collect();
    desk.pass(secs(59));
    desk.ask(Command::Extend { game, seat: ids[1], hold: secs(60) }).unwrap();
    desk.pass(secs(1));
    let states: Vec<_> = desk.seats(game).iter().map(|seat| seat.state).collect();
    assert!(matches!(states[0], SeatState::Ended { how: SeatEnd::TimedOut, .. }));
    assert!(matches!(states[1], SeatState::Reserved { .. }));
    assert_eq!(desk.claim(game, ids[0], "ann", holder(1)), Err(Refusal::SeatEnded));
    desk.pass(secs(59));
    assert_eq!(desk.view(game).reserved, 0);
}

#[test]
fn a_claim_is_confirmed_or_returns_to_the_reservation() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    let (first, second) = (holder(1), holder(2));
    desk.claim(game, seat, "ann", first).unwrap();
    desk.claim(game, seat, "ann", first).unwrap();
    assert_eq!(desk.claim(game, seat, "ann", second), Err(Refusal::SeatTaken));
    desk.pass(secs(15));
    assert!(matches!(desk.seats(game)[0].state, SeatState::Reserved { .. }));
    let late = desk.ask(Command::Confirm { game, seat, holder: first });
    assert_eq!(late, Err(Refusal::NotClaimed), "a late confirmation is none");
    desk.claim(game, seat, "ann", second).unwrap();
    desk.ask(Command::Abandon { game, seat, holder: second }).unwrap();
    desk.claim(game, seat, "ann", first).unwrap();
    desk.ask(Command::Confirm { game, seat, holder: first }).unwrap();
    desk.ask(Command::Confirm { game, seat, holder: first }).unwrap();
    assert_eq!(desk.view(game).active, 1);
}

#[test]
fn a_claim_holds_the_seat_while_its_reservation_runs_out() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    desk.pass(secs(55));
    desk.claim(game, seat, "ann", holder(1)).unwrap();
    desk.pass(secs(10));
    assert_eq!(desk.view(game).reserved, 1);
    desk.ask(Command::Confirm { game, seat, holder: holder(1) }).unwrap();
    // One that comes to nothing has no reservation to return to.
    let other = desk.reserve(game, &["bob"]).unwrap()[0].id;
    desk.pass(secs(55));
    desk.claim(game, other, "bob", holder(2)).unwrap();
    desk.pass(secs(15));
    assert_eq!(desk.view(game).reserved, 0);
}

#[test]
fn a_seat_serves_one_player_once() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.reserve(game, &["ann", "bob"]).unwrap()[0].id;
    assert_eq!(desk.claim(game, seat, "bob", holder(1)), Err(Refusal::WrongPlayer));
    desk.claim(game, seat, "ann", holder(1)).unwrap();
    desk.ask(Command::Confirm { game, seat, holder: holder(1) }).unwrap();
    assert_eq!(desk.claim(game, seat, "ann", holder(2)), Err(Refusal::SeatTaken));
    assert_eq!(desk.ask(Command::Release { game, seat }), Err(Refusal::SeatTaken));
    let wrong = desk.ask(Command::Complete { game, seat, holder: holder(2) });
    assert_eq!(wrong, Err(Refusal::NotClaimed));
    desk.ask(Command::Complete { game, seat, holder: holder(1) }).unwrap();
    desk.ask(Command::Complete { game, seat, holder: holder(1) }).unwrap();
    assert_eq!(desk.claim(game, seat, "ann", holder(3)), Err(Refusal::SeatEnded));
    let nobody = desk.claim(game, rejoin_core::id::SeatId([9; 16]), "ann", holder(3));
    assert_eq!(nobody, Err(Refusal::NotFound(What::Seat)));
}

#[test]
fn a_seat_in_use_stays_however_long_its_player_is_away() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    desk.seat(game, "ann", 1);
    for _ in 0..120 {
        desk.pass(secs(60));
        desk.say(host, HostWord::Healthy(true));
    }
    assert_eq!(desk.view(game).active, 1);
}

#[test]
fn a_game_that_takes_nobody_refuses_and_keeps_who_is_there() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    let change = GameChange { accepts: Some(false), ..GameChange::default() };
    desk.send(Command::Update { game, change });
    desk.say(host, HostWord::Updated(game, Ok(())));
    assert_eq!(desk.reserve(game, &["bob"]), Err(Refusal::NotAccepting));
    desk.claim(game, seat, "ann", holder(1)).unwrap();
}

#[test]
fn a_match_closes_the_game_and_its_own_word_counts_again_when_it_is_over() {
    let mut desk = Desk::new();
    let (host, other) = (desk.host("a"), desk.host("b"));
    let game = desk.game(host, "k");
    let seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    desk.say(other, HostWord::Match(game, true));
    assert!(desk.view(game).accepts(), "another's word closes nothing");
    desk.say(host, HostWord::Match(game, true));
    assert_eq!(desk.reserve(game, &["bob"]), Err(Refusal::NotAccepting));
    assert_eq!((desk.view(game).accepts(), desk.view(game).spec.accepts), (false, true));
    // Whoever has a seat still comes in, and a crash changes nothing.
    desk.claim(game, seat, "ann", holder(1)).unwrap();
    desk.crash();
    let again = desk.register(registration("a"));
    desk.ready(again, &[game]);
    assert!(desk.view(game).in_match);
    assert_eq!(desk.reserve(game, &["bob"]), Err(Refusal::NotAccepting));
    // The Game's own word may change meanwhile, and is what counts behind the match.
    let change = GameChange { accepts: Some(false), ..GameChange::default() };
    desk.send(Command::Update { game, change });
    desk.say(again, HostWord::Updated(game, Ok(())));
    desk.say(again, HostWord::Match(game, false));
    assert_eq!(desk.reserve(game, &["bob"]), Err(Refusal::NotAccepting));
    let change = GameChange { accepts: Some(true), ..GameChange::default() };
    desk.send(Command::Update { game, change });
    desk.say(again, HostWord::Updated(game, Ok(())));
    desk.reserve(game, &["bob"]).unwrap();
}

#[test]
fn the_host_lets_players_in_and_only_into_its_own_games() {
    let mut desk = Desk::new();
    let (a, b) = (desk.host("a"), desk.host("b"));
    let game = desk.game(a, "k");
    let seat = desk.reserve(game, &["ann", "bob"]).unwrap()[0].id;
    let mut ticket = 1_000_000;
    let mut accept = |desk: &mut Desk, process, player: Option<&str>| {
        ticket += 1;
        let player = player.map(str::to_owned);
        desk.say(process, HostWord::Accept { ticket, game, seat, player });
        desk.answers[&ticket].clone().map(drop)
    };
    assert_eq!(accept(&mut desk, b, None), Err(Refusal::NotYours));
    assert_eq!(accept(&mut desk, a, Some("bob")), Err(Refusal::WrongPlayer));
    assert_eq!(accept(&mut desk, a, Some("ann")), Ok(()));
    assert_eq!(accept(&mut desk, a, Some("ann")), Err(Refusal::SeatTaken));
    assert_eq!(desk.view(game).active, 1);
    let gone = HostWord::Remove { ticket: 1, game, seat };
    desk.answers.clear();
    desk.say(a, gone);
    assert!(desk.answers[&1].is_ok());
    assert_eq!(accept(&mut desk, a, None), Err(Refusal::SeatEnded));
    // Without a lease nobody is let in.
    desk.leave(a);
    assert_eq!(accept(&mut desk, a, None), Err(Refusal::StaleLease));
}

/// Without an answer the driver would wait for it for ever, and has room for so many questions only.
#[test]
fn a_question_of_a_host_that_is_not_known_is_answered() {
    let mut desk = Desk::new();
    let process = desk.host("a");
    let game = desk.game(process, "k");
    let seat = desk.reserve(game, &["ann"]).unwrap()[0].id;
    let unknown = Process { host: HostId([9; 16]), ..process };
    let entry = Entry { process: 7, number: 1 };
    for (ticket, word) in [
        (1, HostWord::Accept { ticket: 1, game, seat, player: None }),
        (2, HostWord::Admit { ticket: 2, game, seat, player: None, entry }),
        (3, HostWord::Remove { ticket: 3, game, seat }),
    ] {
        desk.answers.remove(&ticket);
        desk.say(unknown, word);
        let answer = desk.answers.get(&ticket).map(|answer| answer.clone().map(drop));
        assert_eq!(answer, Some(Err(Refusal::NotFound(What::Host))), "question {ticket}");
    }
}

/// What a host's process is told about one entry.
fn admit(
    desk: &mut Desk,
    process: Process,
    (game, seat): (GameId, SeatId),
    entry: Entry,
) -> Result<(), Refusal> {
    let (ticket, player) = (u64::from(entry.number) + 1_000_000, Some("ann".to_owned()));
    desk.answers.remove(&ticket);
    desk.say(process, HostWord::Admit { ticket, game, seat, player, entry });
    desk.answers[&ticket].clone().map(drop)
}

#[test]
fn an_entry_is_let_in_once_however_often_it_is_asked_for() {
    let mut desk = Desk::new();
    let process = desk.host("a");
    let game = desk.game(process, "k");
    let seat = (game, desk.reserve(game, &["ann", "bob"]).unwrap()[0].id);
    let entry = |process, number| Entry { process, number };
    assert_eq!(admit(&mut desk, process, seat, entry(7, 1)), Ok(()));
    assert_eq!(admit(&mut desk, process, seat, entry(7, 1)), Ok(()));
    assert_eq!(admit(&mut desk, process, seat, entry(7, 2)), Err(Refusal::SeatTaken));
    assert_eq!(desk.view(game).active, 1);

    // The directory has crashed, and the same process asks what it was not told.
    desk.crash();
    let process = desk.register(registration("a"));
    desk.ready(process, &[game]);
    assert_eq!(admit(&mut desk, process, seat, entry(7, 1)), Ok(()));
    assert_eq!(admit(&mut desk, process, seat, entry(7, 2)), Err(Refusal::SeatTaken));

    // A new process took its place: whom the old one had let in, it lets in again.
    assert_eq!(admit(&mut desk, process, seat, entry(8, 1)), Ok(()));
    assert_eq!(admit(&mut desk, process, seat, entry(8, 2)), Err(Refusal::SeatTaken));
    assert_eq!(desk.view(game).active, 1);
    desk.say(process, HostWord::Remove { ticket: 1, game, seat: seat.1 });
    assert_eq!(admit(&mut desk, process, seat, entry(8, 1)), Err(Refusal::SeatEnded));
}

#[test]
fn a_seat_that_a_session_uses_is_no_hosts_to_give() {
    let mut desk = Desk::new();
    let process = desk.host("a");
    let game = desk.game(process, "k");
    let seat = desk.seat(game, "ann", 1);
    let entry = Entry { process: 7, number: 1 };
    assert_eq!(admit(&mut desk, process, (game, seat), entry), Err(Refusal::SeatTaken));
}

#[test]
fn a_game_that_ends_while_it_is_joined_frees_every_seat() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let game = desk.game(host, "k");
    let seat = desk.reserve(game, &["ann", "bob"]).unwrap()[0].id;
    desk.claim(game, seat, "ann", holder(1)).unwrap();
    desk.say(host, HostWord::Ending);
    let confirmed = desk.ask(Command::Confirm { game, seat, holder: holder(1) });
    assert_eq!(confirmed, Err(Refusal::SeatEnded));
    assert!(
        desk.seats(game)
            .iter()
            .all(|seat| { matches!(seat.state, SeatState::Ended { how: SeatEnd::GameEnded, .. }) })
    );
    assert_eq!((desk.view(game).reserved, desk.view(game).active), (0, 0));
}

#[test]
fn seats_that_are_over_are_forgotten_in_their_order() {
    let mut desk = Desk::with(DirectoryConfig { seats_kept_max: 2, ..Default::default() });
    let host = desk.host("a");
    let game = desk.game(host, "k");
    for player in ["ann", "bob", "cid", "dan"] {
        let seat = desk.reserve(game, &[player]).unwrap()[0].id;
        desk.ask(Command::Release { game, seat }).unwrap();
    }
    let kept: Vec<String> = desk.seats(game).into_iter().map(|seat| seat.player).collect();
    assert_eq!(kept, ["cid", "dan"]);
}

#[test]
fn a_slow_store_is_busy_at_its_bound_and_nothing_is_told_before_it_is_durable() {
    let mut desk = Desk::with(DirectoryConfig { uncommitted_max: 2, ..Default::default() });
    let host = desk.host("a");
    let game = desk.game_of(host, rejoin_directory::game::GameSpec { capacity: 100, ..spec("k") });
    desk.slow_store();
    let mut ask = |player: &str| {
        let (guests, key) = (guests(&[player]), String::new());
        desk.send(Command::Reserve { game, guests, key, hold: None })
    };
    let tickets = [ask("ann"), ask("bob"), ask("cid")];
    assert_eq!(desk.answers.get(&tickets[0]), None);
    assert_eq!(desk.answers.get(&tickets[2]), Some(&Err(Refusal::Busy)));
    desk.commit_some(1);
    assert!(desk.answers.contains_key(&tickets[0]) && !desk.answers.contains_key(&tickets[1]));
    desk.commit_some(1);
    let told = seats(desk.answers[&tickets[1]].clone()).unwrap();
    assert_eq!(told[0].player, "bob");
}
