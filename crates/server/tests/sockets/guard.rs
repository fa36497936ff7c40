//! The door under pressure: addresses that come too often or too many, behind proxies and without.

use std::time::{Duration, Instant};

use futures_util::SinkExt;
use rejoin_core::budget::{Quota, Rate};
use rejoin_core::event::{Event, Offence, Step};
use rejoin_core::guard::GuardConfig;
use rejoin_core::hub::HubConfig;
use rejoin_server::WebConfig;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;

use crate::client::{PATIENCE, Running, builder, start_with, until};

async fn guarded(guard: GuardConfig, web: WebConfig) -> Running {
    let config = HubConfig { anonymous: true, guard, ..HubConfig::default() };
    start_with(builder().config(config), web).await
}

/// Status and wait of a refused upgrade; none: it was let in.
async fn dial(running: &Running, from: Option<&str>) -> Option<(u16, u64)> {
    let mut request = running.request();
    if let Some(from) = from {
        request.headers_mut().insert("X-Forwarded-For", from.parse().expect("an address"));
    }
    match tokio_tungstenite::connect_async(request).await {
        Ok((socket, _)) => {
            // Kept open: dropping it would give its place back.
            tokio::spawn(async move {
                let _socket = socket;
                std::future::pending::<()>().await;
            });
            None
        }
        Err(Error::Http(response)) => {
            let wait = response.headers().get("retry-after").expect("it says when to come again");
            let wait = wait.to_str().expect("text").parse().expect("seconds");
            Some((response.status().as_u16(), wait))
        }
        Err(other) => panic!("{other}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_has_so_many_places_and_is_told_when_to_come_again() {
    let guard = GuardConfig { address_connections_max: 3, ..GuardConfig::default() };
    let running = guarded(guard, WebConfig::default()).await;
    let mut events = running.server.events();
    let mut ann = running.anonymous().await;
    assert_eq!(dial(&running, None).await, None);
    assert_eq!(dial(&running, None).await, None);
    for _ in 0..3 {
        assert_eq!(dial(&running, None).await, Some((429, 5)));
    }
    let told = async {
        loop {
            if let Ok(Event::GuardStep { step, what, connection: None, .. }) = events.recv().await {
                return (step, what);
            }
        }
    };
    let told = tokio::time::timeout(PATIENCE, told).await.expect("it is told");
    assert_eq!(told, (Step::Sever, Offence::Connections));
    // Who is in goes on, and a place that comes free is given away.
    ann.up(1, serde_json::json!({"part": {}})).await;
    drop(ann);
    until("there is a place again", async || dial(&running, None).await.is_none()).await;
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_together_have_so_many_places() {
    let guard = GuardConfig { connections_max: 2, ..GuardConfig::default() };
    let running = guarded(guard, WebConfig::default()).await;
    assert_eq!(dial(&running, None).await, None);
    assert_eq!(dial(&running, None).await, None);
    assert_eq!(dial(&running, None).await.map(|(status, _)| status), Some(503));
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_comes_too_often_waits_and_a_page_counts_as_well() {
    let address_connects = Rate { per_second: 1, burst: 4 };
    let guard = GuardConfig { address_connects, ..GuardConfig::default() };
    let running = guarded(guard, WebConfig::default()).await;
    for _ in 0..3 {
        let mut socket = TcpStream::connect(running.at).await.expect("it listens");
        socket
            .write_all(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            .await
            .expect("open");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).await.expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    assert_eq!(dial(&running, None).await, None);
    let (status, wait) = dial(&running, None).await.expect("refused");
    assert_eq!(status, 429);
    assert!((1..=2).contains(&wait), "{wait}");
    running.server.stop().await;
}

/// Asks for a path; the status and what it is told to wait.
async fn get(running: &Running, path: &str) -> (u16, Option<u64>) {
    let mut socket = TcpStream::connect(running.at).await.expect("it listens");
    let request = format!("GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.expect("open");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).await.expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let wait = answer.lines().find_map(|line| line.strip_prefix("retry-after: "));
    (status.expect("a status"), wait.map(|wait| wait.trim().parse().expect("seconds")))
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_of_an_address_are_rationed_whatever_they_ask_for() {
    let address_requests = Rate { per_second: 1, burst: 5 };
    let guard = GuardConfig { address_requests, ..GuardConfig::default() };
    let running = guarded(guard, WebConfig::default()).await;
    let mut ann = running.member("square").await;
    let mut statuses = Vec::new();
    for path in ["/", "/healthz", "/nowhere", "/v1/nowhere", "/readyz", "/", "/healthz"] {
        statuses.push(get(&running, path).await);
    }
    // One was the member's own; a refusal takes half a second, and a second or two may have passed.
    let refused: Vec<_> = statuses.iter().filter(|told| told.0 == 429).collect();
    assert!((1..=3).contains(&refused.len()), "{statuses:?}");
    assert!(refused.iter().all(|told| told.1.is_some_and(|wait| wait <= 2)), "{statuses:?}");
    // Who is in goes on.
    assert_eq!(ann.ask(2, "aGk=").await["reply"]["payload"], "aGk=");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_long_answer_costs_an_address_several_requests_and_its_refusals_come_late() {
    let address_requests = Rate { per_second: 1, burst: 5 };
    let guard = GuardConfig { address_requests, ..GuardConfig::default() };
    let page = Some("x".repeat(200 << 10));
    let running = guarded(guard, WebConfig { page, ..WebConfig::default() }).await;
    assert_eq!(get(&running, "/").await.0, 200);
    let asked_at = Instant::now();
    let (status, wait) = get(&running, "/healthz").await;
    // 200 KiB are twelve requests more: thirteen in all, of which five were free.
    assert_eq!((status, wait.is_some_and(|wait| wait >= 5)), (429, true), "{wait:?}");
    assert!(asked_at.elapsed() >= Duration::from_millis(500), "{:?}", asked_at.elapsed());
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_websocket_pings_is_slowed_down_and_severed() {
    let running = guarded(GuardConfig::default(), WebConfig::default()).await;
    let mut ann = running.member("square").await;
    let mut events = running.server.events();
    let mut eve = running.member("elsewhere").await;
    let flood = async {
        // As fast as the line takes them; what is not read is not taken.
        loop {
            let ping = tokio_tungstenite::tungstenite::Message::Ping(Default::default());
            if eve.socket.send(ping).await.is_err() {
                return;
            }
        }
    };
    tokio::time::timeout(PATIENCE, flood).await.expect("it is let go");
    let mut steps = Vec::new();
    while let Ok(Ok(event)) = tokio::time::timeout(Duration::from_secs(1), events.recv()).await {
        if let Event::GuardStep { step, what, .. } = event {
            steps.push((step, what));
        }
    }
    let expected = [
        (Step::Warn, Offence::Messages),
        (Step::Throttle, Offence::Messages),
        (Step::Sever, Offence::Flooded),
    ];
    assert_eq!(steps, expected);
    assert_eq!(ann.ask(2, "aGk=").await["reply"]["payload"], "aGk=");
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn behind_a_proxy_the_real_address_is_charged_and_not_the_proxy() {
    let guard = GuardConfig { address_connections_max: 2, ..GuardConfig::default() };
    let trusted_proxies = vec!["127.0.0.0/8".parse().expect("a block")];
    let web = WebConfig { trusted_proxies, ..WebConfig::default() };
    let running = guarded(guard, web).await;
    for from in ["192.0.2.1", "192.0.2.2", "2001:db8::1"] {
        assert_eq!(dial(&running, Some(from)).await, None);
        assert_eq!(dial(&running, Some(from)).await, None);
        assert_eq!(dial(&running, Some(from)).await.map(|told| told.0), Some(429), "{from}");
    }
    // One network of IPv6 is one address.
    assert_eq!(dial(&running, Some("2001:db8::2")).await.map(|told| told.0), Some(429));
    assert_eq!(dial(&running, Some("2001:db8:0:1::2")).await, None);
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_that_sends_garbage_is_shut_out_and_who_is_in_goes_on() {
    let address_violations = Quota { most: 3, within: Duration::from_secs(3_600) };
    let guard = GuardConfig { address_violations, ..GuardConfig::default() };
    let running = guarded(guard, WebConfig::default()).await;
    let mut ann = running.member("square").await;
    for _ in 0..3 {
        let mut eve = running.dial().await;
        eve.hear("challenge").await;
        eve.say_text("garbage").await;
        assert_eq!(eve.closed().await, Some(4010));
    }
    until("it is shut out", async || dial(&running, None).await.is_some()).await;
    assert_eq!(ann.ask(2, "aGk=").await["reply"]["payload"], "aGk=");
    running.server.stop().await;
}
