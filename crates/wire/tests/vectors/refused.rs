//! Bytes and texts that every reader must refuse, each with the kind of error.

use rejoin_wire::v1::*;
use rejoin_wire::{Bytes, Encoding, encode_client, encode_server};

pub(crate) struct Case {
    pub(crate) name: &'static str,
    pub(crate) direction: &'static str,
    pub(crate) encoding: Encoding,
    pub(crate) bytes: Vec<u8>,
    pub(crate) kind: &'static str,
}

pub(crate) fn all() -> Vec<Case> {
    let mut all = Vec::new();
    for (name, bytes, kind) in client_bytes() {
        all.push(Case { name, direction: "client", encoding: Encoding::Protobuf, bytes, kind });
    }
    for (name, text, kind) in client_texts() {
        let bytes = text.into_bytes();
        all.push(Case { name, direction: "client", encoding: Encoding::Json, bytes, kind });
    }
    for (name, frame, kind) in server_frames() {
        let bytes = encode_server(Encoding::Protobuf, &ServerFrame { frame: Some(frame) });
        let bytes = bytes.unwrap().to_vec();
        all.push(Case { name, direction: "server", encoding: Encoding::Protobuf, bytes, kind });
    }
    all
}

fn client_bytes() -> Vec<(&'static str, Vec<u8>, &'static str)> {
    let raw: [(_, &[u8], _); 12] = [
        ("no_bytes", b"", "empty"),
        ("unknown_field_only", &[0xa0, 0x06, 0x01], "empty"),
        ("tag_cut_short", &[0x80], "malformed"),
        ("tag_zero", &[0x00], "malformed"),
        ("field_cut_short", &[0x2a, 0x02, 0x08], "malformed"),
        ("length_beyond_the_frame", &[0x2a, 0xff, 0xff, 0xff, 0xff, 0x0f], "malformed"),
        ("length_of_64_bits", &[0x2a, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1], "malformed"),
        (
            "varint_too_long",
            &[0x2a, 11, 8, 255, 255, 255, 255, 255, 255, 255, 255, 255, 255],
            "malformed",
        ),
        ("wrong_wire_type", &[0x28, 0x01], "malformed"),
        ("group_without_end", &[0xa3, 0x06], "malformed"),
        ("text_not_utf8", &[0x12, 0x07, 0x08, 0x01, 0x22, 0x03, 0x0a, 0x01, 0xff], "malformed"),
        ("json_as_protobuf", b"{\"ping\":{}}", "malformed"),
    ];
    let built = client_frames().into_iter().map(|(name, frame, kind)| {
        let frame = ClientFrame { frame: Some(frame) };
        (name, encode_client(Encoding::Protobuf, &frame).unwrap().to_vec(), kind)
    });
    raw.into_iter().map(|(name, bytes, kind)| (name, bytes.to_vec(), kind)).chain(built).collect()
}

