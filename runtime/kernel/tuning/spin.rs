//! How long a waiting thread polls before it sleeps: a sleep and its wake-up are by far the dearest step of a
//! short message, but polling pays only while messages come soon, and while nobody computes on the core. Where ranks share
//! cores, a thread that polls yields its core between two looks: the peer that it waits for may be next there.

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use crate::join::cores::Polling;

/// The longest poll: about a round trip on a local network. Whoever waits longer loses little by sleeping.
const LIMIT_US: u32 = 100;
/// The same where ranks share cores: in a call of eight ranks on two cores each waits its turn for longer, and polling costs little,
/// since every look gives the core away.
const SHARED_LIMIT_US: u32 = 400;
/// Where messages have come soon again and again, one that does not is probably held up by an interruption of its sender, which has a
/// core of its own: a waiter that slept would wake up late, and perhaps on the sender's core. So each poll that pays earns the next
/// ones a microsecond, up to this limit; one in vain loses all.
const EARNED_LIMIT_US: u32 = 1000;
/// A poll this much too short is not worth its calls.
const LEAST_US: u32 = 8;
/// After polls in vain, one wait of so many tries again.
const RETRY_WAITS: u32 = 32;
/// A look at a socket takes below a microsecond. One that took this long was interrupted: somebody else needs
/// the core.
const INTERRUPTED: Duration = Duration::from_micros(40);
/// What a sleep and its wake-up take, about.
const WAKE_UP: Duration = Duration::from_micros(50);
/// Between looks for more of a long message: some tens of kilobytes come in meanwhile.
const REST: Duration = Duration::from_micros(2);
/// One interruption says little: a host that runs other machines interrupts, too. Of a second one within so many waits somebody is the
/// cause who computes on the core.
const WARY_WAITS: u32 = 16;
/// Waits that sleep at once after that, and twice as many each time that it is found again soon, up to the second number.
const INTERRUPTED_WAITS: (u32, u32) = (4, 64);
/// Where ranks share cores, a look is followed by a turn of all others on the core. If they wait too, that takes some
/// microseconds for each; this long, somebody computes.
const SHARED_INTERRUPTED: Duration = Duration::from_micros(400);

/// What a look at the sockets has found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Look {
    /// What was waited for.
    Met,
    /// A short message, and more are waited for.
    Step,
    /// Part of a long message.
    Part,
    Nothing,
}

/// What earlier waits have taught. Shared by all threads of a node; only hints, so nothing is ordered by it.
pub(crate) struct Spin {
    polling: Polling,
    /// Waiting for a short message.
    beginning: Habit,
    /// Waiting for a long message to begin: how late it is says nothing of short ones.
    long: Habit,
    /// Waiting for more of one that is under way: on a fast link soon, on a slow one not.
    more: Habit,
}

/// How long it pays to poll for one kind of thing.
struct Habit {
    budget_us: AtomicU32,
    limit_us: u32,
    /// The longest poll that it may earn.
    earned_limit_us: u32,
    /// Waits to go before polling is tried again.
    pause: AtomicU32,
    /// Waits to go before an interruption is the first again.
    wary: AtomicU32,
    /// How long the last pause for interruptions was; 0 after none have come for a while.
    interrupted: AtomicU32,
}

impl Spin {
    pub(crate) fn new(polling: Polling) -> Self {
        let limit_us = if polling == Polling::Shared { SHARED_LIMIT_US } else { LIMIT_US };
        let earned_limit_us = if polling == Polling::Own { EARNED_LIMIT_US } else { limit_us };
        let beginning = Habit { earned_limit_us, ..Habit::new(limit_us) };
        Spin { polling, beginning, long: Habit::new(limit_us), more: Habit::new(limit_us) }
    }

    /// Whether the peer that is waited for may need this core.
    pub(crate) fn is_shared(&self) -> bool {
        self.polling == Polling::Shared
    }

    /// Whether a look costs nobody else anything: neither a peer's turn on this core nor that of a program that is not to poll.
    pub(crate) fn has_core(&self) -> bool {
        self.polling == Polling::Own
    }

