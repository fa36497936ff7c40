//! Row A1: somebody knows a session's number and tries tokens. An address is told twenty times that it
//! was wrong, then only to wait; the owner is not disturbed and comes back, even from that address.

use serde_json::json;

use crate::house::House;
use crate::player::HONEST;

const GUESSES: usize = 200;

#[tokio::test(flavor = "multi_thread")]
async fn guesses_are_rationed_and_never_lock_the_owner_out() {
    // Connections would be rationed sooner.
    let house =
        House::start("[guard]\naddress_connects_per_second = 0\naddress_logins_per_second = 0\n");
    let mut ann = house.member("square").await;
    let session = ann.welcome["session"].clone();
    let mut told_wrong = 0;
    for guess in 0..GUESSES {
        let mut eve = house.dial_from(HONEST).await.expect("let in");
        let token = format!("{guess:0<43}=");
        let guess = json!({"resume": {"session": session, "token": token, "oldestUnacked": "1"}});
        match &*eve.try_hello(&guess).await {
            "SESSION_UNKNOWN" => told_wrong += 1,
            "FLOODED" => {}
            other => panic!("{other}"),
        }
    }
    println!("{told_wrong} of {GUESSES} guesses were told to be wrong");
    assert!((20..=24).contains(&told_wrong), "{told_wrong}");
    ann.ask().await;
    // Nobody logs in from there for a while, but whoever holds a token comes back.
    let mut eve = house.dial_from(HONEST).await.expect("let in");
    assert_eq!(eve.try_hello(&json!({"login": {"anonymous": {}}})).await, "FLOODED");
    let resume = ann.resume();
    drop(ann);
    let mut ann = house.dial_from(HONEST).await.expect("let in");
    assert_eq!(ann.try_hello(&resume).await, "welcome");
    ann.ask().await;
}
