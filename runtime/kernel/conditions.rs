//! What a thread can wait for.

use std::task::Waker;

use super::Kernel;
use super::completion::Completion;
use super::core::Core;
use super::helper::{Condition, HasCompletion};
use super::ready::Ready;

/// Waits for any of a few operations, of whatever nodes.
pub(crate) struct AnyOf<'a, S>(&'a [S]);

impl<'a, S: HasCompletion> AnyOf<'a, S> {
    pub(crate) fn few(of: &'a [S]) -> Self {
        AnyOf(of)
    }

    fn is_any_done(&self) -> bool {
        self.0.iter().any(|one| one.completion().is_done())
    }
}

impl<S: HasCompletion> Condition for AnyOf<'_, S> {
    fn is_met(&self, _: &mut Core) -> bool {
        self.is_any_done()
    }
    fn is_met_outside(&self) -> bool {
        self.is_any_done()
    }
    fn register(&self, waker: &Waker) {
        // One that is complete already is seen by `is_met_outside`.
        self.0.iter().for_each(|one| _ = one.completion().register(waker));
    }
    fn unregister(&self, _: &Waker) {
        self.0.iter().for_each(|one| one.completion().unregister());
    }
    fn completion(&self, index: usize) -> Option<&Completion> {
        self.0.get(index).map(HasCompletion::completion)
    }
}

/// Waits for any member of a set: they say themselves that they are complete.
pub(crate) struct AnyMember<'a, S> {
    of: &'a [S],
    ready: &'a Ready,
    /// The node of them all, if some may be no members: then they are looked through when something else is complete there.
    node: Option<&'a Kernel>,
}

impl<'a, S: HasCompletion> AnyMember<'a, S> {
    /// All are members.
    pub(crate) fn of_set(of: &'a [S], ready: &'a Ready) -> Self {
        AnyMember { of, ready, node: None }
    }

    /// All are operations of `node`, most are members.
    pub(crate) fn of_list(node: &'a Kernel, of: &'a [S], ready: &'a Ready) -> Self {
        AnyMember { of, ready, node: Some(node) }
    }
}

impl<S: HasCompletion> Condition for AnyMember<'_, S> {
    fn is_met(&self, core: &mut Core) -> bool {
        if !self.ready.is_empty() {
            return true;
        }
        if self.node.is_none() || !self.ready.has_others(core.completed_count) {
            return false;
        }
        let is_met = self.of.iter().any(|one| one.completion().is_done());
        if !is_met {
            self.ready.knows_others(core.completed_count);
        }
        is_met
    }
    fn is_met_outside(&self) -> bool {
        match self.node {
            Some(node) => self.is_met(&mut node.lock()),
            None => !self.ready.is_empty(),
        }
    }
    fn register(&self, waker: &Waker) {
        self.ready.register(waker);
        if let Some(node) = self.node {
            node.lock().watchers.push(waker.clone());
        }
    }
    fn unregister(&self, waker: &Waker) {
        self.ready.unregister();
        if let Some(node) = self.node {
            node.lock().watchers.retain(|watcher| !watcher.will_wake(waker));
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
