//! Sizes, times, rates and numbers as people write them: one grammar for every option and every variable. Pure.
//!
//! The manual's page `launching` has the units and the form of lists.
//!
//! Rates in bytes are not read: without the case of letters, `MB/s` could be eight times as much as was meant.
//!
//! No library covers this. `parse-size` and `bytesize` read `k` as `kB`, `humantime` wants a unit and takes no fraction;
//! none has rates or ranges.

mod list;

use std::time::Duration;

/// A kind of value: what its units are, and between which bounds it lies.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    what: &'static str,
    /// Behind kind and bounds in a message: how such a value is written.
    written: &'static str,
    /// In lower case.
    units: &'static [(&'static str, Factor)],
    /// What may follow the unit and changes nothing. In lower case.
    per: &'static [&'static str],
    /// Whether ranges without a step have whole numbers only.
    is_whole: bool,
    /// The least and the greatest value, as text of the same grammar: messages show them.
    bounds: Option<(&'static str, &'static str)>,
}

/// How large a unit is.
#[derive(Clone, Copy, Debug)]
enum Factor {
    /// A power of ten: its digits stay as written, so that 0.92us is the same number as 0.92e-6.
    Power(i32),
    Times(f64),
}

const KIBI: f64 = 1024.0;

/// A size in bytes.
pub const SIZE: Quantity = Quantity {
    what: "a size",
    written: ": bytes, or with k, m, g or KiB, MiB, GiB (powers of 1024) or kB, MB, GB (powers of 1000), such as 8, \
              64KiB or 1MiB",
    units: &[
        ("b", Factor::Power(0)),
        ("k", Factor::Times(KIBI)),
        ("kb", Factor::Power(3)),
        ("kib", Factor::Times(KIBI)),
        ("m", Factor::Times(KIBI * KIBI)),
        ("mb", Factor::Power(6)),
        ("mib", Factor::Times(KIBI * KIBI)),
        ("g", Factor::Times(KIBI * KIBI * KIBI)),
        ("gb", Factor::Power(9)),
        ("gib", Factor::Times(KIBI * KIBI * KIBI)),
    ],
    per: &[],
    is_whole: true,
    bounds: None,
};

/// A time in seconds.
pub const TIME: Quantity = Quantity {
    what: "a time",
    written: ": seconds, or with ns, us, ms, s, min or h, such as 3, 0.5 or 25ms",
    units: &[
        ("ns", Factor::Power(-9)),
        ("us", Factor::Power(-6)),
        ("ms", Factor::Power(-3)),
        ("s", Factor::Power(0)),
        ("min", Factor::Times(60.0)),
        ("h", Factor::Times(3600.0)),
    ],
    per: &[],
    is_whole: false,
    bounds: None,
};

/// A time in seconds for each byte or word.
pub const TIME_PER: Quantity = Quantity {
    what: "a time per byte or word",
    written: ": seconds, or with ns, us, ms, s, min or h, such as 0.23e-6, 0.23us or 0.23us/B",
    per: &["/b", "/byte", "/word"],
    ..TIME
};

/// A rate in bits per second.
pub const RATE: Quantity = Quantity {
    what: "a rate",
    written: ": bits per second, or with bit, kbit, mbit or gbit, such as 50mbit",
    units: &[
        ("bit", Factor::Power(0)),
        ("kbit", Factor::Power(3)),
        ("mbit", Factor::Power(6)),
        ("gbit", Factor::Power(9)),
    ],
    per: &["/s"],
    is_whole: false,
    bounds: None,
};

/// A part of one.
pub const PART: Quantity =
    Quantity { what: "a part", written: ", such as 0.1% or 0.001", units: &[("%", Factor::Power(-2))], ..NUMBER };

/// A number without a unit.
pub const NUMBER: Quantity =
    Quantity { what: "a number", written: ", without a unit", units: &[], per: &[], is_whole: false, bounds: None };

/// A whole number without a unit.
pub const WHOLE: Quantity = Quantity { what: "a whole number", is_whole: true, ..NUMBER };

impl Quantity {
    /// The same kind, from `least` to `most`, both included, and written as values are.
    pub const fn within(self, least: &'static str, most: &'static str) -> Self {
        Quantity { bounds: Some((least, most)), ..self }
    }

