//! Accounts: who proves one is its player, keys that belong to one, and what operators do with them.

use rejoin_core::account::{Name, Refusal, Role};
use rejoin_core::event::{EndCause, Event};
use rejoin_core::hub::{
    AccountPolicy, Admission, Answer, Command, PasswordHash, PlayerCommand, Whom,
};
use rejoin_core::id::PlayerId;
use rejoin_core::scope::ScopeId;
use rejoin_core::time::WallTime;
use rejoin_core::wire::v1::{CloseCode, Hello, Login, Rung, Welcome, hello, login};

use crate::desk::client::{Client, anonymous, hello_for};
use crate::desk::{Desk, Doorman, config};

fn desk(policy: AccountPolicy) -> Desk {
    let mut config = config();
    config.accounts = policy;
    Desk::new(config)
}

fn whom(name: &str) -> Whom {
    Whom::Name(Name::parse(name).expect("a name"))
}

fn order(desk: &mut Desk, command: PlayerCommand) -> Answer {
    desk.command(Command::Player(command)).expect("answered")
}

fn add(desk: &mut Desk, name: &str) -> PlayerId {
    let password = Some(PasswordHash("hash".to_owned()));
    let name = Name::parse(name).expect("a name");
    let add = PlayerCommand::Add { name: name.clone(), role: Role::Player, password };
    assert_eq!(order(desk, add), Answer::Done);
    desk.hub.player(&Whom::Name(name)).expect("it is there").player
}

/// A login by key that proves something.
fn prove(desk: &mut Desk, name: &'static str, words: &str) -> Result<Welcome, CloseCode> {
    let words = words.to_owned();
    desk.try_hello(name, move |client: &Client, nonce| {
        let login = Login { identity: None, fresh: false };
        let hello = Hello { admission: words.into(), ..hello_for(hello::Purpose::Login(login)) };
        let mut signed = hello.clone();
        let identity = Some(login::Identity::Key(client.proof(&hello, nonce)));
        signed.purpose = Some(hello::Purpose::Login(Login { identity, fresh: false }));
        signed
    })
}

fn player(welcome: Result<Welcome, CloseCode>) -> PlayerId {
    PlayerId::from_slice(&welcome.expect("let in").player).expect("16 bytes")
}

#[test]
fn who_proves_an_account_is_its_player_on_any_device() {
    let mut desk = desk(AccountPolicy::Optional);
    let ann = add(&mut desk, "ann");
    assert_eq!(player(prove(&mut desk, "phone", "password ann")), ann);
    // Another device finds the same session, and the first one is told.
    let welcome = prove(&mut desk, "laptop", "password ann");
    assert!(welcome.as_ref().is_ok_and(|welcome| welcome.found));
    assert_eq!(player(welcome), ann);
    assert_eq!(desk.closed("phone"), Some(CloseCode::TakenOver));
    desk.cut("laptop");
    assert_eq!(desk.resume("laptop").rung(), Rung::Replayed, "its own key signs the resume");
    assert_eq!(desk.try_resume("phone"), Err(CloseCode::Credential), "the other key does not");
    // A key that was not linked is a guest without the password.
    let guest = desk.client("phone").player();
    assert_eq!(player(desk.try_login("phone")), guest);
    assert_ne!(guest, ann);
}

#[test]
fn unknown_and_wrong_have_one_answer_and_an_account_is_no_guest_before_it_is_proven() {
    let mut desk = desk(AccountPolicy::Optional);
    add(&mut desk, "ann");
    for words in ["wrong", "password nobody"] {
        assert_eq!(prove(&mut desk, "eve", words), Err(CloseCode::Credential), "{words}");
    }
    assert_eq!(prove(&mut desk, "eve", "busy"), Err(CloseCode::Full));
    assert_eq!(player(prove(&mut desk, "eve", "a ticket")), desk.client("eve").player());
    desk.connect("mallory");
    let nonce = desk.nonce("mallory");
    let mut hello = desk.client("mallory").login(false, &nonce);
    hello.admission = "silence".into();
    let proof = desk.client("mallory").proof(&hello, &nonce);
    let identity = Some(login::Identity::Key(proof));
    hello.purpose = Some(hello::Purpose::Login(Login { identity, fresh: false }));
    desk.say_hello("mallory", hello);
    desk.wait(6_000);
    assert_eq!(desk.closed("mallory"), Some(CloseCode::AdmissionTimeout), "no answer, no entry");
}

