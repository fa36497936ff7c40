//! Finding Games, and hearing of them.

use std::collections::BTreeSet;

use rejoin_core::id::GameId;
use rejoin_directory::game::GameSpec;
use rejoin_directory::host::HostWord;
use rejoin_directory::search::{CutCause, FilterError, News};
use rejoin_directory::{Answer, Command, DirectoryConfig, DirectoryInput, Refusal, Target};

use crate::desk::{Desk, FLEET, Process, holder, registration, secs, spec};

/// Games with these names, modes and numbers of seats.
fn games(desk: &mut Desk, host: Process, of: &[(&str, &str, u32)]) -> Vec<GameId> {
    let games = of.iter().map(|(name, mode, capacity)| {
        let mut spec = GameSpec { name: (*name).to_owned(), capacity: *capacity, ..spec("") };
        if !mode.is_empty() {
            spec.properties.insert("mode".to_owned(), (*mode).to_owned());
            spec.properties.insert("plain".to_owned(), (*mode).to_owned());
        }
        desk.game_of(host, spec)
    });
    games.collect()
}

fn names(desk: &mut Desk, filter: &str, sort: &str) -> Vec<String> {
    let page = desk.search(filter, sort).unwrap_or_else(|error| panic!("{filter}: {error}"));
    page.games.iter().map(|game| game.spec.name.clone()).collect()
}

fn subscribe(desk: &mut Desk, filter: &str) -> Result<u64, Refusal> {
    let (target, filter) = (Target::Fleet(FLEET.to_owned()), filter.to_owned());
    match desk.ask(Command::Subscribe { target, location: None, filter })? {
        Answer::Subscribed(id) => Ok(id),
        other => panic!("{other:?}"),
    }
}

fn told(desk: &mut Desk) -> Vec<(&'static str, GameId)> {
    let news = std::mem::take(&mut desk.news).into_iter();
    let told = news.map(|(_, news)| match news {
        News::Added(game) => ("added", game.id),
        News::Changed(game) => ("changed", game.id),
        News::Removed(game) => ("removed", game),
    });
    told.collect()
}

#[test]
fn filters_find_what_they_say_and_sorts_put_it_in_order() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let of = [("c", "duel", 2), ("a", "duel", 8), ("b", "ffa", 8), ("d", "", 1)];
    let ids = games(&mut desk, host, &of);
    desk.reserve(ids[3], &["ann"]).unwrap();
    let cases = [
        ("", "name ASC", "abcd"),
        ("", "name DESC", "dcba"),
        ("", "capacity DESC", "abcd"),
        ("properties.mode = 'duel'", "name ASC", "ac"),
        ("properties.mode <> 'duel'", "name ASC", "bd"),
        ("NOT properties.mode = \"duel\"", "name ASC", "bd"),
        ("capacity>=8 AND has_room=true", "name ASC", "ab"),
        ("has_room = false", "name ASC", "d"),
        ("players = 1 OR name = 'a' AND capacity = 8", "name ASC", "ad"),
        ("(players = 1 OR name = 'a') AND capacity = 8", "name ASC", "a"),
        ("maximumSessions < 8 AND gameSessionProperties.mode = 'duel'", "name ASC", "c"),
        ("", "properties.mode ASC", "acbd"),
        ("", "properties.mode DESC", "bacd"),
        ("", "properties.plain DESC", "bacd"),
        ("capacity > 8", "", ""),
        ("name = 'A'", "", ""),
    ];
    for (filter, sort, found) in cases {
        let mut got = names(&mut desk, filter, sort).concat();
        // Among equals the order is that of ids, which are random.
        if sort.starts_with("properties") || sort.starts_with("capacity") {
            let tie = |text: &str| text.replace("ca", "ac").replace("ba", "ab");
            got = if sort.starts_with("capacity") { tie(&got) } else { got.replace("ca", "ac") };
        }
        assert_eq!(got, found, "{filter} / {sort}");
    }
    let one = desk.search(&format!("id = '{}'", ids[1]), "").unwrap();
    assert_eq!(one.games[0].id, ids[1]);
}

