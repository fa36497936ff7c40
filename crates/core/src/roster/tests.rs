//! The roster against the recorded behaviour of Boss Room's `SessionManager`, against a plain
//! model, and against each fault of the original.
//!
//! `tests/traces/boss-room.jsonl` holds all 287 recorded runs, every step, answer and state, in a
//! shorter spelling: a step is `[op, client?, player?, value?, answer, state]`, a state a list of
//! `[player, is connected, client, value]`. Ops: `c` connect, `d` disconnect, `s` set, `S` session
//! started, `E` session ended, `X` server ended. Answers: `n` new, `r` reconnected, `d` duplicate,
//! `o` ok. Player `p3` is `3`. It was made from the recording by
//!
//! ```python
//! import json, sys
//! OPS = {"connect": "c", "disconnect": "d", "set": "s",
//!        "session_started": "S", "session_ended": "E", "server_ended": "X"}
//! number = lambda player: int(player[1:])
//! for run in map(json.loads, sys.stdin):
//!     steps = [[OPS[s["op"]], *([s["client"]] if "client" in s else []),
//!               *([number(s["player"])] if "player" in s else []),
//!               *([s["value"]] if "value" in s else []), s["result"][0],
//!               [[number(p), int(here), client, value]
//!                for p, (here, client, value) in s["players"].items()]] for s in run["steps"]]
//!     print(json.dumps({"seed": run["seed"], "steps": steps}, separators=(",", ":")))
//! ```
//!
//! and the way back gives the recording byte for byte.

use proptest::prelude::*;
use serde_json::Value;

use super::*;

/// A value that remembers how often it was reinitialised.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Score {
    value: u64,
    reinitialized: u32,
}

impl PlayerData for Score {
    fn reinitialize(&mut self) {
        self.value = 0;
        self.reinitialized += 1;
    }
}

fn score(value: u64) -> Score {
    Score { value, reinitialized: 0 }
}

fn at(ms: u64) -> Time {
    Time::from_millis(ms)
}

type Plain = Roster<Score, String, u64>;

fn roster() -> Plain {
    Roster::new(Rules::default())
}

fn held(ms: u64) -> Plain {
    Roster::new(Rules { keep: Some(Duration::from_millis(ms)), ..Rules::default() })
}

fn ann() -> String {
    "ann".to_owned()
}

fn bob() -> String {
    "bob".to_owned()
}

fn connect(roster: &mut Plain, connection: u64, player: &str, value: u64) -> Connected<u64> {
    roster.connect(Time::ZERO, connection, player.to_owned(), score(value)).unwrap()
}

/// Connects where the way in does not matter.
fn arrive(roster: &mut Plain, connection: u64, player: &str, value: u64) {
    let _ = connect(roster, connection, player, value);
}

/// What must hold between any two operations.
fn check<T, P: Ord + Clone + fmt::Debug, C: Ord + Copy + fmt::Debug>(roster: &Roster<T, P, C>) {
    let mut connections = BTreeMap::new();
    let mut holds = BTreeSet::new();
    for (player, presence, _) in roster.players() {
        match presence {
            Presence::Here { connection } => {
                assert_eq!(connections.insert(connection, player.clone()), None);
            }
            Presence::Away { until, .. } => {
                assert_eq!(roster.phase(), Phase::Match, "{player:?} is away without a match");
                assert_eq!(until.is_some(), roster.rules.keep.is_some());
                holds.extend(until.map(|until| (until, player.clone())));
            }
        }
    }
    assert_eq!(roster.connections, connections, "mappings are not those of the players here");
    assert_eq!(roster.holds, holds);
    assert!(roster.rules.capacity.is_none_or(|capacity| roster.len() <= capacity));
}

mod traces {
    use super::*;

