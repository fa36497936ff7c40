//! What the zone of a session says to it: that it is in, has left or was not let in, and what its client has done
//! there that concerns more than the zone.

use super::{SessionContext, SessionCore};
use crate::exchange::ToSession;
use crate::id::ZoneId;

impl SessionCore {
    /// Takes a message of this zone, from its present incarnation.
    pub(crate) fn on_zone_message(
        &mut self,
        cx: &mut SessionContext<'_>,
        zone: ZoneId,
        message: ToSession,
    ) {
        match message {
            ToSession::Admitted { stay } => self.admitted(cx, stay),
            ToSession::JoinRefused { stay, code, text } => {
                self.join_refused(cx, zone, stay, code, text);
            }
            ToSession::Missing { stay } => self.missing(cx, zone, stay),
            ToSession::Attached { epoch, reason, replayed } => {
                self.attached_by_zone(cx, epoch, reason, replayed);
            }
            ToSession::Departed(departed) => self.departed(cx, zone, *departed),
            ToSession::Sever { epoch, code } => self.sever_for_zone(cx, epoch, code),
            ToSession::Answered { call, number, payload } => {
                self.answered_in_zone(cx, call, number, payload);
            }
            ToSession::Awaiting { open } => self.set_awaiting(open),
            ToSession::Avatar { avatar } => {
                if let Some(inside) = self.inside_mut() {
                    inside.avatar = avatar;
                }
            }
        }
    }
}
