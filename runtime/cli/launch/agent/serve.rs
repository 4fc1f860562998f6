//! The agent: starts the ranks of one host, and ends them when the launcher says so or is gone.
//!
//! If only the connection is gone, it waits for the launcher to come back ([`super::stay`]).

use std::ffi::OsStr;
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::errand::Errand;
use super::exchange::Exchange;
use super::haven::Haven;
use super::messages::{FromAgent, OUTPUT_CREDIT, PROTOCOL, ToAgent};
use super::private::PrivateDirectory;
use super::resumption::Resumption;
use super::stay::{Shelter, stay};
use super::{addresses, examine};
use crate::launch::failed::{Failed, system};
use crate::launch::local::output::Output;
use crate::launch::local::processes::Processes;
use crate::launch::local::spawn::{Common, NOT_FOUND};
use lathide::launcher::timeline::rank_file;

/// How long ranks may take to heed SIGTERM when the launcher has gone.
const LAST_GRACE: Duration = Duration::from_secs(1);
/// How long the last of the output may take to be sent.
const FLUSH_PATIENCE: Duration = Duration::from_secs(5);
/// How much of a rank's events one message has.
const PIECE_BYTES: usize = 64 << 10;

/// Serves the launcher at the other end of standard input and output, until it is done or gone.
///
/// # Errors
/// What the system refused. What a job lacks is told to the launcher.
pub(crate) fn serve() -> io::Result<()> {
    writeln!(io::stdout(), "{}", super::bootstrap::ready_line(PROTOCOL))?;
    // This thread starts the ranks and lives as long as they: their parent-death signal is tied to it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (incoming, told) = mpsc::channel(64);
        let (sender, mut orders) = mpsc::channel(64);
        let (messages, queue) = mpsc::channel(64);
        let (shelter, promised) = oneshot::channel();
        let (exchange, credit) = (Arc::new(Exchange::default()), Arc::new(Semaphore::new(OUTPUT_CREDIT)));
        let mut tasks = JoinSet::new();
        tasks.spawn(stay(exchange.clone(), incoming, promised));
        tasks.spawn(sort_orders(told, sender, credit.clone()));
        let writer = tokio::spawn(write_messages(queue, exchange));
        attend(&mut orders, messages, credit, shelter).await;
        // A launcher that has gone takes no messages; one that has not takes all.
        tokio::select! {
            _ = writer => {}
            () = gone(&mut orders) => {}
        }
        // They take along what is on the disk.
        tasks.shutdown().await;
    });
    // A thread of the runtime waits for orders, and would for ever.
    runtime.shutdown_background();
    Ok(())
}

/// `credit`: what may be written before the launcher has taken more.
async fn sort_orders(mut told: mpsc::Receiver<ToAgent>, orders: mpsc::Sender<ToAgent>, credit: Arc<Semaphore>) {
    while let Some(order) = told.recv().await {
        if let ToAgent::Taken = order {
            credit.add_permits(1);
        } else if orders.send(order).await.is_err() {
            return;
        }
    }
}

/// Returns when the launcher has taken all.
async fn write_messages(mut messages: mpsc::Receiver<FromAgent>, exchange: Arc<Exchange>) {
    while let Some(message) = messages.recv().await {
        exchange.room().await;
        exchange.say(&message);
    }
    exchange.taken().await;
}

/// Waits until the launcher is no more.
async fn gone(orders: &mut mpsc::Receiver<ToAgent>) {
    while orders.recv().await.is_some() {}
}

async fn attend(
    orders: &mut mpsc::Receiver<ToAgent>,
    messages: mpsc::Sender<FromAgent>,
    credit: Arc<Semaphore>,
    shelter: oneshot::Sender<Shelter>,
) {
    let attended = match orders.recv().await {
        Some(ToAgent::Prepare(errand)) => run(*errand, orders, &messages, credit, shelter).await,
        Some(ToAgent::Examine(errand)) => examine::attend(*errand, orders, &messages).await,
        _ => Ok(()),
    };
    if let Err(failed) = attended {
        let _ = messages.send(FromAgent::Failed(failed)).await;
    }
}

