//! The key by which clients know the server where it encrypts datagrams: in a file of the data folder, made
//! at the first start. In memory it is another every time, as everything else is.

use std::io;
use std::path::Path;

use rejoin::server::{Encryption, ServerKey};
use rejoin::store::embedded::folder::ENET_KEY;

use super::Failure;
use super::settings::Settings;

/// The key, if it is needed.
pub(crate) fn find(settings: &Settings) -> Result<Option<ServerKey>, Failure> {
    if settings.enet.listen.is_empty() || settings.encryption == Encryption::Off {
        return Ok(None);
    }
    match &settings.data {
        Some(data) => load(&data.join(ENET_KEY)).map(Some),
        None => made().map(Some),
    }
}

/// Reads the key that `find` would give, if there is one yet; says which file it was.
pub(crate) fn check(settings: &Settings) -> Result<Option<String>, Failure> {
    let is_needed = !settings.enet.listen.is_empty() && settings.encryption != Encryption::Off;
    let path = settings.data.as_ref().map(|data| data.join(ENET_KEY));
    match path.filter(|path| is_needed && path.exists()) {
        Some(path) => load(&path).map(|_| Some(format!("ENet key {}", path.display()))),
        None => Ok(None),
    }
}

fn made() -> Result<ServerKey, Failure> {
    ServerKey::generate().map_err(|error| Failure::new(format!("no key for ENet: {error}")))
}

fn load(path: &Path) -> Result<ServerKey, Failure> {
    let told = |why: String| Failure::new(format!("the key in {}: {why}", path.display()));
    match std::fs::read(path) {
        Ok(bytes) => bytes.as_slice().try_into().map(ServerKey::from_bytes).map_err(|_| {
            told(
                "it is damaged; restore it, or remove it and have clients forget the old one"
                    .into(),
            )
        }),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            let key = made()?;
            write(path, &key).map_err(|error| told(error.to_string()))?;
            Ok(key)
        }
        Err(error) => Err(told(error.to_string())),
    }
}

/// For nobody else to read.
fn write(path: &Path, key: &ServerKey) -> io::Result<()> {
    use std::io::Write as _;
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(path)?;
    file.write_all(&key.to_bytes())?;
    file.sync_all()
}

/// Its public half, as people copy it.
pub(crate) fn hex(key: &ServerKey) -> String {
    key.public().iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_is_the_same_at_the_next_start_and_damage_is_told() {
        let folder = std::env::temp_dir().join(format!("rejoin-key-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join(ENET_KEY);
        let first = load(&path).expect("it is made");
        assert_eq!(hex(&load(&path).expect("it is there")), hex(&first));
        std::fs::write(&path, b"half").expect("a folder");
        assert!(load(&path).is_err_and(|failure| failure.to_string().contains("damaged")));
        std::fs::remove_dir_all(&folder).expect("ours");
    }
}
