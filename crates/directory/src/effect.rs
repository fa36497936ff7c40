//! What the parts of the directory give out: commits, answers, orders to hosts, and messages to each
//! other. A message between two scopes leaves only when its cause is durable, and its receiver takes
//! it any number of times: after a crash it is sent again.

use std::sync::Arc;
use std::time::Duration;

use rejoin_core::event::Event;
use rejoin_core::gate::Gated;
use rejoin_core::id::{GameId, HostId, OwnerEpoch, QueueId, SeatId};
use rejoin_core::scope::{Batch, ScopeId};

use crate::caller::{Lock, Payer};
use crate::command::Answer;
use crate::game::{EndCause, GameSpec, GameView, Guest, Origin, SeatView, Standing};
use crate::host::{HostOrder, HostView};
use crate::planted::{Bug, is_armed};
use crate::print::Print;
use crate::queue::{PlacementView, QueueSpec};
use crate::refusal::Refusal;

/// Something a part wants done.
#[derive(Debug)]
pub(crate) enum Effect {
    Commit(Batch),
    Answer {
        ticket: u64,
        outcome: Box<Result<Answer, Refusal>>,
    },
    ToGame(GameId, ToGame),
    ToHost(HostId, ToHost),
    ToQueue(QueueId, ToQueue),
    /// To the host's process, if it still speaks for the host.
    Order(HostId, OwnerEpoch, HostOrder),
    /// A Game's committed state.
    Seen(Arc<GameView>),
    /// A host's committed state.
    HostSeen(Box<HostView>),
    /// Whether a host runs this Game, as it is committed.
    HostGame(HostId, GameId, bool),
    /// A queue's committed settings.
    QueueSeen(QueueId, Box<QueueSpec>),
    /// A placement's committed state.
    PlacementSeen(Arc<PlacementView>),
    /// A new watch of these placements of a queue.
    Watched {
        ticket: u64,
        queue: QueueId,
        placement: Option<String>,
        views: Vec<Arc<PlacementView>>,
        payer: Option<Payer>,
    },
    /// A Game's host does not stand well: no listing shows the Game any more, at once.
    Hidden(GameId),
    /// A seat begins (true) or ceases (false) to count as an open seat of this payer.
    Open(Payer, bool),
    /// A placement wants a host.
    Seek(QueueId, String),
    /// A Game for a placement.
    Create(Box<NewGame>),
    /// This host may have room that it had not.
    Stirred(HostId),
    /// The scope is deleted, and with it the part.
    Gone(ScopeId),
    Event(Event),
}

impl Gated for Effect {
    fn submit(batch: Batch) -> Self {
        Self::Commit(batch)
    }

    fn leaves_early() -> bool {
        is_armed(Bug::ToldBeforeDurable)
    }
}

/// A Game that is to be.
#[derive(Clone, Debug)]
pub(crate) struct NewGame {
    pub id: GameId,
    pub spec: GameSpec,
    pub print: Print,
    pub host: HostId,
    pub origin: Option<Origin>,
    /// Seats to reserve as soon as it runs.
    pub party: Vec<(SeatId, Guest)>,
    /// The lock on them.
    pub lock: Lock,
}

/// A message to a Game, from its host or its placement.
#[derive(Clone, Debug)]
pub(crate) enum ToGame {
    /// Its host runs it, or would not.
    Began(HostId, Result<(), String>),
    /// Its host cannot take it.
    Refused(HostId),
    /// Its host's word on an update.
    Updated(HostId, Result<(), String>),
    /// Its host will not end it.
    Kept(HostId),
    /// Its host has ended it.
    Destroyed(HostId),
    /// A match that closes it runs, or none does.
    Match(HostId, bool),
    /// Its host is gone, or came back without it.
    Lost(HostId, EndCause),
    /// How its host stands; a word with a lower number is older.
    Stands(HostId, u64, Standing),
    /// Its host is being emptied.
    Drain(HostId),
    /// Its placement knows of it.
    Acknowledged { attempt: u32 },
    /// Its placement does not want it any more.
    Unwanted { attempt: u32 },
}

/// A message from a Game to its host's part.
#[derive(Clone, Debug)]
pub(crate) enum ToHost {
    /// Run this. Again: it was asked before a restart, and the host may still be away.
    Take { game: Arc<GameView>, again: bool },
    /// The Game is active.
    Activated(GameId),
    /// May the Game change so?
    Update(GameId, Arc<GameSpec>),
    /// It has changed.
    UpdateEnd(GameId),
    /// End the Game within this time.
    Destroy { game: GameId, limit: Duration, may_refuse: bool },
    /// The Game is over.
    Release(GameId),
}

/// A message from a Game to the queue of its placement.
#[derive(Clone, Debug)]
pub(crate) enum ToQueue {
    /// The Game runs, and the seats are reserved.
    Placed { placement: String, attempt: u32, game: GameId, seats: Vec<SeatView> },
    /// The Game ended before it ran.
    Failed { placement: String, attempt: u32, game: GameId, cause: EndCause },
}
