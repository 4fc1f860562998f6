//! The gain of a user's own program: its time with overlap off over that with overlap on. Pure.

use crate::report::description::MachineDescription;
use crate::report::observed::{observed, table};
use crate::report::results::{Form, Results, Table};
use crate::report::summary::Summary;
use lathide::observe::{RegionReport, Report, closing};
use serde_json::json;

use crate::commands::common::compared::{self, Compared};
use crate::commands::common::console::Link;
use lathide_models::stats::median_interval;

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-program-2";

/// One run of the program.
#[derive(Clone)]
pub(super) struct Run {
    /// Seconds from the last rank joining to the last one leaving; `None` if the ranks are not lathide programs.
    pub(super) joined_s: Option<f64>,
    /// Seconds from the start of the first process to the end of the last.
    pub(super) process_s: f64,
    /// What the ranks have observed of themselves.
    pub(super) reports: Vec<Report>,
}

impl Run {
    /// The time of a region, of the rank that took longest; `wanted` as in [`compare`].
    fn region_s(&self, wanted: Option<&str>) -> Option<f64> {
        let times = self.reports.iter().filter_map(|report| Some(region(report, wanted)?.elapsed_s));
        times.reduce(f64::max).filter(|time_s| *time_s > 0.0)
    }

    /// The names of its regions.
    pub(super) fn regions(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for region in self.reports.iter().flat_map(|report| &report.regions) {
            if !names.contains(&&*region.name) {
                names.push(&region.name);
            }
        }
        names
    }
}

/// The region of this name, or what counts of the program.
fn region<'a>(report: &'a Report, wanted: Option<&str>) -> Option<&'a RegionReport> {
    match wanted {
        Some(name) => report.regions.iter().find(|region| region.name == name),
        None => report.counted.as_ref(),
    }
}

/// What a time of a run is.
#[derive(Clone, Copy)]
enum Clock {
    Region,
    Joined,
    Process,
}

impl Clock {
    /// That which all runs have.
    fn of(runs: &[&Run], wanted: Option<&str>) -> Self {
        if !runs.is_empty() && runs.iter().all(|run| run.region_s(wanted).is_some()) {
            return Clock::Region;
        }
        if runs.iter().all(|run| run.joined_s.is_some()) { Clock::Joined } else { Clock::Process }
    }

    fn time_s(self, run: &Run, wanted: Option<&str>) -> f64 {
        let time_s = match self {
            Clock::Region => run.region_s(wanted),
            Clock::Joined => run.joined_s,
            Clock::Process => None,
        };
        time_s.unwrap_or(run.process_s)
    }

    /// Its name, and what it shows.
    fn words(self, region: Option<&str>) -> (&'static str, String) {
        match (self, region) {
            (Clock::Region, region) => (
                "region",
                format!("of the program's region {}, on the rank that took longest", region.unwrap_or_default()),
            ),
            (Clock::Joined, _) => ("joined", "from the last rank joining to the last one leaving".to_owned()),
            (Clock::Process, _) => (
                "process",
                "of the whole run, start and end of the processes included, since the program never joined a job"
                    .to_owned(),
            ),
        }
    }
}

