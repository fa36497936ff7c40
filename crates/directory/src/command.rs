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
    /// Registers the server itself as a host. While it is there, `Register` of the same fleet and name is
    /// refused, and so is `DrainHost`.
    RegisterOwn {
        /// Built by the server, with the name of the zone kind as fleet; checked as for `Register`.
        registration: Registration,
        /// The most seats that a Game of it may have.
        capacity_max: u32,
    },
    /// All queues with their committed settings, in one answer without pages.
    ListQueues,
    /// Looks up a host; the last 1,000 that have ended are found until the server restarts.
    DescribeHost(HostId),
    /// All hosts of a fleet, by id.
    ListHosts {
        /// Fleet whose hosts are listed, by name or through an alias.
        target: Target,
        /// Exclusive lower bound, the last id of the page before; none for the first page.
        after: Option<HostId>,
        /// Page size, 1 to `page_max`; anything else is refused as invalid.
        limit: usize,
    },
    /// Takes no new Games to a host, and ends it with its last.
    DrainHost(HostId),
    /// Makes a Game, unless it was asked for before with the same key. An empty key is a new one.
    Create {
        /// Fleet that is to run the Game; an unknown one and a terminal alias are refused.
        target: Target,
        /// Settings of the Game; `fleet` is replaced by the target's, `location` by that of the chosen host.
        spec: GameSpec,
    },
    /// Looks up a Game in any state; one that has ended is found until `retention` has passed.
    DescribeGame(GameId),
    /// Where the players of a Game find its host.
    FindHost(GameId),
    /// Changes a Game, if its host agrees.
    Update {
        /// Must be active and its host connected; until the host has answered, another update is `Busy`.
        game: GameId,
        /// Fields to change; refused if the result is invalid or has fewer seats than are taken.
        change: GameChange,
    },
    /// Ends a Game, if its host agrees.
    Terminate(GameId),
    /// All Games of a fleet, by id, whatever their state.
    ListGames {
        /// Fleet whose Games are listed, by name or through an alias.
        target: Target,
        /// Exclusive lower bound, the last id of the page before; none for the first page.
        after: Option<GameId>,
        /// Page size, 1 to `page_max`; anything else is refused as invalid.
        limit: usize,
    },
    /// The seats of a Game, in the order of their reservation.
    ListSeats(GameId),
    /// One page of the seats that match a filter, in the order of their reservation.
    FindSeats {
        /// Game whose seats are looked through, in any state.
        game: GameId,
        /// Player and state to look for; an empty filter matches every seat.
        filter: SeatFilter,
        /// Exclusive lower bound, the `number` of the last seat shown; none for the first page.
        after: Option<u64>,
        /// Page size, 1 to 1,000; anything else is refused as invalid.
        limit: usize,
    },
    /// Looks up one seat, answered as a list of one; an ended seat is found until it is forgotten.
    DescribeSeat {
        /// Game of the seat: a seat is looked up within one Game, never by its id alone.
        game: GameId,
        /// Id from the reservation; an unknown or forgotten one is `NotFound`.
        seat: SeatId,
    },
    /// Reserves seats for all of them or for none.
    Reserve {
        /// Must be active and accept players, and its host be healthy; a repeated `key` is answered anyway.
        game: GameId,
        /// Party of 1 to 25 players, each named once.
        guests: Vec<Guest>,
        /// The same key gives the same seats; empty: none.
        key: String,
        /// How long the seats are held, up to `seat_hold_max`; none: `seat_hold`.
        hold: Option<Duration>,
    },
    /// Keeps a reservation for this long from now.
    Extend {
        /// Must be active: seats of a Game that is ending cannot be extended.
        game: GameId,
        /// Must be reserved or claimed; in use it is `SeatTaken`, once over `SeatEnded`.
        seat: SeatId,
        /// Counted from now, at most `seat_hold_max`; never makes the present hold shorter.
        hold: Duration,
    },
    /// Gives a reservation back.
    Release {
        /// Game of the seat, in any state; once it has ended, the answer is `SeatEnded`.
        game: GameId,
        /// Must be reserved, or released already; a caller with a payer has to show its secret.
        seat: SeatId,
    },
    /// A session is about to join with this seat.
    Claim {
        /// Must be active; its host may be away, because only a new reservation needs the host.
        game: GameId,
        /// Must be reserved for `player`; claimed or used by `holder` already, nothing changes.
        seat: SeatId,
        /// Player who shows the seat; if it was reserved for another, the claim is `WrongPlayer`.
        player: String,
        /// Stay that claims the seat; only this stay may confirm or abandon the claim.
        holder: Holder,
    },
    /// The session that claimed the seat has joined: the seat becomes active.
    Confirm {
        /// Game that the session has joined; if it has ended meanwhile, the answer is `SeatEnded`.
        game: GameId,
        /// Must be claimed by `holder`: after `claim_limit` it is reserved again, and this is `NotClaimed`.
        seat: SeatId,
        /// The stay that claimed it.
        holder: Holder,
    },
    /// The session that claimed the seat was not let in: the seat is reserved again.
    Abandon {
        /// Game that the session was to join; if it has ended meanwhile, the answer is `SeatEnded`.
        game: GameId,
        /// Claimed by `holder`; if the claim has run out already, nothing changes.
        seat: SeatId,
        /// The stay that claimed it.
        holder: Holder,
    },
    /// Its stay is over, and that is durable.
    Complete {
        /// Game that the stay was in; if it has ended, so has the seat, and nothing changes.
        game: GameId,
        /// Used or still claimed by `holder`, and ended by this; one that is over stays as it is.
        seat: SeatId,
        /// Stay that is over; a seat that another stay uses or claims is `NotClaimed`.
        holder: Holder,
    },
    /// Starts a placement, unless it was asked for before.
    Place {
        /// Name of the queue; an unknown one is refused.
        queue: String,
        /// Settings, party and latencies; a known `id` with other parameters is `KeyReused`.
        request: PlacementRequest,
    },
    /// Cancels a placement.
    CancelPlacement {
        /// Name of the queue that the placement is in.
        queue: String,
        /// Id from its request; cancelled already, nothing changes, and any other end is `PlacementEnded`.
        placement: String,
    },
    /// Looks up a placement; one that has ended is found until its queue forgets it.
    DescribePlacement {
        /// Name of the queue that the placement is in.
        queue: String,
        /// Id from its request; unknown ids and forgotten ones are `NotFound`.
        placement: String,
    },
    /// One page of the Games that match: active, visible ones whose host is there and well.
    Search(SearchRequest),
    /// All matches now and every change from now on.
    Subscribe {
        /// Fleet whose Games are followed; the subscription is cut when the fleet is deleted.
        target: Target,
        /// Exact name of a location; none: Games of every location.
        location: Option<String>,
        /// Filter expression; empty: every listed Game, full ones included.
        filter: String,
    },
    /// Placements of a queue that are under way, or a single one, with every later change of them.
    Watch {
        /// Name of the queue; the subscription is cut when the queue is deleted.
        queue: String,
        /// Id of a single one, which may have ended; none: all under way and all that are started later.
        placement: Option<String>,
    },
    /// Ends a subscription to Games or placements; an unknown number is `NotFound`.
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

