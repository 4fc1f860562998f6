//! The life of a job: starts the ranks, waits in one place for every end, signal, deadline and message of the rendezvous,
//! and ends the rest when one fails.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use rustix::process::{Signal, getpid, kill_process};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until, timeout, timeout_at};

use super::event::{End, Event, signalled};
use super::job::Job;
use super::outcome::{Outcome, WITHOUT_FINALIZE};
use super::output::{self, Output, Sink, Tail};
use super::processes::Processes;
use super::spawn::Common;
use super::{inputs, signals, verdict};
use crate::launch::agent::fleet::{Fleet, Plan};
use crate::launch::failed::{Failed, system};
use lathide::ids::Rank;
use lathide::launcher::deadlock::listed;
use lathide::launcher::rendezvous::{self, Order};

/// A rank that failed ends the job: the others have [`Job::grace`] to end by themselves, then this long to heed SIGTERM.
const AFTER_FAILURE: Duration = Duration::from_millis(400);
/// How long ranks have to end by themselves, and then to heed SIGTERM, after a signal from outside; programs may want to
/// save their work then.
const AFTER_SIGNAL: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(5));
/// The same when the job's time is over, or nobody takes its output.
const AT_ONCE: (Duration, Duration) = (Duration::ZERO, Duration::from_millis(500));
/// How long ranks may take to say what they wait for when the job's time is over.
const ANSWERS: Duration = Duration::from_secs(1);
/// How long orders to the agents may take until they are in the pipes to them.
const ORDERS_LEAVE: Duration = Duration::from_millis(50);
/// How long the last messages of ranks may take through the rendezvous after their processes have ended.
const LAST_MESSAGES: Duration = Duration::from_millis(50);
/// The same for reports, which are longer and wanted, of a job that has joined.
const LAST_REPORTS: Duration = Duration::from_secs(5);

/// Who holds the ranks' processes.
enum Holder {
    /// This process.
    Launcher(Processes),
    /// An agent on each host.
    Agents(Fleet),
}

impl Holder {
    /// The next rank of this process to end. What agents say of theirs are events.
    async fn next_end(&mut self) -> Option<(u32, End)> {
        match self {
            Holder::Launcher(processes) => processes.next_end().await,
            Holder::Agents(_) => None,
        }
    }

    fn signal(&self, signal: Signal) {
        match self {
            Holder::Launcher(processes) => processes.signal(signal),
            Holder::Agents(fleet) => fleet.signal(signal),
        }
    }

    async fn clean_up(&mut self, is_urgent: bool) {
        match self {
            Holder::Launcher(processes) => processes.clean_up().await,
            Holder::Agents(fleet) => fleet.clean_up(is_urgent).await,
        }
    }
}

/// What time brings.
#[derive(Clone, Copy)]
enum Step {
    /// The job's time is over: what the ranks wait for is said before they are ended.
    Ask,
    /// They have had time to say it.
    End,
    /// Whoever is left is told to end.
    Tell(Signal),
}

/// Hears of all that happens to a job, and acts on it.
pub(super) struct Supervisor<'a> {
    job: &'a Job,
    holder: Holder,
    orders: mpsc::Sender<Order>,
    notes: mpsc::Sender<Output>,
    /// The order in which ranks failed by themselves.
    failures: Vec<usize>,
    /// The ranks that left the rendezvous without finalize, in the order in which they did.
    partings: Vec<(Instant, usize)>,
    /// What is still to be done, and when, while ranks are left.
    steps: VecDeque<(Instant, Step)>,
    ending: bool,
    started: Instant,
    outcome: Outcome,
}

