//! What the directory costs: bytes a Game, filtered and sorted pages over many Games, an update
//! until a search shows it, and seats by the second, all without a disk.
//!
//! `cargo run --release -p rejoin-directory --example measure -- 1000000`

use std::time::{Duration, Instant};

use bytes::Bytes;
use rejoin_core::id::{GameId, SessionId};
use rejoin_core::time::{Time, WallTime};
use rejoin_directory::catalogue::FleetSpec;
use rejoin_directory::game::{GameSpec, Guest, Holder};
use rejoin_directory::host::{HostOrder, HostWord, Registration};
use rejoin_directory::search::SearchRequest;
use rejoin_directory::{
    Answer, Command, Directory, DirectoryConfig, DirectoryInput, DirectoryOutput, Recovered,
    Refusal, Target,
};

const FLEET: &str = "fleet-1";
const GAMES_EACH: usize = 1_000;

struct Desk {
    directory: Directory,
    tickets: u64,
    commits: u64,
}

impl Desk {
    fn ask(&mut self, command: Command) -> Result<Answer, Refusal> {
        self.tickets += 1;
        let ticket = self.tickets;
        self.give(DirectoryInput::Command { ticket, command }).expect("an answer")
    }

    /// Gives an input; every commit is durable at once. Returns the last answer.
    fn give(&mut self, input: DirectoryInput) -> Option<Result<Answer, Refusal>> {
        let now = Time::ZERO;
        self.directory.handle(now, input);
        let mut last = self.drain();
        // A search takes several steps.
        while self.directory.next_deadline().is_some_and(|at| at <= now) {
            self.directory.handle(now, DirectoryInput::Wake);
            last = self.drain().or(last);
        }
        last
    }

    fn drain(&mut self) -> Option<Result<Answer, Refusal>> {
        let (now, mut last) = (Time::ZERO, None);
        while let Some(output) = self.directory.next_output() {
            match output {
                DirectoryOutput::Commit(batch) => {
                    self.commits += 1;
                    let done = DirectoryInput::Committed(batch.scope, batch.revision);
                    self.directory.handle(now, done);
                }
                DirectoryOutput::Answer { outcome, .. } => last = Some(*outcome),
                DirectoryOutput::ToHost { host, lease, order: HostOrder::Create(game) } => {
                    let word = HostWord::Began(game.id, Ok(()));
                    self.directory.handle(now, DirectoryInput::HostSaid { host, lease, word });
                }
                _ => {}
            }
        }
        last
    }

    fn host(&mut self, index: usize) {
        let registration = Registration {
            fleet: FLEET.to_owned(),
            name: format!("host-{index}"),
            location: "east".to_owned(),
            address: "203.0.113.7".to_owned(),
            games_max: GAMES_EACH as u32,
            is_reusable: true,
        };
        let Ok(Answer::Host(view)) = self.ask(Command::Register(registration)) else {
            panic!("the host is refused")
        };
        let (host, lease) = (view.id, view.lease);
        let (log_paths, games) = (Vec::new(), Vec::new());
        let word = HostWord::Ready { port: 7777, log_paths, hooks_set: true, games };
        self.give(DirectoryInput::HostSaid { host, lease, word });
    }

    fn game(&mut self, index: usize) -> GameId {
        let mut spec = GameSpec {
            key: format!("game-{index}"),
            name: format!("game {}", index % 10_007),
            capacity: 4 + (index % 30) as u32,
            ..GameSpec::default()
        };
        let pairs = [("mode", format!("mode-{}", index % 20)), ("map", format!("{}", index % 997))];
        spec.properties.extend(pairs.map(|(key, value)| (key.to_owned(), value)));
        let target = Target::Fleet(FLEET.to_owned());
        match self.ask(Command::Create { target, spec }) {
            Ok(Answer::Game(game)) => game.id,
            other => panic!("{other:?}"),
        }
    }

    fn reserve(&mut self, game: GameId, player: String) -> Result<Answer, Refusal> {
        let guests = vec![Guest { player, data: Bytes::new() }];
        self.ask(Command::Reserve { game, guests, key: String::new(), hold: None })
    }
}

fn resident_bytes() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm.split_whitespace().nth(1).and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or_default() * 4_096
}

/// Time this thread has really run: on a busy machine the clock says little.
fn on_cpu() -> Duration {
    let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let ns = stat.split_whitespace().next().and_then(|ns| ns.parse().ok());
    Duration::from_nanos(ns.unwrap_or_default())
}

/// What each of so many cost since then.
fn each(since: Duration, count: usize) -> String {
    format!("{:.2} us", (on_cpu() - since).as_secs_f64() * 1e6 / count.max(1) as f64)
}

fn percentile(times: &mut [Duration], share: f64) -> Duration {
    times.sort_unstable();
    let at = ((times.len() as f64 * share) as usize).min(times.len().saturating_sub(1));
    times.get(at).copied().unwrap_or_default()
}

