//! The JSON of the commands is what the manual's page `results` says, and other programs can read it.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::examples::example;
use crate::process::run;

const PAGE: &str = include_str!("../../runtime/manual/results.rs");
const READER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/results.py");

/// The members that the page has in the section of this name.
fn documented(section: &str) -> Vec<&'static str> {
    let heading = format!("//! ## `{section}`\n");
    let (_, rest) = PAGE.split_once(&heading).unwrap_or_else(|| panic!("no section {section}"));
    let rows = rest.split("//! ## ").next().unwrap_or_default().lines().filter_map(|line| line.strip_prefix("//! | `"));
    rows.flat_map(|row| row.split(" | ").next().unwrap_or_default().split(", "))
        .map(|word| word.trim_matches('`'))
        .collect()
}

/// Whether the value has the member, of the type that its name says; of a list, its first row, if it has one.
fn has(value: &Value, path: &str) -> bool {
    let (name, rest) = path.split_once('.').unwrap_or((path, ""));
    let Some(member) = value.get(name.trim_end_matches("[]")) else { return false };
    let inner = match (name.ends_with("[]"), member) {
        (true, Value::Array(rows)) if rows.is_empty() || rest.is_empty() => return true,
        (true, Value::Array(rows)) => &rows[0],
        (true, _) => return false,
        // There may be none, and then it has no members.
        (false, Value::Null) => return !is_name(name),
        (false, member) => member,
    };
    if rest.is_empty() { is_of_type(name, inner) } else { has(inner, rest) }
}

/// Names of things, which are always there.
fn is_name(member: &str) -> bool {
    ["schema", "lathide", "title", "conclusion", "kernel", "what", "operation", "how", "kind", "started"]
        .contains(&member)
}

/// Whether a value that is there is of the type that the member's name says.
fn is_of_type(member: &str, value: &Value) -> bool {
    let units = ["_s", "_bytes", "_s_per_byte", "_per_s", "_error", "_gain", "_gamma", "_i1", "_i3"];
    let quantities =
        ["gain", "gamma", "ratio", "penalty", "overlap", "error", "f", "omega", "hidden", "p", "bytes", "ranks"];
    match member {
        name if is_name(name) => value.is_string(),
        "differs" | "counts" | "calm" | "emulated" | "reachable" | "timed_out" => value.is_boolean(),
        name if name.starts_with("is_") => value.is_boolean(),
        // A quantity may be fitted, with errors beside it, or be there for some sizes.
        name if quantities.contains(&name) || units.iter().any(|unit| name.ends_with(unit)) => {
            value.is_number() || value.is_object()
        }
        _ => true,
    }
}

/// Each documented member is there, and each that is there is documented.
#[track_caller]
fn agrees(json: &str, sections: &[&str], may_have_more: bool) {
    agrees_with(json, sections, may_have_more, "/schema");
}

/// The same, where the schema's name is elsewhere.
#[track_caller]
fn agrees_with(json: &str, sections: &[&str], may_have_more: bool, schema: &str) {
    let value: Value = serde_json::from_str(json).expect("one JSON object");
    let members: Vec<&str> = sections.iter().flat_map(|section| documented(section)).collect();
    for member in &members {
        assert!(has(&value, member), "{sections:?}: there is no {member} in {json}");
    }
    if sections.iter().any(|section| section.starts_with("lathide-")) {
        assert!(sections.contains(&value.pointer(schema).and_then(Value::as_str).expect("a schema")), "{json}");
    }
    let known: BTreeSet<&str> =
        members.iter().map(|member| member.split('.').next().unwrap_or_default().trim_end_matches("[]")).collect();
    let is_known = |name: &str| {
        let name =
            name.strip_suffix("_min").or(name.strip_suffix("_max")).filter(|name| known.contains(name)).unwrap_or(name);
        known.contains(name)
    };
    let unknown: Vec<&String> = value.as_object().expect("an object").keys().filter(|name| !is_known(name)).collect();
    assert!(may_have_more || unknown.is_empty(), "{sections:?}: the manual's page results does not have {unknown:?}");
}

fn json(words: &str) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    run(command.args(words.split(' '))).succeeded().stdout
}

#[test]
fn types_follow_from_names() {
    let value = serde_json::json!({
        "gain": 1.5, "schema": "x", "is_calm": true, "t_s": null, "rows": [{ "time_s": "1" }, {}], "kernel": null, "free": [],
    });
    for right in ["gain", "schema", "is_calm", "t_s", "rows[]", "free"] {
        assert!(has(&value, right), "{right}");
    }
    for wrong in ["rows[].time_s", "kernel", "none", "gain[]"] {
        assert!(!has(&value, wrong), "{wrong}");
    }
}

#[test]
fn gain_is_as_documented() {
    let gain = json("gain -q --json --gamma 0.5,1,2 --repeats 6 --steps 1 --rows 500 --link delay=1ms,rate=100mbit");
    agrees(&gain, &["all", "measured", "samples", "hosts", "lathide-gain-2"], false);
    let cases = json("gain -q --json --gamma 1 --repeats 1 --steps 1 --rows 500,1000 --link delay=1ms,rate=100mbit");
    agrees(&cases, &["all", "measured", "hosts", "lathide-gain-cases-1"], false);
    let halo = json("gain -q --json --halo 1,2 --link delay=1ms,rate=100mbit --repeats 1");
    agrees(&halo, &["all", "measured", "samples", "hosts", "lathide-gain-halo-1"], false);
}

