//! Noughts and crosses: a match of two that waits for whoever is absent. A drop takes nobody's seat and
//! nobody's turn; only who stays away for longer than the hold gives the match away.
//!
//! Words are plain text, so that it can be played by hand: a move is a digit, `0` to `8`.

mod board;
mod news;

use std::time::Duration;

use rejoin::prelude::*;

pub use board::{Board, Mark};
pub use news::{Move, News};

/// How long an absent player is waited for, if nothing else is said.
pub const WAIT: Duration = Duration::from_secs(60);

/// How the zone runs: no tick, because nothing happens by itself; durable, because a match must not end
/// with the server's process; and members are held for as long as the match waits.
#[must_use]
pub fn config(wait: Duration) -> ZoneConfig {
    ZoneConfig { tick: None, hold: Hold::Timed(wait), members_max: 2, ..ZoneConfig::default() }
}

/// One match.
#[derive(Debug, Default)]
pub struct Match {
    board: Board,
    /// Who plays crosses, and who noughts. Seats are of players: a new session finds its own again.
    seats: [Option<PlayerId>; 2],
}

impl Match {
    fn mark_of(&self, player: PlayerId) -> Option<Mark> {
        self.seats.iter().position(|seat| *seat == Some(player)).map(mark_at)
    }

    /// A seat whose player is no member any more.
    fn empty_seat(&self, ctx: &Context<'_, News>) -> Option<usize> {
        let here = |player: PlayerId| ctx.members().any(|member| member.player == player);
        self.seats.iter().position(|seat| seat.is_some_and(|player| !here(player)))
    }

    fn mark_of_session(&self, ctx: &Context<'_, News>, who: SessionId) -> Option<Mark> {
        self.mark_of(ctx.player_of(who)?)
    }

    /// The match as this player sees it, for joiners and for who has missed something.
    fn view(&self, you: Option<Mark>) -> Bytes {
        let turn = match self.board.winner() {
            Some(winner) => format!("{winner} has won"),
            None => format!("{}'s turn", self.board.turn()),
        };
        let you = you.map_or_else(|| "-".to_owned(), |mark| mark.to_string());
        Bytes::from(format!("{} you are {you}, {turn}", self.board))
    }

    fn finish(&self, ctx: &mut Context<'_, News>) {
        if self.board.is_over() {
            ctx.broadcast(News::Over { winner: self.board.winner() });
            ctx.end_match();
        }
    }
}

fn mark_at(seat: usize) -> Mark {
    if seat == 0 { Mark::Cross } else { Mark::Nought }
}

impl Zone for Match {
    type In = Move;
    type Out = News;

    fn on_join(
        &mut self,
        ctx: &mut Context<'_, News>,
        who: SessionId,
        _request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        let player = ctx.player_of(who).ok_or_else(|| JoinDenied("nobody".to_owned()))?;
        if self.mark_of(player).is_none() {
            let seat = self.seats.iter_mut().find(|seat| seat.is_none());
            *seat.ok_or_else(|| JoinDenied("both seats are taken".to_owned()))? = Some(player);
            if self.seats.iter().all(Option::is_some) {
                ctx.start_match();
                ctx.broadcast_except(who, News::Begins);
            }
        }
        Ok(self.view(self.mark_of(player)))
    }

    fn on_message(&mut self, ctx: &mut Context<'_, News>, from: Sender, Move(cell): Move) {
        let Some(mark) = self.mark_of(from.player) else { return };
        let refusal = if self.seats.iter().any(Option::is_none) {
            Some("wait for the other player")
        } else {
            self.board.play(mark, cell).err()
        };
        if let Some(why) = refusal {
            return ctx.send(from.session, News::Refused(why.to_owned()));
        }
        ctx.broadcast(News::Played { mark, cell });
        self.finish(ctx);
    }

    fn on_disconnect(&mut self, ctx: &mut Context<'_, News>, who: SessionId) -> Disconnect {
        if let Some(mark) = self.mark_of_session(ctx, who) {
            ctx.broadcast_except(who, News::Away { mark });
        }
        // The seat is kept, and the turn: the other one waits, at most for the hold.
        Disconnect::Soft
    }

    fn on_reconnect(&mut self, ctx: &mut Context<'_, News>, who: SessionId) {
        if let Some(mark) = self.mark_of_session(ctx, who) {
            ctx.broadcast_except(who, News::Back { mark });
        }
    }

    fn on_part(&mut self, ctx: &mut Context<'_, News>, _who: SessionId, _cause: PartCause) {
        if ctx.members().next().is_none() {
            return ctx.end();
        }
        let Some(seat) = self.empty_seat(ctx) else { return };
        if !ctx.is_match_running() {
            self.seats[seat] = None;
        } else if !self.board.is_over() {
            // Waited for until the hold ended, or left: the other one wins.
            self.board.give_up(mark_at(seat));
            self.finish(ctx);
        }
    }

    fn on_resync(&mut self, ctx: &mut Context<'_, News>, who: SessionId) -> Bytes {
        self.view(self.mark_of_session(ctx, who))
    }

    fn save(&self) -> Option<Bytes> {
        let seat = |seat: &Option<PlayerId>| seat.map_or([0; 16], |player| player.0);
        let [cross, nought] = [seat(&self.seats[0]), seat(&self.seats[1])];
        Some([&self.board.save()[..], &cross, &nought].concat().into())
    }

    fn restore(&mut self, _version: u32, saved: Saved) -> Result<(), RestoreRefused> {
        let Some(bytes) = saved.snapshot else { return Ok(()) };
        let bad = || RestoreRefused("these bytes are no match".to_owned());
        let (board, seats) = bytes.split_at_checked(Board::BYTES).ok_or_else(bad)?;
        self.board = Board::restore(board).ok_or_else(bad)?;
        for (seat, bytes) in self.seats.iter_mut().zip(seats.chunks(16)) {
            let player = bytes.try_into().map_err(|_| bad())?;
            *seat = Some(PlayerId(player)).filter(|player| player.0 != [0; 16]);
        }
        Ok(())
    }
}
