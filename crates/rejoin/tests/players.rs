//! `rejoin player` with the real program: on a folder that nobody serves, and at a server that runs.
#![cfg(feature = "server")]

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rejoin::client::Event;
use rejoin::client::driver::{Events, Login, Options, Player};
use rejoin::wire::v1::CloseCode;
use rejoin_chaos::Serving;
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rejoin");
const PASSWORD: &str = "correct horse";
const PATIENCE: Duration = Duration::from_secs(60);

fn folder(name: &str) -> PathBuf {
    let name = format!("players-{name}-{}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// Runs a command on players; the line goes to its standard input.
fn player(data: &Path, words: &[&str], line: &str) -> Output {
    let mut command = Command::new(PROGRAM);
    command.env_remove("REJOIN_DATA").arg("player").args(words).arg("--data").arg(data);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    // It may not want to read it.
    let _ = stdin.write_all(line.as_bytes());
    drop(stdin);
    child.wait_with_output().expect("it ends")
}

fn done(data: &Path, words: &[&str], line: &str) -> Value {
    let words: Vec<&str> = words.iter().copied().chain(["--json"]).collect();
    let output = player(data, &words, line);
    assert!(output.status.success(), "{words:?}: {output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn refused(data: &Path, words: &[&str], line: &str) -> String {
    let output = player(data, words, line);
    assert_eq!(output.status.code(), Some(1), "{words:?}: {output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn options(password: &str) -> Options {
    let mut options = Options::new().login(Login::Anonymous);
    let account = json!({"account": {"name": "ann", "password": password}});
    options.config.admission = account.to_string().into();
    options
}

/// Waits until the client is told that it is over.
async fn stopped(events: &mut Events) -> (Option<CloseCode>, String) {
    let found = async {
        loop {
            match events.next().await.expect("the player goes on") {
                Event::Stopped { code, text } => return (code, text),
                _ => continue,
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("in time")
}

async fn let_in(url: &str, password: &str) -> Result<(Player, Events), Option<CloseCode>> {
    let (player, mut events) = Player::connect(url, options(password)).await.expect("an address");
    let first = async {
        loop {
            match events.next().await.expect("the player goes on") {
                Event::Connected { .. } => return Ok(()),
                Event::Stopped { code, .. } => return Err(code),
                _ => continue,
            }
        }
    };
    let first = tokio::time::timeout(PATIENCE, first).await.expect("in time");
    first.map(|()| (player, events))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn accounts_are_looked_after_on_the_folder_and_at_the_server() {
    let data = folder("both");
    // Before there is a server.
    assert!(refused(&data, &["list"], "").contains("there is no folder"));
    let made = done(&data, &["add", "Ann", "--role", "moderator"], &format!("{PASSWORD}\n"));
    assert_eq!(made["account"]["name"], "ann");
    let id = made["player"].as_str().expect("an id").to_owned();
    assert!(refused(&data, &["add", "ann"], PASSWORD).contains("the name is taken"));
    done(&data, &["ban", "ann", "--reason", "tried it out", "--for", "12h"], "");
    let listed = done(&data, &["list"], "");
    assert_eq!(listed[0]["ban"]["reason"], "tried it out");
    let exported = done(&data, &["export", &id], "").to_string();
    assert!(!exported.contains("argon2"), "no hash leaves: {exported}");

    let serving = Serving::start(Path::new(PROGRAM), &data, "127.0.0.1:0").expect("it starts");
    let url = serving.url();
    assert_eq!(let_in(&url, PASSWORD).await.err(), Some(Some(CloseCode::Banned)));
    done(&data, &["unban", &id], "");
    assert_eq!(let_in(&url, "wrong horse").await.err(), Some(Some(CloseCode::Credential)));
    let (_player, mut events) = let_in(&url, PASSWORD).await.expect("let in");
    let shown = done(&data, &["export", "ann"], "");
    assert_eq!(shown["sessions"][0]["permissions"], 1, "a moderator: {shown}");
    assert!(shown["sessions"][0]["timeline"]["entries_total"].as_u64() > Some(0));
    // A lock is heard at once, and a new password as well.
    done(&data, &["lock", "ann"], "");
    assert_eq!(stopped(&mut events).await.0, Some(CloseCode::Locked));
    done(&data, &["unlock", "ann"], "");
    let (_player, mut events) = let_in(&url, PASSWORD).await.expect("let in");
    done(&data, &["password", "ann"], "another horse\n");
    assert_eq!(stopped(&mut events).await.0, Some(CloseCode::Kicked));
    assert_eq!(let_in(&url, PASSWORD).await.err(), Some(Some(CloseCode::Credential)));
    let (_player, mut events) = let_in(&url, "another horse").await.expect("let in");
    done(&data, &["ban", "ann", "--reason", "for good"], "");
    let (code, text) = stopped(&mut events).await;
    assert_eq!((code, &*text), (Some(CloseCode::Banned), "this player is banned: for good"));
    done(&data, &["unban", "ann"], "");
    assert_eq!(done(&data, &["role", "ann", "admin"], "")["account"]["role"], "admin");
    done(&data, &["add", "bob", "--no-password"], "");
    done(&data, &["delete", "bob", "--yes"], "");
    assert!(refused(&data, &["show", "bob"], "").contains("there is no such player"));

    // Deleted while nobody serves: the next start ends the session and forgets the account.
    let (player_, _events) = let_in(&url, "another horse").await.expect("let in");
    drop(serving);
    drop(player_);
    let leaving = done(&data, &["delete", "ann", "--yes"], "");
    assert_eq!(leaving["leaving"], true, "{leaving}");
    let serving = Serving::start(Path::new(PROGRAM), &data, "127.0.0.1:0").expect("it starts");
    // It serves before the last of it is gone.
    let end = std::time::Instant::now() + PATIENCE;
    while done(&data, &["list"], "") != json!([]) {
        assert!(std::time::Instant::now() < end, "it is deleted");
    }
    assert_eq!(
        let_in(&serving.url(), "another horse").await.err(),
        Some(Some(CloseCode::Credential))
    );
    let guest = done(&data, &["ban", &id, "--for", "1d"], "");
    assert_eq!(guest["account"], Value::Null);
    drop(serving);
    std::fs::remove_dir_all(data).expect("it was ours");
}

#[test]
fn what_is_wrong_is_a_sentence_and_exit_code_one() {
    let data = folder("wrong");
    done(&data, &["add", "ann"], &format!("{PASSWORD}\n"));
    let long = "x".repeat(10_000);
    let cases: &[(&[&str], &str, &str)] = &[
        (&["add", "an"], PASSWORD, "3 to 32 characters"),
        (&["add", &long], PASSWORD, "3 to 32 characters"),
        (&["add", "b\u{7}b"], PASSWORD, "letters from a to z"),
        (&["add", "\u{430}nn"], PASSWORD, "letters from a to z"),
        (&["add", "bob"], "short", "8 to 128 characters"),
        (&["add", "bob"], "", "8 to 128 characters"),
        (&["add", "bob"], &long, "8 to 128 characters"),
        (&["add", "bob", "--role", "god"], PASSWORD, "is not player, moderator or admin"),
        (&["lock", "nobody"], "", "no such player"),
        (&["lock", "no body"], "", "neither a name nor a player's id"),
        (&["lock", &"0".repeat(32)], "", "no such player"),
        (&["ban", "ann", "--reason", "a\nb"], "", "no control characters"),
        (&["ban", "ann", "--reason", &"x".repeat(101)], "", "at most 100 characters"),
        (&["delete", "ann"], "", "say --yes"),
    ];
    for (words, line, sentence) in cases {
        let told = refused(&data, words, line);
        assert!(told.contains(sentence), "{words:?}: {told}");
        assert!(!told.contains(PASSWORD), "{told}");
    }
    // Usage is clap's, with its own code; and a password is no argument.
    for words in [&["ban", "ann", "--for", "soon"][..], &["add", "bob", "--password", "x"]] {
        assert_eq!(player(&data, words, "").status.code(), Some(2), "{words:?}");
    }
    assert_eq!(done(&data, &["list"], "").as_array().map(Vec::len), Some(1), "nothing half done");
    std::fs::remove_dir_all(data).expect("it was ours");
}

/// A new API key of this role: the key, and what the server is told of it.
fn api_key(role: &str) -> (String, String) {
    let made = Command::new(PROGRAM).args(["key", "new", "--role", role]).output().expect("runs");
    let text = String::from_utf8(made.stdout).expect("text");
    let key = text.lines().filter_map(|line| line.strip_prefix("#   ")).next().expect("a key");
    let told = text.split("REJOIN_DIRECTORY_KEYS=").nth(1).expect("a hash");
    let told = told.split(')').next().expect("its end");
    (key.trim().to_owned(), told.to_owned())
}

#[test]
fn players_are_looked_after_from_another_machine_with_an_operators_key() {
    let data = folder("remote");
    let (key, operator) = api_key("operator");
    let (wrong, client) = api_key("client");
    let mut command = rejoin_chaos::serving::command(Path::new(PROGRAM), &data, "127.0.0.1:0");
    command.env("REJOIN_DIRECTORY_KEYS", format!("{operator},{client}"));
    let starting = rejoin_chaos::serving::Starting::start(command).expect("it starts");
    let serving = starting.ready().expect("it serves");
    let server = format!("http://{}", serving.address());
    let ask = |key: &str, words: &[&str], line: &str| {
        let mut command = Command::new(PROGRAM);
        command.env_remove("REJOIN_DATA").arg("player").args(words).args(["--server", &server]);
        command.env("REJOIN_API_KEY", key).arg("--json");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let _ = child.stdin.take().expect("piped").write_all(line.as_bytes());
        let output = child.wait_with_output().expect("it ends");
        let value: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
        (output.status.code(), value)
    };
    let done = |words: &[&str], line: &str| {
        let (code, value) = ask(&key, words, line);
        assert_eq!(code, Some(0), "{words:?}: {value}");
        value
    };
    let made = done(&["add", "Ann", "--role", "moderator"], &format!("{PASSWORD}\n"));
    assert_eq!(made["account"]["name"], "ann");
    let id = made["player"].as_str().expect("an id").to_owned();
    assert_eq!(done(&["role", "ann", "admin"], "")["account"]["role"], "admin");
    assert_eq!(done(&["lock", &id], "")["account"]["locked"], true);
    assert_eq!(done(&["unlock", "Ann"], "")["account"]["locked"], false);
    let banned = done(&["ban", "ann", "--for", "1d", "--reason", "cheated"], "");
    assert_eq!(banned["ban"]["reason"], "cheated");
    assert_eq!(done(&["unban", "ann"], "")["ban"], Value::Null);
    done(&["password", "ann"], "another horse\n");
    assert_eq!(done(&["show", "ann"], "")["player"], id.as_str());
    assert!(!done(&["export", "ann"], "").to_string().contains("argon2"));
    for number in 0..120 {
        done(&["add", &format!("guest-{number}"), "--no-password"], "");
    }
    let listed = done(&["list"], "");
    assert_eq!(listed.as_array().map(Vec::len), Some(121), "over two pages");
    done(&["delete", "ann", "--yes"], "");
    // What is wrong is told with a code.
    let (code, told) = ask(&key, &["show", "ann"], "");
    assert_eq!((code, &told["refused"]), (Some(1), &json!("player_not_found")), "{told}");
    assert_eq!(ask(&key, &["show", "../games"], "").1["refused"], "bad_name");
    for bad in [wrong.as_str(), "nonsense"] {
        let (code, told) = ask(bad, &["list"], "");
        assert_eq!(code, Some(1), "{told}");
        assert!(told["refused"].is_string() && !told.to_string().contains("guest-1"), "{told}");
    }
    drop(serving);
    std::fs::remove_dir_all(data).expect("it was ours");
}
