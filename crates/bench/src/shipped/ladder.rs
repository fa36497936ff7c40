//! One sender that is a little above its budget, and one that is far above it.

use std::net::Ipv4Addr;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use tokio::time::{Instant, sleep_until};

use super::client::{Client, up_message};
use super::process::Shipped;

const FROM: Ipv4Addr = Ipv4Addr::new(127, 0, 0, 2);

/// How long a sender at this rate was let be, and why it ended, if it did.
pub(super) async fn play(
    program: &Path,
    per_second: f64,
    length: Duration,
) -> Result<(Duration, Option<String>)> {
    let server = Shipped::start(program, "")?;
    let mut client = Client::enter(server.at, FROM).await?;
    client.join("steady", b"").await?;
    let begin = Instant::now();
    let mut sent = 0_u64;
    while begin.elapsed() < length {
        sleep_until(begin + Duration::from_secs_f64(sent as f64 / per_second)).await;
        let step = async {
            client.say(up_message(b"{\"echo\":{}}\nx", true)).await?;
            client.catch_up().await
        };
        sent += 1;
        if let Err(error) = step.await {
            return Ok((begin.elapsed(), Some(error.to_string())));
        }
    }
    Ok((begin.elapsed(), None))
}
