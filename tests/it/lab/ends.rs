//! How labs end, and that nothing is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::{is_possible, lathide};

/// Far longer than any end takes, except on a machine that is stuck.
const WATCHDOG: Duration = Duration::from_secs(60);

/// Starts a lab whose command first prints a line.
pub(super) fn started(command: &mut Command) -> (Child, String) {
    let mut lab = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("lathide");
    let mut line = String::new();
    BufReader::new(lab.stdout.as_mut().expect("a pipe")).read_line(&mut line).expect("a line");
    assert!(line.ends_with('\n'), "the lab ended: {line:?}");
    (lab, line.trim().to_owned())
}

/// Waits for a launcher's end.
pub(super) fn ended(lab: &mut Child) -> ExitStatus {
    ended_within(lab, WATCHDOG)
}

/// The same, of one that has so long.
pub(super) fn ended_within(lab: &mut Child, limit: Duration) -> ExitStatus {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = lab.try_wait().expect("the child is ours") {
            return status;
        }
        if Instant::now() > end {
            let _ = lab.kill();
            panic!("the lab does not end");
        }
        thread::sleep(Duration::from_millis(5));
    }
}

/// A directory for one test's labs, by which their processes are known.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("lathide-labs-{name}-{}", std::process::id()));
        fs::create_dir(&path).expect("a new directory");
        Place(path)
    }

    fn lathide(&self, args: &[&str]) -> Command {
        let mut command = lathide(args);
        command.env("XDG_RUNTIME_DIR", &self.0);
        command
    }

    /// Waits until there is neither a process nor a file of any lab here.
    #[track_caller]
    fn is_left_clean(&self) {
        let end = Instant::now() + WATCHDOG;
        loop {
            let (processes, files) = (processes_of(&self.0), fs::read_dir(&self.0).expect("our directory").count());
            if processes.is_empty() && files == 0 {
                return;
            }
            assert!(Instant::now() < end, "left: {processes:?}, {files} files in {}", self.0.display());
            thread::sleep(Duration::from_millis(20));
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

/// The processes whose environment names this directory.
fn processes_of(place: &Path) -> Vec<String> {
    let mark = format!("XDG_RUNTIME_DIR={}", place.display());
    let entries = fs::read_dir("/proc").expect("Linux").flatten();
    let marked = entries.filter(|entry| {
        let environment = fs::read(entry.path().join("environ")).unwrap_or_default();
        environment.split(|&byte| byte == 0).any(|variable| variable == mark.as_bytes())
    });
    let name = |path: PathBuf| fs::read_to_string(path.join("cmdline")).unwrap_or_default().replace('\0', " ");
    marked.map(|entry| name(entry.path())).collect()
}

fn kill(lab: &Child, signal: Signal) {
    let process = Pid::from_raw(i32::try_from(lab.id()).expect("a process id")).expect("not zero");
    kill_process(process, signal).expect("it lives");
}

/// Leaves processes on two hosts that nobody waits for, then stays.
const UNRULY: &str = "setsid sleep 1000 & $1 __in-host host1 setsid sleep 1000 & echo ready; exec cat";

#[test]
fn a_killed_launcher_leaves_nothing() {
    if !is_possible() {
        return;
    }
    let place = Place::new("killed");
    let args = ["--hosts", "2", "--", "sh", "-c", UNRULY, "sh", env!("CARGO_BIN_EXE_lathide")];
    let (mut lab, line) = started(&mut place.lathide(&args));
    assert_eq!(line, "ready");
    kill(&lab, Signal::KILL);
    assert_eq!(ended(&mut lab).signal(), Some(9));
    place.is_left_clean();
}

#[test]
fn a_launcher_killed_at_any_moment_leaves_nothing() {
    if !is_possible() {
        return;
    }
    let place = Place::new("moments");
    for after_ms in [0, 2, 5, 10, 15, 20, 30, 50, 100] {
        let args = ["--hosts", "3", "--", "sh", "-c", "sleep 1000"];
        let mut lab = place.lathide(&args).stderr(Stdio::null()).spawn().expect("lathide");
        thread::sleep(Duration::from_millis(after_ms));
        kill(&lab, Signal::KILL);
        ended(&mut lab);
        place.is_left_clean();
    }
}

#[test]
fn a_command_that_ends_takes_all_with_it() {
    if !is_possible() {
        return;
    }
    let place = Place::new("ends");
    let args = ["--hosts", "2", "--", "sh", "-c", UNRULY, "sh", env!("CARGO_BIN_EXE_lathide")];
    let (mut lab, _) = started(place.lathide(&args).stderr(Stdio::null()));
    drop(lab.stdin.take());
    assert_eq!(ended(&mut lab).code(), Some(0));
    // At once: the launcher has waited for it.
    assert_eq!((processes_of(&place.0), fs::read_dir(&place.0).expect("our directory").count()), (Vec::new(), 0));
}

#[test]
fn signals_reach_the_command() {
    if !is_possible() {
        return;
    }
    let place = Place::new("signals");
    let script = "trap 'echo heard; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let (mut lab, _) = started(place.lathide(&["--hosts", "1", "--", "sh", "-c", script]).stderr(Stdio::null()));
    kill(&lab, Signal::TERM);
    assert_eq!(ended(&mut lab).code(), Some(5));
    let (mut lab, _) =
        started(place.lathide(&["--hosts", "1", "--", "sh", "-c", "echo ready; exec cat"]).stderr(Stdio::null()));
    kill(&lab, Signal::INT);
    assert_eq!(ended(&mut lab).code(), Some(130));
    place.is_left_clean();
}
