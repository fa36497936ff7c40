//! An honest player: the real client, a clock of its own, a memory that can be lost, and wishes.

use bytes::Bytes;
use rejoin_client::{Client, Config, Event, Identity, ResumeState, Secret, Status, Time};
use rejoin_core::id::PlayerId;
use rejoin_core::zone::Message;
use rejoin_testkit::parts::rng::Rng;
use rejoin_testkit::parts::stamp::Stamp;
use rejoin_wire::{DEFLATE, Encoding};

use crate::books::Books;
use crate::bureau::Ticket;
use crate::speech::{Verb, Wish};

/// Once faults have stopped, a connected player has two answers within this time.
const ANSWER_US: u64 = 30_000_000;

/// How a player is known.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Known {
    /// By a key.
    Key([u8; 32]),
    /// By a minted secret.
    Secret,
    /// Not at all.
    Anonymous,
}

/// A player.
pub struct Player {
    /// The real client.
    pub client: Client,
    /// How it is known.
    pub known: Known,
    /// Its present connection.
    pub link: Option<u64>,
    /// What it keeps over a reload.
    pub saved: Option<ResumeState>,
    /// The secret it was given.
    pub secret: Option<[u8; 32]>,
    /// Tokens it has had, newest last; a thief may have found the old ones.
    pub tokens: Vec<(u64, [u8; 32])>,
    /// Its books.
    pub books: Books,
    /// It hears and does nothing before.
    pub frozen_until: u64,
    /// When it will be woken.
    pub wake: Option<u64>,
    /// Others share its identity, or somebody ended its session: less can be expected.
    pub shared: bool,
    /// Once faults had stopped it was connected, and all it had sent was acknowledged.
    pub was_back: bool,
    /// Once faults had stopped: since when it has been connected at every nudge.
    pub connected_since: Option<u64>,
    /// When the last two answers came, the last one second; 0 stands for none.
    pub answered: [u64; 2],
    /// It should not be connected any more.
    pub retired: bool,
    /// Seats that were reserved for it.
    pub tickets: Vec<Ticket>,
    /// The account of the world that it plays with.
    pub account: Option<usize>,
    /// It may have logged in to the account of another player.
    pub borrows: bool,
    /// Its clock: offset in microseconds and drift in parts per million.
    clock: (u64, i64),
    config: Config,
    next_book: u64,
}

impl Player {
    /// A player that has never been connected.
    #[must_use]
    pub fn new(index: usize, known: Known, rng: &mut Rng) -> Self {
        let mut config = Config::new("sim");
        config.encoding = if rng.per_mille(250) { Encoding::Json } else { Encoding::Protobuf };
        config.ack_every = rng.range(1, 32) as u32;
        config.send_buffer_frames_max = *rng.pick(&[16, 200, 1_024]);
        config.backoff_base = std::time::Duration::from_millis(rng.range(20, 300));
        let client = Client::new(config.clone(), identity(known, None), rng.seed());
        let mut player = Self {
            client,
            known,
            link: None,
            saved: None,
            secret: None,
            tokens: Vec::new(),
            books: Books::default(),
            frozen_until: 0,
            wake: None,
            shared: false,
            was_back: false,
            connected_since: None,
            answered: [0; 2],
            retired: false,
            tickets: Vec::new(),
            account: None,
            borrows: false,
            clock: (rng.below(1 << 40), rng.range(0, 1_000) as i64 - 500),
            config,
            next_book: (index as u64 + 1) << 32,
        };
        let book = player.draw_book();
        player.books.turn_over(book);
        player
    }

    /// How its frames are written.
    #[must_use]
    pub fn encoding(&self) -> Encoding {
        self.config.encoding
    }

    /// What it sends along with each hello.
    #[must_use]
    pub fn admission(&self) -> &[u8] {
        &self.config.admission
    }

    /// The player that its key or secret is alone; none while it has none.
    #[must_use]
    pub fn credential(&self) -> Option<PlayerId> {
        match self.known {
            Known::Key(key) => Some(PlayerId::of_key(&Stamp::public(&key))),
            Known::Secret => self.secret.as_ref().map(|secret| PlayerId::of_secret(secret)),
            Known::Anonymous => None,
        }
    }

    /// The next process of this player sends this along with each hello.
    pub fn set_admission(&mut self, admission: impl Into<Bytes>) {
        self.config.admission = admission.into();
    }

    /// The next process of this player uses another transport, which compresses so often in a thousand.
    pub fn change_transport(&mut self, deflate: u64, rng: &mut Rng) {
        let is_json = rng.per_mille(250);
        self.config.encoding = if is_json { Encoding::Json } else { Encoding::Protobuf };
        self.config.capabilities.clear();
        if !is_json && rng.per_mille(deflate) {
            self.config.capabilities.push(DEFLATE.to_owned());
        }
    }

    /// A book nobody has written in.
    pub fn draw_book(&mut self) -> u64 {
        self.next_book += 1;
        self.next_book
    }

    /// World time on its clock.
    #[must_use]
    pub fn time(&self, now: u64) -> Time {
        let (offset, drift) = self.clock;
        let drifted = i128::from(now) * (1_000_000 + i128::from(drift)) / 1_000_000;
        Time(offset + drifted as u64)
    }

