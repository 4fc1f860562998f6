//! Random programs on every kind of link: messages of odd sizes, collectives under way meanwhile and in a row, dropped handles,
//! threads, futures and polls; every byte is checked, and memory must not grow.
//!
//! `cargo test` runs each kind of link for some seconds, all at once. For longer, alone and by name:
//!
//! ```text
//! LATHIDE_SOAK=600 cargo test --release --test it soak -- --nocapture
//! ```

mod calls;

use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use lathide::{Error, Node, Operator, Result, Test, wait_any};

use crate::chance::Chance;
use crate::spmd::programs::{block_on, join, say};
use crate::spmd::{ARGUMENTS, Ended, Job, prepared, this};

/// Seconds that each kind of link is soaked, in the suite.
const SECONDS: u64 = 4;
const RANKS: u32 = 3;
/// Ranks that nothing is between: more than most machines that run this have cores for.
const RANKS_DIRECT: u32 = 5;
/// A link that is not the launcher's, but the system's.
const DIRECT: &str = "direct";
/// What a rank's memory may grow by once it has worked for a while: buffers of the most that is under way at a time, and
/// what the allocator keeps.
const GROWTH_MIB: u64 = 48;

/// The longest message on this link.
struct Load {
    seed: u64,
    bytes_max: u64,
}

/// One rank's program: rounds of random things until the time is over, the same on all ranks.
pub(crate) fn program(seconds: u64, seed: u64, bytes_max: u64) -> Result<()> {
    let node = join()?;
    let (load, began) = (Load { seed, bytes_max }, Instant::now());
    let (mut round, mut settled_mib) = (0, None);
    loop {
        // Rank 0 says whether this is the last round.
        let is_last = began.elapsed() > Duration::from_secs(seconds);
        let is_last = node.broadcast(0, vec![u8::from(is_last)])?[0] == 1;
        load.round(&node, round)?;
        round += 1;
        if settled_mib.is_none() && began.elapsed() > Duration::from_secs(seconds) / 4 {
            settled_mib = Some(memory_mib());
        }
        if is_last {
            break;
        }
    }
    say("rounds", round);
    say("grown", memory_mib().saturating_sub(settled_mib.unwrap_or_else(memory_mib)));
    node.finalize()
}

fn memory_mib() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() >> 10
}

impl Load {
    /// A size: most are small, all residues occur.
    fn bytes(&self, numbers: &mut Chance) -> usize {
        let most = [9, 100, 5_000, 40_000, self.bytes_max][numbers.below(5) as usize].min(self.bytes_max);
        numbers.below(most + 1) as usize
    }

    /// What `from` writes as message `number` of a round.
    fn message(&self, round: u64, from: u32, number: u64, bytes: usize) -> Vec<u8> {
        let start = Chance(self.seed ^ round << 20 ^ u64::from(from) << 50 ^ number).next();
        (0..bytes as u64).map(|i| (start.wrapping_add(i) >> (i % 3)) as u8).collect()
    }

    fn round(&self, node: &Node, round: u64) -> Result<()> {
        let mut numbers = Chance(self.seed.wrapping_add(round));
        let size = node.size();
        let collective = Collective::start(node, self, round, &mut numbers)?;
        match numbers.below(4) {
            0 => self.junk(node, round, &mut numbers)?,
            1 => self.threads(node, round, &mut numbers)?,
            2 => calls::calls(self, node, round, &mut numbers)?,
            _ => {}
        }
        let mut plan = Vec::new();
        for number in 0..numbers.below(12) {
            let (from, to) = (numbers.below(size), numbers.below(size));
            plan.push((number, from, to, numbers.below(3) as u32, self.bytes(&mut numbers)));
        }
        let way = numbers.below(5);
        self.exchange(node, round, &plan, way)?;
        collective.finish(node, self, round)
    }

