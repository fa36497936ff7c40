//! The guard: what an address, a player and everybody together may do, and that whoever is told to
//! wait loses nothing by it.

use std::time::Duration;

use rejoin_core::budget::{Quota, Rate};
use rejoin_core::event::{Event, Offence, Step};
use rejoin_core::guard::{GuardConfig, Origin};
use rejoin_core::hub::{HubConfig, HubInput};
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{CloseCode, Hello, Ping, Rung, client_frame, hello, server_frame};

use crate::desk::client::Client;
use crate::desk::{Desk, config};

fn desk(guard: GuardConfig) -> Desk {
    from_home(HubConfig { guard, ..config() })
}

fn from_home(config: HubConfig) -> Desk {
    let mut desk = Desk::new(config);
    desk.origin = Some(HOME);
    desk
}

const HOME: Origin = Origin::v4(1);
const ELSEWHERE: Origin = Origin::v4(2);

fn wrong_token(client: &Client, nonce: &[u8]) -> Hello {
    let mut hello = client.resume(false, nonce);
    if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
        resume.token = Bytes::from_static(&[3; 32]);
    }
    client.signed(hello, nonce)
}

/// What the client's present connection was told to wait.
fn told_to_wait(desk: &Desk, name: &str) -> u32 {
    let frames = &desk.client(name).line().frames;
    let told = frames.iter().find_map(|frame| match &frame.frame {
        Some(server_frame::Frame::Farewell(said)) => Some(said.retry_after_ms),
        Some(server_frame::Frame::Refusal(said)) => Some(said.retry_after_ms),
        _ => None,
    });
    told.expect("it was told something")
}

fn steps(desk: &Desk) -> Vec<(Step, Offence)> {
    let step = |event: &Event| match event {
        Event::GuardStep { step, what, .. } => Some((*step, *what)),
        _ => None,
    };
    desk.events.iter().filter_map(step).collect()
}

/// Says so many words a second for so long, as a sender does that is read without pause.
fn press(desk: &mut Desk, name: &'static str, per_second: u64, ms: u64) {
    let gap = 1_000 / per_second;
    for _ in 0..ms / gap {
        desk.wait(gap);
        if desk.closed(name).is_none() {
            desk.say(name, "on and on");
        }
    }
}

#[test]
fn a_sender_that_does_not_rest_is_severed_and_comes_back_with_nothing_lost() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    press(&mut desk, "ann", 250, 6_000);
    assert_eq!(desk.closed("ann"), None, "above for less than five seconds");
    press(&mut desk, "ann", 250, 2_000);
    assert_eq!(desk.closed("ann"), Some(CloseCode::Flooded));
    assert!(told_to_wait(&desk, "ann") >= 250);
    let expected = [
        (Step::Warn, Offence::Messages),
        (Step::Throttle, Offence::Messages),
        (Step::Sever, Offence::Flooded),
    ];
    assert_eq!(steps(&desk), expected);
    desk.assert_plays("bob");
    let welcome = desk.resume("ann");
    assert_eq!(welcome.rung(), Rung::Replayed);
}

#[test]
fn a_sender_that_pauses_is_only_slowed_down() {
    let mut desk = Desk::with_plaza(&["ann"]);
    for _ in 0..10 {
        press(&mut desk, "ann", 250, 3_000);
        desk.wait(4_000);
    }
    assert_eq!(desk.closed("ann"), None);
    desk.assert_plays("ann");
}

/// How often the client was told to be throttled since it was last asked.
fn notices(desk: &mut Desk, name: &str) -> usize {
    desk.take(name).iter().filter(|said| *said == "notice Throttled").count()
}

