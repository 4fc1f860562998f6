//! Handles of pending operations: wait for them, test them, await them, cancel them, or drop them.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::collective::choose::Choice;
use crate::engine::{Failure, Outcome};
use crate::error::{Error, Misuse, Result};
use crate::ids::Rank;
use crate::kernel::{Completion, HasCompletion, Kernel, SharedCompletion};
use crate::operation::Operation;

/// A pending read into a vector. `wait` returns it, filled and cut to the length of the message. Reads into other
/// [buffers](crate::ReadBuffer) have a [`Handle`] of theirs.
///
/// Dropping the handle abandons the read and loses no message. If no message has matched the read yet, it is withdrawn.
/// Otherwise the message goes back, and the next read of its tag gets it, in its place in the order.
pub type ReadHandle<T> = Handle<Vec<T>>;

/// A pending read of any origin. `wait` returns the rank that wrote the message, and the buffer as [`ReadHandle`] does.
pub type AnyHandle<T> = Handle<(Rank, Vec<T>), Vec<T>>;

/// A pending write. `wait` returns the buffer when it may be reused: when its bytes have left it, not when they have
/// arrived.
///
/// Dropping the handle detaches the write. The message is still sent; if it is refused, [`crate::Node::check`] returns
/// the error.
pub type WriteHandle<B> = Handle<B>;

