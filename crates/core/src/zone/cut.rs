//! Cuts: what a zone commits and how it starts from that. A cut holds the state, the applied
//! numbers, what was said and who is here, all from the same steps, so nothing that was released is
//! ever undone. There is no replay of inputs: what came after the last cut comes again, because it
//! was not acknowledged.

use std::panic::{AssertUnwindSafe, catch_unwind};

use bytes::Bytes;
use rejoin_wire::v1::PartCause;

use super::core::ZoneCore;
use super::describe::{describe_room, encode_rows};
use super::output::{Delivery, ZoneOutput};
use super::restore::restore_room;
use super::row::{self, Cut};
use super::{Saved, State, Zone};
use crate::event::Event;
use crate::exchange::ToHub;
use crate::id::{Revision, SessionId};
use crate::mark::{Mark, hit};
use crate::scope::Change;
use crate::time::Time;

/// When to cut and what the last one held.
#[derive(Debug, Default)]
pub(crate) struct Saver {
    cuts: u32,
    /// Bytes of the last whole cut, and of those since.
    whole_bytes: usize,
    bytes_since: usize,
    snapshot: Option<blake3::Hash>,
    pub next_save: Option<Time>,
    /// The next cut deletes the scope.
    deleting: bool,
}

/// What the game gave to be saved, with its hash; or that it panicked.
type SaveOutcome = Result<Option<(Bytes, blake3::Hash)>, Panicked>;

/// The game panicked while it was saved.
struct Panicked;

/// What a cut counts for at least: rows take room of their own, and are read one by one at a start.
const CUT_BYTES_MIN: usize = 256;

/// Cuts that are smaller than this together are not worth a whole one.
const COMPACTION_BYTES_MIN: usize = 64 << 10;

impl Saver {
    /// Whether everything is to be written afresh: at first, and when the cuts since the last time have
    /// become as large as what there is. So whatever is said, at most about twice its bytes are written;
    /// after `cuts_min` cuts a small zone does not wait for more.
    fn is_compaction_due(&self, cuts_min: u32) -> bool {
        let least = if self.cuts >= cuts_min { 0 } else { COMPACTION_BYTES_MIN };
        self.cuts == 0 || self.bytes_since > self.whole_bytes.max(least)
    }

    fn count(&mut self, changes: &[Change], is_base: bool) {
        let bytes: usize = changes.iter().map(Change::bytes).sum();
        if is_base {
            (self.cuts, self.whole_bytes, self.bytes_since) = (1, bytes, 0);
        } else {
            self.cuts = self.cuts.saturating_add(1);
            self.bytes_since += bytes.max(CUT_BYTES_MIN);
        }
    }
}

impl<Z: Zone> ZoneCore<Z> {
    pub(crate) fn committed(&mut self, revision: Revision) {
        self.out.committed(revision);
    }

    /// The last member is forgotten and the zone is ending: its scope goes.
    pub(crate) fn finish_ending(&mut self) {
        if self.room.ending && self.room.members.is_empty() && !self.saver.deleting {
            self.saver.deleting = true;
            self.room.dirty.any = true;
        }
    }

    /// Deletes the scope, and says that the zone has ended behind that: a zone of this name that is opened then must
    /// find nothing, also where what the zone lets others see waits for no commit.
    fn delete(&mut self) {
        self.room.dirty.clear(self.room.stream.last);
        if !self.out.is_closed() {
            self.out.close();
            self.out.push(ZoneOutput::ToHub(ToHub::Ended));
            self.out.push(ZoneOutput::Event(Event::ZoneEnded { zone: self.room.id }));
            self.out.end_step(false);
        }
    }

    pub(crate) fn cut_if_due(&mut self, now: Time) {
        if !self.can_cut() {
            return;
        }
        let config = &self.room.config;
        if !config.durability.is_gated() && !self.saver.deleting {
            let due = *self.saver.next_save.get_or_insert(now.after(config.save_every));
            if now < due {
                return;
            }
            self.saver.next_save = None;
        }
        // Only the game knows whether a tick changed it; what it says is then cut as it is.
        let saved = (!self.room.dirty.any).then(|| self.save());
        if let Some(Ok(saved)) = &saved
            && saved.as_ref().map(|(_, hash)| *hash) == self.saver.snapshot
        {
            self.room.dirty.maybe = false;
            return;
        }
        self.cut(now, saved);
    }

    /// When a cut is due that nothing but time makes due. While there is nothing to cut, or no more
    /// may be on its way, an input comes first: waking would do nothing.
    pub(crate) fn next_cut(&self) -> Option<Time> {
        let is_gated = self.room.config.durability.is_gated();
        self.saver.next_save.filter(|_| self.can_cut() && !is_gated)
    }

    /// Whether something may have changed, and one more cut may be on its way.
    fn can_cut(&self) -> bool {
        let dirty = self.room.dirty.any || self.room.dirty.maybe;
        dirty && !self.out.is_under_way()
    }

