//! Logins to accounts: what players send along, what the server's driver finds in it, and whether those
//! who are let in are who they have proven to be.

use bytes::Bytes;
use rejoin_core::account::{Holder, Link, Name};
use rejoin_core::hub::{AccountPolicy, AccountProof, AskId, HubInput, SessionCommand, Whom};
use rejoin_core::id::{AccountId, ConnectionId, PlayerId, SessionId};
use rejoin_testkit::parts::rng::Rng;
use rejoin_wire::v1::Welcome;

use crate::accounts::{Order, Shown, Welcomed};
use crate::event::Event;
use crate::world::World;

/// How the hash of a password is written here.
#[must_use]
pub fn hash_of(password: u64) -> String {
    format!("hash of {password}")
}

/// What is sent along to prove the password of an account.
fn password_text(name: &Name, password: u64, link: &str) -> String {
    format!("password {name} {password} {link}")
}

/// The links that a login may ask for; none most often.
fn draw_link(rng: &mut Rng, has_key: bool) -> &'static str {
    match rng.below(4) {
        0 if has_key => "bring",
        1 if has_key => "join",
        _ => "none",
    }
}

impl World {
    /// Gives players accounts to play with. Those who share a key share the account.
    pub(crate) fn hand_out_accounts(&mut self) {
        let count = self.accounts.entries.len() as u64;
        if count == 0 {
            return;
        }
        let is_required = self.knobs.hub.accounts == AccountPolicy::Required;
        for index in 0..self.players.len() {
            let known = self.players[index].known;
            let same = (0..index).find(|other| {
                self.players[*other].known == known && matches!(known, crate::player::Known::Key(_))
            });
            let account = match same {
                Some(other) => self.players[other].account,
                None if is_required || self.rng.per_mille(600) => {
                    Some(self.rng.below(count) as usize)
                }
                None => None,
            };
            self.players[index].account = account;
            let others = (0..index).filter(|other| self.players[*other].account == account);
            for other in others.collect::<Vec<usize>>() {
                if account.is_some() {
                    self.players[other].shared = true;
                    self.players[index].shared = true;
                }
            }
        }
    }

    /// What the next process of a player sends along: most often what it knows to be right.
    pub(crate) fn dress(&mut self, index: usize) {
        let Some(mut account) = self.players[index].account else { return };
        if self.rng.per_mille(60) {
            // It knows the password of another one as well, and those who play with that one share it.
            account = self.rng.below(self.accounts.entries.len() as u64) as usize;
            self.players[index].shared = true;
            self.players[index].borrows = true;
            for player in &mut self.players {
                player.shared |= player.account == Some(account);
            }
        }
        let has_key = self.players[index].credential().is_some();
        let (roll, mut link) = (self.rng.below(100), draw_link(&mut self.rng, has_key));
        let entry = &self.accounts.entries[account];
        if has_key && entry.player.is_none() && self.rng.per_mille(400) {
            // Nobody has played with it: it may still take a guest's player.
            link = "bring";
        }
        let text = match (&entry.holder, roll) {
            (Holder::Name(name), 0..=69) => password_text(name, entry.believed_password(), link),
            (Holder::Name(name), 70..=79) => {
                let old = self.rng.below(self.accounts.old_passwords(account) + 1);
                password_text(name, old, link)
            }
            (Holder::Name(name), 80..=83) => password_text(name, 0, link),
            (Holder::Subject { subject, .. }, 0..=84) => format!("token {subject} good {link}"),
            (Holder::Subject { subject, .. }, 85..=87) => format!("token {subject} bad {link}"),
            (_, 88..=89) => "account {".to_owned(),
            (_, 90..=92) => "a ticket for the game".to_owned(),
            _ => String::new(),
        };
        self.players[index].set_admission(text);
    }

