//! What an order that is done means for sessions that are there.

use super::*;

const ACCOUNT: usize = 0;

/// The holder of a token is let in as this player.
fn welcome(book: &mut AccountBook, session: u64, player: PlayerId) {
    let connection = session;
    book.show(connection, Shown { account: ACCOUNT, password: None, link: None, key: None });
    let it = Welcomed { connection, is_login: true, key: None, session, player, is_ending: false };
    book.welcomed(it).expect("nothing is wrong with it");
}

/// The account of a subject, played as player 1 in session 1.
fn book() -> AccountBook {
    let mut book = AccountBook::new(0, 1);
    welcome(&mut book, 1, PlayerId([1; 16]));
    book
}

fn is_dead(book: &AccountBook, session: u64, player: PlayerId) -> bool {
    book.check_live([(session, player)].into_iter()).is_some()
}

#[test]
fn a_deletion_of_a_player_ends_no_session_of_the_one_that_came_after_it() {
    let mut book = book();
    let number = book.ask(1, ACCOUNT, Order::Delete);
    // The account had been deleted by an order whose answer was lost, and is made anew by a token.
    welcome(&mut book, 2, PlayerId([2; 16]));
    book.done((ACCOUNT, number, Order::Delete), |_| false);
    assert!(!is_dead(&book, 2, PlayerId([2; 16])));
    assert!(is_dead(&book, 1, PlayerId([1; 16])));
}

#[test]
fn a_deletion_ends_the_sessions_of_its_account() {
    let mut book = book();
    let number = book.ask(1, ACCOUNT, Order::Delete);
    book.done((ACCOUNT, number, Order::Delete), |_| false);
    assert!(is_dead(&book, 1, PlayerId([1; 16])));
}
