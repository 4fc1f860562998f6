//! The launcher's side of a conversation with an agent: over one connection after the other.

use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::time::sleep;

use super::connection::{Connection, NotBack};
use super::exchange::{Ended, Exchange};
use super::messages::FromAgent;
use super::resumption::{Greeting, Resumption};
use super::starter::WayBack;

/// How long after a try that failed the next one begins.
const PAUSE: Duration = Duration::from_millis(250);
/// A try may take so long even if the time is over meanwhile.
const LAST_TRY: Duration = Duration::from_secs(3);

/// Where the agent is found again, and how.
pub(super) type Back = Option<(WayBack, Resumption)>;

/// Carries the conversation until the other side has said all. Otherwise returns why the agent is lost.
pub(super) async fn keep(
    mut agent: Connection,
    back: Back,
    exchange: &Exchange,
    incoming: mpsc::Sender<FromAgent>,
) -> String {
    let mut attempt = 0;
    loop {
        let ended = match agent.child.stdin.as_mut() {
            Some(stdin) => exchange.carry(&mut agent.stdout, stdin, &incoming).await,
            None => Ended::Cut,
        };
        if exchange.is_over() {
            agent.ended().await;
            return String::new();
        }
        if ended == Ended::Useless {
            return "what its agent says is not understood".into();
        }
        let cause = agent.why_it_ended().await;
        let Some((way, resumption)) = &back else { return cause };
        // Whatever is left of the old way must not say the last word.
        agent.abandon().await;
        tracing::info!(%cause, "the connection to an agent was cut");
        let again = tokio::select! {
            again = again(way, resumption, &mut attempt, exchange) => again,
            () = exchange.urgent() => Err("the connection was cut while the job ended".into()),
        };
        match again {
            Ok(connection) => agent = connection,
            Err(why) => return format!("{cause}; {why}"),
        }
    }
}

/// The next connection, if there is one in time.
async fn again(
    way: &WayBack,
    resumption: &Resumption,
    attempt: &mut u64,
    exchange: &Exchange,
) -> Result<Connection, String> {
    let (deadline, first) = (Instant::now() + way.patience, *attempt);
    loop {
        *attempt += 1;
        let greeting = Greeting { resumption: resumption.clone(), attempt: *attempt, expected: exchange.expected() };
        let left = deadline.saturating_duration_since(Instant::now()).max(LAST_TRY);
        let why = match Connection::again(way, &greeting, *attempt - first, left).await {
            Ok((connection, wanted)) => match exchange.resume(wanted) {
                Ok(()) => return Ok(connection),
                Err(error) => return Err(error.to_string()),
            },
            Err(NotBack::Gone) => return Err("its agent is no more".into()),
            Err(NotBack::Failed(why)) => why,
        };
        if Instant::now() >= deadline {
            return Err(format!("it was not reached again within {} s: {why}", way.patience.as_secs_f64()));
        }
        sleep(PAUSE).await;
    }
}
