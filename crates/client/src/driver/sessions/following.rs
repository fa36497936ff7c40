//! Server-sent events of the directory, one after the other. What has come of an event that is not whole
//! yet is kept, and bounded.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

/// The largest event.
const EVENT_BYTES_MAX: usize = 1 << 20;

/// A stream of events.
pub(super) struct Following {
    body: Incoming,
    parts: Parts,
}

impl Following {
    pub(super) fn new(body: Incoming) -> Self {
        Self { body, parts: Parts::default() }
    }

    /// The next event: its name and its data. None when the stream is over, for whatever reason.
    pub(super) async fn next(&mut self) -> Option<(String, Value)> {
        loop {
            if let Some(event) = self.parts.next() {
                return Some(event);
            }
            let frame = self.body.frame().await?.ok()?;
            if let Ok(bytes) = frame.into_data() {
                self.parts.add(&bytes)?;
            }
        }
    }
}

/// What has come and was not read yet.
#[derive(Default)]
struct Parts(Vec<u8>);

impl Parts {
    /// None when it is too much for one event.
    fn add(&mut self, bytes: &Bytes) -> Option<()> {
        self.0.extend_from_slice(bytes);
        (self.0.len() <= EVENT_BYTES_MAX).then_some(())
    }

    /// The next event that is whole, has a name and can be read.
    fn next(&mut self) -> Option<(String, Value)> {
        loop {
            let end = self.0.windows(2).position(|pair| pair == b"\n\n")?;
            let block: Vec<u8> = self.0.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&block);
            let field = |name: &str| {
                text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))
            };
            let (name, data) = (field("event"), field("data"));
            if let (Some(name), Some(data)) = (name, data)
                && let Ok(data) = serde_json::from_str(data.trim_start())
            {
                return Some((name.trim_start().to_owned(), data));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_they_are_cut() {
        let text = "event: begin\ndata: {}\n\n: beat\n\nevent:ended\ndata:{\"a\":1}\n\nevent: x\n";
        for size in 1..text.len() {
            let (mut parts, mut read) = (Parts::default(), Vec::new());
            for piece in text.as_bytes().chunks(size) {
                parts.add(&Bytes::copy_from_slice(piece)).expect("small");
                read.extend(std::iter::from_fn(|| parts.next()));
            }
            let names: Vec<_> = read.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["begin", "ended"], "in pieces of {size}");
            assert_eq!(read[1].1["a"], 1);
        }
    }

    #[test]
    fn an_event_without_an_end_is_too_much_at_last() {
        let mut parts = Parts::default();
        assert!(parts.add(&Bytes::from(vec![b'x'; EVENT_BYTES_MAX])).is_some());
        assert!(parts.add(&Bytes::from_static(b"x")).is_none());
    }
}
