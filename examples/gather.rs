//! Many to one: every rank has data for rank 0. The simple way, and Algorithm 1 of Tam and Wang (section 5.3).
//!
//! If all send at once, what lies before the root (a switch's port, a receive queue) may overflow, and lost packets
//! are dear. Algorithm 1 lets only a window of `w` ranks send: rank `j` starts rank `j + w` when it is done, so the
//! root, busy enough, has no part in it. A window of all senders is the simple way.
//!
//! `lathide run -n 8 target/debug/examples/gather --algorithm windowed --window 2 --bytes 1000000`

use std::process::ExitCode;
use std::time::{Duration, Instant};

use lathide::{Node, Rank, Tag};

const ROOT: Rank = Rank(0);
const DATA: Tag = Tag(1);
const START: Tag = Tag(2);
const ROUNDS: u8 = 5;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("gather: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let options = Options::parse(std::env::args().skip(1))?;
    let node = lathide::init()?;
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        node.barrier()?;
        let start = Instant::now();
        if node.rank() == ROOT {
            let solve = node.region("solve");
            let gathered = receive(&node, round, options.bytes)?;
            drop(solve);
            times.push(start.elapsed());
            check(&gathered, round, options.bytes)?;
        } else {
            let mine = data(node.rank(), round, options.bytes);
            let _solve = node.region("solve");
            match options.algorithm {
                Algorithm::Simple => node.initwrite(ROOT, DATA, mine)?.wait().map(drop)?,
                Algorithm::Windowed => send_in_window(&node, options.window, mine)?,
            }
        }
    }
    if node.rank() == ROOT {
        report(&node, &options, &mut times);
    }
    Ok(node.finalize()?)
}

/// Algorithm 1, for P_j with j > 0.
fn send_in_window(node: &Node, window: u32, mine: Vec<u8>) -> lathide::Result<()> {
    let j = node.rank().0;
    if j > window {
        node.initread(j - window, START, vec![0_u8])?.wait()?;
    }
    node.initwrite(ROOT, DATA, mine)?.wait()?;
    if let Some(next) = j.checked_add(window).filter(|next| *next < node.size()) {
        node.initwrite(next, START, vec![1_u8])?.wait()?;
    }
    Ok(())
}

/// The root: all reads are posted at once, so data go straight into their place, whoever comes first.
fn receive(node: &Node, round: u8, bytes: usize) -> lathide::Result<Vec<Vec<u8>>> {
    let reads: Vec<_> =
        (1..node.size()).map(|rank| node.initread(rank, DATA, vec![0_u8; bytes])).collect::<Result<_, _>>()?;
    let mut gathered = vec![data(ROOT, round, bytes)];
    for read in reads {
        gathered.push(read.wait()?);
    }
    Ok(gathered)
}

/// What a rank has to say; different for every rank and round.
fn data(rank: Rank, round: u8, bytes: usize) -> Vec<u8> {
    (0..bytes).map(|at| (at as u32).wrapping_mul(31).wrapping_add(rank.0 * 7) as u8 ^ round).collect()
}

fn check(gathered: &[Vec<u8>], round: u8, bytes: usize) -> Outcome<()> {
    for (rank, part) in gathered.iter().enumerate() {
        if *part != data(Rank(rank as u32), round, bytes) {
            return Err(format!("round {round}: the data of rank {rank} are wrong").into());
        }
    }
    Ok(())
}

fn report(node: &Node, options: &Options, times: &mut [Duration]) {
    times.sort();
    let Options { algorithm, window, bytes } = options;
    let how = match algorithm {
        Algorithm::Simple => "all at once".to_owned(),
        Algorithm::Windowed => format!("in a window of {window}"),
    };
    let (least, median, most) = (times[0], times[times.len() / 2], times[times.len() - 1]);
    let senders = node.size() - 1;
    println!("{senders} x {bytes} bytes {how}: {median:.3?} ({least:.3?} to {most:.3?}, {ROUNDS} rounds), correct");
}

#[derive(Clone, Copy)]
enum Algorithm {
    Simple,
    Windowed,
}

struct Options {
    algorithm: Algorithm,
    window: u32,
    bytes: usize,
}

impl Options {
    fn parse(mut words: impl Iterator<Item = String>) -> Outcome<Self> {
        let mut options = Options { algorithm: Algorithm::Windowed, window: 2, bytes: 100_000 };
        while let Some(name) = words.next() {
            let value = words.next().ok_or(format!("{name} needs a value"))?;
            let wrong = |error: std::num::ParseIntError| format!("{name} {value}: {error}");
            match name.as_str() {
                "--algorithm" => {
                    options.algorithm = match value.as_str() {
                        "simple" => Algorithm::Simple,
                        "windowed" => Algorithm::Windowed,
                        _ => return Err(format!("--algorithm {value}: there are simple and windowed").into()),
                    }
                }
                "--window" => options.window = value.parse().map_err(wrong)?,
                "--bytes" => options.bytes = value.parse().map_err(wrong)?,
                _ => return Err(format!("{name}: there are --algorithm, --window and --bytes").into()),
            }
        }
        if options.window == 0 {
            return Err("--window must be at least 1: nobody could send".into());
        }
        Ok(options)
    }
}
