//! Outside ENet clients, each a process that is told frames in hex and tells what it hears. Where they
//! cannot be had a test is skipped by name.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use rejoin::wire::enet::{RELIABLE, UNRELIABLE};
use rejoin::wire::v1::{ClientFrame, ServerFrame, client_frame, server_frame};
use rejoin::wire::{Encoding, Limits, decode_server, encode_client};
use rejoin_chaos::Process;

pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// Whose ENet it is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Stock {
    /// libenet of the system, with a small program in C around it.
    C,
    /// pyenet.
    Python,
}

fn here(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/stock").join(name)
}

fn made(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn succeeds(command: &mut Command) -> bool {
    command.output().is_ok_and(|output| output.status.success())
}

impl Stock {
    /// How it is started; why not, if it cannot be.
    pub(crate) fn command(self) -> Result<Command, &'static str> {
        match self {
            Self::C => {
                let program = made(&format!("stock-client-{}", std::process::id()));
                let mut compiler = Command::new("cc");
                compiler.args(["-O1", "-o"]).arg(&program).arg(here("client.c")).arg("-lenet");
                match succeeds(&mut compiler) {
                    true => Ok(Command::new(program)),
                    false => Err("cc or libenet-dev is missing"),
                }
            }
            Self::Python => {
                let folder = made("pyenet-1.3.17");
                let (python, stamp) = (folder.join("bin/python3"), folder.join("complete"));
                if !stamp.exists() {
                    let mut venv = Command::new("python3");
                    let pip = folder.join("bin/pip");
                    let install =
                        ["install", "--quiet", "--only-binary", ":all:", "pyenet==1.3.17"];
                    let is_made = succeeds(venv.args(["-m", "venv"]).arg(&folder))
                        && succeeds(Command::new(pip).args(install));
                    if !is_made || std::fs::write(stamp, "").is_err() {
                        return Err("python3 with venv is missing, or PyPI does not give pyenet");
                    }
                }
                let mut command = Command::new(python);
                command.arg(here("client.py"));
                Ok(command)
            }
        }
    }
}

/// One of them, connected or on its way.
pub(crate) struct Pipe {
    /// Killed with this value: to the server a client that vanished.
    _child: Process,
    input: ChildStdin,
    lines: Receiver<String>,
}

impl Pipe {
    pub(crate) fn start(mut command: Command, server: SocketAddr) -> Self {
        command.arg(server.ip().to_string()).arg(server.port().to_string());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = Process::spawn(&mut command).expect("it starts");
        let input = child.stdin.take().expect("it is piped");
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        let (tell, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if tell.send(line).is_err() {
                    return;
                }
            }
        });
        Self { _child: child, input, lines }
    }

    /// Waits until it is connected.
    pub(crate) fn connected(self) -> Self {
        assert_eq!(self.line(PATIENCE).as_deref(), Ok("C"));
        self
    }

    pub(crate) fn line(&self, within: Duration) -> Result<String, RecvTimeoutError> {
        self.lines.recv_timeout(within)
    }

    pub(crate) fn say(&mut self, how: char, frame: client_frame::Frame) {
        let frame = ClientFrame { frame: Some(frame) };
        let bytes = encode_client(Encoding::Protobuf, &frame).expect("it can be written");
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        writeln!(self.input, "{how}{hex}").expect("it listens");
    }

    /// The next frame that is no acknowledgement or ping.
    pub(crate) fn hear(&mut self) -> server_frame::Frame {
        loop {
            let line = self.line(PATIENCE).expect("in time");
            let Some(message) = line.strip_prefix("M ") else { panic!("{line}") };
            let (channel, hex) = message.split_once(' ').expect("a channel");
            let bytes: Vec<u8> = (0..hex.len() / 2)
                .map(|at| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hex"))
                .collect();
            let frame = decode_server(Encoding::Protobuf, bytes.into(), &Limits::DEFAULT);
            let ServerFrame { frame: Some(frame) } = frame.expect("a frame") else { continue };
            let is_loose = matches!(frame, server_frame::Frame::Loose(_));
            let expected = if is_loose { UNRELIABLE } else { RELIABLE };
            assert_eq!(channel, expected.to_string(), "{frame:?}");
            match frame {
                server_frame::Frame::Applied(_) | server_frame::Frame::Notice(_) => {}
                server_frame::Frame::Ping(ping) => {
                    let pong = rejoin::wire::v1::Pong { nonce: ping.nonce };
                    self.say('R', client_frame::Frame::Pong(pong));
                }
                frame => return frame,
            }
        }
    }
}
