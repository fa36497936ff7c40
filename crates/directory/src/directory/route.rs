//! Messages between the parts. A message to a part that is not there any more is answered for it,
//! so that its sender can come to an end.

use rejoin_core::id::{GameId, HostId, QueueId};
use rejoin_core::scope::ScopeId;

use super::{Directory, DirectoryOutput};
use crate::effect::{Effect, NewGame, ToGame, ToHost, ToQueue};
use crate::game::EndCause;
use crate::game::core::{GameCore, GameInput};
use crate::host::core::HostInput;
use crate::mark::{Mark, hit};
use crate::moment::Moment;
use crate::queue::core::QueueInput;

impl Directory {
    /// Carries messages until there are none.
    pub(super) fn carry(&mut self, now: Moment) {
        loop {
            while let Some(effect) = self.mail.pop_front() {
                self.carry_one(now, effect);
            }
            if !std::mem::take(&mut self.is_stirred) {
                return;
            }
            let queues: Vec<QueueId> = self.queues.keys().copied().collect();
            for queue in queues {
                self.tell_queue(now, queue, QueueInput::Stir);
            }
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
            Effect::Seen(game) => self.seen(now.time, game),
            Effect::HostSeen(host) => drop(self.seen_hosts.insert(host.id, host)),
            Effect::HostGame(host, game, runs) => self.host_game_seen(host, game, runs),
            Effect::QueueSeen(id, queue) => drop(self.seen_queues.insert(id, queue)),
            Effect::PlacementSeen(view) => self.placement_seen(now.time, &view),
            Effect::Watched { ticket, queue, placement, views } => {
                self.watched(now.time, ticket, queue, placement, views);
            }
            Effect::Hidden(game) => self.hide(now.time, game),
            Effect::ToGame(game, mail) => self.tell_game(now, game, GameInput::Mail(mail)),
            Effect::ToHost(host, mail) => self.mail_host(now, host, mail),
            Effect::ToQueue(queue, mail) => self.mail_queue(now, queue, mail),
            Effect::Seek(queue, placement) => self.seek(now, queue, &placement),
            Effect::Create(new) => self.create_placed(now, *new),
            Effect::Stirred => self.is_stirred = true,
            Effect::Gone(scope) => self.gone(now, scope),
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
            ToHost::UpdateEnd(_) | ToHost::Release(_) => return,
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
            _ => self.create_game(now, new),
        }
    }

    pub(super) fn create_game(&mut self, now: Moment, new: NewGame) {
        let id = new.id;
        self.intend(new.host, id);
        let game = GameCore::create(now, self.config.clone(), new);
        self.games.insert(id, Box::new(game));
        self.drain_game(id);
    }

    pub(super) fn tell_game(&mut self, now: Moment, id: GameId, input: GameInput) {
        let Some(game) = self.games.get_mut(&id) else { return hit(Mark::StaleMail) };
        game.handle(now, input);
        self.mail.extend(std::iter::from_fn(|| game.next_output()));
        let at = game.next_deadline();
        self.arm(ScopeId::Game(id), at);
    }

    pub(super) fn tell_host(&mut self, now: Moment, id: HostId, input: HostInput) {
        let Some(host) = self.hosts.get_mut(&id) else { return hit(Mark::StaleMail) };
        host.handle(now.time, input);
        self.drain_host(id);
    }

    pub(super) fn tell_queue(&mut self, now: Moment, id: QueueId, input: QueueInput) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        queue.handle(now, input);
        self.drain_queue(id);
    }

    pub(super) fn drain_game(&mut self, id: GameId) {
        let Some(game) = self.games.get_mut(&id) else { return };
        self.mail.extend(std::iter::from_fn(|| game.next_output()));
        let at = game.next_deadline();
        self.arm(ScopeId::Game(id), at);
    }

    pub(super) fn drain_host(&mut self, id: HostId) {
        let Some(host) = self.hosts.get_mut(&id) else { return };
        self.mail.extend(std::iter::from_fn(|| host.next_output()));
        let at = host.next_deadline();
        self.arm(ScopeId::Host(id), at);
        self.enrol(id);
    }

    pub(super) fn drain_queue(&mut self, id: QueueId) {
        let Some(queue) = self.queues.get_mut(&id) else { return };
        self.mail.extend(std::iter::from_fn(|| queue.next_output()));
        let at = queue.next_deadline();
        self.arm(ScopeId::Queue(id), at);
    }

    pub(super) fn drain_catalogue(&mut self) {
        self.mail.extend(std::iter::from_fn(|| self.catalogue.next_output()));
    }

    /// A scope is deleted.
    fn gone(&mut self, now: Moment, scope: ScopeId) {
        self.arm(scope, None);
        match scope {
            ScopeId::Game(id) => {
                if let Some(game) = self.games.remove(&id) {
                    self.unlist(now.time, game.fleet(), id);
                }
            }
            ScopeId::Host(id) => {
                if let Some(host) = self.hosts.remove(&id) {
                    self.crews.remove(&(host.registration().fleet.clone(), id));
                }
                self.enrol(id);
                self.seen_hosts.remove(&id);
            }
            ScopeId::Queue(id) => {
                self.queues.remove(&id);
                self.seen_queues.remove(&id);
                self.forget_queue(id);
            }
            _ => {}
        }
    }
}
