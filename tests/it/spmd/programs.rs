//! What the ranks of the tests' jobs do.

use std::cell::OnceCell;
use std::future::Future;
use std::io::Write;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use lathide::{Error, Node, Result, Test, wait_any};
use rustix::process::{Signal, getpid, kill_process};

use super::now_ms;

/// Tells the victim that a rank is about to block.
const READY: u32 = 1000;
/// Tells a rank that the victim will not call lathide any more.
const GO: u32 = 1001;
/// More than any window.
const BEYOND: usize = 100 << 20;

#[test]
#[ignore = "a rank's program, which other tests start"]
fn program() {
    let Ok(line) = std::env::var("LATHIDE_TEST_PROGRAM") else { return };
    let words: Vec<&str> = line.split(' ').collect();
    let result = match words[..] {
        ["init"] => init(),
        ["storm", ending] => storm(ending),
        ["block", ref modes @ ..] => block(modes),
        ["linger"] => linger(),
        ["steady", seconds] => steady(seconds.parse().unwrap()),
        ["until", file] => ring_while(|| !std::path::Path::new(file).exists()),
        ["late", pause, seconds] => late(pause.parse().unwrap(), seconds.parse().unwrap()),
        ["flood", count, bytes] => super::super::memory::flood(count.parse().unwrap(), bytes.parse().unwrap()),
        ["collected", operation, bytes] => super::super::memory::collected(operation, bytes.parse().unwrap()),
        ["tags", count, bytes] => super::super::memory::tags(count.parse().unwrap(), bytes.parse().unwrap()),
        ["odd", seed, messages] => super::super::encrypted::odd(seed.parse().unwrap(), messages.parse().unwrap()),
        ["tail"] => super::super::encrypted::tail(),
        ["collectives"] => collectives(),
        ["operations"] => super::super::collectives::results::operations(),
        ["observed", ending] => super::super::observe::program(ending),
        ["observed-cuts"] => super::super::observe::cuts::program(),
        ["panics", how] => super::super::panics::program(how),
        ["soak", seconds, seed, bytes_max] => {
            super::super::soak::program(seconds.parse().unwrap(), seed.parse().unwrap(), bytes_max.parse().unwrap())
        }
        ["stands", kind] => super::super::standstill::program(kind),
        ["windows", kind] => super::super::windows::program(kind),
        ["studied"] => super::super::study::program(),
        ["children"] => children(),
        ["twice"] => super::super::joined::twice(),
        ["forks"] => super::super::joined::forks(),
        ["fails"] => super::super::joined::fails(),
        ["exits"] => super::super::joined::exits(),
        ["rest"] => super::super::memory::rest(),
        _ => panic!("no program is called {line:?}"),
    };
    std::process::exit(match result {
        Ok(()) => 0,
        Err(error) => {
            eprintln!("{error}");
            1
        }
    });
}

/// Says a line, in one piece.
pub(crate) fn say(word: &str, rest: impl std::fmt::Display) {
    let rank = std::env::var("LATHIDE_RANK").unwrap_or_default();
    let line = format!("spmd: {rank} {:.3} {word} {}\n", now_ms(), rest.to_string().replace('\n', " / "));
    let mut stdout = std::io::stdout().lock();
    stdout.write_all(line.as_bytes()).and_then(|()| stdout.flush()).expect("somebody listens");
}

/// Joins and says so.
pub(crate) fn join() -> Result<Node> {
    let node = lathide::init()?;
    say("up", std::process::id());
    Ok(node)
}

fn init() -> Result<()> {
    join()?.finalize()
}

fn say_error(error: &Error) {
    match error {
        Error::PeerLost { peer, .. } => say("lost", format!("{peer} {error}")),
        other => say("failed", format!("{other:?}")),
    }
}

/// Exchanges messages of all sizes with everybody, in changing order, until somebody is lost.
fn storm(ending: &str) -> Result<()> {
    let node = join()?;
    let error = (0..).map(|round| storm_round(&node, round)).find_map(Result::err).expect("it goes on until then");
    say_error(&error);
    if ending == "rude" {
        std::process::exit(3);
    }
    Err(error)
}

