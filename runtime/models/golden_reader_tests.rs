//! Reads a file of golden values and holds a model to every one of them.
//!
//! An entry has `expected`, the formula's value, to be met to 1e-9, and often `printed`, what the paper prints, to be
//! met within its digits (`tol`). Where the paper is wrong (`misprint`), being near to what it prints is the error.

use toml::{Table, Value};

/// What a check consumed.
#[derive(Default, PartialEq, Eq, Debug)]
pub(super) struct Tally {
    /// Numbers compared with `expected`.
    pub(super) expected: usize,
    /// Of these, numbers also compared with what the paper prints.
    pub(super) printed: usize,
    /// Of the printed ones, misprints.
    pub(super) misprints: usize,
    /// Of all, numbers where the file itself is inexact, compared with a better one.
    pub(super) corrected: usize,
}

/// A number that the file has to fewer digits than it claims.
pub(super) struct Correction {
    pub(super) id: &'static str,
    /// The number to all digits, to be met to 1e-9 in place of the file's.
    pub(super) exact: f64,
    /// How far the file is from it, relatively, at most.
    pub(super) file_is_within: f64,
}

/// One number of the file and what it is held against.
pub(super) struct Entry {
    /// The entry's name, with row and column inside a table.
    pub(super) id: String,
    /// The formula's name.
    pub(super) formula: String,
    /// The formula's arguments.
    pub(super) inputs: Table,
    /// The formula's value.
    pub(super) expected: f64,
    /// The paper's value and how far its digits let it be from ours.
    pub(super) printed: Option<(f64, f64)>,
    /// Whether the paper's value is wrong.
    pub(super) misprint: bool,
    /// How the paper cuts its digits.
    pub(super) printing: String,
}

/// Holds `evaluate` to every entry of the file; panics at the first it misses.
pub(super) fn check(text: &str, evaluate: impl Fn(&Entry) -> f64) -> Tally {
    check_corrected(text, &[], evaluate)
}

/// As [`check`], where some entries are held to a better number than the file's.
pub(super) fn check_corrected(text: &str, corrections: &[Correction], evaluate: impl Fn(&Entry) -> f64) -> Tally {
    let mut tally = Tally::default();
    for entry in entries(text) {
        let (id, ours, mut expected) = (&entry.id, evaluate(&entry), entry.expected);
        if let Some(correction) = corrections.iter().find(|correction| correction.id == id) {
            let distance = (expected / correction.exact - 1.0).abs();
            assert!(distance <= correction.file_is_within, "{id}: the file is off by {distance}");
            assert!(distance > 1e-9, "{id}: the file is exact, the correction can go");
            expected = correction.exact;
            tally.corrected += 1;
        }
        assert!((ours - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{id}: {ours}, not {expected}");
        tally.expected += 1;
        let Some((printed, tolerance)) = entry.printed else { continue };
        let near = (ours - printed).abs() <= tolerance;
        assert_eq!(
            near, !entry.misprint,
            "{id}: {ours}, printed {printed} +- {tolerance}, misprint: {}",
            entry.misprint
        );
        tally.printed += 1;
        tally.misprints += usize::from(entry.misprint);
    }
    tally
}

/// Every number of the file.
pub(super) fn entries(text: &str) -> Vec<Entry> {
    let file = parse(text);
    let mut entries: Vec<Entry> = list(&file, "value").iter().map(single).collect();
    for table in list(&file, "table") {
        entries.extend(grid(table));
    }
    assert!(!entries.is_empty(), "the file has lost its entries");
    entries
}

/// How many numbers the file expects, counted by other means than [`entries`]: the headings, and the rows of tables.
pub(super) fn expected_in(text: &str) -> usize {
    let values = text.lines().filter(|line| line.trim() == "[[value]]").count();
    let file = parse(text);
    let rows = list(&file, "table").iter().flat_map(|table| table["expected"].as_array().expect("an array of rows"));
    let tables: usize = rows.map(|row| row.as_array().expect("a row").len()).sum();
    values + tables
}

/// The file as a table.
pub(super) fn parse(text: &str) -> Table {
    text.parse().expect("valid TOML")
}

/// The array of tables of that name; empty if there is none.
pub(super) fn list<'a>(file: &'a Table, name: &str) -> &'a [Value] {
    file.get(name).map_or(&[], |value| value.as_array().expect("an array of tables"))
}

