//! Coverage marks: a name for every state transition, rung, refusal and fault. The simulator fails
//! a run whose faults did not reach all of them: its blind spots would otherwise be invisible.
//! Without the feature `marks` a mark costs nothing.

/// Declares the marks of a crate: the enum `Mark`, `hit`, and, with the crate's own feature `marks`,
/// `take`. Used once in a module of its own.
#[macro_export]
macro_rules! marks {
    ($($(#[$doc:meta])* $name:ident,)*) => {
        /// A place in the rules that a run can reach.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        #[repr(usize)]
        pub enum Mark { $($(#[$doc])* $name,)* }

        impl Mark {
            /// Every mark, in the order in which they are declared.
            pub const ALL: &'static [Self] = &[$(Self::$name,)*];

            /// Its name, as tables and GUARANTEES.md print it.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$name => stringify!($name),)* }
            }
        }

        #[cfg(feature = "marks")]
        mod count {
            use super::Mark;
            use std::cell::RefCell;

            thread_local! {
                static HITS: RefCell<Vec<u64>> = RefCell::new(vec![0; Mark::ALL.len()]);
            }

            /// Counts a visit.
            pub(crate) fn hit(mark: Mark) {
                HITS.with_borrow_mut(|hits| hits[mark as usize] += 1);
            }

            /// Takes this thread's counts, leaving zeros.
            #[must_use]
            pub fn take() -> Vec<(Mark, u64)> {
                let counted = |mark: &Mark, hits: &mut Vec<u64>| {
                    (*mark, std::mem::take(&mut hits[*mark as usize]))
                };
                HITS.with_borrow_mut(|hits| {
                    Mark::ALL.iter().map(|mark| counted(mark, hits)).collect()
                })
            }
        }

        #[cfg(feature = "marks")]
        pub(crate) use count::hit;

        #[cfg(not(feature = "marks"))]
        pub(crate) fn hit(_mark: Mark) {}
    };
}

marks! {
    /// A session began.
    SessionNew,
    /// A player came back, nothing lost, outside zones.
    ReplayedOutside,
    /// A player came back, nothing lost, in a zone.
    ReplayedInZone,
    /// The rest of an earlier leg was replayed before the open one.
    ReplayedOlderLeg,
    /// A player came back without streams, outside zones.
    ResyncedOutside,
    /// A player came back without streams, in a zone.
    ResyncedCold,
    /// More was missed than was kept.
    ResyncedOverrun,
    /// A live member was overrun and given the whole state.
    ResyncedInPlace,
    /// The zone had gone back to an earlier state.
    ResyncedRolledBack,
    /// A position this server never gave out.
    ResyncedUnknownPosition,
    /// A session lost its zone.
    ZoneLost,
    /// A connection was taken over while it still looked alive.
    TakenOver,
    /// A takeover came while an earlier resume was still under way.
    TakenOverAttaching,
    /// A login without token attached to a held session.
    FoundHeld,
    /// A login without token took over a live session.
    FoundLive,
    /// `fresh` ended a held session.
    Superseded,
    /// A second login was refused by policy.
    LoggedInAgain,
    /// A player has several sessions by policy.
    AllowedSeveral,
    /// A stale close, frame or timer was recognised by its epoch and ignored.
    StaleIgnored,
    /// A hold ended and so did the session.
    HoldEnded,
    /// A drop without any hold ended the session at once.
    HoldNone,
    /// A hold ended because the match did.
    HoldMatchEnded,
    /// A client left for good.
    Left,
    /// A session idled out.
    Idle,
    /// A session reached its absolute lifetime.
    Lifetime,
    /// A session was ended from outside.
    Kicked,
    /// A ban ended a session and kept its player out.
    Banned,
    /// A connection said nothing in time after its challenge.
    HandshakeTimeout,
    /// A connection fell silent.
    HeartbeatLost,
    /// A connection acknowledged nothing for too long.
    TooSlow,
    /// Time jumped; deadlines moved by the gap.
    Stalled,
    /// The store was full while holds stood still.
    HoldsStoodStill,
    /// The store was full and a zone stood still.
    ZoneFroze,
    /// A retired token was refused.
    TokenRetired,
    /// An unknown session or token was refused.
    SessionUnknown,
    /// A token older than the newest was accepted: the newest had not been confirmed.
    TokenOlder,
    /// A token was confirmed by its first use.
    TokenConfirmed,
    /// A wrong or forged credential was refused.
    CredentialRefused,
    /// The hello named another server.
    WrongName,
    /// An identity that is switched off was refused.
    IdentityOff,
    /// A version that is not served was refused.
    VersionRefused,
    /// The game's admission rule let a player in.
    Admitted,
    /// The game's admission rule refused.
    AdmissionRefused,
    /// The game's admission rule gave no answer in time.
    AdmissionTimeout,
    /// The service is full.
    Full,
    /// A hello came before recovery was done.
    NotReady,
    /// The process was about to end, and a connection was told so.
    ShutDown,
    /// A hello came to a process that was about to end.
    ShutDownRefused,
    /// A malformed frame.
    Malformed,
    /// A frame in a state where it may not stand.
    OutOfState,
    /// A jump in the client's numbers.
    NumberGap,
    /// An acknowledgement of what was never sent.
    AckAhead,
    /// A number that had been consumed came again and was ignored.
    DuplicateUp,
    /// A sender over its budget was made to wait.
    Throttled,
    /// A sender that did not rest was severed.
    Severed,
    /// An address asked for more resumes than it may.
    ResumesRationed,
    /// An address asked for more logins than it may.
    LoginsRationed,
    /// An address asked for more zones to be opened than it may.
    OpensRationed,
    /// An address had failed too often to log in.
    FailuresRationed,
    /// An address had broken the rules too often and was shut out.
    Barred,
    /// Too many came at once, and somebody was told to come later.
    Paced,
    /// More waited for a settled place than a client may send.
    Flooded,
    /// A numbered frame waited while the session changed its place.
    Waited,
    /// Numbered frames that were not applied were handed on again.
    HandedOnAgain,
    /// A zone ran again, and a connected member went on with it where it was.
    WentOnInPlace,
    /// A zone ran again, and a connected member was given the whole state.
    ResyncedAfterFault,
    /// A join was admitted.
    Joined,
    /// A join was asked for while in a zone.
    JoinedTwice,
    /// A join was refused by the game.
    JoinDenied,
    /// A join named no zone.
    UnknownZone,
    /// A zone was full.
    ZoneFull,
    /// The player was in the zone already with another session.
    AlreadyHere,
    /// A member asked to leave its zone.
    PartAsked,
    /// A member was parted by its zone.
    PartKicked,
    /// A drop parted a member at once.
    DisconnectHard,
    /// A drop left a member in place.
    DisconnectSoft,
    /// A member was moved to another zone.
    Transferred,
    /// A transfer was refused by its target and left the session outside.
    TransferRefused,
    /// A zone ended.
    ZoneEnded,
    /// A join met a zone that is ending.
    ZoneEnding,
    /// A member of an earlier stay was found and parted.
    Leftover,
    /// A callback panicked and the zone was rebuilt.
    ZoneFault,
    /// A callback did not return and the zone was rebuilt.
    ZoneStuck,
    /// An input that had made its zone panic was refused for good.
    Poisoned,
    /// A zone panicked too often and was closed.
    ZoneClosed,
    /// A frame outside zones was refused.
    NotMember,
    /// A payload the game could not read was refused.
    BadPayload,
    /// One sender had filled its share of the ring.
    RingShare,
    /// The ring forgot an entry somebody had not acknowledged.
    RingEvicted,
    /// A private outbox forgot an entry.
    OutboxEvicted,
    /// A session's outbox forgot an entry.
    SessionOutboxEvicted,
    /// A value of a key was replaced before everybody saw it.
    LatestReplaced,
    /// A key was cleared.
    LatestCleared,
    /// A new key was refused because there are too many.
    LatestRefused,
    /// A member had more unacknowledged than its window and was served later.
    WindowClosed,
    /// A reply was sent.
    Replied,
    /// A call was answered.
    CallAnswered,
    /// A call was not answered in time.
    CallTimeout,
    /// An answer to no open call.
    CallUnknown,
    /// A timer of a zone rang.
    TimerRang,
    /// A job of a zone came back.
    JobDone,
    /// A tick was skipped because too many were late.
    TickSkipped,
    /// A zone stopped taking input until its cuts are committed.
    CutBackpressure,
    /// A zone compacted its cuts.
    Compacted,
    /// A zone was rebuilt from its cuts.
    ZoneRecovered,
    /// A session was rebuilt from its scope.
    SessionRecovered,
    /// A join that a crash interrupted was driven again.
    JoinRedriven,
    /// A part that a crash interrupted was driven again.
    DepartRedriven,
    /// The client's numbers went on after a loss that was reported.
    LostUpstream,
    /// An object changed its owner.
    OwnerChanged,
    /// Objects of a leaver were kept.
    OwnedKept,
    /// Objects of a leaver were handed over.
    OwnedHandedOver,
    /// Objects of a leaver were destroyed.
    OwnedDestroyed,
    /// A match started.
    MatchStarted,
    /// A match ended.
    MatchEnded,
    /// An unreliable message of another leg was dropped.
    LooseDropped,
    /// A Game's zone was asked for without a seat.
    SeatRequired,
    /// The directory let a join go on.
    SeatClaimed,
    /// The directory refused a seat, or could not be asked.
    SeatRefused,
    /// The directory did not answer in time.
    SeatUnanswered,
    /// The directory knows that a seat is used.
    SeatConfirmed,
    /// A claim had run out before it was confirmed, and was good again.
    SeatReclaimed,
    /// A member lost its seat before it was confirmed.
    SeatLost,
    /// A seat that was not used went back.
    SeatAbandoned,
    /// A seat was freed.
    SeatCompleted,
    /// A session that had ended waited until the directory had heard of its seat.
    SeatLingered,
    /// A claim that a crash interrupted was made again.
    SeatClaimRedriven,
    /// A confirmation that a crash interrupted was made again.
    SeatConfirmRedriven,
    /// A freed seat whose end a crash interrupted was freed again.
    SeatEndRedriven,
    /// A session came back from its scope with its seat.
    SeatRecovered,
    /// A native session started.
    NativeStarted,
    /// A native session joins a zone.
    NativeJoining,
    /// A native session joins the zone of a Game with a seat.
    NativeSeated,
    /// A native session said something in its zone.
    NativeSaid,
    /// A native session answered a call.
    NativeAnswered,
    /// A session is moved to another zone from outside.
    SessionMoved,
    /// A disconnect callback is run.
    CallbackRun,
    /// A session goes on over a transport of another kind: its encoding, or whether it is encrypted.
    TransportChanged,
    /// Compressed frames were agreed on.
    CompressionAgreed,
    /// A password or a foreign token is looked at.
    AccountAsked,
    /// What came with a login was the game's business.
    AccountNotMeant,
    /// There was no time to look at a password.
    AccountBusy,
    /// What was meant for an account could not be read.
    AccountUnreadable,
    /// A login by a key that belongs to an account.
    AccountByKey,
    /// A key that an account had brought and lost again was refused.
    AccountKeyLost,
    /// A login waits for the commit of its account.
    AccountSettling,
    /// An account was made by its first login.
    AccountFirstLogin,
    /// Two first logins made one account.
    AccountMadeMeanwhile,
    /// A key was brought to an account, which takes its player.
    KeyBrought,
    /// A key joined an account.
    KeyJoined,
    /// A login proved another version of its account than there is, before the game was asked.
    AccountOutdated,
    /// A login was outdated when its session was about to become live.
    AccountOutdatedLate,
    /// A login to a locked account was refused.
    AccountLockedOut,
    /// A login to an account that is being deleted was refused.
    AccountLeaving,
    /// A player could not be brought to an account that has been played with.
    AccountInUse,
    /// A key belongs to another account.
    AccountKeyTaken,
    /// The account of a login got another player while the game was asked.
    AccountMoved,
    /// A change of an account waited for the one before it.
    AccountWaited,
    /// An operator made an account.
    AccountAdded,
    /// An account got another password.
    PasswordChanged,
    /// An account was locked.
    AccountLocked,
    /// An account was unlocked.
    AccountUnlocked,
    /// An account got another role.
    RoleChanged,
    /// An account was deleted.
    AccountForgotten,
    /// The deletion of an account that a crash interrupted was driven again.
    AccountForgetRedriven,
    /// After a start, a session of a banned or locked player ended.
    BarredAgain,
    /// A ban was lifted.
    Unbanned,
    /// A ban that would be over already was refused.
    BanOver,
    /// What is kept of a guest was deleted.
    GuestDeleted,
    /// A hello waited for the commit of a ban.
    BanAwaited,
}

#[cfg(feature = "marks")]
pub use count::take;
