//! Row R9: the server is killed and starts again, and a crowd behind one address comes back at once. A
//! valid token is not charged to its address: none is told to wait, and none loses its session.

use std::time::{Duration, Instant};

use rejoin::client::Event;
use rejoin::client::driver::{Options, Player};

use crate::house::{House, PATIENCE};

const CROWD: usize = 100;

#[tokio::test(flavor = "multi_thread")]
async fn a_crowd_behind_one_address_comes_back_at_once() {
    // Logins alone are not as shipped: the crowd must come in first.
    let house = House::start("[guard]\naddress_logins_per_second = 0\n");
    let url = format!("ws://{}/play", house.web);
    let mut crowd = Vec::new();
    for _ in 0..CROWD {
        let (player, mut events) = Player::connect(&url, Options::new()).await.expect("started");
        while !matches!(events.next().await, Some(Event::Connected { .. })) {}
        crowd.push((player, events));
    }
    let since = Instant::now();
    let house = house.kill_and_start_again();
    let mut resumed = 0;
    for (_, events) in &mut crowd {
        let back = async {
            loop {
                match events.next().await.expect("the player goes on") {
                    Event::Connected { rung, .. } => return rung,
                    Event::Stopped { .. } => panic!("it gave up"),
                    _ => {}
                }
            }
        };
        let rung = tokio::time::timeout(PATIENCE, back).await.expect("back in time");
        resumed += usize::from(!matches!(rung, rejoin::client::Rung::New));
    }
    let took = since.elapsed();
    let refused = house.figure("rejoin_guard_steps_total{step=\"sever\",what=\"resumes\"}");
    let below = house.figure("rejoin_returns_deferred_total{load=\"below_bound\"}");
    println!("{CROWD} were back after {took:?}; {refused} and {below} were told to wait");
    assert_eq!(resumed, CROWD, "nobody lost its session");
    assert_eq!((refused, below), (0, 0), "no valid return waits while the server has room");
    assert!(took < Duration::from_secs(30), "{took:?}");
}