impl<'a> Supervisor<'a> {
    /// From the start of the ranks until all is cleaned up. `happened`: what the rendezvous at `root` says.
    pub(super) async fn supervise(
        job: &'a Job,
        common: &Common,
        root: SocketAddr,
        key: [u8; 32],
        sink: Sink,
        orders: mpsc::Sender<Order>,
        mut happened: mpsc::Receiver<rendezvous::Event>,
    ) -> Result<Outcome, Failed> {
        let (inbox, mut events) = mpsc::channel(256);
        let (notes, lines) = mpsc::channel(output::QUEUE_MAX);
        let all_taken = output::drain(sink, lines, inbox.clone()).map_err(system("the output thread cannot start"))?;
        let mut tasks = JoinSet::new();
        signals::listen_to_signals(&mut tasks, &inbox).map_err(system("signals cannot be received"))?;
        let started = Instant::now();
        let holder = match &job.hosts {
            None => {
                let ranks: Vec<u32> = (0..job.size).collect();
                let mut processes = Processes::start(job, common, root, &ranks, &notes)?;
                if let Some(input) = processes.input.take() {
                    tasks.spawn(inputs::carry_input(input));
                }
                Holder::Launcher(processes)
            }
            Some(hosts) => {
                let plan = Plan { job, hosts, key, port: root.port(), lines: notes.clone(), events: inbox };
                Holder::Agents(start_fleet(plan, &mut events).await?)
            }
        };
        let mut supervisor = Supervisor {
            job,
            holder,
            orders,
            notes,
            failures: Vec::new(),
            partings: Vec::new(),
            steps: job.timeout.map(|timeout| (started + timeout, Step::Ask)).into_iter().collect(),
            ending: false,
            started,
            outcome: Outcome::new(job),
        };
        supervisor.watch(&mut events, &mut happened).await;
        drop(events);
        let is_urgent = supervisor.outcome.interrupted_by_signal.is_some() || supervisor.outcome.timed_out;
        supervisor.holder.clean_up(is_urgent).await;
        supervisor.hear_last_messages(&mut happened).await;
        let mut outcome = supervisor.finish();
        // Who shows the output may take its time, unless somebody wants the end now.
        let tails = match outcome.interrupted_by_signal {
            None => all_taken.await.ok(),
            Some(_) => timeout(AT_ONCE.1, all_taken).await.ok().and_then(Result::ok),
        };
        if let Some(failure) = &mut outcome.first_failure {
            failure.stderr = tails.and_then(|tails| tails.get(&failure.rank).map(Tail::lines)).unwrap_or_default();
        }
        Ok(outcome)
    }

    /// Until every rank has ended.
    async fn watch(&mut self, events: &mut mpsc::Receiver<Event>, happened: &mut mpsc::Receiver<rendezvous::Event>) {
        while self.outcome.ranks.iter().any(|rank| rank.end.is_none()) {
            let next = self.steps.front().map_or_else(|| Instant::now() + Duration::from_secs(3600), |(at, _)| *at);
            tokio::select! {
                Some(event) = events.recv() => self.take(event).await,
                Some(event) = happened.recv() => self.hear(event),
                Some((rank, end)) = self.holder.next_end() => self.ended(rank, end),
                () = sleep_until(next.into()) => {}
            }
            let now = Instant::now();
            while let Some(&(at, step)) = self.steps.front()
                && at <= now
            {
                self.steps.pop_front();
                match step {
                    Step::Ask => {
                        self.outcome.timed_out = true;
                        let patience = if self.orders.try_send(Order::Ask).is_ok() { ANSWERS } else { Duration::ZERO };
                        self.steps.push_back((now + patience, Step::End));
                    }
                    Step::End => self.end_after(AT_ONCE),
                    Step::Tell(signal) => self.tell_to_end(signal),
                }
            }
        }
        self.outcome.ended_s = self.since(Instant::now());
    }

    fn since(&self, at: Instant) -> f64 {
        at.duration_since(self.started).as_secs_f64()
    }

