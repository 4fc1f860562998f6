//! How good the selection of algorithms is by default: a program that calls one collective again and again and nothing
//! else, with each algorithm forced, with calibration off, and as it is.
//!
//! `cargo bench --bench selection [-- --links "wan;lan" --ranks "4;8" --operations allreduce --bytes "8;262144"
//! --calls N --rounds N --lab]`. The time is that of all calls, the first ones included. Everything is a job of its own, in turns. With
//! `--lab` each rank has a virtual host. With `--choosing` it only says how long a rank takes to choose for calls whose prices it does
//! not know yet. Without `--bench` (under `cargo test --benches`) a little only shows that it runs.

use std::process::{Command, ExitCode};
use std::time::Instant;

use lathide::launcher::collective::{Call, Prices};
use lathide::{Collective, CostModel, Node, Operator};

/// Set in ranks: operation, bytes, calls.
const RANK: &str = "LATHIDE_BENCH_SELECTION";
/// The time that one job takes about, if calls are not given.
const JOB_S: f64 = 1.5;

type Failure = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    let done = match std::env::var(RANK) {
        Ok(what) => rank(&what),
        Err(_) => compare(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("selection: {error}");
            ExitCode::FAILURE
        }
    }
}

/// One rank: calls, and says how long all of them took.
fn rank(what: &str) -> Result<(), Failure> {
    let words: Vec<&str> = what.split(' ').collect();
    let [operation, bytes, calls] = words[..] else { return Err("three words are needed".into()) };
    let (operation, bytes, calls) = (named(operation)?, bytes.parse::<usize>()?, calls.parse::<u32>()?);
    let node = lathide::init()?;
    let (began, mut block) = (Instant::now(), vec![1u8; bytes]);
    let (size, mut numbers) = (node.size() as usize, vec![1.0f64; bytes.div_ceil(8)]);
    for _ in 0..calls {
        match operation {
            Collective::Allgather => block = cut(node.allgather(block)?, bytes),
            Collective::Allreduce => numbers = node.allreduce(&Operator::max(), numbers)?,
            Collective::Alltoall => drop(node.alltoall(vec![1u8; bytes * size])?),
            Collective::Barrier => node.barrier()?,
            Collective::Broadcast => block = node.broadcast(0, block)?,
            Collective::Exscan => drop(node.exscan(&Operator::max(), numbers.clone())?),
            Collective::Gather => drop(node.gather(0, block.clone())?),
            Collective::Reduce => drop(node.reduce(0, &Operator::max(), numbers.clone())?),
            Collective::ReduceScatter => {
                drop(node.reduce_scatter(&Operator::max(), vec![1.0f64; size * numbers.len()])?);
            }
            Collective::Scan => numbers = node.scan(&Operator::max(), numbers)?,
            Collective::Scatter => {
                let blocks = vec![1u8; if node.rank() == 0 { bytes * size } else { 0 }];
                drop(node.scatter(0, bytes, blocks)?);
            }
        }
    }
    // The root of a broadcast is done before the others are.
    all_are_done(&node)?;
    if node.rank() == 0 {
        println!("{}", began.elapsed().as_secs_f64());
        for change in node.report().changes {
            eprintln!("  {change}");
        }
    }
    node.finalize()?;
    Ok(())
}

fn cut(mut block: Vec<u8>, bytes: usize) -> Vec<u8> {
    block.truncate(bytes);
    block
}

/// Messages to rank 0, so that no other collective is called.
fn all_are_done(node: &Node) -> lathide::Result<()> {
    if node.rank() != 0 {
        return node.initwrite(0, 1, vec![1u8])?.wait().map(drop);
    }
    for rank in 1..node.size() {
        node.initread(rank, 1, vec![0u8])?.wait()?;
    }
    Ok(())
}

fn named(name: &str) -> Result<Collective, Failure> {
    let known = Collective::ALL.into_iter().find(|known| known.name() == name);
    known.ok_or_else(|| format!("{name:?} is no collective").into())
}

/// What is compared.
struct Case {
    link: String,
    ranks: u32,
    operation: Collective,
    bytes: usize,
    in_lab: bool,
}

/// All cases, one after the other.
fn compare() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let value = |name: &str, default: &str| -> Vec<String> {
        let at = arguments.iter().position(|argument| argument == name);
        let text = at.and_then(|at| arguments.get(at + 1)).map_or(default, String::as_str);
        text.split(';').map(str::to_owned).collect()
    };
    if has("--choosing") || !has("--bench") {
        choosing();
    }
    if has("--choosing") {
        return Ok(());
    }
    let defaults = match has("--bench") {
        true => ["wan;lan;loopback", "4;8", "allreduce;broadcast;gather;allgather", "8;4096;262144", "3"],
        false => ["loopback", "2", "allreduce", "8", "1"],
    };
    let [links, ranks, operations, sizes, rounds] =
        [("--links", 0), ("--ranks", 1), ("--operations", 2), ("--bytes", 3), ("--rounds", 4)]
            .map(|(name, at)| value(name, defaults[at]));
    let calls: Option<u32> = value("--calls", "").first().and_then(|calls| calls.parse().ok());
    let (mut good, mut all) = (0, 0);
    println!("time of all calls: best forced algorithm; calibration off and on, relative to it [min..max of rounds]");
    for link in &links {
        for ranks in &ranks {
            for operation in &operations {
                for bytes in &sizes {
                    let case = Case {
                        link: link.clone(),
                        ranks: ranks.parse()?,
                        operation: named(operation)?,
                        bytes: bytes.parse()?,
                        in_lab: has("--lab"),
                    };
                    all += 1;
                    good += u32::from(case.run(calls, rounds[0].parse()?)?);
                }
            }
        }
    }
    println!("on is the fastest or within 5 % of it in {good} of {all} cases");
    Ok(())
}

