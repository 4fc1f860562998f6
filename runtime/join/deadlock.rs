//! Decides from what ranks report whether some can never move again, and says it in words. Pure.
//!
//! A rank is stuck when nothing in its process can act unless a message comes, and nothing about it changed between two
//! reports. A set of stuck ranks is deadlocked when no byte is under way among them, nor from a rank that has finished,
//! and none waits (also) for a rank outside the set that is still at work. The largest such set is what remains when ranks
//! that could still move are taken away until none is left to take. A rank that computes is never in it, nor is one that
//! waits for it. Reports need not be of one moment: what a rank has sent since its report would show as a byte under way.

use std::fmt::Write;

use super::control::{Outstanding, Snapshot};
use crate::ids::{Rank, Tag};
use crate::operation::OperationKind;

/// How many consecutive reports must agree before a rank counts as stuck: one may be overtaken by a frame.
const REPORTS_MIN: u32 = 2;
/// The most lines of a report; the rest is counted.
const LINES_MAX: usize = 64;

/// What is known of one rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    /// Its latest snapshot, if it stands still.
    pub(crate) snapshot: Option<Snapshot>,
    /// How many consecutive reports said the same, this one included.
    pub(crate) unchanged: u32,
    /// Whether it has left in order; it will never send again.
    pub(crate) finished: bool,
    /// The bytes that it had sent to each rank by then.
    pub(crate) sent: Vec<u64>,
}

impl Seen {
    /// Takes a rank's new report.
    pub(crate) fn stalled(&mut self, snapshot: Snapshot) {
        let same = self.snapshot.as_ref().is_some_and(|before| snapshot.same_as(before));
        self.unchanged = if same { self.unchanged.saturating_add(1) } else { 1 };
        self.snapshot = Some(snapshot);
    }

    /// The rank moves again.
    pub(crate) fn moved(&mut self) {
        self.snapshot = None;
        self.unchanged = 0;
    }
}

/// A rank has left in order, having sent so many bytes to each.
pub(crate) fn finish(ranks: &mut [Seen], rank: Rank, sent: Vec<u64>) {
    ranks[rank.index()] = Seen { finished: true, sent, ..Seen::default() };
}

/// The ranks that can never move again, in order; empty if none is known to be.
pub(crate) fn deadlocked(ranks: &[Seen]) -> Vec<Rank> {
    let mut stuck: Vec<bool> = ranks.iter().map(is_stuck).collect();
    loop {
        let before = stuck.clone();
        for (index, seen) in ranks.iter().enumerate() {
            let Some(snapshot) = &seen.snapshot else { continue };
            stuck[index] &= no_wait_can_end(snapshot, ranks, &before) && nothing_under_way(index, ranks, &before);
        }
        if stuck == before {
            return (0u32..).zip(stuck).filter_map(|(rank, stuck)| stuck.then_some(Rank(rank))).collect();
        }
    }
}

fn is_stuck(seen: &Seen) -> bool {
    let waits = |snapshot: &Snapshot| snapshot.certain && !snapshot.waits.is_empty();
    !seen.finished && seen.unchanged >= REPORTS_MIN && seen.snapshot.as_ref().is_some_and(waits)
}

/// Whether each waiting thread waits only for ranks that are stuck or finished. One that names no rank waits for
/// something else, which may come.
fn no_wait_can_end(snapshot: &Snapshot, ranks: &[Seen], stuck: &[bool]) -> bool {
    let hopeless = |rank: &Rank| {
        stuck.get(rank.index()) == Some(&true) || ranks.get(rank.index()).is_some_and(|seen| seen.finished)
    };
    snapshot.waits.iter().all(|wait| !wait.is_empty() && wait.iter().all(hopeless))
}

