//! Element types of messages, and the buffers that move into an operation and come back from it.
//!
//! | buffer | [write](WriteBuffer) | [read](ReadBuffer) | a message that is shorter |
//! | --- | --- | --- | --- |
//! | `Vec<T>`, [`BytesMut`] | yes | yes | cuts it |
//! | `Box<[T]>` | yes | yes | is refused |
//! | [`Bytes`], `Arc<[T]>` | yes | no | |
//! | [`Part<B>`](Part): a range of any of these | yes | as `B` | cuts the range |
//! | [`Strided<B>`](Strided): a strided region of any of these | yes | as `B` | is refused |
//! | `ndarray::Array<T, D>` (feature `ndarray`) | yes | yes | is refused |
//!
//! A buffer of your own type can be written: implement [`WriteBuffer`]. What can be read into is a closed list.

#[cfg(feature = "ndarray")]
mod array;
pub(crate) mod copied;
mod elements;
pub(crate) mod memory;
mod part;
mod receive;
mod section;
pub(crate) mod spare;
mod strided;

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use bytemuck::Pod;
use bytes::{Bytes, BytesMut};

pub use elements::{Elements, ElementsMut};
pub use part::Part;
pub use receive::ReadBuffer;
pub(crate) use receive::ReceiveBuffer;
pub use section::Section;
pub use strided::Strided;

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

/// A send buffer for [`initwrite`](crate::Node::initwrite): see the [table](self). It comes back from `wait`.
///
/// Other types may implement it. One that gives other bytes than before, or panics, fails its write
/// ([`Misuse::Buffer`](crate::Misuse::Buffer)), and nothing worse.
pub trait WriteBuffer: Send + Sync + Sized + 'static {
    /// The element type of the message.
    const TYPE: ElementType;
    /// Bytes of one element.
    const ELEMENT_BYTES: usize;
    /// The bytes of the message. They must not change until `wait` returns. The thread that moves them calls this.
    fn bytes(&self) -> &[u8];
    /// Why the buffer cannot be sent, if so, in words: it is a part of another and reaches beyond it. Then the call
    /// returns [`Misuse::Region`](crate::Misuse::Region).
    fn flaw(&self) -> Option<String> {
        None
    }
    /// Another that shares the memory, if that costs little: as [`Bytes`] and `Arc<[T]>` do. It is kept until the peer has
    /// acknowledged the message, if that takes longer than `wait`. Of a buffer without such a copy, what is not acknowledged
    /// then is copied.
    fn share(&self) -> Option<Self> {
        None
    }
}

impl<T: Element> WriteBuffer for Vec<T> {
    const TYPE: ElementType = T::TYPE;
    const ELEMENT_BYTES: usize = size_of::<T>();
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self)
    }
}

impl<T: Element> WriteBuffer for Box<[T]> {
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
    fn share(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl WriteBuffer for Bytes {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        self
    }
    fn share(&self) -> Option<Self> {
        Some(self.clone())
    }
}

impl WriteBuffer for BytesMut {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn bytes(&self) -> &[u8] {
        self
    }
}

/// A buffer on its way out, its type forgotten.
pub(crate) trait SendBuffer: Send + Sync {
    fn bytes(&self) -> &[u8];
    /// See [`WriteBuffer::share`].
    fn share(&self) -> Option<Box<dyn SendBuffer>> {
        None
    }
    /// Whether it is lathide's own copy, whose write was complete when it was posted: nobody is told that it has left.
    fn is_copy(&self) -> bool {
        false
    }
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
    fn share(&self) -> Option<Box<dyn SendBuffer>> {
        // The type may be the program's own.
        let shared = catch_unwind(AssertUnwindSafe(|| WriteBuffer::share(self))).ok()??;
        Some(Box::new(shared))
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
