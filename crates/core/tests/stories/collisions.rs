//! Several things that concern one player at one instant: what holds afterwards does not depend on which of
//! them the hub took first, nor on where a crash cuts between them.

use rejoin_core::account::{Name, Role};
use rejoin_core::hub::{
    AccountPolicy, Admission, Answer, Command, Duplicates, PasswordHash, PlayerCommand, Whom,
};
use rejoin_core::id::PlayerId;
use rejoin_core::time::WallTime;
use rejoin_core::wire::v1::{CloseCode, Hello, Login, Welcome, hello, login};

use crate::desk::client::{Client, hello_for};
use crate::desk::{Desk, Doorman, config};

fn ann() -> Whom {
    Whom::Name(Name::parse("ann").expect("a name"))
}

/// A desk with an account that nobody has used.
fn desk(admission: Admission) -> Desk {
    let mut config = config();
    (config.accounts, config.duplicates) = (AccountPolicy::Optional, Duplicates::TakeOver);
    config.admission = admission;
    let mut desk = Desk::new(config);
    let (name, password) = (Name::parse("ann").expect("a name"), PasswordHash("hash".to_owned()));
    let add = PlayerCommand::Add { name, role: Role::Player, password: Some(password) };
    assert_eq!(desk.command(Command::Player(add)), Some(Answer::Done));
    desk
}

/// A login by key that proves something.
fn prove(desk: &mut Desk, name: &'static str, words: &str) -> Result<Welcome, CloseCode> {
    let words = words.to_owned();
    desk.try_hello(name, move |client: &Client, nonce| {
        let login = Login { identity: None, fresh: false };
        let mut hello =
            Hello { admission: words.into(), ..hello_for(hello::Purpose::Login(login)) };
        let identity = Some(login::Identity::Key(client.proof(&hello, nonce)));
        hello.purpose = Some(hello::Purpose::Login(Login { identity, fresh: false }));
        hello
    })
}

fn player(welcome: Result<Welcome, CloseCode>) -> PlayerId {
    PlayerId::from_slice(&welcome.expect("let in").player).expect("16 bytes")
}

/// Something that happens to ann; the ticket of an order.
type Act = fn(&mut Desk) -> Option<u64>;

fn ban(desk: &mut Desk) -> Option<u64> {
    let ban = PlayerCommand::Ban(ann(), WallTime(u64::MAX), String::new());
    Some(desk.order(Command::Player(ban)))
}

fn new_password(desk: &mut Desk) -> Option<u64> {
    let set = PlayerCommand::SetPassword(ann(), PasswordHash("new".to_owned()));
    Some(desk.order(Command::Player(set)))
}

fn takeover(desk: &mut Desk) -> Option<u64> {
    let _ = desk.try_resume("ann");
    None
}

const ORDERS: [[Act; 3]; 6] = [
    [ban, new_password, takeover],
    [ban, takeover, new_password],
    [new_password, ban, takeover],
    [new_password, takeover, ban],
    [takeover, ban, new_password],
    [takeover, new_password, ban],
];

/// Ann in the plaza by her account, beside bob.
fn stage() -> Desk {
    let mut desk = desk(Admission::Open);
    prove(&mut desk, "ann", "password ann bring").expect("let in");
    desk.login("bob");
    for name in ["ann", "bob"] {
        desk.join(name, "plaza");
    }
    desk.hush();
    desk
}

#[test]
fn a_ban_a_new_password_and_a_takeover_at_one_instant_leave_nobody_inside() {
    for (index, acts) in ORDERS.into_iter().enumerate() {
        let mut desk = stage();
        let ann = desk.id("ann");
        desk.store.hold(|_| true);
        let tickets = acts.map(|act| act(&mut desk));
        let is_answered = |ticket: &u64| desk.answers.contains_key(ticket);
        assert!(!tickets.iter().flatten().any(is_answered), "{index}: nothing is kept");
        desk.store.release();
        desk.run();
        for ticket in tickets.into_iter().flatten() {
            assert_eq!(desk.answers.get(&ticket), Some(&Answer::Done), "{index}");
        }
        assert!(desk.hub.session(ann).is_none(), "{index}");
        let lines = &desk.client("ann").lines;
        assert!(lines.iter().all(|line| line.closed.is_some()), "{index}: none is left open");
        assert_eq!(desk.members("plaza"), 1, "{index}");
        assert_eq!(desk.try_resume("ann"), Err(CloseCode::SessionUnknown), "{index}");
        assert_eq!(desk.try_login("ann"), Err(CloseCode::Credential), "{index}: its key is lost");
        assert_eq!(prove(&mut desk, "ann", "password ann"), Err(CloseCode::Banned), "{index}");
        desk.assert_plays("bob");
    }
}

