//! The commands on a folder, with the real program: two servers on one folder, bad folders, a look and
//! a backup while a server runs, and a restore that goes on where the backup stood.
#![cfg(feature = "server")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Duration;

use rejoin::client::driver::{Events, Options, Player};
use rejoin::client::{Event, Rung};
use rejoin_chaos::{Serving, serving};
use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_rejoin");

/// A path for a folder that does not exist yet.
fn folder(name: &str) -> PathBuf {
    let name = format!("{name}-{}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

fn serve(data: &Path, listen: &str) -> Serving {
    Serving::start(Path::new(PROGRAM), data, listen).expect("it starts")
}

/// What `serve` says when it does not start.
fn refusal(data: &Path) -> String {
    let mut command = serving::command(Path::new(PROGRAM), data, "127.0.0.1:0");
    refused(&command.output().expect("it runs"))
}

/// A player in the relay zone.
struct Talker {
    player: Player,
    events: Events,
}

impl Talker {
    async fn enter(url: &str) -> Self {
        let (player, events) = Player::connect(url, Options::new()).await.expect("let in");
        player.join("relay", "lobby", true, "").await.expect("there is room");
        let mut talker = Self { player, events };
        talker.wait(|event| matches!(event, Event::Joined { .. }).then_some(())).await;
        talker
    }

    async fn hear(&mut self) -> String {
        self.wait(|event| match event {
            Event::Message { payload } => Some(String::from_utf8_lossy(payload).into_owned()),
            _ => None,
        })
        .await
    }

    /// Waits until it is connected again; how far it fell.
    async fn back(&mut self) -> Rung {
        self.wait(|event| match event {
            Event::Connected { rung, .. } => Some(*rung),
            _ => None,
        })
        .await
    }

    async fn wait<T>(&mut self, mut what: impl FnMut(&Event) -> Option<T>) -> T {
        let found = async {
            loop {
                let event = self.events.next().await.expect("the player goes on");
                if let Some(found) = what(&event) {
                    return found;
                }
            }
        };
        tokio::time::timeout(Duration::from_secs(60), found).await.expect("in time")
    }
}

fn run(arguments: &[&str], paths: &[&Path]) -> Output {
    let mut command = Command::new(PROGRAM);
    command.args(&arguments[..1]).args(paths).args(&arguments[1..]);
    command.output().expect("it runs")
}

fn refused(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn survey(folder: &Path) -> Value {
    let output = run(&["inspect", "--json"], &[folder]);
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn a_second_server_on_a_folder_is_refused_by_name() {
    let data = folder("two");
    let first = serve(&data, "127.0.0.1:0");
    let told = refusal(&data);
    assert!(told.contains(&format!("in use by process {}", first.id())), "{told}");
}

#[test]
fn bad_folders_are_sentences_and_nothing_is_changed() {
    let base = folder("bad");
    std::fs::create_dir_all(&base).expect("a folder");
    let file = base.join("file");
    std::fs::write(&file, "mine").expect("written");
    assert!(refusal(&file).contains("is a file; name a folder"));
    assert!(refusal(&base).contains("\"file\", which is not ours"));
    for command in ["inspect", "reset"] {
        let told = refused(&run(&[command], &[&base]));
        assert!(told.contains("not ours") || told.contains("say --yes"), "{told}");
    }
    assert!(refused(&run(&["reset", "--yes"], &[&base])).contains("not ours"));
    let told = refused(&run(&["restore"], &[&file, &base.join("new")]));
    assert!(told.contains("no backup"), "{told}");
    assert!(refused(&run(&["inspect"], &[&base.join("nothing")])).contains("there is no data"));
    assert_eq!(std::fs::read_to_string(&file).expect("there"), "mine");
    assert!(!base.join("new").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_of_a_running_server_brings_its_players_back() {
    let base = folder("backup");
    let (data, other): (PathBuf, PathBuf) = (base.join("data"), base.join("other"));
    let backup = base.join("backup.rejoin");
    let serving = serve(&data, "127.0.0.1:0");
    let mut ann = Talker::enter(&serving.url()).await;
    let mut bob = Talker::enter(&serving.url()).await;
    ann.player.send("one").await.expect("there is room");
    assert_eq!(bob.hear().await, "one");
    let shown = survey(&data);
    assert_eq!(shown["sessions"]["scopes"], 2);
    assert_eq!(shown["largest_zones"][0]["kind"], "relay");

    assert!(refused(&run(&["restore"], &[&backup, &data])).contains("backup.rejoin"));
    let output = run(&["backup"], &[&data, &backup]);
    assert!(output.status.success(), "{output:?}");
    assert!(refused(&run(&["backup"], &[&data, &backup])).contains("exists already"));
    assert!(refused(&run(&["restore"], &[&backup, &data])).contains("is not empty"));
    assert!(refused(&run(&["reset", "--yes"], &[&data])).contains("in use by process"));

    let address = serving.address().to_owned();
    drop(serving);
    let output = run(&["restore"], &[&backup, &other]);
    assert!(output.status.success(), "{output:?}");
    let again = serve(&other, &address);
    // Nothing happened since the backup, which nobody can know.
    assert_eq!(ann.back().await, Rung::Resynced);
    assert_eq!(bob.back().await, Rung::Resynced);
    ann.player.send("two").await.expect("there is room");
    assert_eq!(bob.hear().await, "two");
    drop(again);
    assert_eq!(survey(&other)["sessions"]["scopes"], 2, "a folder of a killed server can be read");
    let output = run(&["reset", "--yes"], &[&other]);
    assert!(output.status.success(), "{output:?}");
    assert!(refused(&run(&["inspect"], &[&other])).contains("there is no data"));
}
