//! Windows of a node: memory that other ranks read and write by themselves.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering, fence};

use parking_lot::RwLock;

use super::Node;
use crate::buffer::{Element, ElementType, WriteBuffer};
use crate::error::{Error, Misuse, Result};
use crate::handle::{Handle, WriteHandle};
use crate::ids::Rank;
use crate::kernel::{Kernel, SharedCompletion};
use crate::operation::WindowCall;
use crate::window::{Gathered, INLINE_BYTES_MAX, Memory, OwnPart, Request, Update};

/// # One-sided communication
impl Node {
    /// Makes a window of `elements`: every rank can read and write those of every other by [`Window::get`],
    /// [`Window::put`] and their like. This is a blocking collective. Every rank gives a vector of its own length, which
    /// may be empty, of one element type.
    ///
    /// # Errors
    /// As all collectives; [`Error::Disagreement`] if ranks differ in the element type, or have made different windows
    /// before.
    pub fn window<T: Element>(&self, elements: Vec<T>) -> Result<Window<T>> {
        self.check_element(T::TYPE, size_of::<T>())?;
        let kernel = &self.inner.kernel;
        let _call = self.noting(kernel.call_collective(self.team()))?;
        let (length, element_bytes) = (elements.len() as u64, size_of::<T>() as u32);
        let memory = Arc::new(Guarded { elements: RwLock::new(elements), is_wanted: AtomicBool::new(false) });
        let part = OwnPart { memory: memory.clone(), element: T::TYPE, element_bytes, length };
        // Others may use it as soon as they hear of this rank's part.
        let number = kernel.add_window(part);
        let mut window = Window { node: self.clone(), memory, number, lengths: Vec::new() };
        let own = [number.into(), T::TYPE.0.into(), element_bytes.into(), length];
        let all = self.allgather(own.to_vec())?;
        for (rank, of) in (0..).map(Rank).zip(all.chunks_exact(own.len())) {
            if of[..3] != own[..3] {
                let cause = differ((self.rank(), &own[..]), (rank, of)).into();
                return self.noting(Err(Error::Disagreement { number: 0, ranks: (self.rank(), rank), cause }));
            }
            window.lengths.push(of[3] as usize);
        }
        Ok(window)
    }
}

/// A window: a part on each rank, which all ranks read and write (one-sided communication). Made by [`Node::window`].
///
/// The calls name a rank and elements of its part; the rank may be the caller's own. That rank does nothing for it: its
/// kernel thread carries out what others ask, while the program computes. With [`Overlap::Off`](crate::Overlap::Off) it does
/// so whenever a thread of that rank waits in any call.
///
/// **Order.** The operations of one rank on one part are carried out in the order of the calls, those of different ranks in
/// any order. Each element changes as a whole. An operation on more than 256 KiB is carried out in pieces of that length,
/// and what others do, or the program itself, may come between two pieces. [`Window::accumulate`],
/// [`Window::fetch_update`] and [`Window::compare_exchange`] of several ranks on the same element lose nothing.
///
/// **Completion.** The handle of a [`put`](Window::put) or an [`accumulate`](Window::accumulate) is complete when its buffer
/// may be reused, as that of a write. [`Window::flush`] waits until one rank has carried out all earlier operations of this
/// rank, [`Window::fence`] until all ranks have carried out those of all ranks.
///
/// **Own part.** The program reads and writes it with [`Window::read`] and [`Window::write`]. Meanwhile operations of other
/// ranks that need it wait; other messages go on. So a closure that waits for an operation on its own part waits for ever.
///
/// **Refusals.** The target checks bounds and element type. What does not fit fails with [`Error::Window`] on both sides:
/// on the caller's from the handle, or, if a write was complete already, from the next [`flush`](Window::flush) or
/// [`fence`](Window::fence), or else from [`Node::check`]; on the target from [`Node::check`]. The job can go on.
///
/// **End.** [`Window::into_inner`] gives the elements back, on all ranks together. A part that is dropped earlier refuses
/// what still comes. What is asked of a rank that has finalized fails with [`Error::PeerLost`]. As long as a window lives,
/// so does its node, unless it is finalized.
///
/// ```
/// use lathide::Update;
/// let node = lathide::init()?;
/// let window = node.window(vec![0u64; 100])?;
/// let right = node.rank().on_ring(1, node.size());
/// window.put(right, 10, vec![7u64, 8, 9])?.wait()?;                // it has left
/// window.accumulate(right, 10, vec![1u64; 3], Update::Sum)?.wait()?;
/// window.flush(right)?;                                            // it is there
/// assert_eq!(window.get(right, 10..13)?.wait()?, [8, 9, 10]);
/// let ticket = window.fetch_update(0, 0, 1, Update::Sum)?;         // a counter of all ranks
/// assert!(ticket.wait()? < u64::from(node.size()));
/// window.fence()?;                                                 // all ranks have done all this
/// assert_eq!(window.read(|own| own[10..13].to_vec()), [8, 9, 10]);
/// let elements = window.into_inner()?;
/// assert_eq!(elements.len(), 100);
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
pub struct Window<T: Element> {
    node: Node,
    memory: Arc<Guarded<T>>,
    number: u32,
    lengths: Vec<usize>,
}

