//! Work for nodes of different speed (section 5).
//!
//! `T_syn`, what nodes wait for each other, goes away where each has as much to do as it can: "we would measure
//! performance of individual used computing nodes [...] and then based on done measured results we are able to
//! redistribute better given input load".

use super::{BadParameter, above_zero, at_least_zero, check};

/// How many of `units` (rows, blocks) each node takes, so that the last one ends as early as whole units allow.
///
/// `speeds` are in units per time, any time. All units are given out. A node may have none, where there are fewer units
/// than nodes or it is slower than the others by far.
///
/// ```
/// use lathide_models::decomposition::shares;
/// assert_eq!(shares(1024, &[1.0, 1.0, 2.0])?, [256, 256, 512]);
/// assert_eq!(shares(10, &[1.0, 1.0, 1.0])?, [4, 3, 3]);
/// # Ok::<(), lathide_models::BadParameter>(())
/// ```
///
/// # Errors
/// If there are no nodes, a speed or the sum of all is not a finite number above 0, or there are 2^53 units or more.
pub fn shares(units: u64, speeds: &[f64]) -> Result<Vec<u64>, BadParameter> {
    let all = total(speeds)?;
    check("n", units as f64, units < 1 << 53, "below 2^53")?;
    let mut shares: Vec<u64> = speeds.iter().map(|speed| (units as f64 * (speed / all)) as u64).collect();
    let mut given: u64 = shares.iter().sum();
    // What rounding left over, at most one for each node: to whoever ends first with it. That keeps the last end least.
    while given < units {
        let Some(node) = least(speeds, |node| (shares[node] + 1) as f64 / speeds[node]) else { break };
        shares[node] += 1;
        given += 1;
    }
    while given > units {
        let Some(node) = least(speeds, |node| -(shares[node] as f64 / speeds[node])) else { break };
        shares[node] -= 1;
        given -= 1;
    }
    Ok(shares)
}

/// When the last of the nodes has done its share: the greatest `share / speed`, in the time unit of the speeds.
///
/// # Errors
/// If the two do not have the same number, or as [`shares`].
pub fn last_end(shares: &[u64], speeds: &[f64]) -> Result<f64, BadParameter> {
    total(speeds)?;
    check("number of shares", shares.len() as f64, shares.len() == speeds.len(), "that of the speeds")?;
    let ends = shares.iter().zip(speeds).map(|(share, speed)| *share as f64 / speed);
    at_least_zero("the last end", ends.fold(0.0, f64::max))
}

/// The sum of the speeds, each of which is one.
fn total(speeds: &[f64]) -> Result<f64, BadParameter> {
    check("number of speeds", speeds.len() as f64, !speeds.is_empty(), "at least 1")?;
    let mut all = 0.0;
    for speed in speeds {
        all += above_zero("speed", *speed)?;
    }
    above_zero("sum of the speeds", all)
}

/// The first node with the least value.
fn least(speeds: &[f64], value: impl Fn(usize) -> f64) -> Option<usize> {
    (0..speeds.len()).min_by(|one, other| value(*one).total_cmp(&value(*other)))
}
