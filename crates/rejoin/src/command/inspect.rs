//! What a folder keeps, counted: for people and for programs.

use std::fmt;
use std::path::Path;

use rejoin::scope::ScopeId;
use rejoin::store::embedded::folder::FORMAT;
use rejoin::store::embedded::snapshot::Snapshots;
use rejoin::store::{ScopeKind, StoreError};
use rejoin::zone::name_of;
use serde::{Deserialize, Serialize};

/// Zones that are told by name.
const ZONES_MAX: usize = 20;

/// The count of scopes of a kind.
#[derive(Serialize, Deserialize, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Count {
    scopes: u64,
    rows: u64,
    bytes: u64,
}

#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug)]
struct ZoneFound {
    kind: String,
    name: String,
    revision: u64,
    owner: u64,
    rows: u64,
    bytes: u64,
}

/// What a folder keeps.
#[derive(Serialize, Deserialize, Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Survey {
    format: u32,
    file_bytes: u64,
    hub: Count,
    sessions: Count,
    zones: Count,
    players: Count,
    #[serde(default)]
    accounts: Count,
    /// Fleets, Games, hosts and queues.
    #[serde(default)]
    directory: Count,
    /// The largest ones.
    largest_zones: Vec<ZoneFound>,
    /// Scopes that are not what was written.
    damaged: Vec<String>,
    /// Scopes that an earlier start has set aside.
    set_aside: Vec<String>,
}

impl Survey {
    /// Looks at everything.
    pub(crate) fn of(folder: &Path, snapshots: &Snapshots) -> Result<Self, StoreError> {
        let file_bytes = std::fs::metadata(folder.join("store.redb")).map_or(0, |file| file.len());
        let mut survey = Self { format: FORMAT, file_bytes, ..Self::default() };
        let aside = snapshots.visit(|shown| {
            match shown {
                Ok((scope, opened)) => {
                    let rows = opened.rows.len() as u64;
                    let bytes = opened.rows.iter().map(|(key, value)| key.len() + value.len());
                    let bytes = bytes.sum::<usize>() as u64;
                    let count = survey.count(scope);
                    count.scopes += 1;
                    count.rows += rows;
                    count.bytes += bytes;
                    if let (ScopeId::Zone(_), Some(name)) = (scope, name_of(&opened.rows)) {
                        let (kind, name) = (name.kind, name.name);
                        let (revision, owner) = (opened.revision.0, opened.owner.0);
                        survey.note(ZoneFound { kind, name, revision, owner, rows, bytes });
                    }
                }
                Err(damaged) => survey.damaged.push(damaged.to_string()),
            }
            Ok(())
        })?;
        survey.set_aside = aside
            .into_iter()
            .map(|it| match it.scope {
                Some(scope) => format!("{scope:?}: {} rows, {} bytes", it.rows, it.bytes),
                None => format!("unknown: {} rows, {} bytes", it.rows, it.bytes),
            })
            .collect();
        Ok(survey)
    }

    fn count(&mut self, scope: ScopeId) -> &mut Count {
        match ScopeKind::of(scope) {
            ScopeKind::Hub => &mut self.hub,
            ScopeKind::Session => &mut self.sessions,
            ScopeKind::Zone => &mut self.zones,
            ScopeKind::Player => &mut self.players,
            ScopeKind::Account => &mut self.accounts,
            ScopeKind::Catalogue | ScopeKind::Game | ScopeKind::Host | ScopeKind::Queue => {
                &mut self.directory
            }
        }
    }

    fn note(&mut self, zone: ZoneFound) {
        let place = self.largest_zones.partition_point(|known| known.bytes >= zone.bytes);
        self.largest_zones.insert(place, zone);
        self.largest_zones.truncate(ZONES_MAX);
    }

    /// Whether all is as it was written.
    pub(crate) fn is_sound(&self) -> bool {
        self.damaged.is_empty()
    }
}

impl fmt::Display for Survey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "format     {}", self.format)?;
        writeln!(f, "file       {} KiB", self.file_bytes >> 10)?;
        let kinds = [
            ("sessions", self.sessions),
            ("zones", self.zones),
            ("players", self.players),
            ("directory", self.directory),
        ];
        for (name, count) in kinds {
            let Count { scopes, rows, bytes } = count;
            writeln!(f, "{name:<10} {scopes}  ({rows} rows, {} KiB)", bytes.div_ceil(1_024))?;
        }
        for zone in &self.largest_zones {
            let (kind, name) = (&zone.kind, zone.name.escape_debug());
            let ZoneFound { revision, owner, rows, bytes, .. } = zone;
            writeln!(f, "  {kind}/{name}  cut {revision}, owner {owner}, {rows} rows, {bytes} B")?;
        }
        for line in &self.set_aside {
            writeln!(f, "set aside  {line}")?;
        }
        for line in &self.damaged {
            writeln!(f, "DAMAGED    {line}")?;
        }
        let verdict = if self.is_sound() { "all is as it was written" } else { "see above" };
        write!(f, "checked    {verdict}")
    }
}
