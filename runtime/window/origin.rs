//! The operations of this rank on others' parts of windows: what is sent for them, and how they end.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use super::buffers::{Gather, Part, Whole};
use super::codec::{FLUSH_BYTES, REQUESTS, Refusal, Request, payload_key, reply_key};
use super::posts::{Posts, Purpose};
use crate::buffer::SendBuffer;
use crate::engine::{Completed, OpId, Outcome, Written};
use crate::error::{Error, Misuse, WindowRefusal};
use crate::ids::Rank;
use crate::operation::{Operation, OperationKind};

/// Writes that are complete here and may be refused still: so many of each target are remembered.
const RECENT_MAX: usize = 256;
/// Refusals that a flush has not returned yet, of one window and one target; more say the same.
const UNTOLD_MAX: usize = 64;

/// The operations of this rank that are not complete, and what is to be told of others.
pub(super) struct Origin {
    rank: Rank,
    targets: BTreeMap<Rank, Target>,
    pending: BTreeMap<OpId, Pending>,
    ended: VecDeque<Ended>,
    late: VecDeque<Late>,
    /// Refusals of writes that were complete here, by window and target, until a flush returns them.
    untold: BTreeMap<(u32, Rank), VecDeque<Error>>,
    /// Flushes that have come back and wait for refusals.
    flushes: usize,
    /// Buffers of operations that have failed: to be dropped when nothing is locked.
    spent: Vec<Whole>,
}

/// What is known of the requests to one rank.
#[derive(Default)]
struct Target {
    next_id: u32,
    /// Those that are not complete.
    under_way: BTreeMap<u32, OpId>,
    /// Writes that were complete last.
    recent: VecDeque<(u32, OpId)>,
    /// How many it has refused, as far as this rank has heard.
    refused: u64,
    /// Flushes that are complete when that is known of so many.
    flushes: Vec<(u64, OpId)>,
}

struct Pending {
    request: Request,
    to: Rank,
    since: Duration,
    /// Its messages, and how many are not complete.
    parts: Vec<OpId>,
    left: usize,
    work: Work,
    /// The target has refused it; its messages go on.
    refused: Option<Error>,
}

enum Work {
    Flush,
    Gather(Box<dyn Gather>),
    Write(Whole),
}

enum Ended {
    Flushed { op: OpId, window: u32, to: Rank },
    Otherwise(Completed),
}

/// A refusal of a write that was complete here.
pub(crate) struct Late {
    /// The write's operation, if it is remembered.
    pub(crate) op: Option<OpId>,
    pub(crate) error: Error,
}

impl Origin {
    pub(super) fn new(rank: Rank) -> Self {
        Origin {
            rank,
            targets: BTreeMap::new(),
            pending: BTreeMap::new(),
            ended: VecDeque::new(),
            late: VecDeque::new(),
            untold: BTreeMap::new(),
            flushes: 0,
            spent: Vec::new(),
        }
    }

    /// Begins a request that brings elements back.
    pub(super) fn begin_gather(
        &mut self,
        posts: &mut Posts<'_>,
        to: Rank,
        request: Request,
        operands: &[u8],
        mut gather: Box<dyn Gather>,
    ) -> Result<OpId, Error> {
        let request = self.named(to, request);
        let (op, key) = (posts.new_op(), reply_key(request.id));
        let mut parts = Vec::new();
        let mut post = || {
            let places = (0..request.chunks()).map_while(|chunk| gather.place(request.chunk(chunk)));
            for place in places {
                parts.push(posts.read(to, key, place, Purpose::Own { op })?);
            }
            if parts.is_empty() {
                // Nothing comes but a refusal; or the target is lost, and then this fails.
                parts.push(posts.read(to, key, Box::new(Vec::<u8>::new()), Purpose::Own { op })?);
            }
            posts.write(to, REQUESTS, Box::new(request.encode(operands)), Purpose::Leaves)
        };
        if let Err(error) = post() {
            parts.into_iter().for_each(|part| posts.withdraw(to, key, part));
            return Err(error);
        }
        self.add(
            op,
            Pending {
                request,
                to,
                since: posts.now(),
                left: parts.len(),
                parts,
                work: Work::Gather(gather),
                refused: None,
            },
        );
        Ok(op)
    }

