//! What the rendezvous knows of a job, and what it does about what it hears.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::control::{Notice, Report};
use super::cores::{self, Cores};
use super::rendezvous::{Event, Lost, Settings, read_reports, write_notices};
use super::stall::{self, Seen, listed};
use crate::ids::Rank;
use crate::kernel::greeting::Guest;
use crate::wire::handshake::Refusal;

/// How often deadlines and the stall rule are looked at while there is something to decide.
const TICK: Duration = Duration::from_millis(100);
/// A process that dies shows it twice, to the launcher and by its closed connection. How long the second may take.
const OTHER_HALF: Duration = Duration::from_millis(300);
/// After how long an undecided standstill is worth a word to the user.
const STANDSTILL_WORD: Duration = Duration::from_secs(10);

/// All that reaches the rendezvous comes through one queue.
pub(super) enum Input {
    Guest(Box<Guest>),
    Report(Rank, u64, Box<Report>),
    Closed(Rank, u64, String),
    Lost(Lost),
}

/// A rank that has a connection, or had one.
struct Seat {
    incarnation: u64,
    address: Option<SocketAddr>,
    cores: Cores,
    notices: mpsc::Sender<Notice>,
    /// Whether it has said its last word, or its connection closed.
    gone: bool,
}

/// A rank that has gone without finalize: its process has ended, its connection has closed, or it said so.
struct Parting {
    rank: Rank,
    /// The best cause so far.
    cause: String,
    /// Whether no better one is to come.
    complete: bool,
    /// Until when a better one is waited for.
    until: Instant,
}

pub(super) struct Office {
    settings: Settings,
    events: mpsc::Sender<Event>,
    inputs: mpsc::Sender<Input>,
    tasks: JoinSet<()>,
    writers: JoinSet<()>,
    seats: Vec<Option<Seat>>,
    seen: Vec<Seen>,
    lost: Vec<bool>,
    /// Ranks that have gone without finalize, in the order in which that was seen, and are not yet announced.
    partings: VecDeque<Parting>,
    first_join: Option<Instant>,
    table_sent: bool,
    failed: Option<String>,
    deadlock_sent: bool,
    still_since: Option<Instant>,
    stalled_sent: bool,
    /// Whatever carries the rewritten addresses.
    kept: Option<Box<dyn Send>>,
}

impl Office {
    pub(super) fn new(
        settings: Settings,
        events: mpsc::Sender<Event>,
        inputs: mpsc::Sender<Input>,
        tasks: JoinSet<()>,
    ) -> Self {
        let size = settings.size as usize;
        Office {
            settings,
            events,
            inputs,
            tasks,
            writers: JoinSet::new(),
            seats: (0..size).map(|_| None).collect(),
            seen: vec![Seen::default(); size],
            lost: vec![false; size],
            partings: VecDeque::new(),
            first_join: None,
            table_sent: false,
            failed: None,
            deadlock_sent: false,
            still_since: None,
            stalled_sent: false,
            kept: None,
        }
    }

    /// Without a launcher nobody else ends it. With one, it lives as long as the launcher wants.
    pub(super) fn is_done(&self) -> bool {
        let over = self.table_sent || self.failed.is_some();
        !self.settings.launcher && over && self.seats.iter().flatten().all(|seat| seat.gone)
    }

    /// How long it may sleep: with nothing to decide, until something comes.
    pub(super) fn patience(&self) -> Duration {
        let joining = self.first_join.is_some() && !self.table_sent && self.failed.is_none();
        let deciding = joining || self.still_since.is_some() || !self.partings.is_empty();
        if deciding { TICK } else { Duration::from_secs(3600) }
    }

    pub(super) async fn take(&mut self, input: Input) {
        match input {
            Input::Guest(guest) => self.welcome(*guest).await,
            Input::Report(rank, incarnation, report) => {
                if self.is_current(rank, incarnation) {
                    self.hear(rank, *report).await;
                }
            }
            Input::Closed(rank, incarnation, why) => {
                if self.is_current(rank, incarnation) {
                    self.closed(rank, why).await;
                }
            }
            Input::Lost(Lost { rank, cause }) => self.ended(rank, cause).await,
        }
    }

    fn is_current(&self, rank: Rank, incarnation: u64) -> bool {
        let seat = self.seats.get(rank.index()).and_then(Option::as_ref);
        seat.is_some_and(|seat| seat.incarnation == incarnation)
    }