    async fn take(&mut self, event: Event) {
        match event {
            Event::Ended(rank, end) => self.ended(rank, end),
            Event::HostLost { host, ranks, cause } => self.lost(&host, ranks, &cause),
            Event::OutputBroken(error) => {
                if error.kind() == std::io::ErrorKind::BrokenPipe {
                    // As a pipeline ends a program whose reader has gone.
                    self.outcome.interrupted_by_signal.get_or_insert(Signal::PIPE.as_raw());
                } else {
                    self.outcome.output_failed = Some(error.to_string());
                }
                self.end_after(AT_ONCE);
            }
            Event::Signal(Signal::TSTP) => self.stop().await,
            // CONT: whoever has continued the launcher means the ranks too.
            Event::Signal(signal) if matches!(signal, Signal::USR1 | Signal::USR2 | Signal::CONT) => {
                self.holder.signal(signal);
            }
            Event::Signal(_) if self.outcome.interrupted_by_signal.is_some() => self.tell_to_end(Signal::KILL),
            Event::Signal(signal) => {
                self.outcome.interrupted_by_signal = Some(signal.as_raw());
                self.tell_to_end(signal);
                self.end_after(AFTER_SIGNAL);
            }
        }
    }

    /// Stops the ranks and then the launcher itself, as a shell's job control wants it, until it is continued.
    async fn stop(&self) {
        self.holder.signal(Signal::STOP);
        if let Holder::Agents(_) = self.holder {
            // The tasks that write to the agents need this thread; they stop with it.
            sleep(ORDERS_LEAVE).await;
        }
        // The ranks are continued by the event of SIGCONT: only that is sure to come after this process has stopped.
        let _ = kill_process(getpid(), Signal::STOP);
    }

    fn ended(&mut self, rank: u32, end: End) {
        let ended_s = self.since(Instant::now());
        let Some(process) = self.outcome.ranks.get_mut(rank as usize) else { return };
        (process.end, process.ended_s) = (Some(end), Some(ended_s));
        let has_node = self.outcome.joined_s.is_some();
        let why = if end == End::Exited(0) && has_node { format!(" {WITHOUT_FINALIZE}") } else { String::new() };
        // The queue has room for every rank's end. Of a rank that has finalized, nobody wants to know.
        let (cause, in_peace) = (format!("its process {end}{why}"), end == End::Exited(0) && has_node);
        let _ = self.orders.try_send(Order::Lost { rank: Rank(rank), cause, in_peace });
        if end != End::Exited(0) && !process.told_to_end {
            self.failures.push(rank as usize);
            self.end_after((self.job.grace, AFTER_FAILURE));
        }
    }

    /// All ranks of that host that have not ended are lost with it.
    fn lost(&mut self, host: &str, ranks: Vec<u32>, cause: &str) {
        let is_left = |rank: &u32| self.outcome.ranks[*rank as usize].end.is_none();
        let left: Vec<u32> = ranks.into_iter().filter(is_left).collect();
        if left.is_empty() {
            return;
        }
        let named: Vec<Rank> = left.iter().copied().map(Rank).collect();
        let text = format!("host {host} was lost with {}: {cause}", listed(&named));
        self.note(&text);
        self.outcome.lost_hosts.push(text);
        for rank in left {
            self.ended(rank, End::Lost);
        }
    }

    fn hear(&mut self, event: rendezvous::Event) {
        let note = match event {
            rendezvous::Event::AllJoined(at) => {
                self.outcome.joined_s = Some(self.since(at));
                None
            }
            rendezvous::Event::Left { rank, at, finalized, blames } => {
                let at_s = self.since(at);
                if let Some(process) = self.outcome.ranks.get_mut(rank.index()) {
                    process.left_s = finalized.then_some(at_s);
                    process.blames = blames;
                }
                if !finalized {
                    // Of one that was cut off, it is known later than of others that it will not come back.
                    let place = self.partings.partition_point(|(other, _)| *other <= at);
                    self.partings.insert(place, (at, rank.index()));
                }
                blames.and_then(|blamed| self.stopped(Some(blamed)))
            }
            rendezvous::Event::Observed(rank, report) => {
                if let Some(reports) = &mut self.outcome.reports {
                    reports.retain(|other| other.rank != rank);
                    reports.push(*report);
                }
                None
            }
            rendezvous::Event::JoinFailed(_) if self.outcome.join_failed.is_some() || self.ending => None,
            rendezvous::Event::JoinFailed(cause) => Some(self.outcome.join_failed.insert(cause).clone()),
            rendezvous::Event::Deadlock(report) => {
                self.outcome.deadlock.get_or_insert_with(|| report.clone());
                Some(format!("deadlock: {report}"))
            }
            rendezvous::Event::Stalled(report) => match self.stopped(None) {
                Some(stopped) => Some(format!("{report}\n  {stopped}")),
                None => Some(report),
            },
            rendezvous::Event::Shown(report) => {
                self.end_after(AT_ONCE);
                Some(report)
            }
        };
        if let Some(note) = note {
            self.note(&note);
        }
    }

