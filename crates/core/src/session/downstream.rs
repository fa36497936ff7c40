//! What a session owes its client outside the zone that it may be in: its own open leg while it is in no
//! zone, and the ends of earlier legs. Knows which of these frames have rows in the session's scope.

use std::collections::VecDeque;

use bytes::Bytes;
use prost::Message;
use rejoin_wire::SharedFrame;
use rejoin_wire::v1::RungReason;

use crate::exchange::{Link, ResumeFrom};
use crate::id::Leg;
use crate::mark::{Mark, hit};
use crate::scope::{Change, Opened};
use crate::stream::{AckAhead, Acked, EarlierLegs, Kept, NoShared, Outbound, OutboxLimits, Tail};
use crate::time::Time;

#[cfg(test)]
mod tests;

const LEGS: &[u8] = b"outbox";
/// Rows of frames start so; the leg and the number follow, 8 bytes each, highest byte first.
const FRAME: &[u8] = b"out/";

/// The session's own streams to its client.
#[derive(Debug)]
pub(crate) struct Downstream {
    /// The open leg. While the session is in a zone nothing is said in it.
    open: Outbound,
    /// The ends of earlier legs, if anything is remembered of any. Boxed like `stored`: most sessions rest, and
    /// have neither.
    earlier: Option<Box<EarlierLegs>>,
    /// The frames that have rows, oldest first. Frames come at the end and go at the front, so what must be
    /// written and deleted follows from a comparison of both ends.
    stored: Option<Box<StoredFrames>>,
    /// The row of the legs differs from them.
    has_moved: bool,
}

/// Positions of frames that have rows.
#[derive(Debug, Default)]
struct StoredFrames(VecDeque<(Leg, u64)>);

/// A frame that goes out once its cause is committed.
#[derive(Clone, Debug)]
pub(crate) struct Outgoing {
    pub link: Link,
    /// The position that acknowledges it in the open leg; none for a frame of an earlier leg.
    pub at: Option<(Leg, u64)>,
    pub frame: SharedFrame,
}

impl Downstream {
    /// The streams of a new session.
    pub(crate) fn new() -> Self {
        Self { open: Outbound::new(Leg::first(1)), earlier: None, stored: None, has_moved: true }
    }

    /// Says something in the open leg. Gives it if it goes out at once.
    pub(crate) fn say(
        &mut self,
        make: impl FnOnce(u64) -> SharedFrame,
        limits: OutboxLimits,
    ) -> Option<Outgoing> {
        let seq = self.open.newest().saturating_add(1);
        let frame = make(seq);
        let link = self.open.offer(seq, frame.len(), limits.into());
        let (frames, bytes) = self.open.own_size();
        if let Some(earlier) = &mut self.earlier {
            earlier.shrink(limits, (frames + 1, bytes + frame.len()));
        }
        if self.open.keep(Kept { seq, frame: frame.clone() }, limits.into()) {
            hit(Mark::SessionOutboxEvicted);
        }
        self.has_moved = true;
        Some(Outgoing { link: link?, at: Some((self.open.leg(), seq)), frame })
    }

    /// What goes out of that which is kept, as far as the window of the client allows.
    pub(crate) fn send_waiting(&mut self, limits: OutboxLimits) -> Vec<Outgoing> {
        let (leg, sent) = (self.open.leg(), self.open.send_waiting(&NoShared, limits.into()));
        let outgoing = |link| {
            let at = |seq| Some((leg, seq));
            sent.into_iter()
                .map(move |(seq, frame)| Outgoing { link, at: at(seq), frame })
                .collect()
        };
        self.open.link().map(outgoing).unwrap_or_default()
    }

    /// Whether the client must be given the whole state, because it missed something for good.
    pub(crate) fn take_overrun(&mut self) -> bool {
        self.open.take_overrun()
    }

    /// A frame has left. True: an acknowledgement is due from now on, and has no deadline yet.
    pub(crate) fn released(&mut self, (leg, seq): (Leg, u64)) -> bool {
        leg == self.open.leg() && self.open.released(seq)
    }

