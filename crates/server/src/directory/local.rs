//! The server's own hosts: one for each kind of zone that runs Games. A task around the machine in
//! `rejoin-directory`, which runs with the game's hooks on a thread of its own: the task registers,
//! carries orders to the machine and its words to the directory, and opens and ends zones. When its
//! channel of orders ends it registers again, with the zones that there are.

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer as HubAnswer, Command as HubCommand, Query, Reply, ZoneCommand};
use rejoin_core::id::ZoneId;
use rejoin_directory::catalogue::FleetSpec;
use rejoin_directory::host::{HostOrder, Registration};
use rejoin_directory::limits::{CAPACITY_MAX, PORT_MAX};
use rejoin_directory::{Agreeable, Answer, Command, LocalHooks, LocalInput, LocalOutput, Refusal};
use tokio::sync::mpsc::{UnboundedReceiver, WeakSender, unbounded_channel};
use tokio::sync::oneshot;

use super::channels::HostOrders;
use super::door::{AskError, DirectoryDoor};
use super::games::GamesHandle;
use super::hooks::{MachineThread, ToMachine};
use crate::mailbox::HubMail;
use crate::zones::ZoneInboxes;

/// How long to wait before a registration that was refused is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The name of a host that the server itself is, and of the place where it is.
const LOCAL: &str = "local";

/// How a kind of zone runs Games.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GamesConfig {
    /// Where players connect, as the directory tells them.
    pub address: String,
    /// And at which port. One above 60000 is reported as 60000: that is the highest a host can report.
    pub port: u16,
    /// How many Games run at a time, at most 1000.
    pub games_max: u32,
    /// New seats cannot be reserved while a match runs.
    pub closes_in_match: bool,
}

impl Default for GamesConfig {
    fn default() -> Self {
        let address = "localhost".to_owned();
        Self { address, port: 7400, games_max: 1_000, closes_in_match: false }
    }
}

/// The kinds of zone that run Games, and what the game says about them.
#[derive(Default)]
pub(crate) struct GameKinds {
    pub(crate) kinds: BTreeMap<String, GamesConfig>,
    pub(crate) hooks: BTreeMap<String, Box<dyn LocalHooks>>,
    /// How many members a zone of each kind takes: no Game has more seats.
    pub(crate) members_max: BTreeMap<String, usize>,
}

/// Starts a host for each of these kinds, and gives the hub's way to the directory and to them. Without
/// a directory there are none.
///
/// # Errors
/// There are hooks for a kind that runs no Games, or there is no thread for them.
pub(crate) fn start_hosts(
    games: GameKinds,
    directory: Option<&DirectoryDoor>,
    hub: &WeakSender<HubMail>,
    zones: &ZoneInboxes,
) -> Result<GamesHandle, String> {
    let GameKinds { kinds, mut hooks, members_max } = games;
    if let Some(kind) = hooks.keys().find(|kind| !kinds.contains_key(*kind)) {
        return Err(format!("there are hooks for Games of the kind {kind:?}, which runs none"));
    }
    let mut games = GamesHandle { directory: directory.cloned(), hosts: BTreeMap::new() };
    let Some(directory) = directory else { return Ok(games) };
    for (kind, config) in kinds {
        let (news, heard) = unbounded_channel();
        games.hosts.insert(kind.clone(), news);
        let hooks = hooks.remove(&kind).unwrap_or_else(|| Box::new(Agreeable));
        let members_max = members_max.get(&kind).copied().unwrap_or(usize::MAX);
        let capacity_max = u32::try_from(members_max).unwrap_or(u32::MAX).min(CAPACITY_MAX);
        let machine = MachineThread::start(&kind, hooks, config.closes_in_match, capacity_max);
        let machine = machine.map_err(|error| error.to_string())?;
        let (hub, zones, directory) = (hub.clone(), zones.clone(), directory.clone());
        let task = Task { kind, config, capacity_max, directory, hub, zones, machine };
        tokio::spawn(task.run(heard));
    }
    Ok(games)
}

struct Task {
    kind: String,
    config: GamesConfig,
    /// The most seats that a Game of this kind may have.
    capacity_max: u32,
    directory: DirectoryDoor,
    /// Weak: a host does not keep its server alive.
    hub: WeakSender<HubMail>,
    zones: ZoneInboxes,
    machine: MachineThread,
}

/// The server has stopped.
pub(super) struct Stopped;

impl Task {
    async fn run(self, mut heard: UnboundedReceiver<LocalInput>) {
        while !heard.is_closed() {
            match self.register().await {
                Ok(orders) => {
                    if self.host(orders, &mut heard).await.is_err() {
                        return;
                    }
                }
                Err(AskError::Stopped) => return,
                Err(why) => {
                    let kind = &self.kind;
                    tracing::error!(%kind, %why, "games of this kind cannot be hosted yet");
                }
            }
            tokio::time::sleep(AGAIN_AFTER).await;
        }
    }

