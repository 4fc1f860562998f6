//! What other programs, and the host of a virtual machine, have of a host's processors while nodes measure on it.
//!
//! Each node counts what the processors have done that it may run on, and what it has done itself. Nodes of one host put theirs
//! together: what is left, and was not their launcher's, was another program's. Interrupts are not counted: those of the link are
//! the measurement's own.

use std::time::Instant;

use lathide::{Node, Result};
use rustix::process::{Pid, getppid};
use rustix::thread::{CpuSet, sched_getaffinity};
use rustix::time::ClockId;

use super::background::TICKS_PER_S;
use super::clock::{boot, seconds};

/// The counts at one moment, in seconds.
#[derive(Clone, Debug)]
pub(crate) struct Moment {
    at: Instant,
    busy_s: f64,
    stolen_s: f64,
    own_s: f64,
    launcher_s: f64,
    cores: usize,
}

/// What a host's processors did between two moments, as one node counted it.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Used {
    /// Names the host.
    boot: f64,
    /// All processors' time.
    all_s: f64,
    busy_s: f64,
    stolen_s: f64,
    /// This node's own.
    own_s: f64,
    /// What started it, with the emulated link in it.
    launcher_s: f64,
}

/// Shares of the processors' time.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Shares {
    pub(crate) others: f64,
    pub(crate) stolen: f64,
}

const MEMBERS: usize = 6;

impl Moment {
    /// Now. Where the system does not say, nothing will have been used.
    pub(crate) fn now() -> Self {
        let cores = cores();
        let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
        let [busy_s, stolen_s] = counted(&stat, &cores);
        let launcher = getppid().map_or(0.0, |pid| process_s(pid).unwrap_or(0.0));
        Moment {
            at: Instant::now(),
            busy_s,
            stolen_s,
            own_s: seconds(ClockId::ProcessCPUTime),
            launcher_s: launcher,
            cores: cores.len().max(1),
        }
    }

    /// The shares since then, for the host of each rank. Every rank calls it, and gets the same.
    ///
    /// # Errors
    /// What the messages end with.
    pub(crate) fn shares(&self, node: &Node) -> Result<Vec<Shares>> {
        let now = Moment::now();
        let all_s = (now.at - self.at).as_secs_f64() * now.cores as f64;
        let used = [
            boot(),
            all_s,
            now.busy_s - self.busy_s,
            now.stolen_s - self.stolen_s,
            now.own_s - self.own_s,
            now.launcher_s - self.launcher_s,
        ];
        let all = node.allgather(used.to_vec())?;
        let used: Vec<Used> = all.chunks_exact(MEMBERS).map(Used::of).collect();
        Ok(used.iter().map(|own| own.shares(&used)).collect())
    }
}

impl Used {
    fn of(members: &[f64]) -> Self {
        let [boot, all_s, busy_s, stolen_s, own_s, launcher_s] = std::array::from_fn(|at| members[at]);
        Used { boot, all_s, busy_s, stolen_s, own_s, launcher_s }
    }

    /// The shares on this node's host, by what all nodes have counted.
    fn shares(&self, all: &[Used]) -> Shares {
        let here = || all.iter().filter(|other| other.boot == self.boot);
        let own_s: f64 = here().map(|other| other.own_s).sum();
        let launcher_s = here().map(|other| other.launcher_s).fold(0.0, f64::max);
        let share = |used_s: f64| (used_s / self.all_s.max(1e-9)).clamp(0.0, 1.0);
        Shares { others: share(self.busy_s - own_s - launcher_s), stolen: share(self.stolen_s) }
    }
}

/// The processors that this process could run on before a thread of it took one for itself: those of its launcher.
pub(crate) fn cores() -> Vec<usize> {
    let allowed = sched_getaffinity(getppid()).or_else(|_| sched_getaffinity(None));
    let Ok(allowed) = allowed else { return Vec::new() };
    (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).collect()
}

/// What these processors have done, and what the host of a virtual machine has taken from them, in seconds.
fn counted(stat: &str, cores: &[usize]) -> [f64; 2] {
    let mut sums = [0.0; 2];
    for line in stat.lines() {
        let mut words = line.split_whitespace();
        let core: Option<usize> = words.next().and_then(|name| name.strip_prefix("cpu")?.parse().ok());
        if !core.is_some_and(|core| cores.contains(&core)) {
            continue;
        }
        // user, nice, system, idle, iowait, irq, softirq, steal.
        let ticks: Vec<f64> = words.map_while(|number| number.parse().ok()).collect();
        let tick = |at: usize| ticks.get(at).copied().unwrap_or(0.0) / TICKS_PER_S;
        sums[0] += tick(0) + tick(1) + tick(2);
        sums[1] += tick(7);
    }
    sums
}

/// What another process has done, in seconds.
fn process_s(pid: Pid) -> Option<f64> {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may hold anything; utime and stime are the 12th and 13th after it.
    let ticks = stat.rsplit_once(") ")?.1.split(' ').skip(11).take(2);
    let ticks: Option<Vec<f64>> = ticks.map(|number| number.parse().ok()).collect();
    ticks.map(|ticks| ticks.iter().sum::<f64>() / TICKS_PER_S)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_systems_counts_are_understood() {
        let stat = "cpu  1 1 1 1\ncpu0 100 20 30 4000 500 6 7 8 9 10\ncpu1 1 2 3 4 5 6 7 200 0 0\ncpu2 9 9 9\nintr 5\n";
        assert_eq!(counted(stat, &[0, 1]), [1.56, 2.08]);
        assert_eq!(counted(stat, &[7]), [0.0, 0.0]);
        assert_eq!(counted("nonsense\ncpuX 1", &[0]), [0.0, 0.0]);
        assert!(process_s(rustix::process::getpid()).is_some());
    }

    #[test]
    fn what_neither_node_did_was_another_program() {
        let used = |boot, own_s, launcher_s| Used { boot, all_s: 10.0, busy_s: 6.0, stolen_s: 0.5, own_s, launcher_s };
        let both = [used(1.0, 2.0, 0.5), used(1.0, 3.0, 0.5)];
        let shares = both[0].shares(&both);
        assert!((shares.others - 0.05).abs() < 1e-12 && (shares.stolen - 0.05).abs() < 1e-12, "{shares:?}");
        let apart = [used(1.0, 2.0, 0.0), used(2.0, 7.0, 0.0)];
        assert!((apart[0].shares(&apart).others - 0.4).abs() < 1e-12);
        assert_eq!(apart[1].shares(&apart).others, 0.0, "rounding makes no share below nothing");
    }
}
