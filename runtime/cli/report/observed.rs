//! Ranks and regions: what each spent its time with, and what it sent. Pure.

use lathide::Rank;
use lathide::observe::{Figures, Report};
use serde::Serialize;
use serde_json::Value;

use super::results::{Form, Table};

/// Of more ranks than this, only what is typical is shown.
const RANKS_MAX: usize = 4;
/// Of more regions than this, only those that take most of the time are shown.
const REGIONS_MAX: usize = 6;
/// What stands in the place of a region's name.
const WHOLE: &str = "all";

/// What a rank did in a region, or all together.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Observed {
    rank: Rank,
    /// `None`: all that the rank did.
    region: Option<String>,
    time_s: f64,
    t_calc_s: f64,
    t_wait_s: f64,
    t_com_s: Option<f64>,
    hidden: Option<f64>,
    messages_sent: u64,
    bytes_sent: u64,
    messages_received: u64,
    bytes_received: u64,
}

impl Observed {
    fn new(rank: Rank, region: Option<&str>, time_s: f64, figures: Figures) -> Self {
        let Figures { t_calc_s, t_wait_s, t_com_s, hidden, .. } = figures;
        let Figures { messages_sent, bytes_sent, messages_received, bytes_received, .. } = figures;
        let region = region.map(str::to_owned);
        Observed {
            rank,
            region,
            time_s,
            t_calc_s,
            t_wait_s,
            t_com_s,
            hidden,
            messages_sent,
            bytes_sent,
            messages_received,
            bytes_received,
        }
    }
}

/// Every rank with all that it did, and with each of its regions.
pub(crate) fn observed(reports: &[Report]) -> Vec<Observed> {
    let of_rank = |report: &Report| {
        let whole = Observed::new(report.rank, None, report.elapsed_s, report.figures());
        let regions = report
            .regions
            .iter()
            .map(|region| Observed::new(report.rank, Some(&region.name), region.elapsed_s, region.figures.clone()));
        [vec![whole], regions.collect()].concat()
    };
    reports.iter().flat_map(of_rank).collect()
}

/// The same as a table that fits a screen: of many ranks the medians, of many regions those that take most of the time.
pub(crate) fn table(all: &[Observed]) -> Table {
    let regions = regions(all);
    let ranks = all.iter().filter(|one| one.region.is_none()).count();
    let mut rows = Vec::new();
    if ranks <= RANKS_MAX {
        let shown = |one: &&Observed| one.region.as_ref().is_none_or(|region| regions.contains(&region.as_str()));
        rows.extend(all.iter().filter(shown).map(row));
    } else {
        for region in std::iter::once(None).chain(regions.iter().map(|region| Some(*region))) {
            let of: Vec<Value> = all.iter().filter(|one| one.region.as_deref() == region).map(row).collect();
            rows.extend(medians(&of));
        }
    }
    Table::with(rows)
        .column("rank", if ranks <= RANKS_MAX { "rank" } else { "ranks\n(medians)" }, Form::Word)
        .column("region", "region", Form::Word)
        .column("time_s", "time", Form::Seconds)
        .column("t_calc_s", "calculation", Form::Seconds)
        .column("t_wait_s", "waiting", Form::Seconds)
        .column("hidden", "hidden", Form::Percent(0))
        .column("messages_sent", "messages\nout", Form::Count)
        .column("bytes_sent", "bytes\nout", Form::Count)
        .column("messages_received", "messages\nin", Form::Count)
        .column("bytes_received", "bytes\nin", Form::Count)
}

/// The names of the regions to show, in the order in which they were first entered.
fn regions(all: &[Observed]) -> Vec<&str> {
    let mut names: Vec<(&str, f64)> = Vec::new();
    for (name, time_s) in all.iter().filter_map(|one| Some((one.region.as_deref()?, one.time_s))) {
        match names.iter_mut().find(|(known, _)| *known == name) {
            Some((_, sum_s)) => *sum_s += time_s,
            None => names.push((name, time_s)),
        }
    }
    let mut times: Vec<f64> = names.iter().map(|(_, time_s)| *time_s).collect();
    times.sort_by(|one, other| other.total_cmp(one));
    let least_s = times.get(REGIONS_MAX - 1).copied().unwrap_or(0.0);
    let shown = names.into_iter().filter(|(_, time_s)| *time_s >= least_s);
    shown.map(|(name, _)| name).take(REGIONS_MAX).collect()
}

