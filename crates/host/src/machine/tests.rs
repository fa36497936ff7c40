//! Short plays against the machine: what the server says, what the game says, and what comes of it.

use serde_json::json;

use super::*;

const GAME: &str = "00000000000000000000000000000001";
const SEAT: &str = "000000000000000000000000000000aa";

fn game() -> GameId {
    GameId::from_hex(GAME).expect("an id")
}

fn seat() -> SeatId {
    SeatId::from_hex(SEAT).expect("an id")
}

/// A Game as the server shows it.
fn shown(capacity: u32) -> serde_json::Value {
    json!({
        "id": GAME, "fleet": "f", "location": "", "name": "", "properties": {}, "data": "aGk=",
        "capacity": capacity, "accepts": true, "visible": true, "creator": "",
        "ends_when_empty": true, "status": "active", "free": 1,
    })
}

struct Play(Machine);

impl Play {
    /// A host that is ready, without any Games.
    fn ready() -> Self {
        Self::running(&[])
    }

    fn running(games: &[GameId]) -> Self {
        let mut play = Self(Machine::new(games.iter().copied()));
        play.give(Input::Ready { port: 7777, log_paths: Vec::new() });
        play.line();
        play
    }

    fn give(&mut self, input: Input) -> Vec<Output> {
        self.0.handle(input);
        std::iter::from_fn(|| self.0.next_output()).collect()
    }

    fn hear(&mut self, heard: serde_json::Value) -> Vec<Output> {
        let heard = Heard::read(&heard.to_string()).expect("a message");
        self.give(Input::Heard(heard))
    }

    /// A new line up to the word that the host is ready: what is said and asked on it.
    fn line(&mut self) -> Vec<Output> {
        assert_eq!(self.give(Input::Opened), [Output::Say(Word::Hello)]);
        let mut out = self.hear(json!({"welcome": {"host": "x", "lease": "1"}}));
        out.extend(self.hear(json!({"readied": {"present": true}})));
        out
    }

    /// The line breaks, and there is another.
    fn again(&mut self) -> Vec<Output> {
        assert_eq!(self.give(Input::Lost), [Output::Hook(Hook::Line(false))]);
        let mut out = self.line();
        out.retain(|out| !matches!(out, Output::Readied | Output::Hook(Hook::Line(_))));
        out
    }

    /// A Game that runs and is active.
    fn begin(&mut self) {
        let asked = self.hear(json!({"create": shown(2)}));
        assert!(matches!(&asked[..], [Output::Hook(Hook::CreateBegin(_))]), "{asked:?}");
        let began = self.give(Input::Hooked(Hooked::Created(game(), true)));
        assert_eq!(began, [say(Word::Began(game(), None))]);
        let active = self.hear(json!({"create_end": {"game": GAME}}));
        assert_eq!(active, [Output::Hook(Hook::CreateEnd(game()))]);
    }

    /// Somebody asks to come in.
    fn knock(&mut self, ticket: u64) -> Vec<Output> {
        let (game, seat, player) = (game(), seat(), Some("ann".to_owned()));
        self.give(Input::Admit { ticket, game, seat, player })
    }
}

fn say(word: Word) -> Output {
    Output::Say(word)
}

fn ready(games: &[GameId]) -> Output {
    say(Word::Ready { port: 7777, log_paths: Vec::new(), games: games.to_vec() })
}

#[test]
fn a_game_lives_from_its_begin_to_its_end() {
    let mut play = Play::ready();
    play.begin();
    let asked = play.hear(json!({"destroy": {"game": GAME, "limit_ms": 9, "may_refuse": true}}));
    assert!(matches!(&asked[..], [Output::Hook(Hook::DestroyBegin { may_refuse: true, .. })]));
    let agreed = play.give(Input::Hooked(Hooked::Destroying(game(), true)));
    assert_eq!(agreed, [say(Word::Destroying(game(), None))]);
    assert_eq!(play.give(Input::GameOver(game())), [say(Word::Destroyed(game()))]);
    let over = play.hear(json!({"destroy_end": {"game": GAME}}));
    assert_eq!(over, [Output::Hook(Hook::DestroyEnd(game()))]);
    assert_eq!(play.again(), [ready(&[])]);
}

#[test]
fn what_a_begin_hook_agreed_to_is_not_asked_again_on_the_next_line() {
    let mut play = Play::ready();
    play.hear(json!({"create": shown(2)}));
    play.give(Input::Lost);
    // The hook is through while there is no line.
    assert_eq!(play.give(Input::Hooked(Hooked::Created(game(), true))), []);
    let out = play.line();
    assert_eq!(out[0], ready(&[game()]));
    // The directory had not heard of it, and asks again.
    assert_eq!(play.hear(json!({"create": shown(2)})), [say(Word::Began(game(), None))]);
    assert_eq!(play.hear(json!({"create_end": {"game": GAME}})).len(), 1);
    assert_eq!(play.hear(json!({"create_end": {"game": GAME}})), []);
}

