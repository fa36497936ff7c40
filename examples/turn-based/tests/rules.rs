//! The match in a world of one thread: drops, holds, crashes and reloads, without a network.

use std::time::Duration;

use rejoin::prelude::*;
use rejoin::testkit::{ClientEvent, ClientId, Rung, World};
use turn_based::{Mark, Match, Move, News, WAIT, config};

fn begun(seed: u64) -> (World, ClientId, ClientId) {
    let mut world = World::of("match", config(WAIT), Match::default).start(seed);
    let (ann, bob) = (world.client("ann"), world.client("bob"));
    world.join(ann, "match", "one");
    world.run(Duration::from_secs(1));
    world.join(bob, "match", "one");
    world.run(Duration::from_secs(1));
    assert_eq!(world.heard::<News>(ann), [News::Begins]);
    (world, ann, bob)
}

fn play(world: &mut World, moves: &[(ClientId, u8)]) {
    for (who, cell) in moves {
        world.say(*who, Move(*cell));
        world.run(Duration::from_millis(200));
    }
}

fn played(mark: Mark, cell: u8) -> News {
    News::Played { mark, cell }
}

#[test]
fn a_match_is_played_to_its_end_by_the_rules() {
    let (mut world, ann, bob) = begun(1);
    play(
        &mut world,
        &[(bob, 0), (ann, 4), (bob, 4), (bob, 9), (bob, 0), (ann, 3), (bob, 1), (ann, 5)],
    );
    let refused = |why: &str| News::Refused(why.to_owned());
    let (x, o) = (Mark::Cross, Mark::Nought);
    assert_eq!(
        world.heard::<News>(bob),
        [
            refused("it is not your turn"),
            played(x, 4),
            refused("that cell is taken"),
            refused("there are cells 0 to 8"),
            played(o, 0),
            played(x, 3),
            played(o, 1),
            played(x, 5),
            News::Over { winner: Some(x) },
        ]
    );
    play(&mut world, &[(bob, 2)]);
    assert_eq!(world.heard::<News>(bob), [refused("the match is over")]);
}

#[test]
fn the_match_waits_for_who_is_absent_at_its_turn() {
    let (mut world, ann, bob) = begun(2);
    play(&mut world, &[(ann, 4)]);
    world.offline(bob);
    world.run(WAIT - Duration::from_secs(10));
    // Ann cannot move meanwhile, and Bob's seat is his.
    play(&mut world, &[(ann, 3)]);
    let not_yours = News::Refused("it is not your turn".to_owned());
    let away = News::Away { mark: Mark::Nought };
    assert_eq!(world.heard::<News>(ann), [played(Mark::Cross, 4), away, not_yours]);

    world.say(bob, Move(0)); // Said without a connection; it counts when he is back.
    world.online(bob);
    world.run_until("bob is back", |world| world.is_connected(bob));
    world.run(Duration::from_secs(1));
    assert_eq!(world.rung(bob), Some(Rung::Replayed));
    let back = News::Back { mark: Mark::Nought };
    assert_eq!(world.heard::<News>(ann), [back, played(Mark::Nought, 0)]);
}

#[test]
fn who_stays_away_for_longer_gives_the_match_away() {
    let (mut world, ann, bob) = begun(3);
    world.offline(ann);
    world.run(WAIT + Duration::from_secs(5));
    let away = News::Away { mark: Mark::Cross };
    assert_eq!(world.heard::<News>(bob), [away, News::Over { winner: Some(Mark::Nought) }]);
}

#[test]
fn a_crash_of_the_server_ends_no_match() {
    let (mut world, ann, bob) = begun(4);
    play(&mut world, &[(ann, 4), (bob, 0)]);
    let before = world.heard::<News>(bob);
    world.say(ann, Move(3));
    world.crash();
    world.recover();
    world.run(Duration::from_secs(5));
    play(&mut world, &[(bob, 1), (ann, 5)]);
    let heard = [before, world.heard::<News>(bob)].concat();
    let moves = heard.iter().filter(|news| matches!(news, News::Played { .. })).count();
    assert_eq!(moves, 5, "each move once: {heard:?}");
    assert_eq!(heard.last(), Some(&News::Over { winner: Some(Mark::Cross) }));
}

#[test]
fn who_loads_the_game_anew_is_shown_the_board() {
    let (mut world, ann, bob) = begun(5);
    play(&mut world, &[(ann, 4), (bob, 0)]);
    world.reload(bob);
    world.run(Duration::from_secs(1));
    let events = world.client_events(bob);
    let shown = events.iter().find_map(|event| match event {
        ClientEvent::Resync { snapshot, .. } => Some(snapshot.clone()),
        _ => None,
    });
    assert_eq!(shown, Some(Bytes::from("o...x.... you are o, x's turn")));
}

#[test]
fn before_the_match_a_seat_is_free_again_when_its_player_goes() {
    let mut world = World::of("match", config(WAIT), Match::default).start(6);
    let [ann, bob, cat] = ["ann", "bob", "cat"].map(|name| world.client(name));
    world.join(ann, "match", "one");
    world.run(Duration::from_secs(1));
    world.part(ann);
    world.run(Duration::from_secs(1));
    world.join(bob, "match", "one");
    world.join(cat, "match", "one");
    world.run(Duration::from_secs(1));
    play(&mut world, &[(bob, 0), (cat, 0), (bob, 8), (cat, 8)]);
    let moves = world.heard::<News>(cat);
    let moves = moves.iter().filter(|news| matches!(news, News::Played { .. })).count();
    assert_eq!(moves, 2, "both play");
}
