//! The doors: addresses behind proxies, IPv6, and the admission hook over HTTP.

use std::future::Future;
use std::net::{IpAddr, SocketAddr};
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use rejoin_core::hub::{Admission as Ask, HubConfig};
use rejoin_core::id::PlayerId;
use rejoin_server::{Admission, ServerBuilder, Verdict, WebConfig, Webhook};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::client::{PATIENCE, Running, builder, hello, start_with};

/// Lets everybody in and tells from where they came.
struct Porter(mpsc::UnboundedSender<Option<IpAddr>>);

type Answer<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

impl Admission for Porter {
    fn admit<'a>(&'a self, _: PlayerId, _: Bytes) -> Answer<'a> {
        Box::pin(async { Err("nobody comes from nowhere".to_owned()) })
    }

    fn admit_from<'a>(&'a self, _: PlayerId, _: Bytes, from: Option<IpAddr>) -> Answer<'a> {
        self.0.send(from).expect("the test listens");
        Box::pin(async { Ok(()) })
    }
}

/// Where the server believes a client to be that says this of itself.
async fn believed(trusted: &[&str], header: (&'static str, &str)) -> Option<IpAddr> {
    let (porter, mut told) = mpsc::unbounded_channel();
    let trusted_proxies = trusted.iter().map(|text| text.parse().expect("a block")).collect();
    let web = WebConfig { trusted_proxies, ..WebConfig::default() };
    let running = start_with(builder().admission(Porter(porter)), web).await;
    let mut request = running.request();
    request.headers_mut().insert(header.0, header.1.parse().expect("a header"));
    let mut client = running.dial_with(request).await;
    client.log_in().await;
    let from = told.recv().await.expect("it was asked");
    drop(client);
    running.server.stop().await;
    from
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_trusted_proxy_is_believed_about_its_clients() {
    let said = ("X-Forwarded-For", "6.6.6.6, 1.2.3.4");
    let own: IpAddr = [127, 0, 0, 1].into();
    let client: IpAddr = [1, 2, 3, 4].into();
    assert_eq!(believed(&[], said).await, Some(own));
    assert_eq!(believed(&["10.0.0.0/8"], said).await, Some(own));
    assert_eq!(believed(&["127.0.0.0/8"], said).await, Some(client));
    // The other header is whatever the client wrote.
    assert_eq!(believed(&["127.0.0.0/8"], ("Forwarded", "for=1.2.3.4")).await, Some(own));
}

#[tokio::test(flavor = "multi_thread")]
async fn players_come_in_by_ipv6_and_by_both_at_one_door() {
    let one = TcpListener::bind("[::1]:0").await.expect("IPv6 loopback");
    let both = TcpListener::bind("[::]:0").await.expect("IPv6");
    for (listener, dialled, seen) in [(one, "::1", "::1"), (both, "127.0.0.1", "127.0.0.1")] {
        let (porter, mut told) = mpsc::unbounded_channel();
        let mut at = listener.local_addr().expect("it is bound");
        at.set_ip(dialled.parse().expect("an address"));
        let server = builder().admission(Porter(porter)).start().expect("it starts");
        let listening = server.clone();
        tokio::spawn(async move { listening.listen(listener, WebConfig::default()).await });
        let running = Running { server, at };
        running.ready().await;
        let mut client = running.dial().await;
        client.log_in().await;
        let from = told.recv().await.expect("it was asked").expect("it has an address");
        assert_eq!(from.to_string(), seen, "an IPv4 address is told as one");
        drop(client);
        running.server.stop().await;
    }
}

/// A little HTTP server that answers each path in another way, and tells what it was asked.
async fn game() -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("it is bound");
    let (tell, told) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(answer(socket, tell.clone()));
        }
    });
    (at, told)
}