#[test]
fn a_refused_game_is_refused_again_and_then_forgotten() {
    let mut play = Play::ready();
    play.hear(json!({"create": shown(2)}));
    let refused = [say(Word::Began(game(), Some("the game refused")))];
    assert_eq!(play.give(Input::Hooked(Hooked::Created(game(), false))), refused);
    assert_eq!(play.again(), [ready(&[])]);
    // Not asked about again: forgotten, so a Game of that id would be a new one.
    assert!(matches!(play.hear(json!({"create": shown(2)}))[..], [Output::Hook(_)]));
}

#[test]
fn a_change_is_decided_once_and_told_once() {
    let mut play = Play::ready();
    play.begin();
    let asked = play.hear(json!({"update": shown(5)}));
    let [Output::Hook(Hook::UpdateBegin(_, number))] = asked[..] else { panic!("{asked:?}") };
    play.give(Input::Hooked(Hooked::Updated(game(), number, true)));
    // Lost with the line; the directory asks again, and the hook is not.
    let out = play.again();
    assert!(matches!(out[..], [_, Output::Say(Word::Game { .. })]), "{out:?}");
    assert_eq!(play.hear(json!({"update": shown(5)})), [say(Word::Updated(game(), None))]);
    let ended = play.hear(json!({"update_end": {"game": GAME}}));
    assert!(matches!(&ended[..], [Output::Hook(Hook::UpdateEnd(game))] if game.capacity == 5));
    assert_eq!(play.hear(json!({"update_end": {"game": GAME}})), []);
    // The same wish later is another one.
    assert!(matches!(play.hear(json!({"update": shown(5)}))[..], [Output::Hook(_)]));
}

#[test]
fn a_change_whose_end_was_lost_is_looked_up() {
    for (capacity, is_told) in [(5, true), (2, false)] {
        let mut play = Play::ready();
        play.begin();
        let asked = play.hear(json!({"update": shown(5)}));
        let [Output::Hook(Hook::UpdateBegin(_, number))] = asked[..] else { panic!("{asked:?}") };
        play.give(Input::Hooked(Hooked::Updated(game(), number, true)));
        let out = play.again();
        let [_, Output::Say(Word::Game { ask, .. })] = out[..] else { panic!("{out:?}") };
        let told = play.hear(json!({"answer": {"ask": ask, "game": shown(capacity)}}));
        assert_eq!(told.len(), usize::from(is_told), "{told:?}");
    }
}

#[test]
fn a_game_that_ended_unheard_is_named_until_the_directory_knows() {
    let mut play = Play::ready();
    play.begin();
    play.give(Input::Lost);
    assert_eq!(play.give(Input::GameOver(game())), []);
    let out = play.line();
    assert_eq!(out[0], ready(&[game()]));
    assert_eq!(out.last(), Some(&say(Word::Destroyed(game()))));
    assert_eq!(play.hear(json!({"create_end": {"game": GAME}})), []);
    assert_eq!(play.hear(json!({"destroy_end": {"game": GAME}})).len(), 1);
}

#[test]
fn a_game_that_is_not_wanted_while_it_begins_is_taken_down() {
    let mut play = Play::ready();
    play.hear(json!({"create": shown(2)}));
    assert_eq!(play.hear(json!({"destroy_end": {"game": GAME}})), []);
    let down = play.give(Input::Hooked(Hooked::Created(game(), true)));
    assert_eq!(down, [Output::Hook(Hook::DestroyEnd(game()))]);
}

#[test]
fn an_end_that_may_not_be_refused_is_not() {
    let mut play = Play::ready();
    play.begin();
    let destroy = |may| json!({"destroy": {"game": GAME, "limit_ms": 9, "may_refuse": may}});
    play.hear(destroy(true));
    let no = play.give(Input::Hooked(Hooked::Destroying(game(), false)));
    assert_eq!(no, [say(Word::Destroying(game(), Some("the game refused")))]);
    play.hear(destroy(false));
    let yes = play.give(Input::Hooked(Hooked::Destroying(game(), false)));
    assert_eq!(yes, [say(Word::Destroying(game(), None))]);
}

