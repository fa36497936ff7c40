//! Starting the directory from what the store holds. Opening its scopes raises their owner epoch: an
//! earlier owner can write nothing more.

use rejoin_core::scope::ScopeId;
use rejoin_core::time::{Time, WallTime};
use rejoin_directory::{Directory, DirectoryConfig, Recovered};
use rejoin_store::{Store, StoreError};

/// Scopes that are opened in one commit.
const OPEN_AT_ONCE: usize = 4_096;

/// Opens the directory. Damaged scopes are logged, set aside and left out.
///
/// # Errors
/// The store cannot be read, or the fleets cannot.
pub(super) fn open(
    store: &mut dyn Store,
    (now, wall): (Time, WallTime),
    config: DirectoryConfig,
    seed: [u8; 32],
) -> Result<Directory, String> {
    let recovered = recover(store).map_err(|error| error.to_string())?;
    let (games, hosts, queues) =
        (recovered.games.len(), recovered.hosts.len(), recovered.queues.len());
    let (directory, damaged) = Directory::open(now, wall, config, seed, recovered)
        .map_err(|why| format!("the directory's fleets cannot be read; restore a backup: {why}"))?;
    for (scope, why) in damaged {
        tracing::error!(
            ?scope,
            why,
            "a scope of the directory could not be read; it is kept as it is"
        );
    }
    if games + hosts + queues > 0 {
        tracing::info!(games, hosts, queues, "the directory is recovered");
    }
    Ok(directory)
}

fn recover(store: &mut dyn Store) -> Result<Recovered, StoreError> {
    let mut catalogue = store.open_one(ScopeId::Catalogue);
    if let Err(StoreError::Damaged(damaged)) = &catalogue {
        // Set aside by now. Games and hosts go on; commands that name their fleet are refused as unknown
        // until it is put again.
        tracing::error!("{damaged}: put the fleets and aliases again, or restore a backup");
        catalogue = store.open_one(ScopeId::Catalogue);
    }
    let mut recovered = Recovered { catalogue: catalogue?, ..Recovered::default() };
    let mut scopes = store.scopes(None)?;
    scopes.retain(|scope| scope.is_directory() && *scope != ScopeId::Catalogue);
    for some in scopes.chunks(OPEN_AT_ONCE) {
        for (scope, found) in some.iter().zip(store.open(some)?) {
            match (*scope, found) {
                (ScopeId::Game(id), Ok(opened)) => recovered.games.push((id, opened)),
                (ScopeId::Host(id), Ok(opened)) => recovered.hosts.push((id, opened)),
                (ScopeId::Queue(id), Ok(opened)) => recovered.queues.push((id, opened)),
                (_, Ok(_)) => {}
                (_, Err(damaged)) => tracing::error!("{damaged}"),
            }
        }
    }
    Ok(recovered)
}
