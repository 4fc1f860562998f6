//! What the command tells its two nodes, and what they tell it: plain data, sent as JSON.

use serde::{Deserialize, Serialize};

use crate::commands::common::raw::RawPlace;
use crate::commands::common::strip::Shape;
use crate::report::format::bytes;
use crate::report::verdict::{DRIFT_MIN, OTHERS_MIN, STOLEN_MIN};

/// The most columns of a strip. More hide a greater part, and take more memory: with 64, f is 63/64, and two nodes hold
/// 200 MB.
pub(super) const COLUMNS_MAX: usize = 64;
/// A block of at least this many seconds makes wake-ups of some 10 us negligible.
const BLOCK_S: f64 = 0.12;

/// What is measured by two nodes of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Case {
    /// Points per column.
    pub(super) rows: usize,
    /// The send and receive buffers of all sockets, if they are not sized by the system.
    pub(super) socket_buffer_bytes: Option<u32>,
}

impl Case {
    /// Each number of rows with each buffer.
    pub(super) fn all(rows: &[u64], buffers: &[Option<u32>]) -> Vec<Self> {
        let with = |&rows: &u64| {
            buffers.iter().map(move |&socket_buffer_bytes| Case { rows: rows as usize, socket_buffer_bytes })
        };
        rows.iter().flat_map(with).collect()
    }

    /// As results name it.
    pub(super) fn in_words(self) -> String {
        format!("{} rows, {}", self.rows, self.buffers())
    }

    /// The buffers in words.
    pub(super) fn buffers(self) -> String {
        match self.socket_buffer_bytes {
            Some(size) => format!("{} buffers", bytes(f64::from(size))),
            None => "default buffers".to_owned(),
        }
    }

    /// The length of a message.
    pub(super) fn message_bytes(self) -> usize {
        self.rows * size_of::<f64>()
    }
}

/// What the two nodes shall measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Points per column; 8 bytes each make a message.
    pub(super) rows: usize,
    /// Time steps per block, if not as many as make a block long enough.
    pub(super) steps: Option<u32>,
    /// The granularities to measure at.
    pub(super) gammas: Vec<f64>,
    /// How often every version is measured at each of them.
    pub(super) repeats: u32,
    /// How often at least, if the time is over.
    pub(super) repeats_min: u32,
    /// How many seconds it all may take, what other programs disturbed and is repeated among it; more where the link turns out
    /// to be slower than was known, unless it is firm.
    pub(super) deadline_s: f64,
    /// Whether it ends then however little was measured: who says how long gets no more.
    pub(super) is_firm: bool,
    /// Where the raw connection is; between hosts it is where rank 0 says.
    pub(super) raw: Option<RawPlace>,
}

impl Plan {
    /// Time steps per block where an exchange takes `t_com_s`: enough that a block is long against what a clock and
    /// a wake-up disturb.
    pub(super) fn steps(&self, gamma: f64, t_com_s: f64) -> u32 {
        let enough = (BLOCK_S / (t_com_s * (1.0 + gamma))).ceil().clamp(1.0, 10_000.0) as u32;
        self.steps.unwrap_or(enough)
    }

    /// Time steps that show how fast the machine is, before a repetition with so many `steps` per block.
    pub(super) fn steps_before(steps: u32) -> u32 {
        steps.div_ceil(4)
    }

    /// Whether the stencil also runs over the raw ping-pong in this repetition: every other time, since it takes longest of
    /// all, and its median is needed less exactly than that of the exchange. What takes the place of a disturbed repetition
    /// always has it.
    pub(super) fn has_pingpong(&self, repetition: usize) -> bool {
        repetition.is_multiple_of(2) || repetition >= self.repeats as usize
    }

    /// The granularity at which I.1 is measured twice, to show what no difference looks like: that nearest to 1.
    pub(super) fn twice_at(&self) -> Option<f64> {
        self.gammas.iter().copied().min_by(|a, b| from_one(*a).total_cmp(&from_one(*b)))
    }

