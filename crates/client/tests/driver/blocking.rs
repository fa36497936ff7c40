//! A loop that is not async plays, is cut off and comes back.

use std::time::{Duration, Instant};

use rejoin_client::driver::blocking::Player;
use rejoin_client::{Bytes, Event, Rung};

use crate::house::{Cut, House};
use crate::scene::{PATIENCE, quick};

/// Goes round as a game loop does, until something has happened.
fn until(player: &mut Player, is: impl Fn(&Event) -> bool) -> Event {
    let started = Instant::now();
    while started.elapsed() < PATIENCE {
        let event = player.poll().or_else(|| player.wait(Duration::from_millis(5)));
        if let Some(event) = event.filter(&is) {
            return event;
        }
    }
    panic!("it never came");
}

#[test]
fn a_loop_that_is_not_async_plays() {
    let runtime = tokio::runtime::Runtime::new().expect("threads");
    let house = runtime.block_on(House::open());
    let mut player = Player::connect(&house.url, quick()).expect("it starts");
    player.join("plaza", "p", true, "").expect("taken");
    until(&mut player, |event| matches!(event, Event::Joined { .. }));
    player.send("hello").expect("taken");
    until(&mut player, |event| matches!(event, Event::Message { payload } if payload == "hello"));

    let mut request = player.request("ask one").expect("taken");
    assert_eq!(player.wait_for(&mut request, PATIENCE), Some(Ok(Bytes::from("answer one"))));
    let mut request = player.request("silence").expect("taken");
    assert!(request.poll().is_none());
    assert!(player.wait_for(&mut request, Duration::from_millis(5)).is_none());

    house.cut(Cut::HalfFrame);
    let back = until(&mut player, |event| matches!(event, Event::Connected { .. }));
    assert!(matches!(back, Event::Connected { rung: Rung::Replayed, .. }));
    player.leave().expect("it runs");
    until(&mut player, |event| matches!(event, Event::Left));
}

#[test]
fn waiting_is_bounded_and_a_cancel_needs_no_server() {
    let mut player = Player::connect("ws://127.0.0.1:1/play", quick()).expect("it starts");
    player.cancel().expect("it runs");
    until(&mut player, |event| matches!(event, Event::Stopped { code: None, .. }));
    assert_eq!(player.wait(Duration::from_millis(20)), None);
}
