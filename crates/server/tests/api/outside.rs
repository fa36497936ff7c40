//! What a game's client may do with a key that every player has: its share, and what is its own.

use rejoin_server::{ApiConfig, ApiKey, DirectoryConfig, GamesConfig, Role, relay};
use serde_json::{Value, json};

use crate::desk::{Desk, key_of, keys, until};

async fn running(desk: &Desk, body: &Value) -> String {
    let operator = desk.asker(Role::Operator);
    let made = operator.tell("POST /v1/games", body).await.json(201);
    let path = format!("/v1/games/{}", made["id"].as_str().expect("an id"));
    until("it runs", async || operator.get(&path).await.json(200)["status"] == "active").await;
    path
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seat_and_a_placement_are_given_back_with_their_secrets() {
    let desk = Desk::with_keys().await;
    let _host = desk.host().await;
    let client = desk.asker(Role::Client);
    let game = running(&desk, &json!({"fleet": "arena", "capacity": 4})).await;
    let party = json!({"players": [{"player": "ann"}], "key": "party-1"});
    let reserved = client.tell(&format!("POST {game}/seats"), &party).await.json(201);
    let seat = format!("DELETE {game}/seats/{}", reserved["seats"][0]["id"].as_str().expect("it"));
    assert_eq!(client.request(&seat, &[], "").await.code(403), "wrong_secret");
    let wrong = [("rejoin-secret", "0123456789abcdef")];
    assert_eq!(client.request(&seat, &wrong, "").await.code(403), "wrong_secret");
    let short = client.request(&seat, &[("rejoin-secret", "x")], "").await.problem(400);
    assert_eq!(short["field"], "secret");
    let again = client.tell(&format!("POST {game}/seats"), &party).await.json(200);
    assert_eq!(again["secret"], Value::Null, "it was told once");
    let secret = reserved["secret"].as_str().expect("the first answer has it");
    let shown = [("rejoin-secret", secret)];
    assert_eq!(client.request(&seat, &shown, "").await.json(200)["cause"], "released");
    assert_eq!(client.request(&seat, &shown, "").await.status, 204);
    // One that chose its secret shows it whenever it asks again.
    let own =
        json!({"players": [{"player": "bob"}], "key": "party-2", "secret": "bobs-own-secret-1"});
    let reserved = client.tell(&format!("POST {game}/seats"), &own).await.json(201);
    assert_eq!(reserved["secret"], Value::Null);
    assert_eq!(client.tell(&format!("POST {game}/seats"), &own).await.json(200), reserved);
    let guess = json!({"players": [{"player": "bob"}], "key": "party-2"});
    let guess = client.tell(&format!("POST {game}/seats"), &guess).await;
    assert_eq!(guess.code(403), "wrong_secret");
    let second = json!({"players": [{"player": "bob"}]});
    let second = client.tell(&format!("POST {game}/seats"), &second).await.problem(409);
    assert_eq!(second["code"], "already_seated");
    assert_eq!(second["seat"], reserved["seats"][0]["id"]);

    let operator = desk.asker(Role::Operator);
    let queue = json!({"destinations": [{"fleet": "arena", "location": "here"}]});
    operator.tell("PUT /v1/queues/ranked", &queue).await.json(200);
    let placement = json!({"id": "m1", "game": {"capacity": 2}});
    let line = "POST /v1/queues/ranked/placements";
    let begun = client.tell(line, &placement).await.json(202);
    assert!(begun["secret"].is_string());
    assert_eq!(client.tell(line, &placement).await.json(200)["secret"], Value::Null);
    let cancel = "/v1/queues/ranked/placements/m1";
    assert_eq!(client.delete(cancel).await.code(403), "wrong_secret");
    desk.server.stop().await;
}

/// A search costs what it looks at, and an address that has spent the key's second leaves the others
/// their own share.
#[tokio::test(flavor = "multi_thread")]
async fn a_key_is_shared_by_its_addresses_and_searches_cost_what_they_look_at() {
    let client = ApiKey::from_text("client", Role::Client, &key_of(Role::Client)).at_rate(20);
    let mut all = keys();
    all[0] = client;
    let desk = Desk::with(ApiConfig { keys: all, ..ApiConfig::default() }).await;
    let _host = desk.host().await;
    let (client, operator) = (desk.asker(Role::Client), desk.asker(Role::Operator));
    let mut refused = 0;
    for _ in 0..60 {
        let answer = client.get("/v1/search?fleet=arena").await;
        if answer.status == 429 {
            assert!(answer.head.contains("retry-after: "), "{}", answer.head);
            refused += 1;
        }
    }
    assert!(refused > 10, "{refused}");
    assert_eq!(operator.get("/v1/search?fleet=arena").await.status, 200, "another key");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_servers_own_host_stays_and_its_games_fit_its_zones() {
    let api = ApiConfig { keys: keys(), ..ApiConfig::default() };
    let desk = Desk::start(api, |builder| {
        builder
            .directory(DirectoryConfig::default())
            .zone("relay", relay::config(), relay::Relay::default)
            .games("relay", GamesConfig::default())
    })
    .await;
    let operator = desk.asker(Role::Operator);
    let hosts = "/v1/hosts?fleet=relay";
    until("the server's host is ready", async || {
        let answer = operator.get(hosts).await;
        answer.status == 200 && answer.json(200)["hosts"][0]["state"] == "ready"
    })
    .await;
    let listed = operator.get(hosts).await.json(200);
    let host = listed["hosts"][0]["id"].as_str().expect("an id").to_owned();
    let drain = format!("POST /v1/hosts/{host}/drain");
    assert_eq!(operator.tell(&drain, &json!({})).await.code(409), "own_host");
    assert_eq!(operator.get(hosts).await.json(200)["hosts"][0]["state"], "ready");
    let large = json!({"fleet": "relay", "capacity": 65});
    let large = operator.tell("POST /v1/games", &large).await.problem(400);
    assert_eq!((&large["field"], &large["must"]), (&json!("capacity"), &json!("at most 64")));
    let fits = running(&desk, &json!({"fleet": "relay", "capacity": 64})).await;
    let shown = operator.get(&fits).await.json(200);
    assert_eq!(shown["location"], "local", "where it runs");
    let larger = operator.tell(&format!("PATCH {fits}"), &json!({"capacity": 65})).await;
    assert_eq!(larger.code(409), "vetoed");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_is_drained_with_an_empty_object_and_can_be_looked_up_afterwards() {
    let desk = Desk::with_keys().await;
    let _host = desk.host().await;
    let operator = desk.asker(Role::Operator);
    let listed = operator.get("/v1/hosts?fleet=arena").await.json(200);
    let host = listed["hosts"][0]["id"].as_str().expect("an id").to_owned();
    let drain = format!("POST /v1/hosts/{host}/drain");
    assert_eq!(operator.tell(&drain, &json!({"now": true})).await.code(400), "bad_body");
    assert_eq!(operator.tell(&drain, &json!({})).await.status, 204);
    let path = format!("/v1/hosts/{host}");
    until("it has ended", async || operator.get(&path).await.json(200)["state"] == "ended").await;
    assert_eq!(operator.get(&path).await.json(200)["cause"], "drained");
    assert_eq!(operator.tell(&drain, &json!({})).await.code(404), "host_not_found");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_page_may_read_when_to_ask_again() {
    let desk = Desk::with_keys().await;
    let operator = desk.asker(Role::Operator);
    let origin = [("origin", "https://game.example")];
    let answer = operator.request("GET /v1/fleets", &origin, "").await;
    assert!(answer.head.contains("access-control-expose-headers: location, retry-after"));
    let asked = [("origin", "https://game.example"), ("access-control-request-method", "DELETE")];
    let answer = operator.request("OPTIONS /v1/games", &asked, "").await;
    assert!(answer.head.contains("rejoin-secret"), "{}", answer.head);
    desk.server.stop().await;
}
