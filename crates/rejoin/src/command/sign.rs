//! `rejoin sign`: answers a challenge with a key, for people who type the keyed dialogue. The key is
//! kept in a file that only its owner can read, and is made when there is none.

use std::io::Write;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use clap::Args;
use ed25519_dalek::{Signer, SigningKey};
use rejoin::wire::proof::{Proof, Purpose, signed_text};
use rejoin::wire::v1::{ClientFrame, Hello, KeyProof, Login, Resume, client_frame, hello, login};
use rejoin::wire::{Bytes, Encoding, encode_client};

use super::Failure;
use super::output::print_line;

/// What to sign.
#[derive(Args)]
pub(crate) struct SignArguments {
    /// The challenge's nonce, as the server wrote it (base64).
    nonce: String,
    /// The key's file; made if there is none.
    #[arg(long, default_value = "rejoin-key", value_name = "FILE")]
    key: PathBuf,
    /// The name that was dialled.
    #[arg(long, default_value = "localhost", value_name = "NAME")]
    server_name: String,
    /// End a held session instead of returning to it.
    #[arg(long)]
    fresh: bool,
    /// Resume this session instead of logging in.
    #[arg(long, value_name = "NUMBER", requires = "token")]
    session: Option<u64>,
    /// The resume token of the last welcome (base64).
    #[arg(long, requires = "session")]
    token: Option<String>,
    /// The epoch of the last welcome.
    #[arg(long, default_value_t = 0, requires = "session")]
    epoch: u64,
}

/// Prints the hello that answers the challenge.
pub(crate) fn run(arguments: &SignArguments) -> Result<(), Failure> {
    let nonce = STANDARD.decode(&arguments.nonce).ok().filter(|nonce| nonce.len() == 32);
    let nonce = nonce.ok_or_else(|| {
        Failure::new(
            "the nonce must be the 32 bytes of the challenge in base64, as the server wrote them",
        )
    })?;
    let key = load_or_make(&arguments.key)?;
    print_line!("{}", hello(arguments, &nonce, &key)?)
}

/// The hello as a line to type. A token that is no base64 is a mistake of whoever typed it.
fn hello(arguments: &SignArguments, nonce: &[u8], key: &SigningKey) -> Result<String, Failure> {
    let resumes = arguments.session.is_some();
    let text = signed_text(&Proof {
        purpose: if resumes { Purpose::Resume } else { Purpose::Login },
        version: rejoin::wire::VERSION,
        server_name: &arguments.server_name,
        nonce,
        session: arguments.session.unwrap_or(0),
        epoch: arguments.epoch,
        fresh: arguments.fresh && !resumes,
        // By hand nobody keeps a stream: the whole state is asked for.
        cold: resumes,
        capabilities: &[],
        admission: &[],
        channel_binding: &[],
    });
    let proof = KeyProof {
        public_key: Bytes::copy_from_slice(key.verifying_key().as_bytes()),
        signature: Bytes::copy_from_slice(&key.sign(&text).to_bytes()),
    };
    let purpose = match (arguments.session, &arguments.token) {
        (Some(session), Some(token)) => hello::Purpose::Resume(Resume {
            session,
            token: STANDARD
                .decode(token)
                .map_err(|_| Failure::new("the token must be in base64, as the server wrote it"))?
                .into(),
            key: Some(proof),
            epoch: arguments.epoch,
            cold: true,
            ..Resume::default()
        }),
        _ => hello::Purpose::Login(Login {
            identity: Some(login::Identity::Key(proof)),
            fresh: arguments.fresh,
        }),
    };
    let hello = Hello {
        version: rejoin::wire::VERSION,
        server_name: arguments.server_name.clone(),
        purpose: Some(purpose),
        ..Hello::default()
    };
    let frame = ClientFrame { frame: Some(client_frame::Frame::Hello(hello)) };
    let line = encode_client(Encoding::Json, &frame)
        .map_err(|error| Failure::new(format!("the hello cannot be written: {error}")))?;
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn load_or_make(path: &Path) -> Result<SigningKey, Failure> {
    let name = path.display();
    match std::fs::read_to_string(path) {
        Ok(text) => {
            let seed = STANDARD.decode(text.trim()).ok();
            let seed = seed.and_then(|seed| <[u8; 32]>::try_from(seed).ok());
            let seed = seed
                .ok_or_else(|| Failure::new(format!("{name} is not a key that was made here")))?;
            Ok(SigningKey::from_bytes(&seed))
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let mut seed = [0; 32];
            getrandom::fill(&mut seed)
                .map_err(|error| Failure::new(format!("no randomness for a key: {error}")))?;
            keep(path, &STANDARD.encode(seed))
                .map_err(|error| Failure::new(format!("{name} cannot be written: {error}")))?;
            eprintln!("rejoin: a new key is kept in {name}");
            Ok(SigningKey::from_bytes(&seed))
        }
        Err(error) => Err(Failure::new(format!("{name} cannot be read: {error}"))),
    }
}

/// Whoever can read this file is the player.
fn keep(path: &Path, text: &str) -> std::io::Result<()> {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    writeln!(options.open(path)?, "{text}")
}
