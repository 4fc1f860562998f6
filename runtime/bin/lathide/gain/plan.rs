//! What the command tells its two nodes, and what they tell it: plain data, sent as JSON.

use serde::{Deserialize, Serialize};

use super::strip::Shape;

/// What the two nodes shall measure.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Plan {
    /// Points per column; 8 bytes each make a message.
    pub(super) rows: usize,
    /// The most columns of a strip. More hide a greater fraction f, and take more memory.
    pub(super) columns_max: usize,
    /// The granularities to measure at.
    pub(super) gammas: Vec<f64>,
    /// How often every version is measured at each of them.
    pub(super) repeats: u32,
    /// How many seconds may go into repeating what other programs disturbed, at all of them together.
    pub(super) patience_s: f64,
    /// How long a block of steps should at least take, in seconds.
    pub(super) block_s: f64,
}

/// What rank 0 reports, one line of JSON each.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) enum Event {
    /// How far it is.
    Progress {
        /// Rounds done.
        done: u64,
        /// Rounds in all.
        of: u64,
        /// What is being measured, for people.
        now: String,
    },
    /// One granularity is measured.
    Measured(Measured),
}

/// The measurements at one granularity.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(super) struct Measured {
    /// The granularity that was asked for.
    pub(super) gamma_wanted: f64,
    /// What was calculated.
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
    /// Within version I.3: the calls that start the transfer, and the interior calculated while it runs.
    pub(super) busy: f64,
    /// The share of the calculation's time for which other programs had the processor, or, if that is greater, by
    /// which the processor's speed changed within the repetition.
    pub(super) disturbed: f64,
}