#[test]
fn where_accounts_are_required_nobody_else_is_let_in() {
    let mut desk = desk(AccountPolicy::Required);
    let ann = add(&mut desk, "ann");
    assert_eq!(desk.try_login("bob"), Err(CloseCode::IdentityOff));
    assert_eq!(prove(&mut desk, "bob", "a ticket"), Err(CloseCode::IdentityOff));
    assert_eq!(player(prove(&mut desk, "bob", "password ann join")), ann);
    desk.cut("bob");
    desk.wait(60_000);
    assert_eq!(player(desk.try_login("bob")), ann, "the key is the account's now");
}

#[test]
fn an_account_needs_no_other_identity_and_anonymous_stays_off() {
    let mut config = config();
    (config.anonymous, config.accounts) = (false, AccountPolicy::Optional);
    let mut desk = Desk::new(config);
    let ann = add(&mut desk, "ann");
    let with = |words: &'static str| {
        move |_: &Client, _: &[u8]| Hello { admission: words.into(), ..anonymous() }
    };
    assert_eq!(player(desk.try_hello("page", with("password ann"))), ann);
    assert_eq!(desk.try_hello("page", with("")), Err(CloseCode::IdentityOff));
    assert_eq!(desk.try_hello("page", with("a ticket")), Err(CloseCode::IdentityOff));
    let linked = desk.try_hello("page", with("password ann join"));
    assert_eq!(linked, Err(CloseCode::AdmissionRefused), "there is no key to link");
}

#[test]
fn a_guest_that_is_linked_stays_the_same_player_in_the_same_session() {
    let mut desk = desk(AccountPolicy::Optional);
    let unused = add(&mut desk, "ann");
    let session = desk.login("ann").session;
    let guest = desk.client("ann").player();
    let welcome = prove(&mut desk, "ann", "password ann bring").expect("let in");
    assert_eq!((welcome.session, welcome.found), (session, true), "its session goes on");
    assert_eq!(player(Ok(welcome)), guest);
    assert!(desk.hub.player(&Whom::Player(unused)).is_none(), "nobody had that one");
    // Through a crash, on another device, and by the key alone.
    desk.crash();
    desk.restart();
    assert_eq!(player(prove(&mut desk, "phone", "password ann")), guest);
    assert_eq!(player(desk.try_login("ann")), guest);
    // Somebody else cannot bring theirs any more.
    assert_eq!(prove(&mut desk, "eve", "password ann bring"), Err(CloseCode::AdmissionRefused));
}

#[test]
fn a_token_of_another_service_makes_an_account_with_its_first_login() {
    let mut desk = desk(AccountPolicy::Optional);
    let first = player(prove(&mut desk, "ann", "token sub-1"));
    assert_eq!(player(prove(&mut desk, "phone", "token sub-1")), first);
    assert_ne!(player(prove(&mut desk, "bob", "token sub-2")), first);
    let guest = Client::new("cem").player();
    assert_eq!(player(prove(&mut desk, "cem", "token sub-3 bring")), guest);
    desk.crash();
    desk.restart();
    assert_eq!(player(prove(&mut desk, "phone", "token sub-1")), first);
    assert_eq!(desk.hub.players_after(None, 10).len(), 3);
}

#[test]
fn a_login_waits_for_its_account_and_the_game_is_asked_about_the_accounts_player() {
    let mut config = config();
    config.accounts = AccountPolicy::Optional;
    config.admission = Admission::Ask(std::time::Duration::from_secs(5));
    let mut desk = Desk::new(config);
    let ann = add(&mut desk, "ann");
    desk.doorman = Doorman::Refuses;
    let refused = prove(&mut desk, "ann", "password ann bring");
    assert_eq!(refused, Err(CloseCode::AdmissionRefused));
    assert_eq!(desk.admitted, ["for the game"], "and not the password");
    assert_eq!(desk.hub.player(&whom("ann")).expect("kept").player, ann, "nothing was linked");
    desk.doorman = Doorman::Approves;
    desk.store.hold(|scope| matches!(scope, ScopeId::Account(_)));
    let early = prove(&mut desk, "ann", "password ann");
    assert_eq!(early, Err(CloseCode::Unspecified), "neither in nor refused before it is durable");
    desk.store.release();
    desk.run();
    assert!(desk.client("ann").session > 0);
}

