//! One clock for all ranks, and moments at which all begin.
//!
//! A barrier does not make ranks begin together: who enters it later leaves it earlier, up to the one-way time of a link,
//! and finds what was sent meanwhile. So ranks agree on a moment to come. Processes of one host share a clock; those of
//! others are set by the quickest of some round trips, as in the synchronisation of clocks by Cristian.

use std::time::Duration;

use lathide::{Node, Rank, Result, Tag};
use rustix::time::{ClockId, clock_gettime};

const CLOCK: Tag = Tag(1 << 20);
const ROUND_TRIPS: usize = 10;
/// Who sleeps wakes so much earlier: the system wakes sleepers when it likes.
const WAKE_S: f64 = 200e-6;
/// A moment is so much, and such a part of the one-way time, later than all should have heard of it.
const SPARE_S: f64 = 500e-6;
const SPARE: f64 = 0.25;

/// The clock of rank 0's host, as this rank knows it.
pub(crate) struct CommonClock {
    /// What this host's clock shows more.
    ahead_s: f64,
    /// The longest one-way time between rank 0 and another rank.
    one_way_s: f64,
}

impl CommonClock {
    /// All ranks set their clocks; each calls it.
    ///
    /// # Errors
    /// What the messages end with.
    pub(crate) fn set(node: &Node) -> Result<Self> {
        let (mut ahead_s, mut one_way_s) = (0.0, 0.0_f64);
        if node.rank() == 0 {
            for rank in 1..node.size() {
                let (theirs_s, way_s) = compare(node, Rank(rank))?;
                one_way_s = one_way_s.max(way_s);
                node.initwrite(rank, CLOCK, vec![theirs_s])?.wait()?;
            }
        } else {
            show(node)?;
            ahead_s = node.initread(0, CLOCK, vec![0.0_f64])?.wait()?[0];
        }
        let one_way_s = node.broadcast(0, vec![one_way_s])?[0];
        Ok(CommonClock { ahead_s, one_way_s })
    }

    /// Seconds.
    pub(crate) fn now_s(&self) -> f64 {
        host_s() - self.ahead_s
    }

    /// Returns on all ranks at the same moment, after all have called it. `telling_s`: how long it takes to tell all of
    /// them of a moment, if that is longer than one message. Returns the moment.
    ///
    /// # Errors
    /// What the messages end with.
    pub(crate) fn meet(&self, node: &Node, telling_s: f64) -> Result<f64> {
        node.barrier()?;
        let later_s = telling_s.max(self.one_way_s * (1.0 + SPARE)) + SPARE_S;
        let moment_s = node.broadcast(0, vec![self.now_s() + later_s])?[0];
        self.wait_until(moment_s);
        Ok(moment_s)
    }

    fn wait_until(&self, moment_s: f64) {
        loop {
            let left_s = moment_s - self.now_s();
            if left_s <= 0.0 {
                return;
            }
            if left_s > WAKE_S {
                std::thread::sleep(Duration::from_secs_f64(left_s - WAKE_S));
            } else {
                std::thread::yield_now();
            }
        }
    }
}

/// What rank 0 does: what the clock of `rank` shows more than its own, and the one-way time.
fn compare(node: &Node, rank: Rank) -> Result<(f64, f64)> {
    let mut best = (0.0, f64::MAX);
    for _ in 0..ROUND_TRIPS {
        let shown = node.initread(rank, CLOCK, vec![0.0_f64; 2])?;
        let asked_s = host_s();
        node.initwrite(rank, CLOCK, vec![0.0_f64])?.wait()?;
        let shown = shown.wait()?;
        let heard_s = host_s();
        let (ahead_s, way_s) = ahead(asked_s, shown[0], heard_s);
        if way_s < best.1 {
            best = (if shown[1] == boot() { 0.0 } else { ahead_s }, way_s);
        }
    }
    Ok(best)
}

/// What the others do.
fn show(node: &Node) -> Result<()> {
    let boot = boot();
    for _ in 0..ROUND_TRIPS {
        node.initread(0, CLOCK, vec![0.0_f64])?.wait()?;
        node.initwrite(0, CLOCK, vec![host_s(), boot])?.wait()?;
    }
    Ok(())
}

/// What the other clock shows more than this one, and the one-way time, from when it was asked, what it showed and when
/// that was heard. Both ways are taken to be as long.
fn ahead(asked_s: f64, shown_s: f64, heard_s: f64) -> (f64, f64) {
    (shown_s - (asked_s + heard_s) / 2.0, (heard_s - asked_s) / 2.0)
}

/// The same on all processes of this host.
fn host_s() -> f64 {
    seconds(ClockId::Monotonic)
}

/// What a clock of the system shows.
pub(crate) fn seconds(clock: ClockId) -> f64 {
    let now = clock_gettime(clock);
    now.tv_sec as f64 + 1e-9 * now.tv_nsec as f64
}

/// Names this run of this host's system; who has the same shares the clock. Where the system does not say, no other has.
pub(crate) fn boot() -> f64 {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    // As many bits as such a number holds.
    let digits: String = text.chars().filter(char::is_ascii_hexdigit).take(13).collect();
    u64::from_str_radix(&digits, 16).unwrap_or_else(|_| std::process::id().into()) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_read_from_a_round_trip() {
        // The other clock is 7 s ahead, a message takes 0.5 s.
        assert_eq!(ahead(1.0, 8.5, 2.0), (7.0, 0.5));
    }

    #[test]
    fn a_host_knows_itself() {
        assert_eq!(boot(), boot());
        assert!(boot() != 0.0);
        let before_s = host_s();
        assert!(host_s() >= before_s);
    }
}
