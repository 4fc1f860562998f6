//! Starting at the same moment. A barrier does not do that: who entered it later leaves it earlier, by as much, up to the
//! one-way time of the link. A step that starts so is longer by that, and with one step per block that is what is measured.

use std::time::{Duration, Instant};

use lathide::{Node, Rank, Result, Tag};

const CLOCK: Tag = Tag(4);
/// The quickest of so many round trips tells how far the clocks are apart.
const ROUND_TRIPS: usize = 10;
/// What a message may take beyond the shortest one-way time, so that both know the moment before it comes.
const MARGIN: f64 = 0.25;
const MARGIN_S: f64 = 100e-6;
/// The last moments are waited for awake: a sleeper is woken when the system likes.
const AWAKE: Duration = Duration::from_micros(200);

/// The clock of rank 0, as this node knows it.
pub(super) struct CommonClock {
    origin: Instant,
    /// What this node's clock shows more than that of rank 0.
    ahead_s: f64,
    one_way_s: f64,
}

impl CommonClock {
    /// Both nodes set their clocks; each calls it.
    ///
    /// # Errors
    /// What the messages end with.
    pub(super) fn set(node: &Node, other: Rank) -> Result<Self> {
        let mut clock = CommonClock { origin: Instant::now(), ahead_s: 0.0, one_way_s: 0.0 };
        let mut quickest = (f64::MAX, 0.0);
        for _ in 0..ROUND_TRIPS {
            if node.rank() == 0 {
                let asked_s = clock.now_s();
                let shown_s = node.initread(other, CLOCK, vec![0.0_f64])?;
                node.initwrite(other, CLOCK, vec![asked_s])?.wait()?;
                let shown_s = shown_s.wait()?[0];
                let heard_s = clock.now_s();
                if (heard_s - asked_s) / 2.0 < quickest.0 {
                    quickest = ahead(asked_s, shown_s, heard_s);
                }
            } else {
                node.initread(other, CLOCK, vec![0.0_f64])?.wait()?;
                node.initwrite(other, CLOCK, vec![clock.now_s()])?.wait()?;
            }
        }
        if node.rank() == 0 {
            node.initwrite(other, CLOCK, vec![quickest.0, quickest.1])?.wait()?;
            clock.one_way_s = quickest.0;
        } else {
            let told = node.initread(other, CLOCK, vec![0.0_f64; 2])?.wait()?;
            (clock.one_way_s, clock.ahead_s) = (told[0], told[1]);
        }
        Ok(clock)
    }

    /// Seconds on the clock of rank 0.
    fn now_s(&self) -> f64 {
        self.origin.elapsed().as_secs_f64() - self.ahead_s
    }

    /// Returns on both nodes at the same moment, after both have called it.
    ///
    /// # Errors
    /// What the messages end with.
    pub(super) fn meet(&self, node: &Node, other: Rank) -> Result<()> {
        let theirs_s = node.initread(other, CLOCK, vec![0.0_f64])?;
        let mine_s = node.initwrite(other, CLOCK, vec![self.now_s()])?.wait()?[0];
        let moment_s = moment(mine_s.max(theirs_s.wait()?[0]), self.one_way_s);
        let moment = self.origin + Duration::try_from_secs_f64(moment_s + self.ahead_s).unwrap_or_default();
        std::thread::sleep(moment.saturating_duration_since(Instant::now()).saturating_sub(AWAKE));
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        Ok(())
    }
}

/// One-way time, and what the other clock shows more than this one, from when it was asked, what it showed and when that
/// was heard. Both ways are taken to be as long.
fn ahead(asked_s: f64, shown_s: f64, heard_s: f64) -> (f64, f64) {
    ((heard_s - asked_s) / 2.0, shown_s - (asked_s + heard_s) / 2.0)
}

/// When both can have heard of each other, if the later one spoke at `last_s`.
fn moment(last_s: f64, one_way_s: f64) -> f64 {
    last_s + one_way_s * (1.0 + MARGIN) + MARGIN_S
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clocks_and_moments() {
        // The other clock is 7 s ahead, a message takes 0.5 s.
        assert_eq!(ahead(1.0, 8.5, 2.0), (0.5, 7.0));
        // Whoever spoke first, both name the same moment, and the later one's word is there by then.
        assert!(moment(3.0, 0.025) >= 3.025);
    }
}