/// Compares runs with overlap off and on, as many of each; `None` if there are none, or one took no time. `wanted`: the region
/// that is compared; without it, what counts of a program that has named some. In the JSON object:
///
/// - `clock`: what the times are, "region", "joined" or "process". `region`: which, if it is one.
/// - `t_off_s`, `t_on_s`: with overlap off, and on. `gain`: their ratio within a repetition, since the machine's speed
///   drifts from one to the next. Medians, with the least and the greatest beside them.
/// - `gaining`: the share of repetitions that were faster with overlap.
/// - `comparisons`: off over on in pairs, by the exact sign test; and runs beside their neighbours of the same setting (A/A).
/// - `rounds`: all repetitions in order, with what ran first.
/// - `observed`: a row for each rank and region. `reports`: what the ranks observed in the run with overlap that took the middle of all times, G as measured among it;
///   none if the program never joined a job. `closing`: the same in words, as at the end of `lathide run --report`.
pub(super) fn compare(
    link: Link,
    command: &[impl AsRef<str>],
    ranks: u32,
    wanted: Option<&str>,
    [off, on]: &[Vec<Run>; 2],
) -> Option<Results> {
    let command: Vec<&str> = command.iter().map(AsRef::as_ref).collect();
    let clock = Clock::of(&off.iter().chain(on).collect::<Vec<_>>(), wanted);
    let time_s = |run: &Run| clock.time_s(run, wanted);
    let t_off_s = Summary::of(off.iter().map(time_s)).filter(|time_s| time_s.min > 0.0)?;
    let t_on_s = Summary::of(on.iter().map(time_s)).filter(|time_s| time_s.min > 0.0)?;
    let pairs: Vec<(f64, f64)> = off.iter().zip(on).map(|(off, on)| (time_s(off), time_s(on))).collect();
    let compared = Compared::of("overlap off over on, which is G", pairs.iter().copied())?;
    let comparisons = [same(&pairs), Some(compared.clone())];
    let gains: Vec<f64> = off.iter().zip(on).map(|(off, on)| time_s(off) / time_s(on)).collect();
    let gain = Summary::of(gains.iter().copied())?;
    let gaining = gains.iter().filter(|gain| **gain > 1.0).count() as f64 / gains.len() as f64;
    let mut by_time: Vec<&Run> = on.iter().collect();
    by_time.sort_by(|a, b| a.process_s.total_cmp(&b.process_s));
    let mut reports = by_time[by_time.len() / 2].reports.clone();
    for report in &mut reports {
        report.gain_measured = Some(gain.median);
        report.counted = region(report, wanted).cloned();
    }
    let closing = if reports.is_empty() { Vec::new() } else { closing(&reports, ranks) };
    let observed = observed(&reports);
    let counted = reports.iter().find_map(|report| Some(&*report.counted.as_ref()?.name));
    let part = counted.filter(|_| matches!(clock, Clock::Region));
    let (clock, times) = clock.words(part);
    let data = json!({
        "link": link,
        "machine": MachineDescription::here(),
        "command": command,
        "ranks": ranks,
        "repeats": gains.len(),
        "clock": clock,
        "region": part,
        "t_off_s": t_off_s,
        "t_on_s": t_on_s,
        "gain": gain,
        "gaining": gaining,
        "gain_interval": median_interval(&gains),
        "gain_of_medians": compared.ratio_of_medians,
        "comparisons": comparisons.iter().flatten().collect::<Vec<_>>(),
        "rounds": rounds(&pairs),
        "observed": observed,
        "reports": reports,
        "closing": closing,
    });
    let title = format!("Gain of latency hiding for {} on {ranks} ranks", command.join(" "));
    let mut results = Results::new(SCHEMA, title, &data);
    let rows = [("off", t_off_s), ("on", t_on_s)].map(|(overlap, Summary { median, min, max })| {
        json!({ "overlap": overlap, "median_s": median, "min_s": min, "max_s": max })
    });
    results.text(format!("Times are {times}; overlap off and on in turns.")).table(
        Table::with(rows.into())
            .column("overlap", "LATHIDE_OVERLAP", Form::Word)
            .column("median_s", "median", Form::Seconds)
            .column("min_s", "min", Form::Seconds)
            .column("max_s", "max", Form::Seconds),
    );
    results.table(compared::table());
    closing.iter().for_each(|line| _ = results.text(line));
    results.table(table(&observed));
    results.conclusion = conclusion(gain, &compared, part);
    Some(results)
}

/// Runs beside the next of the same setting, which ran right after them: on and on, off and off.
fn same(times: &[(f64, f64)]) -> Option<Compared> {
    let neighbours = times.windows(2).enumerate().map(|(at, pair)| match at % 2 {
        0 => (pair[0].1, pair[1].1),
        _ => (pair[0].0, pair[1].0),
    });
    Compared::of("a run over the next of the same setting (A/A)", neighbours).filter(|same| same.pairs > 0)
}

fn rounds(times: &[(f64, f64)]) -> Vec<serde_json::Value> {
    let round = |(at, (off_s, on_s)): (usize, &(f64, f64))| json!({ "sequence": at, "first": if at % 2 == 0 { "off" } else { "on" }, "t_off_s": off_s, "t_on_s": on_s });
    times.iter().enumerate().map(round).collect()
}

fn conclusion(Summary { median: gain, min, max }: Summary, compared: &Compared, part: Option<&str>) -> String {
    let program = part.map_or("this program".to_owned(), |region| format!("this program's region {region}"));
    let interval = match (compared.low, compared.high, compared.confidence) {
        (Some(low), Some(high), Some(confidence)) => {
            format!("{:.0} % interval {low:.2} to {high:.2}", (100.0 * confidence).floor())
        }
        _ => format!("{min:.2} to {max:.2}, too few repetitions for an interval"),
    };
    let range = format!("G = {gain:.2} ({interval}; p = {:.3})", compared.p);
    // What is sure may still be too little to name.
    if compared.differs && gain >= 1.02 {
        let saved = 100.0 * (1.0 - 1.0 / gain);
        format!("Overlap pays for {program}: {range}; it saves {saved:.0} % of the time.")
    } else if compared.differs && gain <= 0.98 {
        format!("Overlap costs {program} time: {range}. Compare with --link: hiding pays where the link is slow.")
    } else {
        format!(
            "Overlap makes no clear difference for {program}: {range}. It can hide communication only between an \
             initread or initwrite and its wait, and only where the link, not the processor, is what is waited for."
        )
    }
}

#[cfg(test)]
mod tests {
    use crate::report::WIDTH;
    use crate::report::text::text;

    use super::*;

