//! How many ranks send at the same time. Pure.

use super::reports::RankReport;

/// A rank with so many intervals may have dropped earlier ones.
const DROPPED_FROM: usize = 1000;

/// By rank, its clock minus rank 0's, over as many links as it takes; `None` where no link leads to rank 0.
pub(super) fn offsets(reports: &[RankReport]) -> Vec<Option<f64>> {
    let mut links = Vec::new();
    for (at, report) in reports.iter().enumerate() {
        for link in &report.links {
            let peer = link.peer as usize;
            if let Some(offset_s) = link.clock_offset_s.filter(|_| peer < reports.len()) {
                links.extend([(at, peer, offset_s), (peer, at, -offset_s)]);
            }
        }
    }
    // A link to rank 0 itself comes before any detour.
    let mut known = vec![None; reports.len()];
    known[0] = Some(0.0);
    loop {
        let next: Vec<(usize, f64)> = links
            .iter()
            .filter(|(at, ..)| known[*at].is_none())
            .filter_map(|(at, peer, offset_s)| Some((*at, known[*peer]? + offset_s)))
            .collect();
        if next.is_empty() {
            return known;
        }
        for (at, offset_s) in next {
            known[at].get_or_insert(offset_s);
        }
    }
}

/// The mean number of ranks that send while one does: the sum of their busy times over the time in which any is busy. Their
/// intervals are on one clock. `None` if a rank has none.
pub(super) fn mean_senders(ranks: &[Vec<[f64; 2]>]) -> Option<f64> {
    if ranks.iter().any(Vec::is_empty) {
        return None;
    }
    let cut = |ranks: &&Vec<[f64; 2]>| ranks.len() >= DROPPED_FROM;
    let first = |ranks: &Vec<[f64; 2]>| ranks.iter().map(|[from, _]| *from).fold(f64::INFINITY, f64::min);
    let since = ranks.iter().filter(cut).map(first).fold(f64::NEG_INFINITY, f64::max);
    let within = |ranks: &Vec<[f64; 2]>| ranks.iter().map(|[from, to]| [from.max(since), *to]).collect::<Vec<_>>();
    let busy_s: f64 = ranks.iter().map(|rank| covered_s(within(rank))).sum();
    let any_s = covered_s(ranks.iter().flat_map(within).collect());
    (any_s > 0.0).then(|| (busy_s / any_s).max(1.0))
}

/// The length of the union.
fn covered_s(mut intervals: Vec<[f64; 2]>) -> f64 {
    intervals.retain(|[from, to]| from < to);
    intervals.sort_by(|one, other| one[0].total_cmp(&other[0]));
    let (mut all, mut until) = (0.0, f64::NEG_INFINITY);
    for [from, to] in intervals {
        all += (to - from.max(until)).max(0.0);
        until = until.max(to);
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::commands::common::inventory::reports::read;

    #[test]
    fn clocks_are_aligned_over_detours() {
        let rank = |rank: u32, links: &[(u32, Option<f64>)]| {
            let links: Vec<Value> =
                links.iter().map(|(peer, offset)| json!({"peer": peer, "clock_offset_s": offset})).collect();
            json!({"rank": rank, "size": 5, "links": links})
        };
        let reports = json!([
            rank(0, &[(1, Some(-2.0)), (4, None)]),
            rank(1, &[(2, Some(0.5))]),
            rank(2, &[(1, Some(-0.5)), (0, Some(1.5))]),
            rank(3, &[(2, Some(10.0)), (9, Some(1.0))]),
            rank(4, &[(0, None)]),
        ]);
        let offsets = offsets(&read(&reports).unwrap());
        assert_eq!(offsets, [Some(0.0), Some(2.0), Some(1.5), Some(11.5), None]);
    }

    #[test]
    fn senders_at_the_same_time_are_counted() {
        let mean = |ranks: &[&[[f64; 2]]]| mean_senders(&ranks.iter().map(|rank| rank.to_vec()).collect::<Vec<_>>());
        assert_eq!(mean(&[&[[0.0, 1.0]], &[[1.0, 2.0]]]), Some(1.0));
        assert_eq!(mean(&[&[[0.0, 1.0]], &[[0.0, 1.0]], &[[0.0, 1.0]]]), Some(3.0));
        assert_eq!(mean(&[&[[0.0, 2.0]], &[[1.0, 3.0], [7.0, 8.0]]]), Some(5.0 / 4.0));
        assert_eq!(mean(&[&[[0.0, 2.0], [1.0, 2.0]]]), Some(1.0), "a rank counts once");
        assert_eq!((mean(&[&[[0.0, 1.0]], &[]]), mean(&[&[[1.0, 1.0]]])), (None, None));
    }

    /// One rank has kept its last intervals only: what the other one did before says nothing.
    #[test]
    fn what_was_dropped_is_not_taken_for_silence() {
        let ticks = |from: usize, to: usize| (from..to).map(|at| [at as f64, at as f64 + 0.5]).collect::<Vec<_>>();
        assert_eq!(mean_senders(&[ticks(0, 2000), ticks(1000, 2000)]), Some(2.0));
        assert_eq!(mean_senders(&[ticks(0, 20), ticks(10, 20)]), Some(1.5));
    }
}