    /// Begins a request whose operands are all of `source`.
    pub(super) fn begin_write(
        &mut self,
        posts: &mut Posts<'_>,
        to: Rank,
        request: Request,
        source: Box<dyn SendBuffer>,
    ) -> Result<OpId, Error> {
        let request = self.named(to, request);
        let op = posts.new_op();
        let Some(bytes) = source.all().filter(|bytes| Some(bytes.len() as u64) == request.operand_bytes()) else {
            return Err(self.broken(to, &request));
        };
        if request.is_inline() {
            posts.write(to, REQUESTS, Box::new(request.encode(bytes)), Purpose::Leaves)?;
            let target = self.targets.entry(to).or_default();
            target.next_id = request.id.wrapping_add(1);
            target.remember(request.id, op);
            self.ended.push_back(Ended::Otherwise(Completed { op, outcome: Outcome::Written(Written::whole(source)) }));
            return Ok(op);
        }
        let whole: Whole = Arc::new(source);
        posts.write(to, REQUESTS, Box::new(request.encode(&[])), Purpose::Leaves)?;
        let mut parts = Vec::new();
        for chunk in 0..request.chunks() {
            let part = Part { whole: whole.clone(), bytes: request.bytes_of(&request.chunk(chunk)) };
            let posted = posts.write(to, payload_key(request.id), Box::new(part), Purpose::Own { op });
            // Only a job that has failed, or a rank that has left, takes the first chunk or none.
            parts.push(posted?);
        }
        self.add(
            op,
            Pending {
                request,
                to,
                since: posts.now(),
                left: parts.len(),
                parts,
                work: Work::Write(whole),
                refused: None,
            },
        );
        Ok(op)
    }

    /// Begins to wait until all earlier requests to `to` have been carried out.
    pub(super) fn begin_flush(&mut self, posts: &mut Posts<'_>, to: Rank, request: Request) -> Result<OpId, Error> {
        let request = self.named(to, request);
        let (op, key) = (posts.new_op(), reply_key(request.id));
        let part = posts.read(to, key, Box::new(vec![0u8; FLUSH_BYTES as usize]), Purpose::Own { op })?;
        if let Err(error) = posts.write(to, REQUESTS, Box::new(request.encode(&[])), Purpose::Leaves) {
            posts.withdraw(to, key, part);
            return Err(error);
        }
        self.add(
            op,
            Pending { request, to, since: posts.now(), parts: vec![part], left: 1, work: Work::Flush, refused: None },
        );
        Ok(op)
    }

    /// A message of operation `op` has ended.
    pub(super) fn complete(&mut self, posts: &mut Posts<'_>, op: OpId, outcome: Outcome) {
        let Some(pending) = self.pending.get_mut(&op) else { return };
        let mut flushed = None;
        match outcome {
            Outcome::Read(mut place, _) => {
                let bytes: Option<&[u8; 8]> = place.bytes_mut().first_chunk();
                flushed = bytes.map(|bytes| u64::from_le_bytes(*bytes));
            }
            // The last part gives the buffer back that it is of.
            Outcome::Written(part) => drop(part.take()),
            Outcome::Abandoned(_) | Outcome::Made(_) => {}
            Outcome::Failed(failure) => return self.fail(posts, op, failure.error),
        }
        pending.left -= 1;
        if pending.left == 0 {
            self.finish(op, flushed.unwrap_or(0));
        }
    }

