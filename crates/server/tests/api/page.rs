//! docs/HTTP.md is true: its blocks run, in order, and its table has every problem.

use std::process::Command;

use rejoin_server::{ApiConfig, Role, api};
use serde_json::Value;

use crate::desk::{Desk, key_of, keys, until};

const PAGE: &str = include_str!("../../../../docs/HTTP.md");

/// What is between two fences.
fn blocks() -> Vec<&'static str> {
    let blocks = PAGE.split("```sh\n").skip(1);
    blocks.map(|rest| rest.split("```").next().expect("an end")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn every_block_of_the_page_runs() {
    if Command::new("curl").arg("--version").output().is_err() {
        println!("SKIPPED: every_block_of_the_page_runs: there is no curl");
        return;
    }
    let desk = Desk::with(ApiConfig { keys: keys(), ..ApiConfig::default() }).await;
    let _host = desk.host().await;
    let operator = desk.asker(Role::Operator);
    let (mut game, mut seat, mut secret) = (String::new(), String::new(), String::new());
    let blocks = blocks();
    assert!(blocks.len() >= 10, "{}", blocks.len());
    for block in blocks {
        let mut command = Command::new("sh");
        command.args(["-e", "-c", block]).env("AT", format!("http://{}", desk.open.at));
        command.env("KEY", key_of(Role::Operator)).env("GAME", &game);
        command.env("SEAT", &seat).env("SECRET", &secret);
        let output = tokio::task::spawn_blocking(move || command.output()).await;
        let output = output.expect("it ran").expect("there is a shell");
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{block}\n{text}");
        if block.contains("/subscriptions") {
            assert!(text.starts_with("event: begin\n") && text.contains("event: added"), "{text}");
            continue;
        }
        if block.contains("/events") {
            assert!(text.starts_with("event: begin\n") && text.contains("event: ended"), "{text}");
            continue;
        }
        let answer: Value =
            serde_json::from_str(&text).unwrap_or_else(|_| panic!("{block}\n{text}"));
        if let (true, Some(id)) = (answer["capacity"].is_u64(), answer["id"].as_str()) {
            game = id.to_owned();
            let path = format!("/v1/games/{game}");
            until("it runs", async || operator.get(&path).await.json(200)["status"] == "active")
                .await;
        }
        if let Some(id) = answer["seats"][0]["id"].as_str() {
            seat = id.to_owned();
        }
        if let Some(text) = answer["secret"].as_str() {
            secret = text.to_owned();
        }
    }
    desk.server.stop().await;
}

#[test]
fn the_page_names_every_problem_beside_its_status_and_no_other() {
    let table = PAGE.split("| status | codes |").nth(1).expect("the table");
    let table = table.split("\n\n").next().expect("its end");
    let mut named = Vec::new();
    for row in table.lines().filter(|row| row.starts_with("| ") && row.contains('`')) {
        let (statuses, codes) = row[2..].split_once(" | ").expect("two columns");
        let statuses: Vec<u16> =
            statuses.split(", ").map(|status| status.parse().expect("a status")).collect();
        let codes: Vec<&str> = codes.split('`').skip(1).step_by(2).collect();
        for (index, code) in codes.into_iter().enumerate() {
            let status = if statuses.len() == 1 { statuses[0] } else { statuses[index] };
            named.push((code, status));
        }
    }
    let mut known = api::problems();
    known.sort_unstable();
    named.sort_unstable();
    assert_eq!(named, known);
}
