//! What members hear: broadcasts, private words, latest values, replays, resyncs, transfers.

use rejoin_core::scope::ScopeId;
use rejoin_core::wire::v1::{
    CloseCode, Down, Loose, Rung, RungReason, client_frame, down, server_frame,
};

use crate::desk::client::message;
use crate::desk::{Desk, config};

#[test]
fn a_joiner_hears_its_own_join_and_a_leaver_does_not_hear_its_part() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    desk.take("ann");
    let ann = desk.id("ann");
    desk.join("ann", "plaza");
    assert_eq!(desk.take("ann"), ["in plaza/p".to_owned(), format!("joined {ann}")]);
    assert_eq!(desk.take("bob"), [format!("joined {ann}")]);
    desk.part("ann");
    assert_eq!(desk.take("ann"), ["out Asked"]);
    assert_eq!(desk.take("bob"), [format!("parted {ann} Asked")]);
}

#[test]
fn a_broadcast_is_encoded_once_however_many_hear_it() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut desk = Desk::with_plaza(&names);
    desk.say("a", "say hello");
    let frames: Vec<_> = desk
        .sent
        .iter()
        .map(|(_, frame)| frame)
        .filter(|frame| frame.protobuf().windows(5).any(|bytes| bytes == b"hello"))
        .collect();
    assert_eq!(frames.len(), names.len());
    let first = frames[0].protobuf().as_ptr();
    assert!(frames.iter().all(|frame| frame.protobuf().as_ptr() == first), "the bytes are shared");
    assert!(frames.iter().all(|frame| frame.encodings() == 1));
    assert_eq!(desk.counts("plaza").ring_frames, 9, "eight joins and this, each kept once");
}

#[test]
fn what_everybody_has_is_not_kept_and_what_one_needs_is() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    for number in 0..500 {
        desk.say("ann", &format!("say {number}"));
        desk.wait(20);
    }
    let kept = desk.counts("plaza").ring_frames;
    assert!(kept <= 130, "{kept} of 500 are kept though both have them");
    desk.hush();
    desk.cut("bob");
    for number in 0..300 {
        desk.say("ann", &format!("say {number}"));
        desk.wait(10);
    }
    assert!(desk.counts("plaza").ring_frames >= 300, "bob needs them");
    desk.resume("bob");
    let heard = desk.take("bob");
    assert_eq!(heard.iter().filter(|word| word.parse::<u32>().is_ok()).count(), 300);
}

#[test]
fn words_to_one_and_to_some_reach_nobody_else() {
    let mut desk = Desk::with_plaza(&["ann", "bob", "cat"]);
    let bob = desk.id("bob");
    desk.say("ann", &format!("whisper {bob} psst"));
    desk.say("ann", &format!("both {bob} us"));
    assert_eq!(desk.take("ann"), ["us"]);
    assert_eq!(desk.take("bob"), ["psst", "us"]);
    assert!(desk.take("cat").is_empty());
    desk.cut("bob");
    desk.say("ann", &format!("whisper {bob} later"));
    desk.resume("bob");
    assert_eq!(desk.take("bob").last().map(String::as_str), Some("later"), "kept in its outbox");
}

#[test]
fn replay_merges_ring_outbox_and_latest_by_number() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let bob = desk.id("bob");
    desk.cut("bob");
    desk.say("ann", "say one");
    desk.say("ann", &format!("whisper {bob} two"));
    desk.say("ann", "latest k old");
    desk.say("ann", "say three");
    desk.say("ann", "latest k new");
    desk.say("ann", "latest j x");
    desk.resume("bob");
    let heard = desk.take("bob");
    let expected = ["one", "two", "three", "k=new", "j=x"];
    assert_eq!(heard[2..], expected, "the old value of a key is not said: {heard:?}");
    desk.take("ann");
    desk.say("ann", "clear k");
    assert_eq!(desk.take("ann"), ["cleared k"]);
    assert_eq!(desk.take("bob"), ["cleared k"]);
}

