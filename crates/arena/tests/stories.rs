//! The arena in a whole world: real clients, drops, crashes and bots, on a faked clock.

use std::time::Duration;

use rejoin_arena::message::{News, Order, Scene};
use rejoin_arena::{Arena, BOTS_MAX, Bot, HOLD, KIND, config};
use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::SessionConfig;
use rejoin_core::zone::Message;
use rejoin_testkit::{ClientEvent, ClientId, Rung, World};

const BOTS: [&str; BOTS_MAX] = ["Pixel", "Rivet", "Comet"];

fn world(seed: u64) -> World {
    World::of(KIND, config(), Arena::default).start(seed)
}

fn scene(payload: &[u8]) -> Scene {
    serde_json::from_slice(payload).expect("a scene")
}

/// A client that has joined, and what it was shown.
fn enter(world: &mut World, name: &str) -> (ClientId, Scene) {
    let client = world.client(name);
    world.join_with(client, KIND, "main", format!("{{\"name\":\"{name}\"}}"));
    let mut shown = None;
    world.run_until("the client is in the arena", |world| {
        shown = world.client_events(client).into_iter().find_map(|event| match event {
            ClientEvent::Joined { payload, .. } => Some(scene(&payload)),
            _ => None,
        });
        shown.is_some()
    });
    (client, shown.expect("just seen"))
}

/// The last word on where everybody is.
fn rows(world: &mut World, who: ClientId) -> Vec<[i32; 4]> {
    let mut rows = Vec::new();
    world.run_until("positions are told", |world| {
        for event in world.client_events(who) {
            if let ClientEvent::Latest { payload: Some(payload), .. } = event
                && let Ok(News::Where(told)) = News::decode(payload)
            {
                rows = told;
            }
        }
        !rows.is_empty()
    });
    rows
}

fn news(events: Vec<ClientEvent>) -> Vec<News> {
    let told = events.into_iter().filter_map(|event| match event {
        ClientEvent::Message { payload } => Some(News::decode(payload).expect("news")),
        _ => None,
    });
    told.collect()
}

/// The scene of the next resync.
fn resynced(world: &mut World, who: ClientId) -> Scene {
    let mut shown = None;
    world.run_until("the client is resynced", |world| {
        shown = world.client_events(who).into_iter().find_map(|event| match event {
            ClientEvent::Resync { snapshot, .. } => Some(scene(&snapshot)),
            _ => None,
        });
        shown.is_some()
    });
    shown.expect("just seen")
}

/// Runs up and down until it has this many points.
fn earn(world: &mut World, who: ClientId, you: u32, points: u32) -> u32 {
    let mut score = 0;
    for lane in 0.. {
        assert!(lane < 200, "no coins are found");
        let down = if lane % 2 == 0 { 100 } else { -100 };
        for (way, ticks) in [([100, 0], 6), ([0, down], 60), ([-35, 0], 6)] {
            world.say(who, Order::Go(way));
            for _ in 0..ticks {
                world.step();
            }
        }
        for told in news(world.client_events(who)) {
            if let News::Took { id, score: now, .. } = told
                && id == you
            {
                score = now;
            }
        }
        if score >= points {
            break;
        }
    }
    world.say(who, Order::Go([0, 0]));
    world.step();
    score
}

#[test]
fn intents_move_a_hero_and_the_ground_has_edges() {
    let mut world = world(1);
    let (ann, shown) = enter(&mut world, "ann");
    assert_eq!(shown.heroes[0].name, "ann");
    let x = shown.heroes[0].x;
    world.say(ann, Order::Go([-50, 0]));
    world.run(Duration::from_millis(500));
    let now = rows(&mut world, ann)[0];
    assert!(now[1] < x && x - now[1] <= 10 * 16, "{x} to {now:?}");
    // Asking for more than full speed is full speed, and the edge holds.
    world.say(ann, Order::Go([i32::MIN, 0]));
    world.run(Duration::from_secs(6));
    world.say(ann, Order::Go([1, 0]));
    assert_eq!(rows(&mut world, ann)[0][1], rejoin_arena::RADIUS);
}

#[test]
fn a_dropped_player_is_a_ghost_and_comes_back_with_everything() {
    let mut world = world(2);
    let (ann, shown) = enter(&mut world, "ann");
    let score = earn(&mut world, ann, shown.you, 2);
    let (bob, scene) = enter(&mut world, "bob");
    let before = scene.heroes.iter().find(|hero| hero.id == shown.you).expect("ann").clone();
    assert_eq!(before.score, score);

    world.say(ann, Order::Go([100, 100]));
    world.cut(ann);
    world.run_until("ann is back", |world| world.is_connected(ann));
    world.step();
    assert_eq!(world.rung(ann), Some(Rung::Replayed));
    let told = news(world.client_events(bob));
    assert!(told.contains(&News::Away { id: shown.you, ms: HOLD.as_millis() as u64 }), "{told:?}");
    assert!(told.iter().any(|told| matches!(told, News::Back(id) if id.id == shown.you)));

    world.reload(ann);
    let scene = resynced(&mut world, ann);
    let after = scene.heroes.iter().find(|hero| hero.id == scene.you).expect("herself");
    assert_eq!((scene.you, &after.name), (shown.you, &before.name));
    assert!(after.score >= score);
}

