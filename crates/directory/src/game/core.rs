//! The machine of one Game. It owns its scope: status, seats, and which placement still has to hear
//! of it. It takes questions and the words of its host, and lets nothing out before it is durable.

use std::sync::Arc;
use std::time::Duration;

use rejoin_core::event::Event;
use rejoin_core::gate::Gate;
use rejoin_core::id::{GameId, HostId, Revision, SeatId};
use rejoin_core::scope::{Opened, ScopeId};
use rejoin_core::time::{Time, WallTime};

use super::seats::{SeatStep, Seats, Terms};
use super::{
    Ask, Booking, EndCause, GameSpec, GameView, Guest, Origin, SeatFilter, SeatView, Standing,
    Status,
};
use crate::caller::Lock;
use crate::command::Answer;
use crate::config::DirectoryConfig;
use crate::effect::{Effect, NewGame, ToGame, ToHost};
use crate::limits;
use crate::mark::{Mark, hit};
use crate::moment::{Moment, later};
use crate::planted::{Bug, is_armed};
use crate::print::Print;
use crate::refusal::{Refusal, What};

/// What a Game is given.
#[derive(Debug)]
pub(crate) enum GameInput {
    Ask { ticket: u64, ask: Ask },
    Mail(ToGame),
    Committed(Revision),
    Wake,
}

/// An update that waits for the host's word.
#[derive(Debug)]
pub(crate) struct Pending {
    pub ticket: u64,
    pub spec: Arc<GameSpec>,
    pub by: Time,
}

/// A Game's kept state, and what a restart resets: its host's standing, a pending update, deadlines.
#[derive(Debug)]
pub(crate) struct GameCore {
    pub(super) id: GameId,
    pub(super) config: Arc<DirectoryConfig>,
    pub(super) gate: Gate<Effect>,
    pub(super) spec: Arc<GameSpec>,
    /// Fingerprint of the request; the same key with another fingerprint is refused.
    pub(super) print: Print,
    pub(super) host: HostId,
    pub(super) status: Status,
    pub(super) cause: Option<EndCause>,
    pub(super) created: WallTime,
    pub(super) ended: Option<WallTime>,
    /// It has been active.
    pub(super) was_active: bool,
    /// A player has come in; reset when its host refuses the end, so that it does not end again at once.
    pub(super) was_joined: bool,
    /// A match runs that closes the Game to new players.
    pub(super) in_match: bool,
    /// The placement that has to hear of it.
    pub(super) origin: Option<Origin>,
    pub(super) party: Vec<(SeatId, Guest)>,
    /// The lock on the seats of the party.
    pub(super) lock: Lock,
    /// Its host must have begun it by then.
    pub(super) activate_by: WallTime,
    pub(super) seats: Seats,
    pub(super) standing: Standing,
    pub(super) standing_number: u64,
    /// Activation or destruction must be over by then.
    pub(super) deadline: Option<Time>,
    /// No seat has been taken at least since then.
    pub(super) empty_since: Time,
    pub(super) update: Option<Pending>,
    /// The Game's own row differs from the scope.
    pub(super) is_dirty: bool,
    /// What searches show may have changed.
    pub(super) is_changed: bool,
    /// The moment of the last input, for deadlines in wall time.
    now: Moment,
}

impl GameCore {
    /// A new Game on the host that was chosen for it.
    pub(crate) fn create(now: Moment, config: Arc<DirectoryConfig>, new: NewGame) -> Self {
        hit(Mark::GameCreated);
        let mut game = Self {
            id: new.id,
            gate: Gate::new(ScopeId::Game(new.id)),
            spec: Arc::new(new.spec),
            print: new.print,
            host: new.host,
            status: Status::Activating,
            cause: None,
            created: now.wall,
            ended: None,
            was_active: false,
            was_joined: false,
            in_match: false,
            origin: new.origin,
            party: new.party,
            lock: new.lock,
            activate_by: now.wall_after(config.activation_limit),
            seats: Seats::default(),
            standing: Standing::Present,
            standing_number: 0,
            deadline: Some(now.time.after(config.activation_limit)),
            empty_since: now.time,
            update: None,
            is_dirty: true,
            is_changed: true,
            now,
            config,
        };
        let take = ToHost::Take { game: game.view(), again: false };
        game.gate.after(Effect::ToHost(game.host, take));
        let (fleet, host) = (game.spec.fleet.clone(), game.host);
        game.gate.after(Effect::Event(Event::GameCreated { game: game.id, fleet, host }));
        game.settle();
        game
    }

