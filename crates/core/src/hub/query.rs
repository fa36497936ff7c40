//! What can be read of the hub from outside: questions and answers are values, so that they can be carried like
//! any other message.

use super::{Hub, HubCounts, PlayerView, SessionView, Whom};
use crate::exchange::ZoneName;
use crate::id::{GameId, PlayerId, SessionId, ZoneId};
use crate::seat::Seating;
use crate::session::SessionCore;
use crate::time::WallTime;
use crate::timeline::Timeline;

/// A question about the hub, answered between two inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Query {
    /// One session.
    Session(SessionId),
    /// Sessions with ids above `after` in the order of their ids, at most so many.
    Sessions {
        /// The last id of the page before, 0 for the first page.
        after: SessionId,
        /// The length of the page.
        most: usize,
    },
    /// How many sessions have a connection.
    ActiveCount,
    /// Figures for metrics.
    Counts,
    /// One player.
    Player(Whom),
    /// Players with an account and players who are banned, in the order of their ids.
    Players {
        /// The last player of the page before.
        after: Option<PlayerId>,
        /// The length of the page.
        most: usize,
    },
    /// One player with everything that is kept of its sessions.
    Export(Whom),
    /// The zones that are open or being opened.
    Zones,
    /// One of them.
    Zone(ZoneId),
    /// The zones of this kind that run Games.
    Games {
        /// The kind.
        kind: String,
    },
}

/// The answer to a [`Query`]: the variant of the same name.
#[derive(Clone, Debug)]
pub enum Reply {
    /// None: there is no such session.
    Session(Option<Box<SessionReport>>),
    /// One page.
    Sessions(Vec<SessionView>),
    /// Held sessions are not counted.
    ActiveCount(usize),
    /// As they are now.
    Counts(HubCounts),
    /// None: there is no such player.
    Player(Option<Box<PlayerView>>),
    /// One page.
    Players(Vec<PlayerView>),
    /// None: there is no such player.
    Export(Option<Box<(PlayerView, Vec<SessionReport>)>>),
    /// In the order of their ids.
    Zones(Vec<(ZoneId, ZoneName)>),
    /// None: there is no such zone.
    Zone(Option<ZoneName>),
    /// Whether a match runs in each; none while the zone has not said.
    Games(Vec<(GameId, Option<bool>)>),
}

/// Everything that is shown of one session.
#[derive(Clone, Debug)]
pub struct SessionReport {
    /// What changes.
    pub view: SessionView,
    /// The player that its key or secret would be alone.
    pub credential: PlayerId,
    /// When it began.
    pub began: WallTime,
    /// What happened to it last.
    pub timeline: Timeline,
    /// Its seats in Games.
    pub seats: Vec<Seating>,
}

impl SessionReport {
    fn of(session: &SessionCore) -> Self {
        Self {
            view: session.view(),
            credential: session.credential(),
            began: session.began(),
            timeline: session.timeline().clone(),
            seats: session.seats().to_vec(),
        }
    }
}

impl Hub {
    /// Answers a question.
    #[must_use]
    pub fn query(&self, query: &Query) -> Reply {
        match query {
            Query::Session(id) => {
                Reply::Session(self.session(*id).map(SessionReport::of).map(Box::new))
            }
            Query::Sessions { after, most } => {
                let page = self.sessions_after(*after).take(*most);
                Reply::Sessions(page.map(|(_, session)| session.view()).collect())
            }
            Query::ActiveCount => Reply::ActiveCount(self.active_count()),
            Query::Counts => Reply::Counts(self.counts()),
            Query::Player(whom) => Reply::Player(self.player(whom).map(Box::new)),
            Query::Players { after, most } => Reply::Players(self.players_after(*after, *most)),
            Query::Export(whom) => Reply::Export(self.export(whom).map(Box::new)),
            Query::Zones => {
                let zones = self.zones.names().map(|(id, name)| (id, name.clone()));
                Reply::Zones(zones.collect())
            }
            Query::Zone(zone) => Reply::Zone(self.zones.name(*zone).cloned()),
            Query::Games { kind } => {
                let games = self.games().filter(|(_, name)| name.kind == *kind);
                let is_running =
                    |name: &ZoneName| self.match_running(ZoneId::of(&name.kind, &name.name));
                Reply::Games(games.map(|(game, name)| (game, is_running(name))).collect())
            }
        }
    }

    /// A player with everything that is kept of its sessions.
    #[must_use]
    pub fn export(&self, whom: &Whom) -> Option<(PlayerView, Vec<SessionReport>)> {
        let view = self.player(whom)?;
        let sessions = view.sessions.iter().filter_map(|id| self.session(*id));
        let sessions = sessions.map(SessionReport::of).collect();
        Some((view, sessions))
    }
}
