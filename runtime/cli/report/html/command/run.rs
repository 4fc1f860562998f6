//! What became of a job, and what its ranks observed of themselves.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::layout;
use crate::report::html::figure::Figure;
use crate::report::html::figure::bars::Bars;
use crate::report::html::figure::heat::{Cell, Heat};
use crate::report::html::section::{Section, list};
use crate::report::results::{Axis, Form, Results, Table};
use lathide::observe::{Report, closing};

/// Ranks and regions that are shown; more do not fit a page.
const ROWS_MAX: usize = 32;

/// The section of a list of reports.
pub(super) fn of_reports(file: &str, reports: &Value) -> Section {
    section(file, reports, Results::new("lathide-run-1", "Run", &json!({ "reports": reports })))
}

/// The section of `lathide run --json`.
pub(super) fn of_job(file: &str, job: &Value) -> Section {
    let title = job["program"].as_str().map_or("Run".to_owned(), |program| format!("Run of {program}"));
    let mut results = Results::new("lathide-run-1", title, &json!({ "reports": job["reports"], "ends": job["ranks"] }));
    if let Some(status) = job["exit_status"].as_i64() {
        let first = job["first_failure"]["rank"].as_u64();
        let first = first.map_or(String::new(), |rank| format!(" Rank {rank} failed first."));
        results.conclusion = format!("The job ended with exit status {status}.{first}");
    }
    if list(job, "ranks").iter().any(|rank| rank["status"] != 0) {
        results.table(
            Table::of("ends")
                .title("How the ranks ended.")
                .column("rank", "rank", Form::Count)
                .column("host", "host", Form::Word)
                .column("status", "status", Form::Count)
                .column("signal", "signal", Form::Count)
                .column("ended_s", "ended after", Form::Seconds),
        );
    }
    section(file, &job["reports"], results)
}

fn section(file: &str, reports: &Value, mut results: Results) -> Section {
    match serde_json::from_value::<Vec<Report>>(reports.clone()) {
        Ok(reports) => show(&mut results, &reports),
        Err(error) => _ = results.text(format!("The reports cannot be read: {error}.")),
    }
    let mut section = layout::head(file, &results);
    layout::show(&mut section, &results, |member| if member == "reports" { figures(reports) } else { Vec::new() });
    section
}

/// Time by rank, and by rank and region.
pub(super) fn figures(reports: &Value) -> Vec<Figure> {
    let reports = reports.as_array().map(Vec::as_slice).unwrap_or_default();
    [by_rank(reports), by_region(reports), regions(reports)].into_iter().flatten().collect()
}

/// The numbers of these members; what is missing is nothing.
fn parts<const N: usize>(of: &Value, members: [&str; N]) -> [f64; N] {
    members.map(|member| of[member].as_f64().unwrap_or(0.0))
}

fn by_rank(reports: &[Value]) -> Option<Figure> {
    let row = |report: &Value| {
        Some((
            format!("rank {}", report["rank"].as_u64()?),
            parts(report, ["t_calc_s", "t_post_s", "t_wait_s"]).to_vec(),
        ))
    };
    let rows = reports.iter().filter_map(row).take(ROWS_MAX).collect();
    let parts = ["calculating", "posting", "waiting"].map(str::to_owned).to_vec();
    let bars = Bars { axis: Axis::linear("time of the program's threads", Form::Seconds), parts, rows }.shown()?;
    Some(Figure::new(of_ranks("Time by rank", reports), bars))
}

/// A title, and how many ranks are shown if that is not all.
fn of_ranks(title: &str, reports: &[Value]) -> String {
    let all = reports.len();
    if all > ROWS_MAX { format!("{title}, the first {ROWS_MAX} of {all} ranks") } else { title.to_owned() }
}

/// Each region on average: what it took outside of calls of lathide, and inside.
fn by_region(reports: &[Value]) -> Option<Figure> {
    let (mut order, mut sums): (Vec<&str>, BTreeMap<&str, [f64; 2]>) = (Vec::new(), BTreeMap::new());
    for region in reports.iter().flat_map(|report| list(report, "regions")) {
        let Some(name) = region["name"].as_str() else { continue };
        let [within, in_calls] = parts(region, ["within_s", "in_calls_s"]);
        let sum = sums.entry(name).or_insert_with(|| {
            order.push(name);
            [0.0; 2]
        });
        sum[0] += (within - in_calls).max(0.0) / reports.len() as f64;
        sum[1] += in_calls / reports.len() as f64;
    }
    let rows = order.iter().take(ROWS_MAX).map(|name| ((*name).to_owned(), sums[name].to_vec())).collect();
    let parts = ["calculating", "in calls of lathide"].map(str::to_owned).to_vec();
    let bars = Bars { axis: Axis::linear("time within, mean of the ranks", Form::Seconds), parts, rows }.shown()?;
    Some(Figure::new("Time by region (one inside another counts in both)", bars))
}

/// Each region on each rank.
fn regions(reports: &[Value]) -> Option<Figure> {
    let title = of_ranks("Time by rank and region", reports);
    let reports = &reports[..reports.len().min(ROWS_MAX)];
    let mut names: Vec<&str> = Vec::new();
    for name in reports.iter().flat_map(|report| list(report, "regions")).filter_map(|region| region["name"].as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let within = |report: &Value, name: &str| {
        let of = list(report, "regions").iter().find(|region| region["name"] == name);
        of.and_then(|region| region["within_s"].as_f64()).map_or(Cell::None, Cell::Value)
    };
    names.truncate(2 * ROWS_MAX);
    let cells = names.iter().map(|name| reports.iter().map(|report| within(report, name)).collect()).collect();
    let ranks = reports.iter().map(|report| format!("rank {}", report["rank"])).collect();
    let down = ("region".to_owned(), names.into_iter().map(str::to_owned).collect());
    let heat =
        Heat { what: "time within".to_owned(), form: Form::Seconds, down, across: ("rank".to_owned(), ranks), cells }
            .shown()?;
    Some(Figure::new(title, heat))
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
    let mut lines = closing(reports, size);
    // What limits the job, and what would improve it.
    if let Some(advice) = lines.pop().filter(|advice| !advice.is_empty()) {
        results.conclusion = format!("{} Advice: {advice}.", results.conclusion).trim().to_owned();
    }
    lines.into_iter().for_each(|line| _ = results.text(line));
    results.table(
        Table::of("reports")
            .title("What each rank observed of itself.")
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