fn storm_round(node: &Node, round: u64) -> Result<()> {
    let (rank, size) = (node.rank().0, node.size());
    let bytes = |from: u32, to: u32| {
        let mixed = (round * 64 + u64::from(from * 8 + to)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 60;
        [0, 8, 8, 8, 100, 5000, 30_000, 200_000, 3_000_000][mixed as usize % 9]
    };
    let mut reads = Vec::new();
    for peer in (0..size).filter(|&peer| peer != rank) {
        reads.push(node.initread(peer, 1, vec![0u8; bytes(peer, rank)])?);
    }
    let peers = (0..size).filter(|&peer| peer != rank);
    let writes: Result<Vec<_>> =
        peers.map(|peer| node.initwrite(peer, 1, vec![rank as u8; bytes(rank, peer)])).collect();
    let writes = writes?;
    match round % 3 {
        0 => {
            while !reads.is_empty() {
                wait_any(&mut reads)?;
            }
        }
        1 => node.barrier()?,
        _ => thread::sleep(Duration::from_micros(round % 500)),
    }
    for read in reads {
        read.wait()?;
    }
    writes.into_iter().try_for_each(|write| write.wait().map(drop))
}

/// Each rank blocks, or ends, in its own way. The last one that ends waits until all others are about to block.
fn block(modes: &[&str]) -> Result<()> {
    let node = join()?;
    let (rank, mode) = (node.rank().0, modes[node.rank().index()]);
    let victim = modes.iter().position(|mode| mode.starts_with("end-")).expect("somebody ends") as u32;
    if rank == victim {
        for peer in (0..node.size()).filter(|&peer| peer != rank) {
            node.initread(peer, READY, vec![0u8])?.wait()?;
        }
        for peer in (0..node.size()).filter(|&peer| peer != rank) {
            node.initwrite(peer, GO, vec![1u8])?.wait()?;
        }
        thread::sleep(Duration::from_millis(100));
        say("ending", mode);
        return end(node, mode);
    }
    node.initwrite(victim, READY, vec![1u8])?.wait()?;
    node.initread(victim, GO, vec![1u8])?.wait()?;
    let other = (0..node.size()).find(|&other| other != rank && other != victim).unwrap_or(rank);
    match blocked(&node, mode, victim, other) {
        Ok(()) => {
            say("went-on", mode);
            Ok(())
        }
        Err(error) => {
            say_error(&error);
            Err(error)
        }
    }
}

fn end(node: Node, mode: &str) -> Result<()> {
    match mode {
        "end-kill" => kill_process(getpid(), Signal::KILL).expect("a process may kill itself"),
        "end-abort" => std::process::abort(),
        "end-exit" => std::process::exit(0),
        "end-stop" => {
            kill_process(getpid(), Signal::STOP).expect("a process may stop itself");
            // The threads stop one after the other.
            thread::sleep(Duration::from_secs(1000));
        }
        "end-panic" => panic!("as the test wants it"),
        "end-error" => drop(node.initread(99, 0, vec![0u8])?),
        "end-return" => drop(node),
        "end-finalize" => node.finalize()?,
        _ => unreachable!("{mode}"),
    }
    Ok(())
}

/// Blocks in a call that `victim`'s end must end. `other` blocks too.
fn blocked(node: &Node, mode: &str, victim: u32, other: u32) -> Result<()> {
    let read = |from: u32| node.initread(from, 7, vec![0u8; 64]);
    match mode {
        "wait" => drop(read(victim)?.wait()?),
        "wait-other" => drop(read(other)?.wait()?),
        "wait-self" => drop(read(node.rank().0)?.wait()?),
        "wait-long" => drop(node.initread(victim, 7, vec![0u8; BEYOND])?.wait()?),
        "wait-any" => {
            let reads: Result<Vec<_>> = (0..node.size()).map(read).collect();
            wait_any(&mut reads?)?;
        }
        "timeout" => {
            read(victim)?.wait_timeout(Duration::from_secs(3600)).map_err(|(error, _)| error)?;
        }
        "test" => {
            let mut under_way = read(victim)?;
            while let Test::Pending(still) = under_way.test()? {
                under_way = still;
                thread::sleep(Duration::from_millis(1));
            }
        }
        "write" => drop(node.initwrite(victim, 8, vec![1u8; BEYOND])?.wait()?),
        "write-within" => {
            // Far more than sockets hold, and less than the window: it leaves without its read.
            node.initwrite(victim, 8, vec![1u8; 60 << 20])?.wait()?;
            node.barrier()?;
        }
        "write-other" => drop(node.initwrite(other, 8, vec![1u8; BEYOND])?.wait()?),
        "await" => drop(block_on(read(victim)?)?),
        "barrier" => node.barrier()?,
        "finalize" => {
            drop(node.initwrite(victim, 8, vec![1u8; BEYOND])?);
            node.clone().finalize()?;
        }
        "finalize-short" => {
            drop(node.initwrite(victim, 8, vec![1u8; 64])?);
            node.clone().finalize()?;
        }
        "threads" => thread::scope(|scope| {
            let waits: Vec<_> = (0..6).map(|_| scope.spawn(|| read(victim)?.wait().map(drop))).collect();
            waits.into_iter().try_for_each(|wait| wait.join().unwrap())
        })?,
        "compute" => {
            // Until well after the victim's end; the next calls name others than the victim.
            thread::sleep(Duration::from_millis(600));
            drop(node.initwrite(other, 9, vec![1u8; 64])?);
            drop(node.initread(other, 9, vec![1u8; 64])?.wait()?);
        }
        _ => unreachable!("{mode}"),
    }
    Ok(())
}

/// Collectives of all kinds, some of them not waited for at once, until somebody is lost.
fn collectives() -> Result<()> {
    let node = join()?;
    let error = (0..).map(|round| collective_round(&node, round)).find_map(Result::err).expect("it goes on until then");
    say_error(&error);
    Err(error)
}

fn collective_round(node: &Node, round: usize) -> Result<()> {
    let size = node.size();
    let sum = node.initallreduce(&lathide::Operator::sum(), vec![1u64; [1, 1000, 200_000][round % 3]])?;
    let data = node.initbroadcast(round as u32 % size, vec![0u8; 500_000])?;
    node.initgather(round as u32 % size, vec![0u16; 100])?.wait()?;
    if round.is_multiple_of(2) {
        node.barrier()?;
    }
    data.wait()?;
    assert_eq!(sum.wait()?[0], u64::from(size));
    Ok(())
}

/// Says what descriptors a program inherits that the rank starts, and whether the rank can read its key again.
fn children() -> Result<()> {
    let node = join()?;
    let listed = std::process::Command::new("ls").args(["-l", "/proc/self/fd"]).output().expect("a program");
    say("child", String::from_utf8_lossy(&listed.stdout));
    let key = lathide::Config::from_environment().map(|config| config.key);
    say("again", key.is_ok_and(|key| key != lathide::Key::default()));
    node.finalize()
}

/// The last rank comes late, so that all others stand at their doors for a while; then as [`steady`].
fn late(pause_s: f64, seconds: f64) -> Result<()> {
    say("pid", std::process::id());
    if std::env::var("LATHIDE_RANK")
        == std::env::var("LATHIDE_SIZE").map(|size| (size.parse::<u32>().unwrap() - 1).to_string())
    {
        thread::sleep(Duration::from_secs_f64(pause_s));
    }
    steady(seconds)
}

/// Has a connection to everybody, and then does nothing for a long time.
fn linger() -> Result<()> {
    let node = join()?;
    node.barrier()?;
    thread::sleep(Duration::from_secs(1000));
    node.finalize()
}

/// Pings go round for `seconds`, once all have joined; then everybody leaves.
fn steady(seconds: f64) -> Result<()> {
    let began = OnceCell::new();
    ring_while(|| began.get_or_init(Instant::now).elapsed().as_secs_f64() < seconds)
}

/// Pings go round while rank 0 wants.
fn ring_while(goes_on: impl Fn() -> bool) -> Result<()> {
    let node = join()?;
    let (left, right) = (node.rank().on_ring(-1, node.size()), node.rank().on_ring(1, node.size()));
    let mut round = 0u64;
    loop {
        let goes_on = u64::from(node.rank() != 0 || goes_on());
        let write = |ping: [u64; 2]| node.initwrite(right, 1, ping.to_vec())?.wait();
        if node.rank() == 0 {
            write([round, goes_on])?;
        }
        let ping = node.initread(left, 1, vec![0u64; 2])?.wait()?;
        assert_eq!(ping[0], round, "rank {}", node.rank());
        if round < 3 && std::env::var_os("TRACE").is_some() {
            say("got", round);
        }
        if node.rank() != 0 {
            write([ping[0], ping[1]])?;
        }
        if ping[1] == 0 {
            break;
        }
        round += 1;
    }
    node.barrier()?;
    say("rounds", round);
    node.finalize()
}

/// Polls `future` on this thread until it is ready.
pub(crate) fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => thread::park(),
        }
    }
}
