//! What the rendezvous knows of a job, and what it does about what it hears.

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
use super::failures::{Cause, Failures};
use super::handshake::{self, Guest};
use super::rank_slot::{Down, RankSlot};
use super::redial;
use crate::ids::Rank;
use crate::wire::handshake::Refusal;

/// How often deadlines and the stall rule are looked at while there is something to decide.
const TICK: Duration = Duration::from_millis(100);
/// A process that dies shows it twice, to the launcher and by its closed connection. How long the second may take.
const OTHER_HALF: Duration = Duration::from_millis(300);
/// The same of a process that ended with status 0: it has finalized, as a rule, and its last word takes as long as a slow
/// link makes it.
const LAST_WORD: Duration = Duration::from_secs(5);
/// After how long an undecided snapshot is worth a word to the user.
const STANDSTILL_WORD: Duration = Duration::from_secs(10);
/// A program may rightly wait for long again and again: so much passes between two such words.
const WORD_PAUSE: Duration = Duration::from_secs(30);
/// How long ranks may take to answer what they wait for.
const ANSWER: Duration = Duration::from_millis(500);
/// Longer than any job.
const FOREVER: Duration = Duration::from_secs(366 * 86_400);

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

    /// A rank has left without finalize, for a reason that is known.
    async fn left(&mut self, rank: Rank, why: Option<String>, blames: Option<Rank>) {
        self.part_with(rank);
        self.emit(Event::Left { rank, at: Instant::now(), finalized: false, blames }).await;
        let cause = why.unwrap_or_else(|| "it left the job without finalize".into());
        self.part(rank, cause, (true, OTHER_HALF), true).await;
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

    /// The launcher saw a process end. What it said last may still be on its way; its connection's end comes after it.
    async fn ended(&mut self, rank: Rank, cause: String, in_peace: bool) {
        let connected = self.is_current(rank, |slot| !slot.gone && slot.down.is_none());
        let patience = if in_peace { LAST_WORD } else { OTHER_HALF };
        self.part(rank, cause, (!connected, patience), true).await;
    }

    /// A connection ended. If its rank has not said goodbye, it may come again, or is lost; the launcher knows better why.
    async fn closed(&mut self, rank: Rank, why: String) {
        let Some(slot) = &mut self.slots[rank.index()] else { return };
        if slot.gone {
            return;
        }
        if slot.address.is_none() && !self.table_sent {
            // It may not have known that it was in, and comes again. If its process has ended, the launcher says so.
            self.slots[rank.index()] = None;
            return;
        }
        let cause = match self.settings.hosts.get(rank.index()) {
            Some(host) => format!("{host}: {why}"),
            None => why,
        };
        let is_known = self.pending_failures.has(rank);
        if let (Some(resume), false) = (slot.resume, is_known) {
            return self.wait_for(rank, cause, resume);
        }
        slot.gone = true;
        self.emit(Event::Left { rank, at: Instant::now(), finalized: false, blames: None }).await;
        self.part(rank, cause, (!self.settings.launcher || is_known, OTHER_HALF), false).await;
    }

    /// A rank's connection was cut: it may come again for some time, unless its process has ended.
    fn wait_for(&mut self, rank: Rank, cause: String, resume: Duration) {
        let (Some(slot), inputs, now) = (&mut self.slots[rank.index()], self.inputs.clone(), Instant::now()) else {
            return;
        };
        tracing::info!(%rank, %cause, "the connection to a rank was cut");
        let (contact, address) = (slot.contact, slot.address);
        let search = self.tasks.spawn(async move {
            if let Some(address) = address {
                redial::wait_for_end(|| address).await;
                let _ = inputs.send(Input::Ended(rank, contact)).await;
            }
        });
        let late = format!("{cause}; it did not come again for {resume:?} (LATHIDE_RESUME)");
        slot.down = Some(Down { cause, search });
        // What a member says may be more than a clock holds.
        let until = now.checked_add(resume).unwrap_or(now + FOREVER);
        self.pending_failures.add_cut(rank, late, now, until);
    }

    /// A rank that was cut has ended. The launcher, if there is one, may still say how.
    async fn nobody_listens(&mut self, rank: Rank) {
        let Some(RankSlot { address: Some(address), down: Some(down), .. }) = &self.slots[rank.index()] else { return };
        let cause = format!("{}; nothing listens at {address} any more", down.cause);
        let patience = if self.settings.launcher { OTHER_HALF } else { Duration::ZERO };
        self.pending_failures.end_cut(rank, cause, Instant::now() + patience);
        self.announce(Instant::now()).await;
    }

    /// A rank has gone. It is announced when all that can be known about it is, and after those that went before it:
    /// so everybody hears of the first cause first.
    async fn part(&mut self, rank: Rank, text: String, (is_complete, patience): (bool, Duration), is_better: bool) {
        let index = rank.index();
        if index >= self.lost.len() || self.seen[index].finished || self.lost[index] {
            return;
        }
        let until = Instant::now() + patience;
        self.pending_failures.add(rank, Cause { text, is_complete, until, is_better });
        self.announce(Instant::now()).await;
    }

    async fn announce(&mut self, now: Instant) {
        while let Some(failure) = self.pending_failures.next(now) {
            if let Some(at) = failure.cut_at {
                self.emit(Event::Left { rank: failure.rank, at, finalized: false, blames: None }).await;
            }
            self.lose(failure.rank, failure.cause).await;
        }
    }

    async fn lose(&mut self, rank: Rank, cause: String) {
        let index = rank.index();
        self.lost[index] = true;
        self.part_with(rank);
        if self.table_sent {
            return self.tell_all(&Notice::Lost { rank, cause });
        }
        let waiting: Vec<Rank> = self.ranks(|slot| slot.is_some_and(|slot| !slot.gone));
        if waiting.is_empty() {
            // Nobody has joined yet; whoever comes must still hear it.
            self.failed.get_or_insert(format!("rank {rank} will not come: {cause}"));
        } else {
            let wait = if waiting.len() == 1 { "waits" } else { "wait" };
            let who = listed(&waiting);
            let has_joined = self.slots[index].as_ref().is_some_and(|slot| slot.address.is_some());
            let when = if has_joined { "was lost before all had joined" } else { "ended before it joined" };
            self.fail(format!("rank {rank} {when}: {cause}; {who} {wait} for it in vain")).await;
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

    /// Ranks that have stood still for long, undecided, are worth a word; once for each time they do.
    async fn tell_of_standstill(&mut self, now: Instant) {
        let Some(since) = self.still.iter().flatten().min().copied() else { return };
        let is_due = self.told.is_none_or(|(told_of, at)| told_of != since && now > at + WORD_PAUSE);
        if now > since + STANDSTILL_WORD && is_due && !self.deadlock_sent {
            self.told = Some((since, now));
            self.emit(Event::Stalled(deadlock::undecided(&self.seen, (now - since).as_secs_f64()))).await;
        }
    }

    /// Asks every rank that is there what it waits for.
    async fn ask(&mut self) {
        if !self.table_sent {
            let missing = self.missing();
            let text = format!("not all ranks have joined the job: {} did not", listed(&missing));
            return self.emit(Event::Shown(text)).await;
        }
        self.answers = Some((vec![None; self.slots.len()], Instant::now() + ANSWER));
        self.tell_all(&Notice::Ask);
        self.show_if_all_answered().await;
    }

    async fn answered(&mut self, rank: Rank, snapshot: Snapshot) {
        if let Some((answers, _)) = &mut self.answers {
            answers[rank.index()] = Some(snapshot);
        }
        self.show_if_all_answered().await;
    }

    async fn show_if_all_answered(&mut self) {
        let Some((answers, _)) = &self.answers else { return };
        let mut slots = answers.iter().zip(&self.slots);
        if slots.all(|(answer, slot)| answer.is_some() || slot.as_ref().is_none_or(|slot| slot.gone)) {
            self.show().await;
        }
    }

    /// Shows what the ranks have answered.
    async fn show(&mut self) {
        let Some((answers, _)) = self.answers.take() else { return };
        let seen = |(answer, slot): (Option<Snapshot>, &Option<RankSlot>)| {
            let finished = slot.as_ref().is_none_or(|slot| slot.gone);
            Seen { snapshot: answer.filter(Snapshot::waits_for_something), finished, ..Seen::default() }
        };
        let seen: Vec<Seen> = answers.into_iter().zip(&self.slots).map(seen).collect();
        self.emit(Event::Shown(deadlock::state(
            "what each rank waits for:",
            &seen,
            "no operation of theirs is under way",
        )))
        .await;
    }

    async fn judge(&mut self) {
        // What a rank has said while it is cut off is still under way: others may be about to move by it.
        let is_cut = self.slots.iter().flatten().any(|slot| slot.down.is_some());
        if self.deadlock_sent || is_cut || self.lost.contains(&true) {
            return;
        }
        let set = deadlock::deadlocked(&self.seen);
        if set.is_empty() {
            return;
        }
        self.deadlock_sent = true;
        let report = deadlock::report(&set, &self.seen);
        self.tell_all(&Notice::Deadlock { report: report.clone() });
        self.emit(Event::Deadlock(report)).await;
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
