//! The players' side of the world: what their clients give out, what they are told, and the books
//! that judge it.

use rejoin_client::Output;
use rejoin_core::event::Event as Told;

use crate::check::Sleeper;
use crate::event::Event;
use crate::world::World;

impl World {
    /// Carries out what a client gives out, and judges what it tells.
    pub fn drain_player(&mut self, index: usize) {
        while let Some(output) = self.players[index].client.next_output() {
            match output {
                Output::Connect { .. } => {
                    let link = self.dial_player(index);
                    self.players[index].link = Some(link);
                }
                Output::Send(frame) => {
                    if let Some(link) = self.players[index].link {
                        self.send_from(index, link, frame);
                    }
                }
                Output::Close(_) => {
                    if let Some(link) = self.players[index].link.take() {
                        self.hang_up(link);
                    }
                }
                Output::StoreToken(state) => {
                    let player = &mut self.players[index];
                    player.tokens.push((state.session, *state.token.expose()));
                    player.saved = Some(state);
                }
                Output::StoreSecret(secret) => {
                    self.players[index].secret = Some(*secret.expose());
                }
                Output::ForgetToken => self.players[index].saved = None,
                Output::Event(event) => {
                    self.tell(|| format!("player {index}: {}", brief(&event)));
                    let book = self.players[index].draw_book();
                    if let rejoin_client::Event::Connected { session, capabilities, .. } = &event {
                        self.note_agreed(index, capabilities);
                        let volatile = self.watch.volatile.contains(session);
                        self.players[index].books.volatile |= volatile;
                    }
                    self.players[index].books.is_shared = self.players[index].shared;
                    self.players[index].hear(&event, book, self.now);
                    self.answer_calls(index, &event);
                }
            }
        }
        for violation in self.players[index].books.take_found() {
            let text = format!("player {index}: {}", violation.text);
            self.watch.fail(violation.checker, text);
        }
        let player = &mut self.players[index];
        if let Some(deadline) = player.client.next_deadline() {
            let at = player.world_time(deadline).max(self.now);
            if player.wake.is_none_or(|planned| at < planned) {
                player.wake = Some(at);
                self.queue.push(at, Event::PlayerWake { player: index });
            }
        }
    }

    fn answer_calls(&mut self, index: usize, event: &rejoin_client::Event) {
        if let rejoin_client::Event::Call { call, .. } = event
            && self.rng.per_mille(600)
        {
            let answer =
                crate::speech::Wish { verb: crate::speech::Verb::Say, book: 0, number: 0, arg: 0 };
            let answer = rejoin_core::zone::Message::encode(&answer);
            // A full buffer is an answer, too: none.
            let _ = self.players[index].client.answer(*call, answer);
        }
    }

    pub(crate) fn player_wake(&mut self, order: u64, index: usize) {
        let player = &mut self.players[index];
        if player.frozen_until > self.now {
            let until = player.frozen_until;
            return self.queue.put_off(until, order, Event::PlayerWake { player: index });
        }
        // Another wake was planned for an earlier time, and it has come.
        if player.wake.take_if(|at| *at <= self.now).is_none() {
            return;
        }
        let time = player.time(self.now);
        player.client.wake(time);
        self.drain_player(index);
        let again = self.players[index].wake == Some(self.now);
        self.watch.woken(self.now, Sleeper::Player(index), again);
    }

    pub(crate) fn overhear(&mut self, event: &Told) {
        self.tell(|| format!("server: {event:?}"));
        match event {
            Told::PlayerLeft { session, cause, .. } => self.check_told_cause(*session, *cause),
            Told::ZoneJoined { session, zone } => {
                if matches!(zone.kind.as_str(), "session" | "memory") {
                    self.watch.volatile.insert(session.0);
                }
            }
            _ => {}
        }
    }
}

/// What a player was told, without the padding.
fn brief(event: &rejoin_client::Event) -> String {
    use rejoin_core::zone::Message;
    match event {
        rejoin_client::Event::Message { payload } => {
            match crate::speech::Note::decode(payload.clone()) {
                Ok(note) => format!("{note:?}"),
                Err(_) => "a message from outside".to_owned(),
            }
        }
        other => format!("{other:?}"),
    }
}