/// The answer to a command that was not refused.
#[derive(Clone, PartialEq, Debug)]
pub enum Answer {
    /// It is done.
    Done,
    /// It was made for this caller, and was not there before; with the secret that was drawn for it, if
    /// it can be given back and the caller has not chosen one.
    Made(Box<Answer>, Option<Secret>),
    /// Fleets and aliases.
    Catalogue(Vec<FleetSpec>, Vec<AliasSpec>),
    /// Answers `Create`, `DescribeGame`, `Update` and `Terminate`: the Game as it is after the command.
    Game(Arc<GameView>),
    /// A page of `ListGames`, by id; shorter than the limit only at the end of the list.
    Games(Vec<Arc<GameView>>),
    /// Seats that were reserved, changed or looked up; those of a party in the order of its players.
    Seats(Vec<SeatView>),
    /// Answers `Register`, with the new lease, and `DescribeHost`.
    Host(Box<HostView>),
    /// A page of `ListHosts`, by id; shorter than the limit only at the end of the list.
    Hosts(Vec<HostView>),
    /// Where players find a host.
    Address(HostAddress),
    /// Answers `ListQueues`: the committed settings, in the order of queue ids.
    Queues(Vec<QueueSpec>),
    /// Answers `Place`, `CancelPlacement` and `DescribePlacement`: the placement after the command.
    Placement(Box<PlacementView>),
    /// Answers `Search`, once the last step of the search is done.
    Page(Page),
    /// Number of a new subscription; no change is passed on before it has credit.
    Subscribed(u64),
}
