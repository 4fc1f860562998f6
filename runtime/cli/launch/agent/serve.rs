//! The agent: starts the ranks of one host, and ends them when the launcher says so or is gone.

use std::io::{self, Write};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::sync::{Semaphore, mpsc};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::messages::{Errand, FromAgent, OUTPUT_CREDIT, PIECE_BYTES_MAX, PROTOCOL, Secret, ToAgent};
use super::raw::Raw;
use super::{addresses, examine};
use crate::launch::failed::{Failed, system};
use crate::launch::local::job::{Job, Stdin};
use crate::launch::local::output::Output;
use crate::launch::local::processes::Processes;
use crate::launch::local::spawn::{Common, NOT_FOUND};
use lathide::config::Key;
use lathide::launcher::control;
use lathide::launcher::invitation;
use lathide::launcher::rendezvous::read_frame;
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
    writeln!(io::stdout(), "{}", super::bootstrap::ready_line(PROTOCOL))?;
    // This thread starts the ranks and lives as long as they: their parent-death signal is tied to it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (sender, mut orders) = mpsc::channel(64);
        let (messages, queue) = mpsc::channel(64);
        tokio::spawn(read_orders(sender));
        let writer = tokio::spawn(write_messages(queue));
        if attend(&mut orders, messages).await {
            // A launcher that has gone takes no messages; one that has not takes all.
            let _ = writer.await;
        }
    });
    // A thread of the runtime waits for orders, and would for ever.
    runtime.shutdown_background();
    Ok(())
}

async fn read_orders(orders: mpsc::Sender<ToAgent>) {
    let mut input = tokio::io::stdin();
    while let Ok(order) = read_frame(&mut input).await {
        if orders.send(order).await.is_err() {
            return;
        }
    }
}

