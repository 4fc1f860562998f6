//! A running job whose rendezvous is attacked all the time: nobody gets in, and neither it nor its launcher swells.

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use super::attackers::{Attacker, KINDS, record};
use crate::examples::example;
use crate::spmd::{ARGUMENTS, Job, prepared, this};

/// Of each kind.
const VARIANTS: usize = 1000;
/// Of each kind, before memory is looked at: a process has its buffers and threads then.
const WARM_UP: usize = 100;
/// How much more memory any process may come to hold: less than 8000 connections at a kilobyte each.
const GROWTH_MAX_KIB: u64 = 4 << 10;
/// Connections that a listener keeps unproven, and as many as it may accept in a row before it closes dropped ones. The
/// attackers keep up to 240.
const DESCRIPTORS_MAX: usize = 64 + 128;
const WATCHDOG: Duration = Duration::from_secs(60);

/// A figure of a process's memory.
fn memory_kib(process: u32, name: &str) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).expect("it lives");
    let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("such a line");
    line.trim().trim_end_matches(" kB").parse().expect("a number")
}

fn descriptors(process: u32) -> usize {
    std::fs::read_dir(format!("/proc/{process}/fd")).map_or(0, Iterator::count)
}

/// Where rank 1 has written where the rendezvous is.
fn rendezvous(file: &std::path::Path) -> SocketAddr {
    let end = Instant::now() + WATCHDOG;
    loop {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        if let Some(address) = text.strip_suffix('\n') {
            return address.parse().expect("an address");
        }
        assert!(Instant::now() < end, "rank 1 does not start");
        thread::sleep(Duration::from_millis(5));
    }
}

/// All kinds in turn. Returns how many got in of how many, and how many were answered.
fn besiege(attacker: &mut Attacker, count: usize) -> (u32, u32) {
    let (mut accepted, mut all) = (0, 0);
    for variant in 0..count {
        for kind in KINDS {
            accepted += u32::from(attacker.attempt(kind, variant).expect("the rendezvous listens while the job runs"));
            all += 1;
        }
    }
    (accepted, all)
}

#[test]
fn a_running_job_neither_heeds_nor_feels_attackers_at_its_rendezvous() {
    let seed = std::env::var("LATHIDE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    println!("LATHIDE_SEED={seed}");
    let folder = std::env::temp_dir().join(format!("lathide-siege-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a new directory");
    let (root, over) = (folder.join("root"), folder.join("over"));
    let front = TcpListener::bind("127.0.0.1:0").expect("a free port");
    // Rank 1 reaches the rendezvous by way of somebody who listens.
    let script = format!(
        "[ $LATHIDE_RANK = 1 ] && {{ echo $LATHIDE_ROOT >{}; export LATHIDE_ROOT={}; }}; exec \"$0\" \"$@\"",
        root.display(),
        front.local_addr().expect("bound")
    );
    let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
    command.args(["run", "-n", "3", "sh", "-c", &script]).arg(this()).args(ARGUMENTS);
    let mut job = Job::of(prepared(command, &format!("until {}", over.display()), &[]));
    let session = record(&front, || rendezvous(&root));
    job.until(3, "up");

    let launcher = job.processes()[0];
    let processes: Vec<u32> =
        std::iter::once(launcher).chain((0..3).map(|rank| job.process(rank).as_raw_nonzero().get() as u32)).collect();
    let quiet = descriptors(launcher);
    let stop = Arc::new(AtomicBool::new(false));
    let most = thread::spawn({
        let stop = stop.clone();
        move || {
            let mut most = 0;
            while !stop.load(Ordering::SeqCst) {
                most = most.max(descriptors(launcher));
                thread::sleep(Duration::from_millis(2));
            }
            most
        }
    });
    let address = rendezvous(&root);
    let mut attackers: Vec<Attacker> =
        (0..2).map(|at| Attacker::new(address, session.clone(), seed * 2 + at)).collect();
    let mut wave = |count: usize| -> (u32, u32) {
        thread::scope(|scope| {
            let waves: Vec<_> = attackers.iter_mut().map(|attacker| scope.spawn(|| besiege(attacker, count))).collect();
            waves.into_iter().map(|wave| wave.join().expect("an attacker")).fold((0, 0), |a, b| (a.0 + b.0, a.1 + b.1))
        })
    };
    let first = wave(WARM_UP / 2);
    let before: Vec<u64> = processes.iter().map(|&process| memory_kib(process, "VmRSS:")).collect();
    let second = wave((VARIANTS - WARM_UP) / 2);
    let grown: Vec<u64> = processes
        .iter()
        .zip(&before)
        .map(|(&process, &before)| memory_kib(process, "VmHWM:").saturating_sub(before))
        .collect();
    stop.store(true, Ordering::SeqCst);
    let most = most.join().expect("it counts");
    std::fs::write(&over, "").expect("our directory");
    let challenges: u32 = attackers.iter().map(|attacker| attacker.challenges).sum();
    let ended = job.end();
    let _ = std::fs::remove_dir_all(&folder);

    let all = first.1 + second.1;
    println!("{all} attacks, {challenges} challenges; KiB more in launcher and ranks {grown:?}");
    println!("descriptors of the launcher: {quiet}, at most {most}");
    assert!(ended.statuses.iter().all(|status| status.success()) && ended.all("rounds").len() == 3, "{ended}");
    assert_eq!((first.0 + second.0, all), (0, (KINDS.len() * VARIANTS) as u32), "strangers got in");
    // Most replays are answered, unless so many others come that they are dropped before.
    assert!(challenges >= 10, "only {challenges} of {all} attackers got as far as a challenge");
    assert!(grown.iter().all(|&grown| grown <= GROWTH_MAX_KIB), "KiB more than before: {grown:?}");
    assert!(most <= quiet + DESCRIPTORS_MAX, "{most} descriptors instead of {quiet}");
}

/// Somebody on the same host opens connections as fast as he can while a job of many ranks joins.
#[test]
fn a_hundred_and_twenty_eight_ranks_join_beside_a_local_flood() {
    let folder = std::env::temp_dir().join(format!("lathide-flood-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a new directory");
    let root = folder.join("root");
    let script = format!("[ $LATHIDE_RANK = 1 ] && echo $LATHIDE_ROOT >{}; exec \"$0\"", root.display());
    let (stop, opened) = (AtomicBool::new(false), AtomicU32::new(0));
    let finished = thread::scope(|scope| {
        let flood = || {
            let (address, mut kept) = (rendezvous(&root), VecDeque::new());
            while !stop.load(Ordering::Relaxed) {
                if let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
                    opened.fetch_add(1, Ordering::Relaxed);
                    kept.push_back(stream);
                    kept.drain(..kept.len().saturating_sub(200));
                }
            }
        };
        (0..2).for_each(|_| drop(scope.spawn(flood)));
        let mut command = Command::new(env!("CARGO_BIN_EXE_lathide"));
        command.args(["run", "-n", "128", "sh", "-c", &script]).arg(example("ring")).env("LATHIDE_JOIN", "280");
        let finished = crate::process::run_within(&mut command, Duration::from_secs(300));
        stop.store(true, Ordering::Relaxed);
        finished
    });
    println!("{} connections were opened", opened.load(Ordering::Relaxed));
    let _ = std::fs::remove_dir_all(&folder);
    finished.succeeded();
}
