//! How to cut a matrix among processes, and what communicating then costs (Hanuliak 2014, sections 4 to 7).
//!
//! An n x n matrix is updated step by step, and each process exchanges the edges of its part with its neighbours.
//! Strips have two neighbours and long edges, blocks have four and short ones: a dear start-up is for strips, dear
//! words are for blocks. [`Channel`] is the paper's pair of technical parameters (`t_s`, `t_w`) and has the two
//! costs (section 6.1) and the thresholds between them (6.1.2, 7.1.1), collectives on a shared medium (7.2.2) and
//! communication across several networks (4.2; [`Topology`] has the hops). [`Overheads`], [`isoefficiency_s`] and
//! [`shares()`] are section 5.
//!
//! Where the paper prints a formula wrongly, the right one is here; the misprints are listed in the
//! manual of `lathide`.
//!
//! ```
//! use lathide_models::decomposition::{Channel, Shape};
//! let ethernet = Channel::new(1500e-6, 5e-6)?; // seconds, seconds per word
//! assert!((ethernet.strips_s(1024)? - 26.48e-3).abs() < 1e-12);
//! assert!((ethernet.blocks_s(1024, 64)? - 17.12e-3).abs() < 1e-12);
//! assert_eq!(ethernet.better(1024, 64)?, Shape::Blocks);
//! assert_eq!(ethernet.better(256, 64)?, Shape::Strips);
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

mod collectives;
mod hops;
#[cfg(test)]
mod hops_tests;
mod isoefficiency;
#[cfg(test)]
mod isoefficiency_tests;
mod shares;
#[cfg(test)]
mod shares_tests;

pub use hops::{Crossing, Topology, hop_as_printed};
pub use isoefficiency::{Overheads, calculation_s, efficiency, isoefficiency_s};
pub use shares::{last_end, shares};

use super::{BadParameter, above_zero, at_least_zero, check};

/// The technical parameters of one network (section 4.2): what a message costs to start, and what each word of it costs.
///
/// Seconds are this crate's unit. All formulas are linear in the two, so that any other unit comes out as it goes in.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Channel {
    start_up_s: f64,
    word_s: f64,
}

/// The two ways to cut a matrix.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// Squares with four neighbours each (section 6.1.1).
    Blocks,
    /// Whole rows or columns with two neighbours each (section 6.1).
    Strips,
}

/// Strips beside blocks for one matrix, number of processes and channel, with the thresholds of section 6.1.2.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Comparison {
    /// What a step's communication takes with strips, in seconds.
    pub strips_s: f64,
    /// What it takes with blocks, in seconds.
    pub blocks_s: f64,
    /// The one that takes less.
    pub better: Shape,
    /// Strips take less if the start-up `t_s` is above this, in seconds.
    pub start_up_threshold_s: f64,
    /// Strips take less if a word's time `t_w` is below this, in seconds.
    pub word_threshold_s: f64,
    /// Strips take less for matrices whose side `n` is below this; `None`: for every n, since words are free.
    pub side_threshold: Option<f64>,
    /// Strips take less for fewer processes than this; `None`: for any number of them.
    pub processes_threshold: Option<f64>,
}

impl Channel {
    /// A network of workstations joined by optical fibre (FDDI), section 6.1.2: 1100 us, 1.1 us.
    pub const FDDI: Self = Channel { start_up_s: 1100e-6, word_s: 1.1e-6 };

    /// A network of workstations joined by Ethernet, section 6.1.2: 1500 us, 5 us.
    pub const ETHERNET: Self = Channel { start_up_s: 1500e-6, word_s: 5e-6 };

    /// A channel of start-up `t_s` and time per word `t_w`.
    ///
    /// # Errors
    /// If one of them is not a finite number of at least 0.
    pub fn new(start_up_s: f64, word_s: f64) -> Result<Self, BadParameter> {
        Ok(Channel { start_up_s: at_least_zero("t_s", start_up_s)?, word_s: at_least_zero("t_w", word_s)? })
    }

    /// A channel of start-up `t_s` and `words_per_s` at most, section 3.3.2.1: `t_w = 1/r_inf`.
    ///
    /// # Errors
    /// If the start-up is not a finite number of at least 0, or the rate not one above 0.
    pub fn of_rate(start_up_s: f64, words_per_s: f64) -> Result<Self, BadParameter> {
        Channel::new(start_up_s, 1.0 / above_zero("r_inf", words_per_s)?)
    }

    /// `t_s`: what starting a message takes, in seconds.
    pub fn start_up_s(&self) -> f64 {
        self.start_up_s
    }

    /// `t_w`: what each word of a message takes, in seconds.
    pub fn word_s(&self) -> f64 {
        self.word_s
    }

    /// One message of `words`, section 3.3.2.1: `t_s + m t_w`.
    ///
    /// # Errors
    /// If the result is too large for a number.
    pub fn message_s(&self, words: u64) -> Result<f64, BadParameter> {
        time(self.start_up_s + words as f64 * self.word_s)
    }

    /// What a process communicates in a step with strips, section 6.1: `4 (t_s + n t_w)`, two neighbours, sent to
    /// and received from. It does not depend on the number of processes.
    ///
    /// # Errors
    /// If the matrix is empty.
    pub fn strips_s(&self, side: u64) -> Result<f64, BadParameter> {
        time(4.0 * (self.start_up_s + at_least_one("n", side)? * self.word_s))
    }

    /// What a process communicates in a step with blocks, section 6.1.1: `8 (t_s + n t_w / sqrt(p))`, four
    /// neighbours, sent to and received from.
    ///
    /// # Errors
    /// If the matrix is empty, or there are fewer than nine processes: no block then has four neighbours.
    pub fn blocks_s(&self, side: u64, processes: u32) -> Result<f64, BadParameter> {
        let (n, p) = (at_least_one("n", side)?, at_least_nine(processes)?);
        time(8.0 * (self.start_up_s + n * self.word_s / p.sqrt()))
    }

