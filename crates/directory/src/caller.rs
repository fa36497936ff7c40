//! Who asks, where that matters: a caller from outside pays for what it holds open, and may give back
//! what it can show the secret of. Only hashes of secrets are kept.

use std::fmt;

use rejoin_core::chance::Chance;

use crate::limits;
use crate::planted::{Bug, is_armed};
use crate::refusal::Refusal;

/// What somebody shows to give a reservation or a placement back. Compared in constant time.
#[derive(Clone)]
pub struct Secret(String);

impl Secret {
    /// A secret that its owner has chosen.
    ///
    /// # Errors
    /// It does not have 16 to 64 letters, digits and `-`.
    pub fn new(text: &str) -> Result<Self, Refusal> {
        let must = "16 to 64 letters, digits and '-'";
        limits::label("secret", text, limits::SECRET_MAX, must)?;
        if text.len() < limits::SECRET_MIN {
            return Err(Refusal::Invalid { field: "secret", must });
        }
        Ok(Self(text.to_owned()))
    }

    pub(crate) fn draw(chance: &mut Chance) -> Self {
        let bytes: [u8; 16] = chance.bytes();
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The secret itself, for its owner.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    pub(crate) fn hash(&self) -> SecretHash {
        let context = "rejoin 2026 secret of a reservation";
        SecretHash(blake3::Hash::from(blake3::derive_key(context, self.0.as_bytes())))
    }
}

impl PartialEq for Secret {
    fn eq(&self, other: &Self) -> bool {
        self.hash() == other.hash()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// What is kept of a secret. Its comparison takes the same time whatever differs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct SecretHash(blake3::Hash);

impl fmt::Debug for SecretHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretHash")
    }
}

/// The lock on something that was reserved, if it has one: rows of earlier versions have none.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Lock {
    hash: Option<SecretHash>,
    /// Its owner chose the secret, so asking again takes it.
    is_chosen: bool,
}

impl Lock {
    /// The lock for a caller, and the secret to tell it: none if it has chosen one.
    pub(crate) fn new(caller: &Caller, drawn: Secret) -> (Self, Option<Secret>) {
        match &caller.secret {
            Some(secret) => (Self { hash: Some(secret.hash()), is_chosen: true }, None),
            None => (Self { hash: Some(drawn.hash()), is_chosen: false }, Some(drawn)),
        }
    }

    /// Whether a caller that asks for the same again is the one that asked first, as far as that can be
    /// known: who chose a secret shows it again.
    pub(crate) fn check_again(self, caller: &Caller) -> Result<(), Refusal> {
        let is_known = match &caller.secret {
            Some(secret) => self.hash == Some(secret.hash()),
            None => !self.is_chosen,
        };
        if is_known || !caller.is_outside { Ok(()) } else { Err(Refusal::WrongSecret) }
    }

    /// Whether a caller may give back what this is the lock of.
    pub(crate) fn check_release(self, caller: &Caller) -> Result<(), Refusal> {
        let shown = caller.secret.as_ref().map(Secret::hash);
        let is_open = caller.is_trusted() || self.hash.is_none() || self.hash == shown;
        let is_open = is_open || is_armed(Bug::SecretNotAsked);
        if is_open { Ok(()) } else { Err(Refusal::WrongSecret) }
    }

    pub(crate) fn to_row(self) -> (Vec<u8>, bool) {
        let hash = self.hash.map(|hash| hash.0.as_bytes().to_vec());
        (hash.unwrap_or_default(), self.is_chosen)
    }

    pub(crate) fn from_row(hash: &[u8], is_chosen: bool) -> Self {
        let hash: Option<[u8; 32]> = hash.try_into().ok();
        Self { hash: hash.map(|hash| SecretHash(hash.into())), is_chosen }
    }
}

/// Who pays for what is held open: an API key at an address, or the network of one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Payer {
    /// Which of the keys.
    pub key: u32,
    /// The address, or what is charged as one.
    pub network: u128,
}

/// Who asks. The default is the process itself, which may do everything.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Caller {
    /// It is told what is new, and the secret of that.
    pub is_outside: bool,
    /// Who pays. None: it is trusted, and may give back what others hold.
    pub payer: Option<Payer>,
    /// The secret that it has chosen or was told.
    pub secret: Option<Secret>,
}

impl Caller {
    fn is_trusted(&self) -> bool {
        self.payer.is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn caller(secret: Option<&str>) -> Caller {
        let secret = secret.map(|text| Secret::new(text).expect("it is one"));
        Caller { is_outside: true, payer: Some(Payer { key: 0, network: 1 }), secret }
    }

    #[test]
    fn a_secret_shows_itself_nowhere_and_is_kept_as_a_hash() {
        let secret = Secret::new("0123456789abcdef").expect("it is one");
        assert_eq!(format!("{secret:?} {:?}", secret.hash()), "Secret SecretHash");
        let (lock, told) = Lock::new(&caller(Some("0123456789abcdef")), secret.clone());
        assert_eq!(told, None);
        let (row, is_chosen) = lock.to_row();
        assert!(!row.windows(4).any(|part| part == b"0123"));
        assert_eq!(Lock::from_row(&row, is_chosen), lock);
        assert_eq!(Lock::from_row(&[], false), Lock::default(), "rows of earlier versions");
        for wrong in ["", "short", &"x".repeat(65), "with a blank 16 letters"] {
            assert!(Secret::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn who_chose_a_secret_shows_it_again_and_who_was_told_one_need_not() {
        let drawn = Secret::draw(&mut Chance::from_seed([1; 32]));
        let (chosen, _) = Lock::new(&caller(Some("0123456789abcdef")), drawn.clone());
        assert_eq!(chosen.check_again(&caller(Some("0123456789abcdef"))), Ok(()));
        assert_eq!(chosen.check_again(&caller(None)), Err(Refusal::WrongSecret));
        assert_eq!(
            chosen.check_again(&caller(Some("fedcba9876543210"))),
            Err(Refusal::WrongSecret)
        );
        let (told, secret) = Lock::new(&caller(None), drawn);
        assert_eq!(told.check_again(&caller(None)), Ok(()));
        assert_eq!(told.check_release(&caller(None)), Err(Refusal::WrongSecret));
        let secret = secret.expect("it is told once");
        assert_eq!(told.check_release(&caller(Some(secret.reveal()))), Ok(()));
        assert_eq!(told.check_release(&Caller::default()), Ok(()));
        assert_eq!(
            Lock::default().check_release(&caller(None)),
            Ok(()),
            "from before there were secrets"
        );
    }
}
