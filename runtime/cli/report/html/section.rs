//! A part of the page, and what parts have in common: where it was measured, and the numbers of a result.

use serde_json::Value;

use super::markup::paragraph;

/// A part of the page: HTML.
pub(super) struct Section {
    pub(super) title: String,
    pub(super) body: String,
}

/// Where and how a result was measured.
pub(super) fn header(json: &Value) -> String {
    let text = |pointer: &str| json.pointer(pointer).and_then(Value::as_str).unwrap_or("unknown").to_owned();
    let cores = json["machine"]["cores"].as_u64().unwrap_or(0);
    paragraph(&format!(
        "Link: {}. Machine: {cores} cores, {}, TCP {}. Medians of {} repetitions.",
        text("/link/how"),
        text("/machine/kernel"),
        text("/machine/congestion_control"),
        json["repeats"].as_u64().unwrap_or(0)
    ))
}

/// The numbers of `member` in each of the rows, with least and greatest where they are there.
pub(super) fn points(rows: &[Value], x: &str, member: &str) -> Vec<[f64; 4]> {
    let point = |row: &Value| {
        let value = row[member].as_f64()?;
        let end = |end: &str| row[format!("{member}_{end}")].as_f64().unwrap_or(value);
        Some([row[x].as_f64()?, value, end("min"), end("max")])
    };
    rows.iter().filter_map(point).collect()
}

/// The members of a list; nothing if it is none.
pub(super) fn list<'a>(json: &'a Value, member: &str) -> &'a [Value] {
    json[member].as_array().map(Vec::as_slice).unwrap_or_default()
}
