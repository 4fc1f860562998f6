//! The collectives of a node: each blocking and, with `init`, not blocking.

use super::Node;
use crate::buffer::Element;

use crate::collective::execute::{Start, Typed};
use crate::collective::signature::Signature;
use crate::collective::{Call, Collective, Operator};
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Operation, OperationKind, Result};
use crate::handle::Handle;
use crate::ids::Rank;

/// # Collectives
///
/// All ranks call the same collectives in the same order, with the same root, number of elements, element type and
/// operator; how they differ is found out and said on every rank ([`Error::Disagreement`]). The calls with `init`
/// return at once, and the collective goes on while the program computes; any number may be under way. A handle
/// that is dropped detaches its collective: this rank's part goes on, and `finalize` waits for it.
///
/// The algorithm is the one that the model says is cheapest ([`Handle::choice`]). If a collective fails on a rank, it
/// and all after it fail on every rank, with the reason; messages between two ranks go on.
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
    /// As all collectives; an [`Error::Mismatch`] of an earlier write that was over before it was refused.
    pub fn barrier(&self) -> Result<()> {
        self.noting(self.inner.kernel.check_refusals())?;
        self.initbarrier()?.wait()
    }

    /// [`Node::barrier`] without waiting: the handle's wait ends when every rank has called it.
    ///
    /// # Errors
    /// As all collectives.
    pub fn initbarrier(&self) -> Result<Handle<()>> {
        self.begin(self.call::<u8>(Collective::Barrier, 0), Vec::<u8>::new(), Vec::new(), None, |_| ())
    }

    /// The root's `buffer` to all ranks. Every rank gives a buffer of the same length; it comes back with the root's
    /// data in it. Trees and chains of Stoica, Sultan and Keyes (1994, 3.1) and Tam and Wang (2000, 4):
    /// [`crate::collective::broadcast`].
    ///
    /// # Errors
    /// As all collectives.
    pub fn broadcast<T: Element>(&self, root: impl Into<Rank>, buffer: Vec<T>) -> Result<Vec<T>> {
        self.initbroadcast(root, buffer)?.wait()
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
        self.initreduce(root, operator, buffer)?.wait()
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
        self.initallreduce(operator, buffer)?.wait()
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
        let plan = kernel.plan(&call)?;
        tracing::debug!(rank = %self.rank(), collective = %call.collective, choice = %plan.choice, "begins");
        let root = if call.has_root() { call.root } else { self.rank() };
        let kind = OperationKind::Collective(call.collective);
        let operation = Operation::new(kind, self.rank(), root, None, bytes_of(&input, &output));
        let name = operator.map_or("", Operator::name);
        let signature = Some(Signature::new(&call, plan.algorithm, T::TYPE, name));
        let work = Typed::new(&plan.schedule, input, output, operator.cloned(), finish);
        let start = Start { schedule: plan.schedule.clone(), signature, work: Box::new(work) };
        let slot = self.noting(kernel.initcollective(operation, Some(&plan), start))?;
        Ok(Handle::new(kernel.clone(), slot))
    }
}

/// The bytes a rank contributes, or receives if they are more.
fn bytes_of<T>(input: &[T], output: &[T]) -> u64 {
    size_of_val(input).max(size_of_val(output)) as u64
}
