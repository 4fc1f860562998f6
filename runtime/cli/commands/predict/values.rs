//! Numbers, units, lists and ranges as they are written on the command line. Pure.
//!
//! A list has values and ranges between commas: `256,1024`, `2..40`, `1..64*2`, `0.5..4+0.5`. Whether a value makes sense
//! is the models' to say: NaN and negative numbers pass through here.

/// The values to predict for, in the order they were written.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Values(Vec<f64>);

impl Values {
    pub(super) fn of(values: impl IntoIterator<Item = f64>) -> Self {
        Values(values.into_iter().collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = f64> + Clone + '_ {
        self.0.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn first(&self) -> f64 {
        self.0.first().copied().unwrap_or(f64::NAN)
    }
}

/// Pairs of two lists of the same length; a single value goes with all of the other list.
pub(super) fn paired(first: (&str, &Values), second: (&str, &Values)) -> Result<Vec<(f64, f64)>, String> {
    let ((first_name, first), (second_name, second)) = (first, second);
    let (firsts, seconds) = (first.len(), second.len());
    let pairs = firsts.max(seconds);
    if (firsts != pairs && firsts != 1) || (seconds != pairs && seconds != 1) {
        return Err(format!(
            "{firsts} values of {first_name} and {seconds} of {second_name}: give one {second_name} for all, or one for each"
        ));
    }
    Ok(first.iter().cycle().zip(second.iter().cycle()).take(pairs).collect())
}

/// Whole numbers, such as numbers of processors.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Counts(Vec<u32>);

impl Counts {
    pub(super) fn of(counts: impl IntoIterator<Item = u32>) -> Self {
        Counts(counts.into_iter().collect())
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + Clone + '_ {
        self.0.iter().copied()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

/// A list of plain numbers.
pub(super) fn numbers(text: &str) -> Result<Values, String> {
    list(text, &PLAIN, Kind::Real).map(Values)
}

/// A list of sizes in bytes: `8,64KiB`, `8..16MiB*2`.
pub(super) fn sizes(text: &str) -> Result<Values, String> {
    list(text, &BYTES, Kind::Whole).map(Values)
}

/// A list of whole numbers.
pub(super) fn counts(text: &str) -> Result<Counts, String> {
    list(text, &PLAIN, Kind::Whole)?.into_iter().map(whole).collect::<Result<_, _>>().map(Counts)
}

/// One plain number.
pub(super) fn number(text: &str) -> Result<f64, String> {
    scaled(text, &PLAIN)
}

/// One size in bytes.
pub(super) fn size(text: &str) -> Result<f64, String> {
    scaled(text, &BYTES)
}

/// A time in seconds: `35e-6`, `35us`.
pub(super) fn time(text: &str) -> Result<f64, String> {
    scaled(text, &TIME)
}

/// A time per byte (or word) in seconds: `0.23e-6`, `0.23us`, `0.23us/B`.
pub(super) fn time_per(text: &str) -> Result<f64, String> {
    let text = text.trim();
    let bare = ["/B", "/byte", "/word"].iter().find_map(|unit| text.strip_suffix(unit)).unwrap_or(text);
    scaled(bare, &TIME)
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

/// Names of units, and how many of the models' own each is.
struct Units {
    what: &'static str,
    names: &'static [(&'static str, Factor)],
}

/// How large a unit is.
#[derive(Clone, Copy)]
enum Factor {
    /// A power of ten: its digits stay as written, so that 0.92us is the same number as 0.92e-6.
    Power(i32),
    Times(f64),
}

const PLAIN: Units = Units { what: "a number without a unit", names: &[] };
const TIME: Units = Units {
    what: "a time is in seconds, or has us, ms or s: 35e-6, 35us",
    names: &[("s", Factor::Power(0)), ("ms", Factor::Power(-3)), ("us", Factor::Power(-6)), ("ns", Factor::Power(-9))],
};
const BYTES: Units = Units {
    what: "a size is in bytes, or has KiB, MiB or GiB, kB, MB or GB: 65536, 64KiB",
    names: &[
        ("b", Factor::Power(0)),
        ("kb", Factor::Power(3)),
        ("mb", Factor::Power(6)),
        ("gb", Factor::Power(9)),
        ("kib", Factor::Times(1024.0)),
        ("mib", Factor::Times(1_048_576.0)),
        ("gib", Factor::Times(1_073_741_824.0)),
    ],
};

/// The values of a list may be anything, or are whole.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Real,
    Whole,
}

/// More are no table any more.
const VALUES_MAX: usize = 1000;
/// A range of whole numbers without a step has every one of them up to so many, then so few at equal ratios.
const EACH_MAX: f64 = 100.0;
const RATIOS: u32 = 32;

fn list(text: &str, units: &Units, kind: Kind) -> Result<Vec<f64>, String> {
    let mut values = Vec::new();
    for item in text.split(',') {
        match item.split_once("..") {
            Some((from, to)) => values.extend(range(item, from, to, units, kind)?),
            None => values.push(scaled(item, units)?),
        }
        if values.len() > VALUES_MAX {
            return Err(format!("{item} makes more than {VALUES_MAX} values; {STEPS}"));
        }
    }
    Ok(values)
}

const STEPS: &str = "write a step, such as 1..4096*2 or 0..100+5";

/// How a range goes on from one value to the next.
#[derive(Clone, Copy)]
enum Step {
    /// By adding.
    Plus(f64),
    /// By multiplying.
    Times(f64),
}

fn range(item: &str, from: &str, to: &str, units: &Units, kind: Kind) -> Result<Vec<f64>, String> {
    let from = scaled(from, units)?;
    // The first sign could belong to an exponent, as in 1..1e+3*10.
    let sign = to
        .char_indices()
        .find(|(at, sign)| *sign == '*' || (*sign == '+' && *at > 0 && !to[..*at].ends_with(['e', 'E'])));
    let (to, step) = match sign {
        Some((at, '*')) => (scaled(&to[..at], units)?, Some(Step::Times(scaled(&to[at + 1..], &PLAIN)?))),
        Some((at, _)) => (scaled(&to[..at], units)?, Some(Step::Plus(scaled(&to[at + 1..], units)?))),
        None => (scaled(to, units)?, None),
    };
    if !(from.is_finite() && to.is_finite() && from < to) {
        return Err(format!("{item}: a range goes from a number to a greater one"));
    }
    let step = match step {
        Some(step) => step,
        None if from.fract() == 0.0 && to.fract() == 0.0 && to - from < EACH_MAX => Step::Plus(1.0),
        None if from > 0.0 => return Ok(at_equal_ratios(from, to, kind)),
        None => return Err(format!("{item}: from 0 on there are no equal ratios; {STEPS}")),
    };
    stepped(item, from, to, step)
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

fn at_equal_ratios(from: f64, to: f64, kind: Kind) -> Vec<f64> {
    let value = |index: u32| match index {
        0 => from,
        RATIOS => to,
        between => from * (to / from).powf(f64::from(between) / f64::from(RATIOS)),
    };
    let mut values: Vec<f64> = (0..=RATIOS).map(value).collect();
    if kind == Kind::Whole {
        values.iter_mut().for_each(|value| *value = value.round());
        values.dedup();
    }
    values
}

fn whole(value: f64) -> Result<u32, String> {
    if value.fract() == 0.0 && (0.0..=f64::from(u32::MAX)).contains(&value) {
        return Ok(value as u32);
    }
    Err(format!("{value} is no whole number between 0 and {}", u32::MAX))
}

fn scaled(text: &str, units: &Units) -> Result<f64, String> {
    let text = text.trim();
    // Words such as NaN are numbers to Rust, and then refused by the model that gets them.
    if let Ok(number) = text.parse() {
        return Ok(number);
    }
    let unit_at = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic()).len();
    let (digits, unit) = text.split_at(unit_at);
    let digits = digits.trim_end();
    let number: f64 = digits.parse().map_err(|_| format!("{text:?} is no number; {}", units.what))?;
    let unit = unit.to_ascii_lowercase();
    let found = units.names.iter().find(|(name, _)| *name == unit);
    match found {
        // Digits with an exponent of their own cannot have another.
        Some((_, Factor::Power(power))) => {
            Ok(format!("{digits}e{power}").parse().unwrap_or_else(|_| number * 10f64.powi(*power)))
        }
        Some((_, Factor::Times(factor))) => Ok(number * factor),
        None => Err(format!("{text:?}: {}", units.what)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn refused<T: std::fmt::Debug>(result: Result<T, String>) -> String {
        result.expect_err("refused")
    }

    #[test]
    fn lists_and_ranges() {
        assert_eq!(numbers("1, 2.5,1e3").unwrap(), Values(vec![1.0, 2.5, 1000.0]));
        assert_eq!(numbers("2..5").unwrap(), Values(vec![2.0, 3.0, 4.0, 5.0]));
        assert_eq!(numbers("0.5..2+0.5").unwrap(), Values(vec![0.5, 1.0, 1.5, 2.0]));
        assert_eq!(numbers("1..1e+3*10").unwrap(), Values(vec![1.0, 10.0, 100.0, 1000.0]));
        assert_eq!(numbers("0..0.3+0.1").unwrap().len(), 4, "the end belongs to it");
        assert_eq!(numbers("7,1..10*2").unwrap(), Values(vec![7.0, 1.0, 2.0, 4.0, 8.0]));
        assert_eq!(counts("1..64*2,100").unwrap(), Counts(vec![1, 2, 4, 8, 16, 32, 64, 100]));
        assert_eq!(sizes("8..1KiB*2").unwrap().len(), 8);
        assert_eq!(sizes("0..192KiB+64KiB").unwrap(), Values(vec![0.0, 65_536.0, 131_072.0, 196_608.0]));
    }

    #[test]
    fn without_a_step_there_are_all_or_equal_ratios() {
        assert_eq!(numbers("1..100").unwrap().len(), 100);
        let ratios = numbers("0.25..4").unwrap();
        assert_eq!((ratios.len(), ratios.first(), ratios.0[16], ratios.0[32]), (33, 0.25, 1.0, 4.0));
        let sizes = sizes("8..16MiB").unwrap();
        assert!(sizes.iter().all(|size| size.fract() == 0.0) && sizes.0[32] == 16_777_216.0);
        let counts = counts("1..1000").unwrap();
        assert!(counts.0.windows(2).all(|pair| pair[0] < pair[1]), "{counts:?}");
        assert!(refused(numbers("0..0.5")).contains("write a step"));
    }

    #[test]
    fn units() {
        assert_eq!(time("35us").unwrap(), 35e-6);
        assert_eq!(time("35e-6").unwrap(), 35e-6);
        assert!((time("3.5e1us").unwrap() - 35e-6).abs() < 1e-20);
        assert_eq!((time("1.5ms").unwrap(), time("2 s").unwrap(), time("7ns").unwrap()), (1.5e-3, 2.0, 7e-9));
        assert_eq!(time_per("0.92us/B").unwrap(), 0.92e-6);
        assert_eq!((size("64KiB").unwrap(), size("1MB").unwrap(), size("12").unwrap()), (65_536.0, 1e6, 12.0));
        assert_eq!(line("6.37us+0.0253us/B").unwrap(), (6.37e-6, 0.0253e-6));
        assert_eq!(line("1e+2").unwrap(), (100.0, 0.0));
        assert_eq!(line("1e-5+2e-8").unwrap(), (1e-5, 2e-8));
        assert!(refused(time("5min")).contains("us, ms or s"));
        assert!(refused(size("5K")).contains("KiB"));
        assert!(refused(number("5us")).contains("without a unit"));
        assert!(refused(number("five")).contains("no number"));
    }

    #[test]
    fn pairs() {
        let pairs =
            |first: &str, second: &str| paired(("--a", &numbers(first).unwrap()), ("--b", &numbers(second).unwrap()));
        assert_eq!(pairs("1,2", "3").unwrap(), [(1.0, 3.0), (2.0, 3.0)]);
        assert_eq!(pairs("1", "3,4").unwrap(), [(1.0, 3.0), (1.0, 4.0)]);
        assert_eq!(pairs("1,2", "3,4").unwrap(), [(1.0, 3.0), (2.0, 4.0)]);
        assert!(refused(pairs("1,2", "3,4,5")).contains("one --b for all"));
        assert!(refused(pairs("1,2,3", "3,4")).contains("3 values of --a and 2 of --b"));
    }

    #[test]
    fn whether_it_makes_sense_is_for_the_model() {
        assert!(number("nan").unwrap().is_nan());
        assert_eq!(number("-1").unwrap(), -1.0);
        assert!(numbers("1,NaN").unwrap().iter().any(f64::is_nan));
        assert_eq!(counts("0").unwrap(), Counts(vec![0]), "the models refuse it by name");
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
        ] {
            assert!(refused(numbers(text)).contains(why), "{text}: {}", refused(numbers(text)));
        }
        assert!(refused(counts("1.5")).contains("no whole number"));
        assert!(refused(counts("-1")).contains("no whole number"));
        assert!(refused(counts("nan")).contains("no whole number"));
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn no_text_panics_and_lists_are_bounded(text in "\\PC{0,20}|[0-9.,*+eE-]{0,30}|[0-9]{1,4}\\.\\.[0-9]{1,9}(\\*|\\+)?[0-9]{0,3}") {
            for list in [numbers(&text), sizes(&text)].into_iter().flatten() {
                prop_assert!((1..=VALUES_MAX).contains(&list.len()));
            }
            let _ = (counts(&text), line(&text), time_per(&text));
        }
    }
}
