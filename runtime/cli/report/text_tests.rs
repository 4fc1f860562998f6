use serde_json::json;

use super::*;
use crate::report::results::{Axis, Chart, Table};

fn results(rows: usize) -> Results {
    let rows: Vec<Value> = (1..=rows)
        .map(|i| {
            json!({"bytes": 1024 * i, "t_s": 1e-3 * i as f64, "t_s_min": 0.5e-3, "t_s_max": 2e-3, "share": 0.5,
                "who": "tree", "none": null, "chosen": i == 1})
        })
        .collect();
    let data = json!({"points": rows, "link": {"how": "a wire"}, "repeats": 5,
        "machine": {"cores": 2, "kernel": "Linux 6", "congestion_control": "bbr"}});
    let mut results = Results::new("lathide-test-1", "A test", &data);
    results.conclusion = "It is so.".into();
    results
}

fn table() -> Table {
    Table::of("points")
        .title("A table.")
        .column("bytes", "bytes", Form::Bytes)
        .range("t_s", "T", Form::Seconds)
        .column("share", "share", Form::Percent(0))
        .column("who", "by", Form::Word)
        .column("none", "limit", Form::Number)
        .column("chosen", "chosen", Form::Mark)
}

#[test]
fn all_parts_in_their_order_and_units_that_suit() {
    let mut results = results(3);
    results.text("First.").table(table()).text("").text("Last.");
    let text = text(&results, false);
    let mut from = 0;
    for part in [
        "A test.",
        "Link: a wire.",
        "2 cores, Linux 6, TCP bbr",
        "Medians of 5",
        "\n\nFirst.\n\n",
        "A table.",
        "min .. max",
        "2 KiB",
        "0.500 .. 2.00",
        "Last.\n\nIt is so.",
    ] {
        from += text[from..].find(part).unwrap_or_else(|| panic!("{part} is missing or early:\n{text}"));
    }
    assert!(text.contains("ms") && text.contains('%') && text.contains("<-"), "{text}");
    assert!(fits(&text, 100), "{text}");
}

fn fits(text: &str, width: usize) -> bool {
    text.lines().all(|line| line.chars().count() <= width)
}

/// Each part has the columns that tell rows apart, and no cell is lost.
#[test]
fn a_wide_table_continues_below() {
    let rows: Vec<Value> = (0..4)
        .map(|i| json!({"op": if i < 2 { "gather" } else { "scatter" }, "n": i % 2, "t": 1.0, "t_min": 0.5, "t_max": 2.0, "u": 10 * i}))
        .collect();
    let mut results = Results::new("lathide-test-1", "A test", &json!({ "points": rows }));
    let mut table = Table::of("points").column("op", "op", Form::Word).column("n", "n", Form::Count);
    for title in ["one", "two", "three", "four", "five"] {
        table = table.range("t", title, Form::Number).column("u", "u", Form::Count);
    }
    results.table(table);
    for (width, parts) in [(40, 5), (80, 3), (100, 2), (160, 1)] {
        let text = shown(&results, Screen::of(width, false));
        assert!(fits(&text, width), "{width}:\n{text}");
        assert_eq!(text.lines().filter(|line| line.starts_with('─')).count(), parts, "{width}:\n{text}");
        assert_eq!(text.matches("scatter  1").count(), parts, "both keys in each part at {width}:\n{text}");
        assert_eq!(text.matches("min .. max").count(), 5, "{width}:\n{text}");
        for title in ["one", "two", "three", "four", "five"] {
            assert_eq!(text.matches(title).count(), 1, "{title} at {width}:\n{text}");
        }
    }
}

#[test]
fn what_was_found_out_and_warnings_have_colours() {
    let mut results = results(1);
    results.warnings.push("Others had the processors.".into());
    let coloured = shown(&results, Screen::of(80, true));
    assert!(coloured.ends_with("\x1b[1mIt is so.\x1b[0m\n\n\x1b[33mOthers had the processors.\x1b[0m"), "{coloured}");
    assert!(!shown(&results, Screen::of(80, false)).contains('\x1b'));
}

#[test]
fn long_tables_are_thinned_and_say_so() {
    for rows in [1, 2, ROWS_MAX, ROWS_MAX + 1, 999] {
        let mut results = results(rows);
        results.table(table());
        let all: Vec<&Value> = results.rows("points").iter().collect();
        let shown: Vec<&Value> = thinned(&all).collect();
        assert_eq!(shown.len(), rows.min(ROWS_MAX));
        assert_eq!((shown[0], shown[shown.len() - 1]), (all[0], all[rows - 1]));
        assert_eq!(text(&results, false).contains("left out"), rows > ROWS_MAX, "{rows} rows");
    }
}

#[test]
fn charts_have_their_units() {
    let mut results = results(4);
    let points = results.series("points", "bytes", "t_s");
    let chart = |y| Chart::new(Axis::log("bytes", Form::Bytes), y).points("measured", points.clone());
    results.chart(chart(Axis::linear("time", Form::Seconds))).chart(chart(Axis::log("time", Form::Seconds)));
    let text = text(&results, false);
    for part in ["time", "2 ms ┤", "10 ms ┤", "1K", "* measured"] {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
}
