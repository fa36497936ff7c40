//! What an event in a zone costs depends on whom it concerns, not on how many are there. A zone alone,
//! without a hub, beside few and beside many members who do nothing.

use std::time::Duration;

use rejoin_core::chance::Chance;
use rejoin_core::exchange::{Admit, ToZone, ZoneName};
use rejoin_core::id::{
    ConnectionId, ObjectId, PlayerId, Revision, SessionEpoch, SessionId, ZoneId,
};
use rejoin_core::scope::{Batch, Change, Opened};
use rejoin_core::time::Time;
use rejoin_core::wire::Bytes;
use rejoin_core::wire::v1::{Message as Said, PartCause, Up, up};
use rejoin_core::zone::{
    BadPayload, Context, Message, OnPart, Sender, State, Zone, ZoneConfig, ZoneCore, ZoneInput,
    ZoneMachine, ZoneOutput, ZoneSpec,
};

use crate::scale::{assert_alike, shortest};

/// Members of the two runs that are compared.
const FEW: usize = 100;
const MANY: usize = 20 * FEW;
/// Frames that the ring of these zones holds.
const RING: usize = 1_024;

/// Bytes as they are.
struct Raw(Bytes);

impl Message for Raw {
    fn encode(&self) -> Bytes {
        self.0.clone()
    }

    fn decode(payload: Bytes) -> Result<Self, BadPayload> {
        Ok(Self(payload))
    }
}

/// Says to its sender, or to two, what it is told; and nothing to anybody else.
struct Quiet;

impl Zone for Quiet {
    type In = Raw;
    type Out = Raw;
    const STATE: State = State::Cells;

    fn on_message(&mut self, ctx: &mut Context<'_, Raw>, from: Sender, message: Raw) {
        match &message.0[..] {
            b"both" => ctx.send_to([from.session, SessionId(2)], message),
            b"loose" => {
                let all: Vec<SessionId> = ctx.members().map(|member| member.session).collect();
                ctx.send_unreliable_to(all, message);
            }
            text if text.starts_with(b"everybody") => ctx.broadcast(message),
            _ => ctx.send(from.session, message),
        }
    }
}

/// A zone and the commits it has made.
struct Hall {
    machine: ZoneCore<Quiet>,
    now: Time,
    said: u64,
    /// Bytes of whole states, and of what changed.
    written: (usize, usize),
    sent: Vec<(SessionId, rejoin_core::wire::SharedFrame)>,
}

impl Hall {
    fn new(config: ZoneConfig) -> Self {
        let name = ZoneName { kind: "quiet".to_owned(), name: "q".to_owned() };
        let spec = ZoneSpec {
            id: ZoneId::of("quiet", "q"),
            name,
            config,
            seated: false,
            poisoned: None,
            closed: false,
        };
        let now = Time::from_millis(1_000);
        let chance = Chance::from_seed([1; 32]);
        let machine = ZoneCore::open(now, spec, Quiet, &Opened::default(), chance);
        let mut hall = Self { machine, now, said: 0, written: (0, 0), sent: Vec::new() };
        hall.drain();
        hall
    }

    /// With so many members, the first of whom is the only one that ever speaks.
    fn with(members: usize) -> Self {
        let most = ZoneConfig::default();
        let mut hall = Self::new(ZoneConfig {
            tick: None,
            members_max: 2 * MANY,
            roster_max: 2 * MANY,
            ring_frames_max: RING,
            // The one who speaks never acknowledges; the others have nothing to.
            window_frames: usize::MAX,
            window_bytes: usize::MAX,
            ..most
        });
        for session in 1..=members as u64 {
            hall.join(session);
        }
        hall
    }

    fn feed(&mut self, input: ZoneInput) {
        self.machine.handle(self.now, input);
        self.drain();
    }

    /// Carries out what there is; everything is committed at once.
    fn drain(&mut self) {
        while let Some(output) = self.machine.next_output() {
            match output {
                ZoneOutput::Commit(batch) => {
                    self.count(&batch);
                    self.machine.handle(self.now, ZoneInput::Committed(batch.revision));
                }
                ZoneOutput::Send { session, frame, .. } => self.sent.push((session, frame)),
                ZoneOutput::SendToMany { to, frame } => {
                    self.sent.extend(to.into_iter().map(|(session, _)| (session, frame.clone())));
                }
                ZoneOutput::SendAll { session, frames, .. } => {
                    self.sent.extend(frames.into_iter().map(|frame| (session, frame)));
                }
                _ => {}
            }
        }
    }

    fn count(&mut self, batch: &Batch) {
        let bytes = batch.changes.iter().map(Change::bytes).sum::<usize>();
        let is_base = batch.changes.iter().any(|change| matches!(change, Change::DeletePrefix(_)));
        if is_base && batch.revision > Revision(1) {
            self.written.0 += bytes;
        } else {
            self.written.1 += bytes;
        }
    }

    fn tell(&mut self, message: ToZone) {
        let owner = self.machine.owner();
        self.feed(ZoneInput::FromHub(owner, message));
    }

