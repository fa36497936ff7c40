//! Every store against the one contract.

mod faulty;

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
