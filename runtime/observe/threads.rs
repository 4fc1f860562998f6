//! The threads of this process: lathide's own, those that wait in a call of lathide's, and what the others do.
//!
//! A job is only ended as deadlocked if no thread of the process could act, however it reaches a node. So this looks at
//! all of them, through `/proc/self/task`, not only at those that have called lathide before. A thread is *still* if it
//! waits in a call of lathide's that has no deadline, or if the system says that it sleeps until another thread of this
//! process wakes it (a futex without a timeout: a mutex, a channel, `join`, `park`). Two looks that find the same, each
//! thread not having run in between, prove that all were still at one time; nothing but a message can then wake the
//! first. Any doubt counts as activity.

use std::collections::BTreeMap;
use std::fs;

use parking_lot::Mutex;

use crate::ids::Rank;

/// A thread, as the system numbers it.
type ThreadNumber = i32;

/// What is known of this process's threads. Process-wide: a thread of one node can call another.
static REGISTRY: Mutex<Registry> = Mutex::new(Registry { own: Vec::new(), waits: BTreeMap::new(), next: 0 });

struct Registry {
    /// Threads of lathide's, which never call the program.
    own: Vec<ThreadNumber>,
    /// Waits that have lasted, by their numbers.
    waits: BTreeMap<u64, Wait>,
    next: u64,
}

/// A wait in a call of lathide's.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Wait {
    thread: ThreadNumber,
    /// The node that is waited at.
    pub(crate) node: u64,
    /// The job of that node; 0 for one that is alone.
    pub(crate) job: u64,
    /// Whether it ends by itself.
    pub(crate) has_deadline: bool,
    /// The ranks any of which could end it.
    pub(crate) peers: Vec<Rank>,
}

/// Says that a thread waits, as long as it lives.
pub(crate) struct Waiting(u64);

impl Waiting {
    /// The calling thread waits at `node` of `job`, until one of `peers` ends that.
    pub(crate) fn new(node: u64, job: u64, has_deadline: bool, peers: Vec<Rank>) -> Self {
        let wait = Wait { thread: this_thread(), node, job, has_deadline, peers };
        let mut registry = REGISTRY.lock();
        registry.next += 1;
        let number = registry.next;
        registry.waits.insert(number, wait);
        Waiting(number)
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        REGISTRY.lock().waits.remove(&self.0);
    }
}

/// Says that a thread is lathide's own, as long as it lives.
pub(crate) struct OwnThread(ThreadNumber);

impl OwnThread {
    /// The calling thread is.
    pub(crate) fn here() -> Self {
        let thread = this_thread();
        REGISTRY.lock().own.push(thread);
        OwnThread(thread)
    }
}

impl OwnThread {
    /// [`OwnThread::here`], where no value can be kept; until [`OwnThread::ends`].
    pub(crate) fn begins() {
        std::mem::forget(OwnThread::here());
    }

    /// The calling thread ends.
    pub(crate) fn ends() {
        drop(OwnThread(this_thread()));
    }
}

impl Drop for OwnThread {
    fn drop(&mut self) {
        let mut registry = REGISTRY.lock();
        if let Some(at) = registry.own.iter().position(|own| *own == self.0) {
            registry.own.swap_remove(at);
        }
    }
}

/// What the threads of this process did at one look, lathide's own left out.
#[derive(Default, PartialEq, Eq, Debug)]
pub(crate) struct Look {
    /// By thread. `None`: it could not be found out for all.
    threads: Option<Vec<(ThreadNumber, Doing)>>,
    /// The waits that have lasted, by their numbers.
    waits: BTreeMap<u64, Wait>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Doing {
    /// Waits in a call of lathide's: which wait.
    Waits(u64),
    /// Sleeps until another thread of this process wakes it; how often it has been given up a core for that so far.
    Sleeps { switches: u64 },
    /// Anything else.
    Acts,
}

impl Look {
    /// Looks at every thread.
    pub(crate) fn take() -> Self {
        let (own, waits) = {
            let registry = REGISTRY.lock();
            (registry.own.clone(), registry.waits.clone())
        };
        let doing = |thread| {
            let wait = waits.iter().find(|(_, wait)| wait.thread == thread);
            let doing = match wait {
                Some((_, wait)) if wait.has_deadline => Doing::Acts,
                Some((number, _)) => Doing::Waits(*number),
                None => asleep(thread).map_or(Doing::Acts, |switches| Doing::Sleeps { switches }),
            };
            (thread, doing)
        };
        let threads = all_threads().map(|mut all| {
            all.retain(|thread| !own.contains(thread));
            all.sort_unstable();
            all.into_iter().map(doing).collect()
        });
        Look { threads, waits }
    }

    /// Whether no thread has acted between `before` and this look, nor can, unless a message comes to a node of `job`.
    pub(crate) fn is_still_since(&self, before: &Look, node: u64, job: u64) -> bool {
        let is_ours = |wait: &Wait| wait.node == node || (wait.job == job && job != 0);
        let all_still = |threads: &Vec<(ThreadNumber, Doing)>| threads.iter().all(|(_, doing)| *doing != Doing::Acts);
        self == before && self.threads.as_ref().is_some_and(all_still) && self.waits.values().all(is_ours)
    }