    fn join(&mut self, session: u64) {
        let mut player = PlayerId::default();
        player.0[..8].copy_from_slice(&session.to_be_bytes());
        self.tell(ToZone::Admit(Box::new(Admit {
            session: SessionId(session),
            stay: 2,
            player,
            epoch: SessionEpoch(1),
            link: Some(ConnectionId(session)),
            native: false,
            applied: 0,
            to: 1,
            poisoned: None,
            payload: Bytes::new(),
            data: Bytes::new(),
        })));
    }

    fn part(&mut self, session: u64) {
        let (session, stay) = (SessionId(session), 2);
        self.tell(ToZone::Part { session, stay, cause: PartCause::Kicked });
        self.tell(ToZone::Forget { session, stay });
    }

    fn say(&mut self, text: &[u8]) {
        self.said += 1;
        let payload = Bytes::copy_from_slice(text);
        let body = up::Body::Message(Said { payload, ..Said::default() });
        let up = Up { seq: self.said, body: Some(body) };
        self.tell(ToZone::Up { session: SessionId(1), epoch: SessionEpoch(1), stay: 2, up });
    }
}

fn cost(members: usize, mut event: impl FnMut(&mut Hall, usize)) -> Duration {
    let mut hall = Hall::with(members);
    let cost = shortest(|round| event(&mut hall, round));
    hall.machine.check_indexes().expect("what is counted is right");
    cost
}

#[test]
fn a_message_and_its_cut_cost_the_same_beside_many_members() {
    let run = |members| cost(members, |hall, _| hall.say(b"echo"));
    assert_alike("a message and its cut", FEW, run);
}

#[test]
fn words_to_two_members_cost_the_same_beside_many_others() {
    let run = |members| cost(members, |hall, _| hall.say(b"both"));
    assert_alike("words to two", FEW, run);
}

#[test]
fn waking_a_zone_costs_the_same_beside_many_members() {
    let run = |members| {
        cost(members, |hall, _| {
            hall.now = hall.now.after(Duration::from_micros(1));
            hall.feed(ZoneInput::Wake);
            let _ = (hall.machine.next_deadline(), hall.machine.counts());
        })
    };
    assert_alike("a wake", FEW, run);
}

#[test]
fn coming_and_going_costs_the_same_beside_many_members() {
    let run = |members| {
        cost(members, |hall, round| {
            let session = 1_000_000 + round as u64;
            hall.join(session);
            hall.part(session);
        })
    };
    assert_alike("a join and a part", FEW, run);
}

#[test]
fn a_full_ring_costs_two_who_talk_the_same_beside_many_members() {
    let run = |members: usize| {
        let mut hall = Hall::with(members);
        // Nobody acknowledges: the ring fills, and from then on each message pushes one out.
        while hall.machine.counts().ring_frames < RING {
            hall.say(b"both");
        }
        shortest(|_| hall.say(b"both"))
    };
    assert_alike("words to two in a full ring", FEW, run);
}

#[test]
fn an_unreliable_message_is_encoded_once_for_all_who_are_in_the_same_leg() {
    let mut hall = Hall::with(50);
    hall.sent.clear();
    hall.say(b"loose");
    let frames: Vec<*const u8> = hall
        .sent
        .iter()
        .filter(|(session, _)| session.0 > 1)
        .map(|(_, f)| f.protobuf().as_ptr())
        .collect();
    assert_eq!(frames.len(), 49, "each but the sender hears nothing else");
    assert!(frames.iter().all(|frame| *frame == frames[0]), "one frame, shared by all");
}

#[test]
fn an_unreliable_message_to_many_costs_what_it_sends() {
    let run = |members| cost(members, |hall, _| hall.say(b"loose"));
    let (few, many) = (run(FEW), run(MANY));
    // Twenty times as many readers: a list that is searched for each of them costs 400 times.
    let text = format!("{FEW} readers: {few:?}, {MANY} readers: {many:?}");
    println!("{text}");
    assert!(many <= few * 20 * 3, "{text}");
}

#[test]
fn one_absent_member_does_not_multiply_what_is_written() {
    let mut hall = Hall::with(2);
    // Nobody acknowledges, as if both were away: all that is said stays in the ring.
    let message = format!("everybody {}", "x".repeat(1_000));
    for _ in 0..900 {
        hall.say(message.as_bytes());
    }
    let (whole, changed) = hall.written;
    assert!(whole > 0, "cuts are put together now and then");
    let text = format!("{whole} bytes of whole states for {changed} bytes of changes");
    println!("{text}");
    assert!(whole <= 2 * changed, "{text}");
}

#[test]
fn whoever_parts_costs_the_same_beside_many_objects_of_others() {
    let run = |objects: usize| {
        let mut owned = rejoin_core::zone::objects::Objects::default();
        let other = rejoin_core::zone::objects::Owned {
            player: PlayerId::default(),
            on_part: OnPart::Keep,
        };
        for object in 0..objects as u64 {
            owned.set(ObjectId(object), other);
        }
        shortest(|_| {
            for _ in 0..100 {
                assert_eq!(owned.part(PlayerId([1; 16]), None), []);
            }
        })
    };
    assert_alike("a part", 500, run);
}
