//! The seats of one Game, and the one rule that stands above all: those reserved and those in use
//! are never more than there are.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use rejoin_core::id::SeatId;
use rejoin_core::never;
use rejoin_core::time::{Time, WallTime};

use super::SeatEnd;
use super::seat::{Entry, Guest, Holder, Seat, SeatState};
use crate::caller::{Caller, Lock, Payer};
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::planted::{Bug, is_armed};
use crate::print::Print;
use crate::refusal::{Refusal, What};

/// A step of a seat that becomes an event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SeatStep {
    Reserved,
    Claimed,
    Ended(SeatEnd),
}

/// On what terms seats are reserved.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms<'a> {
    pub key: &'a str,
    /// As it was asked for.
    pub hold: Option<Duration>,
    pub until: WallTime,
    pub lock: Lock,
    pub payer: Option<Payer>,
}

/// All seats of a Game.
#[derive(Debug, Default)]
pub(crate) struct Seats {
    /// Boxed: nodes of the map are half empty, and most Games have few.
    all: BTreeMap<SeatId, Box<Seat>>,
    /// The last number given.
    last_number: u64,
    reserved: u32,
    active: u32,
    /// The seats of each player that are not over.
    players: BTreeSet<(String, SeatId)>,
    /// Payers whose number of open seats rises (true) or falls (false) by one in this input.
    paid: Vec<(Payer, bool)>,
    /// Which reservations have a key, in the order of their numbers.
    keys: BTreeSet<(String, u64, SeatId)>,
    /// When reservations run out, and claims.
    expiry: BTreeSet<(WallTime, SeatId)>,
    claims: BTreeSet<(Time, SeatId)>,
    /// Those that are over, oldest first.
    ended: BTreeSet<(u64, SeatId)>,
    /// What became of seats in this input, for events.
    told: Vec<(SeatId, SeatStep)>,
    /// What differs from the scope; a seat that is here and not in `all` is to be deleted.
    dirty: BTreeSet<SeatId>,
}

impl Seats {
    /// A seat as it was kept. A claim has all of its time again.
    pub(crate) fn load(&mut self, seat: Seat) {
        self.last_number = self.last_number.max(seat.number);
        self.enter_new(seat);
    }

    /// Takes seats for all of them or for none.
    pub(crate) fn reserve(
        &mut self,
        now: Moment,
        capacity: u32,
        party: &[Guest],
        ids: &[SeatId],
        terms: Terms<'_>,
    ) -> Result<Vec<SeatId>, Refusal> {
        let Terms { key, hold, until, lock, payer } = terms;
        let capacity = capacity + u32::from(is_armed(Bug::OneSeatTooMany));
        let free = capacity.saturating_sub(self.taken());
        if is_armed(Bug::PartyInPart) && party.len() > free as usize && free > 0 {
            let fits = &party[..free as usize];
            let _ = self.reserve(now, capacity, fits, ids, terms);
            return Err(Refusal::GameFull { free });
        }
        if party.len() > free as usize || ids.len() < party.len() {
            hit(Mark::GameFull);
            return Err(Refusal::GameFull { free });
        }
        // Without a key nobody asks again with other parameters.
        let print = if key.is_empty() { Print::default() } else { Guest::print(party, hold) };
        let taken = &ids[..party.len()];
        for (guest, id) in party.iter().zip(taken) {
            self.last_number += 1;
            let seat = Seat {
                id: *id,
                number: self.last_number,
                player: guest.player.clone(),
                data: guest.data.clone(),
                key: key.to_owned(),
                print,
                created: now.wall,
                state: SeatState::Reserved { until },
                entry: None,
                lock,
                payer,
            };
            self.dirty.insert(*id);
            self.told.push((*id, SeatStep::Reserved));
            self.enter_new(seat);
        }
        hit(if party.len() > 1 { Mark::PartyReserved } else { Mark::SeatReserved });
        Ok(taken.to_vec())
    }

    /// The seats that were reserved with a key; an empty key is none.
    pub(crate) fn of_key(
        &self,
        key: &str,
        party: &[Guest],
        hold: Option<Duration>,
        caller: &Caller,
    ) -> Result<Option<Vec<SeatId>>, Refusal> {
        if key.is_empty() {
            return Ok(None);
        }
        let print = Guest::print(party, hold);
        let from = (key.to_owned(), 0, SeatId::default());
        let with_key = self.keys.range(from..).take_while(|(known, ..)| known == key);
        let found: Vec<&Seat> = with_key.filter_map(|(.., id)| self.get(*id)).collect();
        if found.is_empty() {
            return Ok(None);
        }
        if found.iter().any(|seat| seat.print != print) {
            hit(Mark::KeyReused);
            return Err(Refusal::KeyReused);
        }
        found.iter().try_for_each(|seat| seat.lock.check_again(caller))?;
        Ok(Some(found.into_iter().map(|seat| seat.id).collect()))
    }

