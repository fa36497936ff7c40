//! Arbitrary frames that are within the limits, for property tests.

use bytes::Bytes;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use crate::close::TABLE;
use crate::v1::*;

pub(crate) fn client_frame() -> impl Strategy<Value = ClientFrame> {
    use client_frame::Frame;
    let frame = prop_oneof![
        hello().prop_map(Frame::Hello),
        up().prop_map(Frame::Up),
        loose().prop_map(Frame::Loose),
        position().prop_map(Frame::Ack),
        number().prop_map(|nonce| Frame::Ping(Ping { nonce })),
        number().prop_map(|nonce| Frame::Pong(Pong { nonce })),
    ];
    frame.prop_map(|frame| ClientFrame { frame: Some(frame) })
}

pub(crate) fn server_frame() -> impl Strategy<Value = ServerFrame> {
    use server_frame::Frame;
    let frame = prop_oneof![
        challenge().prop_map(Frame::Challenge),
        welcome().prop_map(Frame::Welcome),
        (close_code(), text(), any::<u32>(), names()).prop_map(
            |(code, text, retry_after_ms, addresses)| {
                Frame::Refusal(Refusal { code, text, retry_after_ms, addresses })
            }
        ),
        down().prop_map(Frame::Down),
        loose().prop_map(Frame::Loose),
        number().prop_map(|seq| Frame::Applied(Applied { seq })),
        number().prop_map(|nonce| Frame::Ping(Ping { nonce })),
        number().prop_map(|nonce| Frame::Pong(Pong { nonce })),
        resync().prop_map(Frame::Resync),
        (0..=3, text(), any::<u32>()).prop_map(|(code, text, wait_ms)| Frame::Notice(Notice {
            code,
            text,
            wait_ms
        })),
        (close_code(), text(), any::<u32>(), names()).prop_map(
            |(code, text, retry_after_ms, addresses)| {
                Frame::Farewell(Farewell { code, text, retry_after_ms, addresses })
            }
        ),
    ];
    frame.prop_map(|frame| ServerFrame { frame: Some(frame) })
}

fn hello() -> impl Strategy<Value = Hello> {
    let purpose = prop_oneof![
        (identity(), any::<bool>()).prop_map(|(identity, fresh)| {
            hello::Purpose::Login(Login { fresh, identity: Some(identity) })
        }),
        resume().prop_map(hello::Purpose::Resume),
    ];
    (any::<u32>(), text(), purpose, names(), payload()).prop_map(
        |(version, server_name, purpose, capabilities, admission)| Hello {
            version,
            server_name,
            capabilities,
            admission,
            purpose: Some(purpose),
        },
    )
}

fn identity() -> impl Strategy<Value = login::Identity> {
    prop_oneof![
        proof().prop_map(login::Identity::Key),
        exactly(32).prop_map(login::Identity::Secret),
        Just(login::Identity::Mint(MintSecret {})),
        Just(login::Identity::Anonymous(Anonymous {})),
    ]
}

fn resume() -> impl Strategy<Value = Resume> {
    let key = proptest::option::of(proof());
    let position = proptest::option::of(position());
    (number(), exactly(32), key, number(), any::<bool>(), position, number()).prop_map(
        |(session, token, key, epoch, cold, position, oldest_unacked)| Resume {
            session,
            token,
            key,
            epoch,
            cold,
            position,
            oldest_unacked,
        },
    )
}

fn up() -> impl Strategy<Value = Up> {
    let body = prop_oneof![
        message().prop_map(up::Body::Message),
        (number(), payload())
            .prop_map(|(call, payload)| up::Body::Answer(Answer { call, payload })),
        (text(), text(), any::<bool>(), payload(), text()).prop_map(
            |(kind, name, create, payload, ticket)| {
                up::Body::Join(Join { kind, name, create, payload, ticket })
            }
        ),
        Just(up::Body::Part(Part {})),
        Just(up::Body::Bye(Bye {})),
    ];
    (1u64.., body).prop_map(|(seq, body)| Up { seq, body: Some(body) })
}

