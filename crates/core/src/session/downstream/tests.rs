//! What the session's own streams leave in its rows, and what is read back from them.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Down, RungReason, ServerFrame, server_frame};

use super::{Downstream, FRAME, LEGS, LegRow, LegsRow};
use crate::exchange::{Link, ResumeFrom};
use crate::id::{ConnectionId, Leg, OwnerEpoch, Revision, SessionEpoch};
use crate::scope::{Change, Opened};
use crate::stream::{Kept, OutboxLimits, Tail};

const LIMITS: OutboxLimits = OutboxLimits { frames_max: 6, bytes_max: 1 << 20, legs_max: 3 };
const WIDE: OutboxLimits = OutboxLimits { frames_max: 1_024, bytes_max: 1 << 20, legs_max: 16 };

fn frame(seq: u64) -> SharedFrame {
    let down = Down { seq, body: None };
    SharedFrame::new(&ServerFrame { frame: Some(server_frame::Frame::Down(down)) })
}

/// The rows of a scope, as a store keeps them.
#[derive(Default)]
struct Rows(BTreeMap<Bytes, Bytes>);

impl Rows {
    fn commit(&mut self, streams: &mut Downstream) -> usize {
        let mut changes = Vec::new();
        streams.changes(true, &mut changes);
        let count = changes.len();
        for change in changes {
            match change {
                Change::Put(key, value) => drop(self.0.insert(key, value)),
                Change::Delete(key) => {
                    assert!(self.0.remove(&key).is_some(), "{key:?} has no row");
                }
                Change::DeletePrefix(prefix) => self.0.retain(|key, _| !key.starts_with(&prefix)),
            }
        }
        count
    }

    fn load(&self, streams: &Downstream, limits: OutboxLimits) -> Downstream {
        let rows = self.0.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        let opened = Opened { owner: OwnerEpoch(1), revision: Revision(1), rows };
        Downstream::load(&opened, streams.leg(), Some(streams.newest()), limits).unwrap()
    }

    fn frames(&self) -> usize {
        self.0.keys().filter(|key| key.starts_with(FRAME)).count()
    }
}

fn link() -> Link {
    Link { connection: ConnectionId(1), epoch: SessionEpoch(1) }
}

fn say(streams: &mut Downstream, limits: OutboxLimits) {
    streams.say(frame, limits);
}

/// Each leg: where what is kept of it begins, its last number, and the numbers that are kept.
fn shown(streams: &Downstream) -> Vec<(Leg, u64, u64, Vec<u64>)> {
    let shown = |tail: &Tail| {
        let seqs = tail.kept.iter().map(|kept| kept.seq).collect();
        (tail.leg, tail.from, tail.last, seqs)
    };
    let earlier = streams.earlier.iter().flat_map(|earlier| earlier.tails());
    earlier.map(shown).chain([shown(&streams.open.tail())]).collect()
}

#[test]
fn a_row_of_before_is_read_and_replaced_at_the_next_commit() {
    let leg = |leg: Leg, seqs: &[u64]| LegRow {
        leg: leg.to_wire(),
        from: seqs[0] - 1,
        last: seqs[seqs.len() - 1],
        seqs: seqs.to_vec(),
        frames: seqs.iter().map(|seq| frame(*seq).protobuf().clone()).collect(),
    };
    let old = LegsRow { legs: vec![leg(Leg::first(1), &[4, 5]), leg(Leg::first(2), &[1, 2, 3])] };
    let mut rows = Rows::default();
    rows.0.insert(Bytes::from_static(LEGS), old.encode_to_vec().into());
    let mut like = Downstream::new();
    like.enter(Leg::first(2), None);
    (0..3).for_each(|_| say(&mut like, WIDE));
    let mut streams = rows.load(&like, WIDE);
    let expected = vec![(Leg::first(1), 3, 5, vec![4, 5]), (Leg::first(2), 0, 3, vec![1, 2, 3])];
    assert_eq!(shown(&streams), expected);
    assert_eq!(streams.after(Leg::first(1), 4).map(|rest| rest.len()), Some(1));
    assert_eq!(streams.resume(&ResumeFrom::Start), Ok(None));
    rows.commit(&mut streams);
    assert_eq!(rows.frames(), 5);
    let kept = LegsRow::decode(rows.0[LEGS].clone()).unwrap();
    assert!(kept.legs.iter().all(|leg| leg.frames.is_empty()));
    assert_eq!(shown(&rows.load(&streams, WIDE)), expected);
}

