//! The operators' door: sessions to look at, and pages that may not.

use rejoin_core::id::SessionId;
use rejoin_core::session::Flags;
use rejoin_server::{AdminConfig, FrameLog};

use crate::client::{start, until};

#[tokio::test(flavor = "multi_thread")]
async fn sessions_are_listed_page_by_page_and_shown_with_their_story() {
    let running = start().await;
    let operator = running.operator().await;
    let mut clients = Vec::new();
    for _ in 0..5 {
        clients.push(running.member("square").await);
    }
    let mut listed = Vec::new();
    let mut path = "/sessions?limit=2".to_owned();
    loop {
        let page = operator.get(&path).await.json();
        listed.extend(page["sessions"].as_array().expect("a list").clone());
        match page["next_after"].as_str() {
            Some(after) => path = format!("/sessions?limit=2&after={after}"),
            None => break,
        }
    }
    let ids: Vec<_> = listed.iter().map(|one| one["session"].clone()).collect();
    let logged_in: Vec<_> = clients.iter().map(|one| one.welcome["session"].clone()).collect();
    assert_eq!(ids, logged_in);
    assert!(listed.iter().all(|one| one["state"] == "active" && one["serializer"] == "json"));

    let ann = clients.remove(0);
    let path = format!("/sessions/{}", ann.welcome["session"].as_str().expect("an id"));
    drop(ann.socket);
    until("ann is held", async || operator.get(&path).await.json()["state"] == "held").await;
    let shown = operator.get(&path).await.json();
    let recent = shown["timeline"]["recent"].as_array().expect("a list").clone();
    let story: Vec<_> = recent.iter().map(|one| one["what"].as_str().expect("a word")).collect();
    assert_eq!(story, ["began", "joined", "dropped"]);
    assert_eq!(recent[2]["detail"], "lost");
    assert_eq!((&shown["frame_log"], &shown["connection"]), (&"off".into(), &().into()));

    for (path, status) in [
        ("/sessions/999999", 404),
        ("/sessions/0", 400),
        ("/sessions/ann", 400),
        ("/sessions?limit=0", 400),
        ("/sessions?limit=1001", 400),
        ("/nowhere", 404),
    ] {
        let answer = operator.get(path).await;
        assert_eq!(answer.status, status, "{path}");
        assert!(answer.body.ends_with('\n') && answer.body.contains(' '), "{}", answer.body);
    }
    assert!(operator.get("/").await.body.contains("/metrics/sessions"));
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_frame_log_is_switched_by_the_sessions_own_flag() {
    let running = start().await;
    let operator = running.operator().await;
    let ann = running.anonymous().await;
    let id = ann.welcome["session"].as_str().expect("an id");
    let session = SessionId(id.parse().expect("a number"));
    let log = async || operator.get(&format!("/sessions/{id}")).await.json()["frame_log"].clone();
    let flag = async || {
        let view = running.server.session(session).await.expect("it runs").expect("it is there");
        view.flags.has(Flags::PACKET_LOGGING)
    };
    for (wanted, on) in [("on", true), ("payload", true), ("on", true), ("off", false)] {
        let answer = operator.post(&format!("/sessions/{id}/frames?log={wanted}")).await.json();
        assert_eq!(answer["frame_log"], wanted);
        assert_eq!((log().await, flag().await), (wanted.into(), on));
    }
    // The library's ways do the same.
    running.server.log_frames(session, FrameLog::Payload).await.expect("it is there");
    assert_eq!(log().await, "payload");
    let changes = rejoin_core::hub::Changes {
        flags: Some((Flags::PACKET_LOGGING, false)),
        ..Default::default()
    };
    running.server.configure(session, changes).await.expect("it is there");
    assert_eq!(log().await, "off");

    assert_eq!(operator.post("/sessions/77/frames?log=on").await.status, 404);
    assert_eq!(operator.post(&format!("/sessions/{id}/frames?log=maybe")).await.status, 400);
    assert_eq!(operator.post(&format!("/sessions/{id}/frames")).await.status, 400);
    assert_eq!(operator.get(&format!("/sessions/{id}/frames?log=on")).await.status, 405);
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_elsewhere_and_names_of_others_are_refused() {
    let running = start().await;
    let config = AdminConfig { hosts: vec!["ops.example".to_owned()], ..AdminConfig::default() };
    let operator = running.operator_with(config).await;
    let ann = running.anonymous().await;
    let switch =
        format!("POST /sessions/{}/frames?log=on", ann.welcome["session"].as_str().expect("an id"));
    let own = format!("http://{}", operator.at);
    for (headers, status) in [
        (vec![("Host", "rebound.example:7401")], 403),
        (vec![("Origin", "http://evil.example")], 403),
        (vec![("Origin", "null")], 403),
        (vec![("Sec-Fetch-Site", "cross-site")], 403),
        (vec![("Host", "ops.example:7401")], 200),
        (vec![("Host", "localhost")], 200),
        (vec![("Origin", own.as_str())], 200),
    ] {
        for line in ["GET /sessions", "GET /metrics", "GET /", &switch] {
            let answer = operator.request(line, &headers).await;
            assert_eq!(answer.status, status, "{line} {headers:?}: {}", answer.body);
        }
        // Probes ask as they like.
        assert_eq!(operator.request("GET /readyz", &headers).await.status, 200);
    }
    let session =
        SessionId(ann.welcome["session"].as_str().expect("an id").parse().expect("a number"));
    running.server.log_frames(session, FrameLog::Off).await.expect("it is there");
    operator.request(&switch, &[("Origin", "http://evil.example")]).await;
    let view = running.server.session(session).await.expect("it runs").expect("it is there");
    assert!(!view.flags.has(Flags::PACKET_LOGGING));
    running.server.stop().await;
}
