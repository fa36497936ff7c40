//! The real program on a disk that fills up and on one whose syncs fail. Linux only: the tools that make
//! a disk so are.
#![cfg(target_os = "linux")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rejoin::client::driver::{Events, Options, Player};
use rejoin::client::{Event, NoticeCode, Rung};
use rejoin_chaos::serving::{Starting, command};
use rejoin_chaos::{Gate, Serving, Signal};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rejoin");
const PATIENCE: Duration = Duration::from_secs(60);

fn folder(name: &str) -> PathBuf {
    let name = format!("{name}-{}", std::process::id());
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = std::fs::remove_dir_all(&path);
    path
}

async fn enter(url: &str, zone: &str) -> (Player, Events) {
    let (player, mut events) = Player::connect(url, Options::new()).await.expect("let in");
    player.join("relay", zone, true, "").await.expect("there is room");
    wait(&mut events, |event| matches!(event, Event::Joined { .. }).then_some(())).await;
    (player, events)
}

async fn wait<T>(events: &mut Events, mut what: impl FnMut(&Event) -> Option<T>) -> T {
    let found = async {
        loop {
            let event = events.next().await.expect("the player goes on");
            if let Some(found) = what(&event) {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, found).await.expect("in time")
}

/// The limit on the size of a file stands for the end of a disk; the system can lift it while the
/// process runs.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_freezes_and_thaws_and_loses_nothing() {
    let data = folder("full");
    // Made without a limit, so that there is a reserve.
    let mut first = Serving::start(Path::new(PROGRAM), &data, "127.0.0.1:0").expect("it starts");
    first.signal(Signal::Terminate).expect("it runs");
    assert_eq!(first.ended().expect("it ends"), Some(0));
    let plain = command(Path::new(PROGRAM), &data, "127.0.0.1:0");
    let mut limited = Command::new("sh");
    // In blocks of 512 bytes.
    limited.args(["-c", "trap '' XFSZ; ulimit -S -f 4000; exec \"$0\" \"$@\""]);
    limited.arg(plain.get_program()).args(plain.get_args()).args(["--log", "off"]);
    let serving = Starting::start(limited).expect("a shell").ready().expect("it serves");
    let (ann, mut ann_hears) = enter(&serving.url(), "lobby").await;
    let (bob, mut bob_hears) = enter(&serving.url(), "lobby").await;
    let listening = tokio::spawn(async move { while ann_hears.next().await.is_some() {} });
    // What somebody has missed is kept, and fills the disk.
    let (away, _) = enter(&serving.url(), "lobby").await;
    away.cancel().await.expect("it runs");

    let word = |number: usize| format!("{number} {}", "x".repeat(20_000));
    let (mut said, mut heard) = (0, 0);
    // Until nothing comes through any more.
    loop {
        if ann.send(word(said)).await.is_ok() {
            said += 1;
        }
        let next = wait(&mut bob_hears, message);
        match tokio::time::timeout(Duration::from_secs(4), next).await {
            Ok(text) => {
                assert_eq!(text, word(heard));
                heard += 1;
            }
            Err(_) => break,
        }
        assert!(said < 2_000, "it fills up");
    }
    assert!(said > heard, "what was said while it was full is not lost and not heard yet");
    let id = serving.id().to_string();
    let lifted = Command::new("prlimit").args(["--pid", &id, "--fsize=unlimited"]).status();
    assert!(lifted.expect("there is a prlimit").success());
    while heard < said {
        assert_eq!(wait(&mut bob_hears, message).await, word(heard), "each once, in order");
        heard += 1;
    }
    drop(bob);
    listening.abort();
}

/// Rooms that each keep up to a megabyte for a member who is away.
const ROOMS: usize = 12;

/// A small disk of its own. It goes with this value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    /// None: this user may not mount.
    fn mount(name: &str) -> Option<Self> {
        let path = folder(name);
        std::fs::create_dir_all(&path).expect("a folder");
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=24m", "none"]).arg(&path).stderr(Stdio::null());
        mount.status().is_ok_and(|status| status.success()).then_some(Self(path))
    }

    /// Takes all the room that is left.
    fn fill(&self, name: &str) {
        use std::io::Write;
        let mut ballast = std::fs::File::create(self.0.join(name)).expect("a file");
        while ballast.write_all(&[7; 4_096]).is_ok() {}
    }

    fn make_room(&self, names: &[&str]) {
        for name in names {
            std::fs::remove_file(self.0.join(name)).expect("it was made");
        }
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily, for whoever still has a file there.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
        let _ = std::fs::remove_dir(&self.0);
    }
}