impl<T: Element> Window<T> {
    /// The number of elements of the part of `rank`; 0 if there is no such rank.
    pub fn len(&self, rank: impl Into<Rank>) -> usize {
        self.lengths.get(rank.into().index()).copied().unwrap_or(0)
    }

    /// Whether no rank has elements.
    pub fn is_empty(&self) -> bool {
        self.lengths.iter().all(|&length| length == 0)
    }

    /// Starts to read the elements `range` of the part of `from`. Does not wait. The handle gives a new vector of them.
    /// Dropping the handle abandons the operation.
    ///
    /// # Errors
    /// [`Error::Misuse`] if `from` is no rank of this job or the range is reversed, [`Error::PeerLost`] if the rank is
    /// lost or has finalized; from the handle too, and [`Error::Window`] if the target refuses.
    pub fn get(&self, from: impl Into<Rank>, range: Range<usize>) -> Result<Handle<Vec<T>>> {
        let Some(count) = range.end.checked_sub(range.start) else {
            let why = "the range ends before it starts".to_owned();
            return self.wrong_length(WindowCall::Get, 0, why);
        };
        let request = self.request(WindowCall::Get, Update::Replace, range.start, count);
        let from = from.into();
        // What the target will refuse needs no memory here.
        let room = if range.end <= self.len(from) { count } else { 0 };
        let gather =
            Gathered::new(room, request.cuts().take_while(|&cut| cut < room as u64), |elements: Vec<T>| elements);
        let posted = self.kernel().init_gather(from, request, &[], Box::new(gather));
        self.handle(posted)
    }

    /// Starts to write `elements` to the part of `to`, from its element `start` on. Does not wait. The buffer comes back
    /// from `wait` when it may be reused. Dropping the handle detaches the operation.
    ///
    /// # Errors
    /// As [`Window::get`].
    pub fn put<B: WriteBuffer>(&self, to: impl Into<Rank>, start: usize, elements: B) -> Result<WriteHandle<B>> {
        self.write_elements((WindowCall::Put, Update::Replace), to.into(), start, elements)
    }

    /// [`Window::put`], but each element is combined with that of the target by `update`.
    ///
    /// # Errors
    /// As [`Window::get`]. The target refuses an operator that is not defined for the elements.
    pub fn accumulate<B: WriteBuffer>(
        &self,
        to: impl Into<Rank>,
        start: usize,
        elements: B,
        update: Update,
    ) -> Result<WriteHandle<B>> {
        self.write_elements((WindowCall::Accumulate, update), to.into(), start, elements)
    }

    /// Starts to combine element `index` of the part of `on` with `value`, in one step. Does not wait. The handle gives what
    /// the element was before. An element has at most 512 bytes.
    ///
    /// # Errors
    /// As [`Window::accumulate`]; [`Error::Misuse`] if an element has more bytes.
    pub fn fetch_update(&self, on: impl Into<Rank>, index: usize, value: T, update: Update) -> Result<Handle<T>> {
        let request = self.request(WindowCall::FetchUpdate, update, index, 1);
        self.exchange(on.into(), request, bytemuck::bytes_of(&value))
    }

