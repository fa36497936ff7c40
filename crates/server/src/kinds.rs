//! Which game code runs a kind of zone.

use std::collections::BTreeMap;
use std::sync::Arc;

use rejoin_core::chance::Chance;
use rejoin_core::scope::Opened;
use rejoin_core::time::Time;
use rejoin_core::zone::{Zone, ZoneCore, ZoneMachine, ZoneSpec};

/// Opens a zone of one kind.
pub(crate) type Open =
    Arc<dyn Fn(Time, ZoneSpec, &Opened, Chance) -> Box<dyn ZoneMachine> + Send + Sync>;

/// The kinds there are.
#[derive(Clone, Default)]
pub(crate) struct Kinds(BTreeMap<String, Open>);

impl Kinds {
    pub(crate) fn add<Z: Zone>(
        &mut self,
        kind: &str,
        make: impl Fn() -> Z + Send + Sync + 'static,
    ) {
        let open = move |now: Time, spec: ZoneSpec, opened: &Opened, chance: Chance| {
            let machine: Box<dyn ZoneMachine> =
                Box::new(ZoneCore::open(now, spec, make(), opened, chance));
            machine
        };
        self.0.insert(kind.to_owned(), Arc::new(open));
    }

    pub(crate) fn get(&self, kind: &str) -> Option<&Open> {
        self.0.get(kind)
    }
}
