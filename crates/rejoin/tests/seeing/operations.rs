//! docs/OPERATIONS.md says what is true: its requests are run as they stand there, and it names every
//! metric that there is.

use serde_json::{Value, json};

use crate::process::Serving;

const PAGE: &str = include_str!("../../../../docs/OPERATIONS.md");

fn lines() -> Vec<&'static str> {
    PAGE.lines().filter(|line| line.starts_with("curl ")).collect()
}

#[tokio::test]
async fn every_request_of_the_page_can_be_copied() {
    let serving = Serving::start(&["--dev"]);
    let (_ann, welcome) = serving.hello(json!({"login": {"anonymous": {}}})).await;
    assert_eq!(welcome["session"], "1", "the page's requests are about session 1");
    assert!(lines().len() >= 8);
    for line in lines() {
        let (code, answer) = serving.curl(line);
        // 28: curl's own time limit, with which a look at a stream ends.
        let expected = if line.contains("/events") { 28 } else { 0 };
        assert_eq!(code, Some(expected), "{line}\n{answer}");
        let good = match line {
            _ if line.contains("/readyz") => answer == "ready\n",
            _ if line.contains("/events") => {
                answer.contains("event: PlayerConnected\n") && !answer.contains("event: gap")
            }
            _ if line.ends_with("/metrics") => answer.contains("\nrejoin_sessions_active 1\n"),
            _ => {
                let is_json = serde_json::from_str::<Value>(&answer).is_ok();
                is_json && answer.contains("\"session\":\"1\"")
            }
        };
        assert!(good, "{line}\n{answer}");
    }
}

#[tokio::test]
async fn the_page_names_every_metric_and_no_other() {
    let serving = Serving::start(&["--dev"]);
    let (_, text) = serving.curl("curl -s http://127.0.0.1:7401/metrics");
    let mut known = Vec::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = line.split_once(' ').expect("a name and a kind");
        known.push(if kind == "counter" { format!("{name}_total") } else { name.to_owned() });
    }
    for name in &known {
        let named = PAGE.contains(&format!("`{name}`")) || PAGE.contains(&format!("`{name}{{"));
        assert!(named, "the page does not name {name}");
    }
    let words = PAGE.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    for word in words.filter(|word| word.starts_with("rejoin_") && *word != "rejoin_server") {
        assert!(known.iter().any(|name| name == word), "there is no metric {word}");
    }
}

#[tokio::test]
async fn an_admin_door_that_others_can_reach_is_said_loudly() {
    let open = Serving::start(&["--admin-listen", "0.0.0.0:0"]);
    assert!(open.said.contains("ADMIN IS OPEN TO OTHER MACHINES"), "{}", open.said);
    open.log_with(&["WARN", "asks for no login"]).await;
    let closed = Serving::start(&[]);
    assert!(!closed.said.contains("OPEN TO OTHER"), "{}", closed.said);
}
