//! Buffers that are lent: taken out of their place for an operation, and put back when it is complete.

use std::fmt;
use std::future::Future;
use std::mem::take;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use super::Node;
use crate::buffer::{Part, ReadBuffer, Strided, WriteBuffer};
use crate::error::{Error, Misuse, Result};
use crate::handle::{Cancelled, Failed, Handle, Test};
use crate::ids::{Rank, Tag};
use crate::operation::Operation;

/// # Lent buffers
///
/// These calls take a buffer out of a variable and put it back at the wait, so that the variable needs no name for the
/// time between. Meanwhile an empty buffer stands there, and the [`Loan`] borrows the variable.
impl Node {
    /// [`Node::initread`] into a buffer that is lent: `&mut` a [`ReadBuffer`], or a [`Part`] or [`Strided`] region of
    /// one. [`Loan::wait`] puts it back, filled.
    ///
    /// ```
    /// use lathide::Part;
    /// let node = lathide::init()?;
    /// let own = node.rank();
    /// let (mut ghosts, edge) = (vec![0.0; 4], vec![1.0, 2.0]);
    /// let ghost = node.read_into(own, 1, Part::new(&mut ghosts, 2..4))?;
    /// let sent = node.initwrite(own, 1, edge)?;
    /// // Compute meanwhile: `ghosts` is borrowed, everything else is free.
    /// ghost.wait()?;
    /// sent.wait()?;
    /// assert_eq!(ghosts, [0.0, 0.0, 1.0, 2.0]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Node::initread`]. The buffer is in its place again.
    pub fn read_into<L: Lend<Buffer: ReadBuffer>>(
        &self,
        from: impl Into<Rank>,
        tag: impl Into<Tag>,
        mut buffer: L,
    ) -> Result<Loan<L>> {
        let posted = self.try_initread(from, tag, buffer.take_out());
        Loan::new(posted, buffer)
    }

