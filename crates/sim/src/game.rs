//! The game that simulated players play. It is made to be checked: it counts what it says to whom,
//! sends the counts along, and keeps them in its saved state, so that a player can tell a lost, a
//! repeated and a reordered message from its own books alone, across any crash.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use rejoin_core::call::CallFailed;
use rejoin_core::exchange::ZoneName;
use rejoin_core::id::{ObjectId, SessionId};
use rejoin_core::zone::{
    Context, Disconnect, JoinDenied, OnPart, RestoreRefused, Saved, Sender, State, Zone,
};
use rejoin_wire::v1::PartCause;

mod expected;

use crate::check::Violation;
use crate::speech::{Note, Page, Report, Start, Verb, Wish};
use expected::Expected;

thread_local! {
    static BROKEN: RefCell<Vec<Violation>> = const { RefCell::new(Vec::new()) };
}

/// The promises that the game itself found broken since the last call.
pub fn take_broken() -> Vec<Violation> {
    BROKEN.take()
}

fn broken(checker: &'static str, text: String) {
    BROKEN.with_borrow_mut(|all| all.push(Violation { checker, text }));
}

/// Books of one player that a session carries.
const BOOKS_MAX: usize = 24;

/// Wishes granted, by book: how many and the last. A session carries it from zone to zone.
type Granted = BTreeMap<u64, (u64, u64)>;

fn granted(mut data: Bytes) -> Granted {
    let mut all = Granted::new();
    while data.len() >= 24 {
        all.insert(data.get_u64(), (data.get_u64(), data.get_u64()));
    }
    all
}

fn granted_bytes(all: &Granted) -> Bytes {
    let mut out = BytesMut::new();
    for (book, (count, last)) in all {
        out.put_u64(*book);
        out.put_u64(*count);
        out.put_u64(*last);
    }
    out.freeze()
}

/// The game; `CELLS` says how it keeps its state, `HARD` what a drop means.
#[derive(Default)]
pub struct Book<const CELLS: bool, const HARD: bool> {
    all: u64,
    pages: BTreeMap<SessionId, Page>,
    versions: BTreeMap<u64, u64>,
    expected: Expected,
}

type Ctx<'a> = Context<'a, Note>;

impl<const CELLS: bool, const HARD: bool> Book<CELLS, HARD> {
    fn next_all(&mut self, ctx: &mut Ctx<'_>) -> u64 {
        self.all += 1;
        if CELLS {
            ctx.put(&b"all"[..], self.all.to_be_bytes().to_vec());
        }
        self.all
    }

    fn put_page(&self, ctx: &mut Ctx<'_>, who: SessionId) {
        if CELLS {
            let key = [b"p", &who.0.to_be_bytes()[..]].concat();
            match self.pages.get(&who) {
                Some(page) => {
                    ctx.put(key, [page.one.to_be_bytes(), page.some.to_be_bytes()].concat());
                }
                None => ctx.delete(key),
            }
        }
    }

    fn say_one(&mut self, ctx: &mut Ctx<'_>, who: SessionId) {
        let Some(page) = self.pages.get_mut(&who) else { return };
        page.one += 1;
        let one = page.one;
        self.put_page(ctx, who);
        ctx.send(who, Note::One(one));
    }

    fn say_some(&mut self, ctx: &mut Ctx<'_>, to: Vec<SessionId>, except: Option<SessionId>) {
        let mut counts = Vec::new();
        for who in &to {
            if let Some(page) = self.pages.get_mut(who) {
                page.some += 1;
                counts.push((who.0, page.some));
            }
            self.put_page(ctx, *who);
        }
        match except {
            Some(except) => ctx.broadcast_except(except, Note::Some(counts)),
            None => ctx.send_to(to, Note::Some(counts)),
        }
    }

    fn page(&self, who: SessionId) -> Page {
        self.pages.get(&who).copied().unwrap_or_default()
    }

    fn start(&self, who: SessionId) -> Bytes {
        Start { all: self.all, page: self.page(who) }.encode()
    }

