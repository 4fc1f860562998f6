//! What a part that has run leaves: its messages are posted, and its end is told.

use std::time::Duration;

use super::part::{End, Job, Part, Post};
use super::{Collectives, Step, Traffic};
use crate::buffer::copied::Copied;
use crate::buffer::{ElementType, SendBuffer};
use crate::engine::{COPY_BYTES_MAX, Engine, OpId, Outcome, Written};
use crate::error::Error;
use crate::ids::Rank;
use crate::wire::frame::MatchKey;

/// The most messages under way among which the next is searched for: a search among more costs more than a look at a socket.
const SEARCHED_MAX: usize = 64;

/// Where more messages than this are ready none is sent before it is posted: taking one out moves all behind it.
const SENT_AT_ONCE_MAX: usize = 16;

impl Collectives {
    /// The first message that a part which has run is to send, if it is short: whoever can send it at once does so before the part is put back, and
    /// says so ([`Collectives::has_left`]). None of an exchange of observations, which may be given up instead.
    pub(crate) fn first_write<'a>(
        &self,
        job: &'a Job,
    ) -> Option<(Rank, MatchKey, ElementType, &'a (dyn SendBuffer + 'static))> {
        let Part { posts, members, .. } = &*job.part;
        let (to, element, source) = posts.iter().find_map(|post| match post {
            Post::Write { to, element, source, .. } => Some((*to, *element, &**source)),
            Post::Read { .. } => None,
        })?;
        if job.start.is_some() || posts.len() > SENT_AT_ONCE_MAX || self.is_exchange(job.op) {
            return None;
        }
        let key = self.entries.get(job.op)?.key.in_group(members.number(to));
        (source.bytes().len() <= COPY_BYTES_MAX).then_some((members.rank(to), key, element, source))
    }

    /// [`Collectives::first_write`] has left, as the message `op`: its step has ended.
    pub(crate) fn has_left(&mut self, job: &mut Job, op: OpId) {
        let part = &mut *job.part;
        let Some(at) = part.posts.iter().position(|post| matches!(post, Post::Write { .. })) else { return };
        if let Post::Write { step, to, source, .. } = part.posts.remove(at) {
            let (to, bytes) = (part.members.rank(to), source.bytes().len() as u64);
            self.traffic.push_back(Traffic::Sent { op, whole: job.op, to, bytes });
            part.end(step, Outcome::Written(Written::whole(source)), &mut |_, _| ());
        }
    }

    /// The short messages that a part which has run is to send, as long as a link is sure to take each: they are copied and posted, and their
    /// steps have ended, since the next message may leave with them.
    pub(crate) fn copy_writes(&mut self, engine: &mut Engine, now: Duration, job: &mut Job) {
        while let Some((to, key, element, source)) = self.first_write(job) {
            let bytes = source.bytes();
            if !engine.takes_at_once(to, bytes.len() as u64) {
                return;
            }
            // What fails here fails again when the part is put back.
            let Ok(op) = engine.initwrite(now, to, key, element, Box::new(Copied::new(bytes))) else { return };
            self.has_left(job, op);
        }
    }

    /// Puts a part back that has run, and posts what it has made ready.
    pub(crate) fn put_back(&mut self, engine: &mut Engine, now: Duration, job: Job) {
        let Job { op, mut part, start, end } = job;
        if let Some(start) = start {
            return self.begin_deferred(engine, now, op, *start);
        }
        if engine.is_leaving() && self.is_exchange(op) {
            self.spent.push(part);
            return self.give_up_exchange(engine, now, Error::Shutdown { rank: self.rank });
        }
        let Some(entry) = self.entries.get_mut(op) else { return self.spent.push(part) };
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
                Ok(message) => self.steps.insert(message, Step { whole: op, step, peer, is_read }),
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
                if let Some(entry) = self.entries.get(op)
                    && let Some(timed) = &entry.timed
                {
                    timed.took(now.saturating_sub(entry.began));
                }
                self.end(op, Outcome::Made(result));
            }
            Some(End::Failed(words)) => self.fail_here(engine, now, op, words),
            None if can_go_on => self.make_due(op),
            None => self.make_due_if_ended(op),
        }
    }

    /// Whether the collective of `job` was called at `time`.
    pub(crate) fn has_begun_at(&self, job: &Job, time: Duration) -> bool {
        self.entries.get(job.op).is_some_and(|entry| entry.began == time)
    }

    /// The rank whose message the collective `whole` needs next, in the order of its schedule; those that others have sent
    /// meanwhile carry it no further. Not told where many messages are under way.
    pub(crate) fn next_sender(&self, whole: OpId) -> Option<Rank> {
        if self.steps.len() > SEARCHED_MAX {
            return None;
        }
        let reads = self.steps.values().filter(|step| step.whole == whole && step.is_read);
        reads.min_by_key(|step| step.step).map(|step| step.peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::Element;
    use crate::collective::execute::{Start, Typed};
    use crate::collective::schedule::Schedule;
    use crate::collective::{Blocks, Operator, Prepared, allgather, allreduce, barrier};
    use crate::engine::{Completed, Limits, Origin};

    const SIZE: u32 = 8;

    /// Rank 0 of eight, which has begun this schedule.
    fn begun(schedule: Schedule) -> (Engine, Collectives, OpId) {
        let limits = Limits { window_bytes: 1 << 20, envelopes_max: 1024, fragment_bytes: 4096 };
        let mut engine = Engine::new(Rank(0), &[limits; SIZE as usize]);
        let mut collectives = Collectives::new(Rank(0), SIZE);
        let schedule: std::sync::Arc<Prepared> = schedule.into();
        let output = vec![0u64; SIZE as usize];
        let work = Box::new(Typed::new(&schedule, Vec::new(), output, None, |_, all: Vec<u64>| all));
        let start = Start { group: 0, schedule, signature: None, work, timed: None };
        let whole = collectives.start(&mut engine, Duration::ZERO, start).expect("nothing has failed");
        assert_eq!(collectives.next_sender(whole), None, "nothing is posted");
        run(&mut engine, &mut collectives);
        (engine, collectives, whole)
    }

    fn run(engine: &mut Engine, collectives: &mut Collectives) {
        let mut job = collectives.take_due().expect("it can go on");
        job.run(|| Duration::ZERO, &mut |_, _| ());
        collectives.put_back(engine, Duration::ZERO, job);
    }

    /// What `from` sends has come.
    fn comes(engine: &mut Engine, collectives: &mut Collectives, from: Rank, message: Vec<u64>) {
        let (op, _) = collectives.steps.iter().find(|(_, step)| step.is_read && step.peer == from).expect("a read");
        let origin = Origin { from, message_id: 0, element: u64::TYPE };
        let completion = Completed { op, outcome: Outcome::Read(Box::new(message), origin) };
        assert!(collectives.complete(engine, || Duration::ZERO, completion).is_none(), "it is a step's");
    }

    /// Of eight ranks' rounds the first comes first, whichever message comes first.
    #[test]
    fn the_next_sender_is_that_of_the_first_round_that_is_missing() {
        let schedule = allgather::doubling::schedule(Rank(0), SIZE, &Blocks::Equal(1));
        let (mut engine, mut collectives, whole) = begun(schedule);
        for (from, next) in [(Rank(2), Some(Rank(1))), (Rank(1), Some(Rank(4))), (Rank(4), None)] {
            comes(&mut engine, &mut collectives, from, vec![0]);
            assert_eq!(collectives.next_sender(whole), next, "after rank {from}'s");
        }
        assert_eq!(collectives.next_sender(OpId(u64::MAX)), None, "no such collective");
    }

    /// A part runs for the end that allows its next step, not for those before; and for one that is wrong.
    #[test]
    fn a_part_does_not_run_for_ends_that_allow_nothing() {
        let (mut engine, mut collectives, _) = begun(barrier::serial(Rank(0), SIZE));
        for from in 1..SIZE {
            assert!(!collectives.has_due(), "rank {from}'s signal is missing");
            comes(&mut engine, &mut collectives, Rank(from), Vec::new());
        }
        run(&mut engine, &mut collectives);
        let answers = collectives.steps.values().filter(|step| !step.is_read).count();
        assert_eq!(answers, SIZE as usize - 1, "everybody is answered");

        let (mut engine, mut collectives, _) = begun(allgather::tree::serial(Rank(0), SIZE, &Blocks::Equal(1)));
        comes(&mut engine, &mut collectives, Rank(3), vec![0, 0]);
        run(&mut engine, &mut collectives);
        let end = collectives.poll_completion().map(|completion| completion.outcome);
        assert!(matches!(end, Some(Outcome::Failed(_))), "rank 3 has sent two elements instead of one");
    }

    /// What has left and is not acknowledged is copied only when the step begins that writes there.
    #[test]
    fn what_is_sent_is_held_until_a_later_step_writes_there() {
        const COUNT: usize = 8192;
        let limits = Limits { window_bytes: 1 << 20, envelopes_max: 1024, fragment_bytes: 4096 };
        let mut ranks = [0, 1].map(|rank| {
            let mut engine = Engine::new(Rank(rank), &[limits; 2]);
            let mut collectives = Collectives::new(Rank(rank), 2);
            let schedule: std::sync::Arc<Prepared> = allreduce::doubling::schedule(Rank(rank), 2, COUNT as u64).into();
            let (own, sum) = (vec![u64::from(rank) + 1; COUNT], Some(Operator::<u64>::sum()));
            let work = Box::new(Typed::new(&schedule, Vec::new(), own, sum, |_, all: Vec<u64>| all));
            let start = Start { group: 0, schedule, signature: None, work, timed: None };
            let whole = collectives.start(&mut engine, Duration::ZERO, start).expect("nothing has failed");
            run(&mut engine, &mut collectives);
            let mut sent = Vec::new();
            let mut write = |slices: &[std::io::IoSlice<'_>]| {
                let before = sent.len();
                slices.iter().for_each(|slice| sent.extend_from_slice(slice));
                Ok(sent.len() - before)
            };
            engine.transmit(Rank(1 - rank), &mut write).expect("the socket takes all");
            (engine, collectives, whole, sent)
        });
        let from_other = std::mem::take(&mut ranks[1].3);
        let (engine, collectives, whole, _) = &mut ranks[0];
        let take_ends = |engine: &mut Engine, collectives: &mut Collectives| {
            while let Some(completion) = engine.poll_completion() {
                assert!(collectives.complete(engine, || Duration::ZERO, completion).is_none(), "it is a step's");
            }
            run(engine, collectives);
        };
        take_ends(engine, collectives);
        let part = |collectives: &Collectives| collectives.entries.get(*whole)?.part.as_ref().map(|part| part.holds());
        assert_eq!(part(collectives), Some(true), "nothing is copied while the other's message is missing");

        engine.handle_bytes(Duration::ZERO, Rank(1), &from_other);
        take_ends(engine, collectives);
        let Some(Outcome::Made(result)) = collectives.poll_completion().map(|completion| completion.outcome) else {
            panic!("both are combined");
        };
        let result = result.downcast::<Vec<u64>>().expect("the numbers");
        assert!(*result == vec![3; COUNT]);
        assert_eq!(part(collectives), None);
    }
}
