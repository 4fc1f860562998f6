//! What a lab is to be: its hosts, their cables, the command in it; and the variables by which programs know that they
//! are in one.

use std::ffi::OsString;

use super::cable::Cable;

/// The variable that tells programs within a lab its directory.
pub(crate) const DIRECTORY_VARIABLE: &str = "LATHIDE_LAB";
/// The variable that tells them the names of its hosts, separated by commas.
pub(crate) const HOSTS_VARIABLE: &str = "LATHIDE_LAB_HOSTS";
/// The variable that tells them the emulated link that stands in for the lab, where there could be none.
pub(crate) const RELAY_VARIABLE: &str = "LATHIDE_LAB_RELAY";

/// A virtual network, and a command that runs on its first host.
#[derive(Clone, Debug)]
pub(crate) struct Lab {
    /// How many hosts: `host0` and on.
    pub hosts: u32,
    /// Each host's cable to the switch.
    pub cable: Cable,
    /// Whether there is one medium for all hosts, on which one packet at a time passes.
    pub shared: bool,
    /// The program that runs on `host0`: a path, or a name to be found in `PATH`.
    pub program: OsString,
    /// Its arguments.
    pub args: Vec<OsString>,
    /// Whether its standard output goes to the standard error.
    pub output_to_stderr: bool,
}

impl Lab {
    /// `hosts` hosts with such cables, and `program` on the first.
    pub(crate) fn new(hosts: u32, cable: Cable, program: OsString, args: Vec<OsString>) -> Self {
        Lab { hosts, cable, shared: false, program, args, output_to_stderr: false }
    }
}