    /// The session goes into a zone: its own leg is over. Gives what of it has not been put on the link yet;
    /// none: something before that is gone for good.
    pub(crate) fn leave(&mut self, next: Leg, limits: OutboxLimits) -> Option<Vec<Outgoing>> {
        let link = self.open.link();
        let sent = self.open.sent();
        let tail = std::mem::replace(&mut self.open, Outbound::new(next)).into_tail();
        let unsent = unsent(&tail, sent, link);
        self.append(tail, limits);
        unsent
    }

    /// A zone hands over the end of a leg, of which `sent` was the last number on `link`. Gives the rest of
    /// it; none: something before that is gone for good.
    pub(crate) fn take_tail(
        &mut self,
        tail: Tail,
        sent: u64,
        link: Option<Link>,
        limits: OutboxLimits,
    ) -> Option<Vec<Outgoing>> {
        let unsent = unsent(&tail, sent, link);
        self.append(tail, limits);
        unsent
    }

    fn append(&mut self, tail: Tail, limits: OutboxLimits) {
        let earlier = self.earlier.get_or_insert_default();
        earlier.append(tail);
        earlier.shrink(limits, (0, 0));
        self.has_moved = true;
    }

    /// The session is in no zone from here on, in this leg; `link`: its client is there to hear it.
    pub(crate) fn enter(&mut self, leg: Leg, link: Option<Link>) {
        self.open = Outbound::new(leg);
        if let Some(link) = link {
            self.open.attach(link, 0);
        }
        self.has_moved = true;
    }

    /// A client of a new session is there.
    pub(crate) fn attach(&mut self, link: Link) {
        self.open.attach(link, 0);
    }

    /// The client is gone, or gave way to another.
    pub(crate) fn detach(&mut self) {
        self.open.detach();
        if let Some(earlier) = &mut self.earlier {
            earlier.rest();
        }
    }

    /// Starts the open leg afresh; its client is being sent the whole state.
    pub(crate) fn restart(&mut self, reason: RungReason, link: Option<Link>) -> (Leg, u64) {
        let (leg, seq) = (self.next_leg(), self.open.newest());
        self.open.restart(leg, seq, reason, link);
        self.clear_earlier();
        self.has_moved = true;
        (leg, seq)
    }

    /// The leg that a resync opens.
    pub(crate) fn next_leg(&self) -> Leg {
        let Leg { stay, turn } = self.open.leg();
        Leg { stay, turn: turn.saturating_add(1) }
    }

    /// Whether a client can go on in the open leg: see [`Outbound::resume`].
    ///
    /// # Errors
    /// Why it is given the whole state instead.
    pub(crate) fn resume(&self, from: &ResumeFrom) -> Result<Option<u64>, RungReason> {
        self.open.resume(from, Some(self.next_leg()))
    }

    /// Goes on for a client that returns.
    pub(crate) fn replay(&mut self, link: Link, position: Option<u64>) {
        self.open.replay(link, position);
        if position.is_some() {
            self.clear_earlier();
        }
        self.has_moved = true;
    }

    /// The client has everything of the open leg up to here, and so all of earlier ones.
    ///
    /// # Errors
    /// It was never sent that.
    pub(crate) fn acknowledge(&mut self, leg: Leg, seq: u64) -> Result<Acked, AckAhead> {
        let acked = self.open.acknowledge(leg, seq)?;
        if matches!(acked, Acked::Taken { .. }) {
            self.clear_earlier();
            self.has_moved = true;
        }
        Ok(acked)
    }

    /// The client has everything of an earlier leg up to here.
    ///
    /// # Errors
    /// That leg has no such number.
    pub(crate) fn acknowledge_earlier(&mut self, leg: Leg, seq: u64) -> Result<(), AckAhead> {
        self.has_moved = true;
        let earlier = self.earlier.as_mut();
        // Of a leg that is not remembered everything was acknowledged, or forgotten.
        earlier.is_none_or(|earlier| earlier.acknowledge(leg, seq)).then_some(()).ok_or(AckAhead)
    }

