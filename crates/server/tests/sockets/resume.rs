//! Sessions outlive connections: drop and return, takeover, and a server that goes down.

use rejoin_core::event::{Event, Rung};
use serde_json::json;

use crate::client::{start, until};

#[tokio::test(flavor = "multi_thread")]
async fn who_drops_comes_back_and_misses_nothing() {
    let running = start().await;
    let mut events = running.server.events();
    let ann = running.member("square").await;
    let mut bob = running.member("square").await;
    let (ann_welcome, ann_leg, ann_seq) = (ann.welcome.clone(), ann.leg.clone(), ann.seq.clone());
    drop(ann.socket);
    until("ann is held", async || running.server.active_count().await == Ok(1)).await;

    for (seq, text) in [(2, "b25l"), (3, "dHdv")] {
        bob.up(seq, json!({"message": {"payload": text}})).await;
    }
    bob.hear("applied").await;

    let mut gone = running.dial().await;
    (gone.welcome, gone.leg, gone.seq) = (ann_welcome.clone(), ann_leg, ann_seq);
    let mut ann = running.resume(&gone).await;
    assert_eq!(ann.welcome["rung"], "RUNG_REPLAYED");
    assert_eq!(ann.welcome["session"], ann_welcome["session"]);
    for text in ["b25l", "dHdv"] {
        assert_eq!(ann.hear("down").await["message"]["payload"], text);
    }
    // Its own numbers go on where they were, and the zone knows it as it was.
    ann.up(2, json!({"message": {"payload": "YmFjaw=="}})).await;
    assert_eq!(bob.hear("down").await["message"]["payload"], "YmFjaw==");
    let returned = loop {
        if let Event::PlayerReturned { rung, .. } = events.recv().await.expect("it is told") {
            break rung;
        }
    };
    assert!(matches!(returned, Rung::Replayed(_)));
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_takeover_fences_the_old_connection_at_once() {
    let running = start().await;
    let mut old = running.member("square").await;
    let mut new = running.resume(&old).await;
    assert_eq!(new.welcome["rung"], "RUNG_REPLAYED");
    assert_eq!(old.closed().await, Some(4001));
    new.up(2, json!({"message": {"payload": "bWU=", "wantsReply": true}})).await;
    assert_eq!(new.hear("down").await["reply"]["payload"], "bWU=");
    assert_eq!(running.server.active_count().await, Ok(1));
    assert_eq!(running.server.counts().await.expect("it runs").takeovers_total, 1);
    running.server.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_down_says_so() {
    let running = start().await;
    let mut ann = running.member("square").await;
    let stopping = running.server.clone();
    let stop = tokio::spawn(async move { stopping.stop().await });
    let farewell = ann.hear("farewell").await;
    assert_eq!(farewell["code"], "CLOSE_CODE_SHUTTING_DOWN");
    assert!(ann.closed().await.is_some());
    stop.await.expect("it stops");
    assert_eq!(running.server.connection_count(), 0);
    assert!(tokio::net::TcpStream::connect(running.at).await.is_err());
}