    /// Does a recorded step; the answer is spelled as in the recording.
    fn play(roster: &mut Plain, step: &[Value]) -> &'static str {
        let number = |index: usize| step[index].as_u64().unwrap();
        let now = Time::ZERO;
        match step[0].as_str().unwrap() {
            "c" => {
                let player = format!("p{}", number(2));
                match roster.connect(now, number(1), player, score(number(3))) {
                    Ok(Connected::New) => "n",
                    Ok(Connected::Reconnected) => "r",
                    Err(ConnectRefused::Duplicate { .. }) => "d",
                    other => panic!("no such answer is recorded: {other:?}"),
                }
            }
            "d" => roster.disconnect(now, number(1)).map_or("stale", |_| "o"),
            "s" => roster.set(number(1), score(number(2))).map_or("stale", |()| "o"),
            "S" => {
                roster.match_started();
                "o"
            }
            "E" => {
                roster.match_ended();
                "o"
            }
            "X" => {
                roster.server_ended();
                "o"
            }
            other => panic!("unknown operation {other}"),
        }
    }

    /// Every record as (player, connected, client, value).
    type State = Vec<(String, bool, u64, u64)>;

    fn state(roster: &Plain) -> State {
        let row = |(player, presence, data): (&String, Presence<u64>, &Score)| match presence {
            Presence::Here { connection } => (player.clone(), true, connection, data.value),
            Presence::Away { was, .. } => (player.clone(), false, was, data.value),
        };
        roster.players().map(row).collect()
    }

    fn recorded(state: &Value) -> State {
        let row = |row: &Value| {
            let number = |index: usize| row[index].as_u64().unwrap();
            (format!("p{}", number(0)), number(1) == 1, number(2), number(3))
        };
        let mut rows: State = state.as_array().unwrap().iter().map(row).collect();
        rows.sort();
        rows
    }

    /// The queries say the same as the list of players.
    fn check_queries(roster: &Plain, state: &State) {
        for (player, here, client, value) in state {
            assert_eq!(roster.is_connected(player), *here);
            assert_eq!(roster.data(player).map(|data| data.value), Some(*value));
            let by_client = roster.player_of(*client).ok();
            assert_eq!(by_client, here.then_some(player));
            assert_eq!(roster.data_of(*client).is_ok(), *here);
        }
    }

    #[test]
    fn equals_all_recorded_runs() {
        let (mut runs, mut steps_done) = (0, 0);
        for line in include_str!("../../tests/traces/boss-room.jsonl").lines() {
            let run: Value = serde_json::from_str(line).unwrap();
            let seed = &run["seed"];
            let mut roster = roster();
            for (index, step) in run["steps"].as_array().unwrap().iter().enumerate() {
                let [done @ .., answer, after] = step.as_array().unwrap().as_slice() else {
                    panic!("seed {seed} step {index} is cut short");
                };
                let got = play(&mut roster, done);
                assert_eq!(got, answer.as_str().unwrap(), "answer, seed {seed} step {index}");
                let after = recorded(after);
                assert_eq!(state(&roster), after, "state, seed {seed} step {index}: {done:?}");
                check_queries(&roster, &after);
                check(&roster);
                steps_done += 1;
            }
            runs += 1;
        }
        assert_eq!((runs, steps_done), (287, 9407), "the recording is not whole");
        println!("{runs} of 287 runs equal");
    }
}

/// What the original gets wrong, one test each.
mod faults {
    use super::*;

    /// In the original the mapping of client 1 outlives ann's record, and the second end throws.
    #[test]
    fn match_end_after_a_reconnect_and_a_lobby_drop_does_not_fail() {
        let mut roster = roster();
        arrive(&mut roster, 1, "ann", 5);
        roster.match_started();
        roster.disconnect(at(0), 1).unwrap();
        assert_eq!(connect(&mut roster, 2, "ann", 6), Connected::Reconnected);
        assert_eq!(roster.match_ended(), []);
        let dropped = roster.disconnect(at(0), 2).unwrap();
        assert!(matches!(dropped, Disconnected::Forgotten { player, .. } if player == "ann"));
        assert_eq!(roster.match_ended(), []);
        assert!(roster.is_empty());
        check(&roster);
    }

