//! Lists of values: values and ranges between commas, such as `256,1024`, `2..40`, `8..1MiB*4`, `0.5..4+0.5`. Pure.
//!
//! A range includes its end if the steps reach it. Without a step it has every whole number if both ends are whole and
//! close, and else 33 values at equal ratios.

use super::{NUMBER, Quantity, Scalar};

/// More are no table any more.
const VALUES_MAX: usize = 1000;
/// A range of whole numbers without a step has every one of them up to so many, then so few at equal ratios.
const EACH_MAX: f64 = 100.0;
const RATIOS: u32 = 32;

const STEPS: &str = "write a step, such as 1..4096*2 or 0..100+5";

impl Quantity {
    /// Reads a list, in the order in which it is written. It has at least one value and at most 1000.
    ///
    /// # Errors
    /// What would be right.
    pub fn list<T: Scalar>(&self, text: &str) -> Result<Vec<T>, String> {
        let mut values = Vec::new();
        for item in text.split(',') {
            let numbers = match item.split_once("..") {
                Some((from, to)) => self.range(item, from, to)?,
                None => vec![self.number(item)?],
            };
            // The message stands behind the whole text; in it, one value needs no name.
            let is_alone = item == text && !item.contains("..");
            let wrong = || if is_alone { self.expected() } else { format!("{item}: {}", self.expected()) };
            for number in numbers {
                values.push(self.checked(number).ok_or_else(wrong)?);
            }
            if values.len() > VALUES_MAX {
                return Err(format!("{item} makes more than {VALUES_MAX} values; {STEPS}"));
            }
        }
        Ok(values)
    }

    /// A number before its bounds are checked: as the end of a range it need not be a value.
    fn number(&self, text: &str) -> Result<f64, String> {
        self.read(text).ok_or_else(|| format!("{text:?} is no number; {}", self.expected()))
    }

    fn range(&self, item: &str, from: &str, to: &str) -> Result<Vec<f64>, String> {
        let from = self.number(from)?;
        // The first sign could belong to an exponent, as in 1..1e+3*10.
        let sign = to
            .char_indices()
            .find(|(at, sign)| *sign == '*' || (*sign == '+' && *at > 0 && !to[..*at].ends_with(['e', 'E'])));
        let (to, step) = match sign {
            Some((at, '*')) => (self.number(&to[..at])?, Some(Step::Times(NUMBER.number(&to[at + 1..])?))),
            Some((at, _)) => (self.number(&to[..at])?, Some(Step::Plus(self.number(&to[at + 1..])?))),
            None => (self.number(to)?, None),
        };
        if !(from.is_finite() && to.is_finite() && from < to) {
            return Err(format!("{item}: a range goes from a number to a greater one"));
        }
        match step {
            Some(step) => stepped(item, from, to, step),
            None if from.fract() == 0.0 && to.fract() == 0.0 && to - from < EACH_MAX => {
                stepped(item, from, to, Step::Plus(1.0))
            }
            None if from > 0.0 => Ok(at_equal_ratios(from, to, self.is_whole)),
            None => Err(format!("{item}: from 0 on there are no equal ratios; {STEPS}")),
        }
    }
}

/// How a range goes on from one value to the next.
#[derive(Clone, Copy)]
enum Step {
    /// By adding.
    Plus(f64),
    /// By multiplying.
    Times(f64),
}

fn stepped(item: &str, from: f64, to: f64, step: Step) -> Result<Vec<f64>, String> {
    let last = match step {
        Step::Plus(by) if by > 0.0 => (to - from) / by,
        Step::Times(by) if by > 1.0 && from > 0.0 => (to / from).ln() / by.ln(),
        Step::Plus(_) => return Err(format!("{item}: what is added must be above 0")),
        Step::Times(_) => return Err(format!("{item}: the factor must be above 1, and the start above 0")),
    };
    // The end belongs to the range, rounding or not.
    let last = (last + 1e-9).floor();
    if last >= VALUES_MAX as f64 {
        return Err(format!("{item} makes more than {VALUES_MAX} values; take a larger step"));
    }
    let value = |index: u32| match step {
        Step::Plus(by) => from + by * f64::from(index),
        Step::Times(by) => from * by.powi(index as i32),
    };
    Ok((0..=last as u32).map(value).collect())
}

