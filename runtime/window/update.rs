//! How elements of a window are combined with those that come: predefined operators only, on bytes, since the thread that
//! applies them knows no types and runs no code of the program.

use std::fmt;

use bytemuck::Pod;

use crate::buffer::{Element, ElementType, memory};
use crate::collective::Number;

/// How [`Window::accumulate`](crate::Window::accumulate) and [`Window::fetch_update`](crate::Window::fetch_update) combine an
/// element of the target with one that comes. The predefined operators only: the target's kernel applies them, which runs
/// no code of the program.
///
/// `Replace` is defined for all elements, the others for integers and floats, as in [`Operator`](crate::Operator): sums
/// and products of integers wrap around, and for a number and NaN, `Min` and `Max` take the number.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum Update {
    /// The larger of both.
    Max,
    /// The smaller of both.
    Min,
    /// Their product.
    Product,
    /// The one that comes.
    Replace,
    /// Their sum.
    Sum,
}

impl Update {
    /// All of them.
    pub(super) const ALL: [Update; 5] = [Update::Max, Update::Min, Update::Product, Update::Replace, Update::Sum];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Update::Max => "max",
            Update::Min => "min",
            Update::Product => "product",
            Update::Replace => "replace",
            Update::Sum => "sum",
        }
    }

    pub(super) fn code(self) -> u8 {
        match self {
            Update::Replace => 1,
            Update::Sum => 2,
            Update::Product => 3,
            Update::Min => 4,
            Update::Max => 5,
        }
    }

    pub(super) fn decode(code: u8) -> Option<Self> {
        Update::ALL.into_iter().find(|update| update.code() == code)
    }

    /// Whether it is defined for these elements.
    pub(super) fn is_defined_for(self, element: ElementType) -> bool {
        self == Update::Replace || combination(element).is_some()
    }

    /// Combines the elements `with` into those of `into`, which are as many.
    pub(super) fn apply(self, element: ElementType, into: &mut [u8], with: &[u8]) {
        match (self, combination(element)) {
            (Update::Replace, _) => memory::copy(into, with),
            (update, Some(combine)) => combine(update, into, with),
            (_, None) => {}
        }
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Combines the second bytes into the first, as elements of one type.
type Combine = fn(Update, &mut [u8], &[u8]);

macro_rules! combinations {
    ($($number:ty)*) => {
        /// What combines these elements.
        fn combination(element: ElementType) -> Option<Combine> {
            $(if element == <$number as Element>::TYPE {
                return Some(combine::<$number>);
            })*
            None
        }
    };
}

combinations! { u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 f32 f64 usize isize }

fn combine<T: Number + Pod>(update: Update, into: &mut [u8], with: &[u8]) {
    let combine: fn(T, T) -> T = match update {
        Update::Max => T::larger,
        Update::Min => T::smaller,
        Update::Product => T::times,
        Update::Replace => |_, with| with,
        Update::Sum => T::plus,
    };
    // Operands lie anywhere in a message.
    for (into, with) in into.chunks_exact_mut(size_of::<T>()).zip(with.chunks_exact(size_of::<T>())) {
        let result = combine(bytemuck::pod_read_unaligned(into), bytemuck::pod_read_unaligned(with));
        into.copy_from_slice(bytemuck::bytes_of(&result));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn combined<T: Element>(update: Update, mut into: Vec<T>, with: &[T]) -> Vec<T> {
        update.apply(T::TYPE, bytemuck::cast_slice_mut(&mut into), bytemuck::cast_slice(with));
        into
    }

    #[test]
    fn elements_are_combined_by_their_type() {
        assert_eq!(combined(Update::Sum, vec![250u8, 1], &[10, 2]), [4, 3], "integers wrap around");
        assert_eq!(combined(Update::Product, vec![-3i64, 2], &[5, 7]), [-15, 14]);
        assert_eq!(combined(Update::Min, vec![f64::NAN, 2.0], &[1.0, -1.0]), [1.0, -1.0]);
        assert_eq!(combined(Update::Max, vec![1u128 << 100, 0], &[1, 2]), [1 << 100, 2]);
        assert_eq!(combined(Update::Replace, vec![1.5f32], &[2.5]), [2.5]);
        for update in Update::ALL {
            assert_eq!(Update::decode(update.code()), Some(update));
            assert!(update.is_defined_for(isize::TYPE) && !update.name().is_empty());
            assert_eq!(update.is_defined_for(ElementType::user(1)), update == Update::Replace);
        }
        assert_eq!(Update::decode(0), None);
    }

    #[test]
    fn operands_lie_anywhere() {
        let mut with = vec![0u8];
        with.extend(7u64.to_le_bytes());
        let mut into = [1u64, 2];
        Update::Sum.apply(u64::TYPE, &mut bytemuck::cast_slice_mut(&mut into)[8..], &with[1..]);
        assert_eq!(into, [1, 9]);
    }
}
