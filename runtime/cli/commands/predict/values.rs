//! What options of `predict` take: values and lists of them, pairs of lists, costs by size. Pure.
//!
//! Whether a value makes sense is the models' to say: NaN and negative numbers pass through here.

use lathide::launcher::quantity::{NUMBER, SIZE, TIME, TIME_PER, WHOLE};

use crate::commands::common::options::List;

/// The values to predict for, in the order in which they were written.
pub(super) type Values = List<f64>;
/// Whole numbers, such as numbers of processors.
pub(super) type Counts = List<u32>;

/// Pairs of two lists of the same length; a single value goes with all of the other list.
pub(super) fn paired(first: (&str, &[f64]), second: (&str, &[f64])) -> Result<Vec<(f64, f64)>, String> {
    let ((first_name, first), (second_name, second)) = (first, second);
    let (firsts, seconds) = (first.len(), second.len());
    let pairs = firsts.max(seconds);
    if (firsts != pairs && firsts != 1) || (seconds != pairs && seconds != 1) {
        return Err(format!(
            "{firsts} values of {first_name} and {seconds} of {second_name}: give one {second_name} for all, or one for each"
        ));
    }
    Ok(first.iter().copied().cycle().zip(second.iter().copied().cycle()).take(pairs).collect())
}

/// A list of numbers.
pub(super) fn numbers(text: &str) -> Result<Values, String> {
    NUMBER.list(text)
}

/// A list of sizes in bytes.
pub(super) fn sizes(text: &str) -> Result<Values, String> {
    SIZE.list(text)
}

/// A list of whole numbers.
pub(super) fn counts(text: &str) -> Result<Counts, String> {
    WHOLE.within("0", "4294967295").list(text)
}

/// One whole number.
pub(super) fn count(text: &str) -> Result<u32, String> {
    WHOLE.within("0", "4294967295").one(text)
}

/// One number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    NUMBER.one(text)
}

/// One size in bytes.
pub(super) fn size(text: &str) -> Result<f64, String> {
    SIZE.one(text)
}

/// A time in seconds.
pub(super) fn time(text: &str) -> Result<f64, String> {
    TIME.one(text)
}

/// A time in seconds per byte or word.
pub(super) fn time_per(text: &str) -> Result<f64, String> {
    TIME_PER.one(text)
}

/// A cost that grows with the size: `6.37us+0.0253us/B`, or the same for every size, `6.37us`.
pub(super) fn line(text: &str) -> Result<(f64, f64), String> {
    // A plus behind an e belongs to the number.
    let plus = text.char_indices().find(|(at, sign)| *sign == '+' && *at > 0 && !text[..*at].ends_with(['e', 'E']));
    match plus {
        Some((at, _)) => Ok((time(&text[..at])?, time_per(&text[at + 1..])?)),
        None => Ok((time(text)?, 0.0)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn costs_by_size() {
        assert_eq!(line("6.37us+0.0253us/B").unwrap(), (6.37e-6, 0.0253e-6));
        assert_eq!(line("1e+2").unwrap(), (100.0, 0.0));
        assert_eq!(line("1e-5+2e-8").unwrap(), (1e-5, 2e-8));
        assert!(line("1us+2parsecs").expect_err("no time").contains("a time per byte or word"));
        assert!(line("1us+").is_err() && line("").is_err());
    }

    #[test]
    fn pairs() {
        let pairs =
            |first: &str, second: &str| paired(("--a", &numbers(first).unwrap()), ("--b", &numbers(second).unwrap()));
        assert_eq!(pairs("1,2", "3").unwrap(), [(1.0, 3.0), (2.0, 3.0)]);
        assert_eq!(pairs("1", "3,4").unwrap(), [(1.0, 3.0), (1.0, 4.0)]);
        assert_eq!(pairs("1,2", "3,4").unwrap(), [(1.0, 3.0), (2.0, 4.0)]);
        let refused = |first, second| pairs(first, second).expect_err("unequal lists");
        assert!(refused("1,2", "3,4,5").contains("one --b for all"));
        assert!(refused("1,2,3", "3,4").contains("3 values of --a and 2 of --b"));
    }

    /// Refusing them is for the models, which name the parameter.
    #[test]
    fn what_only_a_model_can_refuse_passes() {
        assert!(number("nan").unwrap().is_nan() && numbers("1,NaN").unwrap()[1].is_nan());
        assert_eq!((number("-1"), time("-1us"), size("-8"), counts("0")), (Ok(-1.0), Ok(-1e-6), Ok(-8.0), Ok(vec![0])));
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn no_text_panics(text in "\\PC{0,20}|[0-9.+eus/B-]{0,30}") {
            let _ = (line(&text), time_per(&text));
        }
    }
}
