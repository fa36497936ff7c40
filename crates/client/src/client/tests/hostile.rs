//! Whatever a server sends and whenever it does, the client does not panic and keeps its own rules.

use proptest::prelude::*;
use rejoin_wire::v1::{
    Applied, Challenge, Down, Farewell, Joined, Loose, Message, Notice, Parted, Ping, Pong,
    Refusal, Refused, Reply, Resync, ServerFrame, Up, Welcome, ZoneRef, down, server_frame,
};
use rejoin_wire::{Encoding, Limits, close, decode_client, decode_server, encode_server};

use super::script::first;
use super::*;

#[derive(Clone, Debug)]
enum Step {
    Connect,
    Retry,
    Hasten,
    Fresh,
    Opened,
    Closed,
    Cancel,
    Leave,
    Pass(u64),
    Send(usize),
    Latest(u8),
    Request,
    Unreliable,
    Bytes(Vec<u8>),
    Frame(Box<ServerFrame>),
    Damaged(Box<ServerFrame>, usize, u8),
    /// The whole way in, so that most of a run is played with a live connection.
    ComeIn(Box<Welcome>),
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![6 => 0u64..6, 1 => any::<u64>()]
}

fn body() -> impl Strategy<Value = down::Body> {
    let key = prop_oneof![Just(String::new()), Just("key".to_owned())];
    prop_oneof![
        key.prop_map(|key| down::Body::Message(Message { key, ..Default::default() })),
        number().prop_map(|to| down::Body::Reply(Reply { to, ..Default::default() })),
        (number(), number()).prop_map(|(to, leg)| down::Body::Refused(Refused {
            to,
            leg,
            ..Default::default()
        })),
        (number(), number()).prop_map(|(leg, to)| {
            let zone = Some(ZoneRef::default());
            down::Body::Joined(Joined { leg, to, zone, ..Default::default() })
        }),
        number().prop_map(|leg| down::Body::Parted(Parted { leg, ..Default::default() })),
    ]
}

fn welcome() -> impl Strategy<Value = Welcome> {
    let small = (1i32..4, 7u64..9, number(), number(), number());
    let rest = (any::<u32>(), 0u32..5_000, 0u32..6, 0u32..400, number());
    (small, rest).prop_map(|((rung, session, epoch, leg, applied), rest)| {
        let (hold_ms, heartbeat_ms, window_frames, window_bytes, lost_upstream) = rest;
        Welcome {
            rung,
            session,
            epoch,
            leg,
            applied: if rung == 3 { 0 } else { applied },
            hold_ms,
            heartbeat_ms,
            window_frames,
            window_bytes,
            lost_upstream,
            ..first()
        }
    })
}

fn challenge() -> Challenge {
    let nonce = vec![1; 32].into();
    Challenge { nonce, version_min: 1, version_max: 1, server_name: String::new() }
}

