//! Jobs of real processes: this test binary started again as the ranks' program, by `lathide run` or by hand.
//!
//! What a rank says is a line `spmd: RANK TIME WORD REST`, with the time of one clock for all processes of the machine.

pub(crate) mod programs;

use std::io::{BufRead, BufReader, Read};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::{KEY, free_root};

/// Nothing here takes this long, except on a machine that is stuck.
const WATCHDOG: Duration = Duration::from_secs(60);

/// What one rank said.
#[derive(Clone, Debug)]
pub(crate) struct Line {
    pub(crate) rank: u32,
    /// Milliseconds of the machine's clock that never steps back.
    pub(crate) at_ms: f64,
    pub(crate) word: String,
    pub(crate) rest: String,
}

/// The clock of [`Line::at_ms`].
pub(crate) fn now_ms() -> f64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    now.tv_sec as f64 * 1e3 + now.tv_nsec as f64 / 1e6
}

/// How a job is started, beside its program and size.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Start {
    /// By `lathide run`.
    Launched,
    /// One process per rank with its variables; rank 0 serves the rendezvous.
    ByHand,
}

/// Every way to start a job.
pub(crate) const STARTS: &[Start] = &[Start::Launched, Start::ByHand];

/// A job under way. Dropped, it leaves no process behind.
pub(crate) struct Job {
    children: Vec<Child>,
    lines: Receiver<Line>,
    said: Vec<Line>,
    errors: Vec<Arc<Mutex<String>>>,
    readers: Vec<thread::JoinHandle<()>>,
    key: Option<PathBuf>,
}

/// A job that has ended.
pub(crate) struct Ended {
    pub(crate) said: Vec<Line>,
    /// The launcher's status, or each rank's.
    pub(crate) statuses: Vec<ExitStatus>,
    /// What the launcher, or each rank, wrote to standard error.
    pub(crate) errors: Vec<String>,
}

impl Job {
    /// Starts `size` ranks of `program` (see [`programs`]) with more `variables`.
    pub(crate) fn start(start: Start, size: u32, program: &str, variables: &[(&str, &str)]) -> Job {
        let (sender, lines) = channel();
        let mut job =
            Job { children: Vec::new(), lines, said: Vec::new(), errors: Vec::new(), readers: Vec::new(), key: None };
        match start {
            Start::Launched => {
                let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
                // Who is busy is not ended before it has said what it has to.
                command.args(["run", "--grace", "30", "-n", &size.to_string()]).arg(this()).args(ARGUMENTS);
                job.spawn(prepared(command, program, variables), &sender);
            }
            Start::ByHand => job.by_hand(&free_root(), size, program, variables, &sender),
        }
        job
    }

    /// As [`Start::ByHand`], with a rendezvous at `root` that is there.
    pub(crate) fn start_at(root: &str, size: u32, program: &str, variables: &[(&str, &str)]) -> Job {
        let (sender, lines) = channel();
        let mut job =
            Job { children: Vec::new(), lines, said: Vec::new(), errors: Vec::new(), readers: Vec::new(), key: None };
        job.by_hand(root, size, program, variables, &sender);
        job
    }

    fn by_hand(&mut self, root: &str, size: u32, program: &str, variables: &[(&str, &str)], lines: &Sender<Line>) {
        let key = key_file(&KEY);
        for rank in 0..size {
            let (rank, size) = (rank.to_string(), size.to_string());
            let mut command = Command::new(this());
            command.args(ARGUMENTS).env("LATHIDE_RANK", rank).env("LATHIDE_SIZE", size);
            command.env("LATHIDE_ROOT", root).env("LATHIDE_KEY_FILE", &key);
            self.spawn(prepared(command, program, variables), lines);
        }
        self.key = Some(key);
    }

    /// The job that this [`prepared`] command starts.
    pub(crate) fn of(command: Command) -> Job {
        let (sender, lines) = channel();
        let mut job =
            Job { children: Vec::new(), lines, said: Vec::new(), errors: Vec::new(), readers: Vec::new(), key: None };
        job.spawn(command, &sender);
        job
    }

