//! The command's numbers against those in `tests/golden`: the models meet all of them, so here some of each are enough
//! to see that options reach the right parameter in the right unit.

use serde_json::Value;
use toml::Table;

use super::{answer, number, numbers};

#[track_caller]
fn meets(what: &str, value: f64, expected: f64) {
    assert!((value - expected).abs() <= 1e-9 * expected.abs(), "{what}: {value}, not {expected}");
}

#[track_caller]
fn all_meet(arguments: &str, member: &str, expected: &[f64]) -> Value {
    let answer = answer(arguments);
    let values = numbers(&answer, member);
    assert_eq!(values.len(), expected.len(), "{arguments}: {values:?}");
    values.iter().zip(expected).for_each(|(value, expected)| meets(arguments, *value, *expected));
    answer
}

fn us<const N: usize>(microseconds: [f64; N]) -> [f64; N] {
    microseconds.map(|time| time * 1e-6)
}

/// Numbers of a golden file.
fn floats(value: &toml::Value) -> Vec<f64> {
    let list = value.as_array().expect("a list");
    list.iter().map(|it| it.as_float().or_else(|| it.as_integer().map(|it| it as f64)).expect("a number")).collect()
}

fn golden_table(file: &str, id: &str) -> Table {
    let file: Table = file.parse().expect("TOML");
    let tables = file["table"].as_array().expect("tables").iter().filter_map(toml::Value::as_table);
    tables.into_iter().find(|table| table["id"].as_str() == Some(id)).unwrap_or_else(|| panic!("no table {id}")).clone()
}

#[test]
fn gain_example_1_and_the_questions_of_section_2_3() {
    let example =
        all_meet("gain --gamma-h 1,5,10 --omega 1,0.2,0 --gamma-s 5", "gain", &[3.0 / 5.0, 5.0 / 3.0, 3.0 / 2.0]);
    assert_eq!(example["best_machine"]["number"], 2);
    // Example 2: of H1, H2 and H3 the first gains over all of 2 to 10.
    let example = answer("gain --gamma-h 5,1,10 --omega 0,0.2,1 --gamma-s 2..10");
    assert_eq!(example["best_machine"]["number"], 1);
    let range = answer("gain --gamma-h 10 --gamma-s 10 --target 1.5");
    assert_eq!(
        (range["gamma_s_for_target"][0].as_f64(), range["gamma_s_for_target"][1].as_f64()),
        (Some(5.0), Some(20.0))
    );
    let issue = answer("gain --gamma-h 10 --gamma-s 2..40 --omega 0.2");
    assert_eq!(numbers(&issue, "gamma_s").len(), 39);
    meets("the maximum with overhead", number(&issue, "maximum_gain"), 2.0 - 0.2 / 1.2);
    meets("where it is", number(&issue, "maximum_gain_gamma_s"), 10.0 / 1.2);
    meets("where hiding loses", number(&issue, "break_even_gamma_s"), 50.0);
    let scaling = answer("gain --lambda 144 --q p --procs 12");
    meets("lambda = p^2", numbers(&scaling, "gain")[0], 2.0);
    assert_eq!(scaling["best_procs_for_gain"], 12);
}

#[test]
fn hyperbolic_times_and_logp() {
    all_meet("hyperbolic --bytes 1024", "time_s", &us([2665.525732993816]));
    all_meet("hyperbolic --pairs 1,2,3,8 --bytes 0", "time_s", &us([2064.64, 2410.24, 2755.84, 4483.84]));
    all_meet("hyperbolic --neighbours 4 --procs 16 --bytes 0", "time_s", &us([28994.56]));
    // T approaches b x.
    let long = answer("hyperbolic --neighbours 4 --procs 16 --bytes 1e15");
    meets("b of the exchange", numbers(&long, "time_s")[0] / 1e15, 58.88e-6);
    all_meet(
        "hyperbolic --a 1s --b 1 --bytes 0.5,1,3,10",
        "time_s",
        &[1.1666666666666665, 1.5, 3.25, 10.090909090909092],
    );
    all_meet("logp --l 6us --o 2us --g 4us --messages 1,4", "logp_s", &us([10.0, 22.0]));
}

