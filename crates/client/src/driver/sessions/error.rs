//! Why something that was asked of a provider did not happen.

use std::fmt;

/// Why an operation failed. After [`Unreachable`](Self::Unreachable) or [`Late`](Self::Late) it may have been
/// carried out all the same.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum SessionError {
    /// `configure` comes first.
    NotConfigured,
    /// No provider is registered.
    NotRegistered,
    /// Another provider is registered: take it away first.
    AlreadyRegistered,
    /// The region is longer than 64 bytes or has other characters than letters, digits and `-`; an empty one
    /// stands for all locations.
    BadRegion,
    /// The endpoint is none, or its roots cannot be used: why.
    BadEndpoint(String),
    /// The directory or the server said no.
    Refused {
        /// The code of the problem, such as `game_full`, or how a Game or a placement ended.
        code: String,
        /// The status of the answer; 0 where there was none.
        status: u16,
        /// A sentence for people: the server's, or how a Game or a placement ended. Empty if the answer was
        /// no problem document.
        detail: String,
    },
    /// Nobody answered, or the connection did not come about. It may have been done.
    Unreachable(String),
    /// It took longer than was waited for: what.
    Late(&'static str),
}

impl SessionError {
    /// The code of a refusal.
    #[must_use]
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Refused { code, .. } => Some(code),
            _ => None,
        }
    }

    pub(super) fn refused(code: &str, detail: impl Into<String>) -> Self {
        Self::Refused { code: code.to_owned(), status: 0, detail: detail.into() }
    }
}

impl fmt::Display for SessionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotConfigured => f.write_str("configure comes first"),
            Self::NotRegistered => f.write_str("no provider is registered"),
            Self::AlreadyRegistered => {
                f.write_str("another provider is registered: take it away first")
            }
            Self::BadRegion => f.write_str("a region has 1 to 64 letters, digits and '-'"),
            Self::BadEndpoint(why) => write!(f, "not an endpoint: {why}"),
            Self::Refused { code, detail, .. } => write!(f, "refused: {code}: {detail}"),
            Self::Unreachable(why) => write!(f, "nobody answers: {why}"),
            Self::Late(what) => write!(f, "it took too long: {what}"),
        }
    }
}

impl std::error::Error for SessionError {}
