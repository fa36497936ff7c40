//! Coverage marks of the directory: a name for every state transition, refusal and ending. The
//! simulator fails a long run that did not reach all of them.

rejoin_core::marks! {
    /// A Game was made.
    GameCreated,
    /// The same request came again and found its Game.
    CreatedAgain,
    /// No host had room.
    NoHost,
    /// A Game became active.
    GameActive,
    /// A host said twice that a Game runs.
    ActivatedTwice,
    /// A Game was changed.
    GameUpdated,
    /// A host was away while it was asked about a change, and is asked again.
    UpdateRepeated,
    /// A Game ended as it should.
    GameTerminated,
    /// A Game ended because its host failed.
    GameFailed,
    /// A Game that ended long ago was forgotten.
    GamePurged,
    /// A Game was rebuilt from its scope.
    GameRecovered,
    /// The end of a Game began.
    Terminating,
    /// The last player left.
    LastLeft,
    /// Nobody ever came.
    NobodyCame,
    /// A Game was not started in time.
    ActivationTimeout,
    /// A Game was not ended in time, and was ended without its host.
    DestroyTimeout,
    /// A hook refused to begin a Game.
    CreateVetoed,
    /// A hook refused a change.
    UpdateVetoed,
    /// A hook refused to end a Game.
    DestroyVetoed,
    /// A host did not answer an update.
    HostSilent,
    /// A start that a crash interrupted was driven again.
    ActivationRedriven,
    /// An end that a crash interrupted was driven again.
    TerminationRedriven,
    /// A message that has nothing to say any more.
    StaleMail,
    /// A request came in a state in which it cannot be.
    WrongStatus,
    /// A Game takes no new players.
    NotAccepting,
    /// A match began that closes its Game.
    MatchCloses,
    /// It was over, and the Game was open again.
    MatchOver,
    /// A seat was asked for while the host was not well.
    JoinUnhealthy,
    /// A seat was asked for while the host was away.
    JoinAway,
    /// Too much waited for the store.
    Busy,
    /// One seat was reserved.
    SeatReserved,
    /// A party was seated.
    PartyReserved,
    /// The same reservation came again.
    ReservedAgain,
    /// There were too few seats.
    GameFull,
    /// A key came again with other parameters.
    KeyReused,
    /// A reservation was kept for longer.
    SeatExtended,
    /// A reservation was given back.
    SeatReleased,
    /// A reservation ran out.
    SeatTimedOut,
    /// A session claimed a seat.
    SeatClaimed,
    /// A claim was confirmed.
    SeatConfirmed,
    /// A claim ran out, and the seat was reserved again.
    ClaimTimeout,
    /// A claim came to nothing, and the seat was reserved again.
    ClaimAbandoned,
    /// A seat was shown by another player.
    WrongPlayer,
    /// A seat was used by two.
    SeatTaken,
    /// A seat was used after its end.
    SeatOver,
    /// A claim that is none was confirmed or ended.
    NotClaimed,
    /// A stay was over, and its seat with it.
    SeatLeft,
    /// A host let a player in.
    SeatAccepted,
    /// A host asked again for the same entry.
    AcceptedAgain,
    /// A new process of a host let a player in again.
    Readmitted,
    /// A host said that a player is gone.
    SeatRemoved,
    /// The oldest seat that was over was forgotten.
    SeatForgotten,
    /// A host registered.
    HostRegistered,
    /// A process took over a host from another.
    HostTakenOver,
    /// A word of an earlier process was recognised by its lease.
    StaleLease,
    /// A host was not ready as it should be.
    ReadyRefused,
    /// A host was ready.
    HostReady,
    /// A host came back to its Games.
    HostReturned,
    /// A host came back without one of its Games.
    HostForgot,
    /// A host was told again to prepare a Game.
    CreateRepeated,
    /// A host spoke of a Game that is not its own.
    NotYours,
    /// A host was given a Game.
    GameTaken,
    /// A host was given a Game that it had.
    TakenAgain,
    /// A host could not take a Game.
    TakeRefused,
    /// The connection of a host was gone.
    HostAway,
    /// A host was not well.
    HostWarned,
    /// A host was well again.
    HostWellAgain,
    /// A host was being emptied.
    HostDrained,
    /// A host ended by itself.
    HostEndedItself,
    /// A host ended with its only Game.
    HostSpent,
    /// A host was away for too long.
    HostLost,
    /// A host was not well for too long.
    HostUnhealthy,
    /// A host was empty, and ended.
    HostEmptied,
    /// A host was rebuilt from its scope.
    HostRecovered,
    /// A Game that is over was still in a host's rows after a crash.
    Leftover,
    /// An alias led nowhere.
    TerminalAlias,
    /// A placement began.
    PlacementStarted,
    /// The same placement was asked for again.
    PlacedAgain,
    /// A placement found no host at first.
    PlacementWaited,
    /// A placement was tried again elsewhere.
    PlacementRetried,
    /// A placement that a crash interrupted was driven again.
    PlacementRedriven,
    /// A Game came to run for a placement that had ended.
    PlacedTooLate,
    /// A placement was fulfilled.
    PlacementFulfilled,
    /// A placement ran out of time.
    PlacementTimedOut,
    /// A placement was cancelled.
    PlacementCancelled,
    /// A placement was tried too often.
    PlacementFailed,
    /// A placement that ended long ago was forgotten.
    PlacementForgotten,
    /// A search gathered the few that one comparison leaves.
    SearchGathered,
    /// A search walked along an index.
    SearchWalked,
    /// A search would have cost too much.
    SearchTooBroad,
    /// A subscription began.
    Subscribed,
    /// A subscriber did not read, and was cut off.
    SubscriberCut,
}

#[cfg(feature = "marks")]
pub use count::take;
