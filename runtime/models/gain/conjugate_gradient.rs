//! Conjugate gradients with and without hiding (Strumpen 1994, section 4.3, after de Sturler and van der Vorst).
//!
//! On a mesh of p processors an iteration takes `T(p) = a/p + b sqrt(p)`, the second term for the global sums. The
//! variant parCG hides them behind a fraction f of the calculation, at the cost omega:
//! `T_lh(p) = (1 - f) a/p + max(f a/p + omega, b sqrt(p))`.
//!
//! ```
//! use lathide_models::gain::ConjugateGradient;
//! let paper = ConjugateGradient::PAPER;
//! assert_eq!(paper.best_for_gain()?, 229);
//! assert_eq!(format!("{:.3}", paper.gain(229)?), "1.307");
//! # Ok::<(), lathide_models::BadParameter>(())
//! ```

use super::scaling::{Messages, Scaling, better, whole};
use crate::{BadParameter, above_zero, at_least_zero};

/// What a machine takes for the parts of an iteration.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Costs {
    /// t_fl, the time of a floating point operation.
    pub flop_s: f64,
    /// t_s, the start-up of a message between neighbours.
    pub startup_s: f64,
    /// t_w, the time of a word.
    pub word_s: f64,
}

/// The run-time model of CG and parCG.
///
/// Times are relative where it was made [`from_ratio`](Self::from_ratio): then b is 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ConjugateGradient {
    nonzeros: u32,
    a_s: f64,
    b_s: f64,
}

impl ConjugateGradient {
    /// The study of the paper. Its n_z and machine are not printed; these are what its eight printed numbers allow.
    pub const PAPER: Self = Self { nonzeros: 5, a_s: 7359.0, b_s: 1.0 };

    /// A matrix with `nonzeros` (n_z) per row, and `ratio` = a/b.
    ///
    /// # Errors
    /// If `ratio` is not a finite number above 0.
    pub fn from_ratio(nonzeros: u32, ratio: f64) -> Result<Self, BadParameter> {
        Ok(Self { nonzeros, a_s: above_zero("a/b", ratio)?, b_s: 1.0 })
    }

    /// `unknowns` (N) unknowns with `nonzeros` (n_z) per row: `a = (9 + 4 n_z) t_fl N`, `b = 6 (t_s + 3 t_w)`.
    ///
    /// # Errors
    /// If a cost is not a finite number of at least 0, or `a`, `b` or `a/b` not one above 0.
    pub fn on_machine(nonzeros: u32, unknowns: u64, costs: Costs) -> Result<Self, BadParameter> {
        let flop_s = at_least_zero("t_fl", costs.flop_s)?;
        let startup_s = at_least_zero("t_s", costs.startup_s)?;
        let word_s = at_least_zero("t_w", costs.word_s)?;
        let flops = 9.0 + 4.0 * f64::from(nonzeros);
        let a_s = above_zero("a = (9 + 4 n_z) t_fl N", flops * flop_s * unknowns as f64)?;
        let b_s = above_zero("b = 6 (t_s + 3 t_w)", 6.0 * (startup_s + 3.0 * word_s))?;
        above_zero("a/b", a_s / b_s)?;
        Ok(Self { nonzeros, a_s, b_s })
    }

    /// The fraction of the calculation that can hide the sums: `2 n_z / (9 + 4 n_z)`.
    #[must_use]
    pub fn f(&self) -> f64 {
        let nonzeros = f64::from(self.nonzeros);
        2.0 * nonzeros / (9.0 + 4.0 * nonzeros)
    }

    /// `lambda = a/b`; with it and `q = sqrt(p)` this is eq. (6).
    #[must_use]
    pub fn lambda(&self) -> f64 {
        self.a_s / self.b_s
    }

    /// Eq. (6) with this study's lambda, f and q = sqrt(p), but an Omega that is the same for any p. Its greatest gain
    /// is elsewhere: with `omega` 0 at p = 186 instead of 229 in the paper's study, since the study's own Omega grows
    /// with p ([`ConjugateGradient::omega`]), and so does the ratio x at which the sums are just hidden, `x = f +
    /// Omega`.
    ///
    /// # Errors
    /// If `omega` is not a finite number of at least 0.
    pub fn with_constant_omega(&self, omega: f64) -> Result<Scaling, BadParameter> {
        Scaling::new(self.lambda(), Messages::MESH, self.f(), omega)
    }

    /// `Omega = omega p / a`, the overhead relative to the calculation; `omega = 4 b`.
    ///
    /// # Errors
    /// If there are no processors, or the result is too large for a number. So for every method with processors.
    pub fn omega(&self, processors: u32) -> Result<f64, BadParameter> {
        let p = above_zero("p", f64::from(processors))?;
        at_least_zero("Omega = omega p / a", 4.0 * p / self.lambda())
    }

