//! Returns: what a resume with a valid token, one without, and a crowd of them cost and are answered.

use std::time::Duration;

use rejoin_core::budget::Quota;
use rejoin_core::guard::{GuardConfig, Origin};
use rejoin_core::hub::{HubConfig, HubInput};
use rejoin_core::scope::ScopeId;
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{CloseCode, Hello, Resume, hello, server_frame};

use crate::desk::client::{Client, hello_for};
use crate::desk::{Desk, config};

const HOME: Origin = Origin::v4(1);

fn name(number: usize) -> &'static str {
    format!("player {number}").leak()
}

/// A resume of a session that was never there.
fn invented(session: u64) -> Hello {
    let resume = Resume { session, token: vec![5; 32].into(), ..Resume::default() };
    hello_for(hello::Purpose::Resume(resume))
}

fn with_token(client: &Client, nonce: &[u8], token: Bytes) -> Hello {
    let mut hello = client.resume(false, nonce);
    if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
        resume.token = token;
    }
    client.signed(hello, nonce)
}

/// Code and text of the last refusal that the client heard.
fn refusal(desk: &Desk, name: &str) -> (CloseCode, String) {
    let frames = desk.client(name).lines.iter().flat_map(|line| &line.frames);
    let mut refusals = frames.filter_map(|frame| match &frame.frame {
        Some(server_frame::Frame::Refusal(said)) => Some((said.code(), said.text.clone())),
        _ => None,
    });
    refusals.next_back().expect("it was refused")
}

#[test]
fn resumes_of_invented_sessions_keep_nobody_from_coming_in() {
    let guard = GuardConfig::default();
    let mut desk = Desk::new(HubConfig { guard, ..config() });
    desk.login("ann");
    desk.cut("ann");
    for number in 0..5_000 {
        desk.origin = Some(Origin::v4(1_000 + number % 500));
        let refused = desk.try_hello("eve", |_, _| invented(9_000 + u64::from(number)));
        assert!(matches!(refused, Err(CloseCode::SessionUnknown)), "{refused:?}");
    }
    desk.origin = Some(HOME);
    assert!(desk.try_resume("ann").is_ok(), "a valid token");
    assert!(desk.try_login("bob").is_ok(), "a login");
}

#[test]
fn a_hundred_players_behind_one_address_return_at_once() {
    let mut desk = Desk::new(HubConfig { guard: GuardConfig::default(), ..config() });
    let names: Vec<&'static str> = (0..100).map(name).collect();
    for (number, name) in names.iter().enumerate() {
        desk.origin = Some(Origin::v4(1_000 + number as u32));
        desk.login(name);
    }
    desk.origin = Some(HOME);
    for name in &names {
        desk.cut(name);
    }
    for name in &names {
        assert!(desk.try_resume(name).is_ok(), "{name}");
    }
    assert_eq!(desk.hub.counts().returns_deferred_total, 0);
}

#[test]
fn returns_wait_only_while_as_many_commits_as_allowed_are_under_way() {
    let mut desk = Desk::new(HubConfig { load_commits_max: 4, ..config() });
    let names: Vec<&'static str> = (0..6).map(name).collect();
    for name in &names {
        desk.login(name);
    }
    for name in &names {
        desk.cut(name);
    }
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    let waits = |desk: &mut Desk, name: &'static str| {
        let connection = desk.connect(name);
        let hello = desk.client(name).resume(false, &desk.nonce(name));
        desk.say_hello(name, hello);
        let frames = desk.client(name).lines.iter().find(|line| line.id == connection);
        frames.into_iter().flat_map(|line| &line.frames).any(|frame| {
            matches!(&frame.frame, Some(server_frame::Frame::Refusal(said))
                if said.code() == CloseCode::NotReady && said.retry_after_ms >= 250)
        })
    };
    let told: Vec<bool> = names.iter().map(|name| waits(&mut desk, name)).collect();
    assert_eq!(told, [false, false, false, false, true, true]);
    let counts = desk.hub.counts();
    assert_eq!(counts.returns_deferred_total, 2);
    assert_eq!(counts.returns_deferred_below_bound_total, 0);
    assert_eq!(counts.deferred_at.commits, 4);
    desk.store.release();
    desk.run();
    // Whoever was told to wait comes in as soon as the store has caught up.
    assert!(desk.try_resume(names[4]).is_ok() && desk.try_resume(names[5]).is_ok());
    assert_eq!(desk.hub.counts().returns_deferred_total, 2);
}

