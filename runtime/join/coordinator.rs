//! What the rendezvous knows of a job, and what it does about what it hears.

mod losses;
mod standstill;

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::answering::Answering;
use super::control::{Notice, Report, Snapshot};
use super::cores::{self, Cores};
use super::deadlock::{self, Seen, listed};
use super::events::{Contact, Event, Input, Order, Settings};
use super::failures::Failures;
use super::handshake::{self, Guest};
use super::rank_slot::RankSlot;
use crate::ids::Rank;
use crate::wire::handshake::Refusal;

/// How often deadlines and the stall rule are looked at while there is something to decide.
const TICK: Duration = Duration::from_millis(100);

pub(super) struct Coordinator {
    settings: Settings,
    events: mpsc::Sender<Event>,
    inputs: mpsc::Sender<Input>,
    tasks: JoinSet<()>,
    lines: JoinSet<()>,
    slots: Vec<Option<RankSlot>>,
    seen: Vec<Seen>,
    lost: Vec<bool>,
    /// Ranks that have gone without finalize, in the order in which that was seen, and are not yet announced.
    pending_failures: Failures,
    first_join: Option<Instant>,
    table_sent: bool,
    failed: Option<String>,
    deadlock_sent: bool,
    /// Since when each rank has stood still.
    still: Vec<Option<Instant>>,
    /// The snapshot that the user was last told of: since when it lasted, and when that was told.
    told: Option<(Instant, Instant)>,
    /// What ranks have answered to being asked what they wait for, and until when they may.
    answers: Option<(Vec<Option<Snapshot>>, Instant)>,
    /// Whatever carries the rewritten addresses.
    kept: Option<Box<dyn Send>>,
}

impl Coordinator {
    pub(super) fn new(
        settings: Settings,
        events: mpsc::Sender<Event>,
        inputs: mpsc::Sender<Input>,
        tasks: JoinSet<()>,
    ) -> Self {
        let size = settings.size as usize;
        Coordinator {
            settings,
            events,
            inputs,
            tasks,
            lines: JoinSet::new(),
            slots: (0..size).map(|_| None).collect(),
            seen: vec![Seen::default(); size],
            lost: vec![false; size],
            pending_failures: Failures::default(),
            first_join: None,
            table_sent: false,
            failed: None,
            deadlock_sent: false,
            still: vec![None; size],
            told: None,
            answers: None,
            kept: None,
        }
    }

    /// Without a launcher nobody else ends it. With one, it lives as long as the launcher wants.
    pub(super) fn is_done(&self) -> bool {
        let over = self.table_sent || self.failed.is_some();
        !self.settings.launcher && over && self.slots.iter().flatten().all(|slot| slot.gone)
    }

    /// How long it may sleep: with nothing to decide, until something comes.
    pub(super) fn patience(&self) -> Duration {
        let joining = self.first_join.is_some() && !self.table_sent && self.failed.is_none();
        let standing = self.answers.is_some() || self.still.iter().any(Option::is_some);
        let deciding = joining || standing || !self.pending_failures.is_empty();
        if deciding { TICK } else { Duration::from_secs(3600) }
    }

    pub(super) async fn take(&mut self, input: Input) {
        match input {
            Input::Guest(guest) => self.welcome(*guest).await,
            Input::Report(rank, contact, report) => {
                // A report that has come counts, also if its connection has ended meanwhile.
                if self.is_current(rank, |slot| slot.contact.incarnation == contact.incarnation) {
                    self.hear(rank, *report).await;
                }
            }
            Input::Closed(rank, contact, why) => {
                if self.is_current(rank, |slot| slot.contact == contact) {
                    self.closed(rank, why).await;
                }
            }
            Input::Ended(rank, contact) => {
                if self.is_current(rank, |slot| slot.contact == contact && slot.down.is_some()) {
                    self.nobody_listens(rank).await;
                }
            }
            Input::Forged(rank, contact, why) => {
                if self.is_current(rank, |slot| slot.contact.incarnation == contact.incarnation) {
                    self.left(rank, Some(why), None).await;
                }
            }
            Input::Deaf(error) if !self.table_sent => {
                let error = handshake::explain(&error);
                self.fail(format!("the rendezvous cannot accept the ranks' connections: {error}")).await;
            }
            Input::Deaf(error) => tracing::warn!(%error, "the rendezvous accepts no more connections"),
            Input::Launcher(Order::Lost { rank, cause, in_peace }) => self.ended(rank, cause, in_peace).await,
            Input::Launcher(Order::Ask) => self.ask().await,
        }
    }