/// A pending operation, and what it returns: `R`. `B` is the buffer that it was given, which is the same but for reads of
/// any origin.
///
/// # Timeouts
///
/// [`Handle::wait_timeout`] gives the handle back, so nothing is lost. So does a future that is polled by reference, as here;
/// one that is dropped when its read has matched a message leaves that message to the next read of its tag.
///
/// ```
/// use std::time::Duration;
/// use lathide::Cancelled;
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> lathide::Result<()> {
/// let node = lathide::init()?;
/// let mut read = node.initread(0, 1, vec![0u8; 4])?;
/// let in_time = tokio::select! {
///     message = &mut read => Some(message?),
///     _ = tokio::time::sleep(Duration::from_millis(10)) => None,
/// };
/// if in_time.is_none() {
///     match read.cancel() {                                      // nobody has written
///         Cancelled::Withdrawn(buffer) => assert_eq!(buffer, [0; 4]),
///         Cancelled::Matched(read) => drop(read.await?),         // it has come meanwhile
///     }
/// }
/// # drop(node.initwrite(0, 2, vec![7u8; 4])?.await?);
/// let late = tokio::time::timeout(Duration::from_millis(10), node.initread(0, 2, vec![0u8; 4])?).await;
/// # assert_eq!(late.expect("it is here")?, [7; 4]);
/// node.finalize()
/// # }
/// ```
#[must_use = "wait for the operation, or drop its handle to abandon it"]
pub struct Handle<R, B = R> {
    pub(crate) raw: RawHandle,
    types: PhantomData<fn() -> (R, B)>,
}

/// A handle that does not say what its operation returns.
// Two pointers and no more: programs keep many.
pub(crate) struct RawHandle {
    pub(crate) kernel: Arc<Kernel>,
    pub(crate) completion: SharedCompletion,
}

impl<R: Send + 'static, B: Send + 'static> Handle<R, B> {
    pub(crate) fn new(kernel: Arc<Kernel>, completion: SharedCompletion) -> Self {
        // Nothing is under way of what was over as it was posted.
        if !completion.was_over() {
            completion.opener.store(kernel.observer.opens(), Relaxed);
        }
        Handle { raw: RawHandle { kernel, completion }, types: PhantomData }
    }

    /// The handle without its types.
    pub(crate) fn into_raw(self) -> RawHandle {
        self.raw
    }

    /// Waits until the operation is complete and returns the buffer. Meanwhile the waiting thread moves bytes itself;
    /// it sleeps if there is nothing to move.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the message does not fit the read, [`Error::PeerLost`] if a rank is lost,
    /// [`Error::Deadlock`] if the job cannot move any more.
    pub fn wait(self) -> Result<R> {
        let RawHandle { kernel, completion } = &self.raw;
        kernel.wait_any(std::slice::from_ref(completion), None);
        self.taken_out()
    }

    /// [`Handle::wait`] for a thread that has been waiting until now. If the operation is complete, no time has passed, and the clock is
    /// not read.
    pub(crate) fn wait_on(self) -> Result<R> {
        if self.raw.completion.is_done() && !self.raw.kernel.observer.is_taped() {
            return self.taken_out();
        }
        self.wait()
    }

    /// [`Handle::wait`] in the call that has begun the collective: hardly any time has passed since, and the clock is not read.
    pub(crate) fn wait_in_call(self) -> Result<R> {
        let RawHandle { kernel, completion } = &self.raw;
        kernel.wait_in_call(completion);
        self.taken_out()
    }

    /// The result of an operation that is complete.
    fn taken_out(&self) -> Result<R> {
        match self.raw.take() {
            Some(Ok(buffer)) => Ok(downcast(buffer)),
            Some(Err(failure)) => Err(failure.error),
            None => Err(self.raw.taken()),
        }
    }

    /// [`Handle::wait`] that gives the buffer back if the operation fails.
    ///
    /// # Errors
    /// As `wait`, with the buffer, unless a part of it may still be in use. `?` turns it into an [`Error`].
    ///
    /// ```
    /// let node = lathide::init()?;
    /// let read = node.initread(0, 1, vec![0u8; 4])?;
    /// node.initwrite(0, 1, vec![1u8; 5])?.wait().unwrap_err();       // too long
    /// let failed = read.wait_or_buffer().unwrap_err();
    /// assert!(matches!(failed.error, lathide::Error::Mismatch(_)));
    /// assert_eq!(failed.buffer, Some(vec![0; 4]));
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn wait_or_buffer(self) -> Result<R, Failed<B>> {
        let RawHandle { kernel, completion } = &self.raw;
        kernel.wait_any(std::slice::from_ref(completion), None);
        self.take().unwrap_or_else(|| Err(self.taken()))
    }

    /// [`Handle::wait`], for at most `timeout`. After that the handle comes back with the error, so that you can wait
    /// again.
    ///
    /// # Errors
    /// [`Error::Timeout`] with the handle; all others as `wait`, without it.
    pub fn wait_timeout(self, timeout: Duration) -> Result<R, (Error, Option<Self>)> {
        let deadline = Instant::now().checked_add(timeout);
        let RawHandle { kernel, completion } = &self.raw;
        if kernel.wait_any(std::slice::from_ref(completion), deadline) {
            let result = self.take().unwrap_or_else(|| Err(self.taken()));
            return result.map_err(|failed| (failed.error, None));
        }
        Err((Error::Timeout { operation: self.operation(), after: timeout }, Some(self)))
    }

    /// Returns the buffer if the operation is complete, otherwise the handle. Never blocks.
    ///
    /// # Errors
    /// As [`Handle::wait`].
    pub fn test(self) -> Result<Test<R, B>> {
        let RawHandle { kernel, completion } = &self.raw;
        kernel.begin_asking();
        kernel.poke();
        // Asked first: it may be completed at any moment, and then is not taken yet.
        let was_done = completion.is_done();
        match self.take() {
            Some(result) => result.map(Test::Ready).map_err(Failed::into_error),
            None if was_done => Err(self.taken().error),
            None => {
                kernel.asks_in_vain();
                let forked = kernel.forked();
                forked.map_or(Ok(Test::Pending(self)), Err)
            }
        }
    }

    /// Withdraws the operation, if it is a read that no message has matched yet, and returns its buffer. Otherwise returns
    /// the handle: a message has matched the read, or the operation is a write or a collective, which are not withdrawn.
    /// Never blocks, and loses no message.
    ///
    /// ```
    /// use lathide::Cancelled;
    /// let node = lathide::init()?;
    /// let read = node.initread(0, 1, vec![0u8; 4])?;
    /// let Cancelled::Withdrawn(buffer) = read.cancel() else { panic!("nobody has written") };
    /// let read = node.initread(0, 1, buffer)?;
    /// node.initwrite(0, 1, vec![7u8; 4])?.wait()?;
    /// let Cancelled::Matched(read) = read.cancel() else { panic!("a message has come") };
    /// assert_eq!(read.wait()?, [7; 4]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    pub fn cancel(self) -> Cancelled<R, B> {
        let RawHandle { kernel, completion } = &self.raw;
        kernel.poke();
        if kernel.cancel(completion)
            && let Some(Outcome::Abandoned(Some(place))) = completion.take()
        {
            return Cancelled::Withdrawn(downcast(place.into_any()));
        }
        Cancelled::Matched(self)
    }

    /// Whether the operation is complete. Never blocks.
    pub fn is_complete(&self) -> bool {
        let RawHandle { kernel, completion } = &self.raw;
        kernel.begin_asking();
        kernel.poke();
        let is_done = completion.is_done();
        if !is_done {
            kernel.asks_in_vain();
        }
        is_done
    }

    /// The call: its kind, the calling rank, and the peer.
    pub fn operation(&self) -> Operation {
        self.raw.completion.operation()
    }

    /// How the algorithm of a collective was selected: the predicted time of each candidate, and the selected one.
    /// `None` for an exchange, and as long as ranks have not agreed on it.
    pub fn choice(&self) -> Option<&Choice> {
        self.raw.completion.choice().map(|choice| &**choice)
    }

    fn take(&self) -> Option<Result<R, Failed<B>>> {
        Some(match self.raw.take()? {
            Ok(buffer) => Ok(downcast(buffer)),
            Err(failure) => {
                let Failure { error, buffer } = *failure;
                let buffer = buffer.and_then(|buffer| buffer.downcast().ok()).map(|buffer| *buffer);
                Err(Failed { error, buffer })
            }
        })
    }

    fn taken(&self) -> Failed<B> {
        Failed { error: self.raw.taken(), buffer: None }
    }
}

