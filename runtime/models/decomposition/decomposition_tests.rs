use std::collections::BTreeSet;

use proptest::prelude::*;
use toml::{Table, Value};

use super::*;

/// The paper's own numbers, and regression values. Times are in microseconds there; every formula is linear in them.
const GOLDEN: &str = include_str!("../../../tests/golden/decomposition.toml");

fn number(value: &Value) -> f64 {
    match value {
        Value::Integer(value) => *value as f64,
        Value::Float(value) => *value,
        other => panic!("{other:?} is no number"),
    }
}

/// What our function gives for a golden entry. Every formula of the file is known.
fn evaluate(formula: &str, inputs: &Table) -> f64 {
    let get = |name: &str| number(&inputs[name]);
    let (n, p, m) = (|| get("n") as u64, || get("p") as u32, || get("m") as u64);
    let channel = || Channel::new(get("ts"), get("tw")).expect("golden inputs are valid");
    let crossing = || Crossing { words: m(), hops: get("lh"), hop_s: get("th") };
    let value = match formula {
        "dec.factor" => factor(n()),
        "dec.ts_threshold" => start_up_threshold_s(n(), p(), get("tw")),
        "dec.tw_threshold" => word_threshold_s(n(), p(), get("ts")),
        "dec.strips" => channel().strips_s(n()),
        "dec.blocks" => channel().blocks_s(n(), p()),
        "dec.strips_up_to_n" => channel().strips_up_to_side().map(|side| side.expect("words are not free")),
        "dec.bcast_ethernet" => channel().broadcast_s(m()),
        "dec.collective_ethernet" => channel().collective_s(p(), m()),
        "dec.hop_printed" => hop_as_printed(&channel(), &crossing()),
        "dec.hop_cut_through" => channel().cut_through_s(&crossing()),
        "dec.isoefficiency" => {
            let parts = inputs["overheads"].as_array().expect("four parts").iter().map(number).collect::<Vec<_>>();
            let [architecture_s, parallelisation_s, communication_s, synchronisation_s] =
                parts.try_into().expect("four parts");
            let overheads = Overheads { architecture_s, parallelisation_s, communication_s, synchronisation_s };
            isoefficiency_s(get("comp"), &overheads)
        }
        unknown => panic!("no formula is called {unknown}"),
    };
    value.unwrap_or_else(|error| panic!("golden inputs are valid: {formula} {inputs:?}: {error}"))
}

fn meets(what: &str, value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs().max(1.0), "{what}: {value}, not {expected}");
}

/// The printed number: met within what its digits allow, or missed if it is a misprint.
fn beside_printed(what: &str, value: f64, printed: f64, tolerance: f64, misprint: bool) {
    // The files hold decimal fractions: a distance of exactly the tolerance may come out a little longer.
    let within = (value - printed).abs() <= tolerance * (1.0 + 1e-9) + 1e-12;
    assert_eq!(within, !misprint, "{what}: {value}, printed {printed} +- {tolerance}, misprint: {misprint}");
}

/// Every number under the key `expected`, wherever it is.
fn count_expected(value: &Value, below_expected: bool) -> usize {
    match value {
        Value::Table(table) => {
            table.iter().map(|(key, value)| count_expected(value, below_expected || key == "expected")).sum()
        }
        Value::Array(values) => values.iter().map(|value| count_expected(value, below_expected)).sum(),
        Value::Float(_) | Value::Integer(_) if below_expected => 1,
        _ => 0,
    }
}

fn entries<'a>(golden: &'a Table, kind: &str) -> &'a [Value] {
    golden.get(kind).map_or(&[], |entries| entries.as_array().expect("an array"))
}

fn at(grid: &Value, row: usize, column: usize) -> f64 {
    number(&grid[row][column])
}

/// The entry of `exceptions` for a row and column.
fn exception<'a>(table: &'a Value, kind: &str, row: usize, column: usize) -> Option<&'a Value> {
    let place = (row as i64, column as i64);
    let all = table.get(kind)?.as_array()?;
    all.iter().find(|entry| (entry["row"].as_integer(), entry["col"].as_integer()) == (Some(place.0), Some(place.1)))
}

