//! docs/RELAY.md, held against the code: its examples are what is read and written, its reasons are
//! all there are, its defaults are the code's.

use bytes::Bytes;
use rejoin_core::exchange::Hold;
use rejoin_core::zone::Message;
use rejoin_relay::{Heard, RelayConfig, Said};

const PAGE: &str = include_str!("../../../docs/RELAY.md");

fn section(title: &str) -> &'static str {
    let (_, rest) = PAGE.split_once(&format!("## {title}\n")).expect("a section of this title");
    rest.split("\n## ").next().unwrap_or(rest)
}

fn examples(title: &str) -> Vec<&'static str> {
    section(title).lines().filter(|line| line.starts_with("{\"")).collect()
}

#[test]
fn every_order_on_the_page_is_read() {
    let orders = examples("Orders");
    assert!(orders.len() >= 20);
    for line in orders {
        let said = Said::decode(Bytes::from_static(line.as_bytes()));
        let said = said.unwrap_or_else(|error| panic!("{line}: {error}"));
        assert_eq!(Said::decode(said.encode()), Ok(said), "{line}");
    }
}

#[test]
fn every_fact_on_the_page_is_written_so() {
    let facts = examples("Facts");
    assert!(facts.len() >= 15);
    for line in facts {
        let heard = Heard::decode(Bytes::from_static(line.as_bytes())).expect(line);
        assert_eq!(heard.encode(), line);
    }
}

#[test]
fn the_defaults_on_the_page_are_the_codes() {
    let config = RelayConfig::default();
    let Hold::Timed(hold) = config.hold else { panic!("a timed hold") };
    for (key, value) in [
        ("durability", format!("`\"{}\"`", format!("{:?}", config.durability).to_lowercase())),
        ("hold_ms", hold.as_millis().to_string()),
        ("host_grace_ms", config.host_grace.as_millis().to_string()),
        ("members_max", config.members_max.to_string()),
        ("keys_max", config.keys_max.to_string()),
        ("member_keys_max", config.member_keys_max.to_string()),
        ("latest_max", config.latest_max.to_string()),
        ("value_bytes_max", config.value_bytes_max.to_string()),
        ("state_bytes_max", config.state_bytes_max.to_string()),
        ("objects_max", config.objects_max.to_string()),
        // Of the program, which has a test that compares its own defaults.
        ("games", "`true`".to_owned()),
        ("closes_in_match", "`false`".to_owned()),
    ] {
        let row = format!("| `{key}` | {value} |");
        assert!(section("Settings").contains(&row), "{row}");
    }
    assert_eq!(section("Settings").matches("\n| `").count(), 12);
}
