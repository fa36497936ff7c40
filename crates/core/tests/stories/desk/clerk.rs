//! A directory as a hub sees it: seats that are reserved, claimed, used and over, each for one player.
//! It is asked and answers; it can also fall silent, and what it knows outlives a crash of the hub.

use std::collections::BTreeMap;

use rejoin_core::id::{PlayerId, SeatId, SessionId};
use rejoin_core::seat::{GameNews, SeatAsk, SeatRefusal, SeatRequest};

type Holder = (SessionId, u32);

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Seat {
    Reserved,
    Claimed(Holder),
    Active(Holder),
    Left,
}

#[derive(Default)]
pub struct Clerk {
    pub seats: BTreeMap<SeatId, (PlayerId, Seat)>,
    /// It does not answer.
    pub silent: bool,
    /// It is asked and cannot say.
    pub busy: bool,
    /// What it was asked, in order.
    pub asked: Vec<SeatAsk>,
    /// What the host of the Game was told.
    pub news: Vec<GameNews>,
    /// What it has not answered.
    pub unanswered: Vec<SeatRequest>,
}

impl Clerk {
    /// Reserves a seat.
    pub fn reserve(&mut self, number: u8, player: PlayerId) -> SeatId {
        let seat = SeatId([number; 16]);
        self.seats.insert(seat, (player, Seat::Reserved));
        seat
    }

    pub fn state(&self, seat: SeatId) -> Seat {
        self.seats[&seat].1
    }

    /// How many seats are in use.
    pub fn active(&self) -> usize {
        self.seats.values().filter(|(_, seat)| matches!(seat, Seat::Active(_))).count()
    }

    pub fn answer(&mut self, request: &SeatRequest) -> Result<(), SeatRefusal> {
        if self.busy {
            return Err(SeatRefusal::Unavailable);
        }
        let holder = (request.session, request.stay);
        let (player, seat) = self.seats.get_mut(&request.seat).ok_or(SeatRefusal::Unknown)?;
        match (request.ask, *seat) {
            (SeatAsk::Claim, _) if *player != request.player => return Err(SeatRefusal::NotYours),
            (SeatAsk::Claim, Seat::Reserved) => *seat = Seat::Claimed(holder),
            (SeatAsk::Claim, Seat::Claimed(by) | Seat::Active(by)) if by == holder => {}
            (SeatAsk::Claim, Seat::Left) => return Err(SeatRefusal::Over),
            (SeatAsk::Claim, _) => return Err(SeatRefusal::Taken),
            (SeatAsk::Confirm, Seat::Claimed(by)) if by == holder => *seat = Seat::Active(holder),
            (SeatAsk::Confirm, Seat::Active(by)) if by == holder => {}
            (SeatAsk::Confirm, Seat::Left) => return Err(SeatRefusal::Over),
            (SeatAsk::Abandon, Seat::Claimed(by)) if by == holder => *seat = Seat::Reserved,
            (SeatAsk::Abandon, Seat::Reserved) => {}
            (SeatAsk::Complete, Seat::Claimed(by) | Seat::Active(by)) if by == holder => {
                *seat = Seat::Left;
            }
            (SeatAsk::Complete, Seat::Left) => {}
            _ => return Err(SeatRefusal::NotClaimed),
        }
        Ok(())
    }
}
