//! The result for people: header, a table and a curve per operation, and what it comes to.

use crate::report::description::MachineDescription;
use crate::report::plot::{Chart, Stroke};
use crate::report::table::Table;
use crate::report::wrap;
use lathide::Collective;

use super::outcome::{Measured, Outcome, cells, worse};
use super::plan::Parameters;
use crate::commands::common::console::{grouped, milliseconds};

/// From here on the reader is warned.
const BACKGROUND_MIN: f64 = 0.05;
/// Signs of algorithms in charts.
const SIGNS: [char; 6] = ['*', 'o', '+', 'x', '#', '@'];

impl Outcome {
    /// Header, tables, curves and conclusion.
    pub(super) fn text(&self, colour: bool) -> String {
        let mut parts = vec![self.header()];
        for operation in Collective::ALL {
            let points: Vec<&Measured> = self.points.iter().filter(|point| point.operation == operation).collect();
            if points.is_empty() {
                continue;
            }
            parts.push(self.table(operation, &points));
            parts.push(curve(&points, colour));
        }
        parts.extend([self.overlap(), self.errors(), self.conclusion(), self.warning()]);
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n")
    }

    fn header(&self) -> String {
        let MachineDescription { cores, kernel, congestion_control } = &self.machine;
        let lines = [
            "Collectives by every algorithm, beside their prices by the link's parameters (a, b).".to_owned(),
            format!("Link: {}.", self.link.how),
            format!(
                "Machine: {cores} cores, {kernel}, TCP {congestion_control}. Medians of {}, in turns, of the slowest rank's \
                 time.",
                self.repeats
            ),
        ];
        let lines = lines.into_iter().chain(self.paths());
        lines.map(|line| wrap(&line)).collect::<Vec<_>>().join("\n")
    }

    /// Where the model is of another network than the emulated one.
    fn paths(&self) -> Option<String> {
        let is_fan = self.points.iter().any(|point| point.ranks > 2);
        (is_fan && self.link.emulated && !self.link.spec.contains("shared")).then(|| {
            "Over this link each pair of ranks has a path of its own. Prices are of ranks with one port each: too high where a \
             rank sends to several at once, or receives from them. In `lathide lab` each host has one port."
                .to_owned()
        })
    }

    fn table(&self, operation: Collective, points: &[&Measured]) -> String {
        let mut table = Table::new([
            "ranks",
            "bytes",
            "algorithm",
            "measured\nms",
            "\nmin .. max",
            "predicted\nms",
            "error\n%",
            "chosen",
            "of the\nfastest",
        ]);
        let cells = cells(&self.points);
        for point in points {
            let worse = cells.get(&(operation, point.ranks, point.bytes)).and_then(|cell| worse(cell));
            table.row([
                point.ranks.to_string(),
                grouped(point.bytes as usize),
                point.algorithm.clone(),
                milliseconds(point.measured_s),
                format!("{} .. {}", milliseconds(point.measured_s_min), milliseconds(point.measured_s_max)),
                milliseconds(point.predicted_s),
                format!("{:+.0}", 100.0 * point.error),
                if point.chosen { "<-" } else { "" }.to_owned(),
                worse.filter(|_| point.chosen).map(|worse| format!("{worse:.2}")).unwrap_or_default(),
            ]);
        }
        let parameters: String =
            self.parameters.iter().filter(|of| of.operation == operation).map(parameters).collect();
        format!("{operation}\n{parameters}{table}")
    }