#[test]
fn a_small_steady_excess_is_delayed_for_ever_and_told_once() {
    let guard =
        GuardConfig { sever_after: GuardConfig::default().sever_after, ..GuardConfig::open() };
    let mut desk = from_home(HubConfig { guard, ..config() });
    desk.login("ann");
    desk.join("ann", "memory");
    desk.hush();
    // 1.1 times 120 a second, for ten minutes.
    let (mut told, mut sent) = (0, 0);
    for round in 0_u64..600 * 132 {
        let due = (round + 1) * 1_000 / 132;
        desk.wait(due - round * 1_000 / 132);
        desk.say("ann", "on and on");
        sent += 1;
        if round % 1_320 == 0 {
            told += notices(&mut desk, "ann");
        }
        assert_eq!(desk.closed("ann"), None, "after {sent}");
    }
    told += notices(&mut desk, "ann");
    assert_eq!(told, 1);
    let expected = [(Step::Warn, Offence::Messages), (Step::Throttle, Offence::Messages)];
    assert_eq!(steps(&desk), expected);
}

/// What a sender acknowledges waits behind what it sends, and both are read slowly: by our own doing.
#[test]
fn a_sender_that_is_read_slowly_is_not_too_slow_for_its_acknowledgements() {
    let guard =
        GuardConfig { sever_after: GuardConfig::default().sever_after, ..GuardConfig::open() };
    let mut desk = from_home(HubConfig { guard, ..config() });
    desk.login("ann");
    desk.join("ann", "memory");
    // Its burst is spent after twenty seconds; it is throttled from then on.
    for round in 0_u64..90 * 132 {
        if round == 30 * 132 {
            desk.mute("ann");
        }
        let due = (round + 1) * 1_000 / 132;
        desk.wait(due - round * 1_000 / 132);
        desk.say("ann", "say on and on");
        assert_eq!(desk.closed("ann"), None, "after {round} messages");
    }
    // Nothing is held up any more, and still nothing is acknowledged.
    for _ in 0..25 {
        desk.wait(1_000);
        if desk.closed("ann").is_none() {
            desk.frame("ann", client_frame::Frame::Ping(Ping { nonce: 1 }));
        }
    }
    assert_eq!(desk.closed("ann"), Some(CloseCode::TooSlow));
}

#[test]
fn ten_times_the_budget_is_severed_within_five_seconds() {
    let guard =
        GuardConfig { sever_after: GuardConfig::default().sever_after, ..GuardConfig::open() };
    let mut desk = from_home(HubConfig { guard, ..config() });
    desk.login("ann");
    desk.join("ann", "memory");
    for millisecond in 0_u64..5_000 {
        desk.wait(1);
        // 1.2 a millisecond.
        for _ in 0..1 + u64::from(millisecond % 5 == 0) {
            if desk.closed("ann").is_none() {
                desk.say("ann", "flood");
            }
        }
    }
    assert_eq!(desk.closed("ann"), Some(CloseCode::Flooded));
}

#[test]
fn a_burst_that_is_far_too_large_is_no_flood_if_it_ends() {
    let mut desk = Desk::with_plaza(&["ann"]);
    for _ in 0..700 {
        desk.say("ann", "all at once");
    }
    desk.wait(10_000);
    assert_eq!(desk.closed("ann"), None);
    desk.assert_plays("ann");
}

#[test]
fn another_connection_is_no_new_budget() {
    let mut desk = Desk::with_plaza(&["ann"]);
    for _ in 0..240 {
        desk.say("ann", "flood");
    }
    let before = steps(&desk).len();
    desk.cut("ann");
    desk.resume("ann");
    desk.say("ann", "flood");
    assert_eq!(steps(&desk)[before..], [(Step::Throttle, Offence::Messages)]);
}

#[test]
fn a_fresh_session_is_no_new_budget() {
    let mut desk = Desk::with_plaza(&["ann"]);
    for _ in 0..240 {
        desk.say("ann", "flood");
    }
    let (before, first) = (steps(&desk).len(), desk.id("ann"));
    desk.try_hello("ann", |client, nonce| client.login(true, nonce)).expect("let in");
    assert_ne!(desk.id("ann"), first);
    desk.join("ann", "plaza");
    assert_eq!(steps(&desk)[before..], [(Step::Throttle, Offence::Messages)]);
}

