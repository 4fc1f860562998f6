//! Tasks that differ: gamma per task (Strumpen 1994, section 2.2).
//!
//! "If the partitioning of an algorithm matches a heterogeneous configuration, gamma_s might be modeled as a vector
//! quantity, characterizing each task separately." Then `gamma_j = t_calc,j / t_com,j = gamma_s,j / (q gamma_h,j)`, eq.
//! (4) holds for each task, and a step of the job takes as long as that of its slowest task: all exchange what the next
//! step needs.

use super::with_overhead;
use crate::{BadParameter, above_zero, at_least_zero, check, fraction, representable};

/// What a step of one task takes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Task {
    calculation_s: f64,
    communication_s: f64,
}

/// A job of several tasks, with and without hiding.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Job {
    /// The step without hiding: that of its slowest task, `max(t_calc,j + t_com,j)`.
    pub step_s: f64,
    /// The step with hiding: that of the task which is then the slowest.
    pub hidden_s: f64,
    /// G, the quotient of the two. It lies between those of the two tasks below.
    pub gain: f64,
    /// The place of the slowest task without hiding; of equals the first.
    pub slowest: usize,
    /// The place of the slowest task with hiding; of equals the first.
    pub slowest_hidden: usize,
}

impl Task {
    /// A task that calculates for `calculation_s` (t_calc) and communicates for `communication_s` (t_com) in a step.
    ///
    /// # Errors
    /// If a time is not a finite number of at least 0, both are 0, or their sum is too large for a number.
    pub fn new(calculation_s: f64, communication_s: f64) -> Result<Self, BadParameter> {
        let calculation_s = at_least_zero("t_calc", calculation_s)?;
        let communication_s = at_least_zero("t_com", communication_s)?;
        above_zero("t_calc + t_com", calculation_s + communication_s)?;
        Ok(Self { calculation_s, communication_s })
    }

    /// t_calc.
    #[must_use]
    pub fn calculation_s(&self) -> f64 {
        self.calculation_s
    }

    /// t_com.
    #[must_use]
    pub fn communication_s(&self) -> f64 {
        self.communication_s
    }

    /// `gamma_j = t_calc / t_com`; `None` where nothing is communicated, or too little for a number.
    #[must_use]
    pub fn gamma(&self) -> Option<f64> {
        Some(self.calculation_s / self.communication_s).filter(|gamma| gamma.is_finite())
    }

    /// A step without hiding: `t_calc + t_com`.
    #[must_use]
    pub fn step_s(&self) -> f64 {
        self.calculation_s + self.communication_s
    }

    /// A step with hiding: `(1 - f) t_calc + max((f + Omega) t_calc, t_com)`.
    ///
    /// # Errors
    /// If `f` is not between 0 and 1, `omega` not a finite number of at least 0, or the result too large for a number.
    pub fn hidden_s(&self, f: f64, omega: f64) -> Result<f64, BadParameter> {
        let f = fraction("f", f)?;
        let omega = at_least_zero("Omega", omega)?;
        let overlapped_s = ((f + omega) * self.calculation_s).max(self.communication_s);
        above_zero("hidden step", (1.0 - f) * self.calculation_s + overlapped_s)
    }

    /// G_j of this task alone, eq. (4).
    ///
    /// # Errors
    /// As [`Task::hidden_s`].
    pub fn gain(&self, f: f64, omega: f64) -> Result<f64, BadParameter> {
        match self.communication_s / self.calculation_s {
            x if x.is_finite() => with_overhead(x, f, omega),
            // Next to nothing is calculated: eq. (4) tends to 1.
            _ => self.hidden_s(f, omega).map(|hidden_s| self.step_s() / hidden_s),
        }
    }
}

/// The gain of a job of `tasks` whose steps wait for each other.
///
/// ```
/// use lathide_models::gain::{Task, job};
/// // The second task calculates for twice as long as it communicates, the first as long.
/// let tasks = [Task::new(10e-3, 10e-3)?, Task::new(20e-3, 10e-3)?];
/// assert_eq!(tasks[0].gain(1.0, 0.0)?, 2.0);
/// assert_eq!(job(&tasks, 1.0, 0.0)?.gain, 1.5); // 30 ms of the second without hiding, 20 ms with it
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If there are no tasks, or as [`Task::hidden_s`].
pub fn job(tasks: &[Task], f: f64, omega: f64) -> Result<Job, BadParameter> {
    check("number of tasks", tasks.len() as f64, !tasks.is_empty(), "at least 1")?;
    let plain: Vec<f64> = tasks.iter().map(Task::step_s).collect();
    let hidden = tasks.iter().map(|task| task.hidden_s(f, omega)).collect::<Result<Vec<f64>, BadParameter>>()?;
    let (slowest, step_s) = greatest(&plain);
    let (slowest_hidden, hidden_s) = greatest(&hidden);
    Ok(Job { step_s, hidden_s, gain: representable("G", step_s / hidden_s)?, slowest, slowest_hidden })
}

/// The first of the greatest values, with its place.
fn greatest(values: &[f64]) -> (usize, f64) {
    let later = |best: (usize, f64), next: (usize, f64)| if next.1 > best.1 { next } else { best };
    values.iter().copied().enumerate().fold((0, f64::NEG_INFINITY), later)
}
