//! Where the program's threads spend their time: outside lathide's calls, in posts, in waits.
//!
//! Every thread counts for itself, with plain stores, so that a call costs a few nanoseconds; whoever asks adds up.

use std::cell::RefCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, AtomicU64, Ordering};

use parking_lot::Mutex;

/// Of so many short posts the end of one is timed: reading the clock is dear beside a short message.
const TIMED_EACH: u64 = 16;
/// A short post that took longer was interrupted, and says nothing about the others.
const INTERRUPTED_NS: u64 = 200_000;
/// Threads that have ended are folded together when there are so many.
const THREADS_MAX: usize = 64;

/// The phases of a node's threads.
pub(crate) struct Phases {
    /// Never used twice, so that a thread's memory of a node that is gone is not taken for this one's.
    id: u64,
    threads: Mutex<Threads>,
}

#[derive(Default)]
struct Threads {
    /// With the number that [`number`] gives.
    alive: Vec<(u32, Arc<Counters>)>,
    ended: Sums,
    seen: usize,
}

/// One thread's times, in nanoseconds. Written by the thread alone, but for `closed_elsewhere`.
#[derive(Default)]
struct Counters {
    /// When the thread last was inside a call, as far as it is known.
    last: AtomicU64,
    /// Outside calls.
    outside: AtomicU64,
    /// Of it: while operations posted by this thread waited to be waited for.
    covered: AtomicU64,
    long_posts: AtomicU64,
    short_timed: AtomicU64,
    short_timed_posts: AtomicU64,
    short_posts: AtomicU64,
    waits: AtomicU64,
    exposed: AtomicU64,
    opened: AtomicI64,
    closed: AtomicI64,
    closed_elsewhere: AtomicI64,
}

/// Times summed up over threads, in nanoseconds.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct Sums {
    outside: u64,
    covered: u64,
    long_posts: u64,
    short_timed: u64,
    short_timed_posts: u64,
    short_posts: u64,
    waits: u64,
    exposed: u64,
}

/// What the sums say, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Times {
    /// Outside calls: t_calc.
    pub(crate) calc_s: f64,
    /// Of it, while operations were under way or about to be waited for.
    pub(crate) covered_s: f64,
    /// In `initread` and `initwrite`.
    pub(crate) post_s: f64,
    /// In waits.
    pub(crate) wait_s: f64,
    /// Of it, no longer than the messages that were waited for take on their way.
    pub(crate) exposed_s: f64,
}

thread_local! {
    /// The node this thread has called last, and its counters there.
    static MINE: RefCell<Option<(u64, Arc<Counters>)>> = const { RefCell::new(None) };
    static NUMBER: u32 = {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        NEXT.fetch_add(1, Ordering::Relaxed)
    };
}

/// A small number that is this thread's alone within the process.
pub(crate) fn number() -> u32 {
    // While a thread ends its locals are gone.
    NUMBER.try_with(|number| *number).unwrap_or(u32::MAX)
}

impl Default for Phases {
    fn default() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Phases { id: NEXT.fetch_add(1, Ordering::Relaxed), threads: Mutex::default() }
    }
}

impl Phases {
    /// From `now` on the calling thread's time counts.
    pub(crate) fn begins(&self, now: u64) {
        self.with(|mine, _| set(&mine.last, now));
    }

    /// The calling thread enters a call. Returns since when it was outside, if it was inside before.
    pub(crate) fn enters(&self, now: u64) -> Option<u64> {
        self.with(|mine, is_new| {
            let last = get(&mine.last);
            set(&mine.last, now);
            if is_new {
                return None;
            }
            let outside = now.saturating_sub(last);
            add(&mine.outside, outside);
            if get_signed(&mine.opened) - get_signed(&mine.closed) > mine.closed_elsewhere.load(Ordering::Relaxed) {
                add(&mine.covered, outside);
            }
            Some(last)
        })
        .flatten()
    }

    /// Whether the end of the short post that the calling thread is in is to be timed.
    pub(crate) fn times_post(&self) -> bool {
        self.with(|mine, _| {
            let posts = get(&mine.short_posts);
            set(&mine.short_posts, posts + 1);
            posts.is_multiple_of(TIMED_EACH)
        })
        .unwrap_or(false)
    }