#[test]
fn wrong_tokens_are_rationed_by_address_and_the_owner_is_not_locked_out() {
    let quota = Quota { most: 20, within: Duration::from_secs(60) };
    let mut desk = desk(GuardConfig { address_failures: quota, ..GuardConfig::open() });
    desk.origin = Some(ELSEWHERE);
    desk.login("ann");
    desk.origin = Some(HOME);
    for _ in 0..20 {
        assert_eq!(desk.try_hello("ann", wrong_token), Err(CloseCode::SessionUnknown));
    }
    assert_eq!(desk.try_hello("ann", wrong_token), Err(CloseCode::Flooded), "not told any more");
    assert_eq!(desk.try_login("eve"), Err(CloseCode::Flooded), "nobody logs in from there now");
    assert!((250..=6_000).contains(&told_to_wait(&desk, "eve")));
    assert!(steps(&desk).contains(&(Step::Sever, Offence::Failures)));
    // A neighbour who has a session comes back, and so does the owner from elsewhere.
    assert!(desk.try_resume("ann").is_ok());
    desk.origin = Some(ELSEWHERE);
    assert!(desk.try_resume("ann").is_ok());
    desk.origin = Some(HOME);
    desk.wait(6_000);
    assert!(desk.try_login("eve").is_ok(), "it comes back evenly");
}

#[test]
fn logins_of_an_address_and_resumes_of_a_session_are_rationed_and_others_are_not_concerned() {
    let resumes = Rate { per_second: 10, burst: 2 };
    let logins = Rate { per_second: 1, burst: 2 };
    let guard =
        GuardConfig { session_resumes: resumes, address_logins: logins, ..GuardConfig::open() };
    let mut desk = desk(guard);
    for name in ["ann", "bob"] {
        assert!(desk.try_login(name).is_ok());
    }
    assert_eq!(desk.try_login("cid"), Err(CloseCode::Flooded));
    desk.origin = Some(ELSEWHERE);
    assert!(desk.try_login("cid").is_ok());
    desk.origin = Some(HOME);
    for _ in 0..2 {
        assert!(desk.try_resume("ann").is_ok());
    }
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::Flooded));
    assert_eq!(desk.hub.counts().returns_deferred_below_bound_total, 1);
    // Others of the same address are not charged for that.
    assert!(desk.try_resume("bob").is_ok() && desk.try_resume("cid").is_ok());
}

#[test]
fn who_is_told_to_wait_does_not_lose_its_session_by_that() {
    let mut desk = from_home(config());
    desk.login("ann");
    desk.cut("ann");
    desk.wait(4_500);
    desk.input(HubInput::Waiting(usize::MAX));
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::NotReady));
    let wait = told_to_wait(&desk, "ann");
    desk.input(HubInput::Waiting(0));
    // Its hold of five seconds would have ended meanwhile.
    desk.wait(u64::from(wait) + 400);
    assert!(desk.try_resume("ann").is_ok());
    // And without a valid token nobody keeps a session alive.
    desk.cut("ann");
    desk.input(HubInput::Waiting(usize::MAX));
    for _ in 0..20 {
        desk.wait(400);
        let _ = desk.try_hello("ann", wrong_token);
    }
    assert!(desk.hub.session(desk.id("ann")).is_none_or(|session| session.ending().is_some()));
}

#[test]
fn who_is_told_to_wait_again_and_again_is_held_one_hold_from_the_last_time() {
    let mut desk = from_home(config());
    desk.login("ann");
    desk.cut("ann");
    desk.input(HubInput::Waiting(usize::MAX));
    for _ in 0..100 {
        desk.wait(200);
        assert_eq!(desk.try_resume("ann"), Err(CloseCode::NotReady));
    }
    let wait = u64::from(told_to_wait(&desk, "ann"));
    let is_there = |desk: &Desk| desk.hub.session(desk.id("ann")).is_some();
    assert!(is_there(&desk), "it was told to wait for 20 s; its hold is 5 s");
    desk.wait(5_000 + wait + 1);
    assert!(!is_there(&desk), "asking does not add up");
}

