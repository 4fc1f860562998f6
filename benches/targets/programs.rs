//! Small programs for what no command measures: this bench again, as ranks of a job, told by the environment.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::pin::pin;
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::{self, Thread};
use std::time::{Duration, Instant};

use lathide::Node;
use rustix::time::{ClockId, clock_gettime};

use super::LATHIDE;

/// Tells this program what to be.
pub(super) const PROGRAM: &str = "LATHIDE_BENCH_PROGRAM";
/// Whether a little is enough.
const IS_SMOKE: &str = "LATHIDE_BENCH_SMOKE";
const REPEATS: usize = 7;
/// Idle links of the computing rank.
const LINKS: u32 = 8;

/// A ratio with its least and greatest.
pub(super) struct Ratio {
    pub(super) median: f64,
    pub(super) spread: (f64, f64),
}

impl Ratio {
    fn of(mut ratios: Vec<f64>) -> Result<Self, String> {
        ratios.sort_by(f64::total_cmp);
        let (Some(&least), Some(&most)) = (ratios.first(), ratios.last()) else {
            return Err("nothing was measured".to_owned());
        };
        Ok(Ratio { median: ratios[ratios.len() / 2], spread: (least, most) })
    }
}

/// One of the programs.
pub(super) fn run(program: &str) -> ExitCode {
    let is_smoke = std::env::var_os(IS_SMOKE).is_some();
    let result = match program {
        "crowd" => run_crowd(if is_smoke { 50 } else { 2000 }),
        "idle" => run_idle(is_smoke),
        "alone" => {
            println!("{}", compute(is_smoke));
            Ok(())
        }
        _ => unreachable!("a program of this bench"),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{program}: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Starts `program` on so many ranks, or without lathide; gives the numbers it prints.
fn start(program: &str, ranks: Option<usize>, is_full: bool) -> Result<Vec<f64>, String> {
    let this = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = match ranks {
        Some(ranks) => {
            let mut command = Command::new(LATHIDE);
            command.args(["run", "-n", &ranks.to_string()]).arg(this);
            command
        }
        None => Command::new(this),
    };
    if !is_full {
        command.env(IS_SMOKE, "1");
    }
    let output = command.env(PROGRAM, program).output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr)));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let words = text.lines().flat_map(|line| line.trim_start_matches("[0] ").split_whitespace());
    words.map(|word| word.parse().map_err(|_| format!("{program} printed {text}"))).collect()
}

/// 8 bytes one way where more ranks than cores rule polling out: against blocking raw TCP, and against the same
/// handed over to the kernel's task (a future, which does not help).
pub(super) fn crowd(is_full: bool) -> Result<[Ratio; 2], String> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let times = start("crowd", Some(cores.max(2) + 1), is_full)?;
    let times: Vec<&[f64]> = times.chunks(3).collect();
    let wait = times.iter().map(|times| times[1] / times[0]).collect();
    let hand_over = times.iter().map(|times| times[1] / times[2]).collect();
    Ok([Ratio::of(wait)?, Ratio::of(hand_over)?])
}

fn run_crowd(round_trips: usize) -> lathide::Result<()> {
    let node = lathide::init()?;
    if node.rank().0 < 2 {
        let (peer, is_first) = (1 - node.rank().0, node.rank().0 == 0);
        let mut raw = raw_connection(&node, peer)?;
        for repeat in 0..=REPEATS {
            let mut buffer = vec![0; 8];
            let turns = |message: &mut dyn FnMut(bool)| {
                let began = Instant::now();
                (0..2 * round_trips).for_each(|turn| message((turn % 2 == 0) == is_first));
                began.elapsed().as_secs_f64()
            };
            let by_raw = turns(&mut |sends| {
                let done = if sends { raw.write_all(&[0; 8]) } else { raw.read_exact(&mut [0; 8]) };
                done.expect("the other process is there");
            });
            let mut lathide = |helps: bool| {
                turns(&mut |sends| {
                    let own = std::mem::take(&mut buffer);
                    let result = match (sends, helps) {
                        (true, true) => node.initwrite(peer, 1, own).and_then(|write| write.wait()),
                        (false, true) => node.initread(peer, 1, own).and_then(|read| read.wait()),
                        (true, false) => node.initwrite(peer, 1, own).and_then(block_on),
                        (false, false) => node.initread(peer, 1, own).and_then(block_on),
                    };
                    buffer = result.expect("the other rank is there");
                })
            };
            let (by_wait, by_task) = (lathide(true), lathide(false));
            if repeat > 0 && is_first {
                println!("{by_raw} {by_wait} {by_task}");
            }
        }
    }
    node.barrier()?;
    node.finalize()
}

