//! A session in no zone: what its client's frames cost, and what happens when they are too many.

use rejoin_core::hub::{Answer, Command, HubConfig, SessionCommand};
use rejoin_core::id::SessionId;
use rejoin_core::scope::ScopeId;
use rejoin_core::wire::v1::{CloseCode, Ping, Position, Rung, RungReason, client_frame};

use crate::desk::client::message;
use crate::desk::{Desk, config};

fn is_session(scope: &ScopeId) -> bool {
    matches!(scope, ScopeId::Session(_))
}

/// Says so many messages to ann from outside.
fn send(desk: &mut Desk, texts: impl IntoIterator<Item = u32>) {
    let ann = desk.id("ann");
    for text in texts {
        desk.order(Command::Session(ann, SessionCommand::Send(format!("m{text}").into())));
    }
}

/// A client outside zones that acknowledges nothing; four frames are kept for it.
fn muted_with_room_for_four() -> Desk {
    let mut config = config();
    config.outbox.frames_max = 4;
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.mute("ann");
    desk.take("ann");
    desk
}

fn row_keys(desk: &Desk, session: SessionId) -> Vec<String> {
    let rows = desk.store.rows(ScopeId::Session(session));
    rows.iter().map(|(key, _)| String::from_utf8_lossy(key).into_owned()).collect()
}

#[test]
fn a_thousand_frames_outside_zones_are_one_batch_at_a_time_and_a_row_each() {
    let mut config = config();
    config.window_frames = 1_000;
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.mute("ann");
    desk.take("ann");
    let scope = ScopeId::Session(desk.id("ann"));
    desk.store.tally(scope);
    desk.store.hold(is_session);
    for _ in 0..1_000 {
        desk.say("ann", "x");
    }
    let refusals = |desk: &mut Desk| {
        let mut heard = desk.take("ann");
        heard.retain(|said| said.starts_with("refused"));
        heard
    };
    assert_eq!(refusals(&mut desk).len(), 0, "nothing is said before it is committed");
    desk.store.release();
    desk.run();
    let tally = desk.store.tally(scope);
    println!("{tally:?}");
    assert_eq!(tally.under_way, 1, "{tally:?}");
    assert!(tally.batches <= 3, "{tally:?}");
    assert!(tally.rows <= 1_000 + 12, "{tally:?}");
    assert!(tally.bytes <= 1_000 * 64, "{tally:?}");
    let heard = refusals(&mut desk);
    assert_eq!((heard.len(), heard[999].as_str()), (1_000, "refused 1000 NotMember"));
    assert_eq!(desk.client("ann").applied, 1_000);
    // The same with a store that is quick: a batch for each frame, and a row for each.
    for _ in 0..20 {
        desk.say("ann", "x");
    }
    let tally = desk.store.tally(scope);
    assert!(tally.rows <= 20 * 3 && tally.bytes <= 20 * 512, "{tally:?}");
}

#[test]
fn acknowledged_frames_leave_no_rows_and_the_rest_is_replayed_after_a_crash() {
    let mut desk = Desk::plain();
    desk.login("ann");
    for _ in 0..5 {
        desk.say("ann", "x");
    }
    desk.mute("ann");
    for _ in 0..3 {
        desk.say("ann", "x");
    }
    let kept = |desk: &Desk| {
        row_keys(desk, desk.id("ann")).iter().filter(|key| key.starts_with("out/")).count()
    };
    assert_eq!(kept(&desk), 3);
    desk.take("ann");
    // What it heard last arrived nowhere.
    desk.client_mut("ann").seq = 5;
    desk.crash();
    desk.restart();
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    let heard = desk.take("ann");
    let again: Vec<_> = (6..9).map(|number| format!("refused {number} NotMember")).collect();
    assert_eq!(heard[1..], again);
}

