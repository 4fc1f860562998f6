//! Plans, and what recorded reports come to.

use clap::Parser;
use lathide_models::hyperbolic::{Network, Prices};
use serde_json::{Map, Value, json};

use super::args::{Args, Contention};
use super::plan::Plan;
use super::points::Measured;
use super::results::results;
use super::runs::Run;
use super::version::Version;
use crate::commands::common::console::Link;
use crate::commands::common::inventory;
use crate::commands::predict::LinkPrices;
use crate::report::WIDTH;
use crate::report::html::Page;
use crate::report::results::Results;
use crate::report::text::text;

#[derive(Parser)]
struct Command {
    #[command(flatten)]
    args: Args,
}

fn args(line: &str) -> Args {
    Command::parse_from(std::iter::once("study").chain(line.split_whitespace())).args
}

fn plan(line: &str) -> Result<Plan, String> {
    Plan::of(&args(line))
}

fn words(plan: &Plan, at: usize, version: Version) -> String {
    let command = plan.command(&plan.points[at], version);
    command.iter().map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
}

#[test]
fn sweeps_go_together_and_fill_the_arguments() {
    let plan = plan("--sweep ranks=2,4,8 --sweep px=1,2,2 --sweep n=16..64*2 -- ./flow -v={version} --px {px} {n}{n}")
        .unwrap();
    assert_eq!(plan.points.iter().map(|point| point.ranks).collect::<Vec<_>>(), [2, 4, 8]);
    assert_eq!(plan.most_ranks(), 8);
    assert_eq!(words(&plan, 1, Version::Hidden), "./flow -v=hidden --px 2 3232");
    assert_eq!(words(&plan, 0, Version::Native), "./flow -v=native --px 1 1616");
    assert_eq!(plan.points[2].in_words(), "ranks = 8, px = 2, n = 64");
    assert_eq!(Value::from(plan.points[2].members()), json!({"ranks": 8, "at_px": 2.0, "at_n": 64.0}));
}

#[test]
fn without_sweeps_there_is_one_point() {
    let plan = plan("-n 3 --versions hidden,native,hidden -- ./flow {version} {other}").unwrap();
    assert_eq!((plan.points.len(), plan.points[0].ranks), (1, 3));
    assert_eq!(plan.versions, [Version::Native, Version::Hidden]);
    assert_eq!(words(&plan, 0, Version::Native), "./flow native {other}");
    assert_eq!(self::plan("--versions native -- ./flow").unwrap().points[0].ranks, 2);
}

#[test]
fn what_does_not_go_together_is_named() {
    let refused = |line: &str, parts: &[&str]| {
        let said = plan(line).unwrap_err();
        assert!(parts.iter().all(|part| said.contains(part)), "{line}: {said}");
    };
    refused("-- ./flow", &["{version}", "--versions native"]);
    refused("--sweep n=1,2 -- ./flow {version}", &["not told of n", "{n}"]);
    refused("--sweep n=1,2 --sweep m=1,2,3 -- ./flow {version} {n} {m}", &["n has 2", "m has 3"]);
    refused("--sweep n=1 --sweep n=1 -- ./flow {version} {n}", &["n is given twice"]);
    refused("-n 2 --sweep ranks=2,4 -- ./flow {version}", &["-n", "--sweep ranks"]);
    refused("--classes halo,barrier -- ./flow {version}", &["barrier"]);
    let unread = |line: &str| Command::try_parse_from(["study", "--sweep", line, "--", "x"]).err().unwrap().to_string();
    for (sweep, part) in [
        ("n", "a name and a list"),
        ("=1", "a name and a list"),
        ("a b=1", "no name"),
        ("version=a", "--versions"),
        ("n=1,,2", "empty value"),
        ("n=1..x", "a number"),
        ("ranks=0", "from 1 to 4096"),
    ] {
        assert!(unread(sweep).contains(part), "{sweep}: {}", unread(sweep));
    }
}

