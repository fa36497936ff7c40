//! Who may come in: signatures, challenges, admission and bans. An id or a token that was seen on
//! the wire is worth nothing without the key.

use std::time::Duration;

use rejoin_core::hub::{Admission, Answer, Command, HubInput, PlayerCommand, Whom};
use rejoin_core::time::WallTime;
use rejoin_core::wire::proof::{Proof, Purpose};
use rejoin_core::wire::v1::{
    CloseCode, Hello, Login, Rung, RungReason, client_frame, hello, login, server_frame,
};
use rejoin_core::wire::{Bytes, VERSION};

use crate::desk::client::{Client, SERVER, anonymous, hello_for};
use crate::desk::{Desk, Doorman, ban, config, unban};

#[test]
fn a_first_login_is_new_and_its_session_positive() {
    let mut desk = Desk::plain();
    let welcome = desk.login("ann");
    assert_eq!((welcome.rung(), welcome.reason()), (Rung::New, RungReason::First));
    assert!(welcome.session > 0 && welcome.token.len() == 32 && welcome.secret.is_empty());
    assert_eq!(&welcome.player[..], desk.client("ann").player().0);
    assert_eq!((welcome.hold_ms, welcome.heartbeat_ms), (5_000, 5_000));
}

fn proof_of<'a>(nonce: &'a [u8], purpose: Purpose) -> Proof<'a> {
    Proof {
        purpose,
        version: VERSION,
        server_name: SERVER,
        nonce,
        session: 0,
        epoch: 0,
        fresh: false,
        cold: false,
        capabilities: &[],
        admission: &[],
        channel_binding: &[],
    }
}

type Change = fn(&mut Proof<'_>);

/// A login whose proof is over something else than it says.
fn login_signed(client: &Client, proof: &Proof<'_>) -> Hello {
    let identity = Some(login::Identity::Key(client.sign(proof)));
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

// Row of §6: "hand-off/resume key guessable or unverified".
#[test]
fn a_signature_serves_nothing_but_what_it_was_given_for() {
    let capabilities = ["more".to_owned()];
    let other = [8; 32];
    let changes: Vec<(&str, Change)> = vec![
        ("resume", |proof| proof.purpose = Purpose::Resume),
        ("link", |proof| proof.purpose = Purpose::Link),
        ("another name of this server", |proof| proof.server_name = "127.0.0.1"),
        ("another server", |proof| proof.server_name = "evil.example"),
        ("another version", |proof| proof.version = 2),
        ("a session", |proof| proof.session = 1),
        ("an epoch", |proof| proof.epoch = 1),
        ("fresh", |proof| proof.fresh = true),
        ("cold", |proof| proof.cold = true),
        ("an admission", |proof| proof.admission = b"vip"),
        ("a channel", |proof| proof.channel_binding = b"tls"),
    ];
    let mut desk = Desk::with_plaza(&["bob"]);
    for (what, change) in changes {
        let refused = desk.try_hello("ann", |ann, nonce| {
            let mut proof = proof_of(nonce, Purpose::Login);
            change(&mut proof);
            login_signed(ann, &proof)
        });
        assert_eq!(refused, Err(CloseCode::Credential), "{what}");
    }
    let refused =
        desk.try_hello("ann", |ann, _| login_signed(ann, &proof_of(&other, Purpose::Login)));
    assert_eq!(refused, Err(CloseCode::Credential), "another challenge");
    let refused = desk.try_hello("ann", |ann, nonce| {
        let capabilities = &capabilities[..];
        login_signed(ann, &Proof { capabilities, ..proof_of(nonce, Purpose::Login) })
    });
    assert_eq!(refused, Err(CloseCode::Credential), "capabilities");
    desk.assert_plays("bob");
    assert!(desk.try_hello("ann", |a, n| login_signed(a, &proof_of(n, Purpose::Login))).is_ok());
}

#[test]
fn a_resume_signed_for_another_session_epoch_or_purpose_is_refused() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let changes: Vec<(&str, Change)> = vec![
        ("login", |proof| proof.purpose = Purpose::Login),
        ("another session", |proof| proof.session += 1),
        ("another epoch", |proof| proof.epoch += 1),
        ("cold", |proof| proof.cold = true),
    ];
    for (what, change) in changes {
        let refused = desk.try_hello("ann", |ann, nonce| {
            let mut hello = ann.resume(false, nonce);
            let base = proof_of(nonce, Purpose::Resume);
            let mut proof = Proof { session: ann.session, epoch: ann.epoch, ..base };
            change(&mut proof);
            if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
                resume.key = Some(ann.sign(&proof));
            }
            hello
        });
        assert_eq!(refused, Err(CloseCode::SessionUnknown), "{what}");
    }
    desk.assert_plays("bob");
}

