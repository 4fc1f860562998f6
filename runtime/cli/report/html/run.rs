//! What the ranks of a job observed of themselves.

use serde_json::Value;

use super::markup::{escaped, paragraph, share, table};
use super::section::Section;
use crate::report::format::seconds as time;
use lathide::observe::{Report, closing};

/// The section of a list of reports.
pub(super) fn section(file: &str, reports: &Value) -> Section {
    let title = format!("Run: {}", escaped(file));
    let reports: Vec<Report> = match serde_json::from_value(reports.clone()) {
        Ok(reports) => reports,
        Err(error) => return Section { title, body: paragraph(&format!("The reports cannot be read: {error}.")) },
    };
    let size = reports.first().map_or(0, |report| report.size);
    let mut body: String = closing(&reports, size).iter().map(|line| paragraph(line)).collect();
    let ratio = |value: Option<f64>| value.map_or("-".to_owned(), |value| format!("{value:.3}"));
    let rows = reports.iter().map(|report| {
        vec![
            report.rank.to_string(),
            time(report.t_calc_s),
            report.t_com_s.map_or("-".to_owned(), time),
            time(report.t_wait_s),
            time(report.t_exposed_s),
            ratio(report.gamma),
            ratio(report.f),
            ratio(report.omega),
            report.hidden.map_or("-".to_owned(), share),
            ratio(report.gain_observed),
            ratio(report.gain_model),
        ]
    });
    let titles =
        ["rank", "t_calc", "t_com", "t_wait", "t_exposed", "gamma", "f", "Omega", "hidden", "G observed", "G eq. (4)"];
    body += &table(&titles, rows);
    body += "<h3>Advice</h3>\n";
    for report in &reports {
        body += &paragraph(&format!("Rank {}: {}.", report.rank, report.advice.words));
        let rows = report
            .advice
            .figures
            .iter()
            .map(|figure| vec![figure.name.clone(), format!("{:.4}", figure.value), figure.formula.clone()]);
        if !report.advice.figures.is_empty() {
            body += &table(&["figure", "value", "formula (Strumpen 1994)"], rows);
        }
    }
    Section { title, body }
}
