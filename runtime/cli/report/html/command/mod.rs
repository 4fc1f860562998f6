//! What files have, as sections: a file for each command whose results have figures beside those of their layout.

mod collectives;
mod compared;
mod doctor;
mod hosts;
mod lab;
mod layout;
mod link;
mod program;
mod run;
mod trace;

use serde::Deserialize as _;
use serde_json::Value;

use super::section::Section;
use crate::report::results::Results;

/// The section of a file.
///
/// # Errors
/// Why it is no result of lathide.
pub(super) fn section(file: &str, json: &Value) -> Result<Section, String> {
    let schema = json["schema"].as_str().or(json["otherData"]["schema"].as_str());
    let anew = "write it anew with this version of lathide";
    let needs = |schema: &str, member: &str| match json.pointer(&format!("/{member}")) {
        Some(Value::Array(_)) => Ok(()),
        _ => Err(format!("it says that it is {schema}, but has no {member}; {anew}")),
    };
    match schema {
        Some(schema @ "lathide-trace-1") => needs(schema, "traceEvents").map(|()| trace::section(file, json)),
        Some(schema @ "lathide-run-1") => needs(schema, "reports").map(|()| run::of_job(file, json)),
        Some(schema @ "lathide-lab-1") => needs(schema, "hosts").map(|()| lab::section(file, json)),
        Some(schema) if schema.starts_with("lathide-") => {
            needs(schema, "layout")?;
            let results = Results::deserialize(json)
                .map_err(|error| format!("it says that it is {schema}, but cannot be shown: {error}; {anew}"))?;
            Ok(of_results(file, &results))
        }
        None if json[0]["advice"].is_object() => Ok(run::of_reports(file, json)),
        schema => {
            let found = schema.map_or("no schema".to_owned(), |schema| format!("the schema {schema}"));
            Err(format!(
                "it is no result of lathide: it has {found}; the page shows what lathide gain, link, collectives, study, predict, \
                 doctor and lab write with --json, and lathide run with --trace FILE, --report=FILE and --json"
            ))
        }
    }
}

/// The section of what a command has found out.
fn of_results(file: &str, results: &Results) -> Section {
    let schema = results.schema.rsplit_once('-').map_or(&*results.schema, |(name, _)| name);
    let after = |member: &str| match (schema, member) {
        (_, "comparisons") => compared::figures(results),
        ("lathide-link", member) => link::figures(results, member),
        ("lathide-collectives", member) => collectives::figures(results, member),
        ("lathide-doctor", "hosts") => doctor::figures(results),
        _ => Vec::new(),
    };
    let mut section = layout::head(file, results);
    if schema == "lathide-gain-program" {
        program::show(&mut section, results);
    }
    layout::show(&mut section, results, after);
    if schema != "lathide-doctor" {
        hosts::show(&mut section, results);
    }
    section
}