    /// Starts to replace element `index` of the part of `on` by `new`, if it is `expected`, in one step. Does not wait. The
    /// handle gives what the element was before: it was replaced if that is `expected`. Elements are compared byte by byte.
    /// An element has at most 256 bytes.
    ///
    /// # Errors
    /// As [`Window::get`]; [`Error::Misuse`] if an element has more bytes.
    pub fn compare_exchange(&self, on: impl Into<Rank>, index: usize, expected: T, new: T) -> Result<Handle<T>> {
        let request = self.request(WindowCall::CompareExchange, Update::Replace, index, 1);
        self.exchange(on.into(), request, bytemuck::bytes_of(&[expected, new]))
    }

    /// Waits until `rank` has carried out all earlier operations of this rank, on all windows.
    ///
    /// # Errors
    /// [`Error::Window`]: the first refusal of a write of this window to that rank that no call has returned.
    /// [`Error::PeerLost`] and [`Error::Deadlock`] as every wait.
    pub fn flush(&self, rank: impl Into<Rank>) -> Result<()> {
        self.initflush(rank)?.wait()
    }

    /// [`Window::flush`] without waiting: the handle is complete when `rank` has carried out all earlier operations of this
    /// rank.
    ///
    /// # Errors
    /// As [`Window::flush`].
    pub fn initflush(&self, rank: impl Into<Rank>) -> Result<Handle<()>> {
        let request = self.request(WindowCall::Flush, Update::Replace, 0, 0);
        self.handle(self.kernel().init_flush(rank.into(), request))
    }

    /// Waits until all ranks have carried out the operations that all ranks have called before their `fence`. This is a
    /// blocking collective.
    ///
    /// # Errors
    /// As [`Window::flush`] and as all collectives.
    pub fn fence(&self) -> Result<()> {
        let _call = self.node.noting(self.kernel().call_collective(self.node.team()))?;
        let flushes: Result<Vec<_>> = (0..self.node.size()).map(|rank| self.initflush(rank)).collect();
        let flushed = flushes.and_then(super::wait_all);
        // Also after a refusal: the others wait.
        self.node.barrier()?;
        flushed.map(drop)
    }

    /// Calls `use_elements` with the elements of this rank's part. Meanwhile no other rank writes them.
    pub fn read<R>(&self, use_elements: impl FnOnce(&[T]) -> R) -> R {
        let used = Using { guard: Some(self.memory.elements.read_recursive()), window: self };
        used.guard.as_ref().map(|elements| use_elements(elements)).expect("it is held")
    }

    /// Calls `change` with the elements of this rank's part. Meanwhile no other rank reads or writes them.
    pub fn write<R>(&self, change: impl FnOnce(&mut [T]) -> R) -> R {
        let mut used = Using { guard: Some(self.memory.elements.write()), window: self };
        used.guard.as_mut().map(|elements| change(elements)).expect("it is held")
    }

    /// Ends the window and gives this rank's elements back, after a [`fence`](Window::fence). This is a blocking collective.
    ///
    /// # Errors
    /// As [`Window::fence`].
    pub fn into_inner(self) -> Result<Vec<T>> {
        self.fence()?;
        self.kernel().remove_window(self.number);
        Ok(std::mem::take(&mut *self.memory.elements.write()))
    }

    fn kernel(&self) -> &Arc<Kernel> {
        &self.node.inner.kernel
    }

    fn request(&self, call: WindowCall, update: Update, start: usize, count: usize) -> Request {
        let (start, count) = (start as u64, count as u64);
        let element_bytes = size_of::<T>() as u32;
        Request { call, update, element: T::TYPE, element_bytes, window: self.number, id: 0, start, count }
    }