    /// T(p), an iteration without hiding.
    ///
    /// # Errors
    /// As [`ConjugateGradient::omega`].
    pub fn time_s(&self, processors: u32) -> Result<f64, BadParameter> {
        let p = above_zero("p", f64::from(processors))?;
        at_least_zero("T(p)", self.a_s / p + self.b_s * p.sqrt())
    }

    /// T_lh(p), an iteration with hiding.
    ///
    /// # Errors
    /// As [`ConjugateGradient::omega`].
    pub fn time_hidden_s(&self, processors: u32) -> Result<f64, BadParameter> {
        let p = above_zero("p", f64::from(processors))?;
        let (f, calculation_s) = (self.f(), self.a_s / p);
        let overlapped_s = (f * calculation_s + 4.0 * self.b_s).max(self.b_s * p.sqrt());
        at_least_zero("T_lh(p)", (1.0 - f) * calculation_s + overlapped_s)
    }

    /// S(p) = T(1) / T(p).
    ///
    /// # Errors
    /// As [`ConjugateGradient::omega`].
    pub fn speedup(&self, processors: u32) -> Result<f64, BadParameter> {
        above_zero("S", self.time_s(1)? / self.time_s(processors)?)
    }

    /// S_lh(p) = T_lh(1) / T_lh(p).
    ///
    /// # Errors
    /// As [`ConjugateGradient::omega`].
    pub fn speedup_hidden(&self, processors: u32) -> Result<f64, BadParameter> {
        above_zero("S_lh", self.time_hidden_s(1)? / self.time_hidden_s(processors)?)
    }

    /// G = S_lh(p) / S(p), each relative to its own time on one processor. The paper's printed 1.307 is this one.
    ///
    /// # Errors
    /// As [`ConjugateGradient::omega`].
    pub fn gain(&self, processors: u32) -> Result<f64, BadParameter> {
        above_zero("G", self.speedup_hidden(processors)? / self.speedup(processors)?)
    }

    /// T(p) / T_lh(p), which the paper's text takes for G. At p = 229 it is 1.306, not the printed 1.307.
    ///
    /// # Errors
    /// As [`ConjugateGradient::omega`].
    pub fn gain_of_times(&self, processors: u32) -> Result<f64, BadParameter> {
        above_zero("G", self.time_s(processors)? / self.time_hidden_s(processors)?)
    }

    /// The number of processors with the greatest S: around `(2 a/b)^(2/3)`.
    ///
    /// # Errors
    /// If it is above `u32::MAX`. So for the other two.
    pub fn best_for_speedup(&self) -> Result<u32, BadParameter> {
        self.best((2.0 * self.lambda()).powf(2.0 / 3.0), |p| self.speedup(p))
    }

    /// The number of processors with the greatest S_lh: around `(2 (1 - f) a/b)^(2/3)`, or where the sums are just
    /// hidden, if that is more.
    ///
    /// # Errors
    /// As [`ConjugateGradient::best_for_speedup`].
    pub fn best_for_speedup_hidden(&self) -> Result<u32, BadParameter> {
        let falls_from = (2.0 * (1.0 - self.f()) * self.lambda()).powf(2.0 / 3.0);
        self.best(falls_from.max(self.just_hidden()), |p| self.speedup_hidden(p))
    }

    /// The number of processors with the greatest G: around where the sums are just hidden,
    /// `f a/p + omega = b sqrt(p)`, or 1 if G is below 1 there.
    ///
    /// # Errors
    /// As [`ConjugateGradient::best_for_speedup`].
    pub fn best_for_gain(&self) -> Result<u32, BadParameter> {
        let hidden = self.best(self.just_hidden(), |p| self.gain(p))?;
        better(1, hidden, |p| self.gain(p))
    }

    /// The root p of `f a/p + omega = b sqrt(p)`, that is of `s^3 - 4 s^2 = f a/b` with `s = sqrt(p)`, by bisection.
    fn just_hidden(&self) -> f64 {
        let target = self.f() * self.lambda();
        let (mut below, mut above) = (4.0, 4.0 + target.cbrt());
        for _ in 0..200 {
            let middle = 0.5 * (below + above);
            // Divided by s^2, since s^3 may be too large for a number.
            if middle - 4.0 < target / middle / middle { below = middle } else { above = middle }
        }
        above * above
    }

    fn best(&self, place: f64, value: impl Fn(u32) -> Result<f64, BadParameter>) -> Result<u32, BadParameter> {
        if place >= f64::from(u32::MAX) {
            return Err(BadParameter { name: "best p", value: place, domain: "at most 4294967295; lower a/b" });
        }
        better(whole(place.floor()), whole(place.ceil()), value)
    }
}