    #[test]
    fn earlier_connection_has_no_authority_after_a_reconnect() {
        let mut roster = roster();
        arrive(&mut roster, 1, "ann", 5);
        roster.match_started();
        roster.disconnect(at(0), 1).unwrap();
        arrive(&mut roster, 2, "ann", 6);
        assert_eq!(roster.set(1, score(99)), Err(NotCurrent));
        assert_eq!(roster.data_of(1), Err(NotCurrent));
        assert_eq!(roster.player_of(1), Err(NotCurrent));
        assert_eq!(roster.disconnect(at(0), 1), Err(NotCurrent));
        assert!(roster.is_connected(&ann()));
        assert_eq!(roster.data(&ann()), Some(&score(5)));
        assert_eq!(roster.data_of(2), Ok(&score(5)));
    }

    #[test]
    fn reconnects_leave_no_mappings_behind() {
        let mut roster = roster();
        arrive(&mut roster, 0, "ann", 5);
        roster.match_started();
        for connection in 1..=1_000 {
            roster.disconnect(at(connection), connection - 1).unwrap();
            assert_eq!(roster.connections.len(), 0);
            assert_eq!(connect(&mut roster, connection, "ann", 0), Connected::Reconnected);
            assert_eq!(roster.connections.len(), 1);
        }
        assert_eq!(roster.len(), 1);
        check(&roster);
    }

    #[test]
    fn a_player_with_many_reconnects_is_reinitialized_once() {
        let mut roster = roster();
        arrive(&mut roster, 0, "ann", 5);
        roster.match_started();
        for connection in 1..=5 {
            roster.disconnect(at(0), connection - 1).unwrap();
            arrive(&mut roster, connection, "ann", 0);
        }
        roster.match_ended();
        assert_eq!(roster.data(&ann()), Some(&Score { value: 0, reinitialized: 1 }));
    }

    /// The original counts only the connected: others take the place of a player who dropped.
    #[test]
    fn an_absent_player_keeps_the_place() {
        let mut roster: Plain = Roster::new(Rules { capacity: Some(1), ..Rules::default() });
        arrive(&mut roster, 1, "ann", 5);
        roster.match_started();
        roster.disconnect(at(0), 1).unwrap();
        let refused = roster.connect(at(0), 2, bob(), score(0));
        assert_eq!(refused, Err(ConnectRefused::Full { capacity: 1 }));
        assert_eq!(connect(&mut roster, 3, "ann", 0), Connected::Reconnected);
    }
}

#[test]
fn a_lobby_drop_forgets_and_hands_back_the_data() {
    let mut roster = roster();
    arrive(&mut roster, 1, "ann", 5);
    let dropped = roster.disconnect(at(0), 1);
    assert_eq!(dropped, Ok(Disconnected::Forgotten { player: ann(), data: score(5) }));
    assert_eq!(connect(&mut roster, 2, "ann", 6), Connected::New);
    assert_eq!(roster.data(&ann()), Some(&score(6)));
}

#[test]
fn match_end_forgets_and_returns_the_absent() {
    let mut roster = held(100);
    arrive(&mut roster, 1, "ann", 5);
    arrive(&mut roster, 2, "bob", 6);
    roster.match_started();
    roster.disconnect(at(0), 1).unwrap();
    assert_eq!(roster.match_ended(), [(ann(), score(5))]);
    assert_eq!((roster.len(), roster.phase(), roster.next_expiry()), (1, Phase::Lobby, None));
    assert_eq!(connect(&mut roster, 3, "ann", 7), Connected::New);
    assert_eq!(roster.expire(at(1_000)), []);
}

#[test]
fn server_end_keeps_the_rules_and_nothing_else() {
    let mut roster: Plain = Roster::new(Rules { capacity: Some(1), ..Rules::default() });
    arrive(&mut roster, 1, "ann", 5);
    roster.match_started();
    roster.server_ended();
    assert_eq!((roster.len(), roster.phase()), (0, Phase::Lobby));
    assert_eq!(roster.set(1, score(1)), Err(NotCurrent));
    assert_eq!(connect(&mut roster, 2, "bob", 6), Connected::New);
    let refused = roster.connect(at(0), 3, ann(), score(0));
    assert_eq!(refused, Err(ConnectRefused::Full { capacity: 1 }));
}