#[test]
fn a_forged_signature_is_refused() {
    let mut desk = Desk::with_plaza(&["bob"]);
    let refused = desk.try_hello("ann", |ann, nonce| {
        let mut proof = ann.sign(&proof_of(nonce, Purpose::Login));
        let mut bytes = proof.signature.to_vec();
        bytes[10] ^= 1;
        proof.signature = bytes.into();
        let identity = Some(login::Identity::Key(proof));
        hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
    });
    assert_eq!(refused, Err(CloseCode::Credential));
    assert_eq!(desk.hub.sessions().count(), 1);
    desk.assert_plays("bob");
}

#[test]
fn another_player_cannot_sign_for_a_session() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let (session, token, epoch) = {
        let ann = desk.client("ann");
        (ann.session, ann.token.clone(), ann.epoch)
    };
    // Row of §6: "hand-off/resume key guessable or unverified": id, token and epoch are known here.
    let refused = desk.try_hello("eve", |eve, nonce| {
        let mut hello = eve.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            (resume.session, resume.token, resume.epoch) = (session, token.clone(), epoch);
        }
        eve.signed(hello, nonce)
    });
    assert_eq!(refused, Err(CloseCode::SessionUnknown));
    let refused = desk.try_hello("eve", |eve, nonce| {
        let mut hello = eve.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            (resume.session, resume.token, resume.key) = (session, token, None);
        }
        hello
    });
    assert_eq!(refused, Err(CloseCode::SessionUnknown), "and not without a signature either");
    desk.assert_plays("ann");
    desk.assert_plays("bob");
}

#[test]
fn a_challenge_serves_one_hello() {
    let mut desk = Desk::with_plaza(&["bob"]);
    desk.login("ann");
    let again = desk.client("ann").login(false, &desk.nonce("ann"));
    desk.say_hello("ann", again);
    assert_eq!(desk.closed("ann"), Some(CloseCode::OutOfState));
    desk.assert_plays("bob");
}

#[test]
fn a_hello_replayed_on_another_connection_is_refused() {
    let mut desk = Desk::plain();
    desk.connect("ann");
    let hello = desk.client("ann").login(false, &desk.nonce("ann"));
    desk.say_hello("ann", hello.clone());
    let refused = desk.try_hello("eve", |_, _| hello);
    assert_eq!(refused, Err(CloseCode::Credential));
    assert_eq!(desk.closed("ann"), None);
}

#[test]
fn a_name_that_is_not_this_servers_is_refused() {
    let mut desk = Desk::plain();
    let refused = desk.try_hello("ann", |ann, nonce| {
        let mut hello = ann.login(false, nonce);
        hello.server_name = "evil.example".to_owned();
        ann.signed(hello, nonce)
    });
    assert_eq!(refused, Err(CloseCode::WrongName));
}

