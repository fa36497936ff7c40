//! The log of single frames, for one session at a time, switched while the server runs. When it is
//! off, a frame costs one look at a number. Frames that carry credentials never show what is in them.

use std::fmt;

use rejoin_wire::v1::{ClientFrame, ServerFrame, client_frame, down, server_frame, up};
use rejoin_wire::{Encoding, Limits, SharedFrame, decode_server};

use crate::logbook::Suppressed;
use crate::tally::Tally;

/// Bytes of a payload that are shown at most.
const SHOWN_MAX: usize = 1_024;

/// How the frames of a session are logged.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(u8)]
pub enum FrameLog {
    /// Not at all.
    #[default]
    Off = 0,
    /// Direction, kind, code and size of each.
    On = 1,
    /// That, and their payloads; never a credential.
    Payload = 2,
}

impl FrameLog {
    /// As the admin API says it.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
            Self::Payload => "payload",
        }
    }

    /// Reads a label.
    #[must_use]
    pub fn from_label(label: &str) -> Option<Self> {
        [Self::Off, Self::On, Self::Payload].into_iter().find(|log| log.label() == label)
    }

    pub(crate) fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Off,
            1 => Self::On,
            _ => Self::Payload,
        }
    }
}

/// Whether the log takes such lines at all.
pub(crate) fn is_heard() -> bool {
    tracing::enabled!(target: "rejoin_server::frame", tracing::Level::DEBUG)
}

/// What a line says about a frame.
pub(crate) struct LoggedFrame {
    arrow: &'static str,
    kind: &'static str,
    code: u16,
    /// What is in it may be shown.
    open: bool,
}

/// A code as the log writes it: the field's number in the frame, and in the body if it has one.
struct Hex(u16);

impl fmt::Display for Hex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 > 0xff { write!(f, "0x{:04X}", self.0) } else { write!(f, "0x{:02X}", self.0) }
    }
}

impl LoggedFrame {
    /// A frame of a client, or bytes that are none.
    pub(crate) fn received(frame: Option<&ClientFrame>) -> Self {
        use client_frame::Frame;
        let (kind, code, open) = match frame.and_then(|frame| frame.frame.as_ref()) {
            // Hidden: a hello with a fault is one of these, and has a credential in it.
            None => ("malformed", 0, false),
            Some(Frame::Hello(_)) => ("hello", 0x01, false),
            Some(Frame::Up(up)) => match &up.body {
                None => ("up", 0x02, true),
                Some(up::Body::Message(_)) => ("up.message", 0x0202, true),
                Some(up::Body::Answer(_)) => ("up.answer", 0x0203, true),
                Some(up::Body::Join(_)) => ("up.join", 0x0204, true),
                Some(up::Body::Part(_)) => ("up.part", 0x0205, true),
                Some(up::Body::Bye(_)) => ("up.bye", 0x0206, true),
            },
            Some(Frame::Loose(_)) => ("loose", 0x03, true),
            Some(Frame::Ack(_)) => ("ack", 0x04, true),
            Some(Frame::Ping(_)) => ("ping", 0x05, true),
            Some(Frame::Pong(_)) => ("pong", 0x06, true),
            Some(Frame::Packed(_)) => ("packed", 0x0f, false),
        };
        Self { arrow: "←", kind, code, open }
    }

    /// A frame of ours. It is read again for this, which is why it is done only when asked for.
    pub(crate) fn sent(frame: &SharedFrame, limits: &Limits) -> Self {
        let bytes = frame.protobuf().clone();
        let read = decode_server(Encoding::Protobuf, bytes, limits);
        let (kind, code, open) = read.map_or(("unreadable", 0, false), |frame| sent_kind(&frame));
        Self { arrow: "→", kind, code, open }
    }

    /// Writes the line.
    pub(crate) fn log(&self, tally: &Tally, bytes: &[u8], suppressed: Suppressed) {
        let Self { arrow, kind, code, open } = self;
        let (session, code, len) = (tally.session, Hex(*code), bytes.len());
        if tally.frame_log() == FrameLog::Payload && *open {
            let cut = bytes.len().min(SHOWN_MAX);
            let payload = bytes[..cut].escape_ascii();
            tracing::debug!(
                target: "rejoin_server::frame",
                %session, %arrow, kind, %code, bytes = len, %payload, suppressed, "frame"
            );
        } else {
            tracing::debug!(
                target: "rejoin_server::frame",
                %session, %arrow, kind, %code, bytes = len, suppressed, "frame"
            );
        }
    }
}

fn sent_kind(frame: &ServerFrame) -> (&'static str, u16, bool) {
    use server_frame::Frame;
    match &frame.frame {
        None => ("empty", 0, false),
        Some(Frame::Challenge(_)) => ("challenge", 0x01, false),
        Some(Frame::Welcome(_)) => ("welcome", 0x02, false),
        Some(Frame::Refusal(_)) => ("refusal", 0x03, true),
        Some(Frame::Down(down)) => match &down.body {
            None => ("down", 0x04, true),
            Some(down::Body::Message(_)) => ("down.message", 0x0402, true),
            Some(down::Body::Reply(_)) => ("down.reply", 0x0403, true),
            Some(down::Body::Refused(_)) => ("down.refused", 0x0404, true),
            Some(down::Body::Call(_)) => ("down.call", 0x0405, true),
            Some(down::Body::Joined(_)) => ("down.joined", 0x0406, true),
            Some(down::Body::Parted(_)) => ("down.parted", 0x0407, true),
        },
        Some(Frame::Loose(_)) => ("loose", 0x05, true),
        Some(Frame::Applied(_)) => ("applied", 0x06, true),
        Some(Frame::Ping(_)) => ("ping", 0x07, true),
        Some(Frame::Pong(_)) => ("pong", 0x08, true),
        Some(Frame::Resync(_)) => ("resync", 0x09, true),
        Some(Frame::Notice(_)) => ("notice", 0x0a, true),
        Some(Frame::Farewell(_)) => ("farewell", 0x0b, true),
        Some(Frame::Packed(_)) => ("packed", 0x0f, false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rejoin_wire::v1::{Hello, Welcome};

    #[test]
    fn frames_with_credentials_never_show_what_is_in_them() {
        let hello = client_frame::Frame::Hello(Hello::default());
        assert!(!LoggedFrame::received(Some(&ClientFrame { frame: Some(hello) })).open);
        let player = vec![7; 16].into();
        let token = vec![7; 32].into();
        let welcome = Welcome { session: 1, player, token, ..Welcome::default() };
        let welcome = server_frame::Frame::Welcome(welcome);
        let frame = SharedFrame::new(&ServerFrame { frame: Some(welcome) });
        let shown = LoggedFrame::sent(&frame, &Limits::DEFAULT);
        assert_eq!((shown.kind, shown.open), ("welcome", false));
    }

    #[test]
    fn codes_are_the_numbers_of_the_contract_in_hex() {
        assert_eq!(Hex(0x05).to_string(), "0x05");
        assert_eq!(Hex(0x0202).to_string(), "0x0202");
    }

    #[test]
    fn labels_can_be_read_again() {
        for log in [FrameLog::Off, FrameLog::On, FrameLog::Payload] {
            assert_eq!(FrameLog::from_label(log.label()), Some(log));
            assert_eq!(FrameLog::from_number(log as u8), log);
        }
        assert_eq!(FrameLog::from_label("ON"), None);
    }
}
