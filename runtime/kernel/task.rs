//! The kernel's task: moves bytes while the program computes, and hears what the rendezvous has to say. The operators of
//! collectives that nobody waits for run on its thread, in slices between which it looks at the links.

use std::any::Any;
use std::net::IpAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::SyncSender;
use std::time::Duration;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;
use tokio::sync::{mpsc, watch};

use super::collectives::ASK_TICK;
use super::deadlock::Detector;
use super::panics::wake;
use super::poller::TaskSetDescriptor;
use super::state::Settings;
use super::timers::{Timer, Timers};
use super::tuning::batching::Flurry;
use super::tuning::poll_interval::PollInterval;
use super::wake::Reason;
use super::{Kernel, Order, Started, ownership};
use crate::config::{Config, Overlap};
use crate::controllers::Controller;
use crate::engine::ACKNOWLEDGEMENT_DELAY;
use crate::error::{Error, Result};
use crate::join::caller::{Control, Ended};
use crate::join::control::{Notice, Report};
use crate::join::mesh;
use crate::join::rejoin::{Event, Rejoin};
use crate::observe::threads::OwnThread;

/// How long the rendezvous has to say who was lost first, when a connection ends without goodbye: where a launcher tells it,
/// and where it takes half a second to find out by itself that a process has ended.
const ADVICE_PATIENCE: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(1));
/// Between two looks for connections that have ended.
const ENDS_PAUSE: Duration = Duration::from_secs(1);
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
    let Started { kernel, mut orders, mut control, rejoin } = started;
    let mut is_heard = control.is_some();
    let mut locals = control.as_ref().map(Control::locals);
    // A report may be long, and the way to the rendezvous slow.
    let patience = if kernel.settings.reports { LEAVE_PATIENCE.max(kernel.settings.linger) } else { LEAVE_PATIENCE };
    let mut task = Task::new(kernel, control.as_ref().map(Control::sender), rejoin);
    let last = loop {
        tokio::select! {
            ready = task_set.readable() => {
                let Ok(mut ready) = ready else { return };
                task.look();
                ready.clear_ready();
            }
            reasons = task.kernel.wake.reasons() => reasons.for_each(|reason| task.is_woken(reason)),
            timer = task.timers.ended() => task.time_has_come(timer),
            event = next_event(&mut task.rejoin) => task.link_event(event),
            local = changed(&mut locals) => task.moves_to(local),
            order = orders.recv() => match order {
                Some(Order::Report(report)) => task.report(report),
                Some(Order::Leave(last)) => break last,
                None => return,
            },
            notice = hear(&mut control), if is_heard => match notice {
                Some(Notice::Moved { rank, address }) => task.has_moved(rank, address),
                Some(Notice::Ask) => task.report(Report::Shows(task.kernel.shows())),
                Some(notice) => task.kernel.hear(notice),
                None => {
                    is_heard = false;
                    task.kernel.lose_rendezvous(control.as_ref().and_then(Control::ended));
                }
            },
        }
    };
    drop(task);
    if let Some(control) = control {
        control.leave(last, patience).await;
    }
}

/// What the task alone knows of its node.
pub(super) struct Task {
    pub(super) kernel: Arc<Kernel>,
    /// What makes links anew, if that is wanted.
    pub(super) rejoin: Option<Rejoin>,
    /// To the rendezvous, if it is there.
    reports: Option<mpsc::Sender<Report>>,
    timers: Timers,
    poll_interval: PollInterval,
    flurry: Flurry,
    detector: Detector,
}

impl Task {
    fn new(kernel: Arc<Kernel>, reports: Option<mpsc::Sender<Report>>, rejoin: Option<Rejoin>) -> Self {
        let mut timers = Timers::default();
        timers.set(Timer::DetectDeadlock, kernel.looks().then_some(Duration::ZERO));
        timers.set(Timer::LookForSilence, kernel.look_for_silence());
        let poll_interval = PollInterval::new(kernel.settings.disabled.leaves(Controller::PollInterval));
        Task {
            kernel,
            rejoin,
            reports,
            timers,
            poll_interval,
            flurry: Flurry::default(),
            detector: Detector::default(),
        }
    }

    /// Another thread has woken the task: does what for.
    fn is_woken(&mut self, reason: Reason) {
        match reason {
            Reason::Gathered => self.send_gathered(),
            Reason::CollectiveDue => self.kernel.turn_for_collectives(),
            Reason::CollectiveAwaited => self.timers.set(Timer::AskRanks, Some(ASK_TICK)),
            Reason::WaitsFollow => self.timers.set(Timer::Tick, Some(ownership::TICK)),
            Reason::LinkDown => self.links_are_down(),
            Reason::Untold => self.timers.set(Timer::Acknowledge, Some(ACKNOWLEDGEMENT_DELAY)),
            Reason::LossSuspected => {
                let (told, searched) = ADVICE_PATIENCE;
                let patience = if self.kernel.names.has_launcher { told } else { searched };
                self.timers.set(Timer::ConfirmLoss, Some(patience));
            }
        }
    }

