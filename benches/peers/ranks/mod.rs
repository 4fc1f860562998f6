//! The processes of lathide and of raw TCP: each is this program again, and goes through the plan as `plan.h` does.

mod lathide;
mod raw;

use std::time::{Duration, Instant};

use rustix::process::{Signal, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

/// Tells a process of this program what it is: `lathide SIZE`, `raw SIZE` or `polled SIZE`. Its arguments are seconds
/// that it may take, rank 0's address, and the plan.
pub(crate) const PROGRAM: &str = "PEERS_PROGRAM";
/// Its rank, as `plan.h` reads it, too.
pub(crate) const RANK: &str = "PEERS_RANK";
/// Bytes per second of the link; a calculation behind a message takes as long as the link needs for it.
pub(crate) const RATE: &str = "PEERS_RATE";
/// A list of processors, one per rank, on which each stays; as `plan.h` reads it.
pub(crate) const CORES: &str = "PEERS_CORES";
/// Messages of a row that the reader answers at its end; as in `plan.h`.
const ROW: u64 = 1000;

/// What a cell took.
#[derive(Default)]
struct Took {
    total_s: f64,
    /// In seconds per unit; what each is depends on the cell.
    values: [f64; 4],
}

impl Took {
    /// `units` of something since `began`.
    fn since(began: Instant, units: u64) -> Took {
        let total_s = began.elapsed().as_secs_f64();
        Took { total_s, values: [total_s / units as f64, 0.0, 0.0, 0.0] }
    }
}

trait Rank {
    /// A count of rank 0 for all ranks.
    fn agree(&mut self, count: u64) -> u64;
    /// Does a cell so many times.
    fn cell(&mut self, kind: &str, bytes: usize, count: u64) -> Took;
    /// Says goodbye.
    fn end(self: Box<Self>);
}

/// One process.
pub(crate) fn run(program: &str) {
    let (program, size) = program.split_once(' ').expect("a program and a size");
    let rank: u32 = std::env::var(RANK).ok().and_then(|rank| rank.parse().ok()).expect("a rank");
    let mut arguments = std::env::args().skip(1);
    begin(rank, arguments.next().and_then(|seconds| seconds.parse().ok()).expect("seconds"));
    let address = &arguments.next().expect("an address");
    let mut this: Box<dyn Rank> = match program {
        "lathide" => Box::new(lathide::Lathide::join(rank, size.parse().expect("a size"), address)),
        _ => Box::new(raw::Raw::connect(rank == 0, address, program == "polled")),
    };
    for cell in arguments {
        let (took, is_first) = (measure(&mut *this, rank == 0, &cell), rank == 0);
        if is_first {
            let values = took.values.map(|value| value.to_string()).join("\t");
            println!("{}\t{values}", cell.rsplit_once(':').expect("kind, bytes and milliseconds").0);
        }
    }
    this.end();
}

/// Ends with whoever started this process, and after `seconds` at the latest; stays on the core that is named for it.
#[expect(clippy::disallowed_methods, reason = "a rank whose time is over is stuck, and leaves no job")]
fn begin(rank: u32, seconds: u64) {
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_secs(seconds));
        eprintln!("rank {rank}: not done after {seconds} s");
        std::process::exit(1);
    });
    let cores = std::env::var(CORES).unwrap_or_default();
    if let Some(core) = cores.split(',').nth(rank as usize).and_then(|core| core.parse().ok()) {
        let mut one = CpuSet::new();
        one.set(core);
        sched_setaffinity(None, &one).expect("a core that is ours");
    }
}

/// Does a cell more and more often, until it takes as long as it should. What came before has warmed up; what takes far
/// longer needs not.
fn measure(this: &mut dyn Rank, is_first: bool, cell: &str) -> Took {
    let words: Vec<&str> = cell.split(':').collect();
    let [kind, bytes, milliseconds] = words[..] else { panic!("{cell}: a plan is KIND:BYTES:MILLISECONDS") };
    let target_s = milliseconds.parse::<f64>().expect("milliseconds") * 1e-3;
    let (mut count, mut is_warm) = (1, false);
    loop {
        let took = this.cell(kind, bytes.parse().expect("bytes"), count);
        // What lasts as long as a long message is done twice, however long that is.
        let is_once = kind == "beside";
        let next = match took.total_s < 0.6 * target_s {
            _ if is_once => u64::from(!is_warm),
            true => (count as f64 * (target_s / took.total_s).min(8.0)) as u64 + 1,
            false if is_warm || took.total_s > 4.0 * target_s => 0,
            false => count,
        };
        let next = this.agree(if is_first { next } else { 0 });
        if next == 0 {
            return took;
        }
        (count, is_warm) = (next, true);
    }
}

/// A calculation that touches nothing but registers: as many steps as take so long alone.
struct Calculation(u64);

impl Calculation {
    /// As long as the link needs for so many bytes.
    fn of_link(bytes: usize) -> Self {
        let rate = std::env::var(RATE).ok().and_then(|rate| rate.parse().ok()).unwrap_or(1e9);
        let some = Self(1_000_000);
        let times = (0..5).map(|_| {
            let began = Instant::now();
            some.run();
            began.elapsed().as_secs_f64() / some.0 as f64
        });
        Self((bytes as f64 / rate / times.fold(f64::INFINITY, f64::min)) as u64)
    }

    fn run(&self) {
        let mut state = 1_u64;
        for _ in 0..self.0 {
            state = std::hint::black_box(state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1));
        }
    }
}

/// What steps of a calculation took before and after, the message alone, and both.
fn overlapped([before_s, alone_s, total_s, after_s]: [f64; 4], count: u64) -> Took {
    let exposed = (total_s - f64::midpoint(before_s, after_s)) / alone_s;
    Took { total_s, values: [total_s / count as f64, exposed, 0.0, 0.0] }
}

/// The median and the 99th percentile of some times.
fn quantiles(began: Instant, mut samples: Vec<f64>) -> Took {
    samples.sort_by(f64::total_cmp);
    let [median, p99] = [0.5, 0.99].map(|part| samples[(part * (samples.len() - 1) as f64) as usize]);
    Took { total_s: began.elapsed().as_secs_f64(), values: [median, p99, 0.0, 0.0] }
}

/// Seconds of processor that this process has had.
fn processor_s() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + 1e-9 * time.tv_nsec as f64
}