    fn is_current(&self, rank: Rank, holds: impl Fn(&RankSlot) -> bool) -> bool {
        self.slots.get(rank.index()).and_then(Option::as_ref).is_some_and(holds)
    }

    async fn welcome(&mut self, guest: Guest) {
        let rank = Rank(guest.authenticated.rank);
        let contact =
            Contact { incarnation: guest.authenticated.established.incarnation, epoch: guest.authenticated.epoch };
        if let Err(refusal) = &guest.authenticated.fits {
            let refusal = refusal.clone();
            tracing::warn!(%rank, %refusal, "a process of this job does not fit");
            return guest.turn_away(&refusal).await;
        }
        match &self.slots[rank.index()] {
            Some(slot) if slot.is_continued_by(contact) => return self.resume(rank, contact, guest).await,
            Some(slot) if self.table_sent || !slot.gone => {
                return guest.turn_away(&Refusal::Duplicate(rank.0)).await;
            }
            _ => {}
        }
        // Room for a notice of each event that a job can have, and for ranks that move.
        let notices_max = 2 * self.settings.size as usize + 16;
        let line = Answering::new(rank, self.inputs.clone(), notices_max, &mut self.lines);
        line.welcome(guest);
        self.slots[rank.index()] = Some(RankSlot::new(contact, line));
    }

    /// A rank has come again.
    async fn resume(&mut self, rank: Rank, contact: Contact, guest: Guest) {
        let Some(slot) = &mut self.slots[rank.index()] else { return };
        if !slot.line.welcome(guest) {
            // It was dropped, and the rank calls again.
            return;
        }
        slot.contact = contact;
        tracing::info!(%rank, epoch = contact.epoch, "a rank has come again");
        if slot.down.take().is_some() {
            self.pending_failures.withdraw(rank);
            self.judge().await;
        }
    }

    async fn hear(&mut self, rank: Rank, report: Report) {
        match report {
            Report::Join { address, cores, resume, .. } => {
                self.first_join.get_or_insert_with(Instant::now);
                if let Some(slot) = &mut self.slots[rank.index()] {
                    (slot.address, slot.cores, slot.resume) = (Some(address), *cores, resume);
                }
                match self.failed.clone() {
                    Some(cause) => {
                        self.tell(rank, Notice::Refused { cause: cause.clone() });
                        self.emit(Event::JoinFailed(cause)).await;
                    }
                    None => self.hand_out_table().await,
                }
            }
            Report::Stalled(snapshot) => {
                self.seen[rank.index()].stalled(snapshot);
                self.still[rank.index()].get_or_insert_with(Instant::now);
                self.judge().await;
            }
            Report::Moving => {
                self.seen[rank.index()].moved();
                self.still[rank.index()] = None;
                self.deadlock_sent = false;
            }
            Report::Moved { address } => self.moved(rank, address),
            Report::Shows(snapshot) => self.answered(rank, snapshot).await,
            Report::Observed(mut report) => {
                // Whoever it says it is: it has one report.
                report.rank = rank;
                self.emit(Event::Observed(rank, report)).await;
            }
            Report::Leaving { finalized, error, blames, sent } => {
                if let Some(slot) = &mut self.slots[rank.index()] {
                    slot.has_left = true;
                }
                match finalized {
                    true => self.finalized(rank, blames, sent).await,
                    false => self.left(rank, error, blames).await,
                }
                // It has served this rendezvous, which ends with it.
                if rank == 0 && !self.settings.launcher {
                    self.tell_all(&Notice::Over);
                }
            }
        }
    }

    async fn finalized(&mut self, rank: Rank, blames: Option<Rank>, sent: Vec<u64>) {
        self.part_with(rank);
        deadlock::finish(&mut self.seen, rank, sent);
        self.emit(Event::Left { rank, at: Instant::now(), finalized: true, blames }).await;
        self.pending_failures.withdraw(rank);
        self.judge().await;
    }

