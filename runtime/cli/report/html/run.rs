//! What the ranks of a job observed of themselves.

use serde_json::{Value, json};

use super::results;
use super::section::Section;
use crate::report::results::{Form, Results, Table};
use lathide::observe::{Report, closing};

/// The section of a list of reports.
pub(super) fn section(file: &str, reports: &Value) -> Section {
    let mut results = Results::new("lathide-run-1", "Run", &json!({ "reports": reports }));
    match serde_json::from_value::<Vec<Report>>(reports.clone()) {
        Ok(reports) => show(&mut results, &reports),
        Err(error) => _ = results.text(format!("The reports cannot be read: {error}.")),
    }
    results::section(file, &results)
}

fn cut_links(reports: &[Report]) -> Vec<Value> {
    let links = reports.iter().flat_map(|report| report.links.iter().map(move |link| (report.rank, link)));
    let cut = links.filter(|(_, link)| link.cuts > 0).map(|(rank, link)| {
        json!({
            "rank": rank, "peer": link.peer, "cuts": link.cuts, "down_s": link.down_s,
            "wrong_checksums": link.wrong_checksums, "sent_again_bytes": link.sent_again_bytes,
        })
    });
    cut.collect()
}

fn show(results: &mut Results, reports: &[Report]) {
    let size = reports.first().map_or(0, |report| report.size);
    closing(reports, size).into_iter().for_each(|line| _ = results.text(line));
    results.table(
        Table::of("reports")
            .column("rank", "rank", Form::Count)
            .column("t_calc_s", "t_calc", Form::Seconds)
            .column("t_com_s", "t_com", Form::Seconds)
            .column("t_wait_s", "t_wait", Form::Seconds)
            .column("t_exposed_s", "t_exposed", Form::Seconds)
            .column("gamma", "gamma", Form::Fixed(3))
            .column("f", "f", Form::Fixed(3))
            .column("omega", "Omega", Form::Fixed(3))
            .column("hidden", "hidden", Form::Percent(0))
            .column("gain_observed", "G observed", Form::Fixed(3))
            .column("gain_model", "G eq. (4)", Form::Fixed(3)),
    );
    let cut = cut_links(reports);
    if !cut.is_empty() {
        results.text("Links whose connection was cut, as each end saw it:").table(
            Table::with(cut)
                .column("rank", "rank", Form::Count)
                .column("peer", "link to", Form::Count)
                .column("cuts", "cuts", Form::Count)
                .column("wrong_checksums", "by a wrong checksum", Form::Count)
                .column("down_s", "down for", Form::Seconds)
                .column("sent_again_bytes", "bytes sent again", Form::Count),
        );
    }
    for report in reports {
        let figures = report.advice.figures.iter().filter_map(|figure| serde_json::to_value(figure).ok());
        results.text(format!("Advice for rank {}: {}.", report.rank, report.advice.words)).table(
            Table::with(figures.collect())
                .column("name", "figure", Form::Word)
                .column("value", "value", Form::Fixed(4))
                .column("formula", "formula (Strumpen 1994)", Form::Word),
        );
    }
}