    /// Polls `look` until it finds what is waited for, or the time is better slept: then it returns when that had begun.
    /// `is_long`: a long message is waited for; `has_begun`: a message is under way.
    pub(crate) fn poll(&self, is_long: bool, mut has_begun: bool, mut look: impl FnMut() -> Look) -> Option<Instant> {
        let mut habit = self.habit(is_long, has_begun);
        let Some(mut budget) = self.budget(habit) else { return Some(Instant::now()) };
        let interrupted = if self.polling == Polling::Shared { SHARED_INTERRUPTED } else { INTERRUPTED };
        // Whoever asks has just looked in vain, and where the peer may need this core looking again before it has had it is so too.
        if self.polling == Polling::Shared {
            self.rest(false);
        }
        // A short message mostly is there at the first look: then the clock is not read, and whoever has waited goes on.
        let mut found = look();
        if found == Look::Met {
            habit.pays();
            return None;
        }
        let began = Instant::now();
        let (mut since, mut last, mut now) = (began, began, began);
        loop {
            if found == Look::Step || found == Look::Part {
                habit.pays();
                if found == Look::Part {
                    (has_begun, habit) = (true, &self.more);
                }
                since = now;
                let Some(more) = self.budget(habit) else { return Some(began) };
                budget = more;
            } else if now - last > interrupted && !has_begun {
                // If a message is coming in, whoever interrupts is probably its sender.
                if habit.is_interrupted() {
                    return Some(began);
                }
                since += now - last;
            } else if now - since > budget {
                habit.is_in_vain();
                return Some(began);
            } else {
                self.rest(is_long || has_begun);
            }
            last = now;
            found = look();
            if found == Look::Met {
                habit.pays();
                return None;
            }
            now = Instant::now();
        }
    }

    /// A wait has slept, and what it waited for came `after` it had begun. If that is soon enough, polling would have paid: so do the next
    /// ones again, however many were in vain. Two ranks that sleep are late for each other, and would sleep on. Not where more of a
    /// long message was waited for, which comes as fast as the link is, nor where cores are shared or somebody computes.
    pub(crate) fn slept(&self, is_long: bool, has_begun: bool, after: Duration) {
        let habit = self.habit(is_long, has_begun);
        let would_pay = after <= Duration::from_micros(habit.limit_us.into()) + WAKE_UP;
        if would_pay && !has_begun && self.polling == Polling::Own && !habit.is_often_interrupted() {
            habit.pause.store(0, Ordering::Relaxed);
            habit.budget_us.fetch_max(habit.limit_us, Ordering::Relaxed);
        }
    }

    /// Between two looks. Whoever else needs this core, perhaps the very peer that is waited for, has it first.
    fn rest(&self, is_long: bool) {
        // Each look takes the socket's lock, which the sender's packets need too. Where ranks share cores, others' turns are rest enough.
        if is_long && self.polling == Polling::Own {
            let began = Instant::now();
            while began.elapsed() < REST {
                std::hint::spin_loop();
            }
        }
        std::thread::yield_now();
    }

    fn budget(&self, habit: &Habit) -> Option<Duration> {
        if self.polling == Polling::Never { None } else { habit.budget() }
    }

    fn habit(&self, is_long: bool, has_begun: bool) -> &Habit {
        match (has_begun, is_long) {
            (true, _) => &self.more,
            (false, true) => &self.long,
            (false, false) => &self.beginning,
        }
    }
}

impl Habit {
    fn new(limit_us: u32) -> Self {
        let zero = || AtomicU32::new(0);
        let budget_us = AtomicU32::new(limit_us);
        Habit { budget_us, limit_us, earned_limit_us: limit_us, pause: zero(), wary: zero(), interrupted: zero() }
    }

    fn budget(&self) -> Option<Duration> {
        let pause = self.pause.load(Ordering::Relaxed);
        if pause > 0 {
            self.pause.store(pause - 1, Ordering::Relaxed);
            return None;
        }
        let wary = self.wary.load(Ordering::Relaxed);
        if wary > 0 {
            self.wary.store(wary - 1, Ordering::Relaxed);
            if wary == 1 {
                self.interrupted.store(0, Ordering::Relaxed);
            }
        }
        Some(Duration::from_micros(self.budget_us.load(Ordering::Relaxed).into()))
    }

    /// A poll was interrupted. Returns whether somebody computes on the core, by what is known.
    fn is_interrupted(&self) -> bool {
        let was_wary = self.wary.swap(WARY_WAITS, Ordering::Relaxed) > 0;
        if was_wary {
            let (least, most) = INTERRUPTED_WAITS;
            let pause = (2 * self.interrupted.load(Ordering::Relaxed)).clamp(least, most);
            self.interrupted.store(pause, Ordering::Relaxed);
            self.pause.store(pause, Ordering::Relaxed);
        }
        was_wary
    }

