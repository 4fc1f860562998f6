//! Who calls a node's collectives: one thread, or one task, at a time.
//!
//! Ranks match collectives by the order in which they are called. Where two threads of a rank call them and nothing
//! orders the calls, ranks match them differently; if the calls are alike, their results are mixed up and nothing
//! shows it. What can be seen from within one rank is who calls. So the collectives of a node have an *owner*: the thread, or
//! the tokio task, that has called the last one. Another takes over only where the calls are ordered:
//!
//! - the owner is a thread that has ended;
//! - the owner is the thread that has called `init`, which may have started the other and waits for its end before it
//!   calls again;
//! - the program has declared that it orders the calls itself ([`Callers::declare_serialized`]).
//!
//! Nobody takes over while a call lasts: two calls at a time are in no order.

use std::cell::Cell;
use std::fmt;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::thread::ThreadId;
use std::time::Duration;

use parking_lot::Mutex;

/// A thread that ends has left its closure, and may have been waited for, before its thread-local data is gone. So it is
/// given this many moments of a millisecond before it counts as one that goes on.
const MOMENTS: u32 = 200;

thread_local! {
    /// Dropped when the thread ends, which a `Weak` can see.
    static ALIVE: Arc<()> = Arc::new(());
    /// What the thread is known by; 0 before it has called. No two have the same.
    static KEY: Cell<u64> = const { Cell::new(0) };
}

/// The last key that was given away.
static KEYS: AtomicU64 = AtomicU64::new(0);

/// Who owns a node's collectives.
#[derive(Default)]
pub(super) struct Callers {
    state: Mutex<State>,
    /// The key of the owner, if it is a thread, so that it need not lock. Changes with the lock held.
    owner: AtomicU64,
    /// Calls that last: nested ones too, as a blocking call contains one that does not block.
    calls: AtomicUsize,
    /// The same, but for those that are not admitted yet: only who is admitted reads and writes it.
    admitted: AtomicUsize,
}

#[derive(Default)]
struct State {
    /// The thread that has called `init`.
    initial: Option<Caller>,
    owner: Option<Caller>,
    /// The program has declared that it orders the calls of its threads itself.
    is_serialized: bool,
}

#[derive(Clone)]
enum Caller {
    Task(tokio::task::Id),
    Thread { key: u64, id: ThreadId, name: Option<Arc<str>>, alive: Weak<()> },
}

/// Why a call is refused.
enum Refusal {
    /// Another call lasts.
    Overlap(Caller),
    /// The owner goes on.
    Owned(Caller),
}

/// A call of a collective, as long as it lasts.
pub(crate) struct CollectiveCall<'a> {
    callers: &'a Callers,
    /// It is made within another: a blocking call, which waits for it at once.
    pub(crate) is_nested: bool,
}

impl Callers {
    /// The calling thread has called `init`.
    pub(super) fn begin(&self) {
        self.state.lock().initial = Some(Caller::current());
    }

    /// From now on the program orders the calls of several threads itself.
    pub(super) fn declare_serialized(&self) {
        self.state.lock().is_serialized = true;
    }

    /// The caller calls a collective; until what is returned is dropped nobody else may.
    ///
    /// # Errors
    /// Why the call is in no order with others, in words.
    pub(super) fn enter(&self) -> Result<CollectiveCall<'_>, String> {
        if self.enter_as_owner() {
            return Ok(CollectiveCall::new(self));
        }
        let caller = Caller::current();
        for moment in 0.. {
            match self.admit(&caller) {
                Ok(()) => return Ok(CollectiveCall::new(self)),
                Err(Refusal::Owned(Caller::Thread { .. })) if moment < MOMENTS => {}
                Err(refusal) => return Err(refusal.words(&caller)),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        unreachable!("the last moment returns")
    }

    /// [`Callers::admit`] for a thread that is the owner, as most calls are by: nothing has to be known of it but that.
    fn enter_as_owner(&self) -> bool {
        let key = key();
        if self.owner.load(Ordering::Relaxed) != key || tokio::task::try_id().is_some() {
            return false;
        }
        self.calls.fetch_add(1, Ordering::SeqCst);
        // Who takes over says so before it looks for calls; so one of the two sees the other.
        let is_owner = self.owner.load(Ordering::SeqCst) == key;
        if !is_owner {
            self.calls.fetch_sub(1, Ordering::SeqCst);
        }
        is_owner
    }

    fn admit(&self, caller: &Caller) -> Result<(), Refusal> {
        let mut state = self.state.lock();
        // From here on nobody else enters without the lock.
        self.owner.store(0, Ordering::SeqCst);
        let admitted = state.admit(caller, self.calls.load(Ordering::SeqCst));
        self.calls.fetch_add(usize::from(admitted.is_ok()), Ordering::SeqCst);
        self.owner.store(state.owner.as_ref().map_or(0, Caller::key), Ordering::SeqCst);
        admitted
    }
}

impl State {
    /// `calls` last.
    fn admit(&mut self, caller: &Caller, calls: usize) -> Result<(), Refusal> {
        if let Some(owner) = self.owner.as_ref().filter(|owner| *owner != caller) {
            if calls > 0 {
                return Err(Refusal::Overlap(owner.clone()));
            }
            let from_initial = self.initial.as_ref() == Some(owner);
            if owner.goes_on() && !from_initial && !self.is_serialized {
                return Err(Refusal::Owned(owner.clone()));
            }
        }
        if self.owner.as_ref() != Some(caller) {
            self.owner = Some(caller.clone());
        }
        Ok(())
    }
}

impl<'a> CollectiveCall<'a> {
    /// The caller is admitted.
    fn new(callers: &'a Callers) -> Self {
        let before = callers.admitted.load(Ordering::Relaxed);
        callers.admitted.store(before + 1, Ordering::Relaxed);
        CollectiveCall { callers, is_nested: before > 0 }
    }
}

impl Drop for CollectiveCall<'_> {
    fn drop(&mut self) {
        self.callers.admitted.store(self.callers.admitted.load(Ordering::Relaxed) - 1, Ordering::Relaxed);
        self.callers.calls.fetch_sub(1, Ordering::SeqCst);
    }
}