#[test]
fn a_connection_in_use_is_refused_whoever_comes() {
    for duplicates in [Duplicates::RejectNew, Duplicates::TakeOver] {
        let mut roster: Plain = Roster::new(Rules { duplicates, ..Rules::default() });
        arrive(&mut roster, 1, "ann", 5);
        for player in [ann(), bob()] {
            let refused = roster.connect(at(0), 1, player, score(0));
            assert_eq!(refused, Err(ConnectRefused::ConnectionInUse));
        }
        assert_eq!(roster.player_of(1), Ok(&ann()));
        assert_eq!(roster.len(), 1);
    }
}

#[test]
fn a_refused_duplicate_changes_nothing() {
    let mut roster = roster();
    arrive(&mut roster, 1, "ann", 5);
    let refused = roster.connect(at(0), 2, ann(), score(9));
    assert_eq!(refused, Err(ConnectRefused::Duplicate { current: 1 }));
    assert_eq!(roster.data_of(1), Ok(&score(5)));
    assert_eq!(roster.disconnect(at(0), 2), Err(NotCurrent));
    assert!(roster.is_connected(&ann()));
}

#[test]
fn takeover_hands_over_the_record_in_lobby_and_match() {
    for in_match in [false, true] {
        let rules = Rules { duplicates: Duplicates::TakeOver, capacity: Some(1), keep: None };
        let mut roster: Plain = Roster::new(rules);
        arrive(&mut roster, 1, "ann", 5);
        if in_match {
            roster.match_started();
        }
        assert_eq!(connect(&mut roster, 2, "ann", 6), Connected::TookOver { stale: 1 });
        assert_eq!(roster.presence(&ann()), Some(Presence::Here { connection: 2 }));
        assert_eq!(roster.data_of(2), Ok(&score(5)));
        assert_eq!(roster.set(1, score(9)), Err(NotCurrent));
        assert_eq!(roster.disconnect(at(0), 1), Err(NotCurrent), "the late close of the loser");
        assert!(roster.is_connected(&ann()));
        check(&roster);
    }
}

#[test]
fn a_hold_ends_at_its_deadline_and_not_before() {
    for (now_ms, ended) in [(149, false), (150, true), (151, true)] {
        let mut roster = held(100);
        arrive(&mut roster, 1, "ann", 5);
        roster.match_started();
        let kept = Disconnected::Kept { player: ann(), until: Some(at(150)) };
        assert_eq!(roster.disconnect(at(50), 1), Ok(kept));
        assert_eq!(roster.next_expiry(), Some(at(150)));
        let expired = roster.expire(at(now_ms));
        assert_eq!(expired, if ended { vec![(ann(), score(5))] } else { vec![] });
        assert_eq!(roster.next_expiry().is_none(), ended);
        let again = roster.connect(at(now_ms), 2, ann(), score(6));
        assert_eq!(again, Ok(if ended { Connected::New } else { Connected::Reconnected }));
        assert_eq!(roster.next_expiry(), None);
        assert_eq!(roster.expire(at(10_000)), [], "a player who is here does not expire");
    }
}

#[test]
fn a_return_that_is_fed_before_expiry_wins() {
    let mut roster = held(100);
    arrive(&mut roster, 1, "ann", 5);
    roster.match_started();
    roster.disconnect(at(50), 1).unwrap();
    assert_eq!(roster.connect(at(150), 2, ann(), score(6)), Ok(Connected::Reconnected));
    assert_eq!(roster.expire(at(150)), []);
    assert_eq!(roster.data_of(2), Ok(&score(5)));
}