/// What two ranks report of ten iterations in which each sends and reads two messages of so many bytes; it took `t_s` each.
fn reports(bytes: u64, t_s: f64, unit_s: f64) -> Value {
    let rank = |rank: u32| {
        let sized = |time_s: f64| json!([{"bytes": bytes, "messages": 20, "timed": 20, "time_s": time_s}]);
        let region = |name: &str, within_s: f64, sent: Value, received: Value| {
            json!({
                "name": name, "entered": 10, "within_s": within_s, "in_calls_s": 0.25 * within_s,
                "sent": sent, "received": received, "sending": [[1.0, 2.0], [3.0, f64::from(4 + rank)]],
            })
        };
        json!({
            "rank": rank, "size": 2, "gamma": 7.0, "f": 0.9, "omega": 0.02,
            "links": [{"peer": 1 - rank, "clock_offset_s": 0.0}],
            "regions": [
                region("iteration", 10.0 * unit_s, json!([]), json!([])),
                region("halo", unit_s, sized(20.0 * t_s), sized(40.0 * t_s)),
                region("sums", unit_s, sized(0.2 * t_s), json!([])),
                region("barrier", unit_s, sized(100.0), sized(100.0)),
            ],
        })
    };
    json!([rank(0), rank(1)])
}

/// A run of each version at each point: `(version, its T_s, its unit)`, twice as much at each further point.
fn repetition(plan: &Plan, versions: &[(Version, f64, f64)]) -> Vec<Run> {
    let mut runs = Vec::new();
    for at in 0..plan.points.len() {
        let factor = 2f64.powi(at as i32);
        for &(version, t_s, unit_s) in versions {
            let reports = inventory::read(&reports(1000 << at, factor * t_s, factor * unit_s)).unwrap();
            runs.push(Run::of((at, version), &reports, None).unwrap());
        }
    }
    runs
}

fn hyperbola(a: f64, b: f64, x: f64) -> f64 {
    a * a / (a + b * x) + b * x
}

#[track_caller]
fn near(value: Option<f64>, expected: f64) {
    let value = value.expect("a number");
    assert!((value / expected - 1.0).abs() < 1e-9, "{value} is not {expected}");
}

const LINE: &str = "--sweep n=16,32,64 -- ./solver --version {version} --n {n}";

fn measured(classes: Option<&[String]>) -> Result<Measured, String> {
    let plan = plan(LINE).unwrap();
    let versions = |t_s: f64| {
        [(Version::Native, t_s, 0.02), (Version::Synchronised, 2.0 * t_s, 0.03), (Version::Hidden, t_s, 0.01)]
    };
    let repetitions = [1e-3, 3e-3, 2e-3].map(|t_s| repetition(&plan, &versions(t_s)));
    Measured::of(&plan, &repetitions, &Prices::new(Network::SPARCSTATION).unwrap(), (classes, Contention::Observed))
}

#[test]
fn medians_stand_beside_predictions_of_the_versions_own_contention() {
    let halo = ["halo".to_owned()];
    let it = measured(Some(&halo)).unwrap();
    let first = &it.sending[0];
    assert_eq!(first.at["at_n"], 16.0);
    let [a, b_w, b_c] = [859.52e-6, 1.42e-6, 0.92e-6];
    // Both send from 1 to 2 and from 3 to 4, and rank 1 for a second more.
    let observed = (2.0 + 3.0) / 3.0;
    near(first.senders_observed, observed);
    near(Some(first.alone_s), 2.0 * hyperbola(a, b_w, 1000.0));
    near(Some(first.full_s), 2.0 * hyperbola(a, 2.0 * b_c, 1000.0));
    near(first.observed_s, 2.0 * hyperbola(a, (observed * b_c).max(b_w), 1000.0));
    let native = first.native_s.unwrap();
    assert_eq!([native.min, native.median, native.max].map(|s| (s * 1e6).round()), [2000.0, 4000.0, 6000.0]);
    near(first.native_error, first.observed_s.unwrap() / native.median - 1.0);
    near(first.synchronised_error, first.full_s / 8e-3 - 1.0);
    let reading = &it.receiving[0];
    // Two reads in a visit: the first takes T_c, the second waits for it.
    let [fixed, shared] = [2.0 * a + 2.0 * 345.6e-6, 2.0 * b_c];
    near(Some(reading.full_s), hyperbola(fixed, shared, 1000.0) + hyperbola(2.0 * fixed, 2.0 * shared, 1000.0));
    near(reading.error, reading.full_s / 16e-3 - 1.0);
    near(it.sending[2].native_s.map(|it| it.median), 16e-3);
    assert!(!first.differs);
}

