//! The collectives of a node: each blocking and, with `init`, not blocking.

use std::sync::Arc;

use super::Node;
use crate::buffer::Element;
use crate::collective::exchange::{self, Shift};
use crate::collective::execute::{Start, Typed};
use crate::collective::price;
use crate::collective::signature::Signature;
use crate::collective::{Blocks, Call, Collective, Operator, Overrides};
use crate::cost::CostModel;
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Misuse, Result};
use crate::handle::Handle;
use crate::ids::Rank;
use crate::observe::SizeReport;
use crate::operation::{Operation, OperationKind};
use lathide_models::fit::{Sample, segmented};

/// # Collectives
///
/// All ranks call the same collectives in the same order, with the same root, number of elements, element type and
/// operator; how they differ is found out and said on every rank ([`Error::Disagreement`]). The calls with `init`
/// return at once, and the collective goes on while the program computes; any number may be under way. A handle
/// that is dropped detaches its collective: this rank's part goes on, and `finalize` waits for it.
///
/// The algorithm is the one that the model says is cheapest ([`Handle::choice`], [`Node::calibrate`]); the manual's page
/// [on collectives](crate::manual::collectives) says which there are. If a collective fails on a rank, it
/// and all after it fail on every rank, with the reason; messages between two ranks go on.
///
/// ## Threads
///
/// Ranks match collectives by the order in which they are called, so one thread of a rank calls them, or one tokio task,
/// on whatever threads it runs. Handles may be waited for by any thread, and all threads read and write. Another
/// thread calls collectives after that one has ended; or after the thread that has called [`init`](crate::init), which calls
/// none again before the other has ended. A program whose threads call in turn otherwise declares it:
/// [`Node::declare_serialized`]. Any other call is [`Misuse::Threads`], and then every collective that is not
/// complete, and all to come, fail on every rank: an error, since ranks that match calls of different threads would give
/// wrong results. The manual says [what is seen and what is not](crate::manual::collectives#threads).
///
/// Every one returns, at once or from its handle, [`Error::Disagreement`] and [`Error::Collective`] as described there,
/// [`Error::PeerLost`] if a rank is gone, [`Error::Deadlock`] if the job stands still for good, and [`Error::Misuse`] if
/// the call cannot be right: the root does not exist, or a buffer has another length than the call needs.
///
/// ```
/// use lathide::Operator;
/// let node = lathide::init()?;
/// let sum = node.initallreduce(&Operator::sum(), vec![1u64, u64::from(node.rank().0)])?;
/// let squares: u64 = (0..100).map(|x| x * x).sum();          // the sum travels meanwhile
/// assert_eq!(sum.wait()?[0], u64::from(node.size()));
/// let all = node.allgather(vec![squares])?;                  // one element of each rank
/// assert_eq!(all.len(), node.size() as usize);
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
impl Node {
    /// Waits until every rank has called `barrier` as often as this one has, by dissemination: `ceil(log2 size)`
    /// rounds of empty messages (Hensgen, Finkel and Manber 1988).
    ///
    /// # Errors
    /// As all collectives.
    pub fn barrier(&self) -> Result<()> {
        self.whole(|| self.initbarrier())
    }