    fn is_often_interrupted(&self) -> bool {
        self.interrupted.load(Ordering::Relaxed) > 0
    }

    fn pays(&self) {
        let budget = self.budget_us.load(Ordering::Relaxed);
        if budget < self.earned_limit_us {
            let earned = (budget + 1).clamp(self.limit_us, self.earned_limit_us);
            self.budget_us.store(earned, Ordering::Relaxed);
        }
    }

    fn is_in_vain(&self) {
        let budget = self.budget_us.load(Ordering::Relaxed).min(self.limit_us) / 2;
        if budget < LEAST_US {
            self.pause.store(RETRY_WAITS, Ordering::Relaxed);
        }
        self.budget_us.store(budget.max(LEAST_US), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    use super::*;
    use crate::config::{Config, Key};
    use crate::ids::Rank;
    use crate::kernel::Kernel;

    #[test]
    fn polling_is_given_up_after_it_was_in_vain_and_tried_again() {
        let spin = Spin::new(Polling::Own);
        let waits = |count: u32| {
            (0..count).filter(|_| spin.beginning.budget().inspect(|_| spin.beginning.is_in_vain()).is_some()).count()
        };
        assert!(waits(200) < 20, "polls in vain become rare");
        let mut polled = false;
        for _ in 0..=RETRY_WAITS {
            polled |= spin.poll(false, false, || Look::Met).is_none();
        }
        assert!(polled, "it is tried again");
        let budget = spin.beginning.budget().expect("success restores the budget");
        assert!(budget >= Duration::from_micros(LIMIT_US.into()), "{budget:?}");
    }

    #[test]
    fn polls_that_pay_earn_longer_ones_and_one_in_vain_loses_that() {
        let microseconds = |habit: &Habit| habit.budget().map(|budget| budget.as_micros() as u32);
        for (polling, most) in [(Polling::Own, EARNED_LIMIT_US), (Polling::Shared, SHARED_LIMIT_US)] {
            let spin = Spin::new(polling);
            (0..2 * EARNED_LIMIT_US).for_each(|_| assert!(spin.poll(false, false, || Look::Met).is_none()));
            assert_eq!(microseconds(&spin.beginning), Some(most));
            spin.beginning.is_in_vain();
            assert_eq!(microseconds(&spin.beginning), Some(spin.beginning.limit_us / 2));
            assert!(spin.poll(false, false, || Look::Met).is_none());
            assert_eq!(microseconds(&spin.beginning), Some(spin.beginning.limit_us));
        }
    }

    #[test]
    fn sleeps_that_were_short_have_the_next_waits_poll_again() {
        let limit = Duration::from_micros(LIMIT_US.into());
        for (after, has_begun, polls) in
            [(limit, false, true), (limit + WAKE_UP, false, true), (2 * limit, false, false), (limit, true, false)]
        {
            let spin = Spin::new(Polling::Own);
            let habit = spin.habit(true, has_begun);
            while habit.budget().is_some() {
                habit.is_in_vain();
            }
            spin.slept(true, has_begun, after);
            assert_eq!(habit.budget().is_some_and(|budget| budget >= limit), polls, "{after:?}, {has_begun}");
        }
        let spin = Spin::new(Polling::Own);
        assert!(!spin.beginning.is_interrupted() && spin.beginning.is_interrupted());
        spin.slept(false, false, limit);
        assert_eq!(spin.beginning.budget(), None, "somebody computes");
    }

    #[test]
    fn a_poll_that_is_interrupted_twice_makes_the_next_waits_sleep() {
        let spin = Spin::new(Polling::Own);
        let look = || {
            std::thread::sleep(2 * INTERRUPTED);
            Look::Nothing
        };
        assert!(spin.poll(false, false, look).is_some());
        assert_eq!(spin.beginning.budget(), None);
    }

    #[test]
    fn a_computation_on_the_core_is_noticed_between_short_messages_and_not_within_a_long_one() {
        for (first, is_noticed) in [(Look::Step, true), (Look::Part, false)] {
            let spin = Spin::new(Polling::Own);
            let mut looks = [first, Look::Nothing, Look::Nothing].into_iter();
            spin.poll(false, false, || {
                std::thread::sleep(2 * INTERRUPTED);
                looks.next().unwrap_or(Look::Met)
            });
            assert_eq!(spin.beginning.budget().is_none(), is_noticed, "{first:?}");
        }
    }

    #[test]
    fn how_late_long_messages_are_says_nothing_of_short_ones() {
        let spin = Spin::new(Polling::Own);
        for _ in 0..20 {
            assert!(spin.poll(true, false, || Look::Nothing).is_some());
        }
        assert_eq!(spin.beginning.budget(), Some(Duration::from_micros(LIMIT_US.into())));
    }

    #[test]
    fn only_a_second_interruption_soon_after_the_first_shows_that_somebody_computes() {
        let habit = Habit::new(LIMIT_US);
        for _ in 0..3 {
            assert!(!habit.is_interrupted(), "one now and then");
            (0..WARY_WAITS).for_each(|_| assert!(habit.budget().is_some()));
        }
        assert!(!habit.is_interrupted());
        (1..WARY_WAITS).for_each(|_| assert!(habit.budget().is_some()));
        let (least, most) = INTERRUPTED_WAITS;
        for pause in [least, 2 * least, 4 * least] {
            assert!(habit.is_interrupted(), "two, or still so");
            (0..pause).for_each(|_| assert_eq!(habit.budget(), None));
            assert!(habit.budget().is_some());
        }
        for _ in 0..10 {
            assert!(habit.is_interrupted() && habit.pause.swap(0, Ordering::Relaxed) <= most);
        }
        assert_eq!(habit.interrupted.load(Ordering::Relaxed), most);
        (0..WARY_WAITS).for_each(|_| assert!(habit.budget().is_some()));
        assert!(!habit.is_interrupted() && habit.is_interrupted(), "two again");
        assert_eq!(habit.pause.load(Ordering::Relaxed), least, "what was long ago is forgotten");
    }

    /// How two ranks poll, each started by a thread that may run on these processors only. Where each has its own core, and only
    /// there, one reads beside the other.
    fn polling(processors: [&[usize]; 2]) -> Vec<Polling> {
        let root = std::net::TcpListener::bind("127.0.0.1:0").and_then(|socket| socket.local_addr()).unwrap();
        let start = |(rank, processors): (u32, &[usize])| {
            let mut mask = CpuSet::new();
            processors.iter().for_each(|&processor| mask.set(processor));
            let mut config = Config::new(rank, 2, Some(root.to_string()));
            config.key = Key::from_bytes(std::array::from_fn(|place| place as u8));
            std::thread::spawn(move || {
                sched_setaffinity(None, &mask).unwrap();
                Kernel::start(config).unwrap()
            })
        };
        let threads: Vec<_> = (0..).zip(processors).map(start).collect();
        let kernels: Vec<_> = threads.into_iter().map(|thread| thread.join().unwrap()).collect();
        let polling: Vec<_> = kernels.iter().map(|kernel| kernel.help.spin.polling).collect();
        for ((polling, kernel), peer) in polling.iter().zip(&kernels).zip([1, 0]) {
            assert_eq!(kernel.lock().engine.has_beside(Rank(peer)), *polling == Polling::Own);
        }
        let ends = kernels.into_iter().map(|kernel| std::thread::spawn(move || kernel.finish(None)));
        ends.collect::<Vec<_>>().into_iter().for_each(|end| end.join().unwrap().unwrap());
        polling
    }

    #[test]
    fn ranks_that_share_a_core_yield_it_while_they_poll() {
        let all = sched_getaffinity(None).unwrap();
        let all: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|&processor| all.is_set(processor)).collect();
        let &[first, second, ..] = &all[..] else { return };
        assert_eq!(polling([&[first], &[second]]), [Polling::Own; 2], "each on its own");
        assert_eq!(polling([&[first], &[first]]), [Polling::Shared; 2], "both on one");
        assert_eq!(polling([&[first, second], &[second]]), [Polling::Own; 2]);
        assert_eq!(polling([&all, &all]), [Polling::Own; 2], "not bound");
    }

    #[test]
    fn whoever_shares_a_core_sleeps_after_somebody_has_computed_there() {
        let spin = Spin::new(Polling::Shared);
        let look = || {
            std::thread::sleep(2 * SHARED_INTERRUPTED);
            Look::Nothing
        };
        assert!(spin.poll(false, false, look).is_some());
        assert_eq!(spin.beginning.budget(), None);
    }

    #[test]
    fn nobody_polls_where_it_is_switched_off() {
        let spin = Spin::new(Polling::Never);
        assert!(spin.poll(false, false, || Look::Met).is_some());
    }
}
