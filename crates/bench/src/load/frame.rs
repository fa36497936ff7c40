//! Bytes of the generator: WebSocket frames as a client writes and a server sends them, and the few
//! frames of the protocol that come often, written and read without an allocation. All others go
//! through the wire crate.

/// A mask of zeros is as good as any for a server, and leaves the bytes as they are.
const MASK: [u8; 4] = [0; 4];

/// The request that turns a connection into a WebSocket.
pub(crate) fn upgrade(host: &str, path: &str) -> String {
    format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: rejoin.v1.proto\r\n\r\n"
    )
}

/// Adds a binary message of a client.
pub(crate) fn put_message(out: &mut Vec<u8>, payload: &[u8]) {
    out.push(0x82);
    match payload.len() {
        len @ 0..126 => out.push(0x80 | len as u8),
        len @ 126..65_536 => {
            out.push(0x80 | 126);
            out.extend_from_slice(&(len as u16).to_be_bytes());
        }
        len => {
            out.push(0x80 | 127);
            out.extend_from_slice(&(len as u64).to_be_bytes());
        }
    }
    out.extend_from_slice(&MASK);
    out.extend_from_slice(payload);
}

/// A whole message of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Message<'a> {
    /// What kind; 2 is binary, 8 the end.
    pub(crate) kind: u8,
    /// What is in it.
    pub(crate) payload: &'a [u8],
    /// Bytes that it took.
    pub(crate) length: usize,
}

/// The first message, if all of it is there. Servers do not split what the bench asks for.
pub(crate) fn message(bytes: &[u8]) -> Option<Message<'_>> {
    let (first, second) = (*bytes.first()?, *bytes.get(1)?);
    let (start, length): (usize, usize) = match second & 0x7f {
        126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
        127 => {
            let long = u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?);
            (10, usize::try_from(long).ok()?)
        }
        short => (2, usize::from(short)),
    };
    let payload = bytes.get(start..start.checked_add(length)?)?;
    Some(Message { kind: first & 0x0f, payload, length: start + length })
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

fn varint_length(value: u64) -> u64 {
    u64::from((64 - (value | 1).leading_zeros()).div_ceil(7))
}

/// Writes `Up { seq, message { payload, wants_reply } }`.
pub(crate) fn put_request(out: &mut Vec<u8>, seq: u64, payload: &[u8]) {
    put_up(out, seq, payload, &[0x20, 0x01]);
}

/// Writes `Up { seq, message { payload } }`.
pub(super) fn put_word(out: &mut Vec<u8>, seq: u64, payload: &[u8]) {
    put_up(out, seq, payload, &[]);
}

/// A message whose payload is followed by `rest`.
fn put_up(out: &mut Vec<u8>, seq: u64, payload: &[u8], rest: &[u8]) {
    let length = payload.len() as u64;
    let inner = 1 + varint_length(length) + length + rest.len() as u64;
    let outer = 1 + varint_length(seq) + 1 + varint_length(inner) + inner;
    out.push(0x12);
    put_varint(out, outer);
    out.push(0x08);
    put_varint(out, seq);
    out.push(0x12);
    put_varint(out, inner);
    out.push(0x0a);
    put_varint(out, length);
    out.extend_from_slice(payload);
    out.extend_from_slice(rest);
}

/// Writes `Position { leg, seq }` as an acknowledgement.
pub(super) fn put_ack(out: &mut Vec<u8>, leg: u64, seq: u64) {
    out.push(0x22);
    put_varint(out, 2 + varint_length(leg) + varint_length(seq));
    out.push(0x08);
    put_varint(out, leg);
    out.push(0x10);
    put_varint(out, seq);
}

/// Writes `Pong { nonce }`.
pub(super) fn put_pong(out: &mut Vec<u8>, nonce: u64) {
    out.push(0x32);
    put_varint(out, 1 + varint_length(nonce));
    out.push(0x08);
    put_varint(out, nonce);
}

/// A frame of our server, as far as the generator looks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Heard<'a> {
    /// A numbered message or reply.
    Down { seq: u64, payload: &'a [u8] },
    /// What was sent is consumed, up to this number.
    Applied(u64),
    /// Wants a pong.
    Ping(u64),
    /// Anything that does not come often.
    Rare,
}

/// Reads what comes often.
pub(super) fn heard(frame: &[u8]) -> Option<Heard<'_>> {
    let mut at = 1;
    match frame.first()? {
        0x22 => {
            varint(frame, &mut at)?;
            Some(down(frame, at).unwrap_or(Heard::Rare))
        }
        0x32 => {
            varint(frame, &mut at)?;
            (*frame.get(at)? == 0x08).then_some(())?;
            Some(Heard::Applied(varint(frame, &mut { at + 1 })?))
        }
        0x3a => {
            varint(frame, &mut at)?;
            let nonce = match frame.get(at) {
                Some(0x08) => varint(frame, &mut { at + 1 })?,
                _ => 0,
            };
            Some(Heard::Ping(nonce))
        }
        _ => Some(Heard::Rare),
    }
}