async fn write_messages(mut messages: mpsc::Receiver<FromAgent>) {
    let mut output = tokio::io::stdout();
    while let Some(message) = messages.recv().await {
        let Ok(frame) = as_line(&message) else { return };
        if output.write_all(&frame).await.is_err() || output.flush().await.is_err() {
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
async fn attend(orders: &mut mpsc::Receiver<ToAgent>, messages: mpsc::Sender<FromAgent>) -> bool {
    let attended = match orders.recv().await {
        Some(ToAgent::Prepare(errand)) => run(*errand, orders, &messages).await,
        Some(ToAgent::Examine(examinee)) => examine::attend(*examinee, orders, &messages).await,
        _ => Ok(false),
    };
    match attended {
        Ok(is_finished) => is_finished,
        Err(Failed { message: why, status }) => messages.send(FromAgent::Failed { status, why }).await.is_ok(),
    }
}

/// Looks whether this host's part of a job can be started, says so, and runs it when it is told to.
async fn run(
    errand: Errand,
    orders: &mut mpsc::Receiver<ToAgent>,
    messages: &mpsc::Sender<FromAgent>,
) -> Result<bool, Failed> {
    let (directory, note) = directory(&errand);
    let program = errand.program.as_ref().map(Raw::to_os);
    let mut job = Job {
        is_lathide: program.is_none(),
        env: errand.env.iter().map(|(name, value)| (name.to_os(), value.to_os())).collect(),
        directory,
        stdin: if errand.input { Stdin::Carry } else { Stdin::Null },
        report: errand.report,
        ..Job::new(errand.size, program.unwrap_or_default(), errand.args.iter().map(Raw::to_os))
    };
    let secret = match &errand.key {
        Secret::Told(key) => *key,
        Secret::Left(name) => invitation::fetch_key(name).map_err(Failed::launcher)?,
    };
    let mut common = Common::new(&job, secret).map_err(|failed| same_path(failed, job.directory.as_deref()))?;
    let (key, mut root) = (Key::from_bytes(secret), None);
    if !errand.roots.is_empty() {
        let found = addresses::first_that_answers(&errand.roots, &key, errand.size).await;
        root = Some(found.map_err(Failed::launcher)?);
    }
    let kept = errand.trace.then(|| PrivateDirectory::make(&common.id)).transpose()?;
    job.trace = kept.as_ref().map(|directory| directory.0.join("events"));
    // Several agents of a job may be on one host: each ends its own ranks' left-overs.
    common.id += &format!("-{}", errand.ranks.first().copied().unwrap_or_default());
    if messages.send(FromAgent::Ready { root, note }).await.is_err() {
        return Ok(false);
    }
    let Some(ToAgent::Start(root)) = orders.recv().await else { return Ok(false) };
    let (lines, written) = mpsc::channel(16);
    let mut processes = Processes::start(&job, &common, root, &errand.ranks, &lines)?;
    drop(lines);
    let credit = Arc::new(Semaphore::new(OUTPUT_CREDIT));
    let (mut passing, mut feeding) = (JoinSet::new(), JoinSet::new());
    passing.spawn(pass_output_on(written, credit.clone(), messages.clone()));
    let input = processes.input.take().map(|stdin| {
        let (sender, pieces) = mpsc::channel(1);
        feeding.spawn(feed(stdin, pieces, messages.clone()));
        sender
    });
    let work = Work { processes, credit, passing, feeding, input, trace: job.trace, ranks: errand.ranks };
    Ok(work.go_on(orders, messages).await)
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

fn same_path(failed: Failed, directory: Option<&Path>) -> Failed {
    let Failed { message, status: NOT_FOUND } = failed else { return failed };
    let place = directory.map(|directory| format!(" (seen from {})", directory.display())).unwrap_or_default();
    Failed { message: format!("{message}{place}; it must be at the same path on every host"), status: NOT_FOUND }
}

/// A new directory that only this user can enter, until it is dropped: for the ranks' events.
struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    fn make(job: &str) -> Result<Self, Failed> {
        let directory = std::env::temp_dir().join(format!("lathide-{job}-{}", std::process::id()));
        let made = std::fs::DirBuilder::new().mode(0o700).create(&directory);
        made.map_err(system(format!("the ranks' events cannot be written to {}", directory.display())))?;
        Ok(PrivateDirectory(directory))
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The ranks at work.
struct Work {
    processes: Processes,
    credit: Arc<Semaphore>,
    /// Sends what they write.
    passing: JoinSet<()>,
    /// Carries rank 0's input there.
    feeding: JoinSet<()>,
    input: Option<mpsc::Sender<Vec<u8>>>,
    trace: Option<PathBuf>,
    ranks: Vec<u32>,
}

impl Work {
    /// Until the launcher says that all ranks of the job have ended. Returns whether it did.
    async fn go_on(mut self, orders: &mut mpsc::Receiver<ToAgent>, messages: &mpsc::Sender<FromAgent>) -> bool {
        loop {
            tokio::select! {
                Some((rank, end)) = self.processes.next_end() => {
                    if messages.send(FromAgent::Ended { rank, end }).await.is_err() {
                        break;
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
                    Some(_) => {}
                    None => break,
                },
            }
        }
        self.give_up().await;
        false
    }

    /// The launcher is gone: everything ends within seconds.
    async fn give_up(mut self) {
        self.processes.signal(Signal::TERM);
        let all = async { while self.processes.next_end().await.is_some() {} };
        let _ = timeout(LAST_GRACE, all).await;
        self.processes.signal(Signal::KILL);
        self.passing.abort_all();
        let _ = timeout(LAST_GRACE, self.processes.clean_up()).await;
    }

    async fn finish(mut self, messages: &mpsc::Sender<FromAgent>, orders: &mut mpsc::Receiver<ToAgent>) -> bool {
        self.feeding.abort_all();
        let all = async {
            self.processes.clean_up().await;
            self.passing.join_next().await;
        };
        let taking = async {
            while let Some(order) = orders.recv().await {
                if let ToAgent::Taken(bytes) = order {
                    self.credit.add_permits(bytes.min(OUTPUT_CREDIT));
                }
            }
        };
        tokio::select! {
            _ = timeout(FLUSH_PATIENCE, all) => {}
            // The launcher has gone before the end.
            () = taking => return false,
        }
        if let Some(trace) = self.trace {
            send_events(&trace, &self.ranks, messages).await;
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
