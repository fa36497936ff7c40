//! Every limit from both sides: at it a frame is taken, one past it refused, in both encodings.

use super::*;

/// Holds that a client frame with something of the limit's length is taken, and of one more is not.
fn client_edge(field: &str, max: usize, frame: impl Fn(usize) -> ClientFrame) {
    for encoding in spoken() {
        let decode = |len| {
            let bytes = encode_client(encoding, &frame(len)).unwrap();
            decode_client(encoding, bytes, &LIMITS).map(drop)
        };
        assert_eq!(decode(max), Ok(()), "{field} at its limit, {encoding}");
        assert_refused(decode(max + 1), field, max);
    }
}

/// The same for a server frame.
fn server_edge(field: &str, max: usize, frame: impl Fn(usize) -> ServerFrame) {
    for encoding in spoken() {
        let decode = |len| {
            let bytes = encode_server(encoding, &frame(len)).unwrap();
            decode_server(encoding, bytes, &LIMITS).map(drop)
        };
        assert_eq!(decode(max), Ok(()), "{field} at its limit, {encoding}");
        assert_refused(decode(max + 1), field, max);
    }
}

fn assert_refused(result: Result<(), DecodeError>, expected: &str, expected_max: usize) {
    match result {
        Err(DecodeError::TooLarge { field, len, max }) => {
            assert_eq!((field, len, max), (expected, expected_max + 1, expected_max));
        }
        other => panic!("{expected} one past its limit gave {other:?}"),
    }
}

/// Holds that only this length is taken.
fn fixed(field: &str, expected: usize, decode: impl Fn(usize) -> Result<(), DecodeError>) {
    assert_eq!(decode(expected), Ok(()), "{field}");
    for len in [0, expected - 1, expected + 1] {
        match decode(len) {
            Err(DecodeError::WrongLength { field: named, len: told, expected: right }) => {
                assert_eq!((named, told, right), (field, len, expected));
            }
            other => panic!("{field} of {len} bytes gave {other:?}"),
        }
    }
}

fn client(frame: &ClientFrame) -> Result<(), DecodeError> {
    let bytes = encode_client(Encoding::Protobuf, frame).unwrap();
    decode_client(Encoding::Protobuf, bytes, &LIMITS).map(drop)
}

fn served(frame: &ServerFrame) -> Result<(), DecodeError> {
    let bytes = encode_server(Encoding::Protobuf, frame).unwrap();
    decode_server(Encoding::Protobuf, bytes, &LIMITS).map(drop)
}

fn hello(change: impl FnOnce(&mut Hello)) -> ClientFrame {
    let identity = Some(login::Identity::Anonymous(Anonymous {}));
    let purpose = Some(hello::Purpose::Login(Login { fresh: false, identity }));
    let mut hello = Hello { version: 1, purpose, ..Default::default() };
    change(&mut hello);
    ClientFrame { frame: Some(client_frame::Frame::Hello(hello)) }
}

fn login(identity: login::Identity) -> ClientFrame {
    let login = Login { fresh: false, identity: Some(identity) };
    hello(|hello| hello.purpose = Some(hello::Purpose::Login(login)))
}

fn resume(change: impl FnOnce(&mut Resume)) -> ClientFrame {
    let mut resume = Resume { token: zeroes(32), ..Default::default() };
    change(&mut resume);
    hello(|hello| hello.purpose = Some(hello::Purpose::Resume(resume)))
}

fn welcome(change: impl FnOnce(&mut Welcome)) -> ServerFrame {
    let mut welcome = Welcome { player: zeroes(16), token: zeroes(32), ..Default::default() };
    change(&mut welcome);
    server(server_frame::Frame::Welcome(welcome))
}

fn challenge(change: impl FnOnce(&mut Challenge)) -> ServerFrame {
    let mut challenge = Challenge { nonce: zeroes(32), ..Default::default() };
    change(&mut challenge);
    server(server_frame::Frame::Challenge(challenge))
}

fn joined(change: impl FnOnce(&mut Joined)) -> ServerFrame {
    let mut joined = Joined { zone: Some(ZoneRef::default()), ..Default::default() };
    change(&mut joined);
    down(down::Body::Joined(joined))
}

