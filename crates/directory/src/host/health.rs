//! Whether a host is well, and whether it is there. A missed word costs new joins first, and only a
//! long silence costs the Games. A connection that is gone is not the end either: the host has its
//! time to come back.

use rejoin_core::event::Event;
use rejoin_core::time::Time;

use super::core::HostCore;
use super::{HostEnd, HostOrder, Presence};
use crate::effect::Effect;
use crate::mark::{Mark, hit};

impl HostCore {
    pub(super) fn heard_health(&mut self, now: Time, is_healthy: bool) {
        if self.presence != Presence::Present {
            return;
        }
        if !is_healthy {
            return self.warn(now);
        }
        self.healthy_at = now;
        if self.is_warned {
            hit(Mark::HostWellAgain);
            self.is_warned = false;
            self.stand_all();
            self.gate.after(Effect::Stirred(self.id));
        }
    }

    /// No new joins, and a warning.
    fn warn(&mut self, now: Time) {
        if self.is_warned {
            return;
        }
        hit(Mark::HostWarned);
        self.is_warned = true;
        let ends_at = self.healthy_at.after(self.config.health_limit);
        self.order_now(HostOrder::Warn { ends_in: ends_at.since(now) });
        self.gate.at_once(Effect::Event(Event::HostWarned { host: self.id }));
        self.stand_all();
    }

    pub(super) fn wake(&mut self, now: Time) {
        if self.is_over() {
            return;
        }
        if self.presence != Presence::Present {
            if self.away_since.after(self.config.away_limit) <= now {
                self.end(HostEnd::Lost);
            }
            return;
        }
        if self.healthy_at.after(self.config.health_limit) <= now {
            return self.end(HostEnd::Unhealthy);
        }
        if self.overdue_at() <= now {
            self.warn(now);
        }
        if self.check_at <= now {
            self.check_at = now.after(self.config.health_every);
            self.order_now(HostOrder::CheckHealth);
        }
    }

    /// A word that is half an interval late is missing.
    fn overdue_at(&self) -> Time {
        self.healthy_at.after(self.config.health_every.saturating_mul(3) / 2)
    }

    /// When it wants to be woken.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        if self.is_over() {
            return None;
        }
        if self.presence != Presence::Present {
            return Some(self.away_since.after(self.config.away_limit));
        }
        let end = self.healthy_at.after(self.config.health_limit);
        let warning = if self.is_warned { end } else { self.overdue_at() };
        Some(self.check_at.min(warning).min(end))
    }
}
