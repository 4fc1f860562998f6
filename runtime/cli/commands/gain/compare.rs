//! The gain of a user's own program: its time with overlap off over that with overlap on. Pure.

use crate::report::description::MachineDescription;
use crate::report::results::{Form, Results, Table};
use crate::report::summary::Summary;
use lathide::observe::{Report, closing};
use serde::Serialize;
use serde_json::json;

use crate::commands::common::console::Link;

/// The version of the JSON object; it changes when a member changes its meaning or goes.
const SCHEMA: &str = "lathide-gain-program-2";

/// One repetition: seconds with overlap off and on.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) struct Run {
    pub(super) off_s: f64,
    pub(super) on_s: f64,
}

/// The result for a program. Times are in seconds: medians, with the least and the greatest beside them.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Comparison {
    link: Link,
    machine: MachineDescription,
    command: Vec<String>,
    ranks: u32,
    repeats: usize,
    /// What the times are: "joined" from the last rank joining to the last one leaving, "process" from the
    /// start of the first process to the end of the last.
    clock: &'static str,
    /// With overlap off, and on.
    t_off_s: Summary,
    t_on_s: Summary,
    /// `t_off_s / t_on_s` within a repetition, since the machine's speed drifts from one to the next.
    gain: Summary,
    /// The share of repetitions that were faster with overlap.
    gaining: f64,
    /// What the ranks observed in a run with overlap, G as measured among it; none if it never joined a job.
    reports: Vec<Report>,
    /// The same in words, as at the end of `lathide run --report`.
    closing: Vec<String>,
}

/// Sums up the repetitions; `None` if there are none, or one took no time.
pub(super) fn compare(
    link: Link,
    command: Vec<String>,
    ranks: u32,
    joined: bool,
    runs: &[Run],
    mut reports: Vec<Report>,
) -> Option<Results> {
    let t_off_s = Summary::of(runs.iter().map(|run| run.off_s))?;
    let t_on_s = Summary::of(runs.iter().map(|run| run.on_s))?;
    let gain = Summary::of(runs.iter().map(|run| run.off_s / run.on_s))?;
    if t_on_s.min <= 0.0 || t_off_s.min <= 0.0 {
        return None;
    }
    reports.iter_mut().for_each(|report| report.gain_measured = Some(gain.median));
    let closing = if reports.is_empty() { Vec::new() } else { closing(&reports, ranks) };
    let comparison = Comparison {
        link,
        machine: MachineDescription::here(),
        command,
        ranks,
        repeats: runs.len(),
        clock: if joined { "joined" } else { "process" },
        t_off_s,
        t_on_s,
        gain,
        gaining: runs.iter().filter(|run| run.off_s > run.on_s).count() as f64 / runs.len() as f64,
        reports,
        closing,
    };
    Some(comparison.results())
}

impl Comparison {
    fn results(&self) -> Results {
        let title = format!("Gain of latency hiding for {} on {} ranks", self.command.join(" "), self.ranks);
        let mut results = Results::new(SCHEMA, title, self);
        let clock = match self.clock {
            "joined" => "from the last rank joining to the last one leaving",
            _ => "of the whole run, start and end of the processes included, since the program never joined a job",
        };
        let row = |overlap: &str, Summary { median, min, max }: Summary| json!({ "overlap": overlap, "median_s": median, "min_s": min, "max_s": max });
        let rows = vec![row("off", self.t_off_s), row("on", self.t_on_s)];
        results.text(format!("Times are {clock}; overlap off and on in turns.")).table(
            Table::with(rows)
                .column("overlap", "LATHIDE_OVERLAP", Form::Word)
                .column("median_s", "median", Form::Seconds)
                .column("min_s", "min", Form::Seconds)
                .column("max_s", "max", Form::Seconds),
        );
        self.closing.iter().for_each(|line| _ = results.text(line));
        results.conclusion = self.conclusion();
        results
    }

    fn conclusion(&self) -> String {
        let Comparison { gain: Summary { median: gain, min, max }, gaining, .. } = self;
        let range = format!("G = {gain:.2} ({min:.2} to {max:.2})");
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
    use crate::report::text::text;

    use super::*;

    fn comparison(runs: &[Run]) -> Option<Results> {
        let link = Link { spec: "loopback".into(), emulated: false, how: "loopback".into() };
        compare(link, vec!["./heat".into(), "--steps".into(), "9".into()], 4, true, runs, Vec::new())
    }

    fn runs(pairs: &[(f64, f64)]) -> Vec<Run> {
        pairs.iter().map(|(off_s, on_s)| Run { off_s: *off_s, on_s: *on_s }).collect()
    }

    #[test]
    fn gain_of_medians() {
        let result = comparison(&runs(&[(2.0, 1.0), (3.0, 2.0), (2.2, 1.1)])).unwrap();
        let gain = ["gain", "gain_min", "gain_max"].map(|member| result.data[member].as_f64().unwrap());
        assert_eq!(gain, [2.0, 1.5, 2.0]);
        let text = text(&result, false);
        assert!(text.contains("Overlap pays") && text.contains("./heat --steps 9 on 4 ranks"), "{text}");
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");
        let json = serde_json::to_value(&result).unwrap();
        assert!(json["t_on_s_max"].is_f64() && json["schema"] == SCHEMA && json["ranks"] == 4);
    }

    #[test]
    fn verdicts_need_most_repetitions() {
        let says = |pairs: &[(f64, f64)]| comparison(&runs(pairs)).unwrap().conclusion;
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
