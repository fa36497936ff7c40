//! One stream and its client, over drops, returns, slow reading and forgotten frames. The client writes down what
//! it hears; in the end that is what was said in its leg, each number once and in order.

use std::collections::{BTreeMap, VecDeque};

use proptest::prelude::*;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::{Down, RungReason, ServerFrame, server_frame};

use super::{Acked, Arrival, Inbound, Kept, Outbound, SendWindow, SharedFrames};
use crate::exchange::{InPlace, Link, ResumeFrom};
use crate::id::{ConnectionId, Leg, SessionEpoch};

const WINDOW: SendWindow = SendWindow { frames: 4, bytes: 1 << 20 };
const KEPT: SendWindow = SendWindow { frames: 6, bytes: 1 << 20 };
const RING_MAX: usize = 8;

fn frame(seq: u64) -> SharedFrame {
    let down = Down { seq, body: None };
    SharedFrame::new(&ServerFrame { frame: Some(server_frame::Frame::Down(down)) })
}

/// What is kept for all readers.
#[derive(Default)]
struct Ring(BTreeMap<u64, SharedFrame>);

impl SharedFrames for Ring {
    fn after(&self, after: u64) -> impl Iterator<Item = (u64, &SharedFrame)> {
        self.0.range(after + 1..).map(|(seq, frame)| (*seq, frame))
    }
}

/// What is on its way to the client.
#[derive(Clone, Copy, Debug)]
enum Sent {
    Frame(u64),
    Resync(Leg, u64),
}

/// A place, a link that may break, and a client.
struct Play {
    outbound: Outbound,
    ring: Ring,
    last: u64,
    /// Everything said in the open turn of the leg.
    said: Vec<u64>,
    on_link: VecDeque<Sent>,
    epoch: u64,
    client_leg: Leg,
    client_seq: u64,
    /// Everything that the client heard in its leg.
    heard: Vec<u64>,
}

impl Play {
    fn new() -> Self {
        let mut play = Self {
            outbound: Outbound::new(Leg::first(1)),
            ring: Ring::default(),
            last: 0,
            said: Vec::new(),
            on_link: VecDeque::new(),
            epoch: 0,
            client_leg: Leg::first(1),
            client_seq: 0,
            heard: Vec::new(),
        };
        let link = play.link();
        play.outbound.attach(link, 0);
        play
    }

    fn link(&mut self) -> Link {
        self.epoch += 1;
        Link { connection: ConnectionId(self.epoch), epoch: SessionEpoch(self.epoch) }
    }

    fn say(&mut self, is_shared: bool) {
        self.last += 1;
        let (seq, frame) = (self.last, frame(self.last));
        self.said.push(seq);
        if self.outbound.offer(seq, frame.len(), WINDOW).is_some() {
            self.on_link.push_back(Sent::Frame(seq));
        }
        if is_shared {
            self.ring.0.insert(seq, frame);
            if self.ring.0.len() > RING_MAX
                && let Some((forgotten, _)) = self.ring.0.pop_first()
            {
                self.outbound.lose(forgotten);
            }
        } else {
            self.outbound.keep(Kept { seq, frame }, KEPT);
        }
        self.resync_if_overrun();
    }

    fn resync_if_overrun(&mut self) {
        if self.outbound.take_overrun() {
            let link = self.outbound.link();
            self.resync(link, RungReason::Overrun);
        }
    }

    fn resync(&mut self, link: Option<Link>, reason: RungReason) {
        let leg = self.next_leg();
        self.outbound.restart(leg, self.last, reason, link);
        self.said.clear();
        self.on_link.push_back(Sent::Resync(leg, self.last));
    }

    fn next_leg(&self) -> Leg {
        let Leg { stay, turn } = self.outbound.leg();
        Leg { stay, turn: turn + 1 }
    }

    fn hear(&mut self) {
        match self.on_link.pop_front() {
            Some(Sent::Frame(seq)) => {
                assert!(seq > self.client_seq, "{seq} after {}", self.client_seq);
                self.client_seq = seq;
                self.heard.push(seq);
            }
            Some(Sent::Resync(leg, seq)) => {
                assert!(leg > self.client_leg);
                (self.client_leg, self.client_seq) = (leg, seq);
                self.heard.clear();
            }
            None => {}
        }
    }

    fn acknowledge(&mut self) {
        let acked = self.outbound.acknowledge(self.client_leg, self.client_seq);
        assert!(matches!(acked, Ok(Acked::Taken { .. } | Acked::Stale)), "an honest client");
        self.resync_if_overrun();
        self.pump();
    }