/// Looks whether this host's part of a job can be started, says so, and runs it when it is told to.
async fn run(
    mut errand: Errand,
    orders: &mut mpsc::Receiver<ToAgent>,
    messages: &mpsc::Sender<FromAgent>,
    credit: Arc<Semaphore>,
    shelter: oneshot::Sender<Shelter>,
) -> Result<(), Failed> {
    let note = errand.choose_directory();
    let Errand { key, mut job, ranks, roots, trace, patience, .. } = errand;
    let secret = key.open()?;
    let mut common = Common::new(&job, secret).map_err(|failed| same_path(failed, job.directory.as_deref()))?;
    let root = match roots {
        None => None,
        Some(roots) => Some(addresses::first_that_answers(&roots, &addresses::party(secret, 0, job.size)?).await?),
    };
    let kept = trace.then(|| events_directory(&common.id)).transpose()?;
    job.trace = kept.as_ref().map(|directory| directory.path().join("events"));
    // Several agents of a job may be on one host: each ends its own ranks' left-overs.
    common.id += &format!("-{}", ranks.first().copied().unwrap_or_default());
    let left = kept.iter().map(|kept| kept.path().to_owned());
    let (resumption, haven) = patience.and_then(|patience| take_shelter(patience, root, shelter)).unzip();
    let left: Vec<PathBuf> = left.chain(haven).collect();
    if messages.send(FromAgent::Ready { root, note, resumption }).await.is_err() {
        return Ok(());
    }
    let Some(ToAgent::Start(root)) = orders.recv().await else { return Ok(()) };
    let (lines, written) = mpsc::channel(16);
    let mut processes = Processes::start(&job, &common, root, &ranks, &lines)?;
    left.iter().for_each(|directory| processes.leaves(directory));
    drop(lines);
    // They pass on what the ranks write, and rank 0's input.
    let mut tasks = JoinSet::new();
    tasks.spawn(pass_output_on(written, credit, messages.clone()));
    let input = processes.input.take().map(|stdin| {
        let (sender, pieces) = mpsc::channel(1);
        tasks.spawn(feed(stdin, pieces, messages.clone()));
        sender
    });
    if !watch(&mut processes, input, orders, messages).await {
        give_up(processes, tasks).await;
        return Ok(());
    }
    let all = async {
        processes.clean_up().await;
        while tasks.join_next().await.is_some() {}
    };
    tokio::select! {
        _ = timeout(FLUSH_PATIENCE + patience.unwrap_or_default(), all) => {}
        () = gone(orders) => return Ok(()),
    }
    if let Some(trace) = &job.trace {
        send_events(trace, &ranks, messages).await;
    }
    let _ = messages.send(FromAgent::Done).await;
    Ok(())
}

fn same_path(failed: Failed, directory: Option<&OsStr>) -> Failed {
    let Failed { message, status: NOT_FOUND } = failed else { return failed };
    let place = directory.map(|directory| format!(" (seen from {})", directory.display())).unwrap_or_default();
    Failed { message: format!("{message}{place}; it must be at the same path on every host"), status: NOT_FOUND }
}

/// For the ranks' events.
fn events_directory(job: &str) -> Result<PrivateDirectory, Failed> {
    let (parent, name) = (std::env::temp_dir(), format!("lathide-{job}-{}", std::process::id()));
    let made = PrivateDirectory::make(&parent, &name);
    made.map_err(system(format!("the ranks' events cannot be written to {}", parent.join(name).display())))
}

/// From now on a cut is waited out. Returns where, and what is to be removed if this process is killed; nothing if the
/// system refuses it: then a cut is the end, as without.
fn take_shelter(
    patience: Duration,
    root: Option<SocketAddr>,
    shelter: oneshot::Sender<Shelter>,
) -> Option<(Resumption, PathBuf)> {
    let (haven, resumption) = Haven::open().ok()?;
    // Whoever ends a session may tell its processes so; a handler, unlike being ignored, is not inherited by the ranks.
    let mut hangups = signal(SignalKind::hangup()).ok()?;
    tokio::spawn(async move { while hangups.recv().await.is_some() {} });
    let directory = haven.directory().to_owned();
    shelter.send(Shelter { haven, patience, root }).ok()?;
    Some((resumption, directory))
}

/// Until the launcher says that all ranks of the job have ended. Returns whether it did.
async fn watch(
    processes: &mut Processes,
    mut input: Option<mpsc::Sender<Vec<u8>>>,
    orders: &mut mpsc::Receiver<ToAgent>,
    messages: &mpsc::Sender<FromAgent>,
) -> bool {
    loop {
        tokio::select! {
            Some((rank, end)) = processes.next_end() => {
                if messages.send(FromAgent::Ended { rank, end }).await.is_err() {
                    return false;
                }
            }
            order = orders.recv() => match order {
                Some(ToAgent::Signal(number)) => {
                    if let Some(signal) = Signal::from_named_raw(number) {
                        processes.signal(signal);
                    }
                }
                Some(ToAgent::Input(bytes)) if bytes.is_empty() => input = None,
                // The launcher sends the next piece when this one is taken.
                Some(ToAgent::Input(bytes)) => _ = input.as_ref().map(|input| input.try_send(bytes)),
                Some(ToAgent::Finish) => return true,
                Some(_) => {}
                None => return false,
            },
        }
    }
}

/// The launcher is gone: everything ends within seconds.
async fn give_up(mut processes: Processes, mut tasks: JoinSet<()>) {
    processes.signal(Signal::TERM);
    let all = async { while processes.next_end().await.is_some() {} };
    let _ = timeout(LAST_GRACE, all).await;
    processes.signal(Signal::KILL);
    tasks.abort_all();
    let _ = timeout(LAST_GRACE, processes.clean_up()).await;
}

/// Sends what the ranks write, as far as the launcher has shown what came before.
async fn pass_output_on(
    mut written: mpsc::Receiver<Output>,
    credit: Arc<Semaphore>,
    messages: mpsc::Sender<FromAgent>,
) {
    while let Some(output) = written.recv().await {
        match credit.acquire().await {
            Ok(permit) => permit.forget(),
            Err(_) => return,
        }
        if messages.send(FromAgent::Output(output)).await.is_err() {
            return;
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
        for piece in events.chunks(PIECE_BYTES) {
            if messages.send(FromAgent::Events { rank, bytes: piece.to_vec() }).await.is_err() {
                return;
            }
        }
    }
}