#[test]
fn a_ghost_is_not_hurt() {
    let mut world = world(3);
    let (ann, a) = enter(&mut world, "ann");
    let (bob, _) = enter(&mut world, "bob");
    // Both into the same corner, and long enough for the shields to fall.
    for who in [ann, bob] {
        world.say(who, Order::Go([-100, -100]));
    }
    world.run(Duration::from_secs(8));
    let zap = |world: &mut World| {
        world.client_events(bob);
        world.say(bob, Order::Zap);
        world.step();
        world.step();
        let told = news(world.client_events(bob));
        let hit = told.iter().find_map(|told| match told {
            News::Zap { hit, .. } => Some(hit.clone()),
            _ => None,
        });
        world.run(Duration::from_secs(1));
        hit.expect("a zap")
    };
    assert_eq!(zap(&mut world), [a.you], "a member is hurt");
    world.cut(ann);
    world.step();
    assert!(!world.is_connected(ann));
    assert_eq!(zap(&mut world), Vec::<u32>::new(), "a ghost is not");
}

#[test]
fn score_place_and_coins_survive_a_crash() {
    let mut world = world(4);
    let (ann, shown) = enter(&mut world, "ann");
    let score = earn(&mut world, ann, shown.you, 3);
    world.reload(ann);
    let before = resynced(&mut world, ann);
    world.crash();
    world.recover();
    world.run_until("ann is back", |world| world.is_connected(ann));
    world.reload(ann);
    let after = resynced(&mut world, ann);
    let me = |scene: &Scene| {
        let hero = scene.heroes.iter().find(|hero| hero.id == scene.you).expect("herself");
        (hero.id, hero.name.clone(), hero.x, hero.y, hero.score)
    };
    assert_eq!(me(&after), me(&before));
    assert_eq!(me(&after).4, score);
    let kept = before.coins.iter().filter(|coin| after.coins.contains(coin)).count();
    assert_eq!(kept, before.coins.len(), "a coin that lay there lies there");
}

#[test]
fn bots_play_and_make_room_for_players() {
    let mut world = world(5);
    let (ann, _) = enter(&mut world, "ann");
    for name in BOTS {
        world.start_agent(SessionConfig::default(), Bot::new(ZoneName::new(KIND, "main"), name));
    }
    let mut told = Vec::new();
    world.run_until("a bot takes a coin", |world| {
        told.extend(news(world.client_events(ann)));
        told.iter().any(|told| matches!(told, News::Took { .. }))
    });
    let bots = told.iter().filter(|told| matches!(told, News::Came(figure) if figure.bot)).count();
    assert_eq!(bots, BOTS_MAX);

    let mut shown = None;
    for name in ["bob", "cid", "dan", "eve"] {
        shown = Some(enter(&mut world, name));
    }
    world.run(Duration::from_secs(1));
    assert_eq!(world.sessions().len(), 5, "the bots have left");
    let (eve, _) = shown.expect("entered");
    world.reload(eve);
    assert!(resynced(&mut world, eve).heroes.iter().all(|hero| !hero.bot));
    // One that comes now is not let in, and does not linger.
    world.start_agent(SessionConfig::default(), Bot::new(ZoneName::new(KIND, "main"), BOTS[0]));
    world.run(Duration::from_secs(1));
    assert_eq!(world.sessions().len(), 5);
}

#[test]
fn the_last_player_switches_off_the_light() {
    let mut world = world(6);
    let (ann, _) = enter(&mut world, "ann");
    world.start_agent(SessionConfig::default(), Bot::new(ZoneName::new(KIND, "main"), BOTS[0]));
    world.run(Duration::from_secs(1));
    assert_eq!(world.zones().len(), 1);
    world.leave(ann);
    world.run(Duration::from_secs(1));
    assert_eq!((world.zones().len(), world.sessions().len()), (0, 0));
}

#[test]
fn a_hostile_name_is_bounded_and_otherwise_left_as_it_is() {
    let mut world = world(7);
    let (ann, shown) = enter(&mut world, "ann");
    let asked = "<img src=x onerror=alert(1)>\u{202e}";
    world.say(ann, Order::Name(asked.to_owned()));
    world.step();
    let named = News::Named { id: shown.you, name: "<img src=x onerr".to_owned() };
    assert!(news(world.client_events(ann)).contains(&named));
    // What is no name at all changes nothing, and nonsense costs nobody anything.
    world.say(ann, Order::Name("\u{200b}\u{7}".to_owned()));
    world.say(ann, bytes::Bytes::from_static(b"{\"fly\":true}"));
    world.step();
    assert!(!news(world.client_events(ann)).iter().any(|told| matches!(told, News::Named { .. })));
    assert!(world.is_connected(ann));
}

#[test]
fn the_same_seed_is_the_same_game() {
    let play = || {
        let mut world = world(8);
        let (ann, shown) = enter(&mut world, "ann");
        world.start_agent(SessionConfig::default(), Bot::new(ZoneName::new(KIND, "main"), BOTS[1]));
        earn(&mut world, ann, shown.you, 1);
        world.trace()
    };
    assert_eq!(play(), play());
}
