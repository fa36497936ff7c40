//! One player: the secret of a guest, when the guest was here last, and a ban. Whoever waits for a change of these
//! waits in the player's gate. A ban is read as soon as it is ordered, and nobody is let in or refused because of
//! it before it is committed.
//!
//! A player of whom nothing is left to keep loses its scope. What is ordered of it while the deletion is at the
//! store waits for that, and begins a second life of the scope.

use super::row;
use crate::connection::AskId;
use crate::gate::{Gate, Gated};
use crate::id::{ConnectionId, OwnerEpoch, PlayerId, Revision};
use crate::scope::{Batch, Opened, ScopeId};
use crate::secret::SecretHash;
use crate::time::WallTime;

/// What a player gives out.
#[derive(Debug)]
pub(crate) enum PlayerOutput {
    /// The store commits this, and the player is told.
    Commit(Batch),
    /// A ban, or the end of one, is committed; the command of this ticket said so.
    BanKept { ticket: u64 },
    /// No change of a ban is under way any more for which the hello of this connection has waited.
    Decide(ConnectionId, AskId),
    /// Nothing is kept of the player any more, or only a ban.
    Forgotten { ticket: Option<u64> },
}

impl Gated for PlayerOutput {
    fn submit(batch: Batch) -> Self {
        Self::Commit(batch)
    }
}

/// A player that is kept out.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ban {
    /// The end of time for ever.
    pub until: WallTime,
    /// For people, the banned one among them.
    pub reason: String,
}

/// What is kept of a player.
#[derive(Default)]
pub(super) struct Kept {
    /// The hash of a guest's secret, where the secret does not prove itself.
    pub secret: Option<SecretHash>,
    /// When a guest by secret came in last, to about a day; none for others, and in former rows.
    pub seen: Option<WallTime>,
    pub ban: Option<Box<Ban>>,
}

impl Kept {
    /// Whether it is a guest by secret.
    pub(super) fn is_guest(&self) -> bool {
        self.secret.is_some() || self.seen.is_some()
    }

    fn is_empty(&self) -> bool {
        !self.is_guest() && self.ban.is_none()
    }
}

/// One player: what is kept of it, and what waits for the commit of a change.
pub(crate) struct PlayerCore {
    kept: Kept,
    gate: Gate<PlayerOutput>,
    /// None while nothing is under way: there are many players, and most of them rest.
    under_way: Option<Box<UnderWay>>,
}

/// What is under way of one player, beside its row.
#[derive(Default)]
struct UnderWay {
    /// Bans, and ends of bans, that are not committed.
    bans: usize,
    /// What waits until the scope is deleted, and then for what is kept of the player by that time.
    second_life: Option<Vec<PlayerOutput>>,
}

impl PlayerCore {
    /// A player of whom the store keeps nothing.
    pub(super) fn new(id: PlayerId, owner: OwnerEpoch) -> Self {
        Self::open(id, &Opened { owner, ..Opened::default() }, Kept::default())
    }

    /// The player of a scope that was found.
    pub(super) fn open(id: PlayerId, opened: &Opened, kept: Kept) -> Self {
        Self { kept, gate: Gate::opened(ScopeId::Player(id), opened), under_way: None }
    }

    /// What is kept of it from the changes on that were ordered last.
    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Whether a ban, or the end of one, is on its way to the store.
    pub(super) fn is_ban_coming(&self) -> bool {
        self.under_way.as_ref().is_some_and(|under_way| under_way.bans > 0)
    }

    /// Whether it was forgotten, and nothing was ordered of it since.
    pub(super) fn is_leaving(&self) -> bool {
        self.gate.is_closed() && self.second_life().is_none()
    }

    /// Whether nothing is on its way.
    pub(super) fn is_at_rest(&self) -> bool {
        self.gate.is_at_rest() && self.second_life().is_none()
    }

    /// How much waits for the store.
    pub(super) fn held(&self) -> usize {
        self.gate.held() + self.second_life().map_or(0, Vec::len)
    }

    /// A guest was here; its secret is kept as well, where that is shown.
    pub(super) fn see(&mut self, wall: WallTime, secret: Option<SecretHash>) {
        self.kept.seen = Some(wall);
        self.kept.secret = self.kept.secret.or(secret);
        self.changed(None);
    }

    /// Bans it, or ends a ban.
    pub(super) fn set_ban(&mut self, ban: Option<Ban>, ticket: u64) {
        self.kept.ban = ban.map(Box::new);
        self.under_way.get_or_insert_default().bans += 1;
        self.changed(Some(PlayerOutput::BanKept { ticket }));
    }

    /// Forgets the guest. A ban stays.
    pub(super) fn forget(&mut self, ticket: Option<u64>) {
        (self.kept.secret, self.kept.seen) = (None, None);
        self.changed(Some(PlayerOutput::Forgotten { ticket }));
        if self.kept.is_empty() && !self.gate.is_closed() {
            self.gate.close();
        }
    }

    /// Lets a hello wait for the ban that is under way.
    pub(super) fn decide_later(&mut self, connection: ConnectionId, ask: AskId) {
        let decide = PlayerOutput::Decide(connection, ask);
        match self.under_way.as_mut().and_then(|under_way| under_way.second_life.as_mut()) {
            Some(effects) => effects.push(decide),
            None => self.gate.after(decide),
        }
    }

    pub(super) fn committed(&mut self, revision: Revision) {
        self.gate.committed(revision);
    }

    /// The next thing that may leave. `owner`: of a second life.
    pub(super) fn next_output(&mut self, id: PlayerId, owner: OwnerEpoch) -> Option<PlayerOutput> {
        self.gate.end_input();
        if self.gate.is_due() && !self.gate.is_closed() {
            self.gate.submit(vec![row::put(&self.kept)]);
        }
        let mut output = self.gate.next_effect();
        if output.is_none() && self.gate.is_at_rest() {
            output = self.begin_again(id, owner);
        }
        if let (Some(PlayerOutput::BanKept { .. }), Some(under_way)) =
            (&output, &mut self.under_way)
        {
            under_way.bans -= 1;
        }
        if self.is_at_rest() && !self.is_ban_coming() {
            self.under_way = None;
        }
        output
    }

    /// The scope is deleted. What was ordered meanwhile waits for a row of its second life; if nothing is to be
    /// kept after all, for nothing.
    fn begin_again(&mut self, id: PlayerId, owner: OwnerEpoch) -> Option<PlayerOutput> {
        let effects = self.under_way.as_mut()?.second_life.take()?;
        if self.kept.is_empty() {
            effects.into_iter().for_each(|effect| self.gate.at_once(effect));
        } else {
            let kept = std::mem::take(&mut self.kept);
            let anew = Self { kept, ..Self::new(id, owner) };
            *self = Self { under_way: self.under_way.take(), ..anew };
            self.gate.touch();
            effects.into_iter().for_each(|effect| self.gate.after(effect));
            self.gate.end_input();
            self.gate.submit(vec![row::put(&self.kept)]);
        }
        self.gate.next_effect()
    }

    /// Something was ordered of it. What follows waits until that is committed.
    fn changed(&mut self, then: Option<PlayerOutput>) {
        if self.gate.is_closed() {
            let under_way = self.under_way.get_or_insert_default();
            under_way.second_life.get_or_insert_default().extend(then);
        } else {
            self.gate.touch();
            then.into_iter().for_each(|effect| self.gate.after(effect));
        }
    }

    fn second_life(&self) -> Option<&Vec<PlayerOutput>> {
        self.under_way.as_ref()?.second_life.as_ref()
    }
}
