//! What a game can be told instead of an answer: a player that cannot start, a command that was not
//! taken, a request that got no reply.

use std::fmt;
use std::io;

use crate::error::SendError;
use crate::event::RequestEnd;

/// Why a player could not be started. Nothing runs.
#[derive(Debug)]
#[non_exhaustive]
pub enum OpenError {
    /// The address cannot be dialled: `ws://host:port/path`, or `wss://`, `tcp://`, `tls://`, `enet://`.
    Address {
        /// What is wrong with it.
        text: String,
    },
    /// The certificates that were given as roots cannot be used.
    Roots {
        /// What is wrong with them.
        text: String,
    },
    /// The stored key is there and cannot be used. It is not replaced: it is the player.
    Key(io::Error),
    /// The system gives no randomness.
    Chance(io::Error),
    /// The thread of the blocking player could not be started.
    Thread(io::Error),
}

impl fmt::Display for OpenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            OpenError::Address { text } => write!(f, "not an address to connect to: {text}"),
            OpenError::Roots { text } => write!(f, "the roots cannot be used: {text}"),
            OpenError::Key(error) => write!(f, "the stored key cannot be used: {error}"),
            OpenError::Chance(error) => write!(f, "the system gives no randomness: {error}"),
            OpenError::Thread(error) => write!(f, "the player's thread does not start: {error}"),
        }
    }
}

impl std::error::Error for OpenError {}

/// Why a command was not taken. Nothing of it is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CallError {
    /// The client did not take it.
    Refused(SendError),
    /// The player's task has ended: its [`Events`](super::Events) were dropped.
    Gone,
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            CallError::Refused(error) => error.fmt(f),
            CallError::Gone => write!(f, "the player has ended"),
        }
    }
}

impl std::error::Error for CallError {}

impl From<SendError> for CallError {
    fn from(error: SendError) -> Self {
        CallError::Refused(error)
    }
}

/// Why a request has no reply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RequestError {
    /// It was not taken, and nobody heard of it.
    NotTaken(CallError),
    /// It ended without a reply.
    Ended(RequestEnd),
    /// The player's task ended first: it may have been applied.
    Gone,
}

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RequestError::NotTaken(error) => error.fmt(f),
            RequestError::Ended(how) => write!(f, "the request ended without a reply: {how:?}"),
            RequestError::Gone => write!(f, "the player ended before its request did"),
        }
    }
}

impl std::error::Error for RequestError {}

impl From<CallError> for RequestError {
    fn from(error: CallError) -> Self {
        RequestError::NotTaken(error)
    }
}
