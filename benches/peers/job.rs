//! Processes that end: by themselves, when one of them fails, or when their time is over.

use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// Between looks at whether a process has ended.
const LOOK: Duration = Duration::from_millis(10);
/// What a launcher has to end its ranks, once told to.
const GRACE: Duration = Duration::from_secs(2);

/// Runs these processes together; gives what the first one prints. What they print lies in files of `folder`, so that a process
/// that is left over holds nobody up.
pub(crate) fn run(commands: Vec<Command>, folder: &Path, limit: Duration) -> Result<String, String> {
    let (out, errors) = (folder.join("out"), folder.join("errors"));
    let said = || std::fs::read_to_string(&errors).unwrap_or_default();
    let create = |path: &Path| File::create(path).map_err(|error| format!("{}: {error}", path.display()));
    let (out_file, error_file) = (create(&out)?, create(&errors)?);
    let mut children = Children(Vec::new());
    for (at, mut command) in commands.into_iter().enumerate() {
        let to = |file: &File| file.try_clone().map_or(Stdio::null(), Stdio::from);
        command.stdin(Stdio::null()).stderr(to(&error_file)).stdout(if at == 0 {
            to(&out_file)
        } else {
            Stdio::null()
        });
        let name = command.get_program().to_string_lossy().into_owned();
        children.0.push(command.spawn().map_err(|error| format!("{name}: {error}"))?);
    }
    let until = Instant::now() + limit;
    while !children.0.is_empty() {
        if Instant::now() > until {
            return Err(format!("not done after {} s: {}", limit.as_secs(), end_of(&said())));
        }
        std::thread::sleep(LOOK);
        let mut failed = None;
        children.0.retain_mut(|child| match child.try_wait() {
            Ok(None) => true,
            Ok(Some(status)) if status.success() => false,
            other => {
                failed = Some(format!("{other:?}"));
                false
            }
        });
        if let Some(how) = failed {
            return Err(format!("ended with {how}: {}", end_of(&said())));
        }
    }
    std::fs::read_to_string(&out).map_err(|error| error.to_string())
}

/// The last lines of what was said.
fn end_of(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(6)..].join(" / ")
}

/// Ends those that are left, launchers with a moment to end their own.
struct Children(Vec<Child>);

impl Drop for Children {
    fn drop(&mut self) {
        for child in &self.0 {
            let _ = Pid::from_raw(child.id().cast_signed()).map(|pid| kill_process(pid, Signal::TERM));
        }
        let until = Instant::now() + GRACE;
        for child in &mut self.0 {
            while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
                std::thread::sleep(LOOK);
            }
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