    /// [`Node::initwrite`] of a buffer that is lent: `&mut` a [`WriteBuffer`], or a [`Part`] or [`Strided`] region of
    /// one. [`Loan::wait`] puts it back, as it was.
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let mut rows = vec![vec![1u8; 3], vec![2u8; 3]];
    /// let mut sums = vec![0u8; 3];
    /// let read = node.read_into(node.rank(), 1, &mut sums)?;
    /// let sent = node.write_from(node.rank(), 1, &mut rows[1])?;
    /// sent.wait()?;
    /// read.wait()?;
    /// assert_eq!((&rows[1], &sums), (&vec![2; 3], &vec![2; 3]));
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Node::initwrite`]. The buffer is in its place again.
    pub fn write_from<L: Lend<Buffer: WriteBuffer>>(
        &self,
        to: impl Into<Rank>,
        tag: impl Into<Tag>,
        mut buffer: L,
    ) -> Result<Loan<L>> {
        let posted = self.try_initwrite(to, tag, buffer.take_out());
        Loan::new(posted, buffer)
    }
}

/// What can be lent to an operation: `&mut B`, `Part<&mut B>` and `Strided<&mut B>` for a buffer `B` with an empty
/// `Default`, such as `Vec<T>`.
pub trait Lend {
    /// What moves into the operation.
    type Buffer: Send + 'static;
    /// Takes the buffer out of its place, which is empty then.
    fn take_out(&mut self) -> Self::Buffer;
    /// Puts the buffer back into its place.
    fn put_back(&mut self, buffer: Self::Buffer);
}

impl<B: Default + Send + 'static> Lend for &mut B {
    type Buffer = B;
    fn take_out(&mut self) -> B {
        take(*self)
    }
    fn put_back(&mut self, buffer: B) {
        **self = buffer;
    }
}

impl<B: Default + Send + 'static> Lend for Part<&mut B> {
    type Buffer = Part<B>;
    fn take_out(&mut self) -> Part<B> {
        Part::new(take(self.buffer), self.range())
    }
    fn put_back(&mut self, buffer: Part<B>) {
        self.range = buffer.range();
        *self.buffer = buffer.into_inner();
    }
}

impl<B: Default + Send + 'static> Lend for Strided<&mut B> {
    type Buffer = Strided<B>;
    fn take_out(&mut self) -> Strided<B> {
        Strided::new(take(self.buffer), self.section().clone())
    }
    fn put_back(&mut self, buffer: Strided<B>) {
        *self.buffer = buffer.into_inner();
    }
}

/// A pending operation on a buffer that is lent. It borrows the buffer's place, in which an empty one stands until
/// [`Loan::wait`], `.await` or [`Loan::wait_timeout`] puts the buffer back.
///
/// Dropping a loan never blocks. If the operation is complete, the buffer is put back. Otherwise the operation is
/// abandoned as that of a [`Handle`] is: the buffer is lost, and its place stays empty. So it does if the loan is
/// forgotten ([`std::mem::forget`]).
#[must_use = "wait for the operation: else the buffer may be lost"]
pub struct Loan<L: Lend> {
    /// Until the operation has ended.
    under_way: Option<(Handle<L::Buffer>, L)>,
    operation: Operation,
}

impl<L: Lend> Loan<L> {
    fn new(posted: Result<Handle<L::Buffer>, Failed<L::Buffer>>, mut lender: L) -> Result<Self> {
        match posted {
            Ok(handle) => Ok(Loan { operation: handle.operation(), under_way: Some((handle, lender)) }),
            Err(failed) => Err(put_back(&mut lender, failed)),
        }
    }

    /// Waits until the operation is complete, as [`Handle::wait`], and puts the buffer back. Returns its place: for a
    /// [`Part`] that was read into, with the range that was received.
    ///
    /// # Errors
    /// As [`Handle::wait`]. The buffer is in its place again, unless a part of it may still be in use.
    pub fn wait(mut self) -> Result<L> {
        let (handle, mut lender) = self.under_way.take().ok_or_else(|| self.taken())?;
        match handle.wait_or_buffer() {
            Ok(buffer) => lender.put_back(buffer),
            Err(failed) => return Err(put_back(&mut lender, failed)),
        }
        Ok(lender)
    }

    /// [`Loan::wait`], for at most `timeout`. After that the loan comes back with the error.
    ///
    /// # Errors
    /// [`Error::Timeout`] with the loan; all others as `wait`, without it.
    pub fn wait_timeout(mut self, timeout: Duration) -> Result<L, (Error, Option<Self>)> {
        let (handle, mut lender) = self.under_way.take().ok_or_else(|| (self.taken(), None))?;
        match handle.wait_timeout(timeout) {
            Ok(buffer) => {
                lender.put_back(buffer);
                Ok(lender)
            }
            Err((error, None)) => Err((error, None)),
            Err((error, Some(handle))) => {
                self.under_way = Some((handle, lender));
                Err((error, Some(self)))
            }
        }
    }

    /// Whether the operation is complete. Never blocks.
    pub fn is_complete(&self) -> bool {
        self.under_way.as_ref().is_none_or(|(handle, _)| handle.is_complete())
    }

    /// The call: its kind, the calling rank, and the peer.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Withdraws a read that no message has matched yet, as [`Handle::cancel`], and puts the buffer back. Otherwise
    /// returns the loan.
    pub fn cancel(mut self) -> Option<Self> {
        let (handle, mut lender) = self.under_way.take()?;
        match handle.cancel() {
            Cancelled::Withdrawn(buffer) => {
                lender.put_back(buffer);
                None
            }
            Cancelled::Matched(handle) => {
                self.under_way = Some((handle, lender));
                Some(self)
            }
        }
    }

    fn taken(&self) -> Error {
        Misuse::Taken { operation: self.operation }.into()
    }
}

/// Puts the buffer of an operation that has failed back, if there is one.
fn put_back<L: Lend>(lender: &mut L, failed: Failed<L::Buffer>) -> Error {
    if let Some(buffer) = failed.buffer {
        lender.put_back(buffer);
    }
    failed.error
}

impl<L: Lend + Unpin> Future for Loan<L> {
    type Output = Result<L>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let Some((handle, _)) = &mut self.under_way else { return Poll::Ready(Err(self.taken())) };
        let Poll::Ready(result) = Pin::new(handle).poll(context) else { return Poll::Pending };
        let lender = self.under_way.take().map(|(_, lender)| lender);
        Poll::Ready(lender.ok_or_else(|| self.taken()).and_then(|mut lender| {
            lender.put_back(result?);
            Ok(lender)
        }))
    }
}

impl<L: Lend> Drop for Loan<L> {
    fn drop(&mut self) {
        if let Some((handle, mut lender)) = self.under_way.take()
            && let Ok(Test::Ready(buffer)) = handle.test()
        {
            lender.put_back(buffer);
        }
    }
}

impl<L: Lend> fmt::Debug for Loan<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.under_way {
            Some((handle, _)) => write!(f, "Loan of {handle:?}"),
            None => write!(f, "Loan({}, put back)", self.operation),
        }
    }
}
