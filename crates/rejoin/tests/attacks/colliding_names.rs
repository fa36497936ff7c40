//! Row R6: names that somebody chose to look alike: zones, and addresses beyond number. What is looked
//! up by a peer's choice is ordered or keyed, so that the last takes as long as the first.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn chosen_names_make_nothing_slow() {
    let house = House::start(
        "[guard]\nmessages_per_second = 100000\nmessages_burst = 100000\n\
         bytes_per_second = 100000000\nbytes_burst = 100000000\n",
    );
    let mut eve = house.dial_from([127, 0, 0, 2]).await.expect("let in");
    eve.log_in().await;
    // Names that differ in their last letters only, of kinds and zones that do not exist.
    let prefix = "a".repeat(48);
    let mut times = Vec::new();
    for round in 0..20 {
        let since = Instant::now();
        for number in 0..100 {
            let name = format!("{prefix}{:08}", round * 100 + number);
            eve.up(json!({"join": {"kind": "relay", "name": name, "create": false}})).await;
            while eve.hear("down").await.get("refused").is_none() {}
        }
        times.push(since.elapsed());
    }
    let (first, last) = (times[..5].iter().min(), times[15..].iter().min());
    let (first, last) = (*first.expect("five"), *last.expect("five"));
    println!("100 names: {first:?} at first, {last:?} after 2000");
    assert!(last < first * 3 + Duration::from_millis(50), "{first:?} {last:?}");
}
