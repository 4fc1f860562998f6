//! The collectives of a job or a group: each is blocking, or nonblocking with the prefix `init`.

mod asked;
mod buffers;
mod counts;
mod into;
mod persistent;
mod scans;

use self::asked::{Asked, Finish, Nothing, Output};
use self::buffers::{placed, zeroed};
pub use self::persistent::PersistentExchange;
use super::group::Group;
use crate::buffer::Element;
use crate::collective::exchange::Shift;
use crate::collective::{Blocks, Call, Operator};
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Misuse, Result};
use crate::handle::Handle;
use crate::ids::Rank;
use crate::operation::Collective;

/// # Collectives
///
/// All ranks of the group call the same collectives in the same order, with the same root, number of elements, element
/// type and operator. For [`Node`](crate::Node), which has all of these calls too, that is all ranks of the job. Roots are
/// ranks of the group. If ranks differ, every rank of the group gets an error that says how ([`Error::Disagreement`]). The
/// calls with `init` return at once, and the collective progresses while the program computes. Any number of collectives
/// may be pending. Dropping a handle detaches its collective: this rank's part goes on, and `finalize` waits for it.
///
/// Each group, and the job, has an order of its own: collectives of two groups never meet.
///
/// The library selects the algorithm that is fastest by the cost model ([`Handle::choice`], [`Node::calibrate`](crate::Node::calibrate)). The
/// manual's page [on collectives](crate::manual::collectives) lists the algorithms. If a collective fails on a rank, it
/// and all later ones of its group fail on every rank of the group, with the reason. Other groups and messages between two
/// ranks go on.
///
/// ## Threads
///
/// Ranks match the collectives of a group by the order of calls. So one thread of a rank calls them, or one tokio task, on
/// any thread. Another thread may call those of another group. Any thread may wait for handles, read and write.
///
/// Another thread may call collectives after the first one has ended. It may also follow the thread that called
/// [`init`](crate::init), or made the group; that thread then calls none until the other has ended. A program whose
/// threads call in another order declares it with [`Group::declare_serialized`].
///
/// Any other call is [`Misuse::Threads`]. Then every collective of the group that is not complete, and all later ones, fail
/// on every rank, since ranks that match calls of different threads would give wrong results. The manual says [what is detected
/// and what is not](crate::manual::collectives#threads).
///
/// ## Errors
///
/// Every collective returns, at once or from its handle, [`Error::Disagreement`] and [`Error::Collective`] as described
/// above, [`Error::PeerLost`] if a rank is lost, [`Error::Deadlock`] if the job cannot move any more, and
/// [`Error::Misuse`] if the call is wrong: the root does not exist, or a buffer has the wrong length.
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
impl Group {
    /// Waits until every rank has called `barrier` as often as this one has, by empty messages: those of
    /// dissemination (Hensgen, Finkel and Manber 1988), those to and from one rank, directly or by a tree, or those
    /// of everybody to everybody.
    ///
    /// # Errors
    /// As all collectives.
    pub fn barrier(&self) -> Result<()> {
        self.whole(self.asks_barrier())
    }

