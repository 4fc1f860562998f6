//! A summary of the reports of all ranks, in a few lines. Pure.

use std::fmt::Write;

use super::advice::Limit;
use super::figures::{Figures, Spent};
use super::links::Count;
use super::phases::Times;
use super::report::Report;
use crate::ids::Rank;

/// The summary of a job: what was observed, what limits it, what would improve it. One line each. If the program has named regions, it
/// is about what counts of it ([`Report::counted`]).
///
/// `size` is the number of ranks; failed ranks may have left no report.
pub fn closing(reports: &[Report], size: u32) -> Vec<String> {
    if reports.is_empty() {
        return vec!["no rank has reported: did it call lathide::init, and end in order?".to_owned()];
    }
    let (region, parts) = counted(reports);
    let of_region = region.map(|name| format!("region {name}: ")).unwrap_or_default();
    let mut lines = vec![format!("{of_region}{}", figures(&parts, reports))];
    if (reports.len() as u32) < size {
        lines.push(format!("{} of {size} ranks have not reported", size - reports.len() as u32));
    }
    lines.extend(cuts(reports));
    lines.push(format!("{of_region}{}", limit(&parts, &reports[0])));
    lines
}

/// Of a link that was cut.
struct Cut {
    ranks: (Rank, Rank),
    cuts: u64,
    wrong_checksums: u64,
    down_s: f64,
    again_bytes: u64,
}

/// The links that were cut, most often first. Both ends know of a cut: what one saw that saw more, and what both sent again.
fn all_cuts(reports: &[Report]) -> Vec<Cut> {
    let mut all: Vec<Cut> = Vec::new();
    for (rank, link) in reports.iter().flat_map(|report| report.links.iter().map(|link| (report.rank, link))) {
        if link.cuts == 0 {
            continue;
        }
        let ranks = (rank.min(link.peer), rank.max(link.peer));
        let (cuts, wrong_checksums) = (link.cuts, link.wrong_checksums);
        let fresh = Cut { ranks, cuts, wrong_checksums, down_s: link.down_s, again_bytes: link.sent_again_bytes };
        match all.iter_mut().find(|cut| cut.ranks == ranks) {
            Some(cut) => {
                (cut.cuts, cut.down_s) = (cut.cuts.max(link.cuts), cut.down_s.max(link.down_s));
                cut.wrong_checksums = cut.wrong_checksums.saturating_add(link.wrong_checksums);
                cut.again_bytes = cut.again_bytes.saturating_add(link.sent_again_bytes);
            }
            None => all.push(fresh),
        }
    }
    all.sort_by_key(|cut| (std::cmp::Reverse(cut.cuts), cut.ranks));
    all
}

fn cuts(reports: &[Report]) -> Option<String> {
    let all = all_cuts(reports);
    let worst = all.first()?;
    let (one, other) = worst.ranks;
    let sum: u64 = all.iter().map(|cut| cut.cuts).sum();
    let down_s: f64 = all.iter().map(|cut| cut.down_s).sum();
    let again = all.iter().fold(0u64, |sum, cut| sum.saturating_add(cut.again_bytes));
    let times = |count: u64| if count == 1 { "once".to_owned() } else { format!("{count} times") };
    let of_worst = if all.len() > 1 {
        format!("; ranks {one} and {other} {}, for {:.3} s", times(worst.cuts), worst.down_s)
    } else {
        format!(" between ranks {one} and {other}")
    };
    let links = if all.len() == 1 { "a link was".to_owned() } else { format!("{} links were", all.len()) };
    let of_checksums = match all.iter().fold(0u64, |sum, cut| sum.saturating_add(cut.wrong_checksums)) {
        0 => String::new(),
        count => format!("; {count} by a wrong checksum"),
    };
    let times = times(sum);
    Some(format!("{links} cut {times} for {down_s:.3} s in all, {again} bytes were sent again{of_worst}{of_checksums}"))
}