#[test]
fn each_drop_starts_a_full_hold_and_holds_end_in_order() {
    let mut roster = held(100);
    arrive(&mut roster, 1, "ann", 5);
    arrive(&mut roster, 2, "bob", 6);
    roster.match_started();
    roster.disconnect(at(0), 1).unwrap();
    roster.disconnect(at(10), 2).unwrap();
    arrive(&mut roster, 3, "ann", 0);
    roster.disconnect(at(90), 3).unwrap();
    assert_eq!(roster.next_expiry(), Some(at(110)));
    assert_eq!(roster.expire(at(500)), [(bob(), score(6)), (ann(), score(5))]);
    assert_eq!(roster.connect(at(500), 4, ann(), score(1)), Ok(Connected::New));
}

#[test]
fn without_a_hold_time_the_record_stays_until_the_match_ends() {
    let mut roster = roster();
    arrive(&mut roster, 1, "ann", 5);
    roster.match_started();
    roster.disconnect(at(0), 1).unwrap();
    assert_eq!(roster.next_expiry(), None);
    assert_eq!(roster.expire(Time(u64::MAX)), []);
    assert_eq!(connect(&mut roster, 2, "ann", 0), Connected::Reconnected);
}

#[test]
fn an_expired_hold_frees_the_place() {
    let rules =
        Rules { keep: Some(Duration::from_millis(100)), capacity: Some(1), ..Rules::default() };
    let mut roster: Plain = Roster::new(rules);
    arrive(&mut roster, 1, "ann", 5);
    roster.match_started();
    roster.disconnect(at(0), 1).unwrap();
    let refused = roster.connect(at(99), 2, bob(), score(0));
    assert_eq!(refused, Err(ConnectRefused::Full { capacity: 1 }));
    assert_eq!(roster.expire(at(100)).len(), 1);
    assert_eq!(roster.connect(at(100), 2, bob(), score(0)), Ok(Connected::New));
}

/// A roster as a list, looked through from the front; shares no code with the real one.
mod model {
    use super::*;

    #[derive(Clone, Debug)]
    pub(super) enum Op {
        Connect { player: u8, value: u64 },
        ConnectAgain { pick: usize, player: u8 },
        Disconnect { pick: usize },
        Set { pick: usize, value: u64 },
        Start,
        End,
        ServerEnd,
        Expire,
        Wait { ms: u64 },
    }

    pub(super) fn ops() -> impl Strategy<Value = Vec<Op>> {
        let op = prop_oneof![
            8 => (0..5u8, 1..1_000u64).prop_map(|(player, value)| Op::Connect { player, value }),
            1 => (0..9usize, 0..5u8).prop_map(|(pick, player)| Op::ConnectAgain { pick, player }),
            7 => (0..9usize).prop_map(|pick| Op::Disconnect { pick }),
            4 => (0..9usize, 1..1_000u64).prop_map(|(pick, value)| Op::Set { pick, value }),
            3 => Just(Op::Start),
            1 => Just(Op::End),
            1 => Just(Op::ServerEnd),
            3 => Just(Op::Expire),
            4 => (1..4u64).prop_map(|ms| Op::Wait { ms }),
        ];
        prop::collection::vec(op, 0..120)
    }

    pub(super) fn rules() -> impl Strategy<Value = Rules> {
        (any::<bool>(), prop::option::of(0..6u64), prop::option::of(0..5usize)).prop_map(
            |(take_over, keep_ms, capacity)| Rules {
                duplicates: if take_over { Duplicates::TakeOver } else { Duplicates::RejectNew },
                keep: keep_ms.map(Duration::from_millis),
                capacity,
            },
        )
    }

    #[derive(Clone, PartialEq, Debug)]
    pub(super) struct Row {
        pub(super) player: u8,
        pub(super) connection: u64,
        pub(super) here: bool,
        pub(super) dropped_ms: u64,
        pub(super) data: Score,
    }

    pub(super) struct Model {
        pub(super) rules: Rules,
        pub(super) started: bool,
        pub(super) rows: Vec<Row>,
    }