    /// Reads one value. Without bounds a float may be negative, infinite or NaN.
    ///
    /// # Errors
    /// What would be right.
    pub fn one<T: Scalar>(&self, text: &str) -> Result<T, String> {
        self.read(text).and_then(|value| self.checked(value)).ok_or_else(|| self.expected())
    }

    /// A value as the type that is wanted, if it has such a value and it is within the bounds.
    fn checked<T: Scalar>(&self, value: f64) -> Option<T> {
        if let Some((least, most)) = self.bounds {
            let is_within = self.read(least)? <= value && value <= self.read(most)?;
            return if is_within { T::of(value) } else { None };
        }
        T::of(value)
    }

    /// What would be right.
    fn expected(&self) -> String {
        match self.bounds {
            Some((least, most)) => format!("this is {} from {least} to {most}{}", self.what, self.written),
            None => format!("this is {}{}", self.what, self.written),
        }
    }

    fn read(&self, text: &str) -> Option<f64> {
        let text = text.trim();
        // Words such as NaN are numbers to Rust; bounds refuse them, and so do the models.
        if let Ok(number) = text.parse() {
            return Some(number);
        }
        let digits = text.trim_end_matches(|sign: char| sign.is_ascii_alphabetic() || matches!(sign, '%' | '/'));
        let unit = text[digits.len()..].to_ascii_lowercase();
        let unit = self.per.iter().find_map(|per| unit.strip_suffix(per)).unwrap_or(&unit);
        let digits = digits.trim_end();
        let number: f64 = digits.parse().ok()?;
        if unit.is_empty() {
            return Some(number);
        }
        let (_, factor) = self.units.iter().find(|(name, _)| *name == unit)?;
        Some(match factor {
            // Digits with an exponent of their own cannot have another.
            Factor::Power(power) => format!("{digits}e{power}").parse().unwrap_or(number * 10f64.powi(*power)),
            Factor::Times(factor) => number * factor,
        })
    }
}

/// A type that values are read into.
pub trait Scalar: Sized {
    /// The value in bytes, seconds, bits per second or without a unit; `None` if this type does not have it.
    fn of(value: f64) -> Option<Self>;
}

impl Scalar for f64 {
    fn of(value: f64) -> Option<Self> {
        Some(value)
    }
}

impl Scalar for Duration {
    fn of(value: f64) -> Option<Self> {
        Duration::try_from_secs_f64(value).ok()
    }
}

/// The whole numbers up to this one are exact in floating point.
const EXACT_MAX: f64 = 9_007_199_254_740_992.0;

macro_rules! whole_scalars {
    ($($integer:ty),*) => {
        $(impl Scalar for $integer {
            fn of(value: f64) -> Option<Self> {
                let is_exact = value.fract() == 0.0 && (0.0..=EXACT_MAX).contains(&value);
                if is_exact { Self::try_from(value as u64).ok() } else { None }
            }
        })*
    };
}

