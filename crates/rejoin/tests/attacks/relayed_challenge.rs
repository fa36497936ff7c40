//! Another server relays our challenge to its own players and brings us their answers. What they sign
//! names the server that they dialled, so it is worth nothing here, whatever is rewritten on the way.

use serde_json::Value;

use crate::house::House;
use crate::stolen_token::{key_file, signed};

#[tokio::test(flavor = "multi_thread")]
async fn what_was_signed_for_another_server_is_worth_nothing_here() {
    let house = House::start("");
    let key = key_file("relayed");
    for (rewritten, answer) in [(false, "WRONG_NAME"), (true, "CREDENTIAL")] {
        let mut relay = house.dial_from([127, 0, 0, 2]).await.expect("let in");
        let mut hello = signed(&key, &relay.challenge, &["--server-name", "other.example"]);
        if rewritten {
            hello["serverName"] = Value::from("localhost");
        }
        assert_eq!(relay.try_hello(&hello).await, answer);
    }
    // The player itself comes in, and finds nothing that somebody began in its name.
    let mut ann = house.dial_from([127, 0, 0, 1]).await.expect("let in");
    let login = signed(&key, &ann.challenge, &[]);
    assert_eq!(ann.try_hello(&login).await, "welcome");
    assert_ne!(ann.welcome["found"], true);
    assert_eq!(house.figure("rejoin_sessions_created_total"), 1);
}