    /// Nothing more is expected of a rank.
    fn part_with(&mut self, rank: Rank) {
        if let Some(slot) = &mut self.slots[rank.index()] {
            (slot.gone, slot.down) = (true, None);
        }
        self.seen[rank.index()].moved();
        self.still[rank.index()] = None;
    }

    /// A rank's host has another address. Through an emulated link's relays nobody calls it there.
    fn moved(&mut self, rank: Rank, address: SocketAddr) {
        let Some(slot) = &mut self.slots[rank.index()] else { return };
        slot.address = Some(address);
        if !self.table_sent || self.kept.is_some() {
            return;
        }
        for other in (0..self.settings.size).map(Rank).filter(|other| *other != rank) {
            self.tell(other, Notice::Moved { rank, address });
        }
    }

    async fn hand_out_table(&mut self) {
        if self.table_sent || self.failed.is_some() {
            return;
        }
        let present: Option<Vec<(SocketAddr, u64)>> = self
            .slots
            .iter()
            .map(|slot| {
                slot.as_ref().and_then(|slot| Some((slot.address?, slot.contact.incarnation)).filter(|_| !slot.gone))
            })
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
        let cores: Vec<Cores> = self.slots.iter().flatten().map(|slot| slot.cores.clone()).collect();
        let may_poll = cores::may_poll(&cores);
        let ranks_per_core = cores::ranks_per_core(&cores);
        let launcher = self.settings.launcher;
        self.tell_all(&Notice::Table { addresses, incarnations, launcher, may_poll, ranks_per_core });
        self.emit(Event::AllJoined(Instant::now())).await;
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
            let missing = self.missing();
            let (who, hosts) = (listed(&missing), self.hosts_of(&missing));
            let (size, after) = (self.settings.size, self.settings.join_timeout);
            self.fail(format!(
                "{who} of {size}{hosts} did not join within {after:?} of the first; do they run, and do they call lathide::init?"
            ))
            .await;
        }
        if self.answers.as_ref().is_some_and(|(_, until)| now >= *until) {
            self.show().await;
        }
        self.tell_of_standstill(now).await;
    }

    /// The ranks that have not joined, or not any more.
    fn missing(&self) -> Vec<Rank> {
        self.ranks(|slot| slot.is_none_or(|slot| slot.gone || slot.address.is_none()))
    }

    /// Where ranks are, for a message: ` (on host1, host2)`; nothing in a job without named hosts.
    fn hosts_of(&self, ranks: &[Rank]) -> String {
        const NAMED_MAX: usize = 4;
        let mut hosts: Vec<&str> =
            ranks.iter().filter_map(|rank| self.settings.hosts.get(rank.index())).map(String::as_str).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let more = if hosts.len() > NAMED_MAX { " and others" } else { "" };
        hosts.truncate(NAMED_MAX);
        if hosts.is_empty() { String::new() } else { format!(" (on {}{more})", hosts.join(", ")) }
    }

    fn ranks(&self, which: impl Fn(Option<&RankSlot>) -> bool) -> Vec<Rank> {
        (0u32..).zip(&self.slots).filter(|(_, slot)| which(slot.as_ref())).map(|(rank, _)| Rank(rank)).collect()
    }

    fn tell_all(&mut self, notice: &Notice) {
        for rank in 0..self.settings.size {
            self.tell(Rank(rank), notice.clone());
        }
    }

    fn tell(&mut self, rank: Rank, notice: Notice) {
        if let Some(slot) = &self.slots[rank.index()] {
            // The queue has room for what a job can bring; a rank that reads none of it is not listening.
            if !slot.line.tell(notice) {
                tracing::debug!(%rank, "a notice found no room or no rank");
            }
        }
    }

    async fn emit(&mut self, event: Event) {
        let _ = self.events.send(event).await;
    }

    /// Lets the ranks hear what is queued, for a bounded time.
    pub(super) async fn flush(mut self) {
        self.tell_all(&Notice::Over);
        self.slots.clear();
        let all = async { while self.lines.join_next().await.is_some() {} };
        let _ = timeout(Duration::from_secs(1), all).await;
    }
}

#[cfg(test)]
#[path = "coordinator_mutant_tests.rs"]
mod mutant_tests;
