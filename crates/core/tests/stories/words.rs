//! Messages from outside the game, to one session or to many: each is heard once, wherever the session
//! is and wherever it goes, and its sender is answered when that is sure.

use rejoin_core::event::EndCause;
use rejoin_core::hub::{Answer, Audience, Command, SessionCommand};
use rejoin_core::id::{SessionId, ZoneId};
use rejoin_core::scope::ScopeId;
use rejoin_core::session::Place;
use rejoin_core::wire::v1::{Answer as Answered, CloseCode, up};

use crate::desk::client::message;
use crate::desk::{Desk, join, zone};

fn is_session(scope: &ScopeId) -> bool {
    matches!(scope, ScopeId::Session(_))
}

fn is_zone(scope: &ScopeId) -> bool {
    matches!(scope, ScopeId::Zone(_))
}

fn send(desk: &mut Desk, to: SessionId, text: &'static str) -> u64 {
    desk.order(Command::Session(to, SessionCommand::Send(text.into())))
}

fn release(desk: &mut Desk) {
    desk.store.release();
    desk.hold_zones = false;
    desk.asleep = None;
    desk.run();
}

/// How often a client heard this.
fn times(desk: &mut Desk, name: &str, text: &str) -> usize {
    desk.take(name).iter().filter(|heard| *heard == text).count()
}

#[test]
fn the_answer_comes_when_the_message_is_committed_in_the_lobby_and_in_a_zone() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let ann = desk.id("ann");
    desk.store.hold(is_session);
    let ticket = send(&mut desk, ann, "one");
    assert_eq!(desk.answers.get(&ticket), None);
    release(&mut desk);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    desk.join("ann", "plaza");
    desk.store.hold(is_zone);
    let ticket = send(&mut desk, ann, "two");
    assert_eq!(desk.answers.get(&ticket), None);
    release(&mut desk);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    let heard = desk.take("ann");
    assert_eq!(heard.iter().filter(|said| *said == "one" || *said == "two").count(), 2);
}

#[test]
fn a_member_that_is_leaving_hears_it_after_it_has_left() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.store.hold(is_zone);
    desk.part("ann");
    let ticket = send(&mut desk, ann, "late");
    release(&mut desk);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    assert_eq!(desk.take("ann"), ["out Asked", "late"]);
    desk.assert_plays("bob");
}

#[test]
fn a_session_between_two_zones_hears_it_in_the_second() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let ann = desk.id("ann");
    desk.hold_zones = true;
    desk.say("ann", "transfer plaza q");
    assert!(matches!(desk.place("ann"), Some(Place::Joining(_))));
    let tickets = [send(&mut desk, ann, "one"), send(&mut desk, ann, "two")];
    assert_eq!(desk.answers.get(&tickets[0]), None);
    release(&mut desk);
    assert_eq!(tickets.map(|ticket| desk.answers[&ticket].clone()), [Answer::Done, Answer::Done]);
    let heard = desk.take("ann");
    let expected = ["out Transferred", "in plaza/q", &format!("joined {ann}"), "one", "two"];
    assert_eq!(heard, expected);
}

#[test]
fn a_session_whose_join_is_refused_hears_it_outside() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.take("ann");
    let ann = desk.id("ann");
    desk.hold_zones = true;
    desk.up("ann", join("plaza", "p", "deny"));
    let ticket = send(&mut desk, ann, "anyway");
    release(&mut desk);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    assert_eq!(desk.take("ann"), ["refused 1 JoinDenied", "anyway"]);
}

#[test]
fn a_zone_that_faults_before_it_heard_it_is_told_again() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.asleep = Some(ZoneId::of("plaza", "p"));
    desk.up("bob", message("panic"));
    let ticket = send(&mut desk, ann, "still");
    release(&mut desk);
    assert_eq!(desk.closed("ann"), None);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    assert_eq!(times(&mut desk, "ann", "still"), 1);
}

#[test]
fn a_zone_that_faults_after_it_kept_it_does_not_say_it_twice() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let ann = desk.id("ann");
    desk.store.hold(is_zone);
    let ticket = send(&mut desk, ann, "once");
    // Committed, and the news of that is lost with the zone.
    desk.store.release();
    assert!(desk.store.commit_next().is_some());
    desk.up("bob", message("panic"));
    assert_eq!(desk.closed("ann"), None);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    assert_eq!(times(&mut desk, "ann", "once"), 1);
}