    async fn welcome(&mut self, guest: Guest) {
        let (rank, incarnation) = (Rank(guest.proven.rank), guest.proven.established.incarnation);
        if let Err(refusal) = &guest.proven.fits {
            let refusal = refusal.clone();
            tracing::warn!(%rank, %refusal, "a process of this job does not fit");
            return guest.turn_away(&refusal).await;
        }
        // A process that died before the job began may be started again.
        let taken = self.seats[rank.index()].as_ref().is_some_and(|seat| !seat.gone || self.table_sent);
        if taken {
            return guest.turn_away(&Refusal::Duplicate(rank.0)).await;
        }
        let Ok(connection) = guest.admit(0).await else { return };
        let (reader, writer) = connection.stream.into_split();
        let (notices, queue) = mpsc::channel(self.settings.size as usize + 16);
        self.writers.spawn(write_notices(writer, queue));
        self.tasks.spawn(read_reports(reader, rank, incarnation, self.inputs.clone()));
        self.seats[rank.index()] =
            Some(Seat { incarnation, address: None, cores: Cores::default(), notices, gone: false });
    }

    async fn hear(&mut self, rank: Rank, report: Report) {
        match report {
            Report::Join { address, cores, .. } => {
                self.first_join.get_or_insert_with(Instant::now);
                if let Some(seat) = &mut self.seats[rank.index()] {
                    (seat.address, seat.cores) = (Some(address), *cores);
                }
                match self.failed.clone() {
                    Some(cause) => {
                        self.tell(rank, Notice::Refused { cause: cause.clone() });
                        self.emit(Event::JoinFailed(cause)).await;
                    }
                    None => self.hand_out_table().await,
                }
            }
            Report::Stalled(standstill) => {
                self.seen[rank.index()].stalled(standstill);
                self.still_since.get_or_insert_with(Instant::now);
                self.judge().await;
            }
            Report::Moving => {
                self.seen[rank.index()].moved();
                self.still_since = None;
                self.stalled_sent = false;
                self.deadlock_sent = false;
            }
            Report::Observed(report) => self.emit(Event::Observed(rank, report)).await,
            Report::Leaving { finalized, error, blames } => {
                if let Some(seat) = &mut self.seats[rank.index()] {
                    seat.gone = true;
                }
                self.seen[rank.index()].moved();
                if finalized {
                    stall::finish(&mut self.seen, rank);
                }
                self.emit(Event::Left { rank, at: Instant::now(), finalized, blames }).await;
                if finalized {
                    self.partings.retain(|parting| parting.rank != rank);
                    self.judge().await;
                } else {
                    let cause = error.unwrap_or_else(|| "it left the job without finalize".into());
                    self.part(rank, cause, true, true).await;
                }
            }
        }
    }

    async fn hand_out_table(&mut self) {
        if self.table_sent || self.failed.is_some() {
            return;
        }
        let present: Option<Vec<(SocketAddr, u64)>> = self
            .seats
            .iter()
            .map(|seat| seat.as_ref().and_then(|seat| Some((seat.address?, seat.incarnation)).filter(|_| !seat.gone)))
            .collect();
        let Some(present) = present else { return };
        let (mut addresses, incarnations): (Vec<_>, Vec<_>) = present.into_iter().unzip();
        if let Some(rewrite) = self.settings.rewrite.take() {
            addresses = match rewrite(addresses) {
                Ok((addresses, kept)) => {
                    self.kept = Some(kept);
                    addresses
                }
                Err(error) => return self.fail(format!("the emulated link could not be set up: {error}")).await,
            };
        }
        self.table_sent = true;
        let cores: Vec<Cores> = self.seats.iter().flatten().map(|seat| seat.cores.clone()).collect();
        let may_poll = cores::may_poll(&cores);
        self.tell_all(&Notice::Table { addresses, incarnations, launcher: self.settings.launcher, may_poll });
        self.emit(Event::AllJoined(Instant::now())).await;
    }

    /// The launcher saw a process end. What it said last may still be on its way; its connection's end comes after it.
    async fn ended(&mut self, rank: Rank, cause: String) {
        let connected = self.seats.get(rank.index()).and_then(Option::as_ref).is_some_and(|seat| !seat.gone);
        self.part(rank, cause, !connected, true).await;
    }

    /// A connection ended. If its rank has not said goodbye, it is lost; the launcher knows better why.
    async fn closed(&mut self, rank: Rank, why: String) {
        let Some(seat) = &mut self.seats[rank.index()] else { return };
        if std::mem::replace(&mut seat.gone, true) {
            return;
        }
        self.emit(Event::Left { rank, at: Instant::now(), finalized: false, blames: None }).await;
        let cause = match self.settings.hosts.get(rank.index()) {
            Some(host) => format!("{host}: {why}"),
            None => why,
        };
        if self.settings.launcher || self.table_sent {
            let both = !self.settings.launcher || self.partings.iter().any(|parting| parting.rank == rank);
            self.part(rank, cause, both, false).await;
        }
    }

