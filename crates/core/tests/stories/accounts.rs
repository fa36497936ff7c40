//! Accounts: who proves one is its player, keys that belong to one, and what operators do with them.

use rejoin_core::account::{Name, Refusal, Role};
use rejoin_core::event::{EndCause, Event};
use rejoin_core::hub::{
    AccountPolicy, Admission, Answer, Command, Duplicates, PasswordHash, PlayerCommand,
    SessionCommand, Whom,
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
    assert_eq!(desk.try_resume("phone"), Err(CloseCode::SessionUnknown), "the other key does not");
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

/// A desk where the game's rule decides about each login.
fn desk_with_rule() -> Desk {
    let mut config = config();
    config.accounts = AccountPolicy::Optional;
    config.admission = Admission::Ask(std::time::Duration::from_secs(5));
    Desk::new(config)
}

fn new_password(name: &str) -> PlayerCommand {
    PlayerCommand::SetPassword(whom(name), PasswordHash("new".to_owned()))
}

/// What an operator does while a login waits for the game's rule, and how the login is answered then.
fn late_answer(words: &str, meanwhile: impl FnOnce(&mut Desk)) -> (Desk, Option<CloseCode>) {
    let mut desk = desk_with_rule();
    add(&mut desk, "ann");
    prove(&mut desk, "ann", "password ann join").expect("let in");
    desk.bye("ann");
    desk.doorman = Doorman::Sleeps;
    let waits = match words {
        "" => desk.try_login("ann"),
        words => prove(&mut desk, "eve", words),
    };
    assert_eq!(waits, Err(CloseCode::Unspecified), "it waits for the rule");
    meanwhile(&mut desk);
    let name = if words.is_empty() { "ann" } else { "eve" };
    let connection = desk.client(name).connection();
    desk.admit(connection);
    let verdict = desk.verdict(name, connection).err();
    (desk, verdict)
}

/// The old password, proven before the change and let in by the game after it, is refused and links
/// nothing; so is a key that the change took.
#[test]
fn a_login_that_waits_while_the_password_changes_is_refused_and_links_nothing() {
    for words in ["password ann", "password ann join", ""] {
        let (mut desk, verdict) = late_answer(words, |desk| {
            assert_eq!(order(desk, new_password("ann")), Answer::Done);
        });
        assert_eq!(verdict, Some(CloseCode::Credential), "{words:?}");
        assert_eq!(desk.hub.sessions().count(), 0, "{words:?}");
        let ann = desk.hub.player(&whom("ann")).and_then(|ann| ann.account).expect("kept");
        assert!(ann.keys.is_empty(), "{words:?}: the new password took them all");
        desk.doorman = Doorman::Approves;
        let eve = Client::new("eve").player();
        assert_eq!(player(desk.try_login("eve")), eve, "{words:?}: its key is a guest's");
    }
}

#[test]
fn a_login_that_waits_while_its_account_is_locked_or_deleted_is_refused() {
    let lock = |desk: &mut Desk| {
        assert_eq!(order(desk, PlayerCommand::Lock(whom("ann"), true)), Answer::Done);
    };
    let delete = |desk: &mut Desk| {
        assert_eq!(order(desk, PlayerCommand::Delete(whom("ann"))), Answer::Done);
    };
    let make_anew = |desk: &mut Desk| {
        assert_eq!(order(desk, PlayerCommand::Delete(whom("ann"))), Answer::Done);
        add(desk, "ann");
    };
    for words in ["password ann", "password ann join", ""] {
        let (desk, verdict) = late_answer(words, lock);
        assert_eq!(verdict, Some(CloseCode::Locked), "{words:?}");
        assert_eq!(desk.hub.sessions().count(), 0, "{words:?}");
        let (desk, verdict) = late_answer(words, delete);
        assert_eq!(verdict, Some(CloseCode::Credential), "{words:?}: deleted");
        assert_eq!(desk.hub.sessions().count(), 0, "{words:?}");
        let (desk, verdict) = late_answer(words, make_anew);
        assert_eq!(verdict, Some(CloseCode::Credential), "{words:?}: another one of that name");
        let ann = desk.hub.player(&whom("ann")).and_then(|ann| ann.account).expect("made anew");
        assert!(ann.keys.is_empty() && !ann.used, "{words:?}: nothing of it is used");
    }
}

/// Without a rule the window is the commit of the new password: the login's own change waits behind it.
#[test]
fn a_login_behind_the_commit_of_a_new_password_is_refused_and_links_nothing() {
    for (change, code) in [
        (new_password("ann"), CloseCode::Credential),
        (PlayerCommand::Lock(whom("ann"), true), CloseCode::Locked),
        (PlayerCommand::Delete(whom("ann")), CloseCode::Credential),
    ] {
        let told = format!("{change:?}");
        let mut desk = desk(AccountPolicy::Optional);
        add(&mut desk, "ann");
        desk.store.hold(|scope| matches!(scope, ScopeId::Account(_)));
        desk.order(Command::Player(change));
        let early = prove(&mut desk, "eve", "password ann join");
        assert_eq!(early, Err(CloseCode::Unspecified), "{told}: neither in nor refused yet");
        let connection = desk.client("eve").connection();
        desk.store.release();
        desk.run();
        assert_eq!(desk.verdict("eve", connection), Err(code), "{told}");
        assert_eq!(desk.hub.sessions().count(), 0, "{told}");
        let ann = desk.hub.player(&whom("ann")).and_then(|ann| ann.account);
        assert!(ann.is_none_or(|ann| ann.keys.is_empty()), "{told}");
    }
}

/// A login that changes nothing of its account is let in before the new password is committed, and ends
/// with that commit like every session.
#[test]
fn a_session_that_began_before_the_commit_of_a_new_password_ends_with_it() {
    let mut desk = desk(AccountPolicy::Optional);
    add(&mut desk, "ann");
    prove(&mut desk, "ann", "password ann").expect("let in");
    desk.bye("ann");
    desk.store.hold(|scope| matches!(scope, ScopeId::Account(_)));
    desk.order(Command::Player(new_password("ann")));
    assert!(prove(&mut desk, "eve", "password ann").is_ok());
    desk.store.release();
    desk.run();
    assert_eq!(desk.closed("eve"), Some(CloseCode::Kicked));
    assert_eq!(desk.hub.sessions().count(), 0);
}

#[test]
fn two_first_logins_with_one_subject_are_one_account() {
    for has_rule in [false, true] {
        let mut config = config();
        (config.accounts, config.duplicates) = (AccountPolicy::Optional, Duplicates::Allow(2));
        if has_rule {
            config.admission = Admission::Ask(std::time::Duration::from_secs(5));
        }
        let mut desk = Desk::new(config);
        desk.store.hold(|scope| matches!(scope, ScopeId::Account(_)));
        for name in ["phone", "laptop"] {
            let early = prove(&mut desk, name, "token sub-1 join");
            assert_eq!(early, Err(CloseCode::Unspecified), "{name} waits for the commit");
        }
        let of = ["phone", "laptop"].map(|name| desk.client(name).connection());
        desk.store.release();
        desk.run();
        let first = player(desk.verdict("phone", of[0]));
        assert_eq!(player(desk.verdict("laptop", of[1])), first, "with a rule: {has_rule}");
        let known = desk.hub.players_after(None, 10);
        assert_eq!(known.len(), 1, "{known:?}");
        let account = known[0].account.as_ref().expect("an account");
        assert_eq!((account.player, account.keys.len()), (first, 2), "both keys are linked");
    }
}

/// Whoever logs in to an account with a key that is another's ends with that key's ban, too.
#[test]
fn the_ban_of_a_key_ends_the_session_of_an_account_that_it_opened() {
    for is_linked in [false, true] {
        let mut desk = desk(AccountPolicy::Optional);
        add(&mut desk, "ann");
        prove(&mut desk, "ann", "password ann").expect("let in");
        desk.bye("ann");
        let words = if is_linked { "password ann join" } else { "password ann" };
        prove(&mut desk, "eve", words).expect("let in");
        let key = Client::new("eve").player();
        let ban = PlayerCommand::Ban(Whom::Player(key), WallTime(u64::MAX), String::new());
        assert_eq!(order(&mut desk, ban), Answer::Done);
        assert_eq!(desk.closed("eve"), Some(CloseCode::Banned), "linked: {is_linked}");
        assert!(prove(&mut desk, "ann", "password ann").is_ok(), "the account is not banned");
        assert_eq!(prove(&mut desk, "eve", words), Err(CloseCode::Banned));
    }
}

/// The settings of a new start hold for sessions of the last one, too.
#[test]
fn an_identity_that_is_switched_off_resumes_no_older_session() {
    type Switch = fn(&mut rejoin_core::hub::HubConfig);
    type Begin = fn(&Client, &[u8]) -> Hello;
    let open = || {
        let mut config = config();
        (config.anonymous, config.accounts) = (true, AccountPolicy::Optional);
        Desk::new(config)
    };
    let by_key: Begin = |client, nonce| client.login(false, nonce);
    let as_guest: Begin = |_, _| {
        let identity = Some(login::Identity::Mint(Default::default()));
        hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
    };
    let nameless: Begin = |_, _| anonymous();
    let cases: [(&str, Begin, Switch); 4] = [
        ("keys", by_key, |config| config.keys = false),
        ("secrets", as_guest, |config| config.secrets = false),
        ("anonymous", nameless, |config| config.anonymous = false),
        ("guests", by_key, |config| config.accounts = AccountPolicy::Required),
    ];
    for (what, begin, switch) in cases {
        let mut desk = open();
        desk.try_hello("ann", begin).expect("let in");
        desk.crash();
        switch(&mut desk.config);
        desk.restart();
        assert_eq!(desk.try_resume("ann"), Err(CloseCode::IdentityOff), "{what}");
    }
    // Accounts are let in whatever they began with.
    let mut desk = open();
    add(&mut desk, "ann");
    prove(&mut desk, "ann", "password ann").expect("let in");
    add(&mut desk, "bob");
    let by_name = |_: &Client, _: &[u8]| Hello { admission: "password bob".into(), ..anonymous() };
    desk.try_hello("bob", by_name).expect("let in");
    desk.crash();
    (desk.config.anonymous, desk.config.accounts) = (false, AccountPolicy::Required);
    desk.restart();
    for name in ["ann", "bob"] {
        assert_eq!(
            desk.try_resume(name).map(|welcome| welcome.rung()),
            Ok(Rung::Replayed),
            "{name}"
        );
    }
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
            let left = |event: &Event| match event {
                Event::PlayerLeft { cause, .. } => Some(*cause),
                _ => None,
            };
            let causes: Vec<EndCause> = desk.events.iter().filter_map(left).collect();
            assert_eq!(causes, [EndCause::Kicked], "as without the crash");
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

/// An operator who is told that it is done need not fear a crash: what was to end does not come back, even
/// if the ban or the lock is lifted again before the server dies.
#[test]
fn what_an_order_that_is_done_has_ended_does_not_come_back_after_a_crash() {
    let ban = |until| PlayerCommand::Ban(whom("ann"), WallTime(until), String::new());
    let lock = |on| PlayerCommand::Lock(whom("ann"), on);
    let guest = Whom::Player(Client::new("bob").player());
    for (order_given, lifted) in [
        (new_password("ann"), None),
        (lock(true), Some(lock(false))),
        (ban(u64::MAX), Some(PlayerCommand::Unban(whom("ann")))),
        (PlayerCommand::Delete(guest), None),
    ] {
        let told = format!("{order_given:?}");
        let mut desk = desk(AccountPolicy::Optional);
        add(&mut desk, "ann");
        prove(&mut desk, "ann", "password ann").expect("let in");
        desk.login("bob");
        let name = if told.contains("Delete") { "bob" } else { "ann" };
        let session = desk.id(name);
        desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
        let ticket = desk.order(Command::Player(order_given.clone()));
        if let Some(lifted) = lifted {
            desk.order(Command::Player(lifted));
        }
        assert_eq!(desk.answers.get(&ticket), None, "{told}: its end is not kept yet");
        desk.store.release();
        desk.run();
        assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done), "{told}");
        desk.crash();
        desk.restart();
        assert!(desk.hub.session(session).is_none(), "{told}");
    }
}

/// A session that is ending already, whatever ended it, is not left behind by an order that finds it so.
#[test]
fn an_order_waits_for_the_end_of_sessions_that_were_ending_before_it() {
    let ban = PlayerCommand::Ban(whom("ann"), WallTime(u64::MAX), String::new());
    let lock = PlayerCommand::Lock(whom("ann"), true);
    let delete = PlayerCommand::Delete(whom("ann"));
    for second in [new_password("ann"), lock, ban, delete] {
        let told = format!("{second:?}");
        let mut desk = desk(AccountPolicy::Optional);
        add(&mut desk, "ann");
        prove(&mut desk, "ann", "password ann").expect("let in");
        let session = desk.id("ann");
        desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
        desk.order(Command::Session(session, SessionCommand::End(EndCause::Kicked)));
        let ticket = desk.order(Command::Player(second));
        assert_eq!(desk.answers.get(&ticket), None, "{told}: the end is not kept yet");
        desk.store.release();
        desk.run();
        assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done), "{told}");
    }
}