/// A plain TCP connection between ranks 0 and 1.
fn raw_connection(node: &Node, peer: u32) -> lathide::Result<TcpStream> {
    let raw = if peer == 1 {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port on loopback");
        let port = listener.local_addr().expect("bound").port();
        node.initwrite(peer, 2, vec![port])?.wait()?;
        listener.accept().expect("the other process connects").0
    } else {
        let port = node.initread(peer, 2, vec![0_u16])?.wait()?[0];
        TcpStream::connect(("127.0.0.1", port)).expect("the other process listens")
    };
    raw.set_nodelay(true).expect("a TCP socket");
    Ok(raw)
}

/// Waits for a future without helping: the kernel's task does it all, and wakes this thread.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(thread::current())).into();
    let (mut future, mut context) = (pin!(future), Context::from_waker(&waker));
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(value) => return value,
            Poll::Pending => thread::park(),
        }
    }
}

/// How much longer a computation takes beside idle links, and what a rank that waits 10 s has of the processor.
pub(super) fn idle(is_full: bool) -> Result<(Ratio, f64), String> {
    let (mut ratios, mut waiting_s) = (Vec::new(), 0.0);
    for repeat in 0..=REPEATS {
        let (beside, alone) = (start("idle", Some(LINKS as usize + 1), is_full)?, start("alone", None, is_full)?);
        if repeat > 0 {
            ratios.push(beside[0] / alone[0]);
            waiting_s = f64::max(waiting_s, beside[1]);
        }
        if !is_full {
            return Ok((Ratio::of(vec![beside[0] / alone[0]])?, beside[1]));
        }
    }
    Ok((Ratio::of(ratios)?, waiting_s))
}

fn run_idle(is_smoke: bool) -> lathide::Result<()> {
    let node = lathide::init()?;
    if node.rank() == 0 {
        let computed_s = compute(is_smoke);
        node.initwrite(1, 1, vec![0_u8])?.wait()?;
        let before = clock_gettime(ClockId::ProcessCPUTime);
        node.initread(1, 2, vec![0_u8])?.wait()?;
        let after = clock_gettime(ClockId::ProcessCPUTime);
        let nanoseconds = (after.tv_sec - before.tv_sec) * 1_000_000_000 + (after.tv_nsec - before.tv_nsec);
        println!("{computed_s} {}", nanoseconds as f64 * 1e-9);
    } else if node.rank() == 1 {
        node.initread(0, 1, vec![0_u8])?.wait()?;
        thread::sleep(Duration::from_secs(if is_smoke { 1 } else { 10 }));
        node.initwrite(0, 2, vec![0_u8])?.wait()?;
    }
    node.barrier()?;
    node.finalize()
}

/// A computation that touches nothing but registers: its least time of many, in seconds.
fn compute(is_smoke: bool) -> f64 {
    let once = || {
        let began = Instant::now();
        let mut state = 1_u64;
        for _ in 0..20_000_000 {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
        began.elapsed().as_secs_f64()
    };
    let mut times: Vec<f64> = (0..if is_smoke { 3 } else { 41 }).map(|_| once()).collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