/// A real file system that is full: members are told, holds stand still, and all goes on when there is
/// room.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_full_disk_members_are_told_and_holds_stand_still() {
    let Some(disk) = SmallDisk::mount("small") else {
        println!("SKIPPED: on_a_full_disk: this user may not mount a file system");
        return;
    };
    let program = Path::new(PROGRAM);
    let serving = Serving::start(program, &disk.0.join("data"), "127.0.0.1:0").expect("it starts");
    let gate = Gate::to(serving.address()).await.expect("a port");
    let (ann, mut ann_hears) = enter(&serving.url(), "lobby").await;
    let (_bob, mut bob_hears) = enter(&serving.url(), "lobby").await;
    let carl = Player::connect(&gate.url(), Options::new()).await.expect("let in");
    let (_carl, mut carl_hears) = carl;
    wait(&mut carl_hears, rung).await;

    // Rooms in which one member speaks and one is away: what is kept for those who are away grows, and with
    // it the files.
    let away = Gate::to(serving.address()).await.expect("a port");
    let mut speakers = Vec::new();
    for room in 0..ROOMS {
        let name = format!("room-{room}");
        let (speaker, mut hears) = enter(&serving.url(), &name).await;
        tokio::spawn(async move { while hears.next().await.is_some() {} });
        speakers.push((speaker, enter(&away.url(), &name).await));
    }
    away.shut();

    disk.fill("first");
    let word = |number: usize| format!("{number} {}", "x".repeat(20_000));
    let (mut said, mut heard) = (0, 0);
    // The file has some room within itself.
    let mut is_frozen = false;
    while !is_frozen {
        if ann.send(word(said)).await.is_ok() {
            said += 1;
        }
        for (speaker, _) in &speakers {
            // Refused while too much of it waits.
            let _ = speaker.send("x".repeat(20_000)).await;
        }
        while let Ok(Some(event)) =
            tokio::time::timeout(Duration::from_millis(50), bob_hears.next()).await
        {
            is_frozen |= notice(&event) == Some(NoticeCode::Frozen);
            if let Some(text) = message(&event) {
                assert_eq!(text, word(heard));
                heard += 1;
            }
        }
        assert!(said < 2_000, "it fills up");
    }
    // The reserve has made room for what makes room; that is taken, too.
    disk.fill("second");
    gate.shut();
    // Longer than the hold of five seconds.
    tokio::time::sleep(Duration::from_millis(6_500)).await;
    disk.make_room(&["first", "second"]);
    wait(&mut ann_hears, |event| (notice(event) == Some(NoticeCode::Frozen)).then_some(())).await;
    wait(&mut ann_hears, |event| (notice(event) == Some(NoticeCode::Thawed)).then_some(())).await;
    while heard < said {
        assert_eq!(wait(&mut bob_hears, message).await, word(heard), "each once, in order");
        heard += 1;
    }
    gate.open();
    assert_eq!(wait(&mut carl_hears, rung).await, Rung::Replayed);
}

fn notice(event: &Event) -> Option<NoticeCode> {
    match event {
        Event::Notice { code, .. } => Some(*code),
        _ => None,
    }
}

fn rung(event: &Event) -> Option<Rung> {
    match event {
        Event::Connected { rung, .. } => Some(*rung),
        _ => None,
    }
}

fn message(event: &Event) -> Option<String> {
    match event {
        Event::Message { payload } => Some(String::from_utf8_lossy(payload).into_owned()),
        _ => None,
    }
}

/// A library in front of the system's own makes every sync fail once a file is there.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_failed_sync_ends_the_process_and_what_was_confirmed_is_there() {
    let data = folder("sync");
    let (shim, trigger) = (data.with_extension("so"), data.with_extension("trigger"));
    let source = data.with_extension("c");
    std::fs::write(&source, SHIM).expect("a folder");
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&shim).arg(&source);
    assert!(cc.status().expect("there is a C compiler").success());
    let _ = std::fs::remove_file(&trigger);

    let mut failing = command(Path::new(PROGRAM), &data, "127.0.0.1:0");
    failing.env("LD_PRELOAD", &shim).env("FAIL_WHEN", &trigger).stderr(Stdio::piped());
    let serving = Starting::start(failing).expect("it starts").ready().expect("it serves");
    let address = serving.address().to_owned();
    let (ann, mut ann_hears) = enter(&serving.url(), "lobby").await;
    let (bob, mut bob_hears) = enter(&serving.url(), "lobby").await;
    ann.send("before").await.expect("there is room");
    assert_eq!(wait(&mut bob_hears, message).await, "before");
    std::fs::write(&trigger, "").expect("a folder");
    ann.send("after").await.expect("there is room");
    let ended = tokio::task::spawn_blocking(move || serving.ended());
    let code = tokio::time::timeout(PATIENCE, ended).await.expect("in time").expect("no panic");
    assert_eq!(code.expect("it ended"), Some(1));

    // The disk is well again, and everybody goes on.
    let again = Serving::start(Path::new(PROGRAM), &data, &address).expect("it starts again");
    for events in [&mut ann_hears, &mut bob_hears] {
        let rung = wait(events, |event| match event {
            Event::Connected { rung, .. } => Some(*rung),
            Event::Message { .. } => panic!("nothing was let out that was not kept"),
            _ => None,
        });
        assert_eq!(rung.await, Rung::Replayed);
    }
    assert_eq!(wait(&mut bob_hears, message).await, "after");
    drop((again, bob));
}

const SHIM: &str = r#"
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
static int fails(void) {
    const char *path = getenv("FAIL_WHEN");
    return path && access(path, F_OK) == 0;
}
int fsync(int fd) {
    if (fails()) { errno = EIO; return -1; }
    return syscall(SYS_fsync, fd);
}
int fdatasync(int fd) {
    if (fails()) { errno = EIO; return -1; }
    return syscall(SYS_fdatasync, fd);
}
"#;
