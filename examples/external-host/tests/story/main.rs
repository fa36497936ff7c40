//! The example as a process, beside the real server as a process: both are killed with SIGKILL in the
//! middle of a game, and the game goes on.

mod asker;
mod game_server;

use std::path::{Path, PathBuf};

use rejoin_chaos::serving::{Serving, Starting, command};
use serde_json::{Value, json};

use asker::{Asker, until};
use game_server::{GameServer, Guest};

/// Where the server's program is; built now when only this test was asked for.
fn program() -> PathBuf {
    let test = std::env::current_exe().expect("a path of its own");
    let folder = test.parent().and_then(|deps| deps.parent()).expect("target/debug");
    let path = folder.join("rejoin");
    if !path.exists() {
        let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
        let mut build = std::process::Command::new(cargo);
        build.args(["build", "--quiet", "-p", "rejoin", "--bin", "rejoin"]);
        let status = build.current_dir(env!("CARGO_MANIFEST_DIR")).status();
        assert!(status.is_ok_and(|status| status.success()), "the server does not build");
    }
    path
}

/// A new key of this role: its text, and the lines for the settings.
fn key(program: &Path, role: &str) -> (String, String) {
    let mut new = std::process::Command::new(program);
    let printed = new.args(["key", "new", "--role", role]).output().expect("it runs").stdout;
    let printed = String::from_utf8(printed).expect("text");
    let text = printed.split_whitespace().find(|word| word.starts_with("rejoin_"));
    let text = text.expect("a key").to_owned();
    let lines: Vec<&str> = printed.lines().filter(|line| !line.starts_with('#')).collect();
    (text, lines.join("\n"))
}

/// Everything that the story plays with.
struct Stage {
    program: PathBuf,
    folder: PathBuf,
    serving: Option<Serving>,
    address: String,
    asker: Asker,
    host_key: String,
}

impl Stage {
    fn set(name: &str, away_limit_ms: u64) -> Self {
        let program = program();
        let folder =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let (host_key, host_lines) = key(&program, "host");
        let (operator_key, operator_lines) = key(&program, "operator");
        let settings = format!(
            "[directory]\naway_limit_ms = {away_limit_ms}\n{host_lines}\n{operator_lines}\n"
        );
        std::fs::write(folder.join("rejoin.toml"), settings).expect("it is written");
        let asker = Asker { at: String::new(), key: operator_key };
        let address = "127.0.0.1:0".to_owned();
        let mut stage = Self { program, folder, serving: None, address, asker, host_key };
        stage.serve();
        stage
    }

    /// Starts the server, again where it was.
    fn serve(&mut self) {
        let mut command = command(&self.program, &self.folder.join("data"), &self.address);
        command.args(["--log", "error", "--config"]).arg(self.folder.join("rejoin.toml"));
        let serving = Starting::start(command).and_then(Starting::ready).expect("it serves");
        self.address = serving.address().to_owned();
        self.asker.at.clone_from(&self.address);
        self.serving = Some(serving);
    }

    fn kill_server(&mut self) {
        self.serving.take().expect("it runs").kill().expect("it ran");
    }

    fn game_server(&self) -> GameServer {
        let server = format!("http://{}", self.address);
        GameServer::start(&server, "sums", "box-1", &self.folder.join("games"), &self.host_key)
    }

    async fn game(&self, id: &str) -> Value {
        self.asker.get(&format!("/v1/games/{id}")).await
    }

    /// The ids of Games that a search shows.
    async fn listed(&self) -> Vec<String> {
        let page = self.asker.get("/v1/search?fleet=sums").await;
        let games = page["games"].as_array().cloned().unwrap_or_default();
        games.iter().filter_map(|game| Some(game["id"].as_str()?.to_owned())).collect()
    }

    async fn until_status(&self, id: &str, status: &str) -> Value {
        until(status, async || self.game(id).await["status"] == status).await;
        self.game(id).await
    }

    /// Makes a Game that runs.
    async fn create(&self, key: &str) -> String {
        let wish = json!({"fleet": "sums", "key": key, "capacity": 4});
        let made = self.asker.tell("POST", "/v1/games", &wish).await;
        let id = made["id"].as_str().unwrap_or_else(|| panic!("{made}")).to_owned();
        self.until_status(&id, "active").await;
        id
    }

