//! The process that takes a lab away, however it ends.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use nix::sys::signal::SigSet;
use rustix::process::Pid;

use crate::launch::local::cleanup::kill_all;
use crate::launch::local::sweep::Seen;

/// How long killed processes may take to disappear.
const PATIENCE: Duration = Duration::from_secs(3);
/// How long a process takes from getting the namespaces to being in them.
const ON_THE_WAY: Duration = Duration::from_millis(20);

/// The hidden warden of the lab in `directory`: waits until the launcher, which tells it of network namespaces, has ended,
/// then ends what is left of the lab.
pub(crate) fn warden(directory: &Path) {
    // Who wants to end the lab ends the launcher.
    let _ = SigSet::all().thread_block();
    let lines = io::stdin().lines().map_while(Result::ok);
    let namespaces: Vec<u64> = lines.filter_map(|number| number.parse().ok()).collect();
    let end_processes = || kill_all(PATIENCE, |process| seen(process.id, &namespaces));
    end_processes();
    // A launcher that was killed early has not made it. Within are only links and what the lab has made.
    let _ = fs::remove_dir_all(directory);
    // From now on nobody new comes in; who was on the way has come by now.
    std::thread::sleep(ON_THE_WAY);
    end_processes();
}

/// Whether the process is in one of these network namespaces. Other users' processes cannot be read, and are not the
/// lab's. A dead one has no namespace any more.
fn seen(process: Pid, namespaces: &[u64]) -> Seen {
    match fs::metadata(format!("/proc/{process}/ns/net")) {
        Ok(namespace) if namespaces.contains(&namespace.ino()) => Seen::Meant,
        Ok(_) => Seen::Other,
        Err(_) => Seen::Nothing,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_is_in_its_own_network() {
        let own = rustix::process::getpid();
        let namespace = fs::metadata("/proc/self/ns/net").unwrap().ino();
        assert_eq!(seen(own, &[1, namespace]), Seen::Meant);
        assert_eq!([seen(own, &[1]), seen(own, &[])], [Seen::Other; 2]);
    }
}
