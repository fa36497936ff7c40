//! Somebody who types HTTP requests, one connection each.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// How long anything may take that must happen.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// A program with or without a key.
#[derive(Clone)]
pub(crate) struct Asker {
    pub(crate) at: SocketAddr,
    pub(crate) key: Option<String>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    /// The body of an answer of this status.
    pub(crate) fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        serde_json::from_str(&self.body).expect("JSON")
    }

    /// The code of a problem of this status; it is checked to be a whole one.
    pub(crate) fn problem(&self, status: u16) -> Value {
        let body = self.json(status);
        assert!(self.head.contains("content-type: application/problem+json"), "{self:?}");
        assert_eq!(body["status"], status, "{body}");
        let code = body["code"].as_str().expect("a code");
        assert_eq!(body["type"], format!("urn:rejoin:problem:{code}"));
        assert!(body["title"].is_string() && body["detail"].is_string(), "{body}");
        body
    }

    pub(crate) fn code(&self, status: u16) -> String {
        self.problem(status)["code"].as_str().unwrap_or_default().to_owned()
    }
}

impl Asker {
    /// Sends a request; version 1.0, so that the answer ends with the connection.
    pub(crate) async fn send(&self, line: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut socket = TcpStream::connect(self.at).await.expect("it listens");
        let mut request = format!("{line} HTTP/1.0\r\n");
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {}\r\n", self.at);
        }
        if let Some(key) = &self.key {
            request += &format!("authorization: Bearer {key}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        if !body.is_empty() {
            request += &format!("content-length: {}\r\n", body.len());
        }
        let request = format!("{request}\r\n{body}");
        // An answer may come, and the socket be closed, before all of it is sent.
        let _ = socket.write_all(request.as_bytes()).await;
        socket
    }

    pub(crate) async fn request(&self, line: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut socket = self.send(line, headers, body).await;
        let mut bytes = Vec::new();
        let read = timeout(PATIENCE, socket.read_to_end(&mut bytes)).await;
        let _ = read.expect("an answer in time");
        let text = String::from_utf8(bytes).expect("text");
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("no head: {text}"));
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        let (head, body) = (head.to_ascii_lowercase(), body.to_owned());
        Answer { status: status.expect("a status"), head, body }
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.request(&format!("GET {path}"), &[], "").await
    }

    pub(crate) async fn delete(&self, path: &str) -> Answer {
        self.request(&format!("DELETE {path}"), &[], "").await
    }

    /// With a body of JSON.
    pub(crate) async fn tell(&self, line: &str, body: &Value) -> Answer {
        self.request(line, &[("content-type", "application/json")], &body.to_string()).await
    }

    /// A stream of server-sent events.
    pub(crate) async fn stream(&self, path: &str) -> Stream {
        let mut stream = Stream(BufReader::new(self.send(&format!("GET {path}"), &[], "").await));
        let status = stream.line().await.expect("a status");
        assert!(status.contains(" 200 "), "{status}");
        while stream.line().await.is_some_and(|line| !line.is_empty()) {}
        stream
    }
}

/// Server-sent events.
pub(crate) struct Stream(BufReader<TcpStream>);

impl Stream {
    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = timeout(PATIENCE, self.0.read_line(&mut line)).await.expect("a line in time");
        let line = read.ok().filter(|bytes| *bytes > 0).map(|_| line);
        line.map(|line| line.trim_end().to_owned())
    }

    /// The next event: its name and its data; none at the end.
    pub(crate) async fn next(&mut self) -> Option<(String, Value)> {
        let mut name = String::new();
        loop {
            let line = self.line().await?;
            if let Some(event) = line.strip_prefix("event: ") {
                event.clone_into(&mut name);
            } else if let Some(data) = line.strip_prefix("data: ") {
                return Some((name, serde_json::from_str(data).expect("JSON")));
            }
        }
    }

    /// Waits for a comment: somebody is still there.
    pub(crate) async fn beat(&mut self) {
        loop {
            let line = self.line().await.expect("it goes on");
            if line.starts_with(':') {
                return;
            }
        }
    }
}
