//! The agent: starts the ranks of one host, and ends them when the launcher says so or is gone.

use std::io::{self, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{Semaphore, mpsc};
use tokio::time::timeout;

use super::messages::{Errand, FromAgent, OUTPUT_CREDIT, PIECE_BYTES_MAX, PROTOCOL, Secret, ToAgent};
use super::raw::Raw;
use super::{addresses, examine};
use crate::launch::local::end::End;
use crate::launch::local::error::LaunchError;
use crate::launch::local::job::{Job, Stdin};
use crate::launch::local::output::Output;
use crate::launch::local::processes::{Outlets, Processes, RankProcess};
use crate::launch::local::spawn::{self, Common};
use lathide::config::Key;
use lathide::launcher::control;
use lathide::launcher::handshake::job_id;
use lathide::launcher::invitation;
use lathide::launcher::timeline::rank_file;

/// How long ranks may take to heed SIGTERM when the launcher has gone.
const LAST_GRACE: Duration = Duration::from_secs(1);
/// How long the last of the output may take to be sent.
const FLUSH_PATIENCE: Duration = Duration::from_secs(5);

/// Serves the launcher at the other end of standard input and output, until it is done or gone.
///
/// # Errors
/// What the system refused. What a job lacks is told to the launcher.
pub(crate) fn serve() -> io::Result<()> {
    let (sender, orders) = mpsc::channel(64);
    let (messages, queue) = mpsc::channel(64);
    writeln!(io::stdout(), "{}", super::bootstrap::ready_line(PROTOCOL))?;
    // Threads: there is no way to wait for a pipe that may be any kind of file without blocking.
    std::thread::Builder::new().name("lathide-orders".into()).spawn(move || read_orders(&sender))?;
    let writer = std::thread::Builder::new().name("lathide-replies".into()).spawn(move || write_messages(queue))?;
    // This thread starts the ranks and lives as long as they: their parent-death signal is tied to it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let is_finished = runtime.block_on(attend(orders, messages));
    drop(runtime);
    if is_finished {
        // A launcher that has gone takes no messages; one that has not takes all.
        let _ = writer.join();
    }
    Ok(())
}

fn read_orders(orders: &mpsc::Sender<ToAgent>) {
    let mut input = io::stdin().lock();
    let mut read = || -> io::Result<ToAgent> {
        let mut prefix = [0; 4];
        input.read_exact(&mut prefix)?;
        let mut payload = vec![0; control::frame_length(prefix).map_err(io::Error::other)?];
        input.read_exact(&mut payload)?;
        control::decode(&payload).map_err(io::Error::other)
    };
    while let Ok(order) = read() {
        if orders.blocking_send(order).is_err() {
            return;
        }
    }
}

fn write_messages(mut messages: mpsc::Receiver<FromAgent>) {
    let mut output = io::stdout().lock();
    while let Some(message) = messages.blocking_recv() {
        let written = as_line(&message).and_then(|frame| output.write_all(&frame));
        if written.and_then(|()| output.flush()).is_err() {
            return;
        }
    }
}

/// A frame that ends with its line: srun passes output on only up to the last newline.
fn as_line(message: &FromAgent) -> io::Result<Vec<u8>> {
    let mut frame = control::encode(message).map_err(io::Error::other)?;
    frame.push(b'\n');
    let length = (frame.len() - 4) as u32;
    frame[..4].copy_from_slice(&length.to_le_bytes());
    Ok(frame)
}

/// Returns whether the job went to its end.
async fn attend(mut orders: mpsc::Receiver<ToAgent>, messages: mpsc::Sender<FromAgent>) -> bool {
    let errand = match orders.recv().await {
        Some(ToAgent::Prepare(errand)) => errand,
        Some(ToAgent::Question(question)) => return examine::attend(*question, orders, messages).await,
        _ => return false,
    };
    let prepared = match prepare(*errand).await {
        Ok(prepared) => prepared,
        Err(error) => {
            let failed = FromAgent::Failed { status: error.exit_status(), why: error.to_string() };
            return messages.send(failed).await.is_ok();
        }
    };
    let (root, note) = (prepared.root, prepared.note.clone());
    if messages.send(FromAgent::Ready { root, note }).await.is_err() {
        return false;
    }
    let Some(ToAgent::Start(root)) = orders.recv().await else { return false };
    let trace = prepared.job.trace.clone();
    let is_finished = match Work::start(prepared, root, &messages) {
        Ok(work) => work.go_on(&mut orders, &messages).await,
        Err(error) => {
            let failed = FromAgent::Failed { status: error.exit_status(), why: error.to_string() };
            messages.send(failed).await.is_ok()
        }
    };
    if let Some(directory) = trace.as_deref().and_then(Path::parent) {
        // Made by `prepare`, and nobody else's.
        let _ = std::fs::remove_dir_all(directory);
    }
    is_finished
}

/// A job of which this host's part can be started.
struct Prepared {
    job: Job,
    ranks: Vec<u32>,
    key: [u8; 32],
    starter: PathBuf,
    program: std::ffi::OsString,
    root: Option<SocketAddr>,
    note: Option<String>,
}

async fn prepare(errand: Errand) -> Result<Prepared, LaunchError> {
    let mut job = Job::new(errand.size, "", errand.args.iter().map(Raw::to_os));
    match &errand.program {
        Some(program) => job.program = program.to_os(),
        None => job.is_lathide = true,
    }
    job.env = errand.env.iter().map(|(name, value)| (name.to_os(), value.to_os())).collect();
    job.stdin = if errand.input { Stdin::Carry } else { Stdin::Null };
    job.report = errand.report;
    let (directory, note) = directory(&errand);
    job.directory = directory;
    let program = spawn::resolve(&job).map_err(|error| same_path(error, job.directory.as_deref()))?;
    let starter = spawn::starter(&job)?;
    let secret = match &errand.key {
        Secret::Told(key) => *key,
        Secret::Left(name) => invitation::fetch_key(name).map_err(LaunchError::unreachable)?,
    };
    let key = Key::from_bytes(secret);
    let root = match &errand.roots[..] {
        [] => None,
        roots => Some(addresses::first_that_answers(roots, &key, errand.size).await.map_err(LaunchError::unreachable)?),
    };
    if errand.trace {
        job.trace = Some(private_directory(&key).map_err(|(place, error)| LaunchError::System {
            what: format!("the ranks' events cannot be written to {}", place.display()),
            error,
        })?);
    }
    Ok(Prepared { job, ranks: errand.ranks, key: secret, starter, program, root, note })
}

/// Where the ranks run, and what is to be said about it. As with `mpirun`: the launcher's directory if it is there,
/// otherwise the home directory; but one that was asked for must be there.
fn directory(errand: &Errand) -> (Option<PathBuf>, Option<String>) {
    if let Some(directory) = &errand.directory {
        return (Some(directory.to_os().into()), None);
    }
    let Some(current) = errand.current.as_ref().map(|current| PathBuf::from(current.to_os())) else {
        return (None, None);
    };
    if current.is_dir() {
        return (Some(current), None);
    }
    let home = std::env::home_dir();
    let shown = home.as_deref().map_or("the home directory".into(), |home| home.display().to_string());
    (home, Some(format!("{} is not there; the ranks run in {shown} (--wdir DIR says where)", current.display())))
}

fn same_path(error: LaunchError, directory: Option<&Path>) -> LaunchError {
    match error {
        LaunchError::NotFound { program, hint } => {
            let place = directory.map(|directory| format!(" (seen from {})", directory.display()));
            let place = place.unwrap_or_default();
            LaunchError::NotFound { program, hint: format!("{place}{hint}; it must be at the same path on every host") }
        }
        other => other,
    }
}

/// A file name for the timeline in a new directory that only this user can enter.
fn private_directory(key: &Key) -> Result<PathBuf, (PathBuf, io::Error)> {
    let id: String = job_id(key).iter().map(|byte| format!("{byte:02x}")).collect();
    let directory = std::env::temp_dir().join(format!("lathide-{id}-{}", std::process::id()));
    match std::fs::DirBuilder::new().mode(0o700).create(&directory) {
        Ok(()) => Ok(directory.join("events")),
        Err(error) => Err((directory, error)),
    }
}

/// The ranks at work.
struct Work {
    processes: Processes,
    ends: mpsc::Receiver<(u32, End)>,
    left: usize,
    credit: Arc<Semaphore>,
    passing: tokio::task::JoinHandle<()>,
    input: Option<mpsc::Sender<Vec<u8>>>,
    trace: Option<PathBuf>,
    ranks: Vec<u32>,
}

impl Work {
    fn start(prepared: Prepared, root: SocketAddr, messages: &mpsc::Sender<FromAgent>) -> Result<Self, LaunchError> {
        let Prepared { job, ranks, key, starter, program, .. } = prepared;
        let memory = spawn::in_memory(&key)
            .map_err(|error| LaunchError::System { what: "the job's key cannot be kept".into(), error })?;
        let id = job_id(&Key::from_bytes(key)).iter().map(|byte| format!("{byte:02x}")).collect::<String>();
        // Several agents of a job may be on one host: each ends its own ranks' left-overs.
        let id = format!("{id}-{}", ranks.first().copied().unwrap_or_default());
        let common = Common { starter, program, id, root, key: memory };
        let (sender, ends) = mpsc::channel(ranks.len() + 1);
        let (lines, written) = mpsc::channel(16);
        let own = ranks.iter().map(|&rank| RankProcess { rank, tail: None }).collect();
        let mut processes = Processes::start(&job, &common, own, &Outlets { ends: sender, lines })?;
        let credit = Arc::new(Semaphore::new(OUTPUT_CREDIT));
        let passing = tokio::spawn(pass_output_on(written, credit.clone(), messages.clone()));
        let input = processes.take_input().map(|stdin| {
            let (sender, pieces) = mpsc::channel(1);
            tokio::spawn(feed(stdin, pieces, messages.clone()));
            sender
        });
        Ok(Work { processes, ends, left: ranks.len(), credit, passing, input, trace: job.trace, ranks })
    }

    async fn go_on(mut self, orders: &mut mpsc::Receiver<ToAgent>, messages: &mpsc::Sender<FromAgent>) -> bool {
        loop {
            tokio::select! {
                Some((rank, end)) = self.ends.recv() => {
                    self.processes.has_ended(rank);
                    self.left -= 1;
                    if messages.send(FromAgent::Ended { rank, end }).await.is_err() {
                        self.give_up().await;
                        return false;
                    }
                }
                order = orders.recv() => match order {
                    Some(ToAgent::Signal(number)) => {
                        if let Some(signal) = Signal::from_named_raw(number) {
                            self.processes.signal(signal);
                        }
                    }
                    Some(ToAgent::Input(Raw(bytes))) if bytes.is_empty() => self.input = None,
                    Some(ToAgent::Input(Raw(bytes))) => {
                        // The launcher sends the next piece when this one is taken.
                        if let Some(input) = &self.input {
                            let _ = input.try_send(bytes);
                        }
                    }
                    Some(ToAgent::Taken(bytes)) => self.credit.add_permits(bytes.min(OUTPUT_CREDIT)),
                    Some(ToAgent::Finish) => return self.finish(messages, orders).await,
                    Some(ToAgent::Prepare(_) | ToAgent::Start(_) | ToAgent::Question(_)) => {}
                    None => {
                        self.give_up().await;
                        return false;
                    }
                },
            }
        }
    }

    /// The launcher is gone: everything ends within seconds.
    async fn give_up(mut self) {
        let deadline = Instant::now() + LAST_GRACE;
        self.processes.signal(Signal::TERM);
        while self.left > 0
            && let Ok(Some((rank, _))) = tokio::time::timeout_at(deadline.into(), self.ends.recv()).await
        {
            self.processes.has_ended(rank);
            self.left -= 1;
        }
        self.processes.signal(Signal::KILL);
        self.passing.abort();
        let _ = timeout(LAST_GRACE, self.processes.clean_up()).await;
    }

    async fn finish(self, messages: &mpsc::Sender<FromAgent>, orders: &mut mpsc::Receiver<ToAgent>) -> bool {
        let Work { processes, credit, passing, trace, ranks, .. } = self;
        let all = async {
            processes.clean_up().await;
            let _ = passing.await;
        };
        let taking = async {
            while let Some(order) = orders.recv().await {
                if let ToAgent::Taken(bytes) = order {
                    credit.add_permits(bytes.min(OUTPUT_CREDIT));
                }
            }
        };
        tokio::select! {
            _ = timeout(FLUSH_PATIENCE, all) => {}
            // The launcher has gone before the end.
            () = taking => return false,
        }
        if let Some(trace) = trace {
            send_events(&trace, &ranks, messages).await;
        }
        messages.send(FromAgent::Done).await.is_ok()
    }
}

/// Sends what the ranks write, as far as the launcher has shown what came before.
async fn pass_output_on(
    mut written: mpsc::Receiver<Output>,
    credit: Arc<Semaphore>,
    messages: mpsc::Sender<FromAgent>,
) {
    while let Some(Output { rank, stream, bytes, .. }) = written.recv().await {
        let Some(rank) = rank else { continue };
        for piece in bytes.chunks(PIECE_BYTES_MAX) {
            match credit.acquire_many(piece.len() as u32).await {
                Ok(permits) => permits.forget(),
                Err(_) => return,
            }
            let message = FromAgent::Output { rank: rank.0, stream, bytes: Raw(piece.to_vec()) };
            if messages.send(message).await.is_err() {
                return;
            }
        }
    }
}

async fn feed(mut stdin: ChildStdin, mut pieces: mpsc::Receiver<Vec<u8>>, messages: mpsc::Sender<FromAgent>) {
    while let Some(piece) = pieces.recv().await {
        // A rank that does not read its input any more is no error; what it does not want is not sent again.
        if stdin.write_all(&piece).await.is_err() || messages.send(FromAgent::InputTaken).await.is_err() {
            return;
        }
    }
}

async fn send_events(trace: &Path, ranks: &[u32], messages: &mpsc::Sender<FromAgent>) {
    for &rank in ranks {
        // A rank that has left none takes nothing from the others.
        let Ok(events) = std::fs::read(rank_file(trace, rank)) else { continue };
        for piece in events.chunks(PIECE_BYTES_MAX) {
            if messages.send(FromAgent::Events { rank, bytes: Raw(piece.to_vec()) }).await.is_err() {
                return;
            }
        }
    }
}
