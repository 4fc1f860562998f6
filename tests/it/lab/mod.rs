//! `lathide lab`, from outside and from within: real TCP between its hosts, and what is left behind.
//!
//! Where the system allows no namespaces these tests are skipped, unless LATHIDE_LAB_REQUIRED=1.

mod commands;
mod contention;
mod cuts;
mod ends;
mod jobs;
mod lanes;
mod moves;
mod network;
mod program;
mod start;

use std::process::{Command, Stdio};
use std::sync::OnceLock;

use super::process::run;

/// `lathide lab` with these arguments, in no lab.
fn lathide(args: &[&str]) -> Command {
    let mut command = crate::support::lathide();
    command.arg("lab").args(args).env_remove("LATHIDE_LAB").env_remove("LATHIDE_LAB_HOSTS").stdin(Stdio::null());
    command
}

/// Whether this machine can have a lab. Says so if not.
#[track_caller]
pub(crate) fn is_possible() -> bool {
    static POSSIBLE: OnceLock<Result<(), String>> = OnceLock::new();
    let possible = POSSIBLE.get_or_init(|| {
        let tried = run(&mut lathide(&["--hosts", "1", "--quiet", "--", "true"]));
        if tried.status == Some(0) { Ok(()) } else { Err(tried.stderr) }
    });
    let Err(why) = possible else { return true };
    assert!(std::env::var_os("LATHIDE_LAB_REQUIRED").is_none_or(|value| value != "1"), "{why}");
    eprintln!("skipped: {why}");
    false
}
