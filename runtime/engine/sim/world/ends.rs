//! What the engines of a world report, checked as it comes.

use super::{End, Side, Verdict, World};
use crate::engine::{Arrival, Completed, OpId, Outcome};
use crate::ids::Rank;

impl World {
    /// Takes what the engine has to say.
    pub(in crate::engine::sim) fn settle(&mut self, rank: usize) -> Verdict {
        if let Some((peer, cause)) = self.nodes[rank].engine.poll_failed_peer() {
            self.nodes[rank].engine.fail_lost(peer, &cause);
        }
        let size = self.size();
        while let Some(path) = self.nodes[rank].engine.poll_pending() {
            self.nodes[rank].sends[path.lane as usize * size + path.peer.index()] = true;
        }
        // Whoever waits is looked at again and again.
        while self.nodes[rank].engine.poll_unblocked().is_some() {}
        while let Some(Completed { op, outcome }) = self.nodes[rank].engine.poll_completion() {
            self.complete(rank, op, outcome)?;
        }
        while let Some(refusal) = self.nodes[rank].engine.poll_refusal() {
            self.counts.refused_late += 1;
            self.nodes[rank].refusals.push(refusal);
        }
        while let Some(arrival) = self.nodes[rank].engine.poll_arrival() {
            self.check_stamp(rank, &arrival)?;
        }
        self.check_memory(rank)?;
        let Some(failure) = self.nodes[rank].engine.failure().cloned() else { return Ok(()) };
        if !self.allowed.failures {
            return Err(format!("rank {rank} has failed: {failure}"));
        }
        self.check_error(rank, &failure)?;
        if !self.nodes[rank].said_goodbye {
            self.counts.failures += 1;
            return self.goodbye(rank, Some(&failure.to_string()));
        }
        Ok(())
    }

    /// A stamp tells of the message it came with.
    fn check_stamp(&mut self, rank: usize, arrival: &Arrival) -> Verdict {
        let (Some(bytes), false) = (arrival.bytes, self.allowed.damage) else { return Ok(()) };
        // An engine that has failed reads on without looking, so the rest makes no sense.
        if self.nodes[rank].engine.failure().is_some() {
            return Ok(());
        }
        self.counts.stamps += 1;
        let message = arrival.stamp.echo_ns.unwrap_or(-1) as usize;
        if message >= self.program.messages.len() {
            return Err(format!("rank {rank}: {arrival:?} is of no message"));
        }
        let (from, sent) = (self.stream(message).from, self.program.messages[message].bytes as u64);
        let was = self.now().as_nanos() as u64;
        if (Rank(from), sent) == (arrival.peer, bytes) && arrival.stamp.sent_ns <= was {
            return Ok(());
        }
        Err(format!("rank {rank}: {arrival:?} is not of message {message}, {sent} bytes from rank {from}"))
    }

    pub(super) fn complete(&mut self, rank: usize, op: OpId, outcome: Outcome) -> Verdict {
        let Some(side) = self.nodes[rank].ops.remove(&op) else {
            return Err(format!("rank {rank}: {op:?} completes, and is complete already or was never posted"));
        };
        let end = match outcome {
            Outcome::Read(mut place, _) => End::Data(place.bytes_mut().to_vec()),
            Outcome::Made(_) => return Err(format!("{op:?} is a message's, not a collective's")),
            Outcome::Written(written) => {
                let Side::Write(message) = side else { return Err(format!("{side:?} was written")) };
                self.written.push((message, written));
                if self.rng.once_in(2) {
                    self.take_written()?;
                }
                End::Written
            }
            Outcome::Failed(failure) => {
                let error = failure.error;
                self.counts.failed += 1;
                self.check_error(rank, &error)?;
                End::Failed(error)
            }
            Outcome::Abandoned(_) => {
                self.counts.abandoned += 1;
                End::Abandoned
            }
        };
        self.note(&[5, rank as u64, op.0, trace_of(&end)]);
        match (side, &end) {
            (Side::Write(message), End::Written | End::Failed(_)) => self.writes[message] = end,
            (Side::Read(read), End::Data(_) | End::Failed(_) | End::Abandoned) => self.reads[read].end = end,
            _ => return Err(format!("rank {rank}: {side:?} ended with {end:?}")),
        }
        Ok(())
    }

    /// One of the buffers that are back is taken and gone, or never taken.
    fn take_written(&mut self) -> Verdict {
        let at = self.rng.below(self.written.len());
        let (message, written) = self.written.swap_remove(at);
        if !self.rng.once_in(8) && written.take().bytes() != self.program.messages[message].payload() {
            return Err(format!("message {message}'s buffer came back with other bytes"));
        }
        Ok(())
    }
}

fn trace_of(end: &End) -> u64 {
    match end {
        End::NotPosted | End::Waiting => 0,
        End::Data(bytes) => 1 + bytes.len() as u64,
        End::Written => u64::MAX,
        End::Failed(error) => error.to_string().len() as u64,
        End::Abandoned => u64::MAX - 1,
    }
}
