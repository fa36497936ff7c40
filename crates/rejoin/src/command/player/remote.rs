//! Orders to a server that runs somewhere else: over its HTTP API, with an operator's key.

use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use hyper::Method;
use hyper::body::Bytes;
use hyper::header::HeaderValue;
use rejoin::client::driver::Endpoint;
use rejoin::client::driver::exchange::whole;
use serde_json::{Map, Value, json};

use super::Failure;
use super::order::{self, Order, Told};

/// How long one answer may take: a server's store may be full.
const PATIENCE: Duration = Duration::from_secs(35);
/// The largest answer: all that is kept of a player.
const ANSWER_BYTES_MAX: usize = 16 << 20;
/// Players that are asked for at a time.
const PAGE: usize = 100;

/// Where a server is that is asked instead of a folder.
#[derive(Args, Default)]
pub(super) struct RemoteArguments {
    /// Ask this server, http://host:port or https://host:port, instead of a folder.
    #[arg(long, env = "REJOIN_SERVER", value_name = "URL", global = true)]
    server: Option<String>,
    /// An API key of the role operator. Better in the environment: others see command lines.
    #[arg(long, env = "REJOIN_API_KEY", value_name = "KEY", hide_env_values = true, global = true)]
    key: Option<String>,
    /// Certificates, as PEM, that the server's must lead to where it is encrypted.
    #[arg(long, env = "REJOIN_ROOT", value_name = "FILE", global = true)]
    root: Option<PathBuf>,
}

/// A server, and what lets us in.
pub(super) struct Remote {
    endpoint: Endpoint,
    key: Option<HeaderValue>,
}

impl RemoteArguments {
    /// The server to ask; none: a folder is meant.
    pub(super) fn remote(&self) -> Result<Option<Remote>, Failure> {
        let Some(url) = &self.server else { return Ok(None) };
        let url = url.trim_end_matches('/');
        if url.starts_with("http://") && !is_here(url) {
            return Err(Failure::new(format!(
                "{url} is not this machine: use https, or everybody on the way reads the key"
            )));
        }
        let roots = match &self.root {
            None => Vec::new(),
            Some(file) => vec![std::fs::read_to_string(file).map_err(|error| {
                Failure::new(format!("{} cannot be read: {error}", file.display()))
            })?],
        };
        let endpoint =
            Endpoint::new(url, &roots).map_err(|error| Failure::new(format!("{url}: {error}")))?;
        let key = match &self.key {
            None => None,
            Some(key) => {
                let header = HeaderValue::try_from(format!("Bearer {key}"));
                let mut header = header.map_err(|_| Failure::new("the key is none"))?;
                header.set_sensitive(true);
                Some(header)
            }
        };
        Ok(Some(Remote { endpoint, key }))
    }
}