    /// The calling thread leaves a post that was timed.
    pub(crate) fn leaves_post(&self, entered: u64, now: u64, is_short: bool) {
        let took = now.saturating_sub(entered);
        self.with(|mine, _| {
            set(&mine.last, now);
            if is_short && took <= INTERRUPTED_NS {
                add(&mine.short_timed, took);
                add(&mine.short_timed_posts, 1);
            } else {
                add(&mine.long_posts, took);
            }
        });
    }

    /// The calling thread leaves a wait for what takes at most `typical` on its way.
    pub(crate) fn leaves_wait(&self, entered: u64, now: u64, typical: u64) {
        let took = now.saturating_sub(entered);
        self.with(|mine, _| {
            set(&mine.last, now);
            add(&mine.waits, took);
            add(&mine.exposed, took.min(typical));
        });
    }

    /// The calling thread leaves a call that is neither.
    pub(crate) fn leaves(&self, now: u64) {
        self.with(|mine, _| set(&mine.last, now));
    }

    /// The calling thread has got a handle.
    pub(crate) fn opens(&self) {
        self.with(|mine, _| set_signed(&mine.opened, get_signed(&mine.opened) + 1));
    }

    /// A handle that thread `opener` got is gone.
    pub(crate) fn closes(&self, opener: u32) {
        if opener == number() {
            self.with(|mine, _| set_signed(&mine.closed, get_signed(&mine.closed) + 1));
        } else if let Some((_, theirs)) = self.threads.lock().alive.iter().find(|(number, _)| *number == opener) {
            theirs.closed_elsewhere.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// What the calling thread has spent until `now`.
    pub(crate) fn own(&self, now: u64) -> Sums {
        self.enters(now);
        let mut sums = Sums::default();
        self.with(|mine, _| sums.add(mine));
        sums
    }

    /// What the threads have spent so far, and how many they were; the calling one is outside since its last call.
    pub(crate) fn sums(&self, now: u64) -> (Sums, usize) {
        self.enters(now);
        let threads = self.threads.lock();
        let mut sums = threads.ended;
        threads.alive.iter().for_each(|(_, counters)| sums.add(counters));
        (sums, threads.seen)
    }

    /// Runs with the calling thread's counters, and whether they are new.
    fn with<T>(&self, run: impl FnOnce(&Counters, bool) -> T) -> Option<T> {
        MINE.try_with(|mine| {
            let mut mine = mine.borrow_mut();
            let is_new = match &*mine {
                Some((of, _)) if *of == self.id => false,
                _ => {
                    let (counters, is_new) = self.mine();
                    *mine = Some((self.id, counters));
                    is_new
                }
            };
            mine.as_ref().map(|(_, counters)| run(counters, is_new))
        })
        .ok()
        .flatten()
    }

    /// The calling thread's counters, for one that has called another node since, or none.
    fn mine(&self) -> (Arc<Counters>, bool) {
        let (mut threads, own) = (self.threads.lock(), number());
        if let Some((_, counters)) = threads.alive.iter().find(|(number, _)| *number == own) {
            return (counters.clone(), false);
        }
        if threads.alive.len() >= THREADS_MAX {
            let Threads { alive, ended, .. } = &mut *threads;
            alive.retain(|(_, counters)| {
                let is_alive = Arc::strong_count(counters) > 1;
                if !is_alive {
                    ended.add(counters);
                }
                is_alive
            });
        }
        let counters = Arc::new(Counters::default());
        threads.alive.push((own, counters.clone()));
        threads.seen += 1;
        (counters, true)
    }
}

impl Sums {
    fn add(&mut self, counters: &Counters) {
        self.outside += get(&counters.outside);
        self.covered += get(&counters.covered);
        self.long_posts += get(&counters.long_posts);
        self.short_timed += get(&counters.short_timed);
        self.short_timed_posts += get(&counters.short_timed_posts);
        self.short_posts += get(&counters.short_posts);
        self.waits += get(&counters.waits);
        self.exposed += get(&counters.exposed);
    }

    /// Adds what was spent from `before` until `now`, of the same thread.
    pub(crate) fn spend(&mut self, before: &Sums, now: &Sums) {
        self.outside += now.outside.saturating_sub(before.outside);
        self.covered += now.covered.saturating_sub(before.covered);
        self.long_posts += now.long_posts.saturating_sub(before.long_posts);
        self.short_timed += now.short_timed.saturating_sub(before.short_timed);
        self.short_timed_posts += now.short_timed_posts.saturating_sub(before.short_timed_posts);
        self.short_posts += now.short_posts.saturating_sub(before.short_posts);
        self.waits += now.waits.saturating_sub(before.waits);
        self.exposed += now.exposed.saturating_sub(before.exposed);
    }

    /// Time outside of calls, in nanoseconds; of short posts only those that were timed are left out.
    pub(crate) fn outside_ns(&self) -> u64 {
        self.outside
    }

    /// In seconds. Short posts that were not timed count as the others, and not as calculation.
    pub(crate) fn times(&self) -> Times {
        let mean = self.short_timed as f64 / self.short_timed_posts.max(1) as f64;
        let untimed = (mean * self.short_posts.saturating_sub(self.short_timed_posts) as f64).min(self.outside as f64);
        let calc = self.outside as f64 - untimed;
        let covered = self.covered as f64 * if self.outside > 0 { calc / self.outside as f64 } else { 0.0 };
        Times {
            calc_s: calc * 1e-9,
            covered_s: covered * 1e-9,
            post_s: (self.long_posts as f64 + self.short_timed as f64 + untimed) * 1e-9,
            wait_s: self.waits as f64 * 1e-9,
            exposed_s: self.exposed as f64 * 1e-9,
        }
    }
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

fn set(counter: &AtomicU64, value: u64) {
    counter.store(value, Ordering::Relaxed);
}

fn add(counter: &AtomicU64, value: u64) {
    set(counter, get(counter) + value);
}

fn get_signed(counter: &AtomicI64) -> i64 {
    counter.load(Ordering::Relaxed)
}

fn set_signed(counter: &AtomicI64, value: i64) {
    counter.store(value, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_by_hand() {
        let phases = Phases::default();
        phases.begins(100);
        assert_eq!(phases.enters(1_100), Some(100), "a thousand outside");
        phases.leaves_post(1_100, 1_300, false);
        phases.opens();
        assert_eq!(phases.enters(4_300), Some(1_300), "three thousand outside, covered");
        phases.leaves_wait(4_300, 4_800, 300);
        phases.closes(number());
        let (sums, threads) = phases.sums(5_800);
        assert_eq!(threads, 1);
        let nanoseconds = |seconds: f64| (seconds * 1e9).round() as u64;
        let times = sums.times();
        let all = [times.calc_s, times.covered_s, times.post_s, times.wait_s, times.exposed_s].map(nanoseconds);
        assert_eq!(all, [5_000, 3_000, 200, 500, 300]);
    }

    #[test]
    fn few_short_posts_are_timed_and_stand_for_all() {
        let phases = Phases::default();
        phases.begins(0);
        let (mut now, mut timed) = (0, 0);
        for _ in 0..160 {
            now += 1_000;
            phases.enters(now);
            let entered = now;
            now += 500;
            if phases.times_post() {
                timed += 1;
                phases.leaves_post(entered, now, true);
            }
        }
        assert_eq!(timed, 10);
        let times = phases.sums(now).0.times();
        assert!((times.post_s - 80e-6).abs() < 1e-9, "{times:?}");
        assert!((times.calc_s - 160e-6).abs() < 1e-9, "{times:?}");
    }

    #[test]
    fn threads_add_up_and_handles_may_wander() {
        let phases = Phases::default();
        phases.begins(0);
        phases.enters(0);
        phases.opens();
        let opener = number();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                assert_eq!(phases.enters(50), None, "where it was before is not known");
                phases.leaves_wait(50, 80, 0);
                phases.closes(opener);
                assert_eq!(phases.enters(100), Some(80));
            });
        });
        phases.enters(1_000);
        let (sums, threads) = phases.sums(1_000);
        assert_eq!((threads, sums.outside, sums.waits, sums.exposed), (2, 1_020, 30, 0));
        assert_eq!(sums.covered, 0, "its handle was gone before its next call");
    }

    #[test]
    fn threads_that_have_ended_are_folded() {
        let phases = Phases::default();
        for _ in 0..3 * THREADS_MAX {
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    phases.enters(10);
                    phases.leaves_wait(10, 17, 0);
                });
            });
        }
        let (sums, threads) = phases.sums(20);
        assert_eq!((sums.waits, threads), (7 * 3 * THREADS_MAX as u64, 3 * THREADS_MAX + 1));
        assert!(phases.threads.lock().alive.len() <= THREADS_MAX + 1);
    }
}