#[test]
fn a_lock_ends_what_is_live_and_keeps_out_every_way_in() {
    let mut desk = desk(AccountPolicy::Optional);
    add(&mut desk, "ann");
    prove(&mut desk, "ann", "password ann bring").expect("let in");
    desk.hush();
    assert_eq!(order(&mut desk, PlayerCommand::Lock(whom("ann"), true)), Answer::Done);
    assert_eq!(desk.take("ann").last().map(String::as_str), Some("farewell Locked"));
    let left = |event: &Event| matches!(event, Event::PlayerLeft { cause: EndCause::Locked, .. });
    assert!(desk.events.iter().any(left), "{:?}", desk.events);
    for round in 0..2 {
        assert_eq!(desk.try_login("ann"), Err(CloseCode::Locked), "{round}: by key");
        assert_eq!(desk.try_resume("ann"), Err(CloseCode::SessionUnknown), "{round}: ended");
        assert_eq!(prove(&mut desk, "phone", "password ann"), Err(CloseCode::Locked), "{round}");
        desk.crash();
        desk.restart();
    }
    assert_eq!(order(&mut desk, PlayerCommand::Lock(whom("ann"), false)), Answer::Done);
    assert!(desk.try_login("ann").is_ok());
}

#[test]
fn a_ban_is_the_players_whatever_key_or_account_it_comes_with() {
    let mut desk = desk(AccountPolicy::Optional);
    let ann = add(&mut desk, "ann");
    let until = WallTime(u64::MAX);
    let ban = PlayerCommand::Ban(whom("ann"), until, "spoiled the game".to_owned());
    assert_eq!(order(&mut desk, ban), Answer::Done);
    for words in ["password ann", "password ann bring", "password ann join"] {
        assert_eq!(prove(&mut desk, "ann", words), Err(CloseCode::Banned), "{words}");
    }
    let told = desk.take("ann").pop().expect("told");
    assert!(told.contains("Banned"), "{told}");
    let shown = desk.hub.player(&Whom::Player(ann)).expect("kept");
    assert_eq!(shown.ban, Some((until, "spoiled the game".to_owned())));
    assert_eq!(order(&mut desk, PlayerCommand::Unban(whom("ann"))), Answer::Done);
    assert!(prove(&mut desk, "ann", "password ann join").is_ok());
    // The key of a guest that is banned opens no account either.
    let eve = Client::new("eve_").player();
    let ban = PlayerCommand::Ban(Whom::Player(eve), until, String::new());
    assert_eq!(order(&mut desk, ban), Answer::Done);
    assert_eq!(prove(&mut desk, "eve_", "password ann"), Err(CloseCode::Banned));
}

#[test]
fn a_new_password_ends_sessions_and_takes_the_keys() {
    let mut desk = desk(AccountPolicy::Optional);
    add(&mut desk, "ann");
    prove(&mut desk, "ann", "password ann bring").expect("let in");
    let set = PlayerCommand::SetPassword(whom("ann"), PasswordHash("new".to_owned()));
    assert_eq!(order(&mut desk, set), Answer::Done);
    assert_eq!(desk.closed("ann"), Some(CloseCode::Kicked));
    assert_eq!(desk.try_login("ann"), Err(CloseCode::Credential), "not by the key alone");
    let guest = desk.client("ann").player();
    assert_eq!(player(prove(&mut desk, "ann", "password ann bring")), guest, "it is linked again");
}

