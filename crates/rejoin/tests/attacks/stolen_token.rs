//! Row A4: a token is stolen. Of a player with a key it opens nothing. Of one without, thief and owner
//! race for the session: at any time one of them has it, the other is told so, and the use of a
//! replaced token is seen.

use std::process::Command;

use serde_json::{Value, json};

use crate::house::{House, rejoin};

/// The hello of a player with a key, as `rejoin sign` writes it.
pub(crate) fn signed(key: &str, challenge: &Value, more: &[&str]) -> Value {
    let mut command: Command = rejoin();
    command.current_dir(env!("CARGO_TARGET_TMPDIR"));
    command.args(["sign", challenge["nonce"].as_str().expect("base64"), "--key", key]).args(more);
    let output = command.output().expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("text");
    let hello: Value = serde_json::from_str(text.trim()).expect("JSON");
    hello["hello"].clone()
}

pub(crate) fn key_file(name: &str) -> String {
    format!("attack-key-{}-{name}", std::process::id())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stolen_token_of_a_keyed_player_opens_nothing() {
    let house = House::start("");
    let (own, other) = (key_file("own"), key_file("thief"));
    let mut ann = house.dial_from([127, 0, 0, 1]).await.expect("let in");
    let login = signed(&own, &ann.challenge, &[]);
    assert_eq!(ann.try_hello(&login).await, "welcome");
    ann.join("square").await;
    let word = |name: &str| ann.welcome[name].as_str().expect("text").to_owned();
    let (session, token, epoch) = (word("session"), word("token"), word("epoch"));
    let resume = ["--session", &session, "--token", &token, "--epoch", &epoch];
    let mut thief = house.dial_from([127, 0, 0, 2]).await.expect("let in");
    assert_eq!(thief.try_hello(&ann.resume()).await, "SESSION_UNKNOWN", "without any key");
    let mut thief = house.dial_from([127, 0, 0, 2]).await.expect("let in");
    let with_own_key = signed(&other, &thief.challenge, &resume);
    assert_eq!(thief.try_hello(&with_own_key).await, "SESSION_UNKNOWN", "with another key");
    ann.ask().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn thief_and_owner_race_and_one_has_the_session() {
    let house = House::start("[guard]\nsession_resumes_per_second = 0\n");
    let mut owner = house.member("square").await;
    let (mut welcomed, mut retired) = (0, 0);
    for _ in 0..20 {
        let stolen = owner.resume();
        // Both hold the same token, and both come at once.
        let (thief, second) =
            tokio::join!(house.dial_from([127, 0, 0, 2]), house.dial_from([127, 0, 0, 1]));
        let (mut thief, mut second) = (thief.expect("let in"), second.expect("let in"));
        let (one, other) = tokio::join!(thief.try_hello(&stolen), second.try_hello(&stolen));
        for answer in [&one, &other] {
            match &**answer {
                "welcome" => welcomed += 1,
                // The other came between its hello and its welcome.
                "TAKEN_OVER" => {}
                "TOKEN_RETIRED" => retired += 1,
                other => panic!("{other}"),
            }
        }
        assert!(one == "welcome" || other == "welcome", "nobody is locked out");
        let sessions = house.ask_operators("/sessions");
        let body: Value =
            serde_json::from_str(sessions.split("\r\n\r\n").nth(1).expect("a body")).expect("JSON");
        assert_eq!(body["sessions"].as_array().map(Vec::len), Some(1), "{body}");
        // Whoever was welcomed last speaks for it.
        let epoch = |player: &crate::player::Player| {
            player.welcome["epoch"].as_str().and_then(|epoch| epoch.parse::<u64>().ok())
        };
        owner = if epoch(&thief) > epoch(&second) { thief } else { second };
        owner.say(json!({"ping": {"nonce": "1"}})).await;
        owner.hear("pong").await;
    }
    let seen = house.figure("rejoin_guard_steps_total{step=\"sever\",what=\"retired_token\"}");
    println!("20 races: {welcomed} welcomes, {retired} told that their token is retired");
    assert_eq!(seen, retired);
    assert!(house.figure("rejoin_takeovers_total") >= 20);
}
