//! The hidden command that a launcher starts on a host to find its agent again: carries bytes between standard input and
//! output and the agent's socket.

use std::io::{self, Write};

use tokio::io::{AsyncWriteExt, BufReader, copy, copy_buf};
use tokio::net::UnixStream;

use super::bootstrap::gone_line;
use super::lines;
use super::resumption::Greeting;

/// Serves until either end is no more.
///
/// # Errors
/// What the system refused.
pub(crate) fn resume() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let carried = runtime.block_on(carry());
    // A thread of the runtime waits for input, and would for ever.
    runtime.shutdown_background();
    carried
}

async fn carry() -> io::Result<()> {
    let mut input = BufReader::new(tokio::io::stdin());
    let line = lines::next(&mut input).await?;
    let greeting: Greeting = serde_json::from_slice(&line)?;
    let stream = match UnixStream::connect(&greeting.resumption.socket).await {
        Ok(stream) => stream,
        // It has taken its socket along, or was killed.
        Err(error) => return write!(io::stdout(), "{}", gone_line(&error.to_string())),
    };
    let (mut from, mut to) = stream.into_split();
    to.write_all(&line).await?;
    let mut output = tokio::io::stdout();
    tokio::select! {
        // The last word is for the agent, even if nobody listens to it any more.
        carried = copy_buf(&mut input, &mut to) => carried.map(|_| ()),
        carried = copy(&mut from, &mut output) => {
            carried?;
            output.flush().await
        }
    }
}
