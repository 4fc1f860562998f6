//! Ends what a job's processes have started in turn and left.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};

use super::sweep::{Seen, Sweep};

/// The variable that marks every process of a job: descendants inherit it.
pub(in crate::launch) const JOB_VARIABLE: &str = "LATHIDE_JOB";
/// How long killed processes may take to disappear.
const PATIENCE: Duration = Duration::from_secs(1);

/// Kills every process of this user that carries the job's mark, and this process's own orphans from the job's process
/// `groups`, until there is none. A process that has left its group and cleared its environment is not found.
pub(super) fn kill_left_overs(job: &str, groups: &[Pid]) {
    let mark = format!("{JOB_VARIABLE}={job}").into_bytes();
    let own = Process::of(rustix::process::getpid());
    kill_all(PATIENCE, |process| match process.belongs_to(&mark, groups) {
        // One that was there before this process is not the job's, whatever it will be.
        Seen::Later if own.as_ref().is_some_and(|own| process.started < own.started) => Seen::Other,
        seen => seen,
    });
}

/// Kills all processes that are seen to be [`Seen::Meant`] until there is none, or for so much time none was found that
/// was not killed before: killed ones may take long to disappear.
pub(in crate::launch) fn kill_all(patience: Duration, look: impl Fn(&Process) -> Seen) {
    let (mut sweep, mut killed) = (Sweep::default(), HashSet::new());
    let mut deadline = Instant::now() + patience;
    loop {
        let mut is_done = true;
        for id in processes() {
            let process = Process::of(id);
            let seen = process.as_ref().map_or(Seen::Nothing, &look);
            is_done &= sweep.is_harmless(id, seen);
            if seen != Seen::Meant {
                continue;
            }
            if process.is_some_and(|process| process.state == b'Z') {
                // An orphan is this process's child, since it is their subreaper; nobody else would collect it.
                let _ = waitpid(Some(id), WaitOptions::NOHANG);
            } else {
                // Gone already: that is what is wanted.
                let _ = kill_process(id, Signal::KILL);
            }
            if killed.insert(id) {
                deadline = Instant::now() + patience;
            }
        }
        // Only now: a look that takes long, on a busy machine, is not in vain.
        if is_done || Instant::now() > deadline {
            return;
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Whether the process is stopped: by job control, a signal or a debugger.
pub(super) fn is_stopped(id: Pid) -> bool {
    Process::of(id).is_some_and(|process| matches!(process.state, b'T' | b't'))
}

/// A process, as `/proc` has it.
pub(in crate::launch) struct Process {
    pub(in crate::launch) id: Pid,
    state: u8,
    parent: Option<Pid>,
    group: Option<Pid>,
    /// When, in ticks since the system started.
    started: u64,
}

impl Process {
    fn of(id: Pid) -> Option<Self> {
        Process::parse(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// Whether it is the job's.
    fn belongs_to(&self, mark: &[u8], groups: &[Pid]) -> Seen {
        let own = rustix::process::getpid();
        if self.id == own {
            return Seen::Other;
        }
        if self.parent == Some(own) && self.group.is_some_and(|group| groups.contains(&group)) {
            return Seen::Meant;
        }
        // Other users' processes cannot be read, and are not this job's. A dead one has no environment any more.
        let environment = std::fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default();
        if environment.is_empty() {
            // One that is about to become another program has none for a moment. The kernel's own never have a program.
            let has_program = || std::fs::read_link(format!("/proc/{}/exe", self.id)).is_ok();
            return if self.state != b'Z' && has_program() { Seen::Later } else { Seen::Nothing };
        }
        let is_marked = environment.split(|&byte| byte == 0).any(|variable| variable == mark);
        if is_marked { Seen::Meant } else { Seen::Other }
    }

    /// From a line of `/proc/PID/stat`: number, name in parentheses (which may hold anything), state, parent, group, and
    /// at place 22 when it started.
    fn parse(stat: &str) -> Option<Self> {
        let id = number(stat.split(' ').next()?)?;
        let mut fields = stat.rsplit_once(") ")?.1.split(' ');
        let state = *fields.next()?.as_bytes().first()?;
        let (parent, group) = (number(fields.next()?), number(fields.next()?));
        let started = fields.nth(16)?.parse().ok()?;
        Some(Process { id, state, parent, group, started })
    }
}

fn number(text: &str) -> Option<Pid> {
    // A process that is just being collected has the group -1.
    text.parse().ok().filter(|number| *number > 0).and_then(Pid::from_raw)
}

/// All processes, as the system lists them.
fn processes() -> impl Iterator<Item = Pid> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| number(entry.file_name().to_str()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_read_whatever_its_name() {
        let process =
            Process::parse("42 (a) Z 1 (b)) S 7 9 9 0 -1 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20").unwrap();
        assert_eq!((process.id, process.state), (number("42").unwrap(), b'S'));
        assert_eq!((process.parent, process.group, process.started), (number("7"), number("9"), 4711));
        let collected = Process::parse("43 (b) X 0 -1 -1 0 -1 6 7 8 9 10 11 12 13 14 15 16 17 18 4711 20").unwrap();
        assert_eq!((collected.parent, collected.group), (None, None));
        assert!(Process::parse("42 (a").is_none() && Process::parse("").is_none());
        assert!(processes().any(|process| process == rustix::process::getpid()));
    }
}
