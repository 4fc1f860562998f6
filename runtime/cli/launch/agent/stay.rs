//! The agent's side of the conversation with its launcher: over standard input and output first, and after a cut over
//! what the launcher comes back with.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};
use tokio::time::{sleep, timeout};

use super::bootstrap::{gone_line, resumed_line};
use super::exchange::{Ended, Exchange};
use super::haven::{Haven, Visitor};
use super::messages::ToAgent;

/// A launcher whose host answers, but says so often and over so long that nobody listens there, is no more.
const REFUSALS: u32 = 3;
const REFUSALS_LAST: Duration = Duration::from_millis(500);
/// How often that is tried, and how long an answer may take.
const KNOCK_EVERY: Duration = Duration::from_millis(250);
const KNOCK_TIMEOUT: Duration = Duration::from_secs(2);

/// What an agent that may wait for its launcher waits with.
pub(super) struct Shelter {
    pub(super) haven: Haven,
    pub(super) patience: Duration,
    /// Where the launcher listens as long as it lives.
    pub(super) root: Option<SocketAddr>,
}

/// A connection of whatever kind.
struct Way {
    from: Box<dyn AsyncBufRead + Send + Unpin>,
    to: Box<dyn AsyncWrite + Send + Unpin>,
}

/// Carries the conversation until the launcher has said its last word, or is gone for good: then `orders` ends.
pub(super) async fn stay(
    exchange: Arc<Exchange>,
    orders: mpsc::Sender<ToAgent>,
    mut promised: oneshot::Receiver<Shelter>,
) {
    let mut way = Way { from: Box::new(BufReader::new(tokio::io::stdin())), to: Box::new(tokio::io::stdout()) };
    let mut shelter = None;
    loop {
        let visitor = tokio::select! {
            ended = exchange.carry(&mut way.from, &mut way.to, &orders) => {
                shelter = shelter.or_else(|| promised.try_recv().ok());
                match (ended, &mut shelter) {
                    (Ended::Cut, Some(shelter)) => wait(shelter).await,
                    _ => None,
                }
            }
            // The launcher may notice a cut before this host does.
            visitor = next_visitor(&mut shelter, &mut promised) => visitor,
        };
        let Some(Visitor { from, to, greeting }) = visitor else { return };
        way = Way { from: Box::new(from), to: Box::new(to) };
        let first = match exchange.resume(greeting.expected) {
            Ok(()) => resumed_line(exchange.expected()),
            Err(error) => gone_line(&error.to_string()),
        };
        // If that is cut too, it is noticed at once.
        let _ = way.to.write_all(first.as_bytes()).await;
    }
}

/// The next visitor as soon as there is a shelter; none comes any more if the system lets none in.
async fn next_visitor(shelter: &mut Option<Shelter>, promised: &mut oneshot::Receiver<Shelter>) -> Option<Visitor> {
    let shelter = match shelter {
        Some(shelter) => shelter,
        None => match promised.await {
            Ok(promised) => shelter.insert(promised),
            Err(_) => std::future::pending().await,
        },
    };
    match shelter.haven.visitor().await {
        Some(visitor) => Some(visitor),
        None => std::future::pending().await,
    }
}

/// Waits for the launcher, as long as it may live.
async fn wait(Shelter { haven, patience, root }: &mut Shelter) -> Option<Visitor> {
    tokio::select! {
        visitor = haven.visitor() => visitor,
        () = sleep(*patience) => None,
        () = gone(*root) => None,
    }
}

/// Returns when nobody listens at the launcher's address any more, though its host is there.
async fn gone(root: Option<SocketAddr>) {
    let Some(root) = root else { return std::future::pending().await };
    let (mut refusals, mut since) = (0, Instant::now());
    loop {
        let mut knocked = pin!(TcpStream::connect(root));
        match timeout(KNOCK_TIMEOUT, knocked.as_mut()).await {
            Ok(Err(error)) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
                if refusals == 0 {
                    since = Instant::now();
                }
                refusals += 1;
            }
            _ => refusals = 0,
        }
        if refusals >= REFUSALS && since.elapsed() >= REFUSALS_LAST {
            return;
        }
        sleep(KNOCK_EVERY).await;
    }
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test(flavor = "current_thread")]
    async fn a_launcher_is_gone_when_nobody_listens_there() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let root = listener.local_addr().unwrap();
        let long = Duration::from_secs(2);
        assert!(timeout(long, gone(Some(root))).await.is_err(), "it listens");
        assert!(timeout(long, gone(None)).await.is_err(), "nothing is known of it");
        drop(listener);
        timeout(Duration::from_secs(60), gone(Some(root))).await.expect("nobody listens");
    }
}