fn resync(resync: Resync) -> ServerFrame {
    server(server_frame::Frame::Resync(resync))
}

fn words(len: usize) -> String {
    "w".repeat(len)
}

fn list(len: usize) -> Vec<String> {
    vec![String::new(); len]
}

fn values(len: usize) -> Vec<Latest> {
    vec![Latest::default(); len]
}

#[test]
fn a_client_frame_as_a_whole() {
    for encoding in spoken() {
        let ping = ClientFrame { frame: Some(client_frame::Frame::Ping(Ping { nonce: 9 })) };
        let mut bytes = encode_client(encoding, &ping).unwrap().to_vec();
        let max = LIMITS.client_frame_bytes(encoding);
        fill(&mut bytes, encoding, max);
        assert_eq!(decode_client(encoding, bytes.clone().into(), &LIMITS), Ok(ping));
        fill(&mut bytes, encoding, max + 1);
        assert_refused(decode_client(encoding, bytes.into(), &LIMITS).map(drop), "frame", max);
    }
}

#[test]
fn a_server_frame_as_a_whole() {
    for encoding in spoken() {
        let ping = server(server_frame::Frame::Ping(Ping { nonce: 9 }));
        let mut bytes = encode_server(encoding, &ping).unwrap().to_vec();
        let max = LIMITS.server_frame_bytes(encoding);
        fill(&mut bytes, encoding, max);
        assert_eq!(decode_server(encoding, bytes.clone().into(), &LIMITS), Ok(ping));
        fill(&mut bytes, encoding, max + 1);
        assert_refused(decode_server(encoding, bytes.into(), &LIMITS).map(drop), "frame", max);
    }
}

#[test]
fn a_hello_as_a_whole() {
    for encoding in spoken() {
        let hello = hello(|_| {});
        let mut bytes = encode_client(encoding, &hello).unwrap().to_vec();
        let max = LIMITS.hello_bytes_max;
        fill(&mut bytes, encoding, max);
        assert_eq!(decode_client(encoding, bytes.clone().into(), &LIMITS), Ok(hello));
        fill(&mut bytes, encoding, max + 1);
        assert_refused(decode_client(encoding, bytes.into(), &LIMITS).map(drop), "hello", max);
    }
}

/// Makes a frame as long as wanted with what every reader skips: spaces in JSON, and in protobuf
/// the unknown field 100, varints of three bytes with a longer one to make it even.
fn fill(bytes: &mut Vec<u8>, encoding: Encoding, len: usize) {
    match encoding {
        Encoding::Json => bytes.resize(len, b' '),
        Encoding::Protobuf => {
            while bytes.len() < len {
                let field: &[u8] = match (len - bytes.len()) % 3 {
                    0 => &[0xa0, 0x06, 0x01],
                    1 => &[0xa0, 0x06, 0x81, 0x00],
                    _ => &[0xa0, 0x06, 0x81, 0x80, 0x00],
                };
                if len - bytes.len() < field.len() {
                    // Too little is left for a field: widen the last one.
                    let at = bytes.len() - 1;
                    bytes.insert(at, 0x81);
                    continue;
                }
                bytes.extend_from_slice(field);
            }
        }
    }
}

#[test]
fn texts_and_lists_of_a_hello() {
    client_edge("hello.server_name", 253, |len| hello(|hello| hello.server_name = words(len)));
    client_edge("hello.admission", 10_240, |len| hello(|hello| hello.admission = zeroes(len)));
    client_edge("hello.capabilities", 16, |len| hello(|hello| hello.capabilities = list(len)));
    client_edge("hello.capabilities", 64, |len| {
        hello(|hello| hello.capabilities = vec![words(len)])
    });
}

