//! Holds a decoded frame against the limits, field by field.
//!
//! Owns what every field of a frame may be as far as the frame alone can tell: lengths, things that
//! must be set, numbers that cannot be. Whether the frame may come now is not asked here.

use bytes::Bytes;

use crate::codec::{DecodeError, at_most};
use crate::limits::Limits;
use crate::v1::{
    Call, Challenge, ClientFrame, CloseCode, Down, Farewell, Hello, Join, Joined, KeyProof, Latest,
    Login, Message, NoticeCode, PartCause, Refusal, RefusalCode, Resume, Resync, Rung, RungReason,
    ServerFrame, Up, Welcome, ZoneRef, client_frame, down, hello, login, server_frame, up,
};

type Checked = Result<(), DecodeError>;

/// Holds a client's frame against the limits, all but the length of the whole.
pub fn check_client(frame: &ClientFrame, limits: &Limits) -> Checked {
    use client_frame::Frame;
    match frame.frame.as_ref().ok_or(empty("frame"))? {
        Frame::Hello(hello) => check_hello(hello, limits),
        Frame::Up(up) => check_up(up, limits),
        Frame::Loose(loose) => payload("loose.payload", &loose.payload, limits),
        Frame::Ack(_) | Frame::Ping(_) | Frame::Pong(_) => Ok(()),
        // Where it may come, it is unpacked before it is decoded.
        Frame::Packed(_) => Err(DecodeError::NotAgreed),
    }
}

/// Holds a server's frame against the limits, all but the length of the whole.
pub fn check_server(frame: &ServerFrame, limits: &Limits) -> Checked {
    use server_frame::Frame;
    match frame.frame.as_ref().ok_or(empty("frame"))? {
        Frame::Challenge(challenge) => check_challenge(challenge, limits),
        Frame::Welcome(welcome) => check_welcome(welcome, limits),
        Frame::Refusal(refusal) => check_refusal(refusal, limits),
        Frame::Down(down) => check_down(down, limits),
        Frame::Loose(loose) => payload("loose.payload", &loose.payload, limits),
        Frame::Resync(resync) => check_resync(resync, limits),
        Frame::Notice(notice) => text("notice.text", &notice.text, limits),
        Frame::Farewell(farewell) => check_farewell(farewell, limits),
        Frame::Applied(_) | Frame::Ping(_) | Frame::Pong(_) => Ok(()),
        Frame::Packed(_) => Err(DecodeError::NotAgreed),
    }
}

/// Turns every enum value that this version does not know into `Unspecified`.
pub(crate) fn settle_enums(frame: &mut ServerFrame) {
    use server_frame::Frame;
    match &mut frame.frame {
        Some(Frame::Welcome(welcome)) => {
            settle::<Rung>(&mut welcome.rung);
            settle::<RungReason>(&mut welcome.reason);
        }
        Some(Frame::Refusal(refusal)) => settle::<CloseCode>(&mut refusal.code),
        Some(Frame::Down(down)) => match &mut down.body {
            Some(down::Body::Refused(refused)) => settle::<RefusalCode>(&mut refused.code),
            Some(down::Body::Parted(parted)) => settle::<PartCause>(&mut parted.cause),
            Some(
                down::Body::Message(_)
                | down::Body::Reply(_)
                | down::Body::Call(_)
                | down::Body::Joined(_),
            )
            | None => {}
        },
        Some(Frame::Resync(resync)) => settle::<RungReason>(&mut resync.reason),
        Some(Frame::Notice(notice)) => settle::<NoticeCode>(&mut notice.code),
        Some(Frame::Farewell(farewell)) => settle::<CloseCode>(&mut farewell.code),
        Some(
            Frame::Challenge(_)
            | Frame::Loose(_)
            | Frame::Applied(_)
            | Frame::Ping(_)
            | Frame::Pong(_)
            | Frame::Packed(_),
        )
        | None => {}
    }
}

fn check_hello(hello: &Hello, limits: &Limits) -> Checked {
    at_most("hello.server_name", hello.server_name.len(), limits.server_name_bytes_max)?;
    at_most("hello.admission", hello.admission.len(), limits.admission_bytes_max)?;
    capabilities("hello.capabilities", &hello.capabilities, limits)?;
    match hello.purpose.as_ref().ok_or(empty("hello.purpose"))? {
        hello::Purpose::Login(login) => check_login(login),
        hello::Purpose::Resume(resume) => check_resume(resume),
    }
}

fn check_login(login: &Login) -> Checked {
    match login.identity.as_ref().ok_or(empty("login.identity"))? {
        login::Identity::Key(proof) => check_proof(proof),
        login::Identity::Secret(secret) => exactly("login.secret", secret, Limits::SECRET_BYTES),
        login::Identity::Mint(_) | login::Identity::Anonymous(_) => Ok(()),
    }
}

fn check_resume(resume: &Resume) -> Checked {
    exactly("resume.token", &resume.token, Limits::TOKEN_BYTES)?;
    resume.key.as_ref().map_or(Ok(()), check_proof)
}

fn check_proof(proof: &KeyProof) -> Checked {
    exactly("key.public_key", &proof.public_key, Limits::PUBLIC_KEY_BYTES)?;
    exactly("key.signature", &proof.signature, Limits::SIGNATURE_BYTES)
}