    /// Keeps what is expected in this step's commit; a game without cells keeps it when it is saved.
    fn put_expected(&self, ctx: &mut Ctx<'_>) {
        if CELLS {
            ctx.put(&b"m"[..], self.expected.encode());
        }
    }

    fn compare(&self, ctx: &Ctx<'_>) {
        for violation in self.expected.compare(ctx) {
            BROKEN.with_borrow_mut(|all| all.push(violation));
        }
    }

    /// Books the wish: each exactly once, in order.
    fn grant(&mut self, ctx: &mut Ctx<'_>, from: &Sender, wish: &Wish) {
        let mut all = granted(ctx.data(from.session).cloned().unwrap_or_default());
        let (count, last) = all.get(&wish.book).copied().unwrap_or_default();
        if wish.number <= last {
            let text = format!("book {} number {} after {last}", wish.book, wish.number);
            broken("upstream-once", text);
        }
        all.insert(wish.book, (count + 1, wish.number));
        // Players who share an account share a session: each keeps the last of its own books.
        let own = wish.book >> 32 << 32..=wish.book;
        while all.range(own.clone()).count() > BOOKS_MAX {
            let oldest = all.range(own.clone()).next().map(|(book, _)| *book);
            oldest.and_then(|book| all.remove(&book));
        }
        ctx.set_data(from.session, granted_bytes(&all));
    }

    fn do_verb(&mut self, ctx: &mut Ctx<'_>, from: &Sender, wish: &Wish) {
        let members: Vec<SessionId> = ctx.members().map(|m| m.session).collect();
        let other = members[wish.arg as usize % members.len()];
        match wish.verb {
            Verb::Say => {
                let k = self.next_all(ctx);
                ctx.broadcast(Note::All(k, 0));
            }
            Verb::Whisper => self.say_one(ctx, from.session),
            Verb::Group => {
                let some = members.iter().filter(|m| (m.0 ^ wish.arg) & 1 == 0 || **m == other);
                self.say_some(ctx, some.copied().collect(), None);
            }
            Verb::Except => {
                let to = members.into_iter().filter(|m| *m != from.session).collect();
                self.say_some(ctx, to, Some(from.session));
            }
            Verb::Latest => self.say_latest(ctx, wish.arg % 64),
            Verb::Clear => {
                self.expected.latest.remove(&(wish.arg % 64));
                ctx.clear(format!("k{}", wish.arg % 64));
            }
            Verb::Loose => ctx.broadcast_unreliable(Note::Loose),
            Verb::Burst => {
                for _ in 0..wish.arg % 40 {
                    let k = self.next_all(ctx);
                    ctx.broadcast(Note::All(k, 200));
                    self.say_one(ctx, other);
                }
            }
            Verb::Panic => panic!("a wish that breaks the game"),
            Verb::Kick => ctx.part(other),
            Verb::Call => {
                let deadline = Duration::from_millis(200 + wish.arg % 3_000);
                ctx.call(other, Note::Call, deadline, wish.arg.to_be_bytes().to_vec());
            }
            Verb::Report => {
                let all = granted(ctx.data(from.session).cloned().unwrap_or_default());
                let (count, last) = all.get(&wish.book).copied().unwrap_or_default();
                let said = Start { all: self.all, page: self.page(from.session) };
                let latest = self.expected.latest.iter().map(|(key, version)| (*key, *version));
                let latest = latest.filter(|(key, _)| ctx.has_latest(&format!("k{key}")));
                let latest = latest.collect();
                ctx.reply(from, Note::Report(Report { count, last, said, latest }));
            }
            _ => self.arrange(ctx, from, wish),
        }
    }

