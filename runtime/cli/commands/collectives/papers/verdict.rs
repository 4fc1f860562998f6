//! How good each equation is here, in numbers and in words: all of it follows from the rows. Pure.

use serde::Serialize;

use super::rows::{Broadcast, Exchange, Gather, Packets, SERIAL, TREE};
use crate::report::format::{bytes, seconds};

/// Two equations that differ by less cannot be told apart.
const DIFFER: f64 = 0.05;
/// An equation with a greater mean error is not right.
const RIGHT: f64 = 0.25;
/// One form is faster than another if it takes less than so much of the other's time.
const FASTER: f64 = 0.9;

/// Errors without their signs.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Errors {
    pub(super) what: String,
    pub(super) points: usize,
    pub(super) mean: f64,
    pub(super) greatest: f64,
    /// Where that is.
    pub(super) at_ranks: u32,
    pub(super) at_bytes: usize,
}

impl Errors {
    /// From `(ranks, bytes, error)`; `None` if there are none.
    pub(super) fn of(what: impl Into<String>, errors: impl IntoIterator<Item = (u32, usize, f64)>) -> Option<Self> {
        let errors: Vec<(u32, usize, f64)> =
            errors.into_iter().map(|(ranks, bytes, error)| (ranks, bytes, error.abs())).collect();
        let &(at_ranks, at_bytes, greatest) = errors.iter().max_by(|left, right| left.2.total_cmp(&right.2))?;
        let mean = errors.iter().map(|(_, _, error)| error).sum::<f64>() / errors.len() as f64;
        Some(Errors { what: what.into(), points: errors.len(), mean, greatest, at_ranks, at_bytes })
    }
}

/// Which of two equations is right, by the points where they differ.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Right {
    First,
    Second,
    /// Where they differ, none is near.
    Neither,
    /// They do not differ.
    Both,
}

/// From `(first, second, measured)`: which is right, and the mean errors of both.
fn right(points: impl IntoIterator<Item = (f64, f64, f64)>) -> (Right, [f64; 2]) {
    let differ = |(first, second, _): &(f64, f64, f64)| (first - second).abs() > DIFFER * first.max(*second);
    let points: Vec<(f64, f64, f64)> = points.into_iter().filter(differ).collect();
    if points.is_empty() {
        return (Right::Both, [0.0; 2]);
    }
    let mean = |of: fn(&(f64, f64, f64)) -> f64| {
        points.iter().map(|point| (of(point) / point.2 - 1.0).abs()).sum::<f64>() / points.len() as f64
    };
    let errors = [mean(|point| point.0), mean(|point| point.1)];
    let right = match errors {
        [first, second] if first.min(second) > RIGHT => Right::Neither,
        [first, second] if first <= second => Right::First,
        _ => Right::Second,
    };
    (right, errors)
}

/// A sentence or some, and what they rest on.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(super) struct Verdict {
    pub(super) right: Right,
    /// Mean errors where the two differ.
    pub(super) errors: [f64; 2],
    pub(super) words: String,
}

/// Eq. (1), Postal, or eq. (2), cluster. `reception_s`: `O_r + U_r` of a packet, `gap_s`: its g_s.
pub(super) fn packets(rows: &[Packets], reception_s: f64, gap_s: f64, is_shared: bool) -> Option<Verdict> {
    let most = rows.iter().map(|row| row.packets).max()?;
    let (right, errors) = right(rows.iter().map(|row| (row.postal_s, row.cluster_s, row.measured_s.median)));
    let [postal, cluster] = errors.map(|error| format!("{:.0} %", 100.0 * error));
    let (reception, gap) = (seconds(reception_s), seconds(gap_s));
    let takes =
        |what: &str| format!("A packet's reception (O_r + U_r = {reception}) takes {what} its gap (g_s = {gap})");
    let why = match (right, reception_s < gap_s) {
        (Right::First, true) => format!(
            "{}, so the root's sends are the bottleneck, log2(p) of them for each packet, and eq. (2) leaves one of them out",
            takes("less than")
        ),
        (Right::Second, false) => format!(
            "{}, so processor p/2, which receives while it sends, is the bottleneck, as the paper says",
            takes("longer than")
        ),
        (_, true) => format!("{}, by which it should be eq. (1)", takes("less than")),
        (_, false) => format!("{}, by which it should be eq. (2)", takes("longer than")),
    };
    let words = match right {
        Right::Both => format!("Up to {most} packets eqs. (1) and (2) say the same here."),
        Right::First => {
            format!("Eq. (1), Postal, is right here: mean error {postal}, of printed eq. (2) {cluster}. {why}.")
        }
        Right::Second => {
            format!("Printed eq. (2) is right here: mean error {cluster}, of eq. (1), Postal, {postal}. {why}.")
        }
        Right::Neither if is_shared => format!(
            "Neither eq. (1) nor eq. (2) is right here (mean errors {postal}, {cluster}): all p - 1 copies of a packet share \
             one medium, and both count only the root's."
        ),
        Right::Neither => format!("Neither eq. (1) nor eq. (2) is right here (mean errors {postal}, {cluster})."),
    };
    Some(Verdict { right, errors, words })
}

