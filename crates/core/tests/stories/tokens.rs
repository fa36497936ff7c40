//! Resume tokens: the last confirmed one and those issued since open the door; a retired one never
//! does, and disturbs nobody.

use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{CloseCode, Hello, Login, Ping, Rung, client_frame, hello, login};

use crate::desk::client::{Client, hello_for};
use crate::desk::{Desk, config};

fn mint() -> Hello {
    let identity = Some(login::Identity::Mint(Default::default()));
    hello_for(hello::Purpose::Login(Login { identity, fresh: false }))
}

/// A resume with another token than the client holds.
fn with_token(token: Bytes) -> impl FnOnce(&Client, &[u8]) -> Hello {
    move |client, nonce| {
        let mut hello = client.resume(false, nonce);
        if let Some(hello::Purpose::Resume(resume)) = hello.purpose.as_mut() {
            resume.token = token;
        }
        client.signed(hello, nonce)
    }
}

/// A frame that confirms the token of the last Welcome.
fn confirm(desk: &mut Desk, name: &str) {
    desk.frame(name, client_frame::Frame::Ping(Ping { nonce: 1 }));
}

#[test]
fn an_unknown_token_is_refused() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let refused = desk.try_hello("ann", with_token(Bytes::from_static(&[3; 32])));
    assert_eq!(refused, Err(CloseCode::SessionUnknown));
    desk.assert_plays("bob");
}

#[test]
fn a_token_of_another_session_is_refused() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let stolen = desk.client("bob").token.clone();
    assert_eq!(desk.try_hello("ann", with_token(stolen)), Err(CloseCode::SessionUnknown));
    desk.assert_plays("bob");
}

#[test]
fn a_retired_token_is_refused_and_the_live_connection_goes_on() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let old = desk.client("ann").token.clone();
    desk.cut("ann");
    let live = {
        desk.resume("ann");
        desk.client("ann").connection()
    };
    confirm(&mut desk, "ann");
    let token = desk.client("ann").token.clone();
    assert_eq!(desk.try_hello("ann", with_token(old)), Err(CloseCode::TokenRetired));
    assert_eq!(desk.hub.counts().retired_tokens_total, 1);
    let session = desk.hub.session(desk.id("ann")).expect("it goes on");
    assert_eq!(session.connection(), Some(live));
    assert!(desk.try_hello("ann", with_token(token)).is_ok());
    desk.assert_plays("bob");
}

/// A guest by secret whose first token is retired: its resumes are not signed.
fn guest_with_retired_token(end: bool) -> (Desk, Bytes) {
    let mut config = config();
    config.end_on_retired_token = end;
    let mut desk = Desk::new(config);
    desk.login("bob");
    desk.join("bob", "plaza");
    desk.try_hello("ann", |_, _| mint()).expect("a guest comes in");
    confirm(&mut desk, "ann");
    let old = desk.client("ann").token.clone();
    desk.wait(10);
    desk.cut("ann");
    desk.resume("ann");
    (desk, old)
}

#[test]
fn a_retired_token_ends_the_session_only_where_that_was_asked_for() {
    for end in [false, true] {
        let (mut desk, old) = guest_with_retired_token(end);
        confirm(&mut desk, "ann");
        let live = desk.client("ann").connection();
        desk.wait(10);
        assert_eq!(desk.try_hello("ann", with_token(old)), Err(CloseCode::TokenRetired));
        assert_eq!(desk.hub.session(desk.id("ann")).is_none(), end);
        let closed = desk.client("ann").lines.iter().find(|line| line.id == live);
        let code = closed.and_then(|line| line.closed);
        assert_eq!(code, end.then_some(CloseCode::Kicked));
        desk.assert_plays("bob");
    }
}

#[test]
fn a_hello_that_was_under_way_before_the_confirmation_ends_nothing() {
    let (mut desk, old) = guest_with_retired_token(true);
    let early = desk.connect("eve");
    desk.wait(10);
    confirm(&mut desk, "ann");
    let hello = with_token(old)(desk.client("ann"), &[]);
    desk.say_hello("eve", hello);
    assert_eq!(desk.verdict("eve", early), Err(CloseCode::TokenRetired));
    assert!(desk.hub.session(desk.id("ann")).is_some());
    assert_eq!(desk.closed("ann"), None);
}

#[test]
fn a_hello_that_was_under_way_before_a_newer_token_was_shown_ends_nothing() {
    let (mut desk, old) = guest_with_retired_token(true);
    let early = desk.connect("eve");
    desk.wait(10);
    // Nothing was confirmed on the connection: the next resume shows the newer token.
    desk.cut("ann");
    desk.resume("ann");
    let hello = with_token(old)(desk.client("ann"), &[]);
    desk.say_hello("eve", hello);
    assert_eq!(desk.verdict("eve", early), Err(CloseCode::TokenRetired));
    assert!(desk.hub.session(desk.id("ann")).is_some());
}

#[test]
fn a_retired_token_with_the_players_own_signature_ends_nothing() {
    let mut config = config();
    config.end_on_retired_token = true;
    let mut desk = Desk::new(config);
    desk.login("ann");
    confirm(&mut desk, "ann");
    let old = desk.client("ann").token.clone();
    desk.cut("ann");
    desk.resume("ann");
    confirm(&mut desk, "ann");
    desk.wait(10);
    assert_eq!(desk.try_hello("ann", with_token(old)), Err(CloseCode::TokenRetired));
    assert!(desk.hub.session(desk.id("ann")).is_some());
}

#[test]
fn ten_lost_welcomes_do_not_lock_out_the_confirmed_token() {
    let mut desk = Desk::with_plaza(&["ann", "bob"]);
    let token = desk.client("ann").token.clone();
    let (epoch, leg, seq) = {
        let ann = desk.client("ann");
        (ann.epoch, ann.leg, ann.seq)
    };
    desk.mute("ann");
    for _ in 0..10 {
        desk.cut("ann");
        desk.resume("ann");
        let ann = desk.client_mut("ann");
        // The Welcome never arrived: the client still has what it had.
        (ann.token, ann.epoch, ann.leg, ann.seq) = (token.clone(), epoch, leg, seq);
    }
    desk.crash();
    desk.restart();
    desk.client_mut("ann").is_obliging = true;
    assert_eq!(desk.resume("ann").rung(), Rung::Replayed);
    desk.assert_plays("ann");
}

// Row of §6: "unbounded growth by a hostile client (tokens, ...)".
#[test]
fn a_client_that_resumes_for_ever_does_not_grow_its_session() {
    let mut desk = Desk::plain();
    desk.login("ann");
    let scope = rejoin_core::scope::ScopeId::Session(desk.id("ann"));
    let size =
        |desk: &Desk| desk.store.rows(scope).iter().map(|(_, value)| value.len()).sum::<usize>();
    let mut sizes = Vec::new();
    for _ in 0..200 {
        desk.cut("ann");
        desk.resume("ann");
        sizes.push(size(&desk));
    }
    assert!(sizes[199] <= sizes[99] + 64, "{} and then {}", sizes[99], sizes[199]);
}

#[test]
fn a_confirmation_is_committed_before_it_retires_anything() {
    let mut desk = Desk::with_plaza(&["ann"]);
    let old = desk.client("ann").token.clone();
    desk.mute("ann");
    desk.cut("ann");
    desk.resume("ann");
    // The confirmation is on its way to the disk when everything dies.
    desk.store.hold(|_| true);
    confirm(&mut desk, "ann");
    desk.crash();
    desk.restart();
    assert!(desk.try_hello("ann", with_token(old)).is_ok(), "nobody is locked out");
}