    /// When its clock shows this, in world time.
    #[must_use]
    pub fn world_time(&self, time: Time) -> u64 {
        let (offset, drift) = self.clock;
        let own = i128::from(time.0.saturating_sub(offset));
        (own * 1_000_000 / (1_000_000 + i128::from(drift))) as u64 + 1
    }

    /// The process starts anew with what was stored.
    pub fn reload(&mut self, seed: [u8; 32]) {
        let identity = identity(self.known, self.secret);
        self.client = match self.saved.clone() {
            Some(saved) => Client::with_resume_state(self.config.clone(), identity, seed, saved),
            None => Client::new(self.config.clone(), identity, seed),
        };
        let book = self.draw_book();
        let books = std::mem::take(&mut self.books);
        self.books.turn_over(book);
        (self.books.volatile, self.books.heard) = (books.volatile, books.heard);
        self.books.reports = books.reports;
        self.link = None;
    }

    /// Whether it is connected.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        self.client.status() == Status::Connected
    }

    /// Books what its client tells, and when an answer came. `book` is the number of the next book.
    pub fn hear(&mut self, event: &Event, book: u64, now: u64) {
        let answers = self.books.answers;
        self.books.hear(event, book);
        if self.books.answers > answers {
            self.answered = [self.answered[1], now];
        }
    }

    /// Whether it has been connected for long and has had fewer than two answers in that time. A session
    /// may end between two nudges because its lifetime is over, and the next one begins at once. The
    /// answers of both count then, so that the last session is not judged before its time.
    #[must_use]
    pub fn is_unanswered(&self, now: u64) -> bool {
        let is_late = |since: u64| since.max(self.answered[0]) + ANSWER_US < now;
        !self.retired && self.connected_since.is_some_and(is_late)
    }

    /// Makes one wish.
    pub fn wish(&mut self, verb: Verb, arg: u64) {
        let (book, number) = (self.books.book, self.books.wishes + 1);
        let wish = Wish { verb, book, number, arg };
        // What follows a wish is not read: there is something to compress.
        let mut payload = wish.encode().to_vec();
        if !self.config.capabilities.is_empty() {
            payload.resize(payload.len() + (arg % 80) as usize, 0);
        }
        if let Ok(send) = self.client.send(payload) {
            self.books.wishes = number;
            self.books.wished(send);
        }
    }

    /// Asks how many wishes were granted.
    pub fn ask_report(&mut self) {
        let wish = Wish { verb: Verb::Report, book: self.books.book, number: 0, arg: 0 };
        if !self.books.awaits_report()
            && let Ok(send) = self.client.request(wish.encode())
        {
            self.books.asked(send);
        }
    }

    /// A payload that no game can read.
    pub fn babble(&mut self, rng: &mut Rng) {
        let number = self.books.wishes + 1;
        let noise = Bytes::from(vec![0xff; rng.below(40) as usize]);
        if let Ok(send) = self.client.send(noise) {
            self.books.wishes = number;
            self.books.wished(send);
        }
    }
}

fn identity(known: Known, secret: Option<[u8; 32]>) -> Identity {
    match known {
        Known::Key(key) => Identity::Key(Box::new(Stamp(key))),
        Known::Secret => Identity::Secret(secret.map(Secret::new)),
        Known::Anonymous => Identity::Anonymous,
    }
}

#[cfg(test)]
mod tests {
    use rejoin_client::{RequestEnd, Rung, SendId};
    use rejoin_wire::v1::{CloseCode, RefusalCode, RungReason};

    use super::*;

    const SECOND_US: u64 = 1_000_000;

    /// A player that was answered in its first session at each of these seconds, and has begun another
    /// session since, because the lifetime of the first was over.
    fn in_second_session(answered: &[u64]) -> Player {
        let mut player = Player::new(0, Known::Anonymous, &mut Rng::new(1));
        player.connected_since = Some(0);
        for second in answered {
            let request = SendId(*second);
            player.books.asked(request);
            let how = RequestEnd::Refused(RefusalCode::NotMember);
            player.hear(&Event::RequestEnded { request, how }, 1, second * SECOND_US);
        }
        let connected = Event::Connected {
            rung: Rung::New,
            reason: RungReason::First,
            session: 2,
            player: [0; 16],
            zone: None,
            found: false,
            lost_upstream: 0,
            after: Some(CloseCode::Lifetime),
            capabilities: Vec::new(),
        };
        let last = answered.last().map_or(0, |second| second * SECOND_US);
        player.hear(&connected, 2, last + SECOND_US / 2);
        player
    }

    #[test]
    fn a_session_that_has_just_begun_does_not_owe_two_answers() {
        let player = in_second_session(&[39, 40]);
        assert!(!player.is_unanswered(41 * SECOND_US));
    }

    #[test]
    fn another_session_does_not_excuse_silence() {
        assert!(in_second_session(&[]).is_unanswered(31 * SECOND_US), "no answer at all");
        assert!(in_second_session(&[1]).is_unanswered(31 * SECOND_US), "one answer");
        assert!(in_second_session(&[39, 40]).is_unanswered(70 * SECOND_US), "no answer since");
    }

    #[test]
    fn answers_from_before_it_was_connected_do_not_count() {
        let mut player = in_second_session(&[39, 40]);
        player.connected_since = Some(41 * SECOND_US);
        assert!(!player.is_unanswered(71 * SECOND_US));
        assert!(player.is_unanswered(72 * SECOND_US));
    }
}
