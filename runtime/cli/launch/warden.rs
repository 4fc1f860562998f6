//! A process that outlives the launcher, which may be killed, and takes away what it leaves.

use std::ffi::OsStr;
use std::fmt::Display;
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, getppid, pidfd_open};

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

/// The launcher, as its warden sees it.
pub(super) struct Launcher(Option<OwnedFd>);

impl Launcher {
    /// How long it may take from the end of the warden's input to its own.
    const ENDS: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

    /// This process's parent.
    pub(super) fn new() -> Self {
        Launcher(getppid().and_then(|parent| pidfd_open(parent, PidfdFlags::empty()).ok()))
    }

    /// Waits until it is dead, when it was killed and the warden's input has ended: a killed process closes its files a
    /// moment before its children get the signal of its death. Until then they may start others.
    pub(super) fn wait(self) {
        if let Some(launcher) = self.0 {
            // Whose parent had died before is now another's child, which lives on: a second is enough for any other.
            let _ = poll(&mut [PollFd::new(&launcher, PollFlags::IN)], Some(&Self::ENDS));
        }
    }
}
