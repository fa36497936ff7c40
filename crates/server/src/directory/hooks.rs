//! The machine of a host that the server itself is, with the game's hooks, on a thread of its own: hooks
//! are game code and may take their time. One that panics has said no. One that hangs holds up the Games
//! of its kind only: the directory hears nothing more of them, warns, and ends them in the end.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc;

use rejoin_core::id::GameId;
use rejoin_directory::game::{GameSpec, GameView};
use rejoin_directory::{LocalHooks, LocalHost, LocalInput, LocalOutput};
use tokio::sync::oneshot;

use super::local::Stopped;

/// What is sent to the thread of the machine.
pub(super) enum ToMachine {
    /// Its process has registered; with the zones there are, and whether a match runs there.
    Begin { port: u16, games: Vec<(GameId, Option<bool>)> },
    /// Something to take.
    Input(LocalInput),
}

/// What follows from it, in order.
type Outputs = VecDeque<LocalOutput>;

/// The way to the thread. It ends with this.
pub(super) struct MachineThread(mpsc::Sender<(ToMachine, oneshot::Sender<Outputs>)>);

impl MachineThread {
    /// # Errors
    /// The system gives no thread.
    pub(super) fn start(
        kind: &str,
        hooks: Box<dyn LocalHooks>,
        closes_in_match: bool,
        capacity_max: u32,
    ) -> std::io::Result<Self> {
        let (sender, asked) = mpsc::channel::<(ToMachine, oneshot::Sender<Outputs>)>();
        let hooks = Guarded { kind: kind.to_owned(), hooks };
        let host = LocalHost::new(Box::new(hooks), closes_in_match);
        let mut host = host.with_capacity_max(capacity_max);
        let run = move || {
            while let Ok((asked, done)) = asked.recv() {
                match asked {
                    ToMachine::Begin { port, games } => host.begin(port, games),
                    ToMachine::Input(input) => host.handle(input),
                }
                // An error means that the host has ended.
                let _ = done.send(std::iter::from_fn(|| host.next_output()).collect());
            }
        };
        std::thread::Builder::new().name(format!("hooks-{kind}")).spawn(run)?;
        Ok(Self(sender))
    }

    /// Gives the machine something, and waits for as long as its hooks take.
    pub(super) async fn ask(&self, asked: ToMachine) -> Result<Outputs, Stopped> {
        let (sender, done) = oneshot::channel();
        self.0.send((asked, sender)).map_err(|_| Stopped)?;
        done.await.map_err(|_| Stopped)
    }
}

/// The game's hooks; a panic of one counts as a no and is logged.
struct Guarded {
    kind: String,
    hooks: Box<dyn LocalHooks>,
}

impl Guarded {
    fn call<T>(
        &mut self,
        hook: &'static str,
        otherwise: T,
        call: impl FnOnce(&mut dyn LocalHooks) -> T,
    ) -> T {
        let hooks = self.hooks.as_mut();
        catch_unwind(AssertUnwindSafe(|| call(hooks))).unwrap_or_else(|_| {
            let kind = &self.kind;
            tracing::error!(%kind, hook, "a hook of the game panicked, which is a no");
            otherwise
        })
    }
}

impl LocalHooks for Guarded {
    fn on_create_begin(&mut self, game: &GameView) -> bool {
        self.call("on_create_begin", false, |hooks| hooks.on_create_begin(game))
    }

    fn on_create_end(&mut self, game: GameId) {
        self.call("on_create_end", (), |hooks| hooks.on_create_end(game));
    }

    fn on_update_begin(&mut self, game: GameId, spec: &GameSpec) -> bool {
        self.call("on_update_begin", false, |hooks| hooks.on_update_begin(game, spec))
    }

    fn on_update_end(&mut self, game: GameId) {
        self.call("on_update_end", (), |hooks| hooks.on_update_end(game));
    }

    fn on_health_check(&mut self) -> bool {
        self.call("on_health_check", false, |hooks| hooks.on_health_check())
    }

    fn on_destroy_begin(&mut self, game: GameId) -> bool {
        self.call("on_destroy_begin", false, |hooks| hooks.on_destroy_begin(game))
    }

    fn on_destroy_end(&mut self, game: GameId) {
        self.call("on_destroy_end", (), |hooks| hooks.on_destroy_end(game));
    }
}
