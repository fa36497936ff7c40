//! Players over HTTP, as operators look after them.

use rejoin_server::Role;
use serde_json::json;

use crate::desk::Desk;

#[tokio::test(flavor = "multi_thread")]
async fn an_account_is_made_changed_banned_told_of_and_deleted() {
    let desk = Desk::with_keys().await;
    let operator = desk.asker(Role::Operator);
    let made = json!({"name": "Ann", "password": "correct horse", "role": "moderator"});
    let ann = operator.tell("POST /v1/players", &made).await.json(201);
    assert_eq!(
        (&ann["account"]["name"], &ann["account"]["role"]),
        (&json!("ann"), &json!("moderator"))
    );
    assert!(!ann.to_string().contains("argon2"), "{ann}");
    let id = ann["player"].as_str().expect("an id").to_owned();
    assert_eq!(operator.tell("POST /v1/players", &made).await.code(409), "exists");
    let by_id = format!("/v1/players/{id}");
    assert_eq!(operator.get(&by_id).await.json(200), ann);
    let path = "PATCH /v1/players/ann";
    let locked = operator.tell(path, &json!({"locked": true})).await.json(200);
    assert_eq!(locked["account"]["locked"], true);
    let role = operator.tell(path, &json!({"role": "admin"})).await.json(200);
    assert_eq!(role["account"]["role"], "admin");
    operator.tell(path, &json!({"password": "another horse"})).await.json(200);
    let ban = json!({"until_ms": 9_999_999_999_999_u64, "reason": "cheated"});
    let banned = operator.tell("PUT /v1/players/ann/ban", &ban).await.json(200);
    assert_eq!(banned["ban"], ban);
    let stranger = "0".repeat(32);
    let guest =
        operator.tell(&format!("PUT /v1/players/{stranger}/ban"), &json!({})).await.json(200);
    assert_eq!(guest["ban"]["until_ms"], json!(null), "for ever");
    let page = operator.get("/v1/players?limit=1").await.json(200);
    assert_eq!(page["players"][0]["player"], stranger.as_str());
    let next = page["cursor"].as_str().expect("there are more");
    let page = operator.get(&format!("/v1/players?limit=1&cursor={next}")).await.json(200);
    assert_eq!(page["players"][0]["player"], id.as_str());
    assert_eq!(operator.get("/v1/players/ann/export").await.json(200)["ban"], ban);
    assert_eq!(operator.delete("/v1/players/ann/ban").await.status, 204);
    assert_eq!(operator.delete("/v1/players/ann").await.status, 204);
    assert_eq!(operator.get("/v1/players/ann").await.code(404), "player_not_found");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_done_with_a_player_is_a_problem_with_its_field() {
    let desk = Desk::with_keys().await;
    let operator = desk.asker(Role::Operator);
    operator.tell("POST /v1/players", &json!({"name": "ann"})).await.json(201);
    let long = "x".repeat(10_000);
    for (line, body, field) in [
        ("POST /v1/players", json!({"name": "an"}), "name"),
        ("POST /v1/players", json!({"name": long}), "name"),
        ("POST /v1/players", json!({"name": "a\u{7}nn"}), "name"),
        ("POST /v1/players", json!({"name": "\u{430}nn"}), "name"),
        ("POST /v1/players", json!({"name": "0".repeat(32)}), "name"),
        ("POST /v1/players", json!({"name": "bob", "password": "short"}), "password"),
        ("POST /v1/players", json!({"name": "bob", "password": long}), "password"),
        ("POST /v1/players", json!({"name": "bob", "role": "god"}), "role"),
        ("PATCH /v1/players/ann", json!({}), "password"),
        ("PATCH /v1/players/ann", json!({"locked": true, "role": "admin"}), "password"),
        ("PUT /v1/players/ann/ban", json!({"reason": "a\nb"}), "reason"),
        ("PUT /v1/players/ann/ban", json!({"reason": long}), "reason"),
    ] {
        let problem = operator.tell(line, &body).await.problem(400);
        assert_eq!(
            (&problem["code"], &problem["field"]),
            (&json!("invalid"), &json!(field)),
            "{line}"
        );
    }
    for (line, body, code) in [
        ("POST /v1/players", json!({"name": "bob", "admin": true}), 400),
        ("POST /v1/players", json!({"name": "bob", "password": null}), 400),
        ("PATCH /v1/players/nobody", json!({"locked": true}), 404),
        ("PATCH /v1/players/..%2f..", json!({"locked": true}), 404),
    ] {
        operator.tell(line, &body).await.problem(code);
    }
    let guest = format!("/v1/players/{}", "1".repeat(32));
    operator.tell(&format!("PUT {guest}/ban"), &json!({})).await.json(200);
    let locked = operator.tell(&format!("PATCH {guest}"), &json!({"locked": true})).await;
    assert_eq!(locked.code(409), "no_account");
    let listed = operator.get("/v1/players").await.json(200);
    assert_eq!(listed["players"].as_array().map(Vec::len), Some(2), "nothing half done");
    desk.server.stop().await;
}

/// Players are the hub's: a server that keeps no directory looks after them just the same.
#[tokio::test(flavor = "multi_thread")]
async fn players_are_looked_after_without_a_directory() {
    let desk = Desk::without_directory().await;
    let operator = desk.asker(Role::Operator);
    operator.tell("POST /v1/players", &json!({"name": "ann"})).await.json(201);
    assert_eq!(operator.get("/v1/players/ann").await.json(200)["account"]["name"], "ann");
    let problem = operator.tell("PUT /v1/players/ann/ban", &json!({"until_ms": "soon"})).await;
    assert_eq!(problem.problem(400)["field"], "until_ms");
    assert_eq!(operator.get("/v1/games?fleet=a").await.code(404), "no_path");
    desk.server.stop().await;
}