    /// Of runs that took so many seconds off and on.
    fn comparison(pairs: &[(f64, f64)]) -> Option<Results> {
        let link = Link { spec: "loopback".into(), emulated: false, how: "loopback".into() };
        let run = |joined_s| Run { joined_s: Some(joined_s), process_s: joined_s + 1.0, reports: Vec::new() };
        let off = pairs.iter().map(|(off_s, _)| run(*off_s)).collect();
        let on = pairs.iter().map(|(_, on_s)| run(*on_s)).collect();
        compare(link, &["./heat", "--steps", "9"], 4, None, &[off, on])
    }

    #[test]
    fn gain_of_medians() {
        let result = comparison(&[(2.0, 1.0), (3.0, 2.0), (2.2, 1.1), (2.0, 1.0), (2.0, 1.0), (2.0, 1.0)]).unwrap();
        let gain = ["gain", "gain_min", "gain_max"].map(|member| result.data[member].as_f64().unwrap());
        assert_eq!(gain, [2.0, 1.5, 2.0]);
        let text = text(&result, false);
        assert!(text.contains("Overlap pays") && text.contains("./heat --steps 9 on 4 ranks"), "{text}");
        assert!(text.contains("of the same setting (A/A)"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let json = serde_json::to_value(&result).unwrap();
        assert!(json["t_on_s_max"].is_f64() && json["schema"] == SCHEMA && json["ranks"] == 4);
        assert_eq!(json["rounds"][1], json!({"sequence": 1, "first": "on", "t_off_s": 3.0, "t_on_s": 2.0}));
        assert!(json["gain_interval"]["low"] == 1.5 && json["gain_of_medians"] == 2.0, "{json}");
        // On after off and before off, then off after off.
        assert_eq!((&json["comparisons"][0]["pairs"], &json["comparisons"][1]["pairs"]), (&5.into(), &6.into()));
    }

    #[test]
    fn verdicts_need_all_of_six_repetitions_or_most_of_many() {
        let says = |pairs: &[(f64, f64)]| comparison(pairs).unwrap().conclusion;
        assert!(says(&[(1.0, 1.2); 6]).contains("costs"));
        assert!(says(&[(1.0, 1.2); 5]).contains("no clear difference"), "five coins may fall alike");
        let mut most = vec![(1.2, 1.0); 8];
        most[3] = (0.9, 1.0);
        assert!(says(&most[..6]).contains("no clear difference"));
        most.push((1.2, 1.0));
        assert!(says(&most).contains("pays"));
        assert!(says(&[(1.001, 1.0); 9]).contains("no clear difference"));
    }

    /// A region in which two ranks were for so long.
    fn run(solve_s: [f64; 2], setup_s: f64) -> Run {
        let report = |(rank, solve_s): (usize, &f64)| {
            let region = |name: &str, time_s: f64| json!({ "name": name, "entered": 1, "elapsed_s": time_s });
            let report = json!({
                "rank": rank, "size": 2, "overlap": true, "elapsed_s": 10.0, "threads": 1, "t_calc_s": 8.0, "t_post_s": 0.1,
                "t_wait_s": 1.0, "t_exposed_s": 0.5, "links": [], "notes": [],
                "advice": { "limit": "calculation", "words": "", "figures": [] },
                "regions": [region("setup", setup_s), region("solve", *solve_s)], "counted": region("solve", *solve_s),
            });
            serde_json::from_value(report).expect("a report")
        };
        Run { joined_s: Some(10.0), process_s: 11.0, reports: solve_s.iter().enumerate().map(report).collect() }
    }

    #[test]
    fn a_marked_region_is_what_is_compared() {
        let runs = || [vec![run([2.0, 3.0], 5.0); 6], vec![run([1.5, 1.0], 4.0); 6]];
        let link = || Link { spec: "loopback".into(), emulated: false, how: "loopback".into() };
        let result = |wanted| compare(link(), &["./heat"], 2, wanted, &runs()).unwrap();
        let solve = result(None);
        assert_eq!((&solve.data["clock"], &solve.data["region"]), (&json!("region"), &json!("solve")));
        assert_eq!((&solve.data["gain"], &solve.data["t_on_s"]), (&json!(2.0), &json!(1.5)), "the slower rank");
        assert!(solve.conclusion.contains("this program's region solve: G = 2.00"), "{}", solve.conclusion);
        let text = text(&solve, false);
        assert!(text.contains("of the program's region solve") && text.contains("region solve: "), "{text}");
        assert_eq!(solve.rows("observed").len(), 6);
        let setup = result(Some("setup"));
        assert_eq!((&setup.data["gain"], &setup.data["region"]), (&json!(1.25), &json!("setup")));
        assert_eq!(runs()[0][0].regions(), ["setup", "solve"]);
    }

    #[test]
    fn nothing_from_nothing() {
        assert_eq!(comparison(&[]), None);
        assert_eq!(comparison(&[(1.0, 0.0)]), None);
    }
}
