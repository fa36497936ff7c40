//! A session hops between transports in the middle of a game: each connection may be of another
//! kind, and nothing is lost, repeated or reordered in either direction.

use bytes::Bytes;
use rejoin_wire::Encoding;
use rejoin_wire::v1::{
    Hello, Position, Resume, Rung, Welcome, client_frame, down, hello, server_frame,
};

use crate::datagrams::Datagrams;
use crate::dial::{Door, InProcess, Line, Stream, Transport, Web};
use crate::speaker::{House, Speaker, plain};

/// What a client remembers from one connection to the next.
struct Traveller {
    welcome: Welcome,
    position: Position,
    /// Its last number.
    number: u64,
    heard: Vec<Bytes>,
}

impl Traveller {
    /// Comes back on a line of whatever kind, and reads until it has heard so many messages.
    async fn ride<L: Line>(&mut self, line: L, say: &str, until: usize) {
        let mut speaker = Speaker::on(line, Encoding::Protobuf, self.number);
        assert!(matches!(speaker.hear().await, Ok(server_frame::Frame::Challenge(_))));
        let resume = Resume {
            session: self.welcome.session,
            token: self.welcome.token.clone(),
            epoch: self.welcome.epoch,
            position: Some(self.position),
            oldest_unacked: self.number + 1,
            ..Resume::default()
        };
        let hello = Hello {
            version: rejoin_wire::VERSION,
            server_name: "localhost".to_owned(),
            purpose: Some(hello::Purpose::Resume(resume)),
            ..Hello::default()
        };
        speaker.say(client_frame::Frame::Hello(hello)).await;
        let heard = speaker.hear().await;
        let Ok(server_frame::Frame::Welcome(welcome)) = heard else { panic!("{heard:?}") };
        assert_eq!(welcome.rung(), Rung::Replayed, "{:?} at {:?}", welcome.reason(), self.position);
        assert_eq!(welcome.applied, self.number, "what it said before is applied once");
        self.welcome = welcome;
        // Answered, and so consumed: the next hello says that nothing before it is left to send.
        self.number = speaker.tell(say.to_owned(), true).await;
        let mut is_answered = false;
        while self.heard.len() < until || !is_answered {
            match speaker.hear().await {
                Ok(server_frame::Frame::Down(down)) => {
                    assert!(down.seq > self.position.seq, "nothing comes twice");
                    self.position.seq = down.seq;
                    match down.body {
                        Some(down::Body::Message(message)) => self.heard.push(message.payload),
                        Some(down::Body::Reply(reply)) => is_answered |= reply.to == self.number,
                        _ => {}
                    }
                }
                other => panic!("{other:?}"),
            }
        }
        // Cut without a word.
        speaker.say(client_frame::Frame::Ack(self.position)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_hops_between_transports_and_loses_nothing() {
    let house = House::start(Web, Encoding::Protobuf, plain()).await;
    let (stream, local) = (Stream.open(&house.server).await, InProcess.open(&house.server).await);
    let datagrams = Datagrams.open(&house.server).await;
    let mut ann = house.member("square").await;
    // The traveller's first connection, by WebSocket.
    let mut speaker = house.dial().await;
    assert!(matches!(speaker.hear().await, Ok(server_frame::Frame::Challenge(_))));
    speaker.say(speaker.hello()).await;
    let Ok(server_frame::Frame::Welcome(welcome)) = speaker.hear().await else { panic!("let in") };
    speaker.join("square").await;
    let Ok(server_frame::Frame::Down(down)) = speaker.hear().await else { panic!("joined") };
    let Some(down::Body::Joined(joined)) = &down.body else { panic!("{down:?}") };
    let position = Position { leg: joined.leg, seq: down.seq };
    speaker.say(client_frame::Frame::Ack(position)).await;
    speaker.assert_plays().await;
    let mut traveller = Traveller { welcome, position, number: 2, heard: Vec::new() };
    traveller.position.seq += 1;
    drop(speaker);

    let mut said = 0;
    for round in 0..12 {
        for _ in 0..5 {
            ann.tell(format!("word {said}"), false).await;
            said += 1;
        }
        // On its way between two transports: these are waiting for it.
        ann.assert_plays_until_quiet().await;
        let word = format!("from {round}");
        match round % 4 {
            0 => traveller.ride(stream.dial(Encoding::Protobuf).await, &word, said).await,
            1 => traveller.ride(datagrams.dial(Encoding::Protobuf).await, &word, said).await,
            2 => traveller.ride(local.dial(Encoding::Protobuf).await, &word, said).await,
            _ => traveller.ride(house.dial().await.line, &word, said).await,
        }
    }
    let expected: Vec<Bytes> = (0..said).map(|number| format!("word {number}").into()).collect();
    assert_eq!(traveller.heard, expected);
    drop(ann);
    house.server.stop().await;
}
