//! Guests by a secret that the server minted. A secret proves itself: half of it is drawn, the other
//! half is a code over that under the hub's own key. So a guest that never comes back leaves nothing
//! behind, and one that does is known again after any crash. A row is kept of a guest from its first
//! return or second login on, and forgotten when it was not seen for long.

use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use super::Hub;
use super::player_gate::AfterPlayer;
use crate::chance::Chance;
use crate::id::{ConnectionId, PlayerId};
use crate::secret::{Secret, SecretHash};
use crate::time::{Time, WallTime};

/// How precisely it is kept when a guest was seen last: rows are not written more often for that.
const SEEN_EVERY: Duration = Duration::from_secs(24 * 3_600);
/// Rows that are looked at when the wall clock is told, about once a second. A million take less than
/// five hours.
const SWEPT: usize = 64;

/// What the hub knows of all guests.
pub(crate) struct Guests {
    /// Makes and checks secrets. Kept in the hub's row.
    key: [u8; 32],
    /// Guests with a row.
    count: usize,
    /// Where the last sweep ended.
    swept_to: Option<PlayerId>,
}

impl Guests {
    /// With the key of before, or a new one.
    pub(crate) fn new(key: &[u8], chance: &mut Chance) -> Self {
        let key = key.try_into().unwrap_or_else(|_| chance.bytes());
        Self { key, count: 0, swept_to: None }
    }

    pub(crate) fn key(&self) -> &[u8; 32] {
        &self.key
    }

    /// A player became a guest with a row, or is none any more.
    pub(crate) fn count(&mut self, was_guest: bool, is_guest: bool) {
        self.count = self.count + usize::from(is_guest) - usize::from(was_guest);
    }
}

impl Hub {
    pub(crate) fn mint_secret(&mut self) -> Secret {
        Secret::mint_under(&self.guests.key, &mut self.chance)
    }

    /// The player of a secret, if the hub minted it. Secrets of before it had a key have a row.
    pub(crate) fn guest_of(&self, secret: &Secret) -> Option<PlayerId> {
        let player = PlayerId::of_secret(secret.reveal());
        let kept = self.players.get(&player).and_then(|known| known.secret);
        let is_kept = kept.is_some_and(|kept| kept.matches(&secret.hash()));
        (is_kept || secret.is_minted_under(&self.guests.key)).then_some(player)
    }

    /// Whether no more guests are taken.
    pub(crate) fn is_full_of_guests(&self) -> bool {
        self.guests.count >= self.config.guests_max
    }

    /// A guest came back, or logged in again: from now on it is kept. False: there is no room for it.
    pub(crate) fn guest_seen(
        &mut self,
        now: Time,
        player: PlayerId,
        secret: Option<SecretHash>,
    ) -> bool {
        let wall = self.wall(now);
        let known = self.players.get(&player);
        let is_guest = known.is_some_and(super::Player::is_guest);
        if !is_guest && self.is_full_of_guests() {
            return false;
        }
        let seen = known.and_then(|known| known.seen);
        if seen.is_none_or(|seen| age(seen, wall) >= SEEN_EVERY) {
            let known = self.players.entry(player).or_default();
            known.seen = Some(wall);
            known.secret = known.secret.or(secret);
            self.commit_player(player, None);
        }
        true
    }

    /// How long an address must wait before another secret is minted for it; nothing: it was.
    pub(crate) fn mint_ration(&mut self, id: ConnectionId) -> Option<Duration> {
        let quota = self.config.guard.address_mints;
        let origin = self.connections.get(&id)?.origin?;
        self.spend_quota(origin, quota, |conduct| &mut conduct.mints)
    }

    /// Looks at the next few guests, round and round, and forgets those who were not seen for long.
    pub(crate) fn sweep_guests(&mut self, now: Time) {
        let most = self.config.guests_unseen;
        if most.is_zero() || self.players_only || !self.is_ready() {
            return;
        }
        let wall = self.wall(now);
        let above = (self.guests.swept_to.map_or(Unbounded, Excluded), Unbounded);
        let looked_at: Vec<PlayerId> =
            self.players.range(above).take(SWEPT).map(|(player, _)| *player).collect();
        self.guests.swept_to = looked_at.last().copied().filter(|_| looked_at.len() == SWEPT);
        for player in looked_at {
            let is_here = !self.sessions_of(player).is_empty();
            let Some(known) = self.players.get_mut(&player).filter(|known| known.is_guest()) else {
                continue;
            };
            match known.seen {
                Some(seen) if age(seen, wall) < most || is_here => {}
                Some(_) => {
                    (known.secret, known.seen) = (None, None);
                    self.commit_player(player, Some(AfterPlayer::Forgotten { ticket: None }));
                }
                // A row of before it was kept when a guest was seen: its time begins now.
                None => {
                    known.seen = Some(wall);
                    self.commit_player(player, None);
                }
            }
        }
    }
}

fn age(seen: WallTime, wall: WallTime) -> Duration {
    Duration::from_millis(wall.0.saturating_sub(seen.0))
}