#[test]
fn who_comes_in_gets_all_latest_values_and_no_cleared_one() {
    let mut desk = Desk::with_plaza(&["ann"]);
    for words in ["latest a 1", "latest b 2", "latest c 3", "clear b", "latest a 4"] {
        desk.say("ann", words);
    }
    desk.login("bob");
    desk.join("bob", "plaza");
    let frames = &desk.client("bob").line().frames;
    let latest = frames.iter().find_map(|frame| match frame.frame.as_ref()? {
        rejoin_core::wire::v1::server_frame::Frame::Down(down) => match down.body.as_ref()? {
            rejoin_core::wire::v1::down::Body::Joined(joined) => Some(joined.latest.clone()),
            _ => None,
        },
        _ => None,
    });
    let latest: Vec<(String, Vec<u8>)> = latest
        .expect("it joined")
        .into_iter()
        .map(|value| (value.key, value.payload.to_vec()))
        .collect();
    assert_eq!(latest, [("a".to_owned(), b"4".to_vec()), ("c".to_owned(), b"3".to_vec())]);
}

// Row of §6: "unbounded growth by a hostile client (..., records, queues)".
#[test]
fn a_flood_of_latest_keys_is_bounded_and_old_keys_go_on() {
    let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
    for key in 0..50 {
        desk.say("ann", &format!("latest k{key} v"));
    }
    assert_eq!(desk.take("bob"), ["k0=v", "k1=v", "k2=v", "k3=v"]);
    desk.say("ann", "latest k1 w");
    assert_eq!(desk.take("bob"), ["k1=w"]);
    desk.say("ann", "clear k0");
    desk.say("ann", "latest new v");
    assert_eq!(desk.take("bob"), ["cleared k0", "new=v"], "a cleared key makes room");
    desk.assert_plays("bob");
}

#[test]
fn a_live_member_that_reads_too_little_is_resynced_in_place() {
    let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
    desk.mute("bob");
    for _ in 0..6 {
        desk.say("ann", "many 4");
    }
    let heard = desk.take("bob");
    let resyncs = heard.iter().filter(|said| said.starts_with("resync Overrun")).count();
    assert_eq!(resyncs, 1, "at most one unacknowledged: {heard:?}");
    assert_eq!(desk.closed("bob"), None);
    let ann = desk.take("ann");
    assert_eq!(ann.iter().filter(|said| said.starts_with('m')).count(), 24, "ann missed nothing");
    // It reads again: the rest, or one more whole state, and then it plays on.
    let (leg, seq) = (desk.client("bob").leg, desk.client("bob").seq);
    desk.client_mut("bob").is_obliging = true;
    desk.ack("bob", leg, seq);
    desk.take("bob");
    desk.say("ann", "say fresh");
    assert_eq!(desk.take("bob"), ["fresh"]);
    desk.assert_plays("bob");
}

#[test]
fn nothing_is_said_past_a_hole_before_the_whole_state() {
    let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
    desk.mute("bob");
    for _ in 0..6 {
        desk.say("ann", "many 4");
    }
    desk.take("bob");
    // Overrun again while its resync is not acknowledged: what follows must be a resync.
    for _ in 0..6 {
        desk.say("ann", "many 4");
    }
    let before = desk.take("bob");
    let (leg, seq) = (desk.client("bob").leg, desk.client("bob").seq);
    desk.ack("bob", leg, seq);
    let heard = desk.take("bob");
    assert!(before.len() <= 4, "no more than the window: {before:?}");
    assert!(heard.first().is_some_and(|said| said.starts_with("resync")), "{heard:?}");
}

#[test]
fn who_missed_more_than_is_kept_gets_the_whole_state() {
    let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
    desk.cut("bob");
    for _ in 0..3 {
        desk.say("ann", "many 4");
    }
    let welcome = desk.resume("bob");
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::Resynced, RungReason::Overrun));
    let heard = desk.take("bob");
    let snapshot = heard.iter().find(|said| said.starts_with("resync")).expect("a snapshot");
    assert!(snapshot.contains("many 4|many 4|many 4"), "{snapshot}");
    desk.assert_plays("bob");
    desk.assert_plays("ann");
}

#[test]
fn a_private_outbox_is_bounded_by_its_own_reader() {
    let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
    desk.mute("ann");
    desk.say("ann", "alone 20");
    let heard = desk.take("ann");
    assert!(heard.iter().any(|said| said.starts_with("resync Overrun")), "{heard:?}");
    assert!(desk.take("bob").is_empty());
    desk.assert_plays("bob");
}

