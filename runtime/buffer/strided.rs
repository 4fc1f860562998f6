//! A strided region of a buffer.

use std::any::Any;
use std::sync::OnceLock;

use super::receive::{ReceiveBuffer, Sealed};
use super::{Element, ElementType, Elements, ElementsMut, ReadBuffer, Section, SendBuffer, WriteBuffer};

/// A strided region of a buffer, to write from or to read into: the whole buffer moves in, and comes back from `wait`.
///
/// The runtime packs a region that is written into memory of its own at the call. A message that is read is received
/// into such memory, and unpacked when the handle gives the buffer back (`wait`, `test`, `.await`), by the thread that
/// takes it. The message must have as many elements as the [`Section`]. To keep the buffer meanwhile, pack and unpack
/// it with [`Section::pack`] and [`Section::unpack`].
///
/// A section that reaches beyond the buffer, or has an element twice, is [`Misuse::Region`](crate::Misuse::Region) at
/// the call.
///
/// ```
/// use lathide::{Section, Strided};
/// let node = lathide::init()?;
/// let own = node.rank();
/// let column = |number: usize| Section::of(&[3, 4], &[0..3, number..number + 1]);
/// let matrix: Vec<i32> = (0..12).collect();                               // 3 rows of 4
/// let read = node.initread(own, 1, Strided::new(vec![0; 12], column(0)?))?;
/// node.initwrite(own, 1, Strided::new(matrix, column(3)?))?.wait()?;
/// assert_eq!(read.wait()?.into_inner(), [3, 0, 0, 0, 7, 0, 0, 0, 11, 0, 0, 0]);
/// node.finalize()?;
/// # Ok::<_, lathide::Error>(())
/// ```
pub struct Strided<B> {
    pub(crate) buffer: B,
    section: Section,
    /// The region in one piece, once it is to be sent.
    packed: OnceLock<Box<dyn SendBuffer>>,
}

impl<B> Strided<B> {
    /// The elements `section` of `buffer`.
    pub fn new(buffer: B, section: Section) -> Self {
        Strided { buffer, section, packed: OnceLock::new() }
    }

    /// Which elements they are.
    pub fn section(&self) -> &Section {
        &self.section
    }

    /// The whole buffer.
    pub fn into_inner(self) -> B {
        self.buffer
    }
}

impl<B: Elements> Strided<B> {
    fn flaw_of_section(&self) -> Option<String> {
        self.buffer.scattered().or_else(|| self.section.flaw(self.buffer.elements().len()))
    }
}

impl<B: Elements> Sealed for Strided<B> {}

impl<B: Elements> WriteBuffer for Strided<B> {
    const TYPE: ElementType = B::Element::TYPE;
    const ELEMENT_BYTES: usize = size_of::<B::Element>();
    fn bytes(&self) -> &[u8] {
        let pack = || -> Box<dyn SendBuffer> {
            let mut packed = Vec::with_capacity(self.section.len());
            self.section.gather(self.buffer.elements(), &mut packed);
            Box::new(packed)
        };
        // The call that posts the write asks for the first time.
        self.packed.get_or_init(pack).bytes()
    }
    fn flaw(&self) -> Option<String> {
        self.flaw_of_section()
    }
}

impl<B: ElementsMut> ReadBuffer for Strided<B> {
    const TYPE: ElementType = B::Element::TYPE;
    const ELEMENT_BYTES: usize = size_of::<B::Element>();
    fn capacity_bytes(&self) -> usize {
        self.section.len() * size_of::<B::Element>()
    }
    fn flaw(&self) -> Option<String> {
        self.flaw_of_section()
    }
    fn place(self) -> Box<dyn ReceiveBuffer> {
        let packed = vec![bytemuck::Zeroable::zeroed(); self.section.len()];
        Box::new(Receiving { buffer: self.buffer, section: self.section, packed, is_filled: false })
    }
}

/// A region that is received.
struct Receiving<B: Elements> {
    buffer: B,
    section: Section,
    packed: Vec<B::Element>,
    /// A message has come; a read that is withdrawn or fails leaves the buffer as it is.
    is_filled: bool,
}

impl<B: ElementsMut> ReceiveBuffer for Receiving<B> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.packed)
    }
    fn truncate(&mut self, _: usize) {
        self.is_filled = true;
    }
    fn must_be_filled(&self) -> bool {
        true
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        let Receiving { mut buffer, section, packed, is_filled } = *self;
        if is_filled {
            section.scatter(&packed, buffer.elements_mut());
        }
        Box::new(Strided::new(buffer, section))
    }
}

impl<B: std::fmt::Debug> std::fmt::Debug for Strided<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Strided").field("buffer", &self.buffer).field("section", &self.section).finish()
    }
}
