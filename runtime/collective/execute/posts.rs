//! What a part that has run leaves: its messages are posted, and its end is told.

use std::time::Duration;

use super::part::{End, Job, Part, Post};
use super::{Collectives, Finished, Step, Traffic};
use crate::engine::{Engine, Outcome};
use crate::error::Error;

impl Collectives {
    /// Puts a part back that has run, and posts what it has made ready.
    pub(crate) fn put_back(&mut self, engine: &mut Engine, now: Duration, job: Job) {
        let Job { op, mut part, start, end } = job;
        if let Some(start) = start {
            return self.begin_deferred(engine, now, op, start);
        }
        if engine.is_leaving() && self.is_exchange(op) {
            self.spent.push(part);
            return self.give_up_exchange(engine, now, Error::Shutdown { rank: self.rank });
        }
        let Some(entry) = self.entries.get_mut(&op) else { return self.spent.push(part) };
        entry.moved = now;
        let (key, can_go_on) = (entry.key, part.can_go_on());
        let Part { posts, members, .. } = &mut *part;
        let mut failure = None;
        for post in posts.drain(..) {
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
                        self.traffic.push_back(Traffic::Sent { op: message, whole: op, to, bytes });
                    }
                    (step, to, false, posted)
                }
            };
            match posted {
                Ok(message) => _ = self.steps.insert(message, Step { whole: op, step, peer, is_read }),
                Err(error) => {
                    failure = Some(error);
                    break;
                }
            }
        }
        entry.part = Some(part);
        if let Some(error) = failure {
            return self.failures.push((op, error));
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
