//! The dialogues of docs/PROTOCOL.md, typed into the program line by line. What comes back is
//! compared byte by byte; only what a server draws by chance may differ, and must then differ in
//! the same way everywhere.

use std::collections::BTreeMap;

use futures_util::{SinkExt, StreamExt};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream};

use crate::serving::{PATIENCE, Serving, file, rejoin, told};

const PAGE: &str = include_str!("../../../../docs/PROTOCOL.md");

/// Fields whose values are drawn by chance.
const DRAWN: [&str; 5] = ["nonce", "player", "token", "publicKey", "signature"];

/// What stands on the page in place of what this server drew.
#[derive(Default)]
struct Drawn(BTreeMap<String, String>);

impl Drawn {
    /// The page's line as it must be here, after learning what was drawn anew in the other one.
    fn expect(&mut self, page: &str, here: &str) -> String {
        for field in DRAWN {
            if let (Some(page), Some(here)) = (value(page, field), value(here, field)) {
                self.0.entry(page.to_owned()).or_insert_with(|| here.to_owned());
            }
        }
        self.translate(page)
    }

    fn translate(&self, line: &str) -> String {
        self.0.iter().fold(line.to_owned(), |line, (page, here)| line.replace(page, here))
    }
}

/// The text of a field, as it stands in a line.
fn value<'a>(line: &'a str, field: &str) -> Option<&'a str> {
    let rest = line.split_once(&format!("\"{field}\":\""))?.1;
    rest.split_once('"').map(|(value, _)| value)
}

type Socket = WebSocketStream<MaybeTlsStream<TcpStream>>;

/// Somebody at a terminal.
struct Typist {
    socket: Socket,
    /// Numbers told as applied before the page has them. Hub and zone speak for themselves, so an
    /// `applied` may come before or after what its number led to.
    early: Vec<String>,
}

impl Typist {
    /// Waits for the next line that is no ping: an `applied` where the page has one.
    async fn hear(&mut self, page: &str) -> String {
        if let Some(place) = self.early.iter().position(|early| early == page) {
            return self.early.remove(place);
        }
        loop {
            let next = tokio::time::timeout(PATIENCE, self.socket.next()).await.expect("in time");
            let Message::Text(text) = next.expect("open").expect("a message") else { continue };
            if text.starts_with(APPLIED) && !page.starts_with(APPLIED) {
                self.early.push(text.to_string());
            } else if !text.starts_with("{\"ping\":") {
                return text.to_string();
            }
        }
    }
}

const APPLIED: &str = "{\"applied\":";

/// The blocks of the page in which somebody types.
fn dialogues() -> Vec<&'static str> {
    let blocks = PAGE.split("```text\n").skip(1).filter_map(|rest| rest.split("```").next());
    blocks.filter(|block| block.contains("$ rejoin serve")).collect()
}

async fn type_in(dialogue: &str, key: &str) {
    let serve = dialogue.lines().find_map(|line| line.split_once("$ rejoin serve "));
    let serving = Serving::start(&serve.expect("a server").1.split(' ').collect::<Vec<_>>());
    let mut typists: BTreeMap<&str, Typist> = BTreeMap::new();
    let mut drawn = Drawn::default();
    let mut signed = None;
    for line in dialogue.lines().skip(1).filter(|line| !line.is_empty()) {
        let (who, what) = line.split_once(' ').expect("somebody does something");
        let (how, rest) = what.split_once(' ').unwrap_or((what, ""));
        match how {
            "$" if rest.starts_with("npx wscat") => {
                let (socket, _) =
                    tokio_tungstenite::connect_async(&serving.players).await.expect("let in");
                typists.insert(who, Typist { socket, early: Vec::new() });
            }
            "$" => {
                let rest = drawn.translate(rest.strip_prefix("rejoin ").expect("our program"));
                let output = rejoin().args(rest.split(' ')).args(["--key", key]).output();
                let output = output.expect("it runs");
                assert!(output.status.success(), "{}", told(&output));
                signed = Some(String::from_utf8(output.stdout).expect("text").trim().to_owned());
            }
            "<" => {
                let here = typists.get_mut(who).expect("connected").hear(rest).await;
                assert_eq!(here, drawn.expect(rest, &here));
            }
            ">" => {
                let words = match signed.take() {
                    Some(here) => {
                        assert_eq!(here, drawn.expect(rest, &here));
                        here
                    }
                    None => drawn.translate(rest),
                };
                let typist = typists.get_mut(who).expect("connected");
                typist.socket.send(Message::text(words)).await.expect("open");
            }
            // Without a closing handshake, as a dead link would.
            "^C" => {
                let typist = typists.remove(who).expect("connected");
                assert_eq!(typist.early, Vec::<String>::new(), "the page does not have it");
            }
            other => panic!("{other:?} in {line:?} means nothing"),
        }
    }
}

#[tokio::test]
async fn the_page_is_typed_and_answered_byte_by_byte() {
    let dialogues = dialogues();
    assert_eq!(dialogues.len(), 2, "one by token, one by key");
    for (number, dialogue) in dialogues.into_iter().enumerate() {
        let key = file(&format!("dialogue-key-{number}"));
        type_in(dialogue, &key.display().to_string()).await;
    }
}

#[test]
fn what_was_drawn_once_must_stay_the_same() {
    let mut drawn = Drawn::default();
    let page = r#"{"welcome":{"session":"1","token":"AAAA"}}"#;
    let here = r#"{"welcome":{"session":"1","token":"BBBB"}}"#;
    assert_eq!(drawn.expect(page, here), here);
    let other = r#"{"welcome":{"session":"1","token":"CCCC"}}"#;
    assert_eq!(drawn.expect(page, other), here, "the same token was said before");
    assert_ne!(drawn.expect(r#"{"applied":{"seq":"1"}}"#, here), here);
}