    impl Model {
        fn place(&self, connection: u64) -> Option<usize> {
            self.rows.iter().position(|row| row.here && row.connection == connection)
        }

        pub(super) fn connect(&mut self, connection: u64, player: u8, value: u64) -> String {
            if self.place(connection).is_some() {
                return "in use".into();
            }
            if let Some(row) = self.rows.iter_mut().find(|row| row.player == player) {
                let stale = row.connection;
                if row.here && self.rules.duplicates == Duplicates::RejectNew {
                    return format!("duplicate of {stale}");
                }
                let was_here = std::mem::replace(&mut row.here, true);
                row.connection = connection;
                return if was_here { format!("took over {stale}") } else { "again".into() };
            }
            if self.rules.capacity.is_some_and(|capacity| self.rows.len() == capacity) {
                return "full".into();
            }
            let data = score(value);
            self.rows.push(Row { player, connection, here: true, dropped_ms: 0, data });
            "new".into()
        }

        pub(super) fn disconnect(&mut self, now_ms: u64, connection: u64) -> String {
            match self.place(connection) {
                None => "not current".into(),
                Some(place) if self.started => {
                    self.rows[place].here = false;
                    self.rows[place].dropped_ms = now_ms;
                    "kept".into()
                }
                Some(place) => {
                    self.rows.remove(place);
                    "forgotten".into()
                }
            }
        }

        pub(super) fn set(&mut self, connection: u64, value: u64) -> bool {
            let place = self.place(connection);
            place.map(|place| self.rows[place].data = score(value)).is_some()
        }

        pub(super) fn end(&mut self) {
            self.rows.retain(|row| row.here);
            self.rows.iter_mut().for_each(|row| row.data.value = 0);
            self.rows.iter_mut().for_each(|row| row.data.reinitialized += 1);
            self.started = false;
        }

        pub(super) fn deadline_ms(&self, row: &Row) -> Option<u64> {
            let keep_ms = self.rules.keep?.as_millis() as u64;
            (!row.here).then_some(row.dropped_ms + keep_ms)
        }

        pub(super) fn expire(&mut self, now_ms: u64) -> Vec<(u8, Score)> {
            let over = |row: &Row| self.deadline_ms(row).is_some_and(|end_ms| now_ms >= end_ms);
            let (mut gone, left): (Vec<Row>, Vec<Row>) =
                self.rows.iter().cloned().partition(|row| over(row));
            gone.sort_by_key(|row| (row.dropped_ms, row.player));
            self.rows = left;
            gone.into_iter().map(|row| (row.player, row.data)).collect()
        }
    }
}

/// A roster and its model in step, and every connection that was ever given out.
struct Pair {
    roster: Roster<Score, u8, u64>,
    model: model::Model,
    now_ms: u64,
    given: u64,
}

impl Pair {
    fn new(rules: Rules) -> Self {
        let model = model::Model { rules, started: false, rows: Vec::new() };
        Self { roster: Roster::new(rules), model, now_ms: 0, given: 0 }
    }

    /// One of the newest connections, current or not; 0 was never given out.
    fn picked(&self, pick: usize) -> u64 {
        self.given.saturating_sub(pick as u64)
    }

    fn connect(&mut self, connection: u64, player: u8, value: u64) {
        let answer = match self.roster.connect(at(self.now_ms), connection, player, score(value)) {
            Ok(Connected::New) => "new".into(),
            Ok(Connected::Reconnected) => "again".into(),
            Ok(Connected::TookOver { stale }) => format!("took over {stale}"),
            Err(ConnectRefused::Duplicate { current }) => format!("duplicate of {current}"),
            Err(ConnectRefused::ConnectionInUse) => "in use".into(),
            Err(ConnectRefused::Full { .. }) => "full".into(),
        };
        assert_eq!(answer, self.model.connect(connection, player, value));
    }