/// The exchange as printed, or with rule 3 for the workstation too.
pub(super) fn exchange(rows: &[Exchange]) -> Option<Verdict> {
    let most = rows.iter().map(|row| row.neighbours).max()?;
    let (right, errors) = right(rows.iter().map(|row| (row.printed_s, row.rule_3_s, row.measured_s.median)));
    let [printed, rule_3] = errors.map(|error| format!("{:.0} %", 100.0 * error));
    let words = match right {
        Right::Both => format!(
            "With up to {most} neighbours both forms say the same here: the medium is the bottleneck, not the workstation."
        ),
        Right::First => {
            format!("b = max(K N b_C, b_W), as printed, is right here: mean error {printed}, with K b_W {rule_3}.")
        }
        Right::Second => format!(
            "b = max(K N b_C, K b_W), rule 3 for the workstation too, is right here: mean error {rule_3}, as printed \
             {printed}. A rank's K messages share its port."
        ),
        Right::Neither => {
            let nearer =
                if errors[0] <= errors[1] { "b = max(K N b_C, b_W), as printed," } else { "K b_W, by rule 3," };
            format!(
                "Neither form is right here: mean errors {printed} as printed, {rule_3} with K b_W; {nearer} is nearer."
            )
        }
    };
    Some(Verdict { right, errors, words })
}

/// Eq. (8) beside the paper's own errors, and what the window gains.
pub(super) fn gather(rows: &[Gather]) -> Option<String> {
    let errors = Errors::of("", rows.iter().map(|row| (row.ranks, row.bytes, row.error)))?;
    let mut words = format!(
        "Eq. (8) and the windowed gather: mean error {:.1} %, greatest {:.0} % ({} ranks, {}); the paper has 8 % and 35 %.",
        100.0 * errors.mean,
        100.0 * errors.greatest,
        errors.at_ranks,
        bytes(errors.at_bytes as f64),
    );
    let over: Vec<f64> = rows.iter().filter_map(|row| row.simple_over_windowed).collect();
    if over.is_empty() {
        words += " The window lets all send at once at every size, which is the simple gather.";
    } else {
        let (faster, slower) = (
            over.iter().filter(|over| 1.0 / **over < FASTER).count(),
            over.iter().filter(|over| **over < FASTER).count(),
        );
        let greatest = over.iter().copied().fold(0.0, f64::max);
        words += &format!(
            " Where the window limits, the windowed form is more than 10 % faster than the simple one at {faster} of {} \
             points, and slower at {slower}; the simple one takes up to {greatest:.2} times as long.",
            over.len()
        );
    }
    Some(words)
}

/// Whether the model says which broadcast is the faster one.
pub(super) fn broadcast(rows: &[Broadcast]) -> Option<String> {
    let of = |form: &'static str| rows.iter().filter(move |row| row.form == form);
    let pairs = of(TREE).filter_map(|tree| {
        let serial = of(SERIAL).find(|serial| (serial.ranks, serial.bytes) == (tree.ranks, tree.bytes))?;
        Some((tree, serial))
    });
    let clear = pairs.filter(|(tree, serial)| {
        let ratio = tree.measured_s.median / serial.measured_s.median;
        ratio < FASTER || 1.0 / ratio < FASTER
    });
    let (mut clear_count, mut right_count) = (0, 0);
    for (tree, serial) in clear {
        let measured = tree.measured_s.median < serial.measured_s.median;
        clear_count += 1;
        right_count += u32::from(measured == (tree.predicted_s < serial.predicted_s));
    }
    let errors = |form| Errors::of(form, of(form).map(|row| (row.ranks, row.bytes, row.error)));
    let (tree, serial) = (errors(TREE)?, errors(SERIAL)?);
    Some(format!(
        "The model says which form is faster at {right_count} of {clear_count} points where one is so by more than 10 %. Mean \
         error of the tree {:.0} %, of the serial form {:.0} %; the paper has at most about 10 %.",
        100.0 * tree.mean,
        100.0 * serial.mean
    ))
}
