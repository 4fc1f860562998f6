//! Holds a model to the numbers in `tests/golden`: the papers' own, and regression values.
//!
//! An entry names a formula and its arguments. `expected` is the formula's value in full precision. `printed` is what
//! the paper prints, `tol` what its digits allow; where `misprint` is true the printed number is wrong, and a model
//! that gives it is wrong too.

use toml::{Table, Value};

/// The arguments of one golden entry.
pub(super) struct Inputs<'a> {
    id: &'a str,
    table: Table,
}

impl Inputs<'_> {
    fn value(&self, name: &str) -> &Value {
        self.table.get(name).unwrap_or_else(|| panic!("{}: no input named {name} in {:?}", self.id, self.table))
    }

    pub(super) fn number(&self, name: &str) -> f64 {
        number(self.value(name)).unwrap_or_else(|| panic!("{}: {name} is no number", self.id))
    }

    pub(super) fn optional(&self, name: &str) -> Option<f64> {
        self.table.get(name).map(|_| self.number(name))
    }

    pub(super) fn count(&self, name: &str) -> u32 {
        let number = self.number(name);
        assert!(number >= 0.0 && number.fract() == 0.0, "{}: {name} is {number}, no count", self.id);
        number as u32
    }

    pub(super) fn word(&self, name: &str) -> &str {
        self.value(name).as_str().unwrap_or_else(|| panic!("{}: {name} is no word", self.id))
    }

    pub(super) fn truth(&self, name: &str) -> bool {
        self.value(name).as_bool().unwrap_or_else(|| panic!("{}: {name} is not true or false", self.id))
    }

    pub(super) fn numbers(&self, name: &str) -> Vec<f64> {
        numbers(self.value(name)).unwrap_or_else(|| panic!("{}: {name} is no list of numbers", self.id))
    }

    pub(super) fn pairs(&self, name: &str) -> Vec<(f64, f64)> {
        let list = self.value(name).as_array().unwrap_or_else(|| panic!("{}: {name} is no list", self.id));
        list.iter()
            .map(|pair| match numbers(pair).as_deref() {
                Some(&[first, second]) => (first, second),
                _ => panic!("{}: {pair:?} is no pair", self.id),
            })
            .collect()
    }
}

pub(super) fn number(value: &Value) -> Option<f64> {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64))
}

/// A list of numbers, or one number as a list of one.
fn numbers(value: &Value) -> Option<Vec<f64>> {
    match value {
        Value::Array(list) => list.iter().map(number).collect(),
        one => Some(vec![number(one)?]),
    }
}

pub(super) fn parse(text: &str) -> Table {
    text.parse().expect("the golden file is TOML")
}

