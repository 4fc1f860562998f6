//! Decides from what ranks report whether some can never move again, and says it in words. Pure.
//!
//! A rank is stuck when every thread that uses it waits and nothing about it changed between two reports. A set of
//! stuck ranks is deadlocked when no frame is under way among them and none waits (also) for a rank outside the set
//! that is still at work. The largest such set is what remains when ranks that could still move are taken away until
//! none is left to take. A rank that computes is never in it, nor is one that waits for it.

use std::fmt::Write;

use super::control::{Outstanding, Standstill};
use crate::error::OperationKind;
use crate::ids::Rank;

/// How many consecutive reports must agree before a rank counts as stuck: one may be overtaken by a frame.
const REPORTS_MIN: u32 = 2;
/// The most lines of a report; the rest is counted.
const LINES_MAX: usize = 64;

/// What is known of one rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Its latest standstill, if it stands still.
    pub(crate) standstill: Option<Standstill>,
    /// How many consecutive reports said the same, this one included.
    pub(crate) unchanged: u32,
    /// Whether it has left in order; it will never send again.
    pub(crate) finished: bool,
}

impl Seen {
    /// Takes a rank's new report.
    pub(crate) fn stalled(&mut self, standstill: Standstill) {
        let same = self.standstill.as_ref().is_some_and(|before| standstill.same_as(before));
        self.unchanged = if same { self.unchanged.saturating_add(1) } else { 1 };
        self.standstill = Some(standstill);
    }

    /// The rank moves again.
    pub(crate) fn moved(&mut self) {
        self.standstill = None;
        self.unchanged = 0;
    }
}

/// A rank has left in order. What it sent last may be under way, and nobody counts it: from now on others must have said
/// twice again, a second apart, that nothing has come.
pub(crate) fn finish(ranks: &mut [Seen], rank: Rank) {
    for seen in &mut *ranks {
        seen.unchanged = 0;
    }
    ranks[rank.index()] = Seen { finished: true, ..Seen::default() };
}

/// The ranks that can never move again, in order; empty if none is known to be.
pub(crate) fn deadlocked(ranks: &[Seen]) -> Vec<Rank> {
    let mut stuck: Vec<bool> = ranks.iter().map(is_stuck).collect();
    loop {
        let before = stuck.clone();
        for (index, seen) in ranks.iter().enumerate() {
            let Some(standstill) = &seen.standstill else { continue };
            stuck[index] &= no_wait_can_end(standstill, ranks, &before) && nothing_under_way(index, ranks, &before);
        }
        if stuck == before {
            return (0u32..).zip(stuck).filter_map(|(rank, stuck)| stuck.then_some(Rank(rank))).collect();
        }
    }
}

fn is_stuck(seen: &Seen) -> bool {
    let waits = |standstill: &Standstill| standstill.certain && !standstill.waits.is_empty();
    !seen.finished && seen.unchanged >= REPORTS_MIN && seen.standstill.as_ref().is_some_and(waits)
}

/// Whether each waiting thread waits only for ranks that are stuck or finished. One that names no rank waits for
/// something else, which may come.
fn no_wait_can_end(standstill: &Standstill, ranks: &[Seen], stuck: &[bool]) -> bool {
    let hopeless = |rank: &Rank| {
        stuck.get(rank.index()) == Some(&true) || ranks.get(rank.index()).is_some_and(|seen| seen.finished)
    };
    standstill.waits.iter().all(|wait| !wait.is_empty() && wait.iter().all(hopeless))
}

/// Whether all that stuck ranks have sent to this one has been received, as both sides count.
fn nothing_under_way(to: usize, ranks: &[Seen], stuck: &[bool]) -> bool {
    (0..ranks.len()).filter(|&from| from != to && stuck[from]).all(|from| {
        let sent = ranks[from].standstill.as_ref().and_then(|standstill| standstill.sent.get(to));
        let received = ranks[to].standstill.as_ref().and_then(|standstill| standstill.received.get(from));
        sent.is_some() && sent == received
    })
}

/// Who waits for whom, with what, and what to change.
pub(crate) fn report(set: &[Rank], ranks: &[Seen]) -> String {
    let mut text = match set {
        [only] => format!("rank {only} can never move again:"),
        _ if set.len() == ranks.len() => "no rank can move any more:".to_string(),
        _ => format!("{} can never move again:", listed(set)),
    };
    let mut lines = Lines { text: &mut text, left: LINES_MAX, omitted: 0 };
    for &rank in set {
        operations(rank, &ranks[rank.index()], &mut lines);
    }
    if lines.omitted > 0 {
        let omitted = lines.omitted;
        let _ = write!(text, "\n  and {omitted} more");
    }
    for advice in advice(set, ranks) {
        let _ = write!(text, "\n  what to change: {advice}");
    }
    text
}

/// What stands still without being decided: other ranks may still compute, or wait for something outside.
pub(crate) fn undecided(ranks: &[Seen], still_s: f64) -> String {
    let mut text = format!("no message has moved for {still_s:.0} s on some ranks:");
    let mut lines = Lines { text: &mut text, left: LINES_MAX, omitted: 0 };
    let mut busy = Vec::new();
    for (rank, seen) in (0u32..).map(Rank).zip(ranks) {
        match seen.standstill {
            Some(_) => operations(rank, seen, &mut lines),
            None if !seen.finished => busy.push(rank),
            None => {}
        }
    }
    match busy.as_slice() {
        [] => text.push_str("\n  it is not decided yet whether they can go on"),
        _ => {
            let (who, is) = (listed(&busy), if busy.len() == 1 { "computes or waits" } else { "compute or wait" });
            let _ = write!(text, "\n  {who} {is} for something else; this may be right");
        }
    }
    text
}