    /// Whether none of them has a seat already.
    pub(crate) fn check_new(&self, party: &[Guest]) -> Result<(), Refusal> {
        let seat_of = |player: &String| {
            let from = (player.clone(), SeatId::default());
            let known = self.players.range(from..).next();
            known.filter(|(known, _)| known == player).map(|(_, seat)| *seat)
        };
        match party.iter().find_map(|guest| seat_of(&guest.player)) {
            Some(seat) => Err(Refusal::AlreadySeated { seat }),
            None => Ok(()),
        }
    }

    /// Keeps a reservation for longer. It is never made shorter.
    pub(crate) fn extend(&mut self, id: SeatId, until: WallTime) -> Result<(), Refusal> {
        let state = match self.state(id)? {
            SeatState::Reserved { until: old } => SeatState::Reserved { until: until.max(old) },
            SeatState::Claimed { holder, until: old, by } => {
                SeatState::Claimed { holder, until: until.max(old), by }
            }
            SeatState::Active { .. } => return Err(Refusal::SeatTaken),
            SeatState::Ended { .. } => return Err(Refusal::SeatEnded),
        };
        hit(Mark::SeatExtended);
        self.set(id, state);
        Ok(())
    }

    /// Gives a reservation back; false: it was given back before.
    pub(crate) fn release(
        &mut self,
        now: Moment,
        id: SeatId,
        caller: &Caller,
    ) -> Result<bool, Refusal> {
        let lock = self.get(id).map(|seat| seat.lock).ok_or(Refusal::NotFound(What::Seat))?;
        lock.check_release(caller)?;
        match self.state(id)? {
            SeatState::Reserved { .. } => {
                hit(Mark::SeatReleased);
                self.end(now, id, SeatEnd::Released);
                Ok(true)
            }
            SeatState::Ended { how: SeatEnd::Released, .. } => Ok(false),
            SeatState::Ended { .. } => Err(Refusal::SeatEnded),
            SeatState::Claimed { .. } | SeatState::Active { .. } => Err(Refusal::SeatTaken),
        }
    }

    /// A session is about to use the seat.
    pub(crate) fn claim(
        &mut self,
        now: Moment,
        id: SeatId,
        player: &str,
        holder: Holder,
        by: Time,
    ) -> Result<(), Refusal> {
        let state = self.state(id)?;
        if self.all.get(&id).is_some_and(|seat| seat.player != player) {
            hit(Mark::WrongPlayer);
            return Err(Refusal::WrongPlayer);
        }
        match state {
            SeatState::Reserved { until } if now.wall < until => {
                hit(Mark::SeatClaimed);
                self.set(id, SeatState::Claimed { holder, until, by });
                Ok(())
            }
            SeatState::Claimed { holder: known, .. } if known == holder => Ok(()),
            SeatState::Active { holder: Some(known) } if known == holder => Ok(()),
            SeatState::Claimed { .. } | SeatState::Active { .. } => {
                hit(Mark::SeatTaken);
                Err(Refusal::SeatTaken)
            }
            // A reservation that has run out is over, although nothing has woken the Game since.
            SeatState::Reserved { .. } | SeatState::Ended { .. } => {
                hit(Mark::SeatOver);
                Err(Refusal::SeatEnded)
            }
        }
    }

    /// The session that claimed the seat is in.
    pub(crate) fn confirm(&mut self, id: SeatId, holder: Holder) -> Result<(), Refusal> {
        match self.state(id)? {
            SeatState::Claimed { holder: known, .. } if known == holder => {
                hit(Mark::SeatConfirmed);
                self.set(id, SeatState::Active { holder: Some(holder) });
                Ok(())
            }
            SeatState::Active { holder: Some(known) } if known == holder => Ok(()),
            SeatState::Ended { .. } => Err(Refusal::SeatEnded),
            // Nobody has claimed it, or somebody else has.
            SeatState::Reserved { .. } | SeatState::Claimed { .. } | SeatState::Active { .. } => {
                hit(Mark::NotClaimed);
                Err(Refusal::NotClaimed)
            }
        }
    }

    /// The session that claimed the seat was not let in.
    pub(crate) fn abandon(&mut self, id: SeatId, holder: Holder) -> Result<(), Refusal> {
        match self.state(id)? {
            SeatState::Claimed { holder: known, until, .. } if known == holder => {
                hit(Mark::ClaimAbandoned);
                self.set(id, SeatState::Reserved { until });
                Ok(())
            }
            // It ran out by itself.
            SeatState::Reserved { .. } => Ok(()),
            SeatState::Ended { .. } => Err(Refusal::SeatEnded),
            SeatState::Claimed { .. } | SeatState::Active { .. } => Err(Refusal::NotClaimed),
        }
    }

