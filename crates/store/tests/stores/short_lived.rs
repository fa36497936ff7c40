//! What is written and deleted again before it is in the tree: it takes no memory while the journal fills, and
//! the store still reads as one that keeps everything, through applies, kills, power cuts and full disks.

use bytes::Bytes;
use rejoin_core::id::{OwnerEpoch, Revision, SessionId, ZoneId};
use rejoin_core::scope::{Batch, Change, Opened, ScopeId};
use rejoin_store::contract::{batch, put};
use rejoin_store::embedded::disk::Part;
use rejoin_store::embedded::journal::JournalSize;
use rejoin_store::platter::Platter;
use rejoin_store::{Embedded, Memory, Outcome, Store, StoreError};

/// Large enough that no half is full in a test that uses it.
const LARGE: JournalSize = JournalSize { first: 64 << 10, most: 16 << 20 };

fn session(id: u64) -> ScopeId {
    ScopeId::Session(SessionId(id))
}

fn zone(id: u64) -> ScopeId {
    ScopeId::Zone(ZoneId(id))
}

fn delete(key: &str) -> Change {
    Change::Delete(Bytes::copy_from_slice(key.as_bytes()))
}

fn deletion(scope: ScopeId, owner: u64, revision: u64) -> Batch {
    Batch { delete_scope: true, ..batch(scope, owner, revision, vec![]) }
}

fn commit(store: &mut Embedded, group: &[Batch]) {
    assert_eq!(store.commit(group), vec![Outcome::Committed; group.len()]);
}

/// Makes twenty sessions with three rows each, changes them, and deletes them.
fn round(store: &mut Embedded, first: u64) {
    let ids = || (first..first + 20).map(session);
    let rows = || vec![put("self", "a player"), put("timeline/00", "began"), put("frame/1", "hi")];
    commit(store, &ids().map(|id| batch(id, 1, 1, rows())).collect::<Vec<_>>());
    let change = || vec![put("self", "a guest"), delete("frame/1")];
    commit(store, &ids().map(|id| batch(id, 1, 2, change())).collect::<Vec<_>>());
    commit(store, &ids().map(|id| deletion(id, 1, 3)).collect::<Vec<_>>());
}

#[test]
fn sessions_that_end_before_they_are_in_the_tree_leave_nothing_in_memory() {
    let mut store = Embedded::on_ground(Platter::default(), LARGE).expect("a new store");
    for number in 0..50 {
        round(&mut store, 1 + number * 20);
        assert_eq!(store.waiting_bytes(), 0, "after {} sessions", (number + 1) * 20);
    }
    assert_eq!(store.scopes(None), Ok(vec![]));
}

#[test]
fn zones_that_end_before_they_are_in_the_tree_leave_nothing_in_memory() {
    let mut store = Embedded::on_ground(Platter::default(), LARGE).expect("a new store");
    for id in 1..50 {
        let owner = store.open_one(zone(id)).expect("it opens").owner.0;
        assert_eq!(owner, id, "a new zone begins above the owners of those that are gone");
        commit(&mut store, &[batch(zone(id), owner, 1, vec![put("base", "all of it")])]);
        commit(&mut store, &[batch(zone(id), owner, 2, vec![put("cut", "a bit more")])]);
        commit(&mut store, &[deletion(zone(id), owner, 3)]);
        assert_eq!(store.waiting_bytes(), 0, "after {id} zones");
    }
}

/// A session's frames come and go while the session stays.
#[test]
fn rows_that_come_and_go_in_a_scope_of_the_tree_leave_nothing_in_memory() {
    let platter = Platter::default();
    let mut store = Embedded::on_ground(platter.clone(), LARGE).expect("a new store");
    commit(&mut store, &[batch(session(1), 1, 1, vec![put("self", "a"), put("frame/0", "old")])]);
    drop(store);
    let mut store = Embedded::on_ground(platter.clone(), LARGE).expect("it opens");
    commit(&mut store, &[batch(session(1), 1, 2, vec![put("self", "b"), delete("frame/0")])]);
    let waiting = store.waiting_bytes();
    assert!(waiting > 0, "the tree has a row that is deleted here");
    for seq in 1..500 {
        let key = format!("frame/{seq}");
        commit(&mut store, &[batch(session(1), 1, 2 * seq + 1, vec![put(&key, "hello")])]);
        commit(&mut store, &[batch(session(1), 1, 2 * seq + 2, vec![delete(&key)])]);
        assert_eq!(store.waiting_bytes(), waiting, "after {seq} frames");
    }
    let mut killed = platter.copy().store().expect("it opens");
    let rows = killed.open_one(session(1)).expect("it opens").rows;
    assert_eq!(rows, [("self".into(), "b".into())]);
}

