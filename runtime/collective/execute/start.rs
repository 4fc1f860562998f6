//! What a collective begins with.

use std::sync::Arc;

use super::timing::Timed;
use super::work::Work;
use crate::collective::prepared::Prepared;
use crate::collective::signature::Signature;
use crate::error::Error;

/// A collective that is to begin.
pub(crate) struct Start {
    /// This rank's number of the group whose ranks the schedule names; 0 for the whole job.
    pub(crate) group: u32,
    pub(crate) schedule: Arc<Prepared>,
    /// What ranks must agree on; `None` for neighbours' exchanges.
    pub(crate) signature: Option<Signature>,
    pub(crate) work: Box<dyn Work>,
    /// Who is told how long it takes.
    pub(crate) timed: Option<Timed>,
}

/// Selects the algorithm of a deferred collective, and makes what it begins with; nothing begins if it only changes how later
/// ones are selected. Runs without the lock.
pub(crate) type Deferred = Box<dyn FnOnce() -> Result<Option<Start>, Error> + Send>;
