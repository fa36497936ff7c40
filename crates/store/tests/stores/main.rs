//! Every store against the one contract.

mod damage;
mod faulty;
mod folder;
mod formats;
mod journal;
mod layers;
mod short_lived;

mod embedded {
    fn fresh() -> (rejoin_store::Embedded, tempfile::TempDir) {
        let folder = tempfile::tempdir().expect("a folder");
        (rejoin_store::Embedded::open(folder.path().join("data")).expect("a new store"), folder)
    }

    rejoin_store::contract_of!(fresh());
}

mod embedded_between_restarts {
    use rejoin_core::scope::{Batch, Opened, ScopeId};
    use rejoin_store::{Damaged, Embedded, Outcome, ScopeKind, Store, StoreError};

    /// A store that is closed and opened again after everything it does.
    struct Restarted(Option<Embedded>, tempfile::TempDir);

    impl Restarted {
        fn around<T>(&mut self, work: impl FnOnce(&mut Embedded) -> T) -> T {
            let done = work(self.0.as_mut().expect("it is open"));
            self.0 = None;
            self.0 = Some(Embedded::open(self.1.path()).expect("it opens again"));
            done
        }
    }

    impl Store for Restarted {
        fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
            self.around(|store| store.open(scopes))
        }

        fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
            self.around(|store| store.commit(group))
        }

        fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
            self.0.as_ref().expect("it is open").scopes(kind)
        }
    }

    fn fresh() -> (Restarted, ()) {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Embedded::open(folder.path()).expect("a new store");
        (Restarted(Some(store), folder), ())
    }

    rejoin_store::contract_of!(fresh());
}

/// Halves of the journal are small there, and full often.
mod embedded_on_a_small_disk {
    use rejoin_store::platter::Platter;

    fn fresh() -> (rejoin_store::Embedded, Platter) {
        let platter = Platter::default();
        (platter.store().expect("a new store"), platter)
    }

    rejoin_store::contract_of!(fresh());
}

/// Full halves wait to be applied until the other half is full, too.
mod embedded_with_two_layers {
    use rejoin_store::platter::Platter;

    fn fresh() -> (rejoin_store::Embedded, Platter) {
        let platter = Platter::default();
        (platter.stepped_store().expect("a new store"), platter)
    }

    rejoin_store::contract_of!(fresh());
}

mod embedded_between_kills {
    use rejoin_core::scope::{Batch, Opened, ScopeId};
    use rejoin_store::platter::Platter;
    use rejoin_store::{Damaged, Embedded, Outcome, ScopeKind, Store, StoreError};

    /// A store that is killed after everything it does: the next one has only its files.
    struct Killed(Embedded, Platter);

    impl Killed {
        fn around<T>(&mut self, work: impl FnOnce(&mut Embedded) -> T) -> T {
            let done = work(&mut self.0);
            self.1 = self.1.copy();
            self.0 = self.1.store().expect("it opens again");
            done
        }
    }

    impl Store for Killed {
        fn open(&mut self, scopes: &[ScopeId]) -> Result<Vec<Result<Opened, Damaged>>, StoreError> {
            self.around(|store| store.open(scopes))
        }

        fn commit(&mut self, group: &[Batch]) -> Vec<Outcome> {
            self.around(|store| store.commit(group))
        }

        fn scopes(&self, kind: Option<ScopeKind>) -> Result<Vec<ScopeId>, StoreError> {
            self.0.scopes(kind)
        }
    }

    fn fresh() -> (Killed, ()) {
        let platter = Platter::default();
        (Killed(platter.store().expect("a new store"), platter), ())
    }

    rejoin_store::contract_of!(fresh());
}

mod memory {
    rejoin_store::contract_of!((rejoin_store::Memory::default(), ()));
}

mod faultless {
    use rejoin_store::Memory;
    use rejoin_store::faulty::{Faults, Faulty};

    rejoin_store::contract_of!((Faulty::new(Memory::default(), Faults::default(), 1), ()));
}

mod reordered {
    use rejoin_store::Memory;
    use rejoin_store::faulty::{Faults, Faulty};

    rejoin_store::contract_of!((
        Faulty::new(Memory::default(), Faults { reorder: 1_000, ..Faults::default() }, 2),
        ()
    ));
}