fn frame() -> impl Strategy<Value = ServerFrame> {
    use server_frame::Frame;
    let code = || (0..close::TABLE.len()).prop_map(|index| close::TABLE[index].code.into());
    let challenge = challenge();
    let frame = prop_oneof![
        4 => Just(Frame::Challenge(challenge)),
        6 => welcome().prop_map(Frame::Welcome),
        6 => (1u64..12, body())
            .prop_map(|(seq, body)| Frame::Down(Down { seq, body: Some(body) })),
        2 => (number(), number(), number()).prop_map(|(leg, seq, applied)| {
            Frame::Resync(Resync { leg, seq, applied, ..Default::default() })
        }),
        3 => number().prop_map(|seq| Frame::Applied(Applied { seq })),
        1 => number().prop_map(|leg| Frame::Loose(Loose { leg, ..Default::default() })),
        1 => any::<u64>().prop_map(|nonce| Frame::Ping(Ping { nonce })),
        1 => any::<u64>().prop_map(|nonce| Frame::Pong(Pong { nonce })),
        1 => Just(Frame::Notice(Notice::default())),
        1 => (code(), any::<u32>()).prop_map(|(code, retry_after_ms)| {
            Frame::Farewell(Farewell { code, retry_after_ms, ..Default::default() })
        }),
        1 => (code(), any::<u32>()).prop_map(|(code, retry_after_ms)| {
            Frame::Refusal(Refusal { code, retry_after_ms, ..Default::default() })
        }),
    ];
    frame.prop_map(|frame| ServerFrame { frame: Some(frame) })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => Just(Step::Connect),
        4 => Just(Step::Retry),
        1 => Just(Step::Hasten),
        1 => Just(Step::Fresh),
        6 => Just(Step::Opened),
        1 => Just(Step::Closed),
        1 => Just(Step::Cancel),
        1 => Just(Step::Leave),
        3 => (0u64..20_000).prop_map(Step::Pass),
        4 => (0usize..150).prop_map(Step::Send),
        2 => (0u8..3).prop_map(Step::Latest),
        3 => Just(Step::Request),
        1 => Just(Step::Unreliable),
        1 => proptest::collection::vec(any::<u8>(), 0..60).prop_map(Step::Bytes),
        6 => welcome().prop_map(|welcome| Step::ComeIn(Box::new(welcome))),
        20 => frame().prop_map(|frame| Step::Frame(Box::new(frame))),
        2 => (frame(), any::<usize>(), any::<u8>())
            .prop_map(|(frame, at, to)| Step::Damaged(Box::new(frame), at, to)),
    ]
}

/// What an observer at the client's transport and its events can hold it to.
#[derive(Default)]
struct Watch {
    has_transport: bool,
    welcomed: bool,
    /// The last Up number on this connection.
    last: Option<u64>,
    /// The highest number that the server has acknowledged on it.
    applied: u64,
    requests: std::collections::BTreeSet<SendId>,
    frames: usize,
}

impl Watch {
    fn drain(&mut self, client: &mut Client) {
        while let Some(output) = client.next_output() {
            self.see(output);
        }
    }

    fn see(&mut self, output: Output) {
        match output {
            Output::Connect { .. } => {
                assert!(!self.has_transport, "one attempt at a time");
                *self = Watch {
                    has_transport: true,
                    requests: self.requests.clone(),
                    ..Watch::default()
                };
            }
            Output::Close(_) => {
                assert!(self.has_transport, "nothing to close");
                self.has_transport = false;
            }
            Output::StoreToken(_) => {
                assert_eq!(self.frames, 1, "between the hello and the confirmation");
                self.welcomed = true;
            }
            Output::Send(bytes) => {
                assert!(self.has_transport);
                self.frames += 1;
                self.see_frame(bytes);
            }
            Output::Event(Event::Reply { request, .. } | Event::RequestEnded { request, .. }) => {
                assert!(self.requests.remove(&request), "a request ends once");
            }
            Output::StoreSecret(_) | Output::ForgetToken | Output::Event(_) => {}
        }
    }

    fn see_frame(&mut self, bytes: Bytes) {
        let frame = decode_client(Encoding::Protobuf, bytes, &Limits::DEFAULT).unwrap();
        match frame.frame.unwrap() {
            client_frame::Frame::Hello(_) => assert_eq!(self.frames, 1),
            client_frame::Frame::Up(Up { seq, .. }) => {
                assert!(self.welcomed);
                if let Some(last) = self.last.replace(seq) {
                    // What is acknowledged before it is sent again need not be sent again.
                    let next = (last + 1).max(self.applied.saturating_add(1));
                    assert!(seq == last + 1 || seq == next, "{seq} after {last}: a gap");
                }
            }
            _ => assert!(self.welcomed),
        }
    }
}

fn encoded(frame: server_frame::Frame) -> Bytes {
    encode_server(Encoding::Protobuf, &ServerFrame { frame: Some(frame) }).unwrap()
}