#[test]
fn logins_leave_half_of_the_load_to_returns() {
    let mut desk = Desk::new(HubConfig { load_inputs_max: 100, ..config() });
    desk.login("ann");
    desk.cut("ann");
    desk.input(HubInput::Waiting(50));
    assert_eq!(desk.try_login("bob"), Err(CloseCode::NotReady));
    assert!(desk.try_resume("ann").is_ok());
    desk.cut("ann");
    desk.input(HubInput::Waiting(100));
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::NotReady));
    desk.input(HubInput::Waiting(49));
    assert!(desk.try_resume("ann").is_ok());
    assert!(desk.try_login("bob").is_ok());
    let counts = desk.hub.counts();
    assert_eq!((counts.returns_deferred_total, counts.returns_deferred_below_bound_total), (1, 0));
    assert_eq!(counts.deferred_at.inputs, 100);
}

#[test]
fn unknown_and_wrong_are_answered_and_counted_alike() {
    let quota = Quota { most: 6, within: Duration::from_secs(60) };
    let guard = GuardConfig { address_failures: quota, ..GuardConfig::open() };
    let mut desk = Desk::new(HubConfig { guard, ..config() });
    desk.login("ann");
    desk.cut("ann");
    let (session, token) = (desk.client("ann").session, desk.client("ann").token.clone());
    let unsigned = move |token: Bytes| {
        move |_: &Client, _: &[u8]| {
            hello_for(hello::Purpose::Resume(Resume { session, token, ..Resume::default() }))
        }
    };
    let mut told = Vec::new();
    desk.origin = Some(HOME);
    let _ = desk.try_hello("eve", |_, _| invented(session + 77));
    told.push(refusal(&desk, "eve"));
    // The session of a key: with a wrong token, unsigned and signed, and with the right one that
    // somebody else, or nobody, has signed.
    let _ = desk.try_hello("eve", unsigned(Bytes::from_static(&[3; 32])));
    told.push(refusal(&desk, "eve"));
    let _ =
        desk.try_hello("ann", |ann, nonce| with_token(ann, nonce, Bytes::from_static(&[3; 32])));
    told.push(refusal(&desk, "ann"));
    let _ = desk.try_hello("eve", unsigned(token.clone()));
    told.push(refusal(&desk, "eve"));
    let _ = desk.try_hello("eve", |eve, nonce| {
        let mut hello = with_token(eve, nonce, token.clone());
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            resume.session = session;
        }
        eve.signed(hello, nonce)
    });
    told.push(refusal(&desk, "eve"));
    let _ = desk.try_hello("ann", |ann, nonce| {
        let mut hello = ann.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            resume.key = resume.key.take().map(|mut key| {
                key.signature = Bytes::from_static(&[0; 64]);
                key
            });
        }
        hello
    });
    told.push(refusal(&desk, "ann"));
    let one = (CloseCode::SessionUnknown, "unknown session or token".to_owned());
    assert!(told.iter().all(|said| *said == one), "{told:?}");
    // Six failures of one address: the seventh is not told any more.
    let _ = desk.try_hello("eve", |_, _| invented(session + 78));
    assert_eq!(refusal(&desk, "eve").0, CloseCode::Flooded);
    assert!(desk.try_resume("ann").is_ok(), "the owner is not locked out");
}
