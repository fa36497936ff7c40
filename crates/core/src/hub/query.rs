//! What can be read of the hub from outside: questions and answers are values, so that they can be carried like
//! any other message.

use super::{ConnectionState, Hub, HubCounts, PlayerView, SessionView, Stage, Whom};
use crate::account::{Account, Name};
use crate::exchange::ZoneName;
use crate::id::{AccountId, ConnectionId, GameId, PlayerId, SessionId, ZoneId};
use crate::orders::People;
use crate::seat::Seating;
use crate::session::{Place, SessionCore};
use crate::time::WallTime;
use crate::timeline::Timeline;

/// A question about the hub, answered between two inputs.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Query {
    /// One session with its timeline and its seats.
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
    /// One player with its account, its ban and the ids of its sessions.
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
        /// The kind, by its name in the configuration; an unknown one gives an empty list.
        kind: String,
    },
}

/// The answer to a [`Query`]: the variant of the same name.
#[derive(Clone, Debug)]
pub enum Reply {
    /// None: there is no such session.
    Session(Option<Box<SessionReport>>),
    /// At most as many as were asked for; fewer on the last page.
    Sessions(Vec<SessionView>),
    /// Held sessions are not counted.
    ActiveCount(usize),
    /// As they are now.
    Counts(HubCounts),
    /// None: there is no such player.
    Player(Option<Box<PlayerView>>),
    /// At most as many as were asked for; fewer on the last page.
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
    /// The properties that may change while it runs, as they are now.
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

/// Reading between two inputs.
impl Hub {
    /// Players who are refused because what was kept of them is damaged. A ban, or the end of one, decides afresh.
    pub fn quarantined(&self) -> impl Iterator<Item = PlayerId> {
        self.players.damaged()
    }

    /// Accounts that cannot be read, and why. Nobody is let in by their names.
    #[must_use]
    pub fn damaged_accounts(&self) -> &[(AccountId, String)] {
        self.accounts.damaged()
    }

    /// The account of this name, for whoever looks at a password.
    #[must_use]
    pub fn account_named(&self, name: &Name) -> Option<(AccountId, &Account)> {
        self.accounts.of_name(name)
    }

    /// Figures for metrics.
    #[must_use]
    pub fn counts(&self) -> HubCounts {
        self.counts
    }

    /// Live sessions: held ones are not counted.
    #[must_use]
    pub fn active_count(&self) -> usize {
        self.sessions.values().filter(|session| session.connection().is_some()).count()
    }

    /// Every session, in the order of their ids; those that only wait for their deletion are left out.
    pub fn sessions(&self) -> impl Iterator<Item = (SessionId, &SessionCore)> {
        self.sessions.iter().map(|(id, session)| (*id, &**session))
    }

    /// Sessions with ids above this one, in the order of their ids.
    pub fn sessions_after(&self, id: SessionId) -> impl Iterator<Item = (SessionId, &SessionCore)> {
        let above = (std::ops::Bound::Excluded(id), std::ops::Bound::Unbounded);
        self.sessions.range(above).map(|(id, session)| (*id, &**session))
    }

    /// The session of this id; none if there is none or it only waits for its deletion.
    #[must_use]
    pub fn session(&self, id: SessionId) -> Option<&SessionCore> {
        self.sessions.get(&id).map(Box::as_ref)
    }

    /// One session as the outside may see it.
    #[must_use]
    pub fn view(&self, id: SessionId) -> Option<SessionView> {
        self.session(id).map(SessionCore::view)
    }

    /// The state of a connection.
    #[must_use]
    pub fn connection_state(&self, connection: ConnectionId) -> ConnectionState {
        let Some(known) = self.connections.get(&connection) else {
            return ConnectionState::Disconnected;
        };
        match known.stage() {
            Stage::AwaitingHello | Stage::Deciding => ConnectionState::Connecting,
            Stage::Closing => ConnectionState::Disconnecting,
            Stage::Live => {
                let session = known.session().and_then(|(session, _)| self.session(session));
                match session.filter(|session| session.is_live_on(connection)) {
                    None => ConnectionState::Connecting,
                    Some(session) if matches!(session.place(), Place::In(_)) => {
                        ConnectionState::InGame
                    }
                    Some(_) => ConnectionState::Connected,
                }
            }
        }
    }

    /// Whether a player is banned now.
    #[must_use]
    pub fn is_banned(&self, player: PlayerId) -> bool {
        self.players.is_banned(self.alarms.moment().wall, player)
    }

    fn people(&self) -> People<'_> {
        People { accounts: &self.accounts, players: &self.players, sessions: &self.sessions }
    }

    /// One player as operators may see it.
    #[must_use]
    pub fn player(&self, whom: &Whom) -> Option<PlayerView> {
        self.people().view(whom)
    }

    /// Players of whom something is kept, in the order of their ids: those with an account and those
    /// who are banned; guests are not listed otherwise.
    #[must_use]
    pub fn players_after(&self, player: Option<PlayerId>, most: usize) -> Vec<PlayerView> {
        self.people().after(player, most)
    }

    /// The zones that run Games: those that are open, and those that are kept and about to be.
    pub fn games(&self) -> impl Iterator<Item = (GameId, &ZoneName)> {
        self.zones.games()
    }

    /// Whether a match runs in a zone; none while the zone has not said.
    #[must_use]
    pub fn match_running(&self, zone: ZoneId) -> Option<bool> {
        let open = self.zones.view(zone).filter(|zone| zone.owner.is_some());
        open.map(|zone| zone.match_running)
    }
}