#[test]
fn a_session_that_lost_its_zone_hears_it_behind_the_whole_state() {
    let mut desk = Desk::plain();
    for name in ["ann", "bob"] {
        desk.login(name);
        desk.join(name, "memory");
        desk.take(name);
    }
    let ann = desk.id("ann");
    desk.asleep = Some(ZoneId::of("memory", "p"));
    desk.up("bob", message("panic"));
    let ticket = send(&mut desk, ann, "still");
    release(&mut desk);
    assert_eq!(desk.closed("ann"), Some(CloseCode::ZoneFault));
    desk.resume("ann");
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    let heard = desk.take("ann");
    assert_eq!(heard.iter().filter(|said| *said == "still").count(), 1, "{heard:?}");
}

#[test]
fn a_crash_between_the_commit_and_the_answer_doubles_nothing() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let ann = desk.id("ann");
    desk.store.hold(is_zone);
    let ticket = send(&mut desk, ann, "once");
    desk.store.release();
    assert!(desk.store.commit_next().is_some());
    desk.crash();
    desk.restart();
    assert_eq!(desk.answers.get(&ticket), None);
    desk.resume("ann");
    assert_eq!(times(&mut desk, "ann", "once"), 1);
    // Numbers of the process before are not taken for those of this one.
    let ticket = send(&mut desk, ann, "next");
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    assert_eq!(desk.take("ann"), ["next"]);
}

#[test]
fn a_broadcast_reaches_everybody_once_and_is_answered_after_all_commits() {
    let mut desk = Desk::with_plaza(&["ann", "bob", "cid", "dan"]);
    for name in ["lobby", "held", "comes"] {
        desk.login(name);
        desk.take(name);
    }
    desk.cut("held");
    // One leaves, one is on its way in, and the zone says nothing of it yet.
    desk.store.hold(is_zone);
    desk.part("bob");
    desk.join("comes", "plaza");
    desk.cut("dan");
    let ticket = desk.order(Command::Broadcast(Audience::Everybody, "all".into()));
    assert_eq!(desk.answers.get(&ticket), None);
    release(&mut desk);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Told { told: 7, missed: 0 }));
    desk.resume("held");
    desk.resume("dan");
    for name in ["ann", "bob", "cid", "dan", "lobby", "held", "comes"] {
        assert_eq!(times(&mut desk, name, "all"), 1, "{name}");
    }
}

#[test]
fn a_broadcast_to_a_zone_reaches_who_is_in_it_or_on_its_way() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    desk.login("cid");
    desk.login("dan");
    for name in ["ann", "bob", "cid", "dan"] {
        desk.take(name);
    }
    desk.store.hold(is_zone);
    desk.join("cid", "plaza");
    let to = Audience::Zone(ZoneId::of("plaza", "p"));
    let ticket = desk.order(Command::Broadcast(to, "zone".into()));
    release(&mut desk);
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Told { told: 3, missed: 0 }));
    let heard = ["ann", "bob", "cid", "dan"].map(|name| times(&mut desk, name, "zone"));
    assert_eq!(heard, [1, 1, 1, 0]);
}

#[test]
fn who_is_ended_before_it_could_hear_it_is_counted_as_missed() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.login("bob");
    let (ann, bob) = (desk.id("ann"), desk.id("bob"));
    desk.hold_zones = true;
    desk.up("bob", join("plaza", "q", ""));
    let sent = send(&mut desk, bob, "never");
    let ticket = desk.order(Command::Broadcast(Audience::Everybody, "all".into()));
    desk.command(Command::Session(bob, SessionCommand::End(EndCause::Kicked)));
    release(&mut desk);
    assert_eq!(desk.answers.get(&sent), Some(&Answer::Unknown));
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Told { told: 1, missed: 1 }));
    assert_eq!(
        desk.command(Command::Session(bob, SessionCommand::Send("x".into()))),
        Some(Answer::Unknown)
    );
    assert!(desk.hub.session(ann).is_some());
}

#[test]
fn a_session_on_its_way_is_asked_when_it_has_arrived() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.take("ann");
    let ann = desk.id("ann");
    desk.hold_zones = true;
    desk.join("ann", "plaza");
    let deadline = std::time::Duration::from_secs(5);
    let ticket = desk.order(Command::Session(ann, SessionCommand::Call("how?".into(), deadline)));
    release(&mut desk);
    let heard = desk.take("ann");
    let call = heard.iter().find_map(|said| said.strip_prefix("call ")).expect("it is asked");
    let call = call.split(':').next().and_then(|call| call.parse().ok()).expect("a number");
    desk.up("ann", up::Body::Answer(Answered { call, payload: "so".into() }));
    assert_eq!(desk.answers.get(&ticket), Some(&Answer::Called(Ok("so".into()))));
    assert!(desk.is_in("ann", "plaza") && zone("plaza").kind == "plaza");
}
