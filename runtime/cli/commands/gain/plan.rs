//! What the command tells its two nodes, and what they tell it: plain data, sent as JSON.

use serde::{Deserialize, Serialize};

use crate::commands::common::raw::RawPlace;
use crate::commands::common::strip::Shape;
use crate::report::format::bytes;

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
    /// to be slower than was known.
    pub(super) deadline_s: f64,
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

    /// The seconds it may take where an exchange takes `t_com_s`.
    pub(super) fn patience_s(&self, t_com_s: f64) -> f64 {
        1.3 * self.estimate_s(t_com_s) + 4.0
    }

    /// About how many seconds it all takes where an exchange takes `t_com_s`.
    pub(super) fn estimate_s(&self, t_com_s: f64) -> f64 {
        let point = |gamma: &f64| {
            let steps = self.steps(*gamma, t_com_s);
            // Versions I.1 and I.2, the raw exchange, I.3, calculation twice, exchange; and what is measured before.
            let round = 3.0 * (1.0 + gamma) + gamma.max(1.0) + 2.0 * gamma + 1.0;
            let before = gamma * f64::from(Self::steps_before(steps));
            let pingpong = f64::from(self.repeats.div_ceil(2)) * f64::from(steps) * (2.0 + gamma);
            f64::from(self.repeats) * (f64::from(steps) * round + before) + pingpong
        };
        // Calibration has three exchanges.
        t_com_s * (3.0 + self.gammas.iter().map(point).sum::<f64>())
    }
}

/// The measurements at one granularity, as rank 0 reports them.
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
    /// The `count` repetitions that other programs disturbed least, and how many were left out.
    pub(super) fn calmest(&self, count: usize) -> (Vec<Round>, usize) {
        let mut rounds = self.rounds.clone();
        rounds.sort_by(|a, b| a.disturbed.total_cmp(&b.disturbed));
        rounds.truncate(count);
        let left_out = self.rounds.len() - rounds.len();
        (rounds, left_out)
    }
}

/// One repetition. All times are seconds per time step, of the slower of the two nodes.
#[derive(Clone, Copy, PartialEq, Debug, Default, Serialize, Deserialize)]
pub(super) struct Round {
    /// Substeps per point.
    pub(super) work: u32,
    /// Calculation alone.
    pub(super) t_calc: f64,
    /// The interior's part of it.
    pub(super) interior: f64,
    /// The exchange alone.
    pub(super) t_com: f64,
    /// A step of version I.1.
    pub(super) t_i1: f64,
    /// A step of version I.2.
    pub(super) t_i2: f64,
    /// A step of version I.3.
    pub(super) t_i3: f64,
    /// A step over raw TCP, both directions at once.
    pub(super) t_raw_exchange: f64,
    /// A step over raw TCP, one direction after the other, if [`Plan::has_pingpong`].
    pub(super) t_raw_pingpong: Option<f64>,
    /// Within version I.3: the calls that start the transfer, and the interior calculated while it runs.
    pub(super) busy: f64,
    /// The share of the calculation's time for which other programs had the processor, or, if that is greater, by
    /// which the processor's speed changed within the repetition.
    pub(super) disturbed: f64,
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
            raw: None,
        };
        assert_eq!(plan(&[1.0], 5).steps(1.0, 0.065), 1);
        assert_eq!(plan(&[1.0], 5).steps(0.25, 0.01), 10);
        assert_eq!(plan(&[1.0], 5).steps(1.0, 1e-12), 10_000, "bounded");
        assert_eq!(Plan { steps: Some(50), ..plan(&[1.0], 5) }.steps(1.0, 0.065), 50);
        // One step each: 1 + 2 + 2 + 2 + 1 + 2 + 1 exchanges' time, five times, 3 for the ping-pong, and calibration.
        assert!((plan(&[1.0], 5).estimate_s(0.1) - 0.1 * (5.0 * 11.0 + 3.0 * 3.0 + 3.0)).abs() < 1e-9);
        let has = |repeats| (0..7).filter(|&repetition| plan(&[1.0], repeats).has_pingpong(repetition)).count();
        assert_eq!((has(5), has(7), has(1)), (5, 4, 7));
        assert!((plan(&[1.0], 5).patience_s(0.1) - 1.3 * 0.1 * 67.0 - 4.0).abs() < 1e-9);
        let sweep = plan(&[0.5, 1.0, 4.0], 5);
        assert!((sweep.estimate_s(2.0) / sweep.estimate_s(1.0) - 2.0).abs() < 1e-9, "slow links take longer");
    }
}