fn check_up(up: &Up, limits: &Limits) -> Checked {
    numbered(up.seq)?;
    match up.body.as_ref().ok_or(empty("up.body"))? {
        up::Body::Message(message) => check_message(message, limits),
        up::Body::Answer(answer) => payload("answer.payload", &answer.payload, limits),
        up::Body::Join(join) => check_join(join, limits),
        up::Body::Part(_) | up::Body::Bye(_) => Ok(()),
    }
}

fn check_message(message: &Message, limits: &Limits) -> Checked {
    at_most("message.key", message.key.len(), limits.key_bytes_max)?;
    payload("message.payload", &message.payload, limits)
}

fn check_join(join: &Join, limits: &Limits) -> Checked {
    at_most("join.kind", join.kind.len(), limits.zone_kind_bytes_max)?;
    at_most("join.name", join.name.len(), limits.zone_name_bytes_max)?;
    at_most("join.ticket", join.ticket.len(), limits.ticket_bytes_max)?;
    payload("join.payload", &join.payload, limits)
}

fn check_challenge(challenge: &Challenge, limits: &Limits) -> Checked {
    exactly("challenge.nonce", &challenge.nonce, Limits::NONCE_BYTES)?;
    at_most("challenge.server_name", challenge.server_name.len(), limits.server_name_bytes_max)
}

fn check_welcome(welcome: &Welcome, limits: &Limits) -> Checked {
    exactly("welcome.player", &welcome.player, Limits::PLAYER_BYTES)?;
    exactly("welcome.token", &welcome.token, Limits::TOKEN_BYTES)?;
    if !welcome.secret.is_empty() {
        exactly("welcome.secret", &welcome.secret, Limits::SECRET_BYTES)?;
    }
    welcome.zone.as_ref().map_or(Ok(()), |zone| check_zone(zone, limits))?;
    capabilities("welcome.capabilities", &welcome.capabilities, limits)?;
    addresses("welcome.resume_at", &welcome.resume_at, limits)
}

fn check_down(down: &Down, limits: &Limits) -> Checked {
    numbered(down.seq)?;
    match down.body.as_ref().ok_or(empty("down.body"))? {
        down::Body::Message(message) => check_message(message, limits),
        down::Body::Reply(reply) => payload("reply.payload", &reply.payload, limits),
        down::Body::Refused(refused) => text("refused.text", &refused.text, limits),
        down::Body::Call(Call { payload: bytes, .. }) => payload("call.payload", bytes, limits),
        down::Body::Joined(joined) => check_joined(joined, limits),
        down::Body::Parted(parted) => text("parted.text", &parted.text, limits),
    }
}

fn check_joined(joined: &Joined, limits: &Limits) -> Checked {
    check_zone(joined.zone.as_ref().ok_or(empty("joined.zone"))?, limits)?;
    payload("joined.payload", &joined.payload, limits)?;
    check_latest("joined.latest", &joined.latest, limits)
}

fn check_resync(resync: &Resync, limits: &Limits) -> Checked {
    at_most("resync.snapshot", resync.snapshot.len(), limits.snapshot_bytes_max)?;
    resync.zone.as_ref().map_or(Ok(()), |zone| check_zone(zone, limits))?;
    check_latest("resync.latest", &resync.latest, limits)
}

fn check_latest(field: &'static str, values: &[Latest], limits: &Limits) -> Checked {
    at_most(field, values.len(), limits.latest_max)?;
    values.iter().try_for_each(|value| {
        at_most("latest.key", value.key.len(), limits.key_bytes_max)?;
        payload("latest.payload", &value.payload, limits)
    })
}

fn check_zone(zone: &ZoneRef, limits: &Limits) -> Checked {
    at_most("zone.kind", zone.kind.len(), limits.zone_kind_bytes_max)?;
    at_most("zone.name", zone.name.len(), limits.zone_name_bytes_max)
}

fn check_refusal(refusal: &Refusal, limits: &Limits) -> Checked {
    text("refusal.text", &refusal.text, limits)?;
    addresses("refusal.addresses", &refusal.addresses, limits)
}

fn check_farewell(farewell: &Farewell, limits: &Limits) -> Checked {
    text("farewell.text", &farewell.text, limits)?;
    addresses("farewell.addresses", &farewell.addresses, limits)
}

fn capabilities(field: &'static str, names: &[String], limits: &Limits) -> Checked {
    at_most(field, names.len(), limits.capabilities_max)?;
    names.iter().try_for_each(|name| at_most(field, name.len(), limits.capability_bytes_max))
}

fn addresses(field: &'static str, addresses: &[String], limits: &Limits) -> Checked {
    at_most(field, addresses.len(), limits.addresses_max)?;
    addresses.iter().try_for_each(|one| at_most(field, one.len(), limits.address_bytes_max))
}

fn payload(field: &'static str, payload: &Bytes, limits: &Limits) -> Checked {
    at_most(field, payload.len(), limits.message_bytes_max)
}

fn text(field: &'static str, text: &str, limits: &Limits) -> Checked {
    at_most(field, text.len(), limits.text_bytes_max)
}

fn exactly(field: &'static str, bytes: &Bytes, expected: usize) -> Checked {
    match bytes.len() {
        len if len == expected => Ok(()),
        len => Err(DecodeError::WrongLength { field, len, expected }),
    }
}

fn numbered(seq: u64) -> Checked {
    if seq == 0 { Err(DecodeError::ZeroSeq) } else { Ok(()) }
}

fn settle<E: TryFrom<i32> + Default + Into<i32>>(value: &mut i32) {
    if E::try_from(*value).is_err() {
        *value = E::default().into();
    }
}

const fn empty(field: &'static str) -> DecodeError {
    DecodeError::Empty { field }
}