/// The journal fills up all the same, and its halves must be given up in time.
#[test]
fn a_journal_of_what_is_gone_is_begun_anew_when_it_is_full() {
    for is_stepped in [false, true] {
        let platter = Platter::default();
        let store = if is_stepped { platter.stepped_store() } else { platter.store() };
        let mut store = store.expect("a new store");
        for number in 0..50 {
            round(&mut store, 1 + number * 20);
        }
        for half in 0..2 {
            let size = platter.size_of(Part::Journal(half));
            assert!(size <= 32 << 10, "journal.{half} has {size} bytes");
        }
    }
}

/// What goes past the journal on a disk with little room must not be undone by what the journal still has.
#[test]
fn a_scope_that_is_made_again_with_little_room_is_there_after_a_kill() {
    let platter = Platter::default();
    let mut store = Embedded::on_ground(platter.clone(), LARGE).expect("a new store");
    commit(&mut store, &[batch(session(1), 1, 1, vec![put("self", "first life")])]);
    commit(&mut store, &[deletion(session(1), 1, 2)]);
    platter.set_room(Some(platter.size() + (1 << 20)));
    commit(&mut store, &[batch(session(1), 2, 1, vec![put("self", "second life")])]);
    let killed = platter.copy();
    let mut killed = Embedded::on_ground(killed, LARGE).expect("it opens");
    let rows = killed.open_one(session(1)).expect("it opens").rows;
    assert_eq!(rows, [("self".into(), "second life".into())]);
}

/// A small chance of its own.
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963);
        (self.0 >> 33) % bound
    }

    /// A change of one of a few rows, often one that takes something away.
    fn change(&mut self) -> Change {
        let key = format!("{}/{}", ["f", "g"][self.below(2) as usize], self.below(3));
        match self.below(9) {
            0..=3 => delete(&key),
            4 => Change::DeletePrefix(Bytes::copy_from_slice(&key.as_bytes()[..2])),
            5 if self.below(3) == 0 => Change::DeletePrefix(Bytes::new()),
            _ => put(&key, &format!("{:x}", self.below(1 << 30)).repeat(self.below(40) as usize)),
        }
    }
}

/// The scopes of a game, and how many of each were seen at work.
const SCOPES: [ScopeId; 6] = [
    ScopeId::Hub,
    ScopeId::Session(SessionId(1)),
    ScopeId::Session(SessionId(2)),
    ScopeId::Session(SessionId(3)),
    ScopeId::Zone(ZoneId(1)),
    ScopeId::Zone(ZoneId(2)),
];

/// A store beside one that keeps all it has in ordered maps.
struct Game {
    chance: Draw,
    about: String,
    platter: Platter,
    store: Embedded,
    plain: Memory,
    /// How often the store had no room, and how often the power went.
    full: u64,
    cut: u64,
}

impl Game {
    fn new(seed: u64) -> Self {
        let platter = Platter::default();
        let store = platter.stepped_store().expect("a new store");
        let (chance, plain, about) = (Draw(seed), Memory::default(), format!("seed {seed}"));
        Self { chance, about, platter, store, plain, full: 0, cut: 0 }
    }

    /// Where a scope stands and what is in it. One that is not there has the owner that the next one is above.
    fn plain(&self, scope: ScopeId) -> Opened {
        let mut opened = self.plain.clone().open_one(scope).expect("it opens");
        opened.owner = OwnerEpoch(opened.owner.0 - 1);
        opened
    }

    /// Some batches of one scope, in order, sometimes with its end.
    fn batches(&mut self, scope: ScopeId, group: &mut Vec<Batch>) {
        let Opened { owner, revision, .. } = self.plain(scope);
        // The first batch of a scope that was not opened may be of any owner.
        let owner = if revision == Revision(0) { owner.0.max(1) } else { owner.0 };
        let count = 1 + self.chance.below(3);
        for next in revision.0 + 1..=revision.0 + count {
            let changes = (0..self.chance.below(5)).map(|_| self.chance.change()).collect();
            group.push(batch(scope, owner, next, changes));
        }
        if self.chance.below(3) == 0 {
            group.push(deletion(scope, owner, revision.0 + count + 1));
        }
    }

