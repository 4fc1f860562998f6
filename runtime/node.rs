//! The node: one SPMD process, its rank, and its primitives.

mod collective;
mod grid;
mod group;
mod job;
mod lend;
mod once;
mod read;
mod region;
mod section;
mod selection;
mod wait_set;
mod waits;
mod window;

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::config::Config;
use crate::error::Result;
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::{Error, Misuse};
#[expect(unused_imports, reason = "named in documentation")]
use crate::handle::Handle;
use crate::kernel::Kernel;
pub use collective::PersistentExchange;
pub use grid::Grid;
pub use group::Group;
pub use lend::{Lend, Loan};
use once::Turn;
pub use region::Region;
pub use section::{Ghosts, SectionShift};
pub use wait_set::{Completed, WaitSet};
pub use waits::{wait_all, wait_any, wait_some};
pub use window::Window;

/// Joins the job of this process, which the environment describes. A program started alone is a job of one rank.
///
/// A process joins a job of several ranks once; clones of the [`Node`] are the same member of it. A process that was
/// forked from one that has joined cannot use that one's node: its calls return [`Misuse::Forked`].
///
/// # Errors
/// [`Error::Misuse`] if a variable is invalid, or if the process has joined before ([`Misuse::Joined`]);
/// [`Error::Join`] if the job cannot be reached.
pub fn init() -> Result<Node> {
    let config = Config::from_environment()?;
    if config.size == 1 {
        return init_with(config);
    }
    let turn = Turn::take(config.rank)?;
    let node = init_with(config)?;
    turn.used(&node.inner.kernel);
    Ok(node)
}

/// Joins a job with an explicit configuration. Several nodes may live in one process.
///
/// # Errors
/// As [`init`], but for what it says of processes that join twice.
pub fn init_with(config: Config) -> Result<Node> {
    let kernel = Kernel::start(config)?;
    let job = Group::new(kernel.clone(), kernel.calls.job.clone());
    Ok(Node { inner: Arc::new(Inner { kernel, job }) })
}

/// A member of the job. Clones refer to the same node. Any thread may use them, but calls of
/// [collectives](Group#threads) must be ordered. When the last clone is dropped, the node leaves the job.
///
/// All ranks of the job are a [`Group`], and the node has that group's calls: collectives, and smaller groups.
///
/// | for | call |
/// | --- | --- |
/// | a message | [`initwrite`](Node::initwrite) and [`initread`](Node::initread); their [`Handle`] has `wait` |
/// | one of unknown origin or length | [`initread_any`](Node::initread_any), [`initread_vec`](Node::initread_vec) |
/// | the next of many operations | [`WaitSet`], [`wait_any`], [`wait_all`] |
/// | one from or into a buffer that stays in its variable | [`write_from`](Node::write_from), [`read_into`](Node::read_into) |
/// | one of a range, a column, a face | a [`Part`](crate::Part) or [`Strided`](crate::Strided) buffer |
/// | what all ranks do together | [collectives](Group#collectives): [`barrier`](Group::barrier), [`broadcast`](Group::broadcast), [`allreduce`](Group::allreduce) ... |
/// | what some ranks do together | [`group`](Group::group), [`split`](Group::split), [`Grid`] |
/// | neighbours on a grid | [`exchange`](Group::exchange), [`exchange_sections`](Group::exchange_sections) |
/// | what has happened | [`report`](Node::report), by [`region`](Node::region) of the program; [`check`](Node::check) |
/// | the end | [`finalize`](Node::finalize) |
/// | the selection of algorithms | [`calibrate`](Node::calibrate), [`set_cost_model`](Node::set_cost_model), [`override_algorithms`](Node::override_algorithms) |
#[derive(Clone)]
pub struct Node {
    inner: Arc<Inner>,
}

struct Inner {
    kernel: Arc<Kernel>,
    /// All ranks of the job.
    job: Group,
}

impl Deref for Node {
    type Target = Group;

    /// The group of all ranks of the job.
    fn deref(&self) -> &Group {
        &self.inner.job
    }
}

impl fmt::Debug for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node({} of {})", self.rank(), self.size())
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let failed = if std::thread::panicking() {
            Some("it panicked; look at its output".to_owned())
        } else {
            self.kernel.noted_failure()
        };
        // Nobody is left to be told of an error; the peers are.
        let _ = self.kernel.finish(failed);
    }
}
