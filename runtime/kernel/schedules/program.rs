//! What the threads of a scenario do: the program's calls as the node makes them, the task's loop, and the peers.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use shuttle::thread::spawn;

use super::Kernel;
use super::completion::{Chosen, Completion, OfCollective};
use super::conditions::{AnyMember, AnyOf, Until};
use super::epoll::Piece;
use super::helper::HasCompletion;
use super::machine::{self, Fault};
use super::ready::Ready;
use super::sync::Instant;
use super::sync::thread::{self, Thread};
use super::wake::{Reason, TaskWake};
use crate::config::Overlap;
use crate::engine::{OpId, Outcome};
use crate::error::Error;
use crate::ids::{Rank, Tag};
use crate::operation::{Operation, OperationKind};
use crate::wire::frame::MatchKey;

/// A tag nobody reads.
pub(super) const NOBODYS: u32 = 99;

/// A node, and its surroundings.
#[derive(Clone, Copy)]
pub(super) struct Setup {
    pub(super) overlap: Overlap,
    pub(super) links: usize,
    /// Messages a peer takes at first.
    pub(super) room: u32,
}

/// A thread of a scenario.
pub(super) type Act = fn(&Kernel);

/// Runs `acts` beside the kernel's task, to the end; then a message that nobody waits for must be taken all the same.
pub(super) fn run(setup: Setup, fault: Fault, acts: &[Act]) {
    machine::start(setup.links, setup.room, fault);
    let kernel = Arc::new(Kernel::new(setup.overlap, setup.links));
    let task = {
        let kernel = kernel.clone();
        spawn(move || serve(&kernel))
    };
    let threads: Vec<_> = acts
        .iter()
        .map(|&act| {
            let kernel = kernel.clone();
            spawn(move || act(&kernel))
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().expect("no thread panics"));
    assert!(!kernel.help.is_held() && !kernel.help.is_wanted(), "nobody waits any more");
    if setup.overlap == Overlap::On {
        arrive(0, NOBODYS);
        all_is_taken();
    }
    machine::with(|state| state.is_over = true);
    task.join().expect("the task does not panic");
    if setup.overlap == Overlap::Off {
        assert!(!machine::with(|state| state.epoll.is_gate_open()), "deferred, and nothing waits: bytes stay");
    }
}

/// The kernel's task, as `task::serve` is: it hears of the task's set, ticks, and is told of failures.
fn serve(kernel: &Kernel) {
    kernel.settle_watch();
    let (mut is_ready, mut is_ticking, mut is_resting, mut is_lost) = (false, false, false, false);
    loop {
        let event = machine::sleep_until(|state| {
            is_ready |= state.epoll.look_at_gate();
            let events = [
                is_ready.then_some(Event::TaskSet),
                state.is_notified.then_some(Event::Woken),
                is_ticking.then_some(Event::Tick),
                is_resting.then_some(Event::Rested),
                (state.is_job_lost && !is_lost).then_some(Event::Lost),
                state.is_over.then_some(Event::Over),
            ];
            let events: Vec<Event> = events.into_iter().flatten().collect();
            events.get(machine::below(events.len().max(1) as u64) as usize).copied()
        });
        match event {
            Event::TaskSet => {
                let turn = kernel.turn();
                is_ready = false;
                is_resting = kernel.rest(turn.to_come > 0);
            }
            Event::Woken => {
                for reason in reasons(&kernel.wake) {
                    match reason {
                        Reason::Gathered => kernel.send_gathered(),
                        Reason::CollectiveDue => kernel.turn_for_collectives(),
                        Reason::WaitsFollow => is_ticking = true,
                        Reason::CollectiveAwaited | Reason::LinkDown | Reason::Untold | Reason::LossSuspected => {
                            unreachable!("not modelled")
                        }
                    }
                }
            }
            Event::Tick => is_ticking = kernel.ownership.tick(&kernel.poller, || kernel.help.is_held()).is_some(),
            Event::Rested => {
                is_resting = false;
                if kernel.ownership.rests() {
                    let turn = kernel.turn();
                    is_resting = kernel.rest(turn.to_come > 0);
                }
            }
            Event::Lost => {
                is_lost = true;
                kernel.fail_here("a rank is lost");
            }
            Event::Over => return,
        }
    }
}

/// Why the task is woken, which it is.
pub(super) fn reasons(wake: &TaskWake) -> Vec<Reason> {
    let mut reasons = pin!(wake.reasons());
    match reasons.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(reasons) => {
            let reasons: Vec<Reason> = reasons.collect();
            assert!(!reasons.is_empty(), "the task is woken for nothing");
            reasons
        }
        Poll::Pending => unreachable!("the task has been notified"),
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Event {
    TaskSet,
    Woken,
    Tick,
    Rested,
    Lost,
    Over,
}

/// Posts a read as [`super::super::Kernel`] does.
pub(super) fn initread(kernel: &Kernel, peer: usize, tag: u32) -> Arc<Completion> {
    post(kernel, OperationKind::Read, peer, tag)
}

/// Posts a write.
pub(super) fn initwrite(kernel: &Kernel, peer: usize) -> Arc<Completion> {
    post(kernel, OperationKind::Write, peer, 0)
}

impl HasCompletion for Arc<Completion> {
    fn completion(&self) -> &Completion {
        self
    }
}

fn post(kernel: &Kernel, kind: OperationKind, peer: usize, tag: u32) -> Arc<Completion> {
    kernel.ownership.program_enters(kernel.clock.now());
    let mut core = kernel.lock();
    let op: OpId = match kind {
        OperationKind::Read => core.engine.initread(peer, tag),
        _ => core.initwrite(peer),
    };
    let operation = Operation::new(kind, kernel.rank, Rank(peer as u32), Some(Tag(tag)), 1);
    let completion = Arc::new(Completion::new(operation, op, MatchKey::user(Tag(tag))));
    core.expect(completion.clone());
    let may_move = kernel.task_may_move();
    // Whether a write waits for others is left to chance.
    let gathers = may_move && kind == OperationKind::Write && machine::once_in(3);
    if may_move && !gathers {
        core.flush();
    } else {
        core.hand_on();
    }
    kernel.unlock(core);
    if gathers {
        kernel.wake.because(Reason::Gathered);
    }
    completion
}

/// Begins a relay, as [`super::super::Kernel`] begins a collective.
pub(super) fn initrelay(kernel: &Kernel, from: usize, tag: u32, to: usize) -> Arc<Completion> {
    begin_relay(kernel, (from, tag, to), false)
}

/// Begins a relay and waits for it, as a blocking call does.
pub(super) fn relay(kernel: &Kernel, from: usize, tag: u32, to: usize) {
    let relay = begin_relay(kernel, (from, tag, to), true);
    wait(kernel, relay).expect("nothing fails");
}

fn begin_relay(kernel: &Kernel, (from, tag, to): (usize, u32, usize), waits: bool) -> Arc<Completion> {
    kernel.ownership.program_enters(kernel.clock.now());
    let mut core = kernel.lock();
    let op = core.relay(from, tag, to);
    let operation = Operation::new(OperationKind::Exchange, kernel.rank, kernel.rank, None, 1);
    let of = OfCollective::new([Rank(from as u32), Rank(to as u32)].into(), Chosen::Nothing);
    let completion = Arc::new(Completion::of_collective(operation, op, of));
    core.expect(completion.clone());
    // Whether what it writes waits for others is left to chance.
    let gathers = kernel.task_may_move() && machine::once_in(3);
    let core = kernel.begin_collective(core, op, gathers);
    kernel.leave_begun(core, &completion, waits);
    if gathers {
        kernel.wake.because(Reason::Gathered);
    }
    completion
}

/// Writes to the own node, which completes the read of `tag` from `peer` at once.
pub(super) fn write_own(kernel: &Kernel, peer: usize, tag: u32) {
    kernel.ownership.program_enters(kernel.clock.now());
    let mut core = kernel.lock();
    core.engine.received(peer, tag);
    core.flush();
    kernel.unlock(core);
}

/// Waits, and takes the outcome.
pub(super) fn wait(kernel: &Kernel, completion: Arc<Completion>) -> Result<(), Error> {
    assert!(
        kernel.wait(&AnyOf::few(std::slice::from_ref(&completion)), None),
        "without a deadline a wait ends when it is met"
    );
    taken(&completion)
}

/// Waits for the first of two, takes its outcome and returns the other.
pub(super) fn wait_any(kernel: &Kernel, completions: [Arc<Completion>; 2]) -> Arc<Completion> {
    let ready = Arc::new(Ready::new());
    completions.iter().enumerate().for_each(|(at, completion)| _ = completion.join(&ready, at));
    let condition = match machine::once_in(2) {
        true => AnyMember::of_set(&completions, &ready),
        false => AnyMember::of_list(kernel, &completions, &ready),
    };
    assert!(kernel.wait(&condition, None), "one of them is complete");
    // One of a list may be seen to be complete before it says so.
    let told = ready.pop().map(|(_, told)| told).or_else(|| completions.iter().position(|one| one.is_done()));
    assert!(completions[told.expect("one is complete")].is_done(), "it is the one that has said so");
    let [first, second] = completions;
    let (done, other) = if first.is_done() { (first, second) } else { (second, first) };
    taken(&done).expect("nothing fails");
    other
}

/// Waits for at most `time`.
pub(super) fn wait_timeout(kernel: &Kernel, completion: &Arc<Completion>, time: Duration) -> bool {
    let deadline = Instant::now().after(time);
    let is_met = kernel.wait(&AnyOf::few(std::slice::from_ref(completion)), Some(deadline));
    machine::with(|state| state.timed_waits += 1);
    assert!(is_met || Instant::now() >= deadline, "a wait is given up before its time");
    assert!(!is_met || completion.is_done());
    is_met
}

/// Waits until all that was posted is over, as `finalize` does.
pub(super) fn drain(kernel: &Kernel) {
    assert!(kernel.wait(&Until(kernel, |core| core.engine.is_drained()), None));
}

/// Awaits, as an executor of one future does.
pub(super) fn block_on(kernel: &Kernel, completion: Arc<Completion>) {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut is_awaited = false;
    while completion.register(&waker) {
        if !is_awaited {
            is_awaited = true;
            kernel.begin_await();
        }
        thread::park_timeout(Duration::MAX / 2);
    }
    taken(&completion).expect("nothing fails");
    if is_awaited {
        kernel.end_await();
    }
}

/// Asks until it is complete, as a loop of `test` does.
pub(super) fn test(kernel: &Kernel, completion: Arc<Completion>) {
    while !completion.is_done() {
        kernel.poke();
        shuttle::thread::yield_now();
    }
    taken(&completion).expect("nothing fails");
}

fn taken(completion: &Completion) -> Result<(), Error> {
    assert!(completion.is_done());
    let outcome = completion.take().expect("an outcome is there");
    assert!(completion.take().is_none(), "an outcome is there once");
    match outcome {
        Outcome::Failed(failure) => Err(failure.error),
        Outcome::Abandoned(_) => unreachable!("nothing is withdrawn"),
        Outcome::Read(..) | Outcome::Written(_) | Outcome::Made(_) => Ok(()),
    }
}

/// A message comes, in one piece or two.
pub(super) fn arrive(peer: usize, tag: u32) {
    if machine::once_in(3) {
        machine::with(|state| state.epoll.arrives(peer, Piece { tag, is_last: false }));
    }
    machine::with(|state| state.epoll.arrives(peer, Piece { tag, is_last: true }));
}

/// Peer `peer` reads `messages`.
pub(super) fn make_room(peer: usize, messages: u32) {
    machine::with(|state| state.epoll.makes_room(peer, messages));
}

/// Waits until peer `peer` has heard so many messages.
pub(super) fn heard(peer: usize, messages: u32) {
    machine::sleep_until(|state| (state.epoll.sockets[peer].sent >= messages).then_some(()));
}

/// Waits until nothing is left in any socket.
pub(super) fn all_is_taken() {
    machine::sleep_until(|state| state.epoll.sockets.iter().all(|socket| socket.inbox.is_empty()).then_some(()));
}

/// Time passes when somebody sleeps for that, until so many waits with a deadline are over.
pub(super) fn pass_time(waits: u32) {
    let look = |state: &mut machine::State| {
        let is_over = state.timed_waits == waits;
        (is_over || state.pass_time()).then_some(is_over)
    };
    while !machine::sleep_until(look) {
        machine::with(|_| ());
    }
}
