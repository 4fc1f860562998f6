//! Arrays of the crate `ndarray`.

use std::any::Any;

use ndarray::{Array, Dimension, SliceArg};

use super::receive::{ReceiveBuffer, Sealed};
use super::{Element, ElementType, Elements, ElementsMut, ReadBuffer, Section, WriteBuffer};

/// Why an array cannot be sent or received as it is.
const NOT_STANDARD: &str = "the array is not in standard (row-major) layout without gaps: use as_standard_layout(), or a \
                            Strided region of it";
const SCATTERED: &str = "the array has gaps in memory: use as_standard_layout()";

impl<T: Element, D: Dimension + 'static> Sealed for Array<T, D> {}

/// An array in standard layout: its elements in row-major order.
impl<T: Element, D: Dimension + 'static> WriteBuffer for Array<T, D> {
    const TYPE: ElementType = T::TYPE;
    const ELEMENT_BYTES: usize = size_of::<T>();
    fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(self.as_slice().unwrap_or_default())
    }
    fn flaw(&self) -> Option<String> {
        self.as_slice().is_none().then(|| NOT_STANDARD.to_owned())
    }
}

impl<T: Element, D: Dimension + 'static> ReadBuffer for Array<T, D> {
    const TYPE: ElementType = T::TYPE;
    const ELEMENT_BYTES: usize = size_of::<T>();
    fn capacity_bytes(&self) -> usize {
        self.len() * size_of::<T>()
    }
    fn flaw(&self) -> Option<String> {
        WriteBuffer::flaw(self)
    }
    fn place(self) -> Box<dyn ReceiveBuffer> {
        Box::new(self)
    }
}

impl<T: Element, D: Dimension + 'static> ReceiveBuffer for Array<T, D> {
    fn bytes_mut(&mut self) -> &mut [u8] {
        bytemuck::cast_slice_mut(self.as_slice_mut().unwrap_or_default())
    }
    fn truncate(&mut self, _: usize) {}
    fn must_be_filled(&self) -> bool {
        true
    }
    fn into_any(self: Box<Self>) -> Box<dyn Any + Send> {
        self
    }
}

impl<T: Element, D: Dimension + 'static> Elements for Array<T, D> {
    type Element = T;
    fn elements(&self) -> &[T] {
        self.as_slice_memory_order().unwrap_or_default()
    }
    fn scattered(&self) -> Option<String> {
        self.as_slice_memory_order().is_none().then(|| SCATTERED.to_owned())
    }
}

impl<T: Element, D: Dimension + 'static> ElementsMut for Array<T, D> {
    fn elements_mut(&mut self) -> &mut [T] {
        self.as_slice_memory_order_mut().unwrap_or_default()
    }
}

impl Section {
    /// The elements that `slice` selects of an array of the crate `ndarray`, in the order of their indices, for a
    /// [`Strided`](super::Strided) region of that array or of one with the same shape and layout. Needs the feature
    /// `ndarray`.
    ///
    /// ```
    /// use lathide::{Section, Strided};
    /// use ndarray::{Array2, array, s};
    /// let node = lathide::init()?;
    /// let own = node.rank();
    /// let matrix = array![[1, 2, 3], [4, 5, 6]];
    /// let mut ghosts = Array2::<i32>::zeros((2, 3));
    /// let last = Section::of_slice(&matrix, s![.., 2]);
    /// let first = Section::of_slice(&ghosts, s![.., 0]);
    /// let read = node.read_into(own, 1, Strided::new(&mut ghosts, first))?;
    /// node.initwrite(own, 1, Strided::new(matrix, last))?.wait()?;
    /// read.wait()?;
    /// assert_eq!(ghosts, array![[3, 0, 0], [6, 0, 0]]);
    /// node.finalize()?;
    /// # Ok::<_, lathide::Error>(())
    /// ```
    ///
    /// # Panics
    /// As `Array::slice`, if `slice` does not fit the array.
    pub fn of_slice<T: Element, D: Dimension + 'static>(array: &Array<T, D>, slice: impl SliceArg<D>) -> Self {
        let view = array.slice(slice);
        if view.is_empty() {
            return Section::at(0).by(0, 1);
        }
        // Both are addresses within the array; none is followed.
        let offset = (view.as_ptr() as usize).wrapping_sub(array.elements().as_ptr() as usize);
        let dimensions = view.shape().iter().zip(view.strides());
        dimensions.fold(Section::at(offset / size_of::<T>()), |section, (&count, &stride)| section.by(count, stride))
    }
}

#[cfg(test)]
mod tests {
    use ndarray::{Array2, Array3, ShapeBuilder, Slice, SliceInfoElem};

    use super::*;

    /// What `s!` makes, which needs `unsafe` for it.
    fn slice(parts: [(isize, Option<isize>, isize); 3]) -> [SliceInfoElem; 3] {
        parts.map(|(start, end, step)| Slice::new(start, end, step).into())
    }

    #[test]
    fn a_section_of_a_slice_is_the_slice_in_any_layout() {
        let number = |(plane, row, column): (usize, usize, usize)| (plane * 100 + row * 10 + column) as u32;
        let rows_first = Array3::from_shape_fn((3, 4, 5), number).into_dyn();
        let columns_first = Array3::from_shape_fn((3, 4, 5).f(), number).into_dyn();
        let slices = [
            [(0, None, 1), (0, None, 1), (0, Some(1), 1)],
            [(2, Some(3), 1), (0, None, 2), (1, None, 3)],
            [(0, None, -1), (1, Some(3), 1), (0, None, -2)],
            [(0, None, 1), (2, Some(2), 1), (0, None, 1)],
        ];
        for array in [rows_first, columns_first] {
            for parts in slices.map(slice) {
                let expected: Vec<u32> = array.slice(&parts[..]).iter().copied().collect();
                let packed = Section::of_slice(&array, &parts[..]).pack(array.elements()).expect("within the array");
                assert_eq!(packed, expected, "{parts:?}");
            }
        }
    }

    #[test]
    fn arrays_that_are_not_in_order_are_refused() {
        let standard = Array2::<u8>::zeros((2, 3));
        assert_eq!((WriteBuffer::flaw(&standard), standard.scattered()), (None, None));
        let turned = Array2::<u8>::zeros((2, 3).f());
        assert!(WriteBuffer::flaw(&turned).is_some_and(|flaw| flaw.contains("row-major")));
        assert_eq!(turned.scattered(), None);
        let half = slice([(0, None, 2), (0, Some(2), 1), (0, None, 1)]);
        let gaps = Array3::<u8>::zeros((4, 4, 4)).into_dyn().slice_move(&half[..]);
        assert!(WriteBuffer::flaw(&gaps).is_some() && gaps.scattered().is_some_and(|flaw| flaw.contains("gaps")));
    }
}
