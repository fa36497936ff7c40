//! The frames of the golden vectors: every variant of every oneof, and the values at the edges.

use rejoin_wire::Bytes;
use rejoin_wire::v1::*;

pub(crate) fn client() -> Vec<(&'static str, ClientFrame)> {
    use client_frame::Frame;
    let mut all = vec![
        ("loose", Frame::Loose(Loose { leg: 2, payload: bytes(b"x=1") })),
        ("loose_zero", Frame::Loose(Loose::default())),
        ("ack", Frame::Ack(Position { leg: 3, seq: 1_000 })),
        ("ack_zero", Frame::Ack(Position::default())),
        ("ping", Frame::Ping(Ping { nonce: u64::MAX })),
        ("ping_zero", Frame::Ping(Ping::default())),
        ("pong", Frame::Pong(Pong { nonce: 9_007_199_254_740_993 })),
    ];
    all.extend(hellos().map(|(name, hello)| (name, Frame::Hello(hello))));
    all.extend(ups().map(|(name, seq, body)| (name, Frame::Up(Up { seq, body: Some(body) }))));
    all.into_iter().map(|(name, frame)| (name, ClientFrame { frame: Some(frame) })).collect()
}

pub(crate) fn server() -> Vec<(&'static str, ServerFrame)> {
    use server_frame::Frame;
    let mut all = vec![
        ("challenge", Frame::Challenge(challenge())),
        (
            "challenge_bare",
            Frame::Challenge(Challenge { nonce: counting(32), ..Default::default() }),
        ),
        (
            "refusal",
            Frame::Refusal(Refusal {
                code: CloseCode::Full.into(),
                text: "The server is full.".into(),
                retry_after_ms: 30_000,
                addresses: Vec::new(),
            }),
        ),
        (
            "refusal_wrong_node",
            Frame::Refusal(Refusal {
                code: CloseCode::WrongNode.into(),
                addresses: vec!["wss://b.play.example/v1".into()],
                ..Default::default()
            }),
        ),
        ("loose", Frame::Loose(Loose { leg: u64::MAX, payload: bytes(&[0, 255]) })),
        ("applied", Frame::Applied(Applied { seq: 41 })),
        ("applied_zero", Frame::Applied(Applied::default())),
        ("ping", Frame::Ping(Ping { nonce: 1 })),
        ("pong", Frame::Pong(Pong { nonce: 128 })),
        (
            "notice",
            Frame::Notice(Notice {
                code: NoticeCode::Throttled.into(),
                text: String::new(),
                wait_ms: 250,
            }),
        ),
        (
            "farewell",
            Frame::Farewell(Farewell {
                code: CloseCode::TakenOver.into(),
                text: "Resumed elsewhere.".into(),
                ..Default::default()
            }),
        ),
        (
            "farewell_moved",
            Frame::Farewell(Farewell {
                code: CloseCode::Moved.into(),
                text: String::new(),
                retry_after_ms: u32::MAX,
                addresses: vec!["wss://b.example/play".into(), "tcp://b.example:7000".into()],
            }),
        ),
        ("resync", Frame::Resync(resync())),
        ("resync_zero", Frame::Resync(Resync::default())),
    ];
    all.extend(welcomes().map(|(name, welcome)| (name, Frame::Welcome(welcome))));
    all.extend(
        downs().map(|(name, seq, body)| (name, Frame::Down(Down { seq, body: Some(body) }))),
    );
    all.into_iter().map(|(name, frame)| (name, ServerFrame { frame: Some(frame) })).collect()
}

fn hellos() -> impl Iterator<Item = (&'static str, Hello)> {
    let login = |identity, fresh| hello::Purpose::Login(Login { fresh, identity: Some(identity) });
    let resume = Resume {
        session: 77,
        token: counting(32),
        key: Some(proof()),
        epoch: 4,
        cold: false,
        position: Some(Position { leg: 2, seq: 300 }),
        oldest_unacked: 18,
    };
    let cold = Resume { session: u64::MAX, token: counting(32), cold: true, ..Default::default() };
    let purposes = [
        ("hello_login_key", login(login::Identity::Key(proof()), false)),
        ("hello_login_secret", login(login::Identity::Secret(counting(32)), false)),
        ("hello_login_mint", login(login::Identity::Mint(MintSecret {}), false)),
        ("hello_login_anonymous", login(login::Identity::Anonymous(Anonymous {}), false)),
        ("hello_login_fresh", login(login::Identity::Key(proof()), true)),
        ("hello_resume", hello::Purpose::Resume(resume)),
        ("hello_resume_cold", hello::Purpose::Resume(cold)),
    ];
    purposes.into_iter().map(|(name, purpose)| {
        let hello = Hello {
            version: 1,
            server_name: "play.example".into(),
            capabilities: vec!["zstd".into(), "voice".into()],
            admission: bytes(b"ticket"),
            purpose: Some(purpose),
        };
        (name, hello)
    })
}