fn searches(desk: &mut Desk, name: &str, filter: impl Fn(usize) -> String, sort: &str) {
    let mut times = Vec::new();
    let (mut found, mut refused) = (0, 0);
    let busy = on_cpu();
    for round in 0..2_000 {
        let request = SearchRequest {
            target: Target::Fleet(FLEET.to_owned()),
            location: None,
            filter: filter(round),
            sort: sort.to_owned(),
            limit: 20,
            cursor: String::new(),
        };
        let begun = Instant::now();
        match desk.ask(Command::Search(request)) {
            Ok(Answer::Page(page)) => found += page.games.len(),
            _ => refused += 1,
        }
        times.push(begun.elapsed());
    }
    let (median, late) = (percentile(&mut times, 0.5), percentile(&mut times, 0.99));
    let cpu = (on_cpu() - busy) / 2_000;
    println!(
        "{name:<42} p50 {median:>9.1?}  p99 {late:>9.1?}  mean on the CPU {cpu:>9.1?}  {found} found, \
         {refused} refused"
    );
}

fn main() {
    let count = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(100_000_usize);
    let wall = WallTime(1_700_000_000_000);
    let (config, recovered) = (DirectoryConfig::default(), Recovered::default());
    let (directory, _) =
        Directory::open(Time::ZERO, wall, config, [1; 32], recovered).expect("it opens");
    let mut desk = Desk { directory, tickets: 0, commits: 0 };
    let fleet = FleetSpec {
        name: FLEET.to_owned(),
        locations: vec!["east".to_owned()],
        indexed: vec!["mode".to_owned(), "map".to_owned()],
    };
    desk.ask(Command::PutFleet(fleet)).expect("a fleet");
    let (before, begun, busy) = (resident_bytes(), Instant::now(), on_cpu());
    (0..count.div_ceil(GAMES_EACH)).for_each(|index| desk.host(index));
    let games: Vec<GameId> = (0..count).map(|index| desk.game(index)).collect();
    let took = begun.elapsed();
    println!(
        "{count} games on {} hosts in {took:.1?}: {:.1} us each on the CPU, {} bytes each",
        count.div_ceil(GAMES_EACH),
        (on_cpu() - busy).as_micros() as f64 / count as f64,
        resident_bytes().saturating_sub(before) / count,
    );
    let busy = on_cpu();
    let fill = count / 2;
    for (index, game) in games.iter().take(fill).enumerate() {
        desk.reserve(*game, format!("player-{index}")).expect("a seat");
    }
    println!("a reservation: {} on the CPU", each(busy, fill));
    stays(&mut desk, &games);
    searches(&mut desk, "has_room, newest first", |_| "has_room = true".into(), "created DESC");
    let modes = |it: usize| format!("properties.mode = 'mode-{}' AND has_room = true", it % 20);
    searches(&mut desk, "one mode of twenty, fewest players first", modes, "players ASC");
    let maps = |it: usize| format!("properties.map = '{}' AND capacity >= 10", it % 997);
    searches(&mut desk, "one map of 997, by name", maps, "name ASC");
    let both = |it: usize| {
        format!("properties.map = '{}' AND properties.mode = 'mode-{}'", it % 997, it % 20)
    };
    searches(&mut desk, "one map and one mode, largest first", both, "capacity DESC");
    let rare = |_| "players > 1 AND properties.mode = 'mode-3'".to_owned();
    searches(&mut desk, "nobody matches, no short way", rare, "name ASC");
    updates(&mut desk, &games);
}

/// Whole stays: reserve, claim, confirm, complete.
fn stays(desk: &mut Desk, games: &[GameId]) {
    let (busy, rounds) = (on_cpu(), games.len().min(100_000));
    for (index, game) in games.iter().rev().take(rounds).enumerate() {
        let player = format!("visitor-{index}");
        let Ok(Answer::Seats(seats)) = desk.reserve(*game, player.clone()) else { continue };
        let (game, seat) = (*game, seats[0].id);
        let holder = Holder { session: SessionId(index as u64 + 1), stay: 1 };
        for command in [
            Command::Claim { game, seat, player, holder },
            Command::Confirm { game, seat, holder },
            // Somebody else comes, or the Game would end with the last.
            Command::Reserve {
                game,
                guests: vec![Guest { player: "next".to_owned(), data: Bytes::new() }],
                key: String::new(),
                hold: None,
            },
            Command::Complete { game, seat, holder },
        ] {
            desk.ask(command).expect("a step of a stay");
        }
    }
    println!("a step of a stay: {} on the CPU", each(busy, rounds * 5));
}

/// From a reservation to a search that shows it.
fn updates(desk: &mut Desk, games: &[GameId]) {
    let mut times = Vec::new();
    for (index, game) in games.iter().take(2_000).enumerate() {
        let begun = Instant::now();
        let _ = desk.reserve(*game, format!("late-{index}"));
        let request = SearchRequest {
            target: Target::Fleet(FLEET.to_owned()),
            location: None,
            filter: format!("id = '{game}'"),
            sort: String::new(),
            limit: 1,
            cursor: String::new(),
        };
        assert!(matches!(desk.ask(Command::Search(request)), Ok(Answer::Page(_))));
        times.push(begun.elapsed());
    }
    println!("a change until a search shows it, p99 {:?}", percentile(&mut times, 0.99));
}
