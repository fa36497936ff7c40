//! One request to a server's HTTP API, on a connection of its own, and its answer in bounded size.

use std::io;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::body::Incoming;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use hyper::{Method, Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::Value;

use super::endpoint::Endpoint;

impl Endpoint {
    /// Asks for `path` of `/v1`. The answer's body is still to be read.
    ///
    /// # Errors
    /// Nobody answers there, or not in HTTP.
    pub async fn ask(
        &self,
        method: Method,
        path: &str,
        key: Option<&HeaderValue>,
        body: Option<&Value>,
    ) -> io::Result<Response<Incoming>> {
        self.ask_showing(method, path, key, None, body).await
    }

    /// The same with the secret of something that is to be given back.
    ///
    /// # Errors
    /// As for [`ask`](Self::ask).
    pub async fn ask_showing(
        &self,
        method: Method,
        path: &str,
        key: Option<&HeaderValue>,
        secret: Option<&HeaderValue>,
        body: Option<&Value>,
    ) -> io::Result<Response<Incoming>> {
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/v1{path}"))
            .header(HOST, self.authority());
        if let Some(key) = key {
            request = request.header(AUTHORIZATION, key);
        }
        if let Some(secret) = secret {
            request = request.header("rejoin-secret", secret);
        }
        if body.is_some() {
            request = request.header(CONTENT_TYPE, "application/json");
        }
        let text = body.map(Value::to_string).unwrap_or_default();
        let request = request.body(Full::new(Bytes::from(text))).map_err(io::Error::other)?;
        let pipe = TokioIo::new(self.dial().await?);
        let opened = hyper::client::conn::http1::handshake(pipe).await;
        let (mut sender, connection) = opened.map_err(io::Error::other)?;
        // Ends with the sender, or with the other end.
        tokio::spawn(connection);
        sender.send_request(request).await.map_err(io::Error::other)
    }
}

/// The whole of an answer, if it is no longer than this: its status and its body.
///
/// # Errors
/// It is longer, or breaks off.
pub async fn whole(answer: Response<Incoming>, bytes_max: usize) -> io::Result<(u16, Bytes)> {
    let status = answer.status().as_u16();
    let body = Limited::new(answer.into_body(), bytes_max).collect().await;
    Ok((status, body.map_err(io::Error::other)?.to_bytes()))
}
