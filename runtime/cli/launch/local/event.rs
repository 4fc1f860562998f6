//! What can happen to a job.

use rustix::process::Signal;
use tokio::sync::mpsc;

use super::end::End;
use crate::launch::agent::fleet::Loss;
use lathide::launcher::rendezvous;

/// All that can happen to a job comes through one queue.
pub(super) enum Event {
    Ended(u32, End),
    OutputBroken(std::io::Error),
    HostLost(Loss),
    Rendezvous(rendezvous::Event),
    Signal(Signal),
}

/// Puts what comes out of one queue into that of all events.
pub(super) async fn forward<T>(mut from: mpsc::Receiver<T>, to: mpsc::Sender<Event>, wrap: fn(T) -> Event) {
    while let Some(item) = from.recv().await {
        if to.send(wrap(item)).await.is_err() {
            return;
        }
    }
}