whole_scalars!(u32, u64, usize);

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn time(text: &str) -> Option<f64> {
        TIME.one(text).ok()
    }

    fn size(text: &str) -> Option<u64> {
        SIZE.one(text).ok()
    }

    #[test]
    fn units() {
        assert_eq!(time("35us"), Some(35e-6));
        assert_eq!(time("35e-6"), Some(35e-6));
        assert!((time("3.5e1us").unwrap() - 35e-6).abs() < 1e-20);
        assert_eq!(
            [time("1.5ms"), time("2 s"), time("7ns"), time("1min"), time("2H")],
            [1.5e-3, 2.0, 7e-9, 60.0, 7200.0].map(Some)
        );
        assert_eq!(
            [size("12"), size("12B"), size("64KiB"), size("1MB"), size("3e3")],
            [12, 12, 65_536, 1_000_000, 3000].map(Some)
        );
        assert_eq!(TIME_PER.one("0.92us/B"), Ok(0.92e-6));
        assert_eq!(TIME_PER.one("0.92e-6/word"), Ok(0.92e-6));
        assert_eq!((RATE.one("2.5Gbit"), RATE.one("50mbit/s"), RATE.one("9600")), (Ok(2.5e9), Ok(50e6), Ok(9600.0)));
        assert_eq!((PART.one("0.1%"), PART.one("0.001")), (Ok(0.001), Ok(0.001)));
    }

    /// What `k` is does not depend on how it is written, and neither does what `kB` is.
    #[test]
    fn the_case_of_a_unit_says_nothing() {
        for (names, bytes) in [
            (["k", "K"].as_slice(), 1 << 10),
            (&["m", "M"], 1 << 20),
            (&["g", "G"], 1 << 30),
            (&["KiB", "kib", "KIB", "kiB"], 1 << 10),
            (&["MiB", "mib", "MIB"], 1 << 20),
            (&["GiB", "gib", "GIB"], 1 << 30),
            (&["kB", "KB", "kb", "Kb"], 1000),
            (&["MB", "mb", "Mb"], 1_000_000),
            (&["GB", "gb"], 1_000_000_000),
        ] {
            for name in names {
                assert_eq!(size(&format!("3{name}")), Some(3 * bytes), "{name}");
            }
        }
    }

    #[test]
    fn the_manual_names_every_unit() {
        let manual = include_str!("manual/launching.rs").to_ascii_lowercase();
        for kind in [SIZE, TIME, TIME_PER, RATE, PART] {
            for name in kind.units.iter().map(|(name, _)| name).chain(kind.per) {
                assert!(manual.contains(&format!("`{name}`")), "{name} of {}", kind.what);
            }
        }
    }

    #[test]
    fn bounds_belong_to_the_values_and_to_the_message() {
        let window = SIZE.within("1", "4KiB");
        assert_eq!((window.one("1B"), window.one("4k"), window.one("0.5k")), (Ok(1u64), Ok(4096u64), Ok(512u64)));
        for text in ["0", "4097", "5kB", "-1", "nan", "inf", "1.5", "", "k", "1 2", "0x10", "1_000", "3s", "1TB", "½"]
        {
            let said = window.one::<u64>(text).expect_err(text);
            assert!(said.contains("a size from 1 to 4KiB: bytes, or with k, m, g or KiB"), "{text}: {said}");
        }
        let grace = TIME.within("1ns", "60s");
        assert_eq!(
            (grace.one("1min"), grace.one("0.5")),
            (Ok(Duration::from_secs(60)), Ok(Duration::from_millis(500)))
        );
        for text in ["0", "0.1ns", "61", "2min", "-1s", "nan", "soon", "1m"] {
            assert!(grace.one::<Duration>(text).expect_err(text).contains("from 1ns to 60s"), "{text}");
        }
        assert_eq!(
            WHOLE.within("2", "64").one::<u32>("65"),
            Err("this is a whole number from 2 to 64, without a unit".into())
        );
        assert!(
            NUMBER.one::<f64>("5us").is_err() && RATE.one::<f64>("5MB/s").is_err() && TIME.one::<f64>("1/B").is_err()
        );
    }

    #[test]
    fn without_bounds_a_float_may_be_anything() {
        assert!(NUMBER.one::<f64>("nan").is_ok_and(f64::is_nan));
        assert_eq!((NUMBER.one("-1"), TIME.one("-1us"), NUMBER.one("inf")), (Ok(-1.0), Ok(-1e-6), Ok(f64::INFINITY)));
        assert_eq!((WHOLE.one("0"), WHOLE.one("4294967295")), (Ok(0u32), Ok(u32::MAX)));
        for text in ["-1", "nan", "1.5", "4294967296", "1e30"] {
            assert!(WHOLE.one::<u32>(text).is_err(), "{text}");
        }
        assert!(WHOLE.one::<u64>("9007199254740994").is_err(), "floating point might have another");
    }

    proptest! {
        #![proptest_config(crate::scale::cases(256))]

        #[test]
        fn no_text_panics(text in "\\PC{0,20}|[0-9.+-]{0,6}[eE]?[0-9]{0,3} ?[a-zA-Z/%]{0,5}") {
            for kind in [SIZE, TIME, TIME_PER, RATE, PART, NUMBER, WHOLE] {
                let _ = (kind.one::<f64>(&text), kind.one::<u32>(&text), kind.one::<Duration>(&text));
                if let Ok(value) = kind.within("0", "7").one::<f64>(&text) {
                    prop_assert!((0.0..=7.0).contains(&value));
                }
            }
        }
    }
}
