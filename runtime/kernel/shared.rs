//! A completion that a handle and the kernel share. Its memory is used again: where many short messages are under way, getting and
//! giving back memory is a good part of what each costs.

use std::cell::RefCell;
use std::ops::Deref;
use std::sync::Arc;

use super::completion::Completion;

/// So many are kept by each thread; a program that has more under way gets memory for them.
const SPARE_MAX: usize = 1024;

thread_local! {
    /// Of operations that are over: nobody shares them, and they hold nothing.
    static SPARE: RefCell<Vec<Arc<Completion>>> = const { RefCell::new(Vec::new()) };
}

/// Shares a completion. Whoever is the last gives its memory back.
#[derive(Clone)]
pub(crate) struct SharedCompletion(Option<Arc<Completion>>);

impl SharedCompletion {
    pub(crate) fn new(completion: Completion) -> Self {
        // A thread that ends has none.
        let spare = SPARE.try_with(|spare| spare.borrow_mut().pop()).ok().flatten();
        if let Some(mut spare) = spare
            && let Some(place) = Arc::get_mut(&mut spare)
        {
            *place = completion;
            return SharedCompletion(Some(spare));
        }
        SharedCompletion(Some(Arc::new(completion)))
    }
}

impl Deref for SharedCompletion {
    type Target = Completion;

    fn deref(&self) -> &Completion {
        self.0.as_ref().expect("it is shared until it is dropped")
    }
}

impl Drop for SharedCompletion {
    fn drop(&mut self) {
        let Some(mut last) = self.0.take() else { return };
        // Mostly it is seen at once that somebody else has it.
        if Arc::strong_count(&last) == 1 && Arc::get_mut(&mut last).is_some_and(Completion::clear) {
            let keep = |spare: &RefCell<Vec<_>>| {
                let mut spare = spare.borrow_mut();
                if spare.len() < SPARE_MAX {
                    spare.push(last);
                }
            };
            let _ = SPARE.try_with(keep);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::{OpId, Outcome, Written};
    use crate::ids::{Rank, Tag};
    use crate::kernel::completion::{Chosen, OfCollective};
    use crate::operation::{Operation, OperationKind};
    use crate::wire::frame::MatchKey;

    fn new(op: u64) -> SharedCompletion {
        let operation = Operation::new(OperationKind::Write, Rank(0), Rank(1), Some(Tag(2)), 8);
        SharedCompletion::new(Completion::new(operation, OpId(op), MatchKey::user(Tag(2))))
    }

    fn address(shared: &SharedCompletion) -> *const Completion {
        &raw const **shared
    }

    fn complete(shared: &SharedCompletion) {
        assert!(shared.complete(Outcome::Written(Written::whole(Box::new(vec![7u8; 8])))).1.is_none());
    }

    #[test]
    fn memory_is_used_again_when_the_last_has_gone_and_as_new() {
        let (first, place) = (new(1), address(&new(0)));
        assert_ne!(address(&first), place);
        let others = first.clone();
        complete(&first);
        assert!(first.take().is_some());
        let place = address(&first);
        drop(first);
        assert_ne!(address(&new(2)), place, "somebody has it");
        drop(others);
        let again = new(3);
        assert_eq!(address(&again), place);
        assert!(again.op == OpId(3) && !again.is_done() && again.take().is_none());
        complete(&again);
        assert!(again.is_done() && again.take().is_some());
    }

    #[test]
    fn what_holds_something_is_dropped() {
        let buffer: Arc<[u8]> = [0u8; 8].into();
        let shared = new(1);
        shared.complete(Outcome::Written(Written::whole(Box::new(buffer.clone()))));
        drop(shared);
        assert_eq!(Arc::strong_count(&buffer), 1);
    }

    #[test]
    fn a_collectives_memory_is_used_again_and_its_ranks_are_let_go() {
        let peers: Arc<[Rank]> = [Rank(1)].into();
        let of = OfCollective::new(peers.clone(), Chosen::Nothing);
        let operation = Operation::new(OperationKind::Write, Rank(0), Rank(1), None, 8);
        let shared = SharedCompletion::new(Completion::of_collective(operation, OpId(1), of));
        let place = address(&shared);
        shared.complete(Outcome::Made(Box::new(())));
        assert!(shared.take().is_some() && Arc::strong_count(&peers) == 2);
        drop(shared);
        assert_eq!(Arc::strong_count(&peers), 1);
        let again = new(2);
        assert!(address(&again) == place && !again.is_collective());
    }

    #[test]
    fn the_thread_that_is_the_last_uses_it() {
        let shared = new(1);
        complete(&shared);
        assert!(shared.take().is_some());
        let thread = std::thread::spawn(move || {
            let place = address(&shared);
            drop(shared);
            assert_eq!(address(&new(2)), place, "the thread that was the last has it");
        });
        thread.join().unwrap();
    }
}