#[test]
fn a_member_that_fills_its_share_of_the_ring_is_refused() {
    let mut config = config();
    if let Some(kind) = config.kinds.get_mut("plaza") {
        kind.config.ring_bytes_max = 8_000;
    }
    let mut desk = Desk::new(config);
    for name in ["ann", "bob", "cat"] {
        desk.login(name);
        desk.join(name, "plaza");
    }
    desk.hush();
    // Somebody who is away keeps the ring from being trimmed.
    desk.cut("cat");
    for _ in 0..4 {
        desk.say("ann", "big 900");
    }
    let number = desk.client("ann").number;
    let heard = desk.take("ann");
    assert_eq!(heard.last(), Some(&format!("refused {number} RingShare")));
    assert_eq!(desk.client("ann").applied, number, "refused is consumed, too");
    desk.assert_plays("bob");
    assert_eq!(desk.resume("cat").rung(), Rung::Replayed, "its stream was protected");
    desk.assert_plays("ann");
}

#[test]
fn a_reply_crosses_a_drop() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.store.hold(|_| true);
    desk.say("ann", "question");
    let number = desk.client("ann").number;
    assert!(desk.take("ann").is_empty());
    desk.cut("ann");
    desk.store.release();
    desk.run();
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.applied), (Rung::Replayed, number));
    assert!(desk.take("ann").contains(&format!("reply {number}: heard question")));
    desk.assert_plays("bob");
}

#[test]
fn a_transfer_is_replayed_across_a_drop() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.say("ann", "say before");
    desk.mute("ann");
    desk.take("ann");
    desk.store.hold(|_| true);
    desk.say("ann", "transfer hard p");
    desk.cut("ann");
    desk.store.release();
    desk.run();
    assert!(desk.is_in("ann", "hard"));
    let welcome = desk.resume("ann");
    assert_eq!(welcome.rung(), Rung::Replayed);
    let heard = desk.take("ann");
    let ann = desk.id("ann");
    let joined = format!("joined {ann}");
    let tail: Vec<&str> = heard.iter().map(String::as_str).collect();
    assert!(tail.ends_with(&["out Transferred", "in hard/p", &joined]), "{heard:?}");
    assert_eq!((desk.members("plaza"), desk.members("hard")), (1, 1));
    desk.client_mut("ann").is_obliging = true;
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn a_transfer_goes_on_while_connected() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.queue("ann", message("transfer hard p"));
    desk.queue("ann", message("say there"));
    desk.run();
    let joined = format!("joined {ann}");
    assert_eq!(desk.take("ann"), ["out Transferred", "in hard/p", &joined, "there"]);
    assert_eq!(desk.take("bob"), [format!("parted {ann} Transferred")]);
}

#[test]
fn a_refused_transfer_ends_outside_with_a_leg_of_its_own() {
    for words in ["transfer unknown p", "deny hard p"] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.say("ann", words);
        let heard = desk.take("ann");
        assert_eq!(heard[0], "out Transferred");
        assert!(heard[1].starts_with("refused 0 "), "{heard:?}");
        assert!(desk.is_in_lobby("ann"));
        let session = desk.hub.session(desk.id("ann")).expect("it goes on");
        assert_eq!(desk.client("ann").leg, session.leg().to_wire(), "the client knows its leg");
        desk.cut("ann");
        assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
        desk.join("ann", "plaza");
        desk.assert_plays("ann");
        desk.assert_plays("bob");
    }
}

#[test]
fn the_last_words_of_a_zone_come_before_the_first_of_what_follows() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.join("ann", "tiny");
    desk.mute("ann");
    desk.take("ann");
    // More is on its way than the window takes when the transfer fails.
    desk.say("ann", "alone 5");
    desk.say("ann", "transfer unknown p");
    let heard = desk.take("ann");
    let words: Vec<&str> = heard.iter().map(String::as_str).collect();
    assert_eq!(words, ["p0", "p1", "p2", "p3", "p4", "out Transferred", "refused 0 UnknownKind"]);
}

