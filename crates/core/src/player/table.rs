//! All players of whom something is kept, and the guests among them. A guest's secret proves itself: half of it
//! is drawn, the other half is a code over that under a key of this table. So a guest that never comes back
//! leaves nothing behind, and one that does is known again after any crash. A row is kept of a guest from its
//! first return or second login on, and forgotten when the guest was not seen for long.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound::{Excluded, Unbounded};
use std::time::Duration;

use super::core::{Ban, Kept, PlayerCore, PlayerOutput};
use super::row;
use crate::chance::Chance;
use crate::connection::AskId;
use crate::id::{ConnectionId, OwnerEpoch, PlayerId, Revision};
use crate::scope::Opened;
use crate::secret::{Secret, SecretHash};
use crate::time::WallTime;

/// How precisely it is kept when a guest was seen last: rows are not written more often for that.
const SEEN_EVERY: Duration = Duration::from_secs(24 * 3_600);
/// Rows that are looked at when the wall clock is told, about once a second. A million take less than
/// five hours.
const SWEPT: usize = 64;
/// Hellos that wait for the commit of one player's ban; more are told to come again.
const WAITING_MAX: usize = 4_096;

/// Settings of the table.
#[derive(Clone, Copy, Debug)]
pub(crate) struct GuestLimits {
    /// Guests of whom a row is kept.
    pub most: usize,
    /// A guest that was not seen for so long is forgotten; zero: never.
    pub unseen: Duration,
}

/// The players of a hub.
pub(crate) struct Players {
    cores: BTreeMap<PlayerId, PlayerCore>,
    /// Players whose rows could not be read: they may be banned, and are refused until an operator decides.
    damaged: BTreeSet<PlayerId>,
    /// Guests with a row.
    guests: usize,
    limits: GuestLimits,
    /// Makes and checks the secrets of guests.
    guest_key: [u8; 32],
    /// Where the last sweep ended.
    swept_to: Option<PlayerId>,
    /// Players that may have something to give out.
    unsettled: BTreeSet<PlayerId>,
    /// Players of whom something is on its way to the store.
    under_way: BTreeSet<PlayerId>,
    /// The owner epoch of players of whom nothing was kept before.
    new_owner: OwnerEpoch,
}

impl Players {
    /// A table without players.
    pub(crate) fn new(guest_key: [u8; 32], new_owner: OwnerEpoch, limits: GuestLimits) -> Self {
        Self {
            cores: BTreeMap::new(),
            damaged: BTreeSet::new(),
            guests: 0,
            limits,
            guest_key,
            swept_to: None,
            unsettled: BTreeSet::new(),
            under_way: BTreeSet::new(),
            new_owner,
        }
    }

    /// Takes the players that the store has kept; `damaged`: whose scopes could not be read at all.
    pub(crate) fn load(&mut self, scopes: Vec<(PlayerId, Opened)>, damaged: Vec<PlayerId>) {
        self.damaged.extend(damaged);
        for (id, opened) in scopes {
            let kept = row::read(&opened).unwrap_or_else(|_| {
                self.damaged.insert(id);
                Kept::default()
            });
            self.guests += usize::from(kept.is_guest());
            self.cores.insert(id, PlayerCore::open(id, &opened, kept));
        }
    }

    /// What makes and checks the secrets of guests, to be kept.
    pub(crate) fn guest_key(&self) -> &[u8; 32] {
        &self.guest_key
    }

    /// Whether something is kept of a player.
    pub(crate) fn is_known(&self, id: PlayerId) -> bool {
        self.get(id).is_some() || self.is_damaged(id)
    }

    /// Whether a guest by secret is kept.
    pub(crate) fn is_guest(&self, id: PlayerId) -> bool {
        self.get(id).is_some_and(|core| core.kept().is_guest())
    }

    /// Whether what was kept of a player cannot be read.
    pub(crate) fn is_damaged(&self, id: PlayerId) -> bool {
        self.damaged.contains(&id)
    }

    /// Players whose rows cannot be read.
    pub(crate) fn damaged(&self) -> impl Iterator<Item = PlayerId> {
        self.damaged.iter().copied()
    }

    /// The ban of a player, also one that is over.
    pub(crate) fn ban(&self, id: PlayerId) -> Option<&Ban> {
        self.get(id)?.kept().ban.as_deref()
    }

    /// Whether a player is banned at this time.
    pub(crate) fn is_banned(&self, wall: WallTime, id: PlayerId) -> bool {
        self.ban(id).is_some_and(|ban| wall < ban.until)
    }

    /// What a banned player reads: the reason that the operator gave, if any.
    pub(crate) fn ban_text(&self, id: PlayerId) -> String {
        let reason = self.ban(id).map_or("", |ban| &ban.reason);
        let colon = if reason.is_empty() { "" } else { ": " };
        format!("this player is banned{colon}{reason}")
    }

    /// Banned players with ids above this one, in the order of their ids.
    pub(crate) fn banned_after(&self, id: Option<PlayerId>) -> impl Iterator<Item = PlayerId> {
        let above = self.cores.range((id.map_or(Unbounded, Excluded), Unbounded));
        above.filter(|(_, core)| core.kept().ban.is_some()).map(|(id, _)| *id)
    }

    /// Whether a ban of this player, or the end of one, is on its way to the store.
    pub(crate) fn is_ban_coming(&self, id: PlayerId) -> bool {
        self.cores.get(&id).is_some_and(PlayerCore::is_ban_coming)
    }