impl RawHandle {
    /// The outcome, once: a buffer, or an error and perhaps the buffer.
    pub(crate) fn take(&self) -> Option<Result<Erased, Box<Failure>>> {
        Some(match self.completion.take()? {
            Outcome::Read(place, _) => Ok(place.into_any()),
            Outcome::Made(result) => Ok(result),
            Outcome::Written(source) => {
                self.kernel.hear_before_return(self.completion.operation().peer, &source);
                Ok(source.take().into_any())
            }
            Outcome::Failed(failure) => {
                let Failure { error, buffer } = *failure;
                let error = error.during(self.completion.operation());
                self.kernel.note_failure(&error);
                Err(Box::new(Failure { error, buffer }))
            }
            Outcome::Abandoned(place) => {
                let buffer = place.map(|place| place.into_any());
                Err(Box::new(Failure { error: self.taken(), buffer }))
            }
        })
    }

    pub(crate) fn taken(&self) -> Error {
        Misuse::Taken { operation: self.completion.operation() }.into()
    }

    /// A future begins to wait for the operation, or waits on.
    pub(crate) fn is_awaited(&self) {
        if !self.completion.is_awaited.swap(true, Relaxed) {
            self.kernel.begin_await();
            self.kernel.begin_asking();
        }
    }
}

/// A buffer of any type.
pub(crate) type Erased = Box<dyn Any + Send>;

/// The result of [`Handle::test`].
#[derive(Debug)]
pub enum Test<R, B = R> {
    /// The operation is complete: its buffer.
    Ready(R),
    /// The operation is pending: its handle.
    Pending(Handle<R, B>),
}

/// The result of [`Handle::cancel`].
#[derive(Debug)]
#[must_use = "a message that has matched is in the handle"]
pub enum Cancelled<R, B = R> {
    /// The read is withdrawn: its buffer.
    Withdrawn(B),
    /// A message has matched, and perhaps is still arriving: the handle.
    Matched(Handle<R, B>),
}

/// Why an operation has failed, with the buffer that it was given: what [`Handle::wait_or_buffer`] fails with.
#[derive(Clone)]
#[non_exhaustive]
pub struct Failed<B> {
    /// Why.
    pub error: Error,
    /// The buffer, if it can be given back. What it holds is not defined.
    pub buffer: Option<B>,
}

impl<B> Failed<B> {
    fn into_error(self) -> Error {
        self.error
    }
}

impl<B> From<Failed<B>> for Error {
    fn from(failed: Failed<B>) -> Self {
        failed.error
    }
}

impl<B> fmt::Display for Failed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> fmt::Debug for Failed<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl<B> std::error::Error for Failed<B> {}

impl<R, B> HasCompletion for Handle<R, B> {
    fn completion(&self) -> &Completion {
        &self.raw.completion
    }
}

impl<R: Send + 'static, B: Send + 'static> Future for Handle<R, B> {
    type Output = Result<R>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.raw.completion.register(context.waker()) {
            if let Some(error) = this.raw.kernel.forked() {
                return Poll::Ready(Err(error));
            }
            this.raw.is_awaited();
            return Poll::Pending;
        }
        Poll::Ready(this.take().unwrap_or_else(|| Err(this.taken())).map_err(Failed::into_error))
    }
}

impl Drop for RawHandle {
    fn drop(&mut self) {
        if self.completion.is_awaited.load(Relaxed) {
            self.kernel.end_await();
        }
        if !self.completion.was_over() {
            self.kernel.observer.closes(self.completion.opener.load(Relaxed));
        }
        self.kernel.abandon(&self.completion);
    }
}

impl<R, B> fmt::Debug for Handle<R, B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.raw.completion.is_done() { "complete" } else { "under way" };
        write!(f, "Handle({}, {state})", self.raw.completion.operation())
    }
}

/// The handle's type says what was put in.
fn downcast<B: 'static>(buffer: Erased) -> B {
    *buffer.downcast().expect("an operation gives back the buffer it was given")
}
