//! What a provider is given and what it gives: Games, queries, placements.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::driver::options::Options;

/// Where the server is, where Games shall run, and who asks.
#[derive(Clone, Debug)]
pub struct Configuration {
    pub(super) endpoint: String,
    pub(super) region: String,
    pub(super) credentials: Credentials,
    pub(super) player: Options,
    pub(super) patience: Duration,
}

/// An API key; it is not printed.
#[derive(Clone, Default)]
pub(super) struct Credentials(pub(super) String);

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Credentials(..)")
    }
}

impl Configuration {
    /// A server at `http://host:port` or `https://host:port`, any region, no key, 30 s of patience.
    #[must_use]
    pub fn new(endpoint: impl Into<String>) -> Self {
        Self {
            endpoint: endpoint.into(),
            region: String::new(),
            credentials: Credentials::default(),
            player: Options::new(),
            patience: Duration::from_secs(30),
        }
    }

    /// The location where Games shall run, and where they are looked for.
    #[must_use]
    pub fn region(mut self, region: impl Into<String>) -> Self {
        self.region = region.into();
        self
    }

    /// An API key.
    #[must_use]
    pub fn credentials(mut self, key: impl Into<String>) -> Self {
        self.credentials = Credentials(key.into());
        self
    }

    /// What players are connected with; its roots are believed for requests, too.
    #[must_use]
    pub fn player(mut self, options: Options) -> Self {
        self.player = options;
        self
    }

    /// How long a connection, an answer or an end is waited for.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }
}

/// A Game to be made. What is empty is left to the directory.
#[derive(Clone, Serialize, Debug, Default)]
pub struct NewGame {
    /// In which fleet; of a placement, the queue chooses.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub fleet: String,
    /// The same key is the same Game.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// What people call it.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// How many seats it has.
    pub capacity: u32,
    /// What it can be searched by.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub properties: BTreeMap<String, String>,
    /// Where; the provider's region if it is empty.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub location: String,
}

impl NewGame {
    /// A Game of a fleet with so many seats.
    #[must_use]
    pub fn new(fleet: impl Into<String>, capacity: u32) -> Self {
        Self { fleet: fleet.into(), capacity, ..Self::default() }
    }
}

/// A Game as the directory shows it.
#[derive(Clone, Deserialize, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Game {
    /// The id the directory gave it, 32 hexadecimal digits; requests name the Game by it.
    pub id: String,
    /// Its fleet: for a Game of the server itself, the kind of its zone.
    pub fleet: String,
    /// What people call it.
    pub name: String,
    /// `activating`, `active`, `terminating`, `terminated` or `error`.
    pub status: String,
    /// How it ended.
    pub cause: Option<String>,
    /// How many seats it has.
    pub capacity: u32,
    /// How many of them are free.
    pub free: u32,
    /// What it can be searched by.
    pub properties: BTreeMap<String, String>,
}

/// What to look for.
#[derive(Clone, Debug, Default)]
pub struct Query {
    /// The fleet whose Games are searched; an alias is not resolved here.
    pub fleet: String,
    /// Which; empty: all that can be joined.
    pub filter: String,
    /// In which order; empty: any.
    pub sort: String,
    /// How many at most; none: as many as a page has.
    pub limit: Option<usize>,
    /// The [`Page::cursor`] of the page before; empty for the first page.
    pub cursor: String,
}

/// A page of Games.
#[derive(Clone, Deserialize, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Page {
    /// The Games of this page, in the order that was asked for; empty if nothing was found.
    pub games: Vec<Game>,
    /// What [`Query::cursor`] must be for the next page; none on the last one.
    pub cursor: Option<String>,
}

/// What is asked of a queue.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// The same id is the same placement.
    pub id: String,
    /// The Game; fleet and location are the queue's to choose.
    pub game: NewGame,
    /// Who gets seats in it.
    pub players: Vec<String>,
}

/// A placement that came about.
#[derive(Clone, Deserialize, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct Placed {
    /// The id of the placement, the one that was asked for.
    pub id: String,
    /// The id of its Game.
    pub game: String,
    /// The seats that are reserved in it.
    pub seats: Vec<PlacedSeat>,
}

/// A seat of a placement.
#[derive(Clone, Deserialize, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct PlacedSeat {
    /// Its id, which is the ticket.
    pub id: String,
    /// The player it is reserved for, one of [`Placement::players`].
    pub player: String,
}
