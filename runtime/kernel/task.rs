//! The kernel's task: moves bytes while the program computes, and hears what the rendezvous has to say. The operators of
//! collectives that nobody waits for run on its thread, in slices between which it looks at the links.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::time::Instant;

use super::collectives::ASK_TICK;
use super::deadlock::Detector;
use super::panics::wake;
use super::poller::TaskSetDescriptor;
use super::tuning::poll_interval::PollInterval;
use super::{Kernel, Order, Started, ownership};
use crate::config::Config;
use crate::error::{Error, Result};
use crate::join::control::{Notice, Report};
use crate::join::mesh::{self, Control};
use crate::observe::threads::OwnThread;

/// How long the rendezvous has to say who was lost first, when a connection ends without goodbye.
const ADVICE_PATIENCE: Duration = Duration::from_millis(300);
/// How long the last word to the rendezvous may take.
const LEAVE_PATIENCE: Duration = Duration::from_secs(1);

/// What stands for a deadlock's report where the launcher shows it.
const SHOWN_BY_LAUNCHER: &str = "this rank waits for what can never come; the launcher's message \"lathide: deadlock\" \
                                 tells who waits for whom, and what to change";

/// The body of the kernel's thread.
pub(super) fn run(config: Config, started: SyncSender<Result<Arc<Kernel>>>) {
    let _own = OwnThread::here();
    let rank = config.rank;
    let failed = |cause: String| Error::Join { rank, cause: cause.into() };
    let mut builder = tokio::runtime::Builder::new_current_thread();
    // Its threads for blocking calls (names are resolved there) are lathide's, too.
    builder.enable_all().on_thread_start(OwnThread::begins).on_thread_stop(OwnThread::ends);
    let runtime = match builder.build() {
        Ok(runtime) => runtime,
        Err(error) => return drop(started.send(Err(failed(format!("no runtime for the kernel: {error}"))))),
    };
    let mut begun = None;
    // A panic here would leave every thread of the program waiting.
    let lived = catch_unwind(AssertUnwindSafe(|| runtime.block_on(live(&config, started, &mut begun))));
    if let (Err(payload), Some(kernel)) = (lived, begun) {
        kernel.break_down(&format!("the kernel's thread panicked: {}", words_of(&*payload)));
    }
}

/// Joins the job and serves it. `begun`: the node, as soon as it is there.
async fn live(config: &Config, started: SyncSender<Result<Arc<Kernel>>>, begun: &mut Option<Arc<Kernel>>) {
    let failed = |cause: String| Error::Join { rank: config.rank, cause: cause.into() };
    let joined = mesh::join(config).await;
    let start = joined.and_then(|membership| {
        Kernel::prepare(config, membership).map_err(|error| failed(format!("the kernel did not start: {error}")))
    });
    match start {
        Err(error) => drop(started.send(Err(error))),
        Ok(start) => match watch(start.kernel.poller.task_set_descriptor()) {
            Err(error) => drop(started.send(Err(failed(format!("the links cannot be watched: {error}"))))),
            Ok(task_set) => {
                *begun = Some(start.kernel.clone());
                start.kernel.settle_watch();
                start.kernel.observer.kernel_runs_here();
                if started.send(Ok(start.kernel.clone())).is_ok() {
                    serve(start, task_set).await;
                }
            }
        },
    }
}

/// What a panic said.
fn words_of(payload: &(dyn Any + Send)) -> &str {
    let text = payload.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("it did not say why")
}

/// Has tokio watch the task's set.
#[expect(
    deprecated,
    reason = "the constructor that replaces it is unsafe, for the sake of unowned descriptors; the gate owns its own"
)]
fn watch(task_set: TaskSetDescriptor) -> std::io::Result<AsyncFd<TaskSetDescriptor>> {
    AsyncFd::with_interest(task_set, Interest::READABLE)
}

