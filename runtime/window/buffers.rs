//! What windows send and receive: parts of buffers that the program has given, and the memory of a window itself.

use std::any::Any;
use std::ops::Range;
use std::sync::Arc;

use lathide_sys::pieces::{Cuts, Exclusive, Pieces};

use crate::buffer::{Element, ReceiveBuffer, SendBuffer};

/// A rank's part of a window, its type forgotten. The program reads and writes it too, and meanwhile nobody else does.
pub(crate) trait Memory: Send + Sync {
    /// Has `run` read the bytes at once. `false`: the program writes them; when it has, it says so to the kernel.
    fn try_read(&self, run: &mut dyn FnMut(&[u8])) -> bool;
    /// Has `run` write the bytes at once. `false`: the program reads or writes them; when it has, it says so to the kernel.
    fn try_write(&self, run: &mut dyn FnMut(&mut [u8])) -> bool;
}

/// Where what comes back is put together.
pub(crate) trait Gather: Send {
    /// Where these elements go, if there is room: what is known to be refused needs none. No two places overlap.
    fn place(&mut self, elements: Range<u64>) -> Option<Box<dyn ReceiveBuffer>>;
    /// The result, as the handle gives it, once all places are gone.
    fn finish(self: Box<Self>) -> Box<dyn Any + Send>;
}

/// A [`Gather`] of elements of one type; `finish` makes the result of them.
pub(crate) struct Gathered<T, F> {
    elements: Pieces<T>,
    finish: F,
}

impl<T: Element, R: Send + 'static, F: FnOnce(Vec<T>) -> R + Send> Gathered<T, F> {
    /// Room for `count` elements. Chunks are filled one by one: `cuts` are where they begin.
    pub(crate) fn new(count: usize, cuts: impl IntoIterator<Item = u64>, finish: F) -> Self {
        let cuts = cuts.into_iter().map(|cut| cut as usize);
        Gathered { elements: Pieces::new(vec![T::zeroed(); count], &Cuts::before(cuts)), finish }
    }
}

impl<T: Element, R: Send + 'static, F: FnOnce(Vec<T>) -> R + Send> Gather for Gathered<T, F> {
    fn place(&mut self, elements: Range<u64>) -> Option<Box<dyn ReceiveBuffer>> {
        let elements = self.elements.lend_alone(elements.start as usize..elements.end as usize)?;
        Some(Box::new(Place(elements)))
    }

    fn finish(self: Box<Self>) -> Box<dyn Any + Send> {
        let Gathered { elements, finish } = *self;
        Box::new(finish(elements.into_vec().expect("all places are gone")))
    }
}

/// Some elements of a [`Gathered`].
struct Place<T>(Exclusive<T>);

impl<T: Element> ReceiveBuffer for Place<T> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
    // Chunks are as long as their places, or the message is none of this version's; then the rest stays zero.
    fn truncate(&mut self, _: usize) {}
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

/// A buffer of the program's whose parts are sent one by one.
pub(super) type Whole = Arc<Box<dyn SendBuffer>>;

/// A part of one.
pub(super) struct Part {
    pub(super) whole: Whole,
    pub(super) bytes: Range<usize>,
}

impl SendBuffer for Part {
    fn bytes(&self) -> &[u8] {
        // One that has fewer bytes than before breaks the rules: the engine sees that this part has none.
        self.whole.bytes().get(self.bytes.clone()).unwrap_or_default()
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