/// Meets all values of one table; how many there were, its misprints' included.
fn check_table(table: &Value) -> usize {
    let (id, formula) = (table["id"].as_str().expect("an id"), table["eval"].as_str().expect("a formula"));
    let (rows, columns) = (table["rows"].as_array().expect("rows"), table["cols"].as_array().expect("columns"));
    let mut seen = 0;
    for (row, row_inputs) in rows.iter().enumerate() {
        for (column, column_inputs) in columns.iter().enumerate() {
            let mut inputs = table.get("fixed_inputs").and_then(Value::as_table).cloned().unwrap_or_default();
            inputs.extend(row_inputs.as_table().expect("inputs").clone());
            inputs.extend(column_inputs.as_table().expect("inputs").clone());
            let (what, value) = (format!("{id} [{row}, {column}]"), evaluate(formula, &inputs));
            meets(&what, value, at(&table["expected"], row, column));
            seen += 1;
            let looser = exception(table, "looser", row, column);
            let misprint = exception(table, "misprint", row, column);
            if let Some(misprint) = misprint {
                meets(&what, value, number(&misprint["expected"]));
                assert_eq!(at(&table["printed"], row, column), number(&misprint["printed"]), "{what}");
                seen += 1;
            }
            let tolerance = number(looser.map_or(&table["tol"], |entry| &entry["tol"]));
            beside_printed(&what, value, at(&table["printed"], row, column), tolerance, misprint.is_some());
        }
    }
    seen
}

#[test]
fn golden_values() {
    let golden: Table = GOLDEN.parse().expect("valid TOML");
    let mut seen = 0;
    for entry in entries(&golden, "value") {
        let (id, formula) = (entry["id"].as_str().expect("an id"), entry["eval"].as_str().expect("a formula"));
        let value = evaluate(formula, entry["inputs"].as_table().expect("inputs"));
        meets(id, value, number(&entry["expected"]));
        seen += 1;
        if let Some(printed) = entry.get("printed") {
            let misprint = entry.get("misprint").and_then(Value::as_bool).unwrap_or(false);
            beside_printed(id, value, number(printed), number(&entry["tol"]), misprint);
        }
    }
    seen += entries(&golden, "table").iter().map(check_table).sum::<usize>();
    assert_eq!(seen, count_expected(&Value::Table(golden.clone()), false), "all of the file's values are used");
    // 20 values, two tables of 27, nine misprints. A file that lost its entries must not pass.
    assert_eq!(seen, 20 + 2 * 27 + 9);
}

#[test]
fn misprints_name_values_that_are_tested() {
    let golden: Table = GOLDEN.parse().expect("valid TOML");
    let ids: BTreeSet<&str> = ["value", "table"]
        .iter()
        .flat_map(|kind| entries(&golden, kind).iter().map(|entry| entry["id"].as_str().expect("an id")))
        .collect();
    let errata = entries(&golden, "erratum");
    assert_eq!(errata.len(), 9);
    for erratum in errata {
        if let Some(id) = erratum.get("golden") {
            assert!(ids.contains(id.as_str().expect("an id")), "{id:?} is no value");
        }
    }
}