    /// The waits at nodes of `job`, or at `node`.
    pub(crate) fn waits(&self, node: u64, job: u64) -> impl Iterator<Item = &Wait> {
        self.waits.values().filter(move |wait| wait.node == node || (wait.job == job && job != 0))
    }
}

/// Whether any thread has waited for long at `node`.
pub(crate) fn has_waits(node: u64) -> bool {
    REGISTRY.lock().waits.values().any(|wait| wait.node == node)
}

fn this_thread() -> ThreadNumber {
    rustix::thread::gettid().as_raw_nonzero().get()
}

fn all_threads() -> Option<Vec<ThreadNumber>> {
    let entries = fs::read_dir("/proc/self/task").ok()?;
    entries.map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

/// How often `thread` has given up a core, if it sleeps now until another thread of this process wakes it.
fn asleep(thread: ThreadNumber) -> Option<u64> {
    let call = fs::read_to_string(format!("/proc/self/task/{thread}/syscall")).ok()?;
    let place = lasting_futex(&call)?;
    let is_private = place.is_private || lies_in_private_memory(&fs::read_to_string("/proc/self/maps").ok()?, place.at);
    if !is_private {
        return None;
    }
    let status = fs::read_to_string(format!("/proc/self/task/{thread}/status")).ok()?;
    let counts = ["voluntary_ctxt_switches:", "nonvoluntary_ctxt_switches:"];
    let count =
        |name: &str| -> Option<u64> { status.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok() };
    counts.into_iter().map(count).sum()
}

/// Where a thread waits for a futex.
#[derive(PartialEq, Eq, Debug)]
struct Futex {
    at: u64,
    /// Only this process's threads can wake it, whatever memory it lies in.
    is_private: bool,
}

/// The futex that a thread waits for without a timeout, if its system call is that.
fn lasting_futex(call: &str) -> Option<Futex> {
    const COMMANDS: u64 = 0x7f;
    const PRIVATE: u64 = 0x80;
    /// `FUTEX_WAIT`, `FUTEX_WAIT_BITSET`; others lock on behalf of someone.
    const WAITS: [u64; 2] = [0, 9];
    // `202 0x7f5c.. 0x189 0x2 0x0 ...`: the call's number and arguments. A thread that runs has none.
    let mut fields = call.split_ascii_whitespace();
    let number: u32 = fields.next()?.parse().ok()?;
    if Some(number) != FUTEX {
        return None;
    }
    let mut argument = || u64::from_str_radix(fields.next()?.strip_prefix("0x")?, 16).ok();
    let (at, operation, _expected, timeout) = (argument()?, argument()?, argument()?, argument()?);
    let lasts = WAITS.contains(&(operation & COMMANDS)) && timeout == 0;
    lasts.then_some(Futex { at, is_private: operation & PRIVATE != 0 })
}

/// The number of the system call `futex`, where it is known.
const FUTEX: Option<u32> = if cfg!(target_arch = "x86_64") {
    Some(202)
} else if cfg!(any(target_arch = "aarch64", target_arch = "riscv64")) {
    Some(98)
} else {
    None
};

/// Whether `place` lies in memory that no other process shares, by the lines of `/proc/self/maps`.
fn lies_in_private_memory(maps: &str, place: u64) -> bool {
    let lies_in = |line: &str| -> Option<bool> {
        // `7f5c4b23c000-7f5c4b25e000 rw-p 00000000 00:00 0`
        let mut fields = line.split_ascii_whitespace();
        let (start, end) = fields.next()?.split_once('-')?;
        let [start, end] = [start, end].map(|hex| u64::from_str_radix(hex, 16).ok());
        (start? <= place && place < end?).then_some(fields.next()?.ends_with('p'))
    };
    maps.lines().find_map(lies_in).unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::thread;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn only_a_futex_without_a_timeout_lasts() {
        let Some(number) = FUTEX else { return };
        let call = |operation: &str, timeout: &str| {
            lasting_futex(&format!("{number} 0x7f00 {operation} 0x2 {timeout} 0x0 0xffffffff 0x7ffd 0x7f9a"))
        };
        assert_eq!(call("0x80", "0x0"), Some(Futex { at: 0x7f00, is_private: true }));
        assert_eq!(call("0x189", "0x0"), Some(Futex { at: 0x7f00, is_private: true }), "a bitset, real-time clock");
        assert_eq!(call("0x109", "0x0"), Some(Futex { at: 0x7f00, is_private: false }));
        assert_eq!(call("0x189", "0x7ffe"), None, "with a timeout");
        assert_eq!(call("0x86", "0x0"), None, "FUTEX_LOCK_PI");
        for other in ["running", "", "-1 0x7ffd 0x7f9a", "0 0x3 0x7f9a 0x20000 0x0 0x0 0x0 0x7f 0x7f"] {
            assert_eq!(lasting_futex(other), None, "{other:?}");
        }
    }

    #[test]
    fn shared_memory_is_told_from_private() {
        let maps = "7f00-8000 rw-p 00000000 00:00 0\n8000-9000 rw-s 00000000 00:01 7 /dev/shm/x\n";
        assert!(lies_in_private_memory(maps, 0x7f00) && lies_in_private_memory(maps, 0x7fff));
        assert!(!lies_in_private_memory(maps, 0x8000) && !lies_in_private_memory(maps, 0x9000));
    }

    /// Looks until the thread is found so; a busy machine may take its time.
    fn found(thread: ThreadNumber, wanted: impl Fn(Option<u64>) -> bool) -> bool {
        let deadline = Instant::now() + Duration::from_secs(30);
        while Instant::now() < deadline {
            if wanted(asleep(thread)) {
                return true;
            }
            thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// Threads in each kind of sleep: what the system says of them.
    #[test]
    fn sleeping_threads_are_told_from_those_that_may_act() {
        if FUTEX.is_none() {
            return;
        }
        let start = |sleep: fn(mpsc::Receiver<()>)| {
            let (end, ended) = mpsc::channel();
            let (sender, number) = mpsc::channel();
            let handle = thread::spawn(move || {
                sender.send(this_thread()).unwrap();
                sleep(ended);
            });
            (number.recv().unwrap(), end, handle)
        };
        let (receiver, end, _) = start(|ended| _ = ended.recv());
        assert!(found(receiver, |switches| switches.is_some()), "a channel's receiver");
        let first = asleep(receiver);
        assert_eq!(asleep(receiver), first, "it has not run");
        drop(end);
        assert!(found(receiver, |switches| switches.is_none()), "it has ended");

        let (joiner, end, _) = start(|ended| drop(thread::spawn(move || ended.recv()).join()));
        assert!(found(joiner, |switches| switches.is_some()), "one that joins another");
        drop(end);

        let (sleeper, end, _) = start(|ended| _ = ended.recv_timeout(Duration::from_secs(5)));
        thread::sleep(Duration::from_millis(50));
        assert_eq!(asleep(sleeper), None, "with a timeout");
        drop(end);

        let (runner, end, _) = start(|ended| while ended.try_recv() == Err(mpsc::TryRecvError::Empty) {});
        assert_eq!(asleep(runner), None, "one that runs");
        drop(end);
        assert_eq!(asleep(i32::MAX), None, "one that is none");
    }

    /// The test's harness has threads of its own, which act: so nothing is certain here.
    #[test]
    fn waits_are_seen_while_they_last_and_own_threads_are_left_out() {
        // No node of the tests beside this one.
        const NODE: u64 = u64::MAX;
        let wait = Waiting::new(NODE, 0, false, vec![Rank(3)]);
        let look = Look::take();
        assert_eq!(look.waits(NODE, 0).map(|wait| wait.peers.clone()).collect::<Vec<_>>(), [[Rank(3)]]);
        assert!(has_waits(NODE) && look.waits(NODE - 1, 0).next().is_none());
        let doing =
            |look: &Look| look.threads.as_ref().unwrap().iter().find(|(thread, _)| *thread == this_thread()).copied();
        assert_eq!(doing(&look).map(|(_, doing)| doing), Some(Doing::Waits(wait.0)));
        drop(wait);
        assert!(!has_waits(NODE));
        let own = OwnThread::here();
        assert_eq!(doing(&Look::take()), None);
        drop(own);
        assert_eq!(doing(&Look::take()).map(|(_, doing)| doing), Some(Doing::Acts));
    }

    #[test]
    fn a_look_is_still_only_if_nobody_has_acted_and_all_waits_are_the_jobs() {
        let wait = |node, job| Wait { thread: 1, node, job, has_deadline: false, peers: vec![Rank(0)] };
        let look = |doing: Doing, wait: Wait| Look {
            threads: Some(vec![(1, Doing::Waits(5)), (2, doing)]),
            waits: [(5, wait)].into(),
        };
        let sleeps = |switches| look(Doing::Sleeps { switches }, wait(1, 9));
        assert!(sleeps(4).is_still_since(&sleeps(4), 1, 9));
        assert!(!sleeps(5).is_still_since(&sleeps(4), 1, 9), "it has run in between");
        let acts = || look(Doing::Acts, wait(1, 9));
        assert!(!acts().is_still_since(&acts(), 1, 9));
        let other = |node, job| look(Doing::Sleeps { switches: 4 }, wait(node, job));
        assert!(other(2, 9).is_still_since(&other(2, 9), 1, 9), "another node of this job");
        assert!(!other(2, 8).is_still_since(&other(2, 8), 1, 9), "another job's message may wake it");
        assert!(!other(2, 0).is_still_since(&other(2, 0), 1, 0), "another job of one");
        assert!(!Look::default().is_still_since(&Look::default(), 1, 9), "nothing is known");
    }
}