fn at_equal_ratios(from: f64, to: f64, is_whole: bool) -> Vec<f64> {
    let value = |index: u32| match index {
        0 => from,
        RATIOS => to,
        between => from * (to / from).powf(f64::from(between) / f64::from(RATIOS)),
    };
    let mut values: Vec<f64> = (0..=RATIOS).map(value).collect();
    if is_whole {
        values.iter_mut().for_each(|value| *value = value.round());
        values.dedup();
    }
    values
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{RATE, SIZE, TIME, WHOLE};
    use super::*;

    fn numbers(text: &str) -> Vec<f64> {
        NUMBER.list(text).unwrap()
    }

    fn refused(kind: Quantity, text: &str) -> String {
        kind.list::<u32>(text).expect_err(text)
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(numbers("1, 2.5,1e3"), [1.0, 2.5, 1000.0]);
        assert_eq!(numbers("2..5"), [2.0, 3.0, 4.0, 5.0]);
        assert_eq!(numbers("0.5..2+0.5"), [0.5, 1.0, 1.5, 2.0]);
        assert_eq!(numbers("1..1e+3*10"), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(numbers("0..0.3+0.1").len(), 4, "the end belongs to it");
        assert_eq!(numbers("7,1..10*2"), [7.0, 1.0, 2.0, 4.0, 8.0]);
        assert_eq!(WHOLE.list::<u32>("1..64*2,100").unwrap(), [1, 2, 4, 8, 16, 32, 64, 100]);
        assert_eq!(SIZE.list::<usize>("8..1MiB*4").unwrap().len(), 9);
        assert_eq!(SIZE.list::<u64>("0..192KiB+64KiB").unwrap(), [0, 65_536, 131_072, 196_608]);
        assert_eq!(TIME.list::<f64>("1ms..4ms*2, 1").unwrap(), [0.001, 0.002, 0.004, 1.0]);
        assert_eq!(RATE.list::<f64>("1mbit..3mbit+1mbit").unwrap(), [1e6, 2e6, 3e6]);
    }

    #[test]
    fn without_a_step_there_are_all_or_equal_ratios() {
        assert_eq!(numbers("1..100").len(), 100);
        let ratios = numbers("0.25..4");
        assert_eq!((ratios.len(), ratios[0], ratios[16], ratios[32]), (33, 0.25, 1.0, 4.0));
        let sizes: Vec<f64> = SIZE.list("8..16MiB").unwrap();
        assert!(sizes.iter().all(|size| size.fract() == 0.0) && sizes[32] == 16_777_216.0);
        let counts: Vec<u32> = WHOLE.list("1..1000").unwrap();
        assert!(counts.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
        assert!(refused(NUMBER, "0..0.5").contains("write a step"));
    }

    #[test]
    fn every_value_is_within_the_bounds() {
        let ranks = WHOLE.within("2", "64");
        assert_eq!(ranks.list::<u32>("2..8*2,64").unwrap(), [2, 4, 8, 64]);
        assert_eq!(ranks.list::<u32>("2..65*2").unwrap().len(), 6, "65 is not among them");
        assert_eq!(refused(ranks, "4,65"), "65: this is a whole number from 2 to 64, without a unit");
        assert_eq!(refused(ranks, "65"), "this is a whole number from 2 to 64, without a unit");
        assert!(refused(ranks, "1..8*2").starts_with("1..8*2: this is"));
        assert!(refused(ranks, "2,x").contains("\"x\" is no number; this is a whole number"));
    }

    #[test]
    fn whether_it_makes_sense_is_for_the_model() {
        assert!(numbers("1,NaN").iter().any(|value| value.is_nan()));
        assert_eq!(numbers("-1,-3..-2"), [-1.0, -3.0, -2.0]);
        assert_eq!(WHOLE.list::<u32>("0").unwrap(), [0], "the models refuse it by name");
    }

    #[test]
    fn what_is_no_list_is_refused() {
        for (text, why) in [
            ("", "no number"),
            ("1,,2", "no number"),
            ("4..2", "greater"),
            ("2..2", "greater"),
            ("nan..2", "greater"),
            ("1..inf", "greater"),
            ("1..8*1", "factor"),
            ("0..8*2", "factor"),
            ("1..8+0", "above 0"),
            ("1..1e9+1", "more than 1000"),
            ("1..8+nan", "above 0"),
            ("5us", "without a unit"),
        ] {
            assert!(refused(NUMBER, text).contains(why), "{text}: {}", refused(NUMBER, text));
        }
        for text in ["1.5", "-1", "nan", "1..2+0.5"] {
            assert!(refused(WHOLE, text).contains("a whole number"), "{text}");
        }
    }

    #[test]
    fn texts_that_are_almost_right_are_lists_or_name_what_is_right() {
        const TEXTS: u64 = 500_000;
        let corpus =
            ["256,1024", "2..40", "8..1MiB*4", "0.5..4+0.5", "1..64*2", "1ms..4ms*2, 1", "0.1%", "50mbit/s", "3us/B"];
        let kinds = [NUMBER, SIZE, TIME, RATE, WHOLE, WHOLE.within("2", "64"), TIME.within("1ns", "60s")];
        crate::mutant::each_seed("texts_that_are_almost_right_are_lists_or_name_what_is_right", TEXTS, |chance| {
            let text = crate::mutant::text(chance, &corpus);
            let kind = chance.pick(&kinds);
            for list in [kind.list::<f64>(&text).map(|list| list.len()), kind.list::<u32>(&text).map(|list| list.len())]
            {
                match list {
                    Ok(length) => assert!((1..=VALUES_MAX).contains(&length), "{text}: {length}"),
                    Err(why) => assert!(why.len() > 10 && why.len() < 10 * text.len() + 500, "{text}: {why}"),
                }
            }
            let _ = (kind.one::<std::time::Duration>(&text), kind.one::<u64>(&text));
            kind.list::<f64>(&text).is_ok()
        });
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn no_text_panics_and_lists_are_bounded(text in "\\PC{0,20}|[0-9.,*+eE-]{0,30}|[0-9]{1,4}\\.\\.[0-9]{1,9}(\\*|\\+)?[0-9]{0,3}") {
            for list in [NUMBER.list::<f64>(&text), SIZE.list(&text)].into_iter().flatten() {
                prop_assert!((1..=VALUES_MAX).contains(&list.len()));
            }
            let _ = WHOLE.list::<u32>(&text);
        }
    }
}