fn mint() -> Hello {
    let identity = Some(login::Identity::Mint(Default::default()));
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

fn by_secret(secret: Bytes) -> Hello {
    let identity = Some(login::Identity::Secret(secret));
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

#[test]
fn a_minted_secret_finds_its_player_again_over_a_crash() {
    let mut desk = Desk::plain();
    let first = desk.try_hello("ann", |_, _| mint()).expect("a guest comes in");
    assert_eq!(first.secret.len(), 32);
    desk.bye("ann");
    desk.crash();
    desk.restart();
    let second = desk.try_hello("ann", |ann, _| by_secret(ann.secret.clone())).expect("known");
    assert_eq!(first.player, second.player);
    assert!(second.secret.is_empty(), "it is shown once");
    let unknown = desk.try_hello("eve", |_, _| by_secret(Bytes::from_static(&[5; 32])));
    assert_eq!(unknown, Err(CloseCode::Credential), "one answer for unknown and wrong");
}

#[test]
fn identities_that_are_switched_off_are_refused() {
    let mut desk = Desk::plain();
    assert_eq!(desk.try_hello("ann", |_, _| anonymous()), Err(CloseCode::IdentityOff));
    let mut config = config();
    (config.keys, config.secrets, config.anonymous) = (false, false, true);
    let mut desk = Desk::new(config);
    assert_eq!(desk.try_login("ann"), Err(CloseCode::IdentityOff));
    assert_eq!(desk.try_hello("ann", |_, _| mint()), Err(CloseCode::IdentityOff));
    assert!(desk.try_hello("ann", |_, _| anonymous()).is_ok());
}

fn asked() -> Desk {
    let mut config = config();
    config.admission = Admission::Ask(Duration::from_millis(2_000));
    Desk::new(config)
}

#[test]
fn the_game_lets_in_or_refuses_each_login() {
    let mut desk = asked();
    desk.login("bob");
    desk.join("bob", "plaza");
    desk.doorman = Doorman::Refuses;
    assert_eq!(desk.try_login("ann"), Err(CloseCode::AdmissionRefused));
    desk.assert_plays("bob");
    desk.cut("bob");
    assert_eq!(desk.resume("bob").rung(), Rung::Replayed, "a resume was let in before");
}

// Row of §6: "validation skipped when the validator is absent".
#[test]
fn no_answer_of_the_admission_rule_is_a_refusal() {
    let mut desk = asked();
    desk.doorman = Doorman::Sleeps;
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Unspecified), "nothing is said yet");
    let connection = desk.client("ann").connection();
    desk.wait(1_999);
    assert_eq!(desk.closed("ann"), None);
    desk.wait(1);
    assert_eq!(desk.verdict("ann", connection), Err(CloseCode::AdmissionTimeout));
    desk.admit(connection);
    assert_eq!(desk.hub.sessions().count(), 0, "a late yes lets nobody in");
}

#[test]
fn a_ban_ends_what_is_live_and_keeps_out() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let (player, session) = (desk.client("ann").player(), desk.id("ann"));
    assert_eq!(desk.command(ban(player, WallTime(u64::MAX))), Some(Answer::Done));
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("farewell Banned"));
    assert_eq!(desk.take("bob"), [format!("parted {session} SessionEnded")]);
    assert!(desk.hub.session(session).is_none());
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Banned));
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::SessionUnknown), "nothing to resume");
    desk.crash();
    desk.restart();
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Banned), "a ban outlives a crash");
    assert_eq!(desk.command(unban(player)), Some(Answer::Done));
    assert!(desk.try_login("ann").is_ok());
}

#[test]
fn who_is_banned_while_it_plays_reads_why() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    for (name, reason, text) in
        [("ann", "spam", "this player is banned: spam"), ("bob", "", "this player is banned")]
    {
        let whom = Whom::Player(desk.client(name).player());
        let ban = PlayerCommand::Ban(whom, WallTime(u64::MAX), reason.to_owned());
        assert_eq!(desk.command(Command::Player(ban)), Some(Answer::Done));
        let frames = &desk.client(name).line().frames;
        let farewell = frames.last().and_then(|frame| frame.frame.as_ref());
        let Some(server_frame::Frame::Farewell(farewell)) = farewell else {
            panic!("{farewell:?}");
        };
        assert_eq!((farewell.code(), &*farewell.text), (CloseCode::Banned, text));
    }
}

#[test]
fn a_ban_is_read_on_every_resume() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let player = desk.client("ann").player();
    desk.cut("ann");
    // A ban counts once it is kept: until then a return is neither let in nor refused.
    desk.store.hold(|scope| matches!(scope, rejoin_core::scope::ScopeId::Player(_)));
    desk.order(ban(player, WallTime(u64::MAX)));
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::Unspecified), "nothing is said yet");
    let connection = desk.client("ann").connection();
    desk.store.release();
    desk.run();
    assert_eq!(desk.verdict("ann", connection), Err(CloseCode::Banned));
    desk.assert_plays("bob");
    // A crash in between has banned nobody, and has said so to nobody.
    let player = desk.client("bob").player();
    desk.cut("bob");
    desk.store.hold(|scope| matches!(scope, rejoin_core::scope::ScopeId::Player(_)));
    desk.order(ban(player, WallTime(u64::MAX)));
    assert_eq!(desk.try_resume("bob"), Err(CloseCode::Unspecified), "nothing is said yet");
    desk.crash();
    desk.restart();
    assert!(desk.try_resume("bob").is_ok());
}