#[test]
fn a_client_that_goes_beyond_its_window_outside_zones_is_let_go_and_nothing_is_lost() {
    let mut config = config();
    config.window_frames = 4;
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.login("bob");
    desk.take("ann");
    desk.store.hold(is_session);
    for _ in 0..4 {
        desk.say("ann", "x");
    }
    assert_eq!(desk.closed("ann"), None, "the window is full and no more");
    desk.say("ann", "one too many");
    assert_eq!(desk.closed("ann"), Some(CloseCode::Flooded));
    desk.store.release();
    desk.run();
    // The fifth was not consumed: it comes again.
    desk.client_mut("ann").number = 4;
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.say("ann", "again");
    let heard = desk.take("ann");
    let refused: Vec<_> = (1..6).map(|number| format!("refused {number} NotMember")).collect();
    assert_eq!(heard.iter().filter(|said| said.starts_with("refused")).count(), 5, "{heard:?}");
    assert_eq!(heard[heard.len() - 5..], refused, "{heard:?}");
    assert_eq!(desk.closed("bob"), None);
}

#[test]
fn a_window_of_bytes_counts_outside_zones_and_one_large_frame_goes_alone() {
    let mut config = config();
    config.window_bytes = 1_000;
    let mut desk = Desk::new(config);
    desk.login("ann");
    desk.store.hold(is_session);
    desk.say("ann", &"x".repeat(2_000));
    assert_eq!(desk.closed("ann"), None);
    desk.say("ann", "y");
    assert_eq!(desk.closed("ann"), Some(CloseCode::Flooded));
}

#[test]
fn a_full_gate_takes_no_frames_and_no_commands_until_there_is_room() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.take("ann");
    let ann = desk.id("ann");
    desk.store.hold(is_session);
    let mut tickets = Vec::new();
    for number in 0..1_100 {
        tickets.push(
            desk.order(Command::Session(ann, SessionCommand::Send(format!("m{number}").into()))),
        );
    }
    let refused = tickets.iter().filter(|ticket| desk.answers.contains_key(ticket)).count();
    assert!(refused > 0, "some were refused, the others wait");
    let deadline = std::time::Duration::from_secs(5);
    assert_eq!(
        desk.command(Command::Session(ann, SessionCommand::Call("how?".into(), deadline))),
        Some(Answer::Busy)
    );
    for _ in 0..10 {
        desk.say("ann", "x");
    }
    // Its frames wait, and so does a connection that would take over.
    assert_eq!(desk.hub.session(ann).map(|session| session.applied()), Some(0));
    desk.up("ann", message("y"));
    desk.store.release();
    desk.run();
    assert_eq!(desk.client("ann").applied, 11);
    assert_eq!(desk.closed("ann"), None);
    let heard = desk.take("ann");
    let said = heard.iter().filter(|said| said.starts_with('m')).count();
    assert_eq!(said, 1_100 - refused);
}

/// Each message outside zones has an answer that is kept until it is acknowledged.
#[test]
fn a_client_that_acknowledges_nothing_is_read_no_further_than_its_window() {
    let config = HubConfig { window_frames: 8, ..config() };
    let mut desk = Desk::new(config);
    desk.login("ann");
    let ann = desk.id("ann");
    desk.client_mut("ann").is_obliging = false;
    for _ in 0..12 {
        desk.say("ann", "x");
    }
    assert_eq!(desk.hub.session(ann).map(|session| session.applied()), Some(8));
    let (leg, seq) = (desk.client("ann").leg, desk.client("ann").seq);
    desk.frame("ann", client_frame::Frame::Ack(Position { leg, seq }));
    assert_eq!(desk.client("ann").applied, 12, "what waited is heard");
    assert_eq!(desk.closed("ann"), None);
    for _ in 0..12 {
        desk.say("ann", "x");
    }
    assert_eq!(desk.closed("ann"), None);
    desk.say("ann", "one too many");
    assert_eq!(desk.closed("ann"), Some(CloseCode::Flooded), "no more than a window waits");
}

/// The hub is asked once for each frame that it takes, and not for all that wait whenever there is room for one.
#[test]
fn what_waits_for_acknowledgements_is_not_handed_on_with_each_of_them() {
    let window = 64;
    let mut desk = Desk::new(HubConfig { window_frames: window, ..config() });
    desk.login("ann");
    desk.client_mut("ann").is_obliging = false;
    let leg = desk.client("ann").leg;
    for _ in 0..2 * window {
        desk.say("ann", "x");
    }
    for seq in 1..=2 * u64::from(window) {
        desk.ack("ann", leg, seq);
    }
    assert_eq!(desk.client("ann").applied, 2 * u64::from(window), "all of it is heard");
    assert!(desk.handed_on <= 4 * window as usize, "{} times", desk.handed_on);
    assert_eq!(desk.closed("ann"), None);
}

