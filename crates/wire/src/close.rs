//! The public table of close codes: whose fault each is, and what a client does next.
//!
//! Owns the meaning of every ending of a connection. Close reasons in logs, labels of metrics, the
//! client's decision to come back and the table of the protocol document all derive from here.
//! Decides nothing itself: who closes with which code is told by the rules.

use std::fmt;

use crate::v1::CloseCode;

/// Who could have prevented that the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fault {
    /// Nobody: an ordinary ending, or the network.
    Nobody,
    /// The client's code broke a rule of the protocol, or could not keep up.
    Client,
    /// The server, its game code or its disk.
    Server,
    /// Whoever runs the server decided it.
    Operator,
    /// The player did it, on this device or another.
    Player,
}

/// What a client does after the connection ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Next {
    /// Connect and resume with the stored token, after `retry_after_ms` if given.
    Resume,
    /// The session is gone: drop its token and log in.
    LogInAgain,
    /// Try the same again after `retry_after_ms`, with jitter.
    Wait,
    /// Resume at one of the addresses that the farewell gives.
    Moved,
    /// Trying again cannot help; tell the player or the developer.
    Fatal,
    /// It ended as somebody wanted; do nothing until the player asks.
    Stop,
}

/// One close code and all that is to be known about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CloseRow {
    /// The code, as frames and WebSocket closes carry it; no two rows of the table share one.
    pub code: CloseCode,
    /// Its name in logs and metrics: that of the contract without `CLOSE_CODE_`.
    pub name: &'static str,
    /// Who could have prevented it.
    pub fault: Fault,
    /// What the client does.
    pub next: Next,
    /// What happened, for people.
    pub sentence: &'static str,
}

impl CloseRow {
    /// The status of a WebSocket close frame.
    pub const fn status(&self) -> u16 {
        status(self.code)
    }

    /// Whether a client may come back by itself, without asking the player.
    pub const fn is_retried(&self) -> bool {
        match self.next {
            Next::Resume | Next::LogInAgain | Next::Wait | Next::Moved => true,
            Next::Fatal | Next::Stop => false,
        }
    }
}

/// The row of a code.
///
/// `Unspecified`, which an older client makes of a code it does not know, has a row outside the
/// table: to resume is safe, because the server will say what is wrong with that.
pub fn row(code: CloseCode) -> &'static CloseRow {
    TABLE.iter().find(|row| row.code == code).unwrap_or(&UNKNOWN)
}

/// The code of a WebSocket close status, if it is one of ours.
pub fn from_status(status: u16) -> Option<CloseCode> {
    match CloseCode::try_from(i32::from(status)) {
        Ok(CloseCode::Unspecified) | Err(_) => None,
        Ok(code) => Some(code),
    }
}

/// The status of a WebSocket close frame for a code. `Unspecified` gives 1005, "no status".
pub const fn status(code: CloseCode) -> u16 {
    match code {
        CloseCode::Unspecified => 1005,
        // All others are between 4000 and 4999, which a test holds.
        code => code as u16,
    }
}