#[test]
fn the_printed_formulas_that_are_wrong_are_not_ours() {
    let (n, p, channel) = (512, 64, Channel::FDDI);
    // Section 6.1.2 prints t_w > n (1 - 2/sqrt(p)) t_s. On the FDDI network that says blocks; strips take less.
    let printed_says_strips = channel.word_s() > 512.0 * (1.0 - 2.0 / 8.0) * channel.start_up_s();
    assert!(!printed_says_strips);
    assert_eq!(channel.better(n, p).unwrap(), Shape::Strips);
    assert!(channel.word_s() < word_threshold_s(n, p, channel.start_up_s()).unwrap());
    // Its last sentence has strips win on Ethernet; with p = n = 512 and 1024 they do not.
    assert_eq!([512, 1024].map(|n| Channel::ETHERNET.better(n, n as u32).unwrap()), [Shape::Blocks; 2]);
    assert_eq!(Channel::ETHERNET.better(336, 336).unwrap(), Shape::Strips);
    assert_eq!(Channel::ETHERNET.better(337, 337).unwrap(), Shape::Blocks);
    // The printed hop term depends on the unit of time; the right one does not.
    let (micro, milli) = (Channel::new(1500.0, 5.0).unwrap(), Channel::new(1.5, 0.005).unwrap());
    let hop = |hop_s| Crossing { words: 1000, hops: 3.0, hop_s };
    let ratio = |value: fn(&Channel, &Crossing) -> f64| value(&micro, &hop(200.0)) / value(&milli, &hop(0.2));
    assert!((ratio(|c, h| c.cut_through_s(h).unwrap()) / 1e3 - 1.0).abs() < 1e-12);
    assert!((ratio(|c, h| c.store_and_forward_s(h).unwrap()) / 1e3 - 1.0).abs() < 1e-12);
    assert!((ratio(|c, h| hop_as_printed(c, h).unwrap()) / 1e3).abs() > 10.0);
    // Section 5 prints w = max(T_comp, h) < T_comp.
    let overheads = Overheads { communication_s: 1.0, ..Overheads::default() };
    assert_eq!(isoefficiency_s(2.0, &overheads).unwrap(), 2.0);
    // A start-up for every word, as printed, or one for the message: the same for one word only.
    assert_eq!(Channel::ETHERNET.broadcast_s(1), Channel::ETHERNET.broadcast_one_message_s(1));
    assert!(
        Channel::ETHERNET.broadcast_s(100).unwrap() > 70.0 * Channel::ETHERNET.broadcast_one_message_s(100).unwrap()
    );
}

#[test]
fn networks_by_hand() {
    let channel = Channel::new(10.0, 2.0).unwrap();
    assert_eq!(Channel::of_rate(10.0, 0.5), Ok(channel));
    let crossing = Crossing { words: 5, hops: 3.0, hop_s: 1.0 };
    assert_eq!(channel.cut_through_s(&crossing), Ok(10.0 + 3.0 + 10.0));
    assert_eq!(channel.store_and_forward_s(&crossing), Ok(10.0 + 3.0 * 11.0));
    assert_eq!(channel.within_s(4, 7), Ok(54.0));
    assert_eq!(channel.across_s(4, 7, &[crossing, crossing]), Ok(54.0 + 2.0 * 23.0));
    assert_eq!(channel.collective_s(1, 9), Ok(0.0), "nobody to talk to");
    assert_eq!(channel.collective_one_message_s(4, 9), Ok(3.0 * 28.0));
    assert_eq!(channel.steps_s(3), Ok(36.0));
    assert_eq!(calculation_s(100, 0.5, 10), Ok(5.0));
}

