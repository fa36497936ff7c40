//! The line of a host that is a process of its own: a WebSocket at `/v1/hosts/line` that carries what
//! the process says to the directory, and what the directory orders back. It decides nothing. A line
//! that is gone is a host that is away; the next one begins with what the process still runs, and both
//! ends say again what had no answer. docs/HOSTS.md has every message.

mod word;

use std::time::Duration;

use axum::Extension;
use axum::extract::State;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::ws::{CloseFrame, Message, Utf8Bytes, WebSocket, WebSocketUpgrade};
use axum::response::Response;
use futures_util::stream::{FuturesUnordered, SplitSink, SplitStream};
use futures_util::{SinkExt, StreamExt};
use rejoin_core::id::GameId;
use rejoin_directory::host::{HostOrder, Presence};
use rejoin_directory::{Answer, Command, Refusal};
use serde_json::Value;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};

use self::word::{DirectoryWord, Hello, HostRequest, Unreadable};
use super::guard::ApiCaller;
use super::key::{ApiKey, Bucket};
use super::problem::{self, Problem};
use super::{Api, fleets, unexpected};
use crate::directory::{AskError, HostOrders};
use crate::websocket::bounded;

/// The largest message of a host: its log paths and the ids of all its Games fit.
const MESSAGE_BYTES_MAX: usize = 256 << 10;
/// What is read of one that is larger, so that its sender hears why the line ends: a socket that is closed
/// over unread bytes is reset.
const READ_BYTES_MAX: usize = 2 * MESSAGE_BYTES_MAX;
/// From the upgrade to the first message.
const HELLO_WITHIN: Duration = Duration::from_secs(10);
/// How long the host may take to read a message before it is disconnected.
const WRITE_WITHIN: Duration = Duration::from_secs(30);
/// How many heartbeats may pass without a sign of life.
const SILENT_BEATS: u32 = 3;
/// Questions of one host under way; more wait at its own end.
const ASKS_MAX: usize = 64;
/// How long the reader sleeps at a time while a host is over its rate of messages.
const REST: Duration = Duration::from_millis(2);
/// The status of a close whose reason is the code of a problem.
const CLOSE_PROBLEM: u16 = 4_000;

/// Why the connection of a host ends.
enum Over {
    /// The host is gone or does not read: nothing is sent any more.
    Gone,
    /// The host gets this problem as the last message.
    Why(Problem),
}

impl From<Problem> for Over {
    fn from(problem: Problem) -> Self {
        Self::Why(problem)
    }
}

impl From<AskError> for Over {
    fn from(error: AskError) -> Self {
        Self::Why(error.into())
    }
}

