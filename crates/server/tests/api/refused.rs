//! Bad input of every kind: each is a problem with its code, and none harms anybody else.

use std::time::Duration;

use rejoin_server::ApiConfig;
use serde_json::json;
use tokio::io::AsyncReadExt;
use tokio::time::timeout;

use crate::asker::PATIENCE;
use crate::desk::Desk;

const JSON: (&str, &str) = ("content-type", "application/json");

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_read_is_refused_with_its_code() {
    let desk = Desk::open().await;
    let ops = &desk.open;
    for (line, headers, body, status, code) in [
        ("GET /v1/nothing", vec![], "", 404, "no_path"),
        ("GET /v1", vec![], "", 404, "no_path"),
        ("PUT /v1/games", vec![], "", 405, "no_method"),
        ("TRACE /v1/fleets", vec![], "", 405, "no_method"),
        ("POST /v1/games", vec![], "{}", 415, "wrong_media_type"),
        ("POST /v1/games", vec![("content-type", "text/plain")], "{}", 415, "wrong_media_type"),
        ("POST /v1/games", vec![JSON], "{", 400, "bad_json"),
        ("POST /v1/games", vec![JSON], "\u{0}", 400, "bad_json"),
        ("POST /v1/games", vec![JSON], "[]", 400, "bad_body"),
        ("PUT /v1/players/nobody/ban", vec![JSON], "[]", 400, "bad_body"),
        ("POST /v1/games", vec![JSON], "{\"capacity\": -1}", 400, "bad_body"),
        ("POST /v1/games", vec![JSON], "{\"capacity\": 1}", 400, "invalid"),
        ("POST /v1/games", vec![JSON], "{\"capacity\":1,\"fleet\":\"x\"}", 404, "fleet_not_found"),
        ("GET /v1/games", vec![], "", 400, "invalid"),
        ("GET /v1/games?fleet=a&alias=b", vec![], "", 400, "invalid"),
        ("GET /v1/games?fleet=a&flet=b", vec![], "", 400, "bad_query"),
        ("GET /v1/games?fleet=a&fleet=b", vec![], "", 400, "bad_query"),
        ("GET /v1/games?fleet=a&limit=x", vec![], "", 400, "bad_query"),
        ("GET /v1/games?fleet=a&cursor=x", vec![], "", 400, "invalid"),
        ("GET /v1/games?fleet=a&after=x", vec![], "", 400, "bad_query"),
        ("GET /v1/games/xyz", vec![], "", 404, "game_not_found"),
        ("GET /v1/games/%FF", vec![], "", 404, "no_path"),
        ("GET /v1/hosts/0", vec![], "", 404, "host_not_found"),
        ("GET /v1/fleets?x=1", vec![], "", 400, "bad_query"),
        ("DELETE /v1/fleets/none", vec![], "", 404, "fleet_not_found"),
        ("DELETE /v1/fleets/none", vec![], "body", 400, "bad_body"),
        ("PUT /v1/fleets/a_b", vec![JSON], "{\"locations\":[\"here\"]}", 400, "invalid"),
        ("PUT /v1/fleets/a", vec![JSON], "{\"locations\":[]}", 400, "invalid"),
        ("PUT /v1/aliases/a", vec![JSON], "{}", 400, "invalid"),
        ("PUT /v1/queues/a", vec![JSON], "{\"destinations\":[]}", 400, "invalid"),
        ("GET /v1/queues/a", vec![], "", 404, "queue_not_found"),
    ] {
        let answer = ops.request(line, &headers, body).await;
        assert_eq!(answer.code(status), code, "{line} {body}: {answer:?}");
    }
    let unknown = ops.tell("PUT /v1/fleets/a", &json!({"locations": ["x"], "locatoins": []})).await;
    let unknown = unknown.problem(400);
    assert_eq!(unknown["field"], "locatoins");
    let detail = unknown["detail"].as_str().unwrap_or_default();
    assert!(detail.contains("known are: locations, indexed"), "{detail}");
    for (line, body, field) in [
        ("POST /v1/games", json!({"fleet": "a", "capacity": "many"}), "capacity"),
        ("POST /v1/games", json!({"fleet": "a"}), "capacity"),
        ("POST /v1/games", json!({"fleet": "a", "capacity": 1, "data": "%"}), "data"),
        ("PUT /v1/queues/a", json!({"destinations": [{"fleet": 1}]}), "destinations[0].fleet"),
        ("GET /v1/search?fleet=a&limit=x", json!(null), "limit"),
        ("GET /v1/search?fleet=a&lmit=1", json!(null), "lmit"),
    ] {
        let wrong = ops.tell(line, &body).await.problem(400);
        assert_eq!(wrong["field"], field, "{line} {body}: {wrong}");
        let detail = wrong["detail"].as_str().unwrap_or_default();
        assert!(!detail.contains("u32") && !detail.contains("line 1"), "{detail}");
    }
    let allowed = ops.request("PUT /v1/games", &[], "").await;
    assert!(allowed.head.contains("allow: ") && allowed.head.contains("post"), "{}", allowed.head);
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_filter_that_cannot_be_read_says_where_and_why() {
    let desk = Desk::open().await;
    let _host = desk.host().await;
    let wrong = desk.open.get("/v1/search?fleet=arena&filter=players%20%3E").await.problem(400);
    assert_eq!(wrong["code"], "bad_filter");
    assert!(wrong["position"].as_u64().is_some_and(|at| at >= 9), "{wrong}");
    assert!(wrong["expected"].as_str().is_some_and(|text| !text.is_empty()), "{wrong}");
    let wrong = desk.open.get("/v1/search?fleet=arena&sort=name%20UP").await.problem(400);
    assert_eq!((&wrong["code"], &wrong["field"]), (&json!("bad_sort"), &json!("sort")));
    let wrong = desk.open.get("/v1/search?fleet=arena&cursor=zz").await;
    assert_eq!(wrong.code(400), "wrong_cursor");
    let wrong = desk.open.get("/v1/search?fleet=arena&limit=101").await.problem(400);
    assert_eq!(wrong["field"], "limit");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_or_too_slow_is_not_waited_for() {
    let body_deadline = Duration::from_millis(300);
    let api = ApiConfig { open: true, body_deadline, ..ApiConfig::default() };
    let desk = Desk::with(api).await;
    let large = format!("{{\"name\": \"{}\"}}", "x".repeat(2 << 20));
    let answer = desk.open.request("POST /v1/games", &[JSON], &large).await;
    assert_eq!(answer.code(413), "body_too_large");
    // What says how large it is, is not waited for at all.
    let headers = [JSON, ("content-length", "99999999999")];
    let announced = desk.open.request("POST /v1/games", &headers, "").await;
    assert_eq!(announced.code(413), "body_too_large");
    let packed = [JSON, ("content-encoding", "gzip")];
    let packed = desk.open.request("POST /v1/games", &packed, "{}").await;
    assert_eq!(packed.code(415), "wrong_media_type");
    let headers = [JSON, ("content-length", "100")];
    let mut socket = desk.open.send("POST /v1/games", &headers, "").await;
    let mut text = String::new();
    let read = timeout(PATIENCE, socket.read_to_string(&mut text)).await.expect("in time");
    assert!(read.is_ok() && text.contains("408") && text.contains("body_too_slow"), "{text}");
    desk.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn subscribers_hear_a_beat_when_nothing_happens() {
    let heartbeat = Duration::from_millis(50);
    let desk = Desk::with(ApiConfig { open: true, heartbeat, ..ApiConfig::default() }).await;
    let _host = desk.host().await;
    let mut stream = desk.open.stream("/v1/subscriptions?fleet=arena").await;
    stream.beat().await;
    desk.server.stop().await;
}
