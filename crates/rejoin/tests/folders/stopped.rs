//! What a stop leaves behind: a file that is closed, in which one damaged bit costs one scope.

use rejoin_chaos::Signal;

use crate::former::{PASSWORD, login_as};
use crate::{damage, done, folder, serve};

/// Where the engine's file says whether it was closed, and the bit that is set while it is not.
const FLAGS: usize = 9;
const IS_OPEN: u8 = 2;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_a_stop_one_damaged_bit_costs_one_scope_and_the_server_starts() {
    let data = folder("stopped");
    for name in ["ann", "zebedee-of-the-roundabout"] {
        done(&["player", "add", name, "--data"], &[&data], &format!("{PASSWORD}\n"));
    }
    let mut serving = serve(&data, "");
    let both = [
        login_as(serving.address(), "ann").await.expect("let in"),
        login_as(serving.address(), "zebedee-of-the-roundabout").await.expect("let in"),
    ];
    serving.signal(Signal::Terminate).expect("a signal");
    assert_eq!(serving.ended().expect("it ends"), Some(0));
    drop(both);
    let bytes = std::fs::read(data.join("store.redb")).expect("a file");
    assert_eq!(bytes[FLAGS] & IS_OPEN, 0, "the next start would have to compare all of it");

    damage(&data, b"zebedee-of-the-roundabout");
    let mut serving = serve(&data, "");
    login_as(serving.address(), "ann").await.expect("let in");
    let lost = login_as(serving.address(), "zebedee-of-the-roundabout").await.err();
    assert_eq!(lost.as_deref(), Some("CLOSE_CODE_CREDENTIAL"), "the account that was in that page");
    serving.signal(Signal::Terminate).expect("a signal");
    assert_eq!(serving.ended().expect("it ends"), Some(0));
    let shown = done(&["inspect"], &[&data], "");
    assert!(shown.contains("set aside  Account"), "{shown}");
    std::fs::remove_dir_all(data).expect("it was ours");
}

/// A server that announced itself before it listened for signals was killed by a SIGTERM that came at once, and
/// left its data file open.
#[test]
fn a_stop_right_after_the_banner_is_clean() {
    let data = folder("stopped-at-once");
    for round in 0..8 {
        let mut serving = serve(&data, "");
        serving.signal(Signal::Terminate).expect("it runs");
        assert_eq!(serving.ended().expect("it ends"), Some(0), "round {round}");
    }
}