    /// A rank has gone. It is announced when all that can be known about it is, and after those that went before it:
    /// so everybody hears of the first cause first.
    async fn part(&mut self, rank: Rank, cause: String, complete: bool, knows_better: bool) {
        let index = rank.index();
        if index >= self.lost.len() || self.seen[index].finished || self.lost[index] {
            return;
        }
        match self.partings.iter_mut().find(|parting| parting.rank == rank) {
            Some(parting) => {
                if knows_better && !parting.complete {
                    parting.cause = cause;
                }
                // The first word and this one are the process's end and its connection's, in either order.
                parting.complete = true;
            }
            None => {
                let until = Instant::now() + OTHER_HALF;
                self.partings.push_back(Parting { rank, cause, complete, until });
            }
        }
        self.announce(Instant::now()).await;
    }

    async fn announce(&mut self, now: Instant) {
        while let Some(parting) = self.partings.pop_front_if(|parting| parting.complete || parting.until <= now) {
            self.lose(parting.rank, parting.cause).await;
        }
    }

    async fn lose(&mut self, rank: Rank, cause: String) {
        let index = rank.index();
        self.lost[index] = true;
        self.seen[index].moved();
        if let Some(seat) = &mut self.seats[index] {
            seat.gone = true;
        }
        if self.table_sent {
            return self.tell_all(&Notice::Lost { rank, cause });
        }
        let waiting: Vec<Rank> = self.ranks(|seat| seat.is_some_and(|seat| !seat.gone));
        if waiting.is_empty() {
            // Nobody has joined yet; whoever comes must still hear it.
            self.failed.get_or_insert(format!("rank {rank} will not come: {cause}"));
        } else {
            let wait = if waiting.len() == 1 { "waits" } else { "wait" };
            let who = listed(&waiting);
            self.fail(format!("rank {rank} ended before it joined: {cause}; {who} {wait} for it in vain")).await;
        }
    }

    async fn fail(&mut self, cause: String) {
        if self.failed.is_none() {
            self.failed = Some(cause.clone());
            self.tell_all(&Notice::Refused { cause: cause.clone() });
            self.emit(Event::JoinFailed(cause)).await;
        }
    }

    pub(super) async fn look_at_clock(&mut self, now: Instant) {
        self.announce(now).await;
        let late = self.first_join.is_some_and(|first| now > first + self.settings.join_timeout);
        if late && !self.table_sent && self.failed.is_none() {
            let missing = self.ranks(|seat| seat.is_none_or(|seat| seat.gone || seat.address.is_none()));
            let size = self.settings.size;
            let after = self.settings.join_timeout;
            self.fail(format!(
                "{} of {size} did not join within {after:?} of the first; do they run, and do they call lathide::init?",
                listed(&missing)
            ))
            .await;
        }
        let still = self.still_since.is_some_and(|since| now > since + STANDSTILL_WORD);
        if still && !self.stalled_sent && !self.deadlock_sent {
            self.stalled_sent = true;
            let seconds = self.still_since.map_or(0.0, |since| (now - since).as_secs_f64());
            self.emit(Event::Stalled(stall::undecided(&self.seen, seconds))).await;
        }
    }

    async fn judge(&mut self) {
        if self.deadlock_sent || self.lost.contains(&true) {
            return;
        }
        let set = stall::deadlocked(&self.seen);
        if set.is_empty() {
            return;
        }
        self.deadlock_sent = true;
        let report = stall::report(&set, &self.seen);
        self.tell_all(&Notice::Deadlock { report: report.clone() });
        self.emit(Event::Deadlock(report)).await;
    }

    fn ranks(&self, which: impl Fn(Option<&Seat>) -> bool) -> Vec<Rank> {
        (0u32..).zip(&self.seats).filter(|(_, seat)| which(seat.as_ref())).map(|(rank, _)| Rank(rank)).collect()
    }

    fn tell_all(&mut self, notice: &Notice) {
        for rank in 0..self.settings.size {
            self.tell(Rank(rank), notice.clone());
        }
    }

    fn tell(&mut self, rank: Rank, notice: Notice) {
        if let Some(seat) = &self.seats[rank.index()] {
            // The queue holds a notice for each event a job can have; a rank that reads none of them is not listening.
            if seat.notices.try_send(notice).is_err() {
                tracing::debug!(%rank, "a notice found no room or no rank");
            }
        }
    }

    async fn emit(&mut self, event: Event) {
        let _ = self.events.send(event).await;
    }

    /// Lets the writers send what is queued, for a bounded time.
    pub(super) async fn flush(mut self) {
        self.seats.clear();
        let all = async { while self.writers.join_next().await.is_some() {} };
        let _ = timeout(Duration::from_secs(1), all).await;
    }
}