#[test]
fn what_proves_who_a_client_is() {
    fixed("login.secret", 32, |len| client(&login(login::Identity::Secret(zeroes(len)))));
    fixed("resume.token", 32, |len| client(&resume(|resume| resume.token = zeroes(len))));
    let proof = |public_key, signature| KeyProof {
        public_key: zeroes(public_key),
        signature: zeroes(signature),
    };
    fixed("key.public_key", 32, |len| client(&login(login::Identity::Key(proof(len, 64)))));
    fixed("key.signature", 64, |len| client(&login(login::Identity::Key(proof(32, len)))));
    fixed("key.public_key", 32, |len| client(&resume(|resume| resume.key = Some(proof(len, 64)))));
    fixed("key.signature", 64, |len| client(&resume(|resume| resume.key = Some(proof(32, len)))));
}

#[test]
fn what_a_client_sends() {
    let max = LIMITS.message_bytes_max;
    client_edge("message.payload", max, |len| {
        up(up::Body::Message(Message { payload: zeroes(len), ..Default::default() }))
    });
    client_edge("message.key", 64, |len| {
        up(up::Body::Message(Message { key: words(len), ..Default::default() }))
    });
    client_edge("answer.payload", max, |len| {
        up(up::Body::Answer(Answer { call: 1, payload: zeroes(len) }))
    });
    client_edge("join.kind", 64, |len| {
        up(up::Body::Join(Join { kind: words(len), ..Default::default() }))
    });
    client_edge("join.name", 128, |len| {
        up(up::Body::Join(Join { name: words(len), ..Default::default() }))
    });
    client_edge("join.ticket", 128, |len| {
        up(up::Body::Join(Join { ticket: words(len), ..Default::default() }))
    });
    client_edge("join.payload", max, |len| {
        up(up::Body::Join(Join { payload: zeroes(len), ..Default::default() }))
    });
    client_edge("loose.payload", max, |len| ClientFrame {
        frame: Some(client_frame::Frame::Loose(Loose { leg: 1, payload: zeroes(len) })),
    });
}

#[test]
fn what_a_server_greets_with() {
    fixed("challenge.nonce", 32, |len| served(&challenge(|frame| frame.nonce = zeroes(len))));
    fixed("welcome.player", 16, |len| served(&welcome(|frame| frame.player = zeroes(len))));
    fixed("welcome.token", 32, |len| served(&welcome(|frame| frame.token = zeroes(len))));
    // A welcome has a secret only after one was asked for.
    assert_eq!(served(&welcome(|_| {})), Ok(()));
    assert_eq!(served(&welcome(|frame| frame.secret = zeroes(32))), Ok(()));
    let short = served(&welcome(|frame| frame.secret = zeroes(31)));
    let field = "welcome.secret";
    assert_eq!(short, Err(DecodeError::WrongLength { field, len: 31, expected: 32 }));

    server_edge("challenge.server_name", 253, |len| {
        challenge(|frame| frame.server_name = words(len))
    });
    server_edge("welcome.capabilities", 16, |len| welcome(|frame| frame.capabilities = list(len)));
    server_edge("welcome.capabilities", 64, |len| {
        welcome(|frame| frame.capabilities = vec![words(len)])
    });
    server_edge("welcome.resume_at", 16, |len| welcome(|frame| frame.resume_at = list(len)));
    server_edge("welcome.resume_at", 512, |len| {
        welcome(|frame| frame.resume_at = vec![words(len)])
    });
    let zone = |kind, name| Some(ZoneRef { kind: words(kind), name: words(name) });
    server_edge("zone.kind", 64, |len| welcome(|frame| frame.zone = zone(len, 0)));
    server_edge("zone.name", 128, |len| welcome(|frame| frame.zone = zone(0, len)));
}