/// The figures of what counts on each rank: of the region, if ranks have marked one, and its name, or else of all.
fn counted(reports: &[Report]) -> (Option<&str>, Vec<(Rank, Figures)>) {
    let region = |report: &Report| Some((report.rank, report.counted.as_ref()?.figures.clone()));
    let regions: Vec<_> = reports.iter().filter_map(region).collect();
    if regions.is_empty() {
        return (None, reports.iter().map(|report| (report.rank, report.figures())).collect());
    }
    (reports.iter().find_map(|report| Some(&*report.counted.as_ref()?.name)), regions)
}

/// Medians over the ranks, with minimum and maximum.
fn figures(parts: &[(Rank, Figures)], reports: &[Report]) -> String {
    let mut line = String::new();
    let mut add = |name: &str, scale: f64, digits: usize, unit: &str, values: Vec<f64>| {
        let mut values: Vec<f64> = values.into_iter().map(|value| value * scale).collect();
        values.sort_by(f64::total_cmp);
        let (Some(least), Some(most)) = (values.first(), values.last()) else { return };
        let separator = if line.is_empty() { "" } else { ", " };
        // Writing to a string cannot fail.
        let (half, other) = (values.len() / 2, (values.len() - 1) / 2);
        let _ = write!(line, "{separator}{name} {:.digits$}", (values[half] + values[other]) / 2.0);
        if values.len() > 1 && format!("{least:.digits$}") != format!("{most:.digits$}") {
            let _ = write!(line, " ({least:.digits$} .. {most:.digits$})");
        }
        line.push_str(unit);
    };
    let of = |of: fn(&Figures) -> Option<f64>| parts.iter().filter_map(|(_, figures)| of(figures)).collect();
    add("gamma = t_calc/t_com =", 1.0, 3, "", of(|figures| figures.gamma));
    add("hidden = 1 - t_exposed/t_com =", 100.0, 0, " % of the communication", of(|figures| figures.hidden));
    let measured = reports.iter().filter_map(|report| report.gain_measured).collect();
    add("G =", 1.0, 2, " measured (off/on)", measured);
    add("G =", 1.0, 2, " as observed", of(|figures| figures.gain_observed));
    add("G =", 1.0, 2, " by eq. (4)", of(|figures| figures.gain_model));
    add("G =", 1.0, 2, " by eq. (1)", of(|figures| figures.gain_ideal));
    add("f =", 1.0, 2, " of t_calc with communication behind it", of(|figures| figures.f));
    add("Omega = (t_post + t_kernel)/t_calc =", 1.0, 3, "", of(|figures| figures.omega));
    if line.is_empty() { "nothing was calculated or communicated".to_owned() } else { line }
}

/// What limits the job, by the sums over all ranks: whichever rank is later than another waits less, and hides more.
fn limit(parts: &[(Rank, Figures)], first: &Report) -> String {
    let sum = |of: fn(&Figures) -> f64| parts.iter().map(|(_, figures)| of(figures)).sum::<f64>();
    let known = |of: fn(&Figures) -> Option<f64>| {
        parts.iter().filter_map(|(_, figures)| of(figures)).reduce(|one, other| one + other)
    };
    let count = |of: fn(&Figures) -> [u64; 2]| {
        let [messages, bytes] = parts
            .iter()
            .map(|(_, figures)| of(figures))
            .fold([0, 0], |sum: [u64; 2], one| [sum[0].saturating_add(one[0]), sum[1].saturating_add(one[1])]);
        Count { messages, bytes }
    };
    let times = Times {
        calc_s: sum(|figures| figures.t_calc_s),
        covered_s: sum(|figures| figures.f.unwrap_or(0.0) * figures.t_calc_s),
        post_s: sum(|figures| figures.t_post_s),
        wait_s: sum(|figures| figures.t_wait_s),
        exposed_s: sum(|figures| figures.t_exposed_s),
    };
    let together = Figures::new(&Spent {
        size: first.size,
        overlap: first.overlap,
        messages: [
            count(|figures| [figures.messages_sent, figures.bytes_sent]),
            count(|figures| [figures.messages_received, figures.bytes_received]),
        ],
        times,
        kernel_s: known(|figures| figures.t_kernel_s),
        t_com_s: known(|figures| figures.t_com_s),
    });
    let Some(advice) = together.advice else { return String::new() };
    let slowest = parts.iter().max_by(|(_, one), (_, other)| one.t_wait_s.total_cmp(&other.t_wait_s));
    match slowest.filter(|_| advice.limit == Limit::Partners) {
        Some((rank, _)) => format!("{}; rank {rank} waited longest", advice.words),
        None => advice.words,
    }
}

