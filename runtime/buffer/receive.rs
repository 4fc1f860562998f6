//! Buffers that are read into.

use std::any::Any;

use bytes::BytesMut;

use super::{Element, ElementType};
use crate::ids::Rank;

/// A receive buffer for [`initread`](crate::Node::initread): see the [table](super). It comes back from `wait`, filled.
///
/// A message may be as long as the buffer. A shorter one cuts a `Vec`, a `BytesMut` and a [`Part`](super::Part) to its
/// length. Any other buffer cannot be cut, so it takes a message of its own length only; a shorter one is an
/// [`Error::Mismatch`](crate::Error::Mismatch) on both sides, as a longer one always is.
///
/// The list of buffers is closed: the runtime relies on what they say of their memory.
pub trait ReadBuffer: Sealed + Send + Sized + 'static {
    /// The element type of the message.
    const TYPE: ElementType;
    /// Bytes of one element.
    const ELEMENT_BYTES: usize;
    /// The longest message that it can take, in bytes.
    fn capacity_bytes(&self) -> usize;
    /// Why nothing can be read into it, if so, in words.
    #[doc(hidden)]
    fn flaw(&self) -> Option<String> {
        None
    }
    /// What the message is received into. The thread that posts the read calls this.
    #[doc(hidden)]
    fn place(self) -> Box<dyn ReceiveBuffer>;
}

/// Only this library's types have it.
pub trait Sealed {}

/// A buffer that waits to be filled, its type forgotten.
pub trait ReceiveBuffer: Send {
    /// The memory for the message.
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
    /// Whether it cannot be cut: only a message that fills it fits.
    fn must_be_filled(&self) -> bool {
        false
    }
    /// What the handle gives back. The thread that takes it calls this.
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send>;
}

impl<T: Element> Sealed for Vec<T> {}
impl<T: Element> Sealed for Box<[T]> {}
impl Sealed for BytesMut {}

impl<T: Element> ReadBuffer for Vec<T> {
    const TYPE: ElementType = T::TYPE;
    const ELEMENT_BYTES: usize = size_of::<T>();
    fn capacity_bytes(&self) -> usize {
        size_of_val(&self[..])
    }
    fn place(self) -> Box<dyn ReceiveBuffer> {
        Box::new(self)
    }
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

impl<T: Element> ReadBuffer for Box<[T]> {
    const TYPE: ElementType = T::TYPE;
    const ELEMENT_BYTES: usize = size_of::<T>();
    fn capacity_bytes(&self) -> usize {
        size_of_val(&self[..])
    }
    fn place(self) -> Box<dyn ReceiveBuffer> {
        Box::new(self)
    }
}

impl<T: Element> ReceiveBuffer for Box<[T]> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self)
    }
    fn truncate(&mut self, _: usize) {}
    fn must_be_filled(&self) -> bool {
        true
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl ReadBuffer for BytesMut {
    const TYPE: ElementType = u8::TYPE;
    const ELEMENT_BYTES: usize = 1;
    fn capacity_bytes(&self) -> usize {
        self.len()
    }
    fn place(self) -> Box<dyn ReceiveBuffer> {
        Box::new(self)
    }
}

impl ReceiveBuffer for BytesMut {
    fn bytes_mut(&mut self) -> &mut [u8] {
        self
    }
    fn truncate(&mut self, bytes: usize) {
        BytesMut::truncate(self, bytes);
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}
