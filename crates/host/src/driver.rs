//! The task around the machine: it dials and comes back after every loss, carries words and hooks, and
//! gives answers to whoever waits. It decides nothing.

use std::collections::BTreeMap;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use rejoin_client::driver::Endpoint;
use rejoin_core::id::{GameId, SeatId};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{Instant, MissedTickBehavior, interval, sleep_until};
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::error::{AdmitError, HostEnd};
use crate::game::Seat;
use crate::hooks::Hooks;
use crate::line::{Gone, Line, NoLine};
use crate::machine::{Hook, Hooked, Input, Machine, Output};
use crate::message::{Heard, Registration};

/// Between two attempts: from this, doubled, with chance.
const AGAIN_FROM: Duration = Duration::from_millis(100);
const AGAIN_MAX: Duration = Duration::from_secs(5);
/// How often those are looked for who do not wait any more.
const TICK: Duration = Duration::from_millis(250);

/// What the game wants.
pub(crate) enum Command {
    Ready { port: u16, log_paths: Vec<String> },
    Admit { game: GameId, seat: SeatId, player: Option<String>, reply: Reply },
    Seats { game: GameId, reply: Reply },
    Left { game: GameId, seat: SeatId },
    GameOver(GameId),
    Ending,
}

/// Where an answer goes.
pub(crate) type Reply = oneshot::Sender<Result<Vec<Seat>, AdmitError>>;

/// What everybody may know.
#[derive(Clone, Debug, Default)]
pub(crate) struct Known {
    /// The directory knows that the host is ready; it may be away by now.
    pub is_ready: bool,
    pub end: Option<HostEnd>,
}

/// Who waits, and for whom a seat was asked.
struct Waiting {
    reply: Reply,
    seat: Option<(GameId, SeatId)>,
}

/// How far the way to the server is.
enum Way {
    /// Nothing until then.
    Resting(Instant),
    Dialling(Pin<Box<dyn Future<Output = Result<Line, NoLine>> + Send>>),
    Open(Box<Line>),
}

/// What came of it.
enum News {
    Rested,
    Dialled(Result<Box<Line>, NoLine>),
    Text(String),
    Gone,
}

pub(crate) struct Task {
    machine: Machine,
    about: Registration,
    endpoint: Endpoint,
    key: HeaderValue,
    way: Way,
    attempt: u32,
    waiting: BTreeMap<u64, Waiting>,
    last_ticket: u64,
    hooks: Arc<dyn Hooks>,
    /// To the thread of the hooks.
    calls: std::sync::mpsc::Sender<Hook>,
    hooked: mpsc::UnboundedSender<Hooked>,
    is_checking: bool,
    known: watch::Sender<Known>,
}

/// Starts the task and the thread of the hooks.
///
/// # Errors
/// The thread cannot be started.
pub(crate) fn start(
    machine: Machine,
    about: Registration,
    (endpoint, key): (Endpoint, HeaderValue),
    hooks: Arc<dyn Hooks>,
    commands: mpsc::Receiver<Command>,
) -> std::io::Result<watch::Receiver<Known>> {
    let (calls, called) = std::sync::mpsc::channel();
    let (hooked, said) = mpsc::unbounded_channel();
    let (theirs, results) = (hooks.clone(), hooked.clone());
    std::thread::Builder::new().name("rejoin-hooks".to_owned()).spawn(move || {
        for hook in called {
            if let Some(said) = call(&*theirs, hook) {
                // An error means that the host is gone.
                let _ = results.send(said);
            }
        }
    })?;
    let (known, seen) = watch::channel(Known::default());
    let task = Task {
        machine,
        about,
        endpoint,
        key,
        way: Way::Resting(Instant::now()),
        attempt: 0,
        waiting: BTreeMap::new(),
        last_ticket: 0,
        hooks,
        calls,
        hooked,
        is_checking: false,
        known,
    };
    tokio::spawn(task.run(commands, said));
    Ok(seen)
}

/// Calls a hook. One that panics has said no.
fn call(hooks: &dyn Hooks, hook: Hook) -> Option<Hooked> {
    let asked = |what: &dyn Fn() -> bool| catch_unwind(AssertUnwindSafe(what)).unwrap_or(false);
    let told = |what: &dyn Fn()| drop(catch_unwind(AssertUnwindSafe(what)));
    match hook {
        Hook::CreateBegin(game) => {
            return Some(Hooked::Created(game.id, asked(&|| hooks.on_create_begin(&game))));
        }
        Hook::UpdateBegin(game, number) => {
            let is_yes = asked(&|| hooks.on_update_begin(&game));
            return Some(Hooked::Updated(game.id, number, is_yes));
        }
        Hook::DestroyBegin { game, limit, may_refuse } => {
            let is_yes = asked(&|| hooks.on_destroy_begin(game, limit, may_refuse));
            return Some(Hooked::Destroying(game, is_yes));
        }
        Hook::Health => return Some(Hooked::Healthy(asked(&|| hooks.on_health_check()))),
        Hook::CreateEnd(game) => told(&|| hooks.on_create_end(game)),
        Hook::UpdateEnd(game) => told(&|| hooks.on_update_end(&game)),
        Hook::DestroyEnd(game) => told(&|| hooks.on_destroy_end(game)),
        Hook::Line(is_there) => told(&|| hooks.on_line(is_there)),
        Hook::Warning(ends_in) => told(&|| hooks.on_warning(ends_in)),
    }
    None
}

