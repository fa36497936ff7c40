//! What a session's outbox leaves in its rows, and what is read back from them.

use std::collections::BTreeMap;

use bytes::Bytes;
use proptest::prelude::*;
use prost::Message;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Down, ServerFrame, server_frame};

use super::{FRAME, OUTBOX, OutboxRow, StretchRow, outbox_changes, outbox_of};
use crate::id::{Leg, OwnerEpoch, Revision};
use crate::scope::{Change, Opened};
use crate::stream::{EarlierLegs, Kept, OutboxLimits, Tail};

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
    fn commit(&mut self, outbox: &mut EarlierLegs) -> usize {
        let mut changes = Vec::new();
        outbox_changes(outbox, &mut changes);
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

    fn opened(&self) -> Opened {
        let rows = self.0.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        Opened { owner: OwnerEpoch(1), revision: Revision(1), rows }
    }

    fn load(&self, limits: OutboxLimits) -> EarlierLegs {
        let row = self.0.get(OUTBOX).cloned().unwrap_or_default();
        outbox_of(OutboxRow::decode(row).unwrap(), &self.opened(), limits).unwrap()
    }

    fn frames(&self) -> usize {
        self.0.keys().filter(|key| key.starts_with(FRAME)).count()
    }
}

fn shown(outbox: &EarlierLegs) -> Vec<(Leg, u64, u64, Vec<u64>)> {
    let seqs = |stretch: &Tail| stretch.kept.iter().map(|kept| kept.seq).collect();
    outbox.tails().map(|s| (s.leg, s.from, s.last, seqs(s))).collect()
}

#[test]
fn a_row_of_before_is_read_and_replaced_at_the_next_commit() {
    let stretch = |leg: Leg, seqs: &[u64]| StretchRow {
        leg: leg.to_wire(),
        from: seqs[0] - 1,
        last: seqs[seqs.len() - 1],
        seqs: seqs.to_vec(),
        frames: seqs.iter().map(|seq| frame(*seq).protobuf().clone()).collect(),
    };
    let old = OutboxRow {
        stretches: vec![stretch(Leg::first(1), &[4, 5]), stretch(Leg::first(2), &[1, 2, 3])],
    };
    let mut rows = Rows::default();
    rows.0.insert(Bytes::from_static(OUTBOX), old.encode_to_vec().into());
    let mut outbox = rows.load(WIDE);
    let expected = vec![(Leg::first(1), 3, 5, vec![4, 5]), (Leg::first(2), 0, 3, vec![1, 2, 3])];
    assert_eq!(shown(&outbox), expected);
    assert_eq!(outbox.after(Leg::first(1), 4).map(|rest| rest.len()), Some(4));
    rows.commit(&mut outbox);
    assert_eq!(rows.frames(), 5);
    let kept = OutboxRow::decode(rows.0[OUTBOX].clone()).unwrap();
    assert!(kept.stretches.iter().all(|stretch| stretch.frames.is_empty()));
    assert_eq!(shown(&rows.load(WIDE)), expected);
}

#[test]
fn a_frame_costs_one_row_and_an_acknowledgement_removes_it() {
    let (mut outbox, mut rows) = (EarlierLegs::default(), Rows::default());
    outbox.append(Tail::open(Leg::first(1)), WIDE);
    for seq in 1..=500 {
        outbox.keep(Kept { seq, frame: frame(seq) }, WIDE);
        assert_eq!(rows.commit(&mut outbox), 2, "the frame and the legs");
    }
    outbox.acknowledge(Leg::first(1), 499);
    assert_eq!(rows.commit(&mut outbox), 500);
    assert_eq!(rows.frames(), 1);
    assert_eq!(rows.commit(&mut outbox), 0);
}

#[test]
fn smaller_limits_at_the_next_start_leave_no_row_behind() {
    let (mut outbox, mut rows) = (EarlierLegs::default(), Rows::default());
    outbox.append(Tail::open(Leg::first(1)), WIDE);
    for seq in 1..=20 {
        outbox.keep(Kept { seq, frame: frame(seq) }, WIDE);
    }
    rows.commit(&mut outbox);
    let mut outbox = rows.load(LIMITS);
    rows.commit(&mut outbox);
    assert_eq!((rows.frames(), shown(&outbox)[0].1), (6, 14));
}

#[derive(Clone, Debug)]
enum Act {
    Keep,
    Turn,
    Acknowledge(u64),
    Clear,
    Commit,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => Just(Act::Keep),
        1 => Just(Act::Turn),
        2 => (0..9u64).prop_map(Act::Acknowledge),
        1 => Just(Act::Clear),
        3 => Just(Act::Commit),
    ]
}

proptest! {
    #[test]
    fn rows_say_what_the_outbox_is(acts in prop::collection::vec(act(), 1..80)) {
        let (mut outbox, mut rows) = (EarlierLegs::default(), Rows::default());
        let (mut leg, mut last) = (Leg::first(1), 0);
        outbox.append(Tail::open(leg), LIMITS);
        for act in acts {
            match act {
                Act::Keep => {
                    last += 1;
                    outbox.keep(Kept { seq: last, frame: frame(last) }, LIMITS);
                }
                Act::Turn | Act::Clear => {
                    if matches!(act, Act::Clear) {
                        outbox.clear();
                    }
                    (leg, last) = (Leg::first(leg.stay + 1), 0);
                    outbox.append(Tail::open(leg), LIMITS);
                }
                Act::Acknowledge(back) => {
                    outbox.acknowledge(leg, last.saturating_sub(back));
                }
                Act::Commit => {
                    rows.commit(&mut outbox);
                    prop_assert_eq!(shown(&rows.load(LIMITS)), shown(&outbox));
                }
            }
            let frames = outbox.tails().map(|stretch| stretch.kept.len()).sum::<usize>();
            prop_assert!(frames <= LIMITS.frames_max);
            prop_assert_eq!(outbox.is_empty(), frames == 0);
        }
        rows.commit(&mut outbox);
        prop_assert_eq!(shown(&rows.load(LIMITS)), shown(&outbox));
    }
}
