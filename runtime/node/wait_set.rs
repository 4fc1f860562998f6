//! Sets of operations of any type, which are waited for together.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::engine::Failure;
use crate::error::{Error, Misuse, Result};
use crate::handle::{Erased, Handle, RawHandle};
use crate::kernel::{Completion, HasCompletion, Kernel, Ready};
use crate::operation::Operation;

/// Pending operations, each with a key of the program's, of which the first to complete is waited for.
///
/// Reads, writes and collectives of any type may be in one set. A completion costs the same however many there are. They
/// come in the order in which they were completed. Dropping the set drops its handles ([`Handle`]).
///
/// ```
/// use lathide::WaitSet;
/// let node = lathide::init()?;
/// let mut set = WaitSet::new();
/// set.insert("work", node.initread(0, 1, vec![0.0f64; 3])?);
/// set.insert("note", node.initread(0, 2, vec![0u8; 9])?);
/// set.insert("sent", node.initwrite(0, 1, vec![1.5f64; 3])?);
/// node.initwrite(0, 2, b"a message".to_vec())?.wait()?;
/// while let Some((key, done)) = set.wait() {
///     match key {
///         "note" => assert_eq!(done.into::<Vec<u8>>()?, b"a message"),
///         _ => assert_eq!(done.into::<Vec<f64>>()?, [1.5; 3]),
///     }
/// }
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
pub struct WaitSet<K> {
    members: Vec<Member<K>>,
    ready: Arc<Ready>,
    /// Whose operations they are.
    nodes: Vec<Arc<Kernel>>,
}

struct Member<K> {
    key: K,
    token: u32,
    handle: RawHandle,
}

impl<K> HasCompletion for Member<K> {
    fn completion(&self) -> &Completion {
        &self.handle.completion
    }
}

impl<K> WaitSet<K> {
    /// An empty set.
    pub fn new() -> Self {
        WaitSet { members: Vec::new(), ready: Arc::new(Ready::new()), nodes: Vec::new() }
    }

    /// Adds an operation. Keys need not differ.
    pub fn insert<R: Send + 'static, B: Send + 'static>(&mut self, key: K, handle: Handle<R, B>) {
        let handle = handle.into_raw();
        if self.members.is_empty() {
            self.nodes.clear();
        }
        if !self.nodes.iter().any(|node| Arc::ptr_eq(node, &handle.kernel)) {
            self.nodes.push(handle.kernel.clone());
        }
        let token = handle.completion.join(&self.ready, self.members.len());
        self.members.push(Member { key, token, handle });
    }

    /// How many operations have not been taken out.
    pub fn len(&self) -> usize {
        self.members.len()
    }

    /// Whether all operations have been taken out.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// The keys of the operations that have not been taken out, and their calls, in no order.
    pub fn iter(&self) -> impl Iterator<Item = (&K, Operation)> {
        self.members.iter().map(|member| (&member.key, member.handle.completion.operation()))
    }

    /// Waits for the next operation to complete and takes it out; `None` if the set is empty. The waiting thread moves bytes
    /// meanwhile, as [`Handle::wait`] does.
    pub fn wait(&mut self) -> Option<(K, Completed)> {
        self.wait_until(None)
    }

    /// [`WaitSet::wait`], for at most `timeout`: then `None`, and the set stays as it is.
    pub fn wait_timeout(&mut self, timeout: Duration) -> Option<(K, Completed)> {
        self.wait_until(Instant::now().checked_add(timeout))
    }

    /// Waits until at least one operation is complete, and takes out all that are; empty if the set is.
    pub fn wait_some(&mut self) -> Vec<(K, Completed)> {
        let first = self.wait();
        first.into_iter().chain(std::iter::from_fn(|| self.take())).collect()
    }

    /// Takes out the next operation that is complete. `None` if none is. Never blocks.
    pub fn test(&mut self) -> Option<(K, Completed)> {
        if let Some(taken) = self.take() {
            return Some(taken);
        }
        let kernel = self.kernel()?.clone();
        kernel.begin_asking();
        kernel.poke();
        let taken = self.take();
        if taken.is_none() {
            kernel.asks_in_vain();
        }
        taken
    }