/// Fail closed: a ban that cannot be read is not a player without a ban.
#[test]
fn who_may_be_banned_is_not_let_in_before_somebody_decides() {
    for (command, verdict) in [
        (unban as fn(_) -> Command, None),
        (|player| ban(player, WallTime(u64::MAX)), Some(CloseCode::Banned)),
    ] {
        let mut desk = Desk::plain();
        for name in ["ann", "bob"] {
            desk.login(name);
        }
        let player = desk.client("ann").player();
        desk.command(ban(player, WallTime(u64::MAX)));
        desk.damaged_players.push(player);
        desk.crash();
        desk.restart();
        assert_eq!(desk.hub.quarantined().collect::<Vec<_>>(), [player]);
        assert_eq!(desk.try_login("ann"), Err(CloseCode::StoreFailed));
        assert_eq!(desk.resume("bob").rung(), Rung::Replayed, "nobody else is meant");
        desk.damaged_players.clear();
        assert_eq!(desk.command(command(player)), Some(Answer::Done));
        assert_eq!(desk.try_login("ann").err(), verdict);
        desk.crash();
        desk.restart();
        assert_eq!(desk.try_login("ann").err(), verdict, "what was decided is kept");
    }
}

/// The same for whoever is held, and for a guest whose secret cannot be compared any more.
#[test]
fn a_damaged_player_does_not_resume_either() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let player = desk.client("ann").player();
    // Something is kept of her.
    desk.command(unban(player));
    desk.damaged_players.push(player);
    desk.crash();
    desk.restart();
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::StoreFailed));
    assert_eq!(desk.command(unban(player)), Some(Answer::Done));
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
}

#[test]
fn a_ban_that_is_over_lets_in_again() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let player = desk.client("ann").player();
    desk.input(HubInput::Wall(WallTime(5_000_000)));
    desk.command(ban(player, WallTime(5_010_000)));
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Banned));
    desk.input(HubInput::Wall(WallTime(4_800_000)));
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Banned), "a small step back is waited out");
    desk.wait(10_000);
    assert!(desk.try_login("ann").is_ok());
}

#[test]
fn a_ban_ends_while_the_process_stands_still() {
    let mut desk = Desk::plain();
    desk.login("ann");
    desk.login("bob");
    let player = desk.client("ann").player();
    desk.input(HubInput::Wall(WallTime(5_000_000)));
    desk.command(ban(player, WallTime(5_030_000)));
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Banned));
    desk.freeze(60_000);
    assert_eq!(desk.closed("bob"), None, "service time stood still");
    assert!(desk.try_login("ann").is_ok(), "the wall clock went on");
}

#[test]
fn nobody_comes_in_before_recovery_is_done() {
    let mut desk = Desk::with_plaza(&["ann"]);
    desk.crash();
    desk.hold_zones = true;
    desk.restart();
    assert!(!desk.hub.is_ready());
    assert_eq!(desk.try_resume("ann"), Err(CloseCode::NotReady));
    let wait = desk.client("ann").line().frames.iter().find_map(|frame| match &frame.frame {
        Some(server_frame::Frame::Refusal(refusal)) => Some(refusal.retry_after_ms),
        _ => None,
    });
    assert_eq!(wait, Some(250), "and is told how long to wait");
    desk.hold_zones = false;
    desk.run();
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
}

#[test]
fn a_full_service_refuses_and_disturbs_nobody() {
    let mut config = config();
    config.sessions_max = 1;
    let mut desk = Desk::new(config);
    desk.login("bob");
    desk.join("bob", "plaza");
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Full));
    desk.assert_plays("bob");
    let frame = client_frame::Frame::Ping(Default::default());
    desk.frame("bob", frame);
}
