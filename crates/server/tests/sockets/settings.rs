//! Settings of an embedded server that contradict each other, and settings that must not be lost.

use std::path::PathBuf;

use rejoin_core::hub::{AccountPolicy, HubConfig};
use rejoin_core::wire::Limits;
use rejoin_server::{IdentityConfig, JwtConfig, KeySource, ServerBuilder, WebConfig};
use serde_json::json;

use crate::client::{hello, start_with};

fn refused(builder: ServerBuilder) -> String {
    builder.start().err().expect("it must not start").to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn accounts_that_the_hub_requires_are_required() {
    let config = HubConfig { accounts: AccountPolicy::Required, ..HubConfig::default() };
    let builder = ServerBuilder::new().config(config);
    let running = start_with(builder, WebConfig::default()).await;
    let mut guest = running.dial().await;
    guest.hear("challenge").await;
    guest.say(hello(json!({"login": {"mint": {}}}))).await;
    assert_eq!(guest.hear("refusal").await["code"], "CLOSE_CODE_IDENTITY_OFF");
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_that_nobody_would_look_at_are_a_contradiction() {
    let keys = KeySource::File(PathBuf::from("never-read.json"));
    let jwt = Some(JwtConfig::new("https://id.example", "game", keys));
    let identity = IdentityConfig { jwt, ..IdentityConfig::default() };
    let why = refused(ServerBuilder::new().identity(identity));
    assert!(why.contains("HubConfig::accounts is Off"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_has_one_largest_size() {
    let limits = |message_bytes_max| Limits { message_bytes_max, ..Limits::DEFAULT };
    let hub = |message_bytes_max| HubConfig { message_bytes_max, ..HubConfig::default() };
    for (announced, decoded) in [(1_000, 65_536), (65_536, 1_000), (65_537, 65_536)] {
        let builder = ServerBuilder::new().config(hub(announced)).limits(limits(decoded));
        let why = refused(builder);
        assert!(why.contains(&format!("is {announced} ")), "{why}");
        assert!(why.contains(&decoded.to_string()), "{why}");
    }
    let why = refused(ServerBuilder::new().config(hub(70_000)).limits(limits(70_000)));
    assert!(why.contains("70000") && why.contains("65536"), "{why}");
    let less = ServerBuilder::new().config(hub(1_000)).limits(limits(1_000));
    assert!(less.start().is_ok());
}