#[test]
fn unreliable_words_are_heard_only_in_their_leg() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let leg = desk.client("ann").leg;
    let loose = |leg| client_frame::Frame::Loose(Loose { leg, payload: "hi".into() });
    desk.frame("ann", loose(leg));
    assert_eq!(desk.take("bob"), ["loose hi"]);
    desk.frame("ann", loose(leg + 1));
    desk.frame("ann", loose(0));
    assert!(desk.take("bob").is_empty());
    desk.cut("bob");
    desk.say("ann", "loose gone");
    desk.resume("bob");
    assert!(!desk.take("bob").contains(&"loose gone".to_owned()), "it is never kept");
}

#[test]
fn a_cold_return_gets_the_whole_state_wherever_it_is() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.cut("ann");
    let welcome = desk.resume_cold("ann");
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::Resynced, RungReason::Cold));
    assert!(desk.take("ann").iter().any(|said| said.starts_with("resync Cold [join ")));
    desk.part("ann");
    desk.cut("ann");
    assert_eq!(desk.resume_cold("ann").reason(), RungReason::Cold);
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
}

#[test]
fn a_position_nobody_gave_out_is_resynced() {
    for in_zone in [true, false] {
        let mut desk = Desk::with_plaza(&["bob"]);
        desk.login("ann");
        if in_zone {
            desk.join("ann", "plaza");
        }
        desk.cut("ann");
        desk.client_mut("ann").leg += 7 << 32;
        let welcome = desk.resume("ann");
        assert_eq!(welcome.reason(), RungReason::UnknownPosition, "{in_zone}");
        desk.assert_plays("bob");
    }
}

#[test]
fn a_rolled_back_zone_says_so_and_names_what_was_lost() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.join("ann", "session");
    desk.wait(31_000);
    desk.say("ann", "say lost");
    desk.wait(100);
    assert_eq!(desk.client("ann").applied, desk.client("ann").number);
    desk.crash();
    desk.restart();
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::Resynced, RungReason::RolledBack));
    assert_eq!(welcome.lost_upstream, 1);
    desk.assert_plays("ann");
}

#[test]
fn what_was_told_to_be_lost_is_not_told_again_after_the_next_crash() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.join("ann", "session");
    desk.wait(31_000);
    let mut lost = Vec::new();
    for _ in 0..3 {
        desk.say("ann", "say lost");
        desk.say("ann", "say lost, too");
        desk.wait(100);
        desk.crash();
        desk.restart();
        let welcome = desk.resume("ann");
        assert_eq!((welcome.rung(), welcome.reason()), (Rung::Resynced, RungReason::RolledBack));
        lost.push(welcome.lost_upstream);
    }
    assert_eq!(lost, [2, 2, 2]);
    desk.assert_plays("ann");
}

#[test]
fn a_loss_whose_welcome_never_arrived_is_told_again() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.join("ann", "session");
    desk.wait(31_000);
    desk.say("ann", "say lost");
    desk.wait(100);
    desk.crash();
    desk.restart();
    desk.mute("ann");
    let ann = desk.client("ann");
    let held = (ann.token.clone(), ann.epoch, ann.leg, ann.seq);
    assert_eq!(desk.resume("ann").lost_upstream, 1);
    desk.cut("ann");
    let ann = desk.client_mut("ann");
    (ann.token, ann.epoch, ann.leg, ann.seq) = held;
    ann.is_obliging = true;
    assert_eq!(desk.resume("ann").lost_upstream, 1);
    desk.cut("ann");
    assert_eq!(desk.resume("ann").lost_upstream, 0);
    desk.assert_plays("ann");
}

/// A cleared key makes room once everybody knows that it is cleared: its readers, and the store. Readers that
/// were given the whole state know before anything is committed.
#[test]
fn a_cleared_key_that_made_room_before_its_commit_stays_cleared_over_a_crash() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
        desk.join(name, "tiny");
    }
    for key in ["a", "b", "c", "d"] {
        // Large enough that what follows is stored as changes of it.
        desk.say("bob", &format!("latest {key} {}", "x".repeat(2_000)));
    }
    desk.store.hold(|scope| matches!(scope, ScopeId::Zone(_)));
    for _ in 0..4 {
        desk.say("bob", "say before");
    }
    desk.say("bob", "clear a");
    // More than the ring keeps: both are given the whole state when they can be.
    for _ in 0..20 {
        desk.say("bob", "say after");
    }
    desk.say("bob", "latest e 1");
    desk.store.release();
    desk.run();
    desk.crash();
    desk.restart();
    desk.login("cat");
    desk.join("cat", "tiny");
    let frames = &desk.client("cat").line().frames;
    let joined = frames.iter().find_map(|frame| match frame.frame.as_ref()? {
        server_frame::Frame::Down(Down { body: Some(down::Body::Joined(joined)), .. }) => {
            Some(joined.latest.iter().map(|value| value.key.clone()).collect::<Vec<_>>())
        }
        _ => None,
    });
    // For the fifth key there was no room before that.
    assert_eq!(joined.expect("she is in"), ["b", "c", "d"]);
}

