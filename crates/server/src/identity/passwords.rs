//! Passwords: Argon2id, on a few threads of its own with a bounded queue. A hash takes 19 MiB and some
//! tens of milliseconds, so neither their number at a time nor the wait for one may be a peer's choice.
//! Whether the account is there makes no difference in what is done: without one, the password is
//! compared with a hash that no password has.

use std::fmt;
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

use argon2::password_hash::phc::PasswordHash as Phc;
use argon2::password_hash::{PasswordHasher, PasswordVerifier};
use argon2::{Algorithm, Argon2, Params, Version};
use rejoin_core::hub::{AccountProof, PasswordHash};
use tokio::sync::oneshot;

/// The shortest and the longest password that can be set, in characters. There are no other rules, and
/// a password is taken as it comes.
pub const PASSWORD_CHARS: (usize, usize) = (8, 128);
/// What is longer is not looked at.
const BYTES_MAX: usize = 4 * PASSWORD_CHARS.1;
/// Argon2id, as OWASP recommends it at the least: 19 MiB, two passes, one lane.
const MEMORY_KIB: u32 = 19 * 1_024;
const PASSES: u32 = 2;
const LANES: u32 = 1;
/// A hash that no password is known for, with the parameters above.
const NO_ACCOUNT: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9ib2R5IGlzIGhlcmU\
                      $AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// Why there is no hash of a password.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PasswordError {
    /// It is too short or too long.
    Length,
    /// Too many wait.
    Busy,
    /// The system gives no randomness, or the like.
    Failed(String),
}

impl fmt::Display for PasswordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Length => {
                let (shortest, longest) = PASSWORD_CHARS;
                write!(f, "a password has {shortest} to {longest} characters")
            }
            Self::Busy => write!(f, "too many passwords wait to be hashed; try again in a moment"),
            Self::Failed(why) => write!(f, "the password cannot be hashed: {why}"),
        }
    }
}

impl std::error::Error for PasswordError {}

fn argon2() -> Argon2<'static> {
    let params = Params::new(MEMORY_KIB, PASSES, LANES, None).unwrap_or_default();
    Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
}

/// Hashes a password here and now, with a salt of its own.
///
/// # Errors
/// It is too short or too long, or the system gives no randomness.
pub fn hash_password(password: &str) -> Result<PasswordHash, PasswordError> {
    let (shortest, longest) = PASSWORD_CHARS;
    if password.len() > BYTES_MAX || !(shortest..=longest).contains(&password.chars().count()) {
        return Err(PasswordError::Length);
    }
    let mut salt = [0; 16];
    getrandom::fill(&mut salt).map_err(|error| PasswordError::Failed(error.to_string()))?;
    let hash = argon2().hash_password_with_salt(password.as_bytes(), &salt);
    let hash: Phc = hash.map_err(|error| PasswordError::Failed(error.to_string()))?;
    Ok(PasswordHash(hash.to_string()))
}

fn is_right(password: &str, hash: Option<&str>) -> bool {
    let verified = argon2().verify_password(password.as_bytes(), hash.unwrap_or(NO_ACCOUNT));
    hash.is_some() && verified.is_ok()
}

type Work = Box<dyn FnOnce() + Send>;

/// The threads that hash passwords, with their queue.
pub(crate) struct Passwords {
    queue: SyncSender<Work>,
}

impl Passwords {
    /// Starts them; they end when this is gone.
    pub(crate) fn start(threads: usize, waiting_max: usize) -> std::io::Result<Self> {
        let (queue, work) = sync_channel::<Work>(waiting_max);
        let work = Arc::new(Mutex::new(work));
        for index in 0..threads.max(1) {
            let work = work.clone();
            let builder = std::thread::Builder::new().name(format!("rejoin-hash-{index}"));
            builder.spawn(move || {
                while let Some(job) = next(&work) {
                    job()
                }
            })?;
        }
        Ok(Self { queue })
    }