#[test]
fn what_a_server_sends() {
    let max = LIMITS.message_bytes_max;
    server_edge("message.payload", max, |len| {
        down(down::Body::Message(Message { payload: zeroes(len), ..Default::default() }))
    });
    server_edge("message.key", 64, |len| {
        down(down::Body::Message(Message { key: words(len), ..Default::default() }))
    });
    server_edge("reply.payload", max, |len| {
        down(down::Body::Reply(Reply { to: 1, payload: zeroes(len) }))
    });
    server_edge("call.payload", max, |len| {
        down(down::Body::Call(Call { payload: zeroes(len), ..Default::default() }))
    });
    server_edge("loose.payload", max, |len| {
        server(server_frame::Frame::Loose(Loose { leg: 1, payload: zeroes(len) }))
    });
    server_edge("joined.payload", max, |len| joined(|frame| frame.payload = zeroes(len)));
    server_edge("joined.latest", 4_096, |len| joined(|frame| frame.latest = values(len)));
    server_edge("latest.key", 64, |len| {
        joined(|frame| frame.latest = vec![Latest { key: words(len), payload: Bytes::new() }])
    });
    server_edge("latest.payload", max, |len| {
        joined(|frame| frame.latest = vec![Latest { key: words(1), payload: zeroes(len) }])
    });
    server_edge("zone.kind", 64, |len| {
        joined(|frame| frame.zone = Some(ZoneRef { kind: words(len), name: words(1) }))
    });
    server_edge("resync.snapshot", LIMITS.snapshot_bytes_max, |len| {
        resync(Resync { snapshot: zeroes(len), ..Default::default() })
    });
    server_edge("resync.latest", 4_096, |len| {
        resync(Resync { latest: values(len), ..Default::default() })
    });
    server_edge("zone.name", 128, |len| {
        let zone = Some(ZoneRef { kind: words(1), name: words(len) });
        resync(Resync { zone, ..Default::default() })
    });
}

#[test]
fn what_a_server_tells_people() {
    use server_frame::Frame;
    server_edge("refusal.text", 512, |len| {
        server(Frame::Refusal(Refusal { text: words(len), ..Default::default() }))
    });
    server_edge("refusal.addresses", 16, |len| {
        server(Frame::Refusal(Refusal { addresses: list(len), ..Default::default() }))
    });
    server_edge("refusal.addresses", 512, |len| {
        server(Frame::Refusal(Refusal { addresses: vec![words(len)], ..Default::default() }))
    });
    server_edge("refused.text", 512, |len| {
        down(down::Body::Refused(Refused { text: words(len), ..Default::default() }))
    });
    server_edge("parted.text", 512, |len| {
        down(down::Body::Parted(Parted { text: words(len), ..Default::default() }))
    });
    server_edge("notice.text", 512, |len| {
        server(Frame::Notice(Notice { text: words(len), ..Default::default() }))
    });
    server_edge("farewell.text", 512, |len| {
        server(Frame::Farewell(Farewell { text: words(len), ..Default::default() }))
    });
    server_edge("farewell.addresses", 16, |len| {
        server(Frame::Farewell(Farewell { addresses: list(len), ..Default::default() }))
    });
    server_edge("farewell.addresses", 512, |len| {
        server(Frame::Farewell(Farewell { addresses: vec![words(len)], ..Default::default() }))
    });
}

#[test]
fn what_must_be_set() {
    let empty = |field| Err(DecodeError::Empty { field });
    assert_eq!(client(&ClientFrame::default()), empty("frame"));
    assert_eq!(client(&hello(|hello| hello.purpose = None)), empty("hello.purpose"));
    let nobody = Some(hello::Purpose::Login(Login::default()));
    assert_eq!(client(&hello(|hello| hello.purpose = nobody)), empty("login.identity"));
    let bare = client_frame::Frame::Up(Up { seq: 1, body: None });
    assert_eq!(client(&ClientFrame { frame: Some(bare) }), empty("up.body"));

    assert_eq!(served(&ServerFrame::default()), empty("frame"));
    let bare = server_frame::Frame::Down(Down { seq: 1, body: None });
    assert_eq!(served(&server(bare)), empty("down.body"));
    assert_eq!(served(&joined(|frame| frame.zone = None)), empty("joined.zone"));
}

#[test]
fn numbers_start_at_one() {
    let body = Some(up::Body::Part(Part {}));
    let frame = Some(client_frame::Frame::Up(Up { seq: 0, body }));
    assert_eq!(client(&ClientFrame { frame }), Err(DecodeError::ZeroSeq));
    let body = Some(down::Body::Message(Message::default()));
    let frame = server_frame::Frame::Down(Down { seq: 0, body });
    assert_eq!(served(&server(frame)), Err(DecodeError::ZeroSeq));
}
