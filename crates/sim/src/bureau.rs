//! The directory beside the hub, in worlds that have one: the machine, the server's own host, and what
//! was asked of both. It lives and dies with the server's process.

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin_core::exchange::ZoneName;
use rejoin_core::id::{GameId, HostId, OwnerEpoch, SeatId, ZoneId};
use rejoin_core::seat::SeatRequest;
use rejoin_core::time::{Time, WallTime};
use rejoin_directory::game::{SeatState, SeatView};
use rejoin_directory::{
    Answer, Command, Directory, DirectoryConfig, DirectoryInput, DirectoryOutput, LocalHost,
    Recovered, Refusal,
};
use rejoin_testkit::parts::rng::Rng;

/// The kind of zone that runs Games here, and the name of their fleet.
pub const KIND: &str = "cells";
/// Where the fleet is.
pub const LOCATION: &str = "here";

/// Why something was asked.
#[derive(Clone, Copy, Debug)]
pub enum Asked {
    /// The hub asks about a seat.
    Seat(SeatRequest),
    /// The server's own host registers.
    Register,
    /// Somebody wants a Game.
    Game,
    /// A player wants a seat.
    Reserve(usize, GameId),
    /// A seat is wanted for a session that lives in the server.
    NativeSeat(u64, GameId),
    /// Nobody waits for the answer.
    Nothing,
}

/// The directory and the server's own host.
pub struct Bureau {
    /// The machine.
    pub directory: Directory,
    /// The host, once it is registered.
    pub local: Option<LocalHost>,
    /// Which host it is, and which process.
    pub lease: (HostId, OwnerEpoch),
    /// What was asked and not answered.
    pub asked: BTreeMap<u64, Asked>,
    /// The last ticket.
    pub tickets: u64,
    /// When it will be woken.
    pub wake: Option<u64>,
    /// When the last message to it arrives.
    pub mail_at: u64,
    /// When the last news of a zone arrives.
    pub news_at: u64,
    /// Commands of the host that the hub has not answered.
    pub errands: BTreeMap<u64, GameId>,
}

/// A ticket that a player has.
#[derive(Clone, Copy, Debug)]
pub struct Ticket {
    /// To which Game.
    pub game: GameId,
    /// Which seat.
    pub seat: SeatId,
}

/// The settings of the directory of a world.
#[must_use]
pub fn config(rng: &mut Rng) -> DirectoryConfig {
    // Claims and reservations that hardly last show what becomes of those that ran out.
    let (shortest_hold, longest_claim) =
        if rng.per_mille(400) { (50, 300) } else { (1_000, 6_000) };
    let mut ms = |from, to| Duration::from_millis(rng.range(from, to));
    DirectoryConfig {
        seat_hold: ms(shortest_hold, shortest_hold * 60),
        claim_limit: ms(20, longest_claim),
        destroy_limit: ms(1_000, 8_000),
        empty_limit: ms(5_000, 60_000),
        health_every: ms(2_000, 10_000),
        ..DirectoryConfig::default()
    }
}

impl Bureau {
    /// The directory as it was kept.
    ///
    /// # Panics
    /// What was kept cannot be read: nothing of it rots here.
    #[must_use]
    pub fn open(
        now: Time,
        wall: WallTime,
        config: DirectoryConfig,
        seed: [u8; 32],
        recovered: Recovered,
    ) -> Self {
        let (directory, damaged) =
            Directory::open(now, wall, config, seed, recovered).expect("it does not rot");
        assert!(damaged.is_empty(), "{damaged:?}");
        let host = HostId::of(KIND, "local");
        Self {
            directory,
            local: None,
            lease: (host, OwnerEpoch(0)),
            asked: BTreeMap::new(),
            tickets: 0,
            wake: None,
            mail_at: 0,
            news_at: 0,
            errands: BTreeMap::new(),
        }
    }

    /// Asks at once, when all is quiet: the answer is there, unless a change is just being committed.
    fn ask_now(&mut self, now: Time, command: Command) -> Option<Result<Answer, Refusal>> {
        self.tickets += 1;
        let asked = self.tickets;
        self.directory.handle(now, DirectoryInput::Command { ticket: asked, command });
        let mut found = None;
        while let Some(output) = self.directory.next_output() {
            if let DirectoryOutput::Answer { ticket, outcome } = output
                && ticket == asked
            {
                found = Some(*outcome);
            }
        }
        found
    }

    /// Whether a Game is over, or never was; none if it is just changing.
    pub fn is_over(&mut self, now: Time, game: GameId) -> Option<bool> {
        Some(match self.ask_now(now, Command::DescribeGame(game))? {
            Ok(Answer::Game(view)) => view.status.is_over(),
            _ => true,
        })
    }

    /// The seats of a Game that are not over; none if it is just changing.
    pub fn live_seats(&mut self, now: Time, game: GameId) -> Option<Vec<SeatView>> {
        Some(match self.ask_now(now, Command::ListSeats(game))? {
            Ok(Answer::Seats(mut seats)) => {
                seats.retain(|seat| !matches!(seat.state, SeatState::Ended { .. }));
                seats
            }
            _ => Vec::new(),
        })
    }
}

/// The zone of a Game.
#[must_use]
pub fn zone_name(game: GameId) -> ZoneName {
    ZoneName::new(KIND, game.to_string())
}

/// The id of that zone.
#[must_use]
pub fn zone_id(game: GameId) -> ZoneId {
    ZoneId::of(KIND, &game.to_string())
}
