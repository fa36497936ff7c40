//! ENet clients that know nothing of us but the frames: libenet from the system and pyenet from PyPI,
//! against the real program in stock mode. They log in, say and hear things, vanish, come back, and hop
//! to another transport in between.
#![cfg(all(feature = "server", target_os = "linux"))]

mod pipe;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use pipe::{PATIENCE, Pipe, Stock};
use rejoin::wire::v1::{
    Anonymous, ClientFrame, Hello, Join, Login, Loose, Message, Position, Resume, Rung,
    ServerFrame, Up, Welcome, client_frame, down, hello, login, server_frame, up,
};
use rejoin::wire::{Encoding, Limits, VERSION, decode_server, encode_client};
use rejoin_chaos::Process;

/// The program.
struct Serving {
    _child: Process,
    enet: SocketAddr,
    tcp: SocketAddr,
}

impl Serving {
    fn start(is_stock: bool) -> Self {
        let settings = std::path::PathBuf::from(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("stock-{is_stock}-{}.toml", std::process::id()));
        std::fs::write(&settings, format!("[enet]\nstock = {is_stock}\n")).expect("a folder");
        let mut command = Command::new(env!("CARGO_BIN_EXE_rejoin"));
        command.args(["serve", "--dev", "--memory", "--listen", "127.0.0.1:0"]);
        command.args(["--admin-listen", "127.0.0.1:0", "--tcp-listen", "127.0.0.1:0"]);
        command.args(["--enet-listen", "127.0.0.1:0", "--config"]).arg(settings);
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = Process::spawn(&mut command).expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("it is piped")).lines();
        let said: Vec<String> = lines
            .by_ref()
            .map_while(Result::ok)
            .take_while(|line| !line.contains("Never face"))
            .collect();
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        let at = |start: &str| {
            let mut words = said.iter().flat_map(|line| line.split_whitespace());
            let address = words.find_map(|word| word.strip_prefix(start)).expect("it says where");
            address.parse().expect("an address")
        };
        Self { enet: at("enet://"), tcp: at("tcp://"), _child: child }
    }
}

/// What a client remembers.
struct Session {
    welcome: Welcome,
    position: Position,
    number: u64,
}

fn hello(purpose: hello::Purpose) -> client_frame::Frame {
    let server_name = "localhost".to_owned();
    let purpose = Some(purpose);
    client_frame::Frame::Hello(Hello { version: VERSION, server_name, purpose, ..Hello::default() })
}

fn log_in() -> client_frame::Frame {
    let identity = Some(login::Identity::Anonymous(Anonymous {}));
    hello(hello::Purpose::Login(Login { fresh: false, identity }))
}

impl Session {
    /// Logs in and joins a zone.
    fn begin(pipe: &mut Pipe, zone: &str) -> Self {
        assert!(matches!(pipe.hear(), server_frame::Frame::Challenge(_)));
        pipe.say('R', log_in());
        let server_frame::Frame::Welcome(welcome) = pipe.hear() else { panic!("not let in") };
        let (kind, name) = ("relay".to_owned(), zone.to_owned());
        let join = Join { kind, name, create: true, ..Join::default() };
        let up = Up { seq: 1, body: Some(up::Body::Join(join)) };
        pipe.say('R', client_frame::Frame::Up(up));
        let server_frame::Frame::Down(down) = pipe.hear() else { panic!("not joined") };
        let Some(down::Body::Joined(joined)) = &down.body else { panic!("{down:?}") };
        let position = Position { leg: joined.leg, seq: down.seq };
        Self { welcome, position, number: 1 }
    }

    fn say(&mut self, payload: Vec<u8>, wants_reply: bool) -> client_frame::Frame {
        self.number += 1;
        let message = Message { payload: payload.into(), wants_reply, ..Message::default() };
        client_frame::Frame::Up(Up { seq: self.number, body: Some(up::Body::Message(message)) })
    }

    fn resume(&self) -> client_frame::Frame {
        hello(hello::Purpose::Resume(Resume {
            session: self.welcome.session,
            token: self.welcome.token.clone(),
            epoch: self.welcome.epoch,
            position: Some(self.position),
            oldest_unacked: self.number + 1,
            ..Resume::default()
        }))
    }

    fn resumed(&mut self, frame: server_frame::Frame) {
        let server_frame::Frame::Welcome(welcome) = frame else { panic!("{frame:?}") };
        assert_eq!((welcome.rung(), welcome.applied), (Rung::Replayed, self.number));
        self.welcome = welcome;
    }

