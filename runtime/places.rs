//! Receive buffers that learn from the message itself: how long it is, and whose.

use std::any::Any;
use std::marker::PhantomData;

use crate::buffer::{Element, ReceiveBuffer};
use crate::ids::Rank;

/// A vector that is allocated when the message is known.
pub(crate) struct OnArrival<T> {
    elements: Vec<T>,
    /// The most bytes it may have.
    bytes_max: u64,
}

impl<T: Element> OnArrival<T> {
    /// For at most `max` elements.
    pub(crate) fn new(max: usize) -> Self {
        OnArrival { elements: Vec::new(), bytes_max: (max as u64).saturating_mul(size_of::<T>() as u64) }
    }
}

impl<T: Element> ReceiveBuffer for OnArrival<T> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(&mut self.elements)
    }
    fn capacity(&mut self) -> u64 {
        self.bytes_max
    }
    fn meet(&mut self, _: Rank, bytes: u64) {
        self.elements = vec![T::zeroed(); bytes.div_ceil(size_of::<T>() as u64) as usize];
    }
    fn unmeet(&mut self) {
        self.elements = Vec::new();
    }
    fn truncate(&mut self, bytes: usize) {
        self.elements.truncate(bytes / size_of::<T>());
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        Box::new(self.elements)
    }
}

/// A buffer that comes back with the rank whose message has filled it, as `(Rank, B)`; without one, as the `B` that it was.
pub(crate) struct FromAny<P, B> {
    place: P,
    from: Option<Rank>,
    buffer: PhantomData<fn() -> B>,
}

impl<P: ReceiveBuffer, B: Send + 'static> FromAny<P, B> {
    /// `place` comes back as a `B`.
    pub(crate) fn new(place: P) -> Self {
        FromAny { place, from: None, buffer: PhantomData }
    }
}

impl<P: ReceiveBuffer + 'static, B: Send + 'static> ReceiveBuffer for FromAny<P, B> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        self.place.bytes_mut()
    }
    fn capacity(&mut self) -> u64 {
        self.place.capacity()
    }
    fn meet(&mut self, from: Rank, bytes: u64) {
        self.from = Some(from);
        self.place.meet(from, bytes);
    }
    fn unmeet(&mut self) {
        self.from = None;
        self.place.unmeet();
    }
    fn truncate(&mut self, bytes: usize) {
        self.place.truncate(bytes);
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        let FromAny { place, from, .. } = *self;
        let buffer = Box::new(place).into_any();
        let Some(from) = from else { return buffer };
        match buffer.downcast::<B>() {
            Ok(buffer) => Box::new((from, *buffer)),
            Err(other) => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vector_is_as_long_as_its_message() {
        let mut place = OnArrival::<u32>::new(10);
        assert_eq!((place.capacity(), place.bytes_mut().len()), (40, 0));
        place.meet(Rank(1), 12);
        place.bytes_mut().copy_from_slice(&[1; 12]);
        place.truncate(12);
        let elements = Box::new(place).into_any().downcast::<Vec<u32>>().unwrap();
        assert_eq!(*elements, [0x0101_0101; 3]);
        assert_eq!(OnArrival::<u64>::new(usize::MAX).capacity(), u64::MAX, "no limit");
    }

    #[test]
    fn a_buffer_says_who_has_filled_it() {
        let place = || FromAny::<Vec<u8>, Vec<u8>>::new(vec![7; 4]);
        let mut met = place();
        met.meet(Rank(3), 2);
        met.truncate(2);
        assert_eq!(*Box::new(met).into_any().downcast::<(Rank, Vec<u8>)>().unwrap(), (Rank(3), vec![7; 2]));
        let mut unmet = place();
        unmet.meet(Rank(3), 2);
        unmet.unmeet();
        assert_eq!(*Box::new(unmet).into_any().downcast::<Vec<u8>>().unwrap(), [7; 4]);
    }
}
