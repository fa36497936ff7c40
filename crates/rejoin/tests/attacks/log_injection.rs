//! Row R8: names with line breaks, escape codes and forged lines in whatever a peer can say. The log
//! holds no control byte of theirs and no line that they began.

use serde_json::json;

use crate::house::House;

const FORGED: &str = "x\nINFO forged\r\u{1b}[31m\u{0}";

#[tokio::test(flavor = "multi_thread")]
async fn nobody_writes_lines_of_their_own_into_the_log() {
    let house = House::start("[log]\nfilter = \"debug\"\n");
    for place in 0..5 {
        let mut eve = house.dial_from([127, 0, 0, 2]).await.expect("let in");
        match place {
            0 => {
                let login = json!({"anonymous": {}});
                let hello = json!({"version": 1, "serverName": FORGED, "login": login});
                eve.say(json!({"hello": hello})).await;
            }
            1 => eve.say(json!({"hello": {"version": 1, FORGED: FORGED}})).await,
            2 => drop(eve.try_say(FORGED.to_owned()).await),
            3 => {
                eve.log_in().await;
                eve.up(json!({"join": {"kind": FORGED, "name": "x", "create": true}})).await;
                eve.say(json!({"ping": {"nonce": "1"}})).await;
                eve.hear("pong").await;
                continue;
            }
            _ => {
                eve.log_in().await;
                eve.up(json!({"join": {"kind": "relay", "name": FORGED, "create": true}})).await;
                eve.say(json!({"ping": {"nonce": "1"}})).await;
                eve.hear("pong").await;
                continue;
            }
        }
        eve.closed().await;
    }
    house.until("it has written something", |house| !house.log().is_empty()).await;
    let log = house.log();
    let raw = log.iter().filter(|byte| byte.is_ascii_control() && **byte != b'\n').count();
    let text = String::from_utf8_lossy(&log);
    println!("{} lines, {raw} raw control bytes", text.lines().count());
    assert_eq!(raw, 0, "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("INFO forged")), "{text}");
}