fn down() -> impl Strategy<Value = Down> {
    let body = prop_oneof![
        message().prop_map(down::Body::Message),
        (number(), payload()).prop_map(|(to, payload)| down::Body::Reply(Reply { to, payload })),
        (number(), 0..=19, text(), number()).prop_map(|(to, code, text, leg)| {
            down::Body::Refused(Refused { to, code, text, leg })
        }),
        (number(), payload(), any::<u32>()).prop_map(|(call, payload, deadline_ms)| {
            down::Body::Call(Call { call, payload, deadline_ms })
        }),
        (number(), zone(), number(), payload(), latest(), any::<u32>()).prop_map(
            |(leg, zone, to, payload, latest, hold_ms)| {
                let zone = Some(zone);
                down::Body::Joined(Joined { leg, zone, to, payload, latest, hold_ms })
            }
        ),
        (number(), 0..=11, text(), number()).prop_map(|(leg, cause, text, to)| {
            down::Body::Parted(Parted { leg, cause, text, to })
        }),
    ];
    (1u64.., body).prop_map(|(seq, body)| Down { seq, body: Some(body) })
}

fn challenge() -> impl Strategy<Value = Challenge> {
    (exactly(32), any::<u32>(), any::<u32>(), text()).prop_map(
        |(nonce, version_min, version_max, server_name)| Challenge {
            nonce,
            version_min,
            version_max,
            server_name,
        },
    )
}

fn welcome() -> impl Strategy<Value = Welcome> {
    let secret = prop_oneof![Just(Bytes::new()), exactly(32)];
    let numbers = (number(), number(), number(), number(), number());
    let small = (any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>(), any::<u32>());
    let opaque = (exactly(16), exactly(32), secret);
    let rest = (0..=3, 0..=8, any::<bool>(), proptest::option::of(zone()), names(), names());
    (numbers, small, opaque, rest).prop_map(|(numbers, small, opaque, rest)| {
        let (session, epoch, leg, applied, lost_upstream) = numbers;
        let (hold_ms, heartbeat_ms, message_bytes_max, window_frames, window_bytes) = small;
        let (player, token, secret) = opaque;
        let (rung, reason, found, zone, capabilities, resume_at) = rest;
        Welcome {
            session,
            player,
            epoch,
            rung,
            reason,
            leg,
            applied,
            lost_upstream,
            token,
            secret,
            found,
            hold_ms,
            heartbeat_ms,
            zone,
            message_bytes_max,
            window_frames,
            window_bytes,
            capabilities,
            resume_at,
        }
    })
}

fn resync() -> impl Strategy<Value = Resync> {
    let numbers = (number(), number(), number(), number());
    (numbers, 0..=8, payload(), latest(), proptest::option::of(zone())).prop_map(
        |((leg, seq, applied, lost_upstream), reason, snapshot, latest, zone)| Resync {
            leg,
            seq,
            reason,
            snapshot,
            latest,
            zone,
            applied,
            lost_upstream,
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    (payload(), text(), any::<bool>(), any::<bool>()).prop_map(
        |(payload, key, cleared, wants_reply)| Message { payload, key, cleared, wants_reply },
    )
}

fn loose() -> impl Strategy<Value = Loose> {
    (number(), payload()).prop_map(|(leg, payload)| Loose { leg, payload })
}

fn position() -> impl Strategy<Value = Position> {
    (number(), number()).prop_map(|(leg, seq)| Position { leg, seq })
}

fn proof() -> impl Strategy<Value = KeyProof> {
    (exactly(32), exactly(64))
        .prop_map(|(public_key, signature)| KeyProof { public_key, signature })
}

fn zone() -> impl Strategy<Value = ZoneRef> {
    (text(), text()).prop_map(|(kind, name)| ZoneRef { kind, name })
}

fn latest() -> impl Strategy<Value = Vec<Latest>> {
    vec((text(), payload()).prop_map(|(key, payload)| Latest { key, payload }), 0..4)
}

/// Numbers of every length, those at the ends often.
fn number() -> impl Strategy<Value = u64> {
    prop_oneof![Just(0), Just(1), Just(1 << 53), Just(u64::MAX), any::<u64>()]
}

fn close_code() -> impl Strategy<Value = i32> {
    select(TABLE).prop_map(|row| row.code as i32)
}

/// Any text of up to 16 characters, so of up to 64 bytes.
fn text() -> impl Strategy<Value = String> {
    prop_oneof![Just(String::new()), vec(any::<char>(), 0..=16).prop_map(String::from_iter)]
}

fn names() -> impl Strategy<Value = Vec<String>> {
    vec(text(), 0..=3)
}

fn payload() -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), 0..=64).prop_map(Bytes::from)
}

fn exactly(len: usize) -> impl Strategy<Value = Bytes> {
    vec(any::<u8>(), len).prop_map(Bytes::from)
}