#[test]
fn bad_arguments_are_named() {
    let channel = Channel::ETHERNET;
    for bad in [-1.0, f64::NAN, f64::INFINITY] {
        assert_eq!(Channel::new(bad, 1.0).unwrap_err().name, "t_s");
        assert_eq!(Channel::new(1.0, bad).unwrap_err().name, "t_w");
        assert_eq!(start_up_threshold_s(100, 16, bad).unwrap_err().name, "t_w");
        assert_eq!(word_threshold_s(100, 16, bad).unwrap_err().name, "t_s");
        assert_eq!(calculation_s(1, bad, 1).unwrap_err().name, "t_c");
        assert_eq!(isoefficiency_s(bad, &Overheads::default()).unwrap_err().name, "T_comp");
        let overheads = Overheads { synchronisation_s: bad, ..Overheads::default() };
        assert_eq!(isoefficiency_s(1.0, &overheads).unwrap_err().name, "T_syn");
        let crossing = Crossing { words: 1, hops: 1.0, hop_s: bad };
        for result in [
            channel.cut_through_s(&crossing),
            channel.store_and_forward_s(&crossing),
            channel.across_s(0, 0, &[crossing]),
            hop_as_printed(&channel, &crossing),
        ] {
            assert_eq!(result.unwrap_err().name, "t_h");
        }
    }
    assert_eq!(Channel::of_rate(0.0, 0.0).unwrap_err().name, "r_inf");
    assert!(Channel::of_rate(0.0, 5e-324).is_err(), "its reciprocal is no number");
    assert_eq!(channel.strips_s(0).unwrap_err().name, "n");
    assert_eq!(channel.processes_threshold(0).unwrap_err().name, "n");
    for few in [0, 1, 8] {
        assert_eq!(channel.blocks_s(100, few).unwrap_err().name, "p");
        assert_eq!(channel.better(100, few).unwrap_err().name, "p");
        assert_eq!(channel.side_threshold(few).unwrap_err().name, "p");
        assert_eq!(start_up_threshold_s(100, few, 1.0).unwrap_err().name, "p");
        assert_eq!(factor(few.into()).unwrap_err().name, "n");
    }
    assert_eq!(channel.collective_s(0, 1).unwrap_err().name, "p");
    assert_eq!(calculation_s(1, 1.0, 0).unwrap_err().name, "p");
    let message = channel.blocks_s(100, 4).unwrap_err().to_string();
    assert_eq!(message, "p is 4, but must be at least 9: with fewer no block has four neighbours");
}

proptest! {
    #![proptest_config(crate::scale::cases(256))]

    /// All four thresholds say the same as the two times.
    #[test]
    fn thresholds_agree_with_the_times(start_up_s in 1e-7..1e-2, word_s in 1e-9..1e-4, n in 1..1_000_000u64, p in 9..100_000u32) {
        let channel = Channel::new(start_up_s, word_s).unwrap();
        let all = channel.compare(n, p).unwrap();
        let close = (all.strips_s / all.blocks_s - 1.0).abs() < 1e-9;
        prop_assume!(!close);
        let strips = all.better == Shape::Strips;
        prop_assert_eq!(strips, all.strips_s < all.blocks_s);
        prop_assert_eq!(strips, start_up_s > all.start_up_threshold_s);
        prop_assert_eq!(strips, word_s < all.word_threshold_s);
        prop_assert_eq!(strips, (n as f64) < all.side_threshold.unwrap());
        prop_assert_eq!(strips, all.processes_threshold.is_none_or(|threshold| f64::from(p) < threshold));
    }

    /// Whatever is put in, numbers come out, or an error.
    #[test]
    fn no_nan_comes_out(start_up_s in any::<f64>(), word_s in any::<f64>(), n in any::<u64>(), p in any::<u32>(), hop_s in any::<f64>()) {
        let finite = |result: Result<f64, BadParameter>| result.map_or(true, |value| value.is_finite() && value >= 0.0);
        prop_assert!(finite(start_up_threshold_s(n, p, word_s)) && finite(word_threshold_s(n, p, start_up_s)));
        prop_assert!(finite(calculation_s(n, word_s, p)) && finite(factor(n)));
        let Ok(channel) = Channel::new(start_up_s, word_s) else { return Ok(()) };
        let crossing = Crossing { words: n, hops: f64::from(p), hop_s };
        for result in [
            channel.strips_s(n), channel.blocks_s(n, p), channel.broadcast_s(n), channel.collective_s(p, n),
            channel.collective_one_message_s(p, n), channel.cut_through_s(&crossing), channel.across_s(n, n, &[crossing]),
            channel.store_and_forward_s(&crossing), hop_as_printed(&channel, &crossing), channel.steps_s(n),
        ] {
            prop_assert!(finite(result));
        }
        for result in [channel.side_threshold(p), channel.processes_threshold(n), channel.strips_up_to_side()] {
            prop_assert!(result.map_or(true, |value| value.is_none_or(|value| value.is_finite() && value >= 0.0)));
        }
    }
}
