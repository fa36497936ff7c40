//! A backup of a running server, more play, a kill, and a restore: what players are told then, and what else the
//! backup has to hold.

use serde_json::json;

use crate::former::{PASSWORD, REPLAYED, login_as};
use crate::peer::{Peer, number};
use crate::{damage, done, folder, run, serve};

const ROLLED_BACK: (&str, &str) = ("RUNG_RESYNCED", "RUNG_REASON_ROLLED_BACK");

/// A member of the room `square`.
async fn member(address: &str) -> Peer {
    let mut peer = Peer::login(address).await;
    peer.join(json!({"name": "square", "create": true})).await;
    peer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_restore_nobody_is_told_replayed_who_lost_something() {
    let base = folder("restored");
    let (data, backup, other) = (base.join("data"), base.join("monday.bak"), base.join("other"));
    let serving = serve(&data, "");
    let address = serving.address();
    let mut lobby = Peer::login(address).await;
    lobby.up(json!({"message": {"payload": "aGk="}})).await;
    let (mut ann, mut bob, mut cat) =
        (member(address).await, member(address).await, member(address).await);
    cat.talk("before").await;
    for peer in [&mut ann, &mut bob] {
        peer.listen("before").await;
        peer.acknowledge().await;
    }
    done(&["backup"], &[&data, &backup], "");
    for words in 0..20 {
        cat.talk(&format!("gone {words}")).await;
    }
    ann.listen("gone 19").await;
    ann.acknowledge().await;
    for _ in 0..3 {
        lobby.up(json!({"message": {"payload": "aGk="}})).await;
    }
    lobby.kept.seq = 4;
    lobby.acknowledge().await;
    serving.kill().expect("it was ours");

    done(&["restore"], &[&backup, &other], "");
    let serving = serve(&other, "");
    let address = serving.address();
    // Outside zones a hold is short: this one comes first. It has said 4, and 3 of that are gone.
    let mut lobby = Peer::resume(address, &lobby.kept, 5).await;
    assert_eq!(lobby.rung(), ROLLED_BACK, "outside zones");
    assert_eq!(number(&lobby.welcome["lostUpstream"]), 3);
    lobby.up(json!({"message": {"payload": "aGk="}})).await;
    let mut bob = Peer::resume(address, &bob.kept, bob.kept.number + 1).await;
    assert_eq!(bob.rung(), ROLLED_BACK, "in a room");
    for words in 0..40 {
        bob.talk(&format!("new {words}")).await;
    }
    // Her number has been passed by now.
    let mut ann = Peer::resume(address, &ann.kept, ann.kept.number + 1).await;
    assert_eq!(ann.rung(), ROLLED_BACK, "in a room that has gone on");
    let resync = ann.hear("resync").await;
    (ann.kept.leg, ann.kept.seq) = (number(&resync["leg"]), number(&resync["seq"]));
    ann.acknowledge().await;
    bob.talk("hello").await;
    assert_eq!(ann.listen("hello").await, ["hello"]);
    let cat = Peer::resume(address, &cat.kept, cat.kept.number + 1).await;
    assert_eq!(cat.rung(), ROLLED_BACK);
    assert_eq!(number(&cat.welcome["lostUpstream"]), 20);
    // From here on all is as it was said, over the next kill as well.
    ann.up(json!({"message": {"payload": "aGk="}})).await;
    serving.kill().expect("it was ours");
    let serving = serve(&other, "");
    let ann = Peer::resume(serving.address(), &ann.kept, ann.kept.number + 1).await;
    assert_eq!(ann.rung(), REPLAYED);
    drop(serving);
    std::fs::remove_dir_all(base).expect("it was ours");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_has_damaged_bans_and_the_servers_key_and_is_for_nobody_else() {
    let base = folder("backup");
    let (data, backup, other) = (base.join("data"), base.join("monday.bak"), base.join("other"));
    done(&["player", "add", "dan", "--data"], &[&data], &format!("{PASSWORD}\n"));
    let reason = "said what nobody says";
    done(&["player", "ban", "dan", "--reason", reason, "--data"], &[&data], "");
    std::fs::write(data.join("enet.key"), [7; 32]).expect("written");
    damage(&data, reason.as_bytes());
    let refused = Some("CLOSE_CODE_STORE_FAILED");
    let serving = serve(&data, "");
    assert_eq!(login_as(serving.address(), "dan").await.err().as_deref(), refused);
    done(&["backup"], &[&data, &backup], "");
    drop(serving);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&backup).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    done(&["restore"], &[&backup, &other], "");
    assert_eq!(std::fs::read(other.join("enet.key")).expect("it is there"), [7; 32]);
    let serving = serve(&other, "");
    assert_eq!(login_as(serving.address(), "dan").await.err().as_deref(), refused, "restored");
    drop(serving);
    std::fs::remove_dir_all(base).expect("it was ours");
}

/// Held by somebody who does not answer: no server, or one that starts or stops.
#[test]
fn a_folder_that_is_held_in_silence_is_neither_read_nor_backed_up() {
    let base = folder("silent");
    let data = base.join("data");
    done(&["player", "add", "dan", "--data"], &[&data], &format!("{PASSWORD}\n"));
    let held = std::fs::File::open(data.join("lock")).expect("a lock");
    held.lock().expect("nobody has it");
    for (words, paths) in
        [("inspect", vec![&*data]), ("backup", vec![&*data, &*base.join("monday.bak")])]
    {
        let output = run(&[words], &paths, "");
        let told = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{told}");
        assert!(told.contains("is in use, and nobody answers at"), "{told}");
    }
    drop(held);
    done(&["inspect"], &[&data], "");
    done(&["backup"], &[&data, &base.join("monday.bak")], "");
    std::fs::remove_dir_all(base).expect("it was ours");
}
