//! A process that ends with the value that started it, whatever becomes of the test that holds it, and
//! signals by system call: a minimal machine has no program `kill`.

use std::io;
use std::ops::{Deref, DerefMut};
use std::process::{Child, Command};

/// What a process can be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Signal {
    /// SIGTERM: it is asked to end.
    Terminate,
    /// SIGSTOP: it stands still.
    Stop,
    /// SIGCONT: it goes on.
    Continue,
}

/// A child process. It is killed and waited for when this is dropped, a panic included.
#[derive(Debug)]
pub struct Process(Child);

impl Process {
    /// Starts a command.
    ///
    /// # Errors
    /// The system does not start it.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(Self)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// The process has ended, or the system refuses or has no signals.
    #[cfg(unix)]
    pub fn signal(&mut self, signal: Signal) -> io::Result<()> {
        // The id of a process that was waited for may be another's by now.
        if self.0.try_wait()?.is_some() {
            return Err(io::Error::other("the process has ended"));
        }
        let signal = match signal {
            Signal::Terminate => rustix::process::Signal::TERM,
            Signal::Stop => rustix::process::Signal::STOP,
            Signal::Continue => rustix::process::Signal::CONT,
        };
        Ok(rustix::process::kill_process(rustix::process::Pid::from_child(&self.0), signal)?)
    }

    /// Sends a signal.
    ///
    /// # Errors
    /// Always: this system has no signals.
    #[cfg(not(unix))]
    pub fn signal(&mut self, _signal: Signal) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

impl Deref for Process {
    type Target = Child;

    fn deref(&self) -> &Child {
        &self.0
    }
}

impl DerefMut for Process {
    fn deref_mut(&mut self) -> &mut Child {
        &mut self.0
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // An error means that it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::Stdio;

    use super::*;

    /// A process that does not end by itself, and ends with its signals.
    fn idle() -> Process {
        let mut command = Command::new("sh");
        command.args(["-c", "read line"]).stdin(Stdio::piped());
        Process::spawn(&mut command).expect("there is a shell")
    }

    #[test]
    fn a_test_that_fails_leaves_no_process() {
        let mut id = None;
        let failed = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let process = idle();
            id = Some(rustix::process::Pid::from_child(&process));
            panic!("as a failed assertion does");
        }));
        assert!(failed.is_err());
        let found = rustix::process::test_kill_process(id.expect("it was started"));
        assert_eq!(found, Err(rustix::io::Errno::SRCH));
    }

    #[test]
    fn signals_reach_the_process_and_none_is_sent_after_its_end() {
        let mut process = idle();
        process.signal(Signal::Terminate).expect("it runs");
        let status = process.wait().expect("it ends");
        assert_eq!(status.signal(), Some(rustix::process::Signal::TERM.as_raw()));
        assert!(process.signal(Signal::Terminate).is_err());
    }
}
