//! Ranks that stand still: what each waits for, and whether that is a deadlock.

use std::time::{Duration, Instant};

use super::Coordinator;
use crate::ids::Rank;
use crate::join::control::{Notice, Snapshot};
use crate::join::deadlock::{self, Seen, listed};
use crate::join::events::Event;
use crate::join::rank_slot::RankSlot;

/// After how long an undecided snapshot is worth a word to the user.
const STANDSTILL_WORD: Duration = Duration::from_secs(10);
/// A program may rightly wait for long again and again: so much passes between two such words.
const WORD_PAUSE: Duration = Duration::from_secs(30);
/// How long ranks may take to answer what they wait for.
const ANSWER: Duration = Duration::from_millis(500);

impl Coordinator {
    /// Ranks that have stood still for long, undecided, are worth a word; once for each time they do.
    pub(super) async fn tell_of_standstill(&mut self, now: Instant) {
        let Some(since) = self.still.iter().flatten().min().copied() else { return };
        let is_due = self.told.is_none_or(|(told_of, at)| told_of != since && now > at + WORD_PAUSE);
        if now > since + STANDSTILL_WORD && is_due && !self.deadlock_sent {
            self.told = Some((since, now));
            self.emit(Event::Stalled(deadlock::undecided(&self.seen, (now - since).as_secs_f64()))).await;
        }
    }

    /// Asks every rank that is there what it waits for.
    pub(super) async fn ask(&mut self) {
        if !self.table_sent {
            let missing = self.missing();
            let text = format!("not all ranks have joined the job: {} did not", listed(&missing));
            return self.emit(Event::Shown(text)).await;
        }
        self.answers = Some((vec![None; self.slots.len()], Instant::now() + ANSWER));
        self.tell_all(&Notice::Ask);
        self.show_if_all_answered().await;
    }

    pub(super) async fn answered(&mut self, rank: Rank, snapshot: Snapshot) {
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
    pub(super) async fn show(&mut self) {
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

    pub(super) async fn judge(&mut self) {
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
}
