//! Where the arena is shown, and where it is not.

use std::io::{Read, Write};
use std::net::TcpStream;

use crate::serving::{PATIENCE, Serving, file};

/// Status line, head and body of an answer.
fn get(serving: &Serving, path: &str) -> (String, String, String) {
    let port = serving.players.trim_end_matches("/play").rsplit(':').next().expect("a port");
    let mut socket = TcpStream::connect(format!("127.0.0.1:{port}")).expect("it listens");
    socket.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(socket, "GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
        .expect("open");
    let mut answer = String::new();
    socket.read_to_string(&mut answer).expect("an answer in time");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
    let (status, head) = head.split_once("\r\n").expect("headers");
    (status.to_owned(), head.to_lowercase(), body.to_owned())
}

fn says_where(serving: &Serving) -> bool {
    serving.said.iter().any(|line| line.contains("play at") && line.ends_with("/arena"))
}

#[test]
fn the_arena_is_shown_to_this_machine_with_all_it_loads() {
    let serving = Serving::start(&["--memory"]);
    assert!(says_where(&serving), "{:?}", serving.said);
    let (status, head, page) = get(&serving, "/arena");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(
        head.contains("content-security-policy: default-src 'none'; script-src 'self'"),
        "{head}"
    );
    assert!(head.contains("x-content-type-options: nosniff"), "{head}");
    for path in ["/arena/arena.js", "/arena/arena.css", "/arena/icon.svg"] {
        assert!(page.contains(&format!("\"{path}\"")), "{path} is not on the page");
        assert_eq!(get(&serving, path).0, "HTTP/1.1 200 OK", "{path}");
    }
    let (status, head, _) = get(&serving, "/sdk/index.js");
    assert_eq!(status, "HTTP/1.1 200 OK");
    assert!(head.contains("content-type: text/javascript"), "{head}");
    assert!(get(&serving, "/").2.contains("href=\"/arena\""));
}

#[test]
fn others_see_it_only_when_it_was_asked_for() {
    let open = Serving::start_at("0.0.0.0:0", &["--memory"]);
    assert!(!says_where(&open), "{:?}", open.said);
    let (status, _, sentence) = get(&open, "/arena");
    assert_eq!(status, "HTTP/1.1 404 Not Found");
    assert!(sentence.contains("--demo"), "{sentence}");
    assert_eq!(get(&open, "/sdk/index.js").0, "HTTP/1.1 404 Not Found");

    let demo = Serving::start_at("0.0.0.0:0", &["--memory", "--demo"]);
    assert!(says_where(&demo), "{:?}", demo.said);
    assert_eq!(get(&demo, "/arena").0, "HTTP/1.1 200 OK");
}

/// A proxy on this machine would show it to everybody.
#[test]
fn a_server_behind_a_proxy_does_not_show_it() {
    for (at, setting) in ["server_names = [\"play.example\"]", "trusted_proxies = [\"127.0.0.1\"]"]
        .into_iter()
        .enumerate()
    {
        let settings = file(&format!("arena-{at}.toml"));
        std::fs::write(&settings, setting).expect("a folder");
        let settings = settings.to_str().expect("text");
        let closed = Serving::start(&["--memory", "--config", settings]);
        assert!(!says_where(&closed), "{:?}", closed.said);
        assert_eq!(get(&closed, "/arena").0, "HTTP/1.1 404 Not Found", "{setting}");
        for asked in ["--demo", "--dev"] {
            let open = Serving::start(&["--memory", "--config", settings, asked]);
            assert_eq!(get(&open, "/arena").0, "HTTP/1.1 200 OK", "{setting} {asked}");
        }
    }
}