    /// Compares a password with a hash, or without one with [`NO_ACCOUNT`]. An error is the proof to give
    /// at once: `Wrong` for a length that no password has, `Busy` when too many wait.
    pub(super) fn verify(
        &self,
        password: String,
        hash: Option<String>,
        done: impl FnOnce(bool) + Send + 'static,
    ) -> Result<(), AccountProof> {
        if password.is_empty() || password.len() > BYTES_MAX {
            return Err(AccountProof::Wrong);
        }
        let work = move || done(is_right(&password, hash.as_deref()));
        self.put(Box::new(work)).map_err(|()| AccountProof::Busy)
    }

    /// Hashes a password on one of the threads.
    pub(crate) async fn hash(&self, password: String) -> Result<PasswordHash, PasswordError> {
        let (done, hash) = oneshot::channel();
        let work = move || drop(done.send(hash_password(&password)));
        self.put(Box::new(work)).map_err(|()| PasswordError::Busy)?;
        let stopped = |_| PasswordError::Failed("the server has stopped".to_owned());
        hash.await.map_err(stopped)?
    }

    fn put(&self, work: Work) -> Result<(), ()> {
        self.queue.try_send(work).map_err(|error| match error {
            TrySendError::Full(_) | TrySendError::Disconnected(_) => (),
        })
    }
}

fn next(work: &Mutex<Receiver<Work>>) -> Option<Work> {
    work.lock().unwrap_or_else(PoisonError::into_inner).recv().ok()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn a_password_fits_its_own_hash_and_nobody_fits_nobodys() {
        let PasswordHash(hash) = hash_password("correct horse").expect("hashed");
        assert!(hash.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"), "{hash}");
        assert_ne!(PasswordHash(hash.clone()), hash_password("correct horse").expect("salted"));
        assert!(is_right("correct horse", Some(&hash)));
        assert!(!is_right("correct horsf", Some(&hash)));
        assert!(!is_right("correct horse", None));
        assert!(!is_right("correct horse", Some("no hash")));
    }

    #[test]
    fn the_hash_of_nobody_is_as_much_work_as_any_other() {
        let no_account = Phc::new(NO_ACCOUNT).expect("it can be read");
        let other = hash_password("correct horse").expect("hashed").0;
        let other = Phc::new(&other).expect("it can be read");
        assert_eq!((no_account.algorithm, no_account.version), (other.algorithm, other.version));
        assert_eq!(no_account.params.to_string(), other.params.to_string());
        let bytes = |phc: &Phc| phc.hash.as_ref().map(|hash| hash.as_bytes().len());
        assert_eq!(bytes(&no_account), bytes(&other));
        // Not refused before the work is done, which would be seen from outside.
        let verified = argon2().verify_password(b"x", NO_ACCOUNT);
        assert_eq!(verified, Err(argon2::password_hash::Error::PasswordInvalid));
    }

    #[test]
    fn lengths_are_bounded_before_anything_is_hashed() {
        for wrong in ["", "seven77", &"x".repeat(129)] {
            assert_eq!(hash_password(wrong), Err(PasswordError::Length), "{}", wrong.len());
        }
        let passwords = Passwords::start(1, 1).expect("threads");
        for wrong in [String::new(), "x".repeat(10_000)] {
            let answer = passwords.verify(wrong, None, |_| panic!("it is not looked at"));
            assert_eq!(answer, Err(AccountProof::Wrong));
        }
    }

    #[test]
    fn a_full_queue_is_an_answer_and_not_a_wait() {
        let passwords = Passwords::start(1, 2).expect("threads");
        let (go, wait) = channel::<()>();
        let held = move || {
            let _ = wait.recv();
        };
        passwords.put(Box::new(held)).expect("room");
        // The thread may not have taken the first one yet: at most two more find room.
        let put = || passwords.verify("password".to_owned(), None, |_| {});
        let answers: Vec<_> = (0..5).map(|_| put()).collect();
        assert!(answers[..1].iter().all(Result::is_ok), "{answers:?}");
        assert_eq!(answers[4], Err(AccountProof::Busy));
        drop(go);
    }
}