    /// Everything of earlier legs after a position, if all of it is here.
    pub(crate) fn after(&self, leg: Leg, seq: u64) -> Option<Vec<SharedFrame>> {
        self.earlier.as_ref()?.after(leg, seq)
    }

    /// The client hears a later leg, or is given the whole state.
    pub(crate) fn clear_earlier(&mut self) {
        self.has_moved |= self.earlier.take().is_some();
    }

    /// When an acknowledgement of the open leg is due.
    pub(crate) fn progress_at(&self) -> Option<Time> {
        self.open.progress_at()
    }

    /// An acknowledgement is due by another instant.
    pub(crate) fn expect_by(&mut self, at: Time) {
        self.open.expect_by(at);
    }

    /// How many frames of the open leg the client has not acknowledged, as far as they are kept.
    pub(crate) fn unacked(&self) -> usize {
        self.open.own().len()
    }

    /// The last number of the open leg.
    pub(crate) fn newest(&self) -> u64 {
        self.open.newest()
    }

    /// The open leg.
    #[cfg(test)]
    pub(crate) fn leg(&self) -> Leg {
        self.open.leg()
    }
}

/// The frames of a tail that have not been put on the link; none: there is a hole before them.
fn unsent(tail: &Tail, sent: u64, link: Option<Link>) -> Option<Vec<Outgoing>> {
    match link {
        Some(_) if tail.from > sent => None,
        Some(link) => {
            let rest = tail.kept.iter().filter(|kept| kept.seq > sent);
            Some(rest.map(|kept| Outgoing { link, at: None, frame: kept.frame.clone() }).collect())
        }
        // The client gets them when it returns, as far as they are kept then.
        None => Some(Vec::new()),
    }
}

/// How the streams are read from the session's scope and written to it.
impl Downstream {
    /// The streams from their rows. `leg` is the session's; `last`, if the session is in no zone, the last
    /// number of that leg.
    pub(crate) fn load(
        opened: &Opened,
        leg: Leg,
        last: Option<u64>,
        limits: OutboxLimits,
    ) -> Result<Self, String> {
        let row = opened.rows.iter().find(|(key, _)| key == LEGS);
        let row = row.map(|(_, value)| value.clone()).unwrap_or_default();
        let row = LegsRow::decode(row).map_err(|error| format!("the legs: {error}"))?;
        // A row of before has its frames inside; they get rows of their own with the next commit.
        let is_of_before = row.legs.iter().any(|leg| !leg.frames.is_empty());
        let mut tails: Vec<Tail> = row.legs.into_iter().map(tail_of).collect();
        let mut stored = VecDeque::new();
        // Rows come in the order of their keys, so frames come in the order of their numbers.
        for (key, value) in opened.rows.iter().filter(|(key, _)| key.starts_with(FRAME)) {
            let of = parse_frame_key(key).and_then(|(leg, seq)| {
                Some((tails.iter_mut().rev().find(|tail| tail.leg == leg)?, seq))
            });
            let (tail, seq) = of.ok_or("a frame of a leg that is not owed anything")?;
            tail.kept.push_back(Kept { seq, frame: SharedFrame::from_encoded(value.clone()) });
            stored.push_back((tail.leg, seq));
        }
        let mut open = Outbound::new(leg);
        if let Some(last) = last {
            let own = tails.pop_if(|tail| tail.leg == leg);
            let own = own.unwrap_or_else(|| Tail { leg, from: last, last, kept: VecDeque::new() });
            open = Outbound::restored(own, 0, RungReason::Unspecified);
            open.bound(limits.into());
        }
        let mut earlier = None;
        if !tails.is_empty() {
            let kept: &mut Box<EarlierLegs> = earlier.get_or_insert_default();
            tails.into_iter().for_each(|tail| kept.append(tail));
            kept.shrink(limits, open.own_size());
        }
        let stored = (!stored.is_empty()).then(|| Box::new(StoredFrames(stored)));
        Ok(Self { open, earlier, stored, has_moved: is_of_before })
    }