#[cfg(test)]
mod tests {
    use super::super::regions::{RegionReport, Visited};
    use super::super::report::Facts;
    use super::*;

    /// A rank that has calculated for a second, with these waits and this communication.
    fn report(rank: u32, wait_s: f64, exposed_s: f64, t_com_s: f64) -> Report {
        let facts = Facts {
            rank: Rank(rank),
            size: 3,
            overlap: true,
            elapsed_s: 1.0,
            threads: 1,
            times: Times::default(),
            kernel_s: Some(0.0),
            links: &[],
            regions: &Visited::default(),
        };
        let messages = [Count { messages: 10, bytes: 80 }; 2];
        let times = Times { calc_s: 1.0, covered_s: 0.0, post_s: 0.01, wait_s, exposed_s };
        let (kernel_s, t_com_s) = (Some(0.0), Some(t_com_s));
        let figures = Figures::new(&Spent { size: 3, overlap: true, messages, times, kernel_s, t_com_s });
        let counted = Some(RegionReport { name: "solve".to_owned(), figures, ..RegionReport::default() });
        Report { counted, gain_measured: Some(1.43), ..Report::new(&facts) }
    }

    #[test]
    fn the_region_that_counts_is_told_of_all_ranks_together() {
        // I.1: whoever is late finds all there, and the others wait.
        let reports = [report(0, 1.0, 1.0, 1.0), report(1, 0.9, 0.9, 1.0), report(2, 0.2, 0.2, 1.0)];
        let lines = closing(&reports, 3);
        assert_eq!(
            lines[0],
            "region solve: gamma = t_calc/t_com = 1.000, hidden = 1 - t_exposed/t_com = 10 (0 .. 80) % of the communication, \
             G = 1.43 measured (off/on), G = 1.05 (1.00 .. 1.65) as observed, G = 1.05 (1.00 .. 1.67) by eq. (4), G = 2.00 by \
             eq. (1), f = 0.10 (0.00 .. 0.80) of t_calc with communication behind it, Omega = (t_post + t_kernel)/t_calc = \
             0.010"
        );
        assert!(lines[1].starts_with("region solve: only f = 0.30 of the calculation"), "{lines:?}");
        let lines = closing(&reports[..1], 3);
        assert_eq!(lines[1], "2 of 3 ranks have not reported");
        assert_eq!(closing(&[], 3).len(), 1);
    }

    #[test]
    fn the_rank_that_waits_for_partners_is_named() {
        let reports = [report(0, 0.1, 0.1, 0.2), report(1, 3.0, 0.1, 0.2), report(2, 1.0, 0.1, 0.2)];
        let lines = closing(&reports, 3);
        assert!(lines[1].contains("not sent yet") && lines[1].ends_with("; rank 1 waited longest"), "{lines:?}");
    }

    #[test]
    fn without_regions_it_is_the_whole_program() {
        let whole = |rank| Report { counted: None, ..report(rank, 1.0, 1.0, 1.0) };
        let lines = closing(&[whole(0), whole(1)], 2);
        assert_eq!(lines, ["G = 1.43 measured (off/on)", "nothing was sent to another rank"]);
    }
}
