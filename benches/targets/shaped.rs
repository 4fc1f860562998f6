//! What the command measures on links that the kernel shapes ([`super::shape`]); where that is not allowed, on emulated ones.

use std::process::Command;

use serde_json::Value;

use super::{LATHIDE, json_of, shape};

/// A rate, for the kernel and for the emulated link that stands in.
pub(super) struct Rate {
    pub(super) tbf: &'static str,
    pub(super) emulated: &'static str,
}

/// `lathide link` on a link of this rate, on all cores or on `core`; and how the link was made.
pub(super) fn link(rate: &Rate, core: Option<&str>, arguments: &[&str]) -> Result<(Value, &'static str), String> {
    measure(rate, core, "link", arguments)
}

/// `lathide gain` on a link of this rate; and how the link was made.
pub(super) fn gain(rate: &Rate, arguments: &[&str]) -> Result<(Value, &'static str), String> {
    measure(rate, None, "gain", arguments)
}

fn measure(rate: &Rate, core: Option<&str>, what: &str, arguments: &[&str]) -> Result<(Value, &'static str), String> {
    let (mut command, link, how) = match shape::is_allowed(rate.tbf) {
        true => (shape::within(rate.tbf), "loopback", "tbf"),
        false => (Command::new("env"), rate.emulated, "emulated"),
    };
    if let Some(core) = core {
        command.args(["taskset", "--cpu-list", core]);
    }
    command.args([LATHIDE, what, "--json", "--link", link]).args(arguments);
    json_of(&mut command).map(|json| (json, how))
}
