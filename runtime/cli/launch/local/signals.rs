//! Signals that reach the launcher.

use rustix::process::Signal;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::event::Event;

/// Passes signals on as events, from now on.
pub(super) fn listen_to_signals(tasks: &mut JoinSet<()>, inbox: &mpsc::Sender<Event>) -> std::io::Result<()> {
    let ignored = ignored_signals();
    let kinds = [
        (SignalKind::hangup(), Signal::HUP),
        (SignalKind::interrupt(), Signal::INT),
        (SignalKind::quit(), Signal::QUIT),
        (SignalKind::terminate(), Signal::TERM),
        (SignalKind::user_defined1(), Signal::USR1),
        (SignalKind::user_defined2(), Signal::USR2),
        (SignalKind::from_raw(Signal::TSTP.as_raw()), Signal::TSTP),
        (SignalKind::from_raw(Signal::CONT.as_raw()), Signal::CONT),
    ];
    for (kind, number) in kinds {
        // Who started the launcher wants it to ignore this one: nohup, or a shell's background job.
        if ignored & (1 << (number.as_raw() - 1)) != 0 {
            continue;
        }
        let mut stream = signal(kind)?;
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