    /// All messages of operation `op` have ended. `refused`: what a flush has brought back.
    fn finish(&mut self, op: OpId, refused: u64) {
        let Some(pending) = self.remove(op) else { return };
        let Pending { request, to, work, refused: error, .. } = pending;
        let outcome = match (work, error) {
            (Work::Flush, _) => {
                let target = self.targets.entry(to).or_default();
                target.flushes.push((refused, op));
                self.flushes += 1;
                let window = request.window;
                return self.end_flushes(to, window);
            }
            (Work::Gather(gather), _) => Outcome::Made(gather.finish()),
            (Work::Write(whole), Some(error)) => match Arc::into_inner(whole) {
                Some(whole) => Outcome::failed_with(error, whole.into_any()),
                None => Outcome::failed(error),
            },
            (Work::Write(whole), None) => {
                self.targets.entry(to).or_default().remember(request.id, op);
                Outcome::Written(Written::whole(Arc::into_inner(whole).expect("all parts have come back")))
            }
        };
        self.ended.push_back(Ended::Otherwise(Completed { op, outcome }));
    }

    /// A message of operation `op` has failed, and so the operation.
    fn fail(&mut self, posts: &mut Posts<'_>, op: OpId, error: Error) {
        let Some(Pending { request, to, parts, work, refused, .. }) = self.remove(op) else { return };
        match work {
            Work::Flush | Work::Gather(_) => {
                parts.into_iter().for_each(|part| posts.withdraw(to, reply_key(request.id), part));
            }
            Work::Write(whole) => self.spent.push(whole),
        }
        let outcome = Outcome::failed(refused.unwrap_or(error.unnamed()));
        self.ended.push_back(Ended::Otherwise(Completed { op, outcome }));
    }

    /// Another rank has refused a request.
    pub(super) fn hear(&mut self, posts: &mut Posts<'_>, from: Rank, refusal: &Refusal) {
        let request = refusal.request;
        let error = error(self.rank, from, refusal);
        let target = self.targets.entry(from).or_default();
        target.refused += 1;
        match target.under_way.get(&request.id).copied() {
            Some(op) => match self.pending.get_mut(&op) {
                Some(Pending { work: Work::Write(_), refused, .. }) => *refused = Some(error),
                _ => self.fail(posts, op, error),
            },
            None => {
                let op = target.recent.iter().find(|(id, _)| *id == request.id).map(|(_, op)| *op);
                self.late.push_back(Late { op, error });
            }
        }
        self.end_flushes(from, request.window);
    }

    /// Ends the flushes of which all refusals are known.
    fn end_flushes(&mut self, to: Rank, window: u32) {
        let Some(target) = self.targets.get_mut(&to) else { return };
        let known = target.refused;
        target.flushes.retain(|&(refused, op)| {
            let waits = refused > known;
            if !waits {
                self.flushes -= 1;
                self.ended.push_back(Ended::Flushed { op, window, to });
            }
            waits
        });
    }

    /// The job has failed: flushes that wait for refusals get none any more.
    pub(super) fn fail_flushes(&mut self, error: &Error) {
        self.flushes = 0;
        for target in self.targets.values_mut() {
            let failed = target
                .flushes
                .drain(..)
                .map(|(_, op)| Ended::Otherwise(Completed { op, outcome: Outcome::failed(error.clone()) }));
            self.ended.extend(failed);
        }
    }

    /// Whether a flush has come back and waits for refusals.
    pub(super) fn awaits_refusals(&self) -> bool {
        self.flushes > 0
    }

    /// Whether there is something to tell: to be asked for first by [`Origin::poll_late`].
    pub(super) fn has_news(&self) -> bool {
        !self.ended.is_empty() || !self.late.is_empty()
    }

    /// The next refusal of a write that was complete.
    pub(super) fn poll_late(&mut self) -> Option<Late> {
        self.late.pop_front()
    }

