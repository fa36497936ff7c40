//! Starting from what the store holds. Sessions come back as held, zones are opened, and what both
//! say is brought together before anybody is let in. A hold stands still while the server could not
//! have taken the player back: everybody has all of it from the moment the hub is ready.

use prost::Message;

use super::id_block::{HUB_ROW, HubRow, IdBlock};
use super::sessions::Commits;
use super::{Alarms, Hub, HubConfig, HubCounts, HubOutput, Rations, Tellings};
use crate::account::Accounts;
use crate::chance::Chance;
use crate::id::{AccountId, OwnerEpoch, PlayerId, SessionId};
use crate::orders::Orders;
use crate::player::{GuestLimits, Players};
use crate::scope::Opened;
use crate::seat::Seating;
use crate::session::{Place, SessionCore};
use crate::time::{Time, WallTime};
use crate::zone::KeptZone;
use crate::zone_registry::{RegistryConfig, ZoneRegistry};

/// Everything a hub starts from; empty for a new one.
#[derive(Clone, Debug, Default)]
pub struct Recovered {
    /// The hub's own scope.
    pub hub: Opened,
    /// The scopes of sessions.
    pub sessions: Vec<(SessionId, Opened)>,
    /// The scopes of players.
    pub players: Vec<(PlayerId, Opened)>,
    /// Players of whom something was kept that is not readable any more. Nobody knows whether they are
    /// banned, so they are refused until they are banned or let in afresh.
    pub damaged_players: Vec<PlayerId>,
    /// The scopes of accounts.
    pub accounts: Vec<(AccountId, Opened)>,
    /// Sessions and zones are left out, because only players are looked after: nobody is let in.
    pub players_only: bool,
    /// The zones that have a scope, as their rows tell.
    pub zones: Vec<KeptZone>,
}

impl Recovered {
    /// The owner epoch of scopes of players and accounts that this process makes. A scope that is deleted
    /// and made again must take no batch that a former process has on its way to its first life. Every
    /// start opens the hub's scope and all of these, so none of them was owned by a higher epoch before.
    fn new_owner(&self) -> OwnerEpoch {
        let accounts = self.accounts.iter().map(|(_, opened)| opened.owner);
        let players = self.players.iter().map(|(_, opened)| opened.owner);
        accounts.chain(players).fold(self.hub.owner.max(OwnerEpoch(1)), Ord::max)
    }
}

impl Hub {
    /// Starts a hub. `seed` must come from a cryptographic source: tokens are drawn from it.
    /// Sessions that cannot be read are given back with the reason, and nothing of theirs is
    /// touched.
    #[must_use]
    pub fn open(
        now: Time,
        wall: WallTime,
        config: HubConfig,
        seed: [u8; 32],
        recovered: Recovered,
    ) -> (Self, Vec<(SessionId, String)>) {
        let row = recovered.hub.rows.iter().find(|(key, _)| key == HUB_ROW);
        let row = row.and_then(|(_, value)| HubRow::decode(value.clone()).ok()).unwrap_or_default();
        let new_owner = recovered.new_owner();
        let accounts = Accounts::open(recovered.accounts, new_owner, config.accounts_max);
        let zones = ZoneRegistry::new(RegistryConfig::from(&config));
        let rations = Rations::new(config.guard.addresses_max);
        let mut chance = Chance::from_seed(seed);
        let guest_key = row.guest_key[..].try_into().unwrap_or_else(|_| chance.bytes());
        let limits = GuestLimits { most: config.guests_max, unseen: config.guests_unseen };
        let players = Players::new(guest_key, new_owner, limits);
        let mut hub = Self {
            config,
            chance,
            connections: Default::default(),
            sessions: Default::default(),
            mail: Default::default(),
            players,
            zones,
            alarms: Alarms::new(now, WallTime(row.wall_ms)),
            commits: Commits::default(),
            ids: IdBlock::new(&recovered.hub, row.id_bound),
            out: Default::default(),
            recovering: true,
            going_down: false,
            counts: HubCounts::default(),
            rations,
            accounts,
            orders: Orders::default(),
            tellings: Tellings::new(recovered.hub.owner),
            players_only: recovered.players_only,
            went_back: false,
        };
        hub.alarms.advance(now, hub.config.stall);
        hub.out.extend(hub.alarms.set_wall(wall).map(HubOutput::Warn));
        let damaged = hub.sessions.load(recovered.sessions, hub.config.outbox);
        hub.players.load(recovered.players, recovered.damaged_players);
        hub.ids.reserve(hub.config.id_block, hub.alarms.moment().wall, hub.players.guest_key());
        let kept = recovered.zones.into_iter().chain(hub.zones_to_join()).collect();
        hub.zones.carry(&mut hub.out, |zones| zones.reopen_kept(kept));
        hub.with_sessions(hub.sessions.ids(), SessionCore::drive_again);
        hub.with_orders(|_, cx| Orders::bar_again(cx));
        hub.settle();
        (hub, damaged)
    }

    /// The zones that sessions were about to join: each was open or about to be. A Game's zone of which
    /// nothing is kept is not among them: opened again it would let in whoever comes.
    fn zones_to_join(&self) -> Vec<KeptZone> {
        let joining = self.sessions.values().filter_map(|session| match session.place() {
            Place::Joining(joining) if !session.seats().iter().any(Seating::is_open) => {
                Some(KeptZone { name: joining.name.clone(), seated: false })
            }
            Place::Joining(_) | Place::In(_) | Place::Lobby(_) => None,
        });
        joining.collect()
    }
}
