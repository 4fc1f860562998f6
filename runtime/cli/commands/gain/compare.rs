//! The gain of a user's own program: its time with overlap off over that with overlap on. Pure.

use crate::report::description::MachineDescription;
use crate::report::summary::Summary;
use crate::report::table::Table;
use crate::report::wrap;
use lathide::observe::{Report, closing};
use serde::Serialize;

use crate::commands::common::console::{Link, milliseconds};

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-program-1";

/// One repetition: seconds with overlap off and on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Run {
    pub(super) off_s: f64,
    pub(super) on_s: f64,
}

/// The result for a program. Times are in seconds: medians, with the least and the greatest beside them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Comparison {
    schema: &'static str,
    lathide: &'static str,
    machine: MachineDescription,
    link: Link,
    command: Vec<String>,
    ranks: u32,
    repeats: usize,
    /// What the times are: "joined" from the last rank joining to the last one leaving, "process" from the
    /// start of the first process to the end of the last.
    clock: &'static str,
    t_off_s: f64,
    t_off_s_min: f64,
    t_off_s_max: f64,
    t_on_s: f64,
    t_on_s_min: f64,
    t_on_s_max: f64,
    /// `t_off_s / t_on_s` within a repetition; the median.
    gain: f64,
    gain_min: f64,
    gain_max: f64,
    /// The share of repetitions that were faster with overlap.
    gaining: f64,
    /// What the ranks observed in a run with overlap, G as measured among it; none if it never joined a job.
    reports: Vec<Report>,
    /// The same in words, as at the end of `lathide run --report`.
    closing: Vec<String>,
}

impl Comparison {
    /// Sums up the repetitions; `None` if there are none, or one took no time.
    pub(super) fn new(
        link: Link,
        command: Vec<String>,
        ranks: u32,
        joined: bool,
        runs: &[Run],
        mut reports: Vec<Report>,
    ) -> Option<Self> {
        let off = Summary::of(runs.iter().map(|run| run.off_s))?;
        let on = Summary::of(runs.iter().map(|run| run.on_s))?;
        let gain = Summary::of(runs.iter().map(|run| run.off_s / run.on_s))?;
        if on.min <= 0.0 || off.min <= 0.0 {
            return None;
        }
        reports.iter_mut().for_each(|report| report.gain_measured = Some(gain.median));
        let closing = if reports.is_empty() { Vec::new() } else { closing(&reports, ranks) };
        Some(Comparison {
            schema: SCHEMA,
            lathide: env!("CARGO_PKG_VERSION"),
            machine: MachineDescription::here(),
            link,
            command,
            ranks,
            repeats: runs.len(),
            clock: if joined { "joined" } else { "process" },
            t_off_s: off.median,
            t_off_s_min: off.min,
            t_off_s_max: off.max,
            t_on_s: on.median,
            t_on_s_min: on.min,
            t_on_s_max: on.max,
            // Ratios within a repetition, since the machine's speed drifts from one to the next.
            gain: gain.median,
            gain_min: gain.min,
            gain_max: gain.max,
            gaining: runs.iter().filter(|run| run.off_s > run.on_s).count() as f64 / runs.len() as f64,
            reports,
            closing,
        })
    }

    /// Header, table and conclusion.
    pub(super) fn text(&self) -> String {
        let MachineDescription { cores, kernel, congestion_control } = &self.machine;
        let clock = match self.clock {
            "joined" => "from the last rank joining to the last one leaving",
            _ => "of the whole run, start and end of the processes included, since the program never joined a job",
        };
        let header = [
            format!("Gain of latency hiding for {} on {} ranks.", self.command.join(" "), self.ranks),
            format!("Link: {}.", self.link.how),
            format!("Machine: {cores} cores, {kernel}, TCP {congestion_control}."),
            format!("Times are {clock}; overlap off and on in turns, {} repetitions.", self.repeats),
        ]
        .map(|paragraph| wrap(&paragraph))
        .join("\n");
        let mut table = Table::new(["LATHIDE_OVERLAP", "median ms", "min ms", "max ms"]);
        table.row([
            "off".to_owned(),
            milliseconds(self.t_off_s),
            milliseconds(self.t_off_s_min),
            milliseconds(self.t_off_s_max),
        ]);
        table.row([
            "on".to_owned(),
            milliseconds(self.t_on_s),
            milliseconds(self.t_on_s_min),
            milliseconds(self.t_on_s_max),
        ]);
        let mut parts = vec![header, table.to_string()];
        if !self.closing.is_empty() {
            let lines: Vec<String> = self.closing.iter().map(|line| wrap(line)).collect();
            parts.push(lines.join("\n"));
        }
        parts.push(wrap(&self.conclusion()));
        parts.join("\n\n")
    }

    fn conclusion(&self) -> String {
        let Comparison { gain, gain_min, gain_max, gaining, .. } = self;
        let range = format!("G = {gain:.2} ({gain_min:.2} to {gain_max:.2})");
        // One repetition that another program disturbed must not hide what all others show.
        if *gaining >= 0.75 && *gain >= 1.02 {
            let saved = 100.0 * (1.0 - 1.0 / gain);
            format!("Overlap pays for this program: {range}; it saves {saved:.0} % of the time.")
        } else if *gaining <= 0.25 && *gain <= 0.98 {
            format!(
                "Overlap costs this program time: {range}. Compare with --link: hiding pays where the link is slow."
            )
        } else {
            format!(
                "Overlap makes no clear difference for this program: {range}. It can hide communication only between an \
                 initread or initwrite and its wait, and only where the link, not the processor, is what is waited for."
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::report::WIDTH;

    use super::*;

    fn comparison(runs: &[Run]) -> Option<Comparison> {
        let link = Link { spec: "loopback".into(), emulated: false, how: "loopback".into() };
        Comparison::new(link, vec!["./heat".into(), "--steps".into(), "9".into()], 4, true, runs, Vec::new())
    }

    fn runs(pairs: &[(f64, f64)]) -> Vec<Run> {
        pairs.iter().map(|(off_s, on_s)| Run { off_s: *off_s, on_s: *on_s }).collect()
    }

    #[test]
    fn gain_of_medians() {
        let result = comparison(&runs(&[(2.0, 1.0), (3.0, 2.0), (2.2, 1.1)])).unwrap();
        assert!((result.gain - 2.0).abs() < 1e-12);
        assert_eq!((result.gain_min, result.gain_max), (1.5, 2.0));
        let text = result.text();
        assert!(text.contains("Overlap pays") && text.contains("./heat --steps 9 on 4 ranks"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let json = serde_json::to_value(&result).unwrap();
        assert!(json["t_on_s_max"].is_f64() && json["schema"] == SCHEMA && json["ranks"] == 4);
    }

    #[test]
    fn verdicts_need_most_repetitions() {
        let says = |pairs: &[(f64, f64)]| comparison(&runs(pairs)).unwrap().conclusion();
        assert!(says(&[(1.0, 1.2), (1.0, 1.1)]).contains("costs"));
        assert!(says(&[(1.5, 1.0), (0.9, 1.0), (1.6, 1.0)]).contains("no clear difference"));
        assert!(says(&[(1.2, 1.0), (0.9, 1.0), (1.2, 1.0), (1.2, 1.0), (1.2, 1.0)]).contains("pays"));
        assert!(says(&[(1.001, 1.0)]).contains("no clear difference"));
    }

    #[test]
    fn nothing_from_nothing() {
        assert_eq!(comparison(&[]), None);
        assert_eq!(comparison(&runs(&[(1.0, 0.0)])), None);
    }
}
