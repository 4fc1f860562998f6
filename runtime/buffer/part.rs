//! A range of a buffer.

use std::any::Any;
use std::ops::Range;

use super::receive::{ReceiveBuffer, Sealed};
use super::{Element, ElementType, Elements, ElementsMut, ReadBuffer, WriteBuffer};

/// A range of a buffer, to write from or to read into: the whole buffer moves in, and comes back from `wait`. Nothing
/// is copied.
///
/// A message that is shorter than the range cuts it: [`Part::range`] says what was received. With an `Arc<[T]>` each
/// rank can be sent a range of the same memory. A range that reaches beyond the buffer is
/// [`Misuse::Region`](crate::Misuse::Region) at the call.
///
/// ```
/// use std::sync::Arc;
/// use lathide::Part;
/// let node = lathide::init()?;
/// let own = node.rank();
/// let all: Arc<[f64]> = (0..6).map(f64::from).collect();
/// let read = node.initread(own, 1, Part::new(vec![0.0; 6], 4..6))?;      // into the end of a longer buffer
/// node.initwrite(own, 1, Part::new(all.clone(), 2..4))?.wait()?;
/// let received = read.wait()?;
/// assert_eq!(received.range(), 4..6);
/// assert_eq!(received.into_inner(), [0.0, 0.0, 0.0, 0.0, 2.0, 3.0]);
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Part<B> {
    pub(crate) buffer: B,
    pub(crate) range: Range<usize>,
}

impl<B> Part<B> {
    /// The elements `range` of `buffer`.
    pub fn new(buffer: B, range: Range<usize>) -> Self {
        Part { buffer, range }
    }

    /// The range, in elements; after a read, those that were received.
    pub fn range(&self) -> Range<usize> {
        self.range.clone()
    }

    /// The whole buffer.
    pub fn into_inner(self) -> B {
        self.buffer
    }
}

impl<B: Elements> Part<B> {
    /// The elements of the range; none if it reaches beyond the buffer.
    pub fn elements(&self) -> &[B::Element] {
        self.buffer.elements().get(self.range()).unwrap_or_default()
    }

    fn flaw_of_range(&self) -> Option<String> {
        let (Range { start, end }, elements) = (self.range(), self.buffer.elements().len());
        let is_wrong = start > end || end > elements;
        let flaw = || format!("the range {start}..{end} is not within a buffer of {elements} elements");
        self.buffer.scattered().or_else(|| is_wrong.then(flaw))
    }
}

impl<B: Elements> Sealed for Part<B> {}

impl<B: Elements> WriteBuffer for Part<B> {
    const TYPE: ElementType = B::Element::TYPE;
    const ELEMENT_BYTES: usize = size_of::<B::Element>();
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.elements())
    }
    fn flaw(&self) -> Option<String> {
        self.flaw_of_range()
    }
}

impl<B: ElementsMut> ReadBuffer for Part<B> {
    const TYPE: ElementType = B::Element::TYPE;
    const ELEMENT_BYTES: usize = size_of::<B::Element>();
    fn capacity_bytes(&self) -> usize {
        size_of_val(self.elements())
    }
    fn flaw(&self) -> Option<String> {
        self.flaw_of_range()
    }
    fn place(self) -> Box<dyn ReceiveBuffer> {
        Box::new(self)
    }
}

impl<B: ElementsMut> ReceiveBuffer for Part<B> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self.buffer.elements_mut().get_mut(self.range.clone()).unwrap_or_default())
    }
    fn truncate(&mut self, bytes: usize) {
        self.range.end = self.range.end.min(self.range.start + bytes / size_of::<B::Element>());
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