    fn step(&mut self, op: &model::Op) {
        let now = at(self.now_ms);
        match *op {
            model::Op::Connect { player, value } => {
                self.given += 1;
                self.connect(self.given, player, value);
            }
            // Only a connection in use may come again: others are never reused.
            model::Op::ConnectAgain { pick, player } => {
                let connection = self.picked(pick);
                if self.roster.player_of(connection).is_ok() {
                    self.connect(connection, player, 1);
                }
            }
            model::Op::Disconnect { pick } => {
                let connection = self.picked(pick);
                let answer = match self.roster.disconnect(now, connection) {
                    Ok(Disconnected::Kept { .. }) => "kept",
                    Ok(Disconnected::Forgotten { .. }) => "forgotten",
                    Err(NotCurrent) => "not current",
                };
                assert_eq!(answer, self.model.disconnect(self.now_ms, connection));
            }
            model::Op::Set { pick, value } => {
                let connection = self.picked(pick);
                let set = self.roster.set(connection, score(value)).is_ok();
                assert_eq!(set, self.model.set(connection, value));
            }
            model::Op::Start => {
                self.roster.match_started();
                self.model.started = true;
            }
            model::Op::End => {
                let away = self.model.rows.iter().filter(|row| !row.here).count();
                assert_eq!(self.roster.match_ended().len(), away);
                self.model.end();
            }
            model::Op::ServerEnd => {
                self.roster.server_ended();
                self.model.rows.clear();
                self.model.started = false;
            }
            model::Op::Expire => {
                assert_eq!(self.roster.expire(now), self.model.expire(self.now_ms));
            }
            model::Op::Wait { ms } => self.now_ms += ms,
        }
    }

    fn compare(&self) {
        check(&self.roster);
        let mut rows = self.model.rows.clone();
        rows.sort_by_key(|row| row.player);
        let expected = rows.iter().map(|row| {
            let until = self.model.deadline_ms(row).map(at);
            let presence = match row.here {
                true => Presence::Here { connection: row.connection },
                false => Presence::Away { was: row.connection, until },
            };
            (&row.player, presence, &row.data)
        });
        assert!(self.roster.players().eq(expected), "{:?} against {rows:?}", self.roster);
        let next = rows.iter().filter_map(|row| self.model.deadline_ms(row)).min();
        assert_eq!(self.roster.next_expiry(), next.map(at));
        assert_eq!(self.roster.phase() == Phase::Match, self.model.started);
        for pick in 0..9 {
            let connection = self.picked(pick);
            let row = rows.iter().find(|row| row.here && row.connection == connection);
            assert_eq!(self.roster.player_of(connection).ok(), row.map(|row| &row.player));
            assert_eq!(self.roster.data_of(connection).ok(), row.map(|row| &row.data));
        }
    }
}

proptest! {
    #[test]
    fn equals_a_plain_model(rules in model::rules(), ops in model::ops()) {
        let mut pair = Pair::new(rules);
        for op in &ops {
            pair.step(op);
            pair.compare();
        }
    }

    #[test]
    fn first_match_start_finds_no_absent_player_and_a_second_changes_nothing(
        rules in model::rules(),
        ops in model::ops(),
    ) {
        let mut pair = Pair::new(rules);
        for op in &ops {
            pair.step(op);
            let before: Vec<_> =
                pair.roster.players().map(|(player, at, data)| (*player, at, *data)).collect();
            if pair.roster.phase() == Phase::Lobby {
                prop_assert!(
                    before.iter().all(|(_, at, _)| matches!(at, Presence::Here { .. })),
                    "{:?}", before
                );
            }
            // On copies, so that the history goes on as it would have.
            let mut started = pair.roster.clone();
            started.match_started();
            let mut again = started.clone();
            again.match_started();
            prop_assert_eq!(again.phase(), Phase::Match);
            prop_assert_eq!(format!("{started:?}"), format!("{again:?}"));
            let after: Vec<_> =
                started.players().map(|(player, at, data)| (*player, at, *data)).collect();
            prop_assert_eq!(before, after);
        }
    }
}
