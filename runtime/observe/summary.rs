//! A summary of the reports of all ranks, in a few lines. Pure.

use std::fmt::Write;

use super::advice::Limit;
use super::report::Report;
use crate::ids::Rank;

/// The summary of a job: what was observed, what limits it, what would improve it. One line each.
///
/// `size` is the number of ranks; failed ranks may have left no report.
pub fn closing(reports: &[Report], size: u32) -> Vec<String> {
    if reports.is_empty() {
        return vec!["no rank has reported: did it call lathide::init, and end in order?".to_owned()];
    }
    let mut lines = vec![figures(reports)];
    if (reports.len() as u32) < size {
        lines.push(format!("{} of {size} ranks have not reported", size - reports.len() as u32));
    }
    lines.extend(cuts(reports));
    lines.push(limits(reports, size));
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

/// Medians over the ranks, with minimum and maximum.
fn figures(reports: &[Report]) -> String {
    let mut line = String::new();
    let mut add = |name: &str, scale: f64, digits: usize, unit: &str, of: fn(&Report) -> Option<f64>| {
        let mut values: Vec<f64> = reports.iter().filter_map(of).map(|value| value * scale).collect();
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
    add("gamma = t_calc/t_com =", 1.0, 3, "", |report| report.gamma);
    add("hidden = 1 - t_exposed/t_com =", 100.0, 0, " % of the communication", |report| report.hidden);
    add("G =", 1.0, 2, " measured (off/on)", |report| report.gain_measured);
    add("G =", 1.0, 2, " as observed", |report| report.gain_observed);
    add("G =", 1.0, 2, " by eq. (4)", |report| report.gain_model);
    add("G =", 1.0, 2, " by eq. (1)", |report| report.gain_ideal);
    add("f =", 1.0, 2, " of t_calc between posting and waiting", |report| report.f);
    add("Omega = (t_post + t_kernel)/t_calc =", 1.0, 3, "", |report| report.omega);
    if line.is_empty() { "nothing was calculated or communicated".to_owned() } else { line }
}

/// The most frequent limit, with the text of the rank that waited longest.
fn limits(reports: &[Report], size: u32) -> String {
    let mut counts: Vec<(Limit, usize)> = Vec::new();
    for report in reports {
        match counts.iter_mut().find(|(limit, _)| *limit == report.advice.limit) {
            Some((_, count)) => *count += 1,
            None => counts.push((report.advice.limit, 1)),
        }
    }
    let (limit, count) = counts.into_iter().max_by_key(|(_, count)| *count).unwrap_or((Limit::Unknown, 0));
    let of_limit = reports.iter().filter(|report| report.advice.limit == limit);
    let Some(worst) = of_limit.max_by(|a, b| a.t_wait_s.total_cmp(&b.t_wait_s)) else { return String::new() };
    let who = match (count, size) {
        (_, 1) => String::new(),
        (count, size) if count as u32 == size => format!("rank {} and all others: ", worst.rank),
        (1, _) => format!("rank {}: ", worst.rank),
        (count, _) => format!("rank {} and {} more: ", worst.rank, count - 1),
    };
    format!("{who}{}", worst.advice.words)
}

#[cfg(test)]
mod tests {
    use super::super::phases::Times;
    use super::super::report::Facts;
    use super::*;

    fn report(rank: u32, gamma: f64, limit: Limit, wait_s: f64) -> Report {
        let times = Times { wait_s, ..Times::default() };
        let facts = Facts {
            rank: Rank(rank),
            size: 3,
            overlap: true,
            elapsed_s: 1.0,
            threads: 1,
            times,
            kernel_s: Some(0.0),
            links: &[],
        };
        let mut report = Report::new(&facts);
        (report.gamma, report.hidden, report.gain_model) = (Some(gamma), Some(0.914), Some(1.5));
        report.gain_measured = Some(1.43);
        (report.advice.limit, report.advice.words) = (limit, format!("words of {rank}"));
        report
    }

    #[test]
    fn most_ranks_speak_by_the_one_that_waited_longest() {
        let reports = [
            report(0, 1.0, Limit::Communication, 1.0),
            report(1, 2.0, Limit::Communication, 2.0),
            report(2, 4.0, Limit::Partners, 9.0),
        ];
        assert_eq!(
            closing(&reports, 3),
            [
                "gamma = t_calc/t_com = 2.000 (1.000 .. 4.000), hidden = 1 - t_exposed/t_com = 91 % of the \
                 communication, G = 1.43 measured (off/on), G = 1.50 by eq. (4)",
                "rank 1 and 1 more: words of 1",
            ]
        );
        let lines = closing(&reports[..1], 3);
        assert_eq!(lines[1..], ["2 of 3 ranks have not reported", "rank 0: words of 0"]);
        assert!(closing(&reports[..2], 2)[1].starts_with("rank 1 and all others"));
        assert_eq!(closing(&[], 3).len(), 1);
    }
}