/// Checks every value of a golden file; `evaluate` gives our value for a formula's name and arguments.
///
/// Fails unless exactly `values` were checked, `misprinted` of them as misprints, so that neither the file nor `evaluate` can lose some.
pub(super) fn check(text: &str, values: usize, misprinted: usize, evaluate: impl Fn(&str, &Inputs<'_>) -> Vec<f64>) {
    let golden = parse(text);
    assert!(!golden.contains_key("table"), "this file's tables have to be checked too");
    let (mut checked, mut misprints) = (0, 0);
    let entries = golden["value"].as_array().expect("an array of values");
    for entry in entries {
        let entry = entry.as_table().expect("a value");
        let id = entry["id"].as_str().expect("a name");
        let inputs = Inputs { id, table: entry["inputs"].as_table().expect("arguments").clone() };
        let ours = evaluate(entry["eval"].as_str().expect("a formula's name"), &inputs);
        let expected = numbers(&entry["expected"]).expect("the formula's value");
        meets(id, &ours, &expected, |expected| 1e-9 * expected.abs().max(1.0));
        if let Some(printed) = entry.get("printed") {
            let printed = numbers(printed).expect("the paper's value");
            // A tolerance of 0 means that the paper's number is exact, not that sums of decimal fractions are.
            let tolerance = number(&entry["tol"]).expect("a tolerance").max(1e-12);
            if entry.get("misprint").and_then(Value::as_bool) == Some(true) {
                let far = |(ours, printed): (&f64, &f64)| (ours - printed).abs() > tolerance;
                assert!(ours.iter().zip(&printed).any(far), "{id}: {ours:?} is the misprint {printed:?}");
                misprints += 1;
            } else {
                meets(id, &ours, &printed, |_| tolerance);
            }
        }
        checked += 1;
    }
    let listed = text.lines().filter(|line| line.trim() == "[[value]]").count();
    assert_eq!((checked, entries.len()), (values, listed), "values checked, of those in the file");
    assert_eq!(misprints, misprinted, "values that the paper misprints");
}

fn meets(id: &str, ours: &[f64], theirs: &[f64], tolerance: impl Fn(f64) -> f64) {
    assert_eq!(ours.len(), theirs.len(), "{id}: {ours:?}, not {theirs:?}");
    for (ours, theirs) in ours.iter().zip(theirs) {
        assert!((ours - theirs).abs() <= tolerance(*theirs), "{id}: {ours}, not {theirs}");
    }
}

/// Checks that the manual's `page` on a model has a row for each erratum of a golden file.
pub(super) fn manual_lists_errata(page: &str, text: &str, errata: usize) {
    let golden = parse(text);
    let listed = golden["erratum"].as_array().expect("an array of errata");
    assert_eq!(listed.len(), errata);
    for erratum in listed {
        let place = erratum["where"].as_str().expect("a place");
        assert!(page.contains(&format!("//! | {place} | ")), "the manual has no row for {:?}: {place}", erratum["id"]);
    }
}

/// Any number at all, the sensible ones often enough.
pub(super) fn any_number() -> impl proptest::strategy::Strategy<Value = f64> {
    use proptest::prelude::*;
    let special =
        [0.0, -0.0, 1.0, 0.5, -1.0, 5e-324, f64::MIN_POSITIVE, f64::MAX, f64::INFINITY, f64::NAN, 1e-300, 1e300];
    prop_oneof![
        2 => proptest::num::f64::ANY,
        2 => proptest::sample::select(special.to_vec()),
        3 => 0.0..1.0,
        2 => 1.0..1e6,
    ]
}

/// A number between a millionth and a million, all magnitudes alike.
pub(super) fn size() -> impl proptest::strategy::Strategy<Value = f64> {
    use proptest::strategy::Strategy;
    (-6.0..6.0).prop_map(|exponent| 10f64.powf(exponent))
}

/// Whether a result is an error that names its argument, or a number.
pub(super) fn is_number(result: &Result<f64, super::BadParameter>) -> bool {
    match result {
        Ok(value) => value.is_finite(),
        Err(error) => !error.name.is_empty() && !error.domain.is_empty(),
    }
}

const SAMPLE: &str = r#"
[[value]]
id = "right"
eval = "double"
inputs = { x = 2 }
expected = 4.0
printed = 4.1
tol = 0.2

[[value]]
id = "misprinted"
eval = "double"
inputs = { x = 5.0 }
expected = 10.0
printed = 11.0
tol = 0.5
misprint = true
"#;

fn double(_: &str, inputs: &Inputs<'_>) -> Vec<f64> {
    vec![2.0 * inputs.number("x")]
}

#[test]
fn the_check_passes_what_is_right() {
    check(SAMPLE, 2, 1, double);
}

#[test]
#[should_panic(expected = "values checked")]
fn the_check_misses_lost_values() {
    check(SAMPLE, 3, 1, double);
}

#[test]
#[should_panic(expected = "right: 4.00000001, not 4")]
fn the_check_finds_wrong_values() {
    check(SAMPLE, 2, 1, |formula, inputs| double(formula, inputs).into_iter().map(|value| value + 1e-8).collect());
}

#[test]
#[should_panic(expected = "misprinted: [10.0] is the misprint")]
fn the_check_finds_misprints() {
    check(&SAMPLE.replace("printed = 11.0", "printed = 10.4"), 2, 1, double);
}
