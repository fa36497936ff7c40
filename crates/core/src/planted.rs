//! Deliberate bugs. A simulator that has never caught one proves nothing, so a few live here, asleep
//! unless a test arms one of them, and not compiled at all without the feature `planted`.

/// A bug that can be armed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bug {
    /// A zone takes frames of a connection that has been taken over.
    ResumeNotFenced,
    /// A zone acknowledges a number before the cut that contains it is committed.
    AckBeforeApplied,
    /// A confirmed token retires the earlier ones at once, but its commit is forgotten, and so is
    /// the issue of the token it confirms.
    TokenConfirmLost,
    /// A session is in a Game, and the directory is never told.
    SeatNotConfirmed,
    /// What is open about a seat is not kept with its session.
    SeatNotKept,
    /// A session forgets its seat when its stay is over, and the directory never hears of it.
    SeatNotFreed,
    /// An acknowledgement opens the window, and nothing that waits is sent.
    AckSendsNothing,
    /// A cleared key is forgotten before every member knows that it is cleared.
    ClearedTooEarly,
    /// Every second resume that could be replayed is answered as an overrun.
    ResyncedForNothing,
    /// Objects of a member that is transferred stay its own.
    ObjectsNotParted,
    /// A timer that rang is not removed from what is stored.
    TimerKept,
    /// A job that is done is not removed from what is stored.
    JobKept,
    /// Match data is not read from the store.
    MatchDataNotRead,
    /// Holds are half as long as promised.
    HoldHalved,
    /// Holds never end.
    HoldForgotten,
    /// A session whose hold ended is said to have left.
    WrongCause,
    /// An acknowledgement outside zones is taken for one of what was never said.
    AckBlamed,
    /// A zone is told to forget a leaver before the session has committed what it takes over.
    ForgottenBeforeKept,
    /// A gate submits a batch while another one of its scope is at the store.
    TwoBatches,
    /// A commit lets out what waits for the next one, too.
    NextReleased,
    /// A store takes a batch of a former owner.
    LateBatchTaken,
    /// A driver takes a commit of unknown outcome for one that is committed.
    UnknownTakenForCommitted,
    /// After a failed apply the newer layer goes into the tree before the older one.
    LayersSwapped,
    /// The version of an account that a login has proven is not compared when its session becomes live.
    OldPasswordAccepted,
    /// The version of a new account is not drawn but always the same, so that a login to a deleted account
    /// passes for one to the account that was made anew under its name.
    AccountVersionReused,
    /// The deadline of a member stays when its zone forgets the member.
    DeadlineKept,
    /// A connection goes by whichever place it was told of last, also one that its session has left.
    OlderRouteTaken,
    /// What a connection keeps is not handed on where its session goes.
    NotHandedOnAgain,
    /// A session takes frames that were handed on while it was outside, also when it is somewhere else by then.
    OldStayTaken,
    /// The ban of a key leaves the sessions of accounts that the key has opened.
    KeyBanForgotten,
    /// A gate takes a late word about another revision for one about the batch at the store.
    LateCommitTaken,
    /// Frames are compressed whatever they hold, the Welcome with its token among them.
    SecretCompressed,
}

#[cfg(feature = "planted")]
mod armed {
    use super::Bug;
    use std::cell::Cell;

    thread_local! {
        static ARMED: Cell<Option<Bug>> = const { Cell::new(None) };
    }

    /// Arms one bug on this thread, or none.
    pub fn arm(bug: Option<Bug>) {
        ARMED.set(bug);
        // What may be compressed is decided by the codec.
        rejoin_wire::planted::arm(bug == Some(Bug::SecretCompressed));
    }

    /// Whether this bug is armed on this thread.
    #[must_use]
    pub fn is_armed(bug: Bug) -> bool {
        ARMED.get() == Some(bug)
    }
}

#[cfg(feature = "planted")]
pub use armed::{arm, is_armed};

/// Whether this bug is armed: never, without the feature.
#[cfg(not(feature = "planted"))]
#[must_use]
pub fn is_armed(_bug: Bug) -> bool {
    false
}