    /// The stay is over, and that is durable.
    pub(crate) fn complete(
        &mut self,
        now: Moment,
        id: SeatId,
        holder: Holder,
    ) -> Result<(), Refusal> {
        match self.state(id)? {
            SeatState::Active { holder: Some(known) }
            | SeatState::Claimed { holder: known, .. }
                if known == holder =>
            {
                hit(Mark::SeatLeft);
                self.end(now, id, SeatEnd::Left);
                Ok(())
            }
            SeatState::Ended { .. } => Ok(()),
            SeatState::Reserved { .. } | SeatState::Claimed { .. } | SeatState::Active { .. } => {
                hit(Mark::NotClaimed);
                Err(Refusal::NotClaimed)
            }
        }
    }

    /// The Game's host lets the player in.
    pub(crate) fn accept(
        &mut self,
        now: Moment,
        id: SeatId,
        player: Option<&str>,
        entry: Option<Entry>,
    ) -> Result<(), Refusal> {
        let state = self.state(id)?;
        let seat = self.all.get_mut(&id).ok_or(Refusal::NotFound(What::Seat))?;
        if player.is_some_and(|player| player != seat.player) {
            hit(Mark::WrongPlayer);
            return Err(Refusal::WrongPlayer);
        }
        match state {
            SeatState::Reserved { until } if now.wall < until => {
                hit(Mark::SeatAccepted);
                seat.entry = entry;
                self.set(id, SeatState::Active { holder: None });
                Ok(())
            }
            SeatState::Active { .. } if seat.entry.is_some() && seat.entry == entry => {
                hit(Mark::AcceptedAgain);
                Ok(())
            }
            // The process that let its player in is gone, and with it that player's way in.
            SeatState::Active { .. } if is_later(entry, seat.entry) => {
                hit(Mark::Readmitted);
                seat.entry = entry;
                self.dirty.insert(id);
                Ok(())
            }
            SeatState::Reserved { .. } | SeatState::Ended { .. } => Err(Refusal::SeatEnded),
            SeatState::Claimed { .. } | SeatState::Active { .. } => Err(Refusal::SeatTaken),
        }
    }

    /// The Game's host says that the player is gone.
    pub(crate) fn remove(&mut self, now: Moment, id: SeatId) -> Result<(), Refusal> {
        match self.state(id)? {
            SeatState::Active { .. } => {
                hit(Mark::SeatRemoved);
                self.end(now, id, SeatEnd::Left);
                Ok(())
            }
            SeatState::Ended { .. } => Ok(()),
            SeatState::Reserved { .. } | SeatState::Claimed { .. } => Err(Refusal::NotClaimed),
        }
    }

    /// Ends what has run out.
    pub(crate) fn wake(&mut self, now: Moment) {
        while let Some(&(by, id)) = self.claims.first().filter(|(by, _)| *by <= now.time) {
            self.claims.remove(&(by, id));
            if let Ok(SeatState::Claimed { until, .. }) = self.state(id) {
                hit(Mark::ClaimTimeout);
                self.set(id, SeatState::Reserved { until });
            }
        }
        while let Some(&(until, id)) = self.expiry.first().filter(|(until, _)| *until <= now.wall) {
            self.expiry.remove(&(until, id));
            hit(Mark::SeatTimedOut);
            if is_armed(Bug::ReservationNotFreed) {
                continue;
            }
            self.end(now, id, SeatEnd::TimedOut);
        }
    }

    /// The Game is over, and so is every seat.
    pub(crate) fn end_all(&mut self, now: Moment) {
        let live: Vec<SeatId> =
            self.all.values().filter(|seat| !seat.is_over()).map(|seat| seat.id).collect();
        for id in live {
            self.end(now, id, SeatEnd::GameEnded);
        }
    }

    /// Forgets the oldest of those that are over.
    pub(crate) fn forget(&mut self, kept_max: usize) {
        while self.ended.len() > kept_max
            && let Some((_, id)) = self.ended.pop_first()
        {
            hit(Mark::SeatForgotten);
            if let Some(seat) = self.all.remove(&id) {
                self.keys.remove(&(seat.key, seat.number, id));
            }
            self.dirty.insert(id);
        }
    }

    /// What became of seats in this input, in order, with their players.
    pub(crate) fn take_told(&mut self) -> Vec<(SeatId, String, SeatStep)> {
        let told = std::mem::take(&mut self.told).into_iter();
        let named = told.filter_map(|(id, step)| Some((id, self.get(id)?.player.clone(), step)));
        named.collect()
    }

    /// Payers whose number of open seats rises (true) or falls (false) by one in this input.
    pub(crate) fn take_paid(&mut self) -> Vec<(Payer, bool)> {
        std::mem::take(&mut self.paid)
    }

