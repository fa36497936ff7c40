//! What is new, what was had, and what breaks the order.

use rejoin_wire::v1::{Joined, Message, Parted, Refused};

use super::*;

const LOST: RungReason = RungReason::Overrun;

fn at(leg: u64, seq: u64) -> Downstream {
    Downstream::At { leg, seq }
}

fn down(seq: u64, body: down::Body) -> Down {
    Down { seq, body: Some(body) }
}

fn message(seq: u64) -> Down {
    down(seq, down::Body::Message(Message::default()))
}

fn joined(seq: u64, leg: u64) -> Down {
    down(seq, down::Body::Joined(Joined { leg, ..Default::default() }))
}

fn parted(seq: u64, leg: u64) -> Down {
    down(seq, down::Body::Parted(Parted { leg, ..Default::default() }))
}

fn refused(seq: u64, leg: u64) -> Down {
    down(seq, down::Body::Refused(Refused { leg, ..Default::default() }))
}

/// Takes frames one after the other, and tells which were new and where that leads.
fn play(from: Downstream, frames: &[Down]) -> Result<(Vec<bool>, Downstream), Violation> {
    let mut stream = from;
    let mut new = Vec::new();
    for frame in frames {
        new.push(stream.take(frame)?);
    }
    Ok((new, stream))
}

#[test]
fn numbers_grow_with_gaps_and_what_was_had_is_dropped() {
    let frames = [message(3), message(3), message(9), message(4)];
    assert_eq!(play(at(1, 2), &frames), Ok((vec![true, false, true, false], at(1, 9))));
}

#[test]
fn a_stay_opens_and_ends_with_its_leg() {
    let frames = [joined(40, 2), message(41), parted(44, 3), message(1), refused(7, 4)];
    assert_eq!(play(at(1, 5), &frames), Ok((vec![true; 5], at(4, 7))));
    // A transfer opens the leg that the part has named.
    assert_eq!(play(at(2, 5), &[parted(6, 3), joined(2, 3)]), Ok((vec![true; 2], at(3, 2))));
    assert_eq!(play(at(3, 2), &[joined(2, 3)]), Ok((vec![false], at(3, 2))));
}

#[test]
fn a_leg_never_goes_backwards() {
    let backwards = |leg| Err(Violation::LegBackwards { leg });
    assert_eq!(play(at(5, 1), &[joined(9, 4)]), backwards(4));
    assert_eq!(play(at(5, 1), &[joined(9, 5)]), backwards(5));
    assert_eq!(play(at(5, 1), &[parted(9, 5)]), backwards(5));
    assert_eq!(play(at(5, 1), &[refused(9, 3)]), backwards(3));
    assert_eq!(at(5, 1).resync(5, 9), Err(Violation::LegBackwards { leg: 5 }));
    assert_eq!(at(5, 1).welcome(Rung::Resynced, LOST, 5), Err(Violation::LegBackwards { leg: 5 }));
    assert_eq!(at(5, 1).welcome(Rung::Replayed, LOST, 6), Err(Violation::LegBackwards { leg: 6 }));
    assert!(Downstream::Unknown.welcome(Rung::Replayed, LOST, 1).is_err());
}

#[test]
fn after_a_resynced_welcome_the_resync_comes_first() {
    let mut stream = at(5, 1);
    stream.welcome(Rung::Resynced, LOST, 6).unwrap();
    assert_eq!(stream.position(), None);
    assert_eq!(stream.acked(), Some(Position { leg: 6, seq: 0 }));
    assert_eq!(stream.take(&message(3)), Err(Violation::OutOfState));
    stream.resync(6, 30).unwrap();
    assert_eq!(stream, at(6, 30));
    stream.welcome(Rung::Resynced, LOST, 7).unwrap();
    stream.detach();
    assert_eq!(stream, Downstream::Unknown);
    stream.welcome(Rung::New, LOST, 1).unwrap();
    assert_eq!(stream, at(1, 0));
}

#[test]
fn a_leg_that_ended_stays_the_position_until_the_next_one_speaks() {
    let (_, mut stream) = play(at(2, 5), &[parted(6, 3)]).unwrap();
    assert_eq!(stream.position(), Some(Position { leg: 2, seq: 6 }));
    assert_eq!((stream.acked(), stream.open_leg()), (stream.position(), Some(3)));
    stream.welcome(Rung::Replayed, RungReason::Complete, 2).unwrap();
    assert_eq!(stream.take(&message(1)), Ok(true));
    assert_eq!(stream, at(3, 1));
}

#[test]
fn a_server_that_never_gave_the_position_may_start_below_it() {
    let mut stream = at(5, 1);
    stream.welcome(Rung::Resynced, RungReason::UnknownPosition, 4).unwrap();
    stream.resync(4, 7).unwrap();
    assert_eq!(stream, at(4, 7));
}