#[test]
fn a_question_is_asked_with_the_same_entry_until_it_is_answered() {
    let mut play = Play::ready();
    play.begin();
    let asked = play.knock(1);
    let [Output::Say(Word::Admit { ask, entry, .. })] = asked[..] else { panic!("{asked:?}") };
    assert_eq!(play.knock(2), [Output::Answer(2, Err(AdmitError::Taken))]);
    let out = play.again();
    assert_eq!(out[1..], asked[..], "{entry}");
    let seats = json!([{"id": SEAT, "player": "ann", "data": "", "status": "active"}]);
    let answer = json!({"answer": {"ask": ask, "seats": seats}});
    let told = play.hear(answer.clone());
    assert!(matches!(&told[..], [Output::Answer(1, Ok(seats))] if seats[0].player == "ann"));
    assert_eq!(play.hear(answer), []);
    assert_eq!(play.knock(3), [Output::Answer(3, Err(AdmitError::Taken))]);
    // It goes, and that is said until it is heard.
    assert_eq!(play.give(Input::Left { game: game(), seat: seat() }).len(), 1);
    let out = play.again();
    let [_, Output::Say(Word::Left { ask, .. })] = out[..] else { panic!("{out:?}") };
    assert_eq!(play.knock(4), [Output::Answer(4, Err(AdmitError::Ended))]);
    play.hear(json!({"answer": {"ask": ask, "seats": []}}));
    assert_eq!(play.again().len(), 1);
}

#[test]
fn every_refusal_lets_nobody_in_and_is_told_by_its_kind() {
    for (code, refusal) in [
        ("seat_not_found", AdmitError::NoSuchSeat),
        ("seat_taken", AdmitError::Taken),
        ("seat_ended", AdmitError::Ended),
        ("wrong_player", AdmitError::WrongPlayer),
        ("not_yours", AdmitError::NotYours),
        ("wrong_status", AdmitError::GameNotActive),
        ("busy", AdmitError::Busy),
        ("something_new", AdmitError::Refused("something_new".to_owned())),
    ] {
        let mut play = Play::ready();
        play.begin();
        play.knock(1);
        let told = play.hear(json!({"answer": {"ask": 1, "refused": {"code": code}}}));
        assert_eq!(told, [Output::Answer(1, Err(refusal))]);
        // Whoever comes next is asked about anew.
        assert!(matches!(play.knock(2)[..], [Output::Say(_)]), "{code}");
    }
    let mut play = Play::ready();
    assert_eq!(play.knock(1), [Output::Answer(1, Err(AdmitError::NotYours))]);
}

#[test]
fn who_gave_up_waiting_is_not_in_and_the_directory_hears_so() {
    let mut play = Play::ready();
    play.begin();
    play.knock(1);
    let out = play.give(Input::GiveUp(1));
    assert!(matches!(out[..], [Output::Say(Word::Left { .. })]), "{out:?}");
    // Never asked: nothing to take back.
    let mut play = Play::ready();
    play.begin();
    play.give(Input::Lost);
    assert_eq!(play.knock(1), []);
    assert_eq!(play.give(Input::GiveUp(1)), []);
    assert_eq!(play.line().len(), 3);
}

#[test]
fn what_the_directory_was_too_busy_for_is_said_again() {
    let mut play = Play::running(&[game()]);
    play.give(Input::Left { game: game(), seat: seat() });
    play.hear(json!({"answer": {"ask": 1, "refused": {"code": "busy"}}}));
    assert!(matches!(play.give(Input::Tick)[..], [Output::Say(Word::Left { ask: 1, .. })]));
    assert_eq!(play.give(Input::Tick), []);
}

#[test]
fn whoever_is_taken_over_is_over_and_everybody_is_told() {
    let mut play = Play::ready();
    play.begin();
    play.knock(1);
    let out = play.hear(json!({"refused": {"code": "stale_lease"}}));
    let over = AdmitError::Over(HostEnd::TakenOver);
    assert_eq!(out, [Output::Answer(1, Err(over.clone())), Output::Over(HostEnd::TakenOver)]);
    assert_eq!(play.knock(2), [Output::Answer(2, Err(over))]);
    assert_eq!(play.give(Input::Opened), []);
}

#[test]
fn a_word_that_is_refused_ends_nothing_but_a_bad_ready_does() {
    let mut play = Play::ready();
    assert_eq!(play.hear(json!({"refused": {"code": "not_yours", "detail": "x"}})), []);
    let mut play = Play(Machine::new([]));
    play.give(Input::Ready { port: 0, log_paths: Vec::new() });
    play.give(Input::Opened);
    play.hear(json!({"welcome": {}}));
    let out = play.hear(json!({"refused": {"code": "invalid", "detail": "port"}}));
    assert!(matches!(&out[..], [Output::Over(HostEnd::Refused { code, .. })] if code == "invalid"));
}
