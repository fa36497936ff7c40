//! Somebody at the operators' door, with HTTP typed by hand.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use rejoin_server::AdminConfig;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use crate::client::{PATIENCE, Running};

pub(crate) struct Operator {
    pub(crate) at: SocketAddr,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.status, 200, "{self:?}");
        serde_json::from_str(&self.body).expect("JSON")
    }
}

impl Running {
    pub(crate) async fn operator(&self) -> Operator {
        self.operator_with(AdminConfig::default()).await
    }

    pub(crate) async fn operator_with(&self, config: AdminConfig) -> Operator {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let at = listener.local_addr().expect("it is bound");
        let server = self.server.clone();
        tokio::spawn(async move { server.listen_admin(listener, config).await });
        Operator { at }
    }
}

impl Operator {
    /// Sends a request; version 1.0, so that the answer ends with the connection.
    async fn ask(&self, line: &str, headers: &[(&str, &str)]) -> TcpStream {
        let mut socket = TcpStream::connect(self.at).await.expect("it listens");
        let mut request = format!("{line} HTTP/1.0\r\n");
        if !headers.iter().any(|(name, _)| *name == "Host") {
            request += &format!("Host: {}\r\n", self.at);
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        socket.write_all((request + "\r\n").as_bytes()).await.expect("open");
        socket
    }

    pub(crate) async fn request(&self, line: &str, headers: &[(&str, &str)]) -> Answer {
        let mut socket = self.ask(line, headers).await;
        let mut text = String::new();
        let read = timeout(PATIENCE, socket.read_to_string(&mut text)).await;
        read.expect("an answer in time").expect("text");
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let (head, body) = (head.to_ascii_lowercase(), body.to_owned());
        Answer { status: status.expect("a status"), head, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request(&format!("GET {path}"), &[]).await
    }

    pub(crate) async fn post(&self, path: &str) -> Answer {
        self.request(&format!("POST {path}"), &[]).await
    }

    /// The figures, by series.
    pub(crate) async fn metrics(&self) -> BTreeMap<String, f64> {
        let answer = self.get("/metrics").await;
        assert_eq!(answer.status, 200);
        assert!(answer.head.contains("application/openmetrics-text"), "{}", answer.head);
        parse(&answer.body)
    }

    pub(crate) async fn stream(&self, path: &str, headers: &[(&str, &str)]) -> Stream {
        let mut stream = Stream(BufReader::new(self.ask(&format!("GET {path}"), headers).await));
        let status = stream.line().await;
        assert!(status.contains(" 200 "), "{status}");
        while !stream.line().await.is_empty() {}
        stream
    }
}

/// Reads the text format strictly: every sample has its type and help, and the end is marked.
fn parse(text: &str) -> BTreeMap<String, f64> {
    assert!(text.ends_with("# EOF\n"));
    let mut series = BTreeMap::new();
    let mut described = Vec::new();
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix("# ") {
            if let Some(name) =
                comment.strip_prefix("TYPE ").and_then(|rest| rest.split(' ').next())
            {
                described.push(name.to_owned());
            }
            continue;
        }
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let family = name.split('{').next().expect("a name");
        assert!(described.iter().any(|known| family.starts_with(known)), "{line} has no type");
        let value = value.parse().unwrap_or_else(|_| panic!("{line} has no number"));
        assert!(series.insert(name.to_owned(), value).is_none(), "{name} is there twice");
    }
    series
}

/// A stream of events.
pub(crate) struct Stream(BufReader<TcpStream>);

/// One of them.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Told {
    pub(crate) id: String,
    pub(crate) event: String,
    pub(crate) data: Value,
}

impl Told {
    /// Its number in the run.
    pub(crate) fn number(&self) -> u64 {
        self.id.split_once('-').expect("a cursor").1.parse().expect("a number")
    }
}

impl Stream {
    async fn line(&mut self) -> String {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.0.read_line(&mut line)).await.expect("in time");
        assert_ne!(read.expect("open"), 0, "the stream has ended");
        line.trim_end().to_owned()
    }

    /// The next block: its fields.
    async fn block(&mut self) -> BTreeMap<String, String> {
        let mut fields = BTreeMap::new();
        loop {
            let line = self.line().await;
            if line.is_empty() {
                return fields;
            }
            let (name, value) = line.split_once(':').expect("a field");
            fields.insert(name.to_owned(), value.trim_start().to_owned());
        }
    }

    /// The next event.
    pub(crate) async fn next(&mut self) -> Told {
        loop {
            let mut block = self.block().await;
            let Some(data) = block.remove("data") else { continue };
            let (id, event) = (block.remove("id"), block.remove("event"));
            let data = serde_json::from_str(&data).expect("JSON");
            return Told { id: id.expect("an id"), event: event.expect("a name"), data };
        }
    }

    /// The next sign of life when nothing happens: the cursor it names.
    pub(crate) async fn beat(&mut self) -> String {
        loop {
            let mut block = self.block().await;
            if block.contains_key("") {
                return block.remove("id").expect("a cursor");
            }
        }
    }

    /// Events up to the first that fits, and that one.
    pub(crate) async fn until(&mut self, fits: impl Fn(&Told) -> bool) -> Vec<Told> {
        let mut heard = Vec::new();
        loop {
            heard.push(self.next().await);
            if heard.last().is_some_and(&fits) {
                return heard;
            }
        }
    }

    /// Reads until the server ends the stream.
    pub(crate) async fn ended(mut self) {
        let mut rest = Vec::new();
        timeout(PATIENCE, self.0.read_to_end(&mut rest)).await.expect("in time").expect("clean");
    }
}