/// What it is owed is kept for it, so a client that never acknowledges would cost more with every message.
#[test]
fn a_client_that_acknowledges_nothing_outside_zones_is_too_slow() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
    }
    desk.mute("ann");
    for _ in 0..12 {
        for name in ["ann", "bob"] {
            if desk.closed(name).is_none() {
                desk.say(name, "to whom?");
                desk.frame(name, client_frame::Frame::Ping(Ping { nonce: 1 }));
            }
        }
        desk.wait(1_000);
    }
    assert_eq!((desk.closed("ann"), desk.closed("bob")), (Some(CloseCode::TooSlow), None));
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
}

/// It hears that it gave way when that is committed, however long the store takes, and not that it was slow:
/// a client that was slow comes back by itself.
#[test]
fn a_connection_that_gave_way_is_not_called_slow_while_the_store_is() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.mute("ann");
    desk.say("ann", "to whom?");
    desk.half_open = true;
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    assert!(desk.try_resume("ann").is_err(), "the takeover is not committed");
    desk.wait(11_000);
    desk.store.release();
    desk.run();
    let heard = desk.take("ann");
    assert!(heard.contains(&"(old) farewell TakenOver".to_owned()), "{heard:?}");
}

/// What is said to a client whose connection waits for its place comes behind its Welcome.
#[test]
fn what_is_said_while_a_connection_waits_for_its_place_comes_behind_the_welcome() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.cut("ann");
    desk.take("ann");
    desk.store.hold(is_session);
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::Unspecified), "its commit is under way");
    send(&mut desk, 1..=2);
    desk.store.release();
    desk.run();
    assert_eq!(desk.take("ann"), ["welcome Replayed Complete", "m1", "m2"]);
    send(&mut desk, 3..=3);
    assert_eq!(desk.take("ann"), ["m3"]);
}

#[test]
fn a_client_outside_zones_that_reads_too_little_is_resynced_in_place() {
    let mut desk = muted_with_room_for_four();
    send(&mut desk, 1..=9);
    let heard = desk.take("ann");
    assert_eq!(heard, ["m1", "m2", "m3", "m4", "resync Overrun []"]);
    // Overrun once more while that is not acknowledged: the next thing it hears is the whole state again.
    send(&mut desk, 10..=20);
    let heard = desk.take("ann");
    assert!(heard.len() <= 4, "no more than its window: {heard:?}");
    let (leg, seq) = (desk.client("ann").leg, desk.client("ann").seq);
    desk.ack("ann", leg, seq);
    let heard = desk.take("ann");
    assert_eq!(heard, ["resync Overrun []"]);
    let (leg, seq) = (desk.client("ann").leg, desk.client("ann").seq);
    desk.ack("ann", leg, seq);
    send(&mut desk, 21..=21);
    assert_eq!(desk.take("ann"), ["m21"]);
    assert_eq!(desk.closed("ann"), None);
}

#[test]
fn the_rest_of_what_was_said_outside_comes_before_the_first_word_of_a_zone() {
    let mut desk = muted_with_room_for_four();
    send(&mut desk, 1..=6);
    assert_eq!(desk.take("ann"), ["m1", "m2", "m3", "m4"], "its window is full");
    desk.join("ann", "plaza");
    let joined = format!("joined {}", desk.id("ann"));
    assert_eq!(desk.take("ann"), ["m5", "m6", "in plaza/p", &joined]);
    assert_eq!(desk.closed("ann"), None);
}

/// Something before the rest is gone for good: the client must not hear the zone over that hole.
#[test]
fn who_joins_past_a_hole_is_dropped_and_returns_to_the_whole_state() {
    let mut desk = muted_with_room_for_four();
    send(&mut desk, 1..=20);
    desk.take("ann");
    desk.join("ann", "plaza");
    assert_eq!(desk.closed("ann"), Some(CloseCode::TooSlow));
    assert_eq!(desk.take("ann"), ["farewell TooSlow"]);
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::Resynced, RungReason::Overrun));
    assert!(desk.is_in("ann", "plaza"));
}