    /// What differs from the scope: a seat to write, or an id to delete.
    pub(crate) fn take_dirty(&mut self) -> Vec<(SeatId, Option<&Seat>)> {
        let mut dirty = std::mem::take(&mut self.dirty);
        if is_armed(Bug::PartySplit) && dirty.len() > 1 {
            let is_new = |id: &SeatId| matches!(self.state(*id), Ok(SeatState::Reserved { .. }));
            let late = dirty.last().copied().filter(is_new);
            dirty.retain(|id| Some(*id) != late);
            self.dirty.extend(late);
        }
        dirty.into_iter().map(|id| (id, self.get(id))).collect()
    }

    pub(crate) fn get(&self, id: SeatId) -> Option<&Seat> {
        self.all.get(&id).map(Box::as_ref)
    }

    /// In the order of their numbers.
    pub(crate) fn in_order(&self) -> Vec<&Seat> {
        let mut all: Vec<&Seat> = self.all.values().map(Box::as_ref).collect();
        all.sort_by_key(|seat| seat.number);
        all
    }

    pub(crate) fn reserved(&self) -> u32 {
        self.reserved
    }

    pub(crate) fn active(&self) -> u32 {
        self.active
    }

    /// Reserved and in use.
    pub(crate) fn taken(&self) -> u32 {
        self.reserved + self.active
    }

    pub(crate) fn next_deadline(&self, now: Moment) -> Option<Time> {
        let expiry = self.expiry.first().map(|(until, _)| now.time_of(*until));
        let claim = self.claims.first().map(|(by, _)| *by);
        [expiry, claim].into_iter().flatten().min()
    }

    fn state(&self, id: SeatId) -> Result<SeatState, Refusal> {
        self.all.get(&id).map(|seat| seat.state).ok_or(Refusal::NotFound(What::Seat))
    }

    fn end(&mut self, now: Moment, id: SeatId, how: SeatEnd) {
        self.set(id, SeatState::Ended { how, at: now.wall });
    }

    fn enter_new(&mut self, seat: Seat) {
        if !seat.key.is_empty() {
            self.keys.insert((seat.key.clone(), seat.number, seat.id));
        }
        self.count(&seat, true);
        self.all.insert(seat.id, Box::new(seat));
    }

    fn set(&mut self, id: SeatId, state: SeatState) {
        let Some(mut seat) = self.all.remove(&id) else {
            return never!("{id:?} becomes {state:?} and is no seat");
        };
        self.count(&seat, false);
        let was_reserved = matches!(seat.state, SeatState::Reserved { .. });
        match state {
            SeatState::Claimed { .. } | SeatState::Active { .. } if was_reserved => {
                self.told.push((id, SeatStep::Claimed));
            }
            SeatState::Ended { how, .. } => self.told.push((id, SeatStep::Ended(how))),
            // A claim that came to nothing or is confirmed, and a longer hold: nobody is told of these.
            SeatState::Reserved { .. } | SeatState::Claimed { .. } | SeatState::Active { .. } => {}
        }
        seat.state = state;
        self.count(&seat, true);
        self.dirty.insert(id);
        self.all.insert(id, seat);
    }

    /// Enters a seat in the counts and timetables, or takes it out.
    fn count(&mut self, seat: &Seat, is_in: bool) {
        let step = |count: &mut u32| *count = if is_in { *count + 1 } else { *count - 1 };
        if !seat.is_over() {
            enter(&mut self.players, (seat.player.clone(), seat.id), is_in);
        }
        // A claim that comes to nothing is a reservation again, so its payer goes on paying.
        if matches!(seat.state, SeatState::Reserved { .. } | SeatState::Claimed { .. }) {
            let payer = seat.payer.filter(|_| is_in || !is_armed(Bug::PayerNotRelieved));
            self.paid.extend(payer.map(|payer| (payer, is_in)));
        }
        match seat.state {
            SeatState::Reserved { until } => {
                step(&mut self.reserved);
                enter(&mut self.expiry, (until, seat.id), is_in);
            }
            SeatState::Claimed { by, .. } => {
                step(&mut self.reserved);
                enter(&mut self.claims, (by, seat.id), is_in);
            }
            SeatState::Active { .. } => step(&mut self.active),
            SeatState::Ended { .. } => enter(&mut self.ended, (seat.number, seat.id), is_in),
        }
    }
}

/// Whether both are entries, of two processes. Which of them may ask, the host's lease says.
fn is_later(entry: Option<Entry>, known: Option<Entry>) -> bool {
    matches!((entry, known), (Some(new), Some(old)) if new.process != old.process)
}

fn enter<T: Ord>(set: &mut BTreeSet<T>, entry: T, is_in: bool) {
    if is_in {
        set.insert(entry);
    } else {
        set.remove(&entry);
    }
}