fn client_texts() -> Vec<(&'static str, String, &'static str)> {
    let raw = [
        ("no_text", "", "malformed"),
        ("not_json", "hello", "malformed"),
        ("not_an_object", "[]", "malformed"),
        ("null", "null", "malformed"),
        ("no_frame", "{}", "empty"),
        ("unknown_frame", r#"{"shout":{}}"#, "empty"),
        ("frame_is_null", r#"{"ping":null}"#, "empty"),
        ("two_frames", r#"{"ping":{},"pong":{}}"#, "malformed"),
        ("field_twice", r#"{"ping":{"nonce":"1","nonce":"2"}}"#, "malformed"),
        ("something_after", r#"{"ping":{}} {}"#, "malformed"),
        ("number_negative", r#"{"ping":{"nonce":"-1"}}"#, "malformed"),
        ("number_too_large", r#"{"ping":{"nonce":"18446744073709551616"}}"#, "malformed"),
        ("number_not_whole", r#"{"ping":{"nonce":1.5}}"#, "malformed"),
        ("bytes_not_base64", r#"{"loose":{"payload":"*"}}"#, "malformed"),
        ("seq_zero", r#"{"up":{"seq":"0","part":{}}}"#, "zero_seq"),
        ("seq_missing", r#"{"up":{"part":{}}}"#, "zero_seq"),
        ("hello_without_purpose", r#"{"hello":{"version":1}}"#, "empty"),
        ("token_too_short", r#"{"hello":{"resume":{"token":"AAEC"}}}"#, "wrong_length"),
        ("packed_without_agreement", r#"{"packed":"AAEC"}"#, "not_agreed"),
    ];
    let mut all: Vec<_> =
        raw.into_iter().map(|(name, text, kind)| (name, text.to_owned(), kind)).collect();
    // Deeper than any frame, and than a stack should have to hold.
    all.push(("nested_too_deep", r#"{"ping":"#.to_owned() + &"[".repeat(500), "malformed"));
    all
}

type Client = client_frame::Frame;

fn client_frames() -> Vec<(&'static str, Client, &'static str)> {
    let hello = |purpose| Hello { version: 1, purpose, ..Default::default() };
    let login = |identity| hello(Some(hello::Purpose::Login(Login { fresh: false, identity })));
    let anonymous = || login(Some(login::Identity::Anonymous(Anonymous {})));
    let key = |public_key, signature| {
        let proof = KeyProof { public_key: zeroes(public_key), signature: zeroes(signature) };
        Client::Hello(login(Some(login::Identity::Key(proof))))
    };
    let resume = |token| {
        let resume = Resume { token: zeroes(token), ..Default::default() };
        Client::Hello(hello(Some(hello::Purpose::Resume(resume))))
    };
    let up = |seq, body| Client::Up(Up { seq, body });
    let join = |kind, name| {
        let join = Join { kind: words(kind), name: words(name), ..Default::default() };
        up(1, Some(up::Body::Join(join)))
    };
    let ticket = Join { ticket: words(129), ..Default::default() };
    let secret = Some(login::Identity::Secret(zeroes(33)));
    let message = Message { key: words(65), ..Default::default() };
    vec![
        ("hello_without_purpose", Client::Hello(hello(None)), "empty"),
        ("login_without_identity", Client::Hello(login(None)), "empty"),
        ("secret_too_long", Client::Hello(login(secret)), "wrong_length"),
        ("public_key_too_short", key(31, 64), "wrong_length"),
        ("signature_too_long", key(32, 65), "wrong_length"),
        ("token_missing", resume(0), "wrong_length"),
        ("token_too_long", resume(33), "wrong_length"),
        (
            "server_name_too_long",
            Client::Hello(Hello { server_name: words(254), ..anonymous() }),
            "too_large",
        ),
        (
            "admission_too_long",
            Client::Hello(Hello { admission: zeroes(10_241), ..anonymous() }),
            "too_large",
        ),
        (
            "too_many_capabilities",
            Client::Hello(Hello { capabilities: vec![words(1); 17], ..anonymous() }),
            "too_large",
        ),
        (
            "capability_too_long",
            Client::Hello(Hello { capabilities: vec![words(65)], ..anonymous() }),
            "too_large",
        ),
        ("up_without_body", up(1, None), "empty"),
        ("up_seq_zero", up(0, Some(up::Body::Part(Part {}))), "zero_seq"),
        ("key_too_long", up(1, Some(up::Body::Message(message))), "too_large"),
        ("zone_kind_too_long", join(65, 1), "too_large"),
        ("zone_name_too_long", join(1, 129), "too_large"),
        ("ticket_too_long", up(1, Some(up::Body::Join(ticket))), "too_large"),
        ("packed_without_agreement", Client::Packed(zeroes(9)), "not_agreed"),
    ]
}

fn server_frames() -> Vec<(&'static str, server_frame::Frame, &'static str)> {
    use server_frame::Frame;
    let challenge = Challenge { nonce: zeroes(31), ..Default::default() };
    let welcome = |player, token, secret| {
        Frame::Welcome(Welcome {
            player: zeroes(player),
            token: zeroes(token),
            secret: zeroes(secret),
            ..Default::default()
        })
    };
    let down = |seq, body| Frame::Down(Down { seq, body });
    let farewell = Farewell { text: words(513), ..Default::default() };
    let message = Some(down::Body::Message(Message::default()));
    vec![
        ("packed_by_a_server_without_agreement", Frame::Packed(zeroes(9)), "not_agreed"),
        ("challenge_nonce_too_short", Frame::Challenge(challenge), "wrong_length"),
        ("welcome_player_missing", welcome(0, 32, 0), "wrong_length"),
        ("welcome_token_missing", welcome(16, 0, 0), "wrong_length"),
        ("welcome_secret_too_short", welcome(16, 32, 31), "wrong_length"),
        ("down_without_body", down(1, None), "empty"),
        ("down_seq_zero", down(0, message), "zero_seq"),
        ("joined_without_zone", down(1, Some(down::Body::Joined(Joined::default()))), "empty"),
        ("farewell_text_too_long", Frame::Farewell(farewell), "too_large"),
    ]
}

fn zeroes(len: usize) -> Bytes {
    Bytes::from(vec![0; len])
}

fn words(len: usize) -> String {
    "w".repeat(len)
}
