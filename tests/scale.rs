//! How much of what chance draws is tried: seeds, schedules, cases. Included by every package's tests.
//!
//! `LATHIDE_TEST_SCALE` scales the numbers that stand in the tests: a tenth unless it says otherwise, which is for editing; 1
//! before a merge; 10 for a night.

#![allow(dead_code, reason = "no package uses all of it")]

use proptest::test_runner::{Config, FileFailurePersistence, RngSeed};

const USUAL: f64 = 0.1;
/// From here on, chance draws anew each time.
const NIGHT: f64 = 10.0;

/// The scale.
///
/// # Panics
/// If the variable is no number above 0.
pub(crate) fn scale() -> f64 {
    match std::env::var("LATHIDE_TEST_SCALE") {
        Ok(text) => match text.parse() {
            Ok(scale) if scale > 0.0 => scale,
            _ => panic!("LATHIDE_TEST_SCALE={text}: this is a number above 0, such as 0.1, 1 or 10"),
        },
        Err(_) => USUAL,
    }
}

/// So many instead of `full`, at least 1.
pub(crate) fn scaled(full: u64) -> u64 {
    ((full as f64 * scale()).round() as u64).max(1)
}

/// Whether what is bounded, such as every number of ranks up to 64, is tried whole.
pub(crate) fn is_whole() -> bool {
    scale() >= 1.0
}

/// The numbers of ranks up to `most`: all, or all up to 17 and some beyond, near powers of two.
pub(crate) fn ranks(most: u32) -> impl Iterator<Item = u32> {
    let is_whole = is_whole();
    (1..=most).filter(move |&ranks| is_whole || ranks <= 17 || ranks == most || [31, 32, 33, 48].contains(&ranks))
}

/// A property of which `full` cases are tried: the same each time, or by night others each time, since a change must not be
/// refused for what it did not do. `PROPTEST_RNG_SEED` draws others by day. Those that failed once are kept, and tried first.
pub(crate) fn cases(full: u32) -> Config {
    let is_root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("runtime").is_dir();
    let kept = if is_root { "tests/proptest-regressions" } else { "../tests/proptest-regressions" };
    let usual = Config::default();
    let rng_seed = match usual.rng_seed {
        RngSeed::Random if scale() < NIGHT => RngSeed::Fixed(1994),
        given => given,
    };
    Config {
        rng_seed,
        cases: scaled(full.into()).max(16) as u32,
        failure_persistence: Some(Box::new(FileFailurePersistence::SourceParallel(kept))),
        ..usual
    }
}