    fn note(&self, text: &str) {
        // If output stands still, the outcome still says it.
        let _ = self.notes.try_send(Output::note(text));
    }

    /// That processes of this host are stopped, if they are; only that of `blamed`, if a rank failed for want of it.
    fn stopped(&self, blamed: Option<Rank>) -> Option<String> {
        let Holder::Launcher(processes) = &self.holder else { return None };
        let mut stopped = processes.stopped();
        stopped.retain(|(rank, _)| blamed.is_none_or(|blamed| blamed == *rank));
        let why = "is stopped (Ctrl-Z, SIGSTOP or a debugger); kill -CONT";
        let stopped: Vec<String> = stopped
            .into_iter()
            .map(|(rank, process)| format!("the process of rank {rank} {why} {process} lets it go on"))
            .collect();
        (!stopped.is_empty()).then(|| stopped.join("\n  "))
    }

    /// Ranks that end after their processes' last messages have been read are known by what they said.
    async fn hear_last_messages(&mut self, happened: &mut mpsc::Receiver<rendezvous::Event>) {
        let patience = if self.job.report { LAST_REPORTS } else { LAST_MESSAGES };
        let until = tokio::time::Instant::now() + patience;
        while !(self.failures.is_empty() && self.has_heard_all())
            && let Ok(Some(event)) = timeout_at(until, happened.recv()).await
        {
            self.hear(event);
        }
    }

    /// Whether every rank of a job that has ended well has said goodbye, and what it observed if that is wanted. Both may
    /// come later than the process's end.
    fn has_heard_all(&self) -> bool {
        let mut well = self.outcome.ranks.iter().filter(|rank| rank.end == Some(End::Exited(0)));
        let is_reported = self.outcome.reports.as_ref().is_none_or(|reports| reports.len() >= well.clone().count());
        self.outcome.joined_s.is_none() || (is_reported && well.all(|rank| rank.left_s.is_some()))
    }

    fn end_after(&mut self, (term, kill): (Duration, Duration)) {
        let now = Instant::now();
        // What was to come sooner stays.
        if !self.ending || self.steps.front().is_some_and(|(first, _)| now + term < *first) {
            let (term, kill) = (now + term, now + term + kill);
            self.steps = [(term, Step::Tell(Signal::TERM)), (kill, Step::Tell(Signal::KILL))].into();
        }
        self.ending = true;
    }

    fn tell_to_end(&mut self, signal: Signal) {
        for rank in &mut self.outcome.ranks {
            rank.told_to_end |= rank.end.is_none();
        }
        self.holder.signal(signal);
    }

    fn finish(mut self) -> Outcome {
        let partings: Vec<usize> = self.partings.iter().map(|(_, rank)| *rank).collect();
        self.outcome.finish(verdict::first(&self.outcome.ranks, &self.failures, &partings));
        self.outcome
    }
}

/// Starts the agents, unless a signal comes before they are ready.
async fn start_fleet(plan: Plan<'_>, events: &mut mpsc::Receiver<Event>) -> Result<Fleet, Failed> {
    let interrupted = async {
        while let Some(event) = events.recv().await {
            match event {
                // No rank has been started: there is nobody to tell, and nobody else would stop this process.
                Event::Signal(Signal::TSTP) => drop(kill_process(getpid(), Signal::STOP)),
                Event::Signal(Signal::CONT) => {}
                Event::Signal(signal) => return signal,
                _ => {}
            }
        }
        std::future::pending().await
    };
    tokio::select! {
        fleet = Fleet::start(plan) => fleet,
        signal = interrupted => Err(Failed {
            message: format!("interrupted by signal {} before the ranks were started", signal.as_raw()),
            status: signalled(signal.as_raw()),
        }),
    }
}