fn is_here(url: &str) -> bool {
    let rest = url.trim_start_matches("http://");
    let host = rest.rsplit_once(':').map_or(rest, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>().map_or(host == "localhost", |ip| ip.is_loopback())
}

impl Remote {
    /// Has it done there.
    pub(super) fn carry_out(&self, order: &Order) -> Result<Told, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| Failure::new(error.to_string()))?;
        runtime.block_on(async {
            match self.ask(order).await? {
                Ok(value) => Ok(Told::Done(value)),
                Err(told) => Ok(told),
            }
        })
    }

    async fn ask(&self, order: &Order) -> Result<Result<Value, Told>, Failure> {
        if let Order::List = order {
            return self.list().await;
        }
        let (method, path, body) = match request(order) {
            Ok(request) => request,
            Err(told) => return Ok(Err(told)),
        };
        let done = self.send(method, &path, body).await?;
        match (order, done) {
            // What is left of the player, if anything is.
            (Order::Unban { who }, Ok(_)) => {
                let shown = Box::pin(self.ask(&Order::Show { who: who.clone() })).await?;
                Ok(Ok(shown.unwrap_or_else(|_| json!({}))))
            }
            (_, done) => Ok(done),
        }
    }

    async fn list(&self) -> Result<Result<Value, Told>, Failure> {
        let (mut all, mut after) = (Vec::new(), String::new());
        loop {
            let path = format!("/players?limit={PAGE}{after}");
            let mut page = match self.send(Method::GET, &path, None).await? {
                Ok(page) => page,
                Err(told) => return Ok(Err(told)),
            };
            if let Value::Array(players) = page["players"].take() {
                all.extend(players);
            }
            match page["cursor"].as_str() {
                Some(next) => after = format!("&cursor={next}"),
                None => return Ok(Ok(order::sorted(all))),
            }
        }
    }

    /// One request: its answer, or the refusal in it.
    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<Value>,
    ) -> Result<Result<Value, Told>, Failure> {
        let answered =
            tokio::time::timeout(PATIENCE, self.exchange(method, path, body.as_ref())).await;
        let answered = answered.unwrap_or_else(|_| Err(io::Error::other("no answer in time")));
        let at = self.endpoint.authority();
        let (status, text) = answered
            .map_err(|why| Failure::new(format!("the server at {at} cannot be asked: {why}")))?;
        let value: Value = match text.is_empty() {
            true => json!({}),
            false => serde_json::from_slice(&text).unwrap_or_default(),
        };
        if (200..300).contains(&status) {
            return Ok(Ok(value));
        }
        let word = |name: &str| value[name].as_str().map(str::to_owned);
        let code = word("code").unwrap_or_else(|| status.to_string());
        let sentence = word("detail").unwrap_or_else(|| format!("it answered {status}"));
        Ok(Err(Told::Refused { code, sentence }))
    }

    async fn exchange(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> io::Result<(u16, Bytes)> {
        let answer = self.endpoint.ask(method, path, self.key.as_ref(), body).await?;
        whole(answer, ANSWER_BYTES_MAX).await
    }
}

/// What a request for one player is.
fn request(order: &Order) -> Result<(Method, String, Option<Value>), Told> {
    let at = |who: &String, rest: &str| {
        // Both kinds of name stand in a path as they are.
        order::whom(who).map(|_| format!("/players/{}{rest}", who.to_ascii_lowercase()))
    };
    let change = |who: &String, change: Value| Ok((Method::PATCH, at(who, "")?, Some(change)));
    match order {
        Order::List => Ok((Method::GET, "/players".to_owned(), None)),
        Order::Add { name, role, password } => {
            let mut new = Map::from_iter([
                ("name".to_owned(), json!(name)),
                ("role".to_owned(), json!(role)),
            ]);
            if let Some(password) = password {
                new.insert("password".to_owned(), json!(password));
            }
            Ok((Method::POST, "/players".to_owned(), Some(new.into())))
        }
        Order::Password { who, password } => change(who, json!({"password": password})),
        Order::Lock { who, locked } => change(who, json!({"locked": locked})),
        Order::Role { who, role } => change(who, json!({"role": role})),
        Order::Ban { who, until_ms, reason } => {
            let mut ban = Map::from_iter([("reason".to_owned(), json!(reason))]);
            if let Some(until) = until_ms {
                ban.insert("until_ms".to_owned(), json!(until));
            }
            Ok((Method::PUT, at(who, "/ban")?, Some(ban.into())))
        }
        Order::Unban { who } => Ok((Method::DELETE, at(who, "/ban")?, None)),
        Order::Show { who } => Ok((Method::GET, at(who, "")?, None)),
        Order::Delete { who } => Ok((Method::DELETE, at(who, "")?, None)),
        Order::Export { who } => Ok((Method::GET, at(who, "/export")?, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_goes_over_plain_http_to_this_machine_only() {
        let at = |url: &str| {
            let server = Some(url.to_owned());
            RemoteArguments { server, ..RemoteArguments::default() }.remote().map(|_| ())
        };
        for good in ["http://127.0.0.1:1", "http://localhost:1/", "http://[::1]:1"] {
            assert!(at(good).is_ok(), "{good}");
        }
        for bad in ["http://10.0.0.1:1", "http://play.example", "http://localhost.evil:1", "x"] {
            assert!(at(bad).is_err(), "{bad}");
        }
    }
}
