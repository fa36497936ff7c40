//! Row T7: members who never read. What waits for them is bounded, they are let go, and their
//! neighbours hear everything.

use std::time::Duration;

use crate::house::House;
use crate::player::p99;

const DEAF: u8 = 30;

#[tokio::test(flavor = "multi_thread")]
async fn peers_that_never_read_are_let_go_and_their_neighbours_play_on() {
    let house = House::start(
        "[guard]\nmessages_per_second = 1000\nmessages_burst = 2000\n\
         bytes_per_second = 16000000\nbytes_burst = 32000000\n",
    );
    let mut ann = house.member("square").await;
    let before = house.resident_kib();
    let mut deaf = Vec::new();
    for host in 0..DEAF {
        deaf.push(house.member_from([127, 0, 0, 2 + host], "square").await);
    }
    let payload = "A".repeat(40_000);
    let (mut times, mut most) = (Vec::new(), 0);
    let is_let_go =
        |house: &House| house.figure("rejoin_guard_steps_total{step=\"sever\",what=\"too_slow\"}");
    for round in 0..400 {
        let message = ann.next_message(&payload);
        assert!(ann.try_say(message).await);
        times.push(ann.ask().await);
        most = most.max(house.resident_kib());
        if round % 20 == 0 && is_let_go(&house) == u64::from(DEAF) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(30)).await;
    }
    house.until("all of them are let go", |house| is_let_go(house) == u64::from(DEAF)).await;
    let (worst, grown) = (p99(times), most.saturating_sub(before));
    println!("{DEAF} deaf peers: the neighbour's p99 {worst:?}, memory grew by {grown} KiB");
    assert!(grown < u64::from(DEAF) * 5 * 1_024 + 32 * 1_024, "{grown} KiB");
    assert!(worst < Duration::from_millis(500), "{worst:?}");
    ann.ask().await;
}
