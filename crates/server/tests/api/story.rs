//! From a new Game to its end, as programs do it over HTTP.

use serde_json::{Value, json};

use crate::asker::Asker;
use crate::desk::{Desk, until};

async fn create(asker: &Asker, body: &Value) -> Value {
    asker.tell("POST /v1/games", body).await.json(201)
}

async fn active(asker: &Asker, game: &str) -> Value {
    let path = format!("/v1/games/{game}");
    until("the game runs", async || asker.get(&path).await.json(200)["status"] == "active").await;
    asker.get(&path).await.json(200)
}

fn text(value: &Value) -> String {
    value.as_str().expect("text").to_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_game_is_made_once_for_its_key_found_changed_and_ended() {
    let desk = Desk::open().await;
    let (ops, _host) = (desk.open.clone(), desk.host().await);
    let body = json!({
        "fleet": "arena", "key": "tea-1", "name": "tea", "capacity": 2, "data": "dGVh",
        "properties": {"map": "garden"},
    });
    let made = ops.tell("POST /v1/games", &body).await;
    let game = text(&made.json(201)["id"]);
    assert!(made.head.contains(&format!("location: /v1/games/{game}")), "{}", made.head);
    let again = ops.tell("POST /v1/games", &body).await;
    assert_eq!(again.json(200)["id"], json!(game), "it is not new");
    let mut other = body.clone();
    other["capacity"] = json!(3);
    assert_eq!(ops.tell("POST /v1/games", &other).await.code(422), "key_reused");

    let shown = active(&ops, &game).await;
    assert_eq!((&shown["name"], &shown["data"]), (&json!("tea"), &json!("dGVh")));
    assert_eq!(shown["connect"], json!({"address": "203.0.113.7", "port": 7777}));
    let found = "/v1/search?fleet=arena&filter=properties.map%20%3D%20'garden'&sort=created%20DESC";
    let found = ops.get(found).await.json(200);
    assert_eq!((&found["games"][0]["id"], &found["cursor"]), (&json!(game), &Value::Null));

    let path = format!("/v1/games/{game}");
    let changed = ops.tell(&format!("PATCH {path}"), &json!({"name": "late tea"})).await.json(200);
    assert_eq!(changed["name"], "late tea");
    assert_eq!(ops.delete(&path).await.json(202)["cause"], "asked");
    until("it has ended", async || ops.get(&path).await.json(200)["status"] == "terminated").await;
    let listed = ops.get("/v1/games?fleet=arena&limit=1").await.json(200);
    assert_eq!((&listed["games"][0]["id"], &listed["cursor"]), (&json!(game), &json!(game)));
    let rest = ops.get(&format!("/v1/games?fleet=arena&cursor={game}")).await.json(200);
    assert_eq!(rest, json!({"games": [], "cursor": null}));
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_party_is_seated_whole_extends_gives_back_and_comes_in() {
    let desk = Desk::open().await;
    let (ops, _host) = (desk.open.clone(), desk.host().await);
    let made = create(&ops, &json!({"fleet": "arena", "capacity": 2})).await;
    let game = text(&made["id"]);
    active(&ops, &game).await;
    let seats = format!("/v1/games/{game}/seats");
    let party =
        json!({"players": [{"player": "ann"}, {"player": "bob", "data": "Yg=="}], "key": "p1"});
    let mut reserved = ops.tell(&format!("POST {seats}"), &party).await.json(201);
    assert_eq!(reserved["connect"]["port"], 7777);
    assert!(reserved["secret"].take().is_string(), "it is told once");
    reserved.as_object_mut().map(|fields| fields.remove("secret"));
    assert_eq!(ops.tell(&format!("POST {seats}"), &party).await.json(200), reserved);
    let full = json!({"players": [{"player": "cleo"}]});
    let full = ops.tell(&format!("POST {seats}"), &full).await.problem(409);
    assert_eq!((&full["code"], &full["free"]), (&json!("game_full"), &json!(0)));

    let (ann, bob) = (text(&reserved["seats"][0]["id"]), text(&reserved["seats"][1]["id"]));
    let longer = format!("PATCH {seats}/{ann}");
    let longer = ops.tell(&longer, &json!({"hold_ms": 3_000_000})).await.json(200);
    let until_ms = |seat: &Value| seat["until_ms"].as_u64().expect("a time");
    assert!(until_ms(&longer) > until_ms(&reserved["seats"][0]));
    assert_eq!(ops.delete(&format!("{seats}/{bob}")).await.json(200)["cause"], "released");
    assert_eq!(ops.delete(&format!("{seats}/{bob}")).await.status, 204, "it is over");

    let claim = |player: &str| json!({"player": player, "session": "7", "stay": 1});
    let path = format!("POST {seats}/{ann}");
    let wrong = ops.tell(&format!("{path}/claim"), &claim("bob")).await;
    assert_eq!(wrong.code(403), "wrong_player");
    let stay = json!({"session": "7", "stay": 1});
    assert_eq!(ops.tell(&format!("{path}/confirm"), &stay).await.code(409), "not_claimed");
    let claimed = ops.tell(&format!("{path}/claim"), &claim("ann")).await.json(200);
    assert_eq!(claimed["status"], "claimed");
    assert_eq!(ops.tell(&format!("{path}/confirm"), &stay).await.json(200)["status"], "active");
    assert_eq!(ops.delete(&format!("{seats}/{ann}")).await.code(409), "seat_taken");
    let all = ops.get(&seats).await.json(200);
    assert_eq!(all["seats"].as_array().map(Vec::len), Some(2));
    let first = ops.get(&format!("{seats}?limit=1")).await.json(200);
    assert_eq!(first["seats"][0]["player"], "ann");
    let cursor = first["cursor"].as_str().expect("there are more");
    let rest = ops.get(&format!("{seats}?cursor={cursor}")).await.json(200);
    assert_eq!((&rest["seats"][0]["player"], &rest["cursor"]), (&json!("bob"), &Value::Null));
    let active = ops.get(&format!("{seats}?status=active&player=ann")).await.json(200);
    assert_eq!(active["seats"].as_array().map(Vec::len), Some(1));
    let wrong = ops.get(&format!("{seats}?status=lost")).await.problem(400);
    assert_eq!(wrong["field"], "status");
    let long = "0".repeat(1_025);
    let wrong = ops.get(&format!("{seats}?player={long}")).await.problem(400);
    assert_eq!(wrong["field"], "player");
    assert_eq!(ops.tell(&format!("{path}/complete"), &stay).await.json(200)["cause"], "left");
    let game = format!("/v1/games/{game}");
    until("the last one left", async || ops.get(&game).await.json(200)["cause"] == "last_left")
        .await;
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_queue_places_a_game_with_its_seats() {
    let desk = Desk::open().await;
    let (ops, _host) = (desk.open.clone(), desk.host().await);
    let queue = json!({"destinations": [{"fleet": "arena", "location": "here"}]});
    let put = ops.tell("PUT /v1/queues/ranked", &queue).await.json(200);
    assert_eq!((&put["name"], &put["timeout_ms"]), (&json!("ranked"), &json!(600_000)));
    assert_eq!(ops.get("/v1/queues").await.json(200)["queues"][0], put);
    let body = json!({"id": "m1", "game": {"capacity": 2}, "players": [{"player": "ann"}]});
    let begun = ops.tell("POST /v1/queues/ranked/placements", &body).await;
    assert_eq!(begun.json(202)["queue"], "ranked");
    let path = "/v1/queues/ranked/placements/m1";
    assert!(begun.head.contains(&format!("location: {path}")), "{}", begun.head);
    until("it is placed", async || ops.get(path).await.json(200)["status"] == "fulfilled").await;
    let placed = ops.get(path).await.json(200);
    assert_eq!(placed["seats"][0]["player"], "ann");
    let game = ops.get(&format!("/v1/games/{}", text(&placed["game"]))).await.json(200);
    assert_eq!(game["reserved"], 1);
    assert_eq!(ops.delete(path).await.code(409), "placement_ended");
    assert_eq!(ops.delete("/v1/queues/ranked").await.status, 204);
    assert_eq!(ops.get(path).await.code(404), "queue_not_found");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_placement_is_watched_until_it_has_ended_and_a_queue_until_it_is_deleted() {
    let desk = Desk::open().await;
    let ops = desk.open.clone();
    ops.tell("PUT /v1/fleets/arena", &json!({"locations": ["here"]})).await.json(200);
    let queue = json!({"destinations": [{"fleet": "arena"}]});
    ops.tell("PUT /v1/queues/ranked", &queue).await.json(200);
    let mut all = ops.stream("/v1/queues/ranked/events").await;
    assert_eq!(all.next().await, Some(("begin".to_owned(), json!({}))));
    let body = json!({"id": "m1", "game": {"capacity": 2}, "players": [{"player": "ann"}]});
    ops.tell("POST /v1/queues/ranked/placements", &body).await.json(202);
    let path = "/v1/queues/ranked/placements/m1";
    let mut one = ops.stream(&format!("{path}/events")).await;
    assert_eq!(one.next().await, Some(("begin".to_owned(), json!({}))));
    let (name, first) = one.next().await.expect("it is told");
    assert_eq!((name.as_str(), &first["status"]), ("added", &json!("pending")));
    assert_eq!(first, ops.get(path).await.json(200), "as it can be looked up");
    // A host comes, and the rest is told without asking again.
    let _host = desk.host().await;
    let mut names = Vec::new();
    let mut last = json!(null);
    while let Some((name, data)) = one.next().await {
        names.push(name);
        last = data;
    }
    assert_eq!(names, ["changed", "ended"]);
    assert_eq!(
        (&last["status"], &last["seats"][0]["player"]),
        (&json!("fulfilled"), &json!("ann"))
    );
    let mut late = ops.stream(&format!("{path}/events")).await;
    assert_eq!(late.next().await.map(|(name, _)| name), Some("begin".to_owned()));
    assert_eq!(late.next().await, Some(("ended".to_owned(), last)));
    assert_eq!(late.next().await, None);

    for expected in ["added", "changed", "ended"] {
        let (name, data) = all.next().await.expect("it is told");
        assert_eq!((name.as_str(), &data["id"]), (expected, &json!("m1")));
    }
    assert_eq!(ops.delete("/v1/queues/ranked").await.status, 204);
    let cut = ("cut".to_owned(), json!({"cause": "queue_deleted"}));
    assert_eq!((all.next().await, all.next().await), (Some(cut), None));
    assert_eq!(ops.get(&format!("{path}/events")).await.code(404), "queue_not_found");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn fleets_aliases_and_hosts_are_put_listed_and_drained() {
    let desk = Desk::open().await;
    let (ops, _host) = (desk.open.clone(), desk.host().await);
    let alias = ops.tell("PUT /v1/aliases/live", &json!({"fleet": "arena"})).await.json(200);
    assert_eq!(ops.get("/v1/aliases").await.json(200), json!({"aliases": [alias]}));
    let dead = json!({"message": "update the game"});
    ops.tell("PUT /v1/aliases/old", &dead).await.json(200);
    let refused = ops.get("/v1/search?alias=old").await.problem(409);
    assert_eq!(refused["detail"], "update the game");
    assert_eq!(ops.delete("/v1/fleets/arena").await.code(409), "in_use");
    let hosts = ops.get("/v1/hosts?alias=live").await.json(200);
    let host = text(&hosts["hosts"][0]["id"]);
    assert_eq!(ops.request(&format!("POST /v1/hosts/{host}/drain"), &[], "").await.status, 204);
    let path = format!("/v1/hosts/{host}");
    until("it has ended", async || ops.get(&path).await.json(200)["state"] == "ended").await;
    for path in ["/v1/aliases/live", "/v1/aliases/old", "/v1/fleets/arena"] {
        assert_eq!(ops.delete(path).await.status, 204, "{path}");
    }
    assert_eq!(ops.get("/v1/fleets").await.json(200), json!({"fleets": []}));
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_subscriber_is_told_what_matches_what_changes_and_why_it_was_cut() {
    let desk = Desk::open().await;
    let (ops, host) = (desk.open.clone(), desk.host().await);
    let mut stream = ops.stream("/v1/subscriptions?fleet=arena&filter=has_room%20%3D%20true").await;
    assert_eq!(stream.next().await, Some(("begin".to_owned(), json!({}))));
    let made = create(&ops, &json!({"fleet": "arena", "capacity": 1})).await;
    let game = text(&made["id"]);
    let (name, data) = stream.next().await.expect("it is told");
    assert_eq!((name.as_str(), &data["id"]), ("added", &json!(game)));
    let seats = format!("POST /v1/games/{game}/seats");
    ops.tell(&seats, &json!({"players": [{"player": "ann"}]})).await.json(201);
    assert_eq!(stream.next().await, Some(("removed".to_owned(), json!({"id": game}))));
    // Whoever comes again is told everything again.
    let mut again = ops.stream("/v1/subscriptions?fleet=arena").await;
    assert_eq!(again.next().await.map(|(name, _)| name), Some("begin".to_owned()));
    assert_eq!(again.next().await.map(|(_, data)| data["id"].clone()), Some(json!(game)));
    // Its host is away: nobody sees its Game any more.
    host.abort();
    assert_eq!(again.next().await, Some(("removed".to_owned(), json!({"id": game}))));
    // A subscription does not outlive its fleet.
    ops.tell("PUT /v1/fleets/brief", &json!({"locations": ["here"]})).await.json(200);
    let mut brief = ops.stream("/v1/subscriptions?fleet=brief").await;
    assert_eq!(ops.delete("/v1/fleets/brief").await.status, 204);
    assert_eq!(brief.next().await.map(|(name, _)| name), Some("begin".to_owned()));
    let cut = ("cut".to_owned(), json!({"cause": "fleet_deleted"}));
    assert_eq!((brief.next().await, brief.next().await), (Some(cut), None));
    desk.server.stop().await;
    assert_eq!(again.next().await, None);
}
