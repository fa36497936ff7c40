//! What the directory is asked from outside, and what it answers.

use std::sync::Arc;
use std::time::Duration;

use rejoin_core::id::{GameId, HostId, SeatId};

use crate::caller::{Caller, Secret};
use crate::catalogue::{AliasSpec, FleetSpec};
use crate::game::{GameChange, GameSpec, GameView, Guest, Holder, SeatFilter, SeatView};
use crate::host::{HostAddress, HostView, Registration};
use crate::queue::{PlacementRequest, PlacementView, QueueSpec};
use crate::search::{Page, SearchRequest};

/// A fleet, by its name or through an alias.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    /// By its name.
    Fleet(String),
    /// Through an alias.
    Alias(String),
}

/// A question or an order.
#[derive(Clone, PartialEq, Debug)]
pub enum Command {
    /// Makes a fleet, or changes it.
    PutFleet(FleetSpec),
    /// Deletes a fleet that has no hosts and no Games.
    DeleteFleet(String),
    /// Makes an alias, or changes it.
    PutAlias(AliasSpec),
    /// Deletes an alias.
    DeleteAlias(String),
    /// All fleets and aliases.
    ListCatalogue,
    /// Makes a queue, or changes it.
    PutQueue(QueueSpec),
    /// Deletes a queue with nothing under way.
    DeleteQueue(String),
    /// The same for a caller from outside, which pays for what it holds open and gives back what it has
    /// the secret of. What is made for it is answered as [`Answer::Made`], what was there as itself.
    For(Caller, Box<Command>),
    /// Registers a host, or takes it over.
    Register(Registration),
    /// Registers the server itself as a host. No process from outside takes it over, and it is not
    /// drained.
    RegisterOwn {
        /// Which.
        registration: Registration,
        /// The most seats that a Game of it may have.
        capacity_max: u32,
    },
    /// All queues.
    ListQueues,
    /// A host.
    DescribeHost(HostId),
    /// All hosts of a fleet, by id.
    ListHosts {
        /// Whose.
        target: Target,
        /// Those above this id.
        after: Option<HostId>,
        /// At most so many.
        limit: usize,
    },
    /// Takes no new Games to a host, and ends it with its last.
    DrainHost(HostId),
    /// Makes a Game, unless it was asked for before with the same key. An empty key is a new one.
    Create {
        /// Where.
        target: Target,
        /// What; its fleet is the target's.
        spec: GameSpec,
    },
    /// A Game.
    DescribeGame(GameId),
    /// Where the players of a Game find its host.
    FindHost(GameId),
    /// Changes a Game, if its host agrees.
    Update {
        /// Which.
        game: GameId,
        /// How.
        change: GameChange,
    },
    /// Ends a Game, if its host agrees.
    Terminate(GameId),
    /// All Games of a fleet, by id, whatever their state.
    ListGames {
        /// Whose.
        target: Target,
        /// Those above this id.
        after: Option<GameId>,
        /// At most so many.
        limit: usize,
    },
    /// The seats of a Game, in the order of their reservation.
    ListSeats(GameId),
    /// Some of them.
    FindSeats {
        /// Where.
        game: GameId,
        /// Which.
        filter: SeatFilter,
        /// Those with a higher number.
        after: Option<u64>,
        /// At most so many.
        limit: usize,
    },
    /// A seat.
    DescribeSeat {
        /// Where.
        game: GameId,
        /// Which.
        seat: SeatId,
    },
    /// Reserves seats for all of them or for none.
    Reserve {
        /// Where.
        game: GameId,
        /// Who.
        guests: Vec<Guest>,
        /// The same key gives the same seats; empty: none.
        key: String,
        /// For how long; none: as configured.
        hold: Option<Duration>,
    },
    /// Keeps a reservation for this long from now.
    Extend {
        /// Where.
        game: GameId,
        /// Which.
        seat: SeatId,
        /// How long.
        hold: Duration,
    },
    /// Gives a reservation back.
    Release {
        /// Where.
        game: GameId,
        /// Which.
        seat: SeatId,
    },
    /// A session is about to join with this seat.
    Claim {
        /// Where.
        game: GameId,
        /// Which.
        seat: SeatId,
        /// Who shows it.
        player: String,
        /// The stay it is for.
        holder: Holder,
    },
    /// It is in.
    Confirm {
        /// Where.
        game: GameId,
        /// Which.
        seat: SeatId,
        /// The stay that claimed it.
        holder: Holder,
    },
    /// It was not let in.
    Abandon {
        /// Where.
        game: GameId,
        /// Which.
        seat: SeatId,
        /// The stay that claimed it.
        holder: Holder,
    },
    /// Its stay is over, and that is durable.
    Complete {
        /// Where.
        game: GameId,
        /// Which.
        seat: SeatId,
        /// The stay.
        holder: Holder,
    },
    /// Starts a placement, unless it was asked for before.
    Place {
        /// In which queue.
        queue: String,
        /// What.
        request: PlacementRequest,
    },
    /// Cancels a placement.
    CancelPlacement {
        /// In which queue.
        queue: String,
        /// Which.
        placement: String,
    },
    /// A placement.
    DescribePlacement {
        /// In which queue.
        queue: String,
        /// Which.
        placement: String,
    },
    /// Games that can be joined.
    Search(SearchRequest),
    /// All matches now and every change from now on.
    Subscribe {
        /// Whose Games.
        target: Target,
        /// Where; none: anywhere.
        location: Option<String>,
        /// Which; empty: all that can be joined.
        filter: String,
    },
    /// All placements of a queue that are under way, or a single one, and what becomes of them from now
    /// on.
    Watch {
        /// In which queue.
        queue: String,
        /// Which; none: all that are under way.
        placement: Option<String>,
    },
    /// Ends a subscription.
    Unsubscribe(u64),
}

impl Command {
    /// Whether it asks that something more be kept. A driver whose store has no room refuses these;
    /// the others only read, or end something.
    #[must_use]
    pub fn takes_room(&self) -> bool {
        if let Self::For(_, command) = self {
            return command.takes_room();
        }
        matches!(
            self,
            Self::PutFleet(_)
                | Self::PutAlias(_)
                | Self::PutQueue(_)
                | Self::Register(_)
                | Self::RegisterOwn { .. }
                | Self::Create { .. }
                | Self::Update { .. }
                | Self::Reserve { .. }
                | Self::Extend { .. }
                | Self::Claim { .. }
                | Self::Place { .. }
        )
    }
}

/// What came of it.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// It is done.
    Done,
    /// It was made for this caller, and was not there before; with the secret that was drawn for it, if
    /// it can be given back and the caller has not chosen one.
    Made(Box<Answer>, Option<Secret>),
    /// Fleets and aliases.
    Catalogue(Vec<FleetSpec>, Vec<AliasSpec>),
    /// A Game.
    Game(Arc<GameView>),
    /// Games.
    Games(Vec<Arc<GameView>>),
    /// Seats.
    Seats(Vec<SeatView>),
    /// A host.
    Host(Box<HostView>),
    /// Hosts.
    Hosts(Vec<HostView>),
    /// Where players find a host.
    Address(HostAddress),
    /// Queues.
    Queues(Vec<QueueSpec>),
    /// A placement.
    Placement(Box<PlacementView>),
    /// A page of a search.
    Page(Page),
    /// A subscription; give it credit.
    Subscribed(u64),
}
