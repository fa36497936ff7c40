//! What a zone must hold, as the game itself counts it: owners, timers, jobs, match data and latest
//! values. Saved with the game's state in the same commit, so it must agree with what the zone kept
//! after any crash. Compares; never repairs.

use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use rejoin_core::id::{PlayerId, SessionId};
use rejoin_core::zone::OnPart;

use super::Ctx;
use crate::check::Violation;

/// A timer or a job that is this much of the zone's age overdue is lost: no zone is kept from
/// running for so long while its age counts.
const OVERDUE: Duration = Duration::from_secs(30);

/// The game's own account of its zone.
#[derive(Clone, Debug, Default)]
pub(super) struct Expected {
    /// Members in the order in which they joined.
    members: Vec<(SessionId, PlayerId)>,
    /// The owner of each object, and what the owner's part does to it.
    pub(super) owners: BTreeMap<u64, (PlayerId, OnPart)>,
    /// Timers by key, with the age of the zone at which each is due.
    timers: BTreeMap<u64, Duration>,
    /// Jobs under way by argument: how many, and the age at which the last one was started.
    jobs: BTreeMap<u64, (u64, Duration)>,
    /// Match data as it was set.
    pub(super) match_data: BTreeMap<SessionId, u64>,
    /// Whether a match runs.
    pub(super) match_running: bool,
    /// The version of each latest value that was set and not cleared. Some may have been refused for
    /// want of room.
    pub(super) latest: BTreeMap<u64, u64>,
}

impl Expected {
    pub(super) fn joined(&mut self, who: SessionId, player: Option<PlayerId>) {
        self.members.extend(player.map(|player| (who, player)));
    }

    /// A member leaves: its player's objects stay, go to the member who is there longest, or go.
    pub(super) fn parted(&mut self, who: SessionId) {
        self.match_data.remove(&who);
        let Some(at) = self.members.iter().position(|(session, _)| *session == who) else { return };
        let (_, leaver) = self.members.remove(at);
        let heir = self.members.first().map(|(_, player)| *player);
        self.owners.retain(|_, (owner, on_part)| *owner != leaver || *on_part != OnPart::Destroy);
        for (owner, on_part) in self.owners.values_mut() {
            if let (true, OnPart::HandOver, Some(heir)) = (*owner == leaver, *on_part, heir) {
                *owner = heir;
            }
        }
    }

    pub(super) fn set_timer(&mut self, key: u64, due: Duration) {
        self.timers.insert(key, due);
    }

    /// A timer rings. Tells what is wrong with that.
    pub(super) fn timer_due(&mut self, key: u64, age: Duration) -> Result<(), String> {
        match self.timers.remove(&key) {
            None => Err(format!("timer {key} rang, and none was set")),
            Some(due) if age < due => {
                Err(format!("timer {key} rang at the age of {age:?}, it was due at {due:?}"))
            }
            Some(_) => Ok(()),
        }
    }

    pub(super) fn start_job(&mut self, arg: u64, age: Duration) {
        let (count, started) = self.jobs.entry(arg).or_default();
        (*count, *started) = (*count + 1, age);
    }

    /// The result of a job has come. False when none was awaited.
    pub(super) fn job_done(&mut self, arg: u64) -> bool {
        let Some((count, _)) = self.jobs.get_mut(&arg) else { return false };
        *count -= 1;
        if *count == 0 {
            self.jobs.remove(&arg);
        }
        true
    }

    /// What the zone has otherwise than it should.
    pub(super) fn compare(&self, ctx: &Ctx<'_>) -> Vec<Violation> {
        let mut found = Vec::new();
        if ctx.members().next().is_none() {
            // A zone that was closed for its faults parts its members without asking the game.
            return found;
        }
        let kept: BTreeMap<u64, PlayerId> =
            ctx.objects().map(|(object, owner)| (object.0, owner)).collect();
        let due = self.owners.iter().map(|(object, (owner, _))| (*object, *owner));
        let due: BTreeMap<u64, PlayerId> = due.collect();
        if kept != due {
            let members = &self.members;
            let text = format!("the zone has {kept:?}, it should have {due:?} with {members:?}");
            found.push(Violation { checker: "owners-true", text });
        }
        let age = ctx.age();
        if let Some((key, due)) = self.timers.iter().find(|(_, due)| **due + OVERDUE < age) {
            let text = format!("timer {key} of {due:?} has not rung at {age:?}");
            found.push(Violation { checker: "timers-once", text });
        }
        if let Some((arg, _)) = self.jobs.iter().find(|(_, (_, since))| *since + OVERDUE < age) {
            let text = format!("job {arg} has no result at {age:?}");
            found.push(Violation { checker: "jobs-once", text });
        }
        found
    }

    pub(super) fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u8(u8::from(self.match_running));
        out.put_u32(self.members.len() as u32);
        for (session, player) in &self.members {
            out.put_u64(session.0);
            out.put(&player.0[..]);
        }
        out.put_u32(self.owners.len() as u32);
        for (object, (player, on_part)) in &self.owners {
            out.put_u64(*object);
            out.put(&player.0[..]);
            out.put_u8(match on_part {
                OnPart::Keep => 0,
                OnPart::HandOver => 1,
                OnPart::Destroy => 2,
            });
        }
        out.put_u32(self.timers.len() as u32);
        for (key, due) in &self.timers {
            out.put_u64(*key);
            out.put_u64(due.as_micros() as u64);
        }
        out.put_u32(self.jobs.len() as u32);
        for (arg, (count, since)) in &self.jobs {
            out.put_u64(*arg);
            out.put_u64(*count);
            out.put_u64(since.as_micros() as u64);
        }
        for pairs in [self.match_data.iter().map(|(who, set)| (who.0, *set)).collect::<Vec<_>>(), {
            self.latest.iter().map(|(key, version)| (*key, *version)).collect()
        }] {
            out.put_u32(pairs.len() as u32);
            for (key, value) in pairs {
                out.put_u64(key);
                out.put_u64(value);
            }
        }
        out.freeze()
    }

    pub(super) fn decode(mut saved: Bytes) -> Self {
        let mut player = [0; 16];
        let mut all = Self { match_running: saved.get_u8() == 1, ..Self::default() };
        for _ in 0..saved.get_u32() {
            let session = SessionId(saved.get_u64());
            saved.copy_to_slice(&mut player);
            all.members.push((session, PlayerId(player)));
        }
        for _ in 0..saved.get_u32() {
            let object = saved.get_u64();
            saved.copy_to_slice(&mut player);
            let policy = [OnPart::Keep, OnPart::HandOver, OnPart::Destroy];
            let on_part = policy[usize::from(saved.get_u8())];
            all.owners.insert(object, (PlayerId(player), on_part));
        }
        for _ in 0..saved.get_u32() {
            let key = saved.get_u64();
            all.timers.insert(key, Duration::from_micros(saved.get_u64()));
        }
        for _ in 0..saved.get_u32() {
            let (arg, count) = (saved.get_u64(), saved.get_u64());
            all.jobs.insert(arg, (count, Duration::from_micros(saved.get_u64())));
        }
        for _ in 0..saved.get_u32() {
            all.match_data.insert(SessionId(saved.get_u64()), saved.get_u64());
        }
        for _ in 0..saved.get_u32() {
            all.latest.insert(saved.get_u64(), saved.get_u64());
        }
        all
    }
}
