//! Folders and the real program: one that a former release wrote, what a stop leaves behind, and what players
//! are told after a folder went back in time.

mod former;
mod pack;
mod peer;
mod restored;
mod stopped;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rejoin_chaos::serving::{self, Serving, Starting};
use serde_json::Value;

/// The program; another one, such as a former release, where the surroundings name it.
fn program() -> PathBuf {
    let other = std::env::var_os("REJOIN_FORMER_PROGRAM");
    other.map_or_else(|| env!("CARGO_BIN_EXE_rejoin").into(), PathBuf::from)
}

/// A path for a folder that does not exist yet.
fn folder(name: &str) -> PathBuf {
    let name = format!("folders-{name}-{}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

/// An operator's key of the directory, and what the server is told of it.
fn operator_key() -> (String, String) {
    let made = Command::new(program()).args(["key", "new", "--role", "operator"]).output();
    let text = String::from_utf8(made.expect("it runs").stdout).expect("text");
    let key = text.lines().find_map(|line| line.strip_prefix("#   ")).expect("a key");
    let told = text.split("REJOIN_DIRECTORY_KEYS=").nth(1).expect("a hash");
    let told = told.split(')').next().expect("its end");
    (key.trim().to_owned(), told.to_owned())
}

fn serve(data: &Path, keys: &str) -> Serving {
    let mut command = serving::command(&program(), data, "127.0.0.1:0");
    command.args(["--log", "error"]);
    if !keys.is_empty() {
        command.env("REJOIN_DIRECTORY_KEYS", keys);
    }
    Starting::start(command).expect("it starts").ready().expect("it serves")
}

/// Changes a bit of every copy of some bytes in the data file.
fn damage(data: &Path, needle: &[u8]) {
    let file = data.join("store.redb");
    let mut bytes = std::fs::read(&file).expect("a file");
    let places: Vec<usize> =
        (0..bytes.len() - needle.len()).filter(|at| bytes[*at..].starts_with(needle)).collect();
    assert!(!places.is_empty(), "they are written there");
    places.into_iter().for_each(|at| bytes[at] ^= 1);
    std::fs::write(file, bytes).expect("written");
}

/// Runs a command of the program; the line goes to its standard input.
fn run(words: &[&str], paths: &[&Path], line: &str) -> Output {
    let mut command = Command::new(program());
    command.env_remove("REJOIN_DATA").args(words).args(paths);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("it starts");
    // It may not want to read it.
    let _ = child.stdin.take().expect("piped").write_all(line.as_bytes());
    child.wait_with_output().expect("it ends")
}

fn done(words: &[&str], paths: &[&Path], line: &str) -> String {
    let output = run(words, paths, line);
    assert!(output.status.success(), "{words:?}: {output:?}");
    String::from_utf8(output.stdout).expect("text")
}

/// Asks the directory over HTTP; the status and the body.
fn ask(address: &str, key: &str, request: &str, body: &str) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).expect("a connection");
    let length = body.len();
    let text = format!(
        "{request} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    );
    stream.write_all(text.as_bytes()).expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok());
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status.expect("a status"), serde_json::from_str(body).unwrap_or_default())
}