    /// The game's state and its hash.
    fn save(&self) -> SaveOutcome {
        let saved = catch_unwind(AssertUnwindSafe(|| self.game.save())).map_err(|_| Panicked)?;
        Ok(saved.map(|snapshot| {
            let hash = blake3::hash(&snapshot);
            (snapshot, hash)
        }))
    }

    fn cut(&mut self, now: Time, saved: Option<SaveOutcome>) {
        self.acknowledge_cut();
        if self.saver.deleting {
            return self.delete();
        }
        self.out.end_step(true);
        // A zone that cuts itself now and then writes all of itself: parts would only pile up.
        let is_base = !self.room.config.durability.is_gated()
            || self.saver.is_compaction_due(self.room.config.cuts_per_compaction);
        // A game that cannot be saved has faulted, and nothing more of this incarnation leaves.
        if let Some(cut) = self.describe(now, is_base, saved) {
            let (_, revision) = self.out.standing();
            self.room.dirty.members.sort();
            let mut encoder = row::Encoder::new(&cut);
            encode_rows(now, &self.room, is_base, &mut encoder);
            let changes = encoder.into_changes(revision.next().0, is_base);
            self.saver.count(&changes, is_base);
            self.room.dirty.clear(self.room.stream.last);
            self.out.submit(changes);
        }
    }

    /// What changed, or everything; none when the game could not be saved.
    fn describe(&mut self, now: Time, is_base: bool, saved: Option<SaveOutcome>) -> Option<Cut> {
        if is_base {
            hit(Mark::Compacted);
            self.room.trim();
        }
        let mut cut = describe_room(now, &self.room, is_base);
        cut.game_version = Z::VERSION;
        if Z::STATE == State::Cells && !is_base || self.closed {
            return Some(cut);
        }
        let Ok(saved) = saved.unwrap_or_else(|| self.save()) else {
            self.fault(None, "save panicked".to_owned());
            return None;
        };
        if let Some((snapshot, hash)) = saved {
            if Z::STATE == State::Cells {
                cut.cells_cleared = true;
                cut.cells.clear();
                self.room.cells.clear();
                cut.snapshot = Some(snapshot);
            } else if is_base || Some(hash) != self.saver.snapshot {
                cut.snapshot = Some(snapshot);
            }
            self.saver.snapshot = Some(hash);
        }
        Some(cut)
    }

    /// Starts from what was saved; nothing, for a new zone.
    pub(crate) fn recover(
        &mut self,
        now: Time,
        saved: Option<Cut>,
        poisoned: Option<(SessionId, u64)>,
    ) {
        if let Some(cut) = saved {
            hit(Mark::ZoneRecovered);
            // A zone that is ending has parted all its members, and only their departures are left to
            // be confirmed. Its game is not called again: if it was closed for its faults, the cuts
            // since then are without the game's state.
            self.closed |= cut.ending;
            let version = cut.game_version;
            let game = Saved {
                snapshot: cut.snapshot.clone(),
                cells: cut
                    .cells
                    .iter()
                    .filter_map(|c| Some((c.key.clone(), c.value.clone()?)))
                    .collect(),
            };
            if !self.closed {
                let restored = catch_unwind(AssertUnwindSafe(|| self.game.restore(version, game)));
                match restored {
                    Ok(Ok(())) => {}
                    Ok(Err(refused)) => return self.refuse_to_open(refused.0),
                    Err(_) => return self.refuse_to_open("restore panicked".to_owned()),
                }
            }
            restore_room(now, &mut self.room, cut);
        } else if self.room.seated {
            // A Game's zone is there before anybody hears of it.
            self.room.dirty.any = true;
        }
        if let Some((session, number)) = poisoned
            && let Some(member) = self.room.active_mut(session)
        {
            member.inbound.poison(number);
            self.room.dirty.any = true;
        }
        self.announce(now);
    }

    fn announce(&mut self, now: Time) {
        let members = self.room.members.iter().map(|(id, m)| (*id, m.stay())).collect();
        let match_running = self.room.match_running();
        self.out.push(ZoneOutput::ToHub(ToHub::Opened { members, match_running }));
        let leaving: Vec<SessionId> =
            self.room.members.iter().filter(|(_, m)| !m.is_active()).map(|(id, _)| *id).collect();
        for session in leaving {
            hit(Mark::DepartRedriven);
            self.tell_departed(session);
        }
        let natives = self.room.members.iter().filter(|(_, m)| m.native && m.is_active());
        let natives: Vec<SessionId> = natives.map(|(id, _)| *id).collect();
        for session in natives {
            self.tell_native(session, Delivery::Rebuilt);
        }
        let awaited = self.room.members.iter().filter(|(_, m)| !m.calls.is_empty());
        let awaited: Vec<SessionId> = awaited.map(|(id, _)| *id).collect();
        for session in awaited {
            self.tell_awaiting(session);
        }
        for (job, (_, request)) in &self.room.jobs {
            self.out.push(ZoneOutput::StartJob { job: *job, request: request.clone() });
        }
        if self.closed && !self.room.ending {
            hit(Mark::ZoneClosed);
            self.end_zone(now, PartCause::ZoneFault);
        }
    }
}
