//! Neighbours' exchanges that are planned once and carried out many times.

use std::fmt;
use std::sync::Arc;

use super::buffers::bytes_of;
use crate::buffer::Element;
use crate::collective::Schedule;
use crate::collective::exchange::{self, Shift};
use crate::collective::execute::{Start, Typed};
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Misuse, Result};
use crate::handle::Handle;
use crate::ids::Rank;
use crate::node::Node;
use crate::operation::{Operation, OperationKind};

/// A neighbours' exchange that is planned once and carried out any number of times, with a buffer to send from and one to
/// receive into: made by [`Node::persistent_exchange`].
#[derive(Clone)]
pub struct PersistentExchange {
    node: Node,
    schedule: Arc<Schedule>,
    sent: usize,
    received: usize,
}

impl Node {
    /// Plans an exchange with neighbours, as [`Node::exchange`] carries it out. Nothing is sent before
    /// [`PersistentExchange::start`]. The plan has no element type, so one serves buffers of several.
    ///
    /// ```
    /// use lathide::Shift;
    /// let node = lathide::init()?;
    /// let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
    /// let halo = node.persistent_exchange(&[Shift { to: Some((right, 2)), from: Some((left, 2)) }])?;
    /// let (mut edges, mut ghosts) = (vec![0.0f64; 2], vec![0.0; 2]);
    /// for step in 0..3 {
    ///     edges.fill(f64::from(step));
    ///     let exchanged = halo.start(edges, ghosts)?;            // both buffers move in
    ///     (edges, ghosts) = exchanged.wait()?;                   // and come back
    ///     assert_eq!(ghosts, [f64::from(step); 2]);
    /// }
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::Misuse`] if a rank does not exist.
    pub fn persistent_exchange(&self, shifts: &[Shift]) -> Result<PersistentExchange> {
        let (rank, size) = (self.rank(), self.size());
        let ends = shifts.iter().flat_map(|shift| [shift.to, shift.from]).flatten();
        if let Some((peer, _)) = ends.into_iter().find(|(peer, _)| peer.0 >= size) {
            return self.noting(Err(Misuse::NoSuchRank { rank, peer, size }.into()));
        }
        let total = |side: fn(&Shift) -> Option<(Rank, u64)>| -> usize {
            shifts.iter().filter_map(side).map(|(_, count)| count as usize).sum()
        };
        let (sent, received) = (total(|shift| shift.to), total(|shift| shift.from));
        let schedule = Arc::new(exchange::schedule(rank, shifts));
        Ok(PersistentExchange { node: self.clone(), schedule, sent, received })
    }
}

impl PersistentExchange {
    /// Starts the exchange: sends `edges`, and receives into `ghosts`, both consecutive in the order of the shifts. Does not
    /// wait; both buffers come back from the handle, in this order, and may be used for the next start. A start may follow
    /// before the one before has ended; neighbours match them in order.
    ///
    /// # Errors
    /// [`Error::Misuse`] if a buffer is not as long as the shifts say; all others as [`Node::exchange`].
    pub fn start<T: Element>(&self, edges: Vec<T>, ghosts: Vec<T>) -> Result<Handle<(Vec<T>, Vec<T>)>> {
        self.begin("a persistent exchange", edges, ghosts, |edges, ghosts| (edges, ghosts))
    }

    /// The number of elements that a start sends.
    pub fn sent(&self) -> usize {
        self.sent
    }

    /// The number of elements that a start receives.
    pub fn received(&self) -> usize {
        self.received
    }

    pub(super) fn begin<T: Element, R: Send + 'static>(
        &self,
        name: &'static str,
        edges: Vec<T>,
        ghosts: Vec<T>,
        finish: impl FnOnce(Vec<T>, Vec<T>) -> R + Send + 'static,
    ) -> Result<Handle<R>> {
        let PersistentExchange { node, schedule, sent, received } = self;
        node.check_element(T::TYPE, size_of::<T>())?;
        if edges.len() != *sent {
            return node.wrong_length(name, edges.len(), format!("its shifts send {sent}"));
        }
        if ghosts.len() != *received {
            return node.wrong_length(name, ghosts.len(), format!("its shifts receive {received}"));
        }
        let rank = node.rank();
        let operation = Operation::new(OperationKind::Exchange, rank, rank, None, bytes_of(&edges, &ghosts));
        let work = Box::new(Typed::new(schedule, edges, ghosts, None, finish));
        let kernel = &node.inner.kernel;
        let start = Start { schedule: schedule.clone(), signature: None, work, timed: None };
        let completion = node.noting(kernel.initexchange(operation, start))?;
        Ok(Handle::new(kernel.clone(), completion))
    }
}

impl fmt::Debug for PersistentExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PersistentExchange { node, sent, received, .. } = self;
        write!(f, "PersistentExchange({node:?}, {sent} elements sent, {received} received)")
    }
}
