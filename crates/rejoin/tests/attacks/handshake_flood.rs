//! Rows R3 and R5: thousands of connections from two addresses that never say hello. Each address has
//! its share exactly, the rest is refused before the handshake, and others come in as ever.

use std::time::{Duration, Instant};

use rejoin::wire::close::status;
use rejoin::wire::v1::CloseCode;

use crate::house::House;
use crate::player::{NotLetIn, p99};

const SETTINGS: &str = "[guard]\naddress_connections_max = 50\naddress_connects_burst = 80\n\
                        address_connects_per_second = 1\nhandshake_ms = 3000\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_of_handshakes_costs_only_its_own_address() {
    let house = House::start(SETTINGS);
    let mut ann = house.member("square").await;
    let (mut inside, mut refused) = (Vec::new(), 0);
    let since = Instant::now();
    for attempt in 0..1_000 {
        let host = if attempt % 2 == 0 { [127, 0, 0, 2] } else { [127, 0, 0, 3] };
        match house.dial_from(host).await {
            Ok(player) => inside.push(player),
            Err(NotLetIn::Status(429) | NotLetIn::Closed) => refused += 1,
            Err(other) => panic!("{other:?}"),
        }
    }
    let took = since.elapsed();
    assert_eq!((inside.len(), refused), (100, 900), "fifty each");
    // Others come in meanwhile, each from an address of its own.
    let mut times = Vec::new();
    for host in 10..60 {
        let since = Instant::now();
        let mut other = house.dial_from([127, 0, 1, host]).await.expect("let in");
        other.log_in().await;
        times.push(since.elapsed());
    }
    let worst = p99(times);
    println!("1000 connects in {took:?}: 100 let in, 900 refused; honest login p99 {worst:?}");
    assert!(worst < Duration::from_millis(500), "{worst:?}");
    assert_eq!(house.figure("rejoin_connections_refused_total{what=\"connections\"}"), 900);
    // Who never says hello is let go.
    for player in &mut inside {
        assert_eq!(player.closed().await, Some(status(CloseCode::HandshakeTimeout)));
    }
    ann.ask().await;
}
