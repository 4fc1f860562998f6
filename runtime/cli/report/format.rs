//! Numbers as people read them. Pure.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Form {
    Bytes,
    /// A whole number.
    Count,
    /// With so many decimals.
    Fixed(usize),
    /// Whether it is true.
    Mark,
    /// With four significant digits.
    Number,
    /// A fraction, shown in percent with so many decimals.
    Percent(usize),
    /// With at most four significant digits.
    Plain,
    /// Bytes per second, shown in MB/s.
    Rate,
    Seconds,
    SecondsPerByte,
    /// A fraction, shown in percent with its sign.
    SignedPercent(usize),
    Word,
}

/// The unit of a column of times.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct TimeUnit {
    pub(crate) name: &'static str,
    pub(crate) per_second: f64,
}

const UNITS: [TimeUnit; 4] = [
    TimeUnit { name: "s", per_second: 1.0 },
    TimeUnit { name: "ms", per_second: 1e3 },
    TimeUnit { name: "us", per_second: 1e6 },
    TimeUnit { name: "ns", per_second: 1e9 },
];

impl TimeUnit {
    /// The largest unit of which `seconds` is at least one, after rounding.
    pub(crate) fn of(seconds: f64) -> Self {
        let fits = |unit: &&TimeUnit| seconds.abs() * unit.per_second >= 0.999_95;
        UNITS.iter().find(fits).copied().unwrap_or(UNITS[UNITS.len() - 1])
    }
}

/// A time with its unit: 17.12 ms.
pub(crate) fn seconds(seconds: f64) -> String {
    if seconds == 0.0 {
        return "0 s".to_owned();
    }
    let unit = TimeUnit::of(seconds);
    format!("{} {}", trimmed(&figures(seconds * unit.per_second, 4)), unit.name)
}

/// A size with its unit: 605.3 B, 1500 B, 64 KiB, 1 MB.
pub(crate) fn bytes(bytes: f64) -> String {
    let whole = |unit: f64| bytes >= unit && bytes % unit == 0.0;
    let units = [("GiB", 1_073_741_824.0), ("MiB", 1_048_576.0), ("KiB", 1024.0)];
    let decimal = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3)];
    // A size that was written in round numbers is shown in them.
    let round = units.into_iter().chain(decimal).find(|(_, unit)| whole(*unit) && bytes / unit < 10_000.0);
    let unit = match round {
        Some(round) => Some(round),
        None if bytes < 10_000.0 => None,
        None => units.into_iter().find(|(_, unit)| bytes >= *unit),
    };
    match unit {
        Some((name, unit)) => format!("{} {name}", plain(bytes / unit)),
        None => format!("{} B", plain(bytes)),
    }
}

/// A value with its unit, as it stands in a sentence.
pub(crate) fn value(value: &Value, form: Form) -> String {
    let number = match value {
        Value::Number(number) => number.as_f64().unwrap_or(f64::NAN),
        Value::String(word) => return word.clone(),
        Value::Bool(is_so) => return if *is_so { "<-" } else { "" }.to_owned(),
        _ => return if form == Form::Mark { "" } else { "-" }.to_owned(),
    };
    match form {
        Form::Bytes => bytes(number),
        Form::Count => grouped(number),
        Form::Fixed(decimals) => format!("{number:.decimals$}"),
        Form::Percent(decimals) => format!("{:.decimals$} %", 100.0 * number),
        Form::SignedPercent(decimals) => format!("{:+.decimals$} %", 100.0 * number),
        Form::Rate => format!("{} MB/s", plain(number / 1e6)),
        Form::Seconds => seconds(number),
        Form::SecondsPerByte => format!("{}/byte", seconds(number)),
        Form::Number | Form::Mark | Form::Word => figures(number, 4),
        Form::Plain => plain(number),
    }
}

/// 800000 as "800 000", but 1024 as it is.
pub(crate) fn grouped(number: f64) -> String {
    let digits = format!("{number:.0}");
    if number.abs() < 1e4 {
        return digits;
    }
    let mut text = String::new();
    for (place, digit) in digits.char_indices() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) && !text.ends_with('-') {
            text.push(' ');
        }
        text.push(digit);
    }
    text
}

/// A number without zeros that say nothing.
pub(crate) fn plain(value: f64) -> String {
    trimmed(&figures(value, 4)).to_owned()
}

/// So many significant digits, in scientific notation where that is shorter. Whole digits are never rounded away.
pub(crate) fn figures(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // The exponent after rounding: 9.99996 has that of 10.
    let scientific = format!("{value:.*e}", digits - 1);
    let exponent: i32 = scientific.split_once('e').and_then(|(_, exponent)| exponent.parse().ok()).unwrap_or(0);
    match exponent {
        -4..9 => {
            let decimals = (digits as i32 - 1 - exponent).max(0) as usize;
            format!("{value:.decimals$}")
        }
        _ => scientific,
    }
}

fn trimmed(text: &str) -> &str {
    if text.contains('.') && !text.contains('e') { text.trim_end_matches('0').trim_end_matches('.') } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_readable() {
        assert_eq!(
            [0.0, 1.0, 17.1199, 1234.56, 123_456.0].map(|v| figures(v, 4)),
            ["0", "1.000", "17.12", "1235", "123456"]
        );
        assert_eq!(figures(9.999_96, 4), "10.00");
        assert_eq!((figures(3e-7, 3), figures(2.5e12, 3)), ("3.00e-7".into(), "2.50e12".into()));
        assert_eq!((plain(2.0), plain(0.25), plain(100.0)), ("2".into(), "0.25".into(), "100".into()));
    }

    #[test]
    fn thousands_are_apart() {
        assert_eq!([800_000.0, 1024.0, 1_234_567.0, -123.0].map(grouped), ["800 000", "1024", "1 234 567", "-123"]);
    }

    #[test]
    fn times_and_sizes_have_the_unit_that_suits() {
        assert_eq!(
            [0.0, 35e-6, 17.12e-3, 2.0, 3e-9, 999.99e-6].map(seconds),
            ["0 s", "35 us", "17.12 ms", "2 s", "3 ns", "1 ms"]
        );
        let sizes = [0.0, 12.0, 542.08, 1500.0, 65_536.0, 1e6, 1.5e6, 123_456.7, 3.0 * 1_048_576.0, 1_050_000.0];
        let texts = ["0 B", "12 B", "542.1 B", "1500 B", "64 KiB", "1 MB", "1500 kB", "120.6 KiB", "3 MiB", "1050 kB"];
        assert_eq!(sizes.map(bytes), texts);
    }
}