    /// A Game as it was kept.
    pub(crate) fn open(
        now: Moment,
        config: Arc<DirectoryConfig>,
        id: GameId,
        opened: &Opened,
    ) -> Result<Self, String> {
        let (row, data, seats) = super::row::read(opened)?;
        let mut game = super::row::game(now, &config, id, row, data, opened)?;
        for seat in seats {
            game.seats.load(super::row::seat(seat, now.time.after(config.claim_limit))?);
        }
        game.resume(now);
        game.now = now;
        game.settle();
        Ok(game)
    }

    pub(super) fn assemble(now: Moment, config: &Arc<DirectoryConfig>, kept: Kept) -> Self {
        Self {
            id: kept.id,
            config: config.clone(),
            gate: kept.gate,
            spec: Arc::new(kept.spec),
            print: kept.print,
            host: kept.host,
            status: kept.status,
            cause: kept.cause,
            created: kept.created,
            ended: kept.ended,
            was_active: kept.was_active,
            was_joined: kept.was_joined,
            in_match: kept.in_match,
            origin: kept.origin,
            party: kept.party,
            lock: kept.lock,
            activate_by: kept.activate_by,
            seats: Seats::default(),
            standing: Standing::Away,
            standing_number: 0,
            deadline: None,
            empty_since: now.time,
            update: None,
            is_dirty: false,
            is_changed: true,
            now,
        }
    }

    /// Takes one input. Afterwards [`next_output`](Self::next_output) is drained.
    pub(crate) fn handle(&mut self, now: Moment, input: GameInput) {
        self.now = now;
        match input {
            GameInput::Ask { ticket, ask } => self.ask(now, ticket, ask),
            GameInput::Mail(mail) => self.heed(now, mail),
            GameInput::Committed(revision) => return self.gate.committed(revision),
            GameInput::Wake => self.wake(now),
        }
        self.look_around(now);
        self.settle();
    }

    pub(crate) fn next_output(&mut self) -> Option<Effect> {
        self.gate.next_effect()
    }