struct Lines<'a> {
    text: &'a mut String,
    left: usize,
    omitted: usize,
}

impl Lines<'_> {
    fn push(&mut self, line: &str) {
        if self.left == 0 {
            self.omitted += 1;
            return;
        }
        self.left -= 1;
        self.text.push_str("\n  ");
        self.text.push_str(line);
    }
}

fn operations(rank: Rank, seen: &Seen, lines: &mut Lines<'_>) {
    let Some(standstill) = &seen.standstill else { return };
    if standstill.outstanding.is_empty() {
        for wait in &standstill.waits {
            lines.push(&format!("rank {rank} waits for {}", listed(wait)));
        }
    }
    for operation in &standstill.outstanding {
        let Outstanding { kind, peer, tag, bytes, done, since_s, state } = operation;
        let what = match kind {
            OperationKind::Read => format!("initread from rank {peer}"),
            OperationKind::Write => format!("initwrite to rank {peer}"),
            OperationKind::Collective(collective) => format!("{collective}"),
            OperationKind::Exchange => "exchange".to_owned(),
        };
        let tag = tag.map_or("inside a collective".to_string(), |tag| format!("tag {tag}"));
        let size = match kind {
            OperationKind::Read => format!("up to {bytes} bytes"),
            _ => format!("{bytes} bytes"),
        };
        let line = format!(
            "rank {rank} waits for rank {peer}: {what}, {tag}, {size}, {done} done, since {since_s:.1} s: {state}"
        );
        lines.push(&line);
    }
}

/// One sentence for each kind of mistake that the outstanding operations show.
fn advice(set: &[Rank], ranks: &[Seen]) -> Vec<String> {
    let mut advice = Vec::new();
    let mut reads_only = true;
    for &rank in set {
        for operation in outstanding(ranks, rank) {
            reads_only &= operation.kind == OperationKind::Read;
            if let Some(sentence) = missing_partner(rank, operation, ranks) {
                advice.push(sentence);
            }
        }
    }
    // Several lines of one pattern teach nothing more.
    advice.truncate(4);
    if reads_only && set.len() > 1 {
        let all = "every one of these ranks waits for a read, and none has written yet: call initwrite before the wait \
                   for the read";
        advice.insert(0, all.into());
    }
    if advice.is_empty() {
        advice.push("post all reads and writes of an exchange before the first wait".into());
    }
    advice
}

/// What the other side of an operation would have to do, when it has not.
fn missing_partner(rank: Rank, operation: &Outstanding, ranks: &[Seen]) -> Option<String> {
    let (peer, tag) = (operation.peer, operation.tag?);
    let finished = ranks.get(peer.index()).is_some_and(|seen| seen.finished);
    let partner = match operation.kind {
        OperationKind::Read => OperationKind::Write,
        OperationKind::Write => OperationKind::Read,
        OperationKind::Collective(_) | OperationKind::Exchange => return None,
    };
    let towards = |other: &&Outstanding| other.peer == rank && other.kind == partner;
    let candidates: Vec<_> = outstanding(ranks, peer).filter(towards).collect();
    if candidates.iter().any(|other| other.tag == Some(tag)) {
        return None;
    }
    if finished {
        let never = if partner == OperationKind::Read { "reading" } else { "writing" };
        return Some(format!("rank {peer} has finished without {never} tag {tag}; let both make the same calls"));
    }
    if let Some(other) = candidates.iter().find_map(|other| other.tag) {
        let call = if partner == OperationKind::Read { "initread" } else { "initwrite" };
        return Some(format!(
            "rank {rank} uses tag {tag} and rank {peer}'s {call} tag {other}: use one tag on both sides"
        ));
    }
    match operation.kind {
        OperationKind::Write => Some(format!(
            "rank {rank}'s write of {} bytes is larger than the window and needs its read: on rank {peer} call initread \
             (rank {rank}, tag {tag}) before the wait for its own write, or raise LATHIDE_WINDOW above {} bytes",
            operation.bytes, operation.bytes
        )),
        _ => Some(format!(
            "rank {rank} reads tag {tag}, which rank {peer} has not written: on rank {peer} call initwrite (rank {rank}, \
             tag {tag}) before it waits"
        )),
    }
}

fn outstanding(ranks: &[Seen], rank: Rank) -> impl Iterator<Item = &Outstanding> {
    let standstill = ranks.get(rank.index()).and_then(|seen| seen.standstill.as_ref());
    standstill.into_iter().flat_map(|standstill| &standstill.outstanding)
}

/// `rank 3`, `ranks 0 and 2`, `ranks 0, 1 and 5`.
pub(crate) fn listed(ranks: &[Rank]) -> String {
    match ranks {
        [] => "no rank".into(),
        [only] => format!("rank {only}"),
        [rest @ .., last] => {
            let rest: Vec<_> = rest.iter().map(Rank::to_string).collect();
            format!("ranks {} and {last}", rest.join(", "))
        }
    }
}

#[cfg(test)]
#[path = "stall_tests.rs"]
mod tests;
