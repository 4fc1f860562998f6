//! The command `lathide`: starts jobs, and measures and predicts what latency hiding gains.
//!
//! | module | what |
//! | --- | --- |
//! | `commands` | one module per command |
//! | `launch` | the launcher, its agents on other hosts, the emulated link, the virtual network |
//! | `report` | tables, curves and pages of results |
//!
//! A library so that tests and benches reach the emulated link; nothing in it is for programs.

// Tests may: their queues and clocks are not the product's.
#![cfg_attr(test, allow(clippy::disallowed_methods, clippy::disallowed_types))]

/// As the standard one, but a standard error that takes nothing, such as a full disk, is no reason to panic: there is
/// nobody else to tell.
macro_rules! eprintln {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        _ = writeln!(std::io::stderr(), $($words)*);
    }};
}

#[cfg(test)]
#[path = "../../tests/chance.rs"]
mod chance;
mod commands;
#[cfg(fuzzing)]
#[doc(hidden)]
pub mod fuzz;
mod launch;
mod log;
#[cfg(test)]
#[path = "../../tests/mutant.rs"]
mod mutant;
mod nearest;
mod report;
#[cfg(test)]
#[path = "../../tests/scale.rs"]
mod scale;

mod version;

pub use launch::link::{LinkSpec, Relay};

/// Runs the command line. Returns its exit status.
pub fn main() -> std::process::ExitCode {
    log::start();
    commands::main()
}
