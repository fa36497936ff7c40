//! The process is about to end, and it was asked to: everybody is told so, with a time to come back
//! that differs for each, so that the next process is not met by all of them at once. Sessions are
//! kept, and their holds stand still as while a process is down.

use std::time::Duration;

use rejoin_wire::v1::CloseCode;

use super::Hub;
use crate::connection::Connection;
use crate::exchange::Link;
use crate::id::ConnectionId;
use crate::mark::{Mark, hit};
use crate::time::{micros, millis_u32};

/// How fast clients that are sent away are asked to come back, where that is not capped. The next
/// process measures its load itself; this only keeps them from dialling in the same instant.
const RETURNS_PER_SECOND: u32 = 10_000;

impl Hub {
    pub(crate) fn shut_down(&mut self) {
        self.going_down = true;
        // Those that gave way to a newer connection are still to be told that, and not this.
        let is_told = |known: &Connection| !known.is_over();
        let told = self.connections.iter().filter(|(_, known)| is_told(known));
        let told: Vec<ConnectionId> = told.map(|(id, _)| *id).collect();
        for connection in told {
            hit(Mark::ShutDown);
            let speaks_for = self.connections.get(&connection).and_then(Connection::session);
            let wait = self.restart_wait_ms();
            let text = "the server is going down; the session is kept";
            self.close(connection, CloseCode::ShuttingDown, text, wait);
            if let Some((session, epoch)) = speaks_for {
                let link = Link { connection, epoch };
                self.with_session(session, |session, cx| {
                    session.dropped(cx, link, CloseCode::ShuttingDown);
                });
            }
        }
    }

    pub(crate) fn refuse_going_down(&mut self, connection: ConnectionId) {
        hit(Mark::ShutDownRefused);
        let wait = self.restart_wait_ms();
        self.refuse_until(connection, CloseCode::ShuttingDown, "the server is going down", wait);
    }

    /// When to come back: after the restart, at a random point of the time that all need together.
    fn restart_wait_ms(&mut self) -> u32 {
        let all = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        let pace = Some(self.config.returns_per_second).filter(|pace| *pace > 0);
        let spread = Duration::from_secs(1) * all / pace.unwrap_or(RETURNS_PER_SECOND);
        // A few would otherwise all come in the same instant.
        let spread = spread.max(self.config.restart_after);
        let chance = Duration::from_micros(self.chance.below(micros(spread).max(1)));
        millis_u32(self.config.restart_after.saturating_add(chance))
    }
}
