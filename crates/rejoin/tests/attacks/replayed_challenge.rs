//! A hello that was signed for one challenge is said again: on another connection, and a second time
//! on its own. Both are refused.

use crate::house::House;
use crate::player::hello;
use crate::stolen_token::{key_file, signed};

#[tokio::test(flavor = "multi_thread")]
async fn a_signed_hello_serves_one_challenge_once() {
    let house = House::start("");
    let key = key_file("replayed");
    let mut ann = house.dial_from([127, 0, 0, 1]).await.expect("let in");
    let login = signed(&key, &ann.challenge, &[]);
    assert_eq!(ann.try_hello(&login).await, "welcome");
    for _ in 0..5 {
        let mut eve = house.dial_from([127, 0, 0, 2]).await.expect("let in");
        assert_eq!(eve.try_hello(&login).await, "CREDENTIAL");
    }
    ann.join("square").await;
    ann.ask().await;
    ann.say(hello(&login)).await;
    assert_eq!(ann.hear("farewell").await["code"], "CLOSE_CODE_OUT_OF_STATE");
}
