//! What attackers at the rendezvous cost a running job: its exchanges while it is attacked, against those while it is not.
//!
//! `cargo bench --bench attacked`. Two ranks exchange 64 KiB both ways over an emulated link of 100 Mbit/s, block after block;
//! in every second block an attacker without the job's key connects to the launcher's port as fast as it can, in eight ways. The
//! link is slower than the processors, so that what the attacker itself computes does not count. Median of the ratios of
//! neighbouring blocks, least and most. Without `--bench` a few blocks only show that it runs.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use lathide::Tag;

#[path = "../tests/it/misuse/attackers.rs"]
mod attackers;
#[path = "../tests/chance.rs"]
mod chance;

use attackers::{Attacker, KINDS, record};

/// Makes this program a rank, and says how many blocks there are.
const BLOCKS: &str = "LATHIDE_BENCH_BLOCKS";
const LINK: &str = "delay=0.2ms,rate=100mbit";
const BYTES: usize = 64 << 10;
/// Exchanges in a block: about half a second.
const EXCHANGES: u32 = 90;
const REQUIRED: f64 = 0.95;

fn main() -> lathide::Result<()> {
    if let Some(blocks) = std::env::var(BLOCKS).ok().and_then(|blocks| blocks.parse().ok()) {
        return rank(blocks);
    }
    let blocks = if std::env::args().any(|arg| arg == "--bench") { 60 } else { 4 };
    let (seconds, attacks, accepted) = run(blocks);
    // Each attacked block beside the one before it.
    let mut ratios: Vec<f64> = seconds.chunks_exact(2).map(|pair| pair[0] / pair[1]).collect();
    ratios.sort_by(f64::total_cmp);
    let (middle, low, high) = (ratios[ratios.len() / 2], ratios[0], ratios[ratios.len() - 1]);
    let attacked_s: f64 = seconds.iter().skip(1).step_by(2).sum();
    println!(
        "exchanges of 64 KiB over {LINK}, attacked at the rendezvous, against quiet: median (min .. max) of {}",
        ratios.len()
    );
    println!(
        "  throughput {middle:.3} ({low:.3} .. {high:.3}), required {REQUIRED}{}; {attacks} attacks, {:.0} a second; let in: {accepted}",
        if middle < REQUIRED { ": missed" } else { "" },
        f64::from(attacks) / attacked_s.max(f64::MIN_POSITIVE)
    );
    assert_eq!(accepted, 0, "strangers got in");
    Ok(())
}

/// Exchanges block after block, and says how long each took.
fn rank(blocks: u32) -> lathide::Result<()> {
    let node = lathide::init()?;
    let peer = 1 - node.rank().0;
    let (mut out, mut into) = (vec![1_u8; BYTES], vec![0_u8; BYTES]);
    for _ in 0..blocks {
        node.barrier()?;
        let began = Instant::now();
        for _ in 0..EXCHANGES {
            let read = node.initread(peer, Tag(1), into)?;
            out = node.initwrite(peer, Tag(1), out)?.wait()?;
            into = read.wait()?;
        }
        if node.rank() == 0 {
            println!("{}", began.elapsed().as_secs_f64());
        }
    }
    node.finalize()
}

/// The seconds of each block, every second one attacked; how many attacks there were, and how many got in.
fn run(blocks: u32) -> (Vec<f64>, u32, u32) {
    let front = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let place = front.local_addr().expect("bound");
    // Rank 1 says where the rendezvous is, and reaches it by way of somebody who listens.
    let script =
        format!("[ $LATHIDE_RANK = 1 ] && {{ echo root $LATHIDE_ROOT; export LATHIDE_ROOT={place}; }}; exec \"$0\"");
    let own = std::env::current_exe().expect("this program has a path");
    let mut job = Command::new(env!("CARGO_BIN_EXE_lathide"))
        .args(["run", "-n", "2", "--tag", "never", "--link", LINK, "sh", "-c", &script])
        .arg(own)
        .env(BLOCKS, blocks.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .expect("lathide starts");
    let mut lines = BufReader::new(job.stdout.take().expect("piped")).lines().map(|line| line.expect("a line"));
    let root = lines.next().and_then(|line| line.strip_prefix("root ").map(str::to_owned));
    let root: SocketAddr = root.and_then(|root| root.parse().ok()).expect("rank 1 says where the rendezvous is");
    let session = record(&front, || root);
    let (may_attack, counts) = (Arc::new(AtomicBool::new(false)), Arc::new([AtomicU32::new(0), AtomicU32::new(0)]));
    let attacker = std::thread::spawn({
        let (may_attack, counts) = (may_attack.clone(), counts.clone());
        move || attack(Attacker::new(root, session, 1), &may_attack, &counts)
    });
    let mut seconds = Vec::new();
    for line in lines {
        seconds.push(line.parse().expect("seconds"));
        // The next block has begun.
        may_attack.store(seconds.len() % 2 == 1, Ordering::SeqCst);
    }
    assert!(job.wait().expect("it ends").success(), "the job failed");
    may_attack.store(true, Ordering::SeqCst);
    attacker.join().expect("an attacker ends when nobody listens any more");
    assert_eq!(seconds.len(), blocks as usize, "a line for each block");
    (seconds, counts[0].load(Ordering::SeqCst), counts[1].load(Ordering::SeqCst))
}

/// Attacks when it may, until nobody listens. Counts attacks and those that got in.
fn attack(mut attacker: Attacker, may_attack: &AtomicBool, counts: &[AtomicU32; 2]) {
    for variant in 0.. {
        for kind in KINDS {
            while !may_attack.load(Ordering::SeqCst) {
                std::thread::sleep(Duration::from_micros(200));
            }
            let Ok(got_in) = attacker.attempt(kind, variant) else { return };
            counts[0].fetch_add(1, Ordering::SeqCst);
            counts[1].fetch_add(u32::from(got_in), Ordering::SeqCst);
        }
    }
}
