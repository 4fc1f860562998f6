//! Signals that reach the launcher.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::event::Event;

/// The signals that are heeded.
const HEEDED: [Signal; 8] =
    [Signal::HUP, Signal::INT, Signal::QUIT, Signal::TERM, Signal::USR1, Signal::USR2, Signal::TSTP, Signal::CONT];

/// Passes signals on as events, from now on.
pub(super) fn listen_to_signals(tasks: &mut JoinSet<()>, inbox: &mpsc::Sender<Event>) -> std::io::Result<()> {
    let ignored = ignored_signals();
    // Who started the launcher wants it to ignore these: nohup, or a shell's background job.
    for number in HEEDED.into_iter().filter(|number| ignored & (1 << (number.as_raw() - 1)) == 0) {
        let mut stream = signal(SignalKind::from_raw(number.as_raw()))?;
        let inbox = inbox.clone();
        tasks.spawn(async move {
            while stream.recv().await.is_some() {
                if inbox.send(Event::Signal(number)).await.is_err() {
                    return;
                }
            }
        });
    }
    Ok(())
}

/// The mask of signals this process ignores; none if the system does not say.
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}