fn ups() -> impl Iterator<Item = (&'static str, u64, up::Body)> {
    let join = Join {
        kind: "arena".into(),
        name: "größe-東京-🎮".into(),
        create: true,
        payload: bytes(b"red"),
        ticket: String::new(),
    };
    let seated = Join {
        kind: "arena".into(),
        name: "00112233445566778899aabbccddeeff".into(),
        ticket: "ffeeddccbbaa99887766554433221100".into(),
        ..Join::default()
    };
    [
        ("up_message", 1, up::Body::Message(message())),
        ("up_message_empty", 2, up::Body::Message(Message::default())),
        ("up_message_latest", 3, up::Body::Message(Message { key: "aim".into(), ..message() })),
        (
            "up_message_wants_reply",
            u64::MAX,
            up::Body::Message(Message { wants_reply: true, ..message() }),
        ),
        ("up_answer", 5, up::Body::Answer(Answer { call: 12, payload: bytes(b"yes") })),
        ("up_answer_zero", 6, up::Body::Answer(Answer::default())),
        ("up_join", 7, up::Body::Join(join)),
        ("up_join_zero", 8, up::Body::Join(Join::default())),
        ("up_join_ticket", 11, up::Body::Join(seated)),
        ("up_part", 9, up::Body::Part(Part {})),
        ("up_bye", 10, up::Body::Bye(Bye {})),
    ]
    .into_iter()
}

fn downs() -> impl Iterator<Item = (&'static str, u64, down::Body)> {
    let refused = Refused {
        to: 7,
        code: RefusalCode::ZoneFull.into(),
        text: "8 of 8 are here.".into(),
        leg: 5,
    };
    let unknown_kind =
        Refused { to: 7, code: RefusalCode::UnknownKind.into(), ..Refused::default() };
    let joined = Joined {
        leg: 4,
        zone: Some(zone()),
        to: 7,
        payload: bytes(b"map"),
        latest: latest(),
        hold_ms: 5_000,
    };
    let parted = Parted {
        leg: 6,
        cause: PartCause::ZoneEnded.into(),
        text: "The match is over.".into(),
        to: 0,
    };
    let cleared = Message { key: "score".into(), cleared: true, ..Default::default() };
    let call = Call { call: 12, payload: bytes(b"ready?"), deadline_ms: 5_000 };
    [
        ("down_message", 1, down::Body::Message(message())),
        ("down_message_empty", u64::MAX, down::Body::Message(Message::default())),
        (
            "down_message_latest",
            3,
            down::Body::Message(Message { key: "score".into(), ..message() }),
        ),
        ("down_message_cleared", 4, down::Body::Message(cleared)),
        ("down_reply", 5, down::Body::Reply(Reply { to: 2, payload: bytes(b"ok") })),
        ("down_reply_empty", 6, down::Body::Reply(Reply { to: 2, payload: Bytes::new() })),
        ("down_refused", 7, down::Body::Refused(refused)),
        ("down_refused_unknown_kind", 14, down::Body::Refused(unknown_kind)),
        ("down_call", 8, down::Body::Call(call)),
        ("down_joined", 9, down::Body::Joined(joined)),
        (
            "down_joined_bare",
            10,
            down::Body::Joined(Joined {
                leg: 1,
                zone: Some(ZoneRef::default()),
                ..Default::default()
            }),
        ),
        ("down_parted", 11, down::Body::Parted(parted)),
    ]
    .into_iter()
}

fn welcomes() -> impl Iterator<Item = (&'static str, Welcome)> {
    let least = Welcome { player: counting(16), token: counting(32), ..Default::default() };
    let first = Welcome {
        session: 77,
        epoch: 1,
        rung: Rung::New.into(),
        reason: RungReason::First.into(),
        leg: 1,
        secret: counting(32),
        hold_ms: 5_000,
        heartbeat_ms: 15_000,
        message_bytes_max: 65_536,
        window_frames: 256,
        window_bytes: 262_144,
        ..least.clone()
    };
    let replayed = Welcome {
        session: u64::MAX,
        epoch: 5,
        rung: Rung::Replayed.into(),
        reason: RungReason::Complete.into(),
        leg: 2,
        applied: 17,
        found: true,
        zone: Some(zone()),
        capabilities: vec!["zstd".into()],
        resume_at: vec!["wss://a.example/play".into()],
        ..first.clone()
    };
    let resynced = Welcome {
        rung: Rung::Resynced.into(),
        reason: RungReason::RolledBack.into(),
        lost_upstream: 3,
        ..replayed.clone()
    };
    [
        ("welcome_least", least),
        ("welcome_first", first),
        ("welcome_replayed", Welcome { secret: Bytes::new(), ..replayed }),
        ("welcome_resynced", Welcome { secret: Bytes::new(), ..resynced }),
    ]
    .into_iter()
}

fn challenge() -> Challenge {
    Challenge {
        nonce: counting(32),
        version_min: 1,
        version_max: 1,
        server_name: "play.example".into(),
    }
}

fn resync() -> Resync {
    Resync {
        leg: 9,
        seq: 1_234,
        reason: RungReason::Overrun.into(),
        snapshot: bytes(b"the whole state"),
        latest: latest(),
        zone: Some(zone()),
        applied: 17,
        lost_upstream: 2,
    }
}

fn message() -> Message {
    Message { payload: bytes(&[0, 1, 127, 128, 255]), ..Default::default() }
}

fn latest() -> Vec<Latest> {
    vec![
        Latest { key: "score".into(), payload: bytes(b"3:2") },
        Latest { key: "клей".into(), payload: Bytes::new() },
    ]
}

fn zone() -> ZoneRef {
    ZoneRef { kind: "arena".into(), name: "東京".into() }
}

fn proof() -> KeyProof {
    KeyProof { public_key: counting(32), signature: counting(64) }
}

fn bytes(bytes: &[u8]) -> Bytes {
    Bytes::copy_from_slice(bytes)
}

/// 0, 1, 2 and so on: easy to make in every language.
fn counting(len: u8) -> Bytes {
    (0..len).collect()
}