    /// The points in the order in which they are measured: where the time is firm, those first that count most.
    pub(super) fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.gammas.len()).collect();
        if self.is_firm {
            order.sort_by(|a, b| from_one(self.gammas[*a]).total_cmp(&from_one(self.gammas[*b])));
        }
        order
    }

    /// The seconds it may take where an exchange takes `t_com_s`.
    pub(super) fn patience_s(&self, t_com_s: f64) -> f64 {
        1.3 * self.estimate_s(t_com_s) + 4.0
    }

    /// About how many seconds it all takes where an exchange takes `t_com_s`.
    pub(super) fn estimate_s(&self, t_com_s: f64) -> f64 {
        let point = |gamma: &f64| {
            let pingpong = f64::from(self.repeats.div_ceil(2)) * f64::from(self.steps(*gamma, t_com_s)) * (2.0 + gamma);
            f64::from(self.repeats) * self.round_s(*gamma, t_com_s) + t_com_s * pingpong
        };
        // Calibration has three exchanges.
        3.0 * t_com_s + self.gammas.iter().map(point).sum::<f64>()
    }

    /// About how many seconds one repetition takes at a granularity, without the ping-pong.
    pub(super) fn round_s(&self, gamma: f64, t_com_s: f64) -> f64 {
        let steps = self.steps(gamma, t_com_s);
        let blocking = if self.twice_at() == Some(gamma) { 4.0 } else { 3.0 };
        // Versions I.1, perhaps twice, and I.2, the raw exchange, I.3, calculation twice, exchange; and what is measured before.
        let round = blocking * (1.0 + gamma) + gamma.max(1.0) + 2.0 * gamma + 1.0;
        t_com_s * (f64::from(steps) * round + gamma * f64::from(Self::steps_before(steps)))
    }
}

/// How far a granularity is from 1.
fn from_one(gamma: f64) -> f64 {
    gamma.ln().abs()
}

/// One repetition at one granularity, as rank 0 reports it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Seen {
    /// The index of the granularity.
    pub(super) at: usize,
    /// As of [`Measured`].
    pub(super) shape: Shape,
    /// As of [`Measured`].
    pub(super) steps: u32,
    pub(super) round: Round,
}

/// The measurements at one granularity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The granularity that was asked for.
    pub(super) gamma_wanted: f64,
    /// What was calculated; each repetition has a [`Round::work`] of its own.
    pub(super) shape: Shape,
    /// Time steps per block.
    pub(super) steps: u32,
    /// The repetitions.
    pub(super) rounds: Vec<Round>,
}

impl Measured {
    /// What was measured at each of the granularities, without those at which nothing was.
    pub(super) fn all(gammas: &[f64], seen: &[Seen]) -> Vec<Self> {
        let at = |(at, gamma): (usize, &f64)| {
            let own = || seen.iter().filter(move |seen| seen.at == at);
            let last = own().next_back()?;
            let rounds = own().map(|seen| seen.round).collect();
            Some(Measured { gamma_wanted: *gamma, shape: last.shape, steps: last.steps, rounds })
        };
        gammas.iter().enumerate().filter_map(at).collect()
    }

    /// The `count` repetitions that other programs disturbed least, and how many were left out.
    pub(super) fn calmest(&self, count: usize) -> (Vec<Round>, usize) {
        let mut rounds = self.rounds.clone();
        rounds.sort_by(|a, b| a.disturbed().total_cmp(&b.disturbed()));
        rounds.truncate(count);
        // As they were measured.
        rounds.sort_by_key(|round| round.sequence);
        let left_out = self.rounds.len() - rounds.len();
        (rounds, left_out)
    }
}

/// One repetition. All times are seconds per time step, of the slower of the two nodes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Round {
    /// The place among all repetitions at all granularities, in the order of measurement.
    pub(super) sequence: u32,
    /// Substeps per point.
    pub(super) work: u32,
    /// Calculation alone.
    #[serde(rename = "t_calc_s")]
    pub(super) t_calc: f64,
    /// The interior's part of it.
    #[serde(rename = "t_interior_s")]
    pub(super) interior: f64,
    /// The exchange alone.
    #[serde(rename = "t_com_s")]
    pub(super) t_com: f64,
    /// A step of version I.1.
    #[serde(rename = "t_i1_s")]
    pub(super) t_i1: f64,
    /// The same again, if [`Plan::twice_at`] is this granularity.
    #[serde(rename = "t_i1_again_s")]
    pub(super) t_i1_again: Option<f64>,
    /// A step of version I.2.
    #[serde(rename = "t_i2_s")]
    pub(super) t_i2: f64,
    /// A step of version I.3.
    #[serde(rename = "t_i3_s")]
    pub(super) t_i3: f64,
    /// A step over raw TCP, both directions at once.
    #[serde(rename = "t_raw_exchange_s")]
    pub(super) t_raw_exchange: f64,
    /// A step over raw TCP, one direction after the other, if [`Plan::has_pingpong`].
    #[serde(rename = "t_raw_pingpong_s")]
    pub(super) t_raw_pingpong: Option<f64>,
    /// Within version I.3: the calls that start the transfer, and the interior calculated while it runs.
    #[serde(rename = "t_busy_s")]
    pub(super) busy: f64,
    /// The share of the calculation's time for which it had no processor.
    pub(super) waited: f64,
    /// The difference between the longest and the shortest of the same calculation at several moments, relative to the mean.
    pub(super) drift: f64,
    /// By rank, the share of its host's processors' time that other programs had.
    pub(super) others: [f64; 2],
    /// By rank, the share that the host of its virtual machine took.
    pub(super) stolen: [f64; 2],
}