    /// [`Node::barrier`] without waiting: the handle's wait ends when every rank has called it.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initbarrier(&self) -> Result<Handle<()>> {
        self.begin(self.call::<u8>(Collective::Barrier, 0), Vec::<u8>::new(), Vec::new(), None, |_| ())
    }

    /// Has the choice of algorithms follow what this job's links have shown. A collective, and it waits: ranks tell each
    /// other the straight lines `a + b x` fitted to their links' one-way times ([`Node::report`]), and all take the
    /// median. Before it, and if no link has shown enough, prices are those of [`Config::cost_model`].
    ///
    /// Not the a and b of eq. (3) of Stoica, Sultan and Keyes (1994), which the report has: a price is the sum of both
    /// limits, and of a link that is a straight line the hyperbola's a and b are both a tenth too great, since it lies
    /// a quarter below its own `a + b x` where both are equal.
    ///
    /// Returns the cost model that counts from now on, the same on every rank.
    ///
    /// # Errors
    /// As all collectives.
    ///
    /// [`Config::cost_model`]: crate::Config::cost_model
    pub fn calibrate(&self) -> Result<CostModel> {
        let report = self.report();
        let known = report.links.iter().filter(|link| link.hyperbolic.is_some());
        let own = price::typical(known.filter_map(|link| line(&link.sizes)));
        let (a, b) = own.unwrap_or((f64::NAN, f64::NAN));
        let all = self.allgather(vec![a, b])?;
        let kernel = &self.inner.kernel;
        if let Some((a, b)) = price::typical(all.chunks_exact(2).map(|pair| (pair[0], pair[1]))) {
            kernel.adopt(kernel.cost_model().with_link(a, b));
        }
        Ok(kernel.cost_model())
    }

    /// From the next call on prices are those of `model`, for instance where a program knows more than links show
    /// by themselves. All ranks give the same one between the same two collectives; where their choices differ
    /// for want of that, the next one fails with [`Error::Disagreement`].
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let model = node.calibrate()?;
    /// node.set_cost_model(model.with_overhead(40e-6));      // measured: 40 us of processor to send a message or to receive one
    /// # assert_eq!(node.broadcast(0, vec![1u8])?, [1]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn set_cost_model(&self, model: CostModel) {
        self.inner.kernel.adopt(model);
    }

    /// From the next call on these algorithms are used whatever they cost, instead of those of [`Config::overrides`], for
    /// instance to measure one beside the other. All ranks give the same between the same two collectives; where they
    /// do not, the next one fails with [`Error::Disagreement`].
    ///
    /// ```
    /// use lathide::Overrides;
    /// let node = lathide::init()?;
    /// node.override_algorithms(Overrides::parse("broadcast:chain").expect("an algorithm that exists"));
    /// node.broadcast(0, vec![1u8; 1000])?;
    /// node.override_algorithms(Overrides::none());
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// [`Config::overrides`]: crate::Config::overrides
    pub fn override_algorithms(&self, overrides: Overrides) {
        self.inner.kernel.override_algorithms(overrides);
    }

    /// Declares that several threads of this rank call collectives, and that the program orders their calls: each begins
    /// after the one before has returned, in the same order on every rank. It is what MPI calls
    /// `MPI_THREAD_SERIALIZED`; without it, collectives are called by one thread ([which ones](Node#threads)). For
    /// thread pools, and for executors other than tokio that move a task from thread to thread.
    ///
    /// What is seen to be in no order fails all the same: a call while another thread is in one.
    pub fn declare_serialized(&self) {
        self.inner.kernel.declare_serialized();
    }

    /// The root's `buffer` to all ranks. Every rank gives a buffer of the same length; it comes back with the root's
    /// data in it. Trees and chains of Stoica, Sultan and Keyes (1994, 3.1) and Tam and Wang (2000, 4):
    /// [`crate::collective::broadcast`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn broadcast<T: Element>(&self, root: impl Into<Rank>, buffer: Vec<T>) -> Result<Vec<T>> {
        self.whole(|| self.initbroadcast(root, buffer))
    }

    /// [`Node::broadcast`] without waiting. The root's handle is complete when its buffer may be reused.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initbroadcast<T: Element>(&self, root: impl Into<Rank>, buffer: Vec<T>) -> Result<Handle<Vec<T>>> {
        let call = Call { root: root.into(), ..self.call::<T>(Collective::Broadcast, buffer.len()) };
        self.begin(call, Vec::new(), buffer, None, |result| result)
    }

    /// Combines the elements of all ranks' buffers, element by element, by `operator`; the root gets the result, the
    /// others `None`. Operands stand in the order of ranks, unless the operator is commutative and the algorithm says
    /// otherwise: [`crate::collective::reduce`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn reduce<T: Element>(
        &self,
        root: impl Into<Rank>,
        operator: &Operator<T>,
        buffer: Vec<T>,
    ) -> Result<Option<Vec<T>>> {
        self.whole(|| self.initreduce(root, operator, buffer))
    }

    /// [`Node::reduce`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initreduce<T: Element>(
        &self,
        root: impl Into<Rank>,
        operator: &Operator<T>,
        buffer: Vec<T>,
    ) -> Result<Handle<Option<Vec<T>>>> {
        let (root, is_commutative) = (root.into(), operator.is_commutative());
        let call = Call { root, is_commutative, ..self.call::<T>(Collective::Reduce, buffer.len()) };
        let is_root = self.rank() == root;
        self.begin(call, Vec::new(), buffer, Some(operator), move |result| is_root.then_some(result))
    }

    /// Combines the elements of all ranks' buffers, element by element, by `operator`; every rank gets the result, the
    /// same bits. The global operation of Stoica, Sultan and Keyes (1994, 3.2) is one of the algorithms:
    /// [`crate::collective::allreduce`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn allreduce<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Vec<T>> {
        self.whole(|| self.initallreduce(operator, buffer))
    }

    /// [`Node::allreduce`] without waiting. The operator runs where messages are moved, on the kernel's thread while the
    /// program computes.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initallreduce<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Handle<Vec<T>>> {
        let is_commutative = operator.is_commutative();
        let call = Call { is_commutative, ..self.call::<T>(Collective::Allreduce, buffer.len()) };
        self.begin(call, Vec::new(), buffer, Some(operator), |result| result)
    }

    /// The blocks of all ranks to the root, which gets them in the order of ranks; the others get `None`. Every rank gives
    /// as many elements. The algorithms are those of Tam and Wang (2000, 5), which do not collapse when many send to
    /// one: [`crate::collective::gather`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn gather<T: Element>(&self, root: impl Into<Rank>, block: Vec<T>) -> Result<Option<Vec<T>>> {
        self.whole(|| self.initgather(root, block))
    }

    /// [`Node::gather`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initgather<T: Element>(&self, root: impl Into<Rank>, block: Vec<T>) -> Result<Handle<Option<Vec<T>>>> {
        let call = self.call::<T>(Collective::Gather, block.len());
        self.begin_gather(Call { root: root.into(), ..call }, block)
    }

    /// [`Node::gather`] of blocks that differ in length: rank `i` gives `counts[i]` elements. All ranks give the same
    /// `counts`.
    ///
    /// # Errors
    /// As all collectives.
    pub fn gather_counts<T: Element>(
        &self,
        root: impl Into<Rank>,
        counts: &[usize],
        block: Vec<T>,
    ) -> Result<Option<Vec<T>>> {
        self.whole(|| self.initgather_counts(root, counts, block))
    }

    /// [`Node::gather_counts`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initgather_counts<T: Element>(
        &self,
        root: impl Into<Rank>,
        counts: &[usize],
        block: Vec<T>,
    ) -> Result<Handle<Option<Vec<T>>>> {
        let own = counts.get(self.rank().index());
        if counts.len() != self.size() as usize || own != Some(&block.len()) {
            let own = own.map_or("no count".to_owned(), |own| format!("{own} elements"));
            let (given, size) = (counts.len(), self.size());
            return self.wrong_length("gather_counts", block.len(), format!(
                "give a count for each of the {size} ranks, and a block as long as this rank's; there are {given} counts, and                  {own} for this rank"
            ));
        }
        let blocks = Blocks::Each(counts.iter().map(|&count| count as u64).collect());
        let call = Call { root: root.into(), blocks, ..self.call::<T>(Collective::Gather, 0) };
        self.begin_gather(call, block)
    }

    /// The root's blocks, in the order of ranks, each to its rank: `count` elements for each. The root gives `count`
    /// times as many elements as there are ranks, the others give none.
    ///
    /// # Errors
    /// As all collectives.
    pub fn scatter<T: Element>(&self, root: impl Into<Rank>, count: usize, blocks: Vec<T>) -> Result<Vec<T>> {
        self.whole(|| self.initscatter(root, count, blocks))
    }

    /// [`Node::scatter`] without waiting. The root's handle is complete when its blocks have left.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initscatter<T: Element>(
        &self,
        root: impl Into<Rank>,
        count: usize,
        blocks: Vec<T>,
    ) -> Result<Handle<Vec<T>>> {
        let (root, size) = (root.into(), self.size());
        let needed = if self.rank() == root { count * size as usize } else { 0 };
        if blocks.len() != needed {
            let why =
                format!("the root (rank {root}) gives {count} for each of the {size} ranks, every other rank none");
            return self.wrong_length("scatter", blocks.len(), why);
        }
        let call = Call { root, ..self.call::<T>(Collective::Scatter, count) };
        self.begin(call, blocks, zeroed(count), None, |result| result)
    }

    /// The blocks of all ranks to all ranks, in the order of ranks. Every rank gives as many elements:
    /// [`crate::collective::allgather`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn allgather<T: Element>(&self, block: Vec<T>) -> Result<Vec<T>> {
        self.whole(|| self.initallgather(block))
    }

    /// [`Node::allgather`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initallgather<T: Element>(&self, block: Vec<T>) -> Result<Handle<Vec<T>>> {
        let call = self.call::<T>(Collective::Allgather, block.len());
        let whole = zeroed(block.len() * self.size() as usize);
        self.begin(call, block, whole, None, |result| result)
    }

    /// A block of every rank to every rank: rank `i` gets the `i`-th block of each, in the order of ranks. All blocks of
    /// all ranks have the same length: [`crate::collective::alltoall`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn alltoall<T: Element>(&self, blocks: Vec<T>) -> Result<Vec<T>> {
        self.whole(|| self.initalltoall(blocks))
    }

    /// [`Node::alltoall`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initalltoall<T: Element>(&self, blocks: Vec<T>) -> Result<Handle<Vec<T>>> {
        let size = self.size() as usize;
        if !blocks.len().is_multiple_of(size) {
            let why = format!("it needs as many for each of the {size} ranks");
            return self.wrong_length("alltoall", blocks.len(), why);
        }
        let call = self.call::<T>(Collective::Alltoall, blocks.len() / size);
        let whole = zeroed(blocks.len());
        self.begin(call, blocks, whole, None, |result| result)
    }

    /// The neighbours' exchange of Stoica, Sultan and Keyes (1994, 3.3): sends and receives all that `shifts` says at once.
    /// `edges` holds what is sent, the result what is received, both one after the other in the order of `shifts`.
    ///
    /// Only neighbours need to call it, so it is no collective of all ranks; but neighbours name the shifts that
    /// concern both in the same order, and send as many elements as the other expects.
    ///
    /// ```
    /// use lathide::collective::exchange::Shift;
    /// let node = lathide::init()?;
    /// let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
    /// let to_the_right = Shift { to: Some((right, 2)), from: Some((left, 2)) };
    /// let to_the_left = Shift { to: Some((left, 1)), from: Some((right, 1)) };
    /// let ghosts = node.initexchange(&[to_the_right, to_the_left], vec![1.0f32, 2.0, 3.0])?;
    /// assert_eq!(ghosts.wait()?, [1.0, 2.0, 3.0]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misuse`] if a rank does not exist, or `edges` is not as long as the shifts say; [`Error::Mismatch`] if what a
    /// neighbour sends is longer than expected or of another element type, [`Error::Collective`] on the receiver if it
    /// is shorter; [`Error::PeerLost`] and [`Error::Deadlock`] as `wait`.
    pub fn exchange<T: Element>(&self, shifts: &[Shift], edges: Vec<T>) -> Result<Vec<T>> {
        self.whole(|| self.initexchange(shifts, edges))
    }

    /// [`Node::exchange`] without waiting.
    ///
    /// # Errors
    /// As [`Node::exchange`].
    pub fn initexchange<T: Element>(&self, shifts: &[Shift], edges: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let (rank, size) = (self.rank(), self.size());
        let ends = shifts.iter().flat_map(|shift| [shift.to, shift.from]).flatten();
        if let Some((peer, _)) = ends.into_iter().find(|(peer, _)| peer.0 >= size) {
            return self.noting(Err(Misuse::NoSuchRank { rank, peer, size }.into()));
        }
        let total = |side: fn(&Shift) -> Option<(Rank, u64)>| -> u64 {
            shifts.iter().filter_map(side).map(|(_, count)| count).sum()
        };
        let (sent, received) = (total(|shift| shift.to), total(|shift| shift.from));
        if edges.len() as u64 != sent {
            return self.wrong_length("exchange", edges.len(), format!("its shifts send {sent}"));
        }
        let schedule = Arc::new(exchange::schedule(rank, shifts));
        let ghosts = zeroed(received as usize);
        let operation = Operation::new(OperationKind::Exchange, rank, rank, None, bytes_of(&edges, &ghosts));
        let work = Box::new(Typed::new(&schedule, edges, ghosts, None, |result| result));
        let kernel = &self.inner.kernel;
        let completion =
            self.noting(kernel.initcollective(operation, None, Start { schedule, signature: None, work }))?;
        Ok(Handle::new(kernel.clone(), completion))
    }

    /// A blocking call: no other thread may call a collective while it lasts.
    fn whole<R: Send + 'static>(&self, begin: impl FnOnce() -> Result<Handle<R>>) -> Result<R> {
        let _call = self.noting(self.inner.kernel.call_collective())?;
        begin()?.wait()
    }

    fn begin_gather<T: Element>(&self, call: Call, block: Vec<T>) -> Result<Handle<Option<Vec<T>>>> {
        let is_root = self.rank() == call.root;
        let whole = if is_root { zeroed(call.blocks.total(call.ranks) as usize) } else { Vec::new() };
        self.begin(call, block, whole, None, move |result| is_root.then_some(result))
    }

    fn wrong_length<R>(&self, operation: &'static str, got: usize, why: String) -> Result<R> {
        self.noting(Err(Misuse::Length { rank: self.rank(), operation, got: got as u64, why }.into()))
    }

    fn call<T>(&self, collective: Collective, count: usize) -> Call {
        Call::new(collective, self.size(), count as u64, size_of::<T>() as u64)
    }

    /// Begins a collective whose blocks all have a length.
    fn begin<T: Element, R: Send + 'static>(
        &self,
        call: Call,
        input: Vec<T>,
        output: Vec<T>,
        operator: Option<&Operator<T>>,
        finish: impl FnOnce(Vec<T>) -> R + Send + 'static,
    ) -> Result<Handle<R>> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let kernel = &self.inner.kernel;
        let plan = self.noting(kernel.plan(&call))?;
        tracing::debug!(rank = %self.rank(), collective = %call.collective, choice = %plan.choice, "begins");
        let root = if call.has_root() { call.root } else { self.rank() };
        let kind = OperationKind::Collective(call.collective);
        let operation = Operation::new(kind, self.rank(), root, None, bytes_of(&input, &output));
        let name = operator.map_or("", Operator::name);
        let signature = Some(Signature::new(&call, plan.algorithm, T::TYPE, name));
        let work = Typed::new(&plan.schedule, input, output, operator.cloned(), finish);
        let start = Start { schedule: plan.schedule.clone(), signature, work: Box::new(work) };
        let completion = self.noting(kernel.initcollective(operation, Some(&plan), start))?;
        Ok(Handle::new(kernel.clone(), completion))
    }
}