    /// Small messages wait for others to leave with. In a flurry that goes on they gather meanwhile: this thread would take a system
    /// call for a few of them, and perhaps the program's core.
    fn send_gathered(&mut self) {
        if let Some(pause) = self.flurry.pause(self.kernel.clock.now()) {
            std::thread::sleep(pause);
        }
        self.kernel.send_gathered();
        self.flurry.was_sent(self.kernel.clock.now());
    }

    /// A timer has ended: does what it was set for.
    fn time_has_come(&mut self, timer: Timer) {
        let kernel = &self.kernel;
        match timer {
            Timer::AskRanks => self.timers.set(timer, kernel.ask().then_some(ASK_TICK)),
            Timer::Acknowledge => self.timers.set(timer, kernel.acknowledge()),
            Timer::ConfirmLoss => kernel.confirm_loss(),
            Timer::DetectDeadlock => {
                self.timers.set(timer, Some(kernel.look_every()));
                if let Some(report) = kernel.detect(&mut self.detector) {
                    self.report(report);
                }
            }
            Timer::LookForSilence => self.timers.set(timer, kernel.look_for_silence()),
            Timer::LookAgain => self.look_again(),
            Timer::Tick => {
                let next = kernel.ownership.tick(&kernel.poller, || kernel.help.is_held());
                self.timers.set(timer, next);
            }
        }
    }

    /// A link is ready: moves what can be moved, and pauses if more of a long message is still to come.
    fn look(&mut self) {
        let turn = self.kernel.turn();
        let length = self.poll_interval.after_look(turn.to_come);
        self.pause(length);
    }

    /// The same after a pause, unless somebody else has taken the links meanwhile.
    fn look_again(&mut self) {
        if self.kernel.ownership.rests() {
            let turn = self.kernel.turn();
            let length = self.poll_interval.after_rest(turn.moved, turn.to_come);
            self.pause(length);
        }
    }

    /// Looks at the links after `length` only, if it may.
    fn pause(&mut self, length: Option<Duration>) {
        let rests = self.kernel.rest(length.is_some());
        self.timers.set(Timer::LookAgain, length.filter(|_| rests));
    }

    /// Tells the rendezvous, if it is there.
    pub(super) fn report(&self, report: Report) {
        if let Some(reports) = &self.reports {
            // The queue is full only if the rendezvous does not read; it hears the next report.
            let _ = reports.try_send(report);
        }
    }
}

/// This node's address on the way to the rendezvous, when it is another.
async fn changed(locals: &mut Option<watch::Receiver<IpAddr>>) -> IpAddr {
    if let Some(changes) = locals
        && changes.changed().await.is_ok()
    {
        return *changes.borrow_and_update();
    }
    *locals = None;
    std::future::pending().await
}

async fn next_event(rejoin: &mut Option<Rejoin>) -> Event {
    match rejoin {
        Some(rejoin) => rejoin.next().await,
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

    /// Looks whether the peers' hosts are there, and in deferred mode whether connections are: a rank that computes is to dial
    /// again, too. Returns how long until it is to look again.
    fn look_for_silence(&self) -> Option<Duration> {
        let Settings { keepalive, resume, overlap, .. } = &self.settings;
        let mut next = *keepalive;
        self.intervene(|core| {
            if let Some(keepalive) = keepalive {
                next = Some(core.look_for_silence(*keepalive));
            }
            if resume.is_some() && *overlap == Overlap::Off {
                core.look_for_ends();
                next = Some(next.map_or(ENDS_PAUSE, |next| next.min(ENDS_PAUSE)));
            }
        });
        next
    }

    fn confirm_loss(&self) {
        self.intervene(|core| {
            core.hear_all();
            core.confirm_loss();
        });
    }

    /// The rendezvous is gone; `ended`: for another reason than that its process has. A job does not outlive its launcher.
    fn lose_rendezvous(&self, ended: Option<&Ended>) {
        self.lock().is_advised = false;
        if let Some(Ended::Forged(why) | Ended::Unwanted(why)) = ended {
            self.fail_here(why);
        }
        self.confirm_loss();
        match ended {
            Some(Ended::Cut(why)) if self.names.has_launcher => self.fail_here(why),
            _ if self.names.has_launcher => self.fail_here("its launcher is gone, and the job with it"),
            _ => {}
        }
    }

    fn hear(&self, notice: Notice) {
        let error = match notice {
            Notice::Lost { rank, cause } => Error::PeerLost { peer: rank, cause: cause.into(), operation: None },
            // The launcher shows the report; once is enough in a job's output.
            Notice::Deadlock { .. } if self.names.has_launcher => Error::Deadlock { report: SHOWN_BY_LAUNCHER.into() },
            Notice::Deadlock { report } => Error::Deadlock { report: report.into() },
            Notice::Refused { cause } => Error::Join { rank: self.rank, cause: cause.into() },
            // Links that are made again will go there.
            Notice::Moved { .. } => return,
            Notice::Ask | Notice::Over | Notice::Table { .. } => return,
        };
        self.intervene(|core| core.hear_failure(error));
    }
}
