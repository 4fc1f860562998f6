//! Element types of messages, and the buffers that move into an operation and come back from it.

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytemuck::Pod;
use bytes::Bytes;

use crate::ids::Rank;

/// A type that can be sent: plain old data, with a type code that both sides compare.
///
/// Implemented for all integer and floating point types. Your own type needs its own code:
///
/// ```
/// use lathide::{Element, ElementType};
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
/// #[repr(C)]
/// struct Particle { position: [f64; 3], charge: f64 }
/// impl Element for Particle {
///     const TYPE: ElementType = ElementType::user(1);
/// }
/// ```
pub trait Element: Pod + Send + Sync {
    /// The type code. It is sent with every message, and must be equal on both sides.
    const TYPE: ElementType;
}

/// The type code of a message's elements, as it is sent.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ElementType(pub(crate) u16);

impl ElementType {
    /// A code for a user-defined type; `number` is below 2^15.
    ///
    /// # Panics
    /// If `number` is 2^15 or more (at compile time, in a constant).
    pub const fn user(number: u16) -> Self {
        assert!(number < USER, "a user element type's number is below 2^15");
        ElementType(USER | number)
    }
}

impl fmt::Display for ElementType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.get(usize::from(self.0)) {
            Some(name) => f.write_str(name),
            None if self.0 & USER != 0 => write!(f, "user type {}", self.0 & !USER),
            None => write!(f, "unknown type {}", self.0),
        }
    }
}

/// Codes from here on belong to the program.
const USER: u16 = 1 << 15;

macro_rules! elements {
    ($($code:literal $element:ty),* $(,)?) => {
        $(impl Element for $element {
            const TYPE: ElementType = ElementType($code);
        })*
        /// Names by code, for messages.
        const NAMES: &[&str] = &[$(stringify!($element)),*];
    };
}

elements! {
    0 u8, 1 i8, 2 u16, 3 i16, 4 u32, 5 i32, 6 u64, 7 i64, 8 u128, 9 i128, 10 f32, 11 f64, 12 usize, 13 isize,
}

/// A send buffer for `initwrite`: `Vec<T>`, [`Bytes`] or `Arc<[T]>`. It comes back from `wait`.
pub trait WriteBuffer: Send + Sync + Sized + 'static {
    /// The element type of the message.
    const TYPE: ElementType;
    /// Bytes of one element.
    const ELEMENT_BYTES: usize;
    /// The bytes of the message. They must not change until `wait` returns. The thread that moves them calls this.
    fn bytes(&self) -> &[u8];
}

impl<T: Element> WriteBuffer for Vec<T> {
    const TYPE: ElementType = T::TYPE;
    const ELEMENT_BYTES: usize = size_of::<T>();
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl<T: Element> WriteBuffer for Arc<[T]> {
    const TYPE: ElementType = T::TYPE;
    const ELEMENT_BYTES: usize = size_of::<T>();
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl WriteBuffer for Bytes {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A buffer on its way out, its type forgotten.
pub(crate) trait SendBuffer: Send + Sync {
    fn bytes(&self) -> &[u8];
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

impl dyn SendBuffer {
    /// The bytes. The type may be the program's own: `None` if it panics.
    pub(crate) fn all(&self) -> Option<&[u8]> {
        catch_unwind(AssertUnwindSafe(|| self.bytes())).ok()
    }

    /// The bytes in `range`; `None` if the type panics, or has fewer.
    pub(crate) fn part(&self, range: Range<usize>) -> Option<&[u8]> {
        self.all()?.get(range)
    }
}

impl<B: WriteBuffer> SendBuffer for B {
    fn bytes(&self) -> &[u8] {
        WriteBuffer::bytes(self)
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

/// A buffer that waits to be filled, its type forgotten.
pub(crate) trait ReceiveBuffer: Send {
    fn bytes_mut(&mut self) -> &mut [u8];
    /// The most bytes that a message may have.
    fn capacity(&mut self) -> u64 {
        self.bytes_mut().len() as u64
    }
    /// A message of so many bytes from `from` is about to fill it; not more than its capacity.
    fn meet(&mut self, _from: Rank, _bytes: u64) {}
    /// That message does not fill it after all: it is given back.
    fn unmeet(&mut self) {}
    /// Cuts the buffer to the message that filled it.
    fn truncate(&mut self, bytes: usize);
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

impl<T: Element> ReceiveBuffer for Vec<T> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
    fn truncate(&mut self, bytes: usize) {
        Vec::truncate(self, bytes / size_of::<T>());
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
