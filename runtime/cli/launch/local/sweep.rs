//! When processes that are to be ended are all gone, though they start others while they are looked at. Pure.
//!
//! The system lists processes at one moment and shows each at a later one. In between, one may start another, which is
//! not on the list, and end: looked at, it is dead, and nothing shows whose it was. A list says that there is none left
//! only if nobody on it may have done that.

use std::collections::HashSet;

use rustix::process::Pid;

/// What is seen of a process on the list when it is looked at.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(in crate::launch) enum Seen {
    /// It is to be ended.
    Meant,
    /// It is somebody else's, and so is what it starts.
    Other,
    /// Nothing: it is dead, or another user's.
    Nothing,
    /// It is about to become another program, and will show more soon.
    Later,
}

/// What earlier lists have shown.
#[derive(Default)]
pub(in crate::launch) struct Sweep {
    /// Those that are somebody else's, or dead, or never show anything.
    harmless: HashSet<Pid>,
}

impl Sweep {
    /// Whether this process, on the list and `seen` so, has started none since the list was made that is to be ended.
    pub(in crate::launch) fn is_harmless(&mut self, process: Pid, seen: Seen) -> bool {
        match seen {
            Seen::Meant | Seen::Later => false,
            Seen::Other => {
                self.harmless.insert(process);
                true
            }
            // It may have died just now; it was dead all the time only if an earlier list says so.
            Seen::Nothing => !self.harmless.insert(process),
        }
    }
}

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    /// Whose a simulated process is, and whether it lives.
    #[derive(Clone, Copy)]
    struct Process {
        id: i32,
        is_meant: bool,
        is_alive: bool,
    }

    impl Process {
        fn seen(self, chance: &mut Rng) -> Seen {
            match (self.is_alive, self.is_meant) {
                (false, _) => Seen::Nothing,
                // One in eight is between two programs.
                _ if chance.u8(..8) == 0 => Seen::Later,
                (_, true) => Seen::Meant,
                (_, false) => Seen::Other,
            }
        }
    }

    /// Any living process may start another of its kind, or die, or both.
    fn passes(processes: &mut Vec<Process>, chance: &mut Rng) {
        for at in 0..processes.len() {
            if processes[at].is_alive && processes.len() < 200 && chance.u8(..12) == 0 {
                let id = processes.len() as i32 + 1;
                processes.push(Process { id, ..processes[at] });
            }
            processes[at].is_alive &= chance.u8(..6) != 0;
        }
    }

    /// Looks until it is said that there is none left. Whether that is so, and after how many lists.
    fn sweep(chance: &mut Rng) -> (bool, u32) {
        let count = chance.i32(1..8);
        let some = |id| Process { id, is_meant: chance.bool(), is_alive: true };
        let (mut processes, mut sweep) = ((1..=count).map(some).collect::<Vec<_>>(), Sweep::default());
        let (mut lists, is_busy) = (0, chance.bool());
        loop {
            lists += 1;
            let mut is_done = true;
            // A dead one may stay listed, as nobody collects it.
            for id in processes.iter().map(|process| process.id).collect::<Vec<_>>() {
                if is_busy || chance.u8(..20) == 0 {
                    passes(&mut processes, chance);
                }
                let process = &mut processes[id as usize - 1];
                let seen = process.seen(chance);
                process.is_alive &= seen != Seen::Meant;
                is_done &= sweep.is_harmless(Pid::from_raw(id).unwrap(), seen);
            }
            if is_done {
                return (!processes.iter().any(|process| process.is_alive && process.is_meant), lists);
            }
        }
    }

    #[test]
    fn none_is_left_whenever_they_start_others_and_die() {
        let mut most = 0;
        for seed in 0..20_000 {
            let (is_clean, lists) = sweep(&mut Rng::with_seed(seed));
            assert!(is_clean, "seed {seed}: one is left after {lists} lists");
            most = most.max(lists);
        }
        println!("at most {most} lists");
    }

    #[test]
    fn what_never_shows_anything_does_not_keep_it_looking() {
        let mut sweep = Sweep::default();
        let process = |id| Pid::from_raw(id).unwrap();
        assert!(!sweep.is_harmless(process(2), Seen::Nothing), "it may have died just now");
        assert!(sweep.is_harmless(process(2), Seen::Nothing));
        assert!(sweep.is_harmless(process(3), Seen::Other) && sweep.is_harmless(process(3), Seen::Nothing));
        assert!(!sweep.is_harmless(process(4), Seen::Meant) && !sweep.is_harmless(process(4), Seen::Nothing));
    }
}
