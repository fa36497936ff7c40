//! The server's own hosts: one for each kind of zone that runs Games. A task around the machine in
//! `rejoin-directory`: it registers, carries orders to the machine and its words to the directory, and
//! opens and ends zones. When its line is cut it registers again, with the zones that there are.

use std::collections::BTreeMap;
use std::time::Duration;

use rejoin_core::exchange::ZoneName;
use rejoin_core::hub::{Answer as HubAnswer, Command as HubCommand, Hub};
use rejoin_core::id::{GameId, ZoneId};
use rejoin_directory::catalogue::FleetSpec;
use rejoin_directory::host::{HostOrder, Registration};
use rejoin_directory::limits::PORT_MAX;
use rejoin_directory::{Agreeable, Answer, Command, LocalHost, LocalInput, LocalOutput, Refusal};
use tokio::sync::mpsc::{UnboundedReceiver, WeakSender, unbounded_channel};
use tokio::sync::oneshot;

use super::door::{AskError, DirectoryDoor};
use super::games::GamesDoor;
use super::lines::HostOrders;
use crate::mailbox::Mail;
use crate::zones::ZoneDoors;

/// How long to wait before a registration that was refused is tried again.
const AGAIN_AFTER: Duration = Duration::from_secs(1);
/// The name of a host that the server itself is, and of the place where it is.
const LOCAL: &str = "local";

/// How a kind of zone runs Games.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GamesConfig {
    /// Where players connect, as the directory tells them.
    pub address: String,
    /// And at which port. One above 60000 is told as 60000: that is the highest a host can say.
    pub port: u16,
    /// How many Games run at a time, at most 1000.
    pub games_max: u32,
    /// Nobody new can reserve a seat while a match runs.
    pub closes_in_match: bool,
}

impl Default for GamesConfig {
    fn default() -> Self {
        let address = "localhost".to_owned();
        Self { address, port: 7400, games_max: 1_000, closes_in_match: false }
    }
}

/// The hosts that a server is to be.
#[derive(Default)]
pub(crate) struct LocalHosts(Vec<(String, GamesConfig, UnboundedReceiver<LocalInput>)>);

impl LocalHosts {
    /// The hub's way to the directory and to hosts of these kinds. Without a directory there are none.
    pub(crate) fn new(
        kinds: BTreeMap<String, GamesConfig>,
        directory: Option<&DirectoryDoor>,
    ) -> (Self, GamesDoor) {
        let mut door = GamesDoor { directory: directory.cloned(), hosts: BTreeMap::new() };
        let mut hosts = Self::default();
        if directory.is_some() {
            for (kind, config) in kinds {
                let (news, heard) = unbounded_channel();
                door.hosts.insert(kind.clone(), news);
                hosts.0.push((kind, config, heard));
            }
        }
        (hosts, door)
    }

    /// Starts a task for each.
    pub(crate) fn start(
        self,
        directory: Option<&DirectoryDoor>,
        hub: &WeakSender<Mail>,
        zones: &ZoneDoors,
    ) {
        let Some(directory) = directory else { return };
        for (kind, config, heard) in self.0 {
            let (hub, zones) = (hub.clone(), zones.clone());
            let task = Task { kind, config, directory: directory.clone(), hub, zones };
            tokio::spawn(task.run(heard));
        }
    }
}

struct Task {
    kind: String,
    config: GamesConfig,
    directory: DirectoryDoor,
    /// Weak: a host does not keep its server alive.
    hub: WeakSender<Mail>,
    zones: ZoneDoors,
}

/// The server has stopped.
struct Stopped;

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
        match self.directory.register(registration).await {
            Ok((_, orders)) => Ok(orders),
            // It was emptied, and is forgotten in a moment.
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

    /// Until the line is cut.
    async fn host(
        &self,
        mut orders: HostOrders,
        heard: &mut UnboundedReceiver<LocalInput>,
    ) -> Result<(), Stopped> {
        let kind = self.kind.clone();
        let games = self.ask(move |hub| {
            let ours = hub.games().filter(|(_, name)| name.kind == kind);
            ours.map(|(game, _)| game).collect::<Vec<GameId>>()
        });
        let games = games.await?;
        let port = self.config.port.clamp(1, PORT_MAX);
        let closes = self.config.closes_in_match;
        let mut host = LocalHost::start(Box::new(Agreeable), closes, port, games);
        loop {
            while let Some(output) = host.next_output() {
                if let Some(input) = self.carry(&orders, output).await? {
                    host.handle(input);
                }
            }
            tokio::select! {
                order = orders.next() => match order {
                    Some(order) => {
                        self.note(&order);
                        host.handle(LocalInput::Order(order));
                    }
                    None => return Ok(()),
                },
                input = heard.recv() => host.handle(input.ok_or(Stopped)?),
            }
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
                Ok(match self.command(HubCommand::OpenGame(name)).await? {
                    HubAnswer::Refused(code) => {
                        let why = format!("no zone can be opened for it: {code:?}");
                        Some(LocalInput::ZoneRefused(game, why))
                    }
                    _ => None,
                })
            }
            LocalOutput::End(game) => {
                let zone = ZoneId::of(&self.kind, &game.to_string());
                Ok(match self.command(HubCommand::EndZone(zone)).await? {
                    HubAnswer::Unknown => Some(LocalInput::ZoneEnded(game)),
                    _ => None,
                })
            }
            LocalOutput::Look => Ok(Some(LocalInput::Health(self.zones.are_open()))),
            LocalOutput::Ask(command) => {
                // Nobody waits for it; an error means that the Game is not what it was.
                let _ = self.directory.begin(*command);
                Ok(None)
            }
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
            HostOrder::End(end) => {
                tracing::info!(%kind, why = end.name(), "no more games of this kind are hosted");
            }
            _ => {}
        }
    }

    async fn command(&self, command: HubCommand) -> Result<HubAnswer, Stopped> {
        let (sender, answer) = oneshot::channel();
        self.send(Mail::Command(command, sender)).await?;
        answer.await.map_err(|_| Stopped)
    }

    async fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&Hub) -> T + Send + 'static,
    ) -> Result<T, Stopped> {
        let (sender, answer) = oneshot::channel();
        let ask = Mail::Ask(Box::new(move |hub, _| drop(sender.send(question(hub)))));
        self.send(ask).await?;
        answer.await.map_err(|_| Stopped)
    }

    async fn send(&self, mail: Mail) -> Result<(), Stopped> {
        let hub = self.hub.upgrade().ok_or(Stopped)?;
        hub.send(mail).await.map_err(|_| Stopped)
    }
}
