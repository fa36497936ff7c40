//! The game's end of a host: how it is made, and what it can be asked.

use std::sync::Arc;
use std::time::Duration;

use rejoin_client::driver::Endpoint;
use rejoin_core::id::{GameId, SeatId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::driver::{self, Command, Known, Reply};
use crate::error::{AdmitError, HostEnd, HostError};
use crate::game::Seat;
use crate::hooks::Hooks;
use crate::machine::Machine;
use crate::message::Registration;

/// Commands that wait for the task; whoever gives more waits with them.
const COMMANDS_MAX: usize = 256;

/// How a host is made. What is not said: it has room for one Game and can run another after it, its name
/// is `host`, and players find it at `127.0.0.1`.
pub struct Builder {
    endpoint: String,
    key: String,
    roots: Vec<String>,
    about: Registration,
    hooks: Option<Arc<dyn Hooks>>,
    running: Vec<GameId>,
    patience: Duration,
}

impl std::fmt::Debug for Builder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("Builder");
        shown.field("endpoint", &self.endpoint).field("about", &self.about).finish_non_exhaustive()
    }
}

impl Builder {
    /// Another address of the server.
    #[must_use]
    pub fn endpoint(mut self, endpoint: impl Into<String>) -> Self {
        self.endpoint = endpoint.into();
        self
    }

    /// The fleet it belongs to, which must be there.
    #[must_use]
    pub fn fleet(mut self, name: impl Into<String>) -> Self {
        self.about.fleet = name.into();
        self
    }

    /// Its name in the fleet. Whoever registers the same name later takes over, so that a process that
    /// is started anew finds its Games again; two that run side by side need two names.
    #[must_use]
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.about.name = name.into();
        self
    }

    /// Where it is; one of the fleet's locations.
    #[must_use]
    pub fn location(mut self, name: impl Into<String>) -> Self {
        self.about.location = name.into();
        self
    }

    /// Where players find it.
    #[must_use]
    pub fn address(mut self, address: impl Into<String>) -> Self {
        self.about.address = address.into();
        self
    }

    /// How many Games it runs at a time.
    #[must_use]
    pub fn games_max(mut self, count: u32) -> Self {
        self.about.games_max = count;
        self
    }

    /// It ends with its first Game.
    #[must_use]
    pub fn for_one_game(mut self) -> Self {
        self.about.is_reusable = false;
        self
    }

    /// What the game says to the life of its Games.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks) -> Self {
        self.hooks = Some(Arc::new(hooks));
        self
    }

    /// The Games that this process has restored from one before it. Those that the directory still wants
    /// are its own again; the others it is told to drop.
    #[must_use]
    pub fn running(mut self, games: impl IntoIterator<Item = GameId>) -> Self {
        self.running = games.into_iter().collect();
        self
    }

    /// How long a question about a seat waits for its answer, through lost lines too; 10 s.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// One more root, as PEM, that the certificate of an `https://` server must lead to.
    #[must_use]
    pub fn root(mut self, pem: impl Into<String>) -> Self {
        self.roots.push(pem.into());
        self
    }

    /// Starts the host on this runtime. It registers by itself, and takes Games once it is
    /// [`ready`](Host::ready).
    ///
    /// # Errors
    /// The address or the key cannot be used.
    pub fn start(self) -> Result<Host, HostError> {
        let endpoint = Endpoint::new(&self.endpoint, &self.roots).map_err(HostError::Endpoint)?;
        let key = HeaderValue::from_str(&format!("Bearer {}", self.key));
        let mut key = key.map_err(|_| HostError::Key)?;
        key.set_sensitive(true);
        let mut about = self.about;
        about.process =
            getrandom::u64().map_err(|error| HostError::System(std::io::Error::other(error)))?;
        let (commands, waiting) = mpsc::channel(COMMANDS_MAX);
        let has_hooks = self.hooks.is_some();
        let hooks = self.hooks.unwrap_or_else(|| Arc::new(Silent));
        let machine = Machine::new(self.running);
        let known = driver::start(machine, about, (endpoint, key), hooks, waiting)
            .map_err(HostError::System)?;
        Ok(Host { commands, known, has_hooks, patience: self.patience })
    }
}

/// Stands in while there are no hooks: nothing is asked before it is ready.
struct Silent;

impl Hooks for Silent {
    fn on_create_begin(&self, _: &crate::game::Game) -> bool {
        false
    }
}

/// A host. Clones are the same one; when all are dropped it is away.
#[derive(Clone, Debug)]
pub struct Host {
    commands: mpsc::Sender<Command>,
    known: watch::Receiver<Known>,
    has_hooks: bool,
    patience: Duration,
}