    fn write_elements<B: WriteBuffer>(
        &self,
        (call, update): (WindowCall, Update),
        to: Rank,
        start: usize,
        elements: B,
    ) -> Result<WriteHandle<B>> {
        self.node.check_element(B::TYPE, B::ELEMENT_BYTES)?;
        let count = elements.bytes().len() / B::ELEMENT_BYTES;
        let element_bytes = B::ELEMENT_BYTES as u32;
        let request = Request { element: B::TYPE, element_bytes, ..self.request(call, update, start, count) };
        self.handle(self.kernel().init_window_write(to, request, Box::new(elements)))
    }

    fn exchange(&self, on: Rank, request: Request, operands: &[u8]) -> Result<Handle<T>> {
        if operands.len() > INLINE_BYTES_MAX {
            let why = format!("its operands have {} bytes, and at most {INLINE_BYTES_MAX} travel", operands.len());
            return self.wrong_length(request.call, 1, why);
        }
        let gather = Gathered::new(1, [], |elements: Vec<T>| elements[0]);
        self.handle(self.kernel().init_gather(on, request, operands, Box::new(gather)))
    }

    fn handle<B: Send + 'static>(&self, posted: Result<SharedCompletion>) -> Result<Handle<B>> {
        Ok(Handle::new(self.kernel().clone(), self.node.noting(posted)?))
    }

    fn wrong_length<R>(&self, call: WindowCall, got: u64, why: String) -> Result<R> {
        self.node.noting(Err(Misuse::Length { rank: self.node.rank(), operation: call.name(), got, why }.into()))
    }
}

impl<T: Element> fmt::Debug for Window<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Window({} of {}, {} elements of {})",
            self.number,
            self.node.rank(),
            self.len(self.node.rank()),
            T::TYPE
        )
    }
}

impl<T: Element> Drop for Window<T> {
    fn drop(&mut self) {
        self.kernel().remove_window(self.number);
    }
}

/// The elements of one rank's part, which its program and its kernel use in turn.
struct Guarded<T> {
    elements: RwLock<Vec<T>>,
    /// The kernel has found them in use by the program.
    is_wanted: AtomicBool,
}

impl<T: Element> Guarded<T> {
    /// Locks by `lock`. If the program is in its way, the kernel is told when it has gone.
    fn try_lock<G>(&self, lock: impl Fn() -> Option<G>) -> Option<G> {
        lock().or_else(|| {
            self.is_wanted.store(true, Ordering::SeqCst);
            // Who unlocks looks after that: it sees the store, or what it has unlocked is seen here.
            fence(Ordering::SeqCst);
            lock()
        })
    }
}

impl<T: Element> Memory for Guarded<T> {
    fn try_read(&self, run: &mut dyn FnMut(&[u8])) -> bool {
        let elements = self.try_lock(|| self.elements.try_read());
        elements.map(|elements| run(bytemuck::cast_slice(&elements))).is_some()
    }

    fn try_write(&self, run: &mut dyn FnMut(&mut [u8])) -> bool {
        let elements = self.try_lock(|| self.elements.try_write());
        elements.map(|mut elements| run(bytemuck::cast_slice_mut(&mut elements))).is_some()
    }
}

/// The program has the elements, until this is dropped, also by a panic.
struct Using<'a, T: Element, G> {
    guard: Option<G>,
    window: &'a Window<T>,
}

impl<T: Element, G> Drop for Using<'_, T, G> {
    fn drop(&mut self) {
        self.guard = None;
        fence(Ordering::SeqCst);
        if self.window.memory.is_wanted.swap(false, Ordering::SeqCst) {
            self.window.kernel().serve_windows();
        }
    }
}

/// How two ranks have made a window differently.
fn differ((rank, own): (Rank, &[u64]), (other, of): (Rank, &[u64])) -> String {
    let described = |of: &[u64]| {
        let element = ElementType(of[1] as u16);
        format!("window {} with elements of {element}, {} bytes each", of[0], of[2])
    };
    format!(
        "rank {rank} has made {}, rank {other} {}; all ranks must make the same windows in the same order, of one element \
         type",
        described(own),
        described(of)
    )
}