    /// What somebody hostile tries: passwords that are wrong, were replaced or went with their account.
    pub(crate) fn old_words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for (account, entry) in self.accounts.entries.iter().enumerate() {
            let Holder::Name(name) = &entry.holder else { continue };
            let old = self.accounts.old_passwords(account);
            words.extend((0..old).rev().take(4).map(|old| password_text(name, old, "none")));
        }
        words
    }

    /// What proves the account of a player for good, once the operator has seen to it.
    pub(crate) fn right_admission(&self, account: usize) -> String {
        let entry = &self.accounts.entries[account];
        match &entry.holder {
            Holder::Name(name) => password_text(name, entry.password, "none"),
            Holder::Subject { subject, .. } => format!("token {subject} good none"),
        }
    }

    /// The driver looks at what came with a login, which takes a while. What it compares with is read
    /// now, as the real one does.
    pub(crate) fn check_account(&mut self, connection: ConnectionId, ask: AskId, payload: &Bytes) {
        let text = String::from_utf8_lossy(payload).into_owned();
        let words: Vec<&str> = text.split(' ').collect();
        let link = words.last().and_then(|word| Link::from_label(word));
        let payload = Bytes::from_static(b"for the game");
        let key = self.links.get(&connection.0).and_then(|link| link.key);
        let mut shown = None;
        let proof = match words[..] {
            ["password", name, password, _] => match self.known_password(name, password) {
                Some((account, password, id, version)) => {
                    shown = Some(Shown { account, password: Some(password), link, key });
                    AccountProof::Password { account: id, version, link, payload }
                }
                None => AccountProof::Wrong,
            },
            ["token", subject, "good", _] => {
                let (issuer, subject) = ("sim".to_owned(), subject.to_owned());
                let holder = Holder::Subject { issuer: issuer.clone(), subject: subject.clone() };
                let account = self.accounts.entries.iter().position(|e| e.holder == holder);
                shown = account.map(|account| Shown { account, password: None, link, key });
                AccountProof::Token { issuer, subject, create: true, link, payload }
            }
            ["token", ..] => AccountProof::Wrong,
            ["account", ..] => AccountProof::Unreadable("no account can be read in this"),
            _ => AccountProof::None,
        };
        let (mood, wait) = match self.quiet {
            true => (500, self.rng.below(2_000)),
            false => (self.rng.below(1_000), self.rng.below(self.knobs.access.check_us)),
        };
        if let Some(shown) = shown {
            self.aim_order(shown.account, wait);
        }
        let (proof, shown) = match mood {
            // Nothing is answered: the hub refuses in time.
            0..=9 => return,
            10..=29 => (AccountProof::Busy, None),
            _ => (proof, shown),
        };
        let (incarnation, proof) = (self.node.incarnation, Box::new(proof));
        self.plan(wait, Event::AccountChecked { incarnation, connection, ask, proof, shown });
    }

    /// The account of this name as the hub has it now, if the password is right.
    fn known_password(&self, name: &str, password: &str) -> Option<(usize, u64, AccountId, u32)> {
        let (name, password) = (Name::parse(name).ok()?, password.parse().ok()?);
        let (id, known) = self.node.hub.as_ref()?.account_named(&name)?;
        let is_right = known.password.as_deref() == Some(&hash_of(password));
        let holder = Holder::Name(name);
        let account = self.accounts.entries.iter().position(|entry| entry.holder == holder)?;
        is_right.then_some((account, password, id, known.version))
    }

    pub(crate) fn account_checked(
        &mut self,
        connection: ConnectionId,
        ask: AskId,
        proof: AccountProof,
        shown: Option<Shown>,
    ) {
        self.tell(|| format!("link {} has proven {shown:?}", connection.0));
        if let Some(shown) = shown {
            self.accounts.show(connection.0, shown);
        }
        self.hub(HubInput::Account { connection, ask, proof });
    }

    /// The operator may do something while a login of this account is under way.
    pub(crate) fn aim_order(&mut self, account: usize, within_us: u64) {
        if self.quiet || !self.rng.per_mille(self.knobs.access.aimed) {
            return;
        }
        let orders: &[Order] = match self.rng.below(4) {
            0 | 1 => &[Order::Password],
            2 => &[Order::Delete, Order::Add],
            _ => &[Order::Lock, Order::Unlock],
        };
        let mut wait = 0;
        for order in orders {
            wait += self.rng.below(within_us / 2 + 1);
            let (incarnation, order) = (self.node.incarnation, *order);
            self.plan(wait, Event::Operator { incarnation, account, order });
        }
    }

    /// Judges a Welcome that the server puts on a connection.
    pub(crate) fn check_login(&mut self, id: u64, welcome: &Welcome) {
        let Some(link) = self.links.get(&id) else { return };
        let Some(player) = PlayerId::from_slice(&welcome.player) else { return };
        if !link.server_open {
            // It does not reach anybody.
            return;
        }
        let (connection, is_login, key) = (id, link.is_login, link.key);
        let session = welcome.session;
        self.owners.insert(session, player);
        self.check_ban(session, player);
        let known = self.node.hub.as_ref().and_then(|hub| hub.session(SessionId(session)));
        let is_ending = known.is_some_and(|session| session.ending().is_some());
        let it = Welcomed { connection, is_login, key, session, player, is_ending };
        if let Err((checker, text)) = self.accounts.welcomed(it) {
            self.watch.fail(checker, text);
        }
    }

    /// Nobody is there whom an order that is done has ended, kept out or locked out.
    pub(crate) fn check_accounts(&mut self) {
        let Some(hub) = &self.node.hub else { return };
        if self.accounts.judges_live() {
            let live = hub.sessions().filter(|(_, session)| session.ending().is_none());
            let live = live.map(|(id, session)| (id.0, session.player()));
            if let Some((checker, text)) = self.accounts.check_live(live) {
                self.watch.fail(checker, text);
            }
        }
    }

    /// At rest, no session is left that an order has ended.
    pub(crate) fn check_ended(&mut self) {
        let Some(hub) = &self.node.hub else { return };
        if let Some((checker, text)) = self.accounts.check_left(hub.sessions().map(|(id, _)| id.0))
        {
            self.watch.fail(checker, text);
        }
    }

    /// An account was committed: are its keys those of logins with its present password?
    pub(crate) fn check_rows(&mut self) {
        let Some(hub) = &self.node.hub else { return };
        let mut found = Vec::new();
        for (account, entry) in self.accounts.entries.iter().enumerate() {
            let Holder::Name(name) = &entry.holder else { continue };
            let view = hub.player(&Whom::Name(name.clone()));
            let Some(row) = view.and_then(|view| view.account) else { continue };
            let hash = row.password.as_deref().and_then(|hash| hash.strip_prefix("hash of "));
            let Some(password) = hash.and_then(|text| text.parse().ok()) else { continue };
            found.extend(self.accounts.check_row(account, password, &row.keys));
        }
        for (checker, text) in found {
            self.watch.fail(checker, text);
        }
    }

    /// A session's callback runs: it was given one, and runs once a drop.
    pub(crate) fn run_callback(&mut self, session: SessionId, callback: u64) {
        self.tell(|| format!("callback {callback} of {session}"));
        let epoch = self.node.hub.as_ref().and_then(|hub| hub.session(session));
        let epoch = epoch.map_or(0, |session| session.epoch().0);
        let drop = (self.node.incarnation, epoch);
        let is_given = self.callbacks.contains_key(&session.0);
        let last = self.callbacks.insert(session.0, Some(drop));
        if !is_given || last.flatten() == Some(drop) {
            let text = format!("callback {callback} of session {session}, given: {is_given}");
            self.watch.fail("callback-once", text);
        }
        let incarnation = self.node.incarnation;
        let word = Bytes::from_static(&[9]);
        let command =
            Box::new(rejoin_core::hub::Command::Session(session, SessionCommand::Send(word)));
        let wait = self.rng.below(200_000);
        self.plan(wait, Event::Command { incarnation, command });
    }
}
