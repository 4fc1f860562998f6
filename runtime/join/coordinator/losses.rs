//! Ranks that go without finalize: who is lost, when the others hear of it, and of which first.

use std::time::{Duration, Instant};

use super::Coordinator;
use crate::ids::Rank;
use crate::join::control::Notice;
use crate::join::deadlock::listed;
use crate::join::events::{Event, Input};
use crate::join::failures::Cause;
use crate::join::rank_slot::{Down, RankSlot};
use crate::join::redial;

/// A process that dies shows it twice, to the launcher and by its closed connection. How long the second may take.
const OTHER_HALF: Duration = Duration::from_millis(300);
/// The same of a process that ended with status 0: it has finalized, as a rule, and its last word takes as long as a slow
/// link makes it.
const LAST_WORD: Duration = Duration::from_secs(5);
/// Longer than any job.
const FOREVER: Duration = Duration::from_secs(366 * 86_400);

impl Coordinator {
    /// A rank has left without finalize, for a reason that is known.
    pub(super) async fn left(&mut self, rank: Rank, why: Option<String>, blames: Option<Rank>) {
        self.part_with(rank);
        self.emit(Event::Left { rank, at: Instant::now(), finalized: false, blames }).await;
        if let Some(culprit) = blames {
            self.blame(culprit, rank);
        }
        let cause = why.unwrap_or_else(|| "it left the job without finalize".into());
        self.part(rank, cause, (true, OTHER_HALF), true).await;
    }

    /// The rank `by` leaves since it has lost another one. If that one's connection was cut here, too, nobody waits for it any more: it
    /// went first.
    fn blame(&mut self, culprit: Rank, by: Rank) {
        let Some(Some(RankSlot { down: Some(down), .. })) = self.slots.get(culprit.index()) else { return };
        let cause = format!("{}; rank {by} has lost it, too", down.cause);
        self.pending_failures.end_cut(culprit, cause, Instant::now() + self.last_word());
    }

    /// The launcher saw a process end. What it said last may still be on its way; its connection's end comes after it.
    pub(super) async fn ended(&mut self, rank: Rank, cause: String, in_peace: bool) {
        let connected = self.is_current(rank, |slot| !slot.gone && slot.down.is_none());
        let patience = if in_peace { LAST_WORD } else { OTHER_HALF };
        self.part(rank, cause, (!connected, patience), true).await;
    }

    /// A connection ended. If its rank has not said goodbye, it may come again, or is lost; the launcher knows better why.
    pub(super) async fn closed(&mut self, rank: Rank, why: String) {
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
    pub(super) async fn nobody_listens(&mut self, rank: Rank) {
        let Some(RankSlot { address: Some(address), down: Some(down), .. }) = &self.slots[rank.index()] else { return };
        let cause = format!("{}; nothing listens at {address} any more", down.cause);
        self.pending_failures.end_cut(rank, cause, Instant::now() + self.last_word());
        self.announce(Instant::now()).await;
    }

    /// How long the launcher, if there is one, may take to say how a rank has ended that was cut.
    fn last_word(&self) -> Duration {
        if self.settings.launcher { OTHER_HALF } else { Duration::ZERO }
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

    pub(super) async fn announce(&mut self, now: Instant) {
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
}
