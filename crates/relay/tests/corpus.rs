//! Replays the seeds of the fuzz target `relay` as a plain test.
//!
//! `REJOIN_BLESS=1 cargo test -p rejoin-relay --test corpus` makes the seeds anew.

#[allow(unreachable_pub, dead_code)] // Public where it lives.
#[path = "../../../fuzz/src/replay.rs"]
mod replay;
#[allow(unreachable_pub)]
#[path = "../../../fuzz/src/relay.rs"]
mod target;

#[test]
fn the_seeds_of_relay_hold() {
    replay::replay("relay", target::relay, || {
        let texts = [
            "{\"to\":\"all\"}\nhello",
            "{\"to\":\"others\"}\n",
            "{\"to\":\"host\"}\n\n",
            "{\"set\":\"score\",\"if\":3}\n4",
            "{\"set\":\"score\"}",
            "{\"own\":\"door\",\"policy\":\"hand-over\"}",
            "{\"match\":\"start\"}",
            "{\"kick\":\"7\"}",
            "{\"from\":\"7\"}\nhello",
            "no line of JSON",
        ];
        let named = texts.iter().enumerate();
        named.map(|(at, text)| (format!("{at}.txt"), text.as_bytes().to_vec())).collect()
    });
}
