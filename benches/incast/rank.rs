//! What each rank does: gathers of 256 KiB to rank 0, by every algorithm in turn.

use std::error::Error;
use std::time::Instant;

use lathide::cost::Queue;
use lathide::{Operator, Overrides};

/// Says that this process is a rank.
pub(super) const IS_RANK: &str = "LATHIDE_BENCH_INCAST";
/// How often each gather is measured.
pub(super) const REPEATS: &str = "LATHIDE_BENCH_REPEATS";
/// The bytes of the queue before the port, which the model is told.
pub(super) const QUEUE: &str = "LATHIDE_BENCH_QUEUE";
const BLOCK_BYTES: usize = 256 << 10;
/// The gathers: the name that forces each. The last is the one that lathide chooses, which knows of the queue.
const GATHERS: [&str; 7] = [
    "gather:simple",
    "gather:windowed/1",
    "gather:windowed/2",
    "gather:windowed/4",
    "gather:granted/1",
    "gather:granted/2",
    "",
];

/// What TCP had to do, in this rank's namespace so far.
#[derive(Clone, Copy)]
struct Troubles {
    timeouts: u64,
    sent_again: u64,
}

impl Troubles {
    fn so_far() -> std::io::Result<Self> {
        let counter = |file: &str, group: &str, name: &str| -> std::io::Result<u64> {
            let text = std::fs::read_to_string(format!("/proc/self/net/{file}"))?;
            let mut lines = text.lines().filter(|line| line.starts_with(group));
            let (names, values) = (lines.next().unwrap_or(""), lines.next().unwrap_or(""));
            let pair = names.split_whitespace().zip(values.split_whitespace()).find(|(key, _)| *key == name);
            pair.and_then(|(_, value)| value.parse().ok()).ok_or_else(|| std::io::Error::other(format!("no {name}")))
        };
        let timeouts = counter("netstat", "TcpExt:", "TCPTimeouts")?;
        Ok(Troubles { timeouts, sent_again: counter("snmp", "Tcp:", "RetransSegs")? })
    }
}

pub(super) fn run() -> Result<(), Box<dyn Error>> {
    let repeats: usize = std::env::var(REPEATS)?.parse()?;
    let mut config = lathide::Config::from_environment()?;
    let bytes = std::env::var(QUEUE)?.parse()?;
    // A sender is as fast as the port; TCP's timer is at least 0.2 s.
    config.cost_model.queue = Some(Queue { bytes, gap_ratio: 1.0, timeout: 0.2 });
    let node = lathide::init_with(config)?;
    let senders = node.size() - 1;
    if node.rank() == 0 {
        println!(
            "  {:<18} {:>9} {:>9} {:>9}  {:>9} {:>11}",
            "gather", "median", "min", "max", "timeouts", "sent again"
        );
    }
    for _ in 0..3 {
        node.gather(0, vec![1u8; BLOCK_BYTES / 8])?;
    }
    node.calibrate()?;
    let mut times = vec![Vec::new(); GATHERS.len()];
    let mut troubles = vec![[0u64; 2]; GATHERS.len()];
    for repeat in 0..=repeats {
        for (index, name) in GATHERS.iter().enumerate() {
            node.override_algorithms(Overrides::parse(name).map_err(|why| format!("{name}: {why}"))?);
            let block = vec![node.rank().0 as u8; BLOCK_BYTES];
            node.barrier()?;
            let (before, began) = (Troubles::so_far()?, Instant::now());
            let whole = node.gather(0, block)?;
            let took_s = began.elapsed().as_secs_f64();
            if let Some(whole) = whole {
                let is_right =
                    whole.chunks(BLOCK_BYTES).zip(0u8..).all(|(block, rank)| block.iter().all(|b| *b == rank));
                assert!(is_right, "{name} delivered something else");
            }
            // What is still under way, an acknowledgement or a last segment, is part of it.
            node.barrier()?;
            let after = Troubles::so_far()?;
            node.override_algorithms(Overrides::none());
            let own = vec![after.timeouts - before.timeouts, after.sent_again - before.sent_again];
            let all = node.allreduce(&Operator::sum(), own)?;
            if repeat > 0 {
                times[index].push(took_s);
                troubles[index][0] += all[0];
                troubles[index][1] += all[1];
            }
        }
    }
    if node.rank() == 0 {
        for ((name, times), [timeouts, again]) in GATHERS.iter().zip(&mut times).zip(&troubles) {
            times.sort_by(f64::total_cmp);
            let name = if name.is_empty() { "chosen by price" } else { name.trim_start_matches("gather:") };
            let rate = senders as f64 * BLOCK_BYTES as f64 / times[times.len() / 2] * 8e-6;
            let (middle, least, most) = (times[times.len() / 2], times[0], times[times.len() - 1]);
            println!(
                "  {name:<18} {:>6.2} ms {:>6.2} ms {:>6.2} ms  {timeouts:>9} {again:>11}   {rate:.0} Mbit/s",
                middle * 1e3,
                least * 1e3,
                most * 1e3
            );
        }
    }
    node.finalize()?;
    Ok(())
}
