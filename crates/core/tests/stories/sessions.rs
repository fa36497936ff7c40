//! A session and the connections that speak for it: resumes, takeovers, duplicate logins, holds.

use std::time::Duration;

use rejoin_core::event::{EndCause, Event};
use rejoin_core::exchange::Hold;
use rejoin_core::hub::{Answer, Changes, Command, Duplicates, HubConfig, SessionCommand};
use rejoin_core::session::{Flags, Presence};
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{CloseCode, Rung, RungReason};

use crate::desk::client::{message, up_frame};
use crate::desk::{Desk, config};

fn with_duplicates(duplicates: Duplicates) -> Desk {
    let mut config = config();
    config.duplicates = duplicates;
    let mut desk = Desk::new(config);
    desk.login("bob");
    desk.join("bob", "plaza");
    desk.hush();
    desk
}

#[test]
fn a_dropped_player_comes_back_and_hears_what_it_missed() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.cut("ann");
    desk.say("bob", "say one");
    desk.say("bob", "say two");
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::Replayed, RungReason::Complete));
    let dropped = format!("dropped {ann}");
    assert_eq!(desk.take("ann"), ["welcome Replayed Complete", &dropped, "one", "two"]);
    assert_eq!(desk.take("bob"), [dropped, "one".into(), "two".into(), format!("back {ann}")]);
}

#[test]
fn a_resume_after_the_hold_finds_no_session() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.cut("ann");
    desk.wait(5_001);
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::SessionUnknown));
    assert!(desk.events.contains(&Event::HoldEnded { session: ann }));
    assert_eq!(desk.members("plaza"), 1);
    desk.assert_plays("bob");
    assert_eq!(desk.login("ann").rung(), Rung::New);
}

#[test]
fn a_resume_at_the_very_deadline_wins_and_one_step_later_does_not() {
    for (late, comes_back) in [(0, true), (1, false)] {
        let mut desk = Desk::with_plaza(&["ann"]);
        desk.cut("ann");
        desk.wait(4_990);
        let connection = desk.connect("ann");
        // The hello waits in the queue when the deadline comes: input is fed before expiry.
        desk.now = desk.now.after(Duration::from_millis(10));
        if late == 1 {
            desk.wait(0);
        }
        let hello = desk.client("ann").resume(false, &desk.nonce("ann"));
        desk.say_hello("ann", hello);
        desk.wait(0);
        assert_eq!(desk.verdict("ann", connection).is_ok(), comes_back, "{late}");
    }
}

// Row of §6: "stale connection's late close disconnects the new connection".
#[test]
fn a_takeover_tells_the_old_connection_and_ignores_its_late_words() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let old = desk.client("ann").connection();
    desk.half_open = true;
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    assert_eq!(desk.hub.counts().takeovers_total, 1);
    let heard = desk.take("ann");
    assert_eq!(heard, ["(old) farewell TakenOver", "welcome Replayed Complete"]);
    // A late frame, and later the late close.
    let late = up_frame(desk.client("ann").number + 1, message("ghost"));
    desk.receive(old, &late);
    desk.run();
    assert_eq!(desk.ask("ann", "times ghost"), "0");
    desk.cut_line("ann", old);
    assert_eq!(desk.view("ann").map(|view| view.presence), Some(presence(&desk, "ann")));
    desk.assert_plays("ann");
    assert!(!desk.take("bob").iter().any(|said| said.starts_with("dropped")));
}

fn presence(desk: &Desk, name: &str) -> Presence {
    Presence::Here(desk.client(name).connection())
}

// Row of §6: "returning player refused because of his own dead connection or a taken slot".
#[test]
fn a_returning_player_is_not_locked_out_by_its_own_ghost() {
    let mut config = config();
    config.duplicates = Duplicates::RejectNew;
    config.sessions_max = 2;
    if let Some(kind) = config.kinds.get_mut("plaza") {
        kind.config.members_max = 2;
    }
    let mut desk = Desk::new(config);
    for name in ["ann", "bob"] {
        desk.login(name);
        desk.join(name, "plaza");
    }
    // The old connection still looks alive, the zone and the service are full.
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn a_login_without_token_returns_to_the_held_session() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.cut("ann");
    let welcome = desk.login("ann");
    assert_eq!((welcome.session, welcome.found), (ann.0, true));
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::Resynced, RungReason::Cold));
    assert!(desk.is_in("ann", "plaza"));
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

/// The one that ends still waits for its zone to part it.
#[test]
fn a_fresh_session_takes_the_room_of_the_one_that_it_ends() {
    let mut desk = Desk::new(HubConfig { sessions_max: 1, ..config() });
    desk.login("ann");
    desk.join("ann", "plaza");
    let first = desk.id("ann");
    desk.try_hello("ann", |ann, nonce| ann.login(true, nonce)).expect("let in");
    assert_ne!(desk.id("ann"), first);
    assert_eq!(desk.try_login("bob"), Err(CloseCode::Full));
}

