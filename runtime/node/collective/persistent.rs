//! Neighbours' exchanges that are planned once and carried out many times.

use std::fmt;
use std::sync::Arc;

use super::super::group::Group;
use super::buffers::bytes_of;
use crate::buffer::Element;
use crate::collective::Prepared;
use crate::collective::exchange::{self, Shift};
use crate::collective::execute::{Start, Typed};
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::Result;
use crate::handle::Handle;
use crate::ids::Rank;
use crate::operation::{Operation, OperationKind};

/// A neighbours' exchange that is planned once and carried out any number of times, with a buffer to send from and one to
/// receive into: made by [`Group::persistent_exchange`].
#[derive(Clone)]
pub struct PersistentExchange {
    group: Group,
    schedule: Arc<Prepared>,
    sent: usize,
    received: usize,
}

impl Group {
    /// Plans an exchange with neighbours, as [`Group::exchange`] carries it out. Nothing is sent before
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
        for (peer, _) in shifts.iter().flat_map(|shift| [shift.to, shift.from]).flatten() {
            self.noting(self.team().check(self.job_rank(), peer))?;
        }
        let total = |side: fn(&Shift) -> Option<(Rank, usize)>| -> usize {
            shifts.iter().filter_map(side).map(|(_, count)| count).sum()
        };
        let (sent, received) = (total(|shift| shift.to), total(|shift| shift.from));
        let schedule = exchange::schedule(self.rank(), shifts).into();
        Ok(PersistentExchange { group: self.clone(), schedule, sent, received })
    }
}

impl PersistentExchange {
    /// Starts the exchange: sends `edges`, and receives into `ghosts`, both consecutive in the order of the shifts. Does not
    /// wait; both buffers come back from the handle, in this order, and may be used for the next start. A start may follow
    /// before the one before has ended; neighbours match them in order.
    ///
    /// # Errors
    /// [`Error::Misuse`] if a buffer is not as long as the shifts say; all others as [`Group::exchange`].
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
        let PersistentExchange { group, schedule, sent, received } = self;
        group.check_element(T::TYPE, size_of::<T>())?;
        if edges.len() != *sent {
            return group.wrong_length(name, edges.len(), format!("its shifts send {sent}"));
        }
        if ghosts.len() != *received {
            return group.wrong_length(name, ghosts.len(), format!("its shifts receive {received}"));
        }
        let rank = group.job_rank();
        let operation = Operation::new(OperationKind::Exchange, rank, rank, None, bytes_of(&edges, &ghosts));
        let work = Box::new(Typed::new(schedule, edges, ghosts, None, finish));
        let start =
            Start { group: group.team().number, schedule: schedule.clone(), signature: None, work, timed: None };
        let completion = group.noting(group.kernel().initexchange(group.team(), operation, start))?;
        Ok(Handle::new(group.kernel().clone(), completion))
    }
}

impl fmt::Debug for PersistentExchange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PersistentExchange { group, sent, received, .. } = self;
        write!(f, "PersistentExchange({group:?}, {sent} elements sent, {received} received)")
    }
}