#[test]
fn only_active_visible_games_of_present_hosts_are_found() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    games(&mut desk, host, &[("seen", "", 4)]);
    desk.game_of(host, GameSpec { visible: false, name: "hidden".to_owned(), ..spec("h") });
    desk.create(GameSpec { name: "early".to_owned(), ..spec("e") }).unwrap();
    let over = games(&mut desk, host, &[("over", "", 4)])[0];
    desk.ask(Command::Terminate(over)).unwrap();
    assert_eq!(names(&mut desk, "", ""), ["seen"]);
    desk.leave(host);
    assert_eq!(names(&mut desk, "", ""), Vec::<String>::new());
    let target = Target::Fleet(FLEET.to_owned());
    let all = desk.ask(Command::ListGames { target, after: None, limit: 10 });
    assert!(matches!(all, Ok(Answer::Games(all)) if all.len() == 4));
}

#[test]
fn pages_neither_repeat_nor_leave_out_what_stays_while_others_come_and_go() {
    for sort in ["", "name ASC", "name DESC", "capacity DESC", "properties.mode DESC", "id DESC"] {
        let mut desk = Desk::new();
        let roomy = rejoin_directory::host::Registration { games_max: 1_000, ..registration("a") };
        let host = desk.register(roomy);
        desk.ready(host, &[]);
        let modes = ["", "x", "y"];
        let of: Vec<(String, &str, u32)> =
            (0..60).map(|it| (format!("n{}", it % 7), modes[it % 3], 1 + it as u32 % 4)).collect();
        let of: Vec<(&str, &str, u32)> =
            of.iter().map(|(name, mode, capacity)| (name.as_str(), *mode, *capacity)).collect();
        let ids = games(&mut desk, host, &of);
        let (mut seen, mut cursor) = (Vec::new(), String::new());
        for page in 0.. {
            let found = desk.search_from("", sort, 7, &cursor).unwrap();
            assert!(found.games.len() <= 7);
            seen.extend(found.games.iter().map(|game| game.id));
            let Some(next) = found.cursor else { break };
            cursor = next;
            // One that is shown already goes, and another comes.
            if page < 3 {
                desk.ask(Command::Terminate(seen[page])).unwrap();
                games(&mut desk, host, &[("n3", "x", 2)]);
            }
        }
        let once: BTreeSet<GameId> = seen.iter().copied().collect();
        assert_eq!(once.len(), seen.len(), "{sort}: shown twice");
        assert!(ids.iter().all(|id| once.contains(id)), "{sort}: left out");
    }
}

#[test]
fn a_cursor_belongs_to_its_search() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    games(&mut desk, host, &[("a", "", 1), ("b", "", 1), ("c", "", 1)]);
    let cursor = desk.search_from("", "name ASC", 1, "").unwrap().cursor.unwrap();
    assert!(cursor.len() <= 1_024);
    for (filter, sort) in [("", "name DESC"), ("capacity = 1", "name ASC")] {
        let other = desk.search_from(filter, sort, 1, &cursor);
        assert_eq!(other, Err(Refusal::WrongCursor));
    }
    for wrong in ["zz", "00", "0", "ffffffffffff"] {
        assert_eq!(desk.search_from("", "name ASC", 1, wrong), Err(Refusal::WrongCursor));
    }
    for limit in [0, 101] {
        let outcome = desk.search_from("", "", limit, "");
        assert!(matches!(outcome, Err(Refusal::Invalid { field: "limit", .. })));
    }
}

#[test]
fn a_search_that_would_cost_too_much_is_refused() {
    let mut desk = Desk::with(DirectoryConfig { search_work_max: 8, ..Default::default() });
    let host =
        desk.register(rejoin_directory::host::Registration { games_max: 100, ..registration("a") });
    desk.ready(host, &[]);
    let mut of = vec![("many", "duel", 4); 20];
    of.push(("one", "ffa", 4));
    games(&mut desk, host, &of);
    let broad = Err(Refusal::TooBroad { work_max: 8 });
    assert_eq!(desk.search("properties.plain = 'ffa'", "name ASC").map(drop), broad);
    assert_eq!(desk.search("", "properties.plain ASC").map(drop), broad);
    assert_eq!(names(&mut desk, "properties.mode = 'ffa'", "name ASC"), ["one"]);
    // What was found within the budget is shown, and the cursor goes on from there.
    let page = desk.search("properties.plain = 'duel'", "name ASC").unwrap();
    assert!(page.games.len() == 8 && page.cursor.is_some());
}