/// A number, which may be written without a point.
pub(super) fn number(value: &Value) -> f64 {
    value.as_float().or_else(|| value.as_integer().map(|whole| whole as f64)).expect("a number")
}

/// An argument of an entry.
pub(super) fn argument(entry: &Entry, name: &str) -> f64 {
    number(entry.inputs.get(name).unwrap_or_else(|| panic!("{} has no {name}", entry.id)))
}

/// An argument that counts something.
pub(super) fn count(entry: &Entry, name: &str) -> u32 {
    let value = argument(entry, name);
    assert!(value.fract() == 0.0 && (0.0..1e9).contains(&value), "{}: {name} is {value}", entry.id);
    value as u32
}

fn single(entry: &Value) -> Entry {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let misprint = entry.get("misprint").is_some_and(|flag| flag.as_bool().expect("a flag"));
    Entry {
        id: text("id"),
        formula: text("eval"),
        inputs: entry["inputs"].as_table().expect("inputs").clone(),
        expected: number(&entry["expected"]),
        printed: entry.get("printed").map(|printed| (number(printed), number(&entry["tol"]))),
        misprint,
        printing: text("printing"),
    }
}

fn grid(table: &Value) -> Vec<Entry> {
    let array = |name: &str| table[name].as_array().expect("an array").clone();
    let text = |name: &str| table.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (rows, cols, expected, printed) = (array("rows"), array("cols"), array("expected"), array("printed"));
    assert_eq!((expected.len(), printed.len()), (rows.len(), rows.len()), "{}: rows", text("id"));
    let remark = |name: &str, row: usize, col: usize| {
        let remarks = table.get(name)?.as_array().expect("an array of remarks");
        remarks
            .iter()
            .find(|remark| number(&remark["row"]) == row as f64 && number(&remark["col"]) == col as f64)
            .cloned()
    };
    let mut entries = Vec::new();
    for (row, row_inputs) in rows.iter().enumerate() {
        assert_eq!(expected[row].as_array().expect("a row").len(), cols.len(), "{}: columns", text("id"));
        for (col, col_inputs) in cols.iter().enumerate() {
            let mut inputs = table["fixed_inputs"].as_table().expect("inputs").clone();
            inputs.extend(row_inputs.as_table().expect("inputs").clone());
            inputs.extend(col_inputs.as_table().expect("inputs").clone());
            let looser = remark("looser", row, col);
            let tolerance = number(&looser.as_ref().unwrap_or(table)["tol"]);
            let misprint = remark("misprint", row, col);
            if let Some(misprint) = &misprint {
                assert_eq!(number(&misprint["printed"]), number(&printed[row][col]), "{}", text("id"));
                assert_eq!(number(&misprint["expected"]), number(&expected[row][col]), "{}", text("id"));
            }
            entries.push(Entry {
                id: format!("{} [{row}][{col}]", text("id")),
                formula: text("eval"),
                inputs,
                expected: number(&expected[row][col]),
                printed: Some((number(&printed[row][col]), tolerance)),
                misprint: misprint.is_some(),
                printing: text("printing"),
            });
        }
    }
    entries
}

#[test]
fn every_remark_on_a_table_belongs_to_one_of_its_entries() {
    let text = "[[table]]\nid = \"t\"\neval = \"e\"\nfixed_inputs = { a = 1 }\nrows = [{ b = 2 }, { b = 3 }]\n\
        cols = [{ c = 4 }]\nprinted = [[1.0], [2.0]]\nexpected = [[1.0], [2.5]]\ntol = 0.1\n\
        [[table.misprint]]\nrow = 1\ncol = 0\nprinted = 2.0\nexpected = 2.5\n";
    let right = |entry: &Entry| if count(entry, "b") == 2 { 1.0 } else { 2.5 };
    assert_eq!(expected_in(text), 2);
    assert_eq!(check(text, right), Tally { expected: 2, printed: 2, misprints: 1, corrected: 0 });
    let repeats_the_misprint = |entry: &Entry| argument(entry, "b") - 1.0;
    assert!(std::panic::catch_unwind(|| check(text, repeats_the_misprint)).is_err());
}
