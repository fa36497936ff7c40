//! Messages between the parts. A message to a part that is not there any more is answered for it,
//! so that its sender can come to an end.

use rejoin_core::id::{GameId, HostId, QueueId};
use rejoin_core::never;
use rejoin_core::scope::ScopeId;

use super::{Directory, DirectoryOutput};
use crate::effect::{Effect, NewGame, ToGame, ToHost, ToQueue};
use crate::game::EndCause;
use crate::game::core::{GameCore, GameInput};
use crate::host::HostView;
use crate::host::core::{HostCore, HostInput};
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::queue::core::{QueueCore, QueueInput};

/// Hosts that have ended and can be looked up. Their Games are kept for longer, and in the store.
const ENDED_HOSTS_MAX: usize = 1_000;

impl Directory {
    /// Carries messages until there are none.
    pub(super) fn carry(&mut self, now: Moment) {
        while let Some(effect) = self.mail.pop_front() {
            self.carry_one(now, effect);
        }
    }

    fn carry_one(&mut self, now: Moment, effect: Effect) {
        match effect {
            Effect::Commit(batch) => self.push(DirectoryOutput::Commit(batch)),
            Effect::Answer { ticket, outcome } => {
                self.push(DirectoryOutput::Answer { ticket, outcome });
            }
            Effect::Order(host, lease, order) => {
                self.push(DirectoryOutput::ToHost { host, lease, order });
            }
            Effect::Event(event) => self.push(DirectoryOutput::Event(event)),
            Effect::Seen(game) => self.seen(game),
            Effect::HostSeen(host) => drop(self.seen_hosts.insert(host.id, host)),
            Effect::HostGame(host, game, runs) => self.host_game_seen(host, game, runs),
            Effect::QueueSeen(id, queue) => drop(self.seen_queues.insert(id, queue)),
            Effect::PlacementSeen(view) => self.placement_seen(now.time, &view),
            Effect::Watched { ticket, queue, placement, views, payer } => {
                self.watched(now.time, ticket, queue, placement, views, payer);
            }
            Effect::Hidden(game) => self.hide(game),
            Effect::ToGame(game, mail) => self.tell_game(now, game, GameInput::Mail(mail)),
            Effect::ToHost(host, mail) => self.mail_host(now, host, mail),
            Effect::ToQueue(queue, mail) => self.mail_queue(now, queue, mail),
            Effect::Open(payer, is_open) => self.note_open(payer, is_open),
            Effect::Seek(queue, placement) => self.seek(now, queue, &placement),
            Effect::Create(new) => self.create_placed(now, *new),
            Effect::Stirred(host) => self.host_has_room(host),
            Effect::Gone(scope) => self.gone(scope),
        }
    }

    fn mail_host(&mut self, now: Moment, host: HostId, mail: ToHost) {
        if let ToHost::Take { game, .. } = &mail {
            self.unintend(host, game.id);
        }
        if self.hosts.contains_key(&host) {
            return self.tell_host(now, host, HostInput::Mail(mail));
        }
        let (game, word) = match mail {
            ToHost::Take { game, .. } => (game.id, ToGame::Refused(host)),
            ToHost::Activated(game) | ToHost::Update(game, _) => {
                (game, ToGame::Lost(host, EndCause::HostLost))
            }
            ToHost::Destroy { game, .. } => (game, ToGame::Destroyed(host)),
            // The Game waits for no answer to these.
            ToHost::UpdateEnd(_) | ToHost::Release(_) => return hit(Mark::StaleMail),
        };
        hit(Mark::StaleMail);
        self.tell_game(now, game, GameInput::Mail(word));
    }

    fn mail_queue(&mut self, now: Moment, queue: QueueId, mail: ToQueue) {
        if self.queues.contains_key(&queue) {
            return self.tell_queue(now, queue, QueueInput::Mail(mail));
        }
        let (ToQueue::Placed { game, attempt, .. } | ToQueue::Failed { game, attempt, .. }) = mail;
        self.tell_game(now, game, GameInput::Mail(ToGame::Acknowledged { attempt }));
    }

    /// Makes the Game of a placement, unless it is there already.
    fn create_placed(&mut self, now: Moment, new: NewGame) {
        if self.games.contains_key(&new.id) {
            self.unintend(new.host, new.id);
            return;
        }
        let is_full = self.games.len() >= self.config.games_max;
        let is_there = self.hosts.get(&new.host).is_some_and(|host| !host.is_over());
        match &new.origin {
            Some(origin) if is_full || !is_there => {
                self.unintend(new.host, new.id);
                let failed = ToQueue::Failed {
                    placement: origin.placement.clone(),
                    attempt: origin.attempt,
                    game: new.id,
                    cause: EndCause::HostRefused,
                };
                self.tell_queue(now, origin.queue, QueueInput::Mail(failed));
            }
            Some(_) | None => self.create_game(now, new),
        }
    }

