//! The handshake asks its driver one question after the other. An answer counts only for the question that
//! it repeats, and each question has a deadline of its own.

use std::time::Duration;

use rejoin_core::hub::{AccountPolicy, AccountProof, Admission, AskId, HubInput};
use rejoin_core::id::ConnectionId;
use rejoin_core::wire::v1::{CloseCode, Hello, Login, hello, login};

use crate::desk::client::{Client, hello_for};
use crate::desk::{Desk, Doorman, config};

const LIMIT: Duration = Duration::from_secs(5);

/// A key's login with something for an account. Its signature was the first question, its account the second,
/// and that is not answered.
fn asks_about_an_account() -> (Desk, ConnectionId, AskId) {
    let mut config = config();
    config.accounts = AccountPolicy::Optional;
    config.account_limit = LIMIT;
    config.admission = Admission::Ask(LIMIT);
    let mut desk = Desk::new(config);
    desk.doorman = Doorman::Sleeps;
    let verdict = desk.try_hello("ann", |client: &Client, nonce| {
        let login = Login { identity: None, fresh: false };
        let hello =
            Hello { admission: "silence".into(), ..hello_for(hello::Purpose::Login(login)) };
        let identity = Some(login::Identity::Key(client.proof(&hello, nonce)));
        let purpose = Some(hello::Purpose::Login(Login { identity, fresh: false }));
        Hello { purpose, ..hello }
    });
    assert_eq!(verdict, Err(CloseCode::Unspecified), "nothing is said yet");
    let connection = desk.client("ann").connection();
    let ask = desk.asks[&connection];
    (desk, connection, ask)
}

fn prove_nothing(desk: &mut Desk, connection: ConnectionId, ask: AskId) {
    desk.input(HubInput::Account { connection, ask, proof: AccountProof::None });
}

#[test]
fn an_answer_to_an_earlier_question_is_ignored() {
    let (mut desk, connection, about_account) = asks_about_an_account();
    prove_nothing(&mut desk, connection, about_account);
    let about_admission = desk.asks[&connection];
    assert!(about_admission > about_account, "the game is asked");
    // All of these would refuse the login, or let it in, if they counted.
    let good = false;
    desk.input(HubInput::Verified { connection, ask: AskId(1), good });
    let proof = AccountProof::Wrong;
    desk.input(HubInput::Account { connection, ask: about_account, proof });
    for ask in [AskId(0), AskId(1), about_account, AskId(about_admission.0 + 1)] {
        desk.input(HubInput::Admission { connection, ask, verdict: Ok(()) });
    }
    assert_eq!(desk.closed("ann"), None);
    assert_eq!(desk.hub.sessions().count(), 0, "the game has said nothing");
    desk.admit(connection);
    assert_eq!(desk.verdict("ann", connection).map(|welcome| welcome.epoch), Ok(1));
}

#[test]
fn an_answer_to_a_question_that_another_state_asked_is_ignored() {
    let (mut desk, connection, about_account) = asks_about_an_account();
    let verdict = Err("no".to_owned());
    desk.input(HubInput::Admission { connection, ask: about_account, verdict });
    desk.input(HubInput::Verified { connection, ask: about_account, good: false });
    assert_eq!(desk.closed("ann"), None);
    prove_nothing(&mut desk, connection, about_account);
    desk.admit(connection);
    assert!(desk.verdict("ann", connection).is_ok());
}

/// The account was looked at for almost all of its time. That takes nothing from the time of the game.
#[test]
fn each_question_has_its_own_deadline() {
    let (mut desk, connection, about_account) = asks_about_an_account();
    desk.wait(4_900);
    prove_nothing(&mut desk, connection, about_account);
    desk.wait(4_999);
    assert_eq!(desk.closed("ann"), None, "the game has 5 s");
    desk.wait(1);
    assert_eq!(desk.verdict("ann", connection), Err(CloseCode::AdmissionTimeout));
}

#[test]
fn a_login_that_is_refused_takes_no_answer_any_more() {
    let (mut desk, connection, about_account) = asks_about_an_account();
    desk.wait(5_000);
    assert_eq!(desk.verdict("ann", connection), Err(CloseCode::AdmissionTimeout));
    prove_nothing(&mut desk, connection, about_account);
    assert_eq!(desk.asks[&connection], about_account, "the game is not asked");
    assert_eq!(desk.hub.sessions().count(), 0);
}