    /// The next message in the zone.
    fn heard(&mut self, frame: server_frame::Frame) -> Vec<u8> {
        let server_frame::Frame::Down(down) = frame else { panic!("{frame:?}") };
        assert!(down.seq > self.position.seq, "nothing comes twice");
        self.position.seq = down.seq;
        match down.body {
            Some(down::Body::Message(message)) => message.payload.to_vec(),
            Some(down::Body::Reply(reply)) => reply.payload.to_vec(),
            other => panic!("{other:?}"),
        }
    }
}

/// Frames after their length, typed by hand.
struct Stream(TcpStream);

impl Stream {
    fn say(&mut self, frame: client_frame::Frame) {
        let frame = ClientFrame { frame: Some(frame) };
        let bytes = encode_client(Encoding::Protobuf, &frame).expect("it can be written");
        let len = u32::try_from(bytes.len()).expect("short").to_be_bytes();
        self.0.write_all(&[&len[..], &bytes[..]].concat()).expect("open");
    }

    fn hear(&mut self) -> server_frame::Frame {
        loop {
            let mut len = [0; 4];
            self.0.read_exact(&mut len).expect("open");
            let mut bytes = vec![0; u32::from_be_bytes(len) as usize];
            self.0.read_exact(&mut bytes).expect("open");
            let frame = decode_server(Encoding::Protobuf, bytes.into(), &Limits::DEFAULT);
            match frame.expect("a frame") {
                ServerFrame {
                    frame:
                        Some(server_frame::Frame::Applied(_) | server_frame::Frame::Ping(_)) | None,
                } => {}
                ServerFrame { frame: Some(frame) } => return frame,
            }
        }
    }
}

fn play(stock: Stock) {
    let command = match stock.command() {
        Ok(command) => command,
        Err(why) => return println!("SKIPPED: stock_{stock:?}: {why}"),
    };
    let start = || {
        let mut again = Command::new(command.get_program());
        again.args(command.get_args());
        again
    };
    let serving = Serving::start(true);
    let dial = || Pipe::start(start(), serving.enet).connected();
    let mut ann_pipe = dial();
    let mut ann = Session::begin(&mut ann_pipe, "square");
    let mut bob_pipe = dial();
    let mut bob = Session::begin(&mut bob_pipe, "square");

    // Echo: small ones, and one that takes many datagrams each way.
    for len in [1, 100, 1_300, 60_000] {
        let payload: Vec<u8> = (0..len).map(|at| (at % 251) as u8).collect();
        ann_pipe.say('R', ann.say(payload.clone(), true));
        assert!(ann.heard(ann_pipe.hear()) == payload, "{len} bytes come back");
    }
    // Loose: one kind of unreliable packet and the other.
    for how in ['U', 'S'] {
        let loose = Loose { leg: ann.position.leg, payload: b"psst".to_vec().into() };
        ann_pipe.say(how, client_frame::Frame::Loose(loose));
        let server_frame::Frame::Loose(heard) = bob_pipe.hear() else { panic!("a loose one") };
        assert!(heard.payload.ends_with(b"\npsst"), "a line of the relay, and the words");
    }
    // Bob vanishes, and comes back by TCP to what was said meanwhile.
    drop(bob_pipe);
    ann_pipe.say('R', ann.say(b"by tcp".to_vec(), false));
    let mut stream = Stream(TcpStream::connect(serving.tcp).expect("it listens"));
    stream.0.set_read_timeout(Some(PATIENCE)).expect("a limit");
    assert!(matches!(stream.hear(), server_frame::Frame::Challenge(_)));
    stream.say(bob.resume());
    bob.resumed(stream.hear());
    assert_eq!(bob.heard(stream.hear()), b"by tcp");
    drop(stream);
    // And back.
    ann_pipe.say('R', ann.say(b"by enet".to_vec(), false));
    let mut bob_pipe = dial();
    assert!(matches!(bob_pipe.hear(), server_frame::Frame::Challenge(_)));
    bob_pipe.say('R', bob.resume());
    bob.resumed(bob_pipe.hear());
    assert_eq!(bob.heard(bob_pipe.hear()), b"by enet");
    bob_pipe.say('R', bob.say(b"here".to_vec(), true));
    assert_eq!(bob.heard(bob_pipe.hear()), b"here");
}

#[test]
fn libenet_echoes_resumes_and_hops() {
    play(Stock::C);
}

#[test]
fn pyenet_echoes_resumes_and_hops() {
    play(Stock::Python);
}

#[test]
fn without_stock_mode_a_client_without_a_cookie_hears_nothing() {
    let command = match Stock::C.command() {
        Ok(command) => command,
        Err(why) => return println!("SKIPPED: stock_refused: {why}"),
    };
    let serving = Serving::start(false);
    let pipe = Pipe::start(command, serving.enet);
    assert!(pipe.line(Duration::from_secs(2)).is_err(), "not even a refusal");
}
