//! What the model runs on: one machine per execution, with a clock, epoll, and all that sleeps.
//!
//! Each call of [`with`] is one step that nothing interrupts, as a system call is for the hand-over. Shuttle chooses
//! who makes the next one. Whoever sleeps here is woken by what it sleeps for and by nothing else, so a wake-up that is
//! lost shows as a deadlock. The clock moves only for those who sleep for less than a second: no timeout saves a sleeper
//! by chance.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::PoisonError;
use std::time::Duration;

use shuttle::rand::RngCore;
use shuttle::sync::{Condvar, Mutex};

use super::epoll::Epoll;
use super::wake::Reason;

/// What is broken on purpose, to see that the checker finds it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Fault {
    None,
    /// One unpark has no effect.
    UnparkIsLost,
    /// One nudge has no effect.
    NudgeIsLost,
    /// The task's set is armed without a look at what came while it was disarmed.
    TaskSetIsArmedBlindly,
    /// The task is woken, and not told of this reason.
    ReasonIsLost(Reason),
    /// A wake-up of the task has no effect.
    WakeUpIsLost,
    /// A reason is added in two steps.
    ReasonIsTorn,
    /// A poll heeds the nudge of whoever it is for.
    LookTakesNudge,
    /// The links are not watched though a thread waits for them.
    WaiterIsForgotten,
    /// Two may hold progress.
    ExchangeIsTorn,
}

pub(super) struct State {
    pub(super) fault: Fault,
    pub(super) now: Duration,
    /// Waits with a deadline that are over.
    pub(super) timed_waits: u32,
    /// When those who sleep for a limited time wake, and who they are.
    alarms: BTreeSet<(Duration, usize)>,
    /// What the program's pace is judged by.
    pub(super) program_time: Duration,
    pub(super) epoll: Epoll,
    /// Threads that were unparked and have not parked since.
    pub(super) unparked: BTreeSet<usize>,
    /// The task is to wake for a reason.
    pub(super) is_notified: bool,
    /// What the rendezvous tells the task.
    pub(super) is_job_lost: bool,
    pub(super) is_over: bool,
    /// Threads that sleep in epoll or poll links for their own sake.
    pub(super) helping: u32,
}

/// Time does not pass so far: no sleeper is saved by looking again once a second.
const NEVER: Duration = Duration::from_secs(1);

struct CostModel {
    state: Mutex<State>,
    changed: Condvar,
    /// Locks held, by thread.
    held: RefCell<BTreeMap<usize, u32>>,
}

thread_local! {
    /// Shuttle runs all threads of an execution on one of the system's.
    static MACHINE: RefCell<Option<Rc<CostModel>>> = const { RefCell::new(None) };
}

/// Begins an execution.
pub(super) fn start(links: usize, room: u32, fault: Fault) {
    let state = State {
        fault,
        now: Duration::ZERO,
        timed_waits: 0,
        alarms: BTreeSet::new(),
        program_time: Duration::ZERO,
        epoll: Epoll::new(links, room),
        unparked: BTreeSet::new(),
        is_notified: false,
        is_job_lost: false,
        is_over: false,
        helping: 0,
    };
    let machine = CostModel { state: Mutex::new(state), changed: Condvar::new(), held: RefCell::default() };
    MACHINE.with(|place| *place.borrow_mut() = Some(Rc::new(machine)));
}

fn machine() -> Rc<CostModel> {
    MACHINE.with(|place| place.borrow().clone()).expect("the execution has begun")
}

/// One step.
pub(super) fn with<R>(step: impl FnOnce(&mut State) -> R) -> R {
    let machine = machine();
    let result = step(&mut machine.state.lock().unwrap_or_else(PoisonError::into_inner));
    machine.changed.notify_all();
    result
}

/// Sleeps until `look` finds something.
pub(super) fn sleep_until<R>(mut look: impl FnMut(&mut State) -> Option<R>) -> R {
    let machine = machine();
    assert_eq!(holds(0), 0, "a thread sleeps with a lock held");
    let mut state = machine.state.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(found) = look(&mut state) {
            return found;
        }
        state = machine.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
    }
}

/// [`sleep_until`], for at most `timeout`; then `late` says what is found.
pub(super) fn sleep_for<R>(
    timeout: Duration,
    mut look: impl FnMut(&mut State) -> Option<R>,
    late: impl Fn(&mut State) -> R,
) -> R {
    let alarm = with(|state| {
        let alarm = (state.now.saturating_add(timeout), me());
        state.alarms.insert(alarm);
        alarm
    });
    sleep_until(|state| {
        let found = look(state).or_else(|| (state.now >= alarm.0).then(|| late(state)));
        found.inspect(|_| _ = state.alarms.remove(&alarm))
    })
}

impl State {
    /// Time passes until the first who sleeps for a limited time wakes, if anybody does. Nobody sleeps for a second.
    pub(super) fn pass_time(&mut self) -> bool {
        let now = self.now;
        let next = self.alarms.iter().find(|(end, _)| *end > now && *end < NEVER).copied();
        next.inspect(|(end, _)| self.now = *end).is_some()
    }
}

/// So many locks more are held by the calling thread; returns how many it has now.
pub(super) fn holds(more: i32) -> u32 {
    let machine = machine();
    let mut held = machine.held.borrow_mut();
    let count = held.entry(me()).or_default();
    *count = count.checked_add_signed(more).expect("what is unlocked was locked");
    *count
}

/// The calling thread.
pub(super) fn me() -> usize {
    shuttle::current::me().into()
}

/// The task or program may go this way or that: once in `n` times.
pub(super) fn once_in(n: u64) -> bool {
    below(n) == 0
}

/// A number below `n`, any.
pub(super) fn below(n: u64) -> u64 {
    shuttle::rand::thread_rng().next_u64() % n
}