    /// The better way to cut: the one that communicates less time per step, strips if both take the same.
    ///
    /// # Errors
    /// As [`Channel::blocks_s`].
    pub fn better(&self, side: u64, processes: u32) -> Result<Shape, BadParameter> {
        let strips_win = self.strips_s(side)? <= self.blocks_s(side, processes)?;
        Ok(if strips_win { Shape::Strips } else { Shape::Blocks })
    }

    /// Both ways and all thresholds at once.
    ///
    /// # Errors
    /// As [`Channel::blocks_s`].
    pub fn compare(&self, side: u64, processes: u32) -> Result<Comparison, BadParameter> {
        Ok(Comparison {
            strips_s: self.strips_s(side)?,
            blocks_s: self.blocks_s(side, processes)?,
            better: self.better(side, processes)?,
            start_up_threshold_s: start_up_threshold_s(side, processes, self.word_s)?,
            word_threshold_s: word_threshold_s(side, processes, self.start_up_s)?,
            side_threshold: self.side_threshold(processes)?,
            processes_threshold: self.processes_threshold(side)?,
        })
    }

    /// Strips take less for matrices whose side is below this, section 6.1.2 solved for n:
    /// `n < t_s / (t_w (1 - 2/sqrt(p)))`. `None` if words are free: then they do for every n.
    ///
    /// # Errors
    /// If there are fewer than nine processes, or the result is too large for a number.
    pub fn side_threshold(&self, processes: u32) -> Result<Option<f64>, BadParameter> {
        let share = 1.0 - 2.0 / at_least_nine(processes)?.sqrt();
        if self.word_s == 0.0 {
            return Ok(None);
        }
        at_least_zero("the threshold of n", self.start_up_s / self.word_s / share).map(Some)
    }

    /// Strips take less for fewer processes than this, section 6.1.2 solved for p: `p < 4 / (1 - t_s/(n t_w))^2`.
    /// `None` if `t_s >= n t_w`: then they do for any number. A value below 9 means that blocks take less wherever
    /// the formula for them holds.
    ///
    /// # Errors
    /// If the matrix is empty, or the result too large for a number.
    pub fn processes_threshold(&self, side: u64) -> Result<Option<f64>, BadParameter> {
        let words_s = at_least_one("n", side)? * self.word_s;
        if self.start_up_s >= words_s {
            return Ok(None);
        }
        let root = 2.0 / (1.0 - self.start_up_s / words_s);
        at_least_zero("the threshold of p", root * root).map(Some)
    }

    /// With one process per row (p = n, section 7.1.1), strips take less up to this n: `(1 + sqrt(1 + t_s/t_w))^2`.
    /// `None` if words are free: then they do for every n.
    ///
    /// # Errors
    /// If the result is too large for a number.
    pub fn strips_up_to_side(&self) -> Result<Option<f64>, BadParameter> {
        if self.word_s == 0.0 {
            return Ok(None);
        }
        let root = 1.0 + (1.0 + self.start_up_s / self.word_s).sqrt();
        at_least_zero("the threshold of n", root * root).map(Some)
    }
}

/// `n - 2 sqrt(n)`: the threshold's factor with one process per row (p = n), the column heads of Table 2.
///
/// # Errors
/// If n is below 9, where no block has four neighbours.
pub fn factor(side: u64) -> Result<f64, BadParameter> {
    let n = side as f64;
    check("n", n, side >= 9, "at least 9, since with p = n no smaller one has a block of four neighbours")?;
    Ok(n - 2.0 * n.sqrt())
}

/// Strips take less if the start-up is above this, section 6.1.2 and Table 1: `t_s > n (1 - 2/sqrt(p)) t_w`.
///
/// # Errors
/// If the matrix is empty, there are fewer than nine processes, or `t_w` is not a finite number of at least 0.
pub fn start_up_threshold_s(side: u64, processes: u32, word_s: f64) -> Result<f64, BadParameter> {
    let words = words_between(side, processes)?;
    time(words * at_least_zero("t_w", word_s)?)
}

/// Strips take less if a word's time is below this, section 7.1.1 and Table 2: `t_w < t_s / (n (1 - 2/sqrt(p)))`.
/// Section 6.1.2 prints it with `t_s` and `t_w` exchanged and the sense reversed.
///
/// # Errors
/// If the matrix is empty, there are fewer than nine processes, or `t_s` is not a finite number of at least 0.
pub fn word_threshold_s(side: u64, processes: u32, start_up_s: f64) -> Result<f64, BadParameter> {
    let words = words_between(side, processes)?;
    time(at_least_zero("t_s", start_up_s)? / words)
}

/// `n (1 - 2/sqrt(p))`: how many words more a strip sends per message than blocks do with their twice as many messages.
fn words_between(side: u64, processes: u32) -> Result<f64, BadParameter> {
    let (n, p) = (at_least_one("n", side)?, at_least_nine(processes)?);
    Ok(n * (1.0 - 2.0 / p.sqrt()))
}

fn at_least_one(name: &'static str, count: u64) -> Result<f64, BadParameter> {
    check(name, count as f64, count >= 1, "at least 1")
}

fn at_least_nine(processes: u32) -> Result<f64, BadParameter> {
    check("p", f64::from(processes), processes >= 9, "at least 9: with fewer no block has four neighbours")
}

/// A result, if it is a number.
fn time(seconds: f64) -> Result<f64, BadParameter> {
    at_least_zero("the resulting time", seconds)
}

#[cfg(test)]
#[path = "decomposition_tests.rs"]
mod tests;