    /// What must be written so that the rows are as the streams are; `is_open`: the session is in no zone.
    pub(crate) fn changes(&mut self, is_open: bool, changes: &mut Vec<Change>) {
        let StoredFrames(mut stored) = self.stored.take().map(|stored| *stored).unwrap_or_default();
        let tails = self.earlier.iter().flat_map(|earlier| earlier.tails());
        let legs = tails.flat_map(|tail| tail.kept.iter().map(|kept| (tail.leg, kept)));
        let own = self.open.own().iter().map(|kept| (self.open.leg(), kept));
        let mut kept = legs.chain(own).map(|(leg, kept)| ((leg, kept.seq), kept)).peekable();
        let first = kept.peek().map(|(at, _)| *at);
        let gone = stored.iter().take_while(|at| first.is_none_or(|first| **at < first)).count();
        if gone > 1 && gone == stored.len() {
            changes.push(Change::DeletePrefix(Bytes::from_static(FRAME)));
            stored.clear();
        } else {
            let gone = stored.drain(..gone);
            changes.extend(gone.map(|(leg, seq)| Change::Delete(frame_key(leg, seq))));
        }
        let last = stored.back().copied();
        for (at, kept) in kept.skip_while(|(at, _)| last.is_some_and(|last| *at <= last)) {
            changes.push(Change::Put(frame_key(at.0, at.1), kept.frame.protobuf().clone()));
            stored.push_back(at);
        }
        self.stored = (!stored.is_empty()).then(|| Box::new(StoredFrames(stored)));
        if std::mem::take(&mut self.has_moved) {
            let open = self.open.ends();
            let tails = self.earlier.iter().flat_map(|earlier| earlier.tails());
            let legs = tails.map(|tail| (tail.leg, tail.from, tail.last));
            let legs = legs.chain(is_open.then_some(open));
            let legs = legs.map(|(leg, from, last)| LegRow {
                leg: leg.to_wire(),
                from,
                last,
                ..LegRow::default()
            });
            let row = LegsRow { legs: legs.collect() };
            changes.push(Change::Put(Bytes::from_static(LEGS), row.encode_to_vec().into()));
        }
    }
}

#[derive(Clone, PartialEq, Message)]
struct LegsRow {
    #[prost(message, repeated, tag = "1")]
    legs: Vec<LegRow>,
}

#[derive(Clone, PartialEq, Message)]
struct LegRow {
    #[prost(uint64, tag = "1")]
    leg: u64,
    #[prost(uint64, tag = "2")]
    from: u64,
    #[prost(uint64, tag = "3")]
    last: u64,
    /// The numbers of `frames`. Read only: frames have had rows of their own since.
    #[prost(uint64, repeated, tag = "4")]
    seqs: Vec<u64>,
    #[prost(bytes = "bytes", repeated, tag = "5")]
    frames: Vec<Bytes>,
}

fn tail_of(row: LegRow) -> Tail {
    let kept = row.seqs.into_iter().zip(row.frames);
    let kept = kept.map(|(seq, frame)| Kept { seq, frame: SharedFrame::from_encoded(frame) });
    Tail { leg: Leg::from_wire(row.leg), from: row.from, last: row.last, kept: kept.collect() }
}

fn frame_key(leg: Leg, seq: u64) -> Bytes {
    Bytes::from([FRAME, &leg.to_wire().to_be_bytes(), &seq.to_be_bytes()].concat())
}

fn parse_frame_key(key: &[u8]) -> Option<(Leg, u64)> {
    let (leg, seq) = key.strip_prefix(FRAME)?.split_first_chunk::<8>()?;
    let seq = u64::from_be_bytes(seq.try_into().ok()?);
    Some((Leg::from_wire(u64::from_be_bytes(*leg)), seq))
}
