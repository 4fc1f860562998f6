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

use std::fmt;
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
}

/// Who owns a node's collectives.
#[derive(Default)]
pub(super) struct Callers(Mutex<State>);

#[derive(Default)]
struct State {
    /// The thread that has called `init`.
    initial: Option<Caller>,
    owner: Option<Caller>,
    /// Calls that last: nested ones too, as a blocking call contains one that does not block.
    calls: usize,
    /// The program has declared that it orders the calls of its threads itself.
    is_serialized: bool,
}

#[derive(Clone)]
enum Caller {
    Task(tokio::task::Id),
    Thread { id: ThreadId, name: Option<Arc<str>>, alive: Weak<()> },
}

/// Why a call is refused.
enum Refusal {
    /// Another call lasts.
    Overlap(Caller),
    /// The owner goes on.
    Owned(Caller),
}

/// A call of a collective, as long as it lasts.
pub(crate) struct CollectiveCall<'a>(&'a Callers);

impl Callers {
    /// The calling thread has called `init`.
    pub(super) fn begin(&self) {
        self.0.lock().initial = Some(Caller::current());
    }

    /// From now on the program orders the calls of several threads itself.
    pub(super) fn declare_serialized(&self) {
        self.0.lock().is_serialized = true;
    }

    /// The caller calls a collective; until what is returned is dropped nobody else may.
    ///
    /// # Errors
    /// Why the call is in no order with others, in words.
    pub(super) fn enter(&self) -> Result<CollectiveCall<'_>, String> {
        if self.0.lock().admit_owner() {
            return Ok(CollectiveCall(self));
        }
        let caller = Caller::current();
        for moment in 0.. {
            match self.0.lock().admit(&caller) {
                Ok(()) => return Ok(CollectiveCall(self)),
                Err(Refusal::Owned(Caller::Thread { .. })) if moment < MOMENTS => {}
                Err(refusal) => return Err(refusal.words(&caller)),
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        unreachable!("the last moment returns")
    }
}

impl State {
    /// [`State::admit`] for the owner, which most calls are of: nothing has to be known of it but that.
    fn admit_owner(&mut self) -> bool {
        let is_owner = match &self.owner {
            Some(Caller::Task(id)) => tokio::task::try_id().as_ref() == Some(id),
            Some(Caller::Thread { id, .. }) => tokio::task::try_id().is_none() && std::thread::current().id() == *id,
            None => false,
        };
        self.calls += usize::from(is_owner);
        is_owner
    }

    fn admit(&mut self, caller: &Caller) -> Result<(), Refusal> {
        if let Some(owner) = self.owner.as_ref().filter(|owner| *owner != caller) {
            if self.calls > 0 {
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
        self.calls += 1;
        Ok(())
    }
}

impl Drop for CollectiveCall<'_> {
    fn drop(&mut self) {
        self.0.0.lock().calls -= 1;
    }
}

impl Caller {
    fn current() -> Self {
        if let Some(id) = tokio::task::try_id() {
            return Caller::Task(id);
        }
        let thread = std::thread::current();
        // While a thread ends its locals are gone.
        let alive = ALIVE.try_with(Arc::downgrade).unwrap_or_default();
        Caller::Thread { id: thread.id(), name: thread.name().map(Into::into), alive }
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
            (Caller::Thread { id: one, .. }, Caller::Thread { id: other, .. }) => one == other,
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