    fn spawn(&mut self, mut command: Command, lines: &Sender<Line>) {
        let mut child = command.spawn().expect("the test binary and lathide can be started");
        let (stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let lines = lines.clone();
        self.readers.push(thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if let Some(line) = parsed(&line) {
                    let _ = lines.send(line);
                }
            }
        }));
        let errors = Arc::new(Mutex::new(String::new()));
        self.errors.push(errors.clone());
        self.readers.push(thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(count @ 1..) = stderr.read(&mut bytes) {
                errors.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        }));
        self.children.push(child);
    }

    /// Waits until `count` ranks have said `word`.
    pub(crate) fn until(&mut self, count: usize, word: &str) {
        let deadline = Instant::now() + WATCHDOG;
        while self.said.iter().filter(|line| line.word == word).count() < count {
            match self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => self.said.push(line),
                Err(error) => panic!("{count} x {word:?} never came ({error}): {}", self.story()),
            }
        }
    }

    /// Waits until the launcher, or a rank, has written `words` to standard error. Returns all it has written.
    pub(crate) fn until_error(&self, words: &str) -> String {
        let deadline = Instant::now() + WATCHDOG;
        loop {
            let found =
                self.errors.iter().map(|errors| errors.lock().unwrap().clone()).find(|errors| errors.contains(words));
            if let Some(found) = found {
                return found;
            }
            assert!(Instant::now() < deadline, "{words:?} never came: {}", self.story());
            thread::sleep(Duration::from_millis(5));
        }
    }

    /// The process of a rank that has said that it is up.
    pub(crate) fn process(&self, rank: u32) -> Pid {
        let up = self.said.iter().find(|line| line.rank == rank && line.word == "up");
        let number = up.unwrap_or_else(|| panic!("rank {rank} is not up: {}", self.story())).rest.parse().unwrap();
        Pid::from_raw(number).unwrap()
    }

    /// The processes started here and those that have said who they are.
    pub(crate) fn processes(&self) -> Vec<u32> {
        let said = self.said.iter().filter(|line| line.word == "pid").map(|line| line.rest.parse().unwrap());
        self.children.iter().map(Child::id).chain(said).collect()
    }

    /// Sends a rank that is up a signal.
    pub(crate) fn signal(&self, rank: u32, signal: Signal) {
        kill_process(self.process(rank), signal).expect("the rank is there");
    }

    /// Kills the launcher, or with none, rank 0.
    pub(crate) fn kill_launcher(&mut self) {
        self.children[0].kill().unwrap();
    }

    /// Waits for the job's end.
    pub(crate) fn end(self) -> Ended {
        self.end_within(WATCHDOG)
    }

    /// Waits for the job's end, for so long at most.
    pub(crate) fn end_within(mut self, limit: Duration) -> Ended {
        let deadline = Instant::now() + limit;
        while self.children.iter_mut().any(|child| child.try_wait().unwrap().is_none()) {
            assert!(Instant::now() < deadline, "the job does not end: {}", self.story());
            match self.lines.recv_timeout(Duration::from_millis(5)) {
                Ok(line) => self.said.push(line),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => thread::sleep(Duration::from_millis(1)),
            }
        }
        let statuses = self.children.iter_mut().map(|child| child.wait().unwrap()).collect();
        self.readers.drain(..).for_each(|reader| reader.join().unwrap());
        self.said.extend(self.lines.try_iter());
        let errors = self.errors.iter().map(|errors| errors.lock().unwrap().clone()).collect();
        Ended { said: std::mem::take(&mut self.said), statuses, errors }
    }

    fn story(&self) -> String {
        let errors: Vec<String> = self.errors.iter().map(|errors| errors.lock().unwrap().clone()).collect();
        format!("said {:#?}\nstandard error {errors:#?}", self.said)
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        if let Some(key) = &self.key {
            let _ = std::fs::remove_file(key);
        }
    }
}

impl Ended {
    /// All that was said of `word`.
    pub(crate) fn all(&self, word: &str) -> Vec<&Line> {
        self.said.iter().filter(|line| line.word == word).collect()
    }

    /// What `rank` said of `word`.
    ///
    /// # Panics
    /// If it said nothing.
    pub(crate) fn of(&self, rank: u32, word: &str) -> &Line {
        let line = self.said.iter().find(|line| line.rank == rank && line.word == word);
        line.unwrap_or_else(|| panic!("rank {rank} did not say {word:?}: {self}"))
    }

    /// The processes of the ranks that were up and are still there.
    pub(crate) fn alive(&self) -> Vec<&str> {
        self.all("up").into_iter().map(|line| line.rest.as_str()).filter(|process| is_alive(process)).collect()
    }
}

impl std::fmt::Display for Ended {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}\nsaid {:#?}\nstandard error:\n{}", self.statuses, self.said, self.errors.join("\n---\n"))
    }
}

/// Whether a process runs; one that waits to be collected does not.
pub(crate) fn is_alive(process: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with('Z'))
}

/// A file with a job's key that only its owner can read.
pub(crate) fn key_file(key: &[u8]) -> PathBuf {
    use std::os::unix::fs::OpenOptionsExt;
    static FILES: AtomicU32 = AtomicU32::new(0);
    let name = format!("lathide-spmd-{}-{}", std::process::id(), FILES.fetch_add(1, Ordering::Relaxed));
    let path = std::env::temp_dir().join(name);
    let file = std::fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
    std::io::Write::write_all(&mut file.unwrap(), key).unwrap();
    path
}

/// This test binary.
pub(crate) fn this() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Has the test binary be a rank's program.
pub(crate) const ARGUMENTS: [&str; 5] =
    ["--exact", "spmd::programs::program", "--ignored", "--nocapture", "--test-threads=1"];

/// A command with its program named and its pipes set.
pub(crate) fn prepared(mut command: Command, program: &str, variables: &[(&str, &str)]) -> Command {
    command.env("LATHIDE_TEST_PROGRAM", program).envs(variables.iter().copied());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn parsed(line: &str) -> Option<Line> {
    let (_, line) = line.split_once("spmd: ")?;
    let mut fields = line.splitn(4, ' ');
    let (rank, at_ms) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    let (word, rest) = (fields.next()?.to_owned(), fields.next().unwrap_or_default().to_owned());
    Some(Line { rank, at_ms, word, rest })
}