    pub(super) fn create_game(&mut self, now: Moment, new: NewGame) {
        self.intend(new.host, new.id);
        let game = GameCore::create(now, self.config.clone(), new);
        self.enter_game(Box::new(game));
    }

    /// Takes in a Game that is new or was loaded, with what it has to say.
    pub(super) fn enter_game(&mut self, mut game: Box<GameCore>) {
        let id = game.id();
        self.mail.extend(std::iter::from_fn(|| game.next_output()));
        self.arm(ScopeId::Game(id), game.next_deadline());
        self.games.insert(id, game);
    }

    /// The same for a host.
    pub(super) fn enter_host(&mut self, id: HostId, mut host: Box<HostCore>) {
        self.crews.insert((host.registration().fleet.clone(), id));
        self.mail.extend(std::iter::from_fn(|| host.next_output()));
        self.arm(ScopeId::Host(id), host.next_deadline());
        self.hosts.insert(id, host);
        self.enrol(id);
    }

    /// The same for a queue.
    pub(super) fn enter_queue(&mut self, id: QueueId, mut queue: QueueCore) {
        self.mail.extend(std::iter::from_fn(|| queue.next_output()));
        self.arm(ScopeId::Queue(id), queue.next_deadline());
        self.queues.insert(id, queue);
    }

    /// A Game that has been purged hears nothing: its sender has not heard of that yet.
    pub(super) fn tell_game(&mut self, now: Moment, id: GameId, input: GameInput) {
        match self.games.get_mut(&id) {
            Some(game) => {
                game.handle(now, input);
                self.mail.extend(std::iter::from_fn(|| game.next_output()));
                let at = game.next_deadline();
                self.arm(ScopeId::Game(id), at);
            }
            None => hit(Mark::StaleMail),
        }
    }

    /// A host that has ended hears nothing: its process or a Game may speak of it a little longer.
    pub(super) fn tell_host(&mut self, now: Moment, id: HostId, input: HostInput) {
        match self.hosts.get_mut(&id) {
            Some(host) => {
                host.handle(now.time, input);
                self.mail.extend(std::iter::from_fn(|| host.next_output()));
                let at = host.next_deadline();
                self.arm(ScopeId::Host(id), at);
                self.enrol(id);
            }
            None => hit(Mark::StaleMail),
        }
    }

    /// A queue that is deleted hears nothing: the word on a commit may come late.
    pub(super) fn tell_queue(&mut self, now: Moment, id: QueueId, input: QueueInput) {
        match self.queues.get_mut(&id) {
            Some(queue) => {
                queue.handle(now, input);
                self.mail.extend(std::iter::from_fn(|| queue.next_output()));
                let at = queue.next_deadline();
                self.arm(ScopeId::Queue(id), at);
            }
            None => hit(Mark::StaleMail),
        }
    }

    pub(super) fn drain_catalogue(&mut self) {
        self.mail.extend(std::iter::from_fn(|| self.catalogue.next_output()));
    }

    /// A host that has ended can be looked up for as long as it is one of the last.
    fn keep_ended(&mut self, view: Box<HostView>) {
        let turn = self.ends.last_key_value().map_or(0, |(turn, _)| turn + 1);
        self.ends.insert(turn, view.id);
        self.ended_hosts.insert(view.id, (turn, view));
        while self.ends.len() > ENDED_HOSTS_MAX
            && let Some((turn, id)) = self.ends.pop_first()
        {
            if self.ended_hosts.get(&id).is_some_and(|(known, _)| *known == turn) {
                self.ended_hosts.remove(&id);
            }
        }
    }

    fn host_has_room(&mut self, host: HostId) {
        let fleet = self.hosts.get(&host).map(|host| host.registration().fleet.clone());
        if let Some(fleet) = fleet {
            self.stir(&fleet);
        }
    }

    /// A scope is deleted.
    fn gone(&mut self, scope: ScopeId) {
        self.arm(scope, None);
        match scope {
            ScopeId::Game(id) => {
                if let Some(game) = self.games.remove(&id) {
                    self.unlist(game.fleet(), id);
                }
            }
            ScopeId::Host(id) => {
                if let Some(host) = self.hosts.remove(&id) {
                    self.crews.remove(&(host.registration().fleet.clone(), id));
                    self.keep_ended(Box::new(host.view()));
                }
                self.enrol(id);
                self.seen_hosts.remove(&id);
            }
            ScopeId::Queue(id) => {
                self.unlead(id);
                self.queues.remove(&id);
                self.seen_queues.remove(&id);
                self.forget_queue(id);
            }
            ScopeId::Catalogue
            | ScopeId::Hub
            | ScopeId::Session(_)
            | ScopeId::Zone(_)
            | ScopeId::Player(_)
            | ScopeId::Account(_) => never!("the directory has deleted {scope:?}"),
        }
    }
}