/// What was sent to a slow member before it had to leave, and what was not kept of the rest.
#[test]
fn who_is_parted_past_a_hole_is_dropped_and_returns_to_the_whole_state() {
    let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
    desk.mute("bob");
    for _ in 0..12 {
        desk.say("ann", "many 4");
    }
    desk.say("ann", &format!("part {}", desk.id("bob")));
    let heard = desk.take("bob");
    assert_eq!(desk.closed("bob"), Some(CloseCode::TooSlow), "{heard:?}");
    assert!(!heard.iter().any(|said| said.starts_with("out")), "{heard:?}");
    let welcome = desk.resume("bob");
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::Resynced, RungReason::Overrun));
}

/// `on_reconnect` says something itself, which may push what the returning member still needs out of
/// the ring: the answer is decided after that.
#[test]
fn a_return_is_not_replayed_over_a_hole_that_it_made_itself() {
    let mut rungs = Vec::new();
    for missed in 3..10 {
        let mut desk = Desk::with_members("tiny", &["ann", "bob"]);
        desk.cut("bob");
        desk.say("ann", &format!("many {missed}"));
        desk.mute("bob");
        let welcome = desk.resume("bob");
        desk.client_mut("bob").is_obliging = true;
        let (leg, seq) = (desk.client("bob").leg, desk.client("bob").seq);
        desk.ack("bob", leg, seq);
        let heard = desk.take("bob");
        let words = heard.iter().filter(|said| said.starts_with('m')).count();
        if welcome.rung() == Rung::Replayed {
            assert_eq!(words, missed, "{heard:?}");
        } else {
            assert!(heard.iter().any(|said| said.starts_with("resync Overrun")), "{heard:?}");
        }
        rungs.push(welcome.rung());
        desk.assert_plays("bob");
    }
    assert!(rungs.contains(&Rung::Replayed) && rungs.contains(&Rung::Resynced), "{rungs:?}");
}

/// A broadcast writes no row of any member: after a crash the zone knows by its own last number how far
/// its members are.
#[test]
fn after_a_crash_members_go_on_from_broadcasts_that_they_have_heard() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    // An acknowledgement would write the row of whoever sends it.
    desk.mute("bob");
    for _ in 0..3 {
        desk.say("ann", "say x");
    }
    assert_eq!(desk.take("bob"), ["x", "x", "x"]);
    desk.crash();
    desk.restart();
    for name in ["bob", "ann"] {
        let welcome = desk.resume(name);
        let told = (welcome.rung(), welcome.reason());
        assert_eq!(told, (Rung::Replayed, RungReason::Complete), "{name}");
    }
    desk.hush();
    desk.say("ann", "say y");
    assert_eq!(desk.take("bob"), ["y"]);
}

/// `on_reconnect` runs before the connection has its place: what it says comes behind the Welcome and what was
/// missed, also where nothing was.
#[test]
fn what_a_zone_says_to_a_returning_member_comes_behind_the_welcome() {
    for is_takeover in [false, true] {
        let mut desk = Desk::with_plaza(&["ann", "bob"]);
        desk.say("ann", "on return greet");
        desk.hush();
        let mut expected = vec!["welcome Replayed Complete".to_owned()];
        if !is_takeover {
            desk.cut("bob");
            desk.say("ann", "say missed");
            expected.extend([format!("dropped {}", desk.id("bob")), "missed".to_owned()]);
        }
        expected.push("greetings".to_owned());
        desk.resume("bob");
        let heard = desk.take("bob");
        let of_the_new_one = heard.iter().filter(|said| !said.starts_with("(old)"));
        assert_eq!(of_the_new_one.collect::<Vec<_>>(), expected.iter().collect::<Vec<_>>());
    }
}