#[test]
fn a_frame_costs_one_row_and_an_acknowledgement_removes_it() {
    let (mut streams, mut rows) = (Downstream::new(), Rows::default());
    streams.attach(link());
    for _ in 1..=500 {
        say(&mut streams, WIDE);
        assert_eq!(rows.commit(&mut streams), 2, "the frame and the legs");
    }
    streams.acknowledge(Leg::first(1), 499).unwrap();
    assert_eq!(rows.commit(&mut streams), 500);
    assert_eq!(rows.frames(), 1);
    assert_eq!(rows.commit(&mut streams), 0);
}

#[test]
fn smaller_limits_at_the_next_start_leave_no_row_behind() {
    let (mut streams, mut rows) = (Downstream::new(), Rows::default());
    (0..20).for_each(|_| say(&mut streams, WIDE));
    rows.commit(&mut streams);
    let mut streams = rows.load(&streams, LIMITS);
    rows.commit(&mut streams);
    assert_eq!((rows.frames(), shown(&streams)[0].1), (6, 14));
}

#[test]
fn a_leg_of_which_nothing_is_kept_goes_on_with_its_numbers() {
    let (mut streams, rows) = (Downstream::new(), Rows::default());
    (0..3).for_each(|_| say(&mut streams, WIDE));
    assert_eq!(rows.load(&streams, WIDE).newest(), 3, "without any row of its legs");
}

#[derive(Clone, Debug)]
enum Act {
    Say,
    /// Through a zone that leaves so many frames behind.
    Visit(u64),
    Resync,
    Acknowledge(u64),
    AcknowledgeEarlier(u64),
    Return,
    Commit,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Say),
        1 => (0..4u64).prop_map(Act::Visit),
        1 => Just(Act::Resync),
        2 => (0..9u64).prop_map(Act::Acknowledge),
        1 => (0..4u64).prop_map(Act::AcknowledgeEarlier),
        1 => Just(Act::Return),
        3 => Just(Act::Commit),
    ]
}

proptest! {
    #[test]
    fn rows_say_what_the_streams_are(acts in prop::collection::vec(act(), 1..80)) {
        let (mut streams, mut rows) = (Downstream::new(), Rows::default());
        streams.attach(link());
        for act in acts {
            let stay = streams.leg().stay;
            match act {
                Act::Say => say(&mut streams, LIMITS),
                Act::Visit(frames) => {
                    let (zone, next) = (Leg::first(stay + 1), Leg::first(stay + 2));
                    let _ = streams.leave(zone, LIMITS);
                    let kept = (1..=frames).map(|seq| Kept { seq, frame: frame(seq) }).collect();
                    let tail = Tail { leg: zone, from: 0, last: frames, kept };
                    let _ = streams.take_tail(tail, frames, Some(link()), LIMITS);
                    streams.enter(next, Some(link()));
                }
                Act::Resync => drop(streams.restart(RungReason::Overrun, Some(link()))),
                Act::Acknowledge(back) => {
                    let seq = streams.newest().saturating_sub(back);
                    let _ = streams.acknowledge(streams.leg(), seq);
                }
                Act::AcknowledgeEarlier(seq) => {
                    let _ = streams.acknowledge_earlier(Leg::first(stay.saturating_sub(1)), seq);
                }
                Act::Return => {
                    streams.detach();
                    streams.replay(link(), None);
                }
                Act::Commit => {
                    rows.commit(&mut streams);
                    prop_assert_eq!(shown(&rows.load(&streams, LIMITS)), shown(&streams));
                }
            }
            let frames = shown(&streams).iter().map(|(.., seqs)| seqs.len()).sum::<usize>();
            prop_assert!(frames <= LIMITS.frames_max);
        }
        rows.commit(&mut streams);
        prop_assert_eq!(shown(&rows.load(&streams, LIMITS)), shown(&streams));
    }
}