/// The time of choosing for several collectives in three sizes, on new prices.
fn choosing() {
    use Collective::{Allgather, Allreduce, Alltoall, Broadcast, Gather};
    const ROUNDS: usize = 15;
    println!("choosing for five collectives of 8 B, 64 KiB, 1 MiB, ms [min..max of {ROUNDS} rounds]");
    for (ranks, ranks_per_core) in [(2, 1.0), (4, 1.0), (8, 1.0), (8, 4.0), (64, 32.0)] {
        let machine = CostModel { ranks_per_core, ..CostModel::lan() };
        let mut times = [0.0; ROUNDS].map(|_| {
            let (began, mut prices) = (Instant::now(), Prices::new(machine));
            for collective in [Allgather, Allreduce, Alltoall, Broadcast, Gather] {
                for bytes in [8, 64 << 10, 1 << 20] {
                    std::hint::black_box(prices.choose(&Call::new(collective, ranks, bytes / 8, 8)));
                }
            }
            began.elapsed().as_secs_f64() * 1e3
        });
        let middle = median(&mut times);
        println!("{ranks} ranks, {ranks_per_core} per core: {middle:.2} [{:.2}..{:.2}]", times[0], times[ROUNDS - 1]);
    }
}

impl Case {
    /// Measures every variant in turns. Returns whether the default is within 5 % of the best.
    fn run(&self, calls: Option<u32>, rounds: usize) -> Result<bool, Failure> {
        let mut variants: Vec<(String, Option<String>)> = vec![("on".into(), None), ("off".into(), None)];
        for name in self.operation.algorithms() {
            let windows: &[&str] = if *name == "pairwise" { &["/1", "/0"] } else { &[""] };
            variants.extend(windows.iter().map(|window| {
                let forced = format!("{name}{window}");
                (forced.clone(), Some(format!("{}:{forced}", self.operation)))
            }));
        }
        let calls = match calls {
            Some(calls) => calls,
            None => self.calls()?,
        };
        let mut times: Vec<Vec<f64>> = vec![Vec::new(); variants.len()];
        for _ in 0..rounds {
            for (variant, times) in variants.iter().zip(&mut times) {
                times.push(self.job(variant, calls)?);
            }
        }
        let medians: Vec<f64> = times.iter_mut().map(|times| median(times)).collect();
        let best = (2..variants.len()).min_by(|one, other| medians[*one].total_cmp(&medians[*other]));
        let best = best.ok_or("there is no algorithm")?;
        let relative = |at: usize| {
            let [least, most] = [times[at][0], times[at][times[at].len() - 1]].map(|time| time / medians[best]);
            format!("{:.2} [{least:.2}..{most:.2}]", medians[at] / medians[best])
        };
        let others = (2..variants.len()).map(|at| format!("{} {:.2}", variants[at].0, medians[at] / medians[best]));
        println!(
            "{:>9} {} ranks {:>9} {:>7} B, {calls:>5} calls: {:>9} {:.3} s; off {}; on {}; ({})",
            self.link,
            self.ranks,
            self.operation.name(),
            self.bytes,
            variants[best].0,
            medians[best],
            relative(1),
            relative(0),
            others.collect::<Vec<_>>().join(", ")
        );
        Ok(medians[0] <= 1.05 * medians[best])
    }

    /// As many calls as fit in the time by default.
    fn calls(&self) -> Result<u32, Failure> {
        let few = 8;
        let took_s = self.job(&("on".into(), None), few)?;
        Ok(((JOB_S / took_s * f64::from(few)) as u32).clamp(50, 20_000))
    }

    fn job(&self, (name, forced): &(String, Option<String>), calls: u32) -> Result<f64, Failure> {
        let tool = env!("CARGO_BIN_EXE_lathide");
        let own = std::env::current_exe()?;
        let ranks = self.ranks.to_string();
        let mut command = Command::new(tool);
        if self.in_lab {
            let hosts: Vec<String> = (0..self.ranks).map(|host| format!("host{host}")).collect();
            let (delay, rate) = match self.link.as_str() {
                "wan" => ("25ms", "50mbit"),
                "lan" => ("0.1ms", "1gbit"),
                other => other.split_once('/').unwrap_or(("0ms", "1gbit")),
            };
            command.args(["lab", "--quiet", "--hosts", &ranks, "--delay", delay, "--rate", rate, "--"]);
            command.args([tool, "run", "--quiet", "--hosts", &hosts.join(",")]);
        } else {
            command.args(["run", "--quiet", "-n", &ranks, "--link", &self.link]);
        }
        command.args(["--tag", "never"]).arg(own);
        command.env(RANK, format!("{} {} {calls}", self.operation, self.bytes));
        command.env("LATHIDE_CALIBRATE", if name == "off" { "off" } else { "on" });
        command.env("LATHIDE_COLLECTIVE", forced.as_deref().unwrap_or_default());
        let output = command.output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(format!("a job failed: {errors}").into());
        }
        if std::env::var_os("LATHIDE_BENCH_VERBOSE").is_some() {
            eprintln!("{name}: {} s\n{errors}", String::from_utf8_lossy(&output.stdout).trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().parse()?)
    }
}

/// Sorts, too.
fn median(times: &mut [f64]) -> f64 {
    times.sort_by(f64::total_cmp);
    times[times.len() / 2]
}