    /// Tickets for these players.
    async fn tickets(&self, game: &str, players: &[&str]) -> Vec<String> {
        let guests: Vec<_> = players.iter().map(|player| json!({"player": player})).collect();
        let path = format!("/v1/games/{game}/seats");
        let reserved = self.asker.tell("POST", &path, &json!({"players": guests})).await;
        let seats = reserved["seats"].as_array().unwrap_or_else(|| panic!("{reserved}")).clone();
        seats.iter().map(|seat| seat["id"].as_str().expect("an id").to_owned()).collect()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_game_goes_on_when_its_host_and_the_server_are_killed() {
    let mut stage = Stage::set("story", 120_000);
    stage.asker.tell("PUT", "/v1/fleets/sums", &json!({"locations": ["here"]})).await;
    let mut host = stage.game_server();
    host.until("ready");
    let game = stage.create("one").await;
    assert_eq!(stage.listed().await, std::slice::from_ref(&game));
    let tickets = stage.tickets(&game, &["ann", "bob"]).await;

    let mut ann = Guest::join(&host, &game, &tickets[0], "ann").await;
    assert_eq!(ann.hear().await, "welcome ann 0");
    // Her ticket is hers, and good for her Game.
    let mut eve = Guest::join(&host, &game, &tickets[1], "eve").await;
    assert_eq!(eve.hear().await, "refused: the seat belongs to another player");
    let mut bob = Guest::join(&host, &game, &tickets[1], "bob").await;
    assert_eq!(bob.hear().await, "welcome bob 0");
    ann.say("20").await;
    assert_eq!((ann.hear().await.as_str(), bob.hear().await.as_str()), ("sum 20", "sum 20"));

    // The host is killed: its Game is hidden, and kept.
    host.kill();
    until("hidden", async || stage.listed().await.is_empty()).await;
    let view = stage.game(&game).await;
    assert_eq!((&view["status"], &view["active"]), (&json!("active"), &json!(2)));
    // It is started again: the same Game, the same seats, the same sum.
    let mut host = stage.game_server();
    host.until(&format!("active {game}"));
    until("listed", async || stage.listed().await == [game.clone()]).await;
    let mut ann = Guest::join(&host, &game, &tickets[0], "ann").await;
    assert_eq!(ann.hear().await, "welcome ann 20");
    ann.say("1").await;
    assert_eq!(ann.hear().await, "sum 21");

    // The server is killed: who plays plays on, and the host comes back by itself.
    stage.kill_server();
    host.until("line down");
    ann.say("1").await;
    assert_eq!(ann.hear().await, "sum 22");
    stage.serve();
    host.until("line up");
    until("listed", async || stage.listed().await == [game.clone()]).await;
    let mut bob = Guest::join(&host, &game, &tickets[1], "bob").await;
    assert_eq!(bob.hear().await, "welcome bob 22");
    let view = stage.game(&game).await;
    assert_eq!((&view["status"], &view["active"]), (&json!("active"), &json!(2)));
    assert_eq!(view["id"], json!(game));

    // Both at once.
    stage.kill_server();
    host.kill();
    stage.serve();
    assert_eq!(stage.listed().await, Vec::<String>::new());
    let mut host = stage.game_server();
    host.until(&format!("active {game}"));
    let mut ann = Guest::join(&host, &game, &tickets[0], "ann").await;
    assert_eq!(ann.hear().await, "welcome ann 22");
    let mut bob = Guest::join(&host, &game, &tickets[1], "bob").await;
    assert_eq!(bob.hear().await, "welcome bob 22");

    // The last one leaves, and the Game ends as it should.
    ann.say("leave").await;
    assert_eq!(ann.hear().await, "bye");
    bob.say("leave").await;
    host.until(&format!("over {game}"));
    let view = stage.until_status(&game, "terminated").await;
    assert_eq!(view["cause"], json!("last_left"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_host_that_does_not_come_back_in_time_loses_its_game_once() {
    let stage = Stage::set("late", 1_500);
    stage.asker.tell("PUT", "/v1/fleets/sums", &json!({"locations": ["here"]})).await;
    let mut host = stage.game_server();
    host.until("ready");
    let game = stage.create("one").await;
    host.kill();
    until("hidden", async || stage.listed().await.is_empty()).await;
    let view = stage.until_status(&game, "error").await;
    assert_eq!(view["cause"], json!("host_lost"));
    let ended = view["ended_ms"].clone();

    // Its process is started again, and hears that there is nothing to go on with.
    let mut host = stage.game_server();
    host.until(&format!("over {game}"));
    let view = stage.game(&game).await;
    assert_eq!((&view["cause"], &view["ended_ms"]), (&json!("host_lost"), &ended));
    assert_eq!(stage.listed().await, Vec::<String>::new());
    let other = stage.create("two").await;
    assert_eq!(stage.listed().await, [other]);
}