#[test]
fn an_expression_that_cannot_be_read_is_refused_with_its_place() {
    let mut desk = Desk::new();
    let error = desk.search("capacity >", "").unwrap_err();
    let wanted = FilterError { at: 10, expected: "a number".to_owned() };
    assert_eq!(error, Refusal::Filter(wanted));
    assert!(matches!(desk.search("", "name UP"), Err(Refusal::Sort(error)) if error.at == 5));
}

#[test]
fn a_subscriber_hears_what_is_there_and_what_changes() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let ids = games(&mut desk, host, &[("a", "duel", 2), ("b", "ffa", 2)]);
    let id = subscribe(&mut desk, "properties.mode = 'duel' AND has_room = true").unwrap();
    assert_eq!(told(&mut desk), [], "nothing without credit");
    desk.give(DirectoryInput::Credit { subscription: id, count: 100 });
    assert_eq!(told(&mut desk), [("added", ids[0])]);
    let seat = desk.reserve(ids[0], &["ann"]).unwrap()[0].id;
    assert_eq!(told(&mut desk), [("changed", ids[0])]);
    desk.reserve(ids[0], &["bob"]).unwrap();
    assert_eq!(told(&mut desk), [("removed", ids[0])]);
    desk.ask(Command::Release { game: ids[0], seat }).unwrap();
    assert_eq!(told(&mut desk), [("added", ids[0])]);
    desk.leave(host);
    assert_eq!(told(&mut desk), [("removed", ids[0])]);
    let again = desk.register(registration("a"));
    desk.ready(again, &ids);
    assert_eq!(told(&mut desk), [("added", ids[0])]);
    desk.ask(Command::Unsubscribe(id)).unwrap();
    desk.say(again, HostWord::Ending);
    assert_eq!(told(&mut desk), []);
}

#[test]
fn what_waits_for_a_subscriber_is_one_change_for_each_game() {
    let mut desk = Desk::new();
    let host = desk.host("a");
    let ids = games(&mut desk, host, &[("a", "", 4), ("b", "", 4)]);
    let id = subscribe(&mut desk, "").unwrap();
    desk.seat(ids[0], "ann", 1);
    desk.ask(Command::Terminate(ids[1])).unwrap();
    let new = games(&mut desk, host, &[("c", "", 4)])[0];
    desk.give(DirectoryInput::Credit { subscription: id, count: 1 });
    let (_, first) = desk.news[0].clone();
    assert!(matches!(&first, News::Added(game) if game.active == 1), "the newest state");
    desk.give(DirectoryInput::Credit { subscription: id, count: 9 });
    assert_eq!(told(&mut desk), [("added", first.game()), ("added", new)]);
}

#[test]
fn a_subscriber_that_never_reads_is_cut_off() {
    let mut desk = Desk::with(DirectoryConfig { news_max: 3, ..Default::default() });
    let host = desk.host("a");
    let old = subscribe(&mut desk, "").unwrap();
    games(&mut desk, host, &[("a", "", 4), ("b", "", 4), ("c", "", 4)]);
    let reader = subscribe(&mut desk, "").unwrap();
    desk.give(DirectoryInput::Credit { subscription: reader, count: 1_000 });
    assert_eq!(desk.cuts, []);
    let game = games(&mut desk, host, &[("d", "", 4)])[0];
    assert_eq!(desk.cuts, [(old, CutCause::TooSlow)], "too many changes");
    let late = subscribe(&mut desk, "name = 'd'").unwrap();
    desk.pass(secs(29));
    desk.say(host, HostWord::Healthy(true));
    desk.seat(game, "ann", 1);
    desk.pass(secs(1));
    assert_eq!(desk.cuts.last(), Some(&(late, CutCause::TooSlow)), "too long");
    let seat = desk.seats(game)[0].id;
    desk.news.clear();
    desk.ask(Command::Complete { game, seat, holder: holder(1) }).unwrap();
    assert!(desk.news.iter().all(|(id, _)| *id == reader) && !desk.news.is_empty());
}
