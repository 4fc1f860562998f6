//! What must be true of a run when nothing moves any more.

use std::iter;
use std::time::Duration;

use super::program::Message;
use super::world::{End, LANES, Read, Verdict, World};
use crate::buffer::Element;
use crate::engine::link::Link;
use crate::error::Error;
use crate::ids::{Path, Rank, Tag};
use crate::wire::frame::{Context, MatchKey};

/// Bytes by which the last frame may go beyond what is kept: a batch of fragments, or a word about a message.
const LONGEST_FRAME: u64 = 80 << 10;

/// Whether the program is told of a write that was over before it was refused.
fn is_told_late(key: MatchKey) -> bool {
    key.context != Context::Collective
}

impl World {
    /// Every program is over and every operation has ended, each as it must.
    pub(super) fn check_results(&self) -> Verdict {
        if !self.is_over() {
            return Err(format!("nothing can move, and not all is done\n{}", self.describe()));
        }
        self.check_all_ended()?;
        for stream in 0..self.program.streams.len() {
            let writes = (0..self.program.messages.len()).filter(|at| self.program.messages[*at].stream == stream);
            let of_stream = |read: &&Read| self.program.messages[read.message].stream == stream;
            let kept = |read: &&Read| !matches!(read.end, End::Abandoned);
            let mut reads = self.reads.iter().filter(of_stream).filter(kept);
            for write in writes {
                let Some(read) = reads.next() else { return Err(format!("message {write} has met no read")) };
                self.check_pair(write, read).map_err(|why| {
                    let message = self.program.messages[write];
                    format!("message {write}, {message:?}, of {:?}: {why}", self.stream(write))
                })?;
            }
            if reads.next().is_some() {
                return Err(format!("stream {stream} has more reads than messages"));
            }
        }
        let refusals: usize = self.nodes.iter().map(|node| node.refusals.len()).sum();
        let is_told = |at: &usize| is_told_late(self.stream(*at).key);
        let late = (0..self.writes.len())
            .filter(|at| !self.program.messages[*at].fits() && matches!(self.writes[*at], End::Written))
            .filter(is_told);
        if refusals != late.count() {
            return Err(format!("{refusals} late refusals are not one for each message written and refused"));
        }
        Ok(())
    }

    /// The n-th message of a stream and the n-th read of it: the same bytes, or an error on both sides.
    fn check_pair(&self, write: usize, read: &Read) -> Verdict {
        let message = &self.program.messages[write];
        let posted = self.program.messages[read.message];
        if message.bytes <= posted.capacity && message.elements == posted.read_elements {
            return match (&self.writes[write], &read.end) {
                (End::Written, End::Data(bytes)) if *bytes == message.payload() => Ok(()),
                (End::Written, End::Data(bytes)) => Err(format!("{} other bytes have come", bytes.len())),
                ends => Err(format!("ended with {ends:?}")),
            };
        }
        let End::Failed(error) = &read.end else { return Err(format!("the read ended with {:?}", read.end)) };
        self.check_mismatch(message, &posted, error)?;
        match &self.writes[write] {
            End::Failed(error) => self.check_mismatch(message, &posted, error),
            // Collectives hear it from each other.
            End::Written if !is_told_late(self.program.streams[message.stream].key) => Ok(()),
            End::Written => self.check_late_refusal(message, &posted),
            end => Err(format!("the write ended with {end:?}")),
        }
    }

    fn check_mismatch(&self, message: &Message, posted: &Message, error: &Error) -> Verdict {
        let stream = self.program.streams[message.stream];
        match error {
            Error::Mismatch(mismatch)
                if mismatch.sent == (message.bytes as u64, message.elements.code())
                    && mismatch.posted == (posted.capacity as u64, posted.read_elements.code())
                    && (mismatch.from.0, mismatch.to.0, mismatch.tag) == (stream.from, stream.to, stream.key.tag) =>
            {
                Ok(())
            }
            error => Err(format!("the error is: {error}")),
        }
    }