    /// Wishes that say nothing by themselves.
    fn arrange(&mut self, ctx: &mut Ctx<'_>, from: &Sender, wish: &Wish) {
        match wish.verb {
            Verb::Transfer => {
                let kinds = ["cells", "whole", "session", "memory", "hard", "match", "nowhere"];
                let kind = kinds[wish.arg as usize % kinds.len()].to_owned();
                let name = format!("z{}", wish.arg / 7 % 2);
                let payload = if wish.arg.is_multiple_of(11) { &b"deny"[..] } else { b"" };
                ctx.transfer(from.session, ZoneName { kind, name }, payload);
            }
            Verb::Timer => {
                let delay = Duration::from_millis(wish.arg % 5_000);
                self.expected.set_timer(wish.arg % 8, ctx.age() + delay);
                ctx.after(delay, (wish.arg % 8).to_be_bytes().to_vec());
            }
            Verb::Job => {
                self.expected.start_job(wish.arg, ctx.age());
                ctx.start_job(&b"job"[..], wish.arg.to_be_bytes().to_vec());
            }
            Verb::End => ctx.end(),
            Verb::StartMatch => {
                self.expected.match_running = true;
                ctx.start_match();
            }
            Verb::EndMatch => {
                self.expected.match_running = false;
                self.expected.match_data.clear();
                ctx.end_match();
            }
            Verb::Own => {
                let policy = [OnPart::Keep, OnPart::HandOver, OnPart::Destroy];
                let on_part = policy[wish.arg as usize % 3];
                self.expected.owners.insert(wish.arg % 16, (from.player, on_part));
                ctx.set_owner(ObjectId(wish.arg % 16), from.player, on_part);
            }
            Verb::Avatar => ctx.set_avatar(from.session, Some(ObjectId(wish.arg % 16))),
            Verb::MatchData => {
                self.expected.match_data.insert(from.session, wish.arg);
                ctx.set_match_data(from.player, wish.arg.to_be_bytes().to_vec());
            }
            _ => {}
        }
    }

    fn say_latest(&mut self, ctx: &mut Ctx<'_>, key: u64) {
        let version = self.versions.entry(key).or_default();
        *version += 1;
        let version = *version;
        self.expected.latest.insert(key, version);
        if CELLS {
            ctx.put([b"v", &key.to_be_bytes()[..]].concat(), version.to_be_bytes().to_vec());
        }
        ctx.latest(format!("k{key}"), Note::Latest(version, self.all));
    }

    fn encode(&self) -> Bytes {
        let mut out = BytesMut::new();
        out.put_u64(self.all);
        out.put_u64(self.pages.len() as u64);
        for (who, page) in &self.pages {
            out.put_u64(who.0);
            out.put_u64(page.one);
            out.put_u64(page.some);
        }
        out.put_u64(self.versions.len() as u64);
        for (key, version) in &self.versions {
            out.put_u64(*key);
            out.put_u64(*version);
        }
        out.put(self.expected.encode());
        out.freeze()
    }

    fn decode(&mut self, mut saved: Bytes) {
        self.all = saved.get_u64();
        for _ in 0..saved.get_u64() {
            let who = SessionId(saved.get_u64());
            self.pages.insert(who, Page { one: saved.get_u64(), some: saved.get_u64() });
        }
        for _ in 0..saved.get_u64() {
            let key = saved.get_u64();
            self.versions.insert(key, saved.get_u64());
        }
        self.expected = Expected::decode(saved);
    }

    fn decode_cell(&mut self, key: &Bytes, mut value: Bytes) {
        let id = || key.get(1..9).and_then(|id| id.try_into().ok()).map(u64::from_be_bytes);
        match (key.first(), id()) {
            (Some(b'p'), Some(who)) => {
                let page = Page { one: value.get_u64(), some: value.get_u64() };
                self.pages.insert(SessionId(who), page);
            }
            (Some(b'v'), Some(key)) => drop(self.versions.insert(key, value.get_u64())),
            (Some(b'm'), _) => self.expected = Expected::decode(value),
            _ => self.all = value.get_u64(),
        }
    }
}

impl<const CELLS: bool, const HARD: bool> Zone for Book<CELLS, HARD> {
    type In = Wish;
    type Out = Note;

    const STATE: State = if CELLS { State::Cells } else { State::Whole };

    fn on_join(
        &mut self,
        ctx: &mut Ctx<'_>,
        who: SessionId,
        request: Bytes,
    ) -> Result<Bytes, JoinDenied> {
        if request == b"deny"[..] {
            return Err(JoinDenied("as asked".to_owned()));
        }
        self.pages.insert(who, Page::default());
        self.put_page(ctx, who);
        self.expected.joined(who, ctx.player_of(who));
        self.put_expected(ctx);
        let start = self.start(who);
        // The joiner hears its own join.
        let k = self.next_all(ctx);
        ctx.broadcast(Note::All(k, 0));
        Ok(start)
    }

