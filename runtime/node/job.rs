//! The calls of a node that every program has: its rank, messages, and the end.

use super::Node;
use crate::buffer::{ReadBuffer, WriteBuffer};
#[expect(unused_imports, reason = "named in documentation")]
use crate::config::Config;
use crate::error::{Error, Result};
use crate::handle::{Handle, WriteHandle};
use crate::ids::{Rank, Tag};
use crate::kernel::SharedCompletion;
use crate::observe::Report;
use crate::wire::frame::MatchKey;

/// # The job and its messages
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
    /// The buffer may be longer than the message. Its length, not its capacity, is the maximum length of the message.
    /// It comes back from `wait` cut to the length of the message; buffers that cannot be cut take messages of their
    /// own length only ([`ReadBuffer`] lists the buffers). Reads of one tag match messages in the order in which both
    /// were posted. A read that is posted before the message arrives receives it without a copy.
    ///
    /// # Errors
    /// [`Error::Misuse`] if `from` is no rank of this job, or the buffer is a part that reaches beyond another;
    /// [`Error::PeerLost`] if `from` is lost.
    pub fn initread<B: ReadBuffer>(&self, from: impl Into<Rank>, tag: impl Into<Tag>, buffer: B) -> Result<Handle<B>> {
        let completion = self.post_read(from.into(), MatchKey::user(tag.into()), buffer)?;
        Ok(Handle::new(self.inner.kernel.clone(), completion))
    }

    /// Starts to write `buffer` to `to` as a message of `tag` (Strumpen 3.2.2, I.3). Does not wait.
    ///
    /// The buffer comes back from `wait` when it may be reused. A message within the receiver's window (64 MiB by
    /// default) is sent eagerly, without its read. A message beyond the window waits until the read is posted
    /// (rendezvous protocol).
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
        self.check_region(buffer.flaw())?;
        let kernel = &self.inner.kernel;
        let completion = kernel.initwrite(to.into(), MatchKey::user(tag.into()), B::TYPE, Box::new(buffer));
        Ok(Handle::new(kernel.clone(), self.noting(completion.map_err(Error::from))?))
    }

    /// What the node has observed so far: where its time went, what its links carried, and what the models predict.
    ///
    /// After `finalize` has begun on a clone, the times no longer change.
    pub fn report(&self) -> Report {
        self.inner.kernel.observed()
    }

    /// Returns an error of an earlier write that no handle has returned. Such an error occurs if a message does not fit
    /// its read, but had already left, so that its write was complete. Each error is returned once, in order; `Ok` if
    /// there is none. No other call fails because of it. [`Node::finalize`] returns the first error that was not
    /// fetched. Never blocks.
    ///
    /// A write is complete when its bytes have left its buffer ([`crate::Handle::wait`]), so an error of its message
    /// can come later. The writer learns of every message that has met its read before the reader hears that the writer
    /// finalizes. That is always so if the read is posted before the message arrives. Later the writer may be gone, and
    /// only the reader has the error. A reader that has finalized reports nothing.
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
        self.noting(kernel.forked().or_else(|| kernel.take_refusal()).map_or(Ok(()), Err))
    }

    /// Leaves the job. All messages of this node are sent, its collectives end, and the peers confirm that everything
    /// has arrived. If the node has called collectives, the other ranks confirm that they have called the same ones;
    /// each does so when it has called as many. For that, `finalize` waits at most [`Config::linger`]. It waits for
    /// nothing else: it is no barrier. Dropping the last clone does the same, but errors are lost.
    ///
    /// # Errors
    /// The first error that no call has returned: of an earlier write ([`Node::check`]), of the job, or of the
    /// collectives.
    pub fn finalize(self) -> Result<()> {
        self.inner.kernel.finish(None)
    }

    fn post_read<B: ReadBuffer>(&self, from: Rank, key: MatchKey, buffer: B) -> Result<SharedCompletion> {
        self.check_element(B::TYPE, B::ELEMENT_BYTES)?;
        self.check_region(buffer.flaw())?;
        let bytes = buffer.capacity_bytes() as u64;
        let completion = self.inner.kernel.initread(from, key, B::TYPE, buffer.place(), bytes);
        self.noting(completion.map_err(Error::from))
    }
}