    fn check_late_refusal(&self, message: &Message, posted: &Message) -> Verdict {
        let stream = self.program.streams[message.stream];
        let mut refusals = self.nodes[stream.from as usize].refusals.iter();
        let fits = refusals
            .any(|refusal| refusal.op.is_some() && self.check_mismatch(message, posted, &refusal.error).is_ok());
        let refusals = &self.nodes[stream.from as usize].refusals;
        if fits { Ok(()) } else { Err(format!("the writer was not told; it knows {refusals:?}")) }
    }

    /// Every operation that was posted has ended.
    pub(super) fn check_all_ended(&self) -> Verdict {
        for rank in (0..self.size()).filter(|rank| !self.nodes[*rank].is_dead) {
            let left = self.under_way(rank);
            if left > 0 {
                return Err(format!("rank {rank}: {left} operations never ended\n{}", self.describe()));
            }
        }
        Ok(())
    }

    /// An operation or a node may fail with `error` in this run.
    pub(super) fn check_error(&self, rank: usize, error: &Error) -> Verdict {
        let fits = match error {
            Error::Mismatch(_) => self.allowed.misfits || self.allowed.damage,
            Error::PeerLost { .. } | Error::Shutdown { .. } => self.allowed.errors,
            Error::Protocol { .. } => self.allowed.damage,
            _ => false,
        };
        if fits { Ok(()) } else { Err(format!("rank {rank}: {error}")) }
    }

    /// The window and the number of envelopes are kept.
    pub(super) fn check_memory(&self, rank: usize) -> Verdict {
        let limits = self.program.limits[rank];
        for link in &self.nodes[rank].engine.links {
            let (buffered, window) = (link.incoming.buffered_bytes(), limits.window_bytes);
            if buffered > window {
                return Err(format!("rank {rank} buffers {buffered} bytes of {:?}; window {window}", link.peer()));
            }
            let (takes, most) = (link.incoming.footprint(), link.incoming.footprint_max());
            if takes > most {
                return Err(format!(
                    "rank {rank}: {takes} bytes are taken for messages of {:?} and {most} charged",
                    link.peer()
                ));
            }
            self.check_kept(rank, link)?;
            let envelopes = link.incoming.envelopes();
            if envelopes > limits.envelopes_max {
                return Err(format!("rank {rank} holds {envelopes} envelopes of {:?}", link.peer()));
            }
        }
        Ok(())
    }

    /// What is kept is within its bound, and nothing is taken for received that is not.
    fn check_kept(&self, rank: usize, link: &Link) -> Verdict {
        let (peer, retention) = (link.peer(), &link.outgoing.retention);
        for lane in iter::once(retention).chain(link.outgoing.lanes.iter().map(|lane| &lane.retention)) {
            let (kept, memory, most) = (lane.kept(), lane.memory() as u64, lane.bound() + LONGEST_FRAME);
            if kept > most || memory > most {
                return Err(format!("rank {rank} keeps {kept} bytes for {peer:?}, {memory} of its own; most {most}"));
            }
        }
        let kept = retention.kept();
        let other = &self.nodes[peer.index()].engine;
        let has_ended = self.allowed.damage
            || self.nodes[rank].engine.failure().is_some()
            || other.failure().is_some()
            || link.is_closed();
        let received = other.received(Rank(rank as u32));
        if !has_ended && peer.index() != rank && received.wrapping_sub(retention.acknowledged()) > kept {
            return Err(format!("rank {rank} was told of more than {peer:?} has received"));
        }
        Ok(())
    }

