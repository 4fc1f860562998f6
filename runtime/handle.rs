//! Handles of pending operations: wait for them, test them, await them, or drop them.

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
use crate::engine::Outcome;
use crate::error::{Error, Misuse, Result};
use crate::kernel::{Completion, HasCompletion, Kernel};
use crate::operation::Operation;

/// A pending read into a vector. `wait` returns it, filled and cut to the length of the message. Reads into other
/// [buffers](crate::ReadBuffer) have a [`Handle`] of theirs.
///
/// Dropping the handle abandons the read. If no message has matched it yet, it is withdrawn, and the message matches
/// the next read. Otherwise the message is received and discarded.
pub type ReadHandle<T> = Handle<Vec<T>>;

/// A pending write. `wait` returns the buffer when it may be reused: when its bytes have left it, not when they have
/// arrived.
///
/// Dropping the handle detaches the write. The message is still sent; if it is refused, [`crate::Node::check`] returns
/// the error.
pub type WriteHandle<B> = Handle<B>;

/// A pending operation, and the buffer `B` that it returns.
// Two pointers and no more: `wait_any` moves all handles behind the one that it takes out.
#[must_use = "wait for the operation, or drop its handle to abandon it"]
pub struct Handle<B> {
    kernel: Arc<Kernel>,
    completion: Arc<Completion>,
    buffer: PhantomData<fn() -> B>,
}

impl<B: Send + 'static> Handle<B> {
    pub(crate) fn new(kernel: Arc<Kernel>, completion: Arc<Completion>) -> Self {
        completion.opener.store(kernel.observer.opens(), Relaxed);
        Handle { kernel, completion, buffer: PhantomData }
    }

    /// Waits until the operation is complete and returns the buffer. Meanwhile the waiting thread moves bytes itself;
    /// it sleeps if there is nothing to move.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if the message does not fit the read, [`Error::PeerLost`] if a rank is lost,
    /// [`Error::Deadlock`] if the job cannot move any more.
    pub fn wait(self) -> Result<B> {
        self.kernel.wait_any(std::slice::from_ref(&self.completion), None);
        self.take().unwrap_or_else(|| Err(self.taken()))
    }

    /// [`Handle::wait`], for at most `timeout`. After that the handle comes back with the error, so that you can wait
    /// again.
    ///
    /// # Errors
    /// [`Error::Timeout`] with the handle; all others as `wait`, without it.
    pub fn wait_timeout(self, timeout: Duration) -> Result<B, (Error, Option<Self>)> {
        let deadline = Instant::now().checked_add(timeout);
        if self.kernel.wait_any(std::slice::from_ref(&self.completion), deadline) {
            return self.take().unwrap_or_else(|| Err(self.taken())).map_err(|error| (error, None));
        }
        Err((Error::Timeout { operation: self.operation(), after: timeout }, Some(self)))
    }

    /// Returns the buffer if the operation is complete, otherwise the handle. Never blocks.
    ///
    /// # Errors
    /// As [`Handle::wait`].
    pub fn test(self) -> Result<Test<B>> {
        self.kernel.begin_asking();
        self.kernel.poke();
        // Asked first: it may be completed at any moment, and then is not taken yet.
        let was_done = self.completion.is_done();
        match self.take() {
            Some(result) => result.map(Test::Ready),
            None if was_done => Err(self.taken()),
            None => {
                self.kernel.asks_in_vain();
                self.kernel.forked().map_or(Ok(Test::Pending(self)), Err)
            }
        }
    }

    /// Whether the operation is complete. Never blocks.
    pub fn is_complete(&self) -> bool {
        self.kernel.begin_asking();
        self.kernel.poke();
        let is_done = self.completion.is_done();
        if !is_done {
            self.kernel.asks_in_vain();
        }
        is_done
    }

    /// The call: its kind, the calling rank, and the peer.
    pub fn operation(&self) -> Operation {
        self.completion.operation()
    }

    /// How the algorithm of a collective was selected: the predicted time of each candidate, and the selected one.
    /// `None` for an exchange, and as long as ranks have not agreed on it.
    pub fn choice(&self) -> Option<&Choice> {
        self.completion.choice().map(|choice| &**choice)
    }

    fn take(&self) -> Option<Result<B>> {
        Some(match self.completion.take()? {
            Outcome::Read(place) => Ok(downcast(place.into_any())),
            Outcome::Written(source) => Ok(downcast(source.into_any())),
            Outcome::Failed(error) => {
                let error = error.during(self.operation());
                self.kernel.note_failure(&error);
                Err(error)
            }
            Outcome::Abandoned => Err(self.taken()),
        })
    }

    fn taken(&self) -> Error {
        Misuse::Taken { operation: self.operation() }.into()
    }
}

/// The result of [`Handle::test`].
#[derive(Debug)]
pub enum Test<B> {
    /// The operation is complete: its buffer.
    Ready(B),
    /// The operation is pending: its handle.
    Pending(Handle<B>),
}

/// Waits for all of `handles` and returns their buffers in the same order.
///
/// # Errors
/// The first error among them, after all are complete.
pub fn wait_all<B: Send + 'static>(handles: impl IntoIterator<Item = Handle<B>>) -> Result<Vec<B>> {
    let results: Vec<Result<B>> = handles.into_iter().map(Handle::wait).collect();
    results.into_iter().collect()
}

/// Waits for the first of `handles` to complete, removes it, and returns its index and its buffer. If several are
/// complete, it takes the first in `handles`.
///
/// # Errors
/// The error of that operation; the other handles remain.
///
/// # Panics
/// If there are no handles.
pub fn wait_any<B: Send + 'static>(handles: &mut Vec<Handle<B>>) -> Result<(usize, B)> {
    assert!(!handles.is_empty(), "wait_any needs a handle to wait for");
    let first_done = |handles: &[Handle<B>]| handles.iter().position(|handle| handle.completion.is_done());
    let at = first_done(handles).or_else(|| {
        let kernel = &handles[0].kernel;
        if handles.len() > 1 && handles.iter().all(|handle| Arc::ptr_eq(&handle.kernel, kernel)) {
            kernel.wait_any_of_many(handles);
        } else {
            kernel.wait_any(handles, None);
        }
        first_done(handles)
    });
    let at = at.unwrap_or(0);
    handles.remove(at).wait().map(|buffer| (at, buffer))
}

impl<B> HasCompletion for Handle<B> {
    fn completion(&self) -> &Completion {
        &self.completion
    }
}

impl<B: Send + 'static> Future for Handle<B> {
    type Output = Result<B>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        if this.completion.register(context.waker()) {
            if let Some(error) = this.kernel.forked() {
                return Poll::Ready(Err(error));
            }
            if !this.completion.is_awaited.swap(true, Relaxed) {
                this.kernel.begin_await();
                this.kernel.begin_asking();
            }
            return Poll::Pending;
        }
        Poll::Ready(this.take().unwrap_or_else(|| Err(this.taken())))
    }
}

impl<B> Drop for Handle<B> {
    fn drop(&mut self) {
        if self.completion.is_awaited.load(Relaxed) {
            self.kernel.end_await();
        }
        self.kernel.observer.closes(self.completion.opener.load(Relaxed));
        self.kernel.abandon(&self.completion);
    }
}

impl<B> fmt::Debug for Handle<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = if self.completion.is_done() { "complete" } else { "under way" };
        write!(f, "Handle({}, {state})", self.completion.operation())
    }
}

/// The handle's type says what was put in.
fn downcast<B: 'static>(buffer: Box<dyn Any + Send>) -> B {
    *buffer.downcast().expect("an operation gives back the buffer it was given")
}
