//! Memory of elements that a message may take a region of.

use std::sync::Arc;

use bytes::{Bytes, BytesMut};

use super::Element;
use super::receive::Sealed;

/// A buffer with its elements in one piece of memory, so that a [`Part`](super::Part) or a
/// [`Strided`](super::Strided) region of it can be written: `Vec<T>`, `Box<[T]>`, `Arc<[T]>`, `Bytes`, `BytesMut`, and
/// arrays behind the feature `ndarray`. The list is closed.
pub trait Elements: Sealed + Send + Sync + 'static {
    /// The type of the elements.
    type Element: Element;
    /// All elements, in the order of memory.
    fn elements(&self) -> &[Self::Element];
    /// Why it has no elements in one piece, if so, in words.
    #[doc(hidden)]
    fn scattered(&self) -> Option<String> {
        None
    }
}

/// [`Elements`] that can be read into, too: all but `Arc<[T]>` and `Bytes`.
pub trait ElementsMut: Elements {
    /// All elements, in the order of memory.
    fn elements_mut(&mut self) -> &mut [Self::Element];
}

impl<T: Element> Sealed for Arc<[T]> {}
impl Sealed for Bytes {}

impl<T: Element> Elements for Vec<T> {
    type Element = T;
    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Element> ElementsMut for Vec<T> {
    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Element> Elements for Box<[T]> {
    type Element = T;
    fn elements(&self) -> &[T] {
        self
    }
}

impl<T: Element> ElementsMut for Box<[T]> {
    fn elements_mut(&mut self) -> &mut [T] {
        self
    }
}

impl<T: Element> Elements for Arc<[T]> {
    type Element = T;
    fn elements(&self) -> &[T] {
        self
    }
}

impl Elements for Bytes {
    type Element = u8;
    fn elements(&self) -> &[u8] {
        self
    }
}

impl Elements for BytesMut {
    type Element = u8;
    fn elements(&self) -> &[u8] {
        self
    }
}

impl ElementsMut for BytesMut {
    fn elements_mut(&mut self) -> &mut [u8] {
        self
    }
}