    /// Where everything stands, for a message about a failed run.
    pub(super) fn describe(&self) -> String {
        let mut lines = String::new();
        for (rank, node) in self.nodes.iter().enumerate() {
            let (at, next) = (node.at, self.program.actions[rank].get(node.at));
            lines += &format!("rank {rank} (dead: {}) at {at}: {next:?}\n", node.is_dead);
            for waiting in node.engine.outstanding() {
                lines += &format!("    {waiting:?}\n");
            }
            for (peer, lane) in (0..self.size() as u32).flat_map(|peer| (1..LANES as u8).map(move |lane| (peer, lane)))
            {
                let path = Path { peer: Rank(peer), lane };
                let link = &node.engine.links[peer as usize];
                let Some(at) = link.lane(path) else { continue };
                let state = &link.outgoing.lanes[at];
                lines += &format!(
                    "    {path:?}: {:?}, room {}, kept {}, to send again {}, under way {}, down {}, waits {}, output {}, sends {}, dead {}, {} bytes come\n",
                    state.segments,
                    state.retention.has_room(0),
                    state.retention.kept(),
                    state.retention.unsent(),
                    state.partial.is_some(),
                    state.is_down,
                    node.engine.waits(path),
                    link.outgoing.lane_has_output(at),
                    node.sends[lane as usize * self.size() + peer as usize],
                    self.cuts.is_dead(lane as usize * self.size() + rank, lane as usize * self.size() + peer as usize),
                    self.pipes
                        [self.between(lane as usize * self.size() + peer as usize, lane as usize * self.size() + rank)]
                    .bytes
                    .len(),
                );
            }
        }
        lines + &format!("{:#?}", self.program.limits)
    }

    /// A node that has failed takes no more commands.
    pub(super) fn check_commands_fail(&mut self, rank: usize) -> Verdict {
        let (now, key) = (Duration::ZERO, MatchKey::user(Tag(0)));
        let engine = &mut self.nodes[rank].engine;
        let read = engine.initread(now, Rank(0), key, u8::TYPE, Box::new(vec![0u8; 4]));
        let write = engine.initwrite(now, Rank(0), key, u8::TYPE, Box::new(vec![0u8; 4]));
        if read.is_ok() || write.is_ok() || engine.poll_completion().is_some() {
            return Err(format!("rank {rank} takes commands after its failure"));
        }
        Ok(())
    }

    /// Nothing is left in the engines, and the credit is all there.
    pub(super) fn check_nothing_left(&self) -> Verdict {
        for from in 0..self.size() {
            if !self.nodes[from].engine.outstanding().is_empty() {
                return Err(format!("something is outstanding\n{}", self.describe()));
            }
            for to in 0..self.size() {
                let outgoing = &self.nodes[from].engine.links[to].outgoing;
                let incoming = &self.nodes[to].engine.links[from].incoming;
                if !incoming.is_idle() || !outgoing.is_idle() {
                    return Err(format!("messages are left on the link from {from} to {to}"));
                }
                let window = self.program.limits[to].window_bytes;
                let (allowance, due) = (incoming.allowance(), incoming.credit_due());
                let credit = if from == to { allowance } else { outgoing.credit_left() };
                if credit != allowance || credit + due != window {
                    return Err(format!(
                        "link {from} to {to}: credit {credit}, allowance {allowance} and {due} due of {window}"
                    ));
                }
            }
        }
        Ok(())
    }

    /// All say goodbye, all is confirmed, and the end of the connections is no loss.
    pub(super) fn check_farewell(&mut self) -> Verdict {
        for rank in 0..self.size() {
            if !self.nodes[rank].said_goodbye {
                self.goodbye(rank, None)?;
            }
        }
        self.run_out()?;
        for rank in 0..self.size() {
            let engine = &self.nodes[rank].engine;
            if !engine.is_drained() || !engine.is_farewelled() {
                return Err(format!("rank {rank}'s goodbye was not confirmed"));
            }
        }
        for rank in 0..self.size() {
            for peer in (0..self.size()).filter(|peer| *peer != rank) {
                self.lose(rank, peer, "closed after goodbye")?;
            }
        }
        Ok(())
    }
}
