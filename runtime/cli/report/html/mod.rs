//! Saved results as one self-contained page: curves, timelines, tables, advice. Nothing is loaded from anywhere.

mod markup;
mod results;
mod run;
mod section;
mod svg;
pub(crate) mod timeline;

use std::fmt::Write as _;

use serde::Deserialize as _;
use serde_json::Value;

use crate::report::results::Results;
use section::Section;

/// The page of these files, by name and content.
///
/// # Errors
/// Which of them is no result of lathide, and why.
pub(crate) fn page(files: &[(String, Value)]) -> Result<String, String> {
    let sections = files.iter().map(|(file, json)| section(file, json)).collect::<Result<Vec<_>, _>>()?;
    let mut html = String::from(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>lathide report</title>\n<style>\n",
    );
    html += STYLE;
    html += "</style>\n</head>\n<body>\n<h1>lathide report</h1>\n<nav>";
    for (number, Section { title, .. }) in sections.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = write!(html, "<a href=\"#s{number}\">{title}</a> ");
    }
    html += "</nav>\n";
    for (number, Section { title, body }) in sections.iter().enumerate() {
        let _ = write!(html, "<section id=\"s{number}\">\n<h2>{title}</h2>\n{body}</section>\n");
    }
    let _ = write!(html, "<footer>lathide {}</footer>\n</body>\n</html>\n", env!("CARGO_PKG_VERSION"));
    Ok(html)
}

fn section(file: &str, json: &Value) -> Result<Section, String> {
    let schema = json["schema"].as_str().or(json["otherData"]["schema"].as_str());
    let anew = "write it anew with this version of lathide";
    let needs = |schema: &str, member: &str| match json.pointer(&format!("/{member}")) {
        Some(Value::Array(_)) => Ok(()),
        _ => Err(format!("{file} says that it is {schema}, but has no {member}; {anew}")),
    };
    match schema {
        Some(schema @ "lathide-trace-1") => needs(schema, "traceEvents").map(|()| timeline::section(file, json)),
        Some(schema @ "lathide-run-1") => needs(schema, "reports").map(|()| run::section(file, &json["reports"])),
        Some(schema) if schema.starts_with("lathide-") => {
            needs(schema, "layout")?;
            let results = Results::deserialize(json)
                .map_err(|error| format!("{file} says that it is {schema}, but cannot be shown: {error}; {anew}"))?;
            Ok(results::section(file, &results))
        }
        None if json[0]["advice"].is_object() => Ok(run::section(file, json)),
        schema => {
            let found = schema.map_or("no schema".to_owned(), |schema| format!("the schema {schema}"));
            Err(format!(
                "{file} is no result of lathide: it has {found}; the page shows what lathide gain, link, collectives, \
                 study and predict write with --json, and lathide run with --trace FILE, --report=FILE and --json"
            ))
        }
    }
}

const STYLE: &str = "\
:root { color-scheme: light dark; --ink: #1c2430; --dim: #667; --paper: #fff; --rule: #dde1e7;
  --s0: #1f6fb2; --s1: #c8553d; --s2: #3a7d44; --s3: #8d6a9f; --s4: #b08900; --s5: #667; }
@media (prefers-color-scheme: dark) { :root { --ink: #dde3ea; --dim: #99a3b0; --paper: #14181e; --rule: #2c3440;
  --s0: #62a8e5; --s1: #ef8a70; --s2: #74bf80; --s3: #c09fd3; --s4: #dcb94a; --s5: #99a3b0; } }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 1100px;
  margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.5em; } h2 { font-size: 1.2em; margin-top: 2.2em; border-bottom: 1px solid var(--rule); }
h3 { font-size: 1em; margin: 1.4em 0 .3em; } nav a { margin-right: 1em; }
svg { display: block; width: 100%; height: auto; } svg.chart { max-width: 720px; }
svg text { font: 11px system-ui, sans-serif; fill: var(--dim); } .mid { text-anchor: middle; } .end { text-anchor: end; }
.grid { stroke: var(--rule); fill: none; } .line { fill: none; stroke-width: 1.8; } .range { stroke-width: 1.2; }
.legend { font-size: .9em; color: var(--dim); margin: .2em 0 1em; } .legend span { margin-right: 1.2em; white-space: nowrap; }
.s0 { color: var(--s0); } .s1 { color: var(--s1); } .s2 { color: var(--s2); } .s3 { color: var(--s3); }
.s4 { color: var(--s4); } .s5 { color: var(--s5); } .line, .range { stroke: currentColor; } .point, rect { fill: currentColor; }
.t-compute { color: #4c9a6a; } .t-initread { color: #e0a13e; } .t-initwrite { color: #b9722d; } .t-wait { color: #d1495b; }
.t-finalize, .t-other { color: #8a94a0; } .t-in { color: #4f83c4; } .t-out { color: #86b5dd; } .t-in, .t-out { fill-opacity: .75; } .t-down { color: #7b2d8b; }
table { border-collapse: collapse; margin: .6em 0 1.2em; font-variant-numeric: tabular-nums; display: block; overflow-x: auto; }
th, td { text-align: right; white-space: nowrap; padding: .15em .8em; border-bottom: 1px solid var(--rule); }
th { font-weight: 600; color: var(--dim); } th:first-child, td:first-child { text-align: left; padding-left: 0; }
footer { margin-top: 3em; color: var(--dim); font-size: .85em; }
";

#[cfg(test)]
#[path = "page_tests.rs"]
mod tests;