fn zeroed<T: Element>(count: usize) -> Vec<T> {
    vec![T::zeroed(); count]
}

/// The bytes a rank contributes, or receives if they are more.
fn bytes_of<T>(input: &[T], output: &[T]) -> u64 {
    size_of_val(input).max(size_of_val(output)) as u64
}

/// The straight line `a + b x` through what a link has shown of each class of sizes.
fn line(sizes: &[SizeReport]) -> Option<(f64, f64)> {
    let sample = |size: &SizeReport| Sample { bytes: size.bytes, time_s: size.median_s };
    let samples: Vec<Sample> = sizes.iter().map(sample).collect();
    let line = segmented::fit_with(&samples, 0).ok()?.model;
    Some((line.start_s, line.segments.first()?.s_per_byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_link_is_what_its_messages_took() {
        let size = |bytes: u64| {
            let median_s = 300e-6 + 160e-9 * bytes as f64;
            SizeReport { bytes, samples: 20, median_s, min_s: median_s, max_s: 2.0 * median_s }
        };
        let sizes: Vec<SizeReport> = [8, 64, 512, 4096, 32_768, 262_144].map(size).to_vec();
        let (a, b) = line(&sizes).expect("six sizes are a line");
        assert!((a / 300e-6 - 1.0).abs() < 1e-6 && (b / 160e-9 - 1.0).abs() < 1e-6, "{a}, {b}");
        assert_eq!((line(&[]), line(&sizes[..1])), (None, None));
    }
}
