//! A process that outlives the launcher, which may be killed, and takes away what it leaves.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use super::failed::{Failed, system};
use super::local::cleanup::JOB_VARIABLE;

/// The hidden command of the `lathide` program.
const WARDEN: &str = "__warden";

/// The warden, as the launcher sees it. It learns of the launcher's end from its standard input.
pub(super) struct Warden(Child);

impl Warden {
    /// Starts that of the `kind`, a job or a lab, which has this name.
    pub(super) fn start(starter: &Path, kind: &str, name: impl AsRef<OsStr>) -> Result<Self, Failed> {
        let mut command = Command::new(starter);
        // A group of its own: what the terminal sends is not for it.
        command.arg(WARDEN).arg(kind).arg(name).env_remove(JOB_VARIABLE).process_group(0);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        process.map(Warden).map_err(system("the warden cannot be started"))
    }

    /// Tells it something, in a line.
    pub(super) fn tell(&mut self, what: impl Display) -> io::Result<()> {
        self.0.stdin.as_mut().map_or(Ok(()), |stdin| writeln!(stdin, "{what}"))
    }
}

impl Drop for Warden {
    /// Waits until it has done its part.
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
