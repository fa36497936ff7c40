//! Row P3: acknowledgements of what was never sent. The connection is closed with its cause, nothing
//! changes, and the session comes back.

use serde_json::json;

use crate::house::House;

#[tokio::test(flavor = "multi_thread")]
async fn an_acknowledgement_of_the_future_is_a_violation() {
    let house = House::start("");
    let mut bob = house.member("square").await;
    for (leg, seq) in
        [("own", "18446744073709551615"), ("own", "1000"), ("9223372036854775807", "1")]
    {
        let mut eve = house.dial_from([127, 0, 0, 2]).await.expect("let in");
        eve.log_in().await;
        eve.up(json!({"join": {"kind": "relay", "name": "square", "create": true}})).await;
        let joined = eve.hear("down").await;
        let own = joined["joined"]["leg"].as_str().expect("a leg").to_owned();
        let leg = if leg == "own" { &own } else { leg };
        eve.say(json!({"ack": {"leg": leg, "seq": seq}})).await;
        assert_eq!(eve.hear("farewell").await["code"], "CLOSE_CODE_ACK_AHEAD", "{leg} {seq}");
        let resume = eve.resume();
        let mut again = house.dial_from([127, 0, 0, 2]).await.expect("let in");
        assert_eq!(again.try_hello(&resume).await, "welcome");
        bob.ask().await;
    }
    assert_eq!(house.figure("rejoin_guard_steps_total{step=\"sever\",what=\"ack_ahead\"}"), 3);
}