fn row(one: &Observed) -> Value {
    let mut row = serde_json::to_value(one).unwrap_or_default();
    row["rank"] = one.rank.to_string().into();
    row["region"] = one.region.as_deref().unwrap_or(WHOLE).into();
    row
}

/// The median of each member, of those that have it, and of how many ranks.
fn medians(rows: &[Value]) -> Option<Value> {
    let mut median = rows.first()?.clone();
    for (key, value) in
        median.as_object_mut()?.iter_mut().filter(|(key, _)| !["rank", "region"].contains(&key.as_str()))
    {
        let mut values: Vec<&Value> = rows.iter().map(|row| &row[key]).filter(|value| value.is_number()).collect();
        values.sort_by(|one, other| one.as_f64().unwrap_or(0.0).total_cmp(&other.as_f64().unwrap_or(0.0)));
        *value = values.get(values.len() / 2).copied().cloned().unwrap_or_default();
    }
    median["rank"] = rows.len().to_string().into();
    Some(median)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::report::screen::Screen;
    use crate::report::text;

    /// A rank with regions that took so long.
    fn report(rank: u32, regions: &[(&str, f64)]) -> Report {
        let region = |(name, time_s): &(&str, f64)| {
            let figures = json!({
                "t_calc_s": time_s * 0.75, "t_wait_s": time_s * 0.25, "hidden": 0.5,
                "messages_sent": 10, "bytes_sent": 8000, "messages_received": 10, "bytes_received": 8000,
            });
            json!({ "name": name, "entered": 1, "elapsed_s": time_s, "within_s": time_s, "figures": figures })
        };
        let report = json!({
            "rank": rank, "size": 9, "overlap": true, "elapsed_s": 10.0, "threads": 1, "t_calc_s": 8.0, "t_post_s": 0.1,
            "t_wait_s": 1.0 + f64::from(rank), "t_exposed_s": 0.5, "t_com_s": 1.0, "hidden": 0.5, "links": [],
            "advice": { "limit": "calculation", "words": "", "figures": [] }, "notes": [],
            "regions": regions.iter().map(region).collect::<Vec<_>>(),
        });
        serde_json::from_value(report).expect("a report")
    }

    fn shown(reports: &[Report], width: usize) -> Vec<String> {
        let text = text::table(&table(&observed(reports)), Screen::of(width, false));
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
    }

    #[test]
    fn few_ranks_stand_one_by_one() {
        let reports = [0, 1].map(|rank| report(rank, &[("solve", 6.0), ("check", 1.0)]));
        let lines = shown(&reports, 120);
        assert_eq!(lines.len(), 3 + 6, "{lines:#?}");
        assert!(lines[3].starts_with("0 all 10.00 8.000 1.000 50"), "{lines:#?}");
        assert!(lines[7].starts_with("1 solve 6.000 4.500 1.500 50 10 8000 10 8000"), "{lines:#?}");
        let narrow = text::table(&table(&observed(&reports)), Screen::of(60, false));
        assert!(narrow.lines().all(|line| line.chars().count() <= 60), "{narrow}");
    }

    #[test]
    fn many_ranks_and_regions_are_cut_down() {
        let names: Vec<String> = (0..20).map(|at| format!("r{at}")).collect();
        let regions: Vec<(&str, f64)> = names.iter().enumerate().map(|(at, name)| (&**name, 1.0 + at as f64)).collect();
        let reports: Vec<Report> = (0..9).map(|rank| report(rank, &regions)).collect();
        let lines = shown(&reports, 120);
        assert_eq!(lines.len(), 3 + 1 + REGIONS_MAX, "{lines:#?}");
        assert!(lines[3].starts_with("9 all 10.00 8.000 5.000 50"), "medians: {lines:#?}");
        assert!(lines[4].starts_with("9 r14 15.00"), "{lines:#?}");
        let all = observed(&reports);
        assert_eq!(all.len(), 9 * 21);
        let json = serde_json::to_value(&all[1]).expect("JSON");
        assert_eq!((&json["rank"], &json["region"], &json["bytes_sent"]), (&json!(0), &json!("r0"), &json!(8000)));
        assert_eq!(serde_json::to_value(&all[0]).expect("JSON")["region"], Value::Null);
    }

    #[test]
    fn nobody_is_no_row() {
        assert_eq!(shown(&[], 80), Vec::<String>::new());
    }
}