impl Task {
    async fn run(
        mut self,
        mut commands: mpsc::Receiver<Command>,
        mut said: mpsc::UnboundedReceiver<Hooked>,
    ) {
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while self.known.borrow().end.is_none() {
            tokio::select! {
                command = commands.recv() => match command {
                    Some(command) => self.command(command),
                    None => self.machine.end(HostEnd::Dropped),
                },
                Some(hooked) = said.recv() => {
                    self.is_checking &= !matches!(hooked, Hooked::Healthy(_));
                    self.machine.handle(Input::Hooked(hooked));
                }
                _ = ticks.tick() => {
                    self.give_up();
                    self.machine.handle(Input::Tick);
                }
                news = news(&mut self.way) => {
                    // Before anything is asked again on a new line.
                    self.give_up();
                    self.heed(news);
                }
            }
            self.carry_out().await;
        }
        if let Way::Open(line) = self.way {
            line.close().await;
        }
    }

    fn command(&mut self, command: Command) {
        let input = match command {
            Command::Ready { port, log_paths } => Input::Ready { port, log_paths },
            Command::Admit { game, seat, player, reply } => {
                let ticket = self.wait(reply, Some((game, seat)));
                Input::Admit { ticket, game, seat, player }
            }
            Command::Seats { game, reply } => Input::Seats { ticket: self.wait(reply, None), game },
            Command::Left { game, seat } => Input::Left { game, seat },
            Command::GameOver(game) => Input::GameOver(game),
            Command::Ending => Input::Ending,
        };
        self.machine.handle(input);
    }

    fn wait(&mut self, reply: Reply, seat: Option<(GameId, SeatId)>) -> u64 {
        self.last_ticket += 1;
        self.waiting.insert(self.last_ticket, Waiting { reply, seat });
        self.last_ticket
    }

    /// Whoever asked and does not wait any more has given up.
    fn give_up(&mut self) {
        let gone = self.waiting.iter().filter(|(_, waiting)| waiting.reply.is_closed());
        for ticket in gone.map(|(ticket, _)| *ticket).collect::<Vec<_>>() {
            self.waiting.remove(&ticket);
            self.machine.handle(Input::GiveUp(ticket));
        }
    }

    fn heed(&mut self, news: News) {
        match news {
            News::Rested => {
                self.way =
                    Way::Dialling(Box::pin(Line::open(self.endpoint.clone(), self.key.clone())));
            }
            News::Dialled(Ok(line)) => {
                self.way = Way::Open(line);
                self.machine.handle(Input::Opened);
            }
            News::Dialled(Err(NoLine::Later)) => self.rest(),
            News::Dialled(Err(NoLine::Never(end))) => self.machine.end(end),
            News::Text(text) => {
                if let Some(heard) = Heard::read(&text) {
                    self.machine.handle(Input::Heard(heard));
                }
            }
            News::Gone => {
                self.machine.handle(Input::Lost);
                self.rest();
            }
        }
    }

    /// Waits before the next attempt: the longer the more there were, and never all at once.
    fn rest(&mut self) {
        let doubled = AGAIN_FROM.saturating_mul(1 << self.attempt.min(16)).min(AGAIN_MAX);
        self.attempt = self.attempt.saturating_add(1);
        let share = f64::from(getrandom::u32().unwrap_or(u32::MAX / 2)) / f64::from(u32::MAX);
        self.way = Way::Resting(Instant::now() + doubled.mul_f64(share));
    }

    async fn carry_out(&mut self) {
        while let Some(output) = self.machine.next_output() {
            match output {
                Output::Say(word) => {
                    let text = word.text(&self.about);
                    let Way::Open(line) = &mut self.way else { continue };
                    if line.say(text).await.is_err() {
                        self.heed(News::Gone);
                    }
                }
                Output::Hook(Hook::Health) => self.check_health(),
                // An error means that the thread is gone, and with it the process.
                Output::Hook(hook) => drop(self.calls.send(hook)),
                Output::Answer(ticket, outcome) => self.answer(ticket, outcome),
                Output::Readied => {
                    self.attempt = 0;
                    self.known.send_modify(|known| known.is_ready = true);
                }
                Output::Redial => {
                    if let Way::Open(line) =
                        std::mem::replace(&mut self.way, Way::Resting(Instant::now()))
                    {
                        line.close().await;
                    }
                    self.heed(News::Gone);
                }
                Output::Over(end) => self.known.send_modify(|known| known.end = Some(end)),
            }
        }
    }

    fn answer(&mut self, ticket: u64, outcome: Result<Vec<Seat>, AdmitError>) {
        let Some(waiting) = self.waiting.remove(&ticket) else { return };
        let is_in = outcome.is_ok();
        if waiting.reply.send(outcome).is_err()
            && let Some((game, seat)) = waiting.seat.filter(|_| is_in)
        {
            // Let in, and gone before it was told.
            self.machine.handle(Input::Left { game, seat });
        }
    }

    /// On a thread of its own: a hook that prepares a Game may take long, and all is well meanwhile.
    fn check_health(&mut self) {
        if std::mem::replace(&mut self.is_checking, true) {
            return;
        }
        let (hooks, hooked) = (self.hooks.clone(), self.hooked.clone());
        tokio::task::spawn_blocking(move || {
            if let Some(said) = call(&*hooks, Hook::Health) {
                let _ = hooked.send(said);
            }
        });
    }
}

/// What becomes of the way to the server. Can be dropped while it waits.
async fn news(way: &mut Way) -> News {
    match way {
        Way::Resting(until) => {
            sleep_until(*until).await;
            News::Rested
        }
        Way::Dialling(dialling) => News::Dialled(dialling.await.map(Box::new)),
        Way::Open(line) => match line.next().await {
            Ok(text) => News::Text(text),
            Err(Gone) => News::Gone,
        },
    }
}
