//! What a thread can wait for.

use std::cell::Cell;
use std::task::Waker;

use super::Kernel;
use super::completion::Completion;
use super::core::Core;
use super::helper::{Condition, HasCompletion};

/// Waits for any of some operations.
pub(crate) struct AnyOf<'a, S> {
    of: &'a [S],
    /// The node whose operations they are, if they are many: what it completes is counted, and they are looked through
    /// only when that has changed.
    node: Option<&'a Kernel>,
    /// The count at which none of them was complete.
    none_at: Cell<u64>,
}

impl<'a, S: HasCompletion> AnyOf<'a, S> {
    /// A few, of whatever nodes.
    pub(crate) fn few(of: &'a [S]) -> Self {
        AnyOf { of, node: None, none_at: Cell::new(0) }
    }

    /// Any number, all of `node`.
    pub(crate) fn many(node: &'a Kernel, of: &'a [S]) -> Self {
        AnyOf { of, node: Some(node), none_at: Cell::new(0) }
    }

    fn is_any_done(&self) -> bool {
        self.of.iter().any(|one| one.completion().is_done())
    }
}

impl<S: HasCompletion> Condition for AnyOf<'_, S> {
    fn is_met(&self, core: &mut Core) -> bool {
        let is_met = (self.node.is_none() || self.none_at.get() != core.completed_count) && self.is_any_done();
        if !is_met {
            self.none_at.set(core.completed_count);
        }
        is_met
    }
    fn is_met_outside(&self) -> bool {
        match self.node {
            Some(node) => self.is_met(&mut node.lock()),
            None => self.is_any_done(),
        }
    }
    fn register(&self, waker: &Waker) {
        match self.node {
            Some(node) => node.lock().watchers.push(waker.clone()),
            // One that is complete already is seen by `is_met_outside`.
            None => self.of.iter().for_each(|one| _ = one.completion().register(waker)),
        }
    }
    fn unregister(&self, waker: &Waker) {
        match self.node {
            Some(node) => node.lock().watchers.retain(|watcher| !watcher.will_wake(waker)),
            None => self.of.iter().for_each(|one| one.completion().unregister()),
        }
    }
    fn completion(&self, index: usize) -> Option<&Completion> {
        self.of.get(index).map(HasCompletion::completion)
    }
}

/// Waits for something only the core knows. One thread at a time may wait so: the one that ends the node.
pub(crate) struct Until<'a, F: Fn(&mut Core) -> bool>(pub(crate) &'a Kernel, pub(crate) F);

impl<F: Fn(&mut Core) -> bool> Condition for Until<'_, F> {
    fn is_met(&self, core: &mut Core) -> bool {
        (self.1)(core)
    }
    fn is_met_outside(&self) -> bool {
        // Not unlocked as one who has changed something: that would wake this very thread.
        (self.1)(&mut self.0.lock())
    }
    fn register(&self, waker: &Waker) {
        self.0.lock().onlooker = Some(waker.clone());
    }
    fn unregister(&self, _: &Waker) {
        self.0.lock().onlooker = None;
    }
    fn completion(&self, _: usize) -> Option<&Completion> {
        None
    }
}