    /// [`WaitSet::wait`] for asynchronous programs, on any runtime. A future that is dropped before it is complete takes nothing
    /// out.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> lathide::Result<()> {
    /// let node = lathide::init()?;
    /// let mut set = lathide::WaitSet::new();
    /// for tag in 0..3 {
    ///     set.insert(tag, node.initread(0, tag, vec![0u32])?);
    ///     node.initwrite(0, tag, vec![10 * tag])?.await?;
    /// }
    /// while let Some((tag, done)) = set.next().await {
    ///     assert_eq!(done.into::<Vec<u32>>()?, [10 * tag]);
    /// }
    /// node.finalize()
    /// # }
    /// ```
    pub async fn next(&mut self) -> Option<(K, Completed)> {
        Next { set: self, is_awaiting: false }.await
    }

    fn wait_until(&mut self, deadline: Option<Instant>) -> Option<(K, Completed)> {
        loop {
            if let Some(taken) = self.take() {
                return Some(taken);
            }
            if !self.kernel()?.wait_any_member(&self.members, &self.ready, deadline) {
                return None;
            }
        }
    }

    /// The node that moves bytes for a wait: of several nodes in one process, any.
    fn kernel(&self) -> Option<&Arc<Kernel>> {
        self.nodes.first().filter(|_| !self.members.is_empty())
    }

    /// Takes out the first that is complete.
    fn take(&mut self) -> Option<(K, Completed)> {
        let (_, at) = self.ready.pop()?;
        let Member { key, token, handle } = self.members.swap_remove(at);
        self.ready.leave(token, self.members.get(at).map(|moved| moved.token));
        let taken = || Err(Box::new(Failure { error: handle.taken(), buffer: None }));
        let result = handle.take().unwrap_or_else(taken);
        let operation = handle.completion.operation();
        Some((key, Completed { operation, result }))
    }
}

/// What [`WaitSet::next`] awaits.
struct Next<'a, K> {
    set: &'a mut WaitSet<K>,
    /// The nodes know that a future waits: in deferred mode their bytes move meanwhile.
    is_awaiting: bool,
}

impl<K> Future for Next<'_, K> {
    type Output = Option<(K, Completed)>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.get_mut();
        // What is complete before the waker is there is seen after it.
        this.set.ready.register(context.waker());
        match this.set.take() {
            None if !this.set.is_empty() => {
                if !std::mem::replace(&mut this.is_awaiting, true) {
                    for node in &this.set.nodes {
                        node.begin_await();
                        node.begin_asking();
                    }
                }
                Poll::Pending
            }
            taken => Poll::Ready(taken),
        }
    }
}

impl<K> Drop for Next<'_, K> {
    fn drop(&mut self) {
        self.set.ready.unregister();
        if self.is_awaiting {
            self.set.nodes.iter().for_each(|node| node.end_await());
        }
    }
}

impl<K> Default for WaitSet<K> {
    fn default() -> Self {
        WaitSet::new()
    }
}

impl<K: fmt::Debug> fmt::Debug for WaitSet<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter().map(|(key, operation)| (key, operation.to_string()))).finish()
    }
}

/// An operation of a [`WaitSet`] that has ended.
pub struct Completed {
    operation: Operation,
    result: Result<Erased, Box<Failure>>,
}

impl Completed {
    /// The call: its kind, the calling rank, and the peer.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Why it failed, if it did.
    pub fn error(&self) -> Option<&Error> {
        self.result.as_ref().err().map(|failure| &failure.error)
    }

    /// What the operation's handle would return: `Vec<T>` for a read, `(Rank, Vec<T>)` for a read of any origin, the buffer
    /// for a write.
    ///
    /// # Errors
    /// As [`Handle::wait`]; [`Misuse::Type`] if the operation returns another type.
    pub fn into<R: 'static>(self) -> Result<R> {
        let buffer = self.result.map_err(|failure| failure.error)?;
        let (operation, asked) = (self.operation, std::any::type_name::<R>());
        buffer.downcast().map(|buffer| *buffer).map_err(|_| Misuse::Type { operation, asked }.into())
    }

    /// The buffer of an operation that failed, as [`Failed`](crate::Failed) has it.
    pub fn into_buffer<B: 'static>(self) -> Option<B> {
        self.result.err()?.buffer?.downcast().ok().map(|buffer| *buffer)
    }
}

impl fmt::Debug for Completed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.result {
            Ok(_) => write!(f, "Completed({})", self.operation),
            Err(failure) => write!(f, "Completed({}: {})", self.operation, failure.error),
        }
    }
}
