//! The kernel's task: moves bytes while the program computes, and hears what the rendezvous has to say. The operators of
//! collectives that nobody waits for run on its thread, in slices between which it looks at the links.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::collectives::ASK_TICK;
use super::core::Core;
use super::mesh::{self, Control};
use super::poller::GateDescriptor;
use super::rest::Rests;
use super::{Kernel, Order, Started, watch};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::launch::control::Notice;

/// How long the rendezvous has to say who was lost first, when a connection ends without goodbye.
const ADVICE_PATIENCE: Duration = Duration::from_millis(300);
/// How long the last word to the rendezvous may take.
const LEAVE_PATIENCE: Duration = Duration::from_secs(1);

/// The body of the kernel's thread.
pub(super) fn run(config: Config, started: SyncSender<Result<Arc<Kernel>>>) {
    let rank = config.rank;
    let failed = |cause: String| Error::Join { rank, cause: cause.into() };
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(started.send(Err(failed(format!("no runtime for the kernel: {error}"))))),
    };
    runtime.block_on(async {
        let joined = mesh::join(&config).await;
        let start = joined.and_then(|membership| {
            Kernel::prepare(&config, membership).map_err(|error| failed(format!("the kernel did not start: {error}")))
        });
        match start {
            Err(error) => drop(started.send(Err(error))),
            Ok(start) => match watch(start.kernel.poller.gate_descriptor()) {
                Err(error) => drop(started.send(Err(failed(format!("the links cannot be watched: {error}"))))),
                Ok(gate) => {
                    start.kernel.settle_watch();
                    start.kernel.observer.kernel_runs_here();
                    if started.send(Ok(start.kernel.clone())).is_ok() {
                        serve(start, gate).await;
                    }
                }
            },
        }
    });
}

/// Has tokio watch the gate.
#[expect(
    deprecated,
    reason = "the constructor that replaces it is unsafe, for the sake of unowned descriptors; the gate owns its own"
)]
fn watch(gate: GateDescriptor) -> std::io::Result<AsyncFd<GateDescriptor>> {
    AsyncFd::with_interest(gate, Interest::READABLE)
}

/// The task's life: until it is told to stop.
async fn serve(started: Started, gate: AsyncFd<GateDescriptor>) {
    let Started { kernel, mut orders, mut control, launcher, suspicion } = started;
    let reports = control.as_ref().map(Control::sender);
    let mut is_heard = control.is_some();
    let mut is_ticking = false;
    let (mut confirmation, mut asking) = (None, None);
    let (mut rests, mut rested) = (Rests::default(), None);
    let last = loop {
        tokio::select! {
            ready = gate.readable() => {
                let Ok(mut ready) = ready else { return };
                let turn = kernel.turn();
                ready.clear_ready();
                rested = rest(&kernel, rests.after_look(turn.to_come));
            }
            () = kernel.gathering.notified() => kernel.send_gathered(),
            () = kernel.due.notified() => kernel.turn_for_collectives(),
            () = kernel.asking.begin.notified() => asking = Some(Instant::now() + ASK_TICK),
            () = at(asking) => asking = kernel.ask().then(|| Instant::now() + ASK_TICK),
            () = kernel.watch.begin.notified(), if !is_ticking => is_ticking = true,
            () = tokio::time::sleep(watch::TICK), if is_ticking => {
                is_ticking = kernel.watch.tick(&kernel.poller, || kernel.help.is_held());
            }
            () = at(rested) => {
                rested = None;
                if kernel.watch.rests() {
                    let turn = kernel.turn();
                    rested = rest(&kernel, rests.after_rest(turn.moved, turn.to_come));
                }
            }
            () = suspicion.notified() => confirmation = Some(Instant::now() + ADVICE_PATIENCE),
            () = at(confirmation) => {
                confirmation = None;
                kernel.confirm_loss();
            }
            order = orders.recv() => match order {
                Some(Order::Report(report)) => {
                    // The queue is full only if the rendezvous does not read; it hears the next report.
                    let _ = reports.as_ref().map(|reports| reports.try_send(report));
                }
                Some(Order::Leave(last)) => break last,
                None => return,
            },
            notice = hear(&mut control), if is_heard => match notice {
                Some(notice) => kernel.hear(notice),
                None => {
                    is_heard = false;
                    kernel.lock().is_advised = false;
                    kernel.confirm_loss();
                    if launcher {
                        kernel.fail_here("its launcher is gone, and the job with it");
                    }
                }
            },
        }
    };
    drop(reports);
    if let Some(control) = control {
        control.leave(last, LEAVE_PATIENCE).await;
    }
}

/// The task rests for this long, if at all; returns until when.
fn rest(kernel: &Kernel, length: Option<Duration>) -> Option<Instant> {
    let rests = kernel.rest(length.is_some());
    length.filter(|_| rests).map(|length| Instant::now() + length)
}

/// Completes at `instant`, or never.
async fn at(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

async fn hear(control: &mut Option<Control>) -> Option<Notice> {
    match control {
        Some(control) => control.notices.recv().await,
        None => None,
    }
}

impl Kernel {
    /// Sends the small messages that wait for others.
    fn send_gathered(&self) {
        // First of all, so that one that comes to wait from now on is told of.
        self.is_gathering.store(false, Ordering::SeqCst);
        let mut core = self.lock();
        core.flush();
        self.unlock(core);
    }

    fn confirm_loss(&self) {
        self.intervene(Core::confirm_loss);
    }

    fn hear(&self, notice: Notice) {
        let error = match notice {
            Notice::Lost { rank, cause } => Error::PeerLost { peer: rank, cause: cause.into(), operation: None },
            Notice::Deadlock { report } => Error::Deadlock { report: report.into() },
            Notice::Refused { cause } => Error::Join { rank: self.rank, cause: cause.into() },
            Notice::Table { .. } => return,
        };
        self.intervene(|core| core.engine.fail(error));
    }
}