#[test]
fn fresh_ends_the_held_session_as_superseded() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let (ann, player) = (desk.id("ann"), desk.client("ann").player());
    desk.cut("ann");
    let welcome = desk.try_hello("ann", |ann, nonce| ann.login(true, nonce)).expect("let in");
    assert_ne!(welcome.session, ann.0);
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::New, RungReason::Fresh));
    let left = Event::PlayerLeft { session: ann, player, cause: EndCause::Superseded };
    assert!(desk.events.contains(&left));
    assert_eq!(desk.members("plaza"), 1);
    desk.join("ann", "plaza");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn fresh_on_another_device_tells_the_live_one_superseded() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.try_hello("ann", |ann, nonce| ann.login(true, nonce)).expect("let in");
    let heard = desk.take("ann");
    assert!(heard.contains(&"(old) farewell Superseded".to_owned()), "{heard:?}");
    desk.assert_plays("bob");
}

#[test]
fn take_over_is_what_a_second_login_means_by_default() {
    let mut desk = with_duplicates(Duplicates::TakeOver);
    let first = desk.login("ann");
    let second = desk.login("ann");
    assert_eq!((second.session, second.found), (first.session, true));
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("resync Cold []"));
    assert_eq!(desk.hub.counts().takeovers_total, 1);
    desk.assert_plays("bob");
}

#[test]
fn reject_new_refuses_a_second_login_and_keeps_the_first() {
    let mut desk = with_duplicates(Duplicates::RejectNew);
    desk.login("ann");
    let first = desk.client("ann").connection();
    assert_eq!(desk.try_login("ann"), Err(CloseCode::LoggedInAgain));
    let session = desk.hub.session(desk.id("ann"));
    assert_eq!(session.and_then(|session| session.connection()), Some(first));
    desk.cut_line("ann", first);
    assert!(desk.login("ann").found, "once it is held, a login returns to it");
    desk.assert_plays("bob");
}

#[test]
fn allow_lets_in_so_many_and_no_more() {
    let mut desk = with_duplicates(Duplicates::Allow(2));
    let sessions = [desk.login("ann").session, desk.login("ann").session];
    assert_ne!(sessions[0], sessions[1]);
    assert_eq!(desk.try_login("ann"), Err(CloseCode::LoggedInAgain));
    assert_eq!(desk.hub.sessions().count(), 3);
    desk.assert_plays("bob");
}

#[test]
fn a_zone_takes_a_player_once_unless_told_otherwise() {
    let mut desk = with_duplicates(Duplicates::Allow(2));
    desk.login("ann");
    desk.join("ann", "plaza");
    let first = desk.id("ann");
    desk.login("ann");
    desk.join("ann", "plaza");
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("refused 1 AlreadyHere"));
    assert!(desk.hub.session(first).is_some_and(|session| session.zone().is_some()));
    assert_eq!(desk.members("plaza"), 2);
    desk.assert_plays("bob");
}

#[test]
fn a_player_does_not_take_over_a_session_that_the_server_started_for_it() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.bye("ann");
    let player = Some(desk.client("ann").player());
    let config = rejoin_core::hub::SessionConfig { player, ..Default::default() };
    let answer = desk.command(Command::StartSession(config));
    let Some(Answer::Session(native)) = answer else { panic!("{answer:?}") };
    let welcome = desk.login("ann");
    assert!(!welcome.found && welcome.session != native.0);
    assert_eq!(desk.hub.view(native).map(|view| view.presence), Some(Presence::Native));
}

// Row of §6: "grace timer of an earlier drop fires during a later one".
#[test]
fn the_timer_of_an_earlier_drop_does_not_end_a_later_hold() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.cut("ann");
    desk.wait(4_000);
    desk.resume("ann");
    desk.wait(500);
    desk.cut("ann");
    desk.wait(4_999);
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.assert_plays("ann");
}

#[test]
fn a_hold_until_the_match_ends_waits_for_that() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
        desk.join(name, "match");
    }
    desk.say("bob", "start");
    desk.cut("ann");
    desk.wait(60_000);
    let ann = desk.id("ann");
    assert!(desk.hub.session(ann).is_some_and(|session| session.is_held()));
    desk.say("bob", "stop");
    assert!(desk.hub.session(ann).is_none(), "the hold ends with the match");
    assert_eq!(desk.members("match"), 1);
    desk.assert_plays("bob");
}

#[test]
fn without_a_match_such_a_hold_is_timed() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.join("ann", "match");
    desk.cut("ann");
    desk.wait(4_999);
    assert!(desk.view("ann").is_some());
    desk.wait(1);
    assert!(desk.view("ann").is_none());
}

#[test]
fn a_hold_that_waited_for_a_match_does_not_last_for_ever_outside_it() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
        desk.join(name, "match");
    }
    desk.say("bob", "start");
    desk.cut("ann");
    let ann = desk.id("ann");
    desk.say("bob", &format!("part {ann}"));
    assert_eq!(desk.members("match"), 1);
    desk.wait(60_000);
    assert!(desk.hub.session(ann).is_none(), "it is in no match any more");
}