fn receive(client: &mut Client, watch: &mut Watch, now: Time, bytes: Bytes) {
    let frame = decode_server(Encoding::Protobuf, bytes.clone(), &Limits::DEFAULT);
    let applied = match frame.ok().and_then(|frame| frame.frame) {
        Some(server_frame::Frame::Applied(applied)) => applied.seq,
        Some(server_frame::Frame::Resync(resync)) => resync.applied,
        _ => 0,
    };
    watch.applied = watch.applied.max(applied);
    client.received(now, bytes);
}

fn run(client: &mut Client, now: &mut Time, watch: &mut Watch, step: Step) {
    match step {
        Step::ComeIn(mut welcome) => {
            client.retry(*now);
            watch.drain(client);
            client.opened(*now);
            receive(client, watch, *now, encoded(server_frame::Frame::Challenge(challenge())));
            watch.drain(client);
            // Mostly a welcome that can be: of a later epoch, and for the session that is resumed.
            welcome.epoch = client.resume_state().map_or(welcome.epoch, |known| known.epoch + 1);
            welcome.session =
                client.session().filter(|_| welcome.rung != 3).unwrap_or(welcome.session);
            welcome.leg = match client.position() {
                Some((leg, _)) if welcome.rung == 1 => leg,
                Some((leg, _)) if leg < u64::MAX => leg + 1,
                _ => welcome.leg,
            };
            receive(client, watch, *now, encoded(server_frame::Frame::Welcome(*welcome)));
        }
        Step::Connect => client.connect(*now),
        Step::Retry => client.retry(*now),
        Step::Hasten => client.hasten(*now),
        Step::Fresh => client.connect_fresh(*now),
        Step::Opened => client.opened(*now),
        Step::Closed => {
            // A driver reports the end of a connection once.
            if std::mem::take(&mut watch.has_transport) {
                client.closed(*now, None);
            }
        }
        Step::Cancel => client.cancel(*now),
        Step::Leave => client.leave(*now),
        Step::Pass(ms) => {
            *now = now.after(Duration::from_millis(ms));
            client.wake(*now);
        }
        Step::Send(len) => client.send(vec![0; len]).map_or((), |_| ()),
        Step::Latest(key) => client.send_latest(key.to_string(), "v").map_or((), |_| ()),
        Step::Request => watch.requests.extend(client.request("?").ok()),
        Step::Unreliable => client.send_unreliable("u").unwrap_or(()),
        Step::Bytes(bytes) => receive(client, watch, *now, bytes.into()),
        Step::Frame(frame) => {
            let bytes = encode_server(Encoding::Protobuf, &frame).unwrap();
            receive(client, watch, *now, bytes);
        }
        Step::Damaged(frame, at, to) => {
            let mut bytes = encode_server(Encoding::Protobuf, &frame).unwrap().to_vec();
            let at = at % bytes.len().max(1);
            if let Some(byte) = bytes.get_mut(at) {
                *byte = to;
            }
            receive(client, watch, *now, bytes.into());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1_500, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_hostile_server_cannot_break_the_clients_rules(steps in proptest::collection::vec(step(), 0..120)) {
        let mut config = Config::new("play.example");
        (config.send_buffer_frames_max, config.send_buffer_bytes_max) = (8, 1_000);
        config.requests_max = 4;
        let mut client = Client::new(config, Identity::Secret(None), [3; 32]);
        let (mut now, mut watch) = (Time::ZERO, Watch::default());
        for step in steps {
            run(&mut client, &mut now, &mut watch, step);
            watch.drain(&mut client);
            let (frames, bytes) = client.buffered();
            prop_assert!(frames <= 9 && bytes <= 1_032, "one more for the bye");
            prop_assert!(client.open_requests() <= 4);
            prop_assert_eq!(client.open_requests(), watch.requests.len());
            prop_assert_eq!(client.next_deadline().is_none(), matches!(client.status(), Status::Idle | Status::Stopped));
        }
    }
}