    /// Messages of a plan, read in one of several ways; what nobody waits for is dropped.
    fn exchange(&self, node: &Node, round: u64, plan: &[(u64, u32, u32, u32, usize)], way: u64) -> Result<()> {
        let rank = node.rank().0;
        let mut reads = Vec::new();
        let mut writes = Vec::new();
        // Written before they are read, or the other way round.
        for turn in 0..2 {
            for &(number, from, to, tag, bytes) in plan {
                if (turn == way % 2) == (to == rank) && to == rank {
                    reads.push((number, from, bytes, node.initread(from, tag, vec![0u8; bytes + 3])?));
                }
                if (turn == way % 2) != (from == rank) && from == rank {
                    let write = node.initwrite(to, tag, self.message(round, from, number, bytes))?;
                    if number % 3 == 0 { drop(write) } else { writes.push(write) }
                }
            }
        }
        let expected = |number, from, bytes| self.message(round, from, number, bytes);
        let check = |got: Vec<u8>, number, from, bytes| {
            assert!(got == expected(number, from, bytes), "round {round}: message {number} from rank {from} is wrong");
        };
        if way == 2 {
            let (mut about, mut handles): (Vec<_>, Vec<_>) =
                reads.into_iter().map(|(number, from, bytes, read)| ((number, from, bytes), read)).unzip();
            while !handles.is_empty() {
                let (at, got) = wait_any(&mut handles)?;
                let (number, from, bytes) = about.swap_remove(at);
                check(got, number, from, bytes);
            }
        } else {
            for (number, from, bytes, read) in reads {
                let got = match way {
                    0 => block_on(read)?,
                    1 => polled(read)?,
                    _ => read.wait()?,
                };
                check(got, number, from, bytes);
            }
        }
        writes.into_iter().try_for_each(|write| write.wait().map(drop))
    }

    /// Reads whose handles are dropped at once: each takes its message along or leaves it to the next read.
    fn junk(&self, node: &Node, round: u64, numbers: &mut Chance) -> Result<()> {
        const TAG: u32 = 77;
        let (size, bytes) = (node.size(), self.bytes(numbers) + 1);
        let (left, right) = (node.rank().on_ring(-1, size), node.rank().on_ring(1, size));
        drop(node.initread(left, TAG, vec![0u8; bytes])?);
        let junk = node.initwrite(right, TAG, vec![1u8; bytes])?;
        let mark = node.initwrite(right, TAG, vec![2u8])?;
        // The junk is read here unless the dropped read has taken it along.
        while node.initread(left, TAG, vec![0u8; bytes])?.wait()? != [2] {}
        junk.wait()?;
        mark.wait()?;
        let _ = round;
        Ok(())
    }

    /// Two threads of each rank exchange messages with the same threads of the next.
    fn threads(&self, node: &Node, round: u64, numbers: &mut Chance) -> Result<()> {
        let (size, bytes) = (node.size(), self.bytes(numbers));
        let (left, right) = (node.rank().on_ring(-1, size), node.rank().on_ring(1, size));
        thread::scope(|scope| {
            let threads: Vec<_> = (0..2u32)
                .map(|thread| {
                    scope.spawn(move || -> Result<()> {
                        for turn in 0..4 {
                            let number = 1000 + u64::from(thread) * 10 + turn;
                            let read = node.initread(left, 20 + thread, vec![0u8; bytes])?;
                            let mine = self.message(round, node.rank().0, number, bytes);
                            let write = node.initwrite(right, 20 + thread, mine)?;
                            let got = read.wait()?;
                            assert!(
                                got == self.message(round, left.0, number, bytes),
                                "round {round}: thread {thread}"
                            );
                            write.wait()?;
                        }
                        Ok(())
                    })
                })
                .collect();
            threads.into_iter().try_for_each(|thread| thread.join().expect("see above"))
        })
    }
}

/// Asks again and again, then with short waits.
fn polled(mut read: lathide::ReadHandle<u8>) -> Result<Vec<u8>> {
    for _ in 0..100 {
        match read.test()? {
            Test::Ready(got) => return Ok(got),
            Test::Pending(back) => read = back,
        }
    }
    loop {
        match read.wait_timeout(Duration::from_millis(3)) {
            Ok(got) => return Ok(got),
            Err((Error::Timeout { .. }, Some(back))) => read = back,
            Err((error, _)) => return Err(error),
        }
    }
}

/// A collective that goes on meanwhile.
enum Collective {
    Sum(lathide::Handle<Vec<u64>>, usize),
    Broadcast(lathide::Handle<Vec<u8>>, u32, usize),
    Gather(lathide::Handle<Option<Vec<u8>>>, usize),
    All(lathide::Handle<Vec<u8>>, usize),
    Barrier(lathide::Handle<()>),
}

impl Collective {
    fn start(node: &Node, load: &Load, round: u64, numbers: &mut Chance) -> Result<Self> {
        let (rank, size) = (node.rank().0, node.size());
        let (root, bytes) = (numbers.below(size), load.bytes(numbers));
        let mine = || load.message(round, rank, 500, bytes);
        Ok(match numbers.below(5) {
            0 => {
                let part = vec![u64::from(rank) + 1; bytes / 8];
                Collective::Sum(node.initallreduce(&Operator::sum(), part)?, bytes / 8)
            }
            1 => {
                let buffer = if rank == root { load.message(round, root, 500, bytes) } else { vec![0; bytes] };
                Collective::Broadcast(node.initbroadcast(root, buffer)?, root, bytes)
            }
            2 => Collective::Gather(node.initgather(root, mine())?, bytes),
            3 => Collective::All(node.initallgather(mine())?, bytes),
            _ => Collective::Barrier(node.initbarrier()?),
        })
    }