pub(super) async fn open(
    State(api): State<Api>,
    Extension(caller): Extension<ApiCaller>,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Result<Response, Problem> {
    let upgrade = upgrade.map_err(|_| {
        Problem::new(problem::NOT_A_WEBSOCKET, "hosts speak over a WebSocket; see docs/HOSTS.md")
    })?;
    let upgrade = bounded(upgrade, READ_BYTES_MAX, READ_BYTES_MAX);
    Ok(upgrade.on_upgrade(move |socket| serve(api, caller, socket)))
}

async fn serve(api: Api, caller: ApiCaller, socket: WebSocket) {
    let (sink, stream) = socket.split();
    let mut connection = HostConnection { api, caller, sink, stream, heard_at: Instant::now() };
    if let Err(Over::Why(problem)) = connection.run().await {
        connection.close(&problem).await;
    }
}

/// The WebSocket of one host's process.
struct HostConnection {
    api: Api,
    caller: ApiCaller,
    sink: SplitSink<WebSocket, Message>,
    stream: SplitStream<WebSocket>,
    heard_at: Instant,
}

impl HostConnection {
    async fn run(&mut self) -> Result<(), Over> {
        let hello = timeout(HELLO_WITHIN, self.next_text()).await;
        let hello = hello.map_err(|_| Problem::new(problem::BODY_TOO_SLOW, "say hello first"))?;
        let Hello { registration, process } = Hello::read(&hello?).map_err(bad_word)?;
        fleets::may_serve(&self.api, self.caller, &registration.fleet)?;
        let register = self.api.door.register(registration);
        let registered = timeout(self.api.config.answer_deadline, register).await;
        let (view, orders) = registered.map_err(|_| no_answer())??;
        self.say(&word::welcome(&view)).await?;
        self.carry(orders, process).await
    }

    /// Carries both ways until one end is gone.
    async fn carry(&mut self, mut orders: HostOrders, process: u64) -> Result<(), Over> {
        let speaker = (orders.host(), orders.lease());
        let mut asks = FuturesUnordered::new();
        let bucket = Bucket::default();
        let mut beats = interval(self.api.config.heartbeat);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let may_read = asks.len() < ASKS_MAX;
            tokio::select! {
                biased;
                order = orders.next() => match order {
                    Some(order) => self.order(&order).await?,
                    None => {
                        let detail = "another process speaks for the host, or the server stops";
                        return Err(Problem::new(problem::STOPPED, detail).into());
                    }
                },
                Some(answer) = asks.next(), if !asks.is_empty() => self.say(&answer?).await?,
                text = self.next_text(), if may_read => {
                    let text = text?;
                    while bucket.spend(self.api.server.0.clock.now().0, ApiKey::RATE_PER_S).is_err() {
                        tokio::time::sleep(REST).await;
                    }
                    match HostRequest::read(&text).map_err(bad_word)? {
                        HostRequest::Word(DirectoryWord::Plain(word)) => {
                            self.api.door.host_said(speaker.0, speaker.1, word).await?;
                        }
                        said => asks.push(answer(self.api.clone(), self.caller, speaker, process, said)),
                    }
                }
                _ = beats.tick() => self.beat().await?,
            }
        }
    }

    /// A sign of life, and a look whether there was one.
    async fn beat(&mut self) -> Result<(), Over> {
        if self.heard_at.elapsed() > self.api.config.heartbeat * SILENT_BEATS {
            return Err(Over::Gone);
        }
        self.send(Message::Ping(bytes::Bytes::new())).await
    }

    async fn order(&mut self, order: &HostOrder) -> Result<(), Over> {
        self.say(&word::order(order)).await?;
        match order {
            HostOrder::End(_) => Err(Problem::new(problem::HOST_ENDED, "the host is over").into()),
            HostOrder::Refused(refusal @ Refusal::StaleLease) => {
                Err(Problem::from(refusal.clone()).into())
            }
            _ => Ok(()),
        }
    }

    /// The next message that is a text. Can be dropped while it waits.
    async fn next_text(&mut self) -> Result<Utf8Bytes, Over> {
        loop {
            let message = self.stream.next().await;
            self.heard_at = Instant::now();
            match message {
                Some(Ok(Message::Text(text))) if text.len() > MESSAGE_BYTES_MAX => {
                    return Err(too_large().into());
                }
                Some(Ok(Message::Text(text))) => return Ok(text),
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                Some(Ok(Message::Binary(_))) => return Err(bad_word(Unreadable::binary()).into()),
                Some(Ok(Message::Close(_))) | None => return Err(Over::Gone),
                Some(Err(error)) => return Err(broken(&error)),
            }
        }
    }

    async fn say(&mut self, message: &Value) -> Result<(), Over> {
        self.send(Message::Text(message.to_string().into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Over> {
        match timeout(WRITE_WITHIN, self.sink.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Over::Gone),
        }
    }

    /// Sends the reason and closes the WebSocket; gives up if the host does not read.
    async fn close(&mut self, problem: &Problem) {
        let said = self.say(&word::bye(problem)).await;
        if said.is_ok() {
            let frame = CloseFrame { code: CLOSE_PROBLEM, reason: problem.code().into() };
            let _ = self.send(Message::Close(Some(frame))).await;
        }
    }
}

/// Answers one question of a host. An error is an end of the line.
async fn answer(
    api: Api,
    caller: ApiCaller,
    speaker: word::HostProcess,
    process: u64,
    said: HostRequest,
) -> Result<Value, Over> {
    let (ask, outcome) = match said {
        HostRequest::Word(DirectoryWord::Ready(word)) => {
            api.door.host_said(speaker.0, speaker.1, word).await?;
            return readied(&api, speaker).await;
        }
        // Words that wait for nothing were carried at once.
        HostRequest::Word(DirectoryWord::Plain(_)) => return Err(Over::Gone),
        HostRequest::Admit(ask, admit) => {
            let entry = admit.entry(process);
            let asked = api.door.admit(speaker, admit.game, admit.seat, admit.player, entry);
            (ask, asked.await.map_err(Problem::from))
        }
        HostRequest::Left(ask, game, seat) => {
            (ask, api.door.remove(speaker, game, seat).await.map_err(Problem::from))
        }
        HostRequest::Seats(ask, game) => {
            (ask, look(&api, caller, game, Command::ListSeats(game)).await)
        }
        HostRequest::Game(ask, game) => {
            (ask, look(&api, caller, game, Command::DescribeGame(game)).await)
        }
    };
    Ok(word::answer(ask, outcome, caller.role))
}

/// Looks at a Game, if the host's key may.
async fn look(
    api: &Api,
    caller: ApiCaller,
    game: GameId,
    asked: Command,
) -> Result<Answer, Problem> {
    fleets::may_see(api, caller, game).await?;
    api.ask(asked).await
}

/// Asks whether the directory takes the host as ready. A refusal goes to the host as an order.
async fn readied(api: &Api, (host, _): word::HostProcess) -> Result<Value, Over> {
    match api.ask(Command::DescribeHost(host)).await? {
        Answer::Host(view) => Ok(word::readied(view.presence == Presence::Present)),
        other => Err(unexpected(&other).into()),
    }
}

fn bad_word(why: Unreadable) -> Problem {
    Problem::new(problem::BAD_WORD, why.0)
}

fn no_answer() -> Problem {
    Problem::new(problem::NO_ANSWER, "the directory did not answer in time")
}

fn too_large() -> Problem {
    let detail = format!("a message has at most {MESSAGE_BYTES_MAX} bytes");
    Problem::new(problem::BODY_TOO_LARGE, detail)
}

/// What a fault of the WebSocket is.
fn broken(error: &axum::Error) -> Over {
    let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = source {
        if let Some(tungstenite::Error::Capacity(_)) = error.downcast_ref::<tungstenite::Error>() {
            return Over::Why(too_large());
        }
        source = error.source();
    }
    Over::Gone
}
