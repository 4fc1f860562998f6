//! Hosts and the paths between them: matrices, from host to host.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::report::html::figure::Figure;
use crate::report::html::figure::heat::{Cell, Heat};
use crate::report::results::{Form, Results};

pub(super) fn figures(results: &Results) -> Vec<Figure> {
    [
        matrix(results, "Least round trip of 8 bytes between hosts", "round trip", ("round_trip_s", Form::Seconds)),
        matrix(results, "Rate of one connection between hosts", "rate", ("bytes_per_s", Form::Rate)),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn matrix(results: &Results, title: &str, what: &str, (key, form): (&str, Form)) -> Option<Figure> {
    let names = |end: &str| {
        let mut names: Vec<String> = Vec::new();
        for name in results.rows("pairs").iter().filter_map(|pair| pair[end].as_str()) {
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    };
    let from = names("from");
    // Columns in the order of rows, then what is an end only.
    let to: Vec<String> =
        from.iter().cloned().chain(names("to").into_iter().filter(|name| !from.contains(name))).collect();
    let ends = |pair: &'_ Value| Some((pair["from"].as_str()?.to_owned(), pair["to"].as_str()?.to_owned()));
    let pairs: BTreeMap<(String, String), &Value> =
        results.rows("pairs").iter().filter_map(|pair| Some((ends(pair)?, pair))).collect();
    let cell = |from: &String, to: &String| {
        let Some(pair) = pairs.get(&(from.clone(), to.clone())) else { return Cell::None };
        match pair[key].as_f64() {
            Some(value) => Cell::Value(value),
            None if pair["reachable"] == false => Cell::Missing(in_vain(pair)),
            None => Cell::None,
        }
    };
    let cells = from.iter().map(|from| to.iter().map(|to| cell(from, to)).collect()).collect();
    let heat =
        Heat { what: what.to_owned(), form, down: ("from".to_owned(), from), across: ("to".to_owned(), to), cells }
            .shown()?;
    Some(Figure::new(title, heat))
}

/// Why one does not reach the other.
fn in_vain(pair: &Value) -> String {
    let causes: Vec<&str> = pair["in_vain"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    format!("not reached: {}", causes.join("; "))
}
