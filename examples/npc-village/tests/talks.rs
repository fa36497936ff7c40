//! Talks with the villagers: in a world of one thread, and over a socket with the program itself.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use npc_village::{VILLAGERS, Village, Villager, Words, config};
use rejoin::client::Event;
use rejoin::client::driver::{Options, Player};
use rejoin::prelude::*;
use rejoin::testkit::{ClientId, Rung, World};
use tokio::time::timeout;

const SOON: Duration = Duration::from_secs(1);
/// Far above what it takes; a test that hangs must end.
const PATIENCE: Duration = Duration::from_secs(60);

fn village(seed: u64) -> World {
    let mut world = World::of("village", config(), Village::default).start(seed);
    for (name, trade) in VILLAGERS {
        world.start_agent(SessionConfig::default(), Villager::new(name, trade));
    }
    world.run(SOON);
    world
}

fn comes(world: &mut World, name: &str) -> ClientId {
    let who = world.client(name);
    world.join_with(who, "village", "square", name.to_owned());
    world.run(SOON);
    who
}

fn hears(world: &mut World, who: ClientId) -> Vec<String> {
    let heard = world.heard::<Words>(who).into_iter();
    heard.map(|words| format!("{}: {}", words.who, words.text)).collect()
}

#[test]
fn villagers_greet_and_answer_and_do_not_talk_among_themselves() {
    let mut world = village(1);
    let ann = comes(&mut world, "Ann");
    assert_eq!(hears(&mut world, ann), ["Cleo: Hear, hear! Ann is here!"]);
    for words in ["Ada, a sword?", "Bert, a room, please", "Ada!", "nobody in particular"] {
        world.say(ann, Words::new(words));
        world.run(SOON);
    }
    let answers = [
        "Ada: A sword is ten coins.",
        "Bert: Take the key. 1 left.",
        "Ada: I am Ada. What can I do for you?",
    ];
    assert_eq!(hears(&mut world, ann), answers);
    world.run(Duration::from_secs(60));
    assert_eq!(hears(&mut world, ann), [""; 0]);
}

#[test]
fn an_answer_waits_for_a_player_who_was_cut() {
    let mut world = village(2);
    let (ann, bob) = (comes(&mut world, "Ann"), comes(&mut world, "Bob"));
    hears(&mut world, ann);
    world.offline(ann);
    world.say(bob, Words::new("Bert, a room!"));
    world.say(ann, Words::new("Bert, a room for me as well"));
    world.run(Duration::from_secs(5));
    world.online(ann);
    world.run_until("ann is back", |world| world.is_connected(ann));
    world.run(SOON);
    assert_eq!(world.rung(ann), Some(Rung::Replayed));
    let heard =
        ["Bob: Bert, a room!", "Bert: Take the key. 1 left.", "Bert: Take the key. 0 left."];
    assert_eq!(hears(&mut world, ann), heard);
}

#[test]
fn nobody_takes_the_name_of_a_villager_or_speaks_in_it() {
    let mut world = village(3);
    let false_ada = comes(&mut world, "Ada");
    assert!(world.zones().iter().all(|(_, _, members)| *members == VILLAGERS.len()));
    let bob = comes(&mut world, "Bob");
    hears(&mut world, bob);
    let ann = comes(&mut world, "Ann");
    world.say(ann, Words { who: "Ada".to_owned(), text: "swords are free".to_owned() });
    world.run(SOON);
    assert_eq!(hears(&mut world, bob).last().map(String::as_str), Some("Ann: swords are free"));
    assert_eq!(hears(&mut world, false_ada), [""; 0]);
}

/// Ended with the test, by its id.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_program_lets_a_player_talk_to_its_villagers() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_npc-village"));
    let mut program =
        Program(command.arg("127.0.0.1:0").stdout(Stdio::piped()).spawn().expect("it starts"));
    let mut said = BufReader::new(program.0.stdout.take().expect("a pipe")).lines();
    let first = said.next().expect("a line").expect("of text");
    let url = first.split(' ').next_back().expect("an address").to_owned();

    let (ann, mut events) = Player::connect(&url, Options::new()).await.expect("ann");
    ann.join("village", "square", true, "Ann").await.expect("room");
    ann.send("Bert, a room?").await.expect("room");
    let talk = async {
        let mut heard = Vec::new();
        while heard.len() < 2 {
            if let Some(Event::Message { payload }) = events.next().await {
                heard.push(String::from_utf8_lossy(&payload).into_owned());
            }
        }
        heard
    };
    let heard = timeout(PATIENCE, talk).await.expect("in time");
    assert!(heard.contains(&"Bert: Take the key. 1 left.".to_owned()), "{heard:?}");
}
