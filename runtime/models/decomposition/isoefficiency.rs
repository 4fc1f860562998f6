//! How much calculation keeps overheads hidden (section 5).

use super::{BadParameter, at_least_one, at_least_zero, time};

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

/// Calculation of `operations` that take `operation_s` each, shared by `processes`, section 4.1: `Z t_c / p`.
///
/// # Errors
/// If there are no processes, or `t_c` is not a finite number of at least 0.
pub fn calculation_s(operations: u64, operation_s: f64, processes: u32) -> Result<f64, BadParameter> {
    let p = at_least_one("p", processes.into())?;
    time(operations as f64 * at_least_zero("t_c", operation_s)? / p)
}