/// Whether all that stuck and finished ranks have sent to this one has been received, as both sides count.
fn nothing_under_way(to: usize, ranks: &[Seen], stuck: &[bool]) -> bool {
    (0..ranks.len()).filter(|&from| from != to && (stuck[from] || ranks[from].finished)).all(|from| {
        let sent = match &ranks[from].snapshot {
            Some(snapshot) => snapshot.sent.get(to),
            None => ranks[from].sent.get(to),
        };
        let received = ranks[to].snapshot.as_ref().and_then(|snapshot| snapshot.received.get(from));
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
    lines.close();
    for advice in advice(set, ranks) {
        let _ = write!(text, "\n  what to change: {advice}");
    }
    text
}

/// What stands still without being decided: other ranks may still compute, or wait for something outside.
pub(crate) fn undecided(ranks: &[Seen], still_s: f64) -> String {
    state(&format!("no message has moved for {still_s:.0} s on some ranks:"), ranks, "this may be right")
}

/// What each rank waits for, or does, behind `head`; `verdict`: what to think of those that do something else.
pub(crate) fn state(head: &str, ranks: &[Seen], verdict: &str) -> String {
    let mut text = head.to_owned();
    let mut lines = Lines { text: &mut text, left: LINES_MAX, omitted: 0 };
    let mut busy = Vec::new();
    for (rank, seen) in (0u32..).map(Rank).zip(ranks) {
        match seen.snapshot {
            Some(_) => operations(rank, seen, &mut lines),
            None if !seen.finished => busy.push(rank),
            None => {}
        }
    }
    lines.close();
    match busy.as_slice() {
        [] => text.push_str(
            "\n  whether they can go on is not certain: a thread, a future or a message under way may act yet",
        ),
        _ => {
            let (who, is) = (listed(&busy), if busy.len() == 1 { "computes or waits" } else { "compute or wait" });
            let _ = write!(text, "\n  {who} {is} for something else; {verdict}");
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
    /// Says how many lines were left out.
    fn close(self) {
        if self.omitted > 0 {
            let _ = write!(self.text, "\n  and {} more", self.omitted);
        }
    }

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
    let Some(snapshot) = &seen.snapshot else { return };
    if snapshot.outstanding.is_empty() {
        for wait in &snapshot.waits {
            lines.push(&format!("rank {rank} waits for {}", listed(wait)));
        }
    }
    for operation in &snapshot.outstanding {
        lines.push(&described(rank, operation));
    }
    for unread in &snapshot.unread {
        let (messages, from, tag) = (counted(unread.count, "message"), unread.from, unread.tag);
        lines.push(&format!("rank {rank} has {messages} of tag {tag} from rank {from} that no read has asked for"));
    }
}

fn described(rank: Rank, operation: &Outstanding) -> String {
    let Outstanding { kind, peer, tag, bytes, done, since_s, state } = operation;
    let whom = match kind {
        OperationKind::ReadAny => "any rank".to_owned(),
        _ => format!("rank {peer}"),
    };
    let what = match kind {
        OperationKind::ReadAny => "initread_any".to_owned(),
        OperationKind::Read => format!("initread from rank {peer}"),
        OperationKind::Write => format!("initwrite to rank {peer}"),
        OperationKind::Collective(collective) => {
            return format!("rank {rank} waits in {collective}, since {since_s:.1} s: {state}");
        }
        OperationKind::Exchange => return format!("rank {rank} waits in an exchange, since {since_s:.1} s: {state}"),
        OperationKind::Window(call) => {
            return format!(
                "rank {rank} waits for rank {peer}: {call} on its window, {bytes} bytes, since {since_s:.1} s: {state}"
            );
        }
    };
    let tag = tag.map_or("inside a collective".to_string(), |tag| format!("tag {tag}"));
    let size = match kind {
        OperationKind::Read | OperationKind::ReadAny => format!("up to {bytes} bytes"),
        _ => format!("{bytes} bytes"),
    };
    format!("rank {rank} waits for {whom}: {what}, {tag}, {size}, {done} done, since {since_s:.1} s: {state}")
}

fn counted(count: u64, noun: &str) -> String {
    if count == 1 { format!("a {noun}") } else { format!("{count} {noun}s") }
}

/// One sentence for each kind of mistake that the outstanding operations show.
fn advice(set: &[Rank], ranks: &[Seen]) -> Vec<String> {
    let mut advice = Vec::new();
    let is_read = |operation: &Outstanding| matches!(operation.kind, OperationKind::Read | OperationKind::ReadAny);
    let has_unread = |rank: &Rank| snapshot(ranks, *rank).is_some_and(|snapshot| !snapshot.unread.is_empty());
    let reads_only = set.iter().all(|&rank| outstanding(ranks, rank).all(is_read));
    if reads_only && set.len() > 1 && !set.iter().any(has_unread) {
        let all = "every one of these ranks waits for a read, and no message lies unread: call initwrite before the wait \
                   for the read";
        advice.push(all.into());
    }
    advice.extend(collectives(set, ranks));
    for &rank in set {
        advice.extend(outstanding(ranks, rank).filter_map(|operation| missing_partner(rank, operation, ranks)));
    }
    // Several lines of one pattern teach nothing more.
    advice.truncate(5);
    if advice.is_empty() {
        advice.push("post all reads and writes of an exchange before the first wait".into());
    }
    advice
}

/// Ranks of which some are in a collective and others are not.
fn collectives(set: &[Rank], ranks: &[Seen]) -> Option<String> {
    let called = |rank: Rank| {
        outstanding(ranks, rank).find_map(|operation| match operation.kind {
            OperationKind::Collective(collective) => Some(collective),
            _ => None,
        })
    };
    let (inside, collective) = set.iter().find_map(|&rank| Some((rank, called(rank)?)))?;
    let finished = (0u32..).zip(ranks).filter(|(_, seen)| seen.finished).map(|(rank, _)| Rank(rank));
    let outside: Vec<Rank> = set.iter().copied().filter(|&rank| called(rank).is_none()).chain(finished).collect();
    (!outside.is_empty()).then(|| {
        let (who, have) = (listed(&outside), if outside.len() == 1 { "has" } else { "have" });
        format!(
            "rank {inside} is in {collective}, which {who} {have} not called: call it on every rank, in the same order"
        )
    })
}

/// What the other side of an operation would have to do, when it has not.
fn missing_partner(rank: Rank, operation: &Outstanding, ranks: &[Seen]) -> Option<String> {
    let (peer, tag) = (operation.peer, operation.tag?);
    if operation.kind == OperationKind::ReadAny {
        return missing_sender(rank, tag, ranks);
    }
    let finished = ranks.get(peer.index()).is_some_and(|seen| seen.finished);
    let partner = match operation.kind {
        OperationKind::Read => OperationKind::Write,
        OperationKind::Write => OperationKind::Read,
        OperationKind::ReadAny | OperationKind::Collective(_) | OperationKind::Exchange | OperationKind::Window(_) => {
            return None;
        }
    };
    let towards = |other: &&Outstanding| other.peer == rank && other.kind == partner;
    let candidates: Vec<_> = outstanding(ranks, peer).filter(towards).collect();
    if candidates.iter().any(|other| other.tag == Some(tag)) {
        return None;
    }
    if let Some(unread) = unread_beside(rank, operation, ranks) {
        return Some(unread);
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
             (rank {rank}, tag {tag}) before the wait for its own write, or raise LATHIDE_WINDOW above {} bytes and \
             LATHIDE_BUDGET above {} times as much",
            operation.bytes,
            operation.bytes,
            ranks.len()
        )),
        _ => Some(format!(
            "rank {rank} reads tag {tag}, which rank {peer} has not written: on rank {peer} call initwrite (rank {rank}, \
             tag {tag}) before it waits"
        )),
    }
}

/// What another rank would have to do for a read of any origin.
fn missing_sender(rank: Rank, tag: Tag, ranks: &[Seen]) -> Option<String> {
    let unread = snapshot(ranks, rank)?.unread.first();
    Some(match unread {
        Some(unread) => format!(
            "rank {rank} reads tag {tag} from any rank, while a message of tag {} from rank {} lies unread: use one tag on \
             both sides, or read that message too",
            unread.tag, unread.from
        ),
        None => format!(
            "rank {rank} reads tag {tag} from any rank, and no rank writes it: call initwrite (rank {rank}, tag {tag}) before \
             waiting or finishing on one of the others, or let rank {rank} expect as many messages as are written"
        ),
    })
}

/// A read waits while a message of another tag lies unread on the same side: that is the clue.
fn unread_beside(rank: Rank, operation: &Outstanding, ranks: &[Seen]) -> Option<String> {
    let (peer, tag) = (operation.peer, operation.tag.filter(|_| operation.kind == OperationKind::Read)?);
    let is_of_peer = |unread: &&super::control::Unread| unread.from == peer;
    let tags: Vec<Tag> = snapshot(ranks, rank)?.unread.iter().filter(is_of_peer).map(|unread| unread.tag).collect();
    let (first, more) = (tags.first()?, tags.len() - 1);
    let more = if more > 0 { format!(" and {}", counted(more as u64, "other tag")) } else { String::new() };
    Some(format!(
        "rank {rank} reads tag {tag} from rank {peer}, whose message of tag {first}{more} lies unread: use one tag on both \
         sides, or read that message too"
    ))
}

fn snapshot(ranks: &[Seen], rank: Rank) -> Option<&Snapshot> {
    ranks.get(rank.index())?.snapshot.as_ref()
}

fn outstanding(ranks: &[Seen], rank: Rank) -> impl Iterator<Item = &Outstanding> {
    snapshot(ranks, rank).into_iter().flat_map(|snapshot| &snapshot.outstanding)
}

/// `rank 3`, `ranks 0 and 2`, `ranks 0, 1 and 5`.
pub fn listed(ranks: &[Rank]) -> String {
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
#[path = "deadlock_tests.rs"]
mod tests;
