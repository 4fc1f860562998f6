//! What a part that has run leaves: its messages are posted, and its end is told.

use std::time::Duration;

use super::part::{End, Job, Post};
use super::{Collectives, Finished, Traffic};
use crate::engine::{Engine, Outcome};
use crate::error::Error;

impl Collectives {
    /// Puts a part back that has run, and posts what it has made ready.
    pub(crate) fn put_back(&mut self, engine: &mut Engine, now: Duration, job: Job) {
        let Job { op, part, posts, start, end, .. } = job;
        if let Some(start) = start {
            return self.begin_deferred(engine, now, op, start);
        }
        if engine.is_leaving() && self.is_exchange(op) {
            self.spent.push(part);
            return self.give_up_exchange(engine, now, Error::Shutdown { rank: self.rank });
        }
        let Some(entry) = self.entries.get_mut(&op) else { return self.spent.push(part) };
        let (key, can_go_on, members) = (entry.key, part.can_go_on(), part.members.clone());
        entry.part = Some(part);
        for post in posts {
            let (step, peer, is_read, posted) = match post {
                Post::Read { step, from, element, place } => {
                    let from = members.rank(from);
                    (step, from, true, engine.initread(now, from, key, element, place).map_err(Error::from))
                }
                Post::Write { step, to, element, source } => {
                    let (to, key) = (members.rank(to), key.in_group(members.number(to)));
                    let bytes = source.bytes().len() as u64;
                    let posted = engine.initwrite(now, to, key, element, source).map_err(Error::from);
                    if let Ok(message) = posted {
                        self.traffic.push(Traffic::Sent { op: message, whole: op, to, bytes });
                    }
                    (step, to, false, posted)
                }
            };
            match posted {
                Ok(message) => {
                    self.steps.insert(message, (op, step));
                    if let Some(entry) = self.entries.get_mut(&op) {
                        entry.under_way.insert(message, (peer, is_read));
                    }
                }
                Err(error) => return self.failures.push((op, error)),
            }
        }
        match end {
            Some(End::Result(result)) => {
                if let Some(entry) = self.entries.get(&op)
                    && let Some(timed) = &entry.timed
                {
                    timed.took(now.saturating_sub(entry.began));
                }
                self.end(op, Outcome::Read(Box::new(Finished(result)), None));
            }
            Some(End::Failed(words)) => self.fail_here(engine, now, op, words),
            None if can_go_on => self.make_due(op),
            None => self.make_due_if_ended(op),
        }
    }
}