#[test]
fn an_address_that_breaks_the_rules_too_often_is_shut_out_for_a_while() {
    let quota = Quota { most: 3, within: Duration::from_secs(30) };
    let mut desk = desk(GuardConfig { address_violations: quota, ..GuardConfig::open() });
    for round in 1..=3 {
        let connection = desk.connect("eve");
        desk.receive_bytes(connection, Bytes::from_static(&[0xff; 40]));
        desk.run();
        assert_eq!(desk.barred.len(), usize::from(round == 3), "{round}");
    }
    assert_eq!(desk.barred, [(HOME, Duration::from_secs(10))]);
}

/// Breaks the rules so often from where connections come from now.
fn break_rules(desk: &mut Desk, times: usize) {
    for _ in 0..times {
        let connection = desk.connect("eve");
        desk.receive_bytes(connection, Bytes::from_static(&[0xff; 40]));
        desk.run();
    }
}

#[test]
fn while_an_address_is_barred_the_holds_of_its_players_stand_still() {
    let quota = Quota { most: 3, within: Duration::from_secs(30) };
    let mut desk = desk(GuardConfig { address_violations: quota, ..GuardConfig::open() });
    desk.login("ann");
    desk.origin = Some(ELSEWHERE);
    desk.login("bob");
    for name in ["ann", "bob"] {
        desk.cut(name);
    }
    desk.origin = Some(HOME);
    break_rules(&mut desk, 3);
    assert_eq!(desk.barred, [(HOME, Duration::from_secs(10))]);
    // Holds are five seconds; ann could not have come before ten were over.
    desk.wait(14_000);
    assert_eq!(desk.try_resume("bob"), Err(CloseCode::SessionUnknown), "another address");
    assert!(desk.try_resume("ann").is_ok());
    desk.cut("ann");
    desk.wait(5_001);
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::SessionUnknown), "the bar is long over");
}

#[test]
fn a_hold_stands_still_for_a_bar_no_longer_than_violations_are_counted() {
    let quota = Quota { most: 3, within: Duration::from_secs(30) };
    let mut desk = desk(GuardConfig { address_violations: quota, ..GuardConfig::open() });
    desk.login("ann");
    desk.cut("ann");
    for _ in 0..6 {
        break_rules(&mut desk, 3);
        desk.wait(5_600);
    }
    assert!(desk.view("ann").is_some(), "barred for 33 seconds without a gap");
    desk.wait(3_000);
    assert!(desk.view("ann").is_none(), "thirty and its own five are over");
}

#[test]
fn everybody_at_once_comes_back_before_anybody_logs_in() {
    let mut desk = from_home(HubConfig { returns_per_second: 3, ..config() });
    let names = ["ann", "bob", "cid", "dan", "eve", "fay"];
    for name in names {
        desk.wait(2_000);
        desk.login(name);
    }
    desk.wait(2_000);
    for name in names {
        desk.cut(name);
    }
    // Three logins fit into their half; the other half is for those who return.
    for name in ["gus", "hal", "ida"] {
        assert!(desk.try_login(name).is_ok(), "{name}");
    }
    assert_eq!(desk.try_login("jan"), Err(CloseCode::NotReady));
    for name in ["ann", "bob", "cid"] {
        assert!(desk.try_resume(name).is_ok(), "{name}");
    }
    assert_eq!(desk.try_resume("dan"), Err(CloseCode::NotReady));
    assert!(told_to_wait(&desk, "dan") >= 250);
    desk.wait(2_000);
    assert!(desk.try_resume("dan").is_ok());
}

#[test]
fn all_connections_of_an_address_share_its_messages() {
    let guard = GuardConfig {
        address_messages: Rate { per_second: 100, burst: 64 },
        ..GuardConfig::open()
    };
    let mut desk = desk(guard);
    for name in ["ann", "bob", "cid"] {
        desk.login(name);
        desk.join(name, "plaza");
        desk.hush();
        for _ in 0..40 {
            desk.say(name, "word");
        }
    }
    let throttled =
        |desk: &mut Desk, name: &str| desk.take(name).iter().any(|said| said == "notice Throttled");
    assert!(!throttled(&mut desk, "ann"));
    assert!(throttled(&mut desk, "cid"), "forty each are three portions of thirty-two");
}
