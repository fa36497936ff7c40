//! `rejoin config check`: reads the settings as `serve` does, opens the files that they name, and prints the
//! settings in force as a settings file. It takes no port and touches no data folder: a server may run.

use rejoin::server::{KeySource, Tls};

use super::output::print_line;
use super::settings::{ServeArguments, Settings, TlsSettings};
use super::{Failure, serve, server_key};

pub(crate) fn run(arguments: &ServeArguments) -> Result<(), Failure> {
    let settings = arguments.settings()?;
    let opened = open(&settings)?;
    print_line!("{settings}\n")?;
    for file in opened {
        print_line!("# {file}: ok")?;
    }
    match arguments.file() {
        Some(file) => print_line!("# {}: ok", file.display()),
        None => print_line!("# no settings file, there is no rejoin.toml here: ok"),
    }
}

/// Opens what `serve` would open; says what.
fn open(settings: &Settings) -> Result<Vec<String>, Failure> {
    serve::log_filter(settings)?;
    serve::require_encryption(settings)?;
    let mut opened = Vec::new();
    if let TlsSettings::Files(certificate, key) = &settings.tls {
        Tls::from_files(certificate, key).map_err(serve::no_tls)?;
        opened.push(format!("certificate {}, key {}", certificate.display(), key.display()));
    }
    settings.identity.check().map_err(|error| Failure::new(error.to_string()))?;
    match settings.identity.jwt.as_ref().map(|jwt| &jwt.keys) {
        Some(KeySource::File(file)) => opened.push(format!("jwks_file {}", file.display())),
        // A key set at a URL is fetched at the first login, and so it is by `serve`.
        Some(KeySource::Url(_)) | None => {}
    }
    opened.extend(server_key::check(settings)?);
    Ok(opened)
}
