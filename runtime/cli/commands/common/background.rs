//! How much of the processors' time other programs have, while something is measured.

use std::time::Instant;

/// What other programs take of the processors; counts from its making on.
#[derive(Debug)]
pub(crate) struct BackgroundLoad {
    began: Instant,
    busy_ticks: u64,
    own_ticks: u64,
}

/// The system counts processor time in these: USER_HZ, the same on every Linux that Rust runs on.
pub(crate) const TICKS_PER_S: f64 = 100.0;

impl BackgroundLoad {
    /// Begins to count. `None` where the system does not say.
    pub(crate) fn watch() -> Option<Self> {
        Some(BackgroundLoad { began: Instant::now(), busy_ticks: busy_ticks()?, own_ticks: own_ticks()? })
    }

    /// The share of all processors' time since then that neither this process nor a child that has ended had.
    pub(crate) fn share(&self) -> Option<f64> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from) as f64;
        let all_ticks = self.began.elapsed().as_secs_f64() * TICKS_PER_S * cores;
        let busy = busy_ticks()?.saturating_sub(self.busy_ticks);
        let own = own_ticks()?.saturating_sub(self.own_ticks);
        Some((busy.saturating_sub(own) as f64 / all_ticks.max(1.0)).min(1.0))
    }
}

/// What all processors have done, and what the host of a virtual machine has taken from them.
pub(crate) fn busy_ticks() -> Option<u64> {
    sum_busy(&std::fs::read_to_string("/proc/stat").ok()?)
}

fn sum_busy(stat: &str) -> Option<u64> {
    let line = stat.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let ticks: Vec<u64> = line.split_whitespace().map_while(|number| number.parse().ok()).collect();
    // user, nice, system, idle, iowait, irq, softirq, steal; what follows is counted in the first two already.
    let busy = ticks.iter().take(8).enumerate().filter(|(index, _)| !(3..=4).contains(index));
    (ticks.len() >= 8).then(|| busy.map(|(_, ticks)| ticks).sum())
}

/// What this process and its children that have ended have done.
fn own_ticks() -> Option<u64> {
    sum_own(&std::fs::read_to_string("/proc/self/stat").ok()?)
}

fn sum_own(stat: &str) -> Option<u64> {
    // The name, in parentheses, may hold anything; utime, stime, cutime and cstime are the 12th to 15th after it.
    let rest = stat.rsplit_once(") ")?.1;
    let numbers: Vec<u64> = rest.split(' ').skip(11).take(4).map_while(|number| number.parse().ok()).collect();
    (numbers.len() == 4).then(|| numbers.iter().sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_numbers_are_understood() {
        let stat = "cpu  100 20 30 4000 500 6 7 8 9 10\ncpu0 1 2 3\n";
        assert_eq!(sum_busy(stat), Some(100 + 20 + 30 + 6 + 7 + 8));
        assert_eq!(sum_busy("cpu0 1 2"), None);
        let own = "42 (a ) b) S 1 2 3 4 5 6 7 8 9 10 11 22 33 44 20 0";
        assert_eq!(sum_own(own), Some(11 + 22 + 33 + 44));
        assert_eq!(sum_own("42"), None);
    }

    #[test]
    fn own_work_is_no_background_load() {
        let Some(background) = BackgroundLoad::watch() else { return };
        let share = background.share().expect("it was there a moment ago");
        assert!((0.0..=1.0).contains(&share), "{share}");
    }
}