/// What the calling thread is known by.
fn key() -> u64 {
    KEY.with(|own| {
        if own.get() == 0 {
            own.set(KEYS.fetch_add(1, Ordering::Relaxed) + 1);
        }
        own.get()
    })
}

impl Caller {
    fn current() -> Self {
        if let Some(id) = tokio::task::try_id() {
            return Caller::Task(id);
        }
        let thread = std::thread::current();
        // While a thread ends its locals are gone.
        let alive = ALIVE.try_with(Arc::downgrade).unwrap_or_default();
        Caller::Thread { key: key(), id: thread.id(), name: thread.name().map(Into::into), alive }
    }

    /// A thread's; a task has none.
    fn key(&self) -> u64 {
        match self {
            Caller::Task(_) => 0,
            Caller::Thread { key, .. } => *key,
        }
    }

    /// Whether it may call again. Of tasks nobody can tell.
    fn goes_on(&self) -> bool {
        match self {
            Caller::Task(_) => true,
            Caller::Thread { alive, .. } => alive.strong_count() > 0,
        }
    }
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Caller::Task(one), Caller::Task(other)) => one == other,
            (Caller::Thread { key: one, .. }, Caller::Thread { key: other, .. }) => one == other,
            _ => false,
        }
    }
}

impl fmt::Display for Caller {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Caller::Task(id) => write!(f, "task {id}"),
            Caller::Thread { name: Some(name), .. } => write!(f, "thread {name:?}"),
            Caller::Thread { id, .. } => write!(f, "{id:?}"),
        }
    }
}

impl Refusal {
    fn words(&self, caller: &Caller) -> String {
        match self {
            Refusal::Overlap(owner) => {
                format!("{caller} has called a collective while {owner} was in a call of another")
            }
            Refusal::Owned(owner) => format!(
                "{caller} has called a collective after {owner}, which goes on, so nothing shows that the program \
                 orders their calls"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// Threads that take over from each other as fast as they can: two are never in a call at a time, and who is refused is so for an
    /// overlap.
    #[test]
    fn two_threads_are_never_in_calls_at_a_time() {
        const THREADS: u64 = 4;
        let (callers, inside, begin) = (Callers::default(), AtomicU64::new(0), Barrier::new(THREADS as usize));
        callers.declare_serialized();
        let calls = |own: u64| {
            begin.wait();
            let mut admitted = 0u64;
            for _ in 0..100_000 {
                match callers.enter() {
                    Ok(call) => {
                        let before = inside.swap(own, Ordering::SeqCst);
                        let nested = !call.is_nested && callers.enter().is_ok_and(|call| call.is_nested);
                        let after = inside.swap(0, Ordering::SeqCst);
                        assert!((before, after) == (0, own) && nested, "{before} and {after} beside {own}, {nested}");
                        drop(call);
                        admitted += 1;
                    }
                    Err(words) => assert!(words.contains("while"), "{words}"),
                }
            }
            admitted
        };
        let admitted: u64 = std::thread::scope(|scope| {
            let threads: Vec<_> = (1..=THREADS).map(|own| scope.spawn(move || calls(own))).collect();
            threads.into_iter().map(|thread| thread.join().expect("its calls are alone")).sum()
        });
        assert!(admitted > 0 && callers.calls.load(Ordering::SeqCst) == 0);
    }
}