    fn finish(self, node: &Node, load: &Load, round: u64) -> Result<()> {
        let size = node.size();
        let blocks = |bytes| (0..size).flat_map(|rank| load.message(round, rank, 500, bytes)).collect::<Vec<u8>>();
        match self {
            Collective::Sum(handle, count) => {
                let sum = u64::from(size * (size + 1) / 2);
                assert!(handle.wait()? == vec![sum; count], "round {round}: a sum is wrong");
            }
            Collective::Broadcast(handle, root, bytes) => {
                assert!(handle.wait()? == load.message(round, root, 500, bytes), "round {round}: a broadcast is wrong");
            }
            Collective::Gather(handle, bytes) => {
                if let Some(all) = handle.wait()? {
                    assert!(all == blocks(bytes), "round {round}: a gather is wrong");
                }
            }
            Collective::All(handle, bytes) => {
                assert!(handle.wait()? == blocks(bytes), "round {round}: an allgather is wrong");
            }
            Collective::Barrier(handle) => handle.wait()?,
        }
        Ok(())
    }
}

/// The kinds of links: rate or [`DIRECT`], window, encrypted, overlap.
fn kinds() -> Vec<(&'static str, &'static str, bool, bool)> {
    let mut kinds = Vec::new();
    for rate in ["20mbit", "1000mbit", DIRECT] {
        for window in ["64KiB", "64MiB"] {
            kinds.extend([false, true].map(|encrypted| (rate, window, encrypted, true)));
        }
    }
    for rate in ["20mbit", DIRECT] {
        kinds.extend([false, true].map(|encrypted| (rate, "64KiB", encrypted, false)));
    }
    kinds
}

#[test]
fn random_programs_go_right_on_every_kind_of_link() {
    let seconds = std::env::var("LATHIDE_SOAK")
        .map_or(crate::scale::scaled(SECONDS), |text| text.parse().expect("a number of seconds"));
    let seed = std::env::var("LATHIDE_SEED").map_or(1, |text| text.parse().expect("a number"));
    let threads: Vec<_> = (0..)
        .zip(kinds())
        .map(|(number, kind)| thread::spawn(move || println!("{}", soak(kind, seconds, seed * 1000 + number))))
        .collect();
    let failed = threads.into_iter().filter_map(|thread| thread.join().err()).count();
    assert_eq!(failed, 0, "kinds of links, see above");
}

fn soak((rate, window, encrypted, overlaps): (&str, &str, bool, bool), seconds: u64, seed: u64) -> String {
    let kind = format!(
        "{rate}, window {window}, {}, overlap {}, seed {seed}",
        if encrypted { "encrypted" } else { "plain" },
        if overlaps { "on" } else { "off" }
    );
    let bytes_max = match rate {
        "20mbit" => 150_000,
        DIRECT => 1_000_000,
        _ => 3_000_000,
    };
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    let ranks = if rate == DIRECT { RANKS_DIRECT } else { RANKS };
    command.args(["run", "-n", &ranks.to_string()]);
    if rate != DIRECT {
        command.args(["--link", &format!("rate={rate},delay=1ms")]);
    }
    command.arg(this()).args(ARGUMENTS);
    let on = |on| if on { "on" } else { "off" };
    let variables = [("LATHIDE_WINDOW", window), ("LATHIDE_ENCRYPT", on(encrypted)), ("LATHIDE_OVERLAP", on(overlaps))];
    let ended = Job::of(prepared(command, &format!("soak {seconds} {seed} {bytes_max}"), &variables))
        .end_within(Duration::from_secs(60 + 2 * seconds));
    verdict(&kind, ranks, &ended)
}

fn verdict(kind: &str, ranks: u32, ended: &Ended) -> String {
    assert!(ended.statuses[0].success(), "{kind}: {ended}");
    assert!(!ended.errors[0].contains("deadlock"), "{kind}: {ended}");
    let rounds: u64 = ended.of(0, "rounds").rest.parse().unwrap();
    let grown = (0..ranks).map(|rank| ended.of(rank, "grown").rest.parse::<u64>().unwrap()).max().unwrap();
    assert!(grown <= GROWTH_MIB, "{kind}: a rank has grown by {grown} MiB: {ended}");
    format!("{kind}: {rounds} rounds, memory grown by {grown} MiB at most")
}
