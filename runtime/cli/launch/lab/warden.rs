//! The process that takes a lab away, however it ends. It outlives the launcher, which may be killed.

use std::fs::{self, DirEntry};
use std::io::{self, Write};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::SigSet;
use rustix::process::{Pid, Signal, kill_process};

use super::control;

/// The hidden command of the `lathide` program.
const WARDEN: &str = "__lab-warden";
/// The lab's own names for its hosts, in its directory.
pub(super) const NAMES: &str = "hosts";
/// How long killed processes may take to disappear.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a process takes from getting the namespaces to being in them.
const ON_THE_WAY: Duration = Duration::from_millis(20);

/// The warden, as the launcher sees it.
pub(super) struct Warden {
    process: Child,
}

impl Warden {
    /// Starts it. Nothing of the lab need be there yet.
    pub(super) fn start(starter: &Path, directory: &Path) -> io::Result<Self> {
        let mut command = Command::new(starter);
        // A group of its own: what the terminal sends is not for it.
        command.arg(WARDEN).arg(directory).process_group(0);
        let process = command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        Ok(Warden { process })
    }

    /// Tells it of a network namespace, whose processes are the lab's.
    pub(super) fn watch(&mut self, namespace: u64) -> io::Result<()> {
        self.process.stdin.as_mut().map_or(Ok(()), |stdin| writeln!(stdin, "{namespace}"))
    }
}

impl Drop for Warden {
    /// The lab has ended: waits until nothing of it is left.
    fn drop(&mut self) {
        drop(self.process.stdin.take());
        let _ = self.process.wait();
    }
}

/// The hidden warden of the lab in `directory`: waits until the launcher has ended, then ends what is left of the lab.
pub(crate) fn warden(directory: &Path) {
    // Who wants to end the lab ends the launcher.
    let _ = SigSet::all().thread_block();
    let lines = io::stdin().lines().map_while(Result::ok);
    let namespaces: Vec<u64> = lines.filter_map(|number| number.parse().ok()).collect();
    end_processes(&namespaces);
    for file in [control::SOCKET, NAMES] {
        // A launcher that was killed early has not made it.
        let _ = fs::remove_file(directory.join(file));
    }
    let _ = fs::remove_dir(directory);
    // From now on nobody new comes in; who was on the way has come by now.
    std::thread::sleep(ON_THE_WAY);
    end_processes(&namespaces);
}

/// Kills all processes in these network namespaces until there is none.
fn end_processes(namespaces: &[u64]) {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        let left = processes_in(namespaces);
        if left.is_empty() {
            return;
        }
        for process in left {
            // Gone already: that is what is wanted.
            let _ = kill_process(process, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// All processes in these network namespaces.
fn processes_in(namespaces: &[u64]) -> Vec<Pid> {
    // Other users' processes cannot be read, and are not the lab's. A dead one has no namespace any more.
    let is_in = |entry: &DirEntry| {
        let namespace = fs::metadata(entry.path().join("ns/net"));
        namespace.is_ok_and(|namespace| namespaces.contains(&namespace.ino()))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten().filter(is_in);
    entries.filter_map(|entry| Pid::from_raw(entry.file_name().to_str()?.parse().ok()?)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_its_own_network() {
        let own = rustix::process::getpid();
        let namespace = fs::metadata("/proc/self/ns/net").unwrap().ino();
        assert!(processes_in(&[1, namespace]).contains(&own));
        assert!(!processes_in(&[1]).contains(&own) && processes_in(&[]).is_empty());
    }
}