/// The task's life: until it is told to stop.
async fn serve(started: Started, task_set: AsyncFd<TaskSetDescriptor>) {
    let Started { kernel, mut orders, mut control, launcher, suspicion } = started;
    let reports = control.as_ref().map(Control::sender);
    let mut is_heard = control.is_some();
    let mut is_ticking = false;
    let (mut confirmation, mut asking) = (None, None);
    let (mut rests, mut rested) = (PollInterval::default(), None);
    let mut detector = Detector::default();
    let mut look = kernel.looks().then(Instant::now);
    let mut looking = kernel.look_for_silence();
    let last = loop {
        tokio::select! {
            ready = task_set.readable() => {
                let Ok(mut ready) = ready else { return };
                let turn = kernel.turn();
                ready.clear_ready();
                rested = rest(&kernel, rests.after_look(turn.to_come));
            }
            () = kernel.gathering.notified() => kernel.send_gathered(),
            () = kernel.due.notified() => kernel.turn_for_collectives(),
            () = kernel.asking.begin.notified() => asking = Some(Instant::now() + ASK_TICK),
            () = at(asking) => asking = kernel.ask().then(|| Instant::now() + ASK_TICK),
            () = kernel.ownership.begin.notified(), if !is_ticking => is_ticking = true,
            () = tokio::time::sleep(ownership::TICK), if is_ticking => {
                is_ticking = kernel.ownership.tick(&kernel.poller, || kernel.help.is_held());
            }
            () = at(rested) => {
                rested = None;
                if kernel.ownership.rests() {
                    let turn = kernel.turn();
                    rested = rest(&kernel, rests.after_rest(turn.moved, turn.to_come));
                }
            }
            () = at(look) => {
                look = Some(Instant::now() + kernel.look_every());
                if let (Some(report), Some(reports)) = (kernel.detect(&mut detector), &reports) {
                    // The queue is full only if the rendezvous does not read; it hears the next report.
                    let _ = reports.try_send(report);
                }
            }
            () = at(looking) => looking = kernel.look_for_silence(),
            () = suspicion.notified() => confirmation = Some(Instant::now() + ADVICE_PATIENCE),
            () = at(confirmation) => {
                confirmation = None;
                kernel.confirm_loss();
            }
            order = orders.recv() => match order {
                Some(Order::Report(report)) => {
                    // The queue is full only if the rendezvous does not read; it hears the next report.
                    if let Some(reports) = &reports {
                        let _ = reports.try_send(report);
                    }
                }
                Some(Order::Leave(last)) => break last,
                None => return,
            },
            notice = hear(&mut control), if is_heard => match notice {
                Some(Notice::Ask) => {
                    if let Some(reports) = &reports {
                        let _ = reports.try_send(Report::Shows(kernel.shows()));
                    }
                }
                Some(notice) => kernel.hear(notice),
                None => {
                    is_heard = false;
                    kernel.lock().is_advised = false;
                    if let Some(forged) = control.as_ref().and_then(Control::forged) {
                        kernel.fail_here(forged);
                    }
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
    /// The task has panicked: ends every operation.
    fn break_down(&self, cause: &str) {
        let mut core = self.lock();
        let wakers = core.break_down(cause);
        drop(core);
        let _ = catch_unwind(AssertUnwindSafe(|| wake(wakers)));
    }

    /// Sends the small messages that wait for others.
    fn send_gathered(&self) {
        // First of all, so that one that comes to wait from now on is told of.
        self.is_gathering.store(false, Ordering::SeqCst);
        let mut core = self.lock();
        core.flush();
        self.unlock(core);
    }

    /// Looks whether the peers' hosts are there. Returns when to look again.
    fn look_for_silence(&self) -> Option<Instant> {
        let mut next = self.keepalive?;
        self.intervene(|core| next = core.look_for_silence(next));
        Some(Instant::now() + next)
    }

    fn confirm_loss(&self) {
        self.intervene(|core| {
            core.hear_all();
            core.confirm_loss();
        });
    }

    fn hear(&self, notice: Notice) {
        let error = match notice {
            Notice::Lost { rank, cause } => Error::PeerLost { peer: rank, cause: cause.into(), operation: None },
            // The launcher shows the report; once is enough in a job's output.
            Notice::Deadlock { .. } if self.job.1 => Error::Deadlock { report: SHOWN_BY_LAUNCHER.into() },
            Notice::Deadlock { report } => Error::Deadlock { report: report.into() },
            Notice::Refused { cause } => Error::Join { rank: self.rank, cause: cause.into() },
            Notice::Ask | Notice::Table { .. } => return,
        };
        self.intervene(|core| core.hear_failure(error));
    }
}