/// `seq`, then a message (its payload first) or a reply (its `to` first).
fn down(frame: &[u8], mut at: usize) -> Option<Heard<'_>> {
    let tag = |at: &mut usize, expected: &[u8]| {
        let found = *frame.get(*at)?;
        *at += 1;
        expected.contains(&found).then_some(found)
    };
    tag(&mut at, &[0x08])?;
    let seq = varint(frame, &mut at)?;
    let body = tag(&mut at, &[0x12, 0x1a])?;
    varint(frame, &mut at)?;
    if body == 0x1a {
        tag(&mut at, &[0x08])?;
        varint(frame, &mut at)?;
        tag(&mut at, &[0x12])?;
    } else {
        tag(&mut at, &[0x0a])?;
    }
    let length = usize::try_from(varint(frame, &mut at)?).ok()?;
    Some(Heard::Down { seq, payload: frame.get(at..at.checked_add(length)?)? })
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use rejoin_wire::v1;

    use super::*;

    #[test]
    fn requests_acks_and_pongs_are_those_of_the_contract() {
        for seq in [1, 127, 128, 1 << 40] {
            let mut bytes = Vec::new();
            put_request(&mut bytes, seq, &[7; 200]);
            let message = v1::Message {
                payload: vec![7; 200].into(),
                wants_reply: true,
                ..v1::Message::default()
            };
            let up = v1::Up { seq, body: Some(v1::up::Body::Message(message)) };
            let frame = v1::ClientFrame { frame: Some(v1::client_frame::Frame::Up(up)) };
            assert_eq!(bytes, frame.encode_to_vec());
            bytes.clear();
            put_word(&mut bytes, seq, &[7; 100]);
            let message = v1::Message { payload: vec![7; 100].into(), ..v1::Message::default() };
            let up = v1::Up { seq, body: Some(v1::up::Body::Message(message)) };
            let frame = v1::ClientFrame { frame: Some(v1::client_frame::Frame::Up(up)) };
            assert_eq!(bytes, frame.encode_to_vec());
            bytes.clear();
            put_ack(&mut bytes, 300, seq);
            let ack = v1::Position { leg: 300, seq };
            let frame = v1::ClientFrame { frame: Some(v1::client_frame::Frame::Ack(ack)) };
            assert_eq!(bytes, frame.encode_to_vec());
            bytes.clear();
            put_pong(&mut bytes, seq);
            let pong = v1::client_frame::Frame::Pong(v1::Pong { nonce: seq });
            assert_eq!(bytes, v1::ClientFrame { frame: Some(pong) }.encode_to_vec());
        }
    }

    #[test]
    fn what_a_server_says_is_read() {
        let frame = |frame| v1::ServerFrame { frame: Some(frame) }.encode_to_vec();
        let down =
            |body| frame(v1::server_frame::Frame::Down(v1::Down { seq: 300, body: Some(body) }));
        let message = v1::Message { payload: vec![9; 200].into(), ..v1::Message::default() };
        let bytes = down(v1::down::Body::Message(message));
        assert_eq!(heard(&bytes), Some(Heard::Down { seq: 300, payload: &[9; 200] }));
        let reply = v1::Reply { to: 500, payload: vec![8; 3].into() };
        let bytes = down(v1::down::Body::Reply(reply));
        assert_eq!(heard(&bytes), Some(Heard::Down { seq: 300, payload: &[8; 3] }));
        let bytes = down(v1::down::Body::Joined(v1::Joined::default()));
        assert_eq!(heard(&bytes), Some(Heard::Rare));
        let bytes = frame(v1::server_frame::Frame::Ping(v1::Ping { nonce: 1 << 50 }));
        assert_eq!(heard(&bytes), Some(Heard::Ping(1 << 50)));
        let bytes = frame(v1::server_frame::Frame::Applied(v1::Applied { seq: 4 }));
        assert_eq!(heard(&bytes), Some(Heard::Applied(4)));
    }

    #[test]
    fn messages_are_cut_out_of_what_came() {
        let mut bytes = vec![0x82, 3, 1, 2, 3, 0x82, 126, 0, 200];
        let first = message(&bytes).expect("it is whole");
        assert_eq!((first.kind, first.payload, first.length), (2, &[1, 2, 3][..], 5));
        assert_eq!(message(&bytes[5..]), None);
        bytes.extend_from_slice(&[5; 200]);
        assert_eq!(message(&bytes[5..]).map(|message| message.length), Some(204));
        for length in [0, 125, 126, 70_000] {
            let mut out = Vec::new();
            put_message(&mut out, &vec![1; length]);
            assert_eq!(
                out.len() - length,
                if length < 126 {
                    6
                } else if length < 65_536 {
                    8
                } else {
                    14
                }
            );
        }
    }
}