#[test]
fn without_hold_a_drop_ends_the_session_at_once() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
        desk.join(name, "none");
    }
    desk.cut("ann");
    assert!(desk.view("ann").is_none());
    assert_eq!(desk.members("none"), 1);
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::SessionUnknown));
    desk.assert_plays("bob");
}

#[test]
fn flags_and_permissions_can_be_changed_while_a_session_runs() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let ann = desk.id("ann");
    for flag in [Flags::ENCRYPTION, Flags::COMPRESSION, Flags::PACKET_LOGGING] {
        for on in [true, false] {
            let changes = Changes { flags: Some((flag, on)), ..Changes::default() };
            assert_eq!(
                desk.command(Command::Session(ann, SessionCommand::Configure(changes))),
                Some(Answer::Done)
            );
            assert_eq!(desk.view("ann").map(|view| view.flags.has(flag)), Some(on));
        }
    }
    let changes = Changes {
        flags: Some((Flags::PACKET_LOGGING, true)),
        permissions: Some(6),
        ..Changes::default()
    };
    desk.command(Command::Session(ann, SessionCommand::Configure(changes)));
    desk.crash();
    desk.restart();
    let view = desk.view("ann").expect("the session was committed");
    assert_eq!((view.flags, view.permissions), (Flags::PACKET_LOGGING, 6));
}

#[test]
fn the_disconnect_callback_runs_once_a_drop_in_and_out_of_zones() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let ann = desk.id("ann");
    let changes = Changes { disconnect_callback: Some(Some(42)), ..Changes::default() };
    assert_eq!(
        desk.command(Command::Session(ann, SessionCommand::Configure(changes))),
        Some(Answer::Done)
    );
    desk.cut("ann");
    assert_eq!(desk.callbacks, [(ann, 42)]);
    desk.resume("ann");
    desk.join("ann", "plaza");
    desk.cut("ann");
    desk.wait(10);
    assert_eq!(desk.callbacks, [(ann, 42), (ann, 42)]);
    desk.resume("ann");
    desk.resume("ann");
    assert_eq!(desk.callbacks.len(), 2, "a takeover is no drop");
}

#[test]
fn the_disconnect_callback_runs_before_the_hold() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let ann = desk.id("ann");
    let changes = Changes {
        disconnect_callback: Some(Some(7)),
        hold: Some(Hold::None),
        ..Changes::default()
    };
    desk.command(Command::Session(ann, SessionCommand::Configure(changes)));
    desk.cut("ann");
    assert_eq!(desk.callbacks, [(ann, 7)], "even where no hold follows");
    assert!(desk.view("ann").is_none());
}

#[test]
fn properties_can_be_changed_while_a_session_runs() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let ann = desk.id("ann");
    let changes = Changes {
        hold: Some(Hold::Timed(Duration::from_millis(60_000))),
        data: Some(Bytes::from_static(b"gold")),
        permissions: Some(3),
        ..Changes::default()
    };
    desk.command(Command::Session(ann, SessionCommand::Configure(changes)));
    desk.crash();
    desk.restart();
    let view = desk.view("ann").expect("it is held");
    assert_eq!((view.permissions, &view.data[..]), (3, &b"gold"[..]));
    desk.wait(59_000);
    assert_eq!(desk.resume("ann").hold_ms, 60_000);
}

#[test]
fn a_clean_leave_ends_the_session_in_and_out_of_zones() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.bye("ann");
    assert_eq!(desk.take("ann"), ["out Left", "farewell Left"]);
    assert_eq!(desk.take("bob"), [format!("parted {ann} Left")]);
    assert!(desk.view("ann").is_none());
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::SessionUnknown));
    desk.login("ann");
    desk.bye("ann");
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("farewell Left"));
    assert_eq!(desk.hub.sessions().count(), 1);
    desk.assert_plays("bob");
}

#[test]
fn a_hard_disconnect_parts_at_once_and_the_session_lives_on() {
    let mut desk = Desk::with_members("hard", &["ann", "bob"]);
    let ann = desk.id("ann");
    desk.cut("ann");
    assert_eq!(desk.members("hard"), 1);
    assert_eq!(desk.take("bob"), [format!("dropped {ann}"), format!("parted {ann} Disconnected")]);
    let welcome = desk.resume("ann");
    assert_eq!((welcome.rung(), welcome.zone), (Rung::Replayed, None));
    let heard = desk.take("ann");
    assert_eq!(heard.last().map(String::as_str), Some("out Disconnected"), "{heard:?}");
    desk.join("ann", "hard");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

// Row of §6: "expired session stays in the room's member list".
#[test]
fn a_soft_disconnect_keeps_the_member_and_the_end_of_its_hold_parts_it() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.cut("ann");
    assert_eq!(desk.members("plaza"), 2);
    desk.wait(5_000);
    assert_eq!(desk.members("plaza"), 1);
    assert_eq!(desk.ask("bob", "who"), desk.id("bob").to_string());
    assert!(desk.hub.session(ann).is_none());
    desk.crash();
    desk.restart();
    assert_eq!(desk.members("plaza"), 1, "nor is it there after a crash");
}
