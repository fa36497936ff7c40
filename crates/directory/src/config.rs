//! The settings of a directory. Every limit that a request can reach has its name here or in
//! [`crate::limits`].

#[cfg(test)]
mod tests;

use std::time::Duration;

/// How a directory runs.
#[derive(Clone, PartialEq, Debug)]
pub struct DirectoryConfig {
    /// How long a seat is kept for a player who has not come yet, where nothing else is asked for.
    pub seat_hold: Duration,
    /// The longest hold that may be asked for, counted from the asking.
    pub seat_hold_max: Duration,
    /// From the claim of a seat to its confirmation; after that it is reserved again.
    pub claim_limit: Duration,
    /// From the choice of a host to its word that the Game runs.
    pub activation_limit: Duration,
    /// How long a host may think about an update.
    pub update_limit: Duration,
    /// What a host is given to end a Game.
    pub destroy_limit: Duration,
    /// A Game that no player has joined ends when it had no taken seat for so long. Zero: never.
    pub empty_limit: Duration,
    /// How long ended Games, with their seats, and ended placements can be looked up.
    pub retention: Duration,
    /// How often a host is asked whether it is well.
    pub health_every: Duration,
    /// No good word for so long ends a host.
    pub health_limit: Duration,
    /// A host that is away for so long has ended.
    pub away_limit: Duration,
    /// Games, ended ones that are still kept included.
    pub games_max: usize,
    /// Hosts of all fleets, those included that are over but still have Games; then `LimitReached`.
    pub hosts_max: usize,
    /// Fleets; one more is refused as `LimitReached`, changing one is not.
    pub fleets_max: usize,
    /// Aliases; one more is refused as `LimitReached`, changing one is not.
    pub aliases_max: usize,
    /// Queues; one more is refused as `LimitReached`, changing one is not.
    pub queues_max: usize,
    /// Placements of one queue that are under way.
    pub placements_max: usize,
    /// Ended placements that a queue remembers; the oldest are forgotten first.
    pub placements_kept_max: usize,
    /// How often a placement is tried before it fails.
    pub attempts_max: u32,
    /// Ended seats that a Game remembers; those reserved first are forgotten first.
    pub seats_kept_max: usize,
    /// Reserved seats that one API key may hold open from one address.
    pub open_seats_max: usize,
    /// Inputs of one scope that may wait for the store; more requests are refused as busy.
    pub uncommitted_max: usize,
    /// Games of one page of a search.
    pub page_max: usize,
    /// Games that one search may look at.
    pub search_work_max: usize,
    /// Subscriptions to Games and to placements together; then `LimitReached`.
    pub subscriptions_max: usize,
    /// Changes that may wait for one subscriber.
    pub news_max: usize,
    /// How long a change may wait for its subscriber.
    pub news_limit: Duration,
}

impl Default for DirectoryConfig {
    fn default() -> Self {
        Self {
            seat_hold: Duration::from_secs(60),
            seat_hold_max: Duration::from_secs(3_600),
            claim_limit: Duration::from_secs(15),
            activation_limit: Duration::from_secs(300),
            update_limit: Duration::from_secs(10),
            destroy_limit: Duration::from_secs(30),
            empty_limit: Duration::from_secs(3_600),
            retention: Duration::from_secs(30 * 24 * 3_600),
            health_every: Duration::from_secs(60),
            health_limit: Duration::from_secs(180),
            away_limit: Duration::from_secs(180),
            games_max: 2_000_000,
            hosts_max: 100_000,
            fleets_max: 1_000,
            aliases_max: 1_000,
            queues_max: 1_000,
            placements_max: 10_000,
            placements_kept_max: 10_000,
            attempts_max: 8,
            seats_kept_max: 1_024,
            open_seats_max: 2_000,
            uncommitted_max: 256,
            page_max: 100,
            search_work_max: 20_000,
            subscriptions_max: 1_000,
            news_max: 1_024,
            news_limit: Duration::from_secs(30),
        }
    }
}
