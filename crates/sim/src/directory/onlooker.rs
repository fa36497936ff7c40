//! Somebody who looks: searches must show no ghosts, and whoever follows the changes of a filter
//! must have what a search would find.

use std::collections::BTreeSet;
use std::sync::Arc;

use rejoin_core::id::GameId;
use rejoin_directory::game::GameView;
use rejoin_directory::search::{News, SearchRequest};
use rejoin_directory::{Answer, Command, DirectoryInput, Refusal, Target};

use super::Event;
use super::world::{FLEETS, Purpose, QUEUES, World};

/// A process may be gone for so long before nobody may see its Games.
const GHOST_US: u64 = 1_000_000;

/// A subscriber.
#[derive(Clone, Debug, Default)]
pub struct Follower {
    /// Its subscription.
    pub id: Option<u64>,
    /// A subscription is under way.
    pub is_waiting: bool,
    /// What it knows to match.
    pub known: BTreeSet<GameId>,
    /// It reads.
    pub is_reading: bool,
    /// Its subscription to placements.
    pub watch: Option<u64>,
    /// One is under way.
    pub is_watch_waiting: bool,
}

impl World {
    /// Looks at what is listed, and reads what is new.
    pub(super) fn look(&mut self) {
        let next = self.rng.range(100_000, 1_500_000);
        self.plan(next, Event::Look);
        if self.directory.is_none() {
            return;
        }
        for fleet in FLEETS {
            let request = SearchRequest {
                target: Target::Fleet((*fleet).to_owned()),
                location: None,
                filter: String::new(),
                sort: String::new(),
                limit: 8,
                cursor: String::new(),
            };
            self.ask(Purpose::Look, Command::Search(request));
        }
        self.look_at_placements();
        match self.follower.id {
            Some(subscription) if self.follower.is_reading || self.is_calm => {
                let count = self.rng.range(1, 40);
                self.post(DirectoryInput::Credit { subscription, count });
            }
            None if !self.follower.is_waiting => {
                self.follower.is_waiting = true;
                self.follower.is_reading = !self.rng.per_mille(200);
                let (target, filter) = (Target::Fleet(FLEETS[0].to_owned()), String::new());
                let command = Command::Subscribe { target, location: None, filter };
                self.ask(Purpose::Subscribe, command);
            }
            _ => {}
        }
    }

    /// Follows the placements of a queue.
    pub(super) fn look_at_placements(&mut self) {
        match self.follower.watch {
            Some(subscription) => {
                let count = self.rng.range(1, 10);
                self.post(DirectoryInput::Credit { subscription, count });
            }
            None if !self.follower.is_watch_waiting => {
                self.follower.is_watch_waiting = true;
                let command = Command::Watch { queue: QUEUES[0].to_owned(), placement: None };
                self.ask(Purpose::Watch, command);
            }
            None => {}
        }
    }

    pub(super) fn watched(&mut self, outcome: Result<Answer, Refusal>) {
        self.follower.is_watch_waiting = false;
        if let Ok(Answer::Subscribed(id)) = outcome {
            self.follower.watch = Some(id);
        }
    }

    /// What a search showed.
    pub(super) fn check_listing(&mut self, games: &[Arc<GameView>]) {
        for game in games {
            let book = self.books.games.get(&game.id);
            if book.is_some_and(|book| book.end.is_some()) {
                self.books.fail("no-ghost", format!("{:?} is over and listed", game.id));
                return;
            }
            let runner = self.processes.iter().find(|process| process.host == game.host);
            let Some(runner) = runner.filter(|it| it.lease.is_none()) else { continue };
            if self.now > runner.gone_at + GHOST_US {
                let text = format!("{:?} is listed, {} is gone", game.id, runner.registration.name);
                self.books.fail("no-ghost", text);
                return;
            }
        }
    }

    pub(super) fn subscribed(&mut self, outcome: Result<Answer, Refusal>) {
        self.follower.is_waiting = false;
        self.follower.known.clear();
        if let Ok(Answer::Subscribed(id)) = outcome {
            self.follower.id = Some(id);
        }
    }

    pub(super) fn hear(&mut self, subscription: u64, news: &News) {
        if self.follower.id != Some(subscription) {
            return self.books.fail("news-true", format!("news of {subscription}"));
        }
        let game = news.game();
        let is_right = match news {
            News::Added(_) => self.follower.known.insert(game),
            News::Changed(_) => self.follower.known.contains(&game),
            News::Removed(_) => self.follower.known.remove(&game),
        };
        if let News::Added(view) | News::Changed(view) = news {
            self.books.game_told(view);
        }
        if !is_right {
            self.books.fail("news-true", format!("{game:?}: {news:?}"));
        }
    }
}
