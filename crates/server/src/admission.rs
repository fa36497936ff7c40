//! The game's word on who comes in. It is asked off the loops and has a deadline; no answer, a
//! refusal and a panic are all the same to the player: not let in.

use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;

use bytes::Bytes;
use rejoin_core::id::PlayerId;

/// The answer: let in, or the reason for people why not.
pub type Verdict = Result<(), String>;

/// Decides about every login; a resume was let in before.
///
/// Whoever gets this wrong lets strangers in: the player is proven to be who it says it is before
/// this is asked, but the payload is whatever the client chose to send.
pub trait Admission: Send + Sync + 'static {
    /// May this player come in?
    fn admit<'a>(
        &'a self,
        player: PlayerId,
        payload: Bytes,
    ) -> Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

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