impl Round {
    /// How much it was disturbed: the greatest of all these shares.
    pub(super) fn disturbed(&self) -> f64 {
        let shares = [self.waited, self.drift].into_iter().chain(self.others).chain(self.stolen);
        shares.fold(0.0, f64::max)
    }

    /// Whether it was disturbed so little that it can count for a valid result.
    pub(super) fn is_calm(&self) -> bool {
        let is_below = |shares: &[f64], limit: f64| shares.iter().all(|share| *share < limit);
        is_below(&self.others, OTHERS_MIN)
            && is_below(&self.stolen, STOLEN_MIN)
            && is_below(&[self.waited, self.drift], DRIFT_MIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_all_pairs() {
        let cases = Case::all(&[500, 1000], &[Some(4096), None]);
        let words: Vec<String> = cases.iter().map(|case| case.in_words()).collect();
        assert_eq!(words[..2], ["500 rows, 4 KiB buffers", "500 rows, default buffers"]);
        assert_eq!((words.len(), cases[3].message_bytes()), (4, 8000));
    }

    #[test]
    fn estimates() {
        let plan = |gammas: &[f64], repeats| Plan {
            rows: 1,
            steps: None,
            gammas: gammas.to_vec(),
            repeats,
            repeats_min: repeats,
            deadline_s: 0.0,
            is_firm: false,
            raw: None,
        };
        assert_eq!(plan(&[1.0], 5).steps(1.0, 0.065), 1);
        assert_eq!(plan(&[1.0], 5).steps(0.25, 0.01), 10);
        assert_eq!(plan(&[1.0], 5).steps(1.0, 1e-12), 10_000, "bounded");
        assert_eq!(Plan { steps: Some(50), ..plan(&[1.0], 5) }.steps(1.0, 0.065), 50);
        // One step each: 1 + 2 + 2 + 2 + 2 + 1 + 2 + 1 exchanges' time, five times, 3 for the ping-pong, and calibration.
        assert!((plan(&[1.0], 5).estimate_s(0.1) - 0.1 * (5.0 * 13.0 + 3.0 * 3.0 + 3.0)).abs() < 1e-9);
        let has = |repeats| (0..7).filter(|&repetition| plan(&[1.0], repeats).has_pingpong(repetition)).count();
        assert_eq!((has(5), has(7), has(1)), (5, 4, 7));
        assert!((plan(&[1.0], 5).patience_s(0.1) - 1.3 * 0.1 * 77.0 - 4.0).abs() < 1e-9);
        let sweep = plan(&[0.5, 1.0, 4.0], 5);
        assert!((sweep.estimate_s(2.0) / sweep.estimate_s(1.0) - 2.0).abs() < 1e-9, "slow links take longer");
    }

    #[test]
    fn what_counts_most_comes_first_where_the_time_is_firm() {
        let gammas = vec![0.25, 0.9, 1.0, 4.0];
        let plan = |is_firm| Plan {
            rows: 1,
            steps: None,
            gammas: gammas.clone(),
            repeats: 6,
            repeats_min: 1,
            deadline_s: 1.0,
            is_firm,
            raw: None,
        };
        assert_eq!(plan(true).order(), [2, 1, 0, 3]);
        assert_eq!(plan(false).order(), [0, 1, 2, 3]);
        assert_eq!(plan(true).twice_at(), Some(1.0));
    }

    #[test]
    fn rounds_find_their_points_and_say_whether_they_were_calm() {
        let shape = Shape { rows: 2, columns: 2, work: 1 };
        let seen = |at, sequence| Seen { at, shape, steps: 3, round: Round { sequence, ..Round::default() } };
        let all = Measured::all(&[0.5, 1.0, 2.0], &[seen(2, 0), seen(0, 1), seen(2, 2)]);
        let found: Vec<_> = all.iter().map(|it| (it.gamma_wanted, it.rounds.len())).collect();
        assert_eq!(found, [(0.5, 1), (2.0, 2)]);
        let calm = Round { waited: 0.04, others: [0.01, 0.049], ..Round::default() };
        assert!(calm.is_calm() && calm.disturbed() == 0.049);
        for wild in [
            Round { waited: 0.05, ..calm },
            Round { drift: 0.05, ..calm },
            Round { others: [0.0, 0.05], ..calm },
            Round { stolen: [0.02, 0.0], ..calm },
        ] {
            assert!(!wild.is_calm(), "{wild:?}");
        }
    }
}
