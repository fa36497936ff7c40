//! Somebody who asks the directory over HTTP, one connection a question.

use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, timeout};

pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Asker {
    pub(crate) at: String,
    pub(crate) key: String,
}

impl Asker {
    pub(crate) async fn get(&self, path: &str) -> Value {
        self.ask("GET", path, "").await
    }

    pub(crate) async fn tell(&self, method: &str, path: &str, body: &Value) -> Value {
        self.ask(method, path, &body.to_string()).await
    }

    /// The body of the answer, whatever its status.
    async fn ask(&self, method: &str, path: &str, body: &str) -> Value {
        let asked = async {
            let mut socket = TcpStream::connect(&self.at).await.expect("it listens");
            // Version 1.0, so that the answer ends with the connection.
            let request = format!(
                "{method} {path} HTTP/1.0\r\nhost: {}\r\nauthorization: Bearer {}\r\n\
                 content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
                self.at,
                self.key,
                body.len(),
            );
            socket.write_all(request.as_bytes()).await.expect("it reads");
            let mut answer = String::new();
            socket.read_to_string(&mut answer).await.expect("it answers");
            let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
            serde_json::from_str(body).unwrap_or(Value::Null)
        };
        timeout(PATIENCE, asked).await.expect("in time")
    }
}

/// Asks until it is so.
pub(crate) async fn until(what: &str, mut holds: impl AsyncFnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !holds().await {
        assert!(Instant::now() < end, "never: {what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
