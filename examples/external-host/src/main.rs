//! A game server of its own: players connect by TCP, show their ticket, and add to a sum that all of
//! them hear. It is a host of Rejoin's directory, which sends it Games and players:
//!
//! `external-host SERVER FLEET NAME FOLDER [LISTEN]`, with the key of a host in `REJOIN_HOST_KEY`.
//!
//! A player says `join GAME TICKET PLAYER`, then numbers, and `leave` at last; a connection that just
//! breaks may come back with its ticket. Each sum is a file in the folder, so a process that was killed
//! goes on with it.

mod table;

use std::sync::Arc;
use std::time::Duration;

use rejoin::host::{Game, GameId, Hooks, Host, SeatStatus};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedSender, unbounded_channel};

use table::Tables;

/// The game's part in the life of its Games.
struct Sums {
    tables: Arc<Tables>,
    /// Games that are to end.
    endings: UnboundedSender<GameId>,
}

impl Hooks for Sums {
    fn on_create_begin(&self, game: &Game) -> bool {
        self.tables.open(game.id).is_ok()
    }

    fn on_create_end(&self, game: GameId) {
        println!("active {game}");
    }

    fn on_destroy_begin(&self, game: GameId, _limit: Duration, _may_refuse: bool) -> bool {
        self.endings.send(game).is_ok()
    }

    fn on_destroy_end(&self, game: GameId) {
        self.tables.close(game);
        println!("over {game}");
    }

    fn on_line(&self, is_there: bool) {
        println!("line {}", if is_there { "up" } else { "down" });
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let usage = "external-host SERVER FLEET NAME FOLDER [LISTEN]";
    let mut next = || arguments.next().ok_or(usage);
    let (server, fleet, name, folder) = (next()?, next()?, next()?, next()?);
    let listen = next().unwrap_or_else(|_| "127.0.0.1:0".to_owned());
    let key = std::env::var("REJOIN_HOST_KEY").unwrap_or_default();

    let tables = Arc::new(Tables::restore(folder.into())?);
    let listener = TcpListener::bind(listen).await?;
    let at = listener.local_addr()?;
    let (endings, mut ending) = unbounded_channel();
    let host = Host::builder(server, key)
        .fleet(fleet)
        .name(name)
        .location("here")
        .address(at.ip().to_string())
        .games_max(16)
        .running(tables.games())
        .hooks(Sums { tables: tables.clone(), endings })
        .start()?;
    println!("players {at}");
    host.ready(at.port(), &[]).await?;
    println!("ready");
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (socket, _) = accepted?;
                let (host, tables) = (host.clone(), tables.clone());
                tokio::spawn(async move {
                    // An error is the end of this connection, and of nothing else.
                    let _ = serve(socket, host, tables).await;
                });
            }
            Some(game) = ending.recv() => {
                tables.close(game);
                host.game_over(game).await;
            }
            end = host.ended() => return Err(end.to_string().into()),
        }
    }
}

/// One connection.
async fn serve(socket: TcpStream, host: Host, tables: Arc<Tables>) -> std::io::Result<()> {
    let (read, mut write) = socket.into_split();
    let mut lines = BufReader::new(read).lines();
    let first = lines.next_line().await?.unwrap_or_default();
    let [game, ticket, player] = words(&first);
    let Some(game) = GameId::from_hex(game) else {
        return write.write_all(b"say: join GAME TICKET PLAYER\n").await;
    };
    let seat = match tables.returning(game, ticket, player) {
        Some(seat) => seat,
        None => match host.admit(game, ticket, Some(player)).await {
            Ok(seat) if seat.status == SeatStatus::Active => tables.seat(seat),
            Ok(_) => return write.write_all(b"refused\n").await,
            Err(refusal) => {
                return write.write_all(format!("refused: {refusal}\n").as_bytes()).await;
            }
        },
    };
    let Some(mut sums) = tables.listen(game) else { return Ok(()) };
    let first = *sums.borrow_and_update();
    write.write_all(format!("welcome {player} {first}\n").as_bytes()).await?;
    loop {
        tokio::select! {
            line = lines.next_line() => match line?.as_deref() {
                Some("leave") => {
                    tables.leave(&seat);
                    host.left(&seat).await;
                    // The last one to leave ends the Game, if the directory says so.
                    return write.write_all(b"bye\n").await;
                }
                Some(number) => tables.add(game, number.parse().unwrap_or(0))?,
                // It may come back.
                None => return Ok(()),
            },
            changed = sums.changed() => {
                // An error means that the Game is over.
                if changed.is_err() {
                    return write.write_all(b"over\n").await;
                }
                let sum = *sums.borrow_and_update();
                write.write_all(format!("sum {sum}\n").as_bytes()).await?;
            }
        }
    }
}

/// What a player says first.
fn words(line: &str) -> [&str; 3] {
    let mut words = line.split_whitespace();
    let is_join = words.next() == Some("join");
    let mut next = || words.next().filter(|_| is_join).unwrap_or_default();
    [next(), next(), next()]
}
