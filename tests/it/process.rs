//! Runs a program to its end, under a deadline.

use std::io::Read;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// No program that a test starts takes this long, on however busy a machine.
const DEADLINE: Duration = Duration::from_secs(120);

/// A program's end and all it wrote.
#[derive(Debug)]
pub(crate) struct Finished {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Finished {
    /// Itself, if the status is 0.
    #[track_caller]
    pub(crate) fn succeeded(self) -> Self {
        assert_eq!(self.status, Some(0), "{self:?}");
        self
    }

    /// Itself, if the status is this one.
    #[track_caller]
    pub(crate) fn failed(self, status: i32) -> Self {
        assert_eq!(self.status, Some(status), "{self:?}");
        self
    }
}

/// Runs the command without input; kills it and panics if it takes too long.
#[track_caller]
pub(crate) fn run(command: &mut Command) -> Finished {
    run_within(command, DEADLINE)
}

/// The same with another deadline.
#[track_caller]
pub(crate) fn run_within(command: &mut Command, deadline: Duration) -> Finished {
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let stdout = read(child.stdout.take());
    let stderr = read(child.stderr.take());
    let end = Instant::now() + deadline;
    let status = loop {
        if let Some(status) = child.try_wait().expect("the child is ours") {
            break status;
        }
        if Instant::now() > end {
            child.kill().expect("the child is ours");
            _ = child.wait();
            panic!("{command:?} took more than {deadline:?}: {:?} {:?}", stdout.join(), stderr.join());
        }
        std::thread::sleep(Duration::from_millis(2));
    };
    let text = |reader: std::thread::JoinHandle<String>| reader.join().expect("reading does not panic");
    Finished { status: status.code(), stdout: text(stdout), stderr: text(stderr) }
}

fn read(pipe: Option<impl Read + Send + 'static>) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