/// Every close code but `Unspecified`, each once, in the order of their numbers.
#[rustfmt::skip] // One row a line, as a table is read.
pub const TABLE: &[CloseRow] = &[
    row_of(CloseCode::Left, "LEFT", Fault::Nobody, Next::Stop, "The player left for good, as asked."),
    row_of(CloseCode::TakenOver, "TAKEN_OVER", Fault::Player, Next::Stop, "The same session was resumed elsewhere, and that connection speaks for it now. Never retried without the player."),
    row_of(CloseCode::LoggedInAgain, "LOGGED_IN_AGAIN", Fault::Player, Next::Fatal, "The player is already here, and this server does not let a second login in."),
    row_of(CloseCode::Superseded, "SUPERSEDED", Fault::Player, Next::Stop, "The player asked for a fresh session, and this older one ended."),
    row_of(CloseCode::Ended, "ENDED", Fault::Nobody, Next::LogInAgain, "The session ended while it was connected, by the game's own rule."),
    row_of(CloseCode::Malformed, "MALFORMED", Fault::Client, Next::Fatal, "Bytes came that are not a frame."),
    row_of(CloseCode::OutOfState, "OUT_OF_STATE", Fault::Client, Next::Fatal, "A frame came that may not stand where the connection is."),
    row_of(CloseCode::TooLarge, "TOO_LARGE", Fault::Client, Next::Fatal, "A frame, or something in it, is over its limit."),
    row_of(CloseCode::NumberGap, "NUMBER_GAP", Fault::Client, Next::Fatal, "The client's numbers jumped; they have no gaps."),
    row_of(CloseCode::AckAhead, "ACK_AHEAD", Fault::Client, Next::Fatal, "The client acknowledged what was never sent to it."),
    row_of(CloseCode::Version, "VERSION", Fault::Client, Next::Fatal, "Client and server share no version of the protocol; update the older one."),
    row_of(CloseCode::Flooded, "FLOODED", Fault::Client, Next::Wait, "The client sent far more than its budget, or broke rules too often."),
    row_of(CloseCode::Credential, "CREDENTIAL", Fault::Client, Next::Fatal, "The proof, secret, password or token of the login does not hold."),
    row_of(CloseCode::WrongName, "WRONG_NAME", Fault::Client, Next::Fatal, "The client dialled a name that is not this server's."),
    row_of(CloseCode::IdentityOff, "IDENTITY_OFF", Fault::Operator, Next::Fatal, "This kind of login is switched off on this server."),
    row_of(CloseCode::AdmissionRefused, "ADMISSION_REFUSED", Fault::Operator, Next::Fatal, "The game's admission rule refused the login."),
    row_of(CloseCode::AdmissionTimeout, "ADMISSION_TIMEOUT", Fault::Server, Next::Wait, "The game's admission rule gave no answer in time."),
    row_of(CloseCode::Banned, "BANNED", Fault::Operator, Next::Fatal, "The player is banned."),
    row_of(CloseCode::Locked, "LOCKED", Fault::Operator, Next::Fatal, "The player's account is locked."),
    row_of(CloseCode::SessionUnknown, "SESSION_UNKNOWN", Fault::Nobody, Next::LogInAgain, "There is no such session any more: its hold ended, or it was never here."),
    row_of(CloseCode::TokenRetired, "TOKEN_RETIRED", Fault::Nobody, Next::LogInAgain, "The resume token was replaced by a newer one."),
    row_of(CloseCode::HandshakeTimeout, "HANDSHAKE_TIMEOUT", Fault::Client, Next::Resume, "No hello came in time."),
    row_of(CloseCode::HeartbeatLost, "HEARTBEAT_LOST", Fault::Nobody, Next::Resume, "Nothing was heard for too long; the network is the likely cause."),
    row_of(CloseCode::TooSlow, "TOO_SLOW", Fault::Client, Next::Resume, "The client did not consume what was sent to it in time."),
    row_of(CloseCode::Idle, "IDLE", Fault::Nobody, Next::LogInAgain, "No game message came for too long, and the session ended."),
    row_of(CloseCode::Lifetime, "LIFETIME", Fault::Nobody, Next::LogInAgain, "The session reached the age at which every session ends."),
    row_of(CloseCode::Full, "FULL", Fault::Server, Next::Wait, "The server holds as many sessions as it may."),
    row_of(CloseCode::NotReady, "NOT_READY", Fault::Server, Next::Wait, "The server is starting or recovering."),
    row_of(CloseCode::ShuttingDown, "SHUTTING_DOWN", Fault::Operator, Next::Resume, "The server is going down; the session is kept. Resume after the time given."),
    row_of(CloseCode::ZoneFault, "ZONE_FAULT", Fault::Server, Next::Resume, "The game's code failed and its zone could not go on."),
    row_of(CloseCode::StoreFailed, "STORE_FAILED", Fault::Server, Next::Resume, "The store failed; what was acknowledged is safe, the rest is sent again."),
    row_of(CloseCode::Moved, "MOVED", Fault::Nobody, Next::Moved, "The session lives at another node now; resume at the addresses given."),
    row_of(CloseCode::WrongNode, "WRONG_NODE", Fault::Nobody, Next::Moved, "This node does not hold the session; resume at the addresses given."),
    row_of(CloseCode::Kicked, "KICKED", Fault::Operator, Next::Fatal, "A moderator or the game removed the player."),
];

const UNKNOWN: CloseRow = row_of(
    CloseCode::Unspecified,
    "UNSPECIFIED",
    Fault::Nobody,
    Next::Resume,
    "The connection ended for a reason this client does not know.",
);

const fn row_of(
    code: CloseCode,
    name: &'static str,
    fault: Fault,
    next: Next,
    sentence: &'static str,
) -> CloseRow {
    CloseRow { code, name, fault, next, sentence }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Fault::Nobody => "nobody",
            Fault::Client => "client",
            Fault::Server => "server",
            Fault::Operator => "operator",
            Fault::Player => "player",
        })
    }
}

impl fmt::Display for Next {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Next::Resume => "resume",
            Next::LogInAgain => "log in again",
            Next::Wait => "wait",
            Next::Moved => "moved",
            Next::Fatal => "fatal",
            Next::Stop => "stop",
        })
    }
}

#[cfg(test)]
mod tests;
