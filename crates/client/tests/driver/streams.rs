//! Nothing is lost, doubled or reordered, whatever is cut and however slow the game is.

use rejoin_client::driver::{Events, RequestError};
use rejoin_client::{Bytes, Event, Rung};

use crate::house::{Cut, House};
use crate::scene::{connected, enter, hears, quick, until};

const MESSAGES: u32 = 200;
const CUTS: usize = 20;

/// What a player has heard.
#[derive(Default)]
struct Heard {
    texts: Vec<String>,
    is_here: bool,
    returns: usize,
}

impl Heard {
    fn take(&mut self, event: Event) {
        match event {
            Event::Message { payload } => {
                self.texts.push(String::from_utf8_lossy(&payload).into_owned());
            }
            Event::Connected { rung, .. } => {
                assert_eq!(rung, Rung::Replayed);
                (self.is_here, self.returns) = (true, self.returns + 1);
            }
            Event::Disconnected { .. } => self.is_here = false,
            Event::Reconnecting { .. } | Event::DialFailed { .. } => {}
            event => panic!("not expected: {event:?}"),
        }
    }

    async fn next(&mut self, events: &mut Events) {
        self.take(until(events, |_| true).await);
    }
}

#[tokio::test]
async fn twenty_cuts_lose_nothing_of_two_hundred_messages_either_way() {
    for seed in [1, 7, 1_234_567] {
        let house = House::open().await;
        let (player, mut events, _) = enter(&house, quick()).await;
        let mut dice = Dice(seed);
        let mut heard = Heard { is_here: true, ..Heard::default() };
        let mut cuts = 0;
        for i in 1..=MESSAGES {
            player.send(i.to_string()).await.expect("there is room");
            while let Some(event) = events.try_next() {
                heard.take(event);
            }
            let (left, wanted) = (u64::from(MESSAGES - i + 1), (CUTS - cuts) as u64);
            if dice.below(left) < wanted {
                while !heard.is_here {
                    heard.next(&mut events).await;
                }
                let cut = [Cut::HalfFrame, Cut::End, Cut::Reset][dice.below(3) as usize];
                house.cut(cut);
                cuts += 1;
                // Some cuts meet a connection that is busy, some one that is quiet.
                for _ in 0..dice.below(4) {
                    heard.next(&mut events).await;
                }
                while heard.is_here {
                    heard.next(&mut events).await;
                }
            }
        }
        while heard.texts.len() < MESSAGES as usize {
            heard.next(&mut events).await;
        }
        let numbers: Vec<String> = (1..=MESSAGES).map(|i| i.to_string()).collect();
        assert_eq!(heard.texts, numbers, "seed {seed}");
        assert_eq!(house.applied(), numbers, "seed {seed}");
        assert_eq!(cuts, CUTS);
        // The last cut may have met a player that had heard everything.
        assert!(heard.returns >= CUTS - 1, "seed {seed}: {} returns", heard.returns);
    }
}

#[tokio::test]
async fn a_slow_game_slows_the_server_and_can_still_speak() {
    let house = House::open().await;
    let mut options = quick();
    (options.events_max, options.commands_max) = (2, 1);
    let (player, mut events, _) = enter(&house, options).await;
    player.send("many 400").await.expect("taken");
    // Its events wait for it; its own words do not.
    for i in 0..100 {
        player.send(format!("word {i}")).await.expect("there is room");
    }
    for i in 1..=400 {
        let event = until(&mut events, |event| matches!(event, Event::Message { .. })).await;
        assert_eq!(event, Event::Message { payload: Bytes::from(format!("m{i}")) });
    }
    hears(&mut events, "word 99").await;
    assert_eq!(house.applied().len(), 101);
}

#[tokio::test]
async fn requests_are_answered_here_and_across_a_cut() {
    let house = House::open().await;
    let (player, mut events, _) = enter(&house, quick()).await;
    assert_eq!(player.request("ask one").await, Ok(Bytes::from("answer one")));
    let mut later = player.begin_request("ask two").await.expect("taken");
    house.cut(Cut::HalfFrame);
    assert_eq!(connected(&mut events).await.1, Rung::Replayed);
    assert_eq!((&mut later).await, Ok(Bytes::from("answer two")));
    // What is never answered ends with the session.
    let open = player.begin_request("silence").await.expect("taken");
    player.leave().await.expect("it runs");
    until(&mut events, |event| matches!(event, Event::Left)).await;
    assert!(matches!(open.await, Err(RequestError::Ended(_))));
}

#[tokio::test]
async fn calls_latest_values_and_unreliable_messages_pass() {
    let house = House::open().await;
    let (player, mut events, _) = enter(&house, quick()).await;
    player.send("call who").await.expect("taken");
    let call = until(&mut events, |event| matches!(event, Event::Call { .. })).await;
    if let Event::Call { call, .. } = call {
        player.answer(call, "me").await.expect("taken");
    }
    hears(&mut events, "who me").await;
    player.send("latest merry").await.expect("taken");
    until(&mut events, |event| matches!(event, Event::Latest { key, .. } if key == "mood")).await;
    player.send_latest("place", "here").await.expect("taken");
    hears(&mut events, "here").await;
    player.send_unreliable("psst").await.expect("connected");
    until(&mut events, |event| matches!(event, Event::Unreliable { .. })).await;
    player.part().await.expect("taken");
    until(&mut events, |event| matches!(event, Event::Parted { .. })).await;
}

/// Numbers that a seed gives again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }
}