#[test]
fn a_role_is_a_permission_of_its_sessions_at_once() {
    let mut desk = desk(AccountPolicy::Optional);
    add(&mut desk, "ann");
    prove(&mut desk, "ann", "password ann join").expect("let in");
    assert_eq!(desk.view("ann").expect("here").permissions, 0);
    let set = PlayerCommand::SetRole(whom("ann"), Role::Admin);
    assert_eq!(order(&mut desk, set), Answer::Done);
    assert_eq!(desk.view("ann").expect("here").permissions, Role::Admin.permissions());
    desk.cut("ann");
    let set = PlayerCommand::SetRole(whom("ann"), Role::Moderator);
    assert_eq!(order(&mut desk, set), Answer::Done);
    desk.resume("ann");
    assert_eq!(desk.view("ann").expect("here").permissions, Role::Moderator.permissions());
}

#[test]
fn what_is_deleted_is_gone_through_any_crash() {
    for crash in [false, true] {
        let mut desk = desk(AccountPolicy::Optional);
        add(&mut desk, "ann");
        prove(&mut desk, "ann", "password ann join").expect("let in");
        let session = desk.id("ann");
        if crash {
            // The intent is committed, and the end of the session is not.
            desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
            desk.order(Command::Player(PlayerCommand::Delete(whom("ann"))));
            assert!(desk.hub.player(&whom("ann")).is_some(), "the account goes last");
            desk.crash();
            desk.restart();
        } else {
            assert_eq!(order(&mut desk, PlayerCommand::Delete(whom("ann"))), Answer::Done);
            assert_eq!(desk.closed("ann"), Some(CloseCode::Kicked));
        }
        assert!(desk.hub.session(session).is_none());
        assert!(desk.hub.player(&whom("ann")).is_none());
        assert!(!desk.store.ids().iter().any(|id| matches!(id, ScopeId::Account(_))));
        assert_eq!(prove(&mut desk, "ann", "password ann"), Err(CloseCode::Credential));
        add(&mut desk, "ann");
    }
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let mut desk = desk(AccountPolicy::Optional);
    let ann = add(&mut desk, "ann");
    desk.login("bob");
    let bob = Whom::Player(desk.client("bob").player());
    let refused = [
        (
            PlayerCommand::Add {
                name: Name::parse("ANN").expect("a name"),
                role: Role::Admin,
                password: None,
            },
            Refusal::Exists,
        ),
        (PlayerCommand::Lock(whom("nobody"), true), Refusal::Unknown),
        (PlayerCommand::Lock(bob.clone(), true), Refusal::Guest),
        (PlayerCommand::SetRole(Whom::Player(PlayerId([9; 16])), Role::Admin), Refusal::Unknown),
        (PlayerCommand::Ban(whom("nobody"), WallTime(1), String::new()), Refusal::Unknown),
        (PlayerCommand::Delete(whom("nobody")), Refusal::Unknown),
    ];
    for (command, refusal) in refused {
        let told = format!("{command:?}");
        assert_eq!(order(&mut desk, command), Answer::PlayerRefused(refusal), "{told}");
    }
    assert_eq!(order(&mut desk, PlayerCommand::Lock(Whom::Player(ann), true)), Answer::Done);
    // A guest is deleted with its session and its secret, and its ban stays.
    let ban = PlayerCommand::Ban(bob.clone(), WallTime(u64::MAX), "x".to_owned());
    assert_eq!(order(&mut desk, ban), Answer::Done);
    assert_eq!(order(&mut desk, PlayerCommand::Delete(bob.clone())), Answer::Done);
    assert!(desk.hub.player(&bob).expect("banned").ban.is_some());
    assert_eq!(order(&mut desk, PlayerCommand::Unban(bob.clone())), Answer::Done);
    assert_eq!(order(&mut desk, PlayerCommand::Delete(bob.clone())), Answer::Done);
    assert!(desk.hub.player(&bob).is_none());
    let ban = PlayerCommand::Ban(bob.clone(), WallTime(u64::MAX), "y".to_owned());
    assert_eq!(order(&mut desk, ban), Answer::Done, "its rows begin anew");
    desk.crash();
    desk.restart();
    assert_eq!(desk.try_login("bob"), Err(CloseCode::Banned));
}