/// What an operator was told is done is done after any crash; what it was not told is done or not.
#[test]
fn a_crash_between_a_ban_a_new_password_and_a_takeover_takes_back_nothing_that_was_answered() {
    let mut answered = 0;
    for (index, acts) in ORDERS.into_iter().enumerate() {
        for commits in 0..12 {
            let told = format!("order {index}, {commits} commits");
            let mut desk = stage();
            desk.store.stop_after = Some(desk.store.commits + commits);
            let is_ban = |act: Act| std::ptr::fn_addr_eq(act, ban as Act);
            let tickets = acts.map(|act| act(&mut desk).map(|ticket| (is_ban(act), ticket)));
            let done = tickets.into_iter().flatten();
            let done = done.filter(|(_, ticket)| desk.answers.contains_key(ticket));
            let done: Vec<bool> = done.map(|(is_ban, _)| is_ban).collect();
            answered += done.len();
            desk.crash();
            desk.restart();
            let resumed = desk.try_resume("ann");
            assert!(done.is_empty() || resumed.is_err(), "{told}: {done:?}");
            if done.contains(&true) {
                let banned = prove(&mut desk, "ann", "password ann");
                assert_eq!(banned, Err(CloseCode::Banned), "{told}");
            }
            if done.contains(&false) {
                assert_eq!(desk.try_login("ann"), Err(CloseCode::Credential), "{told}");
            }
            desk.resume("bob");
            desk.assert_plays("bob");
        }
    }
    assert!(answered > 20, "some crashes come late enough: {answered}");
}

/// Two first logins to one account, both let in by the game: the one that brings its guest makes that the
/// account's player, and the other was shown to the game as another one.
#[test]
fn a_login_whose_account_gets_another_player_meanwhile_is_told_to_come_again() {
    let mut desk = desk(Admission::Ask(std::time::Duration::from_secs(5)));
    desk.doorman = Doorman::Sleeps;
    for (name, words) in [("ann", "password ann"), ("eve", "password ann bring")] {
        let early = prove(&mut desk, name, words);
        assert_eq!(early, Err(CloseCode::Unspecified), "{name} waits for the rule");
    }
    let of = ["ann", "eve"].map(|name| desk.client(name).connection());
    desk.admit(of[1]);
    let eve = Client::new("eve").player();
    assert_eq!(player(desk.verdict("eve", of[1])), eve);
    desk.admit(of[0]);
    assert_eq!(desk.verdict("ann", of[0]), Err(CloseCode::NotReady));
    assert_eq!(desk.hub.sessions().count(), 1);
    desk.doorman = Doorman::Approves;
    assert_eq!(player(prove(&mut desk, "ann", "password ann")), eve, "she comes again");
}

/// The game is asked about a guest, and says yes when the guest's key has become one of an account.
#[test]
fn a_guest_whose_key_is_brought_to_an_account_meanwhile_is_told_to_come_again() {
    let mut desk = desk(Admission::Ask(std::time::Duration::from_secs(5)));
    desk.doorman = Doorman::Sleeps;
    assert_eq!(desk.try_login("eve"), Err(CloseCode::Unspecified), "it waits for the rule");
    let guest = desk.client("eve").connection();
    let brought = prove(&mut desk, "eve", "password ann bring");
    assert_eq!(brought, Err(CloseCode::Unspecified), "so does this one");
    let holder = desk.client("eve").connection();
    desk.admit(holder);
    let eve = Client::new("eve").player();
    assert_eq!(player(desk.verdict("eve", holder)), eve);
    desk.admit(guest);
    assert_eq!(desk.verdict("eve", guest), Err(CloseCode::NotReady));
    assert_eq!(desk.closed("eve"), None, "what the account has begun goes on");
}