    fn commit(&mut self) {
        let mut group = Vec::new();
        for scope in SCOPES {
            if self.chance.below(3) == 0 {
                self.batches(scope, &mut group);
            }
        }
        let outcomes = self.store.commit(&group);
        let mut taken = Vec::new();
        for (batch, outcome) in group.into_iter().zip(outcomes) {
            match outcome {
                Outcome::Committed => taken.push(batch),
                Outcome::Full => self.full += 1,
                other => panic!("{}: {other:?} of {batch:?}", self.about),
            }
        }
        let expected = vec![Outcome::Committed; taken.len()];
        assert_eq!(self.plain.commit(&taken), expected, "{}", self.about);
    }

    fn open(&mut self) {
        let scope = SCOPES[self.chance.below(6) as usize];
        match self.store.open_one(scope) {
            Ok(opened) => {
                let plain = self.plain.open_one(scope).expect("it opens");
                assert_eq!(opened, plain, "{}: {scope:?}", self.about);
            }
            Err(why) => assert!(format!("{why:?}").contains("Full"), "{}: {why:?}", self.about),
        }
    }

    /// The power goes while a half is applied, and an arbitrary part of what was not synced is lost.
    fn cut_power(&mut self) {
        self.platter.die_in(self.chance.below(20));
        self.store.step_apply();
        self.cut += u64::from(self.platter.is_dead());
        self.platter.die_in(0);
        let spare = Platter::default().store().expect("a new store");
        drop(std::mem::replace(&mut self.store, spare));
        self.make_room();
        let chance = &mut self.chance;
        self.platter.revive(|| chance.below(2) == 0);
        self.store = self.platter.stepped_store().expect("it opens");
    }

    fn kill(&mut self) {
        self.platter = self.platter.copy();
        self.store = self.platter.stepped_store().expect("it opens");
    }

    fn step(&mut self) {
        match self.chance.below(40) {
            0..=21 => self.commit(),
            22..=27 => self.open(),
            28..=32 => self.store.step_apply(),
            33 => self.cut_power(),
            34 => self.kill(),
            35 => self.platter.set_room(Some(self.platter.size() + (1 << 20))),
            36 => self.platter.fill_in(Part::Tree, Some(self.chance.below(12))),
            _ => self.make_room(),
        }
    }

    fn make_room(&self) {
        self.platter.set_room(None);
        self.platter.fill_in(Part::Tree, None);
    }

    /// Reads all of it without changing anything.
    fn compare(&self, store: &Embedded, about: &str) {
        let mut shown = Vec::new();
        let visited = store.snapshots().visit(|one| {
            shown.push(one.expect("nothing is damaged"));
            Ok(())
        });
        if visited == Err(StoreError::Full) {
            return;
        }
        assert_eq!(visited, Ok(vec![]), "{}: {about}", self.about);
        let listed = self.plain.scopes(None).expect("it is in memory");
        let expected: Vec<_> = listed.into_iter().map(|scope| (scope, self.plain(scope))).collect();
        assert_eq!(shown, expected, "{}: {about}", self.about);
    }

    /// As a kill at this moment leaves it, and what new scopes begin above.
    fn compare_killed(&self) {
        let mut killed = self.platter.copy().store().expect("it opens");
        self.compare(&killed, "killed");
        let unused = session(99);
        let owner = killed.open_one(unused).expect("it opens").owner;
        assert_eq!(owner.0, self.plain(unused).owner.0 + 1, "{}: killed", self.about);
    }
}

#[test]
fn a_store_reads_as_one_that_keeps_everything() {
    let (mut full, mut cut) = (0, 0);
    for seed in 1..=60 {
        let mut game = Game::new(seed);
        for number in 0..250 {
            game.about = format!("seed {seed}, step {number}");
            game.step();
            game.compare(&game.store, "at work");
            if number % 10 == 9 {
                game.compare_killed();
            }
        }
        full += game.full;
        cut += game.cut;
    }
    assert!(full > 100 && cut > 10, "{full} batches found no room, {cut} applies lost power");
}
