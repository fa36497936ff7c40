//! The game's word on who comes in. It is asked off the loops and has a deadline; no answer, a
//! refusal and a panic are all the same to the player: not let in.

use std::fmt;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use rejoin_core::id::PlayerId;

/// The answer: let in, or the reason for people why not.
pub type Verdict = Result<(), String>;

/// The limit on log lines of an admission rule: ten a second, twenty at once, as for every other
/// cause. What it holds back is counted and logged later.
#[derive(Clone)]
pub struct LogGate(Arc<dyn Fn() -> Option<Option<u64>> + Send + Sync>);

impl LogGate {
    pub(crate) fn new(pass: impl Fn() -> Option<Option<u64>> + Send + Sync + 'static) -> Self {
        Self(Arc::new(pass))
    }

    /// Whether a line may be written now, and how many were held back since the last one; the count
    /// is none if there were none.
    #[must_use]
    pub fn pass(&self) -> Option<Option<u64>> {
        (self.0)()
    }
}

impl fmt::Debug for LogGate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LogGate")
    }
}

/// Decides about every login; a resume was let in before.
///
/// A mistake here lets strangers in: the player is proven to be who it says it is before this is asked,
/// but the payload is whatever the client chose to send.
pub trait Admission: Send + Sync + 'static {
    /// May this player come in?
    fn admit<'a>(
        &'a self,
        player: PlayerId,
        payload: Bytes,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

    /// Called once, before the first question. A rule that writes to the log asks the gate before
    /// each line, because any client can make it fail.
    fn begin(&self, log: LogGate) {
        let _ = log;
    }

    /// The same, for a rule that wants to know where the player is; none: in this process.
    fn admit_from<'a>(
        &'a self,
        player: PlayerId,
        payload: Bytes,
        address: Option<IpAddr>,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        let _ = address;
        self.admit(player, payload)
    }
}

impl<F, Answer> Admission for F
where
    F: Fn(PlayerId, Bytes) -> Answer + Send + Sync + 'static,
    Answer: Future<Output = Verdict> + Send + 'static,
{
    fn admit<'a>(
        &'a self,
        player: PlayerId,
        payload: Bytes,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>> {
        Box::pin(self(player, payload))
    }
}
