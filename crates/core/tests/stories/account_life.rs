//! The end of an account, ordered once or twice, and the name of one that cannot be read any more.

use rejoin_core::account::{Name, Refusal, Role};
use rejoin_core::hub::{
    AccountPolicy, Answer, Command, Duplicates, PasswordHash, PlayerCommand, Whom,
};
use rejoin_core::id::{AccountId, Revision, SessionId};
use rejoin_core::scope::{Batch, Change, ScopeId};
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{CloseCode, Hello, Login, Welcome, hello, login};

use crate::desk::client::{Client, hello_for};
use crate::desk::{Desk, config};

/// A place for two sessions of each player, and an account.
fn desk() -> Desk {
    let mut config = config();
    (config.accounts, config.duplicates) = (AccountPolicy::Optional, Duplicates::Allow(2));
    let mut desk = Desk::new(config);
    assert_eq!(desk.command(add()), Some(Answer::Done));
    desk
}

fn ann() -> Name {
    Name::parse("ann").expect("a name")
}

fn add() -> Command {
    let password = Some(PasswordHash("hash".to_owned()));
    Command::Player(PlayerCommand::Add { name: ann(), role: Role::Player, password })
}

fn delete() -> Command {
    Command::Player(PlayerCommand::Delete(Whom::Name(ann())))
}

fn has_account(desk: &Desk) -> bool {
    desk.store.ids().iter().any(|id| matches!(id, ScopeId::Account(_)))
}

/// A login by key that proves ann's account.
fn prove(desk: &mut Desk, name: &'static str) -> Result<Welcome, CloseCode> {
    desk.try_hello(name, |client: &Client, nonce| {
        let login = Login { identity: None, fresh: false };
        let admission = Bytes::from_static(b"password ann");
        let mut hello = Hello { admission, ..hello_for(hello::Purpose::Login(login)) };
        let identity = Some(login::Identity::Key(client.proof(&hello, nonce)));
        hello.purpose = Some(hello::Purpose::Login(Login { identity, fresh: false }));
        hello
    })
}

#[test]
fn two_orders_to_delete_one_account_are_both_answered() {
    let mut desk = desk();
    prove(&mut desk, "phone").expect("let in");
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    let tickets = [desk.order(delete()), desk.order(delete())];
    assert!(tickets.iter().all(|ticket| !desk.answers.contains_key(ticket)), "a session is left");
    desk.store.release();
    desk.run();
    for ticket in tickets {
        assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done));
    }
    assert!(!has_account(&desk));
    assert_eq!(desk.command(delete()), Some(Answer::PlayerRefused(Refusal::Unknown)));
}

/// Without its account, the session that is left would be returned to after a crash.
#[test]
fn an_account_that_is_deleted_twice_still_goes_after_its_last_session() {
    let mut desk = desk();
    for name in ["phone", "laptop"] {
        prove(&mut desk, name).expect("let in");
    }
    let sessions = [desk.id("phone"), desk.id("laptop")];
    assert_eq!(sessions, [SessionId(1), SessionId(2)], "the second one is held back below");
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(_)));
    let tickets = [desk.order(delete()), desk.order(delete())];
    desk.store.hold(|scope| matches!(scope, ScopeId::Session(SessionId(2))));
    desk.run();
    assert!(has_account(&desk), "the end of the second session is not committed");
    assert!(tickets.iter().all(|ticket| !desk.answers.contains_key(ticket)));
    desk.crash();
    desk.restart();
    assert!(sessions.iter().all(|session| desk.hub.session(*session).is_none()));
    assert!(!has_account(&desk), "the start goes on with it");
}

/// The store keeps the rows that cannot be read: an account in their place would never be committed.
#[test]
fn the_name_of_an_account_that_cannot_be_read_is_taken() {
    let mut desk = desk();
    let id = AccountId::of_name("ann");
    let scope = ScopeId::Account(id);
    let owner = desk.store.owner(scope).expect("it is kept");
    let garbage = Change::Put(Bytes::from_static(b"account"), Bytes::from_static(b"\xff"));
    let changes = vec![garbage];
    desk.store.submit(Batch { scope, owner, revision: Revision(2), changes, delete_scope: false });
    desk.run();
    desk.crash();
    desk.restart();
    assert_eq!(desk.hub.damaged_accounts().iter().map(|(id, _)| *id).collect::<Vec<_>>(), [id]);
    assert_eq!(prove(&mut desk, "phone"), Err(CloseCode::Credential));
    assert_eq!(desk.command(delete()), Some(Answer::PlayerRefused(Refusal::Unknown)));
    assert_eq!(desk.command(add()), Some(Answer::PlayerRefused(Refusal::Exists)));
}