    fn on_part(&mut self, ctx: &mut Ctx<'_>, who: SessionId, _cause: PartCause) {
        self.pages.remove(&who);
        self.expected.parted(who);
        self.put_expected(ctx);
        self.put_page(ctx, who);
        let k = self.next_all(ctx);
        ctx.broadcast(Note::All(k, 0));
    }

    fn on_disconnect(&mut self, ctx: &mut Ctx<'_>, who: SessionId) -> Disconnect {
        if !self.expected.match_running {
            // Before a match has started a drop forgets.
            self.expected.match_data.remove(&who);
            self.put_expected(ctx);
        }
        let k = self.next_all(ctx);
        ctx.broadcast(Note::All(k, 0));
        if HARD { Disconnect::Hard } else { Disconnect::Soft }
    }

    fn on_reconnect(&mut self, ctx: &mut Ctx<'_>, who: SessionId) {
        let kept = ctx.player_of(who).and_then(|player| ctx.match_data(player).cloned());
        let kept = kept.and_then(|data| data[..].try_into().ok()).map(u64::from_be_bytes);
        if let Some(set) = self.expected.match_data.get(&who)
            && kept != Some(*set)
        {
            broken("match-data", format!("{who} had {set}, {kept:?} was kept"));
        }
        self.say_one(ctx, who);
    }

    fn on_resync(&mut self, _ctx: &mut Ctx<'_>, who: SessionId) -> Bytes {
        self.start(who)
    }

    fn on_message(&mut self, ctx: &mut Ctx<'_>, from: Sender, wish: Wish) {
        self.compare(ctx);
        if wish.number > 0 && from.number > 0 {
            self.grant(ctx, &from, &wish);
        }
        self.do_verb(ctx, &from, &wish);
        // A departure is carried out before the effects that follow it, and keeps what it changes
        // itself: what was expected before must not be put behind it.
        if !matches!(wish.verb, Verb::Kick | Verb::Transfer | Verb::End) {
            self.put_expected(ctx);
        }
    }

    fn on_answer(
        &mut self,
        ctx: &mut Ctx<'_>,
        _who: SessionId,
        _key: Bytes,
        _answer: Result<Wish, CallFailed>,
    ) {
        let k = self.next_all(ctx);
        ctx.broadcast(Note::All(k, 0));
    }

    fn on_job(&mut self, ctx: &mut Ctx<'_>, _key: Bytes, mut result: Bytes) {
        let arg = result.try_get_u64().unwrap_or_default();
        if !self.expected.job_done(arg) {
            broken("jobs-once", format!("the result of job {arg} came once more"));
        }
        self.put_expected(ctx);
        let k = self.next_all(ctx);
        ctx.broadcast(Note::All(k, 0));
    }

    fn on_timer(&mut self, ctx: &mut Ctx<'_>, mut key: Bytes) {
        let key = key.try_get_u64().unwrap_or_default();
        if let Err(text) = self.expected.timer_due(key, ctx.age()) {
            broken("timers-once", text);
        }
        self.put_expected(ctx);
        let k = self.next_all(ctx);
        ctx.broadcast(Note::All(k, 0));
    }

    fn on_tick(&mut self, ctx: &mut Ctx<'_>) {
        self.compare(ctx);
        if ctx.tick().is_multiple_of(8) && !self.pages.is_empty() {
            let k = self.next_all(ctx);
            ctx.broadcast(Note::All(k, 0));
        }
    }

    fn save(&self) -> Option<Bytes> {
        Some(self.encode())
    }

    fn restore(&mut self, version: u32, saved: Saved) -> Result<(), RestoreRefused> {
        if version != Self::VERSION {
            return Err(RestoreRefused(format!("version {version}")));
        }
        if let Some(snapshot) = saved.snapshot {
            self.decode(snapshot);
        }
        for (key, value) in saved.cells {
            self.decode_cell(&key, value);
        }
        Ok(())
    }
}