    /// When it wants to be woken.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        if self.gate.is_closed() {
            return None;
        }
        if let Some(ended) = self.ended {
            return Some(self.now.time_of(later(ended, self.config.retention)));
        }
        let update = self.update.as_ref().map(|update| update.by);
        let times = [self.deadline, update, self.empty_deadline()];
        times.into_iter().flatten().chain(self.seats.next_deadline(self.now)).min()
    }

    /// The Game as it is now. Only what is held until the next commit may carry it out.
    pub(crate) fn view(&self) -> Arc<GameView> {
        Arc::new(GameView {
            id: self.id,
            spec: self.spec.clone(),
            status: self.status,
            cause: self.cause,
            host: self.host,
            standing: self.standing,
            in_match: self.in_match,
            reserved: self.seats.reserved(),
            active: self.seats.active(),
            created: self.created,
            ended: self.ended,
        })
    }

    pub(crate) fn id(&self) -> GameId {
        self.id
    }

    pub(crate) fn fleet(&self) -> &str {
        &self.spec.fleet
    }

    pub(crate) fn standing(&self) -> Standing {
        self.standing
    }

    pub(crate) fn host(&self) -> HostId {
        self.host
    }

    pub(crate) fn is_over(&self) -> bool {
        self.status.is_over()
    }

    /// Where it runs, if its row is from before that was entered.
    pub(crate) fn set_location(&mut self, location: &str) {
        if self.spec.location.is_empty() {
            Arc::make_mut(&mut self.spec).location = location.to_owned();
        }
    }

    /// Whether it was asked for with just this.
    pub(crate) fn was_asked_with(&self, print: Print) -> bool {
        self.print == print
    }

    pub(crate) fn wall(&self) -> WallTime {
        self.ended.unwrap_or(self.created)
    }

    pub(super) fn answer(&mut self, ticket: u64, outcome: Result<Answer, Refusal>) {
        self.gate.after(Effect::Answer { ticket, outcome: Box::new(outcome) });
    }

    fn ask(&mut self, now: Moment, ticket: u64, ask: Ask) {
        if self.gate.is_closed() {
            return self.answer(ticket, Err(Refusal::NotFound(What::Game)));
        }
        if self.gate.waiting() >= self.config.uncommitted_max {
            hit(Mark::Busy);
            let outcome = Box::new(Err(Refusal::Busy));
            return self.gate.at_once(Effect::Answer { ticket, outcome });
        }
        let outcome = match ask {
            Ask::Update { change } => return self.begin_update(now, ticket, &change),
            Ask::Describe => Ok(Answer::Game(self.view())),
            Ask::DescribeNew => Ok(Answer::Made(Box::new(Answer::Game(self.view())), None)),
            Ask::Seats => Ok(Answer::Seats(
                self.seats.in_order().into_iter().map(|seat| seat.view()).collect(),
            )),
            Ask::FindSeats { filter, after, limit } => self.find_seats(&filter, after, limit),
            Ask::DescribeSeat { seat } => match self.seats.get(seat) {
                Some(_) => Ok(self.seats_answer(&[seat])),
                None => Err(Refusal::NotFound(What::Seat)),
            },
            Ask::Terminate => self.terminate_asked(now),
            Ask::Reserve(booking) => self.reserve(now, *booking),
            ask => self.ask_seat(now, ask),
        };
        self.answer(ticket, outcome);
    }

    fn find_seats(
        &self,
        filter: &SeatFilter,
        after: Option<u64>,
        limit: usize,
    ) -> Result<Answer, Refusal> {
        if !(1..=limits::SEATS_PAGE_MAX).contains(&limit) {
            return Err(Refusal::Invalid { field: "limit", must: "1 to 1000" });
        }
        filter.player.as_deref().map_or(Ok(()), limits::player)?;
        let seats = self.seats.in_order().into_iter();
        let after = after.map(|after| after - u64::from(is_armed(Bug::SeatPageRepeats)));
        let seats = seats.filter(|seat| after.is_none_or(|after| seat.number > after));
        let seats = seats.filter(|seat| filter.matches(seat)).take(limit);
        Ok(Answer::Seats(seats.map(|seat| seat.view()).collect()))
    }

    fn reserve(&mut self, now: Moment, booking: Booking) -> Result<Answer, Refusal> {
        let Booking { guests, key, hold, ids, caller, drawn, room } = booking;
        Guest::check_party(&guests)?;
        if !key.is_empty() {
            limits::key("idempotency key", &key)?;
        }
        let lasts = self.checked_hold(hold.unwrap_or(self.config.seat_hold))?;
        if let Some(seats) = self.seats.of_key(&key, &guests, hold, &caller)? {
            hit(Mark::ReservedAgain);
            return Ok(self.seats_answer(&seats));
        }
        self.check_open()?;
        if !self.spec.accepts || self.in_match {
            hit(Mark::NotAccepting);
            return Err(Refusal::NotAccepting);
        }
        if !self.spec.several_seats {
            self.seats.check_new(&guests)?;
        }
        if guests.len() > room {
            let (what, limit) = ("open seats of this key and address", self.config.open_seats_max);
            return Err(Refusal::LimitReached { what, limit });
        }
        let (lock, secret) = Lock::new(&caller, drawn);
        let (until, payer) = (now.wall_after(lasts), caller.payer);
        let terms = Terms { key: &key, hold, until, lock, payer };
        let seats = self.seats.reserve(now, self.spec.capacity, &guests, &ids, terms)?;
        let answer = self.seats_answer(&seats);
        if caller.is_outside {
            return Ok(Answer::Made(Box::new(answer), secret));
        }
        Ok(answer)
    }

    fn ask_seat(&mut self, now: Moment, ask: Ask) -> Result<Answer, Refusal> {
        let seat = match ask {
            Ask::Extend { seat, hold } => {
                let hold = self.checked_hold(hold)?;
                self.check_active()?;
                self.seats.extend(seat, now.wall_after(hold))?;
                seat
            }
            Ask::Release { seat, caller } => {
                if !self.seats.release(now, seat, &caller)? && caller.is_outside {
                    return Ok(Answer::Done);
                }
                seat
            }
            Ask::Claim { seat, player, holder } => {
                self.check_active()?;
                let by = now.time.after(self.config.claim_limit);
                self.seats.claim(now, seat, &player, holder, by)?;
                seat
            }
            Ask::Confirm { seat, holder } => {
                self.seats.confirm(seat, holder)?;
                self.note_joined();
                seat
            }
            Ask::Abandon { seat, holder } => {
                self.seats.abandon(seat, holder)?;
                seat
            }
            Ask::Complete { seat, holder } => {
                self.seats.complete(now, seat, holder)?;
                seat
            }
            Ask::Accept { host, seat, player, entry } => {
                self.check_host(host)?;
                self.check_active()?;
                self.seats.accept(now, seat, player.as_deref(), entry)?;
                self.note_joined();
                seat
            }
            Ask::Remove { host, seat } => {
                self.check_host(host)?;
                self.seats.remove(now, seat)?;
                seat
            }
            // These are not about one seat, and were led elsewhere.
            Ask::Describe
            | Ask::DescribeNew
            | Ask::Seats
            | Ask::FindSeats { .. }
            | Ask::DescribeSeat { .. }
            | Ask::Reserve(_)
            | Ask::Update { .. }
            | Ask::Terminate => return Ok(Answer::Game(self.view())),
        };
        Ok(self.seats_answer(&[seat]))
    }

    fn note_joined(&mut self) {
        if !self.was_joined {
            self.was_joined = true;
            self.is_dirty = true;
        }
    }

    fn checked_hold(&self, hold: Duration) -> Result<Duration, Refusal> {
        if hold.is_zero() || hold > self.config.seat_hold_max {
            let must = "more than nothing and at most the longest hold there is";
            return Err(Refusal::Invalid { field: "hold", must });
        }
        Ok(hold)
    }

    fn check_host(&self, host: HostId) -> Result<(), Refusal> {
        if host == self.host { Ok(()) } else { Err(Refusal::NotYours) }
    }

    fn check_active(&self) -> Result<(), Refusal> {
        if self.status == Status::Active {
            return Ok(());
        }
        hit(Mark::WrongStatus);
        Err(Refusal::WrongStatus(self.status))
    }

    /// Whether new players may come.
    fn check_open(&self) -> Result<(), Refusal> {
        self.check_active()?;
        match self.standing {
            Standing::Present => Ok(()),
            Standing::Unhealthy => {
                hit(Mark::JoinUnhealthy);
                Err(Refusal::HostUnhealthy)
            }
            Standing::Away => {
                hit(Mark::JoinAway);
                Err(Refusal::HostAway)
            }
        }
    }

    pub(super) fn seat_views(&self, ids: &[SeatId]) -> Vec<SeatView> {
        ids.iter().filter_map(|id| self.seats.get(*id)).map(|seat| seat.view()).collect()
    }

    fn seats_answer(&self, ids: &[SeatId]) -> Answer {
        Answer::Seats(self.seat_views(ids))
    }

    /// Emits an event for every change of a seat in this input.
    fn tell_seats(&mut self) {
        let game = self.id;
        for (seat, player, step) in self.seats.take_told() {
            let event = match step {
                SeatStep::Reserved => Event::SeatReserved { game, seat, player },
                SeatStep::Claimed => Event::SeatClaimed { game, seat, player },
                SeatStep::Ended(how) => Event::SeatEnded { game, seat, player, how },
            };
            self.gate.after(Effect::Event(event));
        }
    }

    pub(super) fn settle(&mut self) {
        if self.gate.is_closed() {
            return self.gate.settle(Vec::new());
        }
        self.tell_seats();
        for (payer, is_open) in self.seats.take_paid() {
            self.gate.at_once(Effect::Open(payer, is_open));
        }
        self.seats.forget(self.config.seats_kept_max);
        let mut changes = super::row::seat_changes(&mut self.seats);
        self.is_changed |= self.is_dirty || !changes.is_empty();
        if std::mem::take(&mut self.is_dirty) {
            super::row::put_game(self, &mut changes);
        }
        if std::mem::take(&mut self.is_changed) {
            self.gate.after(Effect::Seen(self.view()));
        }
        self.gate.settle(changes);
    }
}

/// What is kept of a Game besides its seats.
pub(super) struct Kept {
    pub id: GameId,
    pub gate: Gate<Effect>,
    pub spec: GameSpec,
    pub print: Print,
    pub host: HostId,
    pub status: Status,
    pub cause: Option<EndCause>,
    pub created: WallTime,
    pub ended: Option<WallTime>,
    pub was_active: bool,
    pub was_joined: bool,
    pub in_match: bool,
    pub origin: Option<Origin>,
    pub party: Vec<(SeatId, Guest)>,
    pub lock: Lock,
    pub activate_by: WallTime,
}
