//! Who may ask what: every role at every operation, keys that are none, and keys that ask too often.

use rejoin_server::{ApiConfig, ApiKey, Role, api};
use serde_json::Value;

use crate::asker::Asker;
use crate::desk::{Desk, key_of, keys};

#[tokio::test(flavor = "multi_thread")]
async fn every_role_may_do_what_the_table_says_and_nothing_else() {
    let desk = Desk::with(ApiConfig { keys: keys(), ..ApiConfig::default() }).await;
    let mut cells = 0;
    for (method, path, roles) in api::operations() {
        let path = path.replace("{game}", &"0".repeat(32)).replace("{seat}", &"1".repeat(32));
        let path = path.replace("{host}", &"2".repeat(32)).replace(['{', '}'], "");
        let line = format!("{method} {path}");
        for role in Role::ALL {
            let answer = desk.asker(role).request(&line, &[], "").await;
            // The question is a bad one, and whoever may ask it is told so.
            if roles.contains(&role) {
                assert!(![401, 403].contains(&answer.status), "{line} as {role:?}: {answer:?}");
            } else {
                assert_eq!(answer.code(403), "forbidden", "{line} as {role:?}");
            }
            cells += 1;
        }
        let nobody = desk.open.request(&line, &[], "").await;
        assert_eq!(nobody.code(401), "no_key", "{line}");
        assert!(nobody.head.contains("www-authenticate: bearer"), "{}", nobody.head);
        let stranger = Asker { key: Some("rejoin_operator_00".to_owned()), ..desk.open.clone() };
        assert_eq!(stranger.request(&line, &[], "").await.code(401), "no_key", "{line}");
    }
    assert_eq!(cells, 3 * 45);
    // What it is all about can be read by anybody.
    assert_eq!(desk.open.get("/v1/openapi.json").await.status, 200);
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_keys_nobody_is_let_in_unless_it_is_open() {
    let desk = Desk::with(ApiConfig::default()).await;
    let refused = desk.open.get("/v1/fleets").await.problem(401);
    assert!(refused["detail"].as_str().is_some_and(|text| text.contains("rejoin key new")));
    desk.server.stop().await;

    let desk = Desk::open().await;
    assert_eq!(desk.open.get("/v1/fleets").await.status, 200);
    // A page that had its own name lead here is not the developer.
    let host = [("host", "evil.example")];
    assert_eq!(desk.open.request("GET /v1/fleets", &host, "").await.code(401), "no_key");
    // A key that is none is none, here too.
    let wrong = Asker { key: Some("x".to_owned()), ..desk.open.clone() };
    assert_eq!(wrong.get("/v1/fleets").await.code(401), "no_key");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_asks_too_often_is_told_when_to_ask_again() {
    let mut slow = keys();
    slow[2].rate_per_s = 2;
    let desk = Desk::with(ApiConfig { keys: slow, ..ApiConfig::default() }).await;
    let operator = desk.asker(Role::Operator);
    let mut refused = 0;
    for _ in 0..8 {
        let answer = operator.get("/v1/fleets").await;
        if answer.status == 429 {
            assert_eq!(answer.code(429), "too_many_requests");
            assert!(answer.head.contains("retry-after: 1"), "{}", answer.head);
            refused += 1;
        }
    }
    assert!(refused > 0);
    // Others have their own.
    assert_eq!(desk.asker(Role::Host).get("/v1/fleets").await.status, 200);
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_does_not_see_what_is_for_the_host() {
    let desk = Desk::with(ApiConfig { keys: keys(), ..ApiConfig::default() }).await;
    let _host = desk.host().await;
    let client = desk.asker(Role::Client);
    let body = serde_json::json!({"fleet": "arena", "capacity": 1, "data": "c2VjcmV0"});
    let made: Value = client.tell("POST /v1/games", &body).await.json(201);
    assert!(made.get("data").is_none(), "{made}");
    let path = format!("/v1/games/{}", made["id"].as_str().expect("an id"));
    assert_eq!(desk.asker(Role::Host).get(&path).await.json(200)["data"], "c2VjcmV0");
    assert_eq!(ApiKey::from_text("x", Role::Client, &key_of(Role::Client)).role, Role::Client);
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_listed_origins_are_answered_and_others_are_not() {
    let desk = Desk::open().await;
    let page = |origin| [("origin", origin), ("access-control-request-method", "PUT")];
    let asked = desk.open.request("OPTIONS /v1/fleets/x", &page("https://game.example"), "").await;
    assert_eq!(asked.status, 204);
    assert!(asked.head.contains("access-control-allow-origin: https://game.example"));
    assert!(asked.head.contains("access-control-allow-headers: authorization, content-type"));
    let refused =
        desk.open.request("OPTIONS /v1/fleets/x", &page("https://evil.example"), "").await;
    assert_eq!(refused.code(403), "foreign_origin");
    let foreign = [("origin", "https://evil.example")];
    let refused = desk.open.request("GET /v1/fleets", &foreign, "").await;
    assert_eq!(refused.code(403), "foreign_origin");
    desk.server.stop().await;
}