    async fn register(&self) -> Result<HostOrders, AskError> {
        self.put_fleet().await?;
        let registration = Registration {
            fleet: self.kind.clone(),
            name: LOCAL.to_owned(),
            location: LOCAL.to_owned(),
            address: self.config.address.clone(),
            games_max: self.config.games_max,
            is_reusable: true,
        };
        match self.directory.register_own(registration, self.capacity_max).await {
            Ok(orders) => Ok(orders),
            // It has ended, and is forgotten in a moment.
            Err(AskError::Refused(Refusal::HostEnded)) => Err(AskError::Busy),
            Err(why) => Err(why),
        }
    }

    /// The fleet of this kind, with whatever else an operator made of it.
    async fn put_fleet(&self) -> Result<(), AskError> {
        let known = match self.directory.ask(Command::ListCatalogue).await? {
            Answer::Catalogue(fleets, _) => fleets.into_iter().find(|it| it.name == self.kind),
            _ => None,
        };
        let name = self.kind.clone();
        let mut fleet = known.unwrap_or_else(|| FleetSpec { name, ..FleetSpec::default() });
        if fleet.locations.iter().any(|location| location == LOCAL) {
            return Ok(());
        }
        fleet.locations.push(LOCAL.to_owned());
        self.directory.ask(Command::PutFleet(fleet)).await.map(drop)
    }

    /// Carries orders and words until the channel of orders ends.
    async fn host(
        &self,
        mut orders: HostOrders,
        heard: &mut UnboundedReceiver<LocalInput>,
    ) -> Result<(), Stopped> {
        let games = match self.query(Query::Games { kind: self.kind.clone() }).await? {
            Reply::Games(games) => games,
            other => {
                rejoin_core::never!("another query was answered: {other:?}");
                return Err(Stopped);
            }
        };
        let port = self.config.port.clamp(1, PORT_MAX);
        let mut outputs = self.machine.ask(ToMachine::Begin { port, games }).await?;
        loop {
            while let Some(output) = outputs.pop_front() {
                if let Some(input) = self.carry(&orders, output).await? {
                    outputs.extend(self.machine.ask(ToMachine::Input(input)).await?);
                }
            }
            let input = tokio::select! {
                order = orders.next() => match order {
                    Some(order) => {
                        self.note(&order);
                        // It registers again, so that its fleet is not left without a host.
                        if matches!(order, HostOrder::End(_)) {
                            return Ok(());
                        }
                        LocalInput::Order(order)
                    }
                    None => return Ok(()),
                },
                input = heard.recv() => input.ok_or(Stopped)?,
            };
            outputs = self.machine.ask(ToMachine::Input(input)).await?;
        }
    }

    /// Carries out one output; given back is what followed at once.
    async fn carry(
        &self,
        orders: &HostOrders,
        output: LocalOutput,
    ) -> Result<Option<LocalInput>, Stopped> {
        match output {
            LocalOutput::Say(word) => {
                let said = self.directory.host_said(orders.host(), orders.lease(), word).await;
                said.map_err(|_| Stopped)?;
                Ok(None)
            }
            LocalOutput::Open(game) => {
                let name = ZoneName::new(self.kind.clone(), game.to_string());
                Ok(match self.command(HubCommand::Zone(ZoneCommand::OpenGame(name))).await? {
                    HubAnswer::Refused(code) => {
                        let why = format!("no zone can be opened for it: {code:?}");
                        Some(LocalInput::ZoneRefused(game, why))
                    }
                    _ => None,
                })
            }
            LocalOutput::End(game) => {
                let zone = ZoneId::of(&self.kind, &game.to_string());
                Ok(match self.command(HubCommand::Zone(ZoneCommand::End(zone))).await? {
                    HubAnswer::Unknown => Some(LocalInput::ZoneEnded(game)),
                    _ => None,
                })
            }
            LocalOutput::Look => Ok(Some(LocalInput::Health(self.zones.are_open()))),
        }
    }

    fn note(&self, order: &HostOrder) {
        let kind = &self.kind;
        match order {
            HostOrder::Warn { ends_in } => {
                let seconds = ends_in.as_secs();
                tracing::warn!(%kind, seconds, "zones do not answer; their games end in so long");
            }
            HostOrder::Refused(why) => tracing::warn!(%kind, %why, "the directory refused a word"),
            HostOrder::RefusedWord { word, game, why } => {
                tracing::warn!(%kind, word, %game, %why, "the directory refused a word");
            }
            HostOrder::End(end) => {
                let why = end.name();
                tracing::warn!(%kind, why, "the games of this kind have ended; the host registers again");
            }
            _ => {}
        }
    }

    async fn command(&self, command: HubCommand) -> Result<HubAnswer, Stopped> {
        let (sender, answer) = oneshot::channel();
        self.send(HubMail::Command(command, sender)).await?;
        answer.await.map_err(|_| Stopped)
    }

    async fn query(&self, query: Query) -> Result<Reply, Stopped> {
        let (sender, answer) = oneshot::channel();
        self.send(HubMail::Query(query, sender)).await?;
        answer.await.map_err(|_| Stopped)
    }

    async fn send(&self, mail: HubMail) -> Result<(), Stopped> {
        let hub = self.hub.upgrade().ok_or(Stopped)?;
        hub.send(mail).await.map_err(|_| Stopped)
    }
}
