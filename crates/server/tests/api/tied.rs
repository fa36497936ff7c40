//! Keys that are tied to a fleet: they are answered about it, and about no other, at every operation.

use rejoin_server::directory::rules::Command;
use rejoin_server::directory::rules::catalogue::FleetSpec;
use rejoin_server::directory::rules::host::{HostWord, Registration};
use rejoin_server::{ApiConfig, ApiKey, Role, api};
use serde_json::{Value, json};

use crate::asker::Asker;
use crate::desk::{Desk, keys, until};

const TIED: &str = "rejoin_host_tied";

async fn desk() -> Desk {
    let tied = ApiKey::from_text("tied", Role::Host, TIED);
    let tied = tied.for_fleets(vec!["arena".to_owned()]).expect("a host's key");
    let keys = [keys(), vec![tied]].concat();
    Desk::with(ApiConfig { keys, ..ApiConfig::default() }).await
}

/// A Game and a host of the fleet `other`, beside the host of `arena`.
async fn foreign(desk: &Desk) -> (String, String) {
    let door = desk.door();
    let (name, locations) = ("other".to_owned(), vec!["here".to_owned()]);
    let fleet = FleetSpec { name: name.clone(), locations, indexed: Vec::new() };
    door.ask(Command::PutFleet(fleet)).await.expect("a good fleet");
    let registration = Registration {
        fleet: name,
        name: "two".to_owned(),
        location: "here".to_owned(),
        address: "203.0.113.8".to_owned(),
        games_max: 8,
        is_reusable: true,
    };
    let view = match door.ask(Command::Register(registration)).await {
        Ok(rejoin_server::directory::rules::Answer::Host(view)) => view,
        other => panic!("{other:?}"),
    };
    let (log_paths, games) = (Vec::new(), Vec::new());
    let ready = HostWord::Ready { port: 7777, log_paths, hooks_set: true, games };
    door.host_said(view.id, view.lease, ready).await.expect("it runs");
    let operator = desk.asker(Role::Operator);
    let mut game = String::new();
    until("a game of the other fleet", async || {
        let body = json!({"fleet": "other", "key": "k", "capacity": 1});
        let made = operator.tell("POST /v1/games", &body).await;
        if made.status == 201 {
            game = made.json(201)["id"].as_str().expect("an id").to_owned();
        }
        made.status == 201
    })
    .await;
    (game, view.id.to_string())
}

fn names(list: &Value, what: &str) -> Vec<String> {
    let all = list[what].as_array().expect("a list").iter();
    all.map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hosts_key_that_is_tied_to_a_fleet_is_answered_about_no_other() {
    let desk = desk().await;
    let _host = desk.host().await;
    let (game, host) = foreign(&desk).await;
    let operator = desk.asker(Role::Operator);
    let put = async |path: &str, body: Value| {
        assert_eq!(operator.tell(&format!("PUT {path}"), &body).await.status, 200, "{path}");
    };
    put("/v1/aliases/away", json!({"fleet": "other"})).await;
    put("/v1/aliases/near", json!({"fleet": "arena"})).await;
    put("/v1/queues/near", json!({"destinations": [{"fleet": "arena"}]})).await;
    let both = json!({"destinations": [{"fleet": "arena"}, {"fleet": "other"}]});
    put("/v1/queues/both", both).await;

    let tied = Asker { key: Some(TIED.to_owned()), ..desk.open.clone() };
    let mut refused = 0;
    for (method, path, roles) in api::operations() {
        if !roles.contains(&Role::Host) {
            continue;
        }
        let filled = path.replace("{game}", &game).replace("{host}", &host);
        let filled = filled.replace("{fleet}", "other").replace("{alias}", "away");
        let filled = filled.replace("{queue}", "both").replace(['{', '}'], "");
        let lines = match (method, path.as_str()) {
            ("GET", "/v1/fleets" | "/v1/aliases" | "/v1/queues" | "/v1/hosts/line") => continue,
            ("POST", "/v1/games") => vec![format!("{method} {filled}")],
            _ if path.contains('{') => vec![format!("{method} {filled}")],
            _ => vec![
                format!("{method} {filled}?fleet=other"),
                format!("{method} {filled}?alias=away"),
            ],
        };
        for line in lines {
            let answer = tied.tell(&line, &json!({"fleet": "other", "capacity": 1})).await;
            let problem = answer.problem(403);
            assert_eq!(problem["code"], "wrong_fleet", "{line}");
            let detail = problem["detail"].as_str().expect("a sentence");
            assert!(detail.contains("tied to: arena") && detail.contains("\"other\""), "{detail}");
            // A key that is tied to none may ask the same; a stream would not end.
            if !path.ends_with("/events") && !path.ends_with("/subscriptions") {
                let other = desk.asker(Role::Host).tell(&line, &json!({})).await;
                assert_ne!(other.status, 403, "{line}");
            }
            refused += 1;
        }
    }
    assert!(refused > 25, "{refused}");
    let through = tied.tell("POST /v1/games", &json!({"alias": "away", "capacity": 1})).await;
    assert_eq!(through.code(403), "wrong_fleet");

    assert_eq!(names(&tied.get("/v1/fleets").await.json(200), "fleets"), ["arena"]);
    assert_eq!(names(&tied.get("/v1/aliases").await.json(200), "aliases"), ["near"]);
    assert_eq!(names(&tied.get("/v1/queues").await.json(200), "queues"), ["near"]);
    for path in ["/v1/games?fleet=arena", "/v1/search?alias=near", "/v1/hosts?fleet=arena"] {
        assert_eq!(tied.get(path).await.status, 200, "{path}");
    }
    let own = tied.tell("POST /v1/games", &json!({"fleet": "arena", "capacity": 1})).await;
    let own = own.json(201)["id"].as_str().expect("an id").to_owned();
    assert_eq!(tied.get(&format!("/v1/games/{own}")).await.status, 200);
    assert_eq!(tied.get("/v1/queues/near").await.status, 200);
    let nobody = format!("/v1/games/{}", "0".repeat(32));
    assert_eq!(tied.get(&nobody).await.code(404), "game_not_found");
    desk.server.stop().await;
}