    fn pump(&mut self) {
        let sent = self.outbound.send_waiting(&self.ring, WINDOW);
        self.on_link.extend(sent.into_iter().map(|(seq, _)| Sent::Frame(seq)));
    }

    fn cut(&mut self) {
        self.outbound.detach();
        self.on_link.clear();
    }

    fn come_back(&mut self) {
        self.cut();
        let link = self.link();
        let from = ResumeFrom::Position(self.client_leg, self.client_seq);
        match self.outbound.resume(&from, Some(self.next_leg())) {
            Ok(position) => {
                assert!(self.client_seq >= self.outbound.lost(), "replayed over a hole");
                self.outbound.replay(link, position);
                self.pump();
            }
            Err(reason) => {
                let is_hole = self.client_seq < self.outbound.lost();
                assert!(is_hole || self.client_leg != self.outbound.leg(), "nothing was lost");
                self.resync(Some(link), reason);
            }
        }
    }
}

#[derive(Clone, Debug)]
enum Act {
    Say { is_shared: bool },
    Hear(u8),
    Acknowledge,
    Cut,
    ComeBack,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => any::<bool>().prop_map(|is_shared| Act::Say { is_shared }),
        4 => (1..6u8).prop_map(Act::Hear),
        3 => Just(Act::Acknowledge),
        1 => Just(Act::Cut),
        2 => Just(Act::ComeBack),
    ]
}

proptest! {
    #[test]
    fn a_client_hears_everything_once_and_in_order(acts in prop::collection::vec(act(), 1..200)) {
        let mut play = Play::new();
        for act in acts {
            match act {
                Act::Say { is_shared } => play.say(is_shared),
                Act::Hear(frames) => (0..frames).for_each(|_| play.hear()),
                Act::Acknowledge => play.acknowledge(),
                Act::Cut => play.cut(),
                Act::ComeBack => play.come_back(),
            }
        }
        if play.outbound.link().is_none() {
            play.come_back();
        }
        // Each turn the client hears something, or acknowledges something new, or all is at rest.
        let turns = 2 * (play.on_link.len() + 200);
        for _ in 0..turns {
            play.hear();
            play.acknowledge();
        }
        prop_assert!(play.on_link.is_empty());
        prop_assert_eq!(play.client_leg, play.outbound.leg());
        prop_assert_eq!(play.heard, play.said);
    }

    #[test]
    fn each_number_is_consumed_once(numbers in prop::collection::vec(0..12u64, 1..100)) {
        let (mut inbound, mut consumed) = (Inbound::default(), 0);
        for seq in numbers {
            match inbound.receive(seq) {
                Arrival::Next { is_poisoned } => {
                    consumed += 1;
                    prop_assert!(seq == consumed && !is_poisoned);
                }
                Arrival::Duplicate => prop_assert!(seq <= consumed),
                Arrival::Ahead { .. } => prop_assert!(seq > consumed + 1),
            }
        }
        prop_assert_eq!(inbound.applied(), consumed);
    }
}

#[test]
fn lost_numbers_are_named_until_the_client_has_heard_of_them() {
    let mut inbound = Inbound::after(10);
    let continued = inbound.continue_at(16, 0);
    assert_eq!((continued.lost, continued.is_behind, inbound.applied()), (5, true, 15));
    let again = inbound.continue_at(16, 0);
    assert_eq!((again.lost, again.is_behind), (5, false), "its Welcome may not have arrived");
    let known = inbound.continue_at(16, 15);
    assert_eq!((known.lost, known.is_behind), (0, false));
}

/// The zone got stuck after it had kept a resync, and the client was not sent that.
#[test]
fn a_resync_that_was_not_sent_is_sent_again_for_its_own_reason() {
    for (reason, again) in [
        (RungReason::Overrun, RungReason::Overrun),
        (RungReason::RolledBack, RungReason::RolledBack),
    ] {
        let mut outbound = Outbound::new(Leg::first(1));
        let next = Leg { stay: 1, turn: 1 };
        outbound.restart(next, 7, reason, None);
        let acked = Some((Leg::first(1), 5));
        let from = ResumeFrom::InPlace(InPlace { acked, sent: None });
        assert_eq!(outbound.resume(&from, None), Err(again));
        let from = ResumeFrom::Position(Leg::first(1), 5);
        assert_eq!(outbound.resume(&from, None), Err(again), "and when it comes back");
    }
}
