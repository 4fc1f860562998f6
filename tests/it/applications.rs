//! The papers' applications, as real processes: each against a sequential or analytic result.

use serde_json::Value;

mod cavity;
mod decomposition;
mod krylov;
mod laplace;
mod multigrid;
mod night;

/// The bytes and the number of a region's messages in one direction.
fn messages(region: &Value, direction: &str) -> Vec<(u64, u64)> {
    let number = |sized: &Value, member: &str| sized[member].as_u64().expect("a number");
    let sizes = region[direction].as_array().into_iter().flatten();
    sizes.map(|sized| (number(sized, "bytes"), number(sized, "messages"))).collect()
}