    /// [`Group::barrier`] without waiting: the handle's wait ends when every rank has called it.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initbarrier(&self) -> Result<Handle<()>> {
        self.begin(self.asks_barrier())
    }

    fn asks_barrier(&self) -> Asked<'static, u8, Nothing<u8>> {
        Asked::in_place(self.call::<u8>(Collective::Barrier, 0), Vec::new(), None).making(|_, _| ())
    }

    /// Declares that several threads of this rank call collectives, and that the program orders their calls: each
    /// begins after the previous one has returned, in the same order on every rank. MPI calls this
    /// `MPI_THREAD_SERIALIZED`. Without it, one thread calls collectives ([which one](Group#threads)). Use it for thread
    /// pools, and for executors other than tokio that move a task from thread to thread.
    ///
    /// A call while another thread is in one still fails.
    pub fn declare_serialized(&self) {
        self.team().declare_serialized();
    }

    /// Sends the root's `buffer` to all ranks. Every rank gives a buffer of the same length; it comes back with the
    /// root's data. The algorithms are trees and chains of Stoica, Sultan and Keyes (1994, 3.1) and of Tam and Wang
    /// (2000, 4): the manual's page [`collectives`](crate::manual::collectives).
    ///
    /// # Errors
    /// As all collectives.
    pub fn broadcast<T: Element>(&self, root: impl Into<Rank>, buffer: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_broadcast(root.into(), buffer))
    }

    /// [`Group::broadcast`] without waiting. The root's handle is complete when its buffer may be reused.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initbroadcast<T: Element>(&self, root: impl Into<Rank>, buffer: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_broadcast(root.into(), buffer))
    }

    fn asks_broadcast<T: Element>(&self, root: Rank, buffer: Vec<T>) -> Asked<'static, T, Output<T>> {
        let call = Call { root, ..self.call::<T>(Collective::Broadcast, buffer.len()) };
        Asked::in_place(call, buffer, None)
    }

    /// Combines the buffers of all ranks, element by element, by `operator`. The root gets the result, the others
    /// `None`. Operands are combined in the order of ranks, unless the operator is commutative and the algorithm uses
    /// another order: the manual's page [`collectives`](crate::manual::collectives).
    ///
    /// # Errors
    /// As all collectives.
    pub fn reduce<T: Element>(
        &self,
        root: impl Into<Rank>,
        operator: &Operator<T>,
        buffer: Vec<T>,
    ) -> Result<Option<Vec<T>>> {
        self.whole(self.asks_reduce(root.into(), operator, buffer))
    }

    /// [`Group::reduce`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initreduce<T: Element>(
        &self,
        root: impl Into<Rank>,
        operator: &Operator<T>,
        buffer: Vec<T>,
    ) -> Result<Handle<Option<Vec<T>>>> {
        self.begin(self.asks_reduce(root.into(), operator, buffer))
    }

    fn asks_reduce<'a, T: Element>(
        &self,
        root: Rank,
        operator: &'a Operator<T>,
        buffer: Vec<T>,
    ) -> Asked<'a, T, impl Finish<T, Option<Vec<T>>> + use<T>> {
        let call = Call { root, ..self.call_by(Collective::Reduce, operator, buffer.len()) };
        let is_root = self.rank() == root;
        Asked::in_place(call, buffer, Some(operator)).making(move |_, output: Vec<T>| is_root.then_some(output))
    }

    /// Combines the buffers of all ranks, element by element, by `operator`. Every rank gets the result, with the same
    /// bits. The global operation of Stoica, Sultan and Keyes (1994, 3.2) is one of the algorithms:
    /// the manual's page [`collectives`](crate::manual::collectives).
    ///
    /// # Errors
    /// As all collectives.
    pub fn allreduce<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_allreduce(operator, buffer))
    }

    /// [`Group::allreduce`] without waiting. The operator runs where messages are moved: while the program computes, on
    /// the kernel's thread.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initallreduce<T: Element>(&self, operator: &Operator<T>, buffer: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_allreduce(operator, buffer))
    }

    fn asks_allreduce<'a, T: Element>(&self, operator: &'a Operator<T>, buffer: Vec<T>) -> Asked<'a, T, Output<T>> {
        Asked::in_place(self.call_by(Collective::Allreduce, operator, buffer.len()), buffer, Some(operator))
    }

    /// Sends the blocks of all ranks to the root, which gets them in the order of ranks; the others get `None`. Every
    /// rank gives the same number of elements. The algorithms are those of Tam and Wang (2000, 5), which avoid incast
    /// collapse: the manual's page [`collectives`](crate::manual::collectives).
    ///
    /// # Errors
    /// As all collectives.
    pub fn gather<T: Element>(&self, root: impl Into<Rank>, block: Vec<T>) -> Result<Option<Vec<T>>> {
        self.whole(self.asks_gather(root.into(), block))
    }

    /// [`Group::gather`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initgather<T: Element>(&self, root: impl Into<Rank>, block: Vec<T>) -> Result<Handle<Option<Vec<T>>>> {
        self.begin(self.asks_gather(root.into(), block))
    }

    fn asks_gather<T: Element>(
        &self,
        root: Rank,
        block: Vec<T>,
    ) -> Asked<'static, T, impl Finish<T, Option<Vec<T>>> + use<T>> {
        self.gathers(Call { root, ..self.call::<T>(Collective::Gather, block.len()) }, block)
    }

    fn gathers<T: Element>(
        &self,
        call: Call,
        block: Vec<T>,
    ) -> Asked<'static, T, impl Finish<T, Option<Vec<T>>> + use<T>> {
        let is_root = self.rank() == call.root;
        let whole = if is_root { zeroed(call.blocks.total(call.ranks) as usize) } else { Vec::new() };
        Asked::of(call, block, whole).making(move |_, output: Vec<T>| is_root.then_some(output))
    }

    /// [`Group::gather`] of blocks with different lengths: rank `i` gives `counts[i]` elements. All ranks give the same
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
        self.whole(self.asks_gather_counts(root.into(), counts, block)?)
    }

    /// [`Group::gather_counts`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initgather_counts<T: Element>(
        &self,
        root: impl Into<Rank>,
        counts: &[usize],
        block: Vec<T>,
    ) -> Result<Handle<Option<Vec<T>>>> {
        self.begin(self.asks_gather_counts(root.into(), counts, block)?)
    }

    fn asks_gather_counts<T: Element>(
        &self,
        root: Rank,
        counts: &[usize],
        block: Vec<T>,
    ) -> Result<Asked<'static, T, impl Finish<T, Option<Vec<T>>> + use<T>>> {
        let own = counts.get(self.rank().index());
        if counts.len() != self.size() as usize || own != Some(&block.len()) {
            let own = own.map_or("no count".to_owned(), |own| format!("{own} elements"));
            let (given, size) = (counts.len(), self.size());
            return self.wrong_length("gather_counts", block.len(), format!(
                "give a count for each of the {size} ranks, and a block as long as this rank's; there are {given} counts, and {own} for this rank"
            ));
        }
        let blocks = Blocks::Each(counts.iter().map(|&count| count as u64).collect());
        Ok(self.gathers(Call { root, blocks, ..self.call::<T>(Collective::Gather, 0) }, block))
    }

    /// Sends each rank its block of the root's buffer, in the order of ranks: `count` elements for each. The root gives
    /// `count` elements per rank, the others none.
    ///
    /// # Errors
    /// As all collectives.
    pub fn scatter<T: Element>(&self, root: impl Into<Rank>, count: usize, blocks: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_scatter(root.into(), count, blocks)?)
    }

    /// [`Group::scatter`] without waiting. The root's handle is complete when its blocks have left.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initscatter<T: Element>(
        &self,
        root: impl Into<Rank>,
        count: usize,
        blocks: Vec<T>,
    ) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_scatter(root.into(), count, blocks)?)
    }

    fn asks_scatter<T: Element>(
        &self,
        root: Rank,
        count: usize,
        blocks: Vec<T>,
    ) -> Result<Asked<'static, T, Output<T>>> {
        let size = self.size();
        let needed = if self.rank() == root { count * size as usize } else { 0 };
        if blocks.len() != needed {
            let why =
                format!("the root (rank {root}) gives {count} for each of the {size} ranks, every other rank none");
            return self.wrong_length("scatter", blocks.len(), why);
        }
        let call = Call { root, ..self.call::<T>(Collective::Scatter, count) };
        Ok(Asked::of(call, blocks, zeroed(count)))
    }

    /// Sends the blocks of all ranks to all ranks, in the order of ranks. Every rank gives the same number of elements:
    /// the manual's page [`collectives`](crate::manual::collectives).
    ///
    /// # Errors
    /// As all collectives.
    pub fn allgather<T: Element>(&self, block: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_allgather(block))
    }

    /// [`Group::allgather`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initallgather<T: Element>(&self, block: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_allgather(block))
    }

    fn asks_allgather<T: Element>(&self, block: Vec<T>) -> Asked<'static, T, Output<T>> {
        let call = self.call::<T>(Collective::Allgather, block.len());
        let (start, count) = (self.rank().index() * block.len(), block.len() * self.size() as usize);
        Asked::in_place(call, placed(block, start, count), None)
    }

    /// Sends a block of every rank to every rank: rank `i` gets the `i`-th block of each rank, in the order of ranks.
    /// All blocks of all ranks have the same length: the manual's page [`collectives`](crate::manual::collectives).
    ///
    /// # Errors
    /// As all collectives.
    pub fn alltoall<T: Element>(&self, blocks: Vec<T>) -> Result<Vec<T>> {
        self.whole(self.asks_alltoall(blocks)?)
    }

    /// [`Group::alltoall`] without waiting.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initalltoall<T: Element>(&self, blocks: Vec<T>) -> Result<Handle<Vec<T>>> {
        self.begin(self.asks_alltoall(blocks)?)
    }

    fn asks_alltoall<T: Element>(&self, blocks: Vec<T>) -> Result<Asked<'static, T, Output<T>>> {
        let call = self.call_alltoall_even::<T>("alltoall", blocks.len())?;
        let whole = zeroed(blocks.len());
        Ok(Asked::of(call, blocks, whole))
    }

    /// The neighbours' exchange of Stoica, Sultan and Keyes (1994, 3.3): carries out all sends and receives of `shifts`
    /// at once. `edges` holds the data to send, the result the received data, both consecutive in the order of
    /// `shifts`.
    ///
    /// Only neighbours need to call it, so it is no collective of all ranks. Neighbours must list their common shifts
    /// in the same order, and send as many elements as the other expects.
    ///
    /// ```
    /// use lathide::Shift;
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
        let _call = self.noting(self.kernel().call_collective(self.team()))?;
        self.initexchange(shifts, edges)?.wait_in_call()
    }

    /// [`Group::exchange`] without waiting.
    ///
    /// # Errors
    /// As [`Group::exchange`].
    pub fn initexchange<T: Element>(&self, shifts: &[Shift], edges: Vec<T>) -> Result<Handle<Vec<T>>> {
        let exchange = self.persistent_exchange(shifts)?;
        let ghosts = zeroed(exchange.received());
        exchange.begin("exchange", edges, ghosts, |_, ghosts| ghosts)
    }

    fn wrong_length<R>(&self, operation: &'static str, got: usize, why: String) -> Result<R> {
        self.noting(Err(Misuse::Length { rank: self.job_rank(), operation, got: got as u64, why }.into()))
    }

    fn call<T>(&self, collective: Collective, count: usize) -> Call {
        Call::new(collective, self.size(), count as u64, size_of::<T>() as u64)
    }

    fn call_alltoall_even<T>(&self, operation: &'static str, given: usize) -> Result<Call> {
        let size = self.size() as usize;
        if !given.is_multiple_of(size) {
            let why = format!("it needs as many for each of the {size} ranks");
            return self.wrong_length(operation, given, why);
        }
        Ok(self.call::<T>(Collective::Alltoall, given / size))
    }
}
