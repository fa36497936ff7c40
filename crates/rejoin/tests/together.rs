//! The client's driver and the server, together, over real sockets that are cut again and again: what
//! one player says the other hears, each once and in order.

use std::time::Duration;

use rejoin::client::driver::{Events, Options, Player};
use rejoin::client::{Event, Rung};
use rejoin::server::{ServerBuilder, WebConfig, relay};
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

const MESSAGES: u32 = 200;
const CUTS: u32 = 12;
/// Far above what it takes; a test that hangs must end.
const PATIENCE: Duration = Duration::from_secs(60);

/// A relay in front of a server. Every change of the channel cuts all that goes through it.
async fn fragile(to: std::net::SocketAddr) -> (std::net::SocketAddr, watch::Sender<u32>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let at = listener.local_addr().expect("it is bound");
    let (cut, cuts) = watch::channel(0);
    tokio::spawn(async move {
        while let Ok((mut near, _)) = listener.accept().await {
            let mut cuts = cuts.clone();
            cuts.mark_unchanged();
            tokio::spawn(async move {
                let Ok(mut far) = TcpStream::connect(to).await else { return };
                tokio::select! {
                    _ = copy_bidirectional(&mut near, &mut far) => {}
                    _ = cuts.changed() => {}
                }
            });
        }
    });
    (at, cut)
}

async fn wait_for(events: &mut Events, what: impl Fn(&Event) -> bool) -> Event {
    let found = async {
        loop {
            let event = events.next().await.expect("the player goes on");
            if what(&event) {
                return event;
            }
        }
    };
    timeout(PATIENCE, found).await.expect("in time")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn players_hear_each_other_once_and_in_order_over_cut_sockets() {
    let server = ServerBuilder::new().zone("relay", relay::config(), relay::Relay::default);
    let server = server.start().expect("a server in memory");
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound");
    let serving = tokio::spawn({
        let server = server.clone();
        async move { server.listen(listener, WebConfig::default()).await }
    });
    let (front, cut) = fragile(address).await;
    let url = format!("ws://{front}/play");
    let (ann, mut ann_hears) = Player::connect(&url, Options::new()).await.expect("ann");
    let (bob, mut bob_hears) = Player::connect(&url, Options::new()).await.expect("bob");
    for (player, events) in [(&ann, &mut ann_hears), (&bob, &mut bob_hears)] {
        player.join("relay", "lobby", true, "").await.expect("there is room");
        wait_for(events, |event| matches!(event, Event::Joined { .. })).await;
    }
    let speaking = tokio::spawn(async move {
        for number in 0..MESSAGES {
            if number % (MESSAGES / CUTS) == 0 {
                cut.send_modify(|cuts| *cuts += 1);
            }
            ann.send(number.to_string()).await.expect("the buffer has room");
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        (ann, cut)
    });
    let listening = tokio::spawn(async move { while ann_hears.next().await.is_some() {} });
    let mut returns = 0;
    for number in 0..MESSAGES {
        let heard = wait_for(&mut bob_hears, |event| {
            if let Event::Connected { rung, .. } = event {
                assert_eq!(*rung, Rung::Replayed, "nothing is lost by a cut");
            }
            matches!(event, Event::Message { .. } | Event::Connected { .. })
        });
        let mut heard = heard.await;
        while let Event::Connected { .. } = heard {
            returns += 1;
            heard = wait_for(&mut bob_hears, |event| {
                matches!(event, Event::Message { .. } | Event::Connected { .. })
            })
            .await;
        }
        let Event::Message { payload } = heard else { unreachable!("only these are waited for") };
        assert_eq!(payload, number.to_string(), "each once, in order");
    }
    assert!(returns > 0, "the sockets were cut");
    drop(speaking.await.expect("ann has spoken"));
    listening.abort();
    server.stop().await;
    serving.abort();
}