    /// Whether one more hello may wait for the ban of this player.
    pub(crate) fn has_room(&self, id: PlayerId) -> bool {
        self.cores.get(&id).is_none_or(|core| core.held() < WAITING_MAX)
    }

    /// Decides about this connection once the ban that is under way is committed.
    pub(crate) fn decide_later(&mut self, id: PlayerId, connection: ConnectionId, ask: AskId) {
        self.change(id, |core| core.decide_later(connection, ask));
    }

    /// Bans a player, or ends a ban.
    pub(crate) fn set_ban(&mut self, id: PlayerId, ban: Option<Ban>, ticket: u64) {
        self.change(id, |core| core.set_ban(ban, ticket));
    }

    /// Forgets what is kept of a guest, but for a ban. False: nothing is kept of it.
    pub(crate) fn forget(&mut self, id: PlayerId, ticket: Option<u64>) -> bool {
        let is_kept = self.get(id).is_some();
        if is_kept {
            self.change(id, |core| core.forget(ticket));
        }
        is_kept
    }

    /// Draws a secret for a guest that is new.
    pub(crate) fn mint_secret(&self, chance: &mut Chance) -> Secret {
        Secret::mint_under(&self.guest_key, chance)
    }

    /// The player of a secret, if it was minted here. Secrets of before there was a key have a row.
    pub(crate) fn guest_of(&self, secret: &Secret) -> Option<PlayerId> {
        let player = PlayerId::of_secret(secret.reveal());
        let kept = self.get(player).and_then(|core| core.kept().secret);
        let is_kept = kept.is_some_and(|kept| kept.matches(&secret.hash()));
        (is_kept || secret.is_minted_under(&self.guest_key)).then_some(player)
    }

    /// Whether no more guests are taken.
    pub(crate) fn is_full_of_guests(&self) -> bool {
        self.guests >= self.limits.most
    }

    /// A guest came back, or logged in again: from now on it is kept. False: there is no room for it.
    pub(crate) fn guest_seen(
        &mut self,
        wall: WallTime,
        id: PlayerId,
        secret: Option<SecretHash>,
    ) -> bool {
        if !self.is_guest(id) && self.is_full_of_guests() {
            return false;
        }
        let seen = self.get(id).and_then(|core| core.kept().seen);
        if seen.is_none_or(|seen| age(seen, wall) >= SEEN_EVERY) {
            self.change(id, |core| core.see(wall, secret));
        }
        true
    }

    /// Looks at the next few guests, round and round, and forgets those who were not seen for long and are not
    /// here.
    pub(crate) fn sweep(&mut self, wall: WallTime, is_here: impl Fn(PlayerId) -> bool) {
        let GuestLimits { unseen, .. } = self.limits;
        if unseen.is_zero() {
            return;
        }
        let above = (self.swept_to.map_or(Unbounded, Excluded), Unbounded);
        let looked_at: Vec<PlayerId> =
            self.cores.range(above).take(SWEPT).map(|(id, _)| *id).collect();
        self.swept_to = looked_at.last().copied().filter(|_| looked_at.len() == SWEPT);
        for id in looked_at.into_iter().filter(|id| self.is_guest(*id)).collect::<Vec<_>>() {
            match self.get(id).and_then(|core| core.kept().seen) {
                Some(seen) if age(seen, wall) < unseen || is_here(id) => {}
                Some(_) => drop(self.forget(id, None)),
                // A row of before it was kept when a guest was seen: its time begins now.
                None => self.change(id, |core| core.see(wall, None)),
            }
        }
    }

    /// The store has this revision of a player.
    pub(crate) fn committed(&mut self, id: PlayerId, revision: Revision) {
        if let Some(core) = self.cores.get_mut(&id) {
            core.committed(revision);
            self.unsettled.insert(id);
        }
    }

    /// How many players have something on its way to the store.
    pub(crate) fn under_way(&self) -> usize {
        self.under_way.len()
    }

    /// The next thing that a player gives out.
    pub(crate) fn next_output(&mut self) -> Option<(PlayerId, PlayerOutput)> {
        while let Some(id) = self.unsettled.first().copied() {
            if let Some(core) = self.cores.get_mut(&id) {
                if let Some(output) = core.next_output(id, self.new_owner) {
                    let is_decided = |output: &PlayerOutput| match output {
                        PlayerOutput::BanKept { .. } | PlayerOutput::Forgotten { .. } => true,
                        PlayerOutput::Commit(_) | PlayerOutput::Decide(..) => false,
                    };
                    if is_decided(&output) {
                        self.damaged.remove(&id);
                    }
                    return Some((id, output));
                }
                if core.is_at_rest() {
                    self.under_way.remove(&id);
                    if core.is_leaving() {
                        self.cores.remove(&id);
                    }
                }
            }
            self.unsettled.remove(&id);
        }
        None
    }

    /// A player of whom something is kept, or will be.
    fn get(&self, id: PlayerId) -> Option<&PlayerCore> {
        self.cores.get(&id).filter(|core| !core.is_leaving())
    }

    fn change(&mut self, id: PlayerId, change: impl FnOnce(&mut PlayerCore)) {
        let core = self.cores.entry(id).or_insert_with(|| PlayerCore::new(id, self.new_owner));
        self.guests -= usize::from(core.kept().is_guest());
        change(core);
        self.guests += usize::from(core.kept().is_guest());
        self.unsettled.insert(id);
        self.under_way.insert(id);
    }
}

fn age(seen: WallTime, wall: WallTime) -> Duration {
    Duration::from_millis(wall.0.saturating_sub(seen.0))
}
