//! The node: one SPMD process, its rank, and its primitives.

mod collective;

use std::fmt;
use std::sync::Arc;

use crate::buffer::{Element, ElementType, WriteBuffer};
use crate::config::Config;
#[expect(unused_imports, reason = "named in documentation")]
use crate::error::Error;
use crate::error::{Misuse, Result};
use crate::handle::{ReadHandle, WriteHandle, read_handle, write_handle};
use crate::ids::{Rank, Tag};
use crate::kernel::Kernel;
use crate::observe::Report;
use crate::wire::frame::MatchKey;

/// Joins the job this process was started in, as its environment says. A program started alone is a job of one.
///
/// # Errors
/// [`Error::Misuse`] if the environment makes no sense, [`Error::Join`] if the job cannot be reached.
pub fn init() -> Result<Node> {
    init_with(Config::from_environment()?)
}

/// Joins a job by an explicit configuration; several nodes may live in one process.
///
/// # Errors
/// As [`init`].
pub fn init_with(config: Config) -> Result<Node> {
    Ok(Node { inner: Arc::new(Inner { kernel: Kernel::start(config)? }) })
}

/// A member of the job. Clones name the same node; any thread may use them, though
/// [collectives](Node#threads) only in an order. The last one dropped says goodbye.
#[derive(Clone)]
pub struct Node {
    inner: Arc<Inner>,
}

struct Inner {
    kernel: Arc<Kernel>,
}

impl Node {
    /// This node's rank, `0..size`.
    pub fn rank(&self) -> Rank {
        self.inner.kernel.rank
    }

    /// The number of nodes in the job.
    pub fn size(&self) -> u32 {
        self.inner.kernel.size
    }

    /// Starts to read the next message of `tag` from `from` into `buffer` (Strumpen 3.2.2, I.3). Does not wait.
    ///
    /// The buffer's length, not its capacity, is the most the message may have; it comes back from `wait` cut to
    /// the message's length. Reads of one tag meet messages in the order in which both were posted. Posted
    /// before the message comes, a read receives it without a copy.
    ///
    /// # Errors
    /// [`Error::Misuse`] if `from` is no rank of this job; [`Error::PeerLost`] if it has gone.
    pub fn initread<T: Element>(
        &self,
        from: impl Into<Rank>,
        tag: impl Into<Tag>,
        buffer: Vec<T>,
    ) -> Result<ReadHandle<T>> {
        let completion = self.post_read(from.into(), MatchKey::user(tag.into()), buffer)?;
        Ok(read_handle(self.inner.kernel.clone(), completion))
    }

    /// Starts to write `buffer` to `to` as a message of `tag` (Strumpen 3.2.2, I.3). Does not wait.
    ///
    /// The buffer comes back from `wait` when it may be reused. A message within the receiver's window (64 MiB
    /// unless configured otherwise) leaves without its read; one beyond it waits for the read to be posted.
    ///
    /// # Errors
    /// As [`Node::initread`].
    pub fn initwrite<B: WriteBuffer>(
        &self,
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
        buffer: B,
    ) -> Result<WriteHandle<B>> {
        self.check_element(B::TYPE, B::ELEMENT_BYTES)?;
        let kernel = &self.inner.kernel;
        let completion = kernel.initwrite(to.into(), MatchKey::user(tag.into()), B::TYPE, Box::new(buffer));
        Ok(write_handle(kernel.clone(), self.noting(completion)?))
    }

    /// What the node has observed so far: where its time went, what its links carried, and what the models say to that.
    ///
    /// After `finalize` has begun on a clone, times stand as they were then.
    pub fn report(&self) -> Report {
        self.inner.kernel.observed()
    }

    /// Returns an error of an earlier write that no handle has returned: a message that had left, and so its write was
    /// complete, met a read that it does not fit. Each is returned once, the first first; `Ok` if there is none. No other
    /// call fails for it; [`Node::finalize`] returns the first that was not asked for. Never blocks.
    ///
    /// A write is complete when its bytes have left its buffer ([`crate::Handle::wait`]), so an error of its message can
    /// come later. The writer hears of every message that has met its read when the reader hears that the writer
    /// finalizes: always so if the read is posted before the message comes. Later, when the writer may be gone, the
    /// reader alone has the error; and a reader that has finalized itself tells nobody.
    ///
    /// # Errors
    /// [`Error::Mismatch`].
    ///
    /// ```
    /// let node = lathide::init()?;
    /// node.initwrite(0, 1, vec![1.0f64])?.wait()?;                             // it has left ...
    /// node.initread(0, 1, vec![0u8; 8])?.wait().unwrap_err();                  // ... and is not what this read is for
    /// assert!(matches!(node.check(), Err(lathide::Error::Mismatch(_))));       // so both sides know
    /// node.check()?;
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn check(&self) -> Result<()> {
        let kernel = &self.inner.kernel;
        kernel.poke();
        self.noting(kernel.take_refusal().map_or(Ok(()), Err))
    }

    /// Leaves the job: every message this node has written leaves, its collectives end, and peers confirm that all has
    /// arrived. If it has called collectives, the others confirm that they have called the same, as soon as they have
    /// called as many; for that it waits no longer than [`Config::linger`]. Waits for nothing else: it is no barrier. Also done
    /// on drop, where errors go unseen.
    ///
    /// # Errors
    /// The first that no call has said: an error of an earlier write ([`Node::check`]), what the job failed with, or why
    /// collectives fail.
    pub fn finalize(self) -> Result<()> {
        self.inner.kernel.finish(None)
    }

    fn post_read<T: Element>(
        &self,
        from: Rank,
        key: MatchKey,
        buffer: Vec<T>,
    ) -> Result<Arc<crate::kernel::Completion>> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let bytes = size_of_val(&buffer[..]) as u64;
        let completion = self.inner.kernel.initread(from, key, T::TYPE, Box::new(buffer), bytes);
        self.noting(completion)
    }

    fn check_element(&self, element: ElementType, bytes: usize) -> Result<()> {
        let rank = self.rank();
        if bytes == 0 { Err(Misuse::NoSize { rank, element }.into()) } else { Ok(()) }
    }

    /// Remembers an error that the program is told: a node dropped after one has failed.
    fn noting<T>(&self, result: Result<T>) -> Result<T> {
        result.inspect_err(|error| self.inner.kernel.note_failure(error))
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