    fn overlap(&self) -> String {
        if self.overlap.is_empty() {
            return String::new();
        }
        let mut table = Table::new([
            "operation",
            "ranks",
            "bytes",
            "t_calc\nms",
            "t_com\nms",
            "t_total\nms",
            "overlap\n%",
            "\nmin .. max",
            "messages\n%",
            "\nmin .. max",
        ]);
        for row in &self.overlap {
            let percent = |share: f64| format!("{:.0}", 100.0 * share);
            table.row([
                row.operation.to_string(),
                row.ranks.to_string(),
                grouped(row.bytes as usize),
                milliseconds(row.t_calc_s),
                milliseconds(row.t_com_s),
                milliseconds(row.t_total_s),
                percent(row.overlap),
                format!("{} .. {}", percent(row.overlap_min), percent(row.overlap_max)),
                percent(row.messages_overlap),
                format!("{} .. {}", percent(row.messages_overlap_min), percent(row.messages_overlap_max)),
            ]);
        }
        let most = self.overlap.iter().map(|row| row.ranks as usize).max().unwrap_or(0);
        let shared = if most > self.machine.cores {
            format!(
                " With more than {} ranks they share this machine's cores, for the calculation as for the messages.",
                self.machine.cores
            )
        } else {
            String::new()
        };
        let title = format!(
            "Each of a row behind a calculation of about 1.1 t_com on all ranks at once, roots in turn. Overlap: 1 - (t_total - \
             t_calc) / t_com; of messages: that of as many bytes point to point, in the same minute.{shared}"
        );
        format!("{}\n{table}", wrap(&title))
    }

    fn errors(&self) -> String {
        let mut table = Table::new(["operation", "points", "median\nerror %", "p90\nerror %"]);
        for (operation, errors) in &self.errors {
            let percent = |share: f64| format!("{:.0}", 100.0 * share);
            table.row([operation.to_string(), errors.points.to_string(), percent(errors.median), percent(errors.p90)]);
        }
        format!("Predicted against measured.\n{table}")
    }

    /// What it means.
    fn conclusion(&self) -> String {
        let Some(share) = self.choice.share else {
            return wrap("Nothing was to be chosen: of no operation the chosen algorithm and another were measured.");
        };
        wrap(&format!(
            "The chosen algorithm is the fastest or within 10 % of it in {} of {} cases ({:.0} %).",
            self.choice.good,
            self.choice.points,
            100.0 * share
        ))
    }

    /// When not to trust the numbers.
    fn warning(&self) -> String {
        let Some(share) = self.others_share.filter(|share| *share >= BACKGROUND_MIN) else { return String::new() };
        wrap(&format!(
            "Other programs had {:.0} % of the processors' time: measure again when the machine is quiet.",
            100.0 * share
        ))
    }
}

/// What prices follow from, a line.
fn parameters(parameters: &Parameters) -> String {
    let Parameters { ranks, a_s, b_s_per_byte, overhead_s, is_fitted, .. } = parameters;
    let how = if *is_fitted { "fitted" } else { "assumed: the links have not shown enough" };
    let (a, b, overhead) = (1e6 * a_s, 1e9 * b_s_per_byte, 1e6 * overhead_s);
    wrap(&format!(
        "{ranks} ranks: a = {a:.1} us ({overhead:.1} us of processor at each end), b = {b:.3} ns per byte, {how}."
    )) + "\n"
}

/// Times over sizes among the most ranks: signs measured, curves predicted. Of many algorithms the first.
fn curve(points: &[&Measured], colour: bool) -> String {
    let Some(ranks) = points.iter().map(|point| point.ranks).max() else { return String::new() };
    let points: Vec<&&Measured> = points.iter().filter(|point| point.ranks == ranks && point.bytes > 0).collect();
    let mut algorithms: Vec<&str> = Vec::new();
    for point in &points {
        if !algorithms.contains(&point.algorithm.as_str()) {
            algorithms.push(&point.algorithm);
        }
    }
    if points.iter().all(|point| point.bytes == points[0].bytes) {
        return String::new();
    }
    // The logarithm, since times differ as much as sizes.
    let mut chart = Chart::new("bytes", "lg ms").x_in_bytes();
    for (name, sign) in algorithms.iter().zip(SIGNS) {
        let of = |value: fn(&Measured) -> f64| {
            let own = points.iter().filter(|point| point.algorithm == *name);
            own.map(|point| (point.bytes as f64, (1e3 * value(point)).log10())).collect::<Vec<_>>()
        };
        chart = chart.curve("", Stroke::Dotted, of(|point| point.predicted_s));
        chart = chart.points(*name, sign, of(|point| point.measured_s));
    }
    format!("{ranks} ranks; signs: measured, dots: predicted\n{}", chart.render(colour))
}