    /// A write of this rank was refused, and no handle returns the error: the next flush does. Gives back what is none.
    pub(super) fn keep(&mut self, error: Error) -> Option<Error> {
        let Error::Window(refusal) = &error else { return Some(error) };
        if refusal.from != self.rank {
            return Some(error);
        }
        let untold = self.untold.entry((refusal.window, refusal.to)).or_default();
        if untold.len() < UNTOLD_MAX {
            untold.push_back(error);
        }
        None
    }

    /// The next operation that has ended, once all late refusals are seen to.
    pub(super) fn poll_completion(&mut self) -> Option<Completed> {
        match self.ended.pop_front()? {
            Ended::Otherwise(completed) => Some(completed),
            Ended::Flushed { op, window, to } => {
                let refused = self.untold.get_mut(&(window, to)).and_then(VecDeque::pop_front);
                let outcome = refused.map_or_else(|| Outcome::Made(Box::new(())), Outcome::failed);
                Some(Completed { op, outcome })
            }
        }
    }

    /// A refusal that no flush has returned, of any window.
    pub(super) fn take_refusal(&mut self) -> Option<Error> {
        self.untold.values_mut().find_map(VecDeque::pop_front)
    }

    /// Whether something is to be dropped when nothing is locked.
    pub(super) fn has_spent(&self) -> bool {
        !self.spent.is_empty()
    }

    /// What is to be dropped when nothing is locked.
    pub(super) fn take_spent(&mut self) -> Vec<Whole> {
        std::mem::take(&mut self.spent)
    }

    /// The request with the next id towards `to`.
    fn named(&self, to: Rank, request: Request) -> Request {
        Request { id: self.targets.get(&to).map_or(0, |target| target.next_id), ..request }
    }

    fn add(&mut self, op: OpId, pending: Pending) {
        let target = self.targets.entry(pending.to).or_default();
        target.next_id = pending.request.id.wrapping_add(1);
        target.under_way.insert(pending.request.id, op);
        self.pending.insert(op, pending);
    }

    fn remove(&mut self, op: OpId) -> Option<Pending> {
        let pending = self.pending.remove(&op)?;
        if let Some(target) = self.targets.get_mut(&pending.to) {
            target.under_way.remove(&pending.request.id);
        }
        Some(pending)
    }

    fn broken(&self, to: Rank, request: &Request) -> Error {
        let kind = OperationKind::Window(request.call);
        let operation = Operation::new(kind, self.rank, to, None, request.operand_bytes().unwrap_or(0));
        Misuse::Buffer { operation }.into()
    }

    /// Has the first request to each rank get number `id`, so that tests see ids turn round.
    #[cfg(test)]
    pub(super) fn begin_at(&mut self, ranks: u32, id: u32) {
        self.targets = (0..ranks).map(|rank| (Rank(rank), Target { next_id: id, ..Target::default() })).collect();
    }

    /// When operation `op` began, if it is under way.
    pub(super) fn since(&self, op: OpId) -> Option<Duration> {
        self.pending.get(&op).map(|pending| pending.since)
    }

    /// How many refusals wait for a flush.
    #[cfg(test)]
    pub(super) fn untold(&self) -> usize {
        self.untold.values().map(VecDeque::len).sum()
    }

    /// Whether no operation is under way.
    #[cfg(test)]
    pub(super) fn is_idle(&self) -> bool {
        self.pending.is_empty() && self.flushes == 0
    }
}

impl Target {
    fn remember(&mut self, id: u32, op: OpId) {
        if self.recent.len() == RECENT_MAX {
            self.recent.pop_front();
        }
        self.recent.push_back((id, op));
    }
}

/// What a refused request fails with, on both sides.
pub(super) fn error(from: Rank, to: Rank, refusal: &Refusal) -> Error {
    let Refusal { request: Request { call, element, window, start, count, .. }, fault } = *refusal;
    Error::Window(Arc::new(WindowRefusal { from, to, window, call, start, count, element, fault }))
}
