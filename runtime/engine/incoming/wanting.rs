//! Asking a sender for messages that it may not even announce.
//!
//! While the sender holds such messages, each read of this link that waits asks for one of its key: it is `wanted`. So does one
//! read of any origin for all of its key, which is enough, since each message that comes lets the next one ask; else each
//! such read would have every sender announce one, of which all but one wait for nothing. A key that was asked for without a
//! read of this link stays in `asked` until the answer is here, so that it is not asked for again and again.
//!
//! The sender counts what it was asked for, and counts down by each message of the key, asked for or not. As long as this
//! side counts no more than is there, it never waits in vain; that is why a message that might have been an answer counts
//! as one, here as there.

use std::collections::VecDeque;

use super::Incoming;
use crate::engine::any::AnyReads;
use crate::engine::arriving::Posted;
use crate::engine::outgoing::Control;
use crate::wire::frame::MatchKey;

impl Incoming {
    /// The sender begins or ceases to hold messages.
    pub(in crate::engine) fn hold(&mut self, holding: bool, any: &AnyReads, control: &mut VecDeque<Control>) {
        self.holding = holding;
        if holding {
            let mut keys: Vec<MatchKey> = self.posted.iter().map(|(key, _)| key).chain(any.keys()).collect();
            keys.sort_unstable();
            keys.dedup();
            keys.into_iter().for_each(|key| self.ask(key, any, control));
        }
    }

    /// Whether the sender holds messages that it cannot announce.
    pub(in crate::engine) fn is_holding(&self) -> bool {
        self.holding
    }

    /// Asks for the messages of `key` that reads of this link or of any origin wait for.
    pub(in crate::engine) fn ask(&mut self, key: MatchKey, any: &AnyReads, control: &mut VecDeque<Control>) {
        self.want(key, control);
        if let Some(read) = any.front(key)
            && self.asked.insert(key)
        {
            self.wants += 1;
            control.push_back(Control::want(key, read.element, read.capacity));
        }
    }

    /// Whether a new read of `key` is asked for already, since one has gone that was.
    pub(super) fn takes_over_want(&mut self, key: MatchKey, any: &AnyReads) -> bool {
        any.front(key).is_none() && self.asked.remove(&key)
    }

    /// A message of `key` comes: takes the oldest read that waits for it.
    pub(super) fn take_read(&mut self, key: MatchKey, any: &mut AnyReads) -> Option<Posted> {
        // The way of most messages.
        if any.is_empty() && self.asked.is_empty() {
            return self.take_posted(key);
        }
        let read = self.take_oldest(key, any);
        let is_answer = read.as_ref().is_some_and(|read| read.wanted);
        if !is_answer && !self.asked.remove(&key) {
            // It may have been the answer to another read's want.
            let queue = self.posted.queue_mut(key);
            if let Some(read) = queue.and_then(|queue| queue.iter_mut().rev().find(|read| read.wanted)) {
                read.wanted = false;
            }
        }
        read
    }

    /// Takes the oldest read of `key`, of this link or of any origin.
    pub(super) fn take_oldest(&mut self, key: MatchKey, any: &mut AnyReads) -> Option<Posted> {
        let own = self.posted.front(key).map(|read| read.op);
        let is_of_any = any.front(key).is_some_and(|read| own.is_none_or(|own| read.op < own));
        if !is_of_any {
            return self.take_posted(key);
        }
        self.any_taken = any.count();
        any.take(key)
    }

    /// Whether a message of `key` has come that no read has met.
    pub(in crate::engine) fn has_arrived(&self, key: MatchKey) -> bool {
        self.arrived.contains_key(&key)
    }
}