impl Host {
    /// A host of the server at `http://host:port` or `https://host:port`, with an API key whose role is
    /// `host`.
    #[must_use]
    pub fn builder(endpoint: impl Into<String>, key: impl Into<String>) -> Builder {
        Builder {
            endpoint: endpoint.into(),
            key: key.into(),
            roots: Vec::new(),
            about: Registration {
                fleet: String::new(),
                name: "host".to_owned(),
                location: String::new(),
                address: "127.0.0.1".to_owned(),
                games_max: 1,
                is_reusable: true,
                process: 0,
            },
            hooks: None,
            running: Vec::new(),
            patience: Duration::from_secs(10),
        }
    }

    /// Says that it can take Games: players reach it at this port, and its logs are there. Ends when the
    /// directory knows; until then it is tried again and again.
    ///
    /// # Errors
    /// The hooks are not set, or the host is over: refused, for one.
    pub async fn ready(&self, port: u16, log_paths: &[&str]) -> Result<(), HostError> {
        if !self.has_hooks {
            return Err(HostError::HooksNotSet);
        }
        if self.known.borrow().is_ready {
            return Err(HostError::ReadyTwice);
        }
        let log_paths = log_paths.iter().map(|path| (*path).to_owned()).collect();
        self.tell(Command::Ready { port, log_paths }).await;
        let mut known = self.known.clone();
        let found = known.wait_for(|known| known.is_ready || known.end.is_some()).await;
        match found.map(|known| known.end.clone()) {
            Ok(None) => Ok(()),
            Ok(Some(end)) => Err(HostError::Over(end)),
            Err(_) => Err(HostError::Over(HostEnd::Dropped)),
        }
    }

    /// May somebody with this ticket come into the Game? `player` is who it says to be, and must be the
    /// seat's; pass none only where the game does not name its players. Any error means no, and concerns
    /// nobody but whoever asked.
    ///
    /// A seat is let in once: after it [`left`](Self::left), or while somebody is in, it is refused. A
    /// process that was started anew lets in again whom the one before it had.
    ///
    /// # Errors
    /// The reason for which the player must be kept out: the ticket, its seat, the Game, the end of the host,
    /// or no answer in time.
    pub async fn admit(
        &self,
        game: GameId,
        ticket: &str,
        player: Option<&str>,
    ) -> Result<Seat, AdmitError> {
        let seat = SeatId::from_hex(ticket).ok_or(AdmitError::NotATicket)?;
        let player = player.map(str::to_owned);
        let seats = self.ask(|reply| Command::Admit { game, seat, player, reply }).await?;
        seats.into_iter().next().ok_or(AdmitError::NoSuchSeat)
    }

    /// The seats of a Game, in the order of their reservation: how a process that was started anew learns
    /// who is in.
    ///
    /// # Errors
    /// The directory cannot be asked, or does not know the Game.
    pub async fn seats(&self, game: GameId) -> Result<Vec<Seat>, AdmitError> {
        self.ask(|reply| Command::Seats { game, reply }).await
    }

    /// Whoever had this seat is gone for good. The directory hears of it, now or when it can be reached;
    /// a drop after which a player may come back is nothing to tell.
    pub async fn left(&self, seat: &Seat) {
        self.tell(Command::Left { game: seat.game, seat: seat.id }).await;
    }

    /// A Game has ended here. The directory hears of it, now or when it can be reached, and then the hook
    /// `on_destroy_end` is told.
    pub async fn game_over(&self, game: GameId) {
        self.tell(Command::GameOver(game)).await;
    }

    /// Ends the host with all of its Games; ends when the directory knows.
    pub async fn end(&self) -> HostEnd {
        self.tell(Command::Ending).await;
        self.ended().await
    }

    /// Waits until the host is over, and says why.
    pub async fn ended(&self) -> HostEnd {
        let mut known = self.known.clone();
        let found = known.wait_for(|known| known.end.is_some()).await;
        found.ok().and_then(|known| known.end.clone()).unwrap_or(HostEnd::Dropped)
    }

    async fn tell(&self, command: Command) {
        // An error means that the host is over, which everybody is told who asks.
        let _ = self.commands.send(command).await;
    }

    async fn ask(&self, command: impl FnOnce(Reply) -> Command) -> Result<Vec<Seat>, AdmitError> {
        let (reply, answer) = oneshot::channel();
        self.tell(command(reply)).await;
        match tokio::time::timeout(self.patience, answer).await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => {
                let end = self.known.borrow().end.clone();
                Err(AdmitError::Over(end.unwrap_or(HostEnd::Dropped)))
            }
            Err(_) => Err(AdmitError::Unreachable),
        }
    }
}
