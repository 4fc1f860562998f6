//! How much calculation keeps overheads hidden (section 5).

use super::{BadParameter, Channel, Shape, above_zero, at_least_nine, at_least_one, at_least_zero, check, time};

/// The parts of the overhead function h(s, p), section 5. All in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Overheads {
    /// `T_arch`: the architecture's.
    pub architecture_s: f64,
    /// `T_par`: of making the algorithm parallel.
    pub parallelisation_s: f64,
    /// `T_comm`: communication.
    pub communication_s: f64,
    /// `T_syn`: synchronisation.
    pub synchronisation_s: f64,
}

impl Overheads {
    /// `h = T_arch + T_par + T_comm + T_syn`, in seconds.
    ///
    /// # Errors
    /// If a part is not a finite number of at least 0, or the sum too large for a number.
    pub fn total_s(&self) -> Result<f64, BadParameter> {
        let mut total = 0.0;
        for (name, part) in [
            ("T_arch", self.architecture_s),
            ("T_par", self.parallelisation_s),
            ("T_comm", self.communication_s),
            ("T_syn", self.synchronisation_s),
        ] {
            total += at_least_zero(name, part)?;
        }
        time(total)
    }
}

/// The isoefficiency function, section 5: `w = max(T_comp, h)`. Where it is `T_comp`, calculation outweighs all
/// overheads; where it is h, more work per process is needed to stay efficient.
///
/// ```
/// use lathide_models::decomposition::{Overheads, isoefficiency_s};
/// let overheads = Overheads { communication_s: 1.5, synchronisation_s: 0.1, ..Overheads::default() };
/// assert_eq!(isoefficiency_s(1.0, &overheads)?, 1.6);
/// assert_eq!(isoefficiency_s(9.0, &overheads)?, 9.0);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If the calculation's time or an overhead is not a finite number of at least 0.
pub fn isoefficiency_s(calculation_s: f64, overheads: &Overheads) -> Result<f64, BadParameter> {
    Ok(at_least_zero("T_comp", calculation_s)?.max(overheads.total_s()?))
}

/// The efficiency of processes that calculate for `calculation_s` each: `E = T_comp / (T_comp + h)`, the part of the
/// time in which they calculate (sections 4 and 5, with `T = T_comp + h`).
///
/// # Errors
/// If the calculation's time is not a finite number above 0, or an overhead not one of at least 0.
pub fn efficiency(calculation_s: f64, overheads: &Overheads) -> Result<f64, BadParameter> {
    let calculation_s = above_zero("T_comp", calculation_s)?;
    let all_s = above_zero("T_comp + h", calculation_s + overheads.total_s()?)?;
    Ok(calculation_s / all_s)
}

impl Channel {
    /// The overheads of a step of an n x n matrix, section 6.1: the exchange of edges, beside `other` overheads (of
    /// which the communication is whatever else is communicated).
    ///
    /// # Errors
    /// If the matrix is empty, blocks have fewer than nine processes, or an overhead is not a finite number of at least
    /// 0.
    pub fn overheads(
        &self,
        shape: Shape,
        side: u64,
        processes: u32,
        other: &Overheads,
    ) -> Result<Overheads, BadParameter> {
        let edges_s = match shape {
            Shape::Blocks => self.blocks_s(side, processes)?,
            Shape::Strips => self.strips_s(side)?,
        };
        let communication_s = time(at_least_zero("T_comm", other.communication_s)? + edges_s)?;
        Ok(Overheads { communication_s, ..*other })
    }

    /// The least side n of a matrix on which `processes` are at least so efficient, section 5 with the costs of section
    /// 6.1; the work is `W = n^2` elements, each of which takes `operation_s` (t_c) in a step.
    ///
    /// `E = T_comp / (T_comp + h)` means `T_comp = E/(1 - E) h`, and with `T_comp = n^2 t_c / p` that is a quadratic
    /// equation in n. Where edges count, W grows as p with blocks, and as p^2 with strips.
    ///
    /// ```
    /// use lathide_models::decomposition::{Channel, Overheads, Shape};
    /// let channel = Channel::new(50e-6, 10e-9)?;
    /// let side = |shape, p| channel.side_for_efficiency(0.9, shape, p, 2e-9, &Overheads::default());
    /// // A hundred times the processes: with blocks a hundred times the work (ten times the side).
    /// assert_eq!(side(Shape::Blocks, 10_000)?.div_ceil(10), side(Shape::Blocks, 100)?);
    /// assert!(side(Shape::Strips, 10_000)? > 40 * side(Shape::Strips, 100)?);
    /// # Ok::<(), lathide_models::BadParameter>(())
    /// ```
    ///
    /// # Errors
    /// If `efficiency` is not between 0 and 1, both excluded, there are no processes, or fewer than nine for blocks,
    /// `t_c` is not a finite number above 0, an overhead not one of at least 0, or the side 4294967295 or more.
    pub fn side_for_efficiency(
        &self,
        efficiency: f64,
        shape: Shape,
        processes: u32,
        operation_s: f64,
        other: &Overheads,
    ) -> Result<u64, BadParameter> {
        let inside = efficiency > 0.0 && efficiency < 1.0;
        let efficiency = check("E", efficiency, inside, "between 0 and 1, both excluded")?;
        let element_s = above_zero("t_c", operation_s)? / at_least_one("p", processes.into())?;
        let (messages, words) = match shape {
            Shape::Blocks => (8.0, 8.0 / at_least_nine(processes)?.sqrt()),
            Shape::Strips => (4.0, 4.0),
        };
        // n^2 = 2 linear n + constant
        let per_overhead = efficiency / (1.0 - efficiency) / element_s;
        let linear = per_overhead * words * self.word_s / 2.0;
        let constant = per_overhead * (messages * self.start_up_s + other.total_s()?);
        let side = linear + linear.hypot(constant.sqrt());
        let side = check("n", side, side < f64::from(u32::MAX), "below 4294967295, or its square is no 64-bit number")?;
        let reaches = |side: u64| -> Result<bool, BadParameter> {
            let calculation_s = calculation_s(side * side, operation_s, processes)?;
            Ok(self::efficiency(calculation_s, &self.overheads(shape, side, processes, other)?)? >= efficiency)
        };
        // The root may be a little off: what the efficiency is there decides between the whole numbers beside it.
        let nearest = (side.round() as u64).max(1);
        Ok(if reaches(nearest)? { nearest } else { nearest + 1 })
    }
}

/// Calculation of `operations` that take `operation_s` each, shared by `processes`, section 4.1: `Z t_c / p`.
///
/// # Errors
/// If there are no processes, or `t_c` is not a finite number of at least 0.
pub fn calculation_s(operations: u64, operation_s: f64, processes: u32) -> Result<f64, BadParameter> {
    let p = at_least_one("p", processes.into())?;
    time(operations as f64 * at_least_zero("t_c", operation_s)? / p)
}
