//! Rows K3 and P10: the process stands still for longer than any hold and is then let go on. Holds
//! stood still with it: who was away comes back to its session, who was there plays on.

use std::time::Duration;

use rejoin_chaos::Signal;

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn a_suspended_server_ends_nobodys_session() {
    let mut house = House::start("[zone.relay]\nhold_ms = 5000\n");
    let mut ann = house.member("square").await;
    let bob = house.member_from([127, 0, 0, 2], "square").await;
    let resume = bob.resume();
    drop(bob);
    house.until("bob is held", |house| house.figure("rejoin_sessions_held") == 1).await;
    house.signal(Signal::Stop);
    // Longer than the hold.
    tokio::time::sleep(Duration::from_secs(8)).await;
    house.signal(Signal::Continue);
    let mut bob = house.dial_from([127, 0, 0, 2]).await.expect("let in");
    assert_eq!(bob.try_hello(&resume).await, "welcome");
    assert_eq!(bob.welcome["rung"], "RUNG_RESYNCED", "its own session");
    bob.ask().await;
    ann.ask().await;
    assert_eq!(house.figure("rejoin_sessions_ended_total"), 0);
}
