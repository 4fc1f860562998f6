//! Operators of reductions: predefined and user-defined.

use std::any::TypeId;
use std::fmt;
use std::ops::{Add, Mul};
use std::sync::Arc;

use super::schedule::Side;

/// A binary operator on elements. It must be associative. It need not be commutative if it is declared so; then
/// operands are combined in the order of ranks.
///
/// An operator that rounds, such as a sum of floating point numbers, is only nearly associative. Its result depends on
/// the algorithm, which determines the order. One algorithm gives the same bits every time, on every rank.
#[derive(Clone)]
pub struct Operator<T> {
    name: Arc<str>,
    is_commutative: bool,
    /// Whether it is this library's own code.
    is_own: bool,
    combine: Arc<Combine<T>>,
}

/// Combines the second slice into the first.
type Combine<T> = dyn Fn(&mut [T], &[T], Side) + Send + Sync;

impl<T: Copy> Operator<T> {
    /// A user-defined operator. Ranks must agree on its name, which errors show.
    pub fn new(name: &str, is_commutative: bool, combine: impl Fn(T, T) -> T + Send + Sync + 'static) -> Self {
        let slices = move |into: &mut [T], with: &[T], side: Side| match side {
            Side::Left => into.iter_mut().zip(with).for_each(|(into, with)| *into = combine(*with, *into)),
            Side::Right => into.iter_mut().zip(with).for_each(|(into, with)| *into = combine(*into, *with)),
        };
        Operator { name: name.into(), is_commutative, is_own: false, combine: Arc::new(slices) }
    }

    /// Combines `with` into `into`, element by element.
    ///
    /// # Panics
    /// If the slices have different lengths.
    pub fn combine(&self, into: &mut [T], with: &[T], side: Side) {
        assert_eq!(into.len(), with.len(), "operands of {} are equally long", self.name);
        (self.combine)(into, with, side);
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is this library's own code, which is fast, and calls nothing.
    pub(crate) fn is_own(&self) -> bool {
        self.is_own
    }

    /// Whether it is commutative.
    pub fn is_commutative(&self) -> bool {
        self.is_commutative
    }
}

impl<T> fmt::Debug for Operator<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operator({})", self.name)
    }
}

/// The predefined operators on numbers, all commutative. Sums and products of integers wrap around. Those of floating
/// point numbers round, so they depend on the algorithm. For a number and NaN, `min` and `max` return the number.
impl<T: Number> Operator<T> {
    /// Adds.
    pub fn sum() -> Self {
        Operator::predefined("sum", T::plus)
    }

    /// Multiplies.
    pub fn product() -> Self {
        Operator::predefined("product", T::times)
    }

    /// Takes the smaller.
    pub fn min() -> Self {
        Operator::predefined("min", T::smaller)
    }

    /// Takes the larger.
    pub fn max() -> Self {
        Operator::predefined("max", T::larger)
    }

    fn predefined(name: &str, combine: impl Fn(T, T) -> T + Send + Sync + 'static) -> Self {
        Operator { is_own: is_known::<T>(), ..Operator::new(name, true, combine) }
    }
}

/// The types of the predefined operators: all integers and floats.
pub trait Number: Copy + Send + Sync + 'static {
    /// `self + other`; integers wrap around.
    fn plus(self, other: Self) -> Self;
    /// `self * other`; integers wrap around.
    fn times(self, other: Self) -> Self;
    /// The smaller of both.
    fn smaller(self, other: Self) -> Self;
    /// The larger of both.
    fn larger(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($add:ident $multiply:ident: $($number:ident)*;)*) => {
        $($(impl Number for $number {
            fn plus(self, other: Self) -> Self {
                self.$add(other)
            }
            fn times(self, other: Self) -> Self {
                self.$multiply(other)
            }
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        })*)*

        /// Whether a number is one of these, and not of the program, which may have types of its own.
        fn is_known<T: 'static>() -> bool {
            [$($(TypeId::of::<$number>(),)*)*].contains(&TypeId::of::<T>())
        }
    };
}

numbers! {
    wrapping_add wrapping_mul: u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize;
    add mul: f32 f64;
}

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
        assert_eq!(combined(Operator::min()), [2.0, 4.0]);
        assert_eq!(combined(Operator::max()), [3.0, 4.0]);
        assert_eq!(combined(Operator::sum())[0], 5.0);
        assert_eq!(combined(Operator::product())[0], 6.0);
        let mut into = [250u8];
        Operator::sum().combine(&mut into, &[10], Side::Left);
        assert_eq!(into, [4], "integers wrap around");
        assert_eq!(Operator::<u8>::sum().name(), "sum");
    }

    /// What a program brings may take any time: an operator of its own, or numbers of its own.
    #[test]
    fn only_predefined_operators_on_the_languages_numbers_are_own_code() {
        #[derive(Clone, Copy)]
        struct Slow(f64);
        impl Number for Slow {
            fn plus(self, other: Self) -> Self {
                Slow(self.0 + other.0)
            }
            fn times(self, _: Self) -> Self {
                self
            }
            fn smaller(self, _: Self) -> Self {
                self
            }
            fn larger(self, _: Self) -> Self {
                self
            }
        }
        assert!(Operator::<f64>::sum().is_own() && Operator::<u8>::max().is_own() && Operator::<i128>::min().is_own());
        assert!(!Operator::<Slow>::sum().is_own());
        assert!(!Operator::new("sum", true, |left: f64, right: f64| left + right).is_own());
    }
}
