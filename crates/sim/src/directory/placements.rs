//! Placements by brute force: the Games that were made for one, and the party that it was for. The key
//! of such a Game names its queue, its placement and the attempt that made it.

use std::collections::BTreeMap;
use std::sync::Arc;

use rejoin_core::id::{GameId, QueueId};
use rejoin_directory::game::GameView;
use rejoin_directory::queue::{PlacementEnd, PlacementView};
use rejoin_directory::{Answer, Command};

use super::books::Books;
use super::world::{FLEETS, QUEUES, World};

/// The queue, the placement and the attempt that a Game was made for.
fn origin(game: &GameView) -> Option<(&str, &str, u32)> {
    let mut parts = game.spec.key.split('/');
    let (queue, placement) = (parts.next()?, parts.next()?);
    Some((queue, placement, parts.next()?.parse().ok()?))
}

impl Books {
    /// A placement that is fulfilled has the Game of its last attempt, and a seat for each player.
    pub fn check_fulfilled(&mut self, view: &PlacementView, attempts_max: u32) {
        if view.attempts > attempts_max {
            let text = format!("{}: attempt {} of {attempts_max}", view.id, view.attempts);
            return self.fail("placed-once", text);
        }
        let Some(PlacementEnd::Fulfilled { game, seats }) = &view.end else { return };
        let queue = QUEUES.iter().find(|name| QueueId::of(name) == view.queue);
        let key = format!("{}/{}/{}", queue.copied().unwrap_or_default(), view.id, view.attempts);
        if !FLEETS.iter().any(|fleet| GameId::of(fleet, &key) == *game) {
            let text = format!("{game:?} is not the Game of {key}, and fulfils it");
            return self.fail("placed-once", text);
        }
        let book = self.placements.get(&(view.queue, view.id.clone()));
        let party = book.and_then(|book| book.party).and_then(|it| self.parties.get(it));
        let Some(party) = party else { return };
        let seated: Vec<&String> = seats.iter().map(|(player, _)| player).collect();
        if seated != party.players.iter().collect::<Vec<_>>() {
            let text = format!("{}: {:?} asked, {seated:?} have seats", view.id, party.players);
            self.fail("placed-once", text);
        }
    }
}

impl World {
    /// A placement has one Game at a time: the one before is over before the next attempt begins.
    pub(super) fn judge_attempts(&mut self, games: &BTreeMap<GameId, Option<Arc<GameView>>>) {
        let mut live: BTreeMap<(&str, &str), &GameView> = BTreeMap::new();
        for game in games.values().flatten().filter(|game| !game.status.is_over()) {
            let Some((queue, placement, _)) = origin(game) else { continue };
            if let Some(other) = live.insert((queue, placement), game) {
                let text = format!("{placement} has {other:?} and {game:?}");
                return self.books.fail("placed-once", text);
            }
        }
    }

    /// Once all is at rest, no Game is left of an attempt that was given up.
    pub(super) fn check_attempts(&mut self, live: &[GameId]) {
        for game in live {
            let Some(Ok(Answer::Game(view))) = self.ask_own(Command::DescribeGame(*game)) else {
                continue;
            };
            let Some((queue, placement, _)) = origin(&view) else { continue };
            let key = (QueueId::of(queue), placement.to_owned());
            let describe = Command::DescribePlacement {
                queue: queue.to_owned(),
                placement: placement.to_owned(),
            };
            self.ask_own(describe);
            // A placement that is forgotten cannot be judged.
            let end = self.books.placements.get(&key).and_then(|book| book.end.clone());
            match end {
                Some(PlacementEnd::Fulfilled { game: ours, .. }) if ours == *game => {}
                Some(end) if !view.status.is_over() => {
                    let text = format!("{placement} ended as {end:?}, and there is {view:?}");
                    self.books.fail("placed-once", text);
                }
                _ => {}
            }
        }
    }
}
