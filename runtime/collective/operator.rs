//! What reductions combine with: the usual operators, and the program's own.

use std::fmt;
use std::ops::{Add, Mul};
use std::sync::Arc;

use super::schedule::Side;

/// A binary operator on elements. It must be associative; it need not be commutative, if it says so: then
/// operands are combined in the order of ranks.
///
/// An operator that rounds, such as a sum of floating point numbers, is associative only nearly: its result
/// depends on the algorithm, which says in which order it combines. With one algorithm it is the same bits every
/// time, on every rank.
#[derive(Clone)]
pub struct Operator<T> {
    name: Arc<str>,
    is_commutative: bool,
    combine: Arc<Combine<T>>,
}

/// Combines the second slice into the first.
type Combine<T> = dyn Fn(&mut [T], &[T], Side) + Send + Sync;

impl<T: Copy> Operator<T> {
    /// An operator of the program's own. Ranks must agree on its name, which errors show.
    pub fn new(name: &str, is_commutative: bool, combine: impl Fn(T, T) -> T + Send + Sync + 'static) -> Self {
        let slices = move |into: &mut [T], with: &[T], side: Side| match side {
            Side::Left => into.iter_mut().zip(with).for_each(|(into, with)| *into = combine(*with, *into)),
            Side::Right => into.iter_mut().zip(with).for_each(|(into, with)| *into = combine(*into, *with)),
        };
        Operator { name: name.into(), is_commutative, combine: Arc::new(slices) }
    }

    /// Combines `with` into `into`, element by element.
    ///
    /// # Panics
    /// If the slices differ in length.
    pub fn combine(&self, into: &mut [T], with: &[T], side: Side) {
        assert_eq!(into.len(), with.len(), "operands of {} are equally long", self.name);
        (self.combine)(into, with, side);
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether operands may be exchanged.
    pub fn is_commutative(&self) -> bool {
        self.is_commutative
    }
}

impl<T> fmt::Debug for Operator<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({})", self.name)
    }
}

/// Numbers, with the operators that reductions usually need. Sums and products of integers wrap around.
pub trait Number: Copy + Send + Sync + 'static {
    /// Adds.
    fn sum() -> Operator<Self>;
    /// Multiplies.
    fn product() -> Operator<Self>;
    /// The smaller; of a number and NaN, the number.
    fn min() -> Operator<Self>;
    /// The larger; of a number and NaN, the number.
    fn max() -> Operator<Self>;
}

macro_rules! numbers {
    ($add:ident $multiply:ident: $($number:ident)*) => {
        $(impl Number for $number {
            fn sum() -> Operator<Self> {
                Operator::new("sum", true, |left: $number, right: $number| left.$add(right))
            }
            fn product() -> Operator<Self> {
                Operator::new("product", true, |left: $number, right: $number| left.$multiply(right))
            }
            fn min() -> Operator<Self> {
                Operator::new("min", true, |left: $number, right: $number| left.min(right))
            }
            fn max() -> Operator<Self> {
                Operator::new("max", true, |left: $number, right: $number| left.max(right))
            }
        })*
    };
}

numbers! { wrapping_add wrapping_mul: u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize }
numbers! { add mul: f32 f64 }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_operators() {
        let combined = |operator: Operator<f64>| {
            let mut into = [2.0, f64::NAN];
            operator.combine(&mut into, &[3.0, 4.0], Side::Right);
            into
        };
        assert_eq!(combined(f64::min()), [2.0, 4.0]);
        assert_eq!(combined(f64::max()), [3.0, 4.0]);
        assert_eq!(combined(f64::sum())[0], 5.0);
        assert_eq!(combined(f64::product())[0], 6.0);
        let mut into = [250u8];
        u8::sum().combine(&mut into, &[10], Side::Left);
        assert_eq!(into, [4], "integers wrap around");
        assert_eq!(u8::sum().name(), "sum");
    }
}