#[test]
fn broadcast_and_gather() {
    let eleven = all_meet("broadcast --procs 11 --bytes 0", "serial_s", &us([9800.32]));
    meets("8 a_W + 3 a_C", numbers(&eleven, "tree_s")[0], (8.0 * 859.52 + 3.0 * 345.6) * 1e-6);
    let long = answer("broadcast --procs 11 --bytes 1e15");
    meets("b of the tree", numbers(&long, "tree_s")[0] / 1e15, 10.2e-6);
    let packets = all_meet(
        "broadcast --model cluster --procs 2..16*2 --bytes 64KiB",
        "time_s",
        &us([3992.08, 9537.137, 15130.866663873165, 21279.61543699511]),
    );
    let postal = us([5538.833, 11083.89, 16677.619663873167, 22826.36843699511]);
    numbers(&packets, "postal_s").iter().zip(postal).for_each(|(value, expected)| meets("eq. 1", *value, expected));
    let figure_3 =
        "broadcast --model cluster --procs 16 --g-s 1 --o-s 0.4 --l 1.3 --o-r 0.6 --u-r 0.7 --packet-bytes 1";
    all_meet(&format!("{figure_3} --bytes 1,2,10"), "time_s", &[12.0, 16.3, 50.7]);
    // 200, 400 and 700 packets of 1500 bytes.
    let windows = [(4, [3.0, 3.0, 3.0]), (8, [7.0, 5.0, 3.0]), (16, [10.0, 5.0, 3.0])];
    let bounds = us([259017.04, 603955.1015546244, 1293944.0871092486]);
    for ((procs, windows), bound) in windows.into_iter().zip(bounds) {
        let gather = all_meet(&format!("gather --procs {procs} --bytes 300kB,600kB,1050kB"), "window", &windows);
        meets("eq. 8", numbers(&gather, "bound_s")[2], bound);
    }
    let lossy = answer("gather --procs 2 --bytes 1GB");
    assert!(lossy["conclusion"].as_str().is_some_and(|text| text.contains("may be lost")), "{lossy}");
    let plan = answer("gather --procs 8 --bytes 600kB");
    assert_eq!(plan["plan"].as_array().map(Vec::len), Some(7));
    assert_eq!((&plan["plan"][0]["signals"], &plan["plan"][6]["waits_for"]), (&6.into(), &2.into()));
}

#[test]
fn strips_and_blocks_on_every_threshold_of_table_1() {
    let table = golden_table(include_str!("../../golden/decomposition.toml"), "dec.t1");
    let expected: Vec<Vec<f64>> = table["expected"].as_array().expect("rows").iter().map(floats).collect();
    for (row, expected) in table["rows"].as_array().expect("rows").iter().zip(expected) {
        let t_w = row["tw"].as_float().expect("a time");
        for (n, threshold_us) in [256, 512, 1024].into_iter().zip(expected) {
            let answer = answer(&format!("decomposition --n {n} --procs {n} --t-w {t_w}us"));
            meets("Table 1", numbers(&answer, "t_s_threshold_s")[0], threshold_us * 1e-6);
        }
    }
    let issue = answer("decomposition --n 1024 --t-s 35e-6 --t-w 0.23e-6 --procs 16");
    meets("n (1 - 2/sqrt p) t_w", numbers(&issue, "t_s_threshold_s")[0], 512.0 * 0.23e-6);
    assert_eq!(issue["points"][0]["better"], "blocks");
    let ethernet = all_meet("decomposition --n 1024 --procs 64", "strips_s", &us([26480.0]));
    meets("blocks", numbers(&ethernet, "blocks_s")[0], 17120e-6);
    let fddi = all_meet("decomposition --n 256 --procs 16 --t-s 1100us --t-w 1.1us", "blocks_s", &us([9363.2]));
    meets("p = n", number(&fddi, "strips_up_to_side_where_p_is_n"), 1065.277168078225);
}

#[test]
fn collectives_on_a_shared_medium() {
    let all = all_meet(
        "collectives --procs 16 --words 1,100 --t-s 1500us --t-w 5us",
        "medium_broadcast_s",
        &us([1505.0, 150500.0]),
    );
    meets("the others", numbers(&all, "medium_other_s")[1], 2257500e-6);
    meets("in one message", numbers(&all, "medium_broadcast_one_message_s")[1], 2000e-6);
    let small = answer("collectives --procs 11 --words 0");
    meets("19 a_W + 4 a_C", numbers(&small, "global_s")[0], (19.0 * 859.52 + 4.0 * 345.6) * 1e-6);
}

/// The whole of Tables 2, 4, 8 and 9, each by one call.
#[test]
fn multigrid_tables() {
    let file = include_str!("../../golden/multigrid.toml");
    let tables = [
        ("mg.t2", "--dims 2", "speedup", 1.0),
        ("mg.t4", "--dims 3", "speedup", 1.0),
        ("mg.t8s", "--dims 2 --long-messages", "speedup", 1.0),
        ("mg.t8e", "--dims 2 --long-messages", "efficiency", 100.0),
        ("mg.t9", "--dims 3 --long-messages", "speedup", 1.0),
    ];
    for (id, arguments, member, factor) in tables {
        let table = golden_table(file, id);
        let expected: Vec<f64> = table["expected"].as_array().expect("rows").iter().flat_map(floats).collect();
        assert_eq!(expected.len(), 32, "{id}");
        let values = numbers(&answer(&format!("multigrid {arguments}")), member);
        assert_eq!(values.len(), 32, "{id}");
        values.iter().zip(expected).for_each(|(value, expected)| meets(id, factor * value, expected));
    }
    let issue = all_meet(
        "multigrid --dims 2 --procs 256,1024 --fixed 2500 --variable 200 --long-messages",
        "speedup",
        &[170.12311024304702, 313.9756920421754],
    );
    assert_eq!(number(&issue["best"][0], "procs").round(), 4963.0, "approximately 4900, says the paper");
}