#[test]
fn gain_of_a_program_is_as_documented() {
    let program = json(&format!("gain -q --json -n 2 --repeats 6 -- {}", example("stencil").display()));
    agrees(&program, &["all", "measured", "samples", "hosts", "lathide-gain-program-2"], false);
    let value: Value = serde_json::from_str(&program).expect("JSON");
    assert_eq!((&value["clock"], &value["region"]), (&"region".into(), &"solve".into()));
    assert_eq!(value["observed"].as_array().map(Vec::len), Some(4), "two ranks, and a region of each");
    let foreign = json("gain -q --json -n 2 --repeats 1 -- true");
    agrees(&foreign, &["all", "measured", "samples", "hosts", "lathide-gain-program-2"], false);
}

#[test]
fn link_and_collectives_are_as_documented() {
    let link = json("link -q --json --seconds 2 --repeats 1 --bytes 8,64KiB");
    agrees(&link, &["all", "measured", "samples", "hosts", "lathide-link-2"], false);
    let collectives = json("collectives -q --json --ranks 2 --operations broadcast --bytes 8,64KiB --seconds 1");
    agrees(&collectives, &["all", "measured", "samples", "hosts", "lathide-collectives-2"], false);
}

/// What the papers measured takes long.
#[test]
fn papers_are_as_documented() {
    let papers = json("collectives -q --json --papers --ranks 2 --seconds 2");
    agrees(&papers, &["all", "measured", "hosts", "lathide-papers-1"], false);
}

#[test]
fn study_and_predict_are_as_documented() {
    let program = example("decomposition");
    let words = "study -q --json --contention none --seconds 2 --repeats 1 -n 2 --sweep n=16 --";
    let study = json(&format!("{words} {} --version {{version}} --n {{n}} --iterations 2", program.display()));
    agrees(&study, &["all", "measured", "hosts", "lathide-study-1"], false);
    for model in [
        "gain --gamma 1,2",
        "gain --tasks 10ms:5ms,20ms:5ms",
        "gain --cg",
        "gain --halo 1,2 --t-calc 1ms",
        "gather",
        "hops",
        "decomposition --n 1024",
    ] {
        agrees(&json(&format!("predict --json {model}")), &["all", "lathide-predict-2"], true);
    }
}

#[test]
fn run_and_its_files_are_as_documented() {
    let file = |what: &str| std::env::temp_dir().join(format!("lathide-results-{what}-{}.json", std::process::id()));
    let [trace, page] = ["trace", "page"].map(file);
    let program = example("stencil");
    let run = json(&format!("run -q --json --report --trace {} -n 2 {}", trace.display(), program.display()));
    agrees(&run, &["lathide-run-1"], false);
    let timeline = std::fs::read_to_string(&trace).expect("a timeline");
    agrees_with(&timeline, &["lathide-trace-1"], false, "/otherData/schema");
    let report = json(&format!("report -q --json {} -o {}", trace.display(), page.display()));
    agrees(&report, &["lathide-report-1"], false);
    [trace, page].iter().for_each(|file| _ = std::fs::remove_file(file));
}

#[test]
fn lab_and_doctor_are_as_documented() {
    if !crate::lab::is_possible() {
        return;
    }
    agrees(&json("lab -q --json --hosts 2 -- true"), &["lathide-lab-1"], false);
    let own = env!("CARGO_BIN_EXE_lathide");
    let doctor = json(&format!("lab -q --hosts 2 -- {own} doctor --hosts host0,host1 --json -q"));
    agrees(&doctor, &["all", "lathide-doctor-2"], false);
}

#[test]
fn the_page_names_every_schema() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    assert_eq!(run(command.args(["--version"])).succeeded().stderr, "");
    for schema in [
        "gain-2",
        "gain-cases-1",
        "gain-halo-1",
        "gain-program-2",
        "link-2",
        "collectives-2",
        "papers-1",
        "study-1",
        "predict-2",
        "doctor-2",
        "report-1",
        "run-1",
        "lab-1",
        "trace-1",
    ] {
        assert!(PAGE.contains(&format!("`lathide-{schema}`")), "{schema}");
    }
}

/// A page's reader, where there is a Python; its figure, where there is matplotlib.
#[test]
fn python_reads_every_result() {
    let Ok(status) = Command::new("python3").args(["-c", "import json"]).status() else {
        println!("skipped: there is no python3");
        return;
    };
    assert!(status.success(), "{status}");
    let file: PathBuf = std::env::temp_dir().join(format!("lathide-results-{}.json", std::process::id()));
    for words in ["predict --json gain --gamma 0.25..4*2", "predict --json gather", "predict --json hops"] {
        std::fs::write(&file, json(words)).expect("a file");
        let said = run(Command::new("python3").arg(READER).arg(&file)).succeeded().stdout;
        assert!(said.starts_with("lathide-predict-2\n"), "{words}: {said}");
        if words.ends_with("*2") {
            assert!(said.lines().filter(|line| line.split('\t').count() == 5).count() >= 5, "its points: {said}");
        }
    }
    let has_matplotlib = run(Command::new("python3").args(["-c", "import matplotlib"])).status == Some(0);
    if has_matplotlib {
        std::fs::write(&file, json("predict --json gain --gamma 0.25..4*2")).expect("a file");
        let figure = file.with_extension("svg");
        run(Command::new("python3").arg(READER).args([&file, &figure]).env("MPLBACKEND", "Agg")).succeeded();
        assert!(std::fs::read_to_string(&figure).expect("a figure").contains("<svg"));
        _ = std::fs::remove_file(figure);
    } else {
        println!("no figure: there is no matplotlib");
    }
    _ = std::fs::remove_file(file);
}