#[test]
fn the_gain_is_native_over_hidden_beside_the_equations() {
    let it = measured(None).unwrap();
    let row = &it.gain[1];
    near(row.native_s.map(|it| it.median), 0.04);
    near(row.gain.map(|it| it.median), 2.0);
    // A quarter of the native unit was in calls: gamma = 3.
    near(row.gamma, 3.0);
    near(row.gain_ideal, 4.0 / 3.0);
    near(row.gain_model, (1.0 + 1.0 / 3.0) / (0.1 + 0.92));
    assert_eq!((row.f, row.omega), (Some(0.9), Some(0.02)));
}

#[test]
fn classes_are_all_that_count_or_those_that_are_named() {
    let all = measured(None).unwrap();
    let classes: Vec<&str> = all
        .classes
        .iter()
        .filter(|it| it.version == Version::Native && it.direction == "sent")
        .map(|it| it.row.class.as_str())
        .collect();
    assert_eq!(classes, ["halo", "sums"], "barriers never count");
    near(all.sending[0].native_s.map(|it| it.median), 4e-3 + 0.02 * 2e-3);
    let said = measured(Some(&["grid".to_owned()])).unwrap_err();
    assert!(said.contains("no messages in a region grid") && said.contains("halo, sums"), "{said}");
}

fn shown(line: &str) -> Results {
    let args = args(line);
    let plan = Plan::of(&args).unwrap();
    let versions: Vec<(Version, f64, f64)> = plan.versions.iter().map(|version| (*version, 2e-3, 0.02)).collect();
    let repetitions = [repetition(&plan, &versions), repetition(&plan, &versions)];
    let link = Link { spec: "hosts a,b".into(), emulated: false, how: "the network".into() };
    let prices = LinkPrices {
        prices: Prices::new(Network::SPARCSTATION).unwrap(),
        parameters: Map::new(),
        from: Value::Null,
        notes: vec!["measured".into()],
    };
    results(&args, (&plan, &link), &prices, &repetitions).unwrap()
}

#[test]
fn tables_and_curves_fit_and_the_page_draws_them() {
    let results = shown(LINE);
    let text = text(&results, false);
    assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
    for part in
        ["T_s: median error", "; T_r: median error", "G of hiding: up to", "per iteration", "* native", "eq. (4)"]
    {
        assert!(text.contains(part), "{part} is missing:\n{text}");
    }
    let json = serde_json::to_value(&results).unwrap();
    assert_eq!(
        (&json["schema"], &json["repeats"], &json["per"]),
        (&json!("lathide-study-1"), &json!(2), &json!("iteration"))
    );
    assert_eq!(json["errors"]["sending"]["points"], 6);
    assert_eq!(json["sending"][2]["at_n"], 64.0);
    assert!(json["sending"][0]["native_s_min"].is_f64() && json["gain"][0]["gain_max"].is_f64(), "{json}");
    let page = Page::of([("study.json".to_owned(), Ok(json))]);
    assert_eq!(page.html().matches("<figure").count(), 3, "T_s, T_r and G");
}

#[test]
fn a_curve_is_drawn_over_a_sweep_whose_values_are_all_different() {
    let line = |sweeps: &str| format!("{sweeps} -- ./flow {{version}} {{px}} {{pt}}");
    let table = shown(&line("--sweep ranks=4,8,8 --sweep px=2,2,4 --sweep pt=2,4,2"));
    assert!(!text(&table, false).contains('┤'));
    let curve = text(&shown(&line("--sweep px=1,1,1 --sweep pt=2,4,8")), false);
    assert!(curve.contains('┤') && curve.lines().any(|line| line.trim() == "pt"), "{curve}");
    assert!(!text(&shown(&line("--sweep px=a,b --sweep pt=0,1")), false).contains('┤'));
}

#[test]
fn one_version_at_one_point_has_a_table_and_no_curve() {
    let results = shown("--versions native -- ./solver");
    let text = text(&results, false);
    assert!(text.contains("T_s: error") && !text.contains('┤') && !text.contains("T_r:"), "{text}");
    assert!(results.conclusion.contains("of 2 ranks send at the same time"), "{}", results.conclusion);
}