async fn answer(mut socket: TcpStream, tell: mpsc::UnboundedSender<String>) {
    let mut request = Vec::new();
    // All questions end with a JSON object.
    while !request.ends_with(b"}") {
        let mut more = [0; 4_096];
        match socket.read(&mut more).await {
            Ok(0) | Err(_) => return,
            Ok(len) => request.extend_from_slice(&more[..len]),
        }
    }
    let request = String::from_utf8(request).expect("text");
    let path = request.split(' ').nth(1).expect("a path").to_owned();
    tell.send(request).expect("the test listens");
    let full = |status: &str, body: &str| {
        format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n{body}", body.len())
    };
    let response = match &path[..] {
        "/yes" => full("204 No Content", ""),
        "/no" => full("403 Forbidden", "no ticket\n"),
        "/throws" => full("500 Internal Server Error", "at line 1"),
        "/away" => full("302 Found", "").replace("\r\n\r\n", "\r\nLocation: /yes\r\n\r\n"),
        "/long" => full("200 OK", &"x".repeat(100_000)),
        "/endless" => "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n".to_owned(),
        "/garbage" => "I am no web server\r\n\r\n".to_owned(),
        "/vanishes" => return,
        _ => std::future::pending().await,
    };
    let _ = socket.write_all(response.as_bytes()).await;
    std::future::pending().await
}

async fn with_hook(at: SocketAddr, path: &str) -> Running {
    let hook = Webhook::new(&format!("http://{at}{path}"), Some("s3cret")).expect("a good URL");
    let builder: ServerBuilder = builder().config(HubConfig {
        anonymous: true,
        admission: Ask::Ask(Duration::from_millis(700)),
        ..HubConfig::default()
    });
    start_with(builder.admission(hook), WebConfig::default()).await
}

/// How a login with a payload ends: none is a welcome.
async fn log_in(running: &Running) -> Option<Value> {
    let mut client = running.dial().await;
    client.hear("challenge").await;
    let mut hello = hello(json!({"login": {"anonymous": {}}}));
    hello["hello"]["admission"] = "dGlja2V0".into();
    client.say(hello).await;
    let frame = client.next().await.expect("an answer");
    frame.get("refusal").cloned()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_hook_is_asked_who_where_and_with_what() {
    let (at, mut told) = game().await;
    let running = with_hook(at, "/yes").await;
    assert_eq!(log_in(&running).await, None);
    let request = told.recv().await.expect("it was asked");
    let (head, body) = request.split_once("\r\n\r\n").expect("a head and a body");
    assert!(head.starts_with("POST /yes HTTP/1.1"), "{head}");
    assert!(head.to_lowercase().contains("authorization: bearer s3cret"), "{head}");
    let body: Value = serde_json::from_str(body).expect("JSON");
    assert_eq!((&body["payload"], &body["address"]), (&json!("dGlja2V0"), &json!("127.0.0.1")));
    assert_eq!(body["player"].as_str().map(str::len), Some(32));
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_the_hook_does_wrong_is_a_refusal() {
    let (at, _told) = game().await;
    let (refused, silent) = ("CLOSE_CODE_ADMISSION_REFUSED", "CLOSE_CODE_ADMISSION_TIMEOUT");
    for (path, code) in [
        ("/no", refused),
        ("/throws", refused),
        ("/away", refused),
        ("/long", refused),
        ("/garbage", refused),
        ("/vanishes", refused),
        ("/hangs", silent),
        ("/endless", silent),
    ] {
        let running = with_hook(at, path).await;
        let refusal = log_in(&running).await.unwrap_or_else(|| panic!("{path} let it in"));
        assert_eq!(refusal["code"], code, "{path}");
        assert_eq!(refusal["text"] == "no ticket", path == "/no", "{path}: {refusal}");
        running.server.stop().await;
    }
    // Nobody listens there any more.
    let nobody = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = nobody.local_addr().expect("it is bound");
    drop(nobody);
    let running = with_hook(at, "/yes").await;
    let refusal = tokio::time::timeout(PATIENCE, log_in(&running)).await.expect("in time");
    assert_eq!(refusal.expect("not let in")["code"], refused);
    running.server.stop().await;
}
